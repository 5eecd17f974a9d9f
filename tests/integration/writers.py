"""Scripted models that write as much as they are asked for, more or less, and are billed for what
they really read and wrote. They know nothing of the forecast: they go by the prompt alone."""

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from moot.core import limits
from moot.core.debate import Usage
from moot.core.format import Effort
from moot.models.understudy import Understudy
from moot.ports.model_call import Call, ModelCard, Reply, Say

_ASKED = re.compile(r"[Aa]t most (\d+) words")
_TEXT = """the cost of a change is seldom what people fear and a test that nobody runs proves little
unless somebody counts what it takes to keep older releases alive whenever customers depend on
behaviour which documentation never promised"""
_WORDS = _TEXT.split()
_PROSE = 1000
"""A field that may have as many characters holds prose, not a name that others choose by."""


@dataclass
class Writer:
    """Speaks for every seat. Each model has a manner: how much of the words that it is asked for it
    writes, and how many bytes its tokens have."""

    seed: int
    prices: Mapping[str, tuple[float | None, float | None]]
    least: Mapping[str, Effort] = field(default_factory=dict[str, Effort])
    window: int = 200_000

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._understudy = Understudy()
        self._fullness = self._chance.uniform(0.6, 1.0)
        self._bytes = self._chance.uniform(3.6, 4.6)
        self._thought = self._chance.uniform(0.05, 0.3)

    def card(self, model: str) -> ModelCard:
        read, written = self.prices[model]
        return ModelCard(model, self.window, read, written, least=self.least.get(model))

    async def speak(self, call: Call, say: Say) -> Reply:
        reply = await self._understudy.speak(call, lambda _: None)
        asked = _ASKED.findall(call.messages[-1].text)
        words = int(int(asked[-1]) * self._fullness * self._chance.uniform(0.75, 1.25))
        if reply.data is None:
            text, data = self._filled(reply.text, words * 6), None
        else:
            data = self._stretched(reply.data, call.schema or {}, words * 6)
            text = json.dumps(data)
        text = text[: int(call.max_tokens * self._bytes)] if data is None else text
        say(text)
        return Reply(text, call.model, self._billed(call, text), data)

    def _billed(self, call: Call, text: str) -> Usage:
        read = round(sum(len(one.text.encode()) for one in call.messages) / self._bytes)
        written = round(len(text.encode()) / self._bytes)
        card = self.card(call.model)
        room = limits.thinking(call.effort, card.least, card.window).tokens
        written += round(room * self._thought * self._chance.uniform(0.5, 1.5))
        cost = read * (card.input_price or 0.0) + written * (card.output_price or 0.0)
        return Usage(read, written, cost)

    def _filled(self, text: str, size: int) -> str:
        """The text, with more words until it has so many characters."""
        more: list[str] = []
        missing = size - len(text)
        while missing > 0:
            more.append(self._chance.choice(_WORDS))
            missing -= len(more[-1]) + 1
        return f"{text} {' '.join(more)}." if more else text

    def _stretched(self, data: Any, schema: Mapping[str, Any], size: int) -> Any:
        """The answer, with its prose as long as makes it as long as that."""
        made = json.loads(json.dumps(data))
        places = list(_prose(made, schema, schema))
        missing = size - len(json.dumps(made))
        for holder, key, most in places:
            own = str(holder[key])
            holder[key] = self._filled(own, min(len(own) + missing // len(places), most - 100))
        return made


def _prose(data: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    """Where prose stands in an answer: what holds it, its key there, and its longest length."""
    for branch in schema.get("anyOf", ()):
        if branch.get("type") != "null":
            schema = branch
    if "$ref" in schema:
        found: Any = root
        for part in schema["$ref"].strip("#/").split("/"):
            found = found[part]
        schema = found
    if isinstance(data, dict):
        for key, value in cast(dict[str, Any], data).items():
            own = schema.get("properties", {}).get(key, {})
            if isinstance(value, str):
                most = int(own.get("maxLength", 0))
                if most >= _PROSE:
                    yield data, key, most
            else:
                yield from _prose(value, own, root)
    elif isinstance(data, list):
        for value in cast(list[Any], data):
            yield from _prose(value, schema.get("items", {}), root)
