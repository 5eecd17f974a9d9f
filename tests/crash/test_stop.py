"""SIGSTOP longer than the lease: the late writer is refused by the fence, and by nothing less."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from moot.core import moves
from tests.crash.harness import Ground, Guard, keep_all, stop_between_writes, violations
from tests.stress import STRESS

DEBATES = 60 if STRESS else 30
SPELLS = 6 if STRESS else 1


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    ground = Ground(tmp_path, lease_seconds=1.2, speak_seconds=0.25)
    yield ground
    ground.kill_all()


def freeze(ground: Ground, spells: int, guard: Guard = keep_all) -> None:
    """Stop a worker in mid-call past its lease, let another take over, then wake the first."""
    for _ in range(spells):
        ground.create(DEBATES, max_turns=6)
        calls = len(ground.book("calls"))
        sleeper = ground.fork(guard)
        assert ground.wait_until(lambda c=calls: len(ground.book("calls")) >= c + DEBATES)
        stop_between_writes(ground.settings.database, sleeper)
        time.sleep(ground.lease_seconds + 0.2)
        calls = len(ground.book("calls"))
        other = ground.fork(guard)
        assert ground.wait_until(lambda c=calls: len(ground.book("calls")) >= c + DEBATES)
        os.kill(sleeper, signal.SIGCONT)
        ground.wait_until(lambda: ground.unfinished() == 0)
        ground.kill(sleeper)
        ground.kill(other)


def no_fence() -> None:
    moves.check_fence = lambda _debate, _fence: None


def test_late_writers_are_refused(ground: Ground) -> None:
    freeze(ground, SPELLS)
    refused = len(set(ground.book("fenced")))
    print(f"{refused} late writes refused")
    assert refused >= 20
    assert violations(ground) == []


@pytest.mark.stress("the simulation, with each guard taken out")
def test_it_fails_without_the_fence(ground: Ground) -> None:
    """Then only the unique index stands between a late writer and a turn said twice."""
    freeze(ground, 1, no_fence)
    assert len(ground.book("fenced")) < 20


@pytest.mark.stress("the simulation, with each guard taken out")
def test_a_turn_is_said_twice_without_fence_and_index(ground: Ground) -> None:
    ground.create(1, max_turns=2)
    for index in ("debate_turns_once", "debate_turns_cue_once"):
        ground.rows(f"DROP INDEX {index}")
    freeze(ground, 1, no_fence)
    assert any("other turns than planned" in line for line in violations(ground))
