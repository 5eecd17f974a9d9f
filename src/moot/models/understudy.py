"""The understudy: a speaker without a model, so that every format runs on any machine.

It is deterministic and offline; `understudy_speech` composes what it says.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from moot.core.debate import Usage
from moot.core.shapes import SHAPES
from moot.models.understudy_council import answer
from moot.models.understudy_data import satisfy
from moot.models.understudy_speech import compose
from moot.ports import Call, ModelCard, Reply, Say

LABEL = "local:understudy"
WINDOW = 8192  # what `local` is taken for until somebody has looked for a server
_GROUP = re.compile(r"(?:\s*\S+){1,3}\s*")


class Understudy:
    """Speaks for a seat that has no model; the label says so wherever it speaks."""

    def __init__(self, pace: float = 0.0) -> None:
        self._pace = pace  # seconds from one group of words to the next

    def card(self, model: str) -> ModelCard:
        return ModelCard(LABEL, WINDOW, 0.0, 0.0)

    async def speak(self, call: Call, say: Say) -> Reply:
        text, data = _answer(call)
        groups = _GROUP.findall(text)
        # However slow the pace, the turn ends within its time.
        pace = min(self._pace, call.seconds / 2 / max(len(groups), 1))
        for place, group in enumerate(groups):
            if pace > 0 or place % 8 == 0:
                await asyncio.sleep(pace)
            say(group)
        return Reply(text=text, model=LABEL, usage=Usage(calls=1), data=data)


def _answer(call: Call) -> tuple[str, Mapping[str, Any] | None]:
    """What is said, and as data where that was asked for."""
    if call.step.answer in SHAPES:
        data, text = answer(call)
        return text, data
    text = compose(call.debate, call.step, call.heard)
    return text, None if call.schema is None else satisfy(call)
