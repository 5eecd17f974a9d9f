"""Stations and their conversations, and the store of them that the engine sees."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import bindparam, delete, insert, or_, select, text, update

from moot.core import verbs
from moot.core.change import Change
from moot.core.debate import Debate
from moot.core.times import iso
from moot.errors import ConflictError, DuplicateError, NotFoundError
from moot.ports import Once
from moot.stations.airing import Board, StationChange, shortage
from moot.stations.station import Agent, Conversation, Station
from moot.store import agent_rows, keys, runs
from moot.store.query import Connection, Query, SqlDatabase
from moot.store.store import apply
from moot.store.tables import conversations, stations
from moot.store.tables import runs as debates
from moot.wire import codec, codec_station

JSON = ("options", "limits", "motions", "agents")

ALL = Query(select(stations).order_by(stations.c.name, stations.c.id))
BY_ID = Query(select(stations).where(stations.c.id == bindparam("id")))
LOCKED = Query(select(stations).where(stations.c.id == bindparam("id")).with_for_update())
INSERT = Query(insert(stations))
CHANGE = Query(
    update(stations)
    .where(stations.c.id == bindparam("b_id"))
    .values({c.name: bindparam(c.name) for c in stations.c if c.name != "id"})
)
DELETE = Query(delete(stations).where(stations.c.id == bindparam("id")))
DUE = Query(
    select(stations.c.id)
    .join_from(stations, debates, debates.c.id == stations.c.on_air, isouter=True)
    .where(
        or_(
            stations.c.wake <= bindparam("now"),
            text("debate_runs.status IN ('completed', 'stopped', 'failed')"),
        )
    )
    .order_by(stations.c.id)
)

ADD = Query(insert(conversations))
MARK = Query(
    update(conversations)
    .where(conversations.c.debate_id == bindparam("b_id"))
    .values({name: bindparam(name) for name in ("due", "called", "waiting", "aired_at", "agents")})
)
ONE = Query(select(conversations).where(conversations.c.debate_id == bindparam("id")))
WAITING = Query(
    select(conversations)
    .where(conversations.c.station_id == bindparam("station_id"), text("waiting = 1"))
    .order_by(conversations.c.due)
)
AIRED = Query(
    select(conversations)
    .where(
        conversations.c.station_id == bindparam("station_id"),
        conversations.c.aired_at.is_not(None),
    )
    .order_by(conversations.c.aired_at.desc())
    .limit(bindparam("limit"))
)
FORGET = Query(delete(conversations).where(conversations.c.station_id == bindparam("id")))


class SqlStations:
    """Agents, stations and what they air, in a SQL database."""

    def __init__(self, database: SqlDatabase) -> None:
        self._db = database

    async def agents(self, ids: Sequence[str] | None = None) -> list[Agent]:
        return await self._db.read(lambda conn: agent_rows.find(conn, ids))

    async def keep_agents(
        self, ids: Sequence[str], change: Callable[[Mapping[str, Agent]], Sequence[Agent]]
    ) -> list[Agent]:
        def work(conn: Connection) -> list[Agent]:
            known = {one.id: one for one in agent_rows.find(conn, ids)}
            made = list(change(known))
            for one in made:
                (agent_rows.change if one.id in known else agent_rows.add)(conn, one)
            return made

        return await self._db.write(work)

    async def delete_agent(self, agent_id: str) -> None:
        def work(conn: Connection) -> None:
            agent_rows.remove(conn, agent_id)
            for row in sorted(ALL.rows(conn), key=lambda row: row["id"]):  # locked in one order
                if agent_id in json.loads(row["agents"]):
                    known = _load(conn, row["id"], lock=True)
                    left = tuple(one for one in known.agents if one != agent_id)
                    short = replace(known, agents=left)
                    _keep(conn, replace(short, trouble=shortage(short) or known.trouble))

        await self._db.write(work)

    async def stations(self, ids: Sequence[str] | None = None) -> list[Station]:
        return await self._db.read(lambda conn: _find(conn, ids))

    async def keep_stations(
        self, ids: Sequence[str], change: Callable[[Mapping[str, Station]], Sequence[Station]]
    ) -> list[Station]:
        def work(conn: Connection) -> list[Station]:
            found = _find(conn, sorted(set(ids)), lock=True)
            known = {one.id: one for one in found}
            made = list(change(known))
            for one in made:
                if one.id in known:
                    _keep(conn, one)
                else:
                    INSERT.run(conn, _row(one))
            return made

        return await self._db.write(work)

    async def delete_station(
        self, station_id: str, move: Callable[[Debate], Change]
    ) -> list[Change]:
        def work(conn: Connection) -> list[Change]:
            _load(conn, station_id, lock=True)
            done = [_move(conn, one.id, move) for one in _conversations(conn, WAITING, station_id)]
            FORGET.run(conn, {"id": station_id})
            DELETE.run(conn, {"id": station_id})
            return done

        return await self._db.write(work)

    async def due(self, now: float) -> list[str]:
        return await self._db.read(lambda conn: [row["id"] for row in DUE.rows(conn, {"now": now})])

    async def board(self, station_id: str) -> Board:
        def look(conn: Connection) -> Board:
            board = _board(conn, station_id)
            everyone = {one.id: one for one in agent_rows.find(conn)}  # it outlives the connection

            def lookup(_: Sequence[str]) -> Mapping[str, Agent]:
                return everyone

            return replace(board, agents=lookup, filled=_unknown)

        return await self._db.read(look)

    async def on(
        self, station_id: str, move: Callable[[Board], StationChange]
    ) -> tuple[StationChange, list[Change]]:
        def work(conn: Connection) -> tuple[StationChange, list[Change]]:
            board = _board(conn, station_id, lock=True)
            made = move(board)
            return made, _write(conn, board.station, made)

        return await self._db.write(work)

    async def conversation(self, debate_id: str) -> Conversation:
        def look(conn: Connection) -> Conversation:
            rows = ONE.rows(conn, {"id": debate_id})
            if not rows:
                raise NotFoundError(f"There is no conversation {debate_id}.", "id")
            return _conversation(conn, rows[0])

        return await self._db.read(look)

    async def aired(self, station_id: str, limit: int) -> list[Conversation]:
        return await self._db.read(
            lambda conn: _conversations(conn, AIRED, station_id, limit=limit)
        )

    async def use(self, key: str, debate_id: str, at: str) -> None:
        once = Once(key, "")
        try:
            await self._db.write(lambda conn: keys.keep(conn, once, debate_id, at))
        except DuplicateError:
            raise ConflictError("This was used before, and is good once.") from None


def _write(conn: Connection, before: Station, change: StationChange) -> list[Change]:
    """All of a change; the caller's transaction makes it all or nothing."""
    done: list[Change] = []
    for slot in change.slots:  # the last wall: nobody fills a slot twice
        keys.keep(conn, _filling(before, slot), "", iso(slot))
    for one in change.made:
        runs.create(conn, one.debate)
        opened = verbs.open_(one.debate, not one.waiting, one.debate.created_at)
        apply(conn, one.debate, opened)
        ADD.run(conn, {**_mark(one), "debate_id": one.id, "station_id": one.station_id})
        done.append(opened)
    done += [_move(conn, debate_id, move) for debate_id, move in change.moves]
    for one in change.changed:
        MARK.run(conn, {**_mark(one), "b_id": one.id})
    if change.station != before:
        _keep(conn, change.station)
    return done


