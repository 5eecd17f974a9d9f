"""Turns → report: what was said, by whom, and what it took.

Nothing here asks a model: what no speaker summed up is picked from what the speakers said, by a
count of words; or it is what a model has read out of it, handed in. The same turns and the same
reading give the same report, to the byte.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from moot.core import prices, schedule
from moot.core.answers import tables
from moot.core.debate import Debate, Participant, Turn
from moot.core.times import seconds
from moot.core.voices import caution
from moot.outcome.result import verdict_of
from moot.render.ballots import heard, jurors
from moot.render.extract import POINTS, Spoken, clip, closing, plain_key, sentences, words_in
from moot.render.layout import LAYOUT
from moot.render.reading import Read, Reading, Unread, took, tried, writer, writing
from moot.render.takeaways import as_read, without_a_model

BRIEF = 600  # characters of a summary where many are listed


def report(
    debate: Debate, turns: Sequence[Turn], read: Read = None, layout: int = LAYOUT
) -> dict[str, Any]:
    """The report of a debate in whatever state it is, from its turns and what a model read there.

    Seconds are those of the turns added up: if several speak at once, they come to more than
    `durationSeconds`, which is the clock's. A failed turn is a turn, and a failure, with no words.
    """
    turns = sorted(turns, key=lambda turn: turn.seq)
    told = [_Told(turn) for turn in turns]
    floor = [turn for turn in turns if turn.actor not in jurors(debate)]  # without the ballots
    spoken, words = sentences(debate, floor, layout), sum(item.words for item in told)
    speakers: list[dict[str, Any]] = []
    stated: dict[str, list[dict[str, Any]]] = {}
    for actor in _actors(debate, turns):
        own = [item for item in told if item.turn.actor == actor]
        stated[actor] = _stated(heard(debate, [item.turn for item in own]), layout)
        points = stated[actor] or spoken.points(actor)
        speakers.append(_speaker(debate, actor, own, points, words))
    decided = debate.outcome
    made: dict[str, Any] = {
        "debate": debate.id,
        "motion": debate.motion,
        "format": debate.format,
        "status": debate.status,
        "stopReason": debate.stop_reason,
        "degraded": debate.degraded,
        "startedAt": debate.started_at,
        "endedAt": debate.ended_at,
        "durationSeconds": _duration(debate, turns),
        "summary": _summary(debate, floor, spoken, speakers),
        "decision": decided
        and {
            "selectedOption": decided.selected_option,
            "consensusScore": decided.consensus_score,
            "confidenceScore": decided.confidence_score,
        },
        "speakers": speakers,
        "totals": _totals(debate, told, words),
        "rounds": _rounds(debate, told, layout),
        "timeline": [item.mark() for item in told],
        "failures": [_failure(debate, item.turn, layout) for item in told if item.failed],
        "method": "extraction",
    }
    if layout > 3 and (verdict := verdict_of(debate, turns)):
        made["verdict"] = verdict
    if layout > 4:
        verdict = made.get("verdict")
        made["takeaways"] = without_a_model(debate.motion, speakers, spoken, stated, verdict)
    if said := caution(debate.warnings):
        made["caution"] = said
    if layout > 1 and (why := _unclosed(debate, floor, layout)):
        made["unclosed"] = why
    if layout > 6 and debate.rules.edition > 3:
        made["spent"] = _spent(debate, read)
    if isinstance(read, Unread):
        took_ = {"tried": tried(read)} if read.usage.calls else {}
        return {**made, "unread": read.reason, **took_}
    return _as_read(made, read) if read else made


def brief(made: Mapping[str, Any]) -> str:
    """A report's summary, for lists."""
    text = " ".join(made["summary"]["text"].split())
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 2].rstrip()} …"


def _as_read(made: Mapping[str, Any], reading: Reading) -> dict[str, Any]:
    """The same report with a model's summary and main points. Whoever closed the debate in their
    own words is still heard."""
    said, points, at_issue = made["summary"], dict(reading.points), reading.at_issue
    found = at_issue and as_read(at_issue, reading.best, reading.conceded, reading.open)
    return {
        **made,
        **({"takeaways": found} if found else {}),
        "summary": {"text": reading.summary, "by": "model", "turn": None},
        "speakers": [
            {**who, "mainPoints": [asdict(point) for point in points.get(who["id"], ())]}
            if who["role"] != "juror"  # a model is not asked to read what jurors voted
            else who
            for who in made["speakers"]
        ],
        "method": "model",
        "closing": said if said["by"] != "extraction" else None,
        "writer": writer(reading),
    }


