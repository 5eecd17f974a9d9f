"""From one version to the next: old data goes on, and an old worker beside the new ones harms none.

`old/0003.json` holds the very statements of the version before, as it compiled them.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from pydantic import SecretStr
from sqlalchemy import create_engine

from moot.bootstrap import open_service
from moot.core import moves, request, verbs
from moot.core.change import Attempt, Change, Ended, FencedError, NotClaimedError, Spoken
from moot.core.debate import Debate, Tried, Turn, Usage
from moot.core.events import Event
from moot.core.schedule import Wave, plan
from moot.core.times import iso
from moot.engine.service import Service
from moot.errors import StorageError
from moot.models.providers import VENDORS
from moot.ports.finding import Search
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.store import attempts, log, runs, schema
from moot.store.formats import FormatFiles
from moot.store.query import Connection, Cursor
from moot.store.store import SqlStore, open_database
from moot.testing.speaker import ScriptedSpeaker
from tests.contract.test_store import migrate
from tests.patience import seconds
from tests.services import Postgres, ask

OLD = json.loads((Path(__file__).parent / "old" / "0003.json").read_text())["statements"]
TABLES = ("debate_formats", "debate_runs", "debate_turns", "debate_events", "debate_attempts")
TURNS = 6


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres(durable=False) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def at_head(dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[], Settings]:
    """Settings of a home with an empty database of this version."""

    def make() -> Settings:
        url = request.getfixturevalue("server").fresh() if dialect == "postgresql" else None
        settings = _settings(tmp_path / "home", url)
        schema.prepare(settings.database)
        return settings

    return make


def _settings(home: Path, url: str | None) -> Settings:
    return Settings(
        home=home,
        database_url=SecretStr(url) if url else None,
        broker_url=None,
        sweep_seconds=0.05,
        lease_seconds=5,
    )


# --- from the first schema ---


class Halting(ScriptedSpeaker):
    """Says what it is told, and in one debate nothing more after two turns."""

    halts = "An unfinished one"
    halted = False

    async def speak(self, call: Call, say: Say) -> Reply:
        if call.debate.motion == self.halts and call.debate.turn_count >= 2:
            self.halted = True
            await asyncio.sleep(3600)
        return await super().speak(call, say)


Kept = dict[str, tuple[Debate, list[Turn], list[Event]]]


async def read_all(service: Service) -> Kept:
    found = (await service.find(Search(limit=100))).debates
    return {
        debate.id: (
            debate,
            await service.turns(debate.id),
            await service._store.events(debate.id),
        )
        for debate in found
    }


def some_debates(home: Path) -> tuple[Kept, dict[str, list[dict[str, Any]]]]:
    """Two that have ended, one that waits, and one in the middle of a call; as read, and as rows.
    Whoever made the call is gone. They began before turns had numbers of their own."""

    async def make() -> tuple[Kept, dict[str, list[dict[str, Any]]]]:
        speaker = Halting()
        settings = _settings(home, None)
        async with open_service(settings, speaker=speaker, recover=False) as service:
            for format_ in ("duel", "standard"):
                made = await service.create(f"An old {format_}", format=format_)
                await service.wait(made.id)
            await service.create("One that waits", format="duel", start=False)
            await service.create(speaker.halts, format="duel")
            while not speaker.halted:
                await asyncio.sleep(0.01)
            kept = await read_all(service)  # before its worker sees that the debate is gone
            gone = "lease_owner = 'elsewhere/-/1/-/x', lease_until = 1"
            ask(settings.database, f"UPDATE debate_runs SET {gone} WHERE lease_owner IS NOT NULL")
            engine = create_engine(f"sqlite:///{settings.database}")
            with engine.connect() as conn:
                rows = {name: _rows(conn, name) for name in TABLES}
            engine.dispose()
            return kept, rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request, "EDITION", 2)
        return asyncio.run(make())


def _table(conn: sqlalchemy.Connection, name: str) -> sqlalchemy.Table:
    return sqlalchemy.Table(name, sqlalchemy.MetaData(), autoload_with=conn)


def _rows(conn: sqlalchemy.Connection, name: str) -> list[dict[str, Any]]:
    return [dict(row) for row in conn.execute(_table(conn, name).select()).mappings()]


def fill(conn: sqlalchemy.Connection, rows: dict[str, list[dict[str, Any]]]) -> None:
    """A database of the first schema, with what of the rows it can hold."""
    migrate(conn, "0001")
    for name in TABLES:
        table = _table(conn, name)
        kept = {column.name for column in table.c} - {"id" if name != "debate_runs" else ""}
        conn.execute(
            table.insert(), [{k: v for k, v in row.items() if k in kept} for row in rows[name]]
        )


async def goes_on(settings: Settings, before: Kept) -> None:
    """Everything is still there, and the unfinished one comes to its end."""
    async with open_service(settings, speaker=ScriptedSpeaker(), recover=False) as service:
        after = await read_all(service)
        assert after.keys() == before.keys()
        for debate_id, (debate, turns, events) in before.items():
            there, said, logged = after[debate_id]
            assert (said, logged) == (turns, events)
            loose = {"updated_at": "", "lease_owner": None, "lease_until": 0.0, "files_seq": 0}
            loose["received"] = None  # it had no column then
            assert there.but(**loose) == debate.but(**loose)
    unfinished = next(d for d, _, _ in before.values() if d.status == "running")
    async with open_service(settings, speaker=ScriptedSpeaker()) as service:
        ended = await service.wait(unfinished.id)
        assert ended.status == "completed"
        said = await service.turns(ended.id)
        assert said[:2] == before[ended.id][1]
        assert len(said) == ended.turn_count == ended.total == TURNS
        outcomes = [one["outcome"] for one in await service.attempts(ended.id)]
        assert outcomes == ["ok", "ok", "unknown", *["ok"] * (TURNS - 2)]
        waits = next(d for d, _, _ in before.values() if d.status == "scheduled")
        await service.start(waits.id)
        assert (await service.wait(waits.id)).status == "completed"
        found = await service.find(Search(words="unfinished"))
        assert [debate.id for debate in found.debates] == [ended.id]


def test_a_file_of_the_first_schema_is_upgraded_at_the_start(tmp_path: Path) -> None:
    before, rows = some_debates(tmp_path / "source")
    settings = _settings(tmp_path / "home", None)
    assert isinstance(settings.database, Path)
    settings.database.parent.mkdir(parents=True)
    engine = create_engine(f"sqlite:///{settings.database}")
    with engine.begin() as conn:
        fill(conn, rows)
    engine.dispose()
    asyncio.run(goes_on(settings, before))


def test_a_postgres_of_the_first_schema_is_upgraded_when_it_is_said(
    server: Postgres, tmp_path: Path
) -> None:
    before, rows = some_debates(tmp_path / "source")
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE of_the_first_schema")
    url = server.url("of_the_first_schema")
    settings = _settings(tmp_path / "home", url)
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url))
    with engine.begin() as conn:
        fill(conn, rows)
    engine.dispose()
    with pytest.raises(StorageError, match="Run `moot db upgrade`"):
        asyncio.run(goes_on(settings, before))
    done = subprocess.run(
        [sys.executable, "-m", "moot", "db", "upgrade"],
        env={**os.environ, "MOOT_HOME": str(settings.home), "MOOT_DATABASE_URL": url},
        capture_output=True, text=True, timeout=seconds(), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"The database was at schema 0001, and is at schema {schema.HEAD}.\n"
    asyncio.run(goes_on(settings, before))


# --- an old worker on the new schema ---


class Statement:
    """One of the version before; takes the place of a Query."""

    def __init__(self, dialect: str, name: str, names: list[str] | None = None) -> None:
        self._known = OLD[dialect][name]
        self._names = names or []

    def run(self, conn: Connection, params: Mapping[str, Any] | None = None) -> Cursor:
        values = {**self._known["constants"], **(params or {})}
        order = self._known.get("order")
        given = values if order is None else [values[name] for name in order]
        return conn.driver.execute(self._known["sql"], given)

    def rows(self, conn: Connection, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """With what this version wants to read, and that one never did."""
        since: dict[str, Any] = {
            "deaths": 0,
            "tries": "[]",
            "not_before": 0.0,
            "losses": 0,
            "stalls": 0,
            "thinking_tokens": 0,
        }
        since |= dict.fromkeys(("received", "outcome", "jury", "forked_from", "waiting_for"))
        since |= dict.fromkeys(("sources", "hide_sources_from"))
        since |= {"title": "", "tags": "[]", "archived": 0}
        rows = self.run(conn, params).fetchall()
        return [{**since, **dict(zip(self._names, row, strict=True))} for row in rows]


@contextmanager
def as_before(dialect: str) -> Generator[None]:
    """While this lasts, the store is the one of the version before."""
    columns = OLD["sqlite"]["runs.INSERT"]["order"]
    advance, whole = Statement(dialect, "runs.ADVANCE"), Statement(dialect, "runs.CHANGE")

    def change(conn: Connection, before: Debate, after: Debate) -> None:
        old, new = runs.encoded(before), runs.encoded(after)
        moved = {name for name in columns if old[name] != new[name]}
        (advance if moved <= {*runs.PROGRESS} else whole).run(conn, {**new, "b_id": after.id})
        if conn.seen is not None:
            conn.seen.pop(after.id, None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "INSERT", Statement(dialect, "runs.INSERT"))
        patch.setattr(runs, "LOCKED", Statement(dialect, "runs.LOCKED", columns))
        patch.setattr(runs, "lock", lambda _conn, _ids: {})  # it knew no writes that go together
        patch.setattr(runs, "RENEW", Statement(dialect, "runs.RENEW"))
        patch.setattr(runs, "FILED", Statement(dialect, "runs.FILED"))
        patch.setattr(runs, "change", change)
        for name in ("START", "END", "END_OPEN"):
            patch.setattr(attempts, name, Statement(dialect, f"attempts.{name}"))
        for name in ("ADD_TURN", "ADD_EVENT"):
            patch.setattr(log, name, Statement(dialect, f"log.{name}"))
        yield


class Hand:
    """Carries a debate by hand, on one of the two stores."""

    def __init__(self, settings: Settings, name: str, old: str | None = None) -> None:
        self.db = open_database(settings.database, 2)
        self.store = SqlStore(self.db)
        self.name = name
        self._old = old
        self.fence = 0
        self.begun: tuple[Attempt, ...] = ()

    @contextmanager
    def _speaking(self) -> Generator[None]:
        if self._old is None:
            yield
            return
        with as_before(self._old):
            yield

    async def create(self, debate: Debate) -> None:
        with self._speaking():
            await self.store.create(debate, lambda row: verbs.open_(row, True, debate.created_at))

    async def claim(self, debate_id: str, now: float) -> Debate:
        at = iso(now)

        def move(row: Debate, beside: int) -> Change:
            claimed = moves.claim(
                row, owner=self.name, now=now, lease=5.0, at=at, dead=lambda _: False, beside=beside
            )
            return moves.set_out(claimed, at)

        with self._speaking():
            change, _ = await self.store.claim(debate_id, move)
        self.fence, self.begun = change.debate.fence, change.started
        return change.debate

    async def change(self, debate_id: str, move: Callable[[Debate], Change]) -> Change:
        with self._speaking():
            return await self.store.change(debate_id, move)

    async def speak(self, debate: Debate, then: moves.Then) -> Debate:
        """Commit the turn whose call is on record."""
        (attempt,) = self.begun
        ahead = plan(debate)
        assert isinstance(ahead, Wave)
        at, step = iso(time.time()), ahead.steps[0]
        said = Spoken(step, f"{step.actor}, {self.name}.", "local", at, Usage(1, 1, 0.0, 1))
        ended = Ended(attempt.n, "ok", at, model="local")
        change = await self.change(
            debate.id, lambda row: moves.commit(row, self.fence, said, ended, at, then)
        )
        self.begun = change.started
        return change.debate

    async def unfinished(self) -> list[str]:
        if self._old is None:
            return [one.id for one in await self.store.unfinished(time.time())]
        query = Statement(self._old, "runs.UNFINISHED")
        return [row[0] for row in await self.db.read(lambda conn: query.run(conn).fetchall())]

    async def renew(self, debate_id: str, until: float) -> None:
        with self._speaking():
            await self.store.renew(self.name, [debate_id], until)

    async def unfiled(self) -> list[str]:
        query = Statement(self._old or "", "runs.UNFILED")
        return [row[0] for row in await self.db.read(lambda conn: query.run(conn).fetchall())]

    async def filed(self, debate: Debate) -> None:
        with self._speaking():
            await self.store.filed(debate)


def a_duel(settings: Settings) -> Debate:
    now = time.time()
    return request.build(
        debate_id="debate_20260101_000000_abcdef",
        at=iso(now),
        motion="Old or new?",
        rules=FormatFiles(settings.home).get("duel"),
        default_model="local",
        normalize=VENDORS.normalize,
        limits={"max_turns": 8},
    )


def test_an_old_worker_on_the_new_schema_does_no_harm(
    at_head: Callable[[], Settings], dialect: str
) -> None:
    settings = at_head()
    old, new = Hand(settings, "old", dialect), Hand(settings, "new")
    try:
        asyncio.run(_in_turns(settings, old, new))
    finally:
        old.db.close()
        new.db.close()


async def _in_turns(settings: Settings, old: Hand, new: Hand) -> None:
    debate, now = a_duel(settings), time.time()
    id_ = debate.id
    await old.create(debate)
    assert await old.unfinished() == await new.unfinished() == [id_]

    row = await old.speak(await old.claim(id_, now), "begin")  # and has begun the next
    await old.renew(id_, now + 60)
    assert (await new.store.load(id_)).lease_until == now + 60
    with pytest.raises(NotClaimedError, match="held by old"):
        await new.claim(id_, now + 30)
    row = await old.speak(row, "nothing")
    await old.change(id_, lambda one: moves.release(one, old.fence, iso(now)))

    row = await new.speak(await new.claim(id_, now), "release")
    assert (row.turn_count, row.fence, row.lease_owner, row.deaths) == (3, 2, None, 0)

    row = await old.claim(id_, now)  # and is then away for longer than its lease
    late = await new.claim(id_, now + 10)
    assert (late.fence, late.deaths) == (4, 1), "its call is lost, and counted"
    before = await _state(new)
    with pytest.raises(FencedError):
        await old.speak(row, "begin")
    assert await _state(new) == before, "who is fenced writes nothing"
    row = await new.speak(late, "release")
    assert row.deaths == 0

    row = await new.claim(id_, now)  # its speaker fails, and is to be tried again in a while
    failed = Ended(new.begun[0].n, "failed", iso(now), error_code="DEBATE_ERR_PROVIDER_TIMEOUT")
    step = (3, "ada", None)
    await new.change(id_, lambda one: moves.fail_attempt(one, new.fence, failed, step, Tried(1)))
    await new.change(id_, lambda one: moves.wait(one, new.fence, now + 0.5, iso(now)))
    assert await new.store.unfinished(now) == []
    row = await old.speak(await old.claim(id_, now), "nothing")  # the old one knows of no wait
    await old.change(id_, lambda one: moves.release(one, old.fence, iso(now)))
    there = await new.store.load(id_)
    assert (there.turn_count, there.fence, there.open_calls) == (5, 6, 0)
    assert there.last_seq == row.last_seq

    async with open_service(settings, speaker=ScriptedSpeaker()) as service:
        ended = await service.wait(id_)
        assert (ended.status, ended.turn_count) == ("completed", 8)
        turns = await service.turns(id_)
        logged = await service._store.events(id_)
        record = await service.attempts(id_)
    assert [turn.text for turn in turns[:5]] == [
        "ada, old.", "ben, old.", "ada, new.", "ben, new.", "ada, old.",
    ]  # fmt: skip
    assert [(turn.round, turn.actor) for turn in turns] == [
        (1 + n // 2, ("ada", "ben")[n % 2]) for n in range(8)
    ]
    assert [event.seq for event in logged] == list(range(1, ended.last_seq + 1))
    assert [one["n"] for one in record] == list(range(1, ended.usage.calls + 1))
    outcomes = [one["outcome"] for one in record]
    assert outcomes == ["ok"] * 3 + ["unknown", "ok", "failed"] + ["ok"] * 4
    ask(settings.database, "UPDATE debate_runs SET files_seq = 0")
    assert await old.unfiled() == [id_]
    await old.filed(ended)
    assert await old.unfiled() == await new.store.unfiled() == []
    assert await old.unfinished() == []


async def _state(hand: Hand) -> list[Any]:
    """All that a writer could have changed."""
    tables = ("debate_turns", "debate_events", "debate_attempts", "debate_runs")

    def look(conn: Connection) -> list[Any]:
        return [
            sorted(map(str, conn.driver.execute(f"SELECT * FROM {name}").fetchall()))
            for name in tables
        ]

    return await hand.db.read(look)
