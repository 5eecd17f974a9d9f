"""Agents, stations and conversations as JSON and back, checked as in `codec`."""

from collections.abc import Mapping
from typing import Any

from moot.core import effort
from moot.core.debate import Cursor, Debate, Limits, Participant
from moot.core.status import Status
from moot.core.times import iso, seconds
from moot.stations.station import Agent, Brought, Conversation, Programme, Slot, Station
from moot.wire import shapes
from moot.wire.codec import adapter, bare_rules, filled, plain

BROADCASTING: frozenset[Status] = frozenset({"running", "ending"})
"""What a debate's status is while its conversation reads `broadcasting`."""


def agent(value: Agent) -> dict[str, Any]:
    """As rows and files keep it."""
    return plain(value)


def shown_agent(value: Agent) -> dict[str, Any]:
    """As people and programs see it, with the provider of its model."""
    return filled(shapes.Agent, value, provider=effort.bare(value.model).partition(":")[0])


def read_agent(said: Mapping[str, Any]) -> Agent:
    return adapter(Agent).validate_python(dict(said))


def read_agents(text: str) -> tuple[Agent, ...]:
    return adapter(tuple[Agent, ...]).validate_json(text)


def read_brought(said: Mapping[str, Any]) -> Brought:
    return adapter(Brought).validate_python(dict(said))


def station(value: Station) -> dict[str, Any]:
    """As programs see it; `on_air` may have ended: its programme says."""
    slot = value.next_slot
    return filled(shapes.Station, value, next_slot=None if slot is None else iso(slot))


def read_station(said: Mapping[str, Any]) -> Station:
    """What `station` wrote: all but how it is kept."""
    slot = said["next_slot"]
    known = {**said, "next_slot": None if slot is None else seconds(slot)}
    return adapter(Station).validate_python(known)


def shown_status(debate: Debate) -> str:
    """A conversation's status, as stations show it."""
    return "broadcasting" if debate.status in BROADCASTING else debate.status


def conversation(value: Conversation) -> dict[str, Any]:
    debate = value.debate
    seated = zip(value.agents, debate.participants, strict=True)
    return filled(
        shapes.Conversation,
        debate,
        station=value.station_id,
        status=shown_status(debate),
        due=iso(value.due),
        called=value.waiting and value.called > 0,
        progress={"done": debate.turn_count, "total": debate.total},
        agents=[{**shown_agent(one), "seat": seat.id} for one, seat in seated],
    )


def read_conversation(said: Mapping[str, Any]) -> Conversation:
    """What `conversation` wrote: of its debate, what lists show, and the seats."""
    known: shapes.Conversation = adapter(shapes.Conversation).validate_python(dict(said))
    debate = _debate(known)
    return Conversation(
        debate=debate,
        station_id=known["station"],
        due=seconds(known["due"]),
        agents=tuple(read_agent(one) for one in known["agents"]),
        called=1 if known["called"] else 0,
        waiting=debate.status == "scheduled",
    )


def _debate(known: shapes.Conversation) -> Debate:
    status, total = known["status"], known["progress"]["total"]
    return Debate(
        id=known["id"],
        motion=known["motion"],
        rules=bare_rules(known["format"]),
        participants=tuple(
            Participant(
                one["seat"],
                one["name"],
                stance=one["stance"],
                bio=one["bio"],
                model=effort.bare(one["model"]),
                effort=effort.known(one["model"])[1],
            )
            for one in known["agents"]
        ),
        host=None,
        options={},
        limits=Limits(max_turns=total),
        on_failure="degrade",
        status="running" if status == "broadcasting" else status,
        cursor=Cursor(),
        created_at=known["started_at"] or "",
        updated_at=known["ended_at"] or known["started_at"] or "",
        degraded=known["degraded"],
        stop_reason=known["stop_reason"],
        turn_count=known["progress"]["done"],
        total=total,
        started_at=known["started_at"],
        ended_at=known["ended_at"],
    )


def programme(value: Programme) -> dict[str, Any]:
    return {
        "station": station(value.station),
        "now": conversation(value.now) if value.now else None,
        "waiting": [conversation(one) for one in value.waiting],
        "slots": [slot(one, [agent.id for agent in one.agents]) for one in value.slots],
        "past": [conversation(one) for one in value.past],
    }


def slot(value: Slot, agents: list[str]) -> dict[str, Any]:
    return filled(shapes.Slot, value, due=iso(value.due), agents=agents)


def read_programme(said: Mapping[str, Any]) -> Programme:
    return Programme(
        station=read_station(said["station"]),
        now=read_conversation(said["now"]) if said["now"] is not None else None,
        waiting=tuple(read_conversation(one) for one in said["waiting"]),
        slots=tuple(_read_slot(one) for one in said["slots"]),
        past=tuple(read_conversation(one) for one in said["past"]),
    )


def _read_slot(said: Mapping[str, Any]) -> Slot:
    """Its agents are known by their ids alone."""
    agents = tuple(Agent(str(id_), str(id_)) for id_ in said["agents"])
    return Slot(seconds(said["due"]), str(said["motion"]), agents)
