"""What went wrong in a call, as one of our errors: a stable code and a sentence for a person.

A vendor's own words stay out of it, for they may hold keys, prompts and headers. Only status,
codes and waiting times are read.
"""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

import httpx2
from pydantic_ai import exceptions as ai

from moot.core.debate import Usage
from moot.errors import (
    ProviderAbsentError,
    ProviderAllowanceError,
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
    ProviderUnsaidError,
)
from moot.models.connection import TooMuchError, WireError
from moot.models.providers import Part, Vendor

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
WRONG_KEY = (
    "incorrect api key",
    "invalid api key",
    "invalid_api_key",
    "api key not valid",
    "api_key_invalid",
)
"""How those say it that have no status of its own for a key that they refuse."""
_NO_MODEL = (
    "model not exist",
    "model_not_exist",
    "unknown model",
    "invalid model",
    "invalid_model",
    "not a valid model",
    "model not found",
)
_NO_PATH = (
    "invalid url",
    "unknown request url",
    "unknown_url",
    "no route",
    "requested url",
    "<html",
    "<!doctype",
)
"""How a 404 says that the address is wrong."""
_A_MODEL = ("model", "deployment", "endpoints found")
"""What a 404 speaks of if the address is right."""
_A_MINUTE = ("tokens per min", "(tpm)")
_NO_MONEY = ("exceeded_current_quota", "insufficient balance", "insufficient_balance")
_BLAMED: tuple[tuple[str, Part], ...] = (  # what an error says, and the part that it is about
    ("max_completion_tokens", "max_tokens"),  # it asks for that in place of max_tokens
    ("stream_options", "stream_options"),
    ("reasoning_effort", "effort"),
    ("tool_choice", "tool"),
    ("tool choice", "tool"),
    ("response_format", "schema"),
    ("response format", "schema"),
    ("json_schema", "schema"),
    ("json schema", "schema"),
    ("output_format", "schema"),
    ("grammar", "schema"),
)
_DECLINED = frozenset({"content_policy_violation", "content_filter", "invalid_prompt"})


class Said(NamedTuple):
    """An error and its sentence. `{Who}` opens one with the vendor's label, `{who}` stands inside,
    `{then}` says where something is to be set and what to do after that."""

    kind: type[ProviderError]
    sentence: str


_AGAIN = "Restart the speaker to try again."
_CHECK = "Check {url} if you set it, then restart the speaker."
SILENT = Said(ProviderTimeoutError, f"{{Who}} said nothing for {{seconds:g}} seconds. {_AGAIN}")
ENDLESS = Said(
    ProviderTimeoutError, f"{{Who}} was still speaking after {{seconds:g}} seconds. {_AGAIN}"
)
TIMEOUT = Said(ProviderTimeoutError, f"{{Who}} did not answer in time. {_AGAIN}")
CUT = Said(ProviderUnavailableError, f"The answer of {{who}} broke off half-way. {_AGAIN}")
EMPTY = Said(ProviderEmptyError, f"{{Who}} gave an empty answer. {_AGAIN}")
UNSAID = Said(
    ProviderUnsaidError,
    "{Who} used up the tokens of the turn before it said a word. "
    "Allow more tokens for a turn, or choose a model that thinks less.",
)
REFUSED = Said(
    ProviderRefusedError,
    "{Who} declined to answer. "
    "Choose another model for this speaker, or put the motion in other words.",
)
TOO_LONG = Said(
    ProviderContextError,
    'The debate is too long for {who}\'s "{model}". '
    "Choose a model with a larger window for this speaker.",
)
UNREADABLE = Said(ProviderInvalidError, f"{{Who}} answered in a form that cannot be read. {_CHECK}")
TOO_MUCH = Said(ProviderInvalidError, f"{{Who}} sent far more than an answer can hold. {_CHECK}")
UNREACHABLE = Said(
    ProviderUnavailableError, "{Who} could not be reached. {mend}, then restart the speaker."
)
IN_TROUBLE = Said(
    ProviderUnavailableError,
    "{Who} has trouble of its own{seen}. Wait a few minutes, then restart the speaker.",
)
NO_ENTRY = Said(ProviderAuthError, "{Who} refused the call{seen}. Check {url}{then}")
KEY_FORBIDDEN = Said(
    ProviderAuthError, "The key for {who} may not be used for this. Check {key}{then}"
)
KEY_REFUSED = Said(ProviderAuthError, "The key for {who} was refused. Set {key}{then}")
NO_PATH = Said(
    ProviderAbsentError,
    "{Who} has nothing at the address that moot called{seen}. "
    "Check {url} and whether it has to end in /v1, then restart the speaker.",
)
UNKNOWN_MODEL = Said(
    ProviderUnknownModelError,
    '{Who} has no model "{model}". Choose another model for this speaker.',
)
SLOWER = Said(
    ProviderRateLimitError, "{Who} asks for slower calls. {wait}, then restart the speaker."
)
TOO_FEW = Said(
    ProviderAllowanceError,
    "One call takes more tokens than this account may use with {who} in a minute. "
    "Raise that limit, or choose another model for this speaker.",
)
USED_UP = Said(
    ProviderRateLimitError,
    "The quota of the {who} account is used up. Top it up, then restart the speaker.",
)
NOT_ACCEPTED = Said(
    ProviderRejectedError,
    "{Who} did not accept the request{seen}. Choose another model for this speaker.",
)


