"""From "provider:name" to whoever speaks: a vendor, a local server, or the understudy.

Importing this is cheap: the vendors' libraries are loaded by the first call that needs them.
"""

import asyncio
import difflib
import math
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from moot.errors import (
    WARN_PROVIDER_NORMALIZED,
    InputError,
    ProviderAbsentError,
    ProviderAuthError,
    ProviderError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    ProviderUnknownModelError,
)
from moot.models.cards import UNKNOWN_WINDOW, local_card, vendor_card
from moot.models.local.embedded import Embedded
from moot.models.local.servers import LocalServer, Server
from moot.models.local.small import retold
from moot.models.local.weights import Model
from moot.models.providers import VENDORS, Providers, Vendor, VendorId, shown, then
from moot.ports import Call, ModelCard, ProviderStatus, Reply, Say, Speaker

if TYPE_CHECKING:
    from moot.models.clients import Clients
    from moot.models.speak import Line

__all__ = ["UNDERSTUDY", "ProviderStatus", "Providers", "Router", "defaults", "normalize"]

UNDERSTUDY = "local:understudy"
_MAX_NAME = 200
_ALIASES: dict[str, VendorId] = {"anthropic": "claude", "google": "gemini"}
_RING: Sequence[VendorId] = (
    "claude",
    "openai",
    "gemini",
)  # in which seats without a model take them


def normalize(model: str) -> tuple[str, str | None]:
    """The canonical "provider:name"; there is never a warning, see `Router.bend`.

    A bare provider gives its default model; a bare `local` stays, for what it means is found out
    when it speaks. An unknown provider is an InputError that names the nearest one.
    """
    provider, name = _parts(model)
    vendor = _vendor(provider)
    if vendor is None:
        known = [*VENDORS, *_ALIASES]
        nearest = difflib.get_close_matches(provider.lower(), known, 1, cutoff=0.0)[0]
        raise InputError(
            f'There is no provider "{provider}"; the nearest is {nearest}. '
            f'A model is "provider:name", and the providers are {", ".join(VENDORS)}.',
            field="model",
        )
    name = name or vendor.default
    return (f"{vendor.id}:{name}" if name else vendor.id), None


def defaults(providers: Providers) -> tuple[str, ...]:
    """The models of seats that name none, to be taken in turn: the one that was set, else those of
    the vendors that have a key, else `local`."""
    if providers.default_model:
        return (normalize(providers.default_model)[0],)
    keyed = [normalize(vendor)[0] for vendor in _RING if providers.key(vendor)]
    return tuple(keyed) or ("local",)


def _parts(model: str) -> tuple[str, str]:
    """The provider and the name, which may be empty."""
    if not model.strip() or len(model) > _MAX_NAME or not model.isprintable():
        raise InputError(
            f'A model is "provider:name", up to {_MAX_NAME} printable characters, '
            'for example "claude" or "openai:gpt-5-mini".',
            field="model",
        )
    provider, _, name = (part.strip() for part in model.partition(":"))
    return provider, name


def _vendor(provider: str) -> Vendor | None:
    wanted = provider.lower()
    wanted = _ALIASES.get(wanted, wanted)
    return next((vendor for vendor in VENDORS.values() if vendor.id == wanted), None)


