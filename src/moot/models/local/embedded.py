"""The model of this machine: one that was fetched, run by llama.cpp, spoken to by all seats."""

import asyncio
import math
import subprocess
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from moot.core import answers
from moot.core.voices import UNDERSTUDY
from moot.errors import ProviderUnavailableError
from moot.extras import install
from moot.models.cards import local_card, small_file
from moot.models.local.bounds import Schema, bounded, unbroken
from moot.models.local.catalog import catalog
from moot.models.local.llama import Child, Llama, installed, window
from moot.models.local.small import retold
from moot.models.local.weights import NONE, Model, Shelf
from moot.models.providers import LOCAL, VENDORS
from moot.ports.available_models import ProviderStatus
from moot.ports.model_call import Call, ModelCard, Reply, Say

if TYPE_CHECKING:
    from moot.models.clients import Clients

VENDOR = VENDORS[LOCAL].model_copy(update={"label": "the model of this machine"})
_FRESH_SECONDS = 2.0  # how long a look at the shelf holds
_DEATH_SECONDS = 0.5  # for a process whose connection broke to be seen as gone
_MEASURE = "Count from one to forty in words, one word after the other, with commas between. " * 4
_MEASURE_TOKENS = 24
_MEASURE_SECONDS = 120.0

Load = Callable[[], Awaitable["Clients"]]
"""Gives the HTTP clients; their libraries are imported by the first who asks."""


class Embedded:
    """What `local` means if no server is there and a model was fetched."""

    def __init__(self, home: Path | None, load: Load, llama: Llama | None = None) -> None:
        self.llama = llama or Llama()
        self._shelf = Shelf(home) if home else None
        self._load = load
        self._chosen: Model | None = None
        self._looked = -math.inf
        self._speed: float | None = None  # tokens a second, if it was measured

    def chosen(self) -> Model | None:
        """The model that can be run here, if there is one and llama.cpp to run it."""
        if time.monotonic() - self._looked > _FRESH_SECONDS:
            self._chosen = self._shelf.chosen() if self._shelf and installed() else None
            self._looked = time.monotonic()
        return self._chosen

    def card(self, model: Model) -> ModelCard:
        known = next((one.languages for one in catalog() if one.name == model.name), ())
        card = local_card(model.name, window(model), small_file(model.path))
        return replace(card, languages=known)

    async def speak(self, model: Model, call: Call, say: Say) -> Reply:
        """Wait for a slot, then speak: the turn's time begins when the model listens."""
        call.allow(math.inf)
        clients = await self._load()
        from moot.models.speak import Line, speak  # loaded by now

        async with self.llama.slot(model) as child:
            model, card = child.model, self.card(child.model)
            call.allow(call.seconds)
            began = asyncio.get_running_loop().time()
            voice = await clients.model(VENDOR, model.name, child.base_url, child.key)
            if card.small:
                call = retold(call)
            if call.schema:
                call = replace(call, schema=bounded(call.schema, call.max_tokens))
            try:
                reply = await speak(Line(voice, VENDOR, model.name, card), call, say, began)
            except ProviderUnavailableError as error:
                if await asyncio.to_thread(_dead, child):
                    error.args = (child.gone(),)
                raise
        return _whole(reply, call.schema)

    async def measure(self) -> None:
        """Find out how fast it is: let it read and write a little."""
        model = self.chosen()
        if model is None:
            return
        clients = await self._load()
        asked = {
            "messages": [{"role": "user", "content": _MEASURE}],
            "max_tokens": _MEASURE_TOKENS,
            "cache_prompt": False,
        }
        async with self.llama.slot(model) as child:
            try:
                answer = await clients.http(local=True).post(
                    f"{child.base_url}/chat/completions",
                    json=asked,
                    headers={"Authorization": f"Bearer {child.key}"},
                    timeout=_MEASURE_SECONDS,
                )
                timings = answer.raise_for_status().json()["timings"]
                self._speed = float(timings["predicted_per_second"])
            except Exception as error:  # whatever the wire does, it cannot be measured now
                gone = await asyncio.to_thread(_dead, child)
                said = child.gone() if gone else f"{model.name} could not be measured."
                raise ProviderUnavailableError(said) from error

    def describe(self) -> ProviderStatus | None:
        """Its status; None if no model was fetched."""
        model = self.chosen()
        if model is None:
            return self._unused()
        slots = self.llama.size.slots
        seats = "one seat after the other" if slots == 1 else f"{slots} seats at once"
        measured = f"; {self._speed:.3g} tokens a second were measured" if self._speed else ""
        detail = f"No server was found, so llama.cpp runs {model.name} here, {seats}{measured}."
        return ProviderStatus(LOCAL, True, f"{LOCAL}:{model.name}", detail, small_file(model.path))

    async def aclose(self) -> None:
        await self.llama.aclose()

    def missing(self, name: str) -> str:
        """What to do for a model of that name to speak if there is no server."""
        here = self._shelf and any(model.name == name for model in self._shelf.models())
        if here and not installed():
            return f"{name} is here, but llama.cpp is not. {install('llama')}"
        if here:
            return f"{name} is here, but not in use. Put it in use with `moot model use {name}`."
        return (
            f"No local server was found, and no model {name!r} is on this machine. "
            "`moot model list` shows those that are here or can be fetched; or start the server, "
            "or set MOOT_LOCAL_BASE_URL."
        )

    def _unused(self) -> ProviderStatus | None:
        """The status of a model that is here and does not speak."""
        shelf = self._shelf
        model = (shelf.chosen() or next(iter(shelf.models()), None)) if shelf else None
        if shelf is None or model is None:
            return None
        wanted = shelf.wanted()
        why, mend = "not in use", f"Put it in use with `moot model use {model.name}`."
        if not installed():
            why, mend = "llama.cpp is not", install("llama")
        elif wanted and wanted != NONE:
            why = f"in use is {wanted}, which is gone or not a GGUF file"
        detail = (
            f"{model.name} is here, but {why}, so the built-in understudy speaks, which is not a "
            f"model. {mend}"
        )
        return ProviderStatus(LOCAL, True, UNDERSTUDY, detail, small=True)


def _whole(reply: Reply, schema: Schema | None) -> Reply:
    """A structured answer of which the grammar cut no word in two."""
    if schema is None or reply.data is not None:
        return reply
    try:
        return replace(reply, data=unbroken(answers.find(reply.text), schema, schema))
    except ValueError:
        return reply  # whoever checks it says what is wrong with it


def _dead(child: Child) -> bool:
    with suppress(subprocess.TimeoutExpired):
        child.process.wait(_DEATH_SECONDS)
    return not child.alive
