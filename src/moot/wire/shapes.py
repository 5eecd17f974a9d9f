"""The documents that moot writes, if they are not a noun of the core just as it is.

A shape names its fields once, in the order in which they are written. `codec` and `codec_station`
fill it, the OpenAPI document describes it, and the types of the page are made from that.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from moot.core.debate import (
    UNWRITTEN,
    Cursor,
    Decision,
    Failure,
    Fork,
    Jury,
    Limits,
    OnFailure,
    Participant,
    Phase,
    Stance,
    Usage,
    Writing,
)
from moot.core.form import Asked
from moot.core.format import Format
from moot.core.schedule import Heading
from moot.core.sources import HiddenFrom, Source, SourceKind
from moot.core.status import Status, StopReason
from moot.stations.station import Missed, Voice

ID_PATTERN = "^debate_[0-9]{8}_[0-9]{6}_[a-z2-7]{6}$"
ID_EXAMPLE = "debate_20261115_120000_abc234"
SLUG_PATTERN = "^[a-z0-9][a-z0-9-]{0,39}$"
Id = Annotated[str, Field(pattern=ID_PATTERN, examples=[ID_EXAMPLE])]
Slug = Annotated[str, Field(pattern=SLUG_PATTERN, examples=["ada"])]
LINK_PATTERN = "^[a-z2-7]{12}$"
LINK_EXAMPLE = "k3v7q2mxa5tr"
Standing = Annotated[str | None, Field(description="Where it stands now; once over, its last.")]
Broadcast = Literal[
    "scheduled", "queued", "broadcasting", "paused", "completed", "stopped", "failed"
]


# --- debates ---


class Progress(TypedDict):
    """How many turns there are, and how many there will be."""

    done: int
    total: int


class StageOfDebate(TypedDict):
    """A stage as it is laid out for this debate."""

    name: str
    title: str
    first_round: Annotated[int, Field(description="Rounds count through the whole debate.")]
    rounds: Annotated[int | None, Field(description="null: as many as max_turns leaves.")]


class Schedule(TypedDict):
    """What comes next."""

    target_id: Annotated[str, Field(description="Whose words it leads to.")]
    instruction: Annotated[str, Field(description="What is asked; of a cue, of the host.")]
    next_stage: Annotated[str | None, Field(description="The stage that it opens, if it does.")]


Unpriced = Annotated[
    list[str], Field(description="The models whose price nobody published, of those called.")
]
Local = Annotated[bool, Field(description="Whether all models run on this machine.")]


WaitingFor = Annotated[
    str | None, Field(description="The human seat that is to speak: until then nobody is called.")
]


Title = Annotated[str, Field(description="What people call it; empty: by its motion.")]
Tags = tuple[str, ...]
Archived = Annotated[bool, Field(description="Whether lists leave it out unless they are asked.")]


OwnUsage = Annotated[Usage, Field(description="Of the debate's own calls.")]
Spent = Annotated[
    Usage, Field(description="Of all calls, those for its report too: what the debate cost.")
]
OfReport = Annotated[
    Writing | None, Field(description="What its report took; null: no model was called for it.")
]


class ListedDebate(TypedDict):
    """A debate as lists show it."""

    id: Id
    motion: str
    title: Title
    tags: Tags
    archived: Archived
    format: str
    status: Status
    stage: Standing
    round: int | None
    place: Heading | None
    progress: Progress
    degraded: bool
    outcome: Annotated[Decision | None, Field(description="What was decided, once it is.")]
    result: Annotated[str, Field(description="What came of it, or who speaks, in one line.")]
    waiting_for: WaitingFor
    models: Annotated[tuple[str, ...], Field(description="Of all seats, each once.")]
    stop_reason: StopReason | None
    failure: Failure | None
    usage: OwnUsage
    writing: OfReport
    spent: Spent
    unpriced: Unpriced
    local: Local
    created_at: str
    updated_at: str


class FiledDebate(TypedDict):
    """All of it, as files keep it."""

    id: Id
    motion: str
    format: str
    status: Status
    degraded: bool
    warnings: tuple[str, ...]
    stop_reason: StopReason | None
    stop_requested_at: str | None
    failure: Failure | None
    cursor: Cursor
    stage: Standing
    round: int | None
    progress: Progress
    participants: tuple[Participant, ...]
    host: Participant | None
    options: Mapping[str, int]
    limits: Limits
    on_failure: OnFailure
    brief: Mapping[str, Any]
    jury: NotRequired[Annotated[Jury | None, UNWRITTEN]]
    forked_from: NotRequired[Annotated[Fork | None, UNWRITTEN]]
    sources: NotRequired[Annotated[tuple[Source, ...], UNWRITTEN]]
    hide_sources_from: NotRequired[Annotated[tuple[HiddenFrom, ...], UNWRITTEN]]
    phases: tuple[Phase, ...]
    outcome: Decision | None
    usage: Usage
    last_seq: int
    created_at: str
    started_at: str | None
    ended_at: str | None
    updated_at: str


class ShownDebate(FiledDebate):
    """All of it, as people and programs are shown it: where it stands now, and what comes next."""

    title: Title
    tags: Tags
    archived: Archived
    writing: OfReport
    spent: Spent
    unpriced: Unpriced
    local: Local
    place: Heading | None
    schedule: Annotated[Schedule | None, Field(description="What comes next; null: nothing.")]
    waiting_for: WaitingFor
    stages: list[StageOfDebate]
    longer_seconds: NotRequired[Annotated[float | None, UNWRITTEN]]
    """The max_turn_seconds that a retry can allow, if the speaker that failed took too long."""


class Debate(ShownDebate):
    """All of it."""

    rules: Annotated[Format, Field(description="The format as it was when the debate began.")]


class Request(TypedDict):
    """What was asked for, as `request.json` keeps it."""

    id: Id
    motion: str
    format: str
    participants: tuple[Participant, ...]
    host: Participant | None
    options: Mapping[str, int]
    limits: Limits
    on_failure: OnFailure
    brief: Mapping[str, Any]
    jury: NotRequired[Annotated[Jury | None, UNWRITTEN]]
    forked_from: NotRequired[Annotated[Fork | None, UNWRITTEN]]
    sources: NotRequired[Annotated[tuple[Source, ...], UNWRITTEN]]
    hide_sources_from: NotRequired[Annotated[tuple[HiddenFrom, ...], UNWRITTEN]]
    created_at: str
    rules: Format


class PassageOfSource(TypedDict):
    """A piece of a source."""

    id: Annotated[str, Field(description="What it is cited by.", examples=["S1.14"])]
    number: int
    page: Annotated[int | None, Field(description="Of the original, if that has pages.")]
    text: str


class ReadSource(TypedDict):
    """A document that a debate has read, with its passages."""

    id: Annotated[str, Field(examples=["S1"])]
    title: str
    origin: str
    kind: SourceKind
    sha256: Annotated[str, Field(description="Of the original.")]
    text_sha256: Annotated[str, Field(description="Of the passages.")]
    pages: int | None
    passages: Annotated[int, Field(description="How many there are.")]
    tokens: Annotated[int, Field(description="That it takes in a prompt, roughly.")]
    text: list[PassageOfSource]


class Link(TypedDict):
    """A link to one debate."""

    id: Annotated[str, Field(pattern=LINK_PATTERN, examples=[LINK_EXAMPLE])]
    debate_id: Id
    seat: Annotated[
        Slug | None, Field(description="The human seat that its holder speaks for; null: none.")
    ]
    created_at: str


class MadeLink(Link):
    """A link as it was made: its token is shown this once."""

    token: Annotated[str, Field(description="For `Authorization: Bearer …`.")]
    path: Annotated[str, Field(description="Of the page that it opens, on this service.")]


class AskedNow(TypedDict):
    """What a person is asked for."""

    asked: Annotated[Asked | None, Field(description="null: nobody is.")]


class UploadedSource(TypedDict):
    """A document that was sent."""

    upload: Annotated[str, Field(description="For `sources` of POST /debates, within a day.")]
    title: str
    origin: str
    kind: SourceKind
    sha256: str
    text_sha256: str
    pages: int | None
    passages: int
    tokens: int


class StatusEvent(TypedDict):
    """The debate's status, or something beside it that a reader must know."""

    status: Status
    reason: StopReason | None
    failure: Failure | None
    stage: str | None
    round: int | None
    progress: Progress
    degraded: bool
    notice: str | None
    waiting_for: NotRequired[Annotated[str | None, UNWRITTEN]]
    """The human seat that is to speak."""
    at: str


