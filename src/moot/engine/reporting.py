"""Reports by a model: on record before each call and after, paid once, and never in the way.

Every debate is filed with a report by extraction first. Where a model is to write it, that is
noted in the same transaction; whoever takes it then makes it, and the files are written again.
"""

import asyncio
import logging
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from moot.core import answers, effort, limits, prompts, retry, voices
from moot.core.clean import visible
from moot.core.debate import NO_USAGE, Debate, Turn, Usage
from moot.core.limits import Estimate
from moot.core.prompts import Message
from moot.core.quoting import Shelf
from moot.core.schedule import Step
from moot.core.status import FINAL, POSSIBLE
from moot.core.times import iso
from moot.core.voices import OWN, UNDERSTUDY, Card
from moot.engine import failpoints
from moot.engine.calls import Patience, usage_of, used
from moot.engine.finish import Filer
from moot.errors import (
    InputError,
    MootError,
    ProviderError,
    ProviderInvalidError,
    ProviderShapeError,
    ProviderTimeoutError,
    StateError,
    StorageError,
)
from moot.ports.debate_store import ReportRow, ReportState, Store
from moot.ports.instruments import Clock
from moot.ports.model_call import Call, Reply, Speaker
from moot.render import reading, report
from moot.render.reading import Read, Reading, Unread

log = logging.getLogger(__name__)

SECONDS = 120.0  # for one call
GRACE_SECONDS = 2.0  # until a speaker that does not keep its own deadline is cut off
LEASE_SECONDS = SECONDS + retry.LONGEST_WAIT + 20
"""For one try, its wait included: then another may take it."""
AT_ONCE = 4  # reports that one process has made at a time
MOST_TRIES = 20
"""Calls after which nobody begins another unasked: it may be the report that workers die of."""


class TakenError(StateError):
    """Somebody else has the report in hand."""


@dataclass(slots=True)
class _Job:
    """One report in the making."""

    debate: Debate
    turns: list[Turn]
    model: str
    row: ReportRow
    otherwise: ReportState  # how it stands if this is called off
    before: Usage  # of all calls that were on record when it was taken
    window: int = 0  # 0: the model's
    asked: Usage = NO_USAGE  # by questions about the debate, which its budget includes
    spent: Usage = NO_USAGE  # by this making
    owed: Usage = NO_USAGE  # of that, what is not on record yet
    card: Card | None = None  # of the model, once it is known
    wrong: ProviderShapeError | None = None

    def unread(self, reason: Literal["budget", "failed"]) -> Unread:
        """That nothing came of it, and what that took."""
        card, used = self.card, reading.rounded(self.row.usage + self.owed)
        unpriced = (card.model,) if card and not voices.priced(card) else ()
        return Unread(reason, used, unpriced, local=card is not None and card.local)

    def quoted(self, found: Any) -> Any:
        """What was written, with each quote that is not word for word marked as such."""
        if not self.debate.rules.checks_quotes:
            return found
        said = {turn.number: [turn.text] for turn in self.turns if turn.status == "ok"}
        return Shelf(self.debate.sources, said).checked(found).value

    @property
    def messages(self) -> tuple[Message, ...]:
        asked = reading.prompt(self.debate, self.turns, self.window)
        wrong = self.wrong
        return prompts.repair(asked, wrong.said, wrong.problem) if wrong else asked


