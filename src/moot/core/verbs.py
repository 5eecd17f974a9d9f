"""What a person may do to a debate, each as a pure function from the debate to a change."""

from dataclasses import replace

from moot.core import limits, schedule, status
from moot.core.change import UNTRIED, Change, Spoken, join, lost, notice, obey, take, turn_to
from moot.core.clean import visible
from moot.core.debate import (
    HUMAN,
    NO_USAGE,
    PERSON,
    Debate,
    Failure,
    Participant,
    Phase,
    Turn,
)
from moot.core.events import TurnCommitted
from moot.core.format import MAX_TURNS
from moot.core.moves import commit, decides, reach
from moot.core.prices import marked
from moot.core.request import bounded
from moot.core.schedule import Step, Wave
from moot.core.voices import Cards, small, voiced
from moot.errors import CancelledError, InputError, ProviderTimeoutError, StateError

MAX_WORDS = 8_000
"""The characters that a person may say at once."""
NOTE_BY = "A person"
"""The name of whoever says something without a seat."""


def open_(debate: Debate, start: bool, at: str) -> Change:
    """The first entry of the log: queued, or scheduled until somebody starts it."""
    if debate.rules.result:
        debate = reach(debate, debate.fence, [Phase("Intake", at, "ok")], at).debate
    return turn_to(debate, "queued", at) if start else notice(debate, at, None)


def enqueue(debate: Debate, at: str) -> Change:
    """Start one that was scheduled."""
    return turn_to(debate, "queued", at)


def stop(debate: Debate, *, in_flight: bool, at: str) -> Change:
    """Keep the step in flight, then nothing more. Said twice, nothing more."""
    status.check(debate.status, "stopped")
    if debate.wanted == "stop" and in_flight:
        return Change(debate)
    wish = debate.but(wanted="stop", stop_requested_at=debate.stop_requested_at or at)
    if in_flight and (debate.status != "paused" or debate.open_calls):
        return notice(wish, at, "A stop was asked for; the step in flight is kept.")
    return replace(obey(take(wish), at), ended=lost(debate, at))


def pause(debate: Debate, *, in_flight: bool, at: str) -> Change:
    """Like stop, but it can go on from the cursor. A stop that was accepted stands."""
    status.check(debate.status, "paused")
    _not_decided(debate, "pause")
    if debate.wanted and in_flight:
        return Change(debate)
    wish = debate if debate.wanted == "stop" else debate.but(wanted="pause")
    if in_flight:
        return notice(wish, at, "A pause was asked for; the step in flight is kept.")
    return replace(obey(take(wish), at), ended=lost(debate, at))


def resume(debate: Debate, *, in_flight: bool, at: str) -> Change:
    """Go on from the cursor. A pause that was only asked for is taken back."""
    if debate.status in status.FINAL:
        raise StateError(
            f"The debate is {debate.status}: nothing is left to resume. `moot show {debate.id}` "
            f"shows it, `moot rerun {debate.id}` holds it once more, and `moot fork {debate.id} "
            "--after TURN` goes on from one of its turns."
        )
    _not_stopping(debate)
    if debate.status in ("queued", "running", "ending") and not in_flight:
        # left behind by a process that died: whoever resumes it may claim it
        return Change(debate.but(wanted=None) if debate.wanted else debate)
    if debate.status == "running" and debate.wanted == "pause":
        return notice(debate.but(wanted=None), at, "The pause was taken back.")
    status.check(debate.status, "running")
    return turn_to(debate.but(failure=None, wanted=None), "running", at)


def end(debate: Debate, at: str) -> Change:
    """Call off what is in flight and go to the closing summary. Said twice, nothing more."""
    if debate.stop_reason == "ended_by_user":
        return Change(debate)
    status.check(debate.status, "ending")
    _not_stopping(debate)
    _not_decided(debate, "end")
    closing = take(debate).but(
        cursor=schedule.closing(debate),
        stop_reason="ended_by_user",
        stop_requested_at=at,
        failure=None,
        wanted=None,
        **UNTRIED,
    )
    return replace(turn_to(closing, "ending", at), ended=lost(debate, at))


