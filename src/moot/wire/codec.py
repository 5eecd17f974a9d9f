"""The nouns as JSON and back: one spelling for the database, the files and the wire."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from moot.core import schedule
from moot.core.debate import Debate, Failure, Limits, Participant, Turn, Usage
from moot.core.events import Delta, Event, StatusChanged, TurnCommitted

LISTED = (
    "id", "motion", "format", "status", "stage", "round", "place", "progress", "degraded",
    "stop_reason", "failure", "usage", "created_at", "updated_at",
)  # fmt: skip


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def participant(seat: Participant) -> dict[str, Any]:
    return {
        "id": seat.id,
        "name": seat.name,
        "role": seat.role,
        "stance": seat.stance,
        "bio": seat.bio,
        "model": seat.model,
    }


def limits(value: Limits) -> dict[str, Any]:
    """What files from before do not hold is left out while it is not set."""
    told = asdict(value)
    if not value.allow_unpriced:
        del told["allow_unpriced"]
    return told


def failure(value: Failure | None) -> dict[str, Any] | None:
    return asdict(value) if value else None


def usage(value: Usage) -> dict[str, Any]:
    return asdict(value)


def turn(value: Turn) -> dict[str, Any]:
    return {
        "seq": value.seq,
        "round": value.round,
        "stage": value.stage,
        "actor": value.actor,
        "name": value.name,
        "kind": value.kind,
        "target": value.target,
        "instruction": value.instruction,
        "text": value.text,
        "data": value.data,
        "status": value.status,
        "error_code": value.error_code,
        "model": value.model,
        "usage": usage(value.usage),
        "started_at": value.started_at,
        "committed_at": value.committed_at,
    }


def filed(value: Debate) -> dict[str, Any]:
    """All of it, as files keep it: `round` and `stage` are its last turn's."""
    return {
        "id": value.id,
        "motion": value.motion,
        "format": value.format,
        "status": value.status,
        "degraded": value.degraded,
        "warnings": list(value.warnings),
        "stop_reason": value.stop_reason,
        "stop_requested_at": value.stop_requested_at,
        "failure": failure(value.failure),
        "cursor": {
            "next_round": value.cursor.next_round,
            "next_stage": value.cursor.next_stage,
            "next_actor": value.cursor.next_actor,
            "next_target": value.cursor.next_target,
        },
        "stage": value.stage,
        "round": value.round,
        "progress": {"done": value.turn_count, "total": value.total},
        "participants": [participant(seat) for seat in value.participants],
        "host": participant(value.host) if value.host else None,
        "options": dict(value.options),
        "limits": limits(value.limits),
        "on_failure": value.on_failure,
        "brief": dict(value.brief),
        "phases": [asdict(phase) for phase in value.phases],
        "outcome": asdict(value.outcome) if value.outcome else None,
        "usage": usage(value.usage),
        "last_seq": value.last_seq,
        "created_at": value.created_at,
        "started_at": value.started_at,
        "ended_at": value.ended_at,
        "updated_at": value.updated_at,
    }


def debate(value: Debate) -> dict[str, Any]:
    """All of it, as people and programs are shown it: where it stands now, and what comes next."""
    step = schedule.ahead(value)
    coming = step and {
        "target_id": step.target_id,
        "instruction": step.instruction,
        "next_stage": step.next_stage,
    }
    return {**_standing(value), "schedule": coming, "stages": _stages(value)}


def listed(value: Debate) -> dict[str, Any]:
    """A debate as lists show it."""
    whole = _standing(value)
    return {name: whole[name] for name in LISTED}


def _standing(value: Debate) -> dict[str, Any]:
    number, stage = schedule.here(value)
    place = schedule.heading(value, number, stage)
    shown = asdict(place) if place else None
    return {**filed(value), "stage": stage, "round": number, "place": shown}


def _stages(value: Debate) -> list[dict[str, Any]]:
    """The stages of this debate: from which round on, and for how many; None is not known."""
    return [
        {
            "name": leg.stage.name,
            "title": leg.stage.heading,
            "first_round": leg.first_round,
            "rounds": leg.rounds or None,
        }
        for leg in schedule.legs_of(value)
    ]


def request(value: Debate) -> dict[str, Any]:
    """What was asked for, with the rules as they were then: enough to ask it again."""
    return {
        "id": value.id,
        "motion": value.motion,
        "format": value.format,
        "participants": [participant(seat) for seat in value.participants],
        "host": participant(value.host) if value.host else None,
        "options": dict(value.options),
        "limits": limits(value.limits),
        "on_failure": value.on_failure,
        "brief": dict(value.brief),
        "created_at": value.created_at,
        "rules": value.rules.model_dump(mode="json"),
        **({} if value.received is None else {"received": dict(value.received)}),
    }


def status_event(value: StatusChanged) -> dict[str, Any]:
    return {
        "status": value.status,
        "reason": value.reason,
        "failure": failure(value.failure),
        "stage": value.stage,
        "round": value.round,
        "progress": {"done": value.done, "total": value.total},
        "degraded": value.degraded,
        "notice": value.notice,
        "at": value.at,
    }


def event(value: Event | Delta) -> tuple[str, dict[str, Any]]:
    """An event's name and its data."""
    if isinstance(value, TurnCommitted):
        return "turn", turn(value.turn)
    if isinstance(value, StatusChanged):
        return "status", status_event(value)
    return "delta", {
        "round": value.round,
        "stage": value.stage,
        "actor": value.actor,
        "target": value.target,
        "text": value.text,
        "at": value.at,
        "offset": value.offset,
        **({} if value.instruction is None else {"instruction": value.instruction}),
    }


def read_status_event(debate_id: str, seq: int, text: str) -> StatusChanged:
    data = json.loads(text)
    return StatusChanged(
        debate_id=debate_id,
        seq=seq,
        at=data["at"],
        status=data["status"],
        reason=data["reason"],
        failure=Failure(**data["failure"]) if data["failure"] else None,
        stage=data["stage"],
        round=data["round"],
        done=data["progress"]["done"],
        total=data["progress"]["total"],
        degraded=data["degraded"],
        notice=data["notice"],
    )


# What does not change from turn to turn is parsed once, however often its row is read.


@lru_cache(maxsize=4096)
def read_participants(text: str) -> tuple[Participant, ...]:
    return tuple(Participant(**seat) for seat in json.loads(text))


@lru_cache(maxsize=4096)
def read_limits(text: str) -> Limits:
    return Limits(**json.loads(text))


@lru_cache(maxsize=4096)
def read_options(text: str) -> Mapping[str, int]:
    return json.loads(text)


def read_failure(text: str | None) -> Failure | None:
    return Failure(**json.loads(text)) if text else None
