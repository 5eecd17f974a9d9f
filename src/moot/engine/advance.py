"""Carries a debate on: claim → plan → speak → commit → go on."""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from moot.core import depth, limits, moves, retry, schedule
from moot.core.change import (
    Attempt,
    BehindError,
    Change,
    Ended,
    FencedError,
    Move,
    NotClaimedError,
    SaidAlreadyError,
    Spoken,
)
from moot.core.debate import NO_USAGE, Debate, Failure, Turn
from moot.core.events import Speech
from moot.core.ladder import Way
from moot.core.moves import Then
from moot.core.prompts import Heard
from moot.core.retry import RetryDecision
from moot.core.schedule import Finish, Step, Wave
from moot.core.status import RUNNABLE
from moot.core.times import iso
from moot.engine import failpoints, publish
from moot.engine.budget import Purse
from moot.engine.calls import usage_of
from moot.engine.conclude import Conclusion, failure_of
from moot.engine.isolation import Floor
from moot.engine.lease import Keeper
from moot.engine.ledger import Ledger
from moot.engine.memo import Recall
from moot.engine.outdated import stands
from moot.engine.speaking import Run, Voice
from moot.errors import (
    DuplicateError,
    MootError,
    ProviderEchoError,
    ProviderError,
    ProviderQuoteError,
    ProviderShapeError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    StateError,
    StorageError,
)
from moot.ports.debate_files import Records
from moot.ports.debate_store import Store
from moot.ports.event_bus import Bus
from moot.ports.instruments import Clock
from moot.ports.model_call import Speaker

log = logging.getLogger(__name__)

LOST_CODE = ProviderUnavailableError.code
BESIDE_OTHERS = 4
"""How many times as many workers one step may lose at all, whatever else they were speaking."""
HOLD_SECONDS = 5.0
"""A debate that must wait for longer is let go meanwhile, so that others may take it."""
KEEP_SECONDS = 1.0
"""How long a worker goes on with a debate, wave after wave, while others may wait for its place."""