class Reporter:
    """One per process. `model` writes the reports, unless another is named; None: nobody does;
    OWN: one of the debate's own models. Lists are told whose cost has grown by `tell`."""

    def __init__(
        self,
        store: Store,
        filer: Filer,
        speaker: Speaker,
        clock: Clock,
        model: str | None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._filer = filer
        self._speaker = speaker
        self._clock = clock
        self._model = model
        self._tell = tell
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closed = False

    # --- beside the debates ---

    def begin(self, debate_id: str) -> None:
        """Make the report of a debate that was filed, if a model is to; without waiting for it."""
        if self._model:
            self._begin(debate_id)

    async def look(self) -> None:
        """Begin what is wanted and nobody is at: its process died, or had no time."""
        for debate_id in await self._store.wanted_reports(self._clock.now()):
            self._begin(debate_id)

    async def idle(self, debate_id: str) -> None:
        """Wait until nothing of this report is under way here."""
        if task := self._tasks.get(debate_id):
            await asyncio.wait((task,))

    async def close(self) -> None:
        """Let go of what is under way: it is wanted still."""
        self._closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, debate_id: str) -> None:
        if self._closed or debate_id in self._tasks:
            return
        task = asyncio.create_task(self._wanted(debate_id), name=f"moot-report-{debate_id}")
        self._tasks[debate_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(debate_id, None))

    async def _wanted(self, debate_id: str) -> None:
        """Make one that is wanted. Whatever happens, the debate and its files stay as they are."""
        async with self._room:
            try:
                row = (await self._store.reports([debate_id])).get(debate_id)
                if row and row.state == "making" and row.until <= self._clock.now():
                    await self._make(debate_id, row.model, asked=False)
            except TakenError as reason:
                log.debug("%s", reason)
            except MootError as error:
                log.warning("the report of %s was not made: %s", debate_id, error)
            except Exception as error:  # a fault of ours; its words may hold what was said
                log.error("the report of %s was not made: %s", debate_id, type(error).__name__)

    # --- one report ---

    async def make(self, debate_id: str, model: str | None = None) -> dict[str, Any]:
        """Make the report anew, and its files. Raises what went wrong, with all as it was before.

        By `model`, else by the one that is set, else by extraction; what a model has written stays
        until another writes, or `model` names one that is none. A debate's own model, which nobody
        has named, is not paid to write twice.
        """
        writer = model or self._model
        if writer == OWN:
            row = (await self._store.reports([debate_id])).get(debate_id)
            written = row is not None and isinstance(row.read, Reading)
            debate = await self._store.load(debate_id)
            writer = None if written else await self._filer.own_writer(debate)
        return await self._make(debate_id, writer, asked=True, keep=model is None)

    async def read(self, debate_id: str) -> dict[str, Any]:
        """The report as it stands, of a debate in whatever state."""
        debate = await self._store.load(debate_id)
        row = (await self._store.reports([debate_id])).get(debate_id)
        turns = await self._store.turns(debate_id)
        made = await self._report(debate, turns, row.read if row else None)
        return {**made, "pending": row.model} if row and row.state == "making" else made

    async def _make(
        self, debate_id: str, model: str | None, *, asked: bool, keep: bool = True
    ) -> dict[str, Any]:
        debate = await self._store.load(debate_id)
        if debate.status not in FINAL:
            raise StateError(
                f"A report is made once a debate has ended; this one is {debate.status}. "
                f"{POSSIBLE[debate.status]}"
            )
        turns = await self._store.turns(debate_id)
        questions = await self._store.followups(debate_id)
        before = (await self._store.reports([debate_id])).get(debate_id)
        if not asked and (found := await self._filer.reading(debate)):
            made = await self._report(debate, turns, found)
            adopted = ReportRow.written(debate_id, found, report.brief(made))
            await self._store.change_report(
                debate_id, lambda row: _adopting(row, adopted), refile=True
            )
            await self._filer.file(debate_id)
            return made

        def claim(row: ReportRow | None) -> ReportRow:
            new = ReportRow(debate_id, "making", "extraction", model)
            return _claimed(row or new, model, asked, self._clock.now())

        row = await self._store.change_report(debate_id, claim)
        otherwise = before.state if before and asked else "making"
        job = _Job(debate, turns, model or "", row, otherwise, row.usage)
        job.asked = sum((one.followup.usage for one in questions), NO_USAGE)
        try:
            read = await self._read(job) if model else None
            read = row.read if read is None and keep else read
            made = await self._report(debate, turns, read)
        except asyncio.CancelledError:
            await asyncio.shield(self._end(job, job.otherwise))
            raise
        except Exception as error:
            sentence = _sentence(error)
            says_so = bool(model) and not asked and row.read is None
            await self._end(
                job, "failed", job.unread("failed") if says_so else None, error=sentence
            )
            await self._filer.file(debate_id)
            if isinstance(error, MootError):
                error.args = (sentence,)
            raise
        await self._end(job, "made", read, made)
        failpoints.hit("read")
        await self._filer.file(debate_id)
        return made

    async def _read(self, job: _Job) -> Read:
        """What a model makes of it. Returns None if there is no model, or nothing to read."""
        if job.row.tries > MOST_TRIES and job.otherwise == "making":
            raise StateError(f"Nobody has come to the end of this report in {MOST_TRIES} calls.")
        if not reading.speakers(job.debate, job.turns):
            return None
        for attempt in range(1, retry.MAX_RETRIES + 2):
            card = job.card = await asyncio.to_thread(self._speaker.card, job.model)
            if card.model == UNDERSTUDY:
                return None
            bounds = job.debate.limits
            if bounds.max_cost_usd is not None and not (
                voices.priced(card) or bounds.allow_unpriced
            ):
                raise InputError(
                    f"The price of {card.model} is not known, so the debate's max_cost_usd cannot "
                    "be kept. Let a model with a known price write the report.",
                    "model",
                )
            job.window = min(job.window or card.window, card.window)
            call = await asyncio.to_thread(self._call, job)
            if not self._fits(job, call):
                if isinstance(job.row.read, Reading):
                    raise StateError(
                        "The budget of this debate has no room for another report by a model. "
                        "The one that there is stays."
                    )
                return job.unread("budget")
            try:
                return await self._written(job, call)
            except ProviderError as error:
                usage = usage_of(error, calls=1)
                job.spent, job.owed = job.spent + usage, job.owed + usage
                await self._again(job, call, error, attempt)
        raise AssertionError("the last try decides")

    def _call(self, job: _Job) -> Call:
        debate, turns = job.debate, job.turns
        last = turns[-1].round if turns else 0
        return Call(
            model=effort.bare(job.model),
            messages=job.messages,
            max_tokens=reading.max_tokens(debate, turns),
            seconds=SECONDS,
            longest=SECONDS,
            debate=debate,
            step=Step(last + 1, "report", debate.seats[0].id, "summary", None, ""),
            heard=tuple(turns),
            schema=reading.schema(debate, turns),
            effort=effort.known(job.model)[1],
        )

    def _fits(self, job: _Job, call: Call) -> bool:
        """Whether the debate's budget has room for it, beside all that was spent."""
        if not limits.bounded(job.debate.limits):
            return True
        card = self._speaker.card(job.model)
        thinking = limits.thinking(call.effort, card.least, card.window)
        asked, told = prompts.size(call.messages), call.max_tokens + thinking.tokens
        cost = asked * (card.input_price or 0.0) + told * (card.output_price or 0.0)
        used = job.debate.usage + job.row.usage + job.owed + job.asked
        return limits.fits(used, job.debate.limits, Estimate(asked + told, cost))

    async def _written(self, job: _Job, call: Call) -> Reading | None:
        reply = await self._speak(job, call)
        if reply.model == UNDERSTUDY:
            return None
        usage = reply.usage.with_calls(1)
        try:
            found = reply.data if reply.data is not None else answers.find(reply.text)
            read = reading.read(
                job.quoted(visible(found)),
                job.debate,
                job.turns,
                reply.model,
                job.before + job.spent + usage,
                self._now(),
            )
        except ValueError as error:
            problem = f"{error}{'; it was cut by the token limit' if reply.cut else ''}"
            raise ProviderShapeError(
                f"{reply.model} did not give the report its shape: {problem}.",
                said=reply.text,
                problem=problem,
                **used(usage),
            ) from None
        except Exception as error:  # whatever a model says, it is paid for
            name = type(error).__name__
            log.error("a report by %s could not be read: %s", reply.model, name)
            raise ProviderInvalidError(
                f"{reply.model} wrote a report that cannot be read ({name}).", **used(usage)
            ) from None
        job.owed += usage
        card = self._speaker.card(job.model)
        return replace(read, unpriced=not voices.priced(card), local=card.local)

    async def _speak(self, job: _Job, call: Call) -> Reply:
        late = ""
        try:
            async with asyncio.timeout(None) as limit:

                def tell(until: float) -> None:
                    limit.reschedule(until if math.isfinite(until) else None)

                patience = Patience(call, GRACE_SECONDS, tell)
                try:
                    asked = replace(call, allow=patience.allow)
                    return await self._speaker.speak(asked, lambda _: None)
                finally:
                    late = patience.late()
        except TimeoutError:
            raise ProviderTimeoutError(late, **used(self._guess(call))) from None
        except asyncio.CancelledError:
            job.owed += self._guess(call).with_calls(1)
            raise
        except ProviderError:
            raise
        except Exception as error:  # a speaker's own mistake must not end the worker
            name = type(error).__name__  # and its words may hold what nobody should read
            log.error("the speaker for %s failed: %s", call.model, name)
            raise ProviderInvalidError(
                f"{call.model} could not be called ({name}).", **used(self._guess(call))
            ) from None

    def _guess(self, call: Call) -> Usage:
        return call.guess(self._speaker.card(call.model))

    async def _again(self, job: _Job, call: Call, error: ProviderError, attempt: int) -> None:
        """Wait, and put the next try on record; or raise, if no try can mend it."""
        decision = retry.decide(error, attempt, job.wrong is not None)
        log.info("%s: a report failed, try %d: %s", job.debate.id, attempt, error.code)
        if decision.wait is None:
            raise error
        if isinstance(error, ProviderShapeError):
            job.wrong = error
        if error.shorter:
            job.window = min(job.window, prompts.size(call.messages) + call.max_tokens) // 2
        await asyncio.sleep(decision.wait)
        job.row = await self._store.change_report(
            job.debate.id,
            lambda row: _begun(_with(_mine(row, job), job.owed), job.model, self._clock.now()),
        )
        job.owed = NO_USAGE

    async def _end(
        self,
        job: _Job,
        state: ReportState,
        read: Read = None,
        made: dict[str, Any] | None = None,
        *,
        error: str | None = None,
    ) -> None:
        """Write what came of it, and what it took. Without a report, the one before stands, with
        what was tried in its cost, or says why no model has written it."""

        def move(row: ReportRow | None) -> ReportRow:
            ended = replace(_with(_mine(row, job), job.owed), state=state, until=0.0, error=error)
            if made is None:
                return replace(ended, read=_counted(read or ended.read, ended.usage))
            wrote = read.model if isinstance(read, Reading) else None
            return replace(
                ended,
                method="model" if wrote else "extraction",
                model=wrote,
                summary=report.brief(made),
                read=_counted(read, ended.usage),  # others may have been late with what they paid
                made_at=self._now(),
            )

        try:
            refile = made is not None or read is not None or job.owed.calls > 0
            await self._store.change_report(job.debate.id, move, refile=refile)
        except TakenError:  # what was spent is counted, whoever has it by now
            await self._store.change_report(
                job.debate.id, lambda row: _late(row, job.owed), refile=job.owed.calls > 0
            )
            raise
        finally:
            self._tell(job.debate.id)

    async def _report(self, debate: Debate, turns: list[Turn], read: Read) -> dict[str, Any]:
        try:
            return await asyncio.to_thread(report.report, debate, turns, read)
        except Exception as error:  # a fault of ours, and no reason to lose anything
            raise StorageError(
                f"The report of {debate.id} cannot be made from what was said "
                f"({type(error).__name__}). The debate itself is as it was."
            ) from error

    def _now(self) -> str:
        return iso(self._clock.now())


