"""What went wrong in a call, as one of our errors: a stable code and a sentence for a person.

A vendor's own words stay out of it, for they may hold keys, prompts and headers; of them only
status, codes and waiting times are read.
"""

import json
import math
from collections.abc import Iterator
from typing import Any, cast

import httpx2
from pydantic_ai import exceptions as ai

from moot.core.debate import Usage
from moot.errors import (
    ProviderAuthError,
    ProviderContextError,
    ProviderEmptyError,
    ProviderError,
    ProviderInvalidError,
    ProviderRateLimitError,
    ProviderRefusedError,
    ProviderRejectedError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    ProviderUnknownModelError,
)
from moot.models.connection import TooMuchError, WireError
from moot.models.providers import Vendor

_TOO_LONG = (
    "context size",
    "context length",
    "context window",
    "exceed_context",
    "prompt is too long",
    "input is too long",
    "request_too_large",
    "too many tokens",
    "token count",
)
_DECLINED = frozenset({"content_policy_violation", "content_filter", "invalid_prompt"})
_AGAIN = "Restart the speaker to try again."


class Sentences:
    """What to tell a person about one call to one vendor's model."""

    def __init__(self, vendor: Vendor, name: str, spent: Usage, then: str) -> None:
        self._vendor = vendor
        self._name = name
        self._spent = spent
        self._then = then  # where something is to be set, and what to do after that

    def make(
        self, kind: type[ProviderError], message: str, retry_after: float | None = None
    ) -> ProviderError:
        """The error, with what the call used all the same."""
        return kind(
            message,
            retry_after=retry_after,
            input_tokens=self._spent.input_tokens,
            output_tokens=self._spent.output_tokens,
            cost_usd=self._spent.cost_usd,
            estimated=self._spent.estimated,
        )

    def silent(self, seconds: float) -> ProviderError:
        return self.make(ProviderTimeoutError, self._vendor.silent(seconds))

    def endless(self, seconds: float) -> ProviderError:
        return self.make(ProviderTimeoutError, self._vendor.endless(seconds))

    def timeout(self) -> ProviderError:
        return self.make(
            ProviderTimeoutError, f"{self._vendor.opening} did not answer in time. {_AGAIN}"
        )

    def cut(self) -> ProviderError:
        return self.make(
            ProviderUnavailableError,
            f"The answer of {self._vendor.name} broke off half-way. {_AGAIN}",
        )

    def empty(self) -> ProviderError:
        return self.make(
            ProviderEmptyError, f"{self._vendor.opening} gave an empty answer. {_AGAIN}"
        )

    def unsaid(self) -> ProviderError:
        return self.make(
            ProviderEmptyError,
            f"{self._vendor.opening} used up the tokens of the turn before it said a word. "
            "Allow more tokens for a turn, or choose a model that thinks less.",
        )

    def refused(self) -> ProviderError:
        return self.make(
            ProviderRefusedError,
            f"{self._vendor.opening} declined to answer. "
            "Choose another model for this speaker, or put the motion in other words.",
        )

    def too_long(self) -> ProviderError:
        return self.make(
            ProviderContextError,
            f'The debate is too long for {self._vendor.name}\'s "{self._name}". '
            "Choose a model with a larger window for this speaker.",
        )

    def unreadable(self) -> ProviderError:
        return self.make(
            ProviderInvalidError,
            f"{self._vendor.opening} answered in a form that cannot be read. "
            f"Check {self._vendor.url} if you set it, then restart the speaker.",
        )

    def too_much(self) -> ProviderError:
        return self.make(
            ProviderInvalidError,
            f"{self._vendor.opening} sent far more than an answer can hold. "
            f"Check {self._vendor.url} if you set it, then restart the speaker.",
        )

    def unreachable(self) -> ProviderError:
        mend = (
            "Start it, or set MOOT_LOCAL_BASE_URL,"
            if self._vendor.id == "local"
            else "Check the network connection,"
        )
        return self.make(
            ProviderUnavailableError,
            f"{self._vendor.opening} could not be reached. {mend} then restart the speaker.",
        )

    def in_trouble(self, status: int | None) -> ProviderError:
        seen = f" (status {status})" if status else ""
        return self.make(
            ProviderUnavailableError,
            f"{self._vendor.opening} has trouble of its own{seen}. "
            "Wait a few minutes, then restart the speaker.",
        )

    def no_entry(self, status: int | None) -> ProviderError:
        vendor = self._vendor
        if vendor.key is None:
            message = f"The local server refused the call (status {status}). Check {vendor.url}"
        elif status == 403:
            message = f"The key for {vendor.name} may not be used for this. Check {vendor.key}"
        else:
            message = f"The key for {vendor.name} was refused. Set {vendor.key}"
        return self.make(ProviderAuthError, f"{message}{self._then}")

    def unknown_model(self) -> ProviderError:
        return self.make(
            ProviderUnknownModelError,
            f'{self._vendor.opening} has no model "{self._name}". '
            "Choose another model for this speaker.",
        )

    def slower(self, wait: float | None) -> ProviderError:
        when = f"Wait {math.ceil(wait)} seconds" if wait else "Wait a little"
        return self.make(
            ProviderRateLimitError,
            f"{self._vendor.opening} asks for slower calls. {when}, then restart the speaker.",
            wait,
        )

    def used_up(self, wait: float | None) -> ProviderError:
        return self.make(
            ProviderRateLimitError,
            f"The quota of the {self._vendor.name} account is used up. "
            "Top it up, then restart the speaker.",
            wait,
        )

    def not_accepted(self, status: int | None) -> ProviderError:
        seen = f" (status {status})" if status else ""
        return self.make(
            ProviderRejectedError,
            f"{self._vendor.opening} did not accept the request{seen}. "
            "Choose another model for this speaker.",
        )