def retry(
    debate: Debate,
    model: str | None,
    warning: str | None,
    at: str,
    seconds: float | None = None,
    cards: Cards | None = None,
) -> Change:
    """Try the step that failed again, with another model or another max_turn_seconds if they are
    given."""
    if seconds is not None:
        seconds = bounded("max_turn_seconds", seconds, "max_turn_seconds")
    failure = _failed(debate, "retry")
    if (model or seconds) and not failure.actor:
        raise StateError(
            "No speaker failed, so neither another model nor more time helps. Fix what the failure "
            "names, then retry without them."
        )
    if model:
        debate = _recast(debate, failure.actor, model, cards)
    if seconds:
        debate = _allow(debate, failure.actor, seconds)
    weak = small((debate.seat(failure.actor),), cards) if model and cards else None
    warnings = tuple(dict.fromkeys((*debate.warnings, *filter(None, (warning, weak)))))
    debate = debate.but(warnings=warnings)
    return turn_to(debate.but(failure=None, wanted=None, **UNTRIED), "running", at)


def longer_seconds(debate: Debate) -> float | None:
    """The max_turn_seconds that a retry can allow, if the speaker that failed took too long. None:
    there is no more, or it would not help."""
    failure = debate.failure
    if debate.status != "paused" or not failure or failure.code != ProviderTimeoutError.code:
        return None
    own = _own_seconds(debate, failure.actor)
    return limits.longer(limits.silence(own, debate.limits))


def _allow(debate: Debate, actor: str, seconds: float) -> Debate:
    """Another max_turn_seconds. The step that failed gets it even if its stage has less."""
    own = _own_seconds(debate, actor)
    raised = debate.limits.raised or (own is not None and own < seconds)
    return debate.but(limits=replace(debate.limits, max_turn_seconds=seconds, raised=raised))


def _own_seconds(debate: Debate, actor: str) -> float | None:
    """What the stage of the next step of that seat allows, if it says so itself."""
    ahead = schedule.plan(debate)
    steps = ahead.steps if isinstance(ahead, Wave) else ()
    return next((step.seconds for step in steps if step.actor == actor), None)


def say(
    debate: Debate,
    text: str,
    at: str,
    seat: str | None = None,
    data: dict[str, object] | None = None,
    *,
    step: str | None = None,
    note: bool = False,
) -> Change:
    """A person speaks: for a human seat whose turn it is, and otherwise a note.

    With `seat`, the words are for that seat alone, and with `step` for that step of it; they are
    refused if it is not its turn. Where an answer has fields, `data` holds them, checked, and the
    text is how they read. `note`: never a seat's turn.
    """
    words = visible(text)
    if not words:
        raise InputError("The text is empty. Say something.", "text")
    if len(words) > MAX_WORDS:
        raise InputError(
            f"The text has {len(words):,} characters; {MAX_WORDS:,} is the most.", "text"
        )
    if debate.status in status.FINAL or debate.status == "scheduled":
        when = "has not begun" if debate.status == "scheduled" else "has ended"
        raise StateError(
            f"Nobody would hear it: the debate {when}. {status.POSSIBLE[debate.status]}"
        )
    _not_stopping(debate)
    own = None if note else _own_step(debate, seat, step, filled=data is not None)
    if own is None:
        _not_decided(debate, "add")
        return _note(debate, words, at)
    begun = Change(debate)
    if debate.status == "queued":
        begun = turn_to(debate.but(started_at=debate.started_at or at), "running", at)
    spoken = Spoken(own, words, HUMAN, at, data=data)
    return join(begun, commit(begun.debate, debate.fence, spoken, None, at))


def _own_step(debate: Debate, seat: str | None, asked: str | None, *, filled: bool) -> Step | None:
    """The step that a person's words are for; None if they are a note. Raises StateError if it is
    not the turn of that seat."""
    steps = schedule.by_people(debate)
    if seat is None:
        first = steps[0] if steps else None
        return first if first and first.answer == "text" else None
    theirs = {one.id: one for one in debate.everybody}.get(seat)
    if theirs is None:
        known = ", ".join(debate.people) or "none"
        raise InputError(f"There is no seat {seat[:60]!a}. Seats of people: {known}.", "seat")
    if not theirs.is_human:
        raise InputError(f"{theirs.name} is not a person's seat: {theirs.model} speaks.", "seat")
    step = next((step for step in steps if step.actor == seat), None)
    if step is None or asked not in (None, step.id):
        raise StateError(
            f"It is not {theirs.name}'s turn: the debate does not wait for these words, or others "
            "came first. Leave the seat out to say them as a note."
        )
    if step.answer != "text" and not filled:
        raise InputError(
            f"{theirs.name} is asked for an answer with fields. Send it as `answer`.", "answer"
        )
    return step


