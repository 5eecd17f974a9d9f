"""The same schedules on a real Postgres, whose statements are others."""

from collections.abc import Iterator

import pytest

from moot.testing.simulation.runner import simulate
from tests.services import Postgres
from tests.simulation.told import check
from tests.stress import STRESS

FIRST = 300  # after those that run on SQLite
SCHEDULES = 300 if STRESS else 12


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Postgres(durable=False) as server:
        yield server.fresh()


def test_every_rule_holds_on_postgres(url: str) -> None:
    for seed in range(FIRST, FIRST + SCHEDULES):
        check(simulate(seed, url))
