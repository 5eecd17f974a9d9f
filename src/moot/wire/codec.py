"""Debates, turns and events as JSON and back: one spelling for the database, the files and HTTP.

A noun of the core is written with the fields that it has; a document that differs from its noun is
one of the `shapes`. Everything that is read is checked: another shape raises ValueError, KeyError
or TypeError, and one that is nested absurdly deep RecursionError.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

from pydantic import TypeAdapter

from moot.core import prices, schedule, verbs
from moot.core.debate import (
    NO_USAGE,
    Cursor,
    Debate,
    Failure,
    Fork,
    Jury,
    Limits,
    Participant,
    Turn,
)
from moot.core.events import Delta, Event, StatusChanged, TurnCommitted
from moot.core.followups import Followup
from moot.core.format import Format, from_json
from moot.core.legs import legs_of
from moot.core.sources import HiddenFrom, Source
from moot.wire import shapes

_DELTA = tuple(field.name for field in fields(Delta) if field.name != "debate_id")
_delta_values = attrgetter(*_DELTA)
_NAMES = tuple(field.name for field in fields(Debate))
_LATER: dict[str, Any] = {
    "place": None, "outcome": None, "result": "", "models": (), "unpriced": [], "local": False,
    "waiting_for": None, "title": "", "tags": (), "archived": False, "writing": None,
    "spent": NO_USAGE,
}  # fmt: skip
"""What an older server does not say of the debates in a list."""
_UNFILED = ("title", "tags", "archived", "writing")
"""What no file says of a debate."""


class UnknownEventError(LookupError):
    """An event of a type that this version of moot does not know."""


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def plain(value: object) -> Any:
    """A noun of the core as JSON: each of its fields by its name."""
    return adapter(type(value)).dump_python(value, mode="json", warnings=False)


def filled(shape: Any, noun: object, **given: Any) -> dict[str, Any]:
    """A shape filled from a noun: each field by its name, unless it is given."""
    names: Mapping[str, Any] = shape.__annotations__
    values = {name: given[name] if name in given else getattr(noun, name) for name in names}
    return adapter(shape).dump_python(values, mode="json", warnings=False)


# --- debates ---


def filed(value: Debate) -> dict[str, Any]:
    """All of it, as files keep it: `round` and `stage` are its last turn's."""
    return filled(shapes.FiledDebate, value, progress=_progress(value))


def debate(value: Debate, shape: Any = shapes.ShownDebate) -> dict[str, Any]:
    """A debate as people and programs are shown it: where it stands now, and what comes next."""
    number, stage = schedule.here(value)
    known = prices.known(value)
    return filled(
        shape,
        value,
        stage=stage,
        round=number,
        place=schedule.heading(value, number, stage),
        progress=_progress(value),
        schedule=_schedule(value),
        longer_seconds=verbs.longer_seconds(value),
        unpriced=list(known.unpriced),
        local=known.local,
        stages=[
            {
                "name": leg.stage.name,
                "title": leg.stage.heading,
                "first_round": leg.first_round,
                "rounds": leg.rounds or None,
            }
            for leg in legs_of(value)
        ],
    )


def listed(
    value: Debate,
    result: str = "",
    models: Sequence[str] | None = None,
    known: prices.Known | None = None,
) -> dict[str, Any]:
    """A debate as lists show it, with what came of it. The models, and what is known of their
    prices, are those of its seats, unless somebody else knows them."""
    known = known or prices.known(value)
    number, stage = schedule.here(value)
    place = schedule.heading(value, number, stage)
    progress = _progress(value)
    return filled(
        shapes.ListedDebate, value, stage=stage, round=number, place=place, progress=progress,
        result=result, models=value.models if models is None else tuple(models),
        unpriced=list(known.unpriced), local=known.local,
    )  # fmt: skip


def _progress(value: Debate) -> shapes.Progress:
    return {"done": value.turn_count, "total": value.total}


def _schedule(value: Debate) -> shapes.Schedule | None:
    step = schedule.ahead(value)
    return step and {
        "target_id": step.target_id,
        "instruction": step.instruction,
        "next_stage": step.next_stage,
    }


def request(value: Debate) -> dict[str, Any]:
    """What was asked for, with the rules as they were then: enough to ask it again."""
    asked = filled(shapes.Request, value)
    return asked if value.received is None else {**asked, "received": dict(value.received)}


def read_debate(said: Mapping[str, Any], rules: Any, received: Any = None) -> Debate:
    """What was written of a debate, with the rules and the request that stand beside it."""
    named = (name for name in shapes.FiledDebate.__annotations__ if name in _NAMES)
    return adapter(Debate).validate_python(
        {
            **{name: said[name] for name in named if name in said},
            "rules": read_rules(rules),
            "received": received,
            "turn_count": said["progress"]["done"],
            "total": said["progress"]["total"],
            "waiting_for": said.get("waiting_for"),
            **{name: said[name] for name in _UNFILED if name in said},
        }
    )


def read_listed(said: Mapping[str, Any]) -> Debate:
    """A debate as lists show it: of its rules it has the name, and nobody sits in it."""
    known = adapter(shapes.ListedDebate).validate_python({**_LATER, **said})
    total = known["progress"]["total"]
    return Debate(
        **{name: known[name] for name in shapes.ListedDebate.__annotations__ if name in _NAMES},
        turn_count=known["progress"]["done"],
        total=total,
        rules=bare_rules(known["format"]),
        participants=(),
        host=None,
        options={},
        limits=Limits(max_turns=total),
        on_failure="pause",
        cursor=Cursor(),
    )