# --- agents and stations ---


class Agent(TypedDict):
    """A saved persona."""

    id: Slug
    name: str
    bio: str
    provider: Annotated[str, Field(description="Of the model; empty: of the default one.")]
    model: Annotated[str, Field(description="`provider:name`. Empty: the default one.")]
    stance: Stance
    voice: Voice
    created_at: str
    updated_at: str


class SeatedAgent(Agent):
    """An agent as it was, and which participant it is."""

    seat: str


class StationLimits(TypedDict, total=False):
    """Those that were given; the rest are the format's."""

    max_turn_seconds: int | float | None
    max_turn_tokens: int | None
    max_turns: int | None
    max_total_tokens: int | None
    max_cost_usd: int | float | None
    allow_unpriced: bool | None


class Station(TypedDict):
    """A channel that airs one conversation at a time."""

    id: Slug
    name: str
    about: str
    public: bool
    format: str
    options: Mapping[str, int]
    limits: StationLimits
    on_failure: OnFailure
    zone: str
    cron: str | None
    missed: Missed
    motions: tuple[str, ...]
    agents: tuple[str, ...]
    seats: int | None
    on_air: Annotated[Id | None, Field(description="The debate that has the air, or had it last.")]
    next_slot: str | None
    skipped: int
    trouble: Annotated[str | None, Field(description="Why the last slot was not filled.")]
    created_at: str
    updated_at: str


