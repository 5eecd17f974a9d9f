"""What a request may hold, for the OpenAPI document and the first check.

The core checks the rest, and says what is wrong in words.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from moot.core.debate import OnFailure, Stance
from moot.core.followups import MAX_QUESTION
from moot.core.format import MAX_JURORS, MAX_PARTICIPANTS, MAX_TURNS, Effort
from moot.core.request import MAX_BIO, MAX_CONSTRAINTS, MAX_MOTION, MAX_NAME
from moot.core.sources import MAX_TITLE, MAX_UPLOADS, HiddenFrom
from moot.core.verbs import MAX_WORDS
from moot.outcome.calibration import Hindsight
from moot.stations.airing import MOST_SCHEDULED
from moot.stations.slots import MAX_LINE
from moot.stations.station import MAX_ABOUT, MAX_AGENTS, MAX_MOTIONS, Missed
from moot.wire.shapes import ID_EXAMPLE, Id, Slug
from moot.wire.toml import MAX_BYTES

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME, examples=["Ada"])]
Bio = Annotated[str, Field(max_length=MAX_BIO)]
Motion = Annotated[
    str, Field(min_length=1, max_length=MAX_MOTION, examples=["Should we ship on Fridays?"])
]
MODEL = (
    "`provider:name`, or a provider alone for its default model. `@none`, `@low`, `@medium` or "
    "`@high` behind it says how hard the model thinks before it speaks."
)
Model = Annotated[
    str,
    Field(max_length=200, description=MODEL, examples=["claude@high", "openai:gpt-5", "local"]),
]
EFFORT = "How hard its model thinks, if `model` does not say so."
SAVED = "The id of an agent that takes this seat; what is given beside it wins."
SavedAgent = Annotated[Slug | None, Field(description=SAVED)]
UNPRICED = "Whether a model of unknown price may speak under max_cost_usd."
Unpriced = Annotated[bool | None, Field(description=UNPRICED)]
Format = Annotated[str, Field(max_length=100, examples=["classic"])]
Options = Annotated[dict[str, int], Field(max_length=20, examples=[{}])]
OutputType = Literal["decision", "writing", "architecture", "planning", "evaluation"]
RecordType = Literal["decision", "worklog"]
Constraints = Annotated[
    list[Annotated[str, Field(min_length=1)]], Field(max_length=MAX_CONSTRAINTS)
]
Seconds = Annotated[float | None, Field(ge=5, le=120)]
Tokens = Annotated[int | None, Field(ge=128, le=4096)]
LATER: Any = Field(default=None, exclude_if=lambda value: value is None)  # pyright: ignore[reportUnknownLambdaType]
"""A field that came later. It is left out of what an Idempotency-Key stands for while it is unset,
so that a request from before still gives the debate that it made."""


def _like(example: dict[str, Any]) -> ConfigDict:
    """How a body may look, for the document."""
    return ConfigDict(json_schema_extra={"examples": [example]})


class Asked(BaseModel):
    """A body of JSON."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Nothing(Asked):
    """An empty object."""


class PauseAsked(Asked):
    """How to pause."""

    at_once: Annotated[bool, Field(description="Cancel the step in flight.")] = False


class ModelAsked(Asked):
    """Which model is to do it."""

    model: Model | None = None


class RetryAsked(ModelAsked):
    """Which model is to do it, and how long it may be silent."""

    max_turn_seconds: Seconds = None


# --- debates ---


class SourceAsked(Asked):
    """A document: its text, an upload or, if the service fetches any, an address."""

    model_config = _like({"title": "RFC 12", "text": "We move the ledger before winter."})
    title: Annotated[str | None, Field(max_length=MAX_TITLE)] = None
    text: Annotated[str | None, Field(description="The text itself.")] = None
    upload: Annotated[str | None, Field(max_length=100, description="Of POST /sources.")] = None
    url: Annotated[str | None, Field(max_length=2000, description="If MOOT_FETCH=1.")] = None


Sources = Annotated[list[SourceAsked] | None, Field(max_length=MAX_UPLOADS)]
SECRETS = "Whether sources may hold what looks like a key."
Secrets = Annotated[bool | None, Field(description=SECRETS)]


