"""JSON back to the nouns, each value checked: from a file, or from another moot.

What does not have the shape raises ValueError, KeyError or TypeError; nested absurdly deep,
RecursionError.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from moot.core.debate import Cursor, Debate, Failure, Limits, Turn, Usage
from moot.core.events import Delta, StatusChanged
from moot.core.format import Format, from_json
from moot.core.status import Status, StopReason


@dataclass(frozen=True)
class _Listed:
    id: str
    motion: str
    status: Status
    degraded: bool
    stop_reason: StopReason | None
    failure: Failure | None
    stage: str | None
    round: int | None
    usage: Usage
    turn_count: int
    total: int
    created_at: str
    updated_at: str


_TURN = TypeAdapter(Turn)
_DEBATE = TypeAdapter(Debate)
_STATUS = TypeAdapter(StatusChanged)
_LISTED = TypeAdapter(_Listed)
_DELTA = TypeAdapter(Delta)
_WHOLE = (
    "id", "motion", "status", "degraded", "warnings", "stop_reason", "stop_requested_at",
    "failure", "cursor", "stage", "round", "participants", "host", "options", "limits",
    "on_failure", "brief", "phases", "outcome", "usage", "last_seq", "created_at", "started_at",
    "ended_at", "updated_at",
)  # fmt: skip
_STATUS_FIELDS = ("at", "status", "reason", "failure", "stage", "round", "degraded", "notice")


def read_rules(said: Any) -> Format:
    return from_json(json.dumps(said))


def bare_rules(name: str) -> Format:
    """Of a format, its name: no one speaks by it."""
    return Format.model_construct(name=name, title=name, stages=())


def read_debate(said: Mapping[str, Any], rules: Any, received: Any = None) -> Debate:
    """What `codec` wrote of a debate, with the rules and the request that stand beside it."""
    return _DEBATE.validate_python(
        {
            **{name: said[name] for name in _WHOLE},
            "rules": read_rules(rules),
            "received": received,
            "turn_count": said["progress"]["done"],
            "total": said["progress"]["total"],
        }
    )


def read_listed(said: Mapping[str, Any]) -> Debate:
    """A debate as lists show it: of its rules it has the name, and nobody sits in it."""
    progress = {"turn_count": said["progress"]["done"], "total": said["progress"]["total"]}
    known = _LISTED.validate_python({**said, **progress})
    return Debate(
        **{name: getattr(known, name) for name in known.__dataclass_fields__},
        rules=bare_rules(str(said["format"])),
        participants=(),
        host=None,
        options={},
        limits=Limits(max_turns=known.total),
        on_failure="pause",
        cursor=Cursor(),
    )


def read_turn(said: Any) -> Turn:
    return _TURN.validate_python(said)


def read_status(debate_id: str, seq: Any, said: Mapping[str, Any]) -> StatusChanged:
    """What `codec.status_event` wrote; its seq stands beside it."""
    fields = {name: said[name] for name in _STATUS_FIELDS}
    progress = {"done": said["progress"]["done"], "total": said["progress"]["total"]}
    return _STATUS.validate_python({**fields, **progress, "debate_id": debate_id, "seq": seq})


def read_delta(debate_id: str, said: Mapping[str, Any]) -> Delta:
    return _DELTA.validate_python({**said, "debate_id": debate_id})
