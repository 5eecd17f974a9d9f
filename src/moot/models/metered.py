"""A speaker that tells how each of its calls went."""

import asyncio
import logging
from collections.abc import Callable
from time import perf_counter

from moot.core.debate import NO_USAGE, Usage
from moot.errors import ProviderError
from moot.ports.model_call import Call, ModelCard, Reply, Say, Speaker

Note = Callable[[str, str, float, float | None, Usage], None]
"""Takes the model as it was asked for, the outcome, the seconds to the end, the seconds to the
first piece of text (None if there was none), and what was used."""

_log = logging.getLogger(__name__)


class MeteredSpeaker:
    """Passes every call on, and notes it exactly once, however it ends.

    The outcome is `ok`, `cancelled`, the code of a ProviderError, or `error` for what no speaker
    should raise.
    """

    def __init__(self, speaker: Speaker, note: Note) -> None:
        self._speaker = speaker
        self._note = note

    def card(self, model: str) -> ModelCard:
        return self._speaker.card(model)

    async def speak(self, call: Call, say: Say) -> Reply:
        began = perf_counter()
        first: float | None = None
        said: list[str] = []

        def hear(piece: str) -> None:
            nonlocal first
            said.append(piece)
            if piece and first is None:
                first = perf_counter() - began
            say(piece)

        outcome, usage = "error", NO_USAGE
        try:
            reply = await self._speaker.speak(call, hear)
            outcome, usage = "ok", reply.usage
            return reply
        except ProviderError as error:
            outcome, usage = error.code, _used(error)
            raise
        except (asyncio.CancelledError, GeneratorExit):
            outcome = "cancelled"
            usage = call.guess(self._speaker.card(call.model), "".join(said)).with_calls(1)
            raise
        finally:
            self._tell(call.model, outcome, perf_counter() - began, first, usage)

    def _tell(
        self, model: str, outcome: str, seconds: float, first: float | None, usage: Usage
    ) -> None:
        """A note that fails must not cost an answer that was paid for."""
        try:
            self._note(model, outcome, seconds, first, usage)
        except Exception:
            _log.warning("A model call could not be noted.", exc_info=True)


def _used(error: ProviderError) -> Usage:
    return Usage(
        error.input_tokens,
        error.output_tokens,
        error.cost_usd,
        1,
        error.estimated,
        error.thinking_tokens,
    )