# of programs that run on this machine
NOT_INSTALLED = Said(
    ProviderAbsentError,
    "{Who} is not installed here: `{command}` is not on the PATH. "
    "Install it with `{install}`, then restart the speaker.",
)
NOT_STARTED = Said(ProviderAbsentError, "{Who} could not be started. Run `{command} --version`.")
NOT_LOGGED_IN = Said(
    ProviderAuthError,
    "{Who} is not logged in. Run `{login}` as the user that runs moot, then restart the speaker.",
)
NO_ANSWER = Said(
    ProviderUnavailableError,
    "{Who} ended without an answer. Run `{command}` by hand to see why, then restart the speaker.",
)
TOO_MUCH_SAID = Said(
    ProviderInvalidError, f"{{Who}} wrote far more than an answer can hold. {_AGAIN}"
)


def _mend(vendor: Vendor) -> str:
    """What helps if it cannot be reached."""
    if not vendor.local:
        return "Check the network connection"
    return f"Start it, or set {vendor.url}" if vendor.url else "Start it, or change its base_url"


class Failures:
    """The errors of one call to one vendor's model, each with what the call used all the same."""

    def __init__(self, vendor: Vendor, name: str, spent: Usage, then: str) -> None:
        self._vendor = vendor
        self._name = name
        self._spent = spent
        self._then = then

    def error(
        self,
        said: Said,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        seconds: float = 0.0,
    ) -> ProviderError:
        vendor, spent = self._vendor, self._spent
        return said.kind(
            said.sentence.format(
                Who=vendor.opening,
                who=vendor.label,
                model=self._name,
                url=vendor.url or "its address",
                key=vendor.key,
                then=self._then,
                seconds=seconds,
                seen=f" (status {status})" if status else "",
                wait=f"Wait {math.ceil(retry_after)} seconds" if retry_after else "Wait a little",
                mend=_mend(vendor),
                command=vendor.command,
                install=vendor.install,
                login=vendor.login,
            ),
            retry_after=retry_after,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=spent.cost_usd,
            estimated=spent.estimated,
            thinking_tokens=spent.thinking_tokens,
        )

    def explain(self, error: BaseException) -> ProviderError:
        """Our error for whatever an SDK raised."""
        chain = tuple(_chain(error))
        if isinstance(error, ai.ModelAPIError) and not any(isinstance(e, WireError) for e in chain):
            status = error.status_code if isinstance(error, ai.ModelHTTPError) else None
            said = self._api_error(error, status)
            limited = said in (SLOWER, USED_UP, IN_TROUBLE)
            made = self.error(said, status=status, retry_after=_wait(error) if limited else None)
            if isinstance(made, ProviderRejectedError):
                made.blamed = _blamed(error)
            return made
        kinds = (  # what is wrong if no vendor said anything
            (TooMuchError, TOO_MUCH),
            (WireError, UNREADABLE),
            (ai.ContentFilterError, REFUSED),
            (httpx2.TimeoutException, TIMEOUT),
            (httpx2.ReadError, CUT),
            (httpx2.RemoteProtocolError, CUT),
            (httpx2.TransportError, UNREACHABLE),
            (OSError, UNREACHABLE),
        )
        found = (said for kind, said in kinds if any(isinstance(link, kind) for link in chain))
        return self.error(next(found, UNREADABLE))

    def _api_error(self, error: ai.ModelAPIError, status: int | None) -> Said:
        if _exceeds_minute(error, status):
            return TOO_FEW
        if isinstance(error, ai.ModelContextWindowExceededError) or _says_too_long(error, status):
            return TOO_LONG
        if error.provider_error_code in _DECLINED:
            return REFUSED
        match error:
            case ai.ModelRequestTimeout() | ai.ModelTimeoutError():
                return TIMEOUT
            case ai.ModelConnectionError(phase="read"):
                return CUT
            case ai.ModelConnectionError():
                return UNREACHABLE
            case ai.ModelAuthenticationError():
                if self._vendor.key is None:
                    return NO_ENTRY
                return KEY_FORBIDDEN if status == 403 else KEY_REFUSED
            case ai.ModelNotFoundError():
                return self._not_found(error, status)
            case ai.ModelQuotaExceededError():
                return USED_UP
            case ai.ModelRateLimitError():
                return USED_UP if _says(error, _NO_MONEY) else SLOWER
            case ai.ModelRequestRejectedError():
                return self._rejection(error)
            case ai.ModelServerError() | ai.ModelUnavailableError():
                return IN_TROUBLE
            case _:
                return _by_status(error, status)

    def _not_found(self, error: ai.ModelAPIError, status: int | None) -> Said:
        """The model is unknown, or the address is wrong: then nobody speaks of a model."""
        if status != 404:
            return UNKNOWN_MODEL
        if _says(error, _NO_PATH) or not _says(error, (*_A_MODEL, self._name.lower())):
            return NO_PATH
        return UNKNOWN_MODEL

    def _rejection(self, error: ai.ModelAPIError) -> Said:
        """Why a request was rejected; not every service has a status for each reason."""
        if self._vendor.key and _says(error, WRONG_KEY):
            return KEY_REFUSED
        return UNKNOWN_MODEL if _says(error, _NO_MODEL) else NOT_ACCEPTED


