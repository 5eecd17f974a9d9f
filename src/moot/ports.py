"""The few things that the engine needs of the world, as it sees them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from moot.core.change import Change
from moot.core.debate import Debate, Turn, Usage
from moot.core.events import Delta, Event, StatusChanged
from moot.core.format import Format
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


@dataclass(frozen=True, slots=True)
class Held:
    """What the row says of a debate that somebody has in hand."""

    fence: int
    wanted: str | None


class Store(Protocol):
    """The truth. Each method is one transaction; a method that raises has changed nothing."""

    async def create(self, debate: Debate, change: Callable[[Debate], Change]) -> Change: ...

    async def change(self, debate_id: str, move: Callable[[Debate], Change]) -> Change:
        """Ask a move for the change, under the debate's lock, and write all of it."""
        ...

    async def claim(
        self, debate_id: str, move: Callable[[Debate], Change]
    ) -> tuple[Change, list[Turn]]:
        """The same, and what was said before: whoever takes a debate has to hear it."""
        ...

    async def load(self, debate_id: str) -> Debate: ...

    async def newest(self, limit: int) -> list[Debate]: ...

    async def turns(self, debate_id: str, after: int = 0) -> list[Turn]: ...

    async def events(self, debate_id: str, after: int = 0, limit: int = 500) -> list[Event]: ...

    async def last_seq(self, debate_id: str) -> int:
        """The last seq of the log itself, whatever the debate's row says."""
        ...

    async def attempts(self, debate_id: str) -> list[dict[str, Any]]: ...

    async def actions(self, debate_id: str) -> list[dict[str, Any]]: ...

    async def records(self, words: str, limit: int) -> list[dict[str, Any]]:
        """What was written back and holds every one of the words, newest first."""
        ...

    async def unfinished(self) -> list[str]:
        """Debates that somebody should be advancing."""
        ...

    async def unfiled(self) -> list[str]:
        """Debates that have ended and whose files do not show it yet."""
        ...

    async def filed(self, debate_id: str, seq: int) -> None: ...

    async def held(self, owner: str) -> dict[str, Held]: ...

    async def renew(self, owner: str, until: float) -> None: ...


class Records(Protocol):
    """The files beside the database."""

    def file(
        self, debate: Debate, turns: Sequence[Turn], events: Sequence[StatusChanged] = ()
    ) -> None:
        """Write all files of a debate, each whole or not at all. Blocking.

        `events` is what the log holds beside the turns.
        """
        ...

    def folder(self, debate_id: str) -> str: ...


class Subscription(Protocol):
    """What one listener is sent."""

    async def get(self, timeout: float) -> Event | Delta | None:
        """The next thing said, or None when nothing was for that long."""
        ...

    def close(self) -> None: ...


class Bus(Protocol):
    """Tells listeners at once what the log will tell them anyway; and the deltas it will not."""

    def publish(self, event: Event | Delta) -> None: ...

    def listened(self, debate_id: str) -> bool: ...

    def subscribe(self, debate_id: str) -> Subscription: ...


class Dispatcher(Protocol):
    """Gets somebody to advance a debate. It may do so twice, late or never: the store decides."""

    def start(self, advance: Callable[[str], Awaitable[None]]) -> None: ...

    def dispatch(self, debate_id: str) -> None: ...

    async def idle(self, debate_id: str) -> None:
        """Wait until nothing of this debate is under way here; raises what ended it, if so."""
        ...

    async def close(self) -> None: ...


class Clock(Protocol):
    """Seconds since the epoch."""

    def now(self) -> float: ...


class Formats(Protocol):
    """Which formats there are."""

    def enabled(self, name: str) -> bool:
        """Whether debates of that format may be run, or seen, here."""
        ...

    def get(self, name: str) -> Format: ...

    def all(self) -> list[Format]: ...
