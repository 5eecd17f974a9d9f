"""Saved personas."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from moot.stations.station import Agent
from moot.store.query import Connection, Query
from moot.store.tables import agents
from moot.wire import codec, codec_station

ALL = Query(select(agents).order_by(agents.c.name, agents.c.id))
BY_ID = Query(select(agents).where(agents.c.id == bindparam("id")))
ADD = Query(insert(agents))
CHANGE = Query(
    update(agents)
    .where(agents.c.id == bindparam("b_id"))
    .values({c.name: bindparam(c.name) for c in agents.c if c.name != "id"})
)
DELETE = Query(delete(agents).where(agents.c.id == bindparam("id")))


def find(conn: Connection, ids: Sequence[str] | None = None) -> list[Agent]:
    """Those that are there, by name; or all."""
    if ids is None:
        return [_agent(row) for row in ALL.rows(conn)]
    rows = [row for one in dict.fromkeys(ids) for row in BY_ID.rows(conn, {"id": one})]
    return sorted((_agent(row) for row in rows), key=lambda one: (one.name, one.id))


def add(conn: Connection, agent: Agent) -> None:
    """A new one; DuplicateError where its id is taken."""
    ADD.run(conn, _row(agent))


def change(conn: Connection, agent: Agent) -> None:
    row = _row(agent)
    CHANGE.run(conn, {**row, "b_id": row.pop("id")})


def remove(conn: Connection, agent_id: str) -> None:
    DELETE.run(conn, {"id": agent_id})


def _row(agent: Agent) -> dict[str, Any]:
    row = codec_station.agent(agent)
    return {**row, "voice": codec.dumps(row["voice"])}


def _agent(row: dict[str, Any]) -> Agent:
    return codec_station.read_agent({**row, "voice": json.loads(row["voice"])})
