"""The packet of a debate: what was decided, why, against what, and what follows."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from moot.core.answers import cited, lines
from moot.core.debate import Debate, Participant, Turn
from moot.outcome.consensus import answer
from moot.outcome.stands import key, seats


def packet(debate: Debate, turns: Sequence[Turn], consensus_: Mapping[str, Any]) -> dict[str, Any]:
    """The decision: a verdict or, without one, what the positions favour."""
    result = debate.rules.result
    verdict, known = answer(turns, result.verdict if result else None)
    if verdict:
        made = _judged(debate, verdict, known, consensus_)
    elif not consensus_["tally"]["final"]:
        made = _open(debate, turns)
    else:
        made = _favoured(debate, turns, consensus_)
    failed = [turn for turn in turns if turn.status == "failed"]
    refs = sorted({*made["refs"], *_cited(consensus_)})
    return {
        "runId": debate.id,
        "mode": "debate-v0.1",
        "problem": debate.motion,
        "constraints": list(debate.brief.get("constraints", ())),
        "outputType": debate.brief.get("output_type", "decision"),
        "participants": [
            _participant(_role(seat), _voice(turns, seat.id) or seat.model)
            for seat in debate.participants
        ],
        "consensus": {
            "consensusScore": consensus_["consensusScore"],
            "confidenceScore": consensus_["confidenceScore"],
            "keyAgreements": [cited(p["text"], p["turns"]) for p in consensus_["keyAgreements"]],
            "keyDisagreements": [
                cited(p["text"], p["turns"]) for p in consensus_["keyDisagreements"]
            ],
        },
        "decision": made["decision"],
        "risks": made["risks"],
        "nextActions": made["actions"],
        "trace": {
            "roundRefs": [f"rounds/round-{n}.json" for n in sorted({t.round for t in turns})],
            "evidenceRefs": [f"turn:{seq}" for seq in refs],
        },
        "timestamps": {
            "startedAt": debate.started_at or debate.created_at,
            "finishedAt": max((turn.committed_at for turn in turns), default=debate.created_at),
        },
        "degraded": bool(failed),
        "errorCodes": list(dict.fromkeys(str(turn.error_code) for turn in failed)),
    }


def _judged(
    debate: Debate, verdict: Mapping[str, Any], known: set[int], consensus_: Mapping[str, Any]
) -> dict[str, Any]:
    refs: set[int] = set()
    selected, names = verdict["selectedOption"], consensus_["names"]
    favoured = consensus_["favoured"]
    chosen = names.get(key(selected), selected)
    overruled = favoured is not None and key(chosen) != key(favoured)

    def rest(item: Mapping[str, Any]) -> list[int]:
        real = [turn for turn in item["turns"] if turn in known]
        refs.update(real)
        return real

    return {
        "decision": {
            "selectedOption": selected,
            "whySelected": [
                *(cited(why["text"], rest(why)) for why in verdict["whySelected"]),
                *(
                    [f"The positions favoured “{favoured}”; the {_judge(debate)} chose otherwise."]
                    * overruled
                ),
            ],
            "rejectedOptions": [
                {"option": item["option"], "reason": cited(item["reason"], rest(item))}
                for item in verdict["rejectedOptions"]
                if key(item["option"]) != key(selected)
            ],
        },
        "risks": [
            {
                "risk": cited(item["risk"], rest(item)),
                "severity": item["severity"],
                "mitigation": item["mitigation"],
            }
            for item in verdict["risks"]
        ],
        "actions": [
            {
                "id": f"A{number}",
                "action": cited(item["action"], rest(item)),
                "owner": item["owner"],
                "due": item["due"],
            }
            for number, item in enumerate(verdict["nextActions"], start=1)
        ],
        "refs": refs,
    }


def _favoured(
    debate: Debate, turns: Sequence[Turn], consensus_: Mapping[str, Any]
) -> dict[str, Any]:
    """Without a verdict, the option that the positions favour stands, and the packet says so."""
    final = consensus_["tally"]["final"]
    leader, others = final[0], final[1:]
    behind = [stand["turn"] for stand in leader["stands"]]
    first = debate.rules.result.stands[-1] if debate.rules.result else None
    risks = [
        (risk, turn.seq)
        for turn in turns
        if turn.stage == first and turn.status == "ok"
        for risk in lines(turn.data, "risks")
    ]
    roles = ", ".join(stand["role"] for stand in leader["stands"])
    return {
        "decision": {
            "selectedOption": leader["option"],
            "whySelected": [
                _unjudged(debate, len(leader["stands"])),
                cited(f"It is where {roles} stood at the end.", behind),
            ],
            "rejectedOptions": [
                {
                    "option": other["option"],
                    "reason": cited(
                        "It had less support at the end.", [s["turn"] for s in other["stands"]]
                    ),
                }
                for other in others
            ],
        },
        "risks": [
            {
                "risk": cited(risk, [seq]),
                "severity": "medium",
                "mitigation": "None was named; decide on one before acting.",
            }
            for risk, seq in risks
        ],
        "actions": [
            {
                "id": "A1",
                "action": cited(f"Confirm or overrule: {leader['option']}.", behind),
                "owner": "whoever asked",
                "due": _in_a_week(debate),
            }
        ],
        "refs": {
            *behind,
            *(seq for _, seq in risks),
            *(s["turn"] for o in others for s in o["stands"]),
        },
    }


def _open(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any]:
    """Nobody stands for anything at the end: what must be known first comes next."""
    asked = [
        (question, turn.seq)
        for turn in turns
        if turn.status == "ok"
        for question in lines(turn.data, "questions")
    ][:10]
    refs = [seq for _, seq in asked]
    actions = [cited(f"Find out: {question}", [seq]) for question, seq in asked]
    return {
        "decision": {
            "selectedOption": "No decision",
            "whySelected": [cited("Nobody stood for an option at the end.", refs)],
            "rejectedOptions": [],
        },
        "risks": [],
        "actions": [
            {"id": f"A{n}", "action": action, "owner": "whoever asked", "due": _in_a_week(debate)}
            for n, action in enumerate(actions or ["Say what must be known to decide."], start=1)
        ],
        "refs": set(refs),
    }


def _judge(debate: Debate) -> str:
    """Who speaks the verdict."""
    result = debate.rules.result
    stage = debate.rules.stage(result.verdict) if result and result.verdict else None
    return stage.speakers[0] if stage and isinstance(stage.speakers, tuple) else "judge"


def _unjudged(debate: Debate, heads: int) -> str:
    if debate.rules.result and debate.rules.result.verdict:
        judge = _judge(debate)
        return f"The {judge} gave no verdict; the option that the positions favour stands."
    return f"{heads} of {len(seats(debate))} stood for it at the end."


def _in_a_week(debate: Debate) -> str:
    begun = date.fromisoformat((debate.started_at or debate.created_at)[:10])
    return (begun + timedelta(days=7)).isoformat()


def _voice(turns: Sequence[Turn], actor: str) -> str | None:
    """Who really spoke for a seat, last."""
    spoke = [turn.model for turn in turns if turn.actor == actor and turn.status == "ok"]
    return spoke[-1] if spoke else None


def _cited(consensus_: Mapping[str, Any]) -> set[int]:
    points = [*consensus_["keyAgreements"], *consensus_["keyDisagreements"]]
    return {turn for point in points for turn in point["turns"]}


def _participant(role: str, model: str) -> dict[str, str]:
    provider, _, name = model.partition(":")
    return {"role": role, "modelProvider": provider, "modelName": name or "default"}


def _role(seat: Participant) -> str:
    return seat.name if seat.role == "participant" else seat.role
