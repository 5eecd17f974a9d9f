"""Carries a debate on: claim → plan → speak → commit → go on."""

import asyncio
import logging
import math
import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from moot.core import council, echo, limits, moves, prompts, retry, schedule, shapes
from moot.core.change import (
    Attempt,
    Change,
    Ended,
    FencedError,
    Move,
    NotClaimedError,
    Spoken,
)
from moot.core.clean import clean, visible
from moot.core.debate import NO_USAGE, Debate, Failure, Participant, Turn, Usage
from moot.core.events import Delta, Speech, StatusChanged, TurnCommitted
from moot.core.limits import Estimate
from moot.core.moves import Then
from moot.core.prompts import Heard
from moot.core.schedule import Finish, Slot, Step, Wave
from moot.core.status import RUNNABLE
from moot.core.times import iso
from moot.core.transcript import UNDERSTUDY
from moot.engine import failpoints, finish, news
from moot.engine.calls import Patience, usage_of, used
from moot.engine.lease import Hand, Keeper, is_dead
from moot.engine.recall import Recall
from moot.errors import (
    PacketError,
    ProviderEchoError,
    ProviderEmptyError,
    ProviderError,
    ProviderInvalidError,
    ProviderShapeError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    StorageError,
)
from moot.ports import Bus, Call, Clock, Records, Reply, Say, Speaker, Store

log = logging.getLogger(__name__)

LOST_CODE = ProviderUnavailableError.code
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
    tries: dict[Slot, int] = field(default_factory=dict[Slot, int])
    spent: dict[Slot, Usage] = field(default_factory=dict[Slot, Usage])
    repairs: dict[Slot, ProviderError] = field(default_factory=dict[Slot, ProviderError])
    windows: dict[str, int] = field(default_factory=dict[str, int])  # that proved smaller, by seat
    wait: float = 0.0  # before the next try

    @classmethod
    def of(cls, hand: Hand, claimed: Change, heard: Heard) -> "_Run":
        debate = claimed.debate
        return cls(hand, debate, heard, claimed.started, claimed.ahead, dict(debate.tries))


