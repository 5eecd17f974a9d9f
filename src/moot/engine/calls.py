"""What all calls of the engine have in common: how long they may take, and what they used."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

from moot.core.debate import Usage
from moot.errors import ProviderError
from moot.ports.model_call import Call


class Patience:
    """Until when a call may go on: each word renews it, within the time of a whole turn.

    A speaker keeps its own time; one that does not is cut off `grace` seconds later. `tell` is
    told of each new end, a time of the running loop, or inf.
    """

    def __init__(self, call: Call, grace: float, tell: Callable[[float], None]) -> None:
        self._call = call
        self._grace = grace
        self._tell = tell
        self._clock = asyncio.get_running_loop().time
        self._whole = math.inf  # when all of it must be over; inf while it waits to be made
        self._until = math.inf
        self._spoke = False
        self.allow(call.seconds)

    def allow(self, seconds: float) -> None:
        """What `Call.allow` promises to a speaker."""
        now = self._clock()
        if math.isinf(seconds):
            self._whole = math.inf
        elif math.isinf(self._whole):
            thinking = max(seconds - self._call.seconds, 0.0)  # is beside the time of the turn
            self._whole, self._spoke = now + self._call.whole + thinking, False
        else:
            self._spoke = True
        self._until = min(now + seconds, self._whole)
        self._tell(self._until + self._grace)

    def late(self) -> str:
        """What to tell a person when it was cut off."""
        call = self._call
        if self._spoke and self._until == self._whole:
            late = f"was still speaking after {call.whole:g} seconds"
        else:
            late = f"said nothing for {call.seconds:g} seconds"
        return f"{call.model} {late}. Restart the speaker to try again."


def used(usage: Usage) -> dict[str, Any]:
    """What a call used, as an error takes it."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "estimated": usage.estimated,
        "thinking_tokens": usage.thinking_tokens,
    }


def usage_of(error: ProviderError, calls: int = 0) -> Usage:
    """What a call used that ended in an error."""
    return Usage(
        error.input_tokens,
        error.output_tokens,
        error.cost_usd,
        calls,
        error.estimated,
        error.thinking_tokens,
    )
