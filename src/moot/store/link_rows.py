"""Links to debates: who holds one is known by the hash of its token alone."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, select

from moot.core.link import MAX_LINKS, Link
from moot.errors import StateError
from moot.store import runs
from moot.store.query import Connection, Query, adding, by
from moot.store.rows import picked, same
from moot.store.tables import links

_SAME = same(Link, links)
_COLUMNS = [links.c[name] for name in _SAME]
KEEP = adding(links)
BY_HASH = Query(select(*_COLUMNS).where(links.c.token_hash == bindparam("token_hash")))
OF_DEBATE = Query(
    select(*_COLUMNS)
    .where(links.c.debate_id == bindparam("debate_id"))
    .order_by(links.c.created_at, links.c.id)
)
BY_ID = Query(by(links.c.id))
FORGET = Query(delete(links).where(links.c.id == bindparam("id")))


def keep(conn: Connection, link: Link, token_hash: str) -> None:
    """Keep a link of a debate that is there, unless it has too many already."""
    runs.load(conn, link.debate_id, lock=True)
    if len(OF_DEBATE.rows(conn, {"debate_id": link.debate_id})) >= MAX_LINKS:
        raise StateError(f"This debate has {MAX_LINKS} links already. Revoke one first.")
    KEEP.run(conn, {**picked(link, _SAME), "token_hash": token_hash})


def of_debate(conn: Connection, debate_id: str) -> list[Link]:
    return [Link(**row) for row in OF_DEBATE.rows(conn, {"debate_id": debate_id})]


def by_hash(conn: Connection, token_hash: str) -> Link | None:
    rows = BY_HASH.rows(conn, {"token_hash": token_hash})
    return Link(**rows[0]) if rows else None


def living(conn: Connection, ids: Sequence[str]) -> set[str]:
    """Those of the links that nobody has revoked."""
    return {one for one in ids if BY_ID.rows(conn, {"id": one})}


def forget(conn: Connection, debate_id: str, link_id: str) -> bool:
    """Returns whether the debate had that link."""
    rows = BY_ID.rows(conn, {"id": link_id})
    if not rows or rows[0]["debate_id"] != debate_id:
        return False
    FORGET.run(conn, {"id": link_id})
    return True