class Advancer:
    """One per process: it may have any number of debates in hand at once.

    By itself it carries a debate on until it halts. `by_wave`, it lets it go after each wave, and
    for long waits, so that whoever has room takes the next. `deaths` is how many workers may be
    lost in one step before it is given up.
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
        deaths: int | None = None,
    ) -> None:
        self._by_wave = by_wave
        self._recall = Recall()
        self._deaths = deaths
        self._last_chance = asyncio.Lock()
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
            claimed, turns = await self._store.claim(
                debate_id, lambda row: self._claim(row, place), known
            )
        except NotClaimedError as reason:
            log.info("%s was not claimed: %s", debate_id, reason)
            return None
        news.tell(self._bus, claimed.events)
        failpoints.hit("claimed")
        hand = self._keeper.hold(debate_id, claimed.debate.fence)
        run = _Run.of(hand, claimed, heard if heard and turns is None else Heard(turns or ()))
        try:
            if turns is not None:
                await self._check(run, turns)
            while self._goes_on(run):
                async with self._room(run.debate):
                    if self._goes_on(run):  # it may have waited
                        await self._next(run)
        except FencedError as reason:
            log.debug("let go: %s", reason)
        finally:
            self._keeper.drop(hand)
            if run.debate.lease_owner is not None:
                at = iso(self._clock.now())
                with suppress(StorageError):  # then the lease runs out by itself
                    await self._release(run, at)
            failpoints.hit("released")
        if self._by_wave and run.debate.status in RUNNABLE and not hand.lost:
            self._recall.keep(run.debate, run.heard)
        return run.debate

    def _goes_on(self, run: _Run) -> bool:
        mine = run.debate.lease_owner is not None
        return run.debate.status in RUNNABLE and mine and not run.hand.lost

    def _room(self, debate: Debate) -> AbstractAsyncContextManager[Any]:
        """For the last chance of a step that workers were lost in: it is spoken beside none that is
        at its last chance too. So what kills the next one is told from what was only near it."""
        last = self._deaths and debate.deaths >= self._deaths - 1 > 0
        return self._last_chance if last else nullcontext()

    async def _release(self, run: _Run, at: str) -> None:
        change = await self._change(
            run.debate.id, lambda row: moves.release(row, run.hand.fence, at)
        )
        run.debate = change.debate

    def _claim(self, debate: Debate, place: str | None) -> Change:
        now = self._clock.now()
        at = iso(now)
        claimed = moves.claim(
            debate,
            owner=self._keeper.owner,
            now=now,
            lease=self._keeper.lease_seconds,
            at=at,
            dead=is_dead,
            place=place,
        )
        at_once = _plain(debate) and not claimed.debate.deaths
        return moves.set_out(claimed, at) if at_once else claimed

    async def _check(self, run: _Run, turns: list[Turn]) -> None:
        """See that the cursor follows from what was said before."""
        debate = run.debate
        if schedule.rebuild(debate, turns) != debate.cursor or len(turns) != debate.turns:
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
        if self._deaths and run.debate.deaths:  # to see whose fault it is
            ahead = schedule.alone(ahead)
            if run.debate.deaths >= self._deaths:
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
        steps = {
            step.slot: (bit, step) for bit, step in zip(ahead.places, ahead.steps, strict=True)
        }
        trips = [self._trip(run, attempt, *steps[attempt.step.slot]) for attempt in begun]
        results = await asyncio.gather(*trips, return_exceptions=True)
        for error in results:
            if isinstance(error, BaseException):
                raise error

    async def _reach(self, run: _Run) -> bool:
        """Log the phases that a council has been through; False if one of them was silent."""
        debate, fence, at = run.debate, run.hand.fence, iso(self._clock.now())
        due = council.phases_due(debate, run.heard.turns, at)
        if not due:
            return True
        if not council.silent(debate, due):
            await self._commit(run, lambda row: moves.reach(row, fence, due, at))
            return True
        codes = [turn.error_code for turn in run.heard.turns if turn.error_code]
        failure = Failure(
            codes[-1],
            f"None of the roles could speak in {due[-1].state}, so there is nothing to decide on.",
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
            ending = finish.decision(run.debate, turns, fence, at)
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
        """Wait if a try failed, check the budget, and put the calls on record."""
        fence, at = run.hand.fence, iso(self._clock.now())
        if self._by_wave and run.wait > HOLD_SECONDS:
            until, tries = self._clock.now() + run.wait, tuple(run.tries.items())
            await self._commit(run, lambda row: moves.wait(row, fence, until, tries, at))
            return ()
        if run.wait:
            await self._pause(run)
            at = iso(self._clock.now())
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
        slot, fence = step.slot, run.hand.fence
        spoken = Spoken(
            step=step,
            bit=bit,
            text=text,
            model=reply.model,
            started_at=attempt.started_at,
            usage=run.spent.pop(slot, NO_USAGE) + reply.usage.with_calls(1),
            data=dict(reply.data) if reply.data is not None else None,
        )
        ended = Ended(attempt.n, "ok", at, model=reply.model, usage=reply.usage.with_calls(0))
        then = self._then(run.debate)
        change = await self._settled(
            run, ended, lambda row: moves.commit(row, fence, spoken, ended, at, then)
        )
        run.tries.pop(slot, None)
        run.repairs.pop(slot, None)
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
        wrong = run.repairs.get(step.slot)
        if isinstance(wrong, ProviderShapeError):
            messages = prompts.repair(messages, wrong.said, wrong.problem)
        call = Call(
            model=seat.model,
            messages=messages,
            max_tokens=debate.limits.max_turn_tokens,
            seconds=debate.limits.max_turn_seconds,
            debate=debate,
            step=step,
            heard=heard,
            schema=prompts.schema(step, debate),
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
            return self._shaped(step, reply, debate)
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

    def _shaped(self, step: Step, reply: Reply, debate: Debate) -> tuple[Reply, str]:
        """A structured answer, found, checked, and put into words."""
        name = debate.seat(step.actor).name
        try:
            found = reply.data if reply.data is not None else shapes.find(reply.text)
            aimed_at = prompts.target(step, debate)
            data = shapes.read(step.answer, visible(found), aimed_at)
            if data.get("position") in {seat.name for seat in debate.seats}:
                raise ValueError("position: that is a role; it must be an answer to the problem")
        except ValueError as error:
            problem = f"{error}{'; it was cut by the token limit' if reply.cut else ''}"
            raise ProviderShapeError(
                f"{name} ({reply.model}) did not give the answer its shape: {problem}.",
                said=reply.text,
                problem=problem,
                **used(reply.usage),
            ) from None
        return replace(reply, data=data), clean(shapes.spoken(step.answer, data), "", ())

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
        slot, fence, at = step.slot, run.hand.fence, iso(self._clock.now())
        tried = run.tries[slot] = run.tries.get(slot, 0) + 1
        usage = usage_of(error)
        run.spent[slot] = run.spent.get(slot, NO_USAGE) + replace(usage, calls=1)
        ended = Ended(attempt.n, "failed", at, error_code=error.code, usage=usage)
        log.info("%s: %s failed, try %d: %s", run.debate.id, step.actor, tried, error.code)
        decision = retry.decide(error, tried, slot in run.repairs)
        if isinstance(error, ProviderShapeError | ProviderEchoError):
            run.repairs[slot] = error
        if decision.wait is not None:
            run.wait = max(run.wait, decision.wait)
            if decision.shrink:
                self._shrink(run, step)
            await self._settled(run, ended, lambda row: moves.fail_attempt(row, fence, ended))
            return
        seat = run.debate.seat(step.actor)
        if run.debate.on_failure == "pause" and run.debate.status != "ending":
            failure = Failure(error.code, error.message, seat.id, seat.model, tried, at)
            await self._settled(run, ended, lambda row: moves.pause_for(row, fence, failure, ended))
            return
        spent = run.spent.pop(slot)
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
        """A step in which one worker after the other was lost becomes a failed turn."""
        fence, at, seat = run.hand.fence, iso(self._clock.now()), run.debate.seat(step.actor)
        lost = run.debate.deaths
        log.warning("%s: %s is given up, %d workers were lost", run.debate.id, step.actor, lost)
        why = f"{lost} workers were lost while {seat.name} spoke, so the turn was given up."
        spoken = Spoken(
            step, bit, "", seat.model, at, data={"errorMessage": why}, error_code=LOST_CODE
        )
        then = self._then(run.debate)
        change = await self._commit(
            run, lambda row: moves.commit(row, fence, spoken, None, at, then)
        )
        run.begun, run.ahead = change.started, change.ahead

    async def _settled(self, run: _Run, ended: Ended, move: Move) -> Change:
        """Write what came of a call; if the debate is somebody else's by now, only its cost."""
        try:
            return await self._commit(run, move)
        except FencedError:
            fence = run.hand.fence
            await self._store.change(run.debate.id, lambda row: moves.settle(row, fence, ended))
            raise

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
        tokens_in, tokens_out = prompts.size(messages), run.debate.limits.max_turn_tokens
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
        run.debate = change.debate
        for event in change.events:
            if isinstance(event, TurnCommitted):
                run.heard.add(event.turn)
                if self._note:
                    self._note(run.debate.format, event.turn.status)
        return change

    async def _change(self, debate_id: str, move: Move) -> Change:
        change = await self._store.change(debate_id, move)
        news.tell(self._bus, change.events)
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


def _plain(debate: Debate) -> bool:
    """Whether a wave may begin with the claim, or the commit of the last, unlooked at before."""
    return not limits.bounded(debate.limits) and debate.rules.outcome != "packet"