class SeatAsked(Asked):
    """Who is to speak: an agent, or somebody with a name. Without a model, the default one."""

    id: Annotated[
        Slug | None,
        Field(description="Who it is in turns and the cursor; made of the name if left out."),
    ] = LATER
    agent: SavedAgent = None
    name: Annotated[str, Field(min_length=1, max_length=200, examples=["Ada"])] | None = None
    stance: Stance | None = None
    bio: Bio | None = None
    role: Annotated[str, Field(max_length=200)] | None = None
    model: Model | None = None
    effort: Annotated[Effort | None, Field(description=EFFORT)] = LATER


class HostAsked(Asked):
    """Who is to moderate."""

    agent: SavedAgent = None
    name: Annotated[str, Field(max_length=200)] | None = None
    bio: Bio | None = None
    model: Model | None = None
    effort: Annotated[Effort | None, Field(description=EFFORT)] = LATER


class LimitsAsked(Asked):
    """What one turn and the whole debate may take."""

    max_turn_seconds: Seconds = None
    max_turn_tokens: Tokens = None
    max_turns: Annotated[int | None, Field(ge=1, le=MAX_TURNS)] = None
    max_total_tokens: Annotated[int | None, Field(ge=1, le=10**12)] = None
    max_cost_usd: Annotated[float | None, Field(ge=0, le=10**6)] = None
    allow_unpriced: Unpriced = LATER


class LimitsPreferred(Asked):
    """What a turn and a debate may take, unless the debate says otherwise."""

    max_turn_seconds: Seconds = None
    max_turn_tokens: Tokens = None
    max_total_tokens: Annotated[int | None, Field(ge=1, le=10**12)] = None
    max_cost_usd: Annotated[float | None, Field(ge=0, le=10**6)] = None


class SettingsAsked(Asked):
    """The settings, whole: what is left out is unset."""

    model_config = _like({"models": ["claude", "openai"], "limits": {"max_cost_usd": 2.0}})
    models: Annotated[
        list[Model],
        Field(max_length=MAX_PARTICIPANTS, description="Of seats that name none, in turn."),
    ] = []
    limits: LimitsPreferred | None = None


class BriefAsked(Asked):
    """What is asked for beside the motion, of a format that comes to a decision."""

    output_type: OutputType = "decision"
    constraints: Constraints = []
    writeback_record_type: RecordType | None = None


class PanelAsked(Asked):
    """Who votes from outside the cast."""

    size: Annotated[
        int | None,
        Field(ge=0, le=MAX_JURORS, description="0: none. Not given: one for each model."),
    ] = None
    models: Annotated[
        list[Model],
        Field(max_length=MAX_JURORS, description="Jurors beyond these take the defaults."),
    ] = []


class JuryAsked(PanelAsked):
    """Who votes from outside the cast, and how often."""

    model_config = _like({"size": 3, "models": [], "swap": True, "baseline": True})
    swap: Annotated[bool | None, Field(description="Each juror votes in two orders.")] = None
    baseline: Annotated[
        bool | None, Field(description="Each juror also votes before it has heard anything.")
    ] = None


class RejudgeAsked(Asked):
    """The jury that judges again; its votes are those in both orders, and nothing else."""

    model_config = _like({"jury": {"size": 3, "models": []}})
    jury: PanelAsked | None = None


class SeatChanged(Asked):
    """Who else speaks for a seat."""

    id: Annotated[Slug | None, Field(description="Of the participant; not for the host.")] = None
    model: Model | None = None
    bio: Bio | None = None


class ForkChanges(Asked):
    """What is to be different from there on."""

    participants: Annotated[list[SeatChanged] | None, Field(max_length=MAX_PARTICIPANTS)] = None
    host: SeatChanged | None = None
    options: Options | None = None
    limits: LimitsAsked | None = None
    jury: JuryAsked | None = None
    sources: Annotated[Sources, Field(description="More documents, beside those it has.")] = None
    allow_secrets: Secrets = None


class ForkAsked(Asked):
    """Where a new debate parts from this one, and how it differs."""

    model_config = _like(
        {"after": 4, "changes": {"participants": [{"id": "ada", "model": "local"}]}}
    )
    after: Annotated[int, Field(ge=1, le=2**31 - 1, description="The seq of the last common turn.")]
    changes: ForkChanges | None = None


class AskAsked(Asked):
    """A question about a debate that has ended."""

    model_config = _like({"question": "Who spoke of the price, and what did they say?"})
    question: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]
    model: Annotated[Model | None, Field(description="Who answers; one of the debate's own.")] = (
        None
    )


