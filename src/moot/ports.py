"""The few things that the engine needs of the world, as it sees them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from moot.core.debate import Debate, Turn, Usage
from moot.core.prompts import Message
from moot.core.schedule import Step


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of a model before it is called."""

    model: str  # "provider:name", as it will be called
    window: int  # tokens of prompt and answer together
    input_price: float | None  # USD per token; None where nobody published one
    output_price: float | None


@dataclass(frozen=True, slots=True)
class Call:
    """One model call, all that it needs."""

    model: str  # "provider:name"
    messages: tuple[Message, ...]
    max_tokens: int
    seconds: float  # from the call to the last token
    debate: Debate  # the scene, for a speaker that reads no prompt (the understudy)
    step: Step
    heard: tuple[Turn, ...]  # the turns this step may see, oldest first
    schema: Mapping[str, Any] | None = None  # JSON Schema of a structured answer


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, before it is cleaned."""

    text: str
    model: str  # who really spoke
    usage: Usage
    data: Mapping[str, Any] | None = None
    cut: bool = False  # stopped by the token limit


Say = Callable[[str], None]
"""Takes each piece of text as it is spoken."""


class Speaker(Protocol):
    """Calls a model. Raises ProviderError and nothing else; cancelling the task calls it off."""

    def card(self, model: str) -> ModelCard: ...

    async def speak(self, call: Call, say: Say) -> Reply: ...
