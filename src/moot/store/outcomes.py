"""What councils decided: their actions, and the records that were written back."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, insert, or_, select, text

from moot.core.change import Record
from moot.store.query import Connection, Query, can_hold
from moot.store.tables import actions, records, runs

EVERY = 2**31 - 1
FORGET_ACTIONS = Query(delete(actions).where(actions.c.debate_id == bindparam("debate_id")))
ADD_ACTION = Query(
    insert(actions).values({c.name: bindparam(c.name) for c in actions.c if c.name != "key"})
)
OF_DEBATE = Query(
    select(actions).where(actions.c.debate_id == bindparam("debate_id")).order_by(actions.c.key)
)
KEEP_RECORD = Query(
    text(
        "INSERT INTO debate_records (path, debate_id, type, title, text, created_at)"
        " VALUES (:path, :debate_id, :type, :title, :text, :created_at)"
        " ON CONFLICT (path) DO UPDATE SET title = excluded.title, text = excluded.text"
    )
)
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


def keep_record(conn: Connection, debate_id: str, record: Record) -> None:
    KEEP_RECORD.run(
        conn,
        {
            "path": record.path,
            "debate_id": debate_id,
            "type": record.type,
            "title": record.title,
            "text": record.text,
            "created_at": record.created_at,
        },
    )


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
