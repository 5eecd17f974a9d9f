"""The documents that a debate leaves behind: `report.json`, `consensus.json`, and what replay says.

`render.report` and `outcome.consensus` make them. The packet has a schema of its own.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from moot.core.debate import Stance, Turn
from moot.core.status import Status, StopReason
from moot.outcome.packet import Packet
from moot.wire.shapes import Conversation, DebateOnAir

# --- the report ---


class Point(TypedDict):
    text: str
    turn: int | None


class Closing(TypedDict):
    """What a debate closed with."""

    text: str
    by: Literal["judge", "host", "participant", "extraction", "model"]
    turn: int | None


class Counted(TypedDict):
    """What an audience is told of how much was said."""

    turns: int
    words: int
    seconds: float
    longestTurnWords: int
    share: float


class Statistics(Counted):
    inputTokens: int
    outputTokens: int
    costUsd: float
    retries: int
    failures: int
    estimated: bool


class Spoke(TypedDict):
    """Who spoke, and what for."""

    id: str
    name: str
    role: str
    stance: Stance
    mainPoints: list[Point]


class SpeakerOnAir(Spoke):
    statistics: Counted


class ReportSpeaker(Spoke):
    models: list[str]
    statistics: Statistics


class ReportDecision(TypedDict):
    selectedOption: str
    consensusScore: float
    confidenceScore: float


class ReportRound(TypedDict):
    round: int
    stage: str
    place: str
    turns: int
    words: int
    seconds: float
    wordsBySpeaker: Mapping[str, int]


class TimelineEntry(TypedDict):
    turn: int
    speaker: str
    seconds: float
    words: int
    failed: bool


class FailedTurn(TypedDict):
    turn: int
    round: int
    stage: str
    place: str
    speaker: str
    model: str
    errorCode: str | None


class Writer(TypedDict):
    """The model that wrote a report, and what that took."""

    model: str
    inputTokens: int
    outputTokens: int
    costUsd: float
    calls: int
    estimated: bool
    madeAt: str


class Report(TypedDict):
    """What was said, by whom, and what it took; of a debate that has not ended, so far."""

    debate: str
    motion: str
    format: str
    status: Status
    stopReason: StopReason | None
    degraded: bool
    startedAt: str | None
    endedAt: str | None
    durationSeconds: float | None
    summary: Closing
    decision: ReportDecision | None
    speakers: list[ReportSpeaker]
    totals: Statistics
    rounds: list[ReportRound]
    timeline: list[TimelineEntry]
    failures: list[FailedTurn]
    method: Literal["extraction", "model"]
    unclosed: NotRequired[
        Annotated[str, Field(description="Why there is no closing summary, if one was asked for.")]
    ]
    unread: NotRequired[Annotated[str, Field(description="Why no model wrote it.")]]
    closing: NotRequired[
        Annotated[
            Closing | None,
            Field(description="If a model wrote the report: what the host or judge closed with."),
        ]
    ]
    writer: NotRequired[Writer]


class ReportOnAir(TypedDict):
    """Of the report, what is about what was said."""

    summary: Closing
    durationSeconds: float | None
    speakers: list[SpeakerOnAir]
    totals: Counted
    method: str
    closing: Closing | None


class ConversationOnAir(TypedDict):
    """A conversation that was aired, and all that was said."""

    conversation: Conversation
    debate: DebateOnAir
    turns: list[Turn]
    report: Annotated[ReportOnAir | None, Field(description="Once it has ended.")]


# --- consensus.json ---


class Stand(TypedDict):
    role: str
    option: str
    confidence: float
    turn: int


class CountedOption(TypedDict):
    option: str
    support: float
    stands: list[Stand]


class Tally(TypedDict):
    """`round1`: where positions were first stated, whatever that stage is called."""

    round1: list[CountedOption]
    final: list[CountedOption]


class Cause(TypedDict):
    role: str
    turn: int


Move = TypedDict(
    "Move", {"role": str, "from": str, "to": str, "turns": list[int], "after": list[Cause]}
)


class Missing(TypedDict):
    """A turn that failed."""

    role: str
    stage: str
    turn: int
    errorCode: str | None
    errorMessage: str | None


class Unmapped(TypedDict):
    consensusScore: float
    favoured: str | None


class CitedPoint(TypedDict):
    text: str
    turns: list[int]


class ConsensusFile(TypedDict):
    """`consensus.json`."""

    consensusScore: float
    confidenceScore: float
    keyAgreements: list[CitedPoint]
    keyDisagreements: list[CitedPoint]
    favoured: str | None
    withoutMapping: Unmapped
    tally: Tally
    moved: list[Move]
    names: Mapping[str, str]
    droppedCitations: int
    missing: list[Missing]


# --- replay ---


class Consistency(TypedDict):
    filesComplete: bool
    indexed: bool
    issues: list[str]


class Replay(TypedDict):
    """A debate from its files alone, and every finding that is not as it should be. A file that
    somebody changed may hold anything."""

    request: dict[str, Any] | None
    rounds: list[Any] | dict[str, Any]
    consensus: ConsensusFile | dict[str, Any] | None
    finalPacket: Packet | dict[str, Any] | None
    writebackRecord: dict[str, Any] | None
    transcript: dict[str, Any] | None
    consistency: Consistency


class Record(TypedDict):
    """A note that was written back."""

    path: str
    debate_id: str
    type: Literal["decision", "worklog"]
    title: str
    text: str
    created_at: str
