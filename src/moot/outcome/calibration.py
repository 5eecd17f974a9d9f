"""Whether those who were sure were right: what people noted later of decisions, scored.

The score is Brier's: the mean square of how far a stated confidence lay from what came of it, which
is 1 if it was right, 0 if it was wrong and 0.5 if both. 0 is best, and 0.25 is what guessing gives.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from moot.core.answers import UNDECIDED
from moot.core.debate import Debate, Turn
from moot.outcome.findings import find

Hindsight = Literal["right", "wrong", "mixed"]
HINDSIGHTS: tuple[Hindsight, ...] = ("right", "wrong", "mixed")
TRUTH = {"right": 1.0, "wrong": 0.0, "mixed": 0.5}
NEEDED = 10
"""Decisions that must be noted before a score says anything."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a model held to be right, and how sure it was."""

    model: str
    option: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Forecasts:
    """All that was forecast in one debate: what is scored once somebody knows better."""

    selected: str
    options: int  # how many stood
    said: tuple[Forecast, ...]  # by the jurors and, at the end of the debate, by the speakers
    jurors: tuple[str, ...] = ()  # their models, sorted; none: nobody voted
    share: float = 0.0  # of the jurors that were asked, those who voted for what was selected


@dataclass(frozen=True, slots=True)
class Noted:
    """What came of a decision."""

    debate_id: str
    hindsight: Hindsight
    at: str
    forecasts: Forecasts


@dataclass(frozen=True, slots=True)
class ModelScore:
    """How well a model knew how sure to be."""

    model: str
    forecasts: int
    brier: float


@dataclass(frozen=True, slots=True)
class JuryScore:
    """How well juries of the same models knew it, by the share of their votes."""

    jurors: tuple[str, ...]
    debates: int
    brier: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The scores, best first; none before enough decisions are noted."""

    noted: int
    needed: int
    models: tuple[ModelScore, ...] = ()
    juries: tuple[JuryScore, ...] = ()


def forecasts(debate: Debate, turns: Sequence[Turn]) -> Forecasts | None:
    """What was forecast in a debate; None if it selected nothing that could be right or wrong."""
    if debate.outcome is None:
        return None
    found = find(debate, turns)
    selected = found.selected if debate.rules.edition > 1 else debate.outcome.selected_option
    if selected is None:
        return None
    said = [
        Forecast(vote.model, vote.counts, vote.confidence)
        for vote in found.cast
        if vote.counts not in (None, UNDECIDED) and vote.confidence is not None
    ]
    by_number = {turn.number: turn for turn in turns}
    if debate.forked_from is None:  # those of a fork are counted in the debate that it came from
        said += [
            Forecast(by_number[stand.turn].model, option, stand.confidence)
            for option, group, _ in found.stood.final.options
            for stand in group
            if stand.confidence is not None
        ]
    votes = sum(vote.counts == selected for vote in found.cast)
    return Forecasts(
        selected,
        len(found.options.options),
        tuple(said),
        tuple(sorted(vote.model for vote in found.cast)),
        votes / len(found.cast) if found.cast else 0.0,
    )


def calibration(notes: Iterable[Noted]) -> Calibration:
    """The scores of all models and juries, from what was noted."""
    known = list(notes)
    if len(known) < NEEDED:
        return Calibration(len(known), NEEDED)
    models: dict[str, list[float]] = {}
    juries: dict[tuple[str, ...], list[float]] = {}
    for note in known:
        made = note.forecasts
        for one in made.said:
            truth = _truth(note, one.option)
            if truth is not None:
                models.setdefault(one.model, []).append((one.confidence - truth) ** 2)
        if made.jurors:
            missed = (made.share - TRUTH[note.hindsight]) ** 2
            juries.setdefault(made.jurors, []).append(missed)
    by_model = [ModelScore(model, len(all_), _mean(all_)) for model, all_ in models.items()]
    by_jury = [JuryScore(jurors, len(all_), _mean(all_)) for jurors, all_ in juries.items()]
    return Calibration(
        len(known),
        NEEDED,
        tuple(sorted(by_model, key=lambda one: (one.brier, one.model))),
        tuple(sorted(by_jury, key=lambda one: (one.brier, one.jurors))),
    )


def _truth(note: Noted, option: str) -> float | None:
    """What came of an option. Of one that was not selected, it is known if the selected one was
    right, or if there was no third."""
    truth = TRUTH[note.hindsight]
    if option == note.forecasts.selected:
        return truth
    return 1.0 - truth if note.hindsight == "right" or note.forecasts.options == 2 else None


def _mean(missed: Sequence[float]) -> float:
    return round(math.fsum(missed) / len(missed), 4)
