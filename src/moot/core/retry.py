"""Whether a failed model call is tried again, when, and with which of its seat's models."""

from dataclasses import dataclass

from moot.errors import (
    ProviderEchoError,
    ProviderError,
    ProviderQuoteError,
    ProviderShapeError,
)

MAX_RETRIES = 3
WAITS = (1.0, 3.0, 9.0)  # seconds before the first, second and third retry
LONGEST_WAIT = 60.0
"""Somebody who asks for more is not waited for: a person decides."""


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """`wait` seconds, then again; None gives up. `shrink` asks for a shorter prompt, `widen` for
    more room for the answer, `onward` for the seat's next choice."""

    wait: float | None
    shrink: bool = False
    widen: bool = False
    onward: bool = False


WHY = {
    "DEBATE_ERR_PROVIDER_AUTH": "its key or login was not accepted",
    "DEBATE_ERR_PROVIDER_RATE_LIMIT": "it asked for slower calls",
    "DEBATE_ERR_PROVIDER_TIMEOUT": "it took too long",
    "DEBATE_ERR_PROVIDER_UNAVAILABLE": "it could not be reached",
    "DEBATE_ERR_PROVIDER_REFUSED": "it declined",
    "DEBATE_ERR_PROVIDER_EMPTY": "its answer was empty",
    "DEBATE_ERR_PROVIDER_INVALID": "its answer could not be used",
    "DEBATE_ERR_PROVIDER_CONTEXT": "the debate is too long for it",
    "DEBATE_ERR_PROVIDER_UNKNOWN_MODEL": "there is no such model",
}
"""Why a model gave way to another, in a few words."""


def gave_way(name: str, before: str, after: str, code: str) -> str:
    """What people are told when a seat's next choice speaks."""
    return f"{before} did not answer for {name}: {WHY[code]}. {after} speaks instead."


def decide(
    error: ProviderError,
    attempt: int,
    repaired: bool = False,
    widened: bool = False,
    others: bool = False,
) -> RetryDecision:
    """What to do after the `attempt`-th call of a step (1 is the first) ended in `error`; each of
    the seat's models is counted by itself.

    Whatever the errors are, a model has MAX_RETRIES of them. An answer without its shape, or one
    that was given before, is mended once. One that the token limit has cut is asked for again with
    more room, once. Then it is another's turn, if the seat has `others`.
    """
    decision = _decide(error, attempt, repaired, widened)
    if decision.wait is None and others:
        return RetryDecision(0.0, onward=True)
    return decision


def _decide(error: ProviderError, attempt: int, repaired: bool, widened: bool) -> RetryDecision:
    if attempt > MAX_RETRIES or not error.retryable:
        return RetryDecision(None)
    if error.cut and not widened:
        return RetryDecision(0.0, widen=True)
    if isinstance(error, ProviderQuoteError):  # it is raised once: see `engine.speaking`
        return RetryDecision(0.0)
    if isinstance(error, ProviderShapeError | ProviderEchoError):
        return RetryDecision(None if repaired else 0.0)
    if error.shorter:
        return RetryDecision(0.0, shrink=True)
    wait = max(WAITS[attempt - 1], error.retry_after or 0.0)
    return RetryDecision(None if wait > LONGEST_WAIT else wait)
