"""Writes to several debates in one transaction: none waits for, or suffers from, another's.

They need the threads and the locks of a real Postgres, so they run in real time.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from moot.core.debate import Debate
from moot.errors import DuplicateError, NotFoundError, StateError
from moot.store import runs
from moot.store.postgres import PostgresDatabase
from moot.store.query import Connection
from moot.testing.store_contract import a_debate
from tests.services import Postgres, Proxy, ask

LONG = 60.0  # seconds, for what comes at once or never
DEBATES = [a_debate(number) for number in range(6)]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres(durable=False) as server:
        yield server


@pytest.fixture
def url(server: Postgres) -> Iterator[str]:
    url = server.fresh()
    with psycopg.connect(url) as driver:
        for debate in DEBATES:
            runs.create(Connection("postgresql", driver), debate)
    yield url
    server.drop(url)


class Held:
    """Keeps the thread of the group busy until all that is to go together waits."""

    def __init__(self, db: PostgresDatabase) -> None:
        self._db = db
        self._there = threading.Event()
        self._go = threading.Event()

    async def start(self) -> "asyncio.Task[Any]":
        """Returns when the thread is busy."""
        task = asyncio.create_task(self._db.write(self._wait, DEBATES[5].id))
        assert await asyncio.to_thread(self._there.wait, LONG)
        return task

    def _wait(self, _: Connection) -> None:
        self._there.set()
        self._go.wait(LONG)

    def let_go(self) -> None:
        self._go.set()


def renamed(debate: Debate, error: Exception | None = None) -> Callable[[Connection], str]:
    """Count a turn of a debate; says in which transaction."""

    def work(conn: Connection) -> str:
        before = runs.load(conn, debate.id, lock=True)
        runs.change(conn, before, before.but(turn_count=before.turn_count + 1))
        if error:
            raise error
        return conn.driver.execute("SELECT pg_current_xact_id()::text").fetchall()[0][0]

    return work


def counts(url: str) -> list[int]:
    return [row[0] for row in ask(url, "SELECT turns FROM debate_runs ORDER BY id")]


def run(
    url: str, work: Callable[[PostgresDatabase], Any], connections: int = 4
) -> PostgresDatabase:
    db = PostgresDatabase(url, connections)
    try:
        asyncio.run(work(db))
    finally:
        db.close()
    return db


async def at_once(db: PostgresDatabase, *writes: tuple[Callable[[Connection], Any], str]) -> Any:
    """All of them in one group."""
    held = Held(db)
    first = await held.start()
    rest = [asyncio.create_task(db.write(fn, row)) for fn, row in writes]
    await asyncio.sleep(0)  # each has begun, and waits in the queue
    held.let_go()
    await first
    return await asyncio.gather(*rest, return_exceptions=True)


def test_what_waits_goes_into_one_transaction(url: str) -> None:
    async def work(db: PostgresDatabase) -> None:
        found = await at_once(db, *((renamed(one), one.id) for one in DEBATES[:4]))
        assert len(set(found)) == 1

    run(url, work)
    assert counts(url) == [1, 1, 1, 1, 0, 0]


def test_one_debate_twice_in_a_group_is_counted_twice(url: str) -> None:
    async def work(db: PostgresDatabase) -> None:
        await at_once(db, *((renamed(DEBATES[0]), DEBATES[0].id) for _ in range(3)))

    run(url, work)
    assert counts(url)[0] == 3


def test_one_that_is_refused_takes_nobody_along(url: str) -> None:
    async def work(db: PostgresDatabase) -> None:
        def refuse(_: Connection) -> None:
            raise StateError("no")

        writes = [(renamed(one), one.id) for one in DEBATES[:3]]
        found = await at_once(db, *writes, (refuse, DEBATES[3].id))
        assert isinstance(found[3], StateError)
        assert len(set(found[:3])) == 1, "it had sent nothing, so nothing is done again"

    run(url, work)
    assert counts(url)[:4] == [1, 1, 1, 0]


def test_one_that_raises_half_way_is_undone_alone(url: str) -> None:
    """Its write was sent already, with the statement that asks for the number after it."""

    def torn(conn: Connection) -> None:
        renamed(DEBATES[3])(conn)
        raise StateError("too late")

    async def work(db: PostgresDatabase) -> None:
        found = await at_once(
            db, *((renamed(one), one.id) for one in DEBATES[:3]), (torn, DEBATES[3].id)
        )
        assert isinstance(found[3], StateError)

    run(url, work)
    assert counts(url)[:4] == [1, 1, 1, 0]


def test_one_that_the_database_refuses_is_refused_alone(url: str) -> None:
    def again(conn: Connection) -> None:
        runs.INSERT.run(conn, runs.encoded(DEBATES[3]))

    async def work(db: PostgresDatabase) -> None:
        found = await at_once(
            db, *((renamed(one), one.id) for one in DEBATES[:3]), (again, DEBATES[3].id)
        )
        assert isinstance(found[3], DuplicateError)
        assert len(set(found[:3])) == 3, "each in a transaction of its own"

    run(url, work)
    assert counts(url)[:4] == [1, 1, 1, 0]


def test_a_locked_row_holds_up_nobody_else(url: str) -> None:
    async def work(db: PostgresDatabase) -> None:
        with psycopg.connect(url) as other:
            other.execute("SELECT 1 FROM debate_runs WHERE id = %s FOR UPDATE", [DEBATES[1].id])
            waiting = asyncio.create_task(db.write(renamed(DEBATES[1]), DEBATES[1].id))
            async with asyncio.timeout(LONG):  # it would wait for ever: the lock is held
                await asyncio.gather(*(db.write(renamed(one), one.id) for one in DEBATES[2:5]))
            assert not waiting.done()
        await waiting

    run(url, work)
    assert counts(url) == [0, 1, 1, 1, 1, 0]


def test_it_would_hold_them_up_if_it_was_waited_for(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard taken out: the group waits for the lock."""

    def lock(conn: Connection, ids: list[str]) -> dict[str, Debate]:
        return {one: runs.load(conn, one, lock=True) for one in sorted(ids)}

    monkeypatch.setattr(runs, "lock", lock)

    async def work(db: PostgresDatabase) -> None:
        with psycopg.connect(url) as other:
            other.execute("SELECT 1 FROM debate_runs WHERE id = %s FOR UPDATE", [DEBATES[1].id])
            tasks = [asyncio.create_task(db.write(renamed(one), one.id)) for one in DEBATES[1:4]]
            waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            async with asyncio.timeout(LONG):
                while not ask(url, waits):
                    await asyncio.sleep(0.01)
            assert not any(task.done() for task in tasks)
        await asyncio.gather(*tasks)

    run(url, work)


def test_a_debate_that_is_not_there_is_said_so(url: str) -> None:
    async def work(db: PostgresDatabase) -> None:
        gone = a_debate(6)
        with pytest.raises(NotFoundError):
            await db.write(renamed(gone), gone.id)

    run(url, work)


def test_a_group_whose_commit_was_not_heard_of_is_done_once(url: str) -> None:
    with Proxy(url) as proxy:

        async def work(db: PostgresDatabase) -> None:
            proxy.lose_commits(chance=1.0, most=3)
            for _ in range(6):
                await asyncio.gather(*(db.write(renamed(one), one.id) for one in DEBATES[:5]))

        db = run(proxy.at(), work)
        assert proxy.lost == 3
        assert db.resolved == 3
    assert counts(url)[:5] == [6] * 5
