"""Carries a debate on: claim → plan → speak → commit → go on."""

import asyncio
import logging
import math
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from moot.core import answers, echo, limits, moves, prompts, retry, schedule
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
from moot.core.clean import clean, visible
from moot.core.debate import NO_USAGE, Debate, Failure, Participant, Turn, Usage
from moot.core.events import Delta, Speech, StatusChanged, TurnCommitted
from moot.core.limits import Estimate
from moot.core.moves import Then
from moot.core.phases import phases_due, stages_over
from moot.core.prompts import Heard
from moot.core.schedule import Finish, Step, StepKey, Wave
from moot.core.status import RUNNABLE
from moot.core.times import iso
from moot.core.voices import UNDERSTUDY
from moot.engine import failpoints, finish, publish
from moot.engine.calls import Patience, usage_of, used
from moot.engine.isolation import Floor
from moot.engine.lease import Hand, Keeper
from moot.engine.memo import Recall
from moot.engine.outdated import stands
from moot.errors import (
    DuplicateError,
    MootError,
    PacketError,
    ProviderEchoError,
    ProviderEmptyError,
    ProviderError,
    ProviderInvalidError,
    ProviderShapeError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    StateError,
    StorageError,
)
from moot.outcome.stands import silent, stated
from moot.ports import Bus, Call, Clock, Records, Reply, Say, Speaker, Store

log = logging.getLogger(__name__)

LOST_CODE = ProviderUnavailableError.code
BESIDE_OTHERS = 4
"""How many times as many workers one step may lose at all, whatever else they were speaking."""
HOLD_SECONDS = 5.0
"""A debate that must wait for longer is let go meanwhile, where others may take it."""
GRACE_SECONDS = 2.0
"""A speaker keeps its own deadline; one that does not is cut off this much later."""


@dataclass
class _Run:
    """What is known of a debate while this worker has it in hand."""

    hand: Hand
    debate: Debate
    heard: Heard
    begun: tuple[Attempt, ...] = ()  # calls of the next wave that are on record already
    ahead: Wave | None = None  # that wave, where its commit planned it
    tries: dict[StepKey, int] = field(default_factory=dict[StepKey, int])
    spent: dict[StepKey, Usage] = field(default_factory=dict[StepKey, Usage])
    repairs: dict[StepKey, ProviderError] = field(default_factory=dict[StepKey, ProviderError])
    windows: dict[str, int] = field(default_factory=dict[str, int])  # that proved smaller, by seat
    wait: float = 0.0  # before the next try

    @classmethod
    def of(cls, hand: Hand, claimed: Change, heard: Heard) -> "_Run":
        debate = claimed.debate
        return cls(hand, debate, heard, claimed.started, claimed.ahead, dict(debate.tries))


