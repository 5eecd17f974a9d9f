"""The documents that a debate leaves behind: `report.json`, `consensus.json`, `verdict.json`, and
what replay says.

`render.report`, `outcome.consensus` and `outcome.verdict` make them. The packet has a schema of its
own.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from moot.core.debate import OutcomeKind, Stance, Turn
from moot.core.followups import Followup
from moot.core.status import Status, StopReason
from moot.outcome.calibration import Hindsight
from moot.outcome.packet import Packet
from moot.wire.shapes import Conversation, DebateOnAir, Local, Unpriced

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
    unpriced: NotRequired[Unpriced]
    local: NotRequired[Local]


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


class Finding(TypedDict):
    """Something that is true of a debate, and the turns that show it."""

    text: str
    turns: list[int]


class SpeakersFinding(Finding):
    speaker: NotRequired[Annotated[str, Field(description="The id of whose it is.")]]
    picked: NotRequired[Annotated[bool, Field(description="It was picked by counting words.")]]


class Takeaways(TypedDict):
    """What a debate comes to: by a model that read it, by its verdict, or by extraction."""

    by: Literal["model", "verdict", "extraction"]
    atIssue: Annotated[Finding, Field(description="Where the speakers part; else the motion.")]
    best: Annotated[list[SpeakersFinding], Field(description="The best point of each speaker.")]
    conceded: Annotated[list[SpeakersFinding] | None, Field(description="None: nobody was asked.")]
    open: Annotated[list[SpeakersFinding] | None, Field(description="None: nobody was asked.")]


class Taken(TypedDict):
    """What calls took."""

    inputTokens: int
    outputTokens: int
    costUsd: float
    calls: int
    estimated: bool
    thinkingTokens: NotRequired[int]


class VerdictUsage(Taken):
    """What all calls of the debate took, failed and cancelled ones too. A verdict is made when the
    debate ends: what its report took later is in the debate's `spent`."""

    unpriced: NotRequired[Unpriced]
    local: NotRequired[Local]


class Writer(Taken):
    """The model that wrote a report, and what all calls for it took until then."""

    model: str
    madeAt: str
    unpriced: NotRequired[Unpriced]
    local: NotRequired[Local]


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
    verdict: NotRequired[
        Annotated["Verdict", Field(description="If the debate came to an outcome.")]
    ]
    speakers: list[ReportSpeaker]
    totals: Annotated[Statistics, Field(description="Of the debate's own turns and calls.")]
    spent: NotRequired[
        Annotated[
            VerdictUsage,
            Field(description="What all calls took, those for the report too. Since layout 7."),
        ]
    ]
    rounds: list[ReportRound]
    timeline: list[TimelineEntry]
    failures: list[FailedTurn]
    method: Literal["extraction", "model"]
    unclosed: NotRequired[
        Annotated[str, Field(description="Why there is no closing summary, if one was asked for.")]
    ]
    caution: NotRequired[
        Annotated[str, Field(description="What stands above all of it, if small models spoke.")]
    ]
    unread: NotRequired[Annotated[str, Field(description="Why no model wrote it.")]]
    tried: NotRequired[
        Annotated[VerdictUsage, Field(description="What it took to try all the same.")]
    ]
    takeaways: NotRequired[
        Annotated[Takeaways, Field(description="Of a report that was made in layout 5 or later.")]
    ]
    pending: NotRequired[
        Annotated[str | None, Field(description="The model that is writing it at this moment.")]
    ]
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
    takeaways: NotRequired[
        Annotated[Takeaways, Field(description="Of a report that was made in layout 5 or later.")]
    ]
    caution: NotRequired[
        Annotated[str, Field(description="What stands above all of it, if small models spoke.")]
    ]


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
    confidence: Annotated[float | None, Field(description="None if it was not asked for.")]
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


# --- verdict.json ---


class VerdictOption(TypedDict):
    """One option, and who stood for it; the speakers by name."""

    name: str
    wordings: Annotated[list[str], Field(description="All wordings that were read as this one.")]
    round1: Annotated[list[str], Field(description="Who stood for it when first asked.")]
    final: Annotated[list[str], Field(description="Who stood for it at the end.")]
    jury: Annotated[list[str], Field(description="Jurors whose vote counts for it.")]


class OptionScore(TypedDict):
    option: str
    heads: int
    weight: float


class UnmappedSupport(TypedDict):
    """The count, if no two wordings were read as one option."""

    heads: Annotated[int, Field(description="Of the selected option, in its best held wording.")]
    weight: float
    favoured: OptionScore | None


