"""What programs elsewhere are told of debates: each delivery on record, before it is made and
after. The log of all debates says what there is to tell, and how far it was looked at is kept in
the same transaction: nothing is told of twice, or forgotten, whichever process dies."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, select, update

from moot.core.debate import Debate
from moot.core.events import StatusChanged
from moot.core.status import FINAL
from moot.errors import NotFoundError
from moot.ports.delivery_store import Delivery
from moot.store import log, runs
from moot.store.query import Connection, OnDatabase, Query, by, changing, keeping, reads, writes
from moot.store.tables import deliveries, indexed
from moot.wire import codec

NAME = "hooks"
AT_ONCE = 20
POSITION = Query(by(indexed.c.name).with_for_update())
MOVE = keeping(indexed, ["position"])
ADD = keeping(deliveries)
ONE = Query(by(deliveries.c.id))
DUE = Query(
    select(deliveries)
    .where(deliveries.c.state == "waiting", deliveries.c.next_at <= bindparam("now"))
    .order_by(deliveries.c.next_at)
    .limit(AT_ONCE)
    .with_for_update(skip_locked=True)
)
NEWEST = Query(
    select(deliveries)
    .order_by(deliveries.c.created_at.desc(), deliveries.c.id)
    .limit(bindparam("limit"))
)
TAKE = changing(deliveries, ["next_at", "tries"])
NOTE = Query(
    update(deliveries)
    .where(deliveries.c.id == bindparam("b_id"), deliveries.c.tries == bindparam("b_tries"))
    .values({n: bindparam(n) for n in ("state", "status", "error", "delivered_at", "next_at")})
)


def collect(conn: Connection, wanted: Mapping[str, Sequence[str]]) -> int:
    """Put on record what each hook wants to be told since the last look; says how many entries of
    the log were looked at. What happened before the first look is not told."""
    rows = POSITION.rows(conn, {"name": NAME})
    if not rows:
        MOVE.run(conn, {"name": NAME, "position": log.last_logged(conn)})
        return 0
    entries = log.logged(conn, rows[0]["position"])
    for entry in entries:
        told = log.events_after(conn, entry.debate_id, entry.seq - 1, 1)
        event = told[0] if told else None
        if isinstance(event, StatusChanged) and event.seq == entry.seq:
            for hook, statuses in wanted.items():
                if event.status in statuses:
                    add(conn, _delivery(hook, event, runs.load(conn, entry.debate_id)))
    if entries:
        MOVE.run(conn, {"name": NAME, "position": entries[-1].position})
    return len(entries)


def add(conn: Connection, delivery: Delivery) -> None:
    """Put it on record, unless it is there already."""
    ADD.run(conn, codec.plain(delivery))


def take(conn: Connection, now: float, until: float) -> list[Delivery]:
    """Those that are due, each for one process: another may try again after `until`."""
    found = [_read(row) for row in DUE.rows(conn, {"now": now})]
    for one in found:
        TAKE.run(conn, {"b_id": one.id, "next_at": until, "tries": one.tries + 1})
    return found


def note(conn: Connection, delivery: Delivery) -> None:
    """How a try went, unless another process has taken it since."""
    NOTE.run(
        conn,
        {
            "b_id": delivery.id,
            "b_tries": delivery.tries,
            "state": delivery.state,
            "status": delivery.status,
            "error": delivery.error,
            "delivered_at": delivery.delivered_at,
            "next_at": delivery.next_at,
        },
    )


def get(conn: Connection, id_: str) -> Delivery:
    rows = ONE.rows(conn, {"id": id_})
    if not rows:
        raise NotFoundError(f"There is no delivery {id_!r}. `moot hooks list` shows them.", "id")
    return _read(rows[0])


def newest(conn: Connection, limit: int) -> list[Delivery]:
    return [_read(row) for row in NEWEST.rows(conn, {"limit": limit})]


def again(conn: Connection, id_: str, until: float) -> Delivery:
    """Take it from its beginning, whatever became of it: another process may try it after
    `until`."""
    one = get(conn, id_)
    TAKE.run(conn, {"b_id": id_, "next_at": until, "tries": 1})
    fresh = replace(one, state="waiting", status=None, error=None, delivered_at=None, next_at=until)
    note(conn, replace(fresh, tries=1))
    return replace(fresh, tries=0)


class SqlDeliveries(OnDatabase):
    """Deliveries in a SQL database."""

    collect = writes(collect)
    add = writes(add)
    take = writes(take)
    note = writes(note)
    again = writes(again)
    get = reads(get)
    newest = reads(newest)


def _delivery(hook: str, event: StatusChanged, debate: Debate) -> Delivery:
    """The end of a debate is told once; it may pause more often."""
    which = event.status if event.status in FINAL else f"{event.status} {event.seq}"
    mark = hashlib.sha256(f"{hook} {debate.id} {which}".encode()).hexdigest()[:32]
    decided = debate.outcome
    data = {
        "id": debate.id,
        "motion": debate.motion,
        "format": debate.format,
        "status": event.status,
        "stop_reason": event.reason,
        "degraded": event.degraded,
        "outcome": decided.outcome if decided else None,
        "selected": decided.selected_option if decided else None,
        "failure": codec.plain(event.failure) if event.failure else None,
        "cost_usd": debate.usage.cost_usd,
    }
    kind = f"debate.{event.status}"
    body = codec.dumps({"type": kind, "timestamp": event.at, "data": data})
    return Delivery(f"msg_{mark}", hook, debate.id, kind, body, created_at=event.at)


def _read(row: Mapping[str, Any]) -> Delivery:
    return Delivery(**row)
