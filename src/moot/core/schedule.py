"""Who speaks next: one pure scheduler for every format.

A debate's whole course follows from its format, roster, options and limits, so it is laid out as
legs, each a number of units: a unit is one speaker's turn, with the host's cue before it where the
stage is cued, or the turns of everyone where they speak together. The cursor is a place in that
layout; finding the next one is arithmetic, and needs no turns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from moot.core.debate import Cursor, Debate, Kind, OnFailure, Participant, StepKey, Turn
from moot.core.format import Effort, Format, Stage, titled
from moot.core.status import FINAL, StopReason
from moot.errors import InputError

END = Cursor()
_STANCES = {"pro": 0, "con": 1, "neutral": 2}


@dataclass(frozen=True, slots=True)
class Step:
    """One utterance that the format asks for."""

    round: int
    stage: str
    actor: str
    kind: Kind
    target: str | None
    instruction: str  # what is asked; for a cue, the system message that the host answers
    sees: str = "all"
    together: bool = False
    answer: str = "text"  # the shape of what is asked for
    tokens: int | None = None  # where its stage has limits of its own
    seconds: float | None = None
    effort: Effort | None = None
    on_failure: OnFailure | None = None
    outsider: bool = False  # its own turns are read to it like anybody's
    next_stage: str | None = None  # set when this step opens a stage

    @property
    def target_id(self) -> str:
        """Whose words this step leads to: the one who is cued, or the speaker itself."""
        return self.target or self.actor

    @property
    def key(self) -> StepKey:
        return (self.round, self.actor, self.target if self.kind == "cue" else None)


@dataclass(frozen=True, slots=True)
class Wave:
    """The steps that may be spoken at the same time; those already committed are left out."""

    steps: tuple[Step, ...]
    places: tuple[int, ...]  # each step's bit in the cursor's `done`
    width: int  # how many steps the whole wave has


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing more is asked for."""

    reason: StopReason


