"""What an audience may see of a station: what is said there, and nothing of how it is run.

A failure is told by its code alone: its sentence is for whoever can mend it, and may name servers.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from moot.core.debate import Debate, Turn
from moot.core.events import Event, TurnCommitted
from moot.core.times import iso
from moot.stations.station import Conversation, Programme, Slot, Station
from moot.wire import codec, codec_station

_DEBATE = (
    "id", "motion", "format", "status", "degraded", "stop_reason", "stage", "round", "place",
    "stages", "progress", "participants", "host", "last_seq", "created_at", "started_at",
    "ended_at",
)  # fmt: skip
_SPEAKER = ("id", "name", "role", "stance", "mainPoints")
_COUNTED = ("turns", "words", "seconds", "longestTurnWords", "share")


def is_aired(one: Conversation) -> bool:
    """Whether it has had the air; what was taken off before was never public."""
    return one.aired_at is not None and one.debate.status != "scheduled"


def station(value: Station) -> dict[str, Any]:
    return {"id": value.id, "name": value.name, "about": value.about, "zone": value.zone}


def programme(value: Programme) -> dict[str, Any]:
    return {
        "station": station(value.station),
        "now": codec_station.conversation(value.now) if value.now else None,
        "waiting": [codec_station.conversation(one) for one in value.waiting],
        "slots": [_slot(one) for one in value.slots],
        "past": [codec_station.conversation(one) for one in value.past if is_aired(one)],
    }


def _slot(value: Slot) -> dict[str, Any]:
    return {
        "due": iso(value.due),
        "motion": value.motion,
        "agents": [one.name for one in value.agents],
    }


def debate(value: Debate) -> dict[str, Any]:
    whole = codec.debate(value)
    return {name: whole[name] for name in _DEBATE}


def turn(value: Turn) -> Turn:
    """A failed turn's data says why, in the provider's words."""
    return replace(value, data=None) if value.status == "failed" else value


def event(value: Event) -> Event:
    if isinstance(value, TurnCommitted):
        shown = turn(value.turn)
        return value if shown is value.turn else replace(value, turn=shown)
    return replace(value, failure=None, notice=None)


def report(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Of a report: what was said, without what it cost."""
    return {
        "summary": {name: whole["summary"][name] for name in ("text", "by", "turn")},
        "durationSeconds": whole["durationSeconds"],
        "speakers": [
            {name: who[name] for name in _SPEAKER} | {"statistics": _counted(who["statistics"])}
            for who in whole["speakers"]
        ],
        "totals": _counted(whole["totals"]),
        "method": whole["method"],
        "closing": whole.get("closing"),
    }


def _counted(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in _COUNTED}
