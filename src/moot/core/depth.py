"""`depth = "auto"`: two seats answer alone; if they agree, the debate itself is left out.

Two stages are set before those of the format. Whoever speaks later does not read them, so that a
debate that is held in full comes to what it would have come to without them. Whether the two agree
follows from their turns, and whether a debate is checked in spite of that from its id: nothing else
is kept.
"""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import combinations
from typing import Any, Literal, cast

from moot.core import positions
from moot.core.answers import UNDECIDED, Answer
from moot.core.debate import Debate, Participant, Turn
from moot.core.format import Format, Outcome, Screen
from moot.core.phases import held, skipped
from moot.core.quoting import is_marked, marked, quotes
from moot.core.voices import family, judges
from moot.errors import InputError

Depth = Literal["whole", "auto"]
AUDIT = 0.05
"""The share of the debates that could stop early and are held in full all the same."""
_FILE = resources.files("moot.core").joinpath("depth.toml").read_text("utf-8")
_SET = Format.model_validate({**tomllib.loads(_FILE), "title": "-", "description": "-",
                              "guidance": "-"}, strict=False)  # fmt: skip


def asked(depth: object, audit: object) -> float | None:
    """The share to check if the depth is to be found out, else None. InputError names the field."""
    if depth not in (None, "whole", "auto"):
        raise InputError(f"depth is whole or auto, not {str(depth)[:40]!r}.", "depth")
    if audit is not None:
        if isinstance(audit, bool) or not isinstance(audit, int | float) or not 0 <= audit <= 1:
            raise InputError("audit is a share from 0 to 1.", "audit")
        if depth != "auto":
            raise InputError('audit is for depth "auto": set that too, or leave it out.', "audit")
    return (AUDIT if audit is None else float(audit)) if depth == "auto" else None


def screened(rules: Format, seats: Sequence[Participant], audit: float) -> Format:
    """The format with the two stages before its own, after a prelude if it has one."""
    if rules.result is None:
        raise InputError(
            f"depth: a {rules.name} comes to no decision that could come early. Add a jury, or "
            "leave depth out.",
            "depth",
        )
    pair = _pair(rules, seats)
    if pair is None:
        raise InputError(
            'depth "auto" needs two seats whose models are of different families: models of one '
            "family make the same mistakes, so that they agree says little. Give a seat a model "
            "of another maker, or leave depth out.",
            "depth",
        )
    ids = tuple(seat.id for seat in pair)
    taken = {stage.name for stage in rules.stages}
    kind, answer = _shape(rules, rules.result)
    shape = _free(kind, {*rules.answers, "text"})
    names = {stage.name: _free(stage.name, taken) for stage in _SET.stages}
    added = [
        stage.model_copy(update={"name": names[stage.name], "answer": shape, "seats": ids})
        for stage in _SET.stages
    ]
    place = 1 if rules.stages[0].prelude else 0
    return rules.model_copy(
        update={
            "stages": (*rules.stages[:place], *added, *rules.stages[place:]),
            "answers": {**rules.answers, shape: answer},
            "screen": Screen(stages=tuple(stage.name for stage in added), audit=audit),
        }
    )


def _shape(rules: Format, result: Outcome) -> tuple[str, Answer]:
    """What the two answer: an option of their own, one of those that the format itself offers, or a
    side of the motion."""
    offered = rules.shape(rules.stage(result.stands[-1]).answer).offers if result.stands else ()
    kind = "opinion" if result.stands and not offered else "side"
    answer = _SET.answers[kind]
    if offered:
        choice = answer.fields["choice"].model_copy(update={"choices": (*offered, UNDECIDED)})
        answer = answer.model_copy(update={"fields": {**answer.fields, "choice": choice}})
    return kind, answer


def _free(name: str, taken: set[str]) -> str:
    return next(one for one in (name, *(f"{name}-{n}" for n in range(2, 99))) if one not in taken)