async def billed(store: Store, debate: Debate) -> Debate:
    """A debate that has ended, with what its report took."""
    row = (await store.reports([debate.id])).get(debate.id)
    return debate.but(writing=row.writing if row else None)


def _claimed(row: ReportRow, model: str | None, asked: bool, now: float) -> ReportRow:
    """Take it, unless somebody else has it."""
    if row.state == "making" and row.until > now:
        raise TakenError(
            f"The report of {row.debate_id} is being made right now; ask for it in a moment."
        )
    if not asked and row.state != "making":
        raise TakenError(f"The report of {row.debate_id} has been made.")
    return _begun(row, model, now)


def _begun(row: ReportRow, model: str | None, now: float) -> ReportRow:
    """On record before the call."""
    tries = row.tries + (1 if model else 0)
    thinks = limits.THINKING.get(effort.known(model or "")[1] or "none", limits.NO_THINKING)
    until = now + LEASE_SECONDS + thinks.seconds
    return replace(row, state="making", model=model, tries=tries, until=until)


def _mine(row: ReportRow | None, job: _Job) -> ReportRow:
    """Who was away for longer than the lease has lost it."""
    if row is None or row.tries != job.row.tries or row.state != "making":
        raise TakenError(f"The report of {job.debate.id} was taken by another.")
    return row