class SayAsked(Asked):
    """What a person says."""

    model_config = _like({"text": "What would it cost?"})
    text: Annotated[str | None, Field(min_length=1, max_length=MAX_WORDS)] = None
    answer: Annotated[
        dict[str, Any] | None,
        Field(description="Instead of a text: the fields that GET /debates/{id}/asked names."),
    ] = None
    seat: Annotated[
        Slug | None,
        Field(description="For this human seat, or not at all; without it, perhaps as a note."),
    ] = None
    step: Annotated[
        str | None,
        Field(
            max_length=200,
            description="With `seat`: for this step alone, as GET /debates/{id}/asked names it. "
            "409 if the seat is at another one by now.",
        ),
    ] = None
    note: Annotated[bool, Field(description="As a note, whosever turn it is.")] = False


class LinkAsked(Asked):
    """For whom a link is."""

    model_config = _like({"seat": None})
    seat: Annotated[
        Slug | None,
        Field(description="The human seat that its holder speaks for. Without it: read-only."),
    ] = None


Titled = Annotated[str | None, Field(max_length=1000, description="What people call it.")]
Tagged = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200)]] | None,
    Field(max_length=100, examples=[["work"]], description="What it is found by."),
]


class LabelsAsked(Asked):
    """What is to be changed; the rest stays."""

    model_config = _like({"title": "The Friday question", "tags": ["work"], "archived": False})
    title: Titled = None
    tags: Tagged = None
    archived: Annotated[bool | None, Field(description="Lists leave it out.")] = None


class OutcomeAsked(Asked):
    """What came of a decision, as one knows later."""

    model_config = _like({"outcome": "right"})
    outcome: Annotated[Hindsight | None, Field(description="null takes back what was noted.")]


Hide = Annotated[
    list[HiddenFrom] | None,
    Field(max_length=2, description="Who decides by the speeches and verified quotes alone."),
]

Depth = Annotated[
    Literal["whole", "auto"] | None,
    Field(description="auto: two seats answer alone, and if they agree, the rest is left out."),
]
Audit = Annotated[
    float | None,
    Field(ge=0, le=1, description="The share of these that is held in full all the same; 0.05."),
]


class DebateAsked(Asked):
    """A debate to be held."""

    model_config = _like(
        {
            "motion": "Should we ship on Fridays?",
            "format": "classic",
            "participants": [
                {"name": "Ada", "stance": "pro", "model": "claude"},
                {"name": "Ben", "stance": "con", "model": "openai"},
            ],
            "limits": {"max_turn_tokens": 600},
        }
    )
    motion: Motion
    format: Annotated[Format, Field(description="See GET /formats.")] = "standard"
    participants: Annotated[list[SeatAsked], Field(max_length=MAX_PARTICIPANTS)] = []
    host: HostAsked | None = None
    options: Annotated[Options, Field(description="What the format has options for.")] = {}
    limits: LimitsAsked | None = None
    on_failure: OnFailure | None = None
    allow_unpriced: Unpriced = LATER
    brief: BriefAsked | None = LATER
    jury: JuryAsked | None = LATER
    sources: Sources = LATER
    hide_sources_from: Hide = LATER
    depth: Depth = LATER
    audit: Audit = LATER
    allow_secrets: Secrets = LATER
    title: Titled = LATER
    tags: Tagged = LATER
    start: Annotated[bool, Field(description="Or let it wait, `scheduled`.")] = True


class TemplateAsked(Asked):
    """What debates that begin with it are asked for with."""

    model_config = _like({"format": "duel", "participants": [{"name": "Ada", "model": "claude"}]})
    motion: Motion | None = None
    format: Format = "standard"
    participants: Annotated[list[SeatAsked] | None, Field(max_length=MAX_PARTICIPANTS)] = None
    host: HostAsked | None = None
    options: Options | None = None
    limits: LimitsAsked | None = None
    on_failure: OnFailure | None = None
    allow_unpriced: Unpriced = None
    brief: BriefAsked | None = None
    jury: JuryAsked | None = None
    hide_sources_from: Hide = None
    depth: Depth = None
    audit: Audit = None
    tags: Tagged = None


class CouncilSeatAsked(Asked):
    """Who speaks for a role."""

    role: Annotated[str, Field(examples=["Critic"])] | None = None
    model_provider: Annotated[str, Field(examples=["claude"])] | None = None
    model_name: str | None = None


