"""Schedules of many processes, people and faults in virtual time; and whether they notice."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from moot.testing.simulation.people import ON_STATIONS, VERBS
from moot.testing.simulation.run import replay_hint, simulate, simulate_all
from moot.testing.simulation.world import Result
from tests.services import Postgres
from tests.simulation.guards import found, guards

SCHEDULES = 300
ON_POSTGRES = 12
FAULTS = (
    "kill", "stop of a process", "close", "disk full", "database away", "wrong clock", "restore",
    "torn file", "damaged row", "reply lost", "message lost", "message late", "message doubled",
    "message repeated",
    "reply late", "reply cut", "reply empty", "reply huge", "reply nested", "reply mute",
    "reply endless", "reply error", "reply crash", "reply deadly",
)  # fmt: skip


def check(result: Result) -> None:
    if result.broken:
        story = "\n".join(result.trace[-60:])
        pytest.fail(f"{story}\n\nseed {result.seed}: {result.broken}\n{replay_hint(result)}")


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


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with Postgres(durable=False) as server:
        yield server.fresh()


def test_every_rule_holds_on_postgres(postgres: str) -> None:
    for seed in range(SCHEDULES, SCHEDULES + ON_POSTGRES):
        check(simulate(seed, postgres))


def test_a_seed_replays_exactly_whatever_the_order_of_sets() -> None:
    seeds = [str(seed) for seed in range(8)]
    told = {
        subprocess.run(
            [sys.executable, "-m", "moot.testing.simulation", *seeds],
            env={**os.environ, "PYTHONHASHSEED": number}, check=True, capture_output=True,
        ).stdout
        for number in ("0", "1", "2")
    }  # fmt: skip
    assert len(told) == 1


def test_each_guard_stands_where_the_table_says() -> None:
    listed = guards()
    assert len(listed) > 50
    for guard in listed:
        assert guard.source().count(guard.there) == 1, guard.name


@pytest.mark.parametrize("words", ["against its fence", "leaves a live lease", "resume, retry"])
def test_a_guard_that_is_missing_is_noticed(words: str) -> None:
    (guard,) = [one for one in guards() if words in one.name]
    assert found(guard, 100) is not None