def _with(row: ReportRow | None, owed: Usage) -> ReportRow:
    if row is None:
        raise TakenError("The report is gone.")
    return replace(row, usage=row.usage + owed)


def _late(row: ReportRow | None, owed: Usage) -> ReportRow:
    """What somebody paid who had lost it. The report that there is says so, too."""
    paid = _with(row, owed)
    return replace(paid, read=_counted(paid.read, paid.usage))


def _adopting(row: ReportRow | None, adopted: ReportRow) -> ReportRow:
    """A report that the files hold, with what was paid since for another one."""
    if row is None or row.usage.calls <= adopted.usage.calls:
        return adopted
    read = _counted(adopted.read, row.usage)
    return replace(adopted, read=read, tries=row.tries, usage=row.usage)


def _counted(read: Read, usage: Usage) -> Read:
    """What a model wrote, or why none did, with what all calls have taken by now."""
    return replace(read, usage=reading.rounded(usage)) if read else None


def _sentence(error: Exception) -> str:
    """Why it was not made, for people."""
    if not isinstance(error, MootError):
        return f"The report could not be made ({type(error).__name__})."
    said = error.message.replace("Restart the speaker", "Make the report again")
    return re.sub(r"restart the speaker|`moot retry [\w-]+`", "make the report again", said)
