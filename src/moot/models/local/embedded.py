"""The model of this machine: one that was fetched, run by llama.cpp, spoken to by all seats."""

import asyncio
import math
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moot.errors import ProviderError, ProviderTimeoutError, ProviderUnavailableError
from moot.models.cards import local_card, small_file
from moot.models.local.brief import Memory, brief
from moot.models.local.llama import Child, Llama, installed, window
from moot.models.local.small import retold
from moot.models.local.speed import Speed, Speeds
from moot.models.local.weights import NONE, Model, Shelf
from moot.models.providers import VENDORS
from moot.ports import Call, ModelCard, ProviderStatus, Reply, Say

if TYPE_CHECKING:
    from moot.models.clients import Clients

VENDOR = replace(VENDORS["local"], name="the model of this machine")
_FRESH_SECONDS = 2.0  # how long a look at the shelf holds
_DEATH_SECONDS = 0.5  # for a process whose connection broke to be seen as gone
_MEASURE = "Count from one to forty in words, one word after the other, with commas between. " * 4
_MEASURE_TOKENS = 24
_SLOWEST = 2.0  # tokens a second that are guessed at, however often it was late
_MEASURE_SECONDS = 120.0
_INSTALL = "Install it with: pip install 'moot[llama]'"

Load = Callable[[], Awaitable["Clients"]]
"""Gives the HTTP clients; their libraries are imported by the first who asks."""


class Embedded:
    """What `local` means where no server is and a model was fetched."""

    def __init__(self, home: Path | None, load: Load, llama: Llama | None = None) -> None:
        self.llama = llama or Llama()
        self._shelf = Shelf(home) if home else None
        self._speeds = Speeds(self._shelf.folder if self._shelf else None)
        self._memory = Memory()
        self._load = load
        self._chosen: Model | None = None
        self._looked = -math.inf

    def chosen(self) -> Model | None:
        """The model that can be run here, if there is one and llama.cpp to run it."""
        if time.monotonic() - self._looked > _FRESH_SECONDS:
            self._chosen = self._shelf.chosen() if self._shelf and installed() else None
            self._looked = time.monotonic()
        return self._chosen

    def card(self, model: Model) -> ModelCard:
        return local_card(model.name, window(model), small_file(model.path))

    async def speak(self, model: Model, call: Call, say: Say) -> Reply:
        """Wait for a slot, then speak: the turn's time begins when the model listens."""
        call.allow(math.inf)
        clients = await self._load()
        from moot.models.speak import Line, speak  # loaded by now

        async with self.llama.slot(model) as child:
            model = child.model
            speed = self._speeds.get(model.name) or await self._measure(child)
            call.allow(call.seconds)
            began = asyncio.get_running_loop().time()
            voice = await clients.model("local", model.name, child.base_url, child.key)
            card = self.card(model)
            line = Line(
                voice,
                VENDOR,
                model.name,
                card,
                lambda timing: self._speeds.note(model.name, timing),
            )
            told = retold(call) if card.small else call
            short = brief(told, speed, self._memory.unread(told, child.pid))
            try:
                return await speak(line, short, say, began)
            except ProviderTimeoutError:  # slower than it was: the next is asked for less
                slower = Speed(max(speed.read / 2, _SLOWEST), max(speed.write / 2, _SLOWEST))
                self._speeds.put(model.name, slower)
                raise
            except ProviderUnavailableError as error:
                if await asyncio.to_thread(_dead, child):
                    raise _again(error, child.gone()) from None
                raise

    async def measure(self) -> None:
        """Find out how fast it is now."""
        model = self.chosen()
        if model:
            async with self.llama.slot(model) as child:
                await self._measure(child)

    def describe(self) -> ProviderStatus | None:
        """What is to be said of it; None where no model was fetched."""
        model = self.chosen()
        if model is None:
            return self._unused()
        speed = self._speeds.get(model.name)
        slots = self.llama.size.slots
        seats = "one seat after the other" if slots == 1 else f"{slots} seats at once"
        measured = (
            f"{speed} were measured"
            if speed
            else "its speed is measured when it first speaks (`moot doctor` does so now)"
        )
        detail = f"No server was found, so llama.cpp runs {model.name} here, {seats}; {measured}."
        small = small_file(model.path)
        return ProviderStatus("local", True, f"local:{model.name}", detail, small)

    async def aclose(self) -> None:
        self._speeds.save()
        await self.llama.aclose()

    def missing(self, name: str) -> str:
        """What to do for a model of that name to speak, where no server is."""
        here = self._shelf and any(model.name == name for model in self._shelf.models())
        if here and not installed():
            return f"{name} is here, but llama.cpp is not. {_INSTALL}"
        if here:
            return f"{name} is here, but not in use. Put it in use with `moot model use {name}`."
        return (
            f"No local server was found, and no model {name!r} is on this machine. "
            "`moot model list` shows those that are here or can be fetched; or start the server, "
            "or set MOOT_LOCAL_BASE_URL."
        )

    def _unused(self) -> ProviderStatus | None:
        """What is said where a model is here and does not speak."""
        shelf = self._shelf
        model = (shelf.chosen() or next(iter(shelf.models()), None)) if shelf else None
        if shelf is None or model is None:
            return None
        wanted = shelf.wanted()
        why, mend = "not in use", f"Put it in use with `moot model use {model.name}`."
        if not installed():
            why, mend = "llama.cpp is not", _INSTALL
        elif wanted and wanted != NONE:
            why = f"in use is {wanted}, which is gone or no GGUF"
        detail = (
            f"{model.name} is here, but {why}, so the built-in understudy speaks, which is no "
            f"model. {mend}"
        )
        return ProviderStatus("local", True, "local:understudy", detail, small=True)

    async def _measure(self, child: Child) -> Speed:
        """Let it read and write a little."""
        clients = await self._load()
        asked: dict[str, Any] = {
            "messages": [{"role": "user", "content": _MEASURE}],
            "max_tokens": _MEASURE_TOKENS,
            "cache_prompt": False,
        }
        try:
            answer = await clients.http("local").post(
                f"{child.base_url}/chat/completions",
                json=asked,
                headers={"Authorization": f"Bearer {child.key}"},
                timeout=_MEASURE_SECONDS,
            )
            took = answer.raise_for_status().json()["timings"]
            speed = Speed(float(took["prompt_per_second"]), float(took["predicted_per_second"]))
        except Exception as error:  # whatever the wire does, it cannot be measured now
            gone = await asyncio.to_thread(_dead, child)
            said = child.gone() if gone else f"The speed of {child.model.name} was not to be had."
            raise ProviderUnavailableError(said) from error
        self._speeds.put(child.model.name, speed)
        self._speeds.save()
        return speed


def _dead(child: Child) -> bool:
    try:
        child.process.wait(_DEATH_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _again(error: ProviderError, message: str) -> ProviderUnavailableError:
    """The same failure in better words."""
    return ProviderUnavailableError(
        message,
        retry_after=error.retry_after,
        input_tokens=error.input_tokens,
        output_tokens=error.output_tokens,
        cost_usd=error.cost_usd,
        estimated=error.estimated,
    )
