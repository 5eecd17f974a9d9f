"""Writes that are sent as one statement: what that takes from SQLAlchemy and psycopg.

These fail if a new version of either does it differently, before a database is asked.
"""

import inspect

import psycopg
from sqlalchemy import insert, update
from sqlalchemy.dialects import postgresql

from moot.store import attempts, log, runs
from moot.store.piped import joined
from moot.store.query import Query, Write
from moot.store.tables import events
from moot.store.tables import runs as runs_table


def sql_of(query: Query) -> str:
    return query._compile("postgresql")[0]


def test_a_write_knows_its_table() -> None:
    for query, table in (
        (log.ADD_TURN, "debate_turns"),
        (runs.ADVANCE, "debate_runs"),
        (attempts.END, "debate_attempts"),
        (runs.KEEP_FORMAT, "debate_formats"),
    ):
        sql = sql_of(query)
        assert isinstance(sql, Write)
        assert sql.table == table
    assert not isinstance(sql_of(runs.LOCKED), Write)


def test_parameters_are_written_for_pythons_own_formatting() -> None:
    assert postgresql.psycopg.dialect().paramstyle == "pyformat"  # type: ignore[attr-defined]
    made = update(runs_table).values(motion=runs_table.c.motion.op("%")("x")).where(
        runs_table.c.id == "100%"
    )  # fmt: skip
    text = str(made.compile(dialect=postgresql.psycopg.dialect()))  # type: ignore[attr-defined]
    assert "%%" in text, "a sign of percent is doubled"
    sql, places = joined((text,))
    assert b"%%" not in sql
    assert b"(debate_runs.motion % $1::VARCHAR)" in sql
    assert [name for _, name in places] == ["motion_1", "id_1"]


def test_several_writes_are_one_statement_and_keep_their_values_apart() -> None:
    one, other = sql_of(log.ADD_TURN), sql_of(Query(insert(events)))
    sql, places = joined((one, other))
    assert sql.startswith(b"WITH w0 AS (INSERT INTO debate_turns")
    assert b") INSERT INTO debate_events" in sql
    names = [name for place, name in places if place == 1]
    assert "data" in names
    assert (0, "data") in places
    assert sql.count(b"$") == len(places)


def test_the_parts_of_psycopg_that_are_used_are_public() -> None:
    assert issubclass(psycopg.RawCursor, psycopg.Cursor)
    assert callable(psycopg.Pipeline.sync)
    assert hasattr(psycopg.Cursor, "pgresult")
    assert "prepare" in inspect.signature(psycopg.Connection.execute).parameters
