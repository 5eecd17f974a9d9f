"""The titles and tags of debates, and which are archived."""

from collections.abc import Callable, Sequence

from sqlalchemy import Text, bindparam, delete, select, text

from moot.core.debate import Debate
from moot.core.ids import number as place_of
from moot.store import runs
from moot.store.query import Connection, Query, any_of, changing, keeping
from moot.store.search import words
from moot.store.tables import runs as table
from moot.store.tables import tags
from moot.wire import codec

MOST = 500  # tags that are told apart
CHANGE = changing(table, ["title", "tags", "archived"])
KEEP = keeping(tags)
FORGET = Query(delete(tags).where(tags.c.number == bindparam("number")))
OF_TAG = Query(select(tags.c.number).where(tags.c.tag == bindparam("tag"), any_of(tags.c.number)))
EVERY = Query(
    text(
        "WITH RECURSIVE known(tag) AS (SELECT min(tag) FROM debate_tags UNION ALL"
        " SELECT (SELECT min(tag) FROM debate_tags WHERE debate_tags.tag > known.tag)"
        " FROM known WHERE known.tag IS NOT NULL)"
        " SELECT tag FROM known WHERE tag IS NOT NULL LIMIT :limit"
    ).columns(tag=Text)
)


def change(conn: Connection, debate_id: str, move: Callable[[Debate], Debate]) -> Debate:
    """Change the labels of a debate, under its lock; nothing else of it is written."""
    before = runs.load(conn, debate_id, lock=True)
    after = move(before)
    CHANGE.run(conn, {"b_id": debate_id, **row(after)})
    keep(conn, after)
    if conn.seen:
        conn.seen.pop(debate_id, None)
    return after


def row(debate: Debate) -> dict[str, object]:
    return {
        "title": debate.title,
        "tags": codec.dumps(list(debate.tags)),
        "archived": int(debate.archived),
    }


def keep(conn: Connection, debate: Debate) -> None:
    """What lists look for tags in."""
    number = place_of(debate.id, debate.created_at)
    FORGET.run(conn, {"number": number})
    for tag in debate.tags:
        KEEP.run(conn, {"tag": tag, "number": number})


def every(conn: Connection) -> list[str]:
    """The tags that there are."""
    return [row["tag"] for row in EVERY.rows(conn, {"limit": MOST})]


def holds(titled: str, motion: str, wanted: Sequence[str]) -> bool:
    """Whether each word begins one of a debate's title or motion."""
    held = words(f"{titled} {motion}")
    return all(any(word.startswith(start) for word in held) for start in wanted)
