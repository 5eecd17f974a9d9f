"""Where everybody stands: the options that were stated, who is for which, and how that counts.
Documented in docs/council.md, with the formula and a worked example.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moot.core.debate import Debate, Turn
from moot.core.format import Format
from moot.core.jury import SIDES, Choices
from moot.core.positions import key, taken
from moot.outcome.names import grouped, one_name
from moot.outcome.opposites import apart


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a role stands: the option it names, how sure it is, and the turn that says so."""

    role: str
    option: str
    confidence: float | None  # None if it was not asked for; before edition 2 that counted as 1
    turn: int


@dataclass(frozen=True, slots=True)
class Tally:
    """The stands of one round, counted."""

    options: tuple[tuple[str, tuple[Stand, ...], float], ...]  # most supported first
    consensus: float
    confidence: float
    whole: float = 0.0  # the weight of all who were asked
    tied: bool = False  # two lead, and nothing settles which; never before edition 2

    @property
    def leader(self) -> str | None:
        return self.options[0][0] if self.options and not self.tied else None

    def heads(self, option: str | None) -> int:
        """How many stand for an option."""
        return next((len(group) for name, group, _ in self.options if name == option), 0)

    def share(self, option: str | None) -> float:
        """The weight behind an option, as a share of all that there is."""
        weight = next((weight for name, _, weight in self.options if name == option), 0.0)
        return round(weight / self.whole, 4) if self.whole else 0.0

    @property
    def stood(self) -> int:
        """How many took a position."""
        return sum(len(group) for _, group, _ in self.options)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where everybody who was asked stands, first and last: what every outcome is counted from."""

    asked: tuple[str, ...]
    names: Mapping[str, str]  # one name for each wording of an option, by its key
    first: Tally
    final: Tally
    unmapped: Tally  # the final one, if no two wordings were read as one option
    kept: tuple[tuple[str, str, str], ...] = ()  # wordings that a reading merged, and why not


def standing(debate: Debate, turns: Sequence[Turn]) -> Standing:
    """Count the stands of a debate, with the wordings that its reading says are one option."""
    rules = debate.rules
    first, final = first_stands(rules, turns), final_stands(rules, turns)
    reading, _ = answer(turns, rules.result.reading if rules.result else None)
    asked, kept, heads = seats(debate), (), rules.edition > 1
    if heads:
        past = history(rules, turns)
        options = [option for held in past.values() for option, _ in held]
        names, kept = grouped(
            options, reading, apart(past, rules.edition), [one.option for one in final]
        )
    else:
        options = [stand.option for stand in (*first, *final)]
        names = one_name(options, reading)
    return Standing(
        asked,
        names,
        tally(first, names, asked, heads=heads),
        tally(final, names, asked, heads=heads),
        tally(final, one_name(options, None), asked, heads=heads),
        kept,
    )


def history(rules: Format, turns: Sequence[Turn]) -> dict[str, list[tuple[str, Turn]]]:
    """What each speaker stood for, in the order of the rounds, with the turns that say so."""
    found: dict[str, list[tuple[str, Turn]]] = {}
    stages = {name: rules.shape(rules.stage(name).answer) for name in _stages(rules)}
    for turn in sorted(turns, key=lambda turn: (turn.round, turn.seq)):
        if turn.stage in stages and turn.status == "ok" and turn.data:
            option = taken(stages[turn.stage], turn.data, rules.edition)
            if option is not None:
                found.setdefault(turn.name, []).append((option, turn))
    return found


def _stages(rules: Format) -> tuple[str, ...]:
    """Where positions are stated, the latest first."""
    return rules.result.stands if rules.result else ()


def answer(turns: Sequence[Turn], stage: str | None) -> tuple[Mapping[str, Any] | None, set[int]]:
    """What was answered in a stage, and the turns that its speaker could cite."""
    for turn in turns:
        if stage and turn.stage == stage and turn.status == "ok" and turn.data:
            heard = {
                other.number for other in turns if other.status == "ok" and other.round < turn.round
            }
            return turn.data, heard
    return None, set()


def weight(confidence: float | None) -> float:
    """Even somebody unsure counts for half; somebody who was not asked how sure counts whole."""
    return 1.0 if confidence is None else 0.5 + confidence / 2


def tally(
    stands: Sequence[Stand], names: Mapping[str, str], seats: Sequence[str], *, heads: bool = False
) -> Tally:
    """Count the stands. `names` gives one name to options that differ only in wording; `seats` are
    all who were asked; with `heads`, heads count before weight, and the alphabet settles nothing.

    consensus = support of the leading option / support of all seats, a missing one counting as one
    that is unsure and stands elsewhere; confidence = mean confidence of all who state one.
    """
    groups: dict[str, list[Stand]] = {}
    for stand in sorted(stands, key=lambda stand: seats.index(stand.role)):
        groups.setdefault(names.get(key(stand.option), stand.option), []).append(stand)
    counted = [
        (option, tuple(group), sum(weight(stand.confidence) for stand in group))
        for option, group in groups.items()
    ]
    ranks = {
        option: (-len(group), -round(support, 9)) if heads else (-round(support, 9), -len(group))
        for option, group, support in counted
    }
    counted.sort(key=lambda item: (*ranks[item[0]], key(item[0])))
    missing = (len(seats) - len(stands)) * weight(0.0)
    whole = sum(support for _, _, support in counted) + missing
    sure = [stand.confidence for stand in stands if stand.confidence is not None]
    return Tally(
        tuple(counted),
        round(counted[0][2] / whole, 4) if counted else 0.0,
        round(sum(sure) / len(sure), 4) if sure else 0.0,
        whole,
        heads and len(counted) > 1 and ranks[counted[0][0]] == ranks[counted[1][0]],
    )


def seats(debate: Debate) -> tuple[str, ...]:
    """Who is asked for a position, by name."""
    rules = debate.rules
    stages = [rules.stage(name) for name in rules.result.stands] if rules.result else []
    asked = {
        seat.name
        for stage in stages
        for seat in debate.participants
        if (isinstance(stage.speakers, str) or seat.role in stage.speakers)
        and (not stage.seats or seat.id in stage.seats)
    }
    return tuple(seat.name for seat in debate.participants if seat.name in asked)


def stands(rules: Format, turns: Iterable[Turn], stage: str) -> list[Stand]:
    """Who stood where in a stage, at its end; whoever failed or is undecided is not among them."""
    shape = rules.shape(rules.stage(stage).answer)
    weighed = shape.has("confidence", "share")
    found: dict[str, Stand | None] = {}
    for turn in turns:
        if turn.stage == stage and turn.status == "ok" and turn.data:
            option = taken(shape, turn.data, rules.edition)
            unsaid = None if rules.edition > 1 else 1.0
            sure = float(turn.data["confidence"]) if weighed else unsaid
            stand = None if option is None else Stand(turn.name, option, sure, turn.number)
            found[turn.name] = stand
    return [stand for stand in found.values() if stand]


def _answers(turn: Turn, stage: str) -> bool:
    return turn.stage == stage and turn.status == "ok" and bool(turn.data)


def first_stands(rules: Format, turns: Sequence[Turn]) -> list[Stand]:
    """Where everybody stood when they were first asked."""
    result = rules.result
    return stands(rules, turns, result.stands[-1]) if result and result.stands else []


def final_stands(rules: Format, turns: Sequence[Turn]) -> list[Stand]:
    """Where everybody stood last: whoever was not heard later stands where it stood."""
    last: dict[str, Stand] = {}
    for stage in reversed(rules.result.stands if rules.result else ()):
        heard = {turn.name for turn in turns if turn.stage == stage and turn.status == "ok"}
        last = {name: stand for name, stand in last.items() if name not in heard}
        last |= {stand.role: stand for stand in stands(rules, turns, stage)}
    return list(last.values())


def stated(debate: Debate, turns: Sequence[Turn]) -> list[str]:
    """The options that were stated so far, each once: stage by stage, in the order of the seats,
    which has nothing to do with who answered first."""
    rules, found = debate.rules, dict[str, str]()
    place = {name: place for place, name in enumerate(seats(debate))}
    for stage in reversed(_stages(rules)):
        if rules.shape(rules.stage(stage).answer).stand == "position":
            for stand in sorted(stands(rules, turns, stage), key=lambda one: place[one.role]):
                found.setdefault(key(stand.option), stand.option)
    return list(found.values())


def choices(debate: Debate, turns: Sequence[Turn]) -> Choices:
    """The options that were stated, one name for each, and who holds which. Without stated options,
    a jury chooses between the sides of the motion."""
    rules = debate.rules
    if not (rules.result and rules.result.stands):
        sides = {"pro": SIDES[0], "con": SIDES[1]}
        held = {s.id: sides[s.stance] for s in debate.participants if s.stance in sides}
        return Choices(SIDES, held)
    stood, ids = standing(debate, turns), {seat.name: seat.id for seat in debate.participants}
    named = _offered(rules) or stated(debate, turns)
    found = [stood.names.get(key(option), option) for option in named]
    held = {ids[stand.role]: option for option, group, _ in stood.final.options for stand in group}
    return Choices(tuple(dict.fromkeys(found)), held)


def votable(debate: Debate, turns: Sequence[Turn]) -> Choices:
    """What a jury chooses from: the options that somebody still holds at the end or, if fewer than
    two are left, all of them. Before edition 8 it was asked about all of them in any case."""
    rules, every = debate.rules, choices(debate, turns)
    fixed = not (rules.result and rules.result.stands) or _offered(rules)
    left = tuple(option for option in every.options if option in every.held.values())
    if rules.edition < 8 or fixed or len(left) < 2:
        return every
    return Choices(left, every.held)


def _offered(rules: Format) -> Sequence[str]:
    """The options that the format itself names."""
    stages = rules.result.stands if rules.result else ()
    return rules.shape(rules.stage(stages[-1]).answer).offers if stages else ()


def silent(rules: Format, turns: Sequence[Turn], over: Sequence[str]) -> bool:
    """Whether the first of these stages is over and nobody answered: nothing can be decided.

    Whoever answers that it is undecided is heard: if all are, facts are missing. In later stages
    everybody may fail: then what they said first decides. If nobody is asked for a position, a jury
    needs something to judge: a word in one of the stages before it.
    """
    result = rules.result
    if result and result.stands:
        first = result.stands[-1]
        return first in over and not any(_answers(turn, first) for turn in turns)
    names = [stage.name for stage in rules.stages]
    if rules.jury is None or result is None:
        return False
    before = names[: names.index(rules.jury.name)]
    ended = all(name in over or rules.stage(name).needs_host for name in before)
    return ended and not any(
        turn.status == "ok" and turn.kind not in ("cue", "note") for turn in turns
    )
