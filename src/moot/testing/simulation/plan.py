"""What a seed decides before anything happens: how many processes, how well the world works."""

from dataclasses import dataclass
from random import Random
from typing import Literal

Shape = Literal["home", "cluster"]
Poison = Literal["nested", "deadly", "failing"]


@dataclass(frozen=True, slots=True)
class Plan:
    """One schedule's world. Chances are per message, write or call."""

    shape: Shape  # processes on one home, or workers on many machines that messages go to
    processes: int
    debates: int
    council: bool  # one of them is a council
    station: bool
    report_model: bool  # reports are written by a model
    busy: float  # seconds in which people act and things fail
    verbs: int  # that people use in this time
    readers: int  # who follow debates
    kills: int
    stops: int  # a process is stopped for a while, and goes on
    leaves: int  # a process is closed as it should be
    outages: int  # the disk is full, or the database away, for a while
    jumps: int  # the clock is set wrong
    restores: int  # of an older copy of the database
    tears: int  # a file is damaged
    damages: int  # a row's cursor is set back, as in an old or damaged database
    poison: Poison | None  # one seat's every answer has this effect, for ever
    lost_replies: float  # writes that are done, though whoever asked hears of an error
    lost: float  # messages between processes
    doubled: float
    late: float
    bad_models: float  # calls that fail in one of many ways
    slow_models: float

    @property
    def calm(self) -> bool:
        """Whether nothing goes wrong but what people do."""
        return not (
            self.kills or self.stops or self.outages or self.jumps or self.restores or self.tears
            or self.lost_replies or self.leaves or self.damages or self.poison
        )  # fmt: skip


def draw(chance: Random) -> Plan:
    """Most schedules have a few kinds of faults, so that each shows what comes of it; some none."""

    def some(likely: float, most: int) -> int:
        return chance.randint(1, most) if chance.random() < likely else 0

    def rate(likely: float, most: float) -> float:
        return chance.random() * most if chance.random() < likely else 0.0

    shape: Shape = "home" if chance.random() < 0.6 else "cluster"
    kind = chance.random()
    return Plan(
        shape=shape,
        processes=chance.randint(1, 3) if shape == "home" else chance.randint(2, 4),
        debates=chance.choice((1, 1, 2, 2, 3)),
        council=kind < 0.25,
        station=kind > 0.8,
        report_model=chance.random() < 0.15,
        busy=chance.choice((5.0, 12.0, 30.0)),
        verbs=some(0.7, 8),
        readers=chance.randint(0, 2),
        kills=some(0.5, 5),
        stops=some(0.25, 2),
        leaves=some(0.2, 2),
        outages=some(0.25, 2),
        jumps=some(0.15, 2),
        restores=some(0.15, 1),
        tears=some(0.08, 2),
        damages=some(0.08, 1),
        poison=chance.choice(("nested", "deadly", "failing")) if chance.random() < 0.1 else None,
        lost_replies=rate(0.15, 0.1),
        lost=rate(0.4, 0.5),
        doubled=rate(0.4, 0.5),
        late=rate(0.4, 0.5),
        bad_models=rate(0.5, 0.5),
        slow_models=rate(0.4, 0.5),
    )
