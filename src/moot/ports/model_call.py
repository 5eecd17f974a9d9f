"""A call of a model: what is known of the model, what it is asked, and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from moot.core import prompts
from moot.core.debate import Debate, Turn, Usage
from moot.core.format import Effort
from moot.core.limits import WHOLE
from moot.core.prompts import Message
from moot.core.schedule import Step
from moot.core.voices import UNDERSTUDY


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of a model before it is called."""

    model: str  # "provider:name", as it will be called
    window: int  # tokens of prompt and answer together
    input_price: float | None  # USD per token; None if nobody published one
    output_price: float | None
    small: bool = False  # it needs short asks, and repeats itself
    least: Effort | None = None
    """The least that it thinks: "none" if it does only what is asked for. None: it cannot."""
    local: bool = False  # it runs on this machine, or on a server that the user runs
    languages: tuple[str, ...] = ()  # in which it can debate (ISO 639-1), if that is known
    steered: bool = True  # it can be told how hard to think


def _as_given(seconds: float) -> None:
    """Nobody keeps the time of this call but its speaker."""


@dataclass(frozen=True, slots=True)
class Call:
    """One model call, all that it needs."""

    model: str  # "provider:name"
    messages: tuple[Message, ...]
    max_tokens: int
    seconds: float  # the longest silence, before the first word and between two words
    debate: Debate  # the scene, for a speaker that reads no prompt (the understudy)
    step: Step
    heard: tuple[Turn, ...]  # the turns this step may see, oldest first
    schema: Mapping[str, Any] | None = None  # JSON Schema of a structured answer
    effort: Effort | None = None  # how hard the model thinks, if the stage says so
    again: bool = False  # the last answer could not be used: it had not its shape, or was an echo
    longest: float | None = None  # from the call to its last word; None: WHOLE times `seconds`
    allow: Callable[[float], None] = _as_given
    """Told by a speaker: from now on it may be silent for these seconds (inf while the call waits
    to be made, `seconds` when it is made and with every word, said or not; more before the first
    word if the model thinks)."""

    @property
    def whole(self) -> float:
        """The seconds that all of it may take, from when it is made."""
        return self.seconds * WHOLE if self.longest is None else self.longest

    def guess(self, card: ModelCard, said: str = "") -> Usage:
        """What the call used, as far as one can tell, if nobody metered it."""
        if card.model == UNDERSTUDY:
            return Usage(estimated=True)
        asked, told = prompts.size(self.messages), prompts.estimate(said) if said else 0
        cost = asked * (card.input_price or 0.0) + told * (card.output_price or 0.0)
        return Usage(asked, told, cost, estimated=True)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, before it is cleaned."""

    text: str
    model: str  # who really spoke
    usage: Usage
    data: Mapping[str, Any] | None = None
    cut: bool = False  # stopped by the token limit
    cached: int = 0  # tokens of the prompt that the provider keeps, or had kept


Say = Callable[[str], None]
"""Takes each piece of text as it is spoken."""


class Speaker(Protocol):
    """Calls a model. Raises ProviderError and nothing else; cancelling the task calls it off."""

    def card(self, model: str) -> ModelCard: ...

    async def speak(self, call: Call, say: Say) -> Reply: ...
