"""Whether a database that cannot be written says so before somebody relies on it."""

import asyncio
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from moot.errors import StorageError
from moot.store import schema
from moot.store.database import Database


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def ping(path: Path) -> None:
    database = Database(path)
    try:
        asyncio.run(database.ping())
    finally:
        database.close()


def test_it_answers(tmp_path: Path) -> None:
    path = tmp_path / ".agentic" / "x.sqlite"
    schema.prepare(path)
    ping(path)


def test_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".agentic" / "x.sqlite"
    schema.prepare(path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 30, 1 << 30, 4096))
    with pytest.raises(StorageError, match="full"):
        ping(path)


def test_no_database(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be opened"):
        ping(tmp_path / "nowhere" / "x.sqlite")