def read_rules(said: Any) -> Format:
    return from_json(json.dumps(said))


def bare_rules(name: str) -> Format:
    """The name of a format: no one speaks by it."""
    return Format.model_construct(name=name, title=name, stages=())


# --- questions asked afterwards ---


def followup(value: Followup) -> dict[str, Any]:
    return adapter(Followup).dump_python(value, mode="json", warnings=False)


def read_followup(said: Any) -> Followup:
    return adapter(Followup).validate_python(said)


def followups_file(debate_id: str, asked: Sequence[Followup]) -> dict[str, Any]:
    """`followups.json`, which stands beside the files of a debate."""
    return {"debate": debate_id, "items": [followup(one) for one in asked]}


def read_followups(debate_id: str, said: Any) -> list[Followup]:
    """Raises ValueError if it is not that debate's, or not numbered 1, 2, 3 …"""
    if said["debate"] != debate_id:
        raise ValueError(f"it is of another debate: {said['debate']!r}")
    found = [read_followup(one) for one in said["items"]]
    numbers = [one.number for one in found]
    if numbers != sorted(set(numbers)) or (numbers and numbers[0] < 1):
        raise ValueError("its questions are not numbered one after the other")
    if any(one.status == "asking" for one in found):
        raise ValueError("it holds a question that is still being answered")
    return found


# --- sources ---


def read_source(value: Source) -> dict[str, Any]:
    """A source with its passages."""
    text = [
        {"id": value.cited(one), "number": one.number, "page": one.page, "text": one.text}
        for one in value.text
    ]
    return filled(shapes.ReadSource, value, text=text)


def uploaded(upload: str, value: Source) -> dict[str, Any]:
    return filled(shapes.UploadedSource, value, upload=upload)


# --- turns and events ---


def turn(value: Turn) -> dict[str, Any]:
    return adapter(Turn).dump_python(value, mode="json", warnings=False)


def filed_turn(value: Turn) -> dict[str, Any]:
    """A turn as files keep it: without a number if that is its seq, as in files from before."""
    said = turn(value)
    if value.number == value.seq:
        del said["number"]
    return said


def read_turn(said: Any) -> Turn:
    return adapter(Turn).validate_python(said)


def event(value: Event | Delta) -> tuple[str, dict[str, Any]]:
    """The type of an event, and its data."""
    match value:
        case Delta():
            said = dict(zip(_DELTA, _delta_values(value)))  # noqa: B905  it takes as long again
            if value.instruction is None:
                del said["instruction"]
            if value.cut_off is None:
                del said["cut_off"]
            else:
                said["cut_off"] = plain(value.cut_off)
            return "delta", said
        case TurnCommitted():
            return "turn", turn(value.turn)
        case StatusChanged():
            progress = {"done": value.done, "total": value.total}
            return "status", filled(shapes.StatusEvent, value, progress=progress)


def read_event(kind: str, debate_id: str, seq: Any, said: Mapping[str, Any]) -> Event:
    """What `event` wrote; its seq stands beside it. Any other type raises UnknownEventError."""
    match kind:
        case "turn":
            return TurnCommitted(debate_id, read_turn({**said, "seq": seq}))
        case "status":
            done, total = said["progress"]["done"], said["progress"]["total"]
            own = {"debate_id": debate_id, "seq": seq, "done": done, "total": total}
            return adapter(StatusChanged).validate_python({**said, **own})
        case _:
            raise UnknownEventError(f"there is no event of the type {kind!r}")


def entry(value: Event) -> dict[str, Any]:
    """An event that is not a turn, as files keep it. Only a status does not say its type: when
    files were first written, there was no other."""
    kind, said = event(value)
    return {"seq": value.seq, **({} if kind == "status" else {"type": kind}), **said}


def read_entry(debate_id: str, said: Mapping[str, Any]) -> Event:
    kind = str(said.get("type", "status"))
    if kind == "turn":
        raise UnknownEventError("a turn does not stand among the other events")
    return read_event(kind, debate_id, said["seq"], said)


def read_delta(debate_id: str, said: Mapping[str, Any]) -> Delta:
    return adapter(Delta).validate_python({**said, "debate_id": debate_id})


# What does not change from turn to turn is parsed once, however often its row is read.


@lru_cache(maxsize=4096)
def read_participants(text: str) -> tuple[Participant, ...]:
    return adapter(tuple[Participant, ...]).validate_json(text)


@lru_cache(maxsize=4096)
def read_jury(text: str) -> Jury:
    return adapter(Jury).validate_json(text)


@lru_cache(maxsize=4096)
def read_fork(text: str) -> Fork:
    return Fork(**json.loads(text))


@lru_cache(maxsize=4096)
def read_sources(text: str) -> tuple[Source, ...]:
    """All but their texts."""
    return adapter(tuple[Source, ...]).validate_json(text)


@lru_cache(maxsize=64)
def read_hidden(text: str) -> tuple[HiddenFrom, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=4096)
def read_limits(text: str) -> Limits:
    return Limits(**json.loads(text))


@lru_cache(maxsize=4096)
def read_options(text: str) -> Mapping[str, int]:
    return json.loads(text)


def read_failure(text: str | None) -> Failure | None:
    return Failure(**json.loads(text)) if text else None
