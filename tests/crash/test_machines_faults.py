"""What workers stand on breaks: Redis forgets, resets, stops; Postgres restarts, loses a reply."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from moot.bootstrap import open_service
from moot.settings import Settings
from moot.store import postgres
from tests.crash.harness import Bill, Noted
from tests.crash.machines import Cluster, Servers
from tests.patience import Patience
from tests.services import Proxy
from tests.stress import STRESS

FLUSHES = 50 if STRESS else 3
RESETS = 100 if STRESS else 6
LOST = 200 if STRESS else 10
RESTARTS, BETWEEN = (12, (5.0, 40.0)) if STRESS else (2, (0.2, 0.5))  # and seconds
TURNS = 6
LONG = 600.0  # a lease that no worker loses on a machine that has other things to do
FEW = {"concurrency": 2}  # waves of a worker at once: so others always wait in the queue


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with Servers() as servers:
        yield servers


def crew(cluster: Cluster, workers: int = 2, **told: Any) -> None:
    for _ in range(workers):
        cluster.worker(**told)
    cluster.supervisor(**told)


def under_load(cluster: Cluster, break_it: Callable[[], bool], breaks: int) -> None:
    """Break it again and again while debates are under way; add debates while it is not enough."""
    patience = Patience(60 + 60 * breaks)
    enough = False
    while not enough:
        assert not patience.over, "it could not be broken often enough"
        if looked(cluster, cluster.unfinished) < 4:
            cluster.create(8, TURNS, copies=1)
        enough = break_it()
    assert looked(cluster, cluster.wait_done), "every debate ends"


def looked(cluster: Cluster, look: Callable[[], Any]) -> Any:
    """Whoever looks is thrown out with the others when Postgres goes."""
    patience = Patience()
    while not patience.over:
        try:
            return look()
        except psycopg.OperationalError:
            cluster._conn = None
            time.sleep(0.5)
    raise AssertionError("Postgres does not come back")


def unharmed(cluster: Cluster) -> Bill:
    """Nothing twice, nothing lost, all ended; and no worker died, so every call became a turn."""
    assert cluster.violations() == []
    paid = cluster.bill()
    assert paid.turns == TURNS * len(cluster.ids)
    assert paid.calls == paid.turns, paid
    assert paid.attempts == {"ok": paid.turns}
    return paid


# --- Redis ---


def test_redis_forgets_everything(servers: Servers, tmp_path: Path) -> None:
    with Cluster(tmp_path, servers, speak_seconds=0.1, lease_seconds=LONG, **FEW) as cluster:
        crew(cluster)
        chance, flushed, waiting = random.Random(5), 0, 0

        def flush() -> bool:
            nonlocal flushed, waiting
            time.sleep(chance.uniform(0.2, 0.6))
            waiting += cluster.unfinished()
            servers.valkey.flush()
            flushed += 1
            return flushed >= FLUSHES

        under_load(cluster, flush, FLUSHES)
        print(f"{flushed} times, {waiting} debates were under way then: {unharmed(cluster)}")
        assert waiting > flushed, "it must hit messages that wait"


@pytest.mark.stress("test_redis_forgets_everything")
def test_without_a_supervisor_what_redis_forgot_stands_still(
    servers: Servers, tmp_path: Path
) -> None:
    with Cluster(tmp_path, servers, lease_seconds=LONG) as cluster:
        cluster.create(6, TURNS)
        servers.valkey.flush()
        cluster.worker()
        assert not cluster.wait_done(3)
        assert cluster.book("calls") == []
        cluster.supervisor()
        assert cluster.wait_done()
        unharmed(cluster)


@pytest.mark.stress("test_redis_forgets_everything")
def test_connections_to_redis_are_reset(servers: Servers, tmp_path: Path) -> None:
    with (
        Proxy(servers.valkey.url) as proxy,
        Cluster(tmp_path, servers, speak_seconds=0.1, lease_seconds=LONG, **FEW) as cluster,
    ):
        crew(cluster, settings={"broker_url": proxy.at()})
        chance, times = random.Random(6), 0

        def reset() -> bool:
            nonlocal times
            time.sleep(chance.uniform(0.3, 0.8))
            proxy.reset()
            times += 1
            return proxy.resets >= RESETS and times >= 3

        under_load(cluster, reset, RESETS)
        print(f"{proxy.resets} connections reset in {times} strokes: {unharmed(cluster)}")


@pytest.mark.stress("test_redis_forgets_everything")
def test_redis_is_stopped_for_a_while(servers: Servers, tmp_path: Path) -> None:
    with Cluster(tmp_path, servers, speak_seconds=0.3, lease_seconds=LONG) as cluster:
        crew(cluster)
        cluster.create(8, TURNS)
        assert cluster.wait_calls(10)
        servers.valkey.stop()
        try:
            time.sleep(2)
            calls = len(cluster.book("calls"))
        finally:
            servers.valkey.start()
        assert calls < TURNS * 8, "without messages it stands still"
        assert cluster.wait_done(), "and then goes on by itself"
        unharmed(cluster)


# --- Postgres ---


def test_postgres_is_restarted(servers: Servers, tmp_path: Path) -> None:
    """Every call is on record before it is made, and a turn settles its attempt in the commit that
    adds it. So what a restart costs are attempts that did not become a turn: those whose commit was
    lost by a crash are `unknown` when the debate is claimed anew, and a call whose lease could not
    be kept is `cancelled` or, if it ended before that was noticed, `ok` and refused by the fence.
    In a duel one call is in flight at a time."""
    with Cluster(tmp_path, servers, speak_seconds=0.6) as cluster:
        crew(cluster)
        chance, restarts, under_way = random.Random(8), 0, 0

        def restart() -> bool:
            nonlocal restarts, under_way
            time.sleep(chance.uniform(*BETWEEN))
            cluster.create(8, TURNS)  # what was made before may be through by now
            time.sleep(0.8)
            under_way += looked(cluster, cluster.unfinished)
            servers.postgres.restart("immediate" if restarts % 2 else "fast")
            restarts += 1
            return restarts >= RESTARTS

        under_load(cluster, restart, RESTARTS)
        assert cluster.violations() == []
        paid = cluster.bill()
        extra = paid.calls - paid.turns
        print(f"{restarts} restarts, {under_way} debates under way then, {extra} extra: {paid}")
        assert paid.turns == TURNS * len(cluster.ids) <= paid.attempts["ok"]
        assert paid.attempts["started"] == paid.attempts["failed"] == 0
        assert 0 <= extra <= paid.attempts.total() - paid.turns
        assert under_way >= restarts, "the restarts must hit debates under way"
        assert extra <= under_way


def test_the_reply_to_commit_is_lost(servers: Servers, tmp_path: Path) -> None:
    """Each is asked for, so none costs a call."""
    with (
        Cluster(tmp_path, servers, speak_seconds=0.05, lease_seconds=LONG) as cluster,
        Proxy(cluster.url) as proxy,
    ):
        crew(cluster, settings={"database_url": proxy.at()})
        proxy.lose_commits(0.2, LOST)

        def lose() -> bool:
            time.sleep(0.2)
            return proxy.lost >= LOST

        under_load(cluster, lose, LOST)
        print(f"{proxy.lost} replies lost: {unharmed(cluster)}")
        assert proxy.lost == LOST


def made_through(cluster: Cluster, proxy: Proxy, count: int, chance: float = 1.0) -> list[str]:
    """Debates, with that chance of any commit that it is not confirmed."""
    settings = Settings(
        home=cluster.root / "home", database_url=SecretStr(proxy.at()), broker_url=None
    )

    async def make() -> list[str]:
        async with open_service(settings, recover=False) as service:
            proxy.lose_commits(chance, count)
            return [(await service.create("Once?", start=False)).id for _ in range(count)]

    return asyncio.run(make())


def test_a_debate_is_made_once_when_the_reply_is_lost(servers: Servers, tmp_path: Path) -> None:
    with Cluster(tmp_path, servers) as cluster, Proxy(cluster.url) as proxy:
        made = made_through(cluster, proxy, LOST)
        assert proxy.lost == LOST
        there = [row[0] for row in cluster.rows("SELECT id FROM debate_runs")]
        assert sorted(there) == sorted(made)


STRANGER = "SELECT 'aborted' WHERE %s <> ''"


@pytest.mark.stress("test_the_reply_to_commit_is_lost")
def test_it_fails_when_nobody_asks_what_became_of_a_commit(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard taken out: every commit whose reply is lost counts as undone, and is made again."""
    monkeypatch.setattr(postgres, "STATUS", STRANGER)
    with Cluster(tmp_path, servers) as cluster, Proxy(cluster.url) as proxy:
        made = made_through(cluster, proxy, 20, 0.4)
        assert proxy.lost > 3
        assert cluster.count("debate_runs") > len(made), "some were made twice"
        cluster.rows("DELETE FROM debate_runs")
        cluster.create(8, TURNS, copies=0)
        settings = cluster.settings.model_copy(
            update={"database_url": SecretStr(proxy.at()), "sweep_seconds": 0.2}
        )

        async def carry() -> bool:
            async with open_service(settings, speaker=Noted(cluster, 0.02)):
                proxy.lose_commits(0.3, 40)
                return await asyncio.to_thread(cluster.wait_done, 6)

        done, paid = asyncio.run(carry()), cluster.bill()
        print(f"{proxy.lost} lost, all done: {done}; {paid}")
        assert not done, "whoever claimed finds the debate held, by itself, until the lease is over"
        assert paid.attempts.keys() > {"ok"}, "and calls are on record that were never made"
