"""From "provider:name" to whoever speaks: a vendor, a local server, or the understudy.

Importing this is cheap: the vendors' libraries are loaded by the first call that needs them.
"""

import asyncio
import logging
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from moot.core.effort import BETWEEN, bare, joined, parted
from moot.core.voices import UNDERSTUDY, check_choices, choices
from moot.errors import (
    WARN_PROVIDER_NORMALIZED,
    InputError,
    ProviderAbsentError,
    ProviderAuthError,
    ProviderError,
    ProviderRejectedError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    ProviderUnknownModelError,
)
from moot.models.cards import UNKNOWN_WINDOW, importing, known_names, local_card, vendor_card
from moot.models.local.embedded import Embedded
from moot.models.local.servers import LocalServer, Server
from moot.models.local.small import retold
from moot.models.local.weights import Model
from moot.models.providers import (
    LOCAL,
    Part,
    Providers,
    Vendor,
    shown,
    split,
    then,
)
from moot.ports.available_models import Offers, ProviderStatus
from moot.ports.model_call import Call, ModelCard, Reply, Say, Speaker

if TYPE_CHECKING:
    from httpx2 import AsyncClient

    from moot.models.clients import Clients
    from moot.models.offers import Catalogue
    from moot.models.speak import Line

_log = logging.getLogger(__name__)


