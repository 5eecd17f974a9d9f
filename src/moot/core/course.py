"""The plan of a debate: every stage and step that its format asks for, before a word is said."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from moot.core import schedule
from moot.core.debate import UNWRITTEN, Debate, Kind
from moot.core.forecast import Card, Carried, Forecast, carried, forecast
from moot.core.legs import legs_of
from moot.core.sources import Source


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """A stage as it is laid out for this cast, these options and limits."""

    name: str
    title: str
    first_round: int
    rounds: int | None  # None: as many as max_turns leaves
    turns: int
    waves: int  # how many calls follow one another, if those of a wave are made together
    speakers: tuple[str, ...]
    tokens: int | None = None  # that a turn may have, if the stage has a limit of its own


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One utterance. Steps of the same wave are spoken together."""

    round: int
    stage: str
    actor: str
    kind: Kind
    target: str | None
    wave: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to happen, unless somebody ends it or a budget does."""

    stages: tuple[PlannedStage, ...]
    steps: tuple[PlannedStep, ...]
    total: int  # turns
    estimate: Forecast  # what that is likely to take
    sources: Annotated[tuple[Source, ...], UNWRITTEN] = ()  # what would be read
    carrying: Annotated[Carried | None, UNWRITTEN] = None  # the part of it that they take


def plan(debate: Debate, cards: Callable[[str], Card]) -> Plan:
    """The plan of a debate from its beginning, wherever it stands."""
    legs = legs_of(debate)
    stages = tuple(
        PlannedStage(
            name=leg.stage.name,
            title=leg.stage.heading,
            first_round=leg.first_round,
            rounds=leg.rounds or None,
            turns=leg.turns,
            waves=leg.waves,
            speakers=tuple(seat.id for seat in leg.speakers),
            tokens=leg.stage.tokens,
        )
        for leg in legs
        if not leg.stage.past
    )
    steps = tuple(
        PlannedStep(step.round, step.stage, step.actor, step.kind, step.target, number)
        for number, wave in enumerate(schedule.waves(debate), 1)
        for step in wave
    )
    whole = forecast(debate, cards)
    if not debate.sources:
        return Plan(stages, steps, len(steps), whole)
    carrying = carried(whole, forecast(debate.but(sources=()), cards))
    return Plan(stages, steps, len(steps), whole, debate.sources, carrying)
