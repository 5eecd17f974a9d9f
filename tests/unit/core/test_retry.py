"""Who is tried again, and when."""

import pytest

from moot.core.debate import Limits
from moot.core.limits import silence
from moot.core.retry import LONGEST_WAIT, MAX_RETRIES, WAITS, decide
from moot.errors import (
    ProviderAllowanceError,
    ProviderAuthError,
    ProviderContextError,
    ProviderEchoError,
    ProviderEmptyError,
    ProviderError,
    ProviderInvalidError,
    ProviderRateLimitError,
    ProviderRefusedError,
    ProviderShapeError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    ProviderUnknownModelError,
    ProviderUnsaidError,
)


@pytest.mark.parametrize(
    "kind",
    [
        ProviderRateLimitError, ProviderTimeoutError, ProviderUnavailableError,
        ProviderEmptyError, ProviderInvalidError,
    ],
)  # fmt: skip
def test_three_times_with_growing_waits(kind: type[ProviderError]) -> None:
    waits = [decide(kind("x"), attempt).wait for attempt in range(1, MAX_RETRIES + 2)]
    assert waits == [*WAITS, None]
    assert sorted(WAITS) == list(WAITS)


@pytest.mark.parametrize(
    "kind", [ProviderAuthError, ProviderUnknownModelError, ProviderRefusedError]
)
def test_never_when_no_retry_can_mend_it(kind: type[ProviderError]) -> None:
    assert decide(kind("x"), 1).wait is None


def test_retry_after_is_honoured_up_to_a_minute() -> None:
    assert decide(ProviderRateLimitError("x", retry_after=20), 1).wait == 20
    assert decide(ProviderRateLimitError("x", retry_after=0.1), 1).wait == WAITS[0]
    assert decide(ProviderRateLimitError("x", retry_after=LONGEST_WAIT + 1), 1).wait is None


@pytest.mark.parametrize("kind", [ProviderContextError, ProviderAllowanceError])
def test_a_prompt_too_long_is_tried_shorter_at_once(kind: type[ProviderError]) -> None:
    decision = decide(kind("x"), 1)
    assert (decision.wait, decision.shrink) == (0.0, True)


@pytest.mark.parametrize(
    "error", [ProviderShapeError("x", said="", problem=""), ProviderEchoError("x")]
)
def test_an_answer_is_mended_once_and_only_while_retries_are_left(error: ProviderError) -> None:
    assert decide(error, 1).wait == decide(error, MAX_RETRIES).wait == 0.0
    assert decide(error, 2, repaired=True).wait is None
    assert decide(error, MAX_RETRIES + 1).wait is None


@pytest.mark.parametrize(
    "error",
    [ProviderShapeError("x", said="", problem="", cut=True), ProviderUnsaidError("x")],
)
def test_whoever_was_cut_has_more_room_once_and_at_once(error: ProviderError) -> None:
    decision = decide(error, 1, repaired=True)
    assert (decision.wait, decision.widen) == (0.0, True)
    assert not decide(error, 2, widened=True).widen
    assert decide(error, MAX_RETRIES + 1).wait is None
    assert not any(decide(kind("x"), 1).widen for kind in (ProviderEmptyError, ProviderEchoError))


def test_a_cut_answer_that_stays_cut_is_mended_once() -> None:
    error = ProviderShapeError("x", said="", problem="", cut=True)
    assert decide(error, 2, widened=True).wait == 0.0
    assert decide(error, 3, repaired=True, widened=True).wait is None


@pytest.mark.parametrize(
    ("own", "allowed", "raised", "longest"),
    [
        (None, 20, False, 20), (60, 35, False, 60), (60, 20, False, 60),
        (60, 120, False, 120),  # a slow machine is slow in the verdict, too
        (10, 120, False, 10),  # a stage that is meant to be quick stays so
        (10, 120, True, 120),  # unless somebody raised it once the stage had failed
        (60, 20, True, 60),
    ],
)  # fmt: skip
def test_how_long_a_speaker_may_be_silent(
    own: float | None, allowed: float, raised: bool, longest: float
) -> None:
    limits = Limits(max_turns=6, max_turn_seconds=allowed, raised=raised)
    assert silence(own, limits) == longest