class Conversation(TypedDict):
    """A debate scheduled on a station."""

    id: Id
    station: Slug
    motion: str
    format: str
    status: Broadcast
    due: str
    called: Annotated[bool, Field(description="Its time has come, and it waits for the air.")]
    started_at: str | None
    ended_at: str | None
    stop_reason: StopReason | None
    degraded: bool
    progress: Progress
    agents: list[SeatedAgent]


class Slot(TypedDict):
    """What the pool would air then."""

    due: str
    motion: str
    agents: list[str]


class Programme(TypedDict):
    """What is on, comes and was; `past` is newest first."""

    station: Station
    now: Conversation | None
    waiting: list[Conversation]
    slots: list[Slot]
    past: list[Conversation]


# --- on air ---


class StationOnAir(TypedDict):
    """A station as its audience sees it."""

    id: Slug
    name: str
    about: str
    zone: str


class OnAir(TypedDict):
    """What is on, comes and was; the agents of `slots` are names."""

    station: StationOnAir
    now: Conversation | None
    waiting: list[Conversation]
    slots: list[Slot]
    past: list[Conversation]


class DebateOnAir(TypedDict):
    """What an audience may see of a debate."""

    id: Id
    motion: str
    format: str
    status: Status
    degraded: bool
    stop_reason: StopReason | None
    stage: str | None
    round: int | None
    place: Heading | None
    stages: list[StageOfDebate]
    progress: Progress
    participants: tuple[Participant, ...]
    host: Participant | None
    last_seq: int
    created_at: str
    started_at: str | None
    ended_at: str | None
