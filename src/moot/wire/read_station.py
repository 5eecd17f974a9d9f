"""JSON back to the nouns of a station, each value checked: from another moot.

What does not have the shape raises ValueError, KeyError or TypeError.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from moot.core.debate import Cursor, Debate, Limits, Participant
from moot.core.status import StopReason
from moot.core.times import seconds
from moot.stations.station import Agent, Brought, Conversation, Programme, Slot, Station
from moot.wire.read import bare_rules


@dataclass(frozen=True)
class _Told:
    """What the wire says of a conversation's debate."""

    id: str
    motion: str
    format: str
    status: Literal[
        "scheduled", "queued", "broadcasting", "paused", "completed", "stopped", "failed"
    ]
    started_at: str | None
    ended_at: str | None
    stop_reason: StopReason | None
    degraded: bool
    progress: dict[Literal["done", "total"], int]


_AGENT = TypeAdapter(Agent)
_STATION = TypeAdapter(Station)
_TOLD = TypeAdapter(_Told)
_BROUGHT = TypeAdapter(Brought)


def read_agent(said: Mapping[str, Any]) -> Agent:
    return _AGENT.validate_python(dict(said))


def read_brought(said: Mapping[str, Any]) -> Brought:
    return _BROUGHT.validate_python(dict(said))


def read_station(said: Mapping[str, Any]) -> Station:
    """What `codec_station.station` wrote: all but how it is kept."""
    return _STATION.validate_python({**said, "next_slot": _moment(said["next_slot"])})


def read_conversation(said: Mapping[str, Any]) -> Conversation:
    """What `codec_station.conversation` wrote: of its debate, what lists show, and the seats."""
    seats = list(said["agents"])
    agents = tuple(read_agent(one) for one in seats)
    debate = _debate(_TOLD.validate_python(dict(said)), agents, [str(one["seat"]) for one in seats])
    return Conversation(
        debate=debate,
        station_id=str(said["station"]),
        due=seconds(said["due"]),
        agents=agents,
        called=1 if said["called"] else 0,
        waiting=debate.status == "scheduled",
    )


def read_slot(said: Mapping[str, Any]) -> Slot:
    """Its agents are known by their ids alone."""
    agents = tuple(Agent(str(id_), str(id_)) for id_ in said["agents"])
    return Slot(seconds(said["due"]), str(said["motion"]), agents)


def read_programme(said: Mapping[str, Any]) -> Programme:
    return Programme(
        station=read_station(said["station"]),
        now=read_conversation(said["now"]) if said["now"] is not None else None,
        waiting=tuple(read_conversation(one) for one in said["waiting"]),
        slots=tuple(read_slot(one) for one in said["slots"]),
        past=tuple(read_conversation(one) for one in said["past"]),
    )


def _debate(told: _Told, agents: tuple[Agent, ...], seats: list[str]) -> Debate:
    return Debate(
        id=told.id,
        motion=told.motion,
        rules=bare_rules(told.format),
        participants=tuple(
            Participant(seat, one.name, one.model, one.stance, bio=one.bio)
            for seat, one in zip(seats, agents, strict=True)
        ),
        host=None,
        options={},
        limits=Limits(max_turns=told.progress["total"]),
        on_failure="degrade",
        status="running" if told.status == "broadcasting" else told.status,
        cursor=Cursor(),
        created_at=told.started_at or "",
        updated_at=told.ended_at or told.started_at or "",
        degraded=told.degraded,
        stop_reason=told.stop_reason,
        turn_count=told.progress["done"],
        total=told.progress["total"],
        started_at=told.started_at,
        ended_at=told.ended_at,
    )


def _moment(said: str | None) -> float | None:
    return None if said is None else seconds(said)
