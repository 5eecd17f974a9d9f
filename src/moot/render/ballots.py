"""A jury's ballots as people read them: who cast each, in which order it had read, and for what."""

from collections.abc import Sequence
from dataclasses import dataclass

from moot.core import jury
from moot.core.answers import UNDECIDED
from moot.core.debate import Debate, Reading, Turn
from moot.core.legs import Leg, legs_of
from moot.outcome.stands import votable
from moot.render.verdict_text import quoted

_OTHER: dict[Reading, Reading] = {"spoken": "swapped", "swapped": "spoken"}


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote of a juror."""

    reading: Reading
    order: tuple[str, ...]  # the options as this juror read them
    choice: str
    other: str | None = None  # its choice in the other order, if that was not the same

    @property
    def told(self) -> str:
        """How the juror came to its vote, what it is, and whether it flipped."""
        return " ".join(part for part in (self.read, self.vote, self.flip) if part)

    @property
    def vote(self) -> str:
        return "Undecided." if self.choice == UNDECIDED else f"Votes for {quoted(self.choice)}."

    @property
    def flip(self) -> str:
        """That its choice changed with the order, if it did."""
        if self.other is None:
            return ""
        other = "it was undecided" if self.other == UNDECIDED else f"it chose {quoted(self.other)}"
        return f"Flipped: in the other order {other}, so its vote does not count."

    @property
    def read(self) -> str:
        """What the juror knew, and in which order it had read it."""
        if self.reading == "alone":
            return "Has heard nothing of the debate."
        if len(self.order) == 2:
            return f"Read {quoted(self.order[0])} first, then {quoted(self.order[1])}."
        if not self.order:
            return ""
        return f"Read in this order: {', '.join(map(quoted, self.order))}."


def jury_leg(debate: Debate) -> Leg | None:
    """Where in the debate its jury votes."""
    return next((leg for leg in legs_of(debate) if leg.readings), None)


def ballots(debate: Debate, turns: Sequence[Turn]) -> dict[int, Ballot]:
    """The valid ballots among these turns, by seq."""
    leg = jury_leg(debate)
    if leg is None:
        return {}
    known, jurors = _choices(debate, turns), {seat.id for seat in leg.speakers}
    cast: dict[tuple[str, Reading], Turn] = {
        (turn.actor, leg.readings[turn.round - leg.first_round]): turn
        for turn in turns
        if turn.stage == leg.stage.name
        and turn.actor in jurors
        and turn.status == "ok"
        and turn.data
        and 0 <= turn.round - leg.first_round < len(leg.readings)
    }
    chosen = {place: _choice(turn) for place, turn in cast.items()}
    found: dict[int, Ballot] = {}
    for (actor, reading), turn in cast.items():
        mine = chosen[actor, reading]
        other = _OTHER.get(reading)
        there = chosen.get((actor, other)) if other else None
        found[turn.seq] = Ballot(
            reading,
            tuple(jury.order(debate, actor, reading, known)),
            mine,
            None if there == mine else there,
        )
    return found


def _choices(debate: Debate, turns: Sequence[Turn]) -> jury.Choices:
    try:
        return votable(debate, turns)
    except (KeyError, TypeError, ValueError, AttributeError):
        return jury.NO_CHOICES  # answers in a file that somebody changed


def _choice(turn: Turn) -> str:
    return " ".join(str((turn.data or {}).get("choice", "")).split())


def in_order(debate: Debate, turns: Sequence[Turn]) -> list[Turn]:
    """The turns as they are read. The ballots of a jury come in whenever they are ready; here they
    stand by round and by juror."""
    leg = jury_leg(debate)
    if leg is None:
        return list(turns)
    places = {seat.id: place for place, seat in enumerate(leg.speakers)}
    cast = [turn for turn in turns if turn.stage == leg.stage.name and turn.actor in places]
    ordered = iter(sorted(cast, key=lambda turn: (turn.round, places[turn.actor], turn.seq)))
    slots = {turn.seq for turn in cast}
    return [next(ordered) if turn.seq in slots else turn for turn in turns]


def jurors(debate: Debate) -> frozenset[str]:
    """The ids of those who vote from outside the cast."""
    return frozenset(seat.id for seat in debate.jury.seats) if debate.jury else frozenset()


def heard(debate: Debate, turns: Sequence[Turn]) -> list[Turn]:
    """These turns without the ballots of jurors who had not heard the debate yet."""
    leg = jury_leg(debate)
    if leg is None or "alone" not in leg.readings:
        return list(turns)
    alone = leg.first_round + leg.readings.index("alone")
    return [turn for turn in turns if (turn.stage, turn.round) != (leg.stage.name, alone)]
