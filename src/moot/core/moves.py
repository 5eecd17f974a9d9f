"""What may happen to a debate, each as a pure function from the debate to a change.

The store reads the row under its lock, asks a move for the change, and writes all of it in one
transaction. A move that is refused raises, and nothing is written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from moot.core import council, schedule, status
from moot.core.debate import (
    NO_USAGE,
    Cursor,
    Debate,
    Decision,
    Failure,
    Participant,
    Phase,
    Turn,
    Usage,
)
from moot.core.events import Event, StatusChanged, TurnCommitted
from moot.core.schedule import Finish, Step, Wave
from moot.core.status import Status, StopReason
from moot.errors import MootError, StateError

Outcome = Literal["started", "ok", "failed", "cancelled", "unknown"]


class NotClaimedError(MootError):
    """The debate is not to be had now: a quiet end for whoever was sent to advance it."""

    code = "DEBATE_ERR_STATE"


class FencedError(MootError):
    """Somebody else has the debate by now; what this worker brings comes too late."""

    code = "DEBATE_ERR_STATE"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One model call, on record before it is made."""

    n: int  # counts the calls of the debate from 1
    fence: int
    step: Step
    model: str
    started_at: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended. `n` None: every call that is still open."""

    n: int | None
    outcome: Outcome
    at: str
    error_code: str | None = None
    model: str | None = None
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class Record:
    """A note written back to the user's own store, as the database knows it."""

    path: str  # of its JSON, below the home
    type: str
    title: str
    text: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Decided:
    """What a council leaves in the database beside its debate."""

    actions: tuple[Mapping[str, str], ...]
    record: Record


@dataclass(frozen=True, slots=True)
class Change:
    """All that one transaction writes."""

    debate: Debate
    events: tuple[Event, ...] = ()
    started: tuple[Attempt, ...] = ()
    ended: tuple[Ended, ...] = ()
    decided: Decided | None = None
    ahead: Wave | None = None  # what `started` begins, where a commit planned it


Move = Callable[[Debate], Change]


@dataclass(frozen=True, slots=True)
class Spoken:
    """What came of a step: the text that will stand, or the code of its failure."""

    step: Step
    bit: int
    text: str
    model: str
    started_at: str
    usage: Usage = NO_USAGE
    data: dict[str, object] | None = None
    error_code: str | None = None


# --- a worker's moves, guarded by the fence ---


def claim(
    debate: Debate,
    *,
    owner: str,
    now: float,
    lease: float,
    at: str,
    dead: Callable[[str], bool],
    cursor: Cursor | None = None,
) -> Change:
    """Take the lease, if the debate is runnable, where the task expects it, and nobody's."""
    if debate.status not in status.RUNNABLE:
        raise NotClaimedError(f"{debate.id} is {debate.status}")
    if cursor is not None and cursor != debate.cursor:
        raise NotClaimedError(f"{debate.id} has moved on")
    if held(debate, now, dead):
        raise NotClaimedError(f"{debate.id} is held by {debate.lease_owner}")
    lost = (Ended(None, "unknown", at),) if debate.open_calls else ()
    claimed = debate.but(
        lease_owner=owner,
        lease_until=now + lease,
        fence=debate.fence + 1,
        open_calls=0,
        updated_at=at,
    )
    if debate.status == "queued":
        begun = claimed.but(started_at=debate.started_at or at)
        return replace(_turn_to(begun, "running", at), ended=lost)
    return Change(claimed, ended=lost)


def release(debate: Debate, fence: int) -> Change:
    """Let the debate go; harmless once it is somebody else's."""
    if debate.fence != fence:
        return Change(debate)
    return Change(debate.but(lease_owner=None, lease_until=0.0))


def repair(debate: Debate, fence: int, turns: list[Turn], last_seq: int, at: str) -> Change:
    """Rebuild cursor and counters from the turns, and say so."""
    check_fence(debate, fence)
    last = turns[-1] if turns else None
    mended = debate.but(
        cursor=schedule.rebuild(debate, turns),
        turns=len(turns),
        last_seq=max(debate.last_seq, last_seq),
        round=last.round if last else None,
        stage=last.stage if last else None,
        updated_at=at,
    )
    return _notice(mended, at, "The cursor did not match the turns and was rebuilt from them.")


def decides(debate: Debate) -> bool:
    """Whether a packet is owed: not if a person, or the budget, has ended it before."""
    return debate.rules.outcome == "packet" and debate.status == "running"