def explain(error: BaseException, say: Sentences) -> ProviderError:
    """Our error for whatever an SDK raised."""
    chain = tuple(_chain(error))
    wire = next((link for link in chain if isinstance(link, WireError)), None)
    if wire is not None:
        return say.too_much() if isinstance(wire, TooMuchError) else say.unreadable()
    if isinstance(error, ai.ModelAPIError):
        return _api_error(error, say)
    if isinstance(error, ai.ContentFilterError):
        return say.refused()
    if any(isinstance(link, httpx2.TimeoutException) for link in chain):
        return say.timeout()
    if any(isinstance(link, httpx2.TransportError | OSError) for link in chain):
        return say.unreachable()
    return say.unreadable()


def interrupted(error: BaseException) -> bool:
    """Whether the connection failed, as opposed to what came over it."""
    return isinstance(error, ai.ModelConnectionError | httpx2.TransportError)


def _api_error(error: ai.ModelAPIError, say: Sentences) -> ProviderError:
    status = error.status_code if isinstance(error, ai.ModelHTTPError) else None
    wait = _wait(error)
    if isinstance(error, ai.ModelContextWindowExceededError) or _says_too_long(error, status):
        return say.too_long()
    if error.provider_error_code in _DECLINED:
        return say.refused()
    match error:
        case ai.ModelRequestTimeout() | ai.ModelTimeoutError():
            return say.timeout()
        case ai.ModelConnectionError(phase="read"):
            return say.cut()
        case ai.ModelConnectionError():
            return say.unreachable()
        case ai.ModelAuthenticationError():
            return say.no_entry(status)
        case ai.ModelNotFoundError():
            return say.unknown_model()
        case ai.ModelQuotaExceededError():
            return say.used_up(wait)
        case ai.ModelRateLimitError():
            return say.slower(wait)
        case ai.ModelRequestRejectedError():
            return say.not_accepted(status)
        case _:
            return _by_status(error, status, say, wait)


def _by_status(
    error: ai.ModelAPIError, status: int | None, say: Sentences, wait: float | None
) -> ProviderError:
    if status == 408:
        return say.timeout()
    if status is not None and 400 <= status < 500:
        return say.not_accepted(status)
    if status is None and not error.in_stream:
        garbled = any(isinstance(link, ValueError) for link in _chain(error))  # no JSON, no UTF-8
        return say.unreadable() if garbled else say.cut()
    trouble = say.in_trouble(status)
    trouble.retry_after = wait
    return trouble


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those behind it."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _says_too_long(error: ai.ModelAPIError, status: int | None) -> bool:
    if status == 413:
        return True
    if status not in (400, 422, 500):
        return False
    body = json.dumps(error.body, default=str)[:4000].lower()
    return any(phrase in body for phrase in _TOO_LONG)


def _wait(error: ai.ModelAPIError) -> float | None:
    """The seconds that the vendor asked for: from the headers, or Gemini's RetryInfo."""
    if error.retry_after is not None:
        return error.retry_after
    headers = (error.headers if isinstance(error, ai.ModelHTTPError) else None) or {}
    return _seconds(headers.get("retry-after")) or _seconds(_retry_delay(error.body))


def _seconds(value: object) -> float | None:
    """ "1.5" or "37s" as seconds."""
    if not isinstance(value, str):
        return None
    try:
        seconds = float(value.strip().removesuffix("s"))
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


def _retry_delay(body: object) -> object:
    """`retryDelay` of a Google error, which stands in `error.details[]`."""
    error = _get(body, "error")
    details = _get(error, "details")
    if not isinstance(details, list):
        return None
    delays = (_get(detail, "retryDelay") for detail in cast(list[Any], details))
    return next((delay for delay in delays if delay), None)


def _get(value: object, key: str) -> object:
    return cast(dict[str, Any], value).get(key) if isinstance(value, dict) else None
