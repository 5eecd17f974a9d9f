"""The nouns of a station, frozen: who may speak on it, when, about what, and what was aired."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from moot.core.debate import Debate, OnFailure, Stance

Missed = Literal["air", "skip"]
Called = Literal[0, 1, 2, 3]
"""Of a conversation that waits: its time is yet to come; has come; it has none, and goes on air
whenever that is free; it was asked for at once."""


@dataclass(frozen=True, slots=True)
class Voice:
    """How a browser may read an agent aloud."""

    lang: str = ""  # BCP 47; "": the listener's own
    name: str = ""  # a browser voice's, where it is there
    rate: float = 1.0
    pitch: float = 1.0


@dataclass(frozen=True, slots=True)
class Agent:
    """A saved persona that can take a seat in many debates."""

    id: str  # a slug of its first name, for good
    name: str
    bio: str = ""
    model: str = ""  # "": the default one
    stance: Stance = "neutral"
    voice: Voice = Voice()
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class Station:
    """A channel that airs one conversation at a time. Times within are seconds since the epoch."""

    id: str
    name: str
    about: str = ""
    public: bool = True  # whether anybody may listen, without a token
    format: str = "duel"
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    limits: Mapping[str, Any] = field(default_factory=dict[str, Any])
    on_failure: OnFailure = "degrade"  # nobody may be there to restart a speaker
    zone: str = "UTC"  # of its cron line, and of times given without one
    cron: str | None = None
    missed: Missed = "air"
    motions: tuple[str, ...] = ()  # the pool, taken in turn
    agents: tuple[str, ...] = ()
    seats: int | None = None  # agents of a conversation; None: the least that the format takes
    # all that changes as it airs
    on_air: str | None = None  # the debate that has the air, or had it last and may have ended
    free_at: float = 0.0  # when the air last became free
    next_slot: float | None = None  # of the cron line, not looked at yet
    wake: float | None = None  # when there is something to do next; None: not by itself
    made: int = 0  # conversations taken from the pool
    skipped: int = 0  # slots that were passed over
    trouble: str | None = None  # why the last slot could not be filled
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A debate scheduled on a station."""

    debate: Debate
    station_id: str
    due: float
    agents: tuple[Agent, ...]  # by seat, as they were when it began; until then, as scheduled
    called: Called = 0
    waiting: bool = True  # until it is aired or taken off
    aired_at: float | None = None

    @property
    def id(self) -> str:
        return self.debate.id


@dataclass(frozen=True, slots=True)
class Slot:
    """What the pool would air at a time of the cron line."""

    due: float
    motion: str
    agents: tuple[Agent, ...]


@dataclass(frozen=True, slots=True)
class Programme:
    """A station, and what is on, comes and was."""

    station: Station
    now: Conversation | None
    waiting: tuple[Conversation, ...]
    slots: tuple[Slot, ...]
    past: tuple[Conversation, ...]  # newest first


@dataclass(frozen=True, slots=True)
class Brought:
    """What a file of agents or stations came to."""

    made: tuple[str, ...]
    changed: tuple[str, ...]