class CouncilAsked(Asked):
    """A problem for the council. Names may be written in camelCase as well."""

    model_config = _like(
        {
            "problem": "Should we move to Postgres?",
            "output_type": "decision",
            "constraints": ["no downtime"],
            "participants": [{"role": "Critic", "model_provider": "claude"}],
        }
    )
    problem: Motion
    output_type: OutputType
    constraints: Constraints = []
    participants: Annotated[list[CouncilSeatAsked], Field(max_length=MAX_PARTICIPANTS)] = []
    max_turn_seconds: Seconds = None
    max_turn_tokens: Tokens = None
    writeback_record_type: RecordType | None = None
    jury: JuryAsked | None = None
    sources: Sources = None
    hide_sources_from: Hide = None
    depth: Depth = LATER
    audit: Audit = LATER
    allow_secrets: Secrets = None


# --- agents and stations. Of a change no field has a default: what is not given stays as it is ---


class VoiceAsked(Asked):
    """How a browser may read the agent aloud."""

    lang: Annotated[str, Field(max_length=100, examples=["en-GB"])] = ""
    name: Annotated[str, Field(max_length=100)] = ""
    rate: Annotated[float, Field(ge=0.5, le=2)] = 1.0
    pitch: Annotated[float, Field(ge=0, le=2)] = 1.0


class AgentChanged(Asked):
    """What is to be another; the rest stays."""

    model_config = _like({"bio": "Doubts everything."})
    name: Name = ""
    bio: Bio = ""
    provider: Annotated[
        str | None,
        Field(
            max_length=200,
            description="Whose model: `model` may then be its name alone.",
            examples=["openai"],
        ),
    ] = None
    model: Model | None = None
    stance: Stance = "neutral"
    voice: VoiceAsked = VoiceAsked()


class AgentAsked(AgentChanged):
    """A persona to keep. Without a model it speaks with the default one."""

    model_config = _like({"name": "Ada", "bio": "Has shipped on many Fridays.", "stance": "pro"})
    name: Name  # pyright: ignore[reportGeneralTypeIssues]  here it must be given


class AgentsImported(Asked):
    """A file of agents: all of it, or nothing. One of a known id is changed."""

    model_config = _like({"toml": '[[agents]]\nid = "ada"\nname = "Ada"\n'})
    toml: Annotated[str, Field(max_length=MAX_BYTES, description="As an export gives it.")]


class StationChanged(Asked):
    """What is to be another; the rest stays."""

    model_config = _like({"about": "Every evening at six."})
    name: Name = ""
    about: Annotated[str, Field(max_length=MAX_ABOUT)] = ""
    public: Annotated[bool, Field(description="Whether anybody may listen, without a token.")] = (
        True
    )
    format: Annotated[Format, Field(examples=["duel"])] = "duel"
    options: Options = {}
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
    motions: Annotated[list[Motion], Field(max_length=MAX_MOTIONS)] = []
    agents: Annotated[list[Slug], Field(max_length=MAX_AGENTS, examples=[[]])] = []
    seats: Annotated[int | None, Field(ge=1, le=MAX_PARTICIPANTS)] = None


class StationAsked(StationChanged):
    """A channel that airs one conversation at a time."""

    model_config = _like({"name": "Evening Duel", "motions": ["Should we ship on Fridays?"]})
    name: Name  # pyright: ignore[reportGeneralTypeIssues]  here it must be given


class StationsImported(AgentsImported):
    """A file of stations: all of it, or nothing. One of a known id is changed."""

    model_config = _like({"toml": '[[stations]]\nid = "duel"\nname = "Duel"\n'})


class ConversationAsked(Asked):
    """What to schedule; what is not given is the pool's next."""

    model_config = _like({"motion": "Should we ship on Fridays?", "at": "2026-12-24T18:00"})
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


class OrderAsked(Asked):
    """All that waits, in the order it is to be aired: the times stay."""

    model_config = _like({"conversations": []})
    conversations: Annotated[list[Id], Field(max_length=MOST_SCHEDULED)]


class HookAsked(BaseModel):
    """Which conversation is to begin. Signed calls must say it; other fields are the sender's."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"examples": [{"conversation": ID_EXAMPLE}]}
    )
    conversation: str | None = None
