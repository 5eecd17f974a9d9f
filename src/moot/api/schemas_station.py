"""The shapes of agents, stations and what is on air; see `schemas`."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from moot.api.schemas import (
    ID_EXAMPLE,
    ID_PATTERN,
    SLUG_PATTERN,
    Answer,
    Asked,
    LimitsAsked,
    Model,
    Participant,
    Place,
    Progress,
    StageOfDebate,
    Turn,
    Whole,
)
from moot.core.debate import OnFailure, Stance
from moot.core.format import MAX_PARTICIPANTS
from moot.core.request import MAX_BIO, MAX_MOTION, MAX_NAME
from moot.core.status import Status, StopReason
from moot.stations.airing import MOST_SCHEDULED
from moot.stations.casting import MAX_ABOUT, MAX_AGENTS, MAX_MOTIONS
from moot.stations.slots import MAX_LINE
from moot.stations.station import Missed
from moot.wire.toml import MAX_BYTES

Slug = Annotated[str, Field(pattern=SLUG_PATTERN, examples=["ada"])]
Id = Annotated[str, Field(pattern=ID_PATTERN, examples=[ID_EXAMPLE])]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME, examples=["Ada"])]
Bio = Annotated[str, Field(max_length=MAX_BIO)]
Provider = Annotated[
    str,
    Field(
        max_length=200,
        description="Whose model: `model` may then be its name alone.",
        examples=["openai"],
    ),
]
Motion = Annotated[str, Field(min_length=1, max_length=MAX_MOTION)]
Shown = Literal["scheduled", "queued", "broadcasting", "paused", "completed", "stopped", "failed"]


def _change(example: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Of a change no field has a default: what is not given stays as it is."""

    def mend(schema: dict[str, Any]) -> None:
        for field in schema["properties"].values():
            field.pop("default", None)
        schema["examples"] = [example]

    return mend


# --- agents ---


class VoiceAsked(Asked):
    """How a browser may read the agent aloud."""

    lang: Annotated[str, Field(max_length=100, examples=["en-GB"])] = ""
    name: Annotated[str, Field(max_length=100)] = ""
    rate: Annotated[float, Field(ge=0.5, le=2)] = 1.0
    pitch: Annotated[float, Field(ge=0, le=2)] = 1.0


class AgentChanged(Asked):
    """What is to be another; the rest stays."""

    name: Name = ""
    bio: Bio = ""
    provider: Provider | None = None
    model: Model | None = None
    stance: Stance = "neutral"
    voice: VoiceAsked = VoiceAsked()

    model_config = ConfigDict(json_schema_extra=_change({"bio": "Doubts everything."}))


class AgentAsked(AgentChanged):
    """A persona to keep. Without a model it speaks with the default one."""

    name: Name  # pyright: ignore[reportGeneralTypeIssues]  here it must be given

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "Ada",
                    "bio": "An engineer who has shipped on many Fridays.",
                    "stance": "pro",
                    "voice": {"lang": "en-GB"},
                }
            ]
        }
    )


class ImportAsked(Asked):
    toml: Annotated[str, Field(max_length=MAX_BYTES, description="As an export gives it.")]


class AgentsImported(ImportAsked):
    """A file of agents: all of it, or nothing. One of a known id is changed."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"toml": '[[agents]]\nid = "ada"\nname = "Ada"\n'}]}
    )


class Brought(Answer):
    """What a file came to."""

    made: list[Slug]
    changed: list[Slug]


class Voice(Answer):
    lang: str
    name: str
    rate: float
    pitch: float


class Agent(Answer):
    id: Slug
    name: str
    bio: str
    provider: Annotated[str, Field(description="Of the model; empty: of the default one.")]
    model: Annotated[str, Field(description="`provider:name`. Empty: the default one.")]
    stance: Stance
    voice: Voice
    created_at: str
    updated_at: str


class Agents(Answer):
    items: list[Agent]


# --- stations ---


class StationChanged(Asked):
    """What is to be another; the rest stays."""

    name: Name = ""
    about: Annotated[str, Field(max_length=MAX_ABOUT)] = ""
    public: Annotated[bool, Field(description="Whether anybody may listen, without a token.")] = (
        True
    )
    format: Annotated[str, Field(max_length=100, examples=["duel"])] = "duel"
    options: Annotated[dict[str, int], Field(default_factory=dict, max_length=20, examples=[{}])]
    limits: LimitsAsked = LimitsAsked()
    on_failure: OnFailure = "degrade"
    zone: Annotated[str, Field(max_length=100, examples=["Europe/Berlin"])] = "UTC"
    cron: Annotated[
        str | None,
        Field(
            max_length=MAX_LINE,
            description="When the pool airs its next: minute, hour, day, month, weekday.",
            examples=["0 18 * * MON-FRI"],
        ),
    ] = None
    missed: Annotated[
        Missed, Field(description="What becomes of a slot when nothing ran: late, or left out.")
    ] = "air"
    motions: Annotated[list[Motion], Field(default_factory=list, max_length=MAX_MOTIONS)]
    agents: Annotated[list[Slug], Field(default_factory=list, max_length=MAX_AGENTS, examples=[[]])]
    seats: Annotated[int, Field(ge=1, le=MAX_PARTICIPANTS)] | None = None

    model_config = ConfigDict(json_schema_extra=_change({"about": "Every evening at six."}))


class StationAsked(StationChanged):
    """A channel that airs one conversation at a time."""

    name: Name  # pyright: ignore[reportGeneralTypeIssues]  here it must be given

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "Evening Duel",
                    "about": "One question, two minds, every evening.",
                    "zone": "Europe/Berlin",
                    "motions": ["Should we ship on Fridays?"],
                }
            ]
        }
    )


class StationsImported(ImportAsked):
    """A file of stations: all of it, or nothing. One of a known id is changed."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"toml": '[[stations]]\nid = "duel"\nname = "Duel"\n'}]}
    )


