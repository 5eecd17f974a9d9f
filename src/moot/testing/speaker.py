"""A speaker that says what it is told: instant or slow, well or failing. No model at all."""

import asyncio
from collections.abc import Callable

from moot.core.debate import Usage
from moot.core.format import Effort
from moot.errors import ProviderError
from moot.ports.model_call import Call, ModelCard, Reply, Say

_USAGE = Usage(10, 5, 0.001)
Script = Callable[[Call], str | Reply | ProviderError]


def plain(call: Call) -> str:
    """What it says unless a script says otherwise: the same for the same step, ever."""
    step = call.step
    to = f" to {step.target}" if step.target else ""
    return f"{call.debate.seat(step.actor).id} in round {step.round}, {step.stage}{to}."


class ScriptedSpeaker:
    """Counts its calls, and keeps each as it came."""

    def __init__(
        self,
        script: Script = plain,
        seconds: float = 0.0,
        usage: Usage = _USAGE,
        least: Effort | None = None,
    ) -> None:
        self.calls: list[Call] = []
        self.in_flight = 0
        self.cancelled = 0
        self._script = script
        self._seconds = seconds
        self._usage = usage
        self._least: Effort | None = least

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 100_000, 1e-6, 2e-6, least=self._least)

    async def speak(self, call: Call, say: Say) -> Reply:
        self.calls.append(call)
        self.in_flight += 1
        try:
            if self._seconds:
                await asyncio.sleep(self._seconds)
            said = self._script(call)
            if isinstance(said, ProviderError):
                raise said
            reply = said if isinstance(said, Reply) else Reply(said, call.model, self._usage)
            say(reply.text)
            return reply
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
