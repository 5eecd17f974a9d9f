"""Who speaks next: one pure scheduler for every format.

A debate's whole course follows from its format, roster, options and limits, so it is laid out as
legs, each a number of waves: one speaker's turn, the host's cue before it if the stage is cued, or
the turns of everyone if they speak together. The cursor is a place in that layout; finding the next
one is arithmetic, and needs no turns.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from moot.core import positions
from moot.core.debate import (
    Cursor,
    Debate,
    Kind,
    OnFailure,
    Participant,
    Reading,
    StepKey,
    Turn,
)
from moot.core.format import Effort, Format, Stage, titled
from moot.core.legs import Leg, legs_of
from moot.core.phases import skipped
from moot.core.status import FINAL, StopReason

END = Cursor()
_READINGS = {"alone": "before the debate", "spoken": "one order", "swapped": "other order"}
Said = Mapping[str, Mapping[str, Any] | None]
"""The answers of one round, by speaker."""


@dataclass(frozen=True, slots=True)
class Step:
    """One utterance that the format asks for."""

    round: int
    stage: str
    actor: str
    kind: Kind
    target: str | None
    instruction: str  # what is asked; for a cue, the system message that the host answers
    bit: int = 0  # its place in its wave, and in the cursor's `done`
    sees: str = "all"
    together: bool = False
    answer: str = "text"  # the shape of what is asked for
    tokens: int | None = None  # if its stage has limits of its own
    seconds: float | None = None
    effort: Effort | None = None
    on_failure: OnFailure | None = None
    outsider: bool = False  # its own turns are read to it like anybody's
    reading: Reading | None = None  # of a juror: what it has heard, and in which order
    next_stage: str | None = None  # set if this step opens a stage

    @property
    def target_id(self) -> str:
        """Whose words this step leads to: the one who is cued, or the speaker itself."""
        return self.target or self.actor

    @property
    def key(self) -> StepKey:
        return (self.round, self.actor, self.target if self.kind == "cue" else None)

    @property
    def id(self) -> str:
        """What a person's words are sent for."""
        return ":".join(str(part) for part in self.key if part is not None)


@dataclass(frozen=True, slots=True)
class Wave:
    """The steps that may be spoken at the same time; those already committed are left out."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing more is asked for."""

    reason: StopReason


@dataclass(frozen=True, slots=True)
class Heading:
    """A place in the debate as people read it: a stage and, if it has several, the round."""

    title: str
    round: int | None = None  # within the stage; None if the stage has only one
    rounds: int | None = None  # how many the stage has; None if nobody knows, or it has one

    def __str__(self) -> str:
        if self.round is None:
            return self.title
        return f"{self.title} · round {self.round}{f' of {self.rounds}' if self.rounds else ''}"


def total(debate: Debate) -> int:
    """How many turns the debate will have when it ends, as far as can be known now."""
    if debate.status == "ending":
        return debate.turn_count + (debate.cursor != END)
    if debate.status in ("completed", "failed"):
        return debate.turn_count
    if debate.cursor == END:
        return debate.turn_count
    legs = legs_of(debate)
    try:
        index, wave = _find(debate, legs)
    except LookupError:  # a damaged cursor, which is rebuilt before the debate goes on
        return debate.total
    spoken = wave * legs[index].width + debate.cursor.done.bit_count()
    gone = skipped(debate)
    ahead = sum(leg.turns for leg in legs[index:] if leg.stage.name not in gone)
    return debate.turn_count + ahead - spoken


def first(debate: Debate) -> Cursor:
    """The cursor of a debate that has not begun."""
    return _settle(debate, legs_of(debate), 0, 0)


def plan(debate: Debate) -> Wave | Finish:
    """What comes next: a pure function of the format, the debate's settings and its cursor."""
    if debate.cursor == END:
        return Finish(reason(debate))
    if debate.status == "ending":
        return Wave((_closing_step(debate),))
    legs = legs_of(debate)
    index, wave = _find(debate, legs)
    done = debate.cursor.done
    return Wave(
        tuple(step for step in _steps(debate, legs[index], wave) if not done >> step.bit & 1)
    )