class StationLimits(Answer):
    """Those that were given; the rest are the format's."""

    max_turn_seconds: float | None = None
    max_turn_tokens: int | None = None
    max_turns: int | None = None
    max_total_tokens: int | None = None
    max_cost_usd: float | None = None
    allow_unpriced: bool | None = None


class Station(Answer):
    id: Slug
    name: str
    about: str
    public: bool
    format: str
    options: dict[str, int]
    limits: StationLimits
    on_failure: OnFailure
    zone: str
    cron: str | None
    missed: Missed
    motions: list[str]
    agents: list[str]
    seats: int | None
    on_air: Annotated[Id | None, Field(description="The debate that has the air, or had it last.")]
    next_slot: str | None
    skipped: Whole
    trouble: Annotated[str | None, Field(description="Why the last slot was not filled.")]
    created_at: str
    updated_at: str


class Stations(Answer):
    items: list[Station]


class ConversationAsked(Asked):
    """What to schedule; what is not given is the pool's next."""

    motion: Motion | None = None
    agents: Annotated[list[Slug], Field(max_length=MAX_PARTICIPANTS, examples=[[]])] | None = None
    at: Annotated[
        str | None,
        Field(
            max_length=100,
            description="ISO 8601; without an offset, in the station's zone. Not given: now.",
            examples=["2026-12-24T18:00"],
        ),
    ] = None

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"motion": "Should we ship on Fridays?", "at": "2026-12-24T18:00"}]
        }
    )


class OrderAsked(Asked):
    """All that waits, in the order it is to be aired: the times stay."""

    conversations: Annotated[list[Id], Field(max_length=MOST_SCHEDULED)]

    model_config = ConfigDict(json_schema_extra={"examples": [{"conversations": []}]})


class HookAsked(BaseModel):
    """Which conversation is to begin. Signed calls must say it; other fields are the sender's."""

    conversation: str | None = None

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"examples": [{"conversation": ID_EXAMPLE}]}
    )


class SeatedAgent(Agent):
    """An agent as it was, and which participant it is."""

    seat: str


class Conversation(Answer):
    """A debate scheduled on a station."""

    id: Id
    station: Slug
    motion: str
    format: str
    status: Shown
    due: str
    called: Annotated[bool, Field(description="Its time has come, and it waits for the air.")]
    started_at: str | None
    ended_at: str | None
    stop_reason: StopReason | None
    degraded: bool
    progress: Progress
    agents: list[SeatedAgent]


class Conversations(Answer):
    items: list[Conversation]


class Slot(Answer):
    """What the pool would air then."""

    due: str
    motion: str
    agents: list[str]


class Programme(Answer):
    """What is on, comes and was; `past` is newest first."""

    station: Station
    now: Conversation | None
    waiting: list[Conversation]
    slots: list[Slot]
    past: list[Conversation]


# --- on air ---


class StationOnAir(Answer):
    id: Slug
    name: str
    about: str
    zone: str


class OnAir(Answer):
    """A station as its audience sees it; the agents of `slots` are names."""

    station: StationOnAir
    now: Conversation | None
    waiting: list[Conversation]
    slots: list[Slot]
    past: list[Conversation]


class DebateOnAir(Answer):
    id: Id
    motion: str
    format: str
    status: Status
    degraded: bool
    stop_reason: StopReason | None
    stage: str | None
    round: int | None
    place: Place | None
    stages: list[StageOfDebate]
    progress: Progress
    participants: list[Participant]
    host: Participant | None
    last_seq: Whole
    created_at: str
    started_at: str | None
    ended_at: str | None


class Point(Answer):
    text: str
    turn: int | None


class Summary(Answer):
    text: str
    by: str
    turn: int | None


class Counted(Answer):
    turns: Whole
    words: Whole
    seconds: float
    longestTurnWords: Whole  # noqa: N815  as reports spell it
    share: float


class Speaker(Answer):
    id: str
    name: str
    role: str
    stance: Stance
    mainPoints: list[Point]  # noqa: N815
    statistics: Counted


class ReportOnAir(Answer):
    """Of the report, what is about what was said."""

    summary: Summary
    durationSeconds: float | None  # noqa: N815
    speakers: list[Speaker]
    totals: Counted
    method: str
    closing: Summary | None


class ConversationOnAir(Answer):
    """A conversation that was aired, and all that was said."""

    conversation: Conversation
    debate: DebateOnAir
    turns: list[Turn]
    report: Annotated[ReportOnAir | None, Field(description="Once it has ended.")]