def _unknown(_: float) -> bool:
    """Without the lock nobody can say; who has it looks again."""
    return False


def _filling(station: Station, slot: float) -> Once:
    return Once(f"slot {station.id} {station.created_at} {slot:.0f}", "")


def _move(conn: Connection, debate_id: str, move: Callable[[Debate], Change]) -> Change:
    before = runs.load(conn, debate_id, lock=True)
    made = move(before)
    if made.debate is not before:
        apply(conn, before, made)
    return made


def _board(conn: Connection, station_id: str, *, lock: bool = False) -> Board:
    station = _load(conn, station_id, lock=lock)

    def lookup(ids: Sequence[str]) -> Mapping[str, Agent]:
        return {one.id: one for one in agent_rows.find(conn, ids)}

    def filled(slot: float) -> bool:
        return keys.made_by(conn, _filling(station, slot)) is not None

    return Board(
        station=station,
        waiting=tuple(_conversations(conn, WAITING, station_id)),
        on_air=runs.load(conn, station.on_air) if station.on_air else None,
        agents=lookup,
        filled=filled,
    )


def _find(
    conn: Connection, ids: Sequence[str] | None = None, *, lock: bool = False
) -> list[Station]:
    if ids is None:
        return [_station(row) for row in ALL.rows(conn)]
    query = LOCKED if lock else BY_ID
    return [_station(row) for one in ids for row in query.rows(conn, {"id": one})]


def _load(conn: Connection, station_id: str, *, lock: bool = False) -> Station:
    found = _find(conn, [station_id], lock=lock)
    if not found:
        raise NotFoundError(
            f"There is no station {station_id}. `moot stations list` shows what there is.", "id"
        )
    return found[0]


def _keep(conn: Connection, station: Station) -> None:
    row = _row(station)
    CHANGE.run(conn, {**row, "b_id": row.pop("id")})


def _row(station: Station) -> dict[str, Any]:
    row = asdict(station)
    return row | {name: codec.dumps(row[name]) for name in JSON} | {"public": int(station.public)}


def _station(row: dict[str, Any]) -> Station:
    found: dict[str, Any] = row | {name: json.loads(row[name]) for name in JSON}
    lists = {name: tuple(found[name]) for name in ("motions", "agents")}
    found |= lists | {"public": bool(row["public"])}
    return Station(**found)


def _mark(one: Conversation) -> dict[str, Any]:
    return {
        "due": one.due,
        "called": one.called,
        "waiting": int(one.waiting),
        "aired_at": one.aired_at,
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
