"""The nouns of a station, frozen: who may speak on it, when, about what, and what was aired."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictFloat, StrictInt

from moot.core.clean import one_line, visible
from moot.core.debate import Debate, OnFailure, Stance
from moot.core.request import MAX_BIO, MAX_MOTION, MAX_NAME

MAX_ABOUT = 2000
MAX_MODEL = 200
MAX_MOTIONS = 500
MAX_AGENTS = 100
_LANGUAGE = re.compile(r"([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?")


def _tidy(change: Callable[[str], Any]) -> BeforeValidator:
    """Change a text before it is checked. The type refuses what is not a text."""
    return BeforeValidator(lambda value: change(value) if isinstance(value, str) else value)


def _line(most: int) -> BeforeValidator:
    return _tidy(lambda text: one_line(text, most))


def _language(tag: str) -> str:
    if not _LANGUAGE.fullmatch(tag):
        raise ValueError("it is a language like en-GB, or left out")
    return tag


# What each field may hold. Those who ask for an agent or a station are held to it; see `casting`.
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), _line(MAX_NAME + 1)]
Bio = Annotated[str, Field(max_length=MAX_BIO), _tidy(visible)]
About = Annotated[str, Field(max_length=MAX_ABOUT), _tidy(visible)]
Model = Annotated[str, Field(max_length=MAX_MODEL), _line(MAX_MODEL + 1)]
Motion = Annotated[str, Field(min_length=1, max_length=MAX_MOTION), _tidy(visible)]
Language = Annotated[str, AfterValidator(_language), _line(100)]
Rate = Annotated[StrictFloat, Field(ge=0.5, le=2, allow_inf_nan=False)]
Pitch = Annotated[StrictFloat, Field(ge=0, le=2, allow_inf_nan=False)]
Word = Annotated[str, _tidy(str.strip)]
Table = Annotated[
    Mapping[str, Any],
    AfterValidator(lambda table: {key: one for key, one in table.items() if one is not None}),
]
Missed = Literal["air", "skip"]
Called = Literal[0, 1, 2, 3]
"""Of a conversation that waits: its time is yet to come; has come; it has none, and goes on air
whenever that is free; it was asked for at once."""


@dataclass(frozen=True, slots=True)
class Voice:
    """How a browser may read an agent aloud."""

    lang: Language = ""  # BCP 47; "": the listener's own
    name: Annotated[str, _line(100)] = ""  # of a voice that the browser may have
    rate: Rate = 1.0
    pitch: Pitch = 1.0


@dataclass(frozen=True, slots=True)
class Agent:
    """A saved persona that can take a seat in many debates."""

    id: str  # a slug of its first name, for good
    name: Name
    bio: Bio = ""
    model: Model = ""  # "": the default one
    stance: Stance = "neutral"
    voice: Voice = Voice()
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class Station:
    """A channel that airs one conversation at a time. Times within are seconds since the epoch."""

    id: str
    name: Name
    about: About = ""
    public: StrictBool = True  # whether anybody may listen, without a token
    format: Word = "duel"
    options: Table = field(default_factory=dict[str, Any])
    limits: Table = field(default_factory=dict[str, Any])
    on_failure: OnFailure = "degrade"  # nobody may be there to restart a speaker
    zone: Word = "UTC"  # of its cron line, and of times given without one
    cron: Annotated[str | None, _tidy(lambda line: line.strip() or None)] = None
    missed: Missed = "air"
    motions: Annotated[tuple[Motion, ...], Field(max_length=MAX_MOTIONS)] = ()  # taken in turn
    agents: Annotated[tuple[str, ...], Field(max_length=MAX_AGENTS)] = ()
    seats: StrictInt | None = None  # of a conversation; None: the least that the format takes
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
