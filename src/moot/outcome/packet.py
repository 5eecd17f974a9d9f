"""The final decision packet: how it is made, its schema and its validation."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from moot.core.answers import cited
from moot.core.debate import Debate, OutcomeKind, Turn
from moot.core.quoting import cited as passages_cited
from moot.errors import PacketError
from moot.outcome.decision import Ruling

Filled = Annotated[str, Field(pattern=r"\S")]
Counted = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Reference = Annotated[
    str, Field(pattern=r"^(turn:[1-9][0-9]*|S[1-9][0-9]*\.[1-9][0-9]*|writeback:.+)$")
]


LATER: Any = Field(default=None, exclude_if=lambda value: value is None)
"""Of a field that came later: packets from before have none."""


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, populate_by_name=True, strict=True
    )


class Seat(_Part):
    role: Filled
    model_provider: Filled
    model_name: Filled


class Consensus(_Part):
    consensus_score: Share
    confidence_score: Share
    key_agreements: list[Filled]
    key_disagreements: list[Filled]


class RejectedOption(_Part):
    option: Filled
    reason: Filled
    best_case: Filled | None = LATER


class Selection(_Part):
    selected_option: Filled
    why_selected: list[Filled]
    rejected_options: list[RejectedOption]


class Risk(_Part):
    risk: Filled
    severity: Literal["high", "medium", "low"]
    mitigation: Filled


class Action(_Part):
    id: Annotated[str, Field(pattern=r"^A[1-9][0-9]*$")]
    action: Filled
    owner: Filled
    due: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", json_schema_extra={"format": "date"})]

    @model_validator(mode="after")
    def _real(self) -> Self:
        date.fromisoformat(self.due)
        return self


class Trace(_Part):
    round_refs: list[Filled]
    evidence_refs: list[Reference]


class Timestamps(_Part):
    started_at: Filled
    finished_at: Filled


class OptionScore(_Part):
    option: Filled
    heads: Counted
    weight: Share


class UnmappedSupport(_Part):
    heads: Counted
    weight: Share
    favoured: OptionScore | None


class Support(_Part):
    """How the speakers stand to what was selected, beside what they favour."""

    heads: Counted
    of: Counted
    asked: Counted
    weight: Share
    favoured: OptionScore | None
    unmapped: UnmappedSupport


class Dissent(_Part):
    who: Filled
    option: Filled
    reason: Filled
    turn: Counted


class SaidBy(_Part):
    text: Filled
    who: Filled
    turn: Counted


class Note(_Part):
    """What a person said who has no seat."""

    turn: Counted
    text: Filled


class OptionVotes(_Part):
    option: Filled
    votes: Counted


class JuryCount(_Part):
    asked: Counted
    valid: Counted
    split: list[OptionVotes]
    margin: int


class Packet(_Part):
    """What a council decided, and what that rests on. The fields after `error_codes` came with the
    outcome; packets from before have none of them."""

    run_id: Annotated[str, Field(pattern=r"^debate_\d{8}_\d{6}_[a-z2-7]{6}$")]
    mode: Literal["debate-v0.1"]
    problem: Filled
    constraints: list[str]
    output_type: Literal["decision", "writing", "architecture", "planning", "evaluation"]
    participants: Annotated[list[Seat], Field(min_length=1, max_length=12)]
    consensus: Consensus
    decision: Selection
    risks: list[Risk]
    next_actions: Annotated[list[Action], Field(min_length=1)]
    trace: Trace
    timestamps: Timestamps
    degraded: bool
    error_codes: list[Filled]
    outcome: OutcomeKind | None = LATER
    decided_by: Literal["jury", "judge", "positions"] | None = LATER
    support: Support | None = LATER
    jury: JuryCount | None = LATER
    dissent: list[Dissent] | None = LATER
    open_questions: list[SaidBy] | None = LATER
    would_change: list[SaidBy] | None = LATER
    warnings: list[Filled] | None = LATER
    work: Filled | None = LATER
    notes: list[Note] | None = LATER

    @model_validator(mode="after")
    def _whole(self) -> Self:
        roles = [seat.role for seat in self.participants]
        if len(set(roles)) != len(roles):
            raise ValueError("participants: each role once")
        ids = [action.id for action in self.next_actions]
        if len(set(ids)) != len(ids):
            raise ValueError("nextActions: each id once")
        return self


def packet(
    debate: Debate,
    turns: Sequence[Turn],
    agreed: Mapping[str, Any],
    ruling: Ruling,
    verdict: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The packet of a debate, from what was agreed and what was decided; with the `verdict` of a
    debate that has one, what came with it."""
    failed = [turn for turn in turns if turn.status == "failed"]
    spoke = {turn.actor: turn.model for turn in turns if turn.status == "ok"}  # the last of each
    points = [*agreed["keyAgreements"], *agreed["keyDisagreements"]]
    refs = sorted({*ruling.refs, *(turn for point in points for turn in point["turns"])})
    return {
        "runId": debate.id,
        "mode": "debate-v0.1",
        "problem": debate.motion,
        "constraints": list(debate.brief.get("constraints", ())),
        "outputType": debate.brief.get("output_type", "decision"),
        "participants": [
            _seat(
                seat.name if seat.role == "participant" else seat.role,
                spoke.get(seat.id) or seat.model,
            )
            for seat in debate.participants
        ],
        "consensus": {
            "consensusScore": agreed["consensusScore"],
            "confidenceScore": agreed["confidenceScore"],
            "keyAgreements": [cited(p["text"], p["turns"]) for p in agreed["keyAgreements"]],
            "keyDisagreements": [cited(p["text"], p["turns"]) for p in agreed["keyDisagreements"]],
        },
        "decision": {
            "selectedOption": ruling.selected,
            "whySelected": ruling.why,
            "rejectedOptions": ruling.rejected,
        },
        "risks": ruling.risks,
        "nextActions": ruling.actions,
        "trace": {
            "roundRefs": [f"rounds/round-{n}.json" for n in sorted({t.round for t in turns})],
            "evidenceRefs": [*(f"turn:{n}" for n in refs), *_passages(debate, points, ruling)],
        },
        "timestamps": {
            "startedAt": debate.started_at or debate.created_at,
            "finishedAt": max((turn.committed_at for turn in turns), default=debate.created_at),
        },
        "degraded": bool(failed) or (verdict is not None and debate.degraded),
        "errorCodes": list(dict.fromkeys(str(turn.error_code) for turn in failed)),
        **(_outcome(verdict, ruling) if verdict else {}),
        **_notes(turns),
    }


