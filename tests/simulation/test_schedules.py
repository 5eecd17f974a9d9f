"""Schedules of many processes, people and faults in virtual time: every rule holds in each."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from moot.testing.simulation.people import ON_STATIONS, VERBS
from moot.testing.simulation.runner import simulate_all
from moot.testing.simulation.world import Result
from tests.simulation.told import check

SCHEDULES = int(os.environ.get("MOOT_SCHEDULES") or 300)
FAULTS = (
    "kill", "stop of a process", "close", "disk full", "database away", "wrong clock", "restore",
    "torn file", "damaged row", "reply lost", "message lost", "message late", "message doubled",
    "reply late", "reply cut", "reply empty", "reply huge", "reply nested", "reply mute",
    "reply endless", "reply error", "reply crash", "reply deadly",
)  # fmt: skip


@pytest.fixture(scope="module")
def schedules() -> list[Result]:
    return list(simulate_all(range(SCHEDULES)))


def test_every_rule_holds_in_every_schedule(schedules: list[Result]) -> None:
    for result in schedules:
        check(result)


def test_every_fault_and_every_verb_occurs(schedules: list[Result]) -> None:
    counts: Counter[str] = sum((one.counts for one in schedules), Counter())
    wanted = [*FAULTS, *(f"verb {verb}" for verb in {*VERBS, *ON_STATIONS})]
    assert [one for one in wanted if not counts[one]] == []


def test_a_seed_replays_exactly_whatever_the_order_of_sets() -> None:
    seeds = [str(seed) for seed in range(8)]
    told = {
        subprocess.run(
            [sys.executable, "-m", "moot.testing.simulation", *seeds],
            env={**os.environ, "PYTHONHASHSEED": number}, check=True, capture_output=True,
        ).stdout
        for number in ("0", "1")
    }  # fmt: skip
    assert len(told) == 1
