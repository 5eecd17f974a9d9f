"""The embedded database without its threads: each write is done on the event loop itself."""

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

from moot.store import schema
from moot.store.database import Writer, connect, storage_error
from moot.store.jobs import Job, deliver
from moot.store.query import Connection
from moot.testing.virtual import EPOCH

T = TypeVar("T")


@cache
def empty_database() -> bytes:
    """An empty database of this version; bringing each up from nothing would take longest."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.sqlite"
        schema.prepare(path)
        copy = path.with_name("copy.sqlite")
        driver = connect(path)
        driver.execute("PRAGMA journal_mode=DELETE")
        driver.close()
        shutil.copyfile(path, copy)
        return copy.read_bytes()


def make_database(path: Path) -> None:
    """An empty one, unless there is one already."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(empty_database())


class InlineDatabase:
    """SQLite with the group commit of the real one. Nothing is synced: no power can fail here."""

    def __init__(self, path: Path) -> None:
        make_database(path)
        self.path = path
        self._writer = Writer(path, durable=False)
        self._driver = connect(path, durable=False)
        self._reader = Connection("sqlite", self._driver)
        self._waiting: list[Job] = []

    async def write(self, fn: Callable[[Connection], T], row: str | None = None) -> T:
        loop = asyncio.get_running_loop()
        job = Job(fn, loop, loop.create_future())
        if not self._waiting:
            loop.call_soon(self._hand_over)
        self._waiting.append(job)
        return await job.future

    async def read(self, fn: Callable[[Connection], T]) -> T:
        await asyncio.sleep(0)
        try:
            return fn(self._reader)
        except sqlite3.Error as error:
            raise storage_error(error, self.path) from error

    async def ping(self) -> None:
        await self.write(lambda _: None)

    def now(self) -> float:
        return EPOCH + asyncio.get_running_loop().time()

    def close(self) -> None:
        self._hand_over()
        self._writer.close()
        self._driver.close()

    def _hand_over(self) -> None:
        jobs, self._waiting = self._waiting, []
        if jobs:
            self._writer.run(jobs)
            deliver(jobs)