class Advancer:
    """One per process: it may have any number of debates in hand at once.

    By itself it carries a debate on until it halts. `by_wave`, it lets it go after each wave, and
    for long waits, so that whoever has room takes the next. `deaths` is how many workers that spoke
    nothing else may be lost in one step before it is given up.
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
        by_wave: bool = False,
        deaths: int = 3,
        round_ended: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._by_wave = by_wave
        self._recall = Recall()
        self._deaths = deaths
        self._floor = Floor()
        self._round_ended = round_ended  # takes the debate, whose files may show the round
        self._behind: set[str] = set()  # debates that were said to be behind their files
        self._note = note  # takes the format and the status of each turn that was committed
        self._store = store
        self._records = records
        self._speaker = speaker
        self._bus = bus
        self._clock = clock
        self._keeper = keeper

    async def advance(self, debate_id: str, place: str | None = None) -> Debate | None:
        """Carry a debate on, from that place. None if it is not to be had: a quiet end."""
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
        run = _Run.of(hand, claimed, heard if heard and turns is None else Heard(turns or ()))
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
            self._keeper.drop(hand)
            if run.debate.lease_owner is not None:
                await self._let_go(run, trouble)
            failpoints.hit("released")
        if isinstance(trouble, StorageError):
            raise trouble
        if self._by_wave and run.debate.status in RUNNABLE and not hand.lost and not trouble:
            self._recall.keep(run.debate, run.heard)
        return run.debate

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

    async def _stumbled(self, debate_id: str, trouble: Exception) -> None:
        """Count an advance that came to nothing before the debate was taken."""
        at = iso(self._clock.now())
        log.error("%s could not be claimed: %s", debate_id, _name(trouble), exc_info=trouble)

        def move(row: Debate) -> Change:
            if moves.held(row, self._clock.now(), self._keeper.is_dead):
                return Change(row)
            return moves.stumble(row, row.fence, _stalled(trouble, at), at)

        with suppress(Exception):  # its row cannot be read, either
            await self._change(debate_id, move)

    async def _go_on(self, run: _Run, turns: list[Turn] | None) -> None:
        """Wave by wave, until the debate halts, is let go, or is lost."""
        if turns is not None:
            await self._check(run, turns)
        if not run.debate.turn_count and not await self._can_be_filed(run):
            return
        while self._goes_on(run):
            if run.wait and not self._waits_elsewhere(run):
                await self._pause(run)
            suspect = run.debate.losses >= self._deaths
            async with self._floor.alone() if suspect else self._floor.shared():
                if self._goes_on(run):  # it may have waited
                    await self._next(run)

    def _say_why(self, debate_id: str, reason: NotClaimedError) -> None:
        """Why a debate was not claimed. That it is behind its files is said once, and loudly."""
        if not isinstance(reason, BehindError):
            log.info("%s was not claimed: %s", debate_id, reason)
        elif debate_id not in self._behind:
            self._behind.add(debate_id)
            log.warning("%s", reason)

    async def _can_be_filed(self, run: _Run) -> bool:
        """Before the first call: what will be said must have a place to be written to."""
        try:
            await asyncio.to_thread(self._records.check)
        except StorageError as error:
            fence, at = run.hand.fence, iso(self._clock.now())
            failure = Failure(error.code, error.message, "", "", 0, at)
            await self._commit(
                run, lambda row: moves.fail(row, fence, "structural_failure", failure, (), at)
            )
            return False
        return True

    def _goes_on(self, run: _Run) -> bool:
        mine = run.debate.lease_owner is not None
        return run.debate.status in RUNNABLE and mine and not run.hand.lost

    async def _let_go(self, run: _Run, trouble: Exception | None) -> None:
        """Give the lease back; if that fails, the keeper tries again."""
        debate_id, fence, at = run.debate.id, run.hand.fence, iso(self._clock.now())
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
            run.debate = (await self._change(debate_id, move)).debate
        except Exception:  # the row may be locked, or the disk full
            self._keeper.owe(lambda: self._change(debate_id, move))

    def _claim(self, debate: Debate, beside: int, place: str | None, filed: int) -> Change:
        now = self._clock.now()
        at = iso(now)
        if moves.behind(debate, filed):
            raise BehindError(debate, filed)
        claimed = moves.claim(
            debate,
            owner=self._keeper.owner,
            now=now,
            lease=self._keeper.lease_seconds,
            at=at,
            dead=self._keeper.is_dead,
            place=place,
            beside=beside,
        )
        ready = _plain(debate) and debate.turn_count and not claimed.debate.losses
        if not ready or debate.stalls:  # what went wrong before is looked at first
            return claimed
        return moves.set_out(claimed, at)

    async def _check(self, run: _Run, turns: list[Turn]) -> None:
        """See that the cursor follows from what was said before."""
        debate = run.debate
        if schedule.rebuild(debate, turns) != debate.cursor or len(turns) != debate.turn_count:
            last = await self._store.last_seq(debate.id)
            await self._commit(
                run,
                lambda row: moves.repair(row, run.hand.fence, turns, last, iso(self._clock.now())),
            )
            run.begun, run.ahead = (), None

    async def _next(self, run: _Run) -> None:
        """One wave: as far as it gets."""
        fence = run.hand.fence
        ahead = run.ahead if run.ahead and run.begun else schedule.plan(run.debate)
        if moves.decides(run.debate) and not await self._reach(run):
            return
        if isinstance(ahead, Finish) and moves.decides(run.debate):
            await self._conclude(run)
            return
        if isinstance(ahead, Finish):
            reason = ahead.reason
            at = iso(self._clock.now())
            await self._commit(run, lambda row: moves.finish(row, fence, reason, at))
            return
        if run.debate.losses:  # one step at a time, to see whose fault it is
            ahead = schedule.alone(ahead)
            most = self._deaths * BESIDE_OTHERS
            if run.debate.deaths >= self._deaths or run.debate.losses >= most:
                await self._give_up(run, ahead.places[0], ahead.steps[0])
                return
        begun, run.begun = run.begun, ()
        if not begun:
            begun = await self._begin(run, ahead)
        if not begun:
            return
        failpoints.hit("begun")
        if len(begun) == len(ahead.steps) == 1:
            await self._trip(run, begun[0], ahead.places[0], ahead.steps[0])
            return
        steps = {step.key: (bit, step) for bit, step in zip(ahead.places, ahead.steps, strict=True)}
        trips = [self._trip(run, attempt, *steps[attempt.step.key]) for attempt in begun]
        results = await asyncio.gather(*trips, return_exceptions=True)
        for error in results:
            if isinstance(error, BaseException):
                raise error

    async def _reach(self, run: _Run) -> bool:
        """Log the phases that a council has been through; False if nobody took a position."""
        debate, fence, at = run.debate, run.hand.fence, iso(self._clock.now())
        due = phases_due(debate, run.heard.turns, at)
        if not due:
            return True
        if not silent(debate.rules, run.heard.turns, stages_over(debate)):
            await self._commit(run, lambda row: moves.reach(row, fence, due, at))
            return True
        codes = [turn.error_code for turn in run.heard.turns if turn.error_code]
        result = debate.rules.result
        stage = debate.rules.stage(result.stands[-1]).heading if result else ""
        failure = Failure(
            codes[-1],
            f"Nobody took a position in {stage.lower()}, so there is nothing to decide on.",
            "",
            "",
            len(codes),
            at,
        )
        await self._commit(
            run, lambda row: moves.fail(row, fence, "provider_failed", failure, due, at)
        )
        return False

    async def _conclude(self, run: _Run) -> None:
        """Packetize and write back; a packet or a file that cannot be made stops the run."""
        fence, at = run.hand.fence, iso(self._clock.now())
        turns = list(run.heard.turns)
        try:
            # a worker may have filed the decision and died before the commit: it stands as filed
            at = await asyncio.to_thread(self._records.ended_at, run.debate) or at
            ending = finish.decision(run.debate, turns, fence, at)
            if ending.decided:  # a stop that was asked for before is filed once it is committed
                events = await finish.said(self._store, run.debate)
                events += [event for event in ending.events if isinstance(event, StatusChanged)]
                await asyncio.to_thread(self._records.file, ending.debate, turns, events)
                failpoints.hit("filed")
        except (PacketError, StorageError) as error:
            failure = Failure(error.code, error.message, "", "", 1, at)
            await self._commit(
                run, lambda row: moves.fail(row, fence, "structural_failure", failure, (), at)
            )
            return
        await self._commit(run, lambda row: finish.decision(row, turns, fence, at))

    async def _begin(self, run: _Run, ahead: Wave) -> tuple[Attempt, ...]:
        """Let the debate go for a long wait, check the budget, and put the calls on record."""
        fence, at = run.hand.fence, iso(self._clock.now())
        if self._waits_elsewhere(run):
            until, tries = self._clock.now() + run.wait, tuple(run.tries.items())
            await self._commit(run, lambda row: moves.wait(row, fence, until, tries, at))
            return ()
        if limits.bounded(run.debate.limits):
            used, bounds = run.debate.usage, run.debate.limits
            cost, closing = self._estimates(run, ahead)
            reserve = closing and not schedule.is_last(run.debate, ahead)
            if not limits.fits(used, bounds, cost + closing if closing and reserve else cost):
                summary = closing is not None and limits.fits(used, bounds, closing)
                await self._commit(run, lambda row: moves.out_of_budget(row, fence, summary, at))
                return ()
        change = await self._commit(run, lambda row: moves.begin(row, fence, ahead.steps, at))
        return change.started

    def _waits_elsewhere(self, run: _Run) -> bool:
        """Whether a try is so far off that the debate is let go meanwhile."""
        return self._by_wave and run.wait > HOLD_SECONDS

    async def _pause(self, run: _Run) -> None:
        """Wait before another try; a wish or a lost lease cuts it short."""
        spread = run.wait * (1 + random.random() / 4)  # noqa: S311  many debates, not one instant
        run.wait = 0.0
        run.hand.nudged.clear()  # what it was set for is long dealt with
        try:
            async with asyncio.timeout(spread):
                await run.hand.nudged.wait()
        except TimeoutError:
            pass

    async def _trip(self, run: _Run, attempt: Attempt, bit: int, step: Step) -> None:
        """One call from its start to its turn, or to its failure."""
        asked = step.instruction if step.kind == "cue" else None
        speech = Speech(run.debate.id, step.round, step.stage, step.actor, step.target, [], asked)
        self._bus.begin(speech)
        try:
            await self._turn(run, attempt, bit, step, speech)
        finally:
            self._bus.cease(speech)

    async def _turn(
        self, run: _Run, attempt: Attempt, bit: int, step: Step, speech: Speech
    ) -> None:
        try:
            reply, text = await self._speak(run, attempt, step, speech)
        except ProviderError as error:
            self._take_back(speech)
            await self._failed(run, attempt, bit, step, error)
            return
        except BaseException:
            self._take_back(speech)
            raise
        failpoints.hit("spoken")
        at = iso(self._clock.now())
        key, fence = step.key, run.hand.fence
        spoken = Spoken(
            step=step,
            bit=bit,
            text=text,
            model=reply.model,
            started_at=attempt.started_at,
            usage=run.spent.pop(key, NO_USAGE) + reply.usage.with_calls(1),
            data=dict(reply.data) if reply.data is not None else None,
        )
        ended = Ended(attempt.n, "ok", at, model=reply.model, usage=reply.usage.with_calls(0))
        then = self._then(run.debate)
        change = await self._settled(
            run, ended, lambda row: moves.commit(row, fence, spoken, ended, at, then)
        )
        run.tries.pop(key, None)
        run.repairs.pop(key, None)
        run.begun += change.started
        run.ahead = change.ahead
        failpoints.hit("committed")

    def _then(self, debate: Debate) -> Then:
        """What follows the last turn of a wave, in the same transaction."""
        if self._by_wave:
            return "release"
        return "begin" if _plain(debate) else "nothing"

    async def _speak(
        self, run: _Run, attempt: Attempt, step: Step, speech: Speech
    ) -> tuple[Reply, str]:
        debate, seat = run.debate, run.debate.seat(step.actor)
        card = self._speaker.card(seat.model)
        window = run.windows.get(seat.id, card.window)
        messages, heard = prompts.render(step, debate, run.heard, window)
        wrong = run.repairs.get(step.key)
        if isinstance(wrong, ProviderShapeError):
            messages = prompts.repair(messages, wrong.said, wrong.problem)
        call = Call(
            model=seat.model,
            messages=messages,
            max_tokens=step.tokens or debate.limits.max_turn_tokens,
            seconds=step.seconds or debate.limits.max_turn_seconds,
            debate=debate,
            step=step,
            heard=heard,
            schema=prompts.schema(step, debate, _options(step, debate, run.heard.turns)),
            effort=step.effort,
            again=wrong is not None,
        )
        self._announce(speech)
        reply = await self._call_out(run, attempt, call, self._say(speech), speech.pieces)
        try:
            return self._read(run, step, reply, echoes=card.small and wrong is None)
        except ProviderError:
            raise
        except Exception as error:  # whatever a model says, it must not end the worker
            name = type(error).__name__
            log.error("an answer of %s could not be read: %s", reply.model, name)
            raise ProviderInvalidError(
                f"{seat.name} ({reply.model}) gave an answer that cannot be read ({name}).",
                **used(reply.usage),
            ) from None

    def _read(self, run: _Run, step: Step, reply: Reply, *, echoes: bool) -> tuple[Reply, str]:
        """What is kept of an answer; `echoes`: it may be one of what was said before."""
        debate, seat = run.debate, run.debate.seat(step.actor)
        _check_voice(run, seat, reply)
        if step.answer != "text":
            return self._shaped(step, reply, debate, run.heard.turns)
        others = [other.name for other in debate.seats if other.id != seat.id]
        text = clean(reply.text, seat.name, others, cut=reply.cut)
        if not text:
            raise ProviderEmptyError(
                f"{seat.name} ({reply.model}) gave an empty answer.", **used(reply.usage)
            )
        if echoes and step.kind == "speech" and echo.repeats(text, debate.motion, run.heard.turns):
            raise ProviderEchoError(
                f"{seat.name} ({reply.model}) said what was said before.", **used(reply.usage)
            )
        return reply, text

    def _shaped(
        self, step: Step, reply: Reply, debate: Debate, turns: Sequence[Turn]
    ) -> tuple[Reply, str]:
        """A structured answer, found, checked, and put into words."""
        name, shape = debate.seat(step.actor).name, debate.rules.shape(step.answer)
        try:
            found = reply.data if reply.data is not None else answers.find(reply.text)
            known = prompts.known(step, debate, _options(step, debate, turns))
            data = answers.read(step.answer, shape, visible(found), known)
            option = data.get("position")
            if isinstance(option, str) and option in {seat.name for seat in debate.seats}:
                raise ValueError("position: that is a role; it must be an answer to the problem")
        except ValueError as error:
            problem = f"{error}{'; it was cut by the token limit' if reply.cut else ''}"
            raise ProviderShapeError(
                f"{name} ({reply.model}) did not give the answer its shape: {problem}.",
                said=reply.text,
                problem=problem,
                **used(reply.usage),
            ) from None
        return replace(reply, data=data), clean(answers.spoken(shape, data), "", ())

    async def _call_out(
        self, run: _Run, attempt: Attempt, call: Call, say: Say, said: list[str]
    ) -> Reply:
        """The call itself: bounded in time, and called off when the debate is lost."""
        task, hand = asyncio.current_task(), run.hand
        if task is None:
            raise RuntimeError("a call is made from a task")
        flight = hand.enter(task, math.inf)

        def tell(until: float) -> None:
            flight.until = until

        patience = Patience(call, GRACE_SECONDS, tell)

        def hear(piece: str) -> None:
            patience.allow(call.seconds)
            say(piece)

        try:
            return await self._speaker.speak(replace(call, allow=patience.allow), hear)
        except asyncio.CancelledError:
            if flight.overdue or hand.lost:
                task.uncancel()
            if flight.overdue:
                guess = self._guess(call, said)
                raise ProviderTimeoutError(patience.late(), **used(guess)) from None
            await asyncio.shield(self._called_off(run, attempt, call, said))
            if hand.lost:
                raise FencedError(f"{run.debate.id} was called off") from None
            raise
        except ProviderError:
            raise
        except Exception as error:  # a speaker's own mistake must not end the worker
            name = type(error).__name__  # and its words may hold what nobody should read
            log.error("the speaker for %s failed: %s", call.model, name)
            guess = self._guess(call, said)  # it may have been made
            raise ProviderInvalidError(
                f"{call.model} could not be called ({name}).", **used(guess)
            ) from None
        finally:
            hand.leave(task)

    async def _called_off(self, run: _Run, attempt: Attempt, call: Call, said: list[str]) -> None:
        """Count what a cancelled call used, as far as one can tell."""
        usage = self._guess(call, said)
        ended = Ended(attempt.n, "cancelled", iso(self._clock.now()), usage=usage)
        await self._store.change(
            run.debate.id, lambda row: moves.settle(row, run.hand.fence, ended)
        )

    def _guess(self, call: Call, said: list[str]) -> Usage:
        return call.guess(self._speaker.card(call.model), "".join(said))

    async def _failed(
        self, run: _Run, attempt: Attempt, bit: int, step: Step, error: ProviderError
    ) -> None:
        """Try again later, pause for a person, or go on without this turn."""
        key, fence, at = step.key, run.hand.fence, iso(self._clock.now())
        tried = run.tries[key] = run.tries.get(key, 0) + 1
        usage = usage_of(error)
        run.spent[key] = run.spent.get(key, NO_USAGE) + replace(usage, calls=1)
        ended = Ended(attempt.n, "failed", at, error_code=error.code, usage=usage)
        log.info("%s: %s failed, try %d: %s", run.debate.id, step.actor, tried, error.code)
        decision = retry.decide(error, tried, key in run.repairs)
        if isinstance(error, ProviderShapeError | ProviderEchoError):
            run.repairs[key] = error
        if decision.wait is not None:
            run.wait = max(run.wait, decision.wait)
            if decision.shrink:
                self._shrink(run, step)
            await self._settled(run, ended, lambda row: moves.fail_attempt(row, fence, ended))
            return
        seat = run.debate.seat(step.actor)
        if _pauses(run.debate, step):
            failure = Failure(error.code, error.message, seat.id, seat.model, tried, at)
            await self._settled(run, ended, lambda row: moves.pause_for(row, fence, failure, ended))
            return
        spent = run.spent.pop(key)
        spoken = Spoken(
            step=step,
            bit=bit,
            text="",
            model=seat.model,
            started_at=attempt.started_at,
            usage=spent,
            data={"errorMessage": error.message},
            error_code=error.code,
        )
        then = self._then(run.debate)
        change = await self._settled(
            run, ended, lambda row: moves.commit(row, fence, spoken, ended, at, then)
        )
        run.begun += change.started
        run.ahead = change.ahead

    async def _give_up(self, run: _Run, bit: int, step: Step) -> None:
        """A step in which one worker after the other was lost: the failure rule decides."""
        fence, at, seat = run.hand.fence, iso(self._clock.now()), run.debate.seat(step.actor)
        lost = run.debate.losses
        log.warning("%s: %s is given up, %d workers were lost", run.debate.id, step.actor, lost)
        why = f"{lost} workers were lost one after another while {seat.name} spoke."
        if _pauses(run.debate, step):
            words = f"{why} Look into their logs for the reason, then restart the speaker."
            failure = Failure(LOST_CODE, words, seat.id, seat.model, lost, at)
            await self._commit(run, lambda row: moves.give_up(row, fence, failure, at))
            return
        spoken = Spoken(
            step, bit, "", seat.model, at, data={"errorMessage": why}, error_code=LOST_CODE
        )
        then = self._then(run.debate)
        change = await self._commit(
            run, lambda row: moves.commit(row, fence, spoken, None, at, then)
        )
        run.begun, run.ahead = change.started, change.ahead

    async def _settled(self, run: _Run, ended: Ended, move: Move) -> Change:
        """Write what came of a call; if it cannot be written, at least what the call cost."""
        fence = run.hand.fence
        try:
            return await self._commit(run, move)
        except FencedError:
            await self._store.change(run.debate.id, lambda row: moves.settle(row, fence, ended))
            raise
        except Exception:
            unkept = replace(ended, outcome="failed", error_code=StorageError.code)
            with suppress(MootError):
                if await self._is_open(run.debate.id, ended):
                    await self._store.change(
                        run.debate.id, lambda row: moves.settle(row, fence, unkept)
                    )
            raise

    async def _is_open(self, debate_id: str, ended: Ended) -> bool:
        """Whether a call's end is not on record: it may be, where only the reply to that was lost.

        The others of its wave may have been committed since, so the row alone cannot tell.
        """
        made = await self._store.attempts(debate_id)
        return any(one["n"] == ended.n and one["outcome"] in ("started", "unknown") for one in made)

    def _shrink(self, run: _Run, step: Step) -> None:
        seat = run.debate.seat(step.actor)
        window = run.windows.get(seat.id, self._speaker.card(seat.model).window)
        messages, _ = prompts.render(step, run.debate, run.heard, window)
        run.windows[seat.id] = min(window, prompts.size(messages)) // 2

    def _estimates(self, run: _Run, ahead: Wave) -> tuple[Estimate, Estimate | None]:
        """What the wave may take, and what a closing summary would, if one may still follow."""
        wave = limits.NOTHING
        for step in ahead.steps:
            wave = wave + self._estimate(run, step)
        if run.debate.status == "ending" or any(step.kind == "summary" for step in ahead.steps):
            return wave, None
        ending = replace(run.debate, status="ending", cursor=schedule.closing(run.debate))
        closing = schedule.plan(ending)
        if isinstance(closing, Finish):
            return wave, None
        return wave, self._estimate(run, closing.steps[0])

    def _estimate(self, run: _Run, step: Step) -> Estimate:
        card = self._speaker.card(run.debate.seat(step.actor).model)
        messages, _ = prompts.render(step, run.debate, run.heard, card.window)
        tokens_in = prompts.size(messages)
        tokens_out = step.tokens or run.debate.limits.max_turn_tokens
        cost = tokens_in * (card.input_price or 0.0) + tokens_out * (card.output_price or 0.0)
        return Estimate(tokens_in + tokens_out, cost)

    def _announce(self, speech: Speech) -> None:
        """Tell readers what the host is asked, before it says a word."""
        if speech.instruction and self._bus.listened(speech.debate_id):
            self._bus.publish(speech.so_far(iso(self._clock.now())))

    def _say(self, speech: Speech) -> Say:
        said = 0

        def say(piece: str) -> None:
            nonlocal said
            speech.pieces.append(piece)
            if self._bus.listened(speech.debate_id):
                self._bus.publish(self._delta(speech, piece, said))
            said += len(piece)

        return say

    def _take_back(self, speech: Speech) -> None:
        """What was heard of it will not stand: whoever listens begins it anew."""
        if speech.pieces and self._bus.listened(speech.debate_id):
            self._bus.publish(self._delta(speech, "", 0))

    def _delta(self, speech: Speech, text: str, offset: int) -> Delta:
        at = iso(self._clock.now())
        return Delta(
            speech.debate_id, speech.round, speech.stage, speech.actor, speech.target, text, at,
            offset,
        )  # fmt: skip

    async def _commit(self, run: _Run, move: Move) -> Change:
        """Write a change, and remember where the debate stands after it."""
        change = await self._change(run.debate.id, move)
        before = run.debate
        if _order(change.debate) >= _order(before):  # else a later one was heard of first
            run.debate = change.debate
        if run.debate.status in RUNNABLE and _round_over(before, run.debate):
            self._round_ended(run.debate.id)
        for event in change.events:
            if isinstance(event, TurnCommitted):
                run.heard.add(event.turn)
                if self._note:
                    self._note(run.debate.format, event.turn.status)
        return change

    async def _change(self, debate_id: str, move: Move) -> Change:
        change = await self._store.change(debate_id, move)
        publish.tell(self._bus, change.events)
        return change


def _check_voice(run: _Run, seat: Participant, reply: Reply) -> None:
    """The understudy does not step in for a model that has spoken: its server is gone."""
    if reply.model != UNDERSTUDY or seat.model == UNDERSTUDY:
        return
    voices = {turn.model for turn in run.heard.turns if turn.actor == seat.id and turn.text}
    if voices - {UNDERSTUDY}:
        raise ProviderUnavailableError(
            f"The local server that spoke for {seat.name} is gone. Start it again, or set "
            "MOOT_LOCAL_BASE_URL, then restart the speaker."
        )


def _round_over(before: Debate, after: Debate) -> bool:
    """Whether the last turn of a round was committed between the two."""
    return (
        after.turn_count > before.turn_count and after.cursor.next_round != before.cursor.next_round
    )


def _order(debate: Debate) -> tuple[int, int, int, int]:
    """Which of two states of a debate came first, of those that one worker brings about."""
    return debate.fence, debate.last_seq, debate.usage.calls, -debate.open_calls


def _stalled(trouble: Exception, at: str) -> Failure:
    """Why a debate came no further, for whoever reads of it."""
    if isinstance(trouble, StorageError) and not isinstance(trouble, DuplicateError):
        return Failure(trouble.code, trouble.message, "", "", moves.MAX_STALLS, at)
    words = (
        f"moot tried {moves.MAX_STALLS} times to advance this debate and came no further, because "
        f"of a mistake in moot itself ({_name(trouble)}). What was said is kept. The log has the "
        "details; please report them."
    )
    return Failure(StateError.code, words, "", "", moves.MAX_STALLS, at)


def _name(trouble: Exception) -> str:
    """An error by its kind alone: its words may hold what nobody should read."""
    return str(trouble) if isinstance(trouble, MootError) else type(trouble).__name__


def _plain(debate: Debate) -> bool:
    """Whether a wave may begin with the claim, or the commit of the last, unlooked at before."""
    return not limits.bounded(debate.limits) and debate.rules.result is None


def _options(step: Step, debate: Debate, turns: Sequence[Turn]) -> list[str]:
    """The options that a step chooses from, if it is a choice."""
    if step.answer == "text" or not any(debate.rules.shape(step.answer).options_from()):
        return []
    return stated(debate.rules, turns)


def _pauses(debate: Debate, step: Step) -> bool:
    """Whether the debate waits for a person if this step fails: its stage may say so itself."""
    return (step.on_failure or debate.on_failure) == "pause" and debate.status != "ending"
