"""How the report of each debate that has ended stands, and what a model wrote of it."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import bindparam, select, text

from moot.core.debate import NO_USAGE
from moot.ports.debate_store import ReportRow
from moot.render import reading
from moot.store import runs
from moot.store.query import Connection, Query, any_of, by, keeping, parts
from moot.store.rows import picked, same, usage_of, usage_row
from moot.store.tables import reports
from moot.wire import codec

WANTED = 100  # that one look gives
_SAME = same(ReportRow, reports)
OF_DEBATES = Query(select(reports).where(any_of(reports.c.debate_id)))
OF_DEBATE = Query(by(reports.c.debate_id))
MAKING = Query(
    select(reports.c.debate_id)
    .where(text("state = 'making'"), reports.c.until <= bindparam("now"))
    .order_by(reports.c.until)
    .limit(WANTED)
)
# what is there stays, unless its report could not be made from what was said
NOTE = keeping(
    reports,
    ["state", "summary", "error", "model", "until"],
    (reports.c.state == "failed") & (reports.c.summary == ""),
)
KEEP = keeping(reports, [column.name for column in reports.c if not column.primary_key])


def of_debates(conn: Connection, debate_ids: Sequence[str]) -> dict[str, ReportRow]:
    if len(debate_ids) == 1:
        row = of_debate(conn, debate_ids[0])
        return {row.debate_id: row} if row else {}
    found: dict[str, ReportRow] = {}
    for some in parts(reports.c.debate_id, debate_ids):
        found |= {row["debate_id"]: report_of(row) for row in OF_DEBATES.rows(conn, some)}
    return found


def of_debate(conn: Connection, debate_id: str) -> ReportRow | None:
    rows = OF_DEBATE.rows(conn, {"debate_id": debate_id})
    return report_of(rows[0]) if rows else None


def wanted(conn: Connection, now: float) -> list[str]:
    """Those that nobody is at, the longest waiting first."""
    return [row["debate_id"] for row in MAKING.rows(conn, {"now": now})]


def note(conn: Connection, row: ReportRow) -> None:
    """What came of a report when its debate was filed."""
    NOTE.run(conn, _encoded(row))


def keep(conn: Connection, row: ReportRow) -> None:
    KEEP.run(conn, _encoded(row))


def change(
    conn: Connection,
    debate_id: str,
    move: Callable[[ReportRow | None], ReportRow],
    *,
    refile: bool = False,
) -> ReportRow:
    runs.load(conn, debate_id, lock=True)  # one at a time, even if there is no row yet
    row = move(of_debate(conn, debate_id))
    keep(conn, row)
    if refile:
        runs.outdated(conn, debate_id)
    return row


def report_of(row: dict[str, Any]) -> ReportRow:
    plain = {name: row[name] for name in _SAME}
    usage = usage_of(row)
    if not usage.calls and usage != NO_USAGE:  # a worker of a version before 0016 counts tries
        usage = usage.with_calls(row["tries"])
    return ReportRow(**plain, read=_read(row["reading"]), usage=usage)


def _read(kept: str | None) -> reading.Read:
    try:
        return reading.decode(json.loads(kept)) if kept else None
    except ValueError:  # damaged: `moot replay` says that it is not what the files say
        return None


def _encoded(row: ReportRow) -> dict[str, Any]:
    read = codec.dumps(reading.encode(row.read)) if row.read else None
    return {**picked(row, _SAME), **usage_row(row.usage), "reading": read}
