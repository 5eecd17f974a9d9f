"""What a worker may do to a debate, each as a pure function from the debate to a change.

The store reads the row under its lock, asks a move for the change, and writes all of it in one
transaction. A move that is refused raises, and nothing is written.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from moot.core import schedule, status
from moot.core.change import (
    UNTRIED,
    Attempt,
    Change,
    Decided,
    Ended,
    FencedError,
    NotClaimedError,
    Spoken,
    conclude,
    join,
    lost,
    notice,
    obey,
    take,
    turn_to,
)
from moot.core.debate import Debate, Decision, Failure, Participant, Phase, StepKey, Tried, Turn
from moot.core.events import TurnCommitted
from moot.core.format import Effort
from moot.core.ladder import Way
from moot.core.phases import check_phase, phase_of
from moot.core.schedule import Finish, Said, Step
from moot.core.status import StopReason
from moot.errors import StorageError

MAX_STALLS = 3
"""Advances without a turn, after which a debate is not advanced again."""
NO_SUMMARY = "Nobody could give the closing summary, so there is none."
NO_ROOM = "The budget left no room for a closing summary, so there is none."
Then = Literal["nothing", "begin", "release"]


def claim(
    debate: Debate,
    *,
    owner: str,
    now: float,
    lease: float,
    at: str,
    dead: Callable[[str], bool],
    place: str | None = None,
    beside: int = 0,
) -> Change:
    """Take the lease, if the debate is runnable, where the task expects it, and nobody's.

    Calls that are still open were lost with their worker. That counts as a death of the step only
    if the worker was speaking nothing else: `beside` is how many other calls it lost.
    """
    if debate.status not in status.RUNNABLE:
        raise NotClaimedError(f"{debate.id} is {debate.status}")
    if place is not None and place != debate.cursor.name:
        raise NotClaimedError(f"{debate.id} has moved on from {place}")
    if debate.not_before > now:
        raise NotClaimedError(f"{debate.id} waits to try again")
    if debate.waiting_for:
        raise NotClaimedError(f"{debate.id} waits for a person to speak for {debate.waiting_for}")
    if held(debate, now, dead):
        raise NotClaimedError(f"{debate.id} is held by {debate.lease_owner}")
    alone = debate.open_calls == 1 and not beside
    claimed = debate.but(
        lease_owner=owner,
        lease_until=now + lease,
        fence=debate.fence + 1,
        open_calls=0,
        losses=debate.losses + 1 if debate.open_calls else debate.losses,
        deaths=debate.deaths + 1 if alone else debate.deaths,
        not_before=0.0,
        updated_at=at,
    )
    if debate.status == "queued":
        begun = claimed.but(started_at=debate.started_at or at)
        return replace(turn_to(begun, "running", at), ended=lost(debate, at))
    return Change(claimed, ended=lost(debate, at))


def release(debate: Debate, fence: int, at: str) -> Change:
    """Let the debate go; harmless once it is somebody else's.

    Calls that are on record and still open were never made: it is let go between two waves.
    """
    if debate.fence != fence:
        return Change(debate)
    unmade = (Ended(None, "cancelled", at),) if debate.open_calls else ()
    free = debate.but(lease_owner=None, lease_until=0.0, open_calls=0)
    return Change(free, ended=unmade)


def abandon(debate: Debate, now: float, at: str, dead: Callable[[str], bool]) -> Change:
    """End the calls of a debate that paused while they were made, if whoever made them is gone.

    Nobody claims a paused debate, so they would stay open until it is resumed.
    """
    if debate.status != "paused" or not debate.open_calls or held(debate, now, dead):
        return Change(debate)
    return Change(take(debate).but(losses=debate.losses + 1), ended=lost(debate, at))


def stumble(debate: Debate, fence: int, trouble: Failure, at: str) -> Change:
    """Let a debate go that could not be advanced. The third time without a turn in between, it
    waits for a person if the database or the disk was to blame, and fails otherwise."""
    if debate.fence != fence:
        return Change(debate)
    freed = debate.but(
        lease_owner=None, lease_until=0.0, open_calls=0, stalls=debate.stalls + 1, updated_at=at
    )
    if freed.stalls < MAX_STALLS or freed.status not in status.RUNNABLE:
        return Change(freed, ended=lost(debate, at))
    if freed.status == "queued":
        begun = turn_to(freed.but(stalls=debate.stalls), "running", at)
        return join(begun, stumble(begun.debate, fence, trouble, at))
    if freed.wanted == "stop":
        change = obey(freed, at)
    elif trouble.code == StorageError.code and freed.status == "running":
        change = turn_to(freed.but(failure=trouble, stalls=0, wanted=None), "paused", at)
    else:
        change = conclude(freed, "failed", "structural_failure", at, failure=trouble)
    return replace(change, ended=lost(debate, at))


def give_up(debate: Debate, fence: int, failure: Failure, at: str) -> Change:
    """A step that lost one worker after another: the debate waits for a person."""
    check_fence(debate, fence)
    if debate.wanted == "stop":
        return obey(debate, at)
    return turn_to(debate.but(failure=failure, wanted=None, **UNTRIED), "paused", at)


def wait(debate: Debate, fence: int, until: float, at: str) -> Change:
    """Let the debate go until a speaker is to be tried again; unless something else is wanted."""
    check_fence(debate, fence)
    if debate.wanted:
        return obey(debate, at)
    return Change(release(debate, fence, at).debate.but(not_before=until))


def await_person(debate: Debate, fence: int, at: str) -> Change:
    """Let the debate go until a person has spoken, and tell readers whose turn it is."""
    check_fence(debate, fence)
    return obey(debate, at) if debate.wanted else notice(debate, at, None)


def repair(debate: Debate, fence: int, turns: list[Turn], last_seq: int, at: str) -> Change:
    """Rebuild cursor and counters from the turns, and say so."""
    check_fence(debate, fence)
    spoken = [turn for turn in turns if turn.kind != "note"]
    last = spoken[-1] if spoken else None
    unmade = (Ended(None, "cancelled", at),) if debate.open_calls else ()
    mended = debate.but(
        cursor=schedule.rebuild(debate, turns),
        turn_count=len(turns),
        last_seq=max(debate.last_seq, last_seq),
        round=last.round if last else None,
        stage=last.stage if last else None,
        open_calls=0,
        updated_at=at,
    )
    said = notice(mended, at, "The cursor did not match the turns and was rebuilt from them.")
    return replace(said, ended=unmade)


def behind(debate: Debate, filed: int) -> bool:
    """Whether the files, which go up to the entry `filed`, hold more than the database."""
    return filed > debate.last_seq


def concludes(debate: Debate, filed: int) -> bool:
    """Whether that may be its decision: a council's is filed a moment before it is committed."""
    return decides(debate) and debate.cursor == schedule.END and filed == debate.last_seq + 1


