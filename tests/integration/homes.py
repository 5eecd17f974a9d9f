"""A home from outside the engine: its files, its database, and what can happen to them."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from moot.engine.lease import owner_name
from moot.settings import Settings
from moot.store.reindex import Reindexed, reindex
from tests.virtual import opened


def contents(home: Path) -> dict[str, bytes]:
    """Every file of every debate, and every record."""
    found = (path for path in (home / "records").rglob("*.*") if path.is_file())
    return {str(path.relative_to(home)): path.read_bytes() for path in found}


def damage(settings: Settings, sql: str, *values: Any) -> None:
    """Change the embedded database behind the engine's back."""
    with closing(sqlite3.connect(settings.file)) as conn, conn:
        conn.execute(sql, values)


def add_foreign_turn(settings: Settings, round_: int, actor: str) -> None:
    """A turn that nothing else in the database knows of."""
    damage(
        settings,
        "INSERT INTO debate_turns (debate_id, seq, round, stage, actor, name, kind, text, status,"
        " model, input_tokens, output_tokens, cost_usd, calls, estimated, started_at, committed_at)"
        " SELECT debate_id, 90, ?, stage, ?, ?, kind, 'Foreign.', status, model, 0, 0, 0, 1, 0,"
        " started_at, committed_at FROM debate_turns WHERE actor = 'ada' AND round = 1",
        round_, actor, actor.title(),
    )  # fmt: skip


def copied(settings: Settings, to: Path) -> Path:
    """The database as it is now."""
    with (
        closing(sqlite3.connect(settings.file)) as source,
        closing(sqlite3.connect(to)) as target,
    ):
        source.backup(target)
    return to


def restore(settings: Settings, copy: Path) -> None:
    """Put an older copy in the database's place."""
    for leftover in settings.file.parent.glob(f"{settings.file.name}-*"):
        leftover.unlink()
    shutil.copy(copy, settings.file)
    damage(settings, "UPDATE debate_runs SET lease_until = 0")  # it is older than any lease


async def reindexed(settings: Settings, *, from_files: bool) -> Reindexed:
    async with opened(settings) as database:
        return await reindex(database, settings.home, from_files=from_files)


def dead_owner() -> str:
    """Whom a process of this machine that has ended wrote into its leases."""
    host, boot, space, pid, began, token = owner_name().split("/")
    return "/".join((host, boot, space, pid, str(int(began) - 1), token))
