"""Who is tried again, and when."""

import pytest

from moot.core.retry import LONGEST_WAIT, MAX_RETRIES, WAITS, decide
from moot.errors import (
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


def test_a_prompt_too_long_is_tried_shorter_at_once() -> None:
    decision = decide(ProviderContextError("x"), 1)
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