def decides(debate: Debate) -> bool:
    """Whether a packet is owed: not if a person, or the budget, has ended it before."""
    return debate.rules.result is not None and debate.status == "running"


def reach(debate: Debate, fence: int, phases: Sequence[Phase], at: str) -> Change:
    """Log the phases that a council has been through; any other transition is refused."""
    check_fence(debate, fence)
    log = debate.phases
    for phase in phases:
        check_phase(debate, log[-1].state if log else None, phase.state)
        log = (*log, phase)
    return Change(debate.but(phases=log, updated_at=at))


def finish(
    debate: Debate,
    fence: int,
    reason: StopReason,
    at: str,
    *,
    failure: Failure | None = None,
    phases: Sequence[Phase] = (),
    outcome: Decision | None = None,
    decided: Decided | None = None,
) -> Change:
    """The debate is over: nothing more is asked for, and its outcome is written if it has one; or a
    `failure` keeps it from its end."""
    check_fence(debate, fence)
    if debate.wanted == "stop":
        return obey(debate, at)
    reached = reach(debate, fence, phases, at).debate.but(outcome=outcome)
    if failure and debate.stop_reason == "budget":
        reached = reached.but(stop_reason=None)  # the budget only cut it short
    status_ = "failed" if failure else "completed"
    return replace(conclude(reached, status_, reason, at, failure=failure), decided=decided)


def begin(debate: Debate, fence: int, steps: tuple[Step, ...], at: str) -> Change:
    """Put the calls of these steps on record, before they are made."""
    check_fence(debate, fence)
    if debate.status not in status.RUNNABLE:
        return Change(debate)
    if debate.wanted and not debate.open_calls:
        return obey(debate, at)
    return _begin(debate, steps, at)


def set_out(change: Change, at: str) -> Change:
    """With a claim, or the last turn of a wave, put the calls of the next wave on record."""
    try:
        ahead = schedule.plan(change.debate)
    except LookupError:  # a damaged cursor, which is rebuilt first
        return change
    if isinstance(ahead, Finish):
        return change
    begun = _begin(change.debate, schedule.by_models(change.debate, ahead.steps), at)
    return Change(begun.debate, change.events, begun.started, change.ended, change.decided)