class Router:
    """The Speaker that the engine sees."""

    def __init__(self, providers: Providers, understudy: Speaker, home: Path | None = None) -> None:
        self.providers = providers
        self.defaults = defaults(providers)
        self.embedded = Embedded(home, self._load)
        self._understudy = understudy
        self._local = LocalServer(providers.base_url("local"), self._fetch)
        self._clients: Clients | None = None
        self._ollama: dict[str, int] = {}  # the windows of its models, as they are asked for
        self._queues: dict[tuple[str, int], asyncio.Semaphore] = {}

    def card(self, model: str) -> ModelCard:
        """What is known of a model. Of a local server, what the last look at it told."""
        try:
            vendor, name = self._resolve(model)
        except InputError:
            return ModelCard(model, UNKNOWN_WINDOW, None, None)  # whoever calls it is told
        if vendor.id != "local":
            return vendor_card(vendor.id, name)
        server = self._local.known
        if f"local:{name}" == UNDERSTUDY:
            return self._understudy.card(UNDERSTUDY)
        if own := self._own(name, server):
            return self.embedded.card(own)
        if not name and self._local.base_url is None and self._local.looked and server is None:
            return self._understudy.card(UNDERSTUDY)
        name = name or (server.first if server else None) or ""
        window = server.windows.get(name) if server else None
        small = server is not None and name in server.small
        return local_card(name, self._ollama.get(name) or window, small)

    async def speak(self, call: Call, say: Say) -> Reply:
        """Speak one call, whoever it is for."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            vendor, name = self._resolve(call.model)
        except InputError as error:
            raise ProviderUnknownModelError(error.message) from None
        try:
            async with asyncio.timeout_at(began + call.seconds):
                voice = await self._voice(vendor, name)
        except TimeoutError:
            raise ProviderTimeoutError(vendor.silent(call.seconds)) from None
        except ProviderAuthError as error:  # there is no key to call with
            error.args = (error.message + then(self.providers.place, call.debate.id),)
            raise
        if voice is None:
            return await self._understudy.speak(replace(call, model=UNDERSTUDY), say)
        if isinstance(voice, Model):
            return await self.embedded.speak(voice, call, say)
        from moot.models.speak import speak  # loaded by now, see _load

        if voice.card.small:
            call = retold(call)
        queue = self._queue() if vendor.id == "local" else None
        if queue is None:
            return await speak(voice, call, say, began)
        call.allow(math.inf)
        async with queue:
            call.allow(call.seconds)
            return await speak(voice, call, say, loop.time())

    async def look(self) -> None:
        """See which local server there is, so that cards tell of its models."""
        await self._local.find()

    async def bend(self, model: str) -> tuple[str, str | None]:
        """The canonical "provider:name"; an unknown provider becomes `local`, with a warning.

        The name is kept if a local server can be asked for it.
        """
        provider, name = _parts(model)
        if _vendor(provider):
            return normalize(model)
        server = await self._local.find() if name else None
        known = ", ".join(VENDORS)
        if server:
            instead = f"the local server is asked for {name} in its place"
        elif name:
            instead = f"local speaks in its place (no server was found that could speak {name})"
        else:
            instead = "local speaks in its place"
        return (f"local:{name}" if server else "local"), (
            f'{WARN_PROVIDER_NORMALIZED}: there is no provider "{provider}" (there are {known}), '
            f"so {instead}."
        )

    async def describe(self, measure: bool = False) -> list[ProviderStatus]:
        """What works here, and what to set where it does not. No vendor is called; the model of
        this machine is, if it is to be measured."""
        if measure and self._own("", await self._local.find()):
            try:
                await self.embedded.measure()
            except ProviderError as error:
                broken = ProviderStatus("local", False, "local", error.message)
                return [*map(self._describe, self._keyed()), broken]
        vendors = map(self._describe, self._keyed())
        return [*vendors, await self._describe_local()]

    async def aclose(self) -> None:
        """Close all connections."""
        await self.embedded.aclose()
        clients, self._clients = self._clients, None
        if clients:
            await clients.aclose()

    def _resolve(self, model: str) -> tuple[Vendor, str]:
        canonical, _ = normalize(model or self.defaults[0])
        provider, _, name = canonical.partition(":")
        return VENDORS[cast(VendorId, provider)], name

    def _own(self, name: str, server: Server | None) -> Model | None:
        """The model of this machine, where it is what is meant: no server was set or found, or
        none that has a model of that name."""
        if self._local.base_url or (server and not name):
            return None
        model = self.embedded.chosen()
        if model is None or name not in ("", model.name) or (server and name in server.windows):
            return None
        return model

    def _queue(self) -> asyncio.Semaphore | None:
        """Where calls wait for a local server that answers so many at once."""
        server = self._local.known
        if server is None or server.slots is None:
            return None
        place = server.base_url, server.slots
        return self._queues.setdefault(place, asyncio.Semaphore(server.slots))

    async def _voice(self, vendor: Vendor, name: str) -> "Line | Model | None":
        """The model at the other end, or of this machine; None where the understudy steps in."""
        base_url: str | None = None
        windows: dict[str, int] | None = None
        if vendor.id == "local":
            place = await self._local_model(name)
            if place is None or isinstance(place, Model):
                return place
            base_url, name = place
            if self._local.known and self._local.known.kind == "Ollama":
                windows = await self._ollama_windows(base_url, name)
        clients = await self._load()
        from moot.models.speak import Line

        model = await clients.model(vendor.id, name, base_url, windows=windows)
        card = self.card(f"{vendor.id}:{name}")
        return Line(model, vendor, name, card, place=self.providers.place)

    async def _ollama_windows(self, base_url: str, name: str) -> dict[str, int]:
        if name not in self._ollama:
            clients = await self._load()
            from moot.models.vendors.ollama import look_up

            if window := await look_up(clients.http("local"), base_url, name):
                self._ollama[name] = window
        return self._ollama

    async def _local_model(self, name: str) -> tuple[str, str] | Model | None:
        """Where a local model is served, and its name; or the model of this machine."""
        if f"local:{name}" == UNDERSTUDY:
            return None
        server = await self._local.find()
        if name and self._local.base_url:
            return self._local.base_url, name
        if model := self._own(name, server):
            return model
        if server and (name or server.first):
            return server.base_url, name or server.first or ""
        if self._local.base_url:
            raise ProviderUnavailableError(
                "The local server could not be reached, or has no model. "
                "Start it, or change MOOT_LOCAL_BASE_URL, then restart the speaker."
            )
        if name:
            gone = ProviderUnavailableError if self._local.seen else ProviderAbsentError
            raise gone(f"{self.embedded.missing(name)} Then restart the speaker.")
        return None

    async def _load(self) -> "Clients":
        """The vendors' clients. Their libraries take a second to import: not on the loop's time."""
        if self._clients is None:
            clients = await asyncio.to_thread(_load_clients, self.providers)
            if self._clients is None:  # nobody was faster
                self._clients = clients
        return self._clients

    async def _fetch(self, url: str, seconds: float) -> Any:
        clients = await self._load()
        answer = await clients.http("local").get(url, timeout=seconds)
        return answer.raise_for_status().json()

    def _keyed(self) -> list[Vendor]:
        return [vendor for vendor in VENDORS.values() if vendor.key]

    def _describe(self, vendor: Vendor) -> ProviderStatus:
        model = f"{vendor.id}:{vendor.default}"
        if self.providers.key(vendor.id):
            return ProviderStatus(vendor.id, True, model, f"{vendor.key} is set.")
        detail = f"Set {vendor.key} to let {vendor.name} speak."
        return ProviderStatus(vendor.id, False, model, detail)

    async def _describe_local(self) -> ProviderStatus:
        server = await self._local.find()
        if server and server.first:
            models = f"{len(server.windows)} model{'s' if len(server.windows) > 1 else ''}"
            who = server.kind or "A server"
            detail = f"{who} with {models} answers at {shown(server.base_url)}."
            small = server.first in server.small
            return ProviderStatus("local", True, f"local:{server.first}", detail, small)
        if self._local.base_url:
            detail = (
                f"No server with a model answers at {shown(self._local.base_url)}. "
                "Start it, or change MOOT_LOCAL_BASE_URL."
            )
            return ProviderStatus("local", False, "local", detail)
        vendor, wanted = self._resolve("")
        model = f"{vendor.id}:{wanted}"
        named = vendor.id == "local" and wanted and model != UNDERSTUDY
        if named and not self._own(wanted, server):
            return ProviderStatus("local", False, model, self.embedded.missing(wanted))
        if status := self.embedded.describe():
            return status
        detail = (
            "No local server was found, so `local` is the understudy, which is not a model. "
            "Fetch a model with `moot model fetch`, start Ollama or llama.cpp, or set "
            "MOOT_LOCAL_BASE_URL."
        )
        return ProviderStatus("local", True, UNDERSTUDY, detail, small=True)


def _load_clients(providers: Providers) -> "Clients":
    import_module("moot.models.speak")  # so that who asks for it later finds it loaded
    from moot.models.clients import Clients

    return Clients(providers)
