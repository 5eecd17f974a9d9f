"""Where everybody stands: the options that were stated, who is for which, and how that counts.
Documented in docs/council.md, with the formula and a worked example.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moot.core.debate import Debate, Turn
from moot.core.format import Format
from moot.core.positions import key, taken


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a role stands: the option it names, how sure it is, and the turn that says so."""

    role: str
    option: str
    confidence: float
    turn: int


@dataclass(frozen=True, slots=True)
class Tally:
    """The stands of one round, counted."""

    options: tuple[tuple[str, tuple[Stand, ...], float], ...]  # most supported first
    consensus: float
    confidence: float

    @property
    def leader(self) -> str | None:
        return self.options[0][0] if self.options else None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where everybody who was asked stands, first and last: what every outcome is counted from."""

    asked: tuple[str, ...]
    names: Mapping[str, str]  # one name for each wording of an option, by its key
    first: Tally
    final: Tally
    unmapped: Tally  # the final one, if no two wordings were read as one option


def standing(debate: Debate, turns: Sequence[Turn]) -> Standing:
    """Count the stands of a debate, with the wordings that its reading says are one option."""
    rules = debate.rules
    first, final = first_stands(rules, turns), final_stands(rules, turns)
    options = [stand.option for stand in (*first, *final)]
    reading, _ = answer(turns, rules.result.reading if rules.result else None)
    names, plain = one_name(options, reading), one_name(options, None)
    asked = seats(debate)
    return Standing(
        asked,
        names,
        tally(first, names, asked),
        tally(final, names, asked),
        tally(final, plain, asked),
    )


def answer(turns: Sequence[Turn], stage: str | None) -> tuple[Mapping[str, Any] | None, set[int]]:
    """What was answered in a stage, and the turns that its speaker could cite."""
    for turn in turns:
        if stage and turn.stage == stage and turn.status == "ok" and turn.data:
            heard = {
                other.seq for other in turns if other.status == "ok" and other.round < turn.round
            }
            return turn.data, heard
    return None, set()


def weight(confidence: float) -> float:
    """Even somebody unsure counts for half."""
    return 0.5 + confidence / 2


def tally(stands: Sequence[Stand], names: Mapping[str, str], seats: Sequence[str]) -> Tally:
    """Count the stands. `names` gives one name to options that differ only in wording; `seats` are
    all who were asked.

    consensus = support of the leading option / support of all seats, a missing one counting as one
    that is unsure and stands elsewhere; confidence = mean confidence of all who stand.
    """
    groups: dict[str, list[Stand]] = {}
    for stand in sorted(stands, key=lambda stand: seats.index(stand.role)):
        groups.setdefault(names.get(key(stand.option), stand.option), []).append(stand)
    counted = [
        (option, tuple(group), sum(weight(stand.confidence) for stand in group))
        for option, group in groups.items()
    ]
    counted.sort(key=lambda item: (-round(item[2], 9), -len(item[1]), key(item[0])))
    missing = (len(seats) - len(stands)) * weight(0.0)
    whole = sum(support for _, _, support in counted) + missing
    return Tally(
        tuple(counted),
        round(counted[0][2] / whole, 4) if counted else 0.0,
        round(sum(stand.confidence for stand in stands) / len(stands), 4) if stands else 0.0,
    )


def seats(debate: Debate) -> tuple[str, ...]:
    """Who is asked for a position, by name."""
    rules = debate.rules
    stages = [rules.stage(name) for name in rules.result.stands] if rules.result else []
    asked = {
        seat.name
        for stage in stages
        for seat in debate.participants
        if isinstance(stage.speakers, str) or seat.role in stage.speakers
    }
    return tuple(seat.name for seat in debate.participants if seat.name in asked)


def stands(rules: Format, turns: Iterable[Turn], stage: str) -> list[Stand]:
    """Who stood where in a stage, at its end; whoever failed or is undecided is not among them."""
    shape = rules.shape(rules.stage(stage).answer)
    weighed = shape.has("confidence", "share")
    found: dict[str, Stand | None] = {}
    for turn in turns:
        if turn.stage == stage and turn.status == "ok" and turn.data:
            option, sure = taken(shape, turn.data), turn.data["confidence"] if weighed else 1.0
            stand = None if option is None else Stand(turn.name, option, float(sure), turn.seq)
            found[turn.name] = stand
    return [stand for stand in found.values() if stand]


def first_stands(rules: Format, turns: Sequence[Turn]) -> list[Stand]:
    """Where everybody stood when they were first asked."""
    return stands(rules, turns, rules.result.stands[-1]) if rules.result else []


def final_stands(rules: Format, turns: Sequence[Turn]) -> list[Stand]:
    """Where everybody stood last: whoever was not heard later stands where it stood."""
    last: dict[str, Stand] = {}
    for stage in reversed(rules.result.stands if rules.result else ()):
        heard = {turn.name for turn in turns if turn.stage == stage and turn.status == "ok"}
        last = {name: stand for name, stand in last.items() if name not in heard}
        last |= {stand.role: stand for stand in stands(rules, turns, stage)}
    return list(last.values())


def stated(rules: Format, turns: Sequence[Turn]) -> list[str]:
    """The options that were stated so far, each once, in the order in which they were."""
    found: dict[str, str] = {}
    for stage in reversed(rules.result.stands if rules.result else ()):
        if rules.shape(rules.stage(stage).answer).stand == "position":
            for stand in stands(rules, turns, stage):
                found.setdefault(key(stand.option), stand.option)
    return list(found.values())


def silent(rules: Format, turns: Sequence[Turn], over: Iterable[str]) -> bool:
    """Whether the first of these stages is over and nobody took a position: nothing can be decided.

    In later ones everybody may fail: then what they said first decides.
    """
    result = rules.result
    return bool(result and result.stands[-1] in over and not first_stands(rules, turns))


def one_name(options: Iterable[str], reading: Mapping[str, Any] | None) -> dict[str, str]:
    """One name for each option: what the Synthesizer maps, of what was really stated."""
    stated: dict[str, str] = {}
    for option in sorted(options, key=lambda option: (key(option), option)):
        stated.setdefault(key(option), option)
    names = dict(stated)
    called: dict[str, str] = {}  # one spelling for each name that the mapping gives
    taken: set[str] = set()
    for same in (reading or {}).get("same", ()):
        words = {key(word) for word in same["wordings"]} & (stated.keys() - taken)
        named = key(same["option"])
        name = called.setdefault(named, stated.get(named) or str(same["option"]))
        if len(words) > 1 or key(name) in words:
            names.update(dict.fromkeys(words, name))
            taken |= words  # a wording that is claimed twice stays with the first
    return names