def _note(debate: Debate, words: str, at: str) -> Change:
    """A turn beside those that the format asks for. It does not move the cursor."""
    if debate.total >= 2 * MAX_TURNS:
        raise StateError(f"This debate has {debate.turn_count:,} turns, and takes no more notes.")
    seq = debate.last_seq + 1
    number, stage = schedule.here(debate)
    turn = Turn(
        seq=seq,
        number=debate.turn_count + 1 if debate.rules.numbers_turns else seq,
        round=number or 0,
        stage=stage or debate.rules.stages[0].name,
        actor=PERSON,
        name=NOTE_BY,
        kind="note",
        target=None,
        instruction=None,
        text=words,
        data=None,
        status="ok",
        error_code=None,
        model=HUMAN,
        usage=NO_USAGE,
        started_at=at,
        committed_at=at,
    )
    kept = debate.but(
        turn_count=debate.turn_count + 1, total=debate.total + 1, last_seq=seq, updated_at=at
    )
    return Change(kept, (TurnCommitted(debate.id, turn),))


def skip(debate: Debate, at: str) -> Change:
    """Record the step that failed, or that a person has not spoken, as a failed turn, and go on
    without it."""
    if debate.waiting_for:
        return _skip_person(debate, debate.waiting_for, at)
    failure = _failed(debate, "skip")
    if not failure.actor:
        raise StateError("No speaker failed, so there is no turn to skip. Resume the debate.")
    ahead = schedule.plan(debate)
    if not isinstance(ahead, Wave):
        raise StateError("There is no step left to skip.")
    going = turn_to(take(debate).but(failure=None, wanted=None), "running", at)
    theirs = [step for step in ahead.steps if step.actor == failure.actor]
    if not theirs:
        raise StateError(f"{failure.actor} has no step to skip.")
    why: dict[str, object] = {"errorMessage": failure.message}
    for step in theirs:  # a juror may have several ballots to cast
        spoken = Spoken(step, "", failure.model, at, data=why, error_code=failure.code)
        going = join(going, commit(going.debate, going.debate.fence, spoken, None, at))
    return replace(going, ended=lost(debate, at))


def check_deletable(debate: Debate, *, in_flight: bool) -> None:
    """Refuse to delete a debate that somebody works on, or that is to go on by itself. Calls that a
    dead process left open are nobody's."""
    if debate.status not in status.FINAL and debate.status != "paused":
        raise StateError(
            f"A debate that is {debate.status} cannot be deleted. Stop or pause it first."
        )
    if debate.open_calls and in_flight:
        raise StateError("A speaker is still being waited for. Delete the debate in a moment.")


def _skip_person(debate: Debate, seat: str, at: str) -> Change:
    _not_stopping(debate)
    step = next(step for step in schedule.by_people(debate) if step.actor == seat)
    why: dict[str, object] = {"errorMessage": f"Nobody spoke for {debate.seat(seat).name}."}
    spoken = Spoken(step, "", HUMAN, at, data=why, error_code=CancelledError.code)
    return commit(debate, debate.fence, spoken, None, at)


def _failed(debate: Debate, verb: str) -> Failure:
    if debate.status != "paused":
        raise StateError(
            f"Only a paused debate has a step to {verb}; this one is {debate.status}. "
            f"{status.POSSIBLE[debate.status]}"
        )
    _not_stopping(debate)
    if debate.failure is None:
        raise StateError(f"No speaker failed, so there is nothing to {verb}; resume it instead.")
    return debate.failure


def _not_stopping(debate: Debate) -> None:
    """A stop that was accepted is final, even while the step in flight is still spoken."""
    if debate.wanted == "stop":
        raise StateError(
            "A stop was accepted: the debate stops once the step in flight is kept. "
            "Begin another one to go on with the question."
        )


def _not_decided(debate: Debate, verb: str) -> None:
    """Once everybody has spoken, the decision may be among the files before it is committed; its
    worker may even have died in between. It must not become another one."""
    if decides(debate) and debate.cursor == schedule.END and debate.wanted != "stop":
        raise StateError(
            f"Everybody has spoken and the decision is being filed: there is nothing to {verb}. "
            "Wait until the debate is completed."
        )


def _recast(debate: Debate, seat_id: str, model: str, cards: Cards | None) -> Debate:
    def recast(seat: Participant) -> Participant:
        if seat.id != seat_id:
            return seat
        changed = voiced(seat, model)
        return marked(changed, cards) if cards else changed

    jury = debate.jury
    return debate.but(
        participants=tuple(recast(seat) for seat in debate.participants),
        host=recast(debate.host) if debate.host else None,
        jury=replace(jury, seats=tuple(map(recast, jury.seats))) if jury else None,
    )
