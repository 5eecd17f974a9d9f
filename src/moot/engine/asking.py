"""Answers questions about debates that have ended: on record before each call and after, once for
each key, and beside the debate, of which nothing changes."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from moot.core import effort, followups, limits, prompts, retry, voices
from moot.core.change import Ended
from moot.core.clean import clean
from moot.core.debate import NO_USAGE, Debate, Turn, Usage
from moot.core.followups import MAX_TOKENS, Answer, Followup
from moot.core.limits import Estimate
from moot.core.prompts import Message
from moot.core.times import iso
from moot.engine import failpoints
from moot.engine.calls import Patience, usage_of, used
from moot.engine.reporting import billed
from moot.errors import (
    BudgetError,
    CancelledError,
    MootError,
    ProviderEmptyError,
    ProviderError,
    ProviderInvalidError,
    ProviderTimeoutError,
    StateError,
)
from moot.ports.debate_files import Records
from moot.ports.debate_store import FollowupRow, Once, Store
from moot.ports.instruments import Clock
from moot.ports.model_call import Call, Reply, Say, Speaker

log = logging.getLogger(__name__)

SECONDS = 60.0  # of silence
GRACE_SECONDS = 2.0
LEASE_SECONDS = limits.WHOLE * SECONDS + retry.LONGEST_WAIT + 20
"""For one call, the wait before it included: then another process may take the question."""
AT_ONCE = 4  # questions that one process has answered at a time
MOST_CALLS = 8
"""Calls after which nobody makes another for a question, however they ended."""
LOOK_SECONDS = 0.2


class TakenError(StateError):
    """Another process has the question in hand."""


@dataclass(slots=True)
class _Job:
    """One question, while it is answered here."""

    debate: Debate
    turns: list[Turn]
    before: list[Followup]
    row: FollowupRow
    say: Say
    window: int = 0  # 0: the model's
    tried: int = 0  # calls of this process that failed
    wrong: tuple[str, str] | None = None  # the answer whose citations failed, and which
    kept: tuple[Answer, str] | None = None  # the same, with these marked, and its model

    @property
    def asked(self) -> Followup:
        return self.row.followup


class Asker:
    """One per process."""

    def __init__(
        self,
        store: Store,
        records: Records,
        speaker: Speaker,
        clock: Clock,
        owner: str,
        is_dead: Callable[[str], bool],
    ) -> None:
        self._store = store
        self._records = records
        self._speaker = speaker
        self._clock = clock
        self._owner = owner
        self._is_dead = is_dead
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._closed = False

    async def ask(
        self, debate: Debate, question: str, model: str, once: Once | None, say: Say
    ) -> Followup:
        """Answer a question, or say what came of it if it came before. If the caller is cancelled,
        so is the call."""
        debate, turns = await billed(self._store, debate), await self._store.turns(debate.id)
        if len(turns) < debate.turn_count:
            await self._store.load(debate.id)  # raises NotFoundError if it was deleted meanwhile
        followups.check(debate, turns)
        asked = Followup(0, followups.question(question), model, "asking", asked_at=self._now())
        known = [row.followup for row in await self._store.followups(debate.id)]
        ahead = await asyncio.to_thread(self._ahead, debate, turns, asked, known)

        def make(row: Debate, rows: Sequence[FollowupRow]) -> FollowupRow:
            followups.check(row, turns)
            if len(rows) >= followups.MOST:
                raise StateError(
                    f"{followups.MOST} questions were asked about this debate already."
                )
            whole = row.but(writing=debate.writing)
            _check_budget(whole, [one.followup for one in rows], ahead)
            card = self._speaker.card(effort.bare(asked.model))
            priced, number = voices.priced(card), len(rows) + 1
            numbered = replace(asked, number=number, unpriced=not priced, local=card.local)
            return self._mine(FollowupRow(debate.id, numbered, began=asked.asked_at))

        row, new = await self._store.ask(debate.id, make, once)
        number = row.followup.number
        if new:
            self._begin(_Job(debate, turns, known, row, say))
        try:
            return await self._ended(debate.id, number)
        except asyncio.CancelledError:
            if new and (task := self._tasks.get((debate.id, number))) and not self._closed:
                task.cancel("called off")
                await asyncio.wait((task,))
            raise

    async def look(self) -> None:
        """Go on with what a dead process left, and file what is not filed."""
        now = self._clock.now()
        for row in await self._store.followups_left():
            if row.followup.status != "asking":
                await self._file(row.debate_id)
            elif row.until <= now or (row.owner and self._is_dead(row.owner)):
                await self._take(row)

    async def close(self) -> None:
        """Let go of what is under way: another process, or the next start, goes on with it."""
        self._closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- one question ---

    def _begin(self, job: _Job) -> None:
        place = (job.debate.id, job.asked.number)
        task = asyncio.create_task(self._answer(job), name=f"moot-ask-{job.debate.id}")
        self._tasks[place] = task
        task.add_done_callback(lambda _: self._tasks.pop(place, None))

    async def _ended(self, debate_id: str, number: int) -> Followup:
        """Wait for it, whichever process answers it."""
        while True:
            if task := self._tasks.get((debate_id, number)):
                await asyncio.wait((task,))
            rows = await self._store.followups(debate_id)
            found = next((one for one in rows if one.followup.number == number), None)
            if found is None:
                raise StateError("The debate was deleted meanwhile.")
            if found.followup.status != "asking" or self._closed:
                return found.followup
            if found.until <= self._clock.now() or (found.owner and self._is_dead(found.owner)):
                await self._take(found)
            await asyncio.sleep(LOOK_SECONDS)

    async def _take(self, row: FollowupRow) -> None:
        """Go on with a question whose process is gone: its call is on record as one of which
        nobody knows how it ended."""
        if self._closed or (row.debate_id, row.followup.number) in self._tasks:
            return
        lost = Ended(row.attempt, "unknown", self._now())
        try:
            debate = await billed(self._store, await self._store.load(row.debate_id))
            turns = await self._store.turns(row.debate_id)
            if row.tries >= MOST_CALLS:
                await self._settle(row, lambda one: _failed(one, _LostError(), self._now()), lost)
                return
            place = row.debate_id, row.followup.number
            mine = await self._store.change_followup(
                *place,
                lambda one: self._mine(replace(_same(one, row), began=self._now())),
                lost,
                call=True,
            )
        except TakenError as reason:
            log.debug("%s", reason)
            return
        before = [one.followup for one in await self._store.followups(row.debate_id)]
        earlier = [one for one in before if one.number < row.followup.number]
        self._begin(_Job(debate, turns, earlier, mine, lambda _: None))

    async def _answer(self, job: _Job) -> None:
        async with self._room:
            try:
                while await self._call(job):
                    pass
            except TakenError as reason:
                log.debug("%s", reason)
            except MootError as error:
                log.warning("a question about %s: %s", job.debate.id, error)
            except Exception as error:  # a fault of ours; its words may hold what was said
                log.error("a question about %s: %s", job.debate.id, type(error).__name__)
                fault = ProviderInvalidError(f"The answer failed ({type(error).__name__}).")
                await self._end(job, fault, NO_USAGE)

    async def _call(self, job: _Job) -> bool:
        """One call, which is on record; says whether another is to follow, which then is too."""
        call = await asyncio.to_thread(self._prompted, job)
        heard: list[str] = []
        try:
            reply = await self._speak(call, heard, job.say)
            found = self._read(job, reply)
        except asyncio.CancelledError as stop:
            off = "called off" in stop.args
            guess = self._guess(call, heard)
            await asyncio.shield(self._called_off(job, guess, off=off))
            raise
        except ProviderError as error:
            return await self._again(job, call, error)
        usage = reply.usage.with_calls(1)
        if found.failed and job.kept is None and not reply.cut and self._affords(job, call, usage):
            job.kept = found, reply.model
            job.wrong = reply.text, followups.problem(found.failed)
            await self._more(job, Ended(job.row.attempt, "ok", self._now(), model=reply.model,
                                        usage=usage))  # fmt: skip
            return True
        if job.kept and len(found.failed) > len(job.kept[0].failed):
            found = job.kept[0]
        failpoints.hit("answered")
        await self._settle(
            job.row,
            lambda row: replace(
                row,
                followup=followups.answered(_with(row, usage), found, reply.model, self._now()),
            ),
            Ended(job.row.attempt, "ok", self._now(), model=reply.model, usage=usage),
        )
        return False

    def _prompted(self, job: _Job) -> Call:
        return self._call_of(job.debate, job.turns, job.asked, job.before, job.window, job.wrong)

    def _call_of(
        self,
        debate: Debate,
        turns: Sequence[Turn],
        asked: Followup,
        before: Sequence[Followup],
        window: int = 0,
        wrong: tuple[str, str] | None = None,
    ) -> Call:
        model, hard = effort.bare(asked.model), effort.known(asked.model)[1]
        card = self._speaker.card(model)
        thinking = limits.thinking(hard, card.least, card.window)
        room = min(window or card.window, card.window) - thinking.tokens
        messages: tuple[Message, ...] = followups.prompt(debate, turns, asked, before, room)
        if wrong:
            messages = prompts.requote(messages, *wrong, shaped=False)
        step = replace(followups.step(asked), actor=debate.seats[0].id)  # for a speaker that reads
        return Call(
            model=model, messages=messages, max_tokens=MAX_TOKENS, seconds=SECONDS, debate=debate,
            step=step, heard=tuple(turns), effort=hard, again=wrong is not None,
        )  # fmt: skip

    def _ahead(
        self, debate: Debate, turns: list[Turn], asked: Followup, known: Sequence[Followup]
    ) -> Estimate:
        return self._most(self._call_of(debate, turns, asked, known))

    def _most(self, call: Call) -> Estimate:
        """What the call may take at the most."""
        card = self._speaker.card(call.model)
        thinking = limits.thinking(call.effort, card.least, card.window)
        asked, told = prompts.size(call.messages), call.max_tokens + thinking.tokens
        cost = asked * (card.input_price or 0.0) + told * (card.output_price or 0.0)
        bounds = call.debate.limits
        if bounds.max_cost_usd is not None and not (voices.priced(card) or bounds.allow_unpriced):
            raise BudgetError(
                f"The price of {card.model} is not known, so the debate's max_cost_usd cannot be "
                "kept. Ask a model with a known price."
            )
        return Estimate(asked + told, cost)

    def _affords(self, job: _Job, call: Call, usage: Usage) -> bool:
        """Whether another call fits, after one that took that much."""
        if job.row.tries >= MOST_CALLS:
            return False
        used_ = replace(job.asked, usage=job.asked.usage + usage)
        try:
            _check_budget(job.debate, [*job.before, used_], self._most(call))
        except BudgetError:
            return False
        return True

    async def _speak(self, call: Call, heard: list[str], say: Say) -> Reply:
        late = ""
        try:
            async with asyncio.timeout(None) as limit:

                def tell(until: float) -> None:
                    limit.reschedule(until if math.isfinite(until) else None)

                patience = Patience(call, GRACE_SECONDS, tell)

                def hear(piece: str) -> None:
                    patience.allow(call.seconds)
                    heard.append(piece)
                    say(piece)

                try:
                    return await self._speaker.speak(replace(call, allow=patience.allow), hear)
                finally:
                    late = patience.late()
        except TimeoutError:
            raise ProviderTimeoutError(late, **used(self._guess(call, heard))) from None
        except (asyncio.CancelledError, ProviderError):
            raise
        except Exception as error:  # a speaker's own mistake; its words may hold what was said
            name = type(error).__name__
            log.error("the speaker for %s failed: %s", call.model, name)
            raise ProviderInvalidError(
                f"{call.model} could not be called ({name}).", **used(self._guess(call, heard))
            ) from None

    def _read(self, job: _Job, reply: Reply) -> Answer:
        text = clean(reply.text, "", (), cut=reply.cut)
        if not text:
            raise ProviderEmptyError(f"{reply.model} gave an empty answer.", **used(reply.usage))
        return followups.checked(job.debate, job.turns, text)

    def _guess(self, call: Call, heard: Sequence[str]) -> Usage:
        return call.guess(self._speaker.card(call.model), "".join(heard))

    # --- what is on record ---

    async def _again(self, job: _Job, call: Call, error: ProviderError) -> bool:
        job.tried += 1
        usage = usage_of(error, calls=1)
        decision = retry.decide(error, job.tried)
        if job.kept:  # its citations were wrong, and it stands with these marked
            found, model = job.kept
            await self._settle(
                job.row,
                lambda row: replace(
                    row, followup=followups.answered(_with(row, usage), found, model, self._now())
                ),
                Ended(job.row.attempt, "failed", self._now(), error.code, usage=usage),
            )
            return False
        if decision.wait is None or not self._affords(job, call, usage):
            await self._end(job, error, usage)
            return False
        if error.shorter:
            size = prompts.size(call.messages) + call.max_tokens
            job.window = min(job.window or size, size) // 2
        ended = Ended(job.row.attempt, "failed", self._now(), error.code, usage=usage)
        await asyncio.sleep(decision.wait)
        await self._more(job, ended)
        return True

    async def _more(self, job: _Job, ended: Ended) -> None:
        """The end of a call, and the beginning of the next one."""
        job.row = await self._store.change_followup(
            job.debate.id,
            job.asked.number,
            lambda row: self._mine(
                replace(_same(row, job.row), followup=_with(row, ended.usage), began=self._now())
            ),
            ended,
            call=True,
        )

    async def _end(self, job: _Job, error: MootError, usage: Usage) -> None:
        """There is no answer."""
        ended = Ended(job.row.attempt, "failed", self._now(), error.code, usage=usage)
        await self._settle(
            job.row,
            lambda row: _failed(replace(row, followup=_with(row, usage)), error, self._now()),
            ended,
        )

    async def _called_off(self, job: _Job, usage: Usage, *, off: bool) -> None:
        """Count what a cancelled call used; the question is over, or waits for another process."""
        ended = Ended(job.row.attempt, "cancelled", self._now(), usage=usage.with_calls(1))

        def move(row: FollowupRow) -> FollowupRow:
            counted = replace(row, followup=_with(row, ended.usage))
            if off:
                return _failed(counted, CancelledError("It was called off."), self._now())
            return replace(counted, until=0.0, owner=None)

        if off:
            await self._settle(job.row, move, ended)
        else:
            await self._change(job.row, move, ended)

    async def _settle(
        self, row: FollowupRow, move: Callable[[FollowupRow], FollowupRow], ended: Ended
    ) -> None:
        """Write what came of it, then its file."""
        await self._change(
            row, lambda one: replace(move(one), until=0.0, owner=None, filed=False), ended
        )
        await self._file(row.debate_id)

    async def _change(
        self, row: FollowupRow, move: Callable[[FollowupRow], FollowupRow], ended: Ended
    ) -> None:
        place = row.debate_id, row.followup.number
        try:
            await self._store.change_followup(*place, lambda one: move(_same(one, row)), ended)
        except TakenError:  # what was spent is counted, whoever has it by now
            if ended.usage != NO_USAGE:
                await self._store.change_followup(
                    *place, lambda one: replace(one, followup=_with(one, ended.usage)), ended
                )
            raise

    async def _file(self, debate_id: str) -> None:
        rows = [row.followup for row in await self._store.followups(debate_id)]
        over = [one for one in rows if one.status != "asking"]
        if over:
            await asyncio.to_thread(self._records.keep_followups, debate_id, over)
            await self._store.followups_filed(debate_id, [one.number for one in over])

    def _mine(self, row: FollowupRow) -> FollowupRow:
        """Taken by this process, for as long as a call may take."""
        hard = effort.known(row.followup.model)[1] or "none"
        thinks = limits.THINKING.get(hard, limits.NO_THINKING).seconds
        return replace(row, owner=self._owner, until=self._clock.now() + LEASE_SECONDS + thinks)

    def _now(self) -> str:
        return iso(self._clock.now())


class _LostError(StateError):
    def __init__(self) -> None:
        super().__init__(f"Nobody came to the end of this answer in {MOST_CALLS} calls.")


def _same(row: FollowupRow, mine: FollowupRow) -> FollowupRow:
    """Whoever was away for longer than the lease has lost it."""
    if row.attempt != mine.attempt or row.followup.status != "asking":
        raise TakenError(f"A question about {row.debate_id} was taken by another process.")
    return row


def _with(row: FollowupRow, usage: Usage) -> Followup:
    return replace(row.followup, usage=row.followup.usage + usage)


def _failed(row: FollowupRow, error: MootError, at: str) -> FollowupRow:
    sentence = error.message.replace("Restart the speaker to try again.", "Ask again.")
    sentence = sentence.replace("restart the speaker", "ask again")
    sentence = sentence.replace("Restart the speaker", "Ask again")
    ended = replace(
        row.followup, status="failed", error_code=error.code, error=sentence, answered_at=at
    )
    return replace(row, followup=ended)


def _check_budget(debate: Debate, asked: Sequence[Followup], ahead: Estimate) -> None:
    """Raises BudgetError if the debate's budget has no room for it, beside all that was spent."""
    if not limits.bounded(debate.limits):
        return
    spent = sum((one.usage for one in asked), debate.spent)
    if not limits.fits(spent, debate.limits, ahead):
        raise BudgetError(
            "The budget of this debate has no room for an answer. Ask a model that costs less or, "
            "if its tokens are used up, run it again with a larger budget."
        )
