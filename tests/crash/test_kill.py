"""SIGKILL at any moment: nothing twice, nothing lost, no gap, every debate ends."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from moot.core.change import Change
from moot.core.debate import Debate
from moot.engine import failpoints
from moot.store import attempts, log, runs, store
from moot.store.query import Connection
from tests.crash.harness import Ground, Guard, bill, keep_all, violations
from tests.patience import slowness
from tests.stress import STRESS

KILLS, DEBATES = (1000, 200) if STRESS else (20, 4)
BATCH = 4
WARM_UP = 0.1 if os.environ.get("MOOT_TEST_DATABASE") else 0.0  # to connect, before it can speak


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    ground = Ground(tmp_path)
    yield ground
    ground.kill_all()


def rampage(ground: Ground, kills: int, debates: int, seed: int, guard: Guard = keep_all) -> int:
    """Kill workers at random moments until so many kills and so many debates are through."""
    chance = random.Random(seed)
    done = made = 0
    while done < kills or made < debates:
        made += len(ground.create(BATCH))
        while ground.unfinished() and done < 3 * kills:
            pids = [ground.fork(guard) for _ in range(chance.choice([1, 1, 2]))]
            time.sleep((WARM_UP + chance.uniform(0.01, 0.15)) * slowness())
            for pid in pids:
                ground.kill(pid)
                done += 1
    return done


def test_a_thousand_kills(ground: Ground) -> None:
    kills = rampage(ground, KILLS, DEBATES, seed=7)
    ground.fork()
    assert ground.wait_until(lambda: ground.unfinished() == 0), "one that lives ends them all"
    ground.kill_all()
    assert violations(ground) == []
    paid = bill(ground)
    assert paid.attempts["started"] == 0
    extra = paid.calls - paid.turns
    print(f"{kills} kills, {paid}, {extra} calls beyond one per turn")
    assert paid.attempts["unknown"] > kills / 10, "the kills must hit calls in flight"
    assert 0 <= extra <= paid.attempts["unknown"]
    assert paid.attempts["ok"] == paid.turns


@pytest.mark.parametrize("place", sorted(failpoints.PLACES))
def test_killed_at_each_named_place(ground: Ground, place: str) -> None:
    ground.create(2, max_turns=4)
    rounds = 25 if STRESS else 2
    for _ in range(rounds):
        ground.create(1, max_turns=4)
        pid = ground.fork(place=place)
        died = ground.wait_until(lambda pid=pid: os.waitpid(pid, os.WNOHANG)[0] == pid)
        assert died, f"{place} was never reached"
        ground.workers.remove(pid)
    assert len(ground.book("died")) == rounds
    ground.fork()
    assert ground.wait_until(lambda: ground.unfinished() == 0)
    assert ground.wait_until(
        lambda: (
            ground.rows("SELECT count(*) FROM debate_runs WHERE files_seq < last_seq")[0] == (0,)
        ),
    ), "what was never filed is filed by the next worker"
    ground.kill_all()
    assert violations(ground) == []
    paid = bill(ground)
    assert paid.calls - paid.turns <= paid.attempts["unknown"]


@pytest.mark.stress("the simulation, with each guard taken out")
def test_it_fails_when_a_commit_is_not_atomic(ground: Ground) -> None:
    """The guard taken out: turn and event in one transaction, cursor and counters in the next."""

    def torn() -> None:
        whole = store.apply

        def apply(conn: Connection, before: Debate, change: Change) -> None:
            if not any(hasattr(event, "turn") for event in change.events):
                whole(conn, before, change)
                return
            for event in change.events:
                log.add(conn, change.debate.id, event)
            conn.driver.execute("COMMIT")
            time.sleep(0.01)
            conn.driver.execute("BEGIN IMMEDIATE" if conn.dialect == "sqlite" else "BEGIN")
            for ended in change.ended:
                attempts.end(conn, change.debate.id, ended)
            for attempt in change.started:
                attempts.start(conn, change.debate.id, attempt)
            runs.change(conn, before, change.debate)

        store.apply = apply

    rampage(ground, 60, 4, seed=11, guard=torn)
    ground.fork(torn)
    ground.wait_until(lambda: ground.unfinished() == 0, 5)
    ground.kill_all()
    paid = bill(ground)
    assert violations(ground) or paid.attempts["ok"] != paid.turns
