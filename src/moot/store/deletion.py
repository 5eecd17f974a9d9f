"""Deletes debates: their rows at once, with a note by which their files are removed, too."""

from collections.abc import Callable

from sqlalchemy import bindparam, delete, null, select, text, update

from moot.core.debate import Debate
from moot.core.times import seconds
from moot.errors import StateError
from moot.store import followup_rows, indexing, log, runs, source_rows
from moot.store import reports as reports_
from moot.store.query import Connection, Query, adding, by
from moot.store.tables import (
    actions,
    attempts,
    conversations,
    deleted,
    deliveries,
    events,
    followups,
    hindsight,
    keys,
    lines,
    links,
    models,
    records,
    reports,
    source_uses,
    stations,
    tags,
    turns,
)

OWN = [
    Query(delete(table).where(table.c.debate_id == bindparam("debate_id")))
    for table in (
        turns, events, attempts, actions, reports, hindsight, lines, keys, conversations,
        deliveries, source_uses, links, followups,
    )
]  # fmt: skip
RECORD = Query(delete(records).where(records.c.debate_id == bindparam("debate_id")))
MODELS = Query(delete(models).where(models.c.number == bindparam("number")))
TAGS = Query(delete(tags).where(tags.c.number == bindparam("number")))
RUN = Query(delete(runs.runs).where(runs.runs.c.id == bindparam("id")))
NOTE = adding(deleted)
NOTED = Query(by(deleted.c.debate_id))
LEFT = Query(select(deleted).where(text("files = 1")).order_by(deleted.c.debate_id))
REMOVED = Query(update(deleted).where(deleted.c.debate_id == bindparam("b_id")).values(files=0))
ON_AIR = Query(
    select(stations.c.id).where(stations.c.on_air == bindparam("debate_id")).with_for_update()
)
OFF_AIR = Query(
    update(stations)
    .where(stations.c.on_air == bindparam("debate_id"))
    .values(on_air=null(), free_at=bindparam("at"))
)


def remove(
    conn: Connection, debate_id: str, check: Callable[[Debate], None], at: str, *, record: bool
) -> None:
    """Delete the rows of a debate that `check` does not refuse, all or none. Deleted before, it
    stays so."""
    if NOTED.rows(conn, {"debate_id": debate_id}):
        return
    ON_AIR.rows(conn, {"debate_id": debate_id})  # a station is locked before its debates
    debate = runs.load(conn, debate_id, lock=True)
    check(debate)
    report = reports_.of_debate(conn, debate_id)
    if report and report.state == "making" and report.until > seconds(at):
        raise StateError("Its report is being written. Delete the debate in a moment.")
    asked = followup_rows.of_debate(conn, debate_id)
    if any(one.followup.status == "asking" and one.until > seconds(at) for one in asked):
        raise StateError("A question about it is being answered. Delete the debate in a moment.")
    own = {"debate_id": debate_id}
    ended = seconds(debate.ended_at or debate.updated_at)
    OFF_AIR.run(conn, {**own, "at": ended})
    indexing.forget(conn, debate, log.turns_after(conn, debate_id))
    for query in (MODELS, TAGS):
        query.run(conn, {"number": runs.encoded(debate)["number"]})
    for query in OWN:
        query.run(conn, own)
    if record:
        RECORD.run(conn, own)
    RUN.run(conn, {"id": debate_id})
    if debate.sources:
        source_rows.forget_texts(conn)
    if conn.seen:
        conn.seen.pop(debate_id, None)
    NOTE.run(conn, {**own, "at": at, "record": int(record), "files": 1})


def left(conn: Connection) -> list[tuple[str, str, bool]]:
    """Debates whose files are still to be removed: since when, and whether their record too."""
    return [(row["debate_id"], row["at"], bool(row["record"])) for row in LEFT.rows(conn)]


def is_deleted(conn: Connection, debate_id: str) -> bool:
    return bool(NOTED.rows(conn, {"debate_id": debate_id}))


def removed(conn: Connection, debate_id: str) -> None:
    """Nobody can write files of it any more."""
    REMOVED.run(conn, {"b_id": debate_id})
