"""The models: they answer well, late, cut, empty, huge, nested, not at all, or with an error."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from moot.core import prompts
from moot.core.debate import Usage
from moot.core.jury import SIDES
from moot.errors import (
    ProviderAuthError,
    ProviderContextError,
    ProviderError,
    ProviderRateLimitError,
    ProviderRefusedError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from moot.models.understudy import Understudy
from moot.ports.model_call import Call, ModelCard, Reply, Say

if TYPE_CHECKING:
    from moot.testing.simulation.process import Process

TROUBLES = (
    ProviderAuthError, ProviderContextError, ProviderRateLimitError, ProviderRefusedError,
    ProviderTimeoutError, ProviderUnavailableError,
)  # fmt: skip
ILL = (
    "error", "error", "error", "empty", "cut", "huge", "nested", "odd", "crash", "mute", "endless",
)  # fmt: skip
NESTED = '{"position":' * 400 + "1" + "}" * 400


class Vendor:
    """One process's way to the models. Each call is noted before and after."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._world = process.world
        self._words = Understudy()

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 100_000, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        self._process.check_alive()
        world = self._world
        noted = world.checks.called(self._process, call)
        how, bad = "well", world.rate(world.plan.bad_models)
        if world.poisoned(call):
            how = str(world.plan.poison)
            world.count(f"reply {how}")
        elif bad and world.checks.is_wanted(call.debate.id) and world.likely():
            how = "refused"  # for good, and while somebody waits for it to halt
            world.count("reply error")
        elif world.chance.random() < bad:
            how = world.chance.choice(ILL)
            world.count(f"reply {how}")
        try:
            await self._wait(call, say, how)
            reply = await self._answer(call, say, how)
            noted.end("answered")
            return reply
        except ProviderError:
            noted.end("failed")
            raise
        except asyncio.CancelledError:
            if self._process.alive:
                noted.end("cancelled")
            raise
        except Exception:
            noted.end("crashed")
            raise

    async def _wait(self, call: Call, say: Say, how: str) -> None:
        chance, slow = self._world.chance, self._world.rate(self._world.plan.slow_models)
        if how == "mute":
            await asyncio.sleep(1e6)
        if how == "endless":
            for _ in range(10_000):
                await asyncio.sleep(call.seconds / 2)
                say("and ")
        late = chance.random() < slow
        await asyncio.sleep(chance.uniform(1, call.seconds * 0.9) if late else chance.random())
        if late:
            self._world.count("reply late")
            for _ in range(chance.randint(0, 3)):
                say("Well. ")
                await asyncio.sleep(chance.random() * call.seconds * 0.8)

    async def _tempt(self, call: Call) -> None:
        """What chance alone would rarely do: a stop at the moment in which a speaker fails."""
        world = self._world
        if not world.healing and world.plan.verbs and world.chance.random() < 0.1:
            world.people.ask("stop", call.debate.id)
            await asyncio.sleep(world.chance.random() * 0.2)

    async def _answer(self, call: Call, say: Say, how: str) -> Reply:
        if how == "deadly":
            self._process.kill()
            self._process.check_alive()
        usage = Usage(prompts.size(call.messages), self._world.chance.randint(20, 200), 0.001)
        if call.step.answer == "ballot":  # it takes all that it may, as budgets must allow for
            usage = replace(usage, output_tokens=call.max_tokens)
        if how in ("error", "failing", "refused"):
            await self._tempt(call)
        if how in ("error", "failing"):
            kind = self._world.chance.choice(TROUBLES)
            after = self._world.chance.choice((None, 1.0, 10.0))
            raise kind(f"It went wrong ({kind.__name__}).", retry_after=after, input_tokens=7)
        if how == "refused":
            raise ProviderAuthError("The key was refused.", input_tokens=7)
        if how == "crash":
            raise RecursionError("a speaker's own mistake")
        if call.schema is None:
            words = (
                f"In round {call.step.round} I hold that it is so, for {len(call.heard)} reasons."
            )
            say(words)
            reply = Reply(words, call.model, usage)
        else:
            reply = replace(await self._words.speak(call, say), model=call.model, usage=usage)
            if call.debate.format == "accord" and reply.data:
                stand = ("It is so", "it is so.", "It is not")[(usage.output_tokens // 7) % 3]
                reply = replace(reply, data={**reply.data, "position": stand})
            if call.step.stage in call.debate.rules.unheard and reply.data:
                side = SIDES[usage.output_tokens % 3 == 0]  # two seats often agree
                field = "position" if "position" in reply.data else "choice"
                reply = replace(reply, data={**reply.data, field: side})
        if how == "empty":
            return replace(reply, text="", data=None)
        if how == "cut":
            return replace(reply, text=reply.text[: len(reply.text) // 2], data=None, cut=True)
        if how == "huge":
            return replace(reply, text=reply.text * 100, data=None)
        if how == "odd":  # not even text
            return replace(reply, text=cast(str, None), data=None)
        if how == "nested":
            return replace(reply, text=NESTED, data=None)
        return reply
