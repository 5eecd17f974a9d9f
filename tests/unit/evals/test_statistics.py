"""What can be said of arms, planted: nothing where there is nothing, and what is there as often as
the report states."""

import gc
import random
from collections.abc import Iterator

import pytest
from tests.stress import STRESS

from moot.evals.statistics import brier, compare, power, rate

EVALS = 1000


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    """statsmodels collects garbage at each call: keep it from looking through all of pytest."""
    compare([True], [[False]])  # loads what it needs
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def test_arms_that_are_alike_seldom_differ() -> None:
    chance, false = random.Random(1), 0
    for _ in range(EVALS if STRESS else 300):
        hard = [chance.betavariate(2, 1) for _ in range(120)]
        arms = [[chance.random() < one for one in hard] for _ in range(4)]
        false += any(one.significant for one in compare(arms[0], arms[1:]))
    share = false / (EVALS if STRESS else 300)
    print(f"{share:.1%} of evals in which no arm differs say that one does")
    assert share <= 0.05


def test_five_points_are_found_as_often_as_is_stated() -> None:
    chance, found, stated = random.Random(2), 0, 0.0
    count, disagree = 800, 0.2
    evals = EVALS if STRESS else 150
    for _ in range(evals):
        first = [chance.random() < 0.6 for _ in range(count)]
        # of those that the first has wrong, and right, so many that the sums are +12.5% and -7.5%
        turned = {False: (disagree + 0.05) / 2 / 0.4, True: (disagree - 0.05) / 2 / 0.6}
        arm = [one != (chance.random() < turned[one]) for one in first]
        made = compare(first, [arm])[0]
        found += made.significant and made.won > made.lost
        stated += made.power
    print(f"found in {found / evals:.1%}, stated {stated / evals:.1%}")
    assert found / evals == pytest.approx(stated / evals, abs=0.03 if STRESS else 0.08)


def test_more_arms_and_fewer_items_have_less_power() -> None:
    assert power(800, 160) > power(800, 160, arms=4) > power(200, 40, arms=4)
    assert power(0, 0) == 0.0
    assert power(50, 0) < 0.05, "too few to find anything"


def test_known_figures() -> None:
    made_rate = rate([True] * 8 + [False] * 2)
    assert made_rate.share == 0.8
    assert (made_rate.low, made_rate.high) == pytest.approx((0.4901, 0.9433), abs=1e-3)
    lost, won = [True] * 5 + [False] * 15, [False] * 5 + [True] * 15
    made = compare(lost, [won])[0]
    assert (made.lost, made.won) == (5, 15)
    assert made.p == pytest.approx(0.0414, abs=1e-3)
    twice = compare(lost, [won, won])
    assert twice[0].corrected == pytest.approx(2 * made.p)
    assert brier([1.0, 0.5, None], [True, False, False]) == pytest.approx(0.125)
    assert brier([None], [True]) is None
    assert compare([True], []) == []
