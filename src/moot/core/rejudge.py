"""A jury's verdict on a debate that has ended: a new debate that begins with what was said there.

Its log begins with that of the judged debate, up to the last speech, so that the numbers of turns
mean the same in both. What is left to do is one wave: each juror votes twice, in two orders. The
engine runs it like any debate, so that no call is made twice; the judged debate is only read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from moot.core import depth, request, voices
from moot.core.change import Change, join, turn_to
from moot.core.debate import NO_USAGE, Cursor, Debate, Fork, Phase, Turn
from moot.core.events import Event, TurnCommitted
from moot.core.format import Format, Outcome, Past, Stage
from moot.core.jury import joined
from moot.core.moves import reach
from moot.core.status import FINAL, POSSIBLE
from moot.errors import InputError, StateError

USUAL_SIZE = 3
VERDICTS = 2
"""The first edition that has juries."""


def heard(judged: Debate, turns: Sequence[Turn]) -> list[Turn]:
    """What a jury is given of a debate: its turns up to the last speech, or to the reading that
    says which wordings are one option. Raises StateError if there is nothing to judge."""
    if judged.status not in FINAL:
        raise StateError(
            f"Only a debate that has ended can be rejudged; this one is {judged.status}. "
            f"{POSSIBLE[judged.status]}"
        )
    reading = judged.rules.result.reading if judged.rules.result else None
    kept = [turn.seq for turn in turns if turn.kind == "speech" or turn.stage == reading]
    debaters = {seat.id for seat in judged.participants}
    if not any((turn.kind, turn.status) == ("speech", "ok") and turn.actor in debaters
               for turn in turns):  # fmt: skip
        raise StateError("No participant spoke in this debate, so there is nothing to judge.")
    # what it took is on the judged debate's bill, and counted once
    return [replace(turn, usage=NO_USAGE) for turn in turns if turn.seq <= kept[-1]]


def rejudged(
    judged: Debate,
    said: Sequence[Turn],
    asked: Mapping[str, Any] | None,
    *,
    debate_id: str,
    at: str,
    default_model: str | Sequence[str],
    normalize: request.Normalize,
    cards: voices.Cards | None = None,
) -> Debate:
    """The debate in which a jury judges another one, of which `said` is `heard`."""
    rules, last, warnings = _rules(depth.effective(judged, said).rules, said), said[-1], list[str]()
    jury = request.empanel(
        rules, judged.seats, _jury(judged, asked), default_model, normalize, warnings, cards
    )
    if jury is None:
        raise InputError("A jury has at least one juror.", "jury.size")
    made = Debate(
        id=debate_id,
        motion=judged.motion,
        rules=joined(rules),
        participants=judged.participants,
        host=judged.host,
        options=judged.options,
        # a budget was for the judged debate: what this takes is known, and asked for by itself
        limits=replace(
            judged.limits, max_total_tokens=None, max_cost_usd=None, allow_unpriced=False
        ),
        on_failure="degrade",
        status="scheduled",
        cursor=Cursor(),
        created_at=at,
        updated_at=at,
        brief=judged.brief,
        sources=judged.sources,
        hide_sources_from=judged.hide_sources_from,
        jury=jury,
        forked_from=Fork(judged.id, last.seq),
        received={"rejudge": judged.id, "jury": dict(asked or {})},
        degraded=any(turn.status == "failed" for turn in said),
        warnings=tuple(dict.fromkeys(warnings)),
        round=last.round,
        stage=last.stage,
        turn_count=len(said),
        last_seq=last.seq,
    )
    return request.warned(request.placed(made), cards)


def open_(debate: Debate, said: Sequence[Turn], events: Sequence[Event], at: str) -> Change:
    """The first entries of its log: those of the judged debate, then that it is queued."""
    turns = {turn.seq: turn for turn in said}
    copied = tuple(
        TurnCommitted(debate.id, turns[event.seq])
        if isinstance(event, TurnCommitted)
        else replace(event, debate_id=debate.id)
        for event in events
        if event.seq <= debate.last_seq
    )
    begun = reach(debate, debate.fence, [Phase("Intake", at, "ok")], at).debate
    words = f"A jury judges {debate.forked_from.id if debate.forked_from else 'a debate'} again."
    return join(Change(debate, copied), turn_to(begun, "queued", at, words))


def only_votes(rules: Format) -> bool:
    """Whether nothing is asked for but a jury's votes."""
    return all(stage.past or stage.speakers == "jury" for stage in rules.stages)


def _jury(judged: Debate, asked: Mapping[str, Any] | None) -> dict[str, Any]:
    """The jury that is asked for: its votes are those after the debate, in both orders."""
    given = {name: value for name, value in (asked or {}).items() if value is not None}
    for name in ("swap", "baseline"):
        if name in given:
            raise InputError(
                f"A jury that judges again votes twice, in two orders, and not before it has heard "
                f"the debate: leave {name} out.",
                f"jury.{name}",
            )
    usual = len(judged.jury.seats) if judged.jury else USUAL_SIZE
    size = given.get("size", len(given.get("models", ())) or usual)
    return {**given, "size": size, "swap": True, "baseline": False}


def _rules(rules: Format, said: Sequence[Turn]) -> Format:
    """The rules of the judged debate, with each of its stages as far as it was spoken."""
    result, stages = rules.result, [_past(stage, said) for stage in rules.stages]
    there = tuple(stage for stage in stages if stage)
    names = {stage.name for stage in there}
    outcome = Outcome(
        stands=tuple(name for name in result.stands if name in names) if result else (),
        reading=result.reading if result and result.reading in names else None,
        packet=False,
        record=False,
    )
    edition = max(rules.edition, VERDICTS)  # the turns of both are numbered in the same way
    changes = {
        "screen": None,
        "stages": there,
        "outcome": outcome,
        "edition": edition,
        "ends": "finished",
    }
    return rules.model_copy(update=changes)


def _past(stage: Stage, said: Sequence[Turn]) -> Stage | None:
    """A stage that asks for nothing more; None if nothing was said in it, and of a jury's votes,
    which give way to the new ones."""
    rounds = [turn.round for turn in said if turn.stage == stage.name and turn.kind != "note"]
    if not rounds or stage.speakers == "jury":
        return None
    last, first = max(rounds), min(rounds)
    past = Past(first_round=first, rounds=last - first + 1, turns=len(rounds))
    return stage.model_copy(update={"past": past})
