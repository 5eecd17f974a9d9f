"""The shapes of what is asked and answered, for the OpenAPI document and its readers.

What is asked is checked against these, then by the core, which says the rest in words. Answers are
encoded by `core.codec`; a test holds them against these.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from moot.core.debate import Kind, OnFailure, Stance, TurnStatus
from moot.core.format import MAX_PARTICIPANTS, MAX_TURNS
from moot.core.request import MAX_BIO, MAX_CONSTRAINTS, MAX_MOTION
from moot.core.status import Status, StopReason

ID_PATTERN = "^debate_[0-9]{8}_[0-9]{6}_[a-z2-7]{6}$"
ID_EXAMPLE = "debate_20261115_120000_abc234"
Whole = Annotated[int, Field(ge=0)]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


Model = Annotated[
    str,
    Field(
        max_length=200,
        description="`provider:name`, or a provider alone for its default model.",
        examples=["claude", "openai:gpt-5-mini", "local"],
    ),
]


class SeatAsked(_Asked):
    """Who is to speak. A seat without a model takes the default one."""

    name: Annotated[str, Field(min_length=1, max_length=200, examples=["Ada"])]
    stance: Stance | None = None
    bio: Annotated[str, Field(max_length=MAX_BIO)] | None = None
    role: Annotated[str, Field(max_length=200)] | None = None
    model: Model | None = None


class HostAsked(_Asked):
    """Who is to moderate."""

    name: Annotated[str, Field(max_length=200)] | None = None
    bio: Annotated[str, Field(max_length=MAX_BIO)] | None = None
    model: Model | None = None


class LimitsAsked(_Asked):
    max_turn_seconds: Annotated[float, Field(ge=5, le=120)] | None = None
    max_turn_tokens: Annotated[int, Field(ge=128, le=4096)] | None = None
    max_turns: Annotated[int, Field(ge=1, le=MAX_TURNS)] | None = None
    max_total_tokens: Annotated[int, Field(ge=1, le=10**12)] | None = None
    max_cost_usd: Annotated[float, Field(ge=0, le=10**6)] | None = None


class DebateAsked(_Asked):
    """A debate to be held."""

    motion: Annotated[
        str,
        Field(min_length=1, max_length=MAX_MOTION, examples=["Should we ship on Fridays?"]),
    ]
    format: Annotated[
        str, Field(max_length=100, examples=["classic"], description="See GET /formats.")
    ] = "standard"
    participants: Annotated[list[SeatAsked], Field(max_length=MAX_PARTICIPANTS)] = []
    host: HostAsked | None = None
    options: Annotated[
        dict[str, int],
        Field(max_length=20, description="What the format has options for.", examples=[{}]),
    ] = {}
    limits: LimitsAsked | None = None
    on_failure: OnFailure | None = None
    start: Annotated[bool, Field(description="Or let it wait, `scheduled`.")] = True

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {
                    "motion": "Should we ship on Fridays?",
                    "format": "classic",
                    "participants": [
                        {"name": "Ada", "stance": "pro", "model": "claude"},
                        {"name": "Ben", "stance": "con", "model": "openai"},
                    ],
                    "limits": {"max_turn_tokens": 600},
                }
            ]
        },
    )


class CouncilSeatAsked(_Asked):
    role: Annotated[str, Field(examples=["Critic"])] | None = None
    model_provider: Annotated[str, Field(examples=["claude"])] | None = None
    model_name: str | None = None


class CouncilAsked(_Asked):
    """A problem for the council. Names may be written in camelCase as well."""

    problem: Annotated[str, Field(min_length=1, max_length=MAX_MOTION)]
    output_type: Literal["decision", "writing", "architecture", "planning", "evaluation"]
    constraints: Annotated[
        list[Annotated[str, Field(min_length=1)]], Field(max_length=MAX_CONSTRAINTS)
    ] = []
    participants: Annotated[list[CouncilSeatAsked], Field(max_length=MAX_PARTICIPANTS)] = []
    max_turn_seconds: Annotated[float, Field(ge=5, le=120)] | None = None
    max_turn_tokens: Annotated[int, Field(ge=128, le=4096)] | None = None
    writeback_record_type: Literal["decision", "worklog"] | None = None

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {
                    "problem": "Should we move to Postgres?",
                    "output_type": "decision",
                    "constraints": ["no downtime"],
                    "participants": [{"role": "Critic", "model_provider": "claude"}],
                }
            ]
        },
    )


class Nothing(_Asked):
    """An empty object."""


class RetryAsked(_Asked):
    model: Model | None = None


class Progress(_Answer):
    done: Whole
    total: Whole


class Usage(_Answer):
    input_tokens: Whole
    output_tokens: Whole
    cost_usd: Annotated[float, Field(ge=0)]
    calls: Whole
    estimated: bool


class Failure(_Answer):
    code: str
    message: str
    actor: str
    model: str
    attempts: Whole
    at: str


class Participant(_Answer):
    id: str
    name: str
    role: str
    stance: Stance
    bio: str
    model: str


class Cursor(_Answer):
    next_round: int | None
    next_stage: str | None
    next_actor: str | None
    next_target: str | None


class Limits(_Answer):
    max_turns: int
    max_turn_seconds: float
    max_turn_tokens: int
    max_total_tokens: int | None
    max_cost_usd: float | None


class Phase(_Answer):
    state: str
    at: str
    outcome: Literal["ok", "degraded", "failed"]


class Outcome(_Answer):
    consensus_score: float
    confidence_score: float
    selected_option: str


class ListedDebate(_Answer):
    """A debate as lists show it."""

    id: Annotated[str, Field(pattern=ID_PATTERN, examples=[ID_EXAMPLE])]
    motion: str
    format: str
    status: Status
    stage: str | None
    round: int | None
    progress: Progress
    degraded: bool
    stop_reason: StopReason | None
    failure: Failure | None
    usage: Usage
    created_at: str
    updated_at: str


class Debates(_Answer):
    """A page, newest first. It may be short, even empty, while there is a `next`."""

    items: list[ListedDebate]
    next: Annotated[str | None, Field(description="`cursor` of the next page; null: no more.")]


class Debate(_Answer):
    """All of it."""

    id: Annotated[str, Field(pattern=ID_PATTERN, examples=[ID_EXAMPLE])]
    motion: str
    format: str
    status: Status
    degraded: bool
    warnings: list[str]
    stop_reason: StopReason | None
    stop_requested_at: str | None
    failure: Failure | None
    cursor: Cursor
    stage: str | None
    round: int | None
    progress: Progress
    participants: list[Participant]
    host: Participant | None
    options: dict[str, int]
    limits: Limits
    on_failure: OnFailure
    brief: dict[str, Any]
    phases: list[Phase]
    outcome: Outcome | None
    usage: Usage
    last_seq: Whole
    created_at: str
    started_at: str | None
    ended_at: str | None
    updated_at: str
    rules: Annotated[
        dict[str, Any], Field(description="The format as it was when the debate began.")
    ]


class Turn(_Answer):
    seq: Annotated[int, Field(ge=1)]
    round: Whole
    stage: str
    actor: str
    name: str
    kind: Kind
    target: str | None
    instruction: str | None
    text: str
    data: dict[str, Any] | None
    status: TurnStatus
    error_code: str | None
    model: str
    usage: Usage
    started_at: str
    committed_at: str


class Turns(_Answer):
    items: list[Turn]


class Provider(_Answer):
    """Whether a provider can be used here; never its key."""

    provider: str
    works: bool
    model: str
    detail: str


class Providers(_Answer):
    items: list[Provider]
    default: Annotated[str, Field(description="The model of a seat that names none.")]


class Formats(_Answer):
    items: Annotated[
        list[dict[str, Any]], Field(description="`moot schema format` describes each.")
    ]


class Record(_Answer):
    path: str
    debate_id: str
    type: Literal["decision", "worklog"]
    title: str
    text: str
    created_at: str


class Records(_Answer):
    items: list[Record]


class Replay(_Answer):
    """A debate from its files alone, and every finding that is not as it should be."""

    request: dict[str, Any] | None
    rounds: list[Any] | dict[str, Any]
    consensus: dict[str, Any] | None
    finalPacket: dict[str, Any] | None  # noqa: N815  the seed's spelling
    writebackRecord: dict[str, Any] | None  # noqa: N815
    transcript: dict[str, Any] | None
    consistency: dict[str, Any]


class Health(_Answer):
    status: Literal["ok"]


class Ready(_Answer):
    status: Literal["ready", "not ready"]
    checks: dict[str, str]


class FieldProblem(BaseModel):
    field: str
    message: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: Annotated[str, Field(description="A sentence that says how to mend it.")]
    code: str
    field: str | None = None
    errors: list[FieldProblem] | None = None
