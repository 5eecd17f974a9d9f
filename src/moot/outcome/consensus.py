"""What was agreed and what was not: all that `consensus.json` holds, from the turns alone."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from moot.core.debate import Debate, Turn
from moot.core.naming import inside
from moot.core.positions import key
from moot.outcome.stands import Stand, Standing, Tally, answer, standing


def consensus(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any]:
    """Everything that `consensus.json` holds, from the turns alone."""
    result, stood = debate.rules.result, standing(debate, turns)
    reading, known = answer(turns, result.reading if result else None)
    verdict, heard = answer(turns, result.verdict if result else None)
    agreements = _points((reading or {}).get("agreements", ()), known)
    disagreements = _points((reading or {}).get("disagreements", ()), known)
    if debate.rules.edition > 1:
        agreements, disagreements = _agreed(debate, turns, stood, agreements, disagreements)
    elif not agreements and not disagreements:
        agreements, disagreements = _plain_points(stood.final)
    dropped = [turn for turn in _citations(reading) if turn not in known]
    dropped += [turn for turn in _citations(verdict) if turn not in heard]
    return {
        "consensusScore": stood.final.consensus,
        "confidenceScore": stood.final.confidence,
        "keyAgreements": agreements,
        "keyDisagreements": disagreements,
        "favoured": stood.final.leader,
        "withoutMapping": {
            "consensusScore": stood.unmapped.consensus,
            "favoured": stood.unmapped.leader,
        },
        "tally": {"round1": _table(stood.first), "final": _table(stood.final)},
        "moved": _moved(debate, turns, stood),
        "names": stood.names,
        "droppedCitations": len(dropped),
        "missing": [
            {
                "role": turn.name,
                "stage": turn.stage,
                "turn": turn.number,
                "errorCode": turn.error_code,
                "errorMessage": (turn.data or {}).get("errorMessage"),
            }
            for turn in turns
            if turn.status == "failed"
        ],
    }


def _points(points: Iterable[Mapping[str, Any]], known: set[int]) -> list[dict[str, Any]]:
    """Points with those of their citations that exist."""
    return [
        {"text": point["text"], "turns": [turn for turn in point["turns"] if turn in known]}
        for point in points
    ]


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


def _agreed(
    debate: Debate,
    turns: Sequence[Turn],
    stood: Standing,
    agreements: list[dict[str, Any]],
    disagreements: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What may be called agreed, and what is open. A point that names an option which only a
    minority holds, or rests on nobody but holders of such options, is open whatever a reading calls
    it. Without a reading, only what all who took a position stand for is agreed."""
    if not agreements and not disagreements:
        first, others = _plain_points(stood.final)
        return (first, others) if len(stood.final.options) == 1 else ([], [*first, *others])
    few = [
        (option, {stand.role for stand in group})
        for option, group, _ in stood.final.options
        if 2 * len(group) <= stood.final.stood
    ]
    rare = {key(option) for option, _ in few}
    if debate.rules.edition > 5:  # nobody at all is few, too
        held = {key(option) for option, _, _ in stood.final.options}
        rare |= {key(name) for name in stood.names.values()} - held
    wordings = {word for word, name in stood.names.items() if key(name) in rare}
    named = _named if debate.rules.edition > 5 else _between_blanks
    spoke = {turn.number: turn.name for turn in turns}
    minority = {name for _, names in few for name in names}

    def held_by_few(point: Mapping[str, Any]) -> bool:
        behind = {spoke[n] for n in point["turns"]} & set(stood.asked)
        return bool(named(point["text"], stood.names.keys()) & wordings) or (
            bool(behind) and behind <= minority and 2 * len(behind) <= stood.final.stood
        )

    opened = [point for point in agreements if held_by_few(point)]
    return [point for point in agreements if point not in opened], [*disagreements, *opened]


def _named(text: str, wordings: Collection[str]) -> set[str]:
    """The options that a text names: of two that begin at the same place, the longer one. In
    scripts without spaces, an option may stand among other letters."""
    if not wordings:
        return set()
    longest_first = sorted(wordings, key=lambda word: (-len(word), word))
    pattern, plain = "|".join(map(re.escape, longest_first)), key(text)
    return {one[0] for one in re.finditer(pattern, plain) if not inside(plain, *one.span())}


def _between_blanks(text: str, wordings: Collection[str]) -> set[str]:
    """The same before edition 6, which missed what stands in brackets or without spaces."""
    return {word for word in wordings if f" {word} " in f" {key(text)} "}


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


def _moved(debate: Debate, turns: Sequence[Turn], stood: Standing) -> list[dict[str, Any]]:
    """Who changed its option, and which challenges stood between."""
    ids = {seat.name: seat.id for seat in debate.participants}
    before = _by_role(stood.first)
    moved: list[dict[str, Any]] = []
    for role, (option, stand) in _by_role(stood.final).items():
        was, start = before.get(role, (option, stand))
        if was != option:
            challenged = [
                {"role": turn.name, "turn": turn.number}
                for turn in turns
                if start.turn < turn.number < stand.turn
                and turn.status == "ok"
                and turn.target == ids[role]
            ]
            moved.append(
                {
                    "role": role,
                    "from": was,
                    "to": option,
                    "turns": [start.turn, stand.turn],
                    "after": challenged,
                }
            )
    return sorted(moved, key=lambda move: stood.asked.index(move["role"]))


def _by_role(counted: Tally) -> dict[str, tuple[str, Stand]]:
    return {stand.role: (option, stand) for option, group, _ in counted.options for stand in group}
