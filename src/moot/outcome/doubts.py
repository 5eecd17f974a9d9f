"""What is doubtful about an outcome: warnings, each with its code and a sentence that names who."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

from moot.core.answers import numbers, tables
from moot.core.debate import Debate, Turn
from moot.core.depth import left_out
from moot.core.jury import Choices
from moot.core.positions import key
from moot.core.quoting import marked
from moot.core.voices import caution, family
from moot.errors import (
    WARN_BALLOT_UNWEIGHED,
    WARN_CLAIM_UNMADE,
    WARN_CUT_SHORT,
    WARN_ECHO,
    WARN_JURY_OVERLAP,
    WARN_LEFT_OUT,
    WARN_MOVED_UNREASONED,
    WARN_ONE_FAMILY,
    WARN_ONE_ORDER,
    WARN_OPPOSITES_KEPT,
    WARN_QUOTE_UNVERIFIED,
    WARN_SIDE_UNHEARD,
    WARN_SMALL_MODEL,
    WARN_VERDICT_UNWEIGHED,
)
from moot.outcome.ballot import Stance, Vote, unweighed
from moot.outcome.quotes import Quotes
from moot.outcome.stands import Standing, history

Run = tuple[str, ...]
"""A few words in a row."""
ALIKE = 0.4
"""From this share of common runs on, two speeches are the same: one word in eight may differ."""
_RUN, _FEWEST = 2, 16  # words of a run; runs in which something can be repeated
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def doubts(
    debate: Debate,
    turns: Sequence[Turn],
    stood: Standing,
    cast: Sequence[Vote],
    choices: Choices,
    moved: Sequence[Mapping[str, Any]],
    quotes: Quotes,
) -> list[str]:
    """All warnings about an outcome, in an order that does not depend on who answered first."""
    return [
        *_small(debate),
        *_incomplete(debate, turns, cast, choices),
        *_one_family(debate, turns, cast),
        *_overlap(overlaps(debate, turns, cast)),
        *_unweighed(turns, cast, _stances(debate, turns, stood, choices)),
        *_uncited(debate, turns),
        *_kept_apart(stood),
        *_unreasoned(moved),
        *_echoes(debate, turns),
        *_unsaid(debate, quotes),
    ]


def _small(debate: Debate) -> list[str]:
    said = caution(debate.warnings)
    return [f"{WARN_SMALL_MODEL}: {said}"] if said else []


def _incomplete(
    debate: Debate, turns: Sequence[Turn], cast: Sequence[Vote], choices: Choices
) -> list[str]:
    """What the outcome lacks that it should rest on."""
    found: list[str] = []
    if gone := left_out(debate, turns):
        found.append(f"{WARN_LEFT_OUT}: {gone.words}")
    if debate.stop_reason == "budget":
        words = "The budget ended the debate early. Its log says what was left out."
        found.append(f"{WARN_CUT_SHORT}: {words}")
    if cast and debate.jury and not debate.jury.swap:
        words = "The jurors voted in one order only, so a choice by place alone would not show."
        found.append(f"{WARN_ONE_ORDER}: {words}")
    heard = {turn.actor for turn in turns if turn.kind == "speech" and turn.status == "ok"}
    sides = {choices.held.get(actor) for actor in heard}
    unheard = [one for one in choices.options if one in choices.held.values() and one not in sides]
    return [
        *found,
        *(
            f"{WARN_SIDE_UNHEARD}: Nobody was heard who holds “{option}”."
            for option in (unheard if cast else ())
        ),
    ]


def _spoke(debate: Debate, turns: Sequence[Turn]) -> set[str]:
    """The models that really debated."""
    ids = {seat.id for seat in debate.participants}
    return {turn.model for turn in turns if turn.status == "ok" and turn.actor in ids}


def overlaps(debate: Debate, turns: Sequence[Turn], cast: Sequence[Vote]) -> list[str]:
    """Models that debated and sat on the jury."""
    return sorted({model for vote in cast for model in vote.models} & _spoke(debate, turns))


def _one_family(debate: Debate, turns: Sequence[Turn], cast: Sequence[Vote]) -> list[str]:
    judged = _judges(debate, turns)
    voted = {model for vote in cast for model in vote.models}
    spoke = _spoke(debate, turns)
    families = {family(model, debate.rules.edition) for model in (*spoke, *voted)}
    if len(families) != 1 or not spoke or not (voted or judged):
        return []
    who, kin = "The jury" if voted else f"The {judged[0].name}", families.pop()
    words = f"{who} and all debaters are {kin} models, which tend to make the same mistakes."
    return [f"{WARN_ONE_FAMILY}: {words}"]


def _judges(debate: Debate, turns: Sequence[Turn]) -> list[Turn]:
    result = debate.rules.result
    stage = result.verdict if result else None
    return [turn for turn in turns if stage and turn.stage == stage and turn.status == "ok"]


def _overlap(models: Sequence[str]) -> list[str]:
    if not models:
        return []
    debated = "debated and sat on the jury"
    return [f"{WARN_JURY_OVERLAP}: {', '.join(models)} {debated}."]


def _stances(
    debate: Debate, turns: Sequence[Turn], stood: Standing, choices: Choices
) -> dict[str, Stance]:
    """Where each seat stood, and when; if nobody states a position, by its side of the motion."""
    past, ids = history(debate.rules, turns), {seat.name: seat.id for seat in debate.participants}
    sides: dict[str, Stance] = {seat: [(0, option)] for seat, option in choices.held.items()}
    said: dict[str, Stance] = {
        ids[name]: [(turn.round, stood.names.get(key(option), option)) for option, turn in held]
        for name, held in past.items()
    }
    return sides | said


def _unweighed(
    turns: Sequence[Turn], cast: Sequence[Vote], stances: Mapping[str, Stance]
) -> list[str]:
    found = [(vote, unweighed(vote, turns, stances)) for vote in cast]
    return [f"{WARN_BALLOT_UNWEIGHED}: {vote.name} {why}." for vote, why in found if why]


def _uncited(debate: Debate, turns: Sequence[Turn]) -> list[str]:
    """Verdicts whose reasons rest on nothing that was said."""
    found: list[str] = []
    for turn in _judges(debate, turns):
        heard = {one.number for one in turns if one.status == "ok" and one.round < turn.round}
        reasons = tables(turn.data, "whySelected")
        if not any(n in heard for reason in reasons for n in numbers(reason, "turns")):
            found.append(f"{WARN_VERDICT_UNWEIGHED}: {turn.name} cites no turn for its verdict.")
    return found


def _kept_apart(stood: Standing) -> list[str]:
    said = [f"“{one}” and “{other}”. They count as two: {why}." for one, other, why in stood.kept]
    return [f"{WARN_OPPOSITES_KEPT}: The reading merged {words}" for words in said]


def _unreasoned(moved: Sequence[Mapping[str, Any]]) -> list[str]:
    """Who moved every time without naming what changed its mind."""
    found: list[str] = []
    for who, group in groupby(moved, key=lambda move: move["who"]):
        if not any(move["because"]["named"] for move in group):
            found.append(
                f"{WARN_MOVED_UNREASONED}: {who} changed its position and named nothing that "
                "changed its mind."
            )
    return found


def _echoes(debate: Debate, turns: Sequence[Turn]) -> list[str]:
    """Pairs who say the same in most of their rounds. What both quote of somebody else is not
    theirs, and does not count."""
    said: dict[str, dict[int, set[Run]]] = {}
    for turn in turns:
        if turn.kind == "speech" and turn.status == "ok":
            words = _WORD.findall(turn.text.casefold())
            runs = {tuple(words[n : n + _RUN]) for n in range(len(words) - _RUN + 1)}
            said.setdefault(turn.actor, {}).setdefault(turn.round, set()).update(runs)
    found: list[str] = []
    for one, other in combinations((seat for seat in debate.participants if seat.id in said), 2):
        likeness: list[float] = []
        for number in sorted(said[one.id].keys() & said[other.id].keys()):
            first, second = said[one.id][number], said[other.id][number]
            if first.isdisjoint(second):
                likeness.append(0.0)
                continue
            quoted = _earlier(said, number, (one.id, other.id))
            first, second = first - quoted, second - quoted
            if min(len(first), len(second)) >= _FEWEST:
                likeness.append(len(first & second) / len(first | second))
        alike = sum(share >= ALIKE for share in likeness)
        if alike and 2 * alike >= len(likeness) and alike >= min(2, len(likeness)):
            found.append(f"{WARN_ECHO}: {one.name} and {other.name} repeat each other.")
    return found


def _earlier(
    said: Mapping[str, Mapping[int, set[Run]]], number: int, but: Sequence[str]
) -> set[Run]:
    """What the others said in earlier rounds."""
    return {
        run
        for actor, rounds in said.items()
        if actor not in but
        for when, runs in rounds.items()
        if when < number
        for run in runs
    }


def _unsaid(debate: Debate, quotes: Quotes) -> list[str]:
    place = {seat.id: n for n, seat in enumerate(debate.seats)}

    def ranked(items: Sequence[tuple[Turn, str]]) -> list[tuple[Turn, str]]:
        return sorted(
            items, key=lambda item: (item[0].round, place.get(item[0].actor, 99), item[1])
        )

    unsaid = "nobody said in the turns that it cites"
    if debate.rules.checks_quotes:
        unsaid = "is not word for word in what it cites"
    return [
        *(
            f"{WARN_QUOTE_UNVERIFIED}: {turn.name} quotes “{_short(_bare(words))}”, which "
            f"{unsaid} (turn {turn.number})."
            for turn, words in ranked(quotes.failed)
        ),
        *(
            f"{WARN_CLAIM_UNMADE}: {turn.name} challenges “{_short(words)}”, which its target did "
            f"not say (turn {turn.number})."
            for turn, words in ranked(quotes.unmade)
        ),
    ]


def _bare(words: str) -> str:
    """A quote without the mark of one that failed."""
    return next(iter(marked(words)), words)


def _short(words: str) -> str:
    return words if len(words) <= 80 else words[:79].rstrip() + "…"