class Advancer:
    """One per process: it may have any number of debates in hand at once.

    By itself it carries a debate on until it halts. If `shared` with other workers, it lets it go
    after the first wave that ends `KEEP_SECONDS` or more after the claim, and for long waits, so
    that whoever has room takes the next. `deaths` is how many workers that spoke nothing else may
    be lost in one step before it is given up.
    """

    def __init__(
        self,
        store: Store,
        records: Records,
        speaker: Speaker,
        bus: Bus,
        clock: Clock,
        keeper: Keeper,
        note: Callable[[str, str], None] | None = None,
        *,
        shared: bool = False,
        deaths: int = 3,
        round_ended: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._shared = shared
        self._recall = Recall()
        self._deaths = deaths
        self._floor = Floor()
        self._behind: set[str] = set()  # debates that were said to be behind their files
        self._store = store
        self._records = records
        self._voice = Voice(store, speaker, bus, clock)
        self._ledger = Ledger(store, bus, note, round_ended)
        self._conclusion = Conclusion(store, records, clock, self._ledger)
        self._bus = bus
        self._clock = clock
        self._keeper = keeper

    async def advance(self, debate_id: str, place: str | None = None) -> Debate | None:
        """Carry a debate on, from that place. Returns None if it cannot be claimed."""
        known, heard = self._recall.take(debate_id) or (None, None)
        try:
            claimed, turns = await self._claimed(debate_id, place, known)
        except NotClaimedError as reason:
            self._say_why(debate_id, reason)
            return None
        self._behind.discard(debate_id)
        publish.tell(self._bus, claimed.events)
        failpoints.hit("claimed")
        hand = self._keeper.hold(debate_id, claimed.debate.fence)
        run = Run.of(hand, claimed, heard if heard and turns is None else Heard(turns or ()))
        trouble: Exception | None = None
        try:
            await self._go_on(run, turns)
        except SaidAlreadyError as error:
            trouble = error
        except FencedError as reason:
            log.debug("let go: %s", reason)
        except Exception as error:
            trouble = error
        finally:
            self._voice.hush(run)
            self._keeper.drop(hand)
            if run.debate.lease_owner is not None:
                await self._let_go(run, trouble)
            failpoints.hit("released")
        if isinstance(trouble, StorageError):
            raise trouble
        if self._shared and run.debate.status in RUNNABLE and not hand.lost and not trouble:
            self._recall.keep(run.debate, run.heard)
        return run.debate

    # --- taking a debate, and letting it go ---

    async def _claimed(
        self, debate_id: str, place: str | None, known: Debate | None
    ) -> tuple[Change, list[Turn] | None]:
        """Take the debate, unless its files hold more than the database."""
        filed = await asyncio.to_thread(self._records.last_seq, debate_id)
        claim = self._store.claim
        try:
            return await claim(debate_id, lambda row, n: self._claim(row, n, place, filed), known)
        except BehindError as error:
            if await stands(self._records, error):
                raise
            return await claim(debate_id, lambda row, n: self._claim(row, n, place, 0), known)
        except Exception as error:
            if isinstance(error, MootError) and not isinstance(error, DuplicateError):
                raise
            # rows that cannot be read, or that stand where new ones must: nothing was claimed
            await self._stumbled(debate_id, error)
            raise NotClaimedError(f"it could not be claimed ({_name(error)})") from error

    def _claim(self, debate: Debate, beside: int, place: str | None, filed: int) -> Change:
        now = self._clock.now()
        if moves.behind(debate, filed):
            raise BehindError(debate, filed)
        claimed = moves.claim(
            debate,
            owner=self._keeper.owner,
            now=now,
            lease=self._keeper.lease_seconds,
            at=iso(now),
            dead=self._keeper.is_dead,
            place=place,
            beside=beside,
        )
        ready = _plain(debate) and debate.round is not None and not claimed.debate.losses
        if not ready or debate.stalls:  # what went wrong before is looked at first
            return claimed
        return moves.set_out(claimed, iso(now))

    async def _stumbled(self, debate_id: str, trouble: Exception) -> None:
        """Count an advance that came to nothing before the debate was taken."""
        at = self._at()
        log.error("%s could not be claimed: %s", debate_id, _name(trouble), exc_info=trouble)

        def move(row: Debate) -> Change:
            if moves.held(row, self._clock.now(), self._keeper.is_dead):
                return Change(row)
            return moves.stumble(row, row.fence, _stalled(trouble, at), at)

        with suppress(Exception):  # its row cannot be read, either
            await self._ledger.change(debate_id, move)

    def _say_why(self, debate_id: str, reason: NotClaimedError) -> None:
        """Why a debate was not claimed. That it is behind its files is said once, and loudly."""
        if not isinstance(reason, BehindError):
            log.info("%s was not claimed: %s", debate_id, reason)
        elif debate_id not in self._behind:
            self._behind.add(debate_id)
            log.warning("%s", reason)

    async def _let_go(self, run: Run, trouble: Exception | None) -> None:
        """Give the lease back; if that fails, the keeper tries again."""
        debate_id, fence, at = run.debate.id, run.hand.fence, self._at()
        move: Move = lambda row: moves.release(row, fence, at)  # noqa: E731
        if trouble is not None:
            failure = _stalled(trouble, at)
            known = isinstance(trouble, StorageError)
            log.error(
                "%s could not be advanced: %s", debate_id, _name(trouble),
                exc_info=None if known else trouble,
            )  # fmt: skip
            move = lambda row: moves.stumble(row, fence, failure, at)  # noqa: E731
        try:
            run.debate = (await self._ledger.change(debate_id, move)).debate
        except Exception:  # the row may be locked, or the disk full
            self._keeper.owe(lambda: self._ledger.change(debate_id, move))

    # --- wave by wave ---

    async def _go_on(self, run: Run, turns: list[Turn] | None) -> None:
        """Wave by wave, until the debate halts, is let go, or is lost."""
        if turns is not None:
            await self._check(run, turns)
        if run.debate.round is None and not await self._can_be_filed(run):
            return
        while self._goes_on(run):
            if run.wait and not self._waits_elsewhere(run):
                await self._pause(run)
            suspect = run.debate.losses >= self._deaths
            async with self._floor.alone() if suspect else self._floor.shared():
                if self._goes_on(run):  # it may have waited
                    await self._next(run)

    def _goes_on(self, run: Run) -> bool:
        mine = run.debate.lease_owner is not None
        return run.debate.status in RUNNABLE and mine and not run.hand.lost

    async def _catch_up(self, run: Run) -> None:
        """Hear what people said since the last turn of this worker: a note, or a seat of theirs."""
        if run.debate.turn_count > len(run.heard.turns):
            known = {turn.seq for turn in run.heard.turns}
            for turn in await self._store.turns(run.debate.id):
                if turn.seq not in known:
                    run.heard.add(turn)

    async def _check(self, run: Run, turns: list[Turn]) -> None:
        """See that the cursor follows from what was said before."""
        debate, fence = run.debate, run.hand.fence
        if schedule.rebuild(debate, turns) != debate.cursor or len(turns) != debate.turn_count:
            last = await self._store.last_seq(debate.id)
            at = self._at()
            await self._ledger.commit(run, lambda row: moves.repair(row, fence, turns, last, at))
            run.begun = ()

    async def _can_be_filed(self, run: Run) -> bool:
        """Before the first call: what will be said must have a place to be written to."""
        try:
            await asyncio.to_thread(self._records.check)
        except StorageError as error:
            await self._conclusion.fail(run, "structural_failure", failure_of(error, 0, self._at()))
            return False
        return True

    async def _next(self, run: Run) -> None:
        """One wave: as far as it gets."""
        await self._catch_up(run)
        begun, run.begun = run.begun, ()
        if not begun:
            begun = await self._begin(run)
            await self._catch_up(run)  # whoever speaks hears all that was said before its call
        if not begun:
            return
        failpoints.hit("begun")
        if len(begun) == 1:
            await self._trip(run, begun[0])
            return
        trips = [self._trip(run, attempt) for attempt in begun]
        for error in await asyncio.gather(*trips, return_exceptions=True):
            if isinstance(error, BaseException):
                raise error

    async def _begin(self, run: Run) -> tuple[Attempt, ...]:
        """Plan the next wave and put its calls on record; none if something else comes first."""
        if moves.decides(run.debate) and not await self._conclusion.reach(run):
            return ()
        debate, fence, at = run.debate, run.hand.fence, self._at()
        ahead = schedule.plan(debate)
        if isinstance(ahead, Finish):
            await self._conclusion.finish(run)
            return ()
        if left := depth.early(debate, run.heard.turns):
            await self._leave_out(run, left)
            return ()
        calling = schedule.by_models(debate, ahead.steps)
        if not calling:
            await self._ledger.commit(run, lambda row: moves.await_person(row, fence, at))
            return ()
        ahead = Wave(calling)
        if debate.losses:
            most = self._deaths * BESIDE_OTHERS
            if debate.deaths >= self._deaths or debate.losses >= most:
                await self._give_up(run, ahead.steps[0])
                return ()
        if self._waits_elsewhere(run):
            until = self._clock.now() + run.wait
            await self._ledger.commit(run, lambda row: moves.wait(row, fence, until, at))
            return ()
        if limits.bounded(debate.limits):
            purse = Purse(debate, run.heard.turns, partial(self._voice.estimate, run))
            fitting = purse.look(ahead)
            if not isinstance(fitting, Wave):
                await self._shorten(run, fitting, purse)
                return ()
            ahead = fitting
        # after a loss one step at a time, to see whose fault it is
        steps = ahead.steps[:1] if debate.losses else ahead.steps
        change = await self._ledger.commit(run, lambda row: moves.begin(row, fence, steps, at))
        return change.started

    async def _shorten(self, run: Run, way: Way | None, purse: Purse) -> None:
        """The budget has no room for the next wave: on to the outcome or, without one, the end."""
        fence, at = run.hand.fence, self._at()
        closes = way is None and purse.closes

        def move(row: Debate) -> Change:
            if way is None:
                return moves.out_of_budget(row, fence, closes, at)
            return moves.shorten(row, fence, way, at)

        await self._ledger.commit(run, move)
        self._voice.hush(run)
        run.forget()

    async def _leave_out(self, run: Run, left: depth.Early) -> None:
        """Two seats agree before the debate: what that settles is not spoken."""
        fence, at = run.hand.fence, self._at()
        await self._ledger.commit(
            run,
            lambda row: moves.leave_out(row, fence, left.skips, left.words, left.over, at),
        )

    def _waits_elsewhere(self, run: Run) -> bool:
        """Whether a try is so far off that the debate is let go meanwhile."""
        return self._shared and run.wait > HOLD_SECONDS

    async def _pause(self, run: Run) -> None:
        """Wait before another try; a wish or a lost lease cuts it short."""
        spread = run.wait * (1 + random.random() / 4)  # noqa: S311  many debates, not one instant
        run.wait = 0.0
        run.hand.nudged.clear()  # what it was set for is long dealt with
        with suppress(TimeoutError):
            async with asyncio.timeout(spread):
                await run.hand.nudged.wait()

    # --- one step ---

    async def _trip(self, run: Run, attempt: Attempt) -> None:
        """One call from its start to its turn, or to its failure."""
        step = attempt.step
        with self._voice.speech(run, step) as speech:
            try:
                reply = await self._voice.speak(run, attempt, speech)
            except ProviderError as error:
                await self._failed(run, attempt, error, speech)
                return
            failpoints.hit("spoken")
            spoken = Spoken(
                step=step,
                text=reply.text,
                model=reply.model,
                started_at=attempt.started_at,
                usage=run.spent.pop(step.key, NO_USAGE) + reply.usage.with_calls(1),
                data=dict(reply.data) if reply.data is not None else None,
            )
            usage = reply.usage.with_calls(0)
            ended = Ended(attempt.n, "ok", self._at(), model=reply.model, usage=usage)
            await self._commit_turn(run, spoken, ended)
            run.told(step.key)
            failpoints.hit("committed")

    async def _failed(
        self, run: Run, attempt: Attempt, error: ProviderError, speech: Speech
    ) -> None:
        """Try again later, let the seat's next choice speak, pause for a person, or go on without
        this turn."""
        step, fence, at = attempt.step, run.hand.fence, self._at()
        key, seat, before = step.key, run.debate.seat(step.actor), run.debate.tried(step.key)
        tried = replace(before, calls=before.calls + 1)
        usage = usage_of(error)
        run.spent[key] = run.spent.get(key, NO_USAGE) + replace(usage, calls=1)
        ended = Ended(attempt.n, "failed", at, error_code=error.code, usage=usage)
        log.info("%s: %s failed, try %d: %s", run.debate.id, step.actor, tried.calls, error.code)
        kept = run.kept.pop(key, None) if not isinstance(error, ProviderQuoteError) else None
        if isinstance(error, ProviderQuoteError) and await self._is_halted(run):
            kept = run.kept.pop(key, None)
        if kept:  # what was said first stands, with its quotes marked: no better answer came of it
            spent, data = run.spent.pop(key), None if kept.data is None else dict(kept.data)
            spoken = Spoken(step, kept.text, kept.model, attempt.started_at, spent, data)
            await self._commit_turn(run, spoken, ended)
            run.told(key)
            return
        others = tried.choice + 1 < len(seat.choices)
        decision = retry.decide(error, tried.calls, key in run.mended, key in run.widened, others)
        if decision.onward:
            await self._go_over(run, attempt, ended, speech)
        elif decision.wait is not None:
            self._voice.cut_off(run, step, speech, error.code, tried.calls + 1)
            self._prepare(run, step, error, decision)
            await self._ledger.settle(
                run, ended, lambda row: moves.fail_attempt(row, fence, ended, key, tried)
            )
        elif _pauses(run.debate, step):
            self._voice.withdraw(speech)
            words, calls = _mend(run.debate, step, error), max(run.spent[key].calls, tried.calls)
            failure = Failure(error.code, words, seat.id, attempt.model, calls, at)
            await self._ledger.settle(
                run, ended, lambda row: moves.pause_for(row, fence, failure, ended)
            )
        else:
            self._voice.withdraw(speech)
            spent, why = run.spent.pop(key), {"errorMessage": error.message}
            spoken = Spoken(step, "", attempt.model, attempt.started_at, spent, {**why}, error.code)
            await self._commit_turn(run, spoken, ended)

    def _prepare(self, run: Run, step: Step, error: ProviderError, decision: RetryDecision) -> None:
        """What the next try of a step is to know of this one."""
        if isinstance(error, ProviderQuoteError):
            run.repairs[step.key] = error
        if isinstance(error, ProviderShapeError | ProviderEchoError):
            run.repairs[step.key] = error
            if not decision.widen:  # who was cut was not wrong
                run.mended.add(step.key)
        run.wait = max(run.wait, decision.wait or 0.0)
        if decision.shrink:
            self._voice.shrink(run, step)
        if decision.widen:
            run.widened.add(step.key)

    async def _go_over(self, run: Run, attempt: Attempt, ended: Ended, speech: Speech) -> None:
        """The seat's next choice speaks the step, as if it were the first to be asked."""
        step, fence = attempt.step, run.hand.fence
        choice, seat = run.debate.tried(step.key).choice + 1, run.debate.seat(step.actor)
        after, code = seat.choices[choice], str(ended.error_code)
        seat = self._voice.priced(seat, after)
        words = retry.gave_way(seat.name, attempt.model, after, code)
        self._voice.cut_off(run, step, speech, code, 1)
        run.told(step.key)
        await self._ledger.settle(
            run,
            ended,
            lambda row: moves.fail_over(row, fence, ended, step.key, choice, seat, words),
        )

    async def _is_halted(self, run: Run) -> bool:
        """Whether a person wants the debate to halt: then the step in flight is not tried again."""
        return (await self._store.load(run.debate.id)).wanted is not None

    async def _give_up(self, run: Run, step: Step) -> None:
        """A step in which one worker after the other was lost: the failure rule decides."""
        fence, at, seat = run.hand.fence, self._at(), run.debate.seat(step.actor)
        lost = run.debate.losses
        log.warning("%s: %s is given up, %d workers were lost", run.debate.id, step.actor, lost)
        why = f"{lost} workers were lost one after another while {seat.name} spoke."
        if _pauses(run.debate, step):
            words = f"{why} Look into their logs for the reason, then restart the speaker."
            failure = Failure(LOST_CODE, words, seat.id, run.debate.voice(step.key), lost, at)
            await self._ledger.commit(run, lambda row: moves.give_up(row, fence, failure, at))
            return
        data: dict[str, object] = {"errorMessage": why}
        model = run.debate.voice(step.key)
        await self._commit_turn(
            run, Spoken(step, "", model, at, data=data, error_code=LOST_CODE), None
        )

    async def _commit_turn(self, run: Run, spoken: Spoken, ended: Ended | None) -> None:
        """Commit a turn, and what follows the last one of a wave, in one transaction."""
        fence, at = run.hand.fence, ended.at if ended else self._at()
        said = run.answers_beside(spoken.step, None if spoken.error_code else spoken.data)
        then: Then = "nothing"
        if self._shared and run.hand.held() >= KEEP_SECONDS:
            then = "release"
        elif _plain(run.debate):
            then = "begin"

        def move(row: Debate) -> Change:
            return moves.commit(row, fence, spoken, ended, at, then, said)

        change = await (
            self._ledger.settle(run, ended, move) if ended else self._ledger.commit(run, move)
        )
        run.begun += change.started

    def _at(self) -> str:
        return iso(self._clock.now())


def _stalled(trouble: Exception, at: str) -> Failure:
    """Why a debate came no further, for whoever reads of it."""
    if isinstance(trouble, StorageError) and not isinstance(trouble, DuplicateError):
        return failure_of(trouble, moves.MAX_STALLS, at)
    words = (
        f"moot tried {moves.MAX_STALLS} times to advance this debate and came no further, because "
        f"of a mistake in moot itself ({_name(trouble)}). What was said is kept. The log has the "
        "details; please report them."
    )
    return failure_of(StateError(words), moves.MAX_STALLS, at)


def _mend(debate: Debate, step: Step, error: ProviderError) -> str:
    """What went wrong with a speaker, and all that a person can do about it."""
    seat, said = debate.seat(step.actor), error.message
    if seat.instead:
        said = f"None of {seat.name}'s {len(seat.choices)} models answered. The last: {said}"
    if error.code != ProviderTimeoutError.code:
        return said
    longer = limits.longer(limits.silence(step.seconds, debate.limits))
    if longer is None:
        return f"{said} It has the longest time that there is; another model may be faster."
    return f"{said} To give it more time, raise max_turn_seconds to {longer:g} when you do."


def _name(trouble: Exception) -> str:
    """An error by its kind alone: its words may hold what nobody should read."""
    return str(trouble) if isinstance(trouble, MootError) else type(trouble).__name__


def _plain(debate: Debate) -> bool:
    """Whether a wave may begin with the claim, or the commit of the last, unlooked at before."""
    return not limits.bounded(debate.limits) and debate.rules.result is None


def _pauses(debate: Debate, step: Step) -> bool:
    """Whether the debate waits for a person if this step fails: its stage may say so itself."""
    return (step.on_failure or debate.on_failure) == "pause" and debate.status != "ending"
