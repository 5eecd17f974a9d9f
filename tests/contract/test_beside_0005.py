"""A worker of schema 0005 on this one: it goes on beside the new ones, and harms none.

`old/0005.json` holds the very statements of that version; `old/make_statements.py` made it.
"""

import asyncio
import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from moot.bootstrap import open_service
from moot.core import moves
from moot.core.change import Ended, FencedError, NotClaimedError
from moot.core.debate import Debate, Tried
from moot.core.times import iso
from moot.settings import Settings
from moot.store import attempts, log, runs, schema, tables
from moot.store.query import Connection, Cursor
from moot.testing.speaker import ScriptedSpeaker
from tests.contract.test_upgrade import Hand, _state, a_duel
from tests.services import Postgres, ask

OLD: dict[str, Any] = json.loads((Path(__file__).parent / "old" / "0005.json").read_text())
SINCE: dict[str, Any] = {
    column.name: column.type.python_type(default.arg) if default else None  # type: ignore[union-attr]
    for column in tables.runs.c
    if column.name not in OLD["columns"]
    for default in [column.server_default]
}
"""What this version wants to read of a row, and that one never did: as it is in a new row."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres(durable=False) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def settings(dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    """Of a home with an empty database of this version."""
    url = request.getfixturevalue("server").fresh() if dialect == "postgresql" else None
    made = Settings(
        home=tmp_path / "home",
        database_url=SecretStr(url) if url else None,
        broker_url=None,
        bus_url=None,
        sweep_seconds=0.05,
        lease_seconds=5,
    )
    schema.prepare(made.database)
    return made


class Statement:
    """One of that version; takes the place of a Query."""

    def __init__(self, dialect: str, name: str) -> None:
        self._known = OLD["statements"][dialect][name]

    def run(self, conn: Connection, params: Mapping[str, Any] | None = None) -> Cursor:
        values = {**self._known["constants"], **(params or {})}
        order = self._known["order"]
        given = values if order is None else [values[name] for name in order]
        return conn.driver.execute(self._known["sql"], given)

    def rows(self, conn: Connection, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        found = self.run(conn, params).fetchall()
        return [{**SINCE, **dict(zip(OLD["columns"], row, strict=True))} for row in found]


@contextmanager
def as_before(dialect: str) -> Generator[None]:
    """While this lasts, the store is the one of that version."""
    advance, take, whole = (
        Statement(dialect, f"runs.{name}") for name in ("ADVANCE", "TAKE", "CHANGE")
    )
    progress, lease = set(OLD["progress"]), {*OLD["progress"], *OLD["lease"]}

    def change(conn: Connection, before: Debate, after: Debate) -> None:
        old, new = runs.encoded(before), runs.encoded(after)
        moved = {name for name in OLD["columns"] if old[name] != new[name]}
        query = advance if moved <= progress else take if moved <= lease else whole
        query.run(conn, {**new, "b_id": after.id})
        if conn.seen is not None:
            conn.seen.pop(after.id, None)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("INSERT", "LOCKED", "LOCK", "FILED"):
            patch.setattr(runs, name, Statement(dialect, f"runs.{name}"))
        patch.setattr(runs, "change", change)
        for name in ("START", "END", "END_OPEN"):
            patch.setattr(attempts, name, Statement(dialect, f"attempts.{name}"))
        for name in ("ADD_TURN", "ADD_EVENT"):
            patch.setattr(log, name, Statement(dialect, f"log.{name}"))
        yield


class OldHand(Hand):
    """Carries a debate by hand, on the store of that version."""

    def __init__(self, settings: Settings, dialect: str) -> None:
        super().__init__(settings, "old")
        self._dialect = dialect

    @contextmanager
    def _speaking(self) -> Generator[None]:
        with as_before(self._dialect):
            yield

    async def keep(self, until: float) -> None:
        """That version renews all that it has."""
        query, params = Statement(self._dialect, "runs.RENEW"), {"owner": self.name, "until": until}
        await self.db.write(lambda conn: query.run(conn, params) and None)

    async def found(self, name: str, **params: Any) -> list[str]:
        query = Statement(self._dialect, f"runs.{name}")
        rows = await self.db.read(lambda conn: query.run(conn, params).fetchall())
        return [row[0] for row in rows]


def test_a_worker_of_schema_0005_does_no_harm(settings: Settings, dialect: str) -> None:
    old, new = OldHand(settings, dialect), Hand(settings, "new")
    try:
        asyncio.run(_in_turns(settings, old, new))
    finally:
        old.db.close()
        new.db.close()


async def _in_turns(settings: Settings, old: OldHand, new: Hand) -> None:
    debate, now = a_duel(settings), time.time()
    id_ = debate.id

    def let_go(hand: Hand) -> Callable[[Debate], Any]:
        return lambda row: moves.release(row, hand.fence, iso(now))

    await old.create(debate)
    assert await old.found("UNFINISHED", now=now) == await new.unfinished() == [id_]

    row = await old.speak(await old.claim(id_, now), "begin")  # and has begun the next
    await old.keep(now + 60)
    assert (await new.store.load(id_)).lease_until == now + 60
    with pytest.raises(NotClaimedError, match="held by old"):
        await new.claim(id_, now + 30)
    row = await old.speak(row, "nothing")
    await old.change(id_, let_go(old))

    row = await new.speak(await new.claim(id_, now), "release")
    assert (row.turn_count, row.fence, row.lease_owner) == (3, 2, None)

    row = await old.claim(id_, now)  # and is then away for longer than its lease
    late = await new.claim(id_, now + 10)
    assert late.fence == 4
    before = await _state(new)
    with pytest.raises(FencedError):
        await old.speak(row, "begin")
    assert await _state(new) == before, "who is fenced writes nothing"
    await new.speak(late, "release")

    row = await new.claim(id_, now)  # its speaker fails, and is to be tried again in a while
    failed = Ended(new.begun[0].n, "failed", iso(now), error_code="DEBATE_ERR_PROVIDER_TIMEOUT")
    step = (3, "ada", None)
    await new.change(id_, lambda one: moves.fail_attempt(one, new.fence, failed, step, Tried(1)))
    await new.change(id_, lambda one: moves.wait(one, new.fence, now + 60, iso(now)))
    assert await old.found("UNFINISHED", now=now) == []
    with pytest.raises(NotClaimedError, match="waits to try again"):
        await old.claim(id_, now)
    row = await old.speak(await old.claim(id_, now + 61), "nothing")
    await old.change(id_, let_go(old))
    there = await new.store.load(id_)
    assert (there.turn_count, there.fence, there.open_calls) == (5, 6, 0)
    assert (there.last_seq, there.tries, there.not_before) == (row.last_seq, (), 0.0)

    async with open_service(settings, speaker=ScriptedSpeaker()) as service:
        ended = await service.wait(id_)
        assert (ended.status, ended.turn_count) == ("completed", 8)
        turns = await service.turns(id_)
        logged = await service.log(id_, 0, 1000)
        record = await service.attempts(id_)
    assert [turn.text for turn in turns[:5]] == [
        "ada, old.", "ben, old.", "ada, new.", "ben, new.", "ada, old.",
    ]  # fmt: skip
    assert [(turn.round, turn.actor) for turn in turns] == [
        (1 + n // 2, ("ada", "ben")[n % 2]) for n in range(8)
    ]
    assert [event.seq for event in logged] == list(range(1, ended.last_seq + 1))
    outcomes = [one["outcome"] for one in record]
    assert outcomes == ["ok"] * 3 + ["unknown", "ok", "failed"] + ["ok"] * 4
    ask(settings.database, "UPDATE debate_runs SET files_seq = 0")
    assert await old.found("UNFILED") == [id_]
    await old.filed(ended)
    assert await old.found("UNFILED") == await new.store.unfiled() == []
    assert await old.found("UNFINISHED", now=now + 100) == []