class _Told:
    """A turn, measured."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.failed = turn.status == "failed"
        self.words = 0 if self.failed else words_in(turn.text)
        self.seconds = round(max(0.0, seconds(turn.committed_at) - seconds(turn.started_at)), 3)

    def mark(self) -> dict[str, Any]:
        """Its place on the timeline."""
        return {
            "turn": self.turn.number,
            "speaker": self.turn.actor,
            "seconds": self.seconds,
            "words": self.words,
            "failed": self.failed,
        }


def _statistics(told: Sequence[_Told], all_words: int) -> dict[str, Any]:
    used = [item.turn.usage for item in told]
    words = sum(item.words for item in told)
    return {
        "turns": len(told),
        "words": words,
        "inputTokens": sum(usage.input_tokens for usage in used),
        "outputTokens": sum(usage.output_tokens for usage in used),
        "costUsd": round(math.fsum(usage.cost_usd for usage in used), 8),
        "seconds": round(math.fsum(item.seconds for item in told), 3),
        "retries": sum(max(0, usage.calls - 1) for usage in used),
        "failures": sum(item.failed for item in told),
        "longestTurnWords": max((item.words for item in told), default=0),
        "share": round(words / all_words, 4) if all_words else 0.0,
        "estimated": any(usage.estimated for usage in used),
    }


def _totals(debate: Debate, told: Sequence[_Told], words: int) -> dict[str, Any]:
    """Those of all turns; and the tokens and the cost of all calls, also of those that led to no
    turn. Before edition 4, only what turns took was counted."""
    counted = _statistics(told, words)
    if debate.rules.edition < 4:
        return counted
    used = debate.usage
    return counted | {
        "inputTokens": used.input_tokens,
        "outputTokens": used.output_tokens,
        "costUsd": round(used.cost_usd, 8),
        "estimated": used.estimated,
        "unpriced": list(prices.unpriced(debate)),
        "local": prices.is_local(debate),
    }


def _spent(debate: Debate, read: Read) -> dict[str, Any]:
    """What all calls took: the debate's own, and those for its report until it was written."""
    whole = debate.but(writing=writing(read) if read and read.usage.calls else None)
    told, known = took(whole.spent), prices.known(whole)
    told["costUsd"] = round(told["costUsd"], 8)
    return {**told, "unpriced": list(known.unpriced), "local": known.local}


def _actors(debate: Debate, turns: Sequence[Turn]) -> list[str]:
    """Everyone with a seat, and whoever spoke without one: a person's note."""
    ids = (*(seat.id for seat in _seats(debate)), *(turn.actor for turn in turns))
    return list(dict.fromkeys(ids))


def _seats(debate: Debate) -> tuple[Participant, ...]:
    """Everyone with a seat, the jurors last."""
    return (*debate.seats, *(debate.jury.seats if debate.jury else ()))


def _speaker(
    debate: Debate, actor: str, told: Sequence[_Told], points: list[dict[str, Any]], all_words: int
) -> dict[str, Any]:
    seat = next((seat for seat in _seats(debate) if seat.id == actor), None)
    own = [item.turn for item in told]
    spoke = [turn.model for turn in own if turn.status == "ok" and turn.model]
    models = list(dict.fromkeys(spoke or [turn.model for turn in own if turn.model]))
    models = models or ([seat.model] if seat else [])
    known: dict[str, Any] = {}
    if debate.rules.edition > 3:
        unpriced, local = ([*seat.unpriced], prices.runs_here(seat)) if seat else ([], True)
        known = {"unpriced": unpriced, "local": local}
    return {
        "id": actor,
        "name": seat.name if seat else own[0].name,
        "role": seat.role if seat else "person",
        "stance": seat.stance if seat else "neutral",
        "models": models,
        "mainPoints": points,
        "statistics": _statistics(told, all_words) | known,
    }


def _duration(debate: Debate, turns: Sequence[Turn]) -> float | None:
    """From the start to the end; of one that has not ended, to its last turn."""
    last = debate.ended_at or (turns[-1].committed_at if turns else None)
    if debate.started_at is None or last is None:
        return None
    return round(max(0.0, seconds(last) - seconds(debate.started_at)), 3)


