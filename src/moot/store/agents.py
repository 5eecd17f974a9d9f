"""Saved personas."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, select, text

from moot.core import codec, codec_station
from moot.core.station import Agent
from moot.store.query import Connection, Query
from moot.store.tables import agents

ALL = Query(select(agents).order_by(agents.c.name, agents.c.id))
BY_ID = Query(select(agents).where(agents.c.id == bindparam("id")))
KEEP = Query(
    text(
        "INSERT INTO debate_agents (id, name, bio, model, stance, voice, created_at, updated_at)"
        " VALUES (:id, :name, :bio, :model, :stance, :voice, :created_at, :updated_at)"
        " ON CONFLICT (id) DO UPDATE SET name = excluded.name, bio = excluded.bio,"
        " model = excluded.model, stance = excluded.stance, voice = excluded.voice,"
        " updated_at = excluded.updated_at"
    )
)
DELETE = Query(delete(agents).where(agents.c.id == bindparam("id")))


def find(conn: Connection, ids: Sequence[str] | None = None) -> list[Agent]:
    """Those that are there, by name; or all."""
    if ids is None:
        return [_agent(row) for row in ALL.rows(conn)]
    rows = [row for one in dict.fromkeys(ids) for row in BY_ID.rows(conn, {"id": one})]
    return sorted((_agent(row) for row in rows), key=lambda one: (one.name, one.id))


def keep(conn: Connection, agent: Agent) -> None:
    row = codec_station.agent(agent)
    KEEP.run(conn, {**row, "voice": codec.dumps(row["voice"])})


def remove(conn: Connection, agent_id: str) -> None:
    DELETE.run(conn, {"id": agent_id})


def _agent(row: dict[str, Any]) -> Agent:
    return codec_station.read_agent({**row, "voice": json.loads(row["voice"])})
