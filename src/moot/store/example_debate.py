"""The finished debate that comes with moot, to look at. It was written for that: no model spoke."""

import tomllib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from importlib import resources
from typing import Any

from moot.core import schedule
from moot.core.answers import read, spoken
from moot.core.debate import NO_USAGE, Cursor, Debate, Turn
from moot.core.format import parse
from moot.core.request import build
from moot.core.schedule import Step
from moot.outcome.result import result
from moot.render.report import report
from moot.wire import codec, shapes

ID = "debate_20261102_090000_sample"
MODEL = "example:no-model"
"""What stands where a debate names the model that spoke."""
SECONDS = 20  # that a turn took


@lru_cache(maxsize=1)
def finished() -> tuple[Debate, tuple[Turn, ...]]:
    """The debate, and all that was said in it."""
    script = tomllib.loads(resources.files("moot").joinpath("example.toml").read_text("utf-8"))
    debate = _cast(script)
    turns = _turns(debate, script)
    debate = debate.but(
        status="completed", stop_reason="max_turns", cursor=Cursor(), warnings=(),
        round=turns[-1].round, stage=turns[-1].stage, turn_count=len(turns), last_seq=len(turns),
        started_at=debate.created_at, ended_at=turns[-1].committed_at,
        updated_at=turns[-1].committed_at,
    )  # fmt: skip
    return debate.but(outcome=result(debate, turns).decision), tuple(turns)


@lru_cache(maxsize=1)
def example() -> dict[str, Any]:
    """The debate, its turns, its verdict and its report, as the service would tell of one."""
    debate, turns = finished()
    verdict: dict[str, Any] = {
        **(result(debate, turns).verdict or {}),
        "warnings": [],
    }  # no model: none can favour another
    return {
        "debate": codec.debate(debate, shapes.Debate),
        "turns": [codec.turn(turn) for turn in turns],
        "verdict": verdict,
        "report": {**report(debate, turns), "verdict": verdict},
    }


def _cast(script: Mapping[str, Any]) -> Debate:
    seats = {line["name"]: line for line in reversed(script["speeches"])}
    text = resources.files("moot.formats").joinpath(f"{script['format']}.toml").read_text("utf-8")
    return build(
        debate_id=ID,
        at=script["at"],
        motion=script["motion"],
        rules=parse(text, f"{script['format']}.toml"),
        default_model=MODEL,
        normalize=lambda model: (model, None),
        participants=[
            {"name": name, "stance": line["stance"]} for name, line in reversed(seats.items())
        ],
        limits={"max_turns": len(script["speeches"])},
        jury={"size": len(script["jurors"])},
    )


def _turns(debate: Debate, script: Mapping[str, Any]) -> list[Turn]:
    turns: list[Turn] = []
    speeches = iter(script["speeches"])
    for wave in schedule.waves(debate):
        for step in wave:
            data = _ballot(debate, step, script) if step.reading else None
            shape = debate.rules.shape(step.answer) if data else None
            text = spoken(shape, data) if shape and data else next(speeches)["text"]
            turns.append(_turn(debate, step, len(turns) + 1, text, data))
    return turns


def _ballot(debate: Debate, step: Step, script: Mapping[str, Any]) -> dict[str, Any]:
    """A juror's vote: the same in both orders."""
    place = [seat.id for seat in debate.jury.seats].index(step.actor) if debate.jury else 0
    said = script["jurors"][place]["alone" if step.reading == "alone" else "heard"]
    none: list[Any] = []
    reasons = [{"turns": none, "quotes": none, **reason} for reason in said["reasons"]]
    against = {"turns": none, **said["against"]}
    whole = {"questions": none, **said, "reasons": reasons, "against": against}
    return read(step.answer, debate.rules.shape(step.answer), whole, {})


def _turn(debate: Debate, step: Step, seq: int, text: str, data: Mapping[str, Any] | None) -> Turn:
    seat = debate.seat(step.actor)
    return Turn(
        seq=seq, round=step.round, stage=step.stage, actor=step.actor, name=seat.name,
        kind=step.kind, target=step.target, instruction=None, text=text, data=data, status="ok",
        error_code=None, model=seat.model, usage=NO_USAGE,
        started_at=_later(debate.created_at, seq - 1), committed_at=_later(debate.created_at, seq),
    )  # fmt: skip


def _later(at: str, turns: int) -> str:
    moment = datetime.fromisoformat(at) + timedelta(seconds=SECONDS * turns)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
