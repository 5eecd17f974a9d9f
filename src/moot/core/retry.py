"""Whether a failed model call is tried again, and when."""

from dataclasses import dataclass

from moot.errors import (
    ProviderContextError,
    ProviderEchoError,
    ProviderError,
    ProviderShapeError,
)

MAX_RETRIES = 3
WAITS = (1.0, 3.0, 9.0)  # seconds before the first, second and third retry
LONGEST_WAIT = 60.0
"""Somebody who asks for more is not waited for: a person decides."""


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """`wait` seconds, then again; None gives up. `shrink` asks for a shorter prompt, `widen` for
    more room for the answer."""

    wait: float | None
    shrink: bool = False
    widen: bool = False


def decide(
    error: ProviderError, attempt: int, repaired: bool = False, widened: bool = False
) -> RetryDecision:
    """What to do after the `attempt`-th call of a step (1 is the first) ended in `error`.

    Whatever the errors are, a step has MAX_RETRIES of them. An answer without its shape, or one
    that was given before, is mended once. One that the token limit has cut is asked for again with
    more room, once.
    """
    if attempt > MAX_RETRIES or not error.retryable:
        return RetryDecision(None)
    if error.cut and not widened:
        return RetryDecision(0.0, widen=True)
    if isinstance(error, ProviderShapeError | ProviderEchoError):
        return RetryDecision(None if repaired else 0.0)
    if isinstance(error, ProviderContextError):
        return RetryDecision(0.0, shrink=True)
    wait = max(WAITS[attempt - 1], error.retry_after or 0.0)
    return RetryDecision(None if wait > LONGEST_WAIT else wait)
