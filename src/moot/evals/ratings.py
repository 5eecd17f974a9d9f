"""Ratings: how models have done in a user's debates, in each role. From verdicts and turns alone.

Models are compared where a jury decided, which is outside of the cast: whoever held the selected
option beat whoever held another. Their strengths follow by Bradley and Terry, each debate counting
once, and each model with one debate besides that it half won, so that few debates settle nothing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from moot import extras
from moot.core.debate import NO_USAGE, Debate, Turn, Usage
from moot.core.jury import SIDES
from moot.core.voices import UNDERSTUDY
from moot.outcome.calibration import Calibration
from moot.ports.entry_point import Moot
from moot.ports.finding import Search

_PAGE = 200
_SIDES = {"pro": SIDES[0], "con": SIDES[1]}
_PRIOR = 0.5  # debates that each model has won, and lost, before any was held
Game = tuple[str, str, float]
"""Who beat whom, and how much it counts."""


@dataclass(slots=True)
class Record:
    """What one model did in one role."""

    model: str
    role: str
    debates: int = 0
    judged: int = 0  # in which a jury chose an option, and it held one
    won: int = 0  # of these
    moved_others: int = 0  # times that another changed its position and named a turn of its own
    was_moved: int = 0  # times that it changed its own
    usage: Usage = NO_USAGE  # of its turns


@dataclass(frozen=True, slots=True)
class Strength:
    """The chance of a model against one of middling strength, with its interval of 95%."""

    model: str
    chance: float
    low: float
    high: float
    debates: int


@dataclass(slots=True)
class Checks:
    """Debates with the depth `auto`."""

    early: int = 0  # that two seats settled
    checked: int = 0  # held in full although they agreed
    differed: int = 0  # of these, those that came to something else


@dataclass(slots=True)
class Ratings:
    """Everything that is counted."""

    debates: int = 0
    older: bool = False  # there are more debates, which were left out
    records: dict[tuple[str, str], Record] = field(default_factory=dict[tuple[str, str], Record])
    games: list[Game] = field(default_factory=list[Game])
    contests: dict[str, int] = field(default_factory=lambda: defaultdict[str, int](int))
    checks: Checks = field(default_factory=Checks)


async def collect(moot: Moot, most: int | None = None) -> Ratings:
    """Read every debate that came to an outcome, or the newest of them. One that began with
    another's turns is left out: what was said in it counts there."""
    made, before = Ratings(), None
    while True:
        page = await moot.find(
            Search(statuses=("completed",), limit=_PAGE, before=before, archived=None)
        )
        for debate in page.debates:
            if debate.outcome is not None and debate.outcome.outcome and not debate.forked_from:
                if made.debates == most:
                    made.older = True
                    return made
                whole = await moot.get(debate.id)
                add(made, whole, await moot.turns(debate.id), await moot.verdict(debate.id))
        if page.next is None:
            return made
        before = page.next


def add(made: Ratings, debate: Debate, turns: Sequence[Turn], verdict: Mapping[str, Any]) -> None:
    """Count one debate, and in it whoever spoke with a model."""
    made.debates += 1
    held, decided = _held(debate, verdict), verdict["selected"]
    judged = verdict["decidedBy"] == "jury" and decided is not None
    seats = {seat.name: seat for seat in debate.participants if not seat.is_human}
    said = [turn for turn in turns if turn.status == "ok" and turn.model != UNDERSTUDY]
    spoke = {turn.name: turn.model for turn in said if turn.name in seats}
    records: dict[str, Record] = {}
    for name, model in spoke.items():
        seat = seats[name]
        role = seat.role if seat.role != "participant" else seat.stance
        one = records[name] = made.records.setdefault((model, role), Record(model, role))
        one.debates += 1
        one.usage = sum((turn.usage for turn in turns if turn.name == name), one.usage)
        if judged and name in held:
            one.judged += 1
            one.won += held[name] == decided
    _moved(records, turns, verdict)
    if judged and decided:
        _contest(made, {name: spoke[name] for name in held if name in spoke}, held, decided)
    _check(made.checks, verdict.get("depth"))


def _held(debate: Debate, verdict: Mapping[str, Any]) -> dict[str, str]:
    """Which option each speaker stood for at the end, or which side it was given."""
    held = {name: row["name"] for row in verdict["options"] for name in row["final"]}
    if held:
        return held
    return {seat.name: _SIDES[seat.stance] for seat in debate.participants if seat.stance in _SIDES}