class Router:
    """The Speaker that the engine sees."""

    def __init__(self, providers: Providers, understudy: Speaker, home: Path | None = None) -> None:
        self.providers = providers
        self.embedded = Embedded(home, self._load)
        self._understudy = understudy
        self._table = providers.table
        self._local = LocalServer(providers.base_url(LOCAL), self._fetch)
        self._servers = {  # those that have a name of their own
            row.name: LocalServer(providers.base_url(row.name) or row.address, self._fetch)
            for row in self._table
            if row.local and row.name != LOCAL
        }
        self._clients: Clients | None = None
        self._windows: dict[str, dict[str, int]] = {}  # of Ollamas' models, as they are asked for
        self._queues: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._thoughtless: set[str] = set()  # models that turned out unable to think
        self._without: dict[str, frozenset[Part]] = {}  # what models turned out not to take
        self._catalogue: Catalogue | None = None

    def defaults(self) -> tuple[str, ...]:
        """The models of seats that name none, in turn, as the settings are now."""
        return self.providers.defaults()

    def card(self, model: str) -> ModelCard:
        """What is known of a model. Of a local server, what the last look at it told."""
        try:
            vendor, name = self._resolve(model)
        except InputError:
            return ModelCard(model, UNKNOWN_WINDOW, None, None)  # whoever calls it is told
        if not vendor.local:
            card = vendor_card(vendor, name)
            if "effort" in self._without.get(card.model, ()):
                card = replace(card, steered=False)
            return replace(card, least=None) if card.model in self._thoughtless else card
        if vendor.name != LOCAL:
            return self._served_card(vendor, name)
        server = self._local.known
        if f"{LOCAL}:{name}" == UNDERSTUDY:
            return self._understudy.card(UNDERSTUDY)
        if own := self._own(name, server):
            return self.embedded.card(own)
        if not name and self._local.base_url is None and self._local.looked and server is None:
            return self._understudy.card(UNDERSTUDY)
        if server is None:
            return local_card(name)
        name = name or server.first or ""
        window = self._window(server, name)
        return local_card(name, window, name in server.small)

    async def speak(self, call: Call, say: Say) -> Reply:
        """Speak one call, whoever it is for."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            vendor, name = self._resolve(call.model)
        except InputError as error:
            raise ProviderUnknownModelError(error.message) from None
        if vendor.command:
            return await self._run(vendor, name, call, say)
        try:
            async with asyncio.timeout_at(began + call.seconds):
                voice = await self._voice(vendor, name)
        except TimeoutError:
            raise ProviderTimeoutError(
                f"{vendor.opening} said nothing for {call.seconds:g} seconds. "
                "Restart the speaker to try again."
            ) from None
        except ProviderAuthError as error:  # there is no key to call with
            error.args = (error.message + then(self.providers.place, call.debate.id),)
            raise
        if voice is None:
            return await self._understudy.speak(replace(call, model=UNDERSTUDY), say)
        if isinstance(voice, Model):
            return await self.embedded.speak(voice, call, say)
        if voice.card.small:
            call = retold(call)
        queue = self._queue(vendor) if vendor.local else None
        try:
            if queue is None:
                return await self._hear(voice, call, say, began)
            call.allow(math.inf)
            async with queue:
                call.allow(call.seconds)
                return await self._hear(voice, call, say, loop.time())
        except ProviderUnknownModelError as error:
            if near := await (await self._offering()).near(vendor, voice.name):
                error.args = (error.message.replace('". ', f'". {near} ', 1),)
            raise

    async def _run(self, vendor: Vendor, name: str, call: Call, say: Say) -> Reply:
        """The answer of a command-line program."""
        from moot.models import program  # it takes the sentences of vendors' errors, see _load

        card, after = self.card(call.model), then(self.providers.place, call.debate.id)
        known = self.providers.environment
        return await program.speak(vendor, name, card, call, say, known, after)

    async def _hear(self, voice: "Line", call: Call, say: Say, began: float) -> Reply:
        """The answer. A vendor may refuse a call for a part of it that moot can do without, or for
        its effort: then it is called without, and if that works, it is never asked for that again.
        Each of them is left out once, so the calls are few; those that were refused cost nothing.
        """
        from moot.models.speak import speak  # loaded by now, see _load

        model, thinks = voice.card.model, True
        voice = replace(voice, without=self._without.get(model, voice.without))
        while True:
            try:
                reply = await speak(voice, call, say, began)
                break
            except ProviderRejectedError as error:
                part = next((one for one in get_args(Part) if one == error.blamed), None)
                hard = call.effort not in (None, "none") and voice.card.least is not None
                if part is None and hard and voice.vendor.effort:
                    part = "effort"  # it may think all the same, and keeps the room for it
                if part and part not in voice.without:
                    voice = replace(voice, without=voice.without | {part})
                elif hard and not voice.vendor.effort:
                    voice = replace(voice, card=replace(voice.card, least=None))
                    call, thinks = replace(call, effort=None), False
                else:
                    raise
            call.allow(math.inf)
            call.allow(call.seconds)
            began = asyncio.get_running_loop().time()
        if voice.without:
            self._without[model] = voice.without
        if not thinks:
            self._thoughtless.add(model)
        return reply

    async def look(self) -> None:
        """See which local server there is, so that cards tell of its models."""
        await self._local.find()

    async def bend(self, model: str) -> tuple[str, str | None]:
        """Like the table's `normalize`, but an unknown provider becomes `local`, with a warning.

        The name is kept if a local server can be asked for it. Of several choices, each is bent.
        """
        bent = [await self._bend(one) for one in choices(model)]
        named = [one for one, _ in bent]
        check_choices(named)
        return BETWEEN.join(named), next((warning for _, warning in bent if warning), None)

    async def _bend(self, model: str) -> tuple[str, str | None]:
        asked, effort = parted(model)
        provider, name = split(asked)
        if self._table.find(provider):
            return self._table.normalize(model)
        server = await self._local.find() if name else None
        instead = "local speaks in its place"
        if server:
            instead = f"the local server is asked for {name} in its place"
        elif name:
            instead += f" (no server was found that could speak {name})"
        return joined(f"{LOCAL}:{name}" if server else LOCAL, effort), (
            f'{WARN_PROVIDER_NORMALIZED}: there is no provider "{provider}" '
            f"(there are {', '.join(self._table.rows)}), so {instead}."
        )

    async def offers(self, provider: str | None = None) -> list[Offers]:
        """What each provider that is set up offers, or one of all that there are."""
        return await (await self._offering()).offers(provider)

    async def wrong(self, models: Iterable[str]) -> dict[str, str]:
        """Which of these models seem misspelt, and what may be meant."""
        doubtful = await asyncio.to_thread(lambda: [*filter(self._is_doubtful, set(models))])
        return await (await self._offering()).wrong(doubtful) if doubtful else {}

    def _is_doubtful(self, model: str) -> bool:
        """Whether a vendor that can be asked would be asked for a model that moot does not know."""
        try:
            vendor, name = self._resolve(model)
        except InputError:
            return False  # whoever reads it says so
        if vendor.local or vendor.command:
            return False
        if vendor.key and not self.providers.reachable(vendor):
            return False
        return name not in known_names(vendor)

    async def _offering(self) -> "Catalogue":
        if self._catalogue is None:
            await self._load()
            from moot.models.offers import Catalogue

            self._catalogue = Catalogue(self.providers, self._http, self._find, self.card)
        return self._catalogue

    async def _http(self) -> "AsyncClient":
        return (await self._load()).http()

    async def _find(self, vendor: Vendor) -> Server | None:
        return await self._server(vendor).find()

    async def describe(self, measure: bool = False) -> list[ProviderStatus]:
        """What works here, and what to set if it does not. No vendor is called; the model of this
        machine is, if it is to be measured."""
        local: ProviderStatus | None = None
        if measure and self._own("", await self._local.find()):
            try:
                await self.embedded.measure()
            except ProviderError as error:
                local = ProviderStatus(LOCAL, False, LOCAL, error.message)
        own = [one for one in self._table if one.local and self._is_set(one)]
        local = local or await self._describe_local()
        return [
            *(self._describe(one) for one in self._table if one.key and self._is_shown(one)),
            *(one for row in self._table if row.command and (one := self._describe_program(row))),
            *(self._describe_open(one) for one in self._table if one.open),
            *[await self._describe_server(one) for one in own],
            *(ProviderStatus(name, False, name, why) for name, why in self._table.problems.items()),
            self._told_of(local),
        ]

    def _told_of(self, local: ProviderStatus) -> ProviderStatus:
        """What else is known of `local`: the models to choose from, or what to do for one."""
        own = (local.model,) if ":" in local.model else ()
        models = _served(LOCAL, self._local.known) or own
        fix = "" if local.works else f"export {self._table[LOCAL].url}=…"
        fix = "moot model fetch" if local.model == UNDERSTUDY else fix
        return replace(local, label="Local models", models=models, fix=fix)

    def _is_shown(self, vendor: Vendor) -> bool:
        """Whether a provider is told of before it is asked for: it has a key, or is the user's own,
        or one of the first that people try."""
        known = vendor.url != ""
        return not known or 0 < vendor.preference <= 3 or self.providers.reachable(vendor)

    def _is_set(self, vendor: Vendor) -> bool:
        """Whether somebody said where that server is; of the usual places, `local` tells."""
        own = not vendor.url or self.providers.base_url(vendor.name) is not None
        return own and vendor.name != LOCAL

    async def warm(self) -> None:
        """Load what the vendors need that have a key, in a thread: seconds that nobody waits for
        later. What cannot be loaded is told of by the first call that needs it."""
        began = asyncio.get_running_loop().time()
        loaded: list[str] = []
        for vendor in self._table:
            if vendor.local or self.providers.key(vendor.name) is None:
                continue
            name = vendor.model or "any"
            with suppress(Exception):
                clients = await self._load()
                await clients.model(vendor, name)
                await asyncio.to_thread(self.card, f"{vendor.name}:{name}")
                loaded.append(vendor.label)
        if loaded:
            seconds = asyncio.get_running_loop().time() - began
            _log.info("%s can speak at once, loaded in %.1f s", ", ".join(loaded), seconds)

    async def aclose(self) -> None:
        """Close all connections."""
        await self.embedded.aclose()
        clients, self._clients = self._clients, None
        if clients:
            await clients.aclose()

    def _resolve(self, model: str) -> tuple[Vendor, str]:
        return self._table.resolve(bare(choices(model or self.defaults()[0])[0]))

    def _own(self, name: str, server: Server | None) -> Model | None:
        """The model of this machine, if it is what is meant: no server was set or found, or none
        that has a model of that name."""
        if self._local.base_url or (server and not name):
            return None
        model = self.embedded.chosen()
        if model is None or name not in ("", model.name) or (server and name in server.windows):
            return None
        return model

    def _server(self, vendor: Vendor) -> LocalServer:
        return self._servers.get(vendor.name, self._local)

    def _window(self, server: Server, name: str) -> int | None:
        return self._windows.get(server.base_url, {}).get(name) or server.windows.get(name)

    def _served_card(self, vendor: Vendor, name: str) -> ModelCard:
        """The card of a model on a server that has a name of its own."""
        server = self._server(vendor).known
        if server is None:
            return local_card(name, vendor.window, provider=vendor.name)
        name = name or server.first or ""
        window = self._window(server, name)
        small = name in server.small
        return local_card(name, vendor.window or window, small, vendor.name)

    def _queue(self, vendor: Vendor) -> asyncio.Semaphore | None:
        """Where calls wait for a local server that answers so many at once."""
        server = self._server(vendor).known
        if server is None or server.slots is None:
            return None
        place = server.base_url, server.slots
        return self._queues.setdefault(place, asyncio.Semaphore(server.slots))

    async def _voice(self, vendor: Vendor, name: str) -> "Line | Model | None":
        """The model at the other end, or of this machine; None if the understudy steps in."""
        base_url, windows = "", None
        if vendor.local:
            own = vendor.name == LOCAL
            place = await (self._local_model(name) if own else self._served_model(vendor, name))
            if place is None or isinstance(place, Model):
                return place
            base_url, name = place
            known = self._server(vendor).known
            if known and known.kind == "Ollama":
                windows = await self._ollama_windows(base_url, name)
        name = name or await (await self._offering()).first(vendor)
        clients = await self._load()
        from moot.models.speak import Line

        model = await clients.model(vendor, name, base_url, windows=windows)
        card = self.card(f"{vendor.name}:{name}")
        return Line(model, vendor, name, card, place=self.providers.place)

    async def _ollama_windows(self, base_url: str, name: str) -> dict[str, int]:
        known = self._windows.setdefault(base_url, {})
        if name not in known:
            clients = await self._load()
            from moot.models.vendors.ollama import look_up

            if window := await look_up(clients.http(local=True), base_url, name):
                known[name] = window
        return known

    async def _served_model(self, vendor: Vendor, name: str) -> tuple[str, str]:
        """Where a server that has a name of its own is, and its model."""
        place = self._server(vendor)
        if name and place.base_url:
            await place.find()  # so that its card and its slots are known
            return place.base_url, name
        server = await place.find()
        if server and server.first:
            return server.base_url, server.first
        raise ProviderUnavailableError(self._unserved(vendor) + ", then restart the speaker.")

    def _unserved(self, vendor: Vendor) -> str:
        place, mend = shown(self._server(vendor).base_url or ""), f"set {vendor.url}"
        if not vendor.url:
            mend = "change its base_url"
        return f"{vendor.opening} does not answer at {place}, or has no model. Start it, or {mend}"

    async def _describe_server(self, vendor: Vendor) -> ProviderStatus:
        server = await self._server(vendor).find()
        if server and server.first:
            detail = f"{vendor.opening} answers at {shown(server.base_url)}."
            small = server.first in server.small
            model = vendor.model or server.first
            models = _served(vendor.name, server)
            return ProviderStatus(
                vendor.name, True, f"{vendor.name}:{model}", detail, small, vendor.label, models
            )
        fix = f"export {vendor.url}=…" if vendor.url else ""
        detail = f"{self._unserved(vendor)}."
        return ProviderStatus(vendor.name, False, vendor.name, detail, label=vendor.label, fix=fix)

    async def _local_model(self, name: str) -> tuple[str, str] | Model | None:
        """Where a local model is served, and its name; or the model of this machine."""
        if f"{LOCAL}:{name}" == UNDERSTUDY:
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
        answer = await clients.http(local=True).get(url, timeout=seconds)
        return answer.raise_for_status().json()

    def _describe(self, vendor: Vendor) -> ProviderStatus:
        works = self.providers.reachable(vendor)
        named = vendor.keys[0] if self.providers.key(vendor.name) else self._stands(vendor)
        detail = f"{named} is set." if works else f"Set {vendor.key} to let {vendor.label} speak."
        status = ProviderStatus(vendor.name, works, self._table.normalize(vendor.name)[0], detail)
        fix = "" if works else f"export {(*vendor.keys, *vendor.instead)[0]}=…"
        return replace(status, label=vendor.label, models=vendor.offered, fix=fix)

    def _describe_open(self, vendor: Vendor) -> ProviderStatus:
        """An endpoint that costs money and has no key: whether it needs one, a call tells."""
        variable = re.sub(r"\W", "_", vendor.name).upper() + "_API_KEY"
        detail = (
            f"{vendor.opening} is called at {shown(vendor.address)} without a key. If it needs "
            f'one, add this line to [{vendor.name}] in providers.toml: key_env = "{variable}".'
        )
        model = self._table.normalize(vendor.name)[0]
        return ProviderStatus(
            vendor.name, True, model, detail, label=vendor.label, models=vendor.offered
        )

    def _stands(self, vendor: Vendor) -> str:
        """The variable that stands for a key."""
        told = self.providers.more.get(vendor.name, {})
        return next((name for name in vendor.instead if told.get(name)), "")

    def _describe_program(self, vendor: Vendor) -> ProviderStatus | None:
        """A command-line program, if it is installed; whether it is logged in, its call tells."""
        if not self.providers.reachable(vendor):
            return None
        detail = f"`{vendor.command}` is installed. Seats take it only by its name, {vendor.name}."
        models = vendor.offered or (vendor.name,)
        return ProviderStatus(
            vendor.name, True, vendor.name, detail, label=vendor.label, models=models
        )

    async def _describe_local(self) -> ProviderStatus:
        server = await self._local.find()
        if server and server.first:
            models = f"{len(server.windows)} model{'s' if len(server.windows) > 1 else ''}"
            who = server.kind or "A server"
            detail = f"{who} with {models} answers at {shown(server.base_url)}."
            small = server.first in server.small
            return ProviderStatus(LOCAL, True, f"{LOCAL}:{server.first}", detail, small)
        if self._local.base_url:
            detail = (
                f"No server with a model answers at {shown(self._local.base_url)}. "
                "Start it, or change MOOT_LOCAL_BASE_URL."
            )
            return ProviderStatus(LOCAL, False, LOCAL, detail)
        vendor, wanted = self._resolve("")
        model = f"{vendor.name}:{wanted}"
        named = vendor.name == LOCAL and wanted and model != UNDERSTUDY
        if named and not self._own(wanted, server):
            return ProviderStatus(LOCAL, False, model, self.embedded.missing(wanted))
        if status := self.embedded.describe():
            return status
        detail = (
            "No local server was found, so `local` is the understudy, which is not a model. "
            "Fetch a model with `moot model fetch`, start Ollama or llama.cpp, or set "
            "MOOT_LOCAL_BASE_URL."
        )
        return ProviderStatus(LOCAL, True, UNDERSTUDY, detail, small=True)


def _served(provider: str, server: Server | None) -> tuple[str, ...]:
    """The models of a server, as "provider:name"."""
    return tuple(f"{provider}:{name}" for name in server.windows) if server else ()


def _load_clients(providers: Providers) -> "Clients":
    with importing:
        import_module("moot.models.speak")  # so that who asks for it later finds it loaded
        from moot.models.clients import Clients

    return Clients(providers)
