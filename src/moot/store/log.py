"""The turns and the log of events: written once, never changed, read by seq."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, insert, select, text

from moot.core.debate import Turn, Usage
from moot.core.events import Event, TurnCommitted
from moot.errors import StorageError
from moot.ports import Logged
from moot.store.query import Connection, Query
from moot.store.tables import events, runs, turns
from moot.wire import codec

LOGGED = 10_000  # entries that one look at the log of all debates gives

ADD_TURN = Query(
    insert(turns).values({c.name: bindparam(c.name) for c in turns.c if c.name != "id"})
)
ADD_EVENT = Query(
    insert(events).values({c.name: bindparam(c.name) for c in events.c if c.name != "id"})
)
TURNS_AFTER = Query(
    select(turns)
    .where(turns.c.debate_id == bindparam("debate_id"), turns.c.seq > bindparam("after"))
    .order_by(turns.c.seq)
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
_last = _entry.order_by(events.c.id.desc()).limit(1)
LOGGED_AFTER = {"sqlite": Query(_logged), "postgresql": Query(_logged.where(_settled))}
LAST_LOGGED = {"sqlite": Query(_last), "postgresql": Query(_last.where(_settled))}
LAST_SEQ = Query(
    select(events.c.seq)
    .where(events.c.debate_id == bindparam("debate_id"))
    .order_by(events.c.seq.desc())
    .limit(1)
)
AT_ONCE = 100  # debates that one query looks at
REACHED = Query(
    select(runs.c.id, runs.c.last_seq).where(
        runs.c.id.in_([bindparam(f"id{i}") for i in range(AT_ONCE)])
    )
)


def add(conn: Connection, debate_id: str, event: Event) -> None:
    if isinstance(event, TurnCommitted):
        add_turn(conn, debate_id, event.turn)
        kind, data = "turn", None
    else:
        kind, told = codec.event(event)
        data = codec.dumps(told)
    ADD_EVENT.run(conn, {"debate_id": debate_id, "seq": event.seq, "type": kind, "data": data})


def turns_after(conn: Connection, debate_id: str, after: int) -> list[Turn]:
    rows = TURNS_AFTER.rows(conn, {"debate_id": debate_id, "after": after})
    return [_turn(row) for row in rows]


def events_after(conn: Connection, debate_id: str, after: int, limit: int) -> list[Event]:
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
    for start in range(0, len(debate_ids), AT_ONCE):
        some = debate_ids[start : start + AT_ONCE]
        params = {f"id{i}": some[min(i, len(some) - 1)] for i in range(AT_ONCE)}
        found |= {row["id"]: row["last_seq"] for row in REACHED.rows(conn, params)}
    return found


def logged(conn: Connection, after: int) -> list[Logged]:
    """What was added to the log of any debate, a part at a time."""
    rows = LOGGED_AFTER[conn.dialect].rows(conn, {"after": after})
    return [Logged(row["id"], row["debate_id"], row["seq"]) for row in rows]


def last_logged(conn: Connection) -> int:
    rows = LAST_LOGGED[conn.dialect].rows(conn)
    return rows[0]["id"] if rows else 0


def add_turn(conn: Connection, debate_id: str, turn: Turn) -> None:
    usage = turn.usage
    ADD_TURN.run(
        conn,
        {
            "debate_id": debate_id,
            "seq": turn.seq,
            "round": turn.round,
            "stage": turn.stage,
            "actor": turn.actor,
            "name": turn.name,
            "kind": turn.kind,
            "target": turn.target,
            "instruction": turn.instruction,
            "text": turn.text,
            "data": None if turn.data is None else codec.dumps(turn.data),
            "status": turn.status,
            "error_code": turn.error_code,
            "model": turn.model,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": usage.cost_usd,
            "calls": usage.calls,
            "estimated": int(usage.estimated),
            "started_at": turn.started_at,
            "committed_at": turn.committed_at,
        },
    )


def _turn(value: dict[str, Any]) -> Turn:
    return Turn(
        seq=value["seq"],
        round=value["round"],
        stage=value["stage"],
        actor=value["actor"],
        name=value["name"],
        kind=value["kind"],
        target=value["target"],
        instruction=value["instruction"],
        text=value["text"],
        data=None if value["data"] is None else json.loads(value["data"]),
        status=value["status"],
        error_code=value["error_code"],
        model=value["model"],
        usage=Usage(
            value["input_tokens"],
            value["output_tokens"],
            value["cost_usd"],
            value["calls"],
            bool(value["estimated"]),
        ),
        started_at=value["started_at"],
        committed_at=value["committed_at"],
    )
