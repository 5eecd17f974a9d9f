"""The view `debate_role_turns`: what each role of a council said, for whoever queries by hand."""

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from moot.bootstrap import open_service
from moot.core.debate import Turn
from moot.settings import Settings
from tests.conftest import on_a_fresh_one

ROLES = ("Proponent", "Critic", "Analyst", "Synthesizer", "Judge")

COLUMNS = "seq, number, round, role, target_role, position, confidence, challenges, revisions"
QUERY = f"SELECT {COLUMNS} FROM debate_role_turns WHERE debate_id = '%s' ORDER BY seq"


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "sqlite":
        monkeypatch.delenv("MOOT_DATABASE_URL", raising=False)
        yield request.param
        return
    with on_a_fresh_one(request.getfixturevalue("postgres_server")):
        yield request.param


def rows(settings: Settings, debate_id: str) -> list[tuple[Any, ...]]:
    if isinstance(settings.database, Path):
        with closing(sqlite3.connect(settings.database)) as conn:
            return conn.execute(QUERY % debate_id).fetchall()
    with psycopg.connect(os.environ["MOOT_DATABASE_URL"]) as conn:
        return conn.execute((QUERY % debate_id).encode()).fetchall()


def test_it_shows_what_each_role_of_a_council_said(dialect: str, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, pace=0.0)
    assert isinstance(settings.database, Path) == (dialect == "sqlite")

    async def hold() -> list[Turn]:
        async with open_service(settings) as service:
            asked = {"problem": "Should we move to Postgres?", "output_type": "decision"}
            debate = await service.wait((await service.council(asked)).id)
            return await service.turns(debate.id)

    turns = asyncio.run(hold())
    with_id = [path.name for path in (tmp_path / "records" / "debates").iterdir()]
    found = rows(settings, with_id[0])
    assert [row[0] for row in found] == [turn.seq for turn in turns]
    for row, turn in zip(found, turns, strict=True):
        seq, *place, role, target, position, confidence, challenges, revisions = row
        data = turn.data or {}
        assert (seq, role, target) == (turn.seq, turn.name, turn.target)
        assert place == [turn.number, turn.round]
        assert role in ROLES
        assert (position, confidence) == (data.get("position"), data.get("confidence"))
        assert _read(challenges) == data.get("challenges")
        assert _read(revisions) == data.get("revisions")
    assert sum(bool(_read(row[7])) for row in found) == 5  # round 2
    assert sum(bool(_read(row[8])) for row in found) == 5  # round 3


def _read(value: Any) -> Any:
    """A list is JSON on SQLite; psycopg has read it."""
    return json.loads(value) if isinstance(value, str) else value
