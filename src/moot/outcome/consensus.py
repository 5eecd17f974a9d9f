"""What was agreed and what was not: all that `consensus.json` holds, from the turns alone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moot.core.debate import Debate, Turn
from moot.core.format import Format
from moot.outcome.stands import (
    Tally,
    final_stands,
    first_stands,
    key,
    one_name,
    seats,
    tally,
)


def consensus(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any]:
    """Everything that `consensus.json` holds, from the turns alone."""
    rules = debate.rules
    reading, known = answer(turns, rules.result.reading if rules.result else None)
    first, final = first_stands(rules, turns), final_stands(rules, turns)
    names = one_name((stand.option for stand in (*first, *final)), reading)
    asked = seats(debate)
    before, after = tally(first, names, asked), tally(final, names, asked)
    bare = tally(final, one_name((stand.option for stand in (*first, *final)), None), asked)
    agreements = _points((reading or {}).get("agreements", ()), known)
    disagreements = _points((reading or {}).get("disagreements", ()), known)
    if not agreements and not disagreements:
        agreements, disagreements = _plain_points(after)
    return {
        "consensusScore": after.consensus,
        "confidenceScore": after.confidence,
        "keyAgreements": agreements,
        "keyDisagreements": disagreements,
        "favoured": after.leader,
        "withoutMapping": {"consensusScore": bare.consensus, "favoured": bare.leader},
        "tally": {"round1": _table(before), "final": _table(after)},
        "moved": _moved(debate, turns, names),
        "names": names,
        "droppedCitations": dropped_citations(rules, turns),
        "missing": [
            {
                "role": turn.name,
                "stage": turn.stage,
                "turn": turn.seq,
                "errorCode": turn.error_code,
                "errorMessage": (turn.data or {}).get("errorMessage"),
            }
            for turn in turns
            if turn.status == "failed"
        ],
    }


def answer(turns: Sequence[Turn], stage: str | None) -> tuple[Mapping[str, Any] | None, set[int]]:
    """What was answered in a stage, and the turns that its speaker could cite."""
    for turn in turns:
        if stage and turn.stage == stage and turn.status == "ok" and turn.data:
            heard = {
                other.seq for other in turns if other.status == "ok" and other.round < turn.round
            }
            return turn.data, heard
    return None, set()


def _points(points: Iterable[Mapping[str, Any]], known: set[int]) -> list[dict[str, Any]]:
    """Points with those of their citations that exist."""
    return [
        {"text": point["text"], "turns": [turn for turn in point["turns"] if turn in known]}
        for point in points
    ]


def dropped_citations(rules: Format, turns: Sequence[Turn]) -> int:
    """How many citations of the reading and the verdict name a turn that does not exist."""
    result = rules.result
    answers = [answer(turns, stage) for stage in (result.reading, result.verdict)] if result else []
    return sum(turn not in heard for data, heard in answers for turn in _citations(data or {}))


def _citations(value: Any) -> Iterable[int]:
    if isinstance(value, Mapping):
        for name, part in value.items():  # pyright: ignore[reportUnknownVariableType]
            if name == "turns":
                yield from part  # pyright: ignore[reportUnknownVariableType]
            else:
                yield from _citations(part)
    elif isinstance(value, list | tuple):
        for part in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _citations(part)


def _plain_points(after: Tally) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Without a reading: what the stands themselves show."""
    said = [
        {
            "text": f"{', '.join(stand.role for stand in group)}: {option}",
            "turns": [stand.turn for stand in group],
        }
        for option, group, _ in after.options
    ]
    return said[:1], said[1:]


def _table(counted: Tally) -> list[dict[str, Any]]:
    return [
        {
            "option": option,
            "support": round(support, 4),
            "stands": [
                {"role": s.role, "option": s.option, "confidence": s.confidence, "turn": s.turn}
                for s in group
            ],
        }
        for option, group, support in counted.options
    ]


def _moved(debate: Debate, turns: Sequence[Turn], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Who changed its option, and which challenges stood between."""
    order = seats(debate)
    before = {stand.role: stand for stand in first_stands(debate.rules, turns)}
    ids = {seat.name: seat.id for seat in debate.participants}
    moved: list[dict[str, Any]] = []
    final = final_stands(debate.rules, turns)
    for stand in sorted(final, key=lambda stand: order.index(stand.role)):
        was = before.get(stand.role)
        if was is None or names[key(was.option)] == names[key(stand.option)]:
            continue
        challenged = [
            turn
            for turn in turns
            if was.turn < turn.seq < stand.turn
            and turn.status == "ok"
            and turn.target == ids[stand.role]
        ]
        moved.append(
            {
                "role": stand.role,
                "from": names[key(was.option)],
                "to": names[key(stand.option)],
                "turns": [was.turn, stand.turn],
                "after": [{"role": turn.name, "turn": turn.seq} for turn in challenged],
            }
        )
    return moved