def reach(debate: Debate, fence: int, phases: Sequence[Phase], at: str) -> Change:
    """Log the phases that a council has been through; any other transition is refused."""
    check_fence(debate, fence)
    log = debate.phases
    for phase in phases:
        council.check_phase(log[-1].state if log else None, phase.state)
        log = (*log, phase)
    return Change(debate.but(phases=log, updated_at=at))


def decide(
    debate: Debate,
    fence: int,
    outcome: Decision,
    decided: Decided,
    phases: Sequence[Phase],
    at: str,
) -> Change:
    """The packet is written and the record too: the council is completed."""
    reached = reach(debate, fence, phases, at).debate.but(outcome=outcome)
    done = _turn_to(_ended(reached, debate.rules.ends, at), "completed", at)
    return replace(done, decided=decided)


def fail(
    debate: Debate,
    fence: int,
    reason: StopReason,
    failure: Failure,
    phases: Sequence[Phase],
    at: str,
) -> Change:
    """It cannot be brought to its end: nobody speaks, or its outcome cannot be written."""
    reached = reach(debate, fence, phases, at).debate
    return _turn_to(_ended(reached, reason, at).but(failure=failure), "failed", at)


def begin(debate: Debate, fence: int, steps: tuple[Step, ...], at: str) -> Change:
    """Put the calls of these steps on record, before they are made."""
    check_fence(debate, fence)
    if debate.status not in status.RUNNABLE:
        return Change(debate)
    if debate.wanted and not debate.open_calls:
        return _obey(debate, at)
    return Change(debate) if debate.wanted else _begin(debate, steps, at)


def commit(
    debate: Debate, fence: int, spoken: Spoken, ended: Ended | None, at: str, go_on: bool
) -> Change:
    """Write a turn, its event, the counters and the cursor; with `go_on`, begin the next wave."""
    check_fence(debate, fence)
    step = spoken.step
    seq = debate.last_seq + 1
    turn = Turn(
        seq=seq,
        round=step.round,
        stage=step.stage,
        actor=step.actor,
        name=debate.seat(step.actor).name,
        kind=step.kind,
        target=step.target,
        instruction=step.instruction if step.kind == "cue" else None,
        text=spoken.text,
        data=spoken.data,
        status="failed" if spoken.error_code else "ok",
        error_code=spoken.error_code,
        model=spoken.model,
        usage=spoken.usage,
        started_at=spoken.started_at,
        committed_at=at,
    )
    kept = debate.but(
        cursor=schedule.after(debate, spoken.bit),
        round=step.round,
        stage=step.stage,
        turns=debate.turns + 1,
        last_seq=seq,
        degraded=debate.degraded or spoken.error_code is not None,
        usage=debate.usage + ended.usage if ended else debate.usage,
        open_calls=debate.open_calls - (1 if ended else 0),
        updated_at=at,
    )
    change = Change(kept, (TurnCommitted(debate.id, turn),), ended=(ended,) if ended else ())
    return _after(change, at, go_on)


def _after(change: Change, at: str, go_on: bool) -> Change:
    """What follows a turn: nothing while others speak, else the end, a wish, or the next wave."""
    debate = change.debate
    if debate.open_calls:
        return change
    if debate.status == "paused":
        return _join(change, _obey(debate, at)) if debate.wanted == "stop" else change
    ahead = schedule.plan(debate)
    if isinstance(ahead, Finish):
        if decides(debate):
            return change  # its packet comes before its end
        return _join(change, _turn_to(_ended(debate, ahead.reason, at), "completed", at))
    if debate.wanted:
        return _join(change, _obey(debate, at))
    if go_on and not debate.cursor.done:  # a speaker of this wave may be waiting to try again
        begun = _begin(debate, ahead.steps, at)
        return Change(begun.debate, change.events, begun.started, change.ended, ahead=ahead)
    return change


def finish(debate: Debate, fence: int, reason: StopReason, at: str) -> Change:
    """Nothing more is asked for, and the turn that would have said so is long committed."""
    check_fence(debate, fence)
    return _turn_to(_ended(debate, reason, at), "completed", at)


