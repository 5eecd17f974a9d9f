"""From "provider:name" to whoever speaks: a vendor, a local server, or the understudy.

Importing this is cheap: the vendors' libraries are loaded by the first call that needs them.
"""

import asyncio
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from moot.errors import (
    WARN_PROVIDER_NORMALIZED,
    InputError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    ProviderUnknownModelError,
)
from moot.models.cards import local_card, vendor_card
from moot.models.local import LocalServer
from moot.models.vendors import VENDORS, Providers, Vendor, VendorId, shown
from moot.ports import Call, ModelCard, ProviderStatus, Reply, Say, Speaker

if TYPE_CHECKING:
    from moot.models.clients import Clients
    from moot.models.speak import Line

__all__ = ["UNDERSTUDY", "ProviderStatus", "Providers", "Router", "normalize"]

UNDERSTUDY = "local:understudy"
_MAX_NAME = 200
_ALIASES: dict[str, VendorId] = {"anthropic": "claude", "google": "gemini"}


def normalize(model: str) -> tuple[str, str | None]:
    """The canonical "provider:name", and a warning where the provider is unknown.

    A bare provider gives its default model; a bare `local` stays, for what it means is found out
    when it speaks.
    """
    if not model.strip() or len(model) > _MAX_NAME or not model.isprintable():
        raise InputError(
            f'A model is "provider:name", up to {_MAX_NAME} printable characters, '
            'for example "claude" or "openai:gpt-5-mini".',
            field="model",
        )
    provider, _, name = (part.strip() for part in model.partition(":"))
    vendor = _vendor(provider)
    if vendor is None:
        known = ", ".join(VENDORS)
        return "local", (
            f'{WARN_PROVIDER_NORMALIZED}: there is no provider "{provider}" (there are {known}), '
            "so local speaks in its place."
        )
    name = name or vendor.default
    return (f"{vendor.id}:{name}" if name else vendor.id), None


def _vendor(provider: str) -> Vendor | None:
    wanted = provider.lower()
    wanted = _ALIASES.get(wanted, wanted)
    return next((vendor for vendor in VENDORS.values() if vendor.id == wanted), None)


class Router:
    """The Speaker that the engine sees."""

    def __init__(self, providers: Providers, understudy: Speaker) -> None:
        self.providers = providers
        self._understudy = understudy
        self._local = LocalServer(providers.base_url("local"), self._fetch)
        self._clients: Clients | None = None

    def card(self, model: str) -> ModelCard:
        """What is known of a model. Of a local server, what the last look at it told."""
        vendor, name = self._resolve(model)
        if vendor.id != "local":
            return vendor_card(vendor.id, name)
        server = self._local.known
        if f"local:{name}" == UNDERSTUDY or (
            not name and self._local.base_url is None and self._local.looked and server is None
        ):
            return self._understudy.card(UNDERSTUDY)
        name = name or (server.first if server else None) or ""
        return local_card(name, server.windows.get(name) if server else None)

    async def speak(self, call: Call, say: Say) -> Reply:
        """Speak one call, whoever it is for."""
        deadline = asyncio.get_running_loop().time() + call.seconds
        try:
            vendor, name = self._resolve(call.model)
        except InputError as error:
            raise ProviderUnknownModelError(error.message) from None
        try:
            async with asyncio.timeout_at(deadline):
                line = await self._line(vendor, name)
        except TimeoutError:
            raise ProviderTimeoutError(vendor.late(call.seconds)) from None
        if line is None:
            return await self._understudy.speak(replace(call, model=UNDERSTUDY), say)
        from moot.models.speak import speak  # loaded by now, see _load

        return await speak(line, call, say, deadline)

    async def describe(self) -> list[ProviderStatus]:
        """What works here, and what to set where it does not. No vendor is called."""
        vendors = [self._describe(vendor) for vendor in VENDORS.values() if vendor.key]
        return [*vendors, await self._describe_local()]

    async def aclose(self) -> None:
        """Close all connections."""
        clients, self._clients = self._clients, None
        if clients:
            await clients.aclose()

    def _resolve(self, model: str) -> tuple[Vendor, str]:
        canonical, _ = normalize(model or self.providers.default_model)
        provider, _, name = canonical.partition(":")
        return VENDORS[cast(VendorId, provider)], name

    async def _line(self, vendor: Vendor, name: str) -> "Line | None":
        """The model at the other end; None where the understudy steps in."""
        base_url: str | None = None
        if vendor.id == "local":
            place = await self._local_model(name)
            if place is None:
                return None
            base_url, name = place
        clients = await self._load()
        from moot.models.speak import Line

        model = await clients.model(vendor.id, name, base_url)
        return Line(model, vendor, name, self.card(f"{vendor.id}:{name}"))

    async def _local_model(self, name: str) -> tuple[str, str] | None:
        """Where a local model is served, and its name."""
        if f"local:{name}" == UNDERSTUDY:
            return None
        if name and self._local.base_url:
            return self._local.base_url, name
        server = await self._local.find()
        if server and (name or server.first):
            return server.base_url, name or server.first or ""
        if name or self._local.base_url:
            raise ProviderUnavailableError(
                "The local server could not be reached, or has no model. "
                "Start it, or set MOOT_LOCAL_BASE_URL, then restart the speaker."
            )
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
            detail = f"A server with {models} answers at {shown(server.base_url)}."
            return ProviderStatus("local", True, f"local:{server.first}", detail)
        if self._local.base_url:
            detail = (
                f"No server with a model answers at {shown(self._local.base_url)}. "
                "Start it, or change MOOT_LOCAL_BASE_URL."
            )
            return ProviderStatus("local", False, "local", detail)
        detail = (
            "No local server was found, so the built-in understudy speaks, which is no model. "
            "Start Ollama or llama.cpp, or set MOOT_LOCAL_BASE_URL."
        )
        return ProviderStatus("local", True, UNDERSTUDY, detail)


def _load_clients(providers: Providers) -> "Clients":
    import_module("moot.models.speak")  # so that who asks for it later finds it loaded
    from moot.models.clients import Clients

    return Clients(providers)
