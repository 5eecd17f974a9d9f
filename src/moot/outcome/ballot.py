"""The ballots of a jury: what each juror chose, before the debate and after it, which of the votes
count, and whether a ballot weighs what was said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moot.core.answers import UNDECIDED, numbers, tables
from moot.core.debate import Debate, Turn
from moot.core.legs import legs_of
from moot.core.positions import key, names_none, selected

Stance = Sequence[tuple[int, str]]
"""What somebody stood for, from which round on."""


@dataclass(frozen=True, slots=True)
class Vote:
    """How one juror voted. A vote counts if both ballots are valid and agree."""

    juror: str  # the id of the seat
    name: str
    model: str
    alone: str | None  # before it had heard anything; None if it was not asked, or gave none
    choice: str | None  # in one order
    swapped: str | None  # in the other; None if it was not asked, or gave none
    asked_twice: bool
    asked_alone: bool
    ballots: tuple[Turn, ...]  # those it cast after the debate

    @property
    def models(self) -> tuple[str, ...]:
        """Those that really voted: another may have stood in for one of its ballots."""
        return tuple(dict.fromkeys(turn.model for turn in self.ballots))

    @property
    def flipped(self) -> bool:
        """Whether its choice changed with the order."""
        return None not in (self.choice, self.swapped) and self.choice != self.swapped

    @property
    def counts(self) -> str | None:
        """What it voted for, if its vote counts; it may be `undecided`."""
        if self.asked_twice and self.choice != self.swapped:
            return None
        return self.choice

    @property
    def turn(self) -> int | None:
        return self.ballots[0].number if self.ballots else None

    @property
    def confidence(self) -> float | None:
        """How sure it is on average, as far as it says."""
        said = [(turn.data or {}).get("confidence") for turn in self.ballots]
        sure = [float(one) for one in said if isinstance(one, int | float)]
        return round(sum(sure) / len(sure), 4) if sure else None


def votes(
    debate: Debate, turns: Sequence[Turn], options: Sequence[str], names: Mapping[str, str]
) -> list[Vote]:
    """The votes of a jury, in the order of its seats; none if the debate ended before it was asked.
    A choice may be any wording of an option."""
    leg = next((leg for leg in legs_of(debate) if leg.readings), None)
    if leg is None or not any(turn.stage == leg.stage.name for turn in turns):
        return []
    cast = {
        (turn.actor, turn.round): turn
        for turn in turns
        if turn.stage == leg.stage.name and turn.status == "ok" and turn.data
    }
    found: list[Vote] = []
    for seat in leg.speakers:
        ballots = {
            reading: cast.get((seat.id, leg.first_round + nth))
            for nth, reading in enumerate(leg.readings)
        }
        chosen = {
            reading: resolve((turn.data or {}).get("choice"), options, names)
            for reading, turn in ballots.items()
            if turn
        }
        heard = tuple(turn for one in ("spoken", "swapped") if (turn := ballots.get(one)))
        spoke = heard[:1] or tuple(turn for turn in ballots.values() if turn)
        found.append(
            Vote(
                juror=seat.id,
                name=seat.name,
                model=spoke[0].model if spoke else seat.model,
                alone=chosen.get("alone"),
                choice=chosen.get("spoken"),
                swapped=chosen.get("swapped"),
                asked_twice="swapped" in leg.readings,
                asked_alone="alone" in leg.readings,
                ballots=heard,
            )
        )
    return found


def resolve(choice: object, options: Sequence[str], names: Mapping[str, str]) -> str | None:
    """The option that a choice is for, whichever of its wordings it takes; `undecided` as it is,
    and None if it is for nothing that stands."""
    if not isinstance(choice, str) or choice == UNDECIDED:
        return UNDECIDED if choice == UNDECIDED else None
    known = {key(option): option for option in options}
    return names.get(key(choice)) or known.get(key(choice))


def judged(
    data: Mapping[str, Any], options: Sequence[str], names: Mapping[str, str]
) -> tuple[str, bool]:
    """What a verdict chooses, and whether that is an option that stands: one of those, its own
    words, or `undecided`. Verdicts from before had their own words alone."""
    choice = selected(data)
    if choice is None or names_none(choice):
        return UNDECIDED, False
    known = resolve(choice, options, names)
    return known or choice, known is not None


def unweighed(vote: Vote, turns: Sequence[Turn], stances: Mapping[str, Stance]) -> str | None:
    """What shows that a juror weighs nothing, in any of its ballots; None if it does.

    Whoever chooses the first option, the longest speech or the larger number need not read what
    speaks against it. So a ballot has to rest on turns that were heard and, if anything was said
    against its choice, name some of that as the best reason against.
    """
    found = [_lacks(vote, ballot, turns, stances) for ballot in vote.ballots]
    return found[0] if found and all(found) else None


def _lacks(
    vote: Vote, ballot: Turn, turns: Sequence[Turn], stances: Mapping[str, Stance]
) -> str | None:
    heard = {
        turn.number: turn
        for turn in turns
        if turn.status == "ok" and turn.kind == "speech" and turn.round < ballot.round
    }
    data = ballot.data or {}
    if not any(n in heard for one in tables(data, "reasons") for n in numbers(one, "turns")):
        return "cites no turn for its reasons"
    choice = vote.choice if ballot is vote.ballots[0] and vote.choice else vote.swapped
    opposed = {n for n, turn in heard.items() if _against(turn, choice, stances)}
    if choice == UNDECIDED or not opposed:
        return None
    against = next(iter(tables({"against": [data.get("against")]}, "against")), None)
    if opposed.intersection(numbers(against, "turns")):
        return None
    return "names nothing that was said against its own choice"


def _against(turn: Turn, choice: str | None, stances: Mapping[str, Stance]) -> bool:
    """Whether a turn speaks against an option: its speaker stood elsewhere then, or challenged
    somebody who stood there."""
    own = _stood(stances.get(turn.actor, ()), turn.round)
    if own is not None and own != choice:
        return True
    target = turn.target if turn.target != turn.actor else None
    return target is not None and _stood(stances.get(target, ()), turn.round) == choice


def _stood(stance: Stance, number: int) -> str | None:
    """Where somebody stood in a round: by what it said last, or will say first."""
    before = [option for when, option in stance if when <= number]
    return before[-1] if before else next((option for _, option in stance), None)
