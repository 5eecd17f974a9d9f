"""What a debate answered, and whether that is right: from its turns and its outcome alone."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moot.core.debate import Debate, Turn
from moot.core.jury import SIDES
from moot.evals.arms import Arm
from moot.evals.datasets import LETTERS, Item

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?|-?\.\d+")
_LETTER = re.compile(r"^\W*(?:option\s+|answer\s+)?\(?([A-J])\b(?:[).:\]]|\W*$)", re.IGNORECASE)
_DECIDED = (None, "decided", "contested")


@dataclass(frozen=True, slots=True)
class Given:
    """An answer: a letter if there are options, otherwise as it was worded."""

    answer: str | None = None  # None: it came to none
    confidence: float | None = None


def given(arm: Arm, item: Item, debate: Debate, turns: Sequence[Turn]) -> Given:
    """What a debate that has ended answers."""
    if arm.polls:
        return _counted(item, turns)
    decided = debate.outcome
    if decided is None or decided.outcome not in _DECIDED:
        return Given()
    chosen = decided.selected_option
    if chosen in SIDES:
        answer: str | None = LETTERS[SIDES.index(chosen)]
    else:
        answer = read(item, chosen)
    return Given(answer, decided.confidence_score or None)


def _counted(item: Item, turns: Sequence[Turn]) -> Given:
    """The answer that most give. Of several, the one that is held with more confidence, and then
    the one that was given first. One vote is as sure as it says, several as they agree."""
    votes: dict[str, list[float]] = defaultdict(list)
    words: dict[str, str] = {}
    for turn in turns:
        if turn.status != "ok" or not turn.data:
            continue
        if (answer := _voted(item, turn.data)) is not None:
            votes[_same(item, answer)].append(float(turn.data.get("confidence") or 0.0))
            words.setdefault(_same(item, answer), answer)
    if not votes:
        return Given()
    best = max(votes, key=lambda one: (len(votes[one]), sum(votes[one])))
    count = sum(map(len, votes.values()))
    sure = votes[best][0] if count == 1 else len(votes[best]) / count
    return Given(words[best], sure)


def _voted(item: Item, data: Mapping[str, Any]) -> str | None:
    choice, answer = data.get("choice"), data.get("answer")
    if item.options and choice in tuple(LETTERS[: len(item.options)]):
        return str(choice)
    return read(item, str(answer)) if answer else None


def read(item: Item, words: str) -> str | None:
    """Which option some words mean; None if that is not clear. Without options, the words."""
    if not item.options:
        return words.strip() or None
    letters = LETTERS[: len(item.options)]
    if (found := _LETTER.match(words)) and found[1].upper() in letters:
        return found[1].upper()
    plain = _plain(words)
    whole = [n for n, option in enumerate(item.options) if _plain(option) == plain]
    within = [n for n, option in enumerate(item.options) if f" {_plain(option)} " in f" {plain} "]
    for places in (whole, within):
        if len(places) == 1:
            return letters[places[0]]
    return None


def is_right(item: Item, answer: str | None) -> bool:
    """Whether an answer is the one that the dataset has. No answer is not. Answers to a question
    that was made are marked by its generator."""
    if answer is None:
        return False
    if item.right is not None:
        return answer == LETTERS[item.right]
    return _same(item, answer) == _same(item, item.answer)


def _same(item: Item, answer: str) -> str:
    """What answers that mean the same have in common."""
    if item.options:
        return answer
    if item.made:  # every sign may count, and its verifier would give away what is right
        return " ".join(answer.split())
    check = item.check or ("number" if _NUMBER.fullmatch(item.answer.strip()) else "text")
    if check == "number":
        numbers = _NUMBER.findall(answer)
        return f"{float(numbers[-1].replace(',', '')):.6g}" if numbers else _plain(answer)
    return _plain(answer)


def _plain(text: str) -> str:
    """Without case, accents of form, punctuation and articles."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(word for word in words if word not in ("a", "an", "the"))
