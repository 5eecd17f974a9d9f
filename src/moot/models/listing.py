"""The providers' own lists of their models: asked for over HTTP, bounded in time, kept a while."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx2

from moot.models.failures import WRONG_KEY
from moot.models.providers import Vendor
from moot.models.windows import window_in

SECONDS = 4.0  # for a list; the vendors' take less than one
MOST = 3_000  # models of one list
_FRESH_SECONDS = 300.0
_WRONG_SECONDS = 20.0  # until a provider that did not answer is asked again
OTHER = re.compile(
    r"embed|whisper|\btts\b|dall-e|image|imagen|veo|lyria|sora|audio|speech|realtime|transcri"
    r"|moderation|rerank|\bocr\b|guard|davinci|babbage",
    re.IGNORECASE,
)  # models that do not speak


@dataclass(frozen=True, slots=True)
class Listed:
    """A model as its provider lists it: what it does not tell is None."""

    name: str
    window: int | None = None
    input_price: float | None = None  # USD per token
    output_price: float | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """A provider's list, or why there is none."""

    models: tuple[Listed, ...] = ()
    wrong: str = ""  # a sentence; empty if it answered


@dataclass(frozen=True, slots=True)
class _List:
    """Where an API has its list, and the headers that carry the key."""

    path: str
    headers: Callable[[str], dict[str, str]]
    query: Mapping[str, str]


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


_OPENAI = _List("/models", _bearer, {})
_LISTS = {  # by the `api` of a row; others have none that a key alone can ask for
    "openai_chat": _OPENAI,
    "openai_responses": _OPENAI,
    "anthropic_messages": _List(
        "/v1/models",
        lambda key: {"x-api-key": key, "anthropic-version": "2023-06-01"},
        {"limit": "1000"},
    ),
    "google_gemini": _List(
        "/v1beta/models", lambda key: {"x-goog-api-key": key}, {"pageSize": "1000"}
    ),
}


def has_list(vendor: Vendor) -> bool:
    return vendor.api in _LISTS


Client = Callable[[], Awaitable[httpx2.AsyncClient]]


class Listings:
    """Asks each provider once in a while, whoever wants to know."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, tuple[float, Listing]] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    async def of(self, vendor: Vendor, key: str, url: str) -> Listing:
        """The list of a provider that has one; it never raises, and takes `SECONDS` at the most."""
        async with self._asking.setdefault(vendor.name, asyncio.Lock()):
            until, known = self._known.get(vendor.name, (0.0, Listing()))
            if time.monotonic() < until:
                return known
            found = await self._ask(vendor, key, url)
            kept = _WRONG_SECONDS if found.wrong else _FRESH_SECONDS
            self._known[vendor.name] = time.monotonic() + kept, found
            return found

    async def _ask(self, vendor: Vendor, key: str, url: str) -> Listing:
        way = _LISTS[vendor.api]
        try:
            async with asyncio.timeout(SECONDS):
                client = await self._client()
                answer = await client.get(
                    f"{url.rstrip('/')}{way.path}", headers=way.headers(key), params=way.query
                )
        except TimeoutError:
            return Listing(wrong=f"{vendor.opening} did not answer within {SECONDS:g} seconds.")
        except Exception:  # its words may hold an address, or a key
            return Listing(wrong=f"{vendor.opening} could not be reached.")
        return _read(vendor, answer)


def _read(vendor: Vendor, answer: httpx2.Response) -> Listing:
    wrong = answer.status_code in (401, 403) or _says_wrong_key(answer)
    if wrong and vendor.key:
        return Listing(wrong=f"The key for {vendor.label} was refused. Check {vendor.key}.")
    if answer.status_code != 200:
        told = f"(status {answer.status_code})"
        return Listing(wrong=f"{vendor.opening} did not tell its models {told}.")
    try:
        found = read(answer.json())
    except (ValueError, LookupError, TypeError, RecursionError):
        return Listing(wrong=f"{vendor.opening} told its models in a form that cannot be read.")
    return Listing(found)


def _says_wrong_key(answer: httpx2.Response) -> bool:
    said = answer.text[:4000].lower() if answer.status_code == 400 else ""
    return any(phrase in said for phrase in WRONG_KEY)


def read(told: Any) -> tuple[Listed, ...]:
    """The models that speak, in an answer of any of the APIs."""
    rows = told
    if isinstance(told, Mapping):
        table = cast(Mapping[str, Any], told)
        rows = table["data"] if "data" in table else table["models"]
    if not isinstance(rows, list):
        raise TypeError("not a list")
    tables = [cast(Mapping[str, Any], row) for row in cast(list[Any], rows)[:MOST]
              if isinstance(row, Mapping)]  # fmt: skip
    models = [_listed(row) for row in tables if _speaks(row)]
    return tuple({one.name: one for one in models if one}.values())


def _listed(row: Mapping[str, Any]) -> Listed | None:
    name = row.get("id") or row.get("name")
    if not isinstance(name, str):
        return None
    name = name.removeprefix("models/")
    if not 0 < len(name) <= 150 or not name.isprintable() or OTHER.search(name):
        return None
    told = _table(row.get("pricing"))
    return Listed(name, window_in(row), _price(told.get("prompt")), _price(told.get("completion")))


def _speaks(row: Mapping[str, Any]) -> bool:
    """Whether it answers in words, as far as the list tells."""
    methods = row.get("supportedGenerationMethods")
    if isinstance(methods, list):
        return "generateContent" in methods
    abilities, made = _table(row.get("capabilities")), _table(row.get("architecture"))
    if "completion_chat" in abilities:
        return bool(abilities["completion_chat"])
    if isinstance(ways := made.get("output_modalities"), list):
        return "text" in ways
    return row.get("type") in (None, "model", "chat", "language")


def _table(told: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], told) if isinstance(told, Mapping) else {}


def _price(told: object) -> float | None:
    """OpenRouter's price, in USD per token; below zero it depends on the call."""
    try:
        price = float(cast(Any, told))
    except (TypeError, ValueError):
        return None
    return price if 0 <= price < 1 else None
