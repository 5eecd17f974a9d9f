"""Councils by hand, with or without a jury: what everybody stands for, and how each juror votes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moot.core.answers import Of, read, spoken
from moot.core.built_in import BUILT_IN
from moot.core.debate import NO_USAGE, Debate, Turn
from moot.core.legs import legs_of
from moot.core.request import build
from moot.store.formats import FormatFiles

AT = "2026-11-18T12:00:00.000Z"
ROLES = ("Proponent", "Critic", "Analyst", "Synthesizer", "Judge")
TARGETS = {"Proponent": "Critic", "Critic": "Proponent", "Analyst": "Proponent",
           "Synthesizer": "Critic", "Judge": "Synthesizer"}  # fmt: skip
FLIP, MISSING = "flip", "missing"
SHAPES = {"round1": "position", "round2": "challenge", "round3": "revision",
          "consensus": "reading", "jury": "ballot", "judge": "verdict"}  # fmt: skip
Ballots = Sequence[str]
"""What each juror votes for in both orders. FLIP varies with the order, MISSING gives no ballot."""


def court(jurors: int = 0, *, format: str = "council", **more: Any) -> Debate:  # noqa: A002
    flags = {"baseline": False, **more.pop("jury", {})}
    models = [f"xai:{n}" for n in range(jurors)]
    return build(
        debate_id="debate_20261118_120000_aaaaaa", at=AT, motion="Should we?",
        rules=FormatFiles(Path("/nowhere")).get(format),
        default_model=["openai:m", "claude:m", "gemini:m"], normalize=lambda model: (model, None),
        jury={"size": jurors, "models": models, **flags} if jurors else None, **more,
    )  # fmt: skip


def data_of(shape: str, role: str, **fields: Any) -> dict[str, Any]:
    base: dict[str, dict[str, Any]] = {
        "position": {"claim": f"{role} says that it pays.", "rationale": "Sums.", "risks": ["Cost"],
                     "position": "Go", "confidence": 0.7},
        "challenge": {"challenges": [{"targetRole": TARGETS.get(role, ""), "question": "Why?",
                                      "claim": "It pays."}]},
        "revision": {"responses": [], "revisions": [{"change": "None.", "reason": "None."}],
                     "position": "Go", "claim": f"{role} still says so.", "confidence": 0.7},
        "reading": {"agreements": [], "disagreements": [], "same": []},
        "verdict": {"choice": "Go", "whySelected": [{"text": "It pays.", "turns": [1]}],
                    "rejectedOptions": [], "risks": [],
                    "nextActions": [{"action": "Begin", "owner": "Ada", "due": "2026-12-01"}]},
        "ballot": {"reasons": [{"text": "It pays.", "turns": [1], "quotes": []}],
                   "against": {"text": "It costs.", "turns": [1, 2, 3, 4, 5]}, "choice": "Go",
                   "confidence": 0.8, "wouldChange": "A lower price.", "questions": []},
    }  # fmt: skip
    known: dict[Of, list[str]] = {"target": [TARGETS[role]]} if role in TARGETS else {}
    return read(shape, BUILT_IN[shape], {**base[shape], **fields}, known)


def say(
    debate: Debate, seq: int, number: int, stage: str, actor: str, data: Mapping[str, Any] | None
) -> Turn:
    seat = debate.seat(actor)
    shape = SHAPES[stage]
    target = TARGETS[seat.name].lower() if shape == "challenge" else None
    kind = {"reading": "summary", "verdict": "verdict", "ballot": "verdict"}.get(shape, "speech")
    return Turn(
        seq=seq, round=number, stage=stage, actor=actor, name=seat.name, kind=kind,  # type: ignore[arg-type]
        target=target, instruction=None, text=spoken(BUILT_IN[shape], data) if data else "",
        data=data, status="ok" if data else "failed",
        error_code=None if data else "DEBATE_ERR_PROVIDER_TIMEOUT", model=seat.model,
        usage=NO_USAGE, started_at=AT, committed_at=AT,
    )  # fmt: skip


def hold(
    debate: Debate,
    stands: Sequence[str | tuple[str, float]] = ("Go",) * 5,
    ballots: Ballots = (),
    *,
    first: Sequence[str] = (),
    until: int = 99,
    jurors: Mapping[str, dict[str, Any]] | None = None,
    **changes: dict[str, Any] | None,
) -> list[Turn]:
    """All turns of a council: `stands` at the end and, unless `first` says otherwise, before; how
    the jurors vote, and what `jurors` write on their ballots, by id; `Critic3={...}` changes one
    answer, and None lets it fail. Nothing is said after the round `until`."""
    turns: list[Turn] = []
    for leg in legs_of(debate):
        for nth, reading in enumerate(leg.readings or (None,)):
            number = leg.first_round + nth
            for place, seat in enumerate(leg.speakers):
                shape = leg.stage.answer
                fields: dict[str, Any] | None = changes.get(f"{seat.name}{number}", {})
                if reading is not None:
                    fields = _ballot(ballots[place], number, (jurors or {}).get(seat.id, {}))
                elif shape in ("position", "revision") and fields is not None:
                    stood = stands[place]
                    option, sure = stood if isinstance(stood, tuple) else (stood, 0.7)
                    option = first[place] if first and shape == "position" else option
                    fields = {"position": option, "confidence": sure, **fields}
                data = None if fields is None else data_of(shape, seat.name, **fields)
                if number <= until:
                    seq = len(turns) + 1
                    turns.append(say(debate, seq, number, leg.stage.name, seat.id, data))
    return turns


def _ballot(choice: str, number: int, more: Mapping[str, Any]) -> dict[str, Any] | None:
    if choice == MISSING:
        return None
    if choice == FLIP:
        choice = ("Go", "Wait")[number % 2]
    questions = ["What does it cost?"] if choice == "undecided" else []
    return {"choice": choice, "questions": questions, **more}