def by_people(debate: Debate) -> tuple[Step, ...]:
    """The steps of the wave that comes next that people are to speak."""
    if not debate.people or debate.status in FINAL:
        return ()
    try:
        ahead = plan(debate)
    except LookupError:
        return ()  # a damaged cursor, which is rebuilt before the debate goes on
    steps = ahead.steps if isinstance(ahead, Wave) else ()
    return tuple(step for step in steps if debate.seat(step.actor).is_human)


def by_models(debate: Debate, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Those of the steps that models are to speak: for the others, nobody is called."""
    if not debate.people:
        return tuple(steps)
    return tuple(step for step in steps if not debate.seat(step.actor).is_human)


def awaited(debate: Debate) -> str | None:
    """The human seat that a debate waits for; None as long as a model of the same wave is still to
    speak."""
    if debate.status not in ("running", "ending"):
        return None
    people = by_people(debate)
    if not people:
        return None
    ahead = plan(debate)
    whole = isinstance(ahead, Wave) and len(ahead.steps) == len(people)
    return people[0].actor if whole else None


def after(debate: Debate, bit: int, *, failed: bool = False, agrees: bool = False) -> Cursor:
    """The cursor once the step at `bit` of the wave that comes next is committed.

    Whoever fails to close a debate that is ended is followed by the next one who may. If everybody
    `agrees`, the stage is over with its round.
    """
    cursor = debate.cursor
    if debate.status == "ending":
        ids = _closers(debate)
        left = ids[ids.index(cursor.next_actor) + 1 :] if cursor.next_actor in ids else []
        return replace(cursor, next_actor=left[0]) if failed and left else END
    legs = legs_of(debate)
    index, wave = _find(debate, legs)
    done = cursor.done | 1 << bit
    if done != (1 << legs[index].width) - 1:
        return replace(cursor, done=done)
    if agrees and legs[index].ends_round(wave):
        return _settle(debate, legs, index + 1, 0)
    return _settle(debate, legs, index, wave + 1)


def agreed(debate: Debate, stage: str | None, said: Said) -> bool:
    """Whether all speakers of a stage that lasts until agreement take the same position."""
    leg = next((leg for leg in legs_of(debate) if leg.stage.name == stage), None)
    if leg is None or leg.stage.until is None:
        return False
    shape = debate.rules.shape(leg.stage.answer)
    edition = debate.rules.edition
    stands = [positions.taken(shape, said.get(seat.id), edition) for seat in leg.speakers]
    return len({option and positions.key(option) for option in stands}) == 1 and None not in stands


def answers_in(turns: Iterable[Turn], number: int | None) -> dict[str, Mapping[str, Any] | None]:
    """What the speakers of a round answered; whoever failed did not."""
    return {
        turn.actor: turn.data
        for turn in turns
        if turn.round == number and turn.status == "ok" and turn.kind not in ("cue", "note")
    }


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
    if len(leg.readings) > 1:
        reading = leg.readings[min(max(number - leg.first_round, 0), len(leg.readings) - 1)]
        once = reading == "spoken" and "swapped" not in leg.readings
        when = "after the debate" if once else _READINGS[reading]
        return Heading(f"{leg.stage.heading} · {when}")
    if leg.rounds == 1:
        return Heading(leg.stage.heading)
    return Heading(leg.stage.heading, number - leg.first_round + 1, leg.rounds or None)


def label(debate: Debate, number: int | None, stage: str | None) -> str:
    """A round and stage in words, for every view: "Discussion · round 2 of 3"."""
    return str(heading(debate, number, stage) or "")


def is_last(debate: Debate, wave: Wave) -> bool:
    """Whether nothing more is asked for once this wave is spoken."""
    for step in wave.steps:
        debate = debate.but(cursor=after(debate, step.bit))
    return debate.cursor == END


def closing(debate: Debate) -> Cursor:
    """Where the closing summary stands when a debate is ended: after the last round spoken.

    The host gives it. If there is none, or it fails for good, the first participant who can does; a
    person only if no model can.
    """
    last = 0 if debate.round is None else _last_round(debate, debate.round, {debate.stage})
    return Cursor(
        next_round=last + 1,
        next_stage=_closing_stage(debate.rules),
        next_actor=_closers(debate)[0],
    )


def rebuild(debate: Debate, turns: Sequence[Turn]) -> Cursor:
    """The cursor that these turns lead to, whatever the debate's own says."""
    if debate.status == "ending":
        return _rebuild_closing(debate, turns)
    spoken = {
        (turn.round, turn.actor, turn.target if turn.kind == "cue" else None)
        for turn in turns
        if turn.kind != "note"
    }
    gone = skipped(debate)
    for leg in legs_of(debate):
        for wave in range(leg.waves) if leg.stage.name not in gone else ():
            steps = _steps(debate, leg, wave)
            done = sum(1 << step.bit for step in steps if step.key in spoken)
            if done != (1 << len(steps)) - 1:
                return replace(_cursor(steps[0]), done=done)
            said = answers_in(turns, steps[0].round) if leg.stage.until else {}
            if leg.ends_round(wave) and agreed(debate, leg.stage.name, said):
                break
    return END


def waves(debate: Debate) -> Iterator[tuple[Step, ...]]:
    """Every wave of the debate, from its first to its last, wherever the debate stands."""
    for leg in legs_of(debate):
        for wave in range(leg.waves):
            yield _steps(debate, leg, wave)


def stage_steps(debate: Debate, stage: str) -> tuple[Step, ...]:
    """All that a stage asks for."""
    leg = next((leg for leg in legs_of(debate) if leg.stage.name == stage), None)
    if leg is None:
        return ()
    return tuple(step for wave in range(leg.waves) for step in _steps(debate, leg, wave))


def onward(debate: Debate) -> Cursor:
    """Where a debate goes on if it stands in a stage that is left out, or if its jury changed."""
    order = [stage.name for stage in debate.rules.stages]
    name = debate.cursor.next_stage
    if name not in order:
        return debate.cursor
    legs, gone = legs_of(debate), skipped(debate)
    here = order.index(name)
    index = next((n for n, leg in enumerate(legs) if order.index(leg.stage.name) >= here), None)
    if index is None:
        return END
    stays = legs[index].stage.name == name and name not in gone
    wave = legs[index].find(debate.cursor) if stays else None
    return _settle(debate, legs, index, wave or 0)


def _last_round(debate: Debate, number: int, stages: Container[str | None]) -> int:
    """The round after which another may begin, if one of these stages was held in it: those of a
    jury's readings are held together."""
    for leg in legs_of(debate):
        if leg.readings and leg.stage.name in stages:
            return leg.first_round + len(leg.readings) - 1
    return number


def _rebuild_closing(debate: Debate, turns: Sequence[Turn]) -> Cursor:
    latest = max((turn.round for turn in turns if turn.kind != "note"), default=0)
    held = {turn.stage for turn in turns if turn.round == latest and turn.kind != "note"}
    latest = _last_round(debate, latest, held)
    stage = _closing_stage(debate.rules)
    tried = {
        turn.actor: turn.status
        for turn in turns
        if (turn.kind, turn.round, turn.stage) == ("summary", latest, stage)
    }
    left = [id_ for id_ in _closers(debate) if id_ not in tried]
    if "ok" in tried.values() or not left:
        return END
    return Cursor(latest if tried else latest + 1, stage, left[0])


def reason(debate: Debate, *, agrees: bool = False) -> StopReason:
    """Why a debate ends of which nothing more is asked; `agrees`: its last stage did."""
    if debate.stop_reason or agrees:
        return debate.stop_reason or "agreement"
    legs = legs_of(debate)
    last = legs[-1] if legs else None
    counted = any(leg.rounds == 0 and (leg is last or not leg.stage.until) for leg in legs)
    return "max_turns" if counted else debate.rules.ends


def _find(debate: Debate, legs: Sequence[Leg]) -> tuple[int, int]:
    """The leg and the wave in it that come next."""
    for index, leg in enumerate(legs):
        if leg.stage.name == debate.cursor.next_stage:
            if (wave := leg.find(debate.cursor)) is not None:
                return index, wave
            break
    raise LookupError(f"debate {debate.id} has no place for {debate.cursor}")


def _settle(debate: Debate, legs: Sequence[Leg], index: int, wave: int) -> Cursor:
    """The cursor of that wave or, if the leg has no such wave, of the first of a later leg."""
    gone = skipped(debate)
    while index < len(legs) and (
        wave >= legs[index].waves or (gone and legs[index].stage.name in gone)
    ):
        index, wave = index + 1, 0
    return _cursor(_steps(debate, legs[index], wave)[0]) if index < len(legs) else END


def _cursor(step: Step) -> Cursor:
    return Cursor(step.round, step.stage, step.actor, step.target if step.kind == "cue" else None)


def _steps(debate: Debate, leg: Leg, wave: int) -> tuple[Step, ...]:
    """All steps of a wave."""
    stage, unit = leg.stage, wave // leg.unit_waves
    number = leg.first_round + unit // leg.round_units
    opens = stage.name if wave == 0 else None
    seat = leg.speakers[unit % len(leg.speakers)]
    if stage.cued and debate.host and wave % 2 == 0:
        cue = _worded(stage.cue or "", debate, seat, number, leg)
        return (Step(number, stage.name, debate.host.id, "cue", seat.id, cue, next_stage=opens),)
    speaking = leg.speakers if stage.together else (seat,)
    asked: list[tuple[int, Reading | None, Participant]] = [(0, None, one) for one in speaking]
    if leg.readings:
        asked = [(nth, how, one) for nth, how in enumerate(leg.readings) for one in speaking]
    return tuple(
        Step(
            round=number + nth,
            stage=stage.name,
            actor=seat.id,
            kind=stage.kind,
            target=_target(debate, stage, seat),
            instruction=_worded(_asks(stage, reading), debate, seat, number, leg),
            bit=bit,
            sees=stage.sees,
            together=stage.together,
            answer=stage.answer,
            tokens=stage.tokens,
            seconds=stage.seconds,
            effort=stage.effort or seat.effort or _effort(debate.rules, stage),
            on_failure=stage.on_failure,
            outsider=stage.outsider,
            reading=reading,
            next_stage=opens,
        )
        for bit, (nth, reading, seat) in enumerate(asked)
    )


def _asks(stage: Stage, reading: Reading | None) -> str:
    return stage.alone or stage.ask if reading == "alone" else stage.ask


def _effort(rules: Format, stage: Stage) -> Effort | None:
    """Whoever decides thinks hard first, unless its stage or its seat says otherwise."""
    decides = rules.edition > 1 and stage.answer in ("verdict", "reading", "ballot")
    return "high" if decides else None


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
    """Where a debate that is ended closes: in its own summary, if nothing follows that, or in a
    stage beside them."""
    if rules.summary and rules.summary == rules.stages[-1]:
        return rules.summary.name
    return "closing" if any(stage.name == "summary" for stage in rules.stages) else "summary"


def _closers(debate: Debate) -> list[str]:
    """Who may close a debate that is ended, one after the other."""
    speakers = sorted(debate.participants, key=lambda seat: seat.is_human)
    return [seat.id for seat in (*filter(None, [debate.host]), *speakers)]


def _closing_step(debate: Debate) -> Step:
    summary, cursor = debate.rules.summary, debate.cursor
    seat = debate.seat(cursor.next_actor or debate.seats[0].id)
    ask = summary.ask if summary and seat == debate.host else debate.rules.closing
    number, stage = cursor.next_round or 1, cursor.next_stage or "summary"
    leg = Leg(debate.rules.stages[0], number, 1, (seat,), 1)
    words = _worded(ask, debate, seat, number, leg)
    return Step(
        number, stage, seat.id, "summary", None, words,
        effort=seat.effort, next_stage=cursor.next_stage,
    )  # fmt: skip
