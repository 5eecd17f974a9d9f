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
SLUG_PATTERN = "^[a-z0-9][a-z0-9-]{0,39}$"
Whole = Annotated[int, Field(ge=0)]


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


Model = Annotated[
    str,
    Field(
        max_length=200,
        description="`provider:name`, or a provider alone for its default model.",
        examples=["claude", "openai:gpt-5-mini", "local"],
    ),
]


SavedAgent = Annotated[
    str,
    Field(
        pattern=SLUG_PATTERN,
        description="The id of an agent that takes this seat; what is given beside it wins.",
        examples=["ada"],
    ),
]


def _unset(value: object) -> bool:
    return value is None


LATER: Any = Field(default=None, exclude_if=_unset)
"""A field that came later. It is left out of what an Idempotency-Key stands for while it is unset,
so that a request from before still gives the debate that it made."""


class SeatAsked(Asked):
    """Who is to speak: an agent, or somebody with a name. Without a model, the default one."""

    id: (
        Annotated[
            str,
            Field(
                pattern=SLUG_PATTERN,
                description="Who it is in turns and the cursor; made of the name if left out.",
                examples=["ada"],
            ),
        ]
        | None
    ) = LATER
    agent: SavedAgent | None = None
    name: Annotated[str, Field(min_length=1, max_length=200, examples=["Ada"])] | None = None
    stance: Stance | None = None
    bio: Annotated[str, Field(max_length=MAX_BIO)] | None = None
    role: Annotated[str, Field(max_length=200)] | None = None
    model: Model | None = None


class HostAsked(Asked):
    """Who is to moderate."""

    agent: SavedAgent | None = None
    name: Annotated[str, Field(max_length=200)] | None = None
    bio: Annotated[str, Field(max_length=MAX_BIO)] | None = None
    model: Model | None = None


class LimitsAsked(Asked):
    max_turn_seconds: Annotated[float, Field(ge=5, le=120)] | None = None
    max_turn_tokens: Annotated[int, Field(ge=128, le=4096)] | None = None
    max_turns: Annotated[int, Field(ge=1, le=MAX_TURNS)] | None = None
    max_total_tokens: Annotated[int, Field(ge=1, le=10**12)] | None = None
    max_cost_usd: Annotated[float, Field(ge=0, le=10**6)] | None = None
    allow_unpriced: (
        Annotated[
            bool,
            Field(description="Whether a model of unknown price may speak under max_cost_usd."),
        ]
        | None
    ) = LATER


OutputType = Literal["decision", "writing", "architecture", "planning", "evaluation"]
Constraints = Annotated[
    list[Annotated[str, Field(min_length=1)]], Field(max_length=MAX_CONSTRAINTS)
]


class BriefAsked(Asked):
    """What is asked for beside the motion, of a format that comes to a decision."""

    output_type: OutputType = "decision"
    constraints: Constraints = []
    writeback_record_type: Literal["decision", "worklog"] | None = None


class DebateAsked(Asked):
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
    allow_unpriced: (
        Annotated[
            bool,
            Field(
                description="Whether a model of unknown price may speak under max_cost_usd, which "
                "does not count what it costs then."
            ),
        ]
        | None
    ) = LATER
    brief: BriefAsked | None = LATER
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


class CouncilSeatAsked(Asked):
    role: Annotated[str, Field(examples=["Critic"])] | None = None
    model_provider: Annotated[str, Field(examples=["claude"])] | None = None
    model_name: str | None = None


class CouncilAsked(Asked):
    """A problem for the council. Names may be written in camelCase as well."""

    problem: Annotated[str, Field(min_length=1, max_length=MAX_MOTION)]
    output_type: OutputType
    constraints: Constraints = []
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


class Nothing(Asked):
    """An empty object."""


class PauseAsked(Asked):
    at_once: Annotated[bool, Field(description="Cancel the step in flight.")] = False


class RetryAsked(Asked):
    model: Model | None = None


class ReportAsked(Asked):
    model: Model | None = None


class Progress(Answer):
    done: Whole
    total: Whole


class Usage(Answer):
    input_tokens: Whole
    output_tokens: Whole
    cost_usd: Annotated[float, Field(ge=0)]
    calls: Whole
    estimated: bool


class Failure(Answer):
    code: str
    message: str
    actor: str
    model: str
    attempts: Whole
    at: str


class Participant(Answer):
    id: str
    name: str
    role: str
    stance: Stance
    bio: str
    model: str


