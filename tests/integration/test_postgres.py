"""Postgres that goes away, is slow to answer, or never does: what is asked for is done once."""

import asyncio
import importlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from moot.core.sources import Passage, source
from moot.errors import DuplicateError, InputError, NotFoundError, StorageError
from moot.store import postgres, reindex, schema, source_rows
from moot.store.postgres import PostgresDatabase
from moot.store.query import Connection
from moot.store.reindex import Reindexed, examine
from moot.testing.store_contract import a_debate
from tests.integration.test_replay import DISAGREEMENTS, a_home, hold
from tests.patience import seconds
from tests.services import Postgres, Proxy, ask

ONE = "UPDATE counts SET n = n + 1 WHERE id = %s"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres(durable=False) as server:
        yield server


@pytest.fixture
def url(server: Postgres) -> Iterator[str]:
    url = server.fresh()
    ask(url, "CREATE TABLE counts (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
    ask(url, "CREATE TABLE said (n INTEGER PRIMARY KEY)")
    ask(url, "INSERT INTO counts SELECT i, 0 FROM generate_series(0, 9) i")
    yield url
    server.drop(url)


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    with Proxy(url) as proxy:
        yield proxy


@contextmanager
def opened(url: str, connections: int = 3) -> Generator[PostgresDatabase]:
    db = PostgresDatabase(url, connections)
    try:
        yield db
    finally:
        db.close()


def locked(conn: Connection, row: int = 0) -> int:
    rows = conn.driver.execute("SELECT n FROM counts WHERE id = %s FOR UPDATE", [row])
    return rows.fetchall()[0][0]


def add(row: int) -> Callable[[Connection], None]:
    def work(conn: Connection) -> None:
        locked(conn, row)
        conn.driver.execute(ONE, [row])

    return work


def say(n: int, error: Exception | None = None) -> Callable[[Connection], int]:
    def work(conn: Connection) -> int:
        conn.driver.execute("INSERT INTO said VALUES (%s)", [n])
        if error:
            raise error
        return n

    return work


def backend(conn: Connection) -> int:
    return conn.driver.execute("SELECT pg_backend_pid()").fetchall()[0][0]


def said(url: str) -> list[int]:
    return [n for (n,) in ask(url, "SELECT n FROM said ORDER BY n")]


def count(url: str, row: int = 0) -> int:
    return ask(url, "SELECT n FROM counts WHERE id = ?", row)[0][0]


def on(fragile: str, **options: str) -> str:
    """The URL, with settings of the session in it: they count for more than ours."""
    words = " ".join(f"-c {name}={value}" for name, value in options.items())
    return f"{fragile}?options={quote(words)}"


# --- a transaction, and what a function does in it ---


def test_one_that_raises_leaves_nothing_and_the_connection_is_kept(url: str) -> None:
    async def go(db: PostgresDatabase) -> None:
        await db.write(say(1))
        pid = await db.read(backend)
        for error in (InputError("no"), KeyError("no")):
            with pytest.raises(type(error)) as caught:
                await db.write(say(2, error))
            assert caught.value is error
        assert await db.write(say(3)) == 3
        assert await db.read(backend) == pid
        assert db.repeated == db.resolved == 0

    with opened(url, 1) as db:
        asyncio.run(go(db))
    assert said(url) == [1, 3]


@pytest.mark.parametrize("hears", [False, True])
def test_a_row_that_is_there_is_a_duplicate(url: str, hears: bool) -> None:
    """At every stage of a statement: sent in full, prepared, and prepared before."""

    def work(n: int) -> Callable[[Connection], None]:
        def both(conn: Connection) -> None:
            locked(conn)
            conn.driver.execute("INSERT INTO said VALUES (%s)", [n])
            conn.driver.execute(ONE, [0])
            if hears:  # of the refusal, before the end
                locked(conn)

        return both

    async def go(db: PostgresDatabase) -> None:
        pid = await db.read(backend)
        for n in range(20):
            await db.write(work(n))
            with pytest.raises(DuplicateError, match="unique"):
                await db.write(work(n // 2))
        for n in range(20, 40):
            await db.write(work(n))
        with pytest.raises(DuplicateError):
            await db.write(work(39))
        await db.write(work(40))
        assert await db.read(backend) == pid
        assert db.repeated == 0

    with opened(url, 1) as db:
        asyncio.run(go(db))
    assert said(url) == list(range(41))
    assert count(url) == 41


def test_one_that_goes_on_after_an_error_is_told_that_nothing_was_written(url: str) -> None:
    def work(conn: Connection) -> None:
        conn.driver.execute(ONE, [0])
        with pytest.raises(psycopg.errors.UndefinedTable):
            conn.driver.execute("SELECT 1 FROM missing").fetchall()

    with opened(url, 1) as db:
        with pytest.raises(StorageError, match="did not commit"):
            asyncio.run(db.write(work))
        assert asyncio.run(db.write(say(1))) == 1
    assert count(url) == 0


def test_a_value_that_no_column_takes_is_the_callers_mistake(url: str) -> None:
    async def go(db: PostgresDatabase) -> None:
        for value in (2**40, 2**80, "\0"):
            with pytest.raises(ValueError, match=r"(?i)out of range|NUL"):
                await db.write(say(value))  # type: ignore[arg-type]
        assert await db.write(say(1)) == 1

    with opened(url) as db:
        asyncio.run(go(db))


def test_a_read_leaves_no_transaction_open(url: str) -> None:
    async def go(db: PostgresDatabase) -> None:
        await db.read(lambda conn: conn.driver.execute("SELECT n FROM said").fetchall())
        with pytest.raises(StorageError, match="lacks tables"):
            await db.read(lambda conn: conn.driver.execute("SELECT 1 FROM missing").fetchall())
        states = ask(url, "SELECT state FROM pg_stat_activity WHERE application_name = 'moot'")
        assert states
        assert {state for (state,) in states} == {"idle"}

    with opened(url) as db:
        asyncio.run(go(db))


def test_whoever_is_cancelled_has_still_asked(url: str) -> None:
    async def go(db: PostgresDatabase) -> None:
        free = threading.Event()
        first = asyncio.create_task(db.write(lambda conn: free.wait() and say(1)(conn)))
        second = asyncio.create_task(db.write(say(2)))  # waits for the only connection
        await asyncio.sleep(0.05)
        for task in (first, second):
            task.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        free.set()
        await db.write(say(3))

    with opened(url, 1) as db:
        asyncio.run(go(db))
    assert said(url) == [1, 2, 3]


# --- the connection breaks ---


@pytest.mark.parametrize("when", ["first", "read", "written"])
def test_a_write_that_is_cut_off_is_run_again(url: str, when: str) -> None:
    runs = 0

    def work(conn: Connection) -> int:
        nonlocal runs
        runs += 1
        pid = conn.driver.driver.info.backend_pid  # type: ignore[attr-defined]
        for step in ("first", "read", "written"):
            if step == "read":
                locked(conn)
            if step == "written":
                conn.driver.execute(ONE, [0])
            if step == when and runs == 1:
                ask(url, "SELECT pg_terminate_backend(?, 2000)", pid)
        return runs

    with opened(url) as db:
        assert asyncio.run(db.write(work)) == 2
        assert (db.repeated, db.resolved) == (1, 0)
        assert asyncio.run(db.write(say(1))) == 1
    assert (runs, count(url)) == (2, 1)


def test_a_read_that_is_cut_off_is_run_again(url: str) -> None:
    async def go(db: PostgresDatabase) -> None:
        before = await db.read(backend)
        ask(url, "SELECT pg_terminate_backend(?, 2000)", before)
        assert await db.read(backend) != before
        assert db.repeated == 1

    with opened(url, 1) as db:
        asyncio.run(go(db))


@pytest.mark.parametrize("asked", [True, False])
def test_the_reply_to_commit_is_lost(
    url: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    """Asked what became of it, the server says; run again unasked, the same is done twice."""
    runs: list[int] = []

    def work(conn: Connection) -> str:
        runs.append(locked(conn))
        conn.driver.execute(ONE, [0])
        return "done"

    if not asked:
        monkeypatch.setattr(PostgresDatabase, "_committed", lambda *_: False)
    with opened(proxy.at()) as db:
        proxy.lose_commits()
        assert asyncio.run(db.write(work)) == "done"
        assert proxy.lost == 1
        assert (runs, count(url)) == (([0], 1) if asked else ([0, 1], 2))
        assert (db.resolved, db.repeated) == ((1, 0) if asked else (0, 1))
        assert asyncio.run(db.write(say(1))) == 1


def test_a_commit_that_never_arrived_is_run_again(url: str, proxy: Proxy) -> None:
    runs = 0

    def work(conn: Connection) -> None:
        nonlocal runs
        runs += 1
        locked(conn)
        if runs == 1:
            proxy.reset()
        conn.driver.execute(ONE, [0])

    with opened(proxy.at()) as db:
        asyncio.run(db.write(work))
        assert (db.resolved, db.repeated) == (0, 1)
    assert (runs, count(url)) == (2, 1)


@pytest.mark.parametrize("guarded", [True, False])
def test_after_a_crash_a_number_is_given_again(
    server: Postgres, url: str, monkeypatch: pytest.MonkeyPatch, guarded: bool
) -> None:
    """That a transaction of ours is said to be committed may then be said of another's."""

    def work(conn: Connection) -> str:
        rows = conn.driver.execute("SELECT pg_current_xact_id()::text::int").fetchall()
        server.restart("immediate")
        others: list[int] = []
        while not others or others[-1] < rows[0][0]:  # work of somebody else
            given = ask(url, "INSERT INTO said VALUES (?) RETURNING xmin::text::int", len(others))
            others.append(given[0][0])
        assert rows[0][0] in others
        return "done"

    if not guarded:
        monkeypatch.setattr(postgres, "HELLO", f"SELECT {postgres._CLOCK}, 'always the same'")
    with opened(url) as db:
        if guarded:
            with pytest.raises(StorageError, match="may be there or not"):
                asyncio.run(db.write(work))
        else:
            assert asyncio.run(db.write(work)) == "done"
            assert db.resolved == 1, "and yet it was never committed"


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_postgres_is_restarted_under_load(server: Postgres, url: str, mode: Any) -> None:
    kept: list[int] = []
    open_: list[int] = []  # of which nobody could say whether it is there

    def step(row: int, n: int) -> Callable[[Connection], None]:
        def work(conn: Connection) -> None:
            locked(conn, row)
            conn.driver.execute("INSERT INTO said VALUES (%s)", [n])
            conn.driver.execute(ONE, [row])

        return work

    async def writer(db: PostgresDatabase, row: int, ended: asyncio.Event) -> None:
        for n in range(row, 1_000_000, 8):
            try:
                await db.write(step(row, n))
                kept.append(n)
            except StorageError as error:
                if mode == "fast" or "may be there or not" not in str(error):
                    raise
                open_.append(n)
            if ended.is_set():
                return

    async def go(db: PostgresDatabase) -> None:
        ended = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for row in range(8):
                group.create_task(writer(db, row, ended))
            for _ in range(3):
                await asyncio.sleep(0.3)
                before = len(kept)
                await asyncio.to_thread(server.restart, mode)
                while len(kept) < before + 50:
                    await asyncio.sleep(0.02)
            ended.set()

    with opened(url, 8) as db:
        asyncio.run(go(db))
        print(f"{len(kept)} kept, {len(open_)} open, {db.repeated} again, {db.resolved} resolved")
        assert db.repeated > 0
    there = set(said(url))
    assert set(kept) <= there <= {*kept, *open_}
    assert sum(count(url, row) for row in range(8)) == len(there), "each of them once"


@pytest.mark.parametrize("where", ["after a fetch", "between two messages"])
def test_a_worker_that_stood_still_holds_no_lock(
    url: str, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Its transaction is ended by the server; when it wakes, it does the same again."""
    runs = 0
    if where == "between two messages":
        monkeypatch.setattr(postgres, "LIMIT", "SET transaction_timeout = '300ms'")
    else:
        url = on(url, idle_in_transaction_session_timeout="300ms")

    def slow(conn: Connection) -> None:
        nonlocal runs
        runs += 1
        conn.driver.execute(ONE, [0])
        if where == "after a fetch":
            locked(conn)
        if runs == 1:
            time.sleep(0.8)

    async def go(db: PostgresDatabase) -> None:
        first = asyncio.create_task(db.write(slow))
        await asyncio.sleep(0.1)
        await db.write(add(0))
        assert not first.done()
        await first

    with opened(url) as db:
        asyncio.run(go(db))
    assert (runs, count(url)) == (2, 2)


def test_a_lock_that_is_held_for_long_is_waited_for_again(url: str) -> None:
    async def go(db: PostgresDatabase) -> None:
        with psycopg.connect(url) as other:
            other.execute("SELECT n FROM counts WHERE id = 3 FOR UPDATE")
            waiting = asyncio.create_task(db.write(add(3)))
            await asyncio.sleep(0.5)
        await waiting
        assert db.repeated >= 1

    with opened(on(url, lock_timeout="200ms")) as db:
        asyncio.run(go(db))
    assert count(url, 3) == 1


def test_of_two_in_a_deadlock_one_is_run_again(url: str) -> None:
    met = threading.Barrier(2, timeout=seconds())
    runs: list[int] = []

    def cross(one: int, other: int) -> Callable[[Connection], None]:
        def work(conn: Connection) -> None:
            runs.append(one)
            locked(conn, one)
            if runs.count(one) == 1:
                met.wait()
            locked(conn, other)
            conn.driver.execute(ONE, [one])

        return work

    async def go(db: PostgresDatabase) -> None:
        await asyncio.gather(db.write(cross(0, 1)), db.write(cross(1, 0)))

    with opened(on(url, deadlock_timeout="100ms")) as db:
        asyncio.run(go(db))
        assert db.repeated == 1
    assert len(runs) == 3
    assert [count(url, row) for row in (0, 1)] == [1, 1]


# --- when it stays away ---


def test_a_server_that_stays_away_is_one_sentence(
    server: Postgres, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "PATIENCE_SECONDS", 0.5)
    secret = url.replace("postgres@", "postgres:hunter2@")
    with opened(secret) as db:
        asyncio.run(db.ping())
        server.stop()
        try:
            for asked in (db.ping(), db.read(backend)):
                began = time.monotonic()
                with pytest.raises(StorageError, match="cannot be reached") as caught:
                    asyncio.run(asked)
                assert time.monotonic() - began > 0.1
                assert "127.0.0.1" in str(caught.value)
                assert "hunter2" not in str(caught.value)
                assert "\n" not in str(caught.value)
            with pytest.raises(StorageError, match="cannot be reached"):
                PostgresDatabase(secret, 1)
        finally:
            server.start()
        asyncio.run(db.ping())


def test_what_cannot_be_mended_by_waiting_is_said_at_once(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "PATIENCE_SECONDS", 3600.0)
    with pytest.raises(StorageError, match=r"does not exist.*MOOT_DATABASE_URL"):
        PostgresDatabase(url + "_gone", 1)
    with pytest.raises(InputError, match="understands") as caught:
        PostgresDatabase("postgresql://me:hunter2@[host/x", 1)
    assert "hunter2" not in str(caught.value)


def test_closing_waits_for_no_server_that_is_away(
    server: Postgres, url: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "PATIENCE_SECONDS", 3600.0)

    async def go(db: PostgresDatabase, asked: int) -> list[Any]:
        tasks = [asyncio.create_task(db.write(say(n))) for n in range(asked)]
        await asyncio.sleep(0.3)
        await asyncio.to_thread(db.close)
        return await asyncio.gather(*tasks, return_exceptions=True)

    db = PostgresDatabase(url, 2)
    server.stop()
    try:
        done = asyncio.run(go(db, 5))
    finally:
        server.start()
    assert all(isinstance(error, StorageError) for error in done)
    with pytest.raises(StorageError, match="closed"):
        asyncio.run(db.ping())
    assert said(url) == []


def test_closing_hangs_up_on_a_server_that_does_not_answer(
    url: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "CLOSING_SECONDS", 0.3)
    db = PostgresDatabase(proxy.at(), 1)

    async def go() -> Any:
        await db.ping()
        proxy.pause()
        task = asyncio.create_task(db.write(say(1)))
        await asyncio.sleep(0.1)
        await asyncio.to_thread(db.close)
        return (await asyncio.gather(task, return_exceptions=True))[0]

    assert isinstance(asyncio.run(go()), StorageError)


# --- one clock ---


def test_the_time_is_the_servers(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wall = time.time
    monkeypatch.setattr(time, "time", lambda: wall() + 3600)
    with opened(url) as db:
        for _ in range(3):
            there = ask(url, "SELECT extract(epoch from clock_timestamp())::float8")[0][0]
            assert abs(db.now() - there) < 0.05
            asyncio.run(db.ping())


def test_a_write_sees_the_time_of_its_own_transaction(url: str) -> None:
    """Also where this process stood still without knowing, or waited for a lock."""

    def work(conn: Connection) -> tuple[float, float]:
        locked(conn)
        seen = db.now()
        there = conn.driver.execute(f"SELECT {postgres._CLOCK}").fetchall()
        return seen, there[0][0]

    async def go() -> None:
        for off in (-3600.0, 3600.0):
            assert db._ahead is not None
            db._ahead += off
            seen, there = await db.write(work)
            assert abs(seen - there) < 0.05
            assert abs(db.now() - there) < 0.05
        with psycopg.connect(url) as other:
            other.execute("SELECT n FROM counts WHERE id = 0 FOR UPDATE")
            waiting = asyncio.create_task(db.write(work))
            await asyncio.sleep(0.4)
        seen, there = await waiting
        assert abs(seen - there) < 0.05

    with opened(url) as db:
        asyncio.run(go())


def test_a_write_costs_two_round_trips(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the time asked for, and the number of the transaction taken."""
    flushed = 0
    fetch = psycopg.Pipeline._fetch_gen

    def counted(self: Any, *, flush: bool) -> Any:
        nonlocal flushed
        flushed += 1
        return fetch(self, flush=flush)

    def work(conn: Connection) -> float:
        locked(conn)
        conn.driver.execute(ONE, [0])
        conn.driver.execute(ONE, [1])
        return db.now()

    monkeypatch.setattr(psycopg.Pipeline, "_fetch_gen", counted)
    with opened(url) as db:
        asyncio.run(db.write(work))
    assert flushed == 2


# --- the schema ---


@pytest.fixture
def bare(server: Postgres) -> Iterator[str]:
    ask(server.url(), "SELECT 1")
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS bare WITH (FORCE)")
        admin.execute("CREATE DATABASE bare")
    yield server.url("bare")
    server.drop(server.url("bare"))


def test_a_postgres_is_upgraded_when_it_is_said_and_not_before(bare: str) -> None:
    with pytest.raises(StorageError, match=r"no tables of moot yet. Run `moot db upgrade`"):
        schema.prepare(bare)
    assert ask(bare, "SELECT to_regclass('debate_schema')") == [(None,)]
    done: list[tuple[str | None, str]] = []
    both = [threading.Thread(target=lambda: done.append(schema.upgrade_at(bare))) for _ in "ab"]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(done, key=str) == [(schema.HEAD, schema.HEAD), (None, schema.HEAD)]
    schema.prepare(bare)
    ask(bare, "UPDATE debate_schema SET version_num = '0002'")
    with pytest.raises(StorageError, match=r"older moot \(schema 0002.*Run `moot db upgrade`"):
        schema.prepare(bare)
    ask(bare, "UPDATE debate_schema SET version_num = '9999'")
    for ask_for in (schema.prepare, schema.upgrade_at):
        with pytest.raises(StorageError, match=r"newer moot \(schema 9999.*Nothing was changed"):
            ask_for(bare)


def test_a_postgres_that_is_away_is_said_so(
    bare: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(postgres, "STARTING_SECONDS", 0.2)
    away = "postgresql://me:hunter2@127.0.0.1:1/moot"
    for ask_for in (schema.prepare, schema.upgrade_at):
        with pytest.raises(StorageError, match=r"127\.0\.0\.1 \(database moot\) cannot") as caught:
            ask_for(away)
        assert "hunter2" not in str(caught.value)


def test_without_the_driver_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "moot.store.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"pip install .*psycopg\[binary\]"):
        importlib.import_module("moot.store.postgres")


def test_whoever_has_no_postgres_needs_no_driver() -> None:
    code = "import sys, moot.bootstrap, moot.store.reindex, moot.python; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert loaded.returncode == 0
    assert "psycopg" not in loaded.stdout.split()


# --- files beside it ---


def index(url: str, home: Path) -> Reindexed:
    with opened(url) as db:
        return asyncio.run(reindex.reindex(db, home))


def test_files_and_postgres_are_compared_as_with_the_file(
    server: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOOT_DATABASE_URL", raising=False)
    settings = a_home(tmp_path / "home")
    debate, _ = asyncio.run(hold(settings, "council"))
    url = server.fresh()
    alone = examine(settings.home, url, debate.id)
    assert (alone.indexed, alone.issues) == (False, ())
    assert index(url, settings.home).indexed == [debate.id]
    assert index(url, settings.home).present == 1
    both = examine(settings.home, url, debate.id)
    assert (both.indexed, both.issues) == (True, ())
    with pytest.raises(NotFoundError):
        examine(settings.home, url, a_debate().id)
    for sql, words in DISAGREEMENTS.items():
        changed = server.fresh()
        index(changed, settings.home)
        ask(changed, sql)
        issues = examine(settings.home, changed, debate.id).issues
        assert any(words in issue for issue in issues), (sql, issues)
        server.drop(changed)


def test_a_postgres_that_cannot_be_read_is_a_finding(
    server: Postgres, bare: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOOT_DATABASE_URL", raising=False)
    settings = a_home(tmp_path / "home")
    debate, _ = asyncio.run(hold(settings, "duel"))
    seen = examine(settings.home, bare, debate.id)
    assert (seen.indexed, seen.issues) == (False, ()), "another program's database"
    ask(bare, "CREATE TABLE debate_runs (mine INTEGER)")
    for place in (bare, "postgresql://me:hunter2@127.0.0.1:1/moot"):
        seen = examine(settings.home, place, debate.id)
        assert not seen.indexed
        assert len(seen.issues) == 1
        assert "compared with nothing" in seen.issues[0]
        assert "hunter2" not in seen.issues[0]


def test_reindexing_tells_of_what_postgres_cannot_hold(url: str, tmp_path: Path) -> None:
    """As of any other damage; the rest goes in."""
    settings = a_home(tmp_path / "home")
    debate, _ = asyncio.run(hold(settings, "duel"))
    with opened(url) as db:
        replay = reindex.read_folder(settings.home, debate.id)
        assert replay.debate
        huge = replay.debate.but(turn_count=2**70)
        with pytest.raises(ValueError, match="out of range"):
            asyncio.run(db.write(lambda conn: reindex.runs.create(conn, huge)))
    assert ask(url, "SELECT count(*) FROM debate_runs") == [(0,)]


def test_a_text_that_is_read_anew_is_not_forgotten(url: str) -> None:
    """Its last debate is deleted while another one that reads it is being made."""
    schema.prepare(url)
    read = source("RFC", "text", "text", "0" * 64, (Passage(1, "The ledger moves."),))
    first, second = (a_debate(n).but(sources=(read,)) for n in (1, 2))
    forgotten = threading.Event()

    def make(conn: Connection) -> None:
        source_rows.keep(conn, second)
        backend(conn)  # what was written is sent before what is read
        asked = threading.Thread(target=forget)
        asked.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while not forgotten.is_set() and not ask(url, waits)[0][0]:
            time.sleep(0.01)
        threads.append(asked)

    def forget() -> None:
        def work(conn: Connection) -> None:
            conn.driver.execute("DELETE FROM debate_source_uses WHERE debate_id = %s", [first.id])
            source_rows.forget_texts(conn)

        asyncio.run(db.write(work))
        forgotten.set()

    threads: list[threading.Thread] = []
    with opened(url) as db:
        asyncio.run(db.write(lambda conn: source_rows.keep(conn, first)))
        asyncio.run(db.write(make))
        threads[0].join(seconds())
        assert forgotten.is_set()
    assert ask(url, "SELECT sha256 FROM debate_source_texts") == [(read.text_sha256,)]