def fail_attempt(debate: Debate, fence: int, ended: Ended) -> Change:
    """A call failed and will be tried again, unless somebody wants the debate to halt."""
    check_fence(debate, fence)
    counted = debate.but(
        usage=debate.usage + ended.usage,
        open_calls=debate.open_calls - 1,
        updated_at=ended.at,
    )
    change = Change(counted, ended=(ended,))
    if counted.wanted and not counted.open_calls:
        return _join(change, _obey(counted, ended.at))
    return change


def pause_for(debate: Debate, fence: int, failure: Failure, ended: Ended) -> Change:
    """A speaker failed for good and the debate waits for a person."""
    check_fence(debate, fence)
    counted = debate.but(
        usage=debate.usage + ended.usage, open_calls=debate.open_calls - 1, failure=failure
    )
    change = Change(counted, ended=(ended,))
    if counted.status == "paused" and counted.wanted != "stop":
        return change  # another speaker of the wave failed before
    if counted.wanted == "stop":
        return _join(change, _obey(counted, ended.at)) if not counted.open_calls else change
    return _join(change, _turn_to(counted.but(wanted=None), "paused", ended.at))


def out_of_budget(debate: Debate, fence: int, summary_fits: bool, at: str) -> Change:
    """The budget is reached: the closing summary if one fits, then the end."""
    check_fence(debate, fence)
    if summary_fits and debate.status == "running":
        closing = debate.but(cursor=schedule.closing(debate), stop_reason="budget")
        return _turn_to(closing, "ending", at)
    return _turn_to(_ended(debate, "budget", at), "completed", at)


def settle(debate: Debate, fence: int, ended: Ended) -> Change:
    """How a called-off call ended: money spent is counted whoever has the debate by now."""
    still_open = debate.open_calls - 1 if debate.fence == fence else debate.open_calls
    counted = debate.but(usage=debate.usage + ended.usage, open_calls=max(still_open, 0))
    if debate.ended_at:
        counted = counted.but(files_seq=0)  # its files are to show that, too
    return Change(counted, ended=(ended,))


def check_fence(debate: Debate, fence: int) -> None:
    """The guard of every write: a worker whose lease went to another is refused."""
    if debate.fence != fence:
        raise FencedError(f"{debate.id}: fence {fence} is behind {debate.fence}")


# --- a person's moves ---


def open_(debate: Debate, start: bool, at: str) -> Change:
    """The first entry of the log: queued, or scheduled until somebody starts it."""
    if debate.rules.outcome == "packet":
        debate = reach(debate, debate.fence, [Phase("Intake", at, "ok")], at).debate
    return _turn_to(debate, "queued", at) if start else _notice(debate, at, None)


def enqueue(debate: Debate, at: str) -> Change:
    """Start one that was scheduled."""
    return _turn_to(debate, "queued", at)


def stop(debate: Debate, *, in_flight: bool, at: str) -> Change:
    """Keep the step in flight, then nothing more."""
    status.check(debate.status, "stopped")
    wish = debate.but(wanted="stop", stop_requested_at=debate.stop_requested_at or at)
    if in_flight and (debate.status != "paused" or debate.open_calls):
        return _notice(wish, at, "A stop was asked for; the step in flight is kept.")
    return _obey(_take(wish), at)


def pause(debate: Debate, *, in_flight: bool, at: str) -> Change:
    """Like stop, but it can go on from the cursor."""
    status.check(debate.status, "paused")
    wish = debate.but(wanted="pause")
    if in_flight:
        return _notice(wish, at, "A pause was asked for; the step in flight is kept.")
    return _obey(_take(wish), at)


def resume(debate: Debate, *, in_flight: bool, at: str) -> Change:
    """Go on from the cursor. A pause that was only asked for is taken back."""
    if debate.status in ("queued", "running", "ending") and not in_flight:
        return Change(debate)  # left behind by a process that died: whoever resumes it may claim it
    if debate.status == "running" and debate.wanted == "pause":
        return _notice(debate.but(wanted=None), at, "The pause was taken back.")
    status.check(debate.status, "running")
    return _turn_to(debate.but(failure=None, wanted=None), "running", at)


def end(debate: Debate, at: str) -> Change:
    """Call off what is in flight and go to the closing summary. Said twice, nothing more."""
    if debate.stop_reason == "ended_by_user":
        return Change(debate)
    status.check(debate.status, "ending")
    closing = _take(debate).but(
        cursor=schedule.closing(debate),
        stop_reason="ended_by_user",
        stop_requested_at=at,
        failure=None,
        wanted=None,
    )
    return _turn_to(closing, "ending", at)