class Cursor(Answer):
    next_round: int | None
    next_stage: str | None
    next_actor: str | None
    next_target: str | None


class Limits(Answer):
    max_turns: int
    max_turn_seconds: float
    max_turn_tokens: int
    max_total_tokens: int | None
    max_cost_usd: float | None
    allow_unpriced: Annotated[bool | None, Field(description="Left out while it is false.")] = None


class Phase(Answer):
    state: str
    at: str
    outcome: Literal["ok", "degraded", "failed"]


class Outcome(Answer):
    consensus_score: float
    confidence_score: float
    selected_option: str


class Place(Answer):
    """Where a debate stands, as people read it: "Free debate · round 1 of 2"."""

    title: Annotated[str, Field(description="The stage's title.")]
    round: Annotated[
        int | None, Field(description="Within the stage; null where the stage has one round.")
    ]
    rounds: Annotated[
        int | None, Field(description="How many the stage has; null where it has one, or no end.")
    ]


class StageOfDebate(Answer):
    """A stage as it is laid out for this debate."""

    name: str
    title: str
    first_round: Annotated[int, Field(ge=0, description="Rounds count through the whole debate.")]
    rounds: Annotated[int | None, Field(description="null: as many as max_turns leaves.")]


class Schedule(Answer):
    """What comes next."""

    target_id: Annotated[str, Field(description="Whose words it leads to.")]
    instruction: Annotated[str, Field(description="What is asked; of a cue, of the host.")]
    next_stage: Annotated[str | None, Field(description="The stage that it opens, if it does.")]


class ListedDebate(Answer):
    """A debate as lists show it."""

    id: Annotated[str, Field(pattern=ID_PATTERN, examples=[ID_EXAMPLE])]
    motion: str
    format: str
    status: Status
    stage: Annotated[str | None, Field(description="Where it stands now; once over, its last.")]
    round: int | None
    place: Place | None
    progress: Progress
    degraded: bool
    stop_reason: StopReason | None
    failure: Failure | None
    usage: Usage
    created_at: str
    updated_at: str


class Debates(Answer):
    """A page, newest first. It may be short, even empty, while there is a `next`."""

    items: list[ListedDebate]
    next: Annotated[str | None, Field(description="`cursor` of the next page; null: no more.")]


class Debate(Answer):
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
    stage: Annotated[str | None, Field(description="Where it stands now; once over, its last.")]
    round: int | None
    place: Place | None
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
    schedule: Annotated[Schedule | None, Field(description="What comes next; null: nothing.")]
    stages: list[StageOfDebate]
    rules: Annotated[
        dict[str, Any], Field(description="The format as it was when the debate began.")
    ]


class Turn(Answer):
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


class Turns(Answer):
    items: list[Turn]


class Provider(Answer):
    """Whether a provider can be used here; never its key."""

    provider: str
    works: bool
    model: Annotated[str, Field(description="What the provider alone means.")]
    detail: str
    small: Annotated[
        bool, Field(description="Whether that model is small, or not one: a weak host.")
    ]


class Providers(Answer):
    items: list[Provider]
    default: Annotated[
        list[str],
        Field(
            min_length=1,
            description="What seats without a model take, spread so that families differ: "
            "MOOT_MODEL, else the vendors that have a key, else `local`.",
        ),
    ]


class FormatProblem(Answer):
    """A file of your own that is not a format, and why."""

    file: str
    detail: str


class Formats(Answer):
    items: Annotated[
        list[dict[str, Any]],
        Field(description="`moot schema format` describes each; here each stage has its title."),
    ]
    problems: Annotated[
        list[FormatProblem], Field(description="Files that cannot be used; the others can.")
    ]


class Record(Answer):
    path: str
    debate_id: str
    type: Literal["decision", "worklog"]
    title: str
    text: str
    created_at: str


class Records(Answer):
    items: list[Record]


class Replay(Answer):
    """A debate from its files alone, and every finding that is not as it should be."""

    request: dict[str, Any] | None
    rounds: list[Any] | dict[str, Any]
    consensus: dict[str, Any] | None
    finalPacket: dict[str, Any] | None  # noqa: N815  the seed's spelling
    writebackRecord: dict[str, Any] | None  # noqa: N815
    transcript: dict[str, Any] | None
    consistency: dict[str, Any]


class Health(Answer):
    status: Literal["ok"]


class Ready(Answer):
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
