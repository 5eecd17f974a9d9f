"""The local server: where it is, and which models it has."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast
from urllib.parse import urlsplit, urlunsplit

USUAL = (
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
)
SMALL = 5e9  # parameters; a model with fewer needs care, see models/local/small.py
_CONNECT_SECONDS = 0.3  # a server on this machine accepts at once,
_ANSWER_SECONDS = 0.8  # and answers soon, even on a busy one
_LIST_SECONDS = 2.0  # one that was set may stand elsewhere
_FRESH_SECONDS = 30.0

Fetch = Callable[[str, float], Awaitable[Any]]
"""Gets a URL's JSON within some seconds, or raises."""


Kind = Literal["Ollama", "llama.cpp"] | None
"""Which server it is, where that makes a difference."""


@dataclass(frozen=True, slots=True)
class Server:
    """A local server that answered."""

    base_url: str
    windows: Mapping[str, int | None]  # each model's window, None where the server does not tell
    kind: Kind = None
    slots: int | None = None  # calls that it answers at once, where it tells
    small: frozenset[str] = frozenset()  # models that are known to be small

    @property
    def first(self) -> str | None:
        """The model that a bare `local` means."""
        return next(iter(self.windows), None)


class LocalServer:
    """Finds the local server, and remembers for half a minute what it found."""

    def __init__(
        self, base_url: str | None, fetch: Fetch, usual: tuple[tuple[str, str], ...] = USUAL
    ) -> None:
        self.base_url = with_path(base_url) if base_url else None
        self.known: Server | None = None  # what the last look found
        self.looked = False
        self.seen = False  # whether one was ever found
        self._fetch = fetch
        self._usual = usual
        self._at = 0.0
        self._looking = asyncio.Lock()

    async def find(self) -> Server | None:
        """The server that was set, else the first usual one that answers with a list of models."""
        if self._fresh():
            return self.known
        async with self._looking:
            if not self._fresh():
                self.known = await self._look()
                self.looked, self._at = True, time.monotonic()
                self.seen = self.seen or self.known is not None
        return self.known

    def _fresh(self) -> bool:
        return self.looked and time.monotonic() - self._at < _FRESH_SECONDS

    async def _look(self) -> Server | None:
        if self.base_url:
            return await self._ask(self.base_url, _LIST_SECONDS)
        found = await asyncio.gather(*(self._try(url) for _, url in self._usual))
        return next((server for server in found if server), None)

    async def _try(self, url: str) -> Server | None:
        """Knock first: where nobody listens, no HTTP library needs to be loaded."""
        parts = urlsplit(url)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(parts.hostname, parts.port)
        except OSError:  # TimeoutError is one
            return None
        writer.close()
        server = await self._ask(url, _ANSWER_SECONDS)
        return server if server and server.windows else None

    async def _ask(self, url: str, seconds: float) -> Server | None:
        try:
            listed = await self._fetch(f"{url}/models", seconds)
        except Exception:  # whatever answers there, it is no server for us
            return None
        if not isinstance(listed, dict):
            return None
        models = cast(dict[str, Any], listed).get("data")
        if not isinstance(models, list):
            return None
        rows = cast(list[Any], models)
        kind, slots = await self._kind(url, _owner(rows), seconds)
        small = await self._small(url, kind, rows, seconds)
        return Server(url, _windows(rows), kind, slots, small)

    async def _small(self, url: str, kind: Kind, rows: list[Any], seconds: float) -> frozenset[str]:
        """Which models are small, where the server tells their sizes."""
        try:
            if kind == "Ollama":
                tags = await self._fetch(f"{url.removesuffix('/v1')}/api/tags", seconds)
                sizes = {one["name"]: one["details"]["parameter_size"] for one in tags["models"]}
                return frozenset(name for name, size in sizes.items() if _counted(size) < SMALL)
            if kind == "llama.cpp":
                sizes = {one["id"]: one["meta"]["n_params"] for one in rows}
                return frozenset(name for name, size in sizes.items() if size < SMALL)
        except Exception:  # told in another way, or not at all: then they are taken for large
            return frozenset()
        return frozenset()

    async def _kind(self, url: str, owner: str | None, seconds: float) -> tuple[Kind, int | None]:
        """Which server it is, and how many calls it answers at once; the rest wait in a queue of
        its own, where their time would run."""
        place = url.removesuffix("/v1")
        try:
            if owner == "llamacpp":
                slots = (await self._fetch(f"{place}/props", seconds)).get("total_slots")
                return "llama.cpp", slots if isinstance(slots, int) and slots > 0 else None
            if owner and "version" in await self._fetch(f"{place}/api/version", seconds):
                return "Ollama", 1  # OLLAMA_NUM_PARALLEL is not told; one is its default
        except Exception:  # another server: one that speaks OpenAI's words, and that is enough
            return None, None
        return None, None


def _counted(size: str) -> float:
    """Ollama's "1.5B", "494.03M" as a number."""
    return float(size[:-1]) * {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}[size[-1].upper()]


def with_path(url: str) -> str:
    """The address of the API: a bare host, as Ollama prints it, means its `/v1`."""
    parts = urlsplit(url.strip().rstrip("/"))
    return urlunsplit(parts if parts.path else parts._replace(path="/v1"))


def _owner(models: list[Any]) -> str | None:
    """Who is said to own the models: servers are known by it."""
    first = cast(dict[str, Any], models[0]) if models and isinstance(models[0], dict) else {}
    owner = first.get("owned_by")
    return owner if isinstance(owner, str) and owner != "vllm" else None


def _windows(models: list[Any]) -> dict[str, int | None]:
    windows: dict[str, int | None] = {}
    for model in models[:1000]:
        if isinstance(model, dict):
            told = cast(dict[str, Any], model)
            name = told.get("id")
            if isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable():
                windows[name] = _window(told)
    return windows


def _window(told: dict[str, Any]) -> int | None:
    """The window in force, where the server tells it: vLLM, LM Studio, llama.cpp in their ways."""
    meta = told.get("meta")
    places = told | (cast(dict[str, Any], meta) if isinstance(meta, dict) else {})
    for key in ("max_model_len", "loaded_context_length", "n_ctx", "context_length"):
        window = places.get(key)
        if isinstance(window, int) and 512 <= window <= 100_000_000:
            return window
    return None