def commit(
    debate: Debate,
    fence: int,
    spoken: Spoken,
    ended: Ended | None,
    at: str,
    then: Then = "nothing",
    said: Said | None = None,
) -> Change:
    """Write a turn, its event, the counters and the cursor; and `then`, once its wave is spoken,
    begin the next one, or let the debate go for whoever takes that.

    `said` has the answers of the turn's round, for a stage that may end in agreement.
    """
    check_fence(debate, fence)
    step = spoken.step
    seq = debate.last_seq + 1
    turn = Turn(
        seq=seq,
        number=debate.turn_count + 1 if debate.rules.numbers_turns else seq,
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
    failed = spoken.error_code is not None
    agrees = schedule.agreed(debate, step.stage, said or {})
    cursor = schedule.after(debate, step.bit, failed=failed, agrees=agrees)
    kept = debate.but(
        cursor=cursor,
        round=step.round,
        stage=step.stage,
        turn_count=debate.turn_count + 1,
        last_seq=seq,
        degraded=debate.degraded or failed,
        usage=debate.usage + ended.usage if ended else debate.usage,
        open_calls=debate.open_calls - (1 if ended else 0),
        tries=_without(debate, step.key) if cursor.done else (),
        updated_at=at,
        **UNTRIED,
    )
    kept = kept.but(waiting_for=schedule.awaited(kept))
    if agrees:
        kept = kept.but(total=schedule.total(kept))
    change = Change(kept, (TurnCommitted(debate.id, turn),), ended=(ended,) if ended else ())
    return _after(change, at, then, agrees=agrees)


def _after(change: Change, at: str, then: Then, *, agrees: bool) -> Change:
    """What follows a turn: nothing while others speak, else the end, a wish, or the next wave."""
    debate = change.debate
    if debate.open_calls:
        return change
    if debate.wanted == "stop":
        return join(change, obey(debate, at))
    if debate.status == "paused":
        return change
    over = debate.cursor == schedule.END
    if over and not decides(debate):  # a packet comes before the end
        reason = schedule.reason(debate, agrees=agrees)
        return join(change, conclude(debate, "completed", reason, at, words=_unclosed(change)))
    if debate.wanted and not over:
        return join(change, obey(debate, at))
    if debate.waiting_for:
        return join(change, notice(debate, at, None))
    if debate.cursor.done or then == "nothing":  # a speaker of this wave may wait to try again
        return change
    if then == "release":
        return replace(change, debate=debate.but(lease_owner=None, lease_until=0.0))
    return set_out(change, at)


def _unclosed(change: Change) -> str | None:
    """What to say if a debate that was ended got no closing summary."""
    last = change.events[-1] if change.events else None
    if change.debate.status != "ending" or not isinstance(last, TurnCommitted):
        return None
    return NO_SUMMARY if last.turn.status == "failed" else None


def fail_attempt(debate: Debate, fence: int, ended: Ended, key: StepKey, tried: Tried) -> Change:
    """A call failed and will be tried again, unless somebody wants the debate to halt. What was
    `tried` of its step is kept, so that whoever takes the debate next does not begin anew."""
    check_fence(debate, fence)
    change = _counted(debate.but(tries=(*_without(debate, key), (key, tried))), ended)
    counted = change.debate
    if counted.wanted and not counted.open_calls:
        return join(change, obey(counted, ended.at))
    return change


def fail_over(
    debate: Debate, fence: int, ended: Ended, key: StepKey, choice: int, seat: Participant, why: str
) -> Change:
    """A model has failed for good, and its `seat` has another `choice`, which speaks the step."""
    check_fence(debate, fence)
    if not debate.wanted:
        debate = _reseated(debate, seat)
        told = notice(debate, ended.at, why)
        tried = Tried(choice=choice)
        return join(told, fail_attempt(told.debate, fence, ended, key, tried))
    return fail_attempt(debate, fence, ended, key, Tried(choice=choice))


def _reseated(debate: Debate, seat: Participant) -> Debate:
    """The debate with what is known now of one of its seats."""
    if debate.seat(seat.id) == seat:
        return debate

    def known(one: Participant) -> Participant:
        return seat if one.id == seat.id else one

    jury = debate.jury
    return debate.but(
        participants=tuple(map(known, debate.participants)),
        host=known(debate.host) if debate.host else None,
        jury=replace(jury, seats=tuple(map(known, jury.seats))) if jury else None,
    )


def _without(debate: Debate, key: StepKey) -> tuple[tuple[StepKey, Tried], ...]:
    """What was tried of other steps."""
    return tuple(one for one in debate.tries if one[0] != key)


def pause_for(debate: Debate, fence: int, failure: Failure, ended: Ended) -> Change:
    """A speaker failed for good and the debate waits for a person."""
    check_fence(debate, fence)
    change = _counted(debate.but(failure=failure), ended)
    counted = change.debate
    if counted.status == "paused" and counted.wanted != "stop":
        return change  # another speaker of the wave failed before
    if counted.wanted == "stop":
        return join(change, obey(counted, ended.at)) if not counted.open_calls else change
    return join(change, turn_to(counted.but(wanted=None), "paused", ended.at))


def out_of_budget(debate: Debate, fence: int, summary_fits: bool, at: str) -> Change:
    """The budget is reached: the closing summary if one fits, then the end."""
    check_fence(debate, fence)
    if debate.wanted:
        return obey(debate, at)
    if debate.rules.result and debate.rules.edition > 1:
        debate = debate.but(degraded=True)  # it was to come to an outcome
    if summary_fits and debate.status == "running":
        closing = debate.but(cursor=schedule.closing(debate), stop_reason="budget")
        return turn_to(closing, "ending", at)
    words = NO_ROOM if debate.status == "ending" else None
    return conclude(debate, "completed", "budget", at, words=words)


def shorten(debate: Debate, fence: int, way: Way, at: str) -> Change:
    """Leave out what the budget has no room for, with a word for each. What was said decides."""
    check_fence(debate, fence)
    if debate.wanted:
        return obey(debate, at)
    over = [Phase(phase_of(stage), at, "skipped") for stage in way.skips]
    short = reach(debate.but(jury=way.jury), fence, over, at).debate
    short = short.but(
        cursor=schedule.onward(short), stop_reason="budget", degraded=True, tries=(), **UNTRIED
    )
    change = Change(short.but(total=schedule.total(short)))
    for words in way.words:
        change = join(change, notice(change.debate, at, words))
    return change


def leave_out(
    debate: Debate, fence: int, stages: Sequence[str], words: str, over: bool, at: str
) -> Change:
    """Leave stages out because what was said has settled them; `over`: nothing else is asked."""
    check_fence(debate, fence)
    if debate.wanted:
        return obey(debate, at)
    gone = [Phase(phase_of(stage), at, "skipped") for stage in stages]
    short = reach(debate, fence, gone, at).debate
    short = short.but(cursor=schedule.onward(short), tries=(), **UNTRIED)
    short = short.but(stop_reason="agreement" if over else short.stop_reason)
    return notice(short.but(total=schedule.total(short)), at, words)


def _counted(debate: Debate, ended: Ended) -> Change:
    """A call of this worker is over, and what it cost is counted."""
    usage, open_calls = debate.usage + ended.usage, debate.open_calls - 1
    return Change(
        debate.but(usage=usage, open_calls=open_calls, updated_at=ended.at), ended=(ended,)
    )


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


def held(debate: Debate, now: float, dead: Callable[[str], bool]) -> bool:
    """Whether somebody alive has the debate in hand."""
    return is_held(debate.lease_owner, debate.lease_until, now, dead)


def is_held(owner: str | None, until: float, now: float, dead: Callable[[str], bool]) -> bool:
    """Whether a lease has not run out, and its owner is not known to be gone."""
    return owner is not None and until > now and not dead(owner)


def _begin(debate: Debate, steps: tuple[Step, ...], at: str) -> Change:
    if debate.wanted:
        return Change(debate)
    calls = debate.usage.calls
    started = tuple(
        Attempt(
            calls + place,
            debate.fence,
            _with_effort(step, debate.effort(step.key, step.effort)),
            debate.voice(step.key),
            at,
            debate.lease_owner,
        )
        for place, step in enumerate(steps, start=1)
    )
    counted = debate.but(
        usage=debate.usage.with_calls(calls + len(steps)),
        open_calls=debate.open_calls + len(steps),
    )
    return Change(counted, started=started)


def _with_effort(step: Step, effort: Effort | None) -> Step:
    return step if effort == step.effort else replace(step, effort=effort)