def _pair(rules: Format, seats: Sequence[Participant]) -> tuple[Participant, Participant] | None:
    """The first two who differ; whoever gives the verdict only if there is nobody else."""
    decide = judges(rules)
    free = sorted((seat for seat in seats if not seat.is_human), key=lambda s: s.role in decide)
    differ = (
        pair for pair in combinations(free, 2) if family(pair[0].model) != family(pair[1].model)
    )
    return next(differ, None)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two seats agreed on before the debate."""

    stage: str
    option: str
    turns: tuple[Turn, ...]


def agreement(debate: Debate, turns: Sequence[Turn]) -> Agreement | None:
    """What the two agree on, in the first stage in which they do; None if they do not."""
    for name in debate.rules.before:
        stage = debate.rules.stage(name)
        said = [turn for turn in turns if turn.stage == name and turn.kind != "note"]
        if len({turn.actor for turn in said}) < len(stage.seats):
            return None
        shape, edition = debate.rules.shape(stage.answer), debate.rules.edition
        stands = [
            positions.taken(shape, turn.data, edition) if turn.status == "ok" else None
            for turn in said
        ]
        first = stands[0]
        keys = {None if one is None else positions.key(one) for one in stands}
        if first and len(keys) == 1 and all(supported(debate, turn) for turn in said):
            return Agreement(name, first, tuple(said))
    return None


def supported(debate: Debate, turn: Turn) -> bool:
    """Whether its reasons hold: if there are sources, it quotes one, and no quote of it failed.
    Without sources, there is nothing that they could be checked against."""
    texts = list(_texts(turn.data))
    if any(is_marked(text) or marked(text) for text in texts):
        return False
    if not debate.sources:
        return True
    return any(one.whole and one.ref.startswith("S") for text in texts for one in quotes(text))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in cast("Mapping[str, Any]", value).values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in cast("Sequence[Any]", value):
            yield from _texts(part)


def checked(debate: Debate) -> bool:
    """Whether it is one of those that are held in full although two agree: by its id alone."""
    screen = debate.rules.screen
    if screen is None:
        return False
    digest = hashlib.sha256(f"audit {debate.id}".encode()).digest()
    return int.from_bytes(digest[:8]) < screen.audit * 2**64


def stopped(debate: Debate, turns: Sequence[Turn]) -> Agreement | None:
    """What decided it, if the debate itself was left out."""
    if debate.rules.screen is None or checked(debate):
        return None
    return agreement(debate, turns)


@dataclass(frozen=True, slots=True)
class Early:
    """What is left out because two agree, and how a reader is told."""

    skips: tuple[str, ...]
    words: str
    over: bool  # nothing else is asked for


def early(debate: Debate, turns: Sequence[Turn]) -> Early | None:
    """What to leave out before the wave that comes next; None if it is to be spoken."""
    screen = debate.rules.screen
    if screen is None or debate.status != "running":
        return None
    names = [stage.name for stage in held(debate)]
    here = debate.cursor.next_stage
    if here not in names or has_begun(debate, turns):
        return None
    found = agreement(debate, turns)
    if found is None or names.index(here) <= names.index(found.stage):
        return None
    ahead = names[names.index(here) :]
    if not checked(debate):
        return Early(tuple(ahead), _told(debate, found, ahead), over=True)
    between = tuple(name for name in ahead if name in screen.stages)
    if not between or skipped(debate) >= set(between):
        return None
    who = _who(found)
    words = f"{who} agree. This debate is held in full all the same, to check how often that errs."
    return Early(between, words, over=False)


def has_begun(debate: Debate, turns: Sequence[Turn]) -> bool:
    """Whether anything was said in the debate itself: then what two agreed on was dealt with."""
    before = {stage.name for stage in debate.rules.stages if stage.prelude}.union(
        debate.rules.before
    )
    return any(turn.stage not in before and turn.kind != "note" for turn in turns)


def _who(found: Agreement) -> str:
    return " and ".join(turn.name for turn in found.turns)


def _told(debate: Debate, found: Agreement, left: Sequence[str]) -> str:
    screen = debate.rules.screen
    gone = [debate.rules.stage(name).heading for name in left]
    listed = " and ".join(filter(None, (", ".join(gone[:-1]), gone[-1])))
    alone = screen is not None and found.stage == screen.stages[0]
    when = "each alone" if alone else "after one exchange"
    basis = (
        "with quotes that were verified"
        if debate.sources
        else "for reasons that nobody checked, as there are no sources"
    )
    return f"{_who(found)} agree, {when}, {basis}. Left out: {listed}."


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What was left out of a debate that two seats settled."""

    stages: tuple[str, ...]
    words: str  # the same, and why


def left_out(debate: Debate, turns: Sequence[Turn]) -> LeftOut | None:
    """What was left out and why; None of a debate that was held in full."""
    found = stopped(debate, turns)
    if found is None:
        return None
    names = [stage.name for stage in held(debate)]
    gone = tuple(names[names.index(found.stage) + 1 :])
    return LeftOut(gone, _told(debate, found, gone))


def effective(debate: Debate, turns: Sequence[Turn]) -> Debate:
    """The debate as its outcome is made: if two settled it, or if nobody came to say anything else,
    by what they said, whoever else was to decide."""
    before, result = debate.rules.before, debate.rules.result
    if not before or result is None:
        return debate
    if stopped(debate, turns) is None and (
        has_begun(debate, turns) or not any(turn.stage in before for turn in turns)
    ):
        return debate
    outcome = Outcome(stands=before[::-1], packet=result.packet, record=result.record)
    return debate.but(rules=debate.rules.model_copy(update={"outcome": outcome}))
