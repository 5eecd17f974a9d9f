"""What people noted of decisions later: right, wrong or mixed, with what had been forecast."""

from sqlalchemy import bindparam, delete, select

from moot.outcome.calibration import Forecasts, Noted
from moot.store.query import Connection, Query, by, keeping
from moot.store.rows import picked, same
from moot.store.tables import hindsight
from moot.wire import codec

_SAME = same(Noted, hindsight, "forecasts")
OF_DEBATE = Query(by(hindsight.c.debate_id))
ALL = Query(select(hindsight).order_by(hindsight.c.debate_id))
KEEP = keeping(hindsight, ["hindsight", "at", "forecasts"])
FORGET = Query(delete(hindsight).where(hindsight.c.debate_id == bindparam("b_id")))


def of_debate(conn: Connection, debate_id: str) -> Noted | None:
    rows = OF_DEBATE.rows(conn, {"debate_id": debate_id})
    return _noted(rows[0]) if rows else None


def every(conn: Connection) -> list[Noted]:
    return [_noted(row) for row in ALL.rows(conn)]


def keep(conn: Connection, note: Noted) -> None:
    KEEP.run(conn, {**picked(note, _SAME), "forecasts": codec.dumps(codec.plain(note.forecasts))})


def forget(conn: Connection, debate_id: str) -> None:
    FORGET.run(conn, {"b_id": debate_id})


def _noted(row: dict[str, str]) -> Noted:
    made = codec.adapter(Forecasts).validate_json(row["forecasts"])
    return codec.adapter(Noted).validate_python({**row, "forecasts": made})
