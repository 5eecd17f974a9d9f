"""People and many machines: a seat waits while all of them come and go, and no note is lost."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from pydantic import SecretStr

from moot.bootstrap import open_service
from moot.core.debate import Debate
from moot.core.events import Delta
from moot.engine.service import Service
from moot.ports.debate_store import Once
from tests.crash.machines import Cluster, Servers

pytestmark = pytest.mark.stress("tests/integration/test_people.py, on one machine")
T = TypeVar("T")
RESTARTS, CLOCKS = 100, ("+10d", "+20d", "+30d")
CLIENTS, NOTES, KILLS = 10, 20, 20
SEATS = [{"name": "Ben"}, {"name": "Me", "model": "human"}]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with Servers() as servers:
        yield servers


def test_a_seat_waits_thirty_days_over_a_hundred_restarts(servers: Servers, tmp_path: Path) -> None:
    """No call, no attempt, no lease, no entry of the log; then it goes on with the first word."""
    with Cluster(tmp_path, servers) as cluster:
        first = cluster.worker()
        (debate,) = cluster.create(
            1, format="duel", participants=SEATS, limits={"max_turns": 4}
        )  # fmt: skip
        waits = f"debate_runs WHERE id = '{debate}' AND waiting_for = 'me'"
        assert cluster.wait_until(lambda: cluster.count(waits) == 1)
        row = f"SELECT * FROM debate_runs WHERE id = '{debate}'"
        before, calls = cluster.rows(row), len(cluster.book("calls"))
        assert calls == cluster.count("debate_attempts") == 1
        cluster.kill(first)
        for n in range(RESTARTS):
            clock = CLOCKS[n * len(CLOCKS) // RESTARTS]
            one = cluster.start("supervisor" if n % 4 == 3 else "worker", clock=clock)
            assert cluster.rows(row) == before
            cluster.kill(one)
        assert len(cluster.book("calls")) == cluster.count("debate_attempts") == calls
        assert cluster.count(f"{waits} AND lease_owner IS NULL") == 1
        assert cluster.rows(row) == before
        cluster.worker()
        cluster.supervisor()

        async def say(service: Service) -> None:
            await service.say(debate, "At last.", seat="me")

        asyncio.run(in_service(cluster, say))
        again = f"debate_turns WHERE debate_id = '{debate}'"
        assert cluster.wait_until(lambda: cluster.count(again) == 3 and cluster.count(waits) == 1)
        assert len(cluster.book("calls")) == 2
        assert not cluster.book("errors")


def test_two_hundred_notes_while_workers_are_killed(servers: Servers, tmp_path: Path) -> None:
    """Each once, in one order for all readers; the turns that the format asks for stay the same."""
    turns = 40
    with Cluster(tmp_path, servers, speak_seconds=0.2, lease_seconds=1.0) as cluster:
        cluster.supervisor()
        workers = [cluster.worker() for _ in range(2)]
        (debate,) = cluster.create(1, turns)
        cluster.wait_calls(1)
        killed = 0

        async def client(service: Service, who: int) -> None:
            for n in range(NOTES):
                once = Once(f"{who}-{n}", "d")
                for _ in range(2):  # as if the answer had been lost
                    await service.say(debate, f"Note {who}-{n}.", note=True, once=once)
                await asyncio.sleep(0.05)

        async def kill() -> None:
            nonlocal killed
            while killed < KILLS:
                await asyncio.to_thread(cluster.kill, workers.pop(0))
                workers.append(await asyncio.to_thread(cluster.worker))
                killed += 1

        async def work(service: Service) -> None:
            await asyncio.gather(*(client(service, who) for who in range(CLIENTS)), kill())

        async def read(service: Service) -> tuple[Debate, list[int], list[int]]:
            ended = await service.get(debate)
            seqs = [one.seq async for one in service.follow(debate) if not isinstance(one, Delta)]
            return ended, seqs, [turn.seq for turn in await service.turns(debate)]

        asyncio.run(in_service(cluster, work))
        assert killed == KILLS
        assert cluster.wait_done(filed=True)
        (ended, seqs, said), other = (asyncio.run(in_service(cluster, read)) for _ in range(2))
        assert other == (ended, seqs, said)
        assert seqs == list(range(1, ended.last_seq + 1))
        rows = cluster.rows(
            f"SELECT kind, actor, round, text FROM debate_turns WHERE debate_id = '{debate}' "
            "ORDER BY seq"
        )
        notes = [row[3] for row in rows if row[0] == "note"]
        assert sorted(notes) == sorted(
            f"Note {w}-{n}." for w in range(CLIENTS) for n in range(NOTES)
        )
        asked = [row[1:3] for row in rows if row[0] != "note"]
        assert asked == [(asked[n % 2][0], n // 2 + 1) for n in range(turns)]
        assert ended.turn_count == turns + CLIENTS * NOTES


async def in_service(cluster: Cluster, work: Callable[[Service], Awaitable[T]]) -> T:
    """In this process, which has the workers speak."""
    broker = SecretStr(cluster.servers.valkey.url)
    settings = cluster.settings.model_copy(update={"broker_url": broker})
    async with open_service(settings, recover=False) as service:
        return await work(service)