def interrupted(error: BaseException) -> bool:
    """Whether the connection failed, as opposed to what came over it."""
    return isinstance(error, ai.ModelConnectionError | httpx2.TransportError)


def _by_status(error: ai.ModelAPIError, status: int | None) -> Said:
    if status == 408:
        return TIMEOUT
    if status is not None and 400 <= status < 500:
        return NOT_ACCEPTED
    if status is None and not error.in_stream:
        garbled = any(_is_garbled(link) for link in _chain(error))
        return UNREADABLE if garbled else CUT
    return IN_TROUBLE


def _is_garbled(error: BaseException) -> bool:
    """Whether it tells that bytes are no JSON, no UTF-8, or no event stream of AWS's."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, ValueError) or "ParserError" in kinds


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those behind it."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _exceeds_minute(error: ai.ModelAPIError, status: int | None) -> bool:
    """Whether one call alone is more than a minute's tokens: no pause helps."""
    alone = status == 413 or (status == 429 and _says(error, ("request too large",)))
    return alone and _says(error, _A_MINUTE)


def _says_too_long(error: ai.ModelAPIError, status: int | None) -> bool:
    if status not in (400, 422, 500):
        return status == 413
    return _says(error, _TOO_LONG)


def _says(error: ai.ModelAPIError, phrases: Iterable[str]) -> bool:
    said = _words(error)
    return any(phrase in said for phrase in phrases)


def _blamed(error: ai.ModelAPIError) -> str:
    """The part of the request that an error names."""
    said = _words(error)
    return next((part for words, part in _BLAMED if words in said), "")


def _words(error: ai.ModelAPIError) -> str:
    """What the vendor said. It is looked at, and never shown."""
    return json.dumps(error.body, default=str)[:4000].lower()


def _wait(error: ai.ModelAPIError) -> float | None:
    """The seconds that the vendor asked for: in a header, or in Gemini's `error.details[]`."""
    if error.retry_after is not None:
        return error.retry_after
    try:
        details = cast(Any, error.body)["error"]["details"]
        delay = next(one["retryDelay"] for one in details if "retryDelay" in one)
        seconds = float(delay.removesuffix("s"))
    except (LookupError, TypeError, ValueError, AttributeError, StopIteration):
        return None
    return seconds if 0 <= seconds < math.inf else None
