"""Group commit: what waits together is written together, and nobody pays for another's mistake."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from moot.errors import DuplicateError, InputError, StorageError
from moot.store.database import Database, storage_error
from moot.store.query import Connection


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "home" / ".agentic" / "x.sqlite"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as conn:
        conn.execute("PRAGMA journal_mode=WAL")
        conn.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    return path


def insert(n: int, error: Exception | None = None) -> Callable[[Connection], int]:
    def work(conn: Connection) -> int:
        conn.driver.execute("INSERT INTO t VALUES (?)", (n,))
        if error:
            raise error
        return n

    return work


def stored(path: Path) -> list[int]:
    return [n for (n,) in sqlite3.connect(path).execute("SELECT n FROM t ORDER BY n")]


def test_one_that_fails_undoes_itself_alone(path: Path) -> None:
    async def go() -> list[object]:
        db = Database(path)
        jobs = [insert(1), insert(2, InputError("no")), insert(1), insert(3), insert(4, KeyError())]
        done = await asyncio.gather(*(db.write(job) for job in jobs), return_exceptions=True)
        db.close()
        return list(done)

    one, two, again, three, four = asyncio.run(go())
    assert (one, three) == (1, 3)
    assert isinstance(two, InputError)
    assert isinstance(again, DuplicateError)
    assert isinstance(four, KeyError)
    assert stored(path) == [1, 3]


def test_what_waits_together_shares_a_transaction(path: Path) -> None:
    async def go() -> int:
        db = Database(path)
        await db.write(insert(0))
        before = (path.parent / "x.sqlite-wal").stat().st_size
        await asyncio.gather(*(db.write(insert(n)) for n in range(1, 201)))
        grown = (path.parent / "x.sqlite-wal").stat().st_size - before
        db.close()
        return grown

    assert asyncio.run(go()) < 20 * 4200, "two hundred commits would each write a page"
    assert len(stored(path)) == 201


def test_a_database_in_trouble_is_said_to_everyone_and_recovered_from(path: Path) -> None:
    async def go() -> list[object]:
        db = Database(path)

        def broken(conn: Connection) -> None:
            conn.driver.execute("INSERT INTO nowhere VALUES (1)")

        done = await asyncio.gather(
            db.write(insert(1)), db.write(broken), db.write(insert(2)), return_exceptions=True
        )
        after = await db.write(insert(3))
        db.close()
        return [*done, after]

    *together, after = asyncio.run(go())
    assert all(isinstance(error, StorageError) for error in together)
    assert after == 3
    assert stored(path) == [3]


def test_a_write_is_finished_though_nobody_waits_for_it(path: Path) -> None:
    async def go() -> None:
        db = Database(path)
        task = asyncio.create_task(db.write(insert(7)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        db.close()

    asyncio.run(go())
    assert stored(path) == [7]


def test_every_commit_is_synced(path: Path) -> None:
    async def go() -> tuple[object, object]:
        db = Database(path)
        pragmas = await db.write(
            lambda conn: tuple(
                conn.driver.execute(f"PRAGMA {name}").fetchall()[0][0]
                for name in ("synchronous", "journal_mode")
            )
        )
        db.close()
        return pragmas[0], pragmas[1]

    assert asyncio.run(go()) == (2, "wal")


def test_a_sqlite_without_full_text_search_is_named(path: Path) -> None:
    error = sqlite3.OperationalError("no such module: fts5")
    assert "has no full-text search (FTS5)" in str(storage_error(error, path))
