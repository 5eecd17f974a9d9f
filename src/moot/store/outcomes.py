"""What councils decided: their actions, and the records that were written back."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, or_, select

from moot.core.change import Record
from moot.store.query import Connection, Query, adding, by, can_hold, keeping
from moot.store.rows import picked
from moot.store.tables import actions, records, runs

EVERY = 2**31 - 1
FORGET_ACTIONS = Query(delete(actions).where(actions.c.debate_id == bindparam("debate_id")))
ADD_ACTION = adding(actions)
OF_DEBATE = Query(by(actions.c.debate_id).order_by(actions.c.key))
KEEP_RECORD = keeping(records, ["title", "text"])
RECORDS_OF = Query(by(records.c.debate_id).order_by(records.c.path))
RECORDS = Query(
    select(records, runs.c.format.label("of_format"))
    .join(runs, runs.c.id == records.c.debate_id, isouter=True)
    .where(
        or_(
            records.c.title.ilike(bindparam("pattern"), escape="\\"),
            records.c.text.ilike(bindparam("pattern"), escape="\\"),
        )
    )
    .order_by(records.c.created_at.desc(), records.c.path)
    .limit(bindparam("limit"))
)


def keep_actions(conn: Connection, debate_id: str, made: Sequence[dict[str, Any]]) -> None:
    FORGET_ACTIONS.run(conn, {"debate_id": debate_id})
    add_actions(conn, debate_id, made)


def add_actions(conn: Connection, debate_id: str, made: Sequence[dict[str, Any]]) -> None:
    for action in made:
        ADD_ACTION.run(conn, {"debate_id": debate_id, "status": "open", **action})


def actions_of(conn: Connection, debate_id: str) -> list[dict[str, Any]]:
    return OF_DEBATE.rows(conn, {"debate_id": debate_id})


def record_row(debate_id: str, record: Record) -> dict[str, Any]:
    same = picked(record, ("path", "type", "title", "text", "created_at"))
    return {**same, "debate_id": debate_id}


def keep_record(conn: Connection, debate_id: str, record: Record) -> None:
    KEEP_RECORD.run(conn, record_row(debate_id, record))


def find_records(
    conn: Connection, words: str, limit: int, hidden: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Records that hold every word, newest first; without those of hidden formats."""
    if not can_hold(words):
        return []
    first, *others = words.split() or [""]
    escaped = first.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    found = RECORDS.rows(
        conn, {"pattern": f"%{escaped}%", "limit": EVERY if others or hidden else limit}
    )
    kept = [
        row
        for row in found
        if row.pop("of_format") not in hidden
        and all(word.casefold() in f"{row['title']} {row['text']}".casefold() for word in others)
    ]
    return kept[:limit]
