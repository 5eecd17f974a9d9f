"""Requests that may come twice: each key, what came with it, and the debate that it made."""

from sqlalchemy import bindparam, delete

from moot.core.times import seconds
from moot.errors import ConflictError
from moot.ports.debate_store import Once
from moot.store.query import Connection, Query, adding, by
from moot.store.tables import keys

KNOWN = Query(by(keys.c.key))
KEEP = adding(keys)
FORGET = Query(delete(keys).where(keys.c.key == bindparam("b_key")))


def made_by(conn: Connection, once: Once, at: str | None = None) -> str | None:
    """The debate that this request made when it first came; None if it has not come before, or if
    its key no longer holds `at` that time."""
    made = known(conn, once, at)
    if made is None and once.seconds is not None:
        FORGET.run(conn, {"b_key": once.key})
    return made


def known(conn: Connection, once: Once, at: str | None = None) -> str | None:
    """The same, and a key that no longer holds stays."""
    rows = KNOWN.rows(conn, {"key": once.key})
    if not rows:
        return None
    if once.seconds is not None and at and _age(rows[0]["created_at"], at) > once.seconds:
        return None
    if rows[0]["digest"] != once.digest:
        raise ConflictError(
            "This Idempotency-Key came before, with another request. Send the same request again "
            "to get its debate, or use another Idempotency-Key for a new one."
        )
    return rows[0]["debate_id"]


def keep(conn: Connection, once: Once, debate_id: str, at: str) -> None:
    KEEP.run(
        conn, {"key": once.key, "digest": once.digest, "debate_id": debate_id, "created_at": at}
    )


def _age(since: str, at: str) -> float:
    return seconds(at) - seconds(since)