def _place(debate: Debate, number: int, stage: str, layout: int) -> dict[str, Any]:
    """Where in the debate it was; in words, since layout 2."""
    place = {"place": schedule.label(debate, number, stage)} if layout > 1 else {}
    return {"round": number, "stage": stage, **place}


def _failure(debate: Debate, turn: Turn, layout: int) -> dict[str, Any]:
    return {
        "turn": turn.number,
        **_place(debate, turn.round, turn.stage, layout),
        "speaker": turn.actor,
        "model": turn.model,
        "errorCode": turn.error_code,
    }


def _rounds(debate: Debate, told: Sequence[_Told], layout: int) -> list[dict[str, Any]]:
    groups: dict[tuple[int, str], list[_Told]] = {}
    for item in told:
        groups.setdefault((item.turn.round, item.turn.stage), []).append(item)
    rounds: list[dict[str, Any]] = []
    for (number, stage), group in sorted(groups.items(), key=lambda entry: entry[0][0]):
        words: Counter[str] = Counter()
        for item in group:
            words[item.turn.actor] += item.words
        rounds.append(
            {
                **_place(debate, number, stage, layout),
                "turns": len(group),
                "words": words.total(),
                "seconds": round(math.fsum(item.seconds for item in group), 3),
                "wordsBySpeaker": dict(words),
            }
        )
    return rounds


def _summary(
    debate: Debate, turns: Sequence[Turn], spoken: Spoken, speakers: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What the debate was closed with; else the sentences that it turned on."""
    last = closing(turns)
    if last is None:
        points = {(point["text"], point["turn"]) for who in speakers for point in who["mainPoints"]}
        text = spoken.gist(points, debate.host.id if debate.host else None)
        return {"text": text, "by": "extraction", "turn": None}
    if last.kind == "verdict":
        by = "judge"
    else:  # with no host, a participant closes; of a council without verdict, the Synthesizer
        by = "host" if debate.host and last.actor == debate.host.id else "participant"
    return {"text": last.text, "by": by, "turn": last.number}


def _unclosed(debate: Debate, turns: Sequence[Turn], layout: int) -> str | None:
    """Why a debate that is over has no closing summary, although one was asked for."""
    tried = [turn for turn in turns if turn.kind == "summary" and turn.status == "failed"]
    result = debate.rules.result
    packed = bool(debate.outcome) and (layout < 4 or (result is not None and result.packet))
    if debate.status != "completed" or packed or not tried or closing(turns):
        return None
    why = "; ".join(
        f"{turn.name}: {(turn.data or {}).get('errorMessage') or turn.error_code}" for turn in tried
    )
    return f"Nobody could give the closing summary. {why}"


def _stated(turns: Sequence[Turn], layout: int) -> list[dict[str, Any]]:
    """The main points of somebody who gave structured answers: their claims.

    A claim that is repeated, with more or with less, is one point, in its fullest wording.
    """
    claims: dict[str, dict[str, Any]] = {}
    questions: dict[str, dict[str, Any]] = {}
    for turn in turns:
        data: Mapping[str, Any] = turn.data or {}
        if turn.status == "failed" or not data:
            continue
        if (claim := _claim(data, layout)) and not any(plain_key(claim) in said for said in claims):
            claims = {said: point for said, point in claims.items() if said not in plain_key(claim)}
            claims[plain_key(claim)] = {"text": clip(claim), "turn": turn.number}
        for item in tables(data, "challenges"):
            asked = " ".join(str(item.get("question", "")).split())
            questions.setdefault(plain_key(asked), {"text": clip(asked), "turn": turn.number})
    points = [*claims.values()] or [point for key, point in questions.items() if key]
    return points if len(points) <= POINTS else [*points[: POINTS - 1], points[-1]]


def _claim(data: Mapping[str, Any], layout: int) -> str:
    """What an answer stands for: its option and its claim, or what it decides or votes for."""
    option = data.get("position") or data.get("selectedOption")
    reasons = tables(data, "whySelected")
    if layout > 2 and not option:
        option, reasons = data.get("choice"), reasons or tables(data, "reasons")
        option = data.get("otherOption") or option  # a judge's own words
    option, claim = _on_one_line(option), _on_one_line(data.get("claim"))
    for why in reasons:
        claim = claim or _on_one_line(why.get("text"))
    if not claim or plain_key(option) in plain_key(claim):
        return claim or option
    return f"{option.rstrip('.!:;, ')}: {claim}"


def _on_one_line(text: Any) -> str:
    return " ".join(str(text or "").split())
