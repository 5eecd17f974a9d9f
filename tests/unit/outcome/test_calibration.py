"""Brier scores by hand: of each model and each jury, from what was noted of decisions."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.outcome.calibration import (
    NEEDED,
    Calibration,
    Forecast,
    Forecasts,
    Hindsight,
    JuryScore,
    ModelScore,
    Noted,
    calibration,
)


def noted(n: int, was: Hindsight, *said: Forecast, share: float = 1.0, options: int = 2) -> Noted:
    made = Forecasts("Go", options, said, ("claude", "openai"), share)
    return Noted(f"debate_20261118_0000{n:02}_aaaaaa", was, "2026-11-18T00:00:00.000Z", made)


def many(was: Hindsight, *said: Forecast, options: int = 2, share: float = 1.0) -> Calibration:
    return calibration(noted(n, was, *said, options=options, share=share) for n in range(NEEDED))


def test_nine_are_too_few_and_ten_are_enough() -> None:
    sure = Forecast("openai", "Go", 0.9)
    for count in range(NEEDED):
        few = calibration(noted(n, "right", sure) for n in range(count))
        assert few == Calibration(count, NEEDED)
    assert many("right", sure).models == (ModelScore("openai", 10, 0.01),)


@pytest.mark.parametrize(
    ("was", "option", "options", "brier"),
    [
        ("right", "Go", 2, 0.04),  # 0.8 sure of what was right
        ("wrong", "Go", 2, 0.64),
        ("mixed", "Go", 2, 0.09),
        ("right", "Wait", 2, 0.64),  # 0.8 sure of another one
        ("right", "Wait", 3, 0.64),
        ("wrong", "Wait", 2, 0.04),  # there was no third
        ("mixed", "Wait", 2, 0.09),
        ("wrong", "Wait", 3, None),  # nobody knows which of the others was right
        ("mixed", "Wait", 3, None),
    ],
)
def test_how_far_off_a_forecast_was(
    was: Hindsight, option: str, options: int, brier: float | None
) -> None:
    found = many(was, Forecast("openai", option, 0.8), options=options).models
    assert [one.brier for one in found] == ([] if brier is None else [brier])


def test_a_jury_is_scored_by_the_share_of_its_votes() -> None:
    assert many("right", share=1.0).juries == (JuryScore(("claude", "openai"), 10, 0.0),)
    assert many("wrong", share=1.0).juries[0].brier == 1.0
    assert many("wrong", share=0.5).juries[0].brier == 0.25


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("right", "wrong", "mixed")),
            st.sampled_from(("openai", "claude")),
            st.sampled_from(("Go", "Wait")),
            st.floats(0, 1),
        ),
        min_size=NEEDED,
        max_size=30,
    )
)
def test_scores_lie_between_0_and_1_and_no_order_matters(
    said: Sequence[tuple[Hindsight, str, str, float]],
) -> None:
    notes = [
        noted(n, was, Forecast(model, option, sure))
        for n, (was, model, option, sure) in enumerate(said)
    ]
    found = calibration(notes)
    assert all(0 <= one.brier <= 1 for one in (*found.models, *found.juries))
    assert sum(one.forecasts for one in found.models) == len(notes)
    assert calibration(reversed(notes)) == found
