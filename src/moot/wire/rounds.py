"""A round as its file shows it."""

from collections.abc import Mapping, Sequence
from typing import Any

from moot.core.answers import tables
from moot.core.debate import Debate, Turn
from moot.core.format import Format
from moot.core.times import seconds
from moot.wire import codec


def document(debate: Debate, turns: Sequence[Turn], whole: Sequence[Turn]) -> dict[str, Any]:
    """`rounds/round-N.json`: of a council in its own spelling, else the turns as they are."""
    head = {
        "startedAt": min(turn.started_at for turn in turns),
        "finishedAt": max(turn.committed_at for turn in turns),
    }
    number = turns[0].round
    if _in_own_words(debate.rules):
        council = [_council(debate, turn, whole) for turn in turns]
        return {"round": f"round-{number}", **head, "turns": council}
    said = [codec.filed_turn(turn) for turn in turns]
    stage = next((turn.stage for turn in turns if turn.kind != "note"), turns[0].stage)
    return {"round": number, "stage": stage, **head, "turns": said}


def _in_own_words(rules: Format) -> bool:
    """Whether rounds are written as the council's are: of formats with a packet, and before there
    were juries, of all that came to a decision."""
    return rules.result is not None and (rules.result.packet or rules.edition == 1)


def _challenges(turn: Turn, whole: Sequence[Turn]) -> list[dict[str, Any]]:
    """What a turn asks of its target, or what it answers to those who asked."""
    data = turn.data or {}
    if "responses" not in data:
        return [_challenge(turn.name, item, None) for item in tables(data, "challenges")]
    answers: dict[str, list[str]] = {}
    for item in tables(data, "responses"):
        source, said = str(item.get("sourceRole", "")), str(item.get("response", ""))
        answers.setdefault(source.casefold(), []).append(said)
    asked = [
        (other.name, item)
        for other in whole
        if other.target == turn.actor and other.status == "ok"
        for item in tables(other.data, "challenges")
    ]
    return [
        _challenge(source, item, "\n\n".join(answers.get(source.casefold(), ())) or None)
        for source, item in asked
    ]


def _challenge(source: str, item: Mapping[str, Any], response: str | None) -> dict[str, Any]:
    return {
        "sourceRole": source,
        "targetRole": item.get("targetRole"),
        "question": item.get("question"),
        "claim": item.get("claim"),
        "response": response,
    }


def _council(debate: Debate, turn: Turn, whole: Sequence[Turn]) -> dict[str, Any]:
    data = turn.data or {}
    provider, _, name = turn.model.partition(":")
    return {
        "seq": turn.seq,
        **({"number": turn.number} if turn.number != turn.seq else {}),
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
        "challenges": _challenges(turn, whole),
        "revisions": data.get("revisions", []),
        "targetRole": debate.seat(turn.target).role if turn.target else None,
        "position": data.get("position"),
        "confidence": data.get("confidence"),
        "durationMs": round((seconds(turn.committed_at) - seconds(turn.started_at)) * 1000),
        "errorCode": turn.error_code,
        "errorMessage": data.get("errorMessage"),
        "startedAt": turn.started_at,
        "finishedAt": turn.committed_at,
        "text": turn.text,
        "data": turn.data,
        "usage": codec.plain(turn.usage),
    }
