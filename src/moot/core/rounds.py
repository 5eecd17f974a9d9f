"""A round as its file shows it."""

from collections.abc import Sequence
from typing import Any

from moot.core import codec
from moot.core.debate import Debate, Turn
from moot.core.times import seconds


def document(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any]:
    """`rounds/round-N.json`: of a council in its own spelling, else the turns as they are."""
    head = {
        "startedAt": min(turn.started_at for turn in turns),
        "finishedAt": max(turn.committed_at for turn in turns),
    }
    number = turns[0].round
    if debate.rules.outcome == "packet":
        council = [_council(debate, turn) for turn in turns]
        return {"round": f"round-{number}", **head, "turns": council}
    said = [codec.turn(turn) for turn in turns]
    return {"round": number, "stage": turns[0].stage, **head, "turns": said}


def _council(debate: Debate, turn: Turn) -> dict[str, Any]:
    data = turn.data or {}
    provider, _, name = turn.model.partition(":")
    answers = {item["sourceRole"]: item["response"] for item in data.get("responses", ())}
    challenges = [
        {
            "sourceRole": turn.name,
            "targetRole": item["targetRole"],
            "question": item["question"],
            "claim": item["claim"],
            "response": None,
        }
        for item in data.get("challenges", ())
    ] or [
        {"sourceRole": source, "targetRole": turn.name, "question": None, "response": response}
        for source, response in answers.items()
    ]
    return {
        "seq": turn.seq,
        "role": turn.name,
        "round": f"round-{turn.round}",
        "stage": turn.stage,
        "kind": turn.kind,
        "modelProvider": provider,
        "modelName": name or "default",
        "status": turn.status,
        "claim": data.get("claim"),
        "rationale": data.get("rationale"),
        "risks": data.get("risks", []),
        "challenges": challenges,
        "revisions": data.get("revisions", []),
        "targetRole": debate.seat(turn.target).role if turn.target else None,
        "position": data.get("position"),
        "confidence": data.get("confidence"),
        "durationMs": round((seconds(turn.committed_at) - seconds(turn.started_at)) * 1000),
        "errorCode": turn.error_code,
        "errorMessage": None,
        "startedAt": turn.started_at,
        "finishedAt": turn.committed_at,
        "text": turn.text,
        "data": turn.data,
        "usage": codec.usage(turn.usage),
    }