def _notes(turns: Sequence[Turn]) -> dict[str, Any]:
    """What people said in between, if anybody did."""
    noted = [{"turn": turn.number, "text": turn.text} for turn in turns if turn.kind == "note"]
    return {"notes": noted} if noted else {}


def _passages(debate: Debate, points: Sequence[Mapping[str, Any]], ruling: Ruling) -> list[str]:
    """The passages that the decision rests on: those that its reasons cite, and that there are."""
    told = [point["text"] for point in points] + list(ruling.why)
    told += [str(text) for row in (*ruling.rejected, *ruling.risks) for text in row.values()]
    there = {source.id: source.passages for source in debate.sources}
    cites = dict.fromkeys(ref for text in told for ref in passages_cited(text))
    found = (ref.partition(".") for ref in cites)
    real = {(id_, int(number)) for id_, _, number in found if int(number) <= there.get(id_, 0)}
    return [
        f"{id_}.{number}" for id_, number in sorted(real, key=lambda one: (int(one[0][1:]), one[1]))
    ]


def _outcome(verdict: Mapping[str, Any], ruling: Ruling) -> dict[str, Any]:
    """The fields that came with the outcome."""
    jury = verdict["jury"]
    counted = {name: jury[name] for name in ("asked", "valid", "split", "margin")} if jury else None
    same = ("outcome", "decidedBy", "support", "dissent", "openQuestions", "wouldChange")
    return {
        **{name: verdict[name] for name in same},
        "jury": counted,
        "warnings": verdict["warnings"],
        "work": ruling.work,
    }


def _seat(role: str, model: str) -> dict[str, str]:
    provider, _, name = model.partition(":")
    return {"role": role, "modelProvider": provider, "modelName": name or "default"}


def validate(packet: Mapping[str, Any]) -> None:
    """Refuse a packet that does not hold what a packet must hold."""
    try:
        Packet.model_validate(packet, by_alias=True, by_name=False)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, problem["loc"])) or "packet"
        raise PacketError(f"The packet is not valid: {where}: {problem['msg']}.") from None


def schema() -> dict[str, Any]:
    return Packet.model_json_schema(by_alias=True)
