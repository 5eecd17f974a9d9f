"""A new debate that begins with the first turns of another, and goes on from there with changes.

Its log begins with that of the other debate, up to the turn at which they part, so that the numbers
of turns mean the same in both. The rules are those that the other debate keeps, whatever has become
of its format's file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from moot.core import prices, request, schedule, voices
from moot.core.change import Change, join, turn_to
from moot.core.debate import NO_USAGE, Cursor, Debate, Fork, Jury, Participant, Phase, Turn
from moot.core.depth import agreement
from moot.core.effort import BETWEEN
from moot.core.events import Event, TurnCommitted
from moot.core.format import EDITION
from moot.core.jury import joined
from moot.core.legs import legs_of
from moot.core.moves import reach
from moot.core.phases import held, phase_over
from moot.core.sources import Source
from moot.errors import InputError, StateError

CHANGES = ("participants", "host", "options", "limits", "jury", "sources")
_OF_SEAT = {"id", "model", "bio", "effort"}


def shared(turns: Sequence[Turn], after: int) -> list[Turn]:
    """The turns that both debates have: up to the one with that seq."""
    if not any(turn.seq == after for turn in turns):
        known = f"{turns[0].seq} to {turns[-1].seq}" if turns else "none"
        raise InputError(
            f"There is no turn with the seq {after}: give the `seq` of a turn ({known}).", "after"
        )
    return [turn for turn in turns if turn.seq <= after]


def forked(
    known: Debate,
    said: Sequence[Turn],
    changes: Mapping[str, Any],
    *,
    debate_id: str,
    at: str,
    default_model: str | Sequence[str],
    normalize: request.Normalize,
    sources: Sequence[Source] = (),
    cards: voices.Cards | None = None,
) -> Debate:
    """The new debate, of which `said` are the first turns. It reads `sources` beside those that the
    other one read, which keep their numbers."""
    _check_can_fork(known, changes)
    warnings = list(known.warnings)
    seats, host = _cast(known, changes, normalize, warnings, cards)
    chosen = request.options_of(known.rules, {**known.options, **(changes.get("options") or {})})
    rules, jury = known.rules, known.jury
    if changes.get("jury") is not None:
        _check_not_voted(jury, said)
        everybody = (*seats, host) if host else seats
        jury = request.empanel(
            rules, everybody, changes["jury"], default_model, normalize, warnings, cards
        )
        rules = joined(rules) if jury and rules.jury is None else rules
    last, edition = said[-1], max(EDITION if rules.numbers_turns else 2, rules.edition)
    made = Debate(
        id=debate_id,
        motion=known.motion,
        rules=rules.model_copy(update={"edition": edition, "screen": None}),
        participants=seats,
        host=host,
        options=chosen,
        limits=request.limits_again(known, rules, seats, host, chosen, changes.get("limits") or {}),
        on_failure=known.on_failure,
        status="scheduled",
        cursor=Cursor(),
        created_at=at,
        updated_at=at,
        brief=known.brief,
        sources=request.sources_in_order((*known.sources, *sources)),
        hide_sources_from=known.hide_sources_from,
        jury=jury,
        forked_from=Fork(known.id, last.seq),
        received={"fork": known.id, "after": last.seq, "changes": dict(changes)},
        degraded=any(turn.status == "failed" for turn in said),
        warnings=tuple(dict.fromkeys(warnings)),
        turn_count=len(said),
        last_seq=last.seq,
        usage=NO_USAGE,  # what was paid before is on the other debate's bill
    )
    spoken = [turn for turn in said if turn.kind != "note"]
    if spoken:
        made = made.but(round=spoken[-1].round, stage=spoken[-1].stage)
        made = made.but(phases=_passed(made, spoken, at))
    request.check_people(made)
    made = made.but(cursor=schedule.rebuild(made, said))
    _check_course(made, spoken)
    return request.warned(made.but(total=schedule.total(made)), cards)


def _check_can_fork(known: Debate, changes: Mapping[str, Any]) -> None:
    if any(stage.past for stage in known.rules.stages):
        raise StateError("This debate only judges another one. Fork that one, or judge it again.")
    if unknown := sorted(set(changes) - set(CHANGES)):
        raise InputError(f"There is no change {unknown[0]!r}.", f"changes.{unknown[0]}")


def _check_not_voted(jury: Jury | None, said: Sequence[Turn]) -> None:
    ballots = {seat.id for seat in jury.seats} if jury else set[str]()
    if any(turn.actor in ballots for turn in said):
        raise StateError("The jury has voted by then. Fork at a turn before its first ballot.")


def _cast(
    known: Debate,
    changes: Mapping[str, Any],
    normalize: request.Normalize,
    warnings: list[str],
    cards: voices.Cards | None,
) -> tuple[tuple[Participant, ...], Participant | None]:
    """The same seats, some with another model, bio or effort."""
    asked: dict[str, Mapping[str, Any]] = {}
    for place, seat in enumerate(changes.get("participants") or ()):
        field = f"changes.participants[{place}]"
        if seat.get("id") not in {one.id for one in known.participants}:
            ids = ", ".join(one.id for one in known.participants)
            raise InputError(f"{field}.id: there is no such seat; there are {ids}.", f"{field}.id")
        asked[seat["id"]] = seat
    if changes.get("host") is not None:
        if known.host is None:
            raise InputError("changes.host: this debate has no host.", "changes.host")
        asked["host"] = changes["host"]

    def changed(seat: Participant) -> Participant:
        given = {name: one for name, one in asked.get(seat.id, {}).items() if one is not None}
        if unknown := sorted(set(given) - _OF_SEAT):
            field = f"changes.{unknown[0]}"
            raise InputError(f"{field}: a fork changes a seat's model, bio or effort.", field)
        if not given:
            return seat
        was = {"name": seat.name, "role": seat.role, "bio": seat.bio, "effort": seat.effort}
        wanted = {**was, "model": BETWEEN.join((seat.model, *seat.instead)), **given}
        wanted.pop("id", None)
        if "model" in given and "effort" not in given:
            wanted.pop("effort")
        new = request.seat_of(wanted, "changes", normalize, warnings, seat.stance)
        new = replace(new, id=seat.id, role=seat.role)
        return prices.marked(new, cards) if cards else new

    return tuple(map(changed, known.participants)), changed(known.host) if known.host else None


def _passed(debate: Debate, said: Sequence[Turn], at: str) -> tuple[Phase, ...]:
    """The phases up to a stage before the debate that two seats need not hold: they agreed."""
    names, spoken = [stage.name for stage in held(debate)], {turn.stage for turn in said}
    last = max((names.index(name) for name in spoken if name in names), default=0)
    agreed = agreement(debate, said) is not None
    gone = [
        name
        for name in debate.rules.before
        if name not in spoken and (agreed or names.index(name) < last)
    ]
    if not gone:
        return ()
    until = names[: names.index(gone[-1]) + 1]
    over = (phase_over(name, said, at) for name in until)
    left = (replace(one, outcome="skipped") if name in gone else one
            for name, one in zip(until, over, strict=True))  # fmt: skip
    return (Phase("Intake", at, "ok"), *left)


def _check_course(debate: Debate, spoken: Sequence[Turn]) -> None:
    """What was said must be what the new debate would have asked for, up to its cursor."""
    left = {(one.round, one.actor, one.target if one.kind == "cue" else None) for one in spoken}
    for leg in legs_of(debate):
        for step in schedule.stage_steps(debate, leg.stage.name):
            left.discard(step.key)
    ahead = schedule.plan(debate) if debate.cursor != schedule.END else None
    steps, jury = getattr(ahead, "steps", ()), debate.rules.jury
    voting = jury.name if jury and steps and steps[0].stage == jury.name else None
    later = min((one.round for one in steps), default=10**9)
    # jurors cast the ballots of all their rounds at the same time
    if left or any(one.round > later and one.stage != voting for one in spoken):
        raise StateError(
            "The debate cannot go on from this turn: its course was cut short before it, or these "
            "changes would have led elsewhere. Fork at an earlier turn, or change less."
        )


def again(known: Debate, said: Sequence[Turn], **made: Any) -> Debate:
    """A fork once more: it begins with the same turns, and has the same settings."""
    changes = {"limits": {"max_turns": known.limits.max_turns}}
    return forked(known, said, changes, **made).but(
        forked_from=known.forked_from, received=known.received
    )


def open_(debate: Debate, said: Sequence[Turn], events: Sequence[Event], at: str) -> Change:
    """The first entries of its log: those of the other debate, then that it is queued."""
    copied = tuple(
        event.__class__(debate.id, event.turn)
        if isinstance(event, TurnCommitted)
        else replace(event, debate_id=debate.id)
        for event in events
        if event.seq <= debate.last_seq
    )
    begun = debate
    if debate.rules.result and not debate.phases:
        begun = reach(debate, debate.fence, [Phase("Intake", at, "ok")], at).debate
    words = (
        f"It begins with {len(said)} turns of {debate.forked_from.id}."
        if debate.forked_from
        else None
    )
    return join(Change(debate, copied), turn_to(begun, "queued", at, words))
