"""After the last turn: what was said goes into files."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from weakref import WeakValueDictionary

from moot.core.debate import Debate
from moot.core.events import Event, TurnCommitted
from moot.core.rejudge import only_votes
from moot.core.status import FINAL, RUNNABLE
from moot.core.times import seconds
from moot.core.voices import OWN, Cards, own_writer
from moot.engine import failpoints
from moot.errors import NotFoundError
from moot.ports.debate_files import GONE_SECONDS, Filed, Records
from moot.ports.debate_store import ReportRow, Store
from moot.render.reading import Read, Reading

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 1.0
FILED_AT_ONCE = 4
"""Debates: while the disk works for one, the next is made ready."""
ROUNDS_AT_ONCE = 10  # that are filed before those who speak are let past again


class Filer:
    """Writes the files of debates, each by one task at a time and nothing twice: whenever one comes
    to rest, and of those that go on after each round.

    While others of this process still speak, it waits a moment: words first, then paper. `model`
    is to write the reports of those that have ended, where one is; or it is OWN.
    """

    def __init__(
        self,
        store: Store,
        records: Records,
        busy: Callable[[], bool],
        cards: Cards,
        model: str | None = None,
    ) -> None:
        self._cards = cards
        self._model = model
        self._store = store
        self._records = records
        self._busy = busy
        self._room = asyncio.Semaphore(FILED_AT_ONCE)
        self._desks = WeakValueDictionary[str, asyncio.Lock]()  # of debates that are in hand
        self._rounds: dict[str, None] = {}  # debates whose last round is to be filed, in order
        self._task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Leave what is still to be filed of debates that go on: the database has it."""
        self._rounds.clear()
        if self._task:
            await asyncio.gather(self._task, return_exceptions=True)

    async def file(self, debate_id: str, now: float = 0.0) -> None:
        """Write the debate's files as it stands now, and note up to where they go. Of one that was
        deleted, remove them."""
        until = self._until()
        try:
            async with self._alone(debate_id):
                await self._patiently(until)
                await self._file(debate_id)
        except NotFoundError:
            if not await self._store.is_deleted(debate_id):
                raise  # the files may be all that there is of it
            await self.remove_deleted(now)

    async def _file(self, debate_id: str) -> None:
        debate = await self._store.load(debate_id)
        if debate.files_seq >= debate.last_seq or not at_rest(debate):
            return
        ended = debate.status in FINAL
        known = (await self._store.reports([debate_id])).get(debate_id) if ended else None
        read = known.read if known else None
        anew = known is not None and known.state != "making" and read is None
        filed = await self._write(debate, read, anew=anew)
        failpoints.hit("filed")
        report = await self._report(debate, filed) if ended and filed else None
        await self._store.filed(debate, report, filed.read if filed else read)

    async def remove_deleted(self, now: float = 0.0) -> None:
        """Remove the files of debates that were deleted. They are looked for until nobody can be
        filing one of these debates any more."""
        for debate_id, at, record in await self._store.deleted():
            async with self._alone(debate_id):
                await asyncio.to_thread(self._records.remove, debate_id, record=record)
            if now - seconds(at) > GONE_SECONDS:
                await self._store.removed(debate_id)

    def file_round(self, debate_id: str) -> None:
        """A round of a debate that goes on is over: write its files when there is time. So a lost
        database loses no more than the round that is being spoken."""
        self._rounds[debate_id] = None
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._file_rounds(), name="moot-filer")

    async def _file_rounds(self) -> None:
        while self._rounds:
            await self._patiently(self._until())
            for debate_id in list(self._rounds)[:ROUNDS_AT_ONCE]:
                if debate_id not in self._rounds:
                    return  # closed meanwhile
                del self._rounds[debate_id]
                await self._file_round(debate_id)

    async def _file_round(self, debate_id: str) -> None:
        try:
            async with self._alone(debate_id):
                debate = await self._store.load(debate_id)
                if debate.status in RUNNABLE:
                    await self._write(debate)
        except Exception as error:  # it is filed when it halts, at the latest
            log.warning("a round of %s could not be filed yet: %s", debate_id, error)

    @asynccontextmanager
    async def _alone(self, debate_id: str) -> AsyncGenerator[None]:
        """One task of this process for a debate, and not too many for all of them."""
        desk = self._desks.setdefault(debate_id, asyncio.Lock())
        async with desk, self._room:
            yield

    def _until(self) -> float:
        return asyncio.get_running_loop().time() + PATIENCE_SECONDS

    async def _patiently(self, until: float) -> None:
        """Wait while others speak, but not for long."""
        loop = asyncio.get_running_loop()
        while self._busy() and loop.time() < until:  # noqa: ASYNC110  many things end it
            await asyncio.sleep(0.02)

    async def _write(
        self, debate: Debate, read: Read = None, *, anew: bool = False
    ) -> Filed | None:
        # only what this state of the debate knows of: it may have gone on since
        turns = [t for t in await self._store.turns(debate.id) if t.seq <= debate.last_seq]
        events = await said(self._store, debate)
        work = partial(self._records.file, debate, turns, events, read, anew=anew)
        return await asyncio.to_thread(work)

    async def reading(self, debate: Debate) -> Reading | None:
        """What a model wrote of the debate, if its files hold it: it is not paid for again."""
        return await asyncio.to_thread(self._records.reading, debate)

    async def _report(self, debate: Debate, filed: Filed) -> ReportRow:
        """How its report stands: by extraction, made; by a model, made or wanted."""
        if isinstance(filed.read, Reading):
            return ReportRow.written(debate.id, filed.read, filed.summary)
        model = await self._writer(debate)
        return ReportRow(
            debate.id,
            "failed" if filed.error else "making" if model else "made",
            "extraction",
            model,
            filed.summary,
            error=filed.error,
            made_at=debate.ended_at or debate.updated_at,
        )

    async def _writer(self, debate: Debate) -> str | None:
        """The model that is to write the report, if any. A debate's own is not asked once somebody
        has stopped it, and whoever asks for votes alone pays for nothing else."""
        if not debate.turn_count or only_votes(debate.rules):
            return None
        if self._model != OWN:
            return self._model
        return await self.own_writer(debate) if debate.status == "completed" else None

    async def own_writer(self, debate: Debate) -> str | None:
        """The debate's own model that writes its report, if one can."""
        turns = await self._store.turns(debate.id)
        return await asyncio.to_thread(own_writer, debate, turns, self._cards)


def at_rest(debate: Debate) -> bool:
    """Whether nobody is to advance it: it has ended, or waits for a person."""
    return debate.status in FINAL or debate.status == "paused"


async def said(store: Store, debate: Debate) -> list[Event]:
    """What the log holds beside the turns."""
    found: list[Event] = []
    after = 0
    while after < debate.last_seq and (events := await store.events(debate.id, after)):
        others = [event for event in events if not isinstance(event, TurnCommitted)]
        found += [event for event in others if event.seq <= debate.last_seq]
        after = events[-1].seq
    return found
