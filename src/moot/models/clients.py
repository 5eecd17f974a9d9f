"""The vendors' clients: made once, on first use, and shared by all calls.

Each SDK costs half a second or more to import, so each is imported when it is first needed, in a
thread, and never by importing this package.
"""

import asyncio
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import httpx2
from pydantic_ai.models import Model

from moot.errors import ProviderAbsentError, ProviderAuthError
from moot.extras import install
from moot.models.cards import importing
from moot.models.connection import http_client
from moot.models.providers import Providers, Vendor, with_path
from moot.models.vendors import Make
from moot.models.vendors.ollama import Translator

_MODELS_KEPT = 128  # names come from requests, so they must not pile up


class Clients:
    """One HTTP client for the vendors, one for local servers, one SDK client per vendor."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._http: dict[bool, httpx2.AsyncClient] = {}
        self._opening = threading.Lock()
        self._make: dict[str, Make] = {}
        self._models: dict[tuple[str, str], Model[Any]] = {}

    def http(self, *, local: bool = False) -> httpx2.AsyncClient:
        """The client for a vendor or a server. A local server is never reached through a proxy, and
        over a new connection each time: llama.cpp closes one that it has kept just when it is used
        again, and a new one costs nothing there."""
        outside = not local
        with self._opening:
            if outside not in self._http:
                self._http[outside] = http_client(trust_env=outside, kept=100 if outside else 0)
            return self._http[outside]

    async def model(
        self,
        vendor: Vendor,
        name: str,
        base_url: str = "",
        key: str = "none",
        windows: Mapping[str, int] | None = None,
    ) -> Model[Any]:
        """The model to call; `base_url` and `key` are a local server's, `windows` an Ollama's."""
        place = f"{vendor.name} {base_url}"
        if (place, name) not in self._models:
            if place not in self._make:
                _keep(self._make)  # a child listens elsewhere each time
                await asyncio.to_thread(self._prepare, place, vendor, base_url, key, windows)
            _keep(self._models)
            self._models[place, name] = self._make[place](name)
        return self._models[place, name]

    async def aclose(self) -> None:
        """Close every connection."""
        self._models.clear()
        self._make.clear()
        clients, self._http = list(self._http.values()), {}
        for client in clients:
            await client.aclose()

    def _prepare(
        self, place: str, vendor: Vendor, url: str, key: str, windows: Mapping[str, int] | None
    ) -> None:
        with importing:
            if place in self._make:
                return
            http = self.http(local=vendor.local)
            if vendor.reads:
                self._make[place] = self._connect(vendor, http)
                return
            if not vendor.local:
                key = key_of(self._providers, vendor) if vendor.keys else "none"
                url = url_of(self._providers, vendor)
            if windows is not None:
                http = http_client(trust_env=False, transport=Translator(http, url, windows))
            api = import_module(f"moot.models.vendors.{vendor.api}")
            self._make[place] = api.connect(vendor, key, url, http)

    def _connect(self, vendor: Vendor, http: httpx2.AsyncClient) -> Make:
        """A vendor whose module knows which of several variables it needs, and its address."""
        known = self._providers
        key = key_of(known, vendor) if known.key(vendor.name) else ""
        try:
            api = import_module(f"moot.models.vendors.{vendor.api}")
        except ImportError:
            if not vendor.extra:
                raise
            raise ProviderAbsentError(
                f"{vendor.opening} needs a package that is not installed. "
                f"{install(vendor.extra)}, then restart the speaker."
            ) from None
        url = known.base_url(vendor.name) or ""
        return api.connect(vendor, key, url, http, known.more.get(vendor.name, {}))


def _keep(cache: dict[Any, Any]) -> None:
    """Make room for one more: the oldest go."""
    while len(cache) >= _MODELS_KEPT:
        del cache[next(iter(cache))]


def url_of(providers: Providers, vendor: Vendor) -> str:
    """The address, or an error that names the variable; its sentence is ended by the router."""
    url = providers.base_url(vendor.name) or vendor.address
    if not url:
        raise ProviderAuthError(f"There is no address for {vendor.label}. Set {vendor.url}")
    return with_path(url, vendor.path) if vendor.path else url


def key_of(providers: Providers, vendor: Vendor) -> str:
    """The key, or an error that names the variable; its sentence is ended by the router. A key that
    no header can hold is refused here: the HTTP library would put it into its message."""
    key = providers.key(vendor.name)
    if key is None:
        raise ProviderAuthError(f"There is no key for {vendor.label}. Set {vendor.key}")
    if not (key.isascii() and key.isprintable()):
        raise ProviderAuthError(
            f"The key for {vendor.label} holds characters that no key has. Set {vendor.key} anew"
        )
    return key
