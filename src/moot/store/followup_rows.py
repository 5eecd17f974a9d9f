"""Questions about debates that have ended: each on record before its call is made, and after."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, func, select, text, update

from moot.core.change import Attempt, Ended
from moot.core.debate import Debate
from moot.core.followups import Followup, step
from moot.errors import NotFoundError
from moot.ports.debate_store import FollowupRow, Once
from moot.store import attempts, keys, runs
from moot.store.query import Connection, Query, adding, by
from moot.store.rows import picked, same, usage_of, usage_row
from moot.store.tables import attempts as attempts_table
from moot.store.tables import followups

_FLAGS = ("unpriced", "local")
_SAME = same(Followup, followups, *_FLAGS)
_OWN = ("debate_id", "attempt", "tries", "until", "owner", "key")
_CHANGED = [c.name for c in followups.c if not c.primary_key]
OF_DEBATE = Query(by(followups.c.debate_id).order_by(followups.c.number))
OF_KEY = Query(by(followups.c.key))
LEFT = Query(
    select(followups)
    .where(text("status = 'asking' OR filed = 0"))
    .order_by(followups.c.debate_id, followups.c.number)
    .limit(100)
)
ADD = adding(followups)
CHANGE = Query(
    update(followups)
    .where(
        followups.c.debate_id == bindparam("b_debate_id"),
        followups.c.number == bindparam("b_number"),
    )
    .values({name: bindparam(name) for name in _CHANGED})
)
FILED = Query(
    update(followups)
    .where(
        followups.c.debate_id == bindparam("b_debate_id"),
        followups.c.number == bindparam("b_number"),
    )
    .values(filed=1)
)
NEXT_CALL = Query(
    select((func.coalesce(func.max(attempts_table.c.n), 0) + 1).label("n")).where(
        attempts_table.c.debate_id == bindparam("debate_id")
    )
)


def of_debate(conn: Connection, debate_id: str) -> list[FollowupRow]:
    """In the order in which they were asked."""
    return [_row(row) for row in OF_DEBATE.rows(conn, {"debate_id": debate_id})]


def left(conn: Connection) -> list[FollowupRow]:
    """Those that are being answered, and those whose debate's file does not show them yet."""
    return [_row(row) for row in LEFT.rows(conn)]


def begin(
    conn: Connection,
    debate_id: str,
    make: Callable[[Debate, Sequence[FollowupRow]], FollowupRow],
    once: Once | None = None,
) -> tuple[FollowupRow, bool]:
    """Put a question and its first call on record; or, if `once` is known, what came of it before.
    Says whether it is new."""
    debate = runs.load(conn, debate_id, lock=True)
    if once and keys.made_by(conn, once):
        return _row(OF_KEY.rows(conn, {"key": once.key})[0]), False
    row = make(debate, of_debate(conn, debate_id))
    row = _called(conn, debate, replace(row, key=once.key if once else None))
    if once:
        keys.keep(conn, once, debate_id, row.followup.asked_at)
    ADD.run(conn, _encoded(row))
    return row, True


def change(
    conn: Connection,
    debate_id: str,
    number: int,
    move: Callable[[FollowupRow], FollowupRow],
    ended: Ended | None = None,
    *,
    call: bool = False,
) -> FollowupRow:
    """Change how a question stands, with the end of its call; `call`: and another one begins."""
    debate = runs.load(conn, debate_id, lock=True)
    rows = {row.followup.number: row for row in of_debate(conn, debate_id)}
    if number not in rows:
        raise NotFoundError(f"There is no question {number} about {debate_id}.", "number")
    row = move(rows[number])
    if ended:
        attempts.end(conn, debate_id, ended)
    if call:
        row = _called(conn, debate, row)
    values = _encoded(row)
    CHANGE.run(conn, {**values, "b_debate_id": debate_id, "b_number": number})
    return row


def filed(conn: Connection, debate_id: str, numbers: Sequence[int]) -> None:
    """The file shows those."""
    for number in numbers:
        FILED.run(conn, {"b_debate_id": debate_id, "b_number": number})


def add(conn: Connection, debate_id: str, found: Sequence[Followup]) -> bool:
    """Those of a file that are not there; says whether there was any."""
    known = {row.followup.number for row in of_debate(conn, debate_id)}
    missing = [one for one in found if one.number not in known]
    for one in missing:
        ADD.run(conn, _encoded(FollowupRow(debate_id, one, filed=True)))
    return bool(missing)


def _called(conn: Connection, debate: Debate, row: FollowupRow) -> FollowupRow:
    """With its next call on record."""
    asked = row.followup
    n = NEXT_CALL.rows(conn, {"debate_id": debate.id})[0]["n"]
    attempts.start(conn, debate.id, Attempt(n, debate.fence, step(asked), asked.model, row.began))
    return replace(row, attempt=n, tries=row.tries + 1)


def _row(row: dict[str, Any]) -> FollowupRow:
    flags: dict[str, Any] = {name: bool(row[name]) for name in _FLAGS}
    followup = Followup(**{name: row[name] for name in _SAME}, **flags, usage=usage_of(row))
    own = {name: row[name] for name in _OWN}
    return FollowupRow(**own, followup=followup, filed=bool(row["filed"]))


def _encoded(row: FollowupRow) -> dict[str, Any]:
    return {
        **picked(row.followup, _SAME),
        **picked(row, _OWN),
        **usage_row(row.followup.usage),
        **{name: int(getattr(row.followup, name)) for name in _FLAGS},
        "filed": int(row.filed),
    }
