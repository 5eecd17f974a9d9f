"""Workers that are killed again and again in the same steps: the speaker did nothing wrong, so no
turn fails for it. A debate may be paused for a person, and goes on from there."""

import asyncio
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from moot.bootstrap import open_service
from tests.crash.machines import Cluster, Servers
from tests.stress import STRESS

KILLS, DEBATES = (40, 30) if STRESS else (12, 10)
FORMATS: tuple[dict[str, Any], ...] = (  # in each of them, a speaker that fails pauses the debate
    {"format": "duel", "limits": {"max_turns": 8}},
    {"format": "standard", "options": {"rounds": 3}},
    {"format": "classic", "options": {"free_rounds": 1}},
    {"format": "custom", "options": {"rounds": 2}},
)
BUSY = "SELECT DISTINCT lease_owner FROM debate_runs WHERE lease_owner <> '' AND open_calls > 0"
STEPS = (
    "(SELECT 1 FROM debate_attempts WHERE outcome = 'unknown'"
    " GROUP BY debate_id, round, actor, target HAVING count(*) >= 3) AS steps"
)
"""Those that lost three workers or more."""


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with Servers() as servers:
        yield servers


class Onslaught:
    """Kills workers in the middle of their calls, and answers for what is paused."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._chance = random.Random(seed)
        self.paused = 0  # times that a debate waited for a person
        self.why: set[str] = set()

    def run(self, kills: int) -> None:
        cluster = self._cluster
        cluster.supervisor()
        workers = [cluster.worker() for _ in range(2)]
        for _ in range(kills):
            time.sleep(self._chance.uniform(0.05, 0.4))
            pid = self._one_of(workers)
            cluster.kill(pid)
            workers.remove(pid)
            workers.append(cluster.worker(wait=False))
        for pid in workers:  # others finish it, who speak faster
            cluster.worker(seconds=0.02)
            cluster.terminate(pid)
        assert cluster.wait_until(self._done)

    def _one_of(self, workers: list[int]) -> int:
        """One that makes a call right now."""
        busy: list[int] = []

        def found() -> bool:
            if self._cluster.unfinished() < len(FORMATS):  # or there was nothing left to hit
                for asked in FORMATS:
                    self._cluster.create(1, **asked)
            self.go_on()
            names = [owner.split("/") for (owner,) in self._cluster.rows(BUSY)]
            busy[:] = [pid for pid in workers if any(str(pid) in name for name in names)]
            return bool(busy)

        assert self._cluster.wait_until(found), "nobody speaks"
        return self._chance.choice(busy)

    def _done(self) -> bool:
        self.go_on()
        assert not self._cluster.book("errors"), "\n".join(self._cluster.book("errors"))
        return self._cluster.unfinished() == 0

    def go_on(self) -> None:
        """What a person does about debates that are paused: try again."""
        sql = "SELECT id, failure FROM debate_runs WHERE status = 'paused'"
        if paused := self._cluster.rows(sql):
            self.paused += len(paused)
            self.why |= {json.loads(failure)["message"] for _, failure in paused}
            asyncio.run(self._retry([one for one, _ in paused]))

    async def _retry(self, ids: list[str]) -> None:
        cluster = self._cluster
        broker = {"broker_url": SecretStr(cluster.servers.valkey.url)}
        settings = cluster.settings.model_copy(update=broker)
        async with open_service(settings, recover=False) as service:
            for one in ids:
                await service.retry(one)


@pytest.mark.stress("test_killed_workers, and the simulation")
def test_no_turn_fails_because_workers_are_killed(servers: Servers, tmp_path: Path) -> None:
    with Cluster(tmp_path, servers, speak_seconds=0.5, lease_seconds=5, deaths=3) as cluster:
        for place, asked in enumerate(FORMATS):
            share = len(range(place, DEBATES, len(FORMATS)))
            cluster.create(share, **asked)
        onslaught = Onslaught(cluster, seed=7)
        onslaught.run(KILLS)
        failed, steps, paid = (
            cluster.count("debate_turns WHERE status = 'failed'"),
            cluster.count(STEPS),
            cluster.bill(),
        )
        print(
            f"{KILLS} kills over {len(cluster.ids)} debates: {steps} steps lost three workers or "
            f"more, {onslaught.paused} pauses, {failed} failed turns; {paid}"
        )
        assert steps, "the kills must hit the same step again and again"
        assert failed == 0
        assert all("worker" in why and "lost" in why for why in onslaught.why), onslaught.why
        assert cluster.violations() == [], "every slot once, in its order, and every debate ended"
        assert paid.attempts["started"] == 0
        assert paid.attempts["unknown"] >= KILLS / 2, "and calls in flight"
        assert paid.attempts.total() >= paid.calls >= paid.turns