class Support(TypedDict):
    """How the speakers stand to the selected option; if none is, to the favoured one."""

    heads: int
    of: Annotated[int, Field(description="Who took a position.")]
    asked: Annotated[int, Field(description="Who was asked for one.")]
    weight: Annotated[float, Field(description="The share of the weight, from 0 to 1.")]
    favoured: Annotated[
        OptionScore | None, Field(description="What most stand for; None if two are level.")
    ]
    unmapped: UnmappedSupport


class OptionVotes(TypedDict):
    option: Annotated[str, Field(description="One of the options, or undecided.")]
    votes: int


class Juror(TypedDict):
    """How one juror voted: alone, in one order, and in the other."""

    id: str
    name: str
    model: str
    family: str
    alone: str | None
    choice: str | None
    swapped: str | None
    flipped: bool
    vote: Annotated[str | None, Field(description="What counts; None if it abstains.")]
    confidence: float | None
    turn: int | None


class JuryVotes(TypedDict):
    asked: int
    valid: Annotated[int, Field(description="Jurors whose vote counts.")]
    split: list[OptionVotes]
    margin: Annotated[
        int, Field(description="The lead over the next; who has no vote that counts is against.")
    ]
    swapConsistent: Annotated[
        float | None, Field(description="The share of jurors who chose alike in both orders.")
    ]
    agreement: Annotated[
        float | None, Field(description="The share of the votes that the leading choice has.")
    ]
    jurors: list[Juror]
    overlaps: Annotated[list[str], Field(description="Models that debated and sat on the jury.")]


class Baseline(TypedDict):
    """What the jurors said before they had heard anything."""

    selected: str | None
    split: list[OptionVotes]
    changedByDebate: bool


class MoveCause(TypedDict):
    """Why somebody moved: the turns that it names or, if it names none, the challenges between."""

    text: Annotated[str | None, Field(description="Its own words.")]
    turns: list[int]
    named: Annotated[bool, Field(description="False: a move without a new reason.")]


VerdictMove = TypedDict(
    "VerdictMove", {"who": str, "from": str, "to": str, "because": MoveCause, "turn": int}
)


class Dissent(TypedDict):
    who: str
    option: str
    reason: Annotated[str, Field(description="In its holder's own words.")]
    turn: int


class SaidBy(TypedDict):
    text: str
    who: str
    turn: int


class QuoteCheck(TypedDict):
    checked: int
    verified: int
    failed: int


class JudgeChoice(TypedDict):
    name: str
    choice: Annotated[str, Field(description="An option, its own words, or undecided.")]
    turn: int


class DepthAgreed(TypedDict):
    stage: str
    option: str
    turns: list[int]


class Depth(TypedDict):
    """How far a debate with the depth `auto` went."""

    seats: Annotated[list[str], Field(description="Who answered alone before the debate.")]
    agreed: Annotated[DepthAgreed | None, Field(description="On what, if they did.")]
    leftOut: Annotated[list[str], Field(description="The stages that were not held.")]
    why: str | None
    audited: Annotated[bool, Field(description="Held in full although they agreed.")]
    same: Annotated[bool | None, Field(description="If so, whether that came to the same.")]


class Verdict(TypedDict):
    """`verdict.json`: what a debate came to, and how."""

    outcome: OutcomeKind
    selected: str | None
    decidedBy: Annotated[
        Literal["jury", "judge", "positions"] | None, Field(description="Whose word it is.")
    ]
    options: list[VerdictOption]
    support: Support
    jury: JuryVotes | None
    judge: JudgeChoice | None
    baseline: Baseline | None
    moved: list[VerdictMove]
    dissent: list[Dissent]
    openQuestions: list[SaidBy]
    wouldChange: list[SaidBy]
    quotes: QuoteCheck
    warnings: list[str]
    depth: NotRequired[Annotated[Depth, Field(description="If that was to be found out.")]]
    usage: VerdictUsage


class NotedOutcome(TypedDict):
    """What came of a decision, as somebody noted later."""

    outcome: Hindsight | None


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
    verdict: Verdict | dict[str, Any] | None
    writebackRecord: dict[str, Any] | None
    transcript: dict[str, Any] | None
    followups: list[Followup]
    consistency: Consistency


class Record(TypedDict):
    """A note that was written back."""

    path: str
    debate_id: str
    type: Literal["decision", "worklog"]
    title: str
    text: str
    created_at: str
