"""Stations and their conversations, and the store of them that the engine sees."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import bindparam, delete, or_, select, text, update

from moot.core import verbs
from moot.core.change import Change
from moot.core.debate import Debate
from moot.core.times import iso
from moot.errors import ConflictError, DuplicateError, NotFoundError
from moot.ports.debate_store import Once
from moot.stations.airing import Board, StationChange, shortage
from moot.stations.station import Agent, Conversation, Station
from moot.store import keys, runs
from moot.store.agent_rows import agents
from moot.store.query import Connection, OnDatabase, Query, adding, by, reads, writes
from moot.store.rows import Named, picked
from moot.store.store import apply, change
from moot.store.tables import conversations
from moot.store.tables import runs as debates
from moot.store.tables import stations as table
from moot.wire import codec, codec_station

JSON = ("options", "limits", "motions", "agents")

DUE = Query(
    select(table.c.id)
    .join_from(table, debates, debates.c.id == table.c.on_air, isouter=True)
    .where(
        or_(
            table.c.wake <= bindparam("now"),
            text("debate_runs.status IN ('completed', 'stopped', 'failed')"),
        )
    )
    .order_by(table.c.id)
)
_of_station = by(conversations.c.station_id)
ADD = adding(conversations)
MARK = Query(
    update(conversations)
    .where(conversations.c.debate_id == bindparam("b_id"))
    .values({name: bindparam(name) for name in ("due", "called", "waiting", "aired_at", "agents")})
)
ONE = Query(by(conversations.c.debate_id))
WAITING = Query(_of_station.where(text("waiting = 1")).order_by(conversations.c.due))
AIRED = Query(
    _of_station.where(conversations.c.aired_at.is_not(None))
    .order_by(conversations.c.aired_at.desc())
    .limit(bindparam("limit"))
)
FORGET = Query(delete(conversations).where(conversations.c.station_id == bindparam("id")))


def _row(station: Station) -> dict[str, Any]:
    row = asdict(station)
    return row | {name: codec.dumps(row[name]) for name in JSON} | {"public": int(station.public)}


def _station(row: dict[str, Any]) -> Station:
    found: dict[str, Any] = row | {name: json.loads(row[name]) for name in JSON}
    found |= {name: tuple(found[name]) for name in ("motions", "agents")}
    found["public"] = bool(row["public"])
    return Station(**found)


stations = Named(table, _row, _station)


def _delete_agent(conn: Connection, agent_id: str) -> None:
    agents.remove(conn, agent_id)
    on = [one.id for one in stations.find(conn) if agent_id in one.agents]
    for known in stations.find(conn, on, lock=True):
        left = tuple(one for one in known.agents if one != agent_id)
        short = replace(known, agents=left)
        _keep(conn, replace(short, trouble=shortage(short) or known.trouble))


def _delete_station(
    conn: Connection, station_id: str, move: Callable[[Debate], Change]
) -> list[Change]:
    _load(conn, station_id, lock=True)
    done = [change(conn, one.id, move) for one in _conversations(conn, WAITING, station_id)]
    FORGET.run(conn, {"id": station_id})
    stations.remove(conn, station_id)
    return done


def _due(conn: Connection, now: float) -> list[str]:
    return [row["id"] for row in DUE.rows(conn, {"now": now})]


def _look(conn: Connection, station_id: str) -> Board:
    board = _board(conn, station_id)
    everyone = {one.id: one for one in agents.find(conn)}  # it outlives the connection

    def lookup(_: Sequence[str]) -> Mapping[str, Agent]:
        return everyone

    def filled(_: float) -> bool:
        return False  # without the lock nobody can say; whoever has it looks again

    return replace(board, agents=lookup, filled=filled)


def _on(
    conn: Connection, station_id: str, move: Callable[[Board], StationChange]
) -> tuple[StationChange, list[Change]]:
    board = _board(conn, station_id, lock=True)
    made = move(board)
    return made, _write(conn, board.station, made)


def _one(conn: Connection, debate_id: str) -> Conversation:
    rows = ONE.rows(conn, {"debate_id": debate_id})
    if not rows:
        raise NotFoundError(f"There is no conversation {debate_id}.", "id")
    return _conversation(conn, rows[0])


def _aired(conn: Connection, station_id: str, limit: int) -> list[Conversation]:
    return _conversations(conn, AIRED, station_id, limit=limit)


class SqlStations(OnDatabase):
    """Agents, stations and what they air, in a SQL database."""

    keep_agents = writes(agents.keep)
    delete_agent = writes(_delete_agent)
    agents = reads(agents.find)
    keep_stations = writes(stations.keep)
    delete_station = writes(_delete_station)
    stations = reads(stations.find)
    due = reads(_due)
    board = reads(_look)
    on = writes(_on)
    conversation = reads(_one)
    aired = reads(_aired)

    async def use(self, key: str, debate_id: str, at: str) -> None:
        once = Once(key, "")
        try:
            await self.database.write(lambda conn: keys.keep(conn, once, debate_id, at))
        except DuplicateError:
            raise ConflictError("This was used before, and is good once.") from None


def _write(conn: Connection, before: Station, wanted: StationChange) -> list[Change]:
    """Write all of a change; the caller's transaction makes it all or nothing."""
    done: list[Change] = []
    for slot in wanted.slots:  # the last wall: nobody fills a slot twice
        keys.keep(conn, _filling(before, slot), "", iso(slot))
    for one in wanted.made:
        runs.create(conn, one.debate)
        opened = verbs.open_(one.debate, not one.waiting, one.debate.created_at)
        apply(conn, one.debate, opened)
        ADD.run(conn, {**_mark(one), "debate_id": one.id, "station_id": one.station_id})
        done.append(opened)
    done += [change(conn, debate_id, move) for debate_id, move in wanted.moves]
    for one in wanted.changed:
        MARK.run(conn, {**_mark(one), "b_id": one.id})
    if wanted.station != before:
        _keep(conn, wanted.station)
    return done


