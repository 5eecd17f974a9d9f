"""The models of this machine: which providers work, and what each offers."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from moot.core.request import Normalize
from moot.ports.model_call import ModelCard


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """What is known of one provider, its key aside."""

    provider: str
    works: bool  # whether a seat may use it here
    model: str  # what the bare provider means, as "provider:name"
    detail: str  # one or two sentences; what to set when it does not work
    small: bool = False  # that model is small, or is not one at all: it moderates badly
    label: str = ""  # what people call it
    models: tuple[str, ...] = ()  # that can be chosen, the strongest first, the cheapest last
    fix: str = ""  # one line for a shell that lets it speak; empty if it needs none


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be chosen, and what is known of it."""

    model: str  # "provider:name"
    window: int | None  # tokens of prompt and answer together; None: not known
    input_price: float | None  # USD per million tokens; None: not known
    output_price: float | None
    structured: bool  # it holds an answer to a JSON Schema
    thinking: bool
    caching: bool  # what it has read before costs less


@dataclass(frozen=True, slots=True)
class Offers:
    """What a provider offers."""

    provider: str
    label: str  # what people call it
    live: bool  # whether it told so itself, just now
    detail: str  # if not: why, in a sentence
    models: tuple[Offer, ...]


async def _no_offers(provider: str | None = None) -> list[Offers]:
    return []


async def _none_wrong(models: Iterable[str]) -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Voices:
    """The models of this machine: how their names are read, and what is known of them."""

    describe: Callable[[], Awaitable[list[ProviderStatus]]]
    normalize: Normalize  # the canonical "provider:name"; raises InputError if it is not a model
    bend: Callable[[str], Awaitable[tuple[str, str | None]]]
    """Like `normalize`, but an unknown provider becomes `local`, with a warning."""
    look: Callable[[], Awaitable[None]]  # finds the local server, so that cards tell of it
    card: Callable[[str], ModelCard]
    defaults: Callable[[], tuple[str, ...]]  # what seats without a model take now, in turn
    writer: str | None  # the model that writes reports, if any
    offers: Callable[[str | None], Awaitable[list[Offers]]] = _no_offers
    wrong: Callable[[Iterable[str]], Awaitable[dict[str, str]]] = _none_wrong
    """Which of these models seem misspelt, and what may be meant."""
