"""Brings debates that were exported elsewhere into this home: their files and rows, or neither."""

import asyncio
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from sqlalchemy import bindparam, delete

from moot.core.debate import Debate
from moot.core.times import seconds
from moot.errors import StateError
from moot.ports.debate_files import GONE_SECONDS
from moot.store import bundle, deletion, label_rows, reindex, runs
from moot.store.bundle import Bundle
from moot.store.query import Connection, Query, SqlDatabase
from moot.store.tables import deleted

FORGET_NOTE = Query(delete(deleted).where(deleted.c.debate_id == bindparam("debate_id")))


class Bundles:
    """The zips of one home."""

    def __init__(self, database: SqlDatabase, home: Path) -> None:
        self._database = database
        self._home = home

    async def pack(self, debate: Debate) -> bytes:
        return await asyncio.to_thread(bundle.packed, self._home, debate)

    async def bring(self, data: bytes, at: str) -> Debate:
        """The debate of a zip, once it is here as a whole. Raises InputError if it is not one, and
        StateError if its id is taken."""
        stack = ExitStack()
        try:
            opened = bundle.unpacked(self._home, data)
            brought = await asyncio.to_thread(stack.enter_context, opened)
            await self._database.read(lambda conn: _check(conn, brought.debate_id, at))
            await self._install(brought, at)
            return brought.debate
        finally:
            await asyncio.to_thread(stack.close)

    async def _install(self, brought: Bundle, at: str) -> None:
        moved = await asyncio.to_thread(brought.install)
        try:
            await self._database.write(lambda conn: _add(conn, brought, at))
        except BaseException:
            known = partial(runs.BY_ID.rows, params={"id": brought.debate_id})
            if moved and not await self._database.read(known):
                await asyncio.to_thread(brought.withdraw)
            raise


def _add(conn: Connection, brought: Bundle, at: str) -> None:
    _check(conn, brought.debate_id, at)
    FORGET_NOTE.run(conn, {"debate_id": brought.debate_id})
    reindex.index(conn, brought.replay)
    called = brought.debate
    label_rows.change(conn, called.id, lambda row: row.but(title=called.title, tags=called.tags))


def _check(conn: Connection, debate_id: str, at: str) -> None:
    """Whether the id is free, and nobody is still removing files of it."""
    if runs.BY_ID.rows(conn, {"id": debate_id}):
        raise StateError(
            f"{debate_id} is here already. Delete it first if the one in the zip is to take its "
            "place."
        )
    for note in deletion.NOTED.rows(conn, {"debate_id": debate_id}):
        if note["files"] and seconds(at) - seconds(note["at"]) <= GONE_SECONDS:
            raise StateError(
                f"{debate_id} was deleted a moment ago, and its files are still being removed. "
                f"Import it in {GONE_SECONDS / 60:.0f} minutes."
            )