def _moved(
    records: Mapping[str, Record], turns: Sequence[Turn], verdict: Mapping[str, Any]
) -> None:
    spoken = {turn.number: turn.name for turn in turns}
    for move in verdict["moved"]:
        if move["who"] in records:
            records[move["who"]].was_moved += 1
        causes = move["because"]["turns"] if move["because"]["named"] else ()
        for name in {spoken[number] for number in causes if number in spoken} - {move["who"]}:
            if name in records:
                records[name].moved_others += 1


def _contest(
    made: Ratings, models: Mapping[str, str], held: Mapping[str, str], decided: str
) -> None:
    """The pairs of models of which one held the selected option, and the other another one."""
    pairs = [
        (models[winner], models[loser])
        for winner in models
        for loser in models
        if held[winner] == decided != held[loser] and models[winner] != models[loser]
    ]
    made.games += [(*pair, 1 / len(pairs)) for pair in pairs]
    for model in {model for pair in pairs for model in pair}:
        made.contests[model] += 1


def _check(checks: Checks, depth: Mapping[str, Any] | None) -> None:
    if depth and depth["agreed"]:
        checks.early += not depth["audited"]
        checks.checked += depth["audited"]
        checks.differed += depth["same"] is False


def strengths(games: Sequence[Game], contests: Mapping[str, int]) -> list[Strength]:
    """How strong each model is, the strongest first."""
    models = sorted({model for winner, loser, _ in games for model in (winner, loser)})
    if not models:
        return []
    numpy: Any = import_module("numpy")
    linear: Any = import_module("statsmodels.genmod.generalized_linear_model")
    families: Any = import_module("statsmodels.genmod.families")
    place = {model: n for n, model in enumerate(models)}
    rows: list[list[float]] = []
    won: list[float] = []
    weights: list[float] = []
    for winner, loser, weight in games:
        row = [0.0] * len(models)
        row[place[winner]], row[place[loser]] = 1.0, -1.0
        rows.append(row)
        won.append(1.0)
        weights.append(weight)
    for model in models:  # against one of middling strength
        row = [float(other == model) for other in models]
        rows += [row, row]
        won += [1.0, 0.0]
        weights += [_PRIOR, _PRIOR]
    fitted = linear.GLM(
        numpy.array(won), numpy.array(rows), family=families.Binomial(),
        freq_weights=numpy.array(weights),
    ).fit()  # fmt: skip
    bounds = fitted.conf_int(0.05)

    def chance(value: float) -> float:
        return float(1 / (1 + numpy.exp(-value)))

    found = [
        Strength(model, chance(fitted.params[n]), chance(bounds[n][0]), chance(bounds[n][1]),
                 contests.get(model, 0))
        for n, model in enumerate(models)
    ]  # fmt: skip
    return sorted(found, key=lambda one: (-one.chance, one.model))


def document(made: Ratings, scores: Calibration) -> dict[str, Any]:
    """All of it, in the shape of `wire.rating_shapes`. Without what strengths are computed with,
    there are none."""
    lacks = "" if find_spec("statsmodels") else extras.install("evals")
    brier = {one.model: one.brier for one in scores.models}
    records = sorted(made.records.values(), key=lambda one: (one.model, one.role))
    return {
        "debates": made.debates,
        "older": made.older,
        "strengths": [
            {"model": one.model, "chance": round(one.chance, 4), "low": round(one.low, 4),
             "high": round(one.high, 4), "debates": one.debates}
            for one in ([] if lacks else strengths(made.games, made.contests))
        ],
        "lacks": lacks or None,
        "records": [
            {"model": one.model, "role": one.role, "debates": one.debates, "judged": one.judged,
             "won": one.won, "brier": brier.get(one.model), "movedOthers": one.moved_others,
             "wasMoved": one.was_moved, "calls": one.usage.calls,
             "tokens": one.usage.input_tokens + one.usage.output_tokens,
             "costUsd": round(one.usage.cost_usd, 6)}
            for one in records
        ],
        "noted": scores.noted,
        "depth": {"early": made.checks.early, "checked": made.checks.checked,
                  "differed": made.checks.differed},
    }  # fmt: skip
