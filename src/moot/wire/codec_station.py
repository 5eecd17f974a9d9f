"""Agents, stations and conversations as JSON and back."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from moot.core.debate import Debate
from moot.core.status import Status
from moot.core.times import iso
from moot.stations.station import Agent, Conversation, Programme, Slot, Station, Voice

BROADCASTING: frozenset[Status] = frozenset({"running", "ending"})
"""What a debate's status is while its conversation reads `broadcasting`."""


def agent(value: Agent) -> dict[str, Any]:
    return asdict(value)


def shown_agent(value: Agent) -> dict[str, Any]:
    """As people and programs see it: whose its model is stands beside it."""
    shown: dict[str, Any] = {}
    for name, part in agent(value).items():
        if name == "model":
            shown["provider"] = value.model.partition(":")[0]
        shown[name] = part
    return shown


def read_agent(value: Mapping[str, Any]) -> Agent:
    given: dict[str, Any] = {**value, "voice": Voice(**value["voice"])}
    return Agent(**given)


def read_agents(text: str) -> tuple[Agent, ...]:
    return tuple(read_agent(one) for one in json.loads(text))


def station(value: Station) -> dict[str, Any]:
    """As programs see it; `on_air` may have ended: its programme says."""
    return {
        "id": value.id,
        "name": value.name,
        "about": value.about,
        "public": value.public,
        "format": value.format,
        "options": dict(value.options),
        "limits": dict(value.limits),
        "on_failure": value.on_failure,
        "zone": value.zone,
        "cron": value.cron,
        "missed": value.missed,
        "motions": list(value.motions),
        "agents": list(value.agents),
        "seats": value.seats,
        "on_air": value.on_air,
        "next_slot": moment(value.next_slot),
        "skipped": value.skipped,
        "trouble": value.trouble,
        "created_at": value.created_at,
        "updated_at": value.updated_at,
    }


def shown_status(debate: Debate) -> str:
    """A conversation's status, as stations show it."""
    return "broadcasting" if debate.status in BROADCASTING else debate.status


def conversation(value: Conversation) -> dict[str, Any]:
    debate = value.debate
    return {
        "id": debate.id,
        "station": value.station_id,
        "motion": debate.motion,
        "format": debate.format,
        "status": shown_status(debate),
        "due": iso(value.due),
        "called": value.waiting and value.called > 0,
        "started_at": debate.started_at,
        "ended_at": debate.ended_at,
        "stop_reason": debate.stop_reason,
        "degraded": debate.degraded,
        "progress": {"done": debate.turn_count, "total": debate.total},
        "agents": [
            {**shown_agent(one), "seat": seat.id}
            for one, seat in zip(value.agents, debate.participants, strict=True)
        ],
    }


def slot(value: Slot) -> dict[str, Any]:
    return {
        "due": iso(value.due),
        "motion": value.motion,
        "agents": [one.id for one in value.agents],
    }


def programme(value: Programme) -> dict[str, Any]:
    return {
        "station": station(value.station),
        "now": conversation(value.now) if value.now else None,
        "waiting": [conversation(one) for one in value.waiting],
        "slots": [slot(one) for one in value.slots],
        "past": [conversation(one) for one in value.past],
    }


def moment(value: float | None) -> str | None:
    return None if value is None else iso(value)
