"""Schedules of many processes, people and faults in virtual time: every rule holds in each."""

import os
import subprocess
import sys

import pytest

from moot.testing.simulation.people import BY_PEOPLE, OF_KEEPERS, ON_STATIONS, VERBS
from moot.testing.simulation.runner import simulate, simulate_all
from moot.testing.simulation.world import Result
from tests.simulation.told import check

WIDE = (8, 13, 25, 36, 41, 46, 48, 57, 91)
"""Together these had every fault and every verb when they were last looked at: they come first."""
SEEDS = [*WIDE, *(seed for seed in range(300) if seed not in WIDE)]
SCHEDULES = int(os.environ.get("MOOT_SCHEDULES") or 300)
FAULTS = (
    "kill", "stop of a process", "close", "disk full", "database away", "wrong clock", "restore",
    "torn file", "damaged row", "reply lost", "message lost", "message late", "message doubled",
    "reply late", "reply cut", "reply empty", "reply huge", "reply nested", "reply mute",
    "reply endless", "reply error", "reply crash", "reply deadly", "budget that ran out", "jury",
)  # fmt: skip


@pytest.fixture(scope="module")
def schedules() -> list[Result]:
    return list(simulate_all(SEEDS[:SCHEDULES]))


def test_every_rule_holds_in_every_schedule(schedules: list[Result]) -> None:
    for result in schedules:
        check(result)


def test_every_fault_and_every_verb_occurs(schedules: list[Result]) -> None:
    verbs = {*VERBS, *ON_STATIONS, *BY_PEOPLE, *OF_KEEPERS}
    missing = {*FAULTS, *(f"verb {verb}" for verb in verbs)}
    missing -= {name for one in schedules for name in one.counts}
    for seed in SEEDS[SCHEDULES:]:  # if fewer were asked for, and seeds have moved
        if not missing:
            break
        result = simulate(seed)
        check(result)
        missing -= set(result.counts)
    assert missing == set()


def test_a_seed_replays_exactly_whatever_the_order_of_sets() -> None:
    seeds = [str(seed) for seed in WIDE]
    told = {
        subprocess.run(
            [sys.executable, "-m", "moot.testing.simulation", *seeds],
            env={**os.environ, "PYTHONHASHSEED": number}, check=True, capture_output=True,
        ).stdout
        for number in ("0", "1")
    }  # fmt: skip
    assert len(told) == 1
