"""The local server: where it is, and which models it has."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from moot.models.providers import with_path
from moot.models.windows import window_in

USUAL = (
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
)
SMALL = 5e9  # parameters; a model with fewer needs care, see models/local/small.py
_UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_CONNECT_SECONDS = 0.3  # a server on this machine accepts at once,
_ANSWER_SECONDS = 0.8  # and answers soon, even on a busy one
_LIST_SECONDS = 2.0  # one that was set may stand elsewhere
_FRESH_SECONDS = 30.0

Fetch = Callable[[str, float], Awaitable[Any]]
"""Gets a URL's JSON within some seconds, or raises."""

Kind = Literal["Ollama", "llama.cpp"] | None
"""Which server it is, if that makes a difference."""


@dataclass(frozen=True, slots=True)
class Server:
    """A local server that answered."""

    base_url: str
    windows: Mapping[str, int | None]  # each model's window, None if the server does not tell
    kind: Kind = None
    slots: int | None = None  # calls that it answers at once, if it tells
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
        """Knock first: if nobody listens, no HTTP library needs to be loaded."""
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
            listed: list[Any] = (await self._fetch(f"{url}/models", seconds))["data"]
            rows = [cast(dict[str, Any], row) for row in listed[:1000] if isinstance(row, dict)]
        except Exception:  # whatever answers there, it is not a server for us
            return None
        server = Server(url, {row["id"]: window_in(row) for row in rows if _named(row.get("id"))})
        try:
            return await self._recognized(server, rows, seconds)
        except Exception:  # another server: it speaks OpenAI's API, and that is enough
            return server

    async def _recognized(
        self, server: Server, rows: Sequence[Mapping[str, Any]], seconds: float
    ) -> Server:
        """The server with what it tells in its own way: how many calls it answers at once (the
        others would wait in a queue of its own, where their time runs), and how large models are.
        """
        root, owner = server.base_url.removesuffix("/v1"), rows[0].get("owned_by")
        if owner == "llamacpp":
            slots = (await self._fetch(f"{root}/props", seconds)).get("total_slots")
            sizes = {row["id"]: _meta(row).get("n_params") for row in rows}
            slots = slots if isinstance(slots, int) and slots > 0 else None
            return replace(server, kind="llama.cpp", slots=slots, small=_small(sizes))
        if not owner or owner == "vllm":
            return server
        if "version" not in await self._fetch(f"{root}/api/version", seconds):
            return server
        server = replace(server, kind="Ollama", slots=1)  # its OLLAMA_NUM_PARALLEL is not told
        with suppress(Exception):  # sizes that it does not tell are taken for large
            tags = (await self._fetch(f"{root}/api/tags", seconds))["models"]
            sizes = {one["name"]: str(one["details"]["parameter_size"]) for one in tags}
            server = replace(server, small=_small(sizes))
        return server


def _small(sizes: Mapping[Any, object]) -> frozenset[str]:
    return frozenset(name for name, size in sizes.items() if _parameters(size) < SMALL)


def _parameters(size: Any) -> float:
    """A number, or Ollama's "1.5B" or "494.03M"; a size that cannot be read is large."""
    try:
        if isinstance(size, str):
            return float(size[:-1]) * _UNITS[size[-1].upper()]
        return float(size)
    except (TypeError, ValueError, LookupError):
        return math.inf


def _named(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()


def _meta(told: Mapping[str, Any]) -> dict[str, Any]:
    meta = told.get("meta")
    return cast(dict[str, Any], meta) if isinstance(meta, dict) else {}
