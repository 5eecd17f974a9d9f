"""Runs functions on a connection: one writer thread that commits in groups, readers of their own.

All functions that wait when the writer is free go into one transaction, so that a hundred debates
share one fsync. A function that raises undoes itself and nobody else: if it had written anything,
the group is rolled back and run again, each function in a savepoint. So functions may run twice,
and must do nothing but read and write the database.
"""

import asyncio
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from moot.errors import DuplicateError, StorageError
from moot.store.jobs import Job, Together
from moot.store.query import Connection

T = TypeVar("T")
BUSY_SECONDS = 20.0
LEAST_ROOM = 8 << 20  # bytes


class Database:
    """The embedded database, `<home>/.agentic/kofnote_search.sqlite`."""

    def __init__(self, path: Path, timed: Callable[[float], None] | None = None) -> None:
        self.path = path
        self._timed = timed  # takes the seconds of each write, from asking to on disk
        self._writer = Writer(path)
        self._together = Together("moot-write", self._writer.run)
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="moot-read")
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []

    async def write(self, fn: Callable[[Connection], T], row: str | None = None) -> T:
        """Run `fn` in a transaction, with whatever else waits; it is on disk when this returns."""
        began = time.monotonic()
        result = await self._together.ask(fn, row)
        if self._timed:
            self._timed(time.monotonic() - began)
        return result

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` on what is committed, beside the writer."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, fn)

    async def ping(self) -> None:
        """Raises StorageError if a write would fail: no lock, no permission, or no room."""
        await self.write(lambda _: None)
        if shutil.disk_usage(self.path.parent).free < LEAST_ROOM:
            raise StorageError(f"The disk that holds {self.path.parent.parent} is full. Make room.")

    def now(self) -> float:
        return time.time()

    def close(self) -> None:
        """Finish what waits, then let go of the file."""
        self._together.close()
        self._writer.close()
        self._readers.shutdown()
        for driver in self._opened:
            driver.close()

    def _read(self, fn: Callable[[Connection], T]) -> T:
        try:
            conn: Connection | None = getattr(self._local, "conn", None)
            if conn is None:
                driver = connect(self.path)
                self._opened.append(driver)
                conn = self._local.conn = Connection("sqlite", driver)
            return fn(conn)
        except sqlite3.Error as error:
            raise storage_error(error, self.path) from error


class Writer:
    """The one connection that writes, and what it knows of the rows it wrote."""

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self._path = path
        self._durable = durable
        self._driver: sqlite3.Connection | None = None
        self._conn: Connection | None = None

    def run(self, group: Sequence[Job]) -> None:
        """All of a group in one transaction; each has its result or its error then."""
        try:
            driver = self._driver = self._driver or connect(self._path, durable=self._durable)
            conn = self._conn = self._conn or Connection("sqlite", driver, seen={})
            _run_group(driver, conn, group)
        except BaseException as error:  # whoever waits must hear of it, whatever it is
            if self._driver is not None and self._driver.in_transaction:
                self._driver.execute("ROLLBACK")
            self._conn = None
            if isinstance(error, sqlite3.Error):
                error = storage_error(error, self._path)
            for job in group:
                job.error = error

    def close(self) -> None:
        if self._driver is not None:
            self._driver.close()


def _run_group(driver: sqlite3.Connection, conn: Connection, group: Sequence[Job]) -> None:
    """One transaction for all. A job that is refused before it writes has nothing to undo."""
    driver.execute("BEGIN IMMEDIATE")
    version = driver.execute("PRAGMA data_version").fetchone()[0]
    if version != conn.version:  # another connection wrote: what was seen may be old
        conn.seen, conn.version = {}, version
    for job in group:
        written = driver.total_changes
        _run_job(conn, job)
        if job.error and driver.total_changes != written:
            driver.execute("ROLLBACK")
            _run_apart(driver, conn, group)
            return
    driver.execute("COMMIT")


def _run_apart(driver: sqlite3.Connection, conn: Connection, group: Sequence[Job]) -> None:
    """The same again, each in a savepoint of its own: one that fails half-way undoes itself."""
    conn.seen = None
    driver.execute("BEGIN IMMEDIATE")
    for job in group:
        driver.execute("SAVEPOINT job")
        _run_job(conn, job)
        if job.error:
            driver.execute("ROLLBACK TO job")
        driver.execute("RELEASE job")
    driver.execute("COMMIT")
    conn.seen = {}


def _run_job(conn: Connection, job: Job) -> None:
    """Raises what is the database's own trouble, and with it everyone's."""
    try:
        job.error, job.result = None, job.fn(conn)
    except sqlite3.IntegrityError as error:
        job.error = DuplicateError(str(error))
    except sqlite3.Error:
        raise
    except Exception as error:
        job.error = error


def connect(path: Path, *, durable: bool = True) -> sqlite3.Connection:
    """A connection whose transactions are begun and ended by hand.

    One that is not `durable` is for tests: it does not wait for the disk.
    """
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
    if not durable:
        connection.execute("PRAGMA journal_mode=MEMORY")
    return connection


def engine(path: Path) -> Engine:
    """The same, for the tools that want SQLAlchemy's."""
    return create_engine(
        "sqlite://", creator=lambda: connect(path), poolclass=NullPool, isolation_level="AUTOCOMMIT"
    )


_TROUBLE = {
    ("full", "disk i/o"): "The disk that holds {home} is full or failing. Make room, then go on.",
    ("readonly", "read-only"): "{path} cannot be written. Check its permissions, or set MOOT_HOME.",
    ("unable to open",): "{path} cannot be opened. Check its permissions, or set MOOT_HOME.",
    ("no such module: fts5",): (
        "The SQLite of this Python has no full-text search (FTS5), which moot needs. Use a Python "
        "from python.org, uv or your distribution, or set MOOT_DATABASE_URL to a Postgres."
    ),
    ("locked",): "{path} is locked by another program. Try again when it is done.",
    ("not a database", "malformed"): (
        "{path} is damaged or not a database. Restore a copy, or move it away."
    ),
}
"""What a person can do about an error, by the words in it."""


def storage_error(error: Exception, path: Path) -> StorageError:
    """One clear sentence for what a person can mend."""
    words = str(getattr(error, "orig", error)).lower()
    for signs, sentence in _TROUBLE.items():
        if any(sign in words for sign in signs):
            return StorageError(sentence.format(path=path, home=path.parent.parent))
    return StorageError(f"The database {path} gave an error: {words}.")