def retry(debate: Debate, model: str | None, warning: str | None, at: str) -> Change:
    """Try the step that failed again, with another model if one is given."""
    failure = _failed(debate, "retry")
    if model:
        debate = _recast(debate, failure.actor, model)
    if warning and warning not in debate.warnings:
        debate = debate.but(warnings=(*debate.warnings, warning))
    return _turn_to(debate.but(failure=None, wanted=None), "running", at)


def skip(debate: Debate, at: str) -> Change:
    """Record the step that failed as a failed turn, and go on without it."""
    failure = _failed(debate, "skip")
    ahead = schedule.plan(debate)
    if not isinstance(ahead, Wave):
        raise StateError("There is no step left to skip.")
    going = _turn_to(_take(debate).but(failure=None, wanted=None), "running", at)
    for bit, step in zip(ahead.places, ahead.steps, strict=True):
        if step.actor == failure.actor:
            spoken = Spoken(step, bit, "", failure.model, at, error_code=failure.code)
            then = commit(going.debate, going.debate.fence, spoken, None, at, go_on=False)
            return _join(going, then)
    raise StateError(f"{failure.actor} has no step to skip.")


def held(debate: Debate, now: float, dead: Callable[[str], bool]) -> bool:
    """Whether somebody alive has the debate in hand."""
    if debate.lease_owner is None or debate.lease_until <= now:
        return False
    return not dead(debate.lease_owner)


# --- pieces ---


def _failed(debate: Debate, verb: str) -> Failure:
    if debate.status != "paused":
        raise StateError(f"Only a paused debate has a step to {verb}; this one is {debate.status}.")
    if debate.failure is None:
        raise StateError(f"No speaker failed, so there is nothing to {verb}; resume it instead.")
    return debate.failure


def _recast(debate: Debate, seat_id: str, model: str) -> Debate:
    def recast(seat: Participant) -> Participant:
        return replace(seat, model=model) if seat.id == seat_id else seat

    return debate.but(
        participants=tuple(recast(seat) for seat in debate.participants),
        host=recast(debate.host) if debate.host else None,
    )


def _take(debate: Debate) -> Debate:
    """Away from whoever has it: later writes of theirs are refused."""
    return debate.but(fence=debate.fence + 1, lease_owner=None, lease_until=0.0)


def _obey(debate: Debate, at: str) -> Change:
    if debate.wanted == "pause":
        return _turn_to(debate.but(wanted=None), "paused", at)
    stopped = debate.but(wanted=None, stop_reason=None)
    return _turn_to(_ended(stopped, "stopped_by_user", at), "stopped", at)


def _ended(debate: Debate, reason: StopReason, at: str) -> Debate:
    return debate.but(
        stop_reason=debate.stop_reason or reason,
        ended_at=at,
        failure=None,
        wanted=None,
        lease_owner=None,
        lease_until=0.0,
    )


def _begin(debate: Debate, steps: tuple[Step, ...], at: str) -> Change:
    calls = debate.usage.calls
    started = tuple(
        Attempt(calls + place, debate.fence, step, debate.seat(step.actor).model, at)
        for place, step in enumerate(steps, start=1)
    )
    counted = debate.but(
        usage=debate.usage.with_calls(calls + len(steps)),
        open_calls=debate.open_calls + len(steps),
    )
    return Change(counted, started=started)


def _turn_to(debate: Debate, after: Status, at: str) -> Change:
    status.check(debate.status, after)
    turned = debate.but(status=after, updated_at=at)
    return _notice(turned.but(total=schedule.total(turned)), at, None)


def _notice(debate: Debate, at: str, notice: str | None) -> Change:
    """Log where the debate stands now."""
    seq = debate.last_seq + 1
    event = StatusChanged(
        debate_id=debate.id,
        seq=seq,
        at=at,
        status=debate.status,
        reason=debate.stop_reason,
        failure=debate.failure,
        stage=debate.stage,
        round=debate.round,
        done=debate.turns,
        total=debate.total,
        degraded=debate.degraded,
        notice=notice,
    )
    return Change(debate.but(last_seq=seq, updated_at=at), (event,))


def _join(first: Change, second: Change) -> Change:
    return Change(
        second.debate,
        first.events + second.events,
        first.started + second.started,
        first.ended + second.ended,
        second.decided or first.decided,
    )
