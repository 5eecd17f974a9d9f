"""Quotes: what was quoted, and which of it nobody said or wrote.

From edition 5 on each quote is checked before its turn is committed (`core.quoting`): what failed
then is marked in the turn itself, so that counting needs neither the sources nor another check.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from moot.core.answers import numbers, tables
from moot.core.debate import Debate, Turn
from moot.core.jury import Choices, blindfold, speeches
from moot.core.legs import legs_of
from moot.core.quoting import SHORTEST, is_marked, marked, normal, quotes, within

_MARKS = re.compile("^[\"“”„«»‘’']+|[\"“”„«»‘’']+$")
_WORD = re.compile(r"[^\W_]{4,}")
_HELD = 0.5
"""The share of its longer words that a claim has from the one who is said to have made it."""


@dataclass(slots=True)
class Quotes:
    """What was quoted, and which of it nobody said."""

    verified: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])  # turn, words
    failed: list[tuple[Turn, str]] = field(default_factory=list[tuple[Turn, str]])
    unmade: list[tuple[Turn, str]] = field(default_factory=list[tuple[Turn, str]])  # claims
    checked: int = 0

    def note(self, turn: Turn, words: str, *, found: bool) -> None:
        self.checked += 1
        if found:
            self.verified.add((turn.number, words))
        else:
            self.failed.append((turn, words))

    def kept(self, turn: Turn, reason: Mapping[str, Any]) -> list[str]:
        """The quotes of a reason that hold: the others are not evidence."""
        return [words for words in _lines(reason) if (turn.number, words) in self.verified]


def check(debate: Debate, turns: Sequence[Turn], choices: Choices) -> Quotes:
    """Check every quote, and the claims that challenges are aimed at."""
    found = Quotes()
    said = [turn for turn in turns if turn.status == "ok"]
    marks = debate.rules.checks_quotes
    for turn in said:
        heard = {
            one.number: one
            for one in said
            if one.round < turn.round or (marks and one.number < turn.number)
        }
        for part in _quoting(turn.data):
            cited = [heard[n] for n in numbers(part, "turns") if n in heard]
            for words in _lines(part):
                if marks and words.startswith("["):
                    held = not is_marked(words)
                else:
                    held = within(words, [one.text for one in cited])
                if not held and cited and not is_marked(words):
                    read = _read_by(debate, turn, said, choices)
                    held = within(words, [read.get(one.number, "") for one in cited])
                found.note(turn, words, found=held)
        if marks:
            _count_inline(found, turn)
        _check_claims(found, turn, list(heard.values()))
    return found


def _count_inline(found: Quotes, turn: Turn) -> None:
    """The quotes in a turn's texts: they were checked as they were said, and marked if they
    failed."""
    for text in _texts(turn.data) if turn.data else [turn.text]:
        for quote in quotes(text):
            found.note(turn, quote.words, found=True)
        for words in marked(text):
            found.note(turn, words, found=False)


def _check_claims(found: Quotes, turn: Turn, heard: Sequence[Turn]) -> None:
    """A challenge is aimed at something that its target said. Words in quotation marks are a quote;
    others need not be word for word."""
    texts = [one.text for one in heard if turn.target and one.actor == turn.target]
    for challenge in tables(turn.data, "challenges"):
        claim = str(challenge.get("claim") or "").strip()
        bare = _MARKS.sub("", claim)
        if len(normal(bare)) < SHORTEST or not texts:
            continue
        if len(claim) - len(bare) >= 2 and bare in claim[1:-1]:
            found.note(turn, bare, found=within(bare, texts))
        elif not within(bare, texts) and not _held(bare, texts):
            found.unmade.append((turn, bare))


def _texts(value: object) -> Iterator[str]:
    """The texts of an answer, its lists of quotes aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in cast("Mapping[str, object]", value).items():
            if key != "quotes":
                yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in cast("Sequence[object]", value):
            yield from _texts(part)


def _held(claim: str, texts: Sequence[str]) -> bool:
    words = set(_WORD.findall(claim.casefold()))
    said = set(_WORD.findall(" ".join(texts).casefold()))
    return not words or len(words & said) >= _HELD * len(words)


def _quoting(value: object) -> Iterator[Mapping[str, Any]]:
    """The tables of an answer that have quotes."""
    if isinstance(value, Mapping):
        part = cast("Mapping[str, Any]", value)
        if _lines(part):
            yield part
        for inner in part.values():
            yield from _quoting(inner)
    elif isinstance(value, list | tuple):
        for inner in cast("Sequence[object]", value):
            yield from _quoting(inner)


def _lines(part: Mapping[str, Any]) -> list[str]:
    value = part.get("quotes")
    listed = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    return [one for one in listed if isinstance(one, str)]


def _read_by(debate: Debate, turn: Turn, said: Sequence[Turn], choices: Choices) -> dict[int, str]:
    """The words as a juror reads them: under labels, and without how sure anybody is."""
    leg = next((leg for leg in legs_of(debate) if leg.readings), None)
    if leg is None or turn.stage != leg.stage.name:
        return {}
    nth = turn.round - leg.first_round
    reading = leg.readings[nth] if 0 <= nth < len(leg.readings) else None
    blind = blindfold(debate, turn.actor, reading, choices)
    return {one.number: text for _, one, text in speeches(debate, said, blind)}
