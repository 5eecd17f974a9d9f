"""Runs functions on a connection: one writer thread that commits in groups, readers of their own.

All functions that wait when the writer is free go into one transaction, so that a hundred debates
share one fsync. A function that raises undoes itself and nobody else: if it had written anything,
the group is rolled back and run again, each function in a savepoint. So functions may run twice,
and must do nothing but read and write the database.
"""

import asyncio
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from moot.errors import DuplicateError, StorageError
from moot.store.query import Connection

T = TypeVar("T")
BUSY_SECONDS = 20.0
LEAST_ROOM = 8 << 20  # bytes


@dataclass(slots=True)
class Job:
    """A function to run in a transaction, who waits for it, and what came of it."""

    fn: Callable[[Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    row: str | None = None  # the debate whose row it locks, where it locks no other
    result: Any = None
    error: BaseException | None = None


class Database:
    """The embedded database, `<home>/.agentic/kofnote_search.sqlite`."""

    def __init__(self, path: Path, timed: Callable[[float], None] | None = None) -> None:
        self.path = path
        self._timed = timed  # takes the seconds of each write, from asking to on disk
        self._jobs: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._waiting: list[Job] = []
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="moot-read")
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._writer = threading.Thread(target=self._write_groups, name="moot-write", daemon=True)
        self._writer.start()

    async def write(self, fn: Callable[[Connection], T], row: str | None = None) -> T:
        """Run `fn` in a transaction, with whatever else waits; it is on disk when this returns.

        Whoever is cancelled while waiting has still asked: the write goes on.
        """
        loop = asyncio.get_running_loop()
        job = Job(fn, loop, loop.create_future())
        if not self._waiting:
            loop.call_soon(self._hand_over)
        self._waiting.append(job)
        if self._timed is None:
            return await job.future
        began = loop.time()
        result = await job.future
        self._timed(loop.time() - began)
        return result

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` on what is committed, beside the writer."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, fn)

    async def ping(self) -> None:
        """Raises StorageError where a write would fail: no lock, no leave, or no room."""
        await self.write(lambda _: None)
        if shutil.disk_usage(self.path.parent).free < LEAST_ROOM:
            raise StorageError(f"The disk that holds {self.path.parent.parent} is full. Make room.")

    def now(self) -> float:
        return time.time()

    def close(self) -> None:
        """Finish what waits, then let go of the file."""
        if self._waiting:
            self._hand_over()
        self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown()
        for driver in self._opened:
            driver.close()

    def _hand_over(self) -> None:
        """All that this turn of the event loop wants written goes to the writer at once.

        One by one, the two threads would fight over the interpreter's lock at every statement.
        """
        jobs, self._waiting = self._waiting, []
        self._jobs.put(jobs)

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

    def _write_groups(self) -> None:
        writer = Writer(self.path)
        last = False
        while not last and (group := self._jobs.get()) is not None:
            while not self._jobs.empty():
                more = self._jobs.get()
                if more is None:
                    last = True
                    break
                group += more
            writer.run(group)
            deliver(group)
        writer.close()


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
            for failed in group:
                failed.error = self._translate(error)

    def close(self) -> None:
        if self._driver is not None:
            self._driver.close()

    def _translate(self, error: BaseException) -> BaseException:
        if isinstance(error, sqlite3.Error):
            return storage_error(error, self._path)
        return error


def _run_group(driver: sqlite3.Connection, conn: Connection, group: Sequence[Job]) -> None:
    """One transaction for all. Who is refused before writing anything has nothing to undo."""
    driver.execute("BEGIN IMMEDIATE")
    version = driver.execute("PRAGMA data_version").fetchone()[0]
    if version != conn.version:  # another connection wrote: what was seen may be old
        conn.seen, conn.version = {}, version
    for job in group:
        written = driver.total_changes
        try:
            job.result = job.fn(conn)
        except Exception as error:
            _in_trouble(error)
            if driver.total_changes != written:
                driver.execute("ROLLBACK")
                _run_apart(driver, conn, group)
                return
            job.error = _refusal(error)
    driver.execute("COMMIT")


def _run_apart(driver: sqlite3.Connection, conn: Connection, group: Sequence[Job]) -> None:
    """The same again, each in a savepoint of its own: one that fails half-way undoes itself."""
    conn.seen = None
    driver.execute("BEGIN IMMEDIATE")
    for job in group:
        job.error = None
        driver.execute("SAVEPOINT job")
        try:
            job.result = job.fn(conn)
        except Exception as error:
            _in_trouble(error)
            job.error = _refusal(error)
            driver.execute("ROLLBACK TO job")
        driver.execute("RELEASE job")
    driver.execute("COMMIT")
    conn.seen = {}


def _in_trouble(error: Exception) -> None:
    """Raise what is the database's own trouble, and with it everyone's."""
    if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
        raise error


def _refusal(error: Exception) -> Exception:
    return DuplicateError(str(error)) if isinstance(error, sqlite3.IntegrityError) else error


def deliver(group: Sequence[Job]) -> None:
    """Wake each event loop once for all of its jobs."""
    loops = {job.loop for job in group}
    for loop in loops:
        mine = [job for job in group if job.loop is loop]
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, mine)


def _resolve(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # nobody waits any more
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)


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


def storage_error(error: Exception, path: Path) -> StorageError:
    """One clear sentence for what a person can mend."""
    words = str(getattr(error, "orig", error)).lower()
    if "full" in words or "disk i/o" in words:
        return StorageError(
            f"The disk that holds {path.parent.parent} is full or failing. Make room, then go on."
        )
    if "readonly" in words or "read-only" in words:
        return StorageError(f"{path} cannot be written. Check its permissions, or set MOOT_HOME.")
    if "unable to open" in words:
        return StorageError(f"{path} cannot be opened. Check its permissions, or set MOOT_HOME.")
    if "locked" in words:
        return StorageError(f"{path} is locked by another program. Try again when it is done.")
    if "not a database" in words or "malformed" in words:
        return StorageError(
            f"{path} is damaged or not a database. Restore a copy, or move it away."
        )
    return StorageError(f"The database {path} gave an error: {words}.")