@dataclass(frozen=True, slots=True)
class Leg:
    """A stage laid out for this debate's roster, options and limits."""

    stage: Stage
    first_round: int
    units: int
    speakers: tuple[Participant, ...]
    rounds: int

    @property
    def unit_turns(self) -> int:
        return len(self.speakers) if self.stage.together else 2 if self.stage.cued else 1

    @property
    def turns(self) -> int:
        return self.units * self.unit_turns

    def round_of(self, unit: int) -> int:
        return self.first_round + (unit if self.stage.together else unit // len(self.speakers))


@dataclass(frozen=True, slots=True)
class Heading:
    """A place in the debate as people read it: a stage and, where it has several, the round."""

    title: str
    round: int | None = None  # within the stage; None where the stage has only one
    rounds: int | None = None  # how many the stage has; None where nobody knows, or it has one

    def __str__(self) -> str:
        if self.round is None:
            return self.title
        return f"{self.title} · round {self.round}{f' of {self.rounds}' if self.rounds else ''}"


@dataclass(frozen=True, slots=True)
class _Place:
    leg: int
    unit: int
    cue: bool


def layout(
    rules: Format,
    participants: Sequence[Participant],
    host: Participant | None,
    options: Mapping[str, int],
    max_turns: int | None = None,
) -> tuple[Leg, ...]:
    """Lay the format out. `max_turns` bounds what has no count of its own."""
    ordered = tuple(participants)
    if rules.roster.order == "stance":
        ordered = tuple(sorted(ordered, key=lambda seat: _STANCES[seat.stance]))
    stages = [stage for stage in rules.stages if host or not stage.needs_host]
    casts = [_cast(stage, ordered, host) for stage in stages]
    counts = [options[s.rounds] if isinstance(s.rounds, str) else s.rounds for s in stages]

    legs: list[Leg] = []
    following = 0 if stages and stages[0].prelude else 1
    for place, (stage, cast, count) in enumerate(zip(stages, casts, counts, strict=True)):
        leg = Leg(stage, following, 0, cast, count)
        per_round = 1 if stage.together else len(cast)
        units = count * per_round
        if count == 0:
            reserve = sum(len(c) for c in casts[place + 1 :])
            room = (max_turns or rules.max_turns or 0) - sum(x.turns for x in legs) - reserve
            units = max(room // leg.unit_turns, 0)
        rounds = -(-units // per_round)
        legs.append(replace(leg, units=units))
        following += rounds
    return tuple(legs)


def _cast(
    stage: Stage, ordered: tuple[Participant, ...], host: Participant | None
) -> tuple[Participant, ...]:
    if stage.speakers == "host" and host:
        return (host,)
    if isinstance(stage.speakers, tuple):
        return tuple(seat for seat in ordered if seat.role in stage.speakers)
    return ordered


def legs_of(debate: Debate) -> tuple[Leg, ...]:
    return _legs(
        debate.rules,
        debate.participants,
        debate.host,
        tuple(debate.options.items()),
        debate.limits.max_turns,
    )


@lru_cache(maxsize=4096)
def _legs(
    rules: Format,
    participants: tuple[Participant, ...],
    host: Participant | None,
    options: tuple[tuple[str, int], ...],
    max_turns: int,
) -> tuple[Leg, ...]:
    return layout(rules, participants, host, dict(options), max_turns)


def total(debate: Debate) -> int:
    """How many turns the debate will have when it ends, as far as can be known now."""
    if debate.status == "ending":
        return debate.turn_count + (debate.cursor != END)
    if debate.status in ("completed", "failed"):
        return debate.turn_count
    return sum(leg.turns for leg in legs_of(debate))


def first(debate: Debate) -> Cursor:
    """The cursor of a debate that has not begun."""
    legs = legs_of(debate)
    return _cursor(debate, legs, _settle(legs, _Place(0, 0, True)))


def alone(wave: Wave) -> Wave:
    """The first step of a wave by itself."""
    return replace(wave, steps=wave.steps[:1], places=wave.places[:1])


def plan(debate: Debate) -> Wave | Finish:
    """What comes next: a pure function of the format, the debate's settings and its cursor."""
    cursor = debate.cursor
    if cursor == END:
        return Finish(debate.stop_reason or _reason(debate))
    if debate.status == "ending":
        return Wave((_closing_step(debate),), (0,), 1)
    legs = legs_of(debate)
    place = _find(legs, debate, cursor)
    steps = tuple(_steps(debate, legs, place))
    if not cursor.done:
        return Wave(steps, tuple(range(len(steps))), len(steps))
    undone = tuple(i for i in range(len(steps)) if not cursor.done >> i & 1)
    return Wave(tuple(steps[i] for i in undone), undone, len(steps))


def after(debate: Debate, bit: int, failed: bool = False) -> Cursor:
    """The cursor once the step at `bit` of the wave that comes next is committed.

    Whoever fails to close a debate that is ended is followed by the next one who may.
    """
    cursor = debate.cursor
    if debate.status == "ending":
        ids = [seat.id for seat in debate.seats]
        left = ids[ids.index(cursor.next_actor) + 1 :] if cursor.next_actor in ids else []
        return replace(cursor, next_actor=left[0]) if failed and left else END
    legs = legs_of(debate)
    place = _find(legs, debate, cursor)
    leg = legs[place.leg]
    width = len(leg.speakers) if leg.stage.together else 1
    done = cursor.done | 1 << bit
    if done != (1 << width) - 1:
        return replace(cursor, done=done)
    return _cursor(debate, legs, _following(legs, place))


def here(debate: Debate) -> tuple[int | None, str | None]:
    """The round and stage at which a debate stands: of the wave that comes next while it goes on,
    of its last turn once it is over."""
    if debate.status in FINAL or debate.cursor == END:
        return debate.round, debate.stage
    return debate.cursor.next_round, debate.cursor.next_stage


def ahead(debate: Debate) -> Step | None:
    """The step that comes next, the first of its wave; None once nothing more is asked for."""
    if debate.status in FINAL:
        return None
    try:
        planned = plan(debate)
    except LookupError:
        return None  # a damaged cursor: the engine mends it before the debate goes on
    return planned.steps[0] if isinstance(planned, Wave) else None


def heading(debate: Debate, number: int | None, stage: str | None) -> Heading | None:
    """How a round and stage of the debate read; None before its first turn."""
    if number is None or stage is None:
        return None
    leg = next((leg for leg in legs_of(debate) if leg.stage.name == stage), None)
    if leg is None:  # a debate that was ended closes in a stage beside those it has
        known = next((known for known in debate.rules.stages if known.name == stage), None)
        return Heading(known.heading if known else titled(stage))
    if leg.rounds == 1:
        return Heading(leg.stage.heading)
    return Heading(leg.stage.heading, number - leg.first_round + 1, leg.rounds or None)


def label(debate: Debate, number: int | None, stage: str | None) -> str:
    """A round and stage in words, for every view: "Discussion · round 2 of 3"."""
    return str(heading(debate, number, stage) or "")


def is_last(debate: Debate, wave: Wave) -> bool:
    """Whether nothing more is asked for once this wave is spoken."""
    for bit in wave.places:
        debate = debate.but(cursor=after(debate, bit))
    return debate.cursor == END


def closing(debate: Debate) -> Cursor:
    """Where the closing summary stands when a debate is ended: after the last round spoken.

    The host gives it. If there is none, or it fails for good, the first participant who can does.
    """
    return Cursor(
        next_round=1 if debate.round is None else debate.round + 1,
        next_stage=_closing_stage(debate.rules),
        next_actor=debate.seats[0].id,
    )


def rebuild(debate: Debate, turns: Sequence[Turn]) -> Cursor:
    """The cursor that these turns lead to, whatever the debate's own says."""
    spoken = {
        (turn.round, turn.actor, turn.target if turn.kind == "cue" else None)
        for turn in turns
        if turn.kind != "note"
    }
    if debate.status == "ending":
        latest = max((key[0] for key in spoken), default=0)
        stage = _closing_stage(debate.rules)
        tried = {
            turn.actor: turn.status
            for turn in turns
            if (turn.kind, turn.round, turn.stage) == ("summary", latest, stage)
        }
        left = [seat.id for seat in debate.seats if seat.id not in tried]
        if "ok" in tried.values() or not left:
            return END
        return Cursor(latest if tried else latest + 1, stage, left[0])
    legs = legs_of(debate)
    for place in _places(legs):
        steps = list(_steps(debate, legs, place))
        done = sum(1 << bit for bit, step in enumerate(steps) if step.key in spoken)
        if done != (1 << len(steps)) - 1:
            return replace(_cursor(debate, legs, place), done=done)
    return END


def waves(debate: Debate) -> Iterator[tuple[Step, ...]]:
    """Every wave of the debate, from its first to its last, wherever the debate stands."""
    legs = legs_of(debate)
    for place in _places(legs):
        yield tuple(_steps(debate, legs, place))


def check_roster(
    rules: Format, participants: Sequence[Participant], host: Participant | None
) -> None:
    """Refuse a cast that the format cannot seat."""
    need, title = rules.roster, rules.name
    if need.roles:
        if [seat.role for seat in participants] != list(need.names):
            raise InputError(f"A {title} has the roles {', '.join(need.names)}.", "participants")
        return
    if not need.min <= len(participants) <= need.max:
        exact = f"exactly {need.min}" if need.min == need.max else f"{need.min} to {need.max}"
        count = f"{len(participants)} participant{'s' if len(participants) != 1 else ''}"
        raise InputError(f"A {title} takes {exact} participants, not {count}.", "participants")
    if need.host == "required" and host is None:
        raise InputError(f"A {title} needs a host; name its model.", "host")
    if need.host == "none" and host is not None:
        raise InputError(f"A {title} has no host; leave it out.", "host")


def _find(legs: tuple[Leg, ...], debate: Debate, cursor: Cursor) -> _Place:
    for index, leg in enumerate(legs):
        if leg.stage.name != cursor.next_stage or cursor.next_round is None:
            continue
        cue = leg.stage.cued and cursor.next_target is not None
        speaker = cursor.next_target if cue else cursor.next_actor
        ids = [seat.id for seat in leg.speakers]
        if speaker not in ids:
            break
        ahead = cursor.next_round - leg.first_round
        unit = ahead if leg.stage.together else ahead * len(ids) + ids.index(speaker)
        if 0 <= unit < leg.units:
            return _Place(index, unit, cue)
        break
    raise LookupError(f"debate {debate.id} has no place for {cursor}")


def _settle(legs: tuple[Leg, ...], place: _Place) -> _Place | None:
    """The place itself, or the first of a later leg when its own has no such unit."""
    while place.leg < len(legs):
        leg = legs[place.leg]
        if place.unit < leg.units:
            return _Place(place.leg, place.unit, leg.stage.cued)
        place = _Place(place.leg + 1, 0, True)
    return None


def _following(legs: tuple[Leg, ...], place: _Place) -> _Place | None:
    """The place after this one: the turn that a cue leads to, or the next unit."""
    if place.cue:
        return replace(place, cue=False)
    return _settle(legs, _Place(place.leg, place.unit + 1, True))


def _places(legs: tuple[Leg, ...]) -> Iterator[_Place]:
    place = _settle(legs, _Place(0, 0, True))
    while place is not None:
        yield place
        place = _following(legs, place)


def _cursor(debate: Debate, legs: tuple[Leg, ...], place: _Place | None) -> Cursor:
    if place is None:
        return END
    leg = legs[place.leg]
    seat = leg.speakers[0 if leg.stage.together else place.unit % len(leg.speakers)]
    actor, target = (seat.id, None)
    if place.cue and debate.host:
        actor, target = debate.host.id, seat.id
    return Cursor(leg.round_of(place.unit), leg.stage.name, actor, target)


def _steps(debate: Debate, legs: tuple[Leg, ...], place: _Place) -> Iterable[Step]:
    leg = legs[place.leg]
    stage, number = leg.stage, leg.round_of(place.unit)
    opens = stage.name if place.unit == 0 and (place.cue or not stage.cued) else None
    speakers = leg.speakers if stage.together else (leg.speakers[place.unit % len(leg.speakers)],)
    for seat in speakers:
        if place.cue and debate.host:
            yield Step(
                round=number,
                stage=stage.name,
                actor=debate.host.id,
                kind="cue",
                target=seat.id,
                instruction=_worded(stage.cue or "", debate, seat, number, leg),
                next_stage=opens,
            )
        else:
            yield Step(
                round=number,
                stage=stage.name,
                actor=seat.id,
                kind=stage.kind,
                target=_target(debate, stage, seat),
                instruction=_worded(stage.ask, debate, seat, number, leg),
                sees=stage.sees,
                together=stage.together,
                answer=stage.answer,
                tokens=stage.tokens,
                seconds=stage.seconds,
                effort=stage.effort,
                on_failure=stage.on_failure,
                outsider=stage.outsider,
                next_stage=opens,
            )


def _target(debate: Debate, stage: Stage, seat: Participant) -> str | None:
    if not stage.targets:
        return None
    role = stage.targets.get(seat.role)
    return next((other.id for other in debate.participants if other.role == role), None)


def _worded(template: str, debate: Debate, seat: Participant, number: int, leg: Leg) -> str:
    """An ask or a cue with its placeholders filled in."""
    if "{" not in template:
        return template
    stage = leg.stage
    words = {
        "name": seat.name,
        "target": stage.targets.get(seat.role, seat.name),
        "stance": seat.stance,
        "motion": debate.motion,
        "stage": stage.name,
        "round": str(number - leg.first_round + 1),
        "rounds": str(leg.rounds or "as many as it takes"),
    }
    return template.format_map(words)


def _closing_stage(rules: Format) -> str:
    """Where a debate that is ended closes: in its own last summary, or in a stage beside them."""
    if rules.summary:
        return rules.summary.name
    return "closing" if any(stage.name == "summary" for stage in rules.stages) else "summary"


def _closing_step(debate: Debate) -> Step:
    summary, cursor = debate.rules.summary, debate.cursor
    seat = debate.seat(cursor.next_actor or debate.seats[0].id)
    ask = summary.ask if summary and seat == debate.host else debate.rules.closing
    leg = Leg(debate.rules.stages[0], cursor.next_round or 1, 1, (seat,), 1)
    return Step(
        round=cursor.next_round or 1,
        stage=cursor.next_stage or "summary",
        actor=seat.id,
        kind="summary",
        target=None,
        instruction=_worded(ask, debate, seat, cursor.next_round or 1, leg),
        next_stage=cursor.next_stage,
    )


def _reason(debate: Debate) -> StopReason:
    counted = any(leg.rounds == 0 for leg in legs_of(debate))
    return "max_turns" if counted else debate.rules.ends
