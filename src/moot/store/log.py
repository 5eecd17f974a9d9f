"""The turns and the log of events: written once, never changed, read by seq."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, select, text

from moot.core.debate import Turn
from moot.core.events import Event, TurnCommitted
from moot.errors import StorageError
from moot.ports.debate_store import Logged
from moot.store.query import Connection, Query, adding, any_of, by, parts
from moot.store.rows import picked, same, usage_of, usage_row
from moot.store.tables import events, runs, turns
from moot.wire import codec

LOGGED = 10_000  # entries that one look at the log of all debates gives
CHANGES = 1_000  # the same, of a look for what is to be added to the search

_SAME = same(Turn, turns, "data")
ADD_TURN = adding(turns)
ADD_EVENT = adding(events)
TURNS_AFTER = Query(
    by(turns.c.debate_id).where(turns.c.seq > bindparam("after")).order_by(turns.c.seq)
)
EVENTS_AFTER = Query(
    select(events.c.seq.label("event_seq"), events.c.type, events.c.data.label("event_data"), turns)
    .select_from(
        events.outerjoin(
            turns, (turns.c.debate_id == events.c.debate_id) & (turns.c.seq == events.c.seq)
        )
    )
    .where(events.c.debate_id == bindparam("debate_id"), events.c.seq > bindparam("after"))
    .order_by(events.c.seq)
    .limit(bindparam("limit"))
)
_entry = select(events.c.id, events.c.debate_id, events.c.seq)
# Postgres hands out ids in another order than it commits them. An entry counts once every
# transaction that is as old as its own has ended: then no smaller id can come any more.
_settled = text(
    "(age(debate_events.xmin) > age(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS xid))"
    " OR debate_events.xmin = CAST(pg_current_xact_id_if_assigned() AS xid))"
)
_logged = _entry.where(events.c.id > bindparam("after")).order_by(events.c.id).limit(LOGGED)
_changes = (
    select(events.c.id, events.c.debate_id, events.c.type)
    .where(events.c.id > bindparam("after"))
    .order_by(events.c.id)
    .limit(CHANGES)
)
_last = _entry.order_by(events.c.id.desc()).limit(1)
LOGGED_AFTER = Query({"sqlite": _logged, "postgresql": _logged.where(_settled)})
CHANGES_AFTER = Query({"sqlite": _changes, "postgresql": _changes.where(_settled)})
LAST_LOGGED = Query({"sqlite": _last, "postgresql": _last.where(_settled)})
LAST_SEQ = Query(
    select(events.c.seq)
    .where(events.c.debate_id == bindparam("debate_id"))
    .order_by(events.c.seq.desc())
    .limit(1)
)
REACHED = Query(select(runs.c.id, runs.c.last_seq).where(any_of(runs.c.id)))


def add(conn: Connection, debate_id: str, event: Event) -> None:
    if isinstance(event, TurnCommitted):
        add_turn(conn, debate_id, event.turn)
        kind, data = "turn", None
    else:
        kind, told = codec.event(event)
        data = codec.dumps(told)
    ADD_EVENT.run(conn, {"debate_id": debate_id, "seq": event.seq, "type": kind, "data": data})


def turns_after(conn: Connection, debate_id: str, after: int = 0) -> list[Turn]:
    rows = TURNS_AFTER.rows(conn, {"debate_id": debate_id, "after": after})
    return [_turn(row) for row in rows]


def events_after(conn: Connection, debate_id: str, after: int = 0, limit: int = 500) -> list[Event]:
    rows = EVENTS_AFTER.rows(conn, {"debate_id": debate_id, "after": after, "limit": limit})
    return [_event(debate_id, row) for row in rows]


def _event(debate_id: str, row: dict[str, Any]) -> Event:
    if row["type"] == "turn":
        return TurnCommitted(debate_id, _turn(row))
    try:
        said = json.loads(row["event_data"])
        return codec.read_event(row["type"], debate_id, row["event_seq"], said)
    except codec.UnknownEventError:
        raise StorageError(
            f"The log of {debate_id} has an entry of the type {row['type']!r}, which this version "
            "of moot does not know. A newer one wrote it: upgrade moot."
        ) from None


def last_seq(conn: Connection, debate_id: str) -> int:
    rows = LAST_SEQ.rows(conn, {"debate_id": debate_id})
    return rows[0]["seq"] if rows else 0


def reached(conn: Connection, debate_ids: Sequence[str]) -> dict[str, int]:
    """The last seq of each, by its row: seen as soon as it is committed, `logged` may lag."""
    found: dict[str, int] = {}
    for some in parts(runs.c.id, debate_ids):
        found |= {row["id"]: row["last_seq"] for row in REACHED.rows(conn, some)}
    return found


def logged(conn: Connection, after: int) -> list[Logged]:
    """What was added to the log of any debate, a part at a time."""
    rows = LOGGED_AFTER.rows(conn, {"after": after})
    return [Logged(row["id"], row["debate_id"], row["seq"]) for row in rows]


def last_logged(conn: Connection) -> int:
    rows = LAST_LOGGED.rows(conn)
    return rows[0]["id"] if rows else 0


def add_turn(conn: Connection, debate_id: str, turn: Turn) -> None:
    data = None if turn.data is None else codec.dumps(turn.data)
    row = {**picked(turn, _SAME), **usage_row(turn.usage), "debate_id": debate_id, "data": data}
    ADD_TURN.run(conn, row)


def _turn(row: dict[str, Any]) -> Turn:
    data = None if row["data"] is None else json.loads(row["data"])
    return Turn(**{name: row[name] for name in _SAME}, data=data, usage=usage_of(row))
