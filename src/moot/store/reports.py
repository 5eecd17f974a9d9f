"""How the report of each debate that has ended stands, and what a model wrote of it."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import bindparam, select, text

from moot.core.debate import Usage
from moot.ports import ReportRow
from moot.render import reading
from moot.store import runs
from moot.store.query import Connection, Query
from moot.store.tables import reports
from moot.wire import codec

AT_ONCE = 50  # rows that one query loads
WANTED = 100  # that one look gives
OF_DEBATES = Query(
    select(reports).where(reports.c.debate_id.in_([bindparam(f"id{i}") for i in range(AT_ONCE)]))
)
OF_DEBATE = Query(select(reports).where(reports.c.debate_id == bindparam("debate_id")))
MAKING = Query(
    select(reports.c.debate_id)
    .where(text("state = 'making'"), reports.c.until <= bindparam("now"))
    .order_by(reports.c.until)
    .limit(WANTED)
)
_INSERT = (
    "INSERT INTO debate_reports (debate_id, state, method, model, summary, reading, error, tries,"
    " until, input_tokens, output_tokens, cost_usd, made_at) VALUES (:debate_id, :state, :method,"
    " :model, :summary, :reading, :error, :tries, :until, :input_tokens, :output_tokens,"
    " :cost_usd, :made_at) ON CONFLICT (debate_id) DO UPDATE SET "
)
NOTE = Query(
    # what is there stays, unless its report could not be made from what was said
    text(
        _INSERT + "state = excluded.state, summary = excluded.summary, error = excluded.error,"
        " model = excluded.model, until = excluded.until"
        " WHERE debate_reports.state = 'failed' AND debate_reports.summary = ''"
    )
)
KEEP = Query(
    text(
        _INSERT + "state = excluded.state, method = excluded.method, model = excluded.model,"
        " summary = excluded.summary, reading = excluded.reading, error = excluded.error,"
        " tries = excluded.tries, until = excluded.until, input_tokens = excluded.input_tokens,"
        " output_tokens = excluded.output_tokens, cost_usd = excluded.cost_usd,"
        " made_at = excluded.made_at"
    )
)


def of_debates(conn: Connection, debate_ids: Sequence[str]) -> dict[str, ReportRow]:
    if len(debate_ids) == 1:
        row = of_debate(conn, debate_ids[0])
        return {row.debate_id: row} if row else {}
    found: dict[str, ReportRow] = {}
    for start in range(0, len(debate_ids), AT_ONCE):
        some = debate_ids[start : start + AT_ONCE]
        params = {f"id{i}": some[min(i, len(some) - 1)] for i in range(AT_ONCE)}
        found |= {row["debate_id"]: _row(row) for row in OF_DEBATES.rows(conn, params)}
    return found


def of_debate(conn: Connection, debate_id: str) -> ReportRow | None:
    rows = OF_DEBATE.rows(conn, {"debate_id": debate_id})
    return _row(rows[0]) if rows else None


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
    runs.load(conn, debate_id, lock=True)  # one at a time, also where there is no row yet
    row = move(of_debate(conn, debate_id))
    keep(conn, row)
    if refile:
        runs.outdated(conn, debate_id)
    return row


def _row(value: dict[str, Any]) -> ReportRow:
    return ReportRow(
        debate_id=value["debate_id"],
        state=value["state"],
        method=value["method"],
        model=value["model"],
        summary=value["summary"],
        read=_read(value["reading"]) if value["reading"] else None,
        error=value["error"],
        tries=value["tries"],
        until=value["until"],
        usage=Usage(value["input_tokens"], value["output_tokens"], value["cost_usd"]),
        made_at=value["made_at"],
    )


def _read(kept: str) -> reading.Read:
    try:
        return reading.decode(json.loads(kept))
    except ValueError:  # damaged: `moot replay` says that it is not what the files say
        return None


def _encoded(row: ReportRow) -> dict[str, Any]:
    return {
        "debate_id": row.debate_id,
        "state": row.state,
        "method": row.method,
        "model": row.model,
        "summary": row.summary,
        "reading": codec.dumps(reading.encode(row.read)) if row.read else None,
        "error": row.error,
        "tries": row.tries,
        "until": row.until,
        "input_tokens": row.usage.input_tokens,
        "output_tokens": row.usage.output_tokens,
        "cost_usd": row.usage.cost_usd,
        "made_at": row.made_at,
    }