def _filling(station: Station, slot: float) -> Once:
    return Once(f"slot {station.id} {station.created_at} {slot:.0f}", "")


def _board(conn: Connection, station_id: str, *, lock: bool = False) -> Board:
    station = _load(conn, station_id, lock=lock)
    return Board(
        station=station,
        waiting=tuple(_conversations(conn, WAITING, station_id)),
        on_air=runs.load(conn, station.on_air) if station.on_air else None,
        agents=lambda ids: {one.id: one for one in agents.find(conn, ids)},
        filled=lambda slot: keys.made_by(conn, _filling(station, slot)) is not None,
    )


def _load(conn: Connection, station_id: str, *, lock: bool = False) -> Station:
    found = stations.find(conn, [station_id], lock=lock)
    if not found:
        raise NotFoundError(
            f"There is no station {station_id}. `moot stations list` shows what there is.", "id"
        )
    return found[0]


def _keep(conn: Connection, station: Station) -> None:
    stations.change(conn, station)


def _mark(one: Conversation) -> dict[str, Any]:
    return {
        **picked(one, ("due", "called", "aired_at")),
        "waiting": int(one.waiting),
        "agents": codec.dumps([codec_station.agent(agent) for agent in one.agents]),
    }


def _conversations(
    conn: Connection, query: Query, station_id: str, **more: Any
) -> list[Conversation]:
    rows = query.rows(conn, {"station_id": station_id, **more})
    return [_conversation(conn, row) for row in rows]


def _conversation(conn: Connection, row: dict[str, Any]) -> Conversation:
    return Conversation(
        debate=runs.load(conn, row["debate_id"]),
        station_id=row["station_id"],
        due=row["due"],
        agents=codec_station.read_agents(row["agents"]),
        called=row["called"],
        waiting=bool(row["waiting"]),
        aired_at=row["aired_at"],
    )
