"""Starts what is due on stations, and finds what was lost: debates whose worker died, and ended
ones whose files were never written."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from moot.core import moves
from moot.core.change import Change
from moot.core.debate import Debate
from moot.core.status import RUNNABLE
from moot.core.times import iso
from moot.engine.finish import Filer
from moot.engine.outdated import behind
from moot.errors import MootError
from moot.ports.debate_files import Records
from moot.ports.debate_store import Store, Unfinished
from moot.ports.dispatcher import Dispatcher
from moot.ports.instruments import Clock

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Watched:
    """A debate that nobody has in hand, since when, and when it is to be queued again."""

    state: tuple[int, int]
    since: float
    due: float


class Supervisor:
    """Sweeps now and then. Several may run; the store decides who gets what.

    A debate that a worker was lost with, or that has waited to try again, is queued at once. One
    that nobody has in hand may just be waiting for a worker to have room: it is queued again only
    where nothing waits, or after `patience` seconds, and then at ever longer intervals, so that a
    long queue does not grow by it.
    """

    def __init__(
        self,
        store: Store,
        filer: Filer,
        records: Records,
        dispatcher: Dispatcher,
        clock: Clock,
        every: float,
        enabled: Callable[[str], bool],
        patience: float = 0.0,
        look: Callable[[], Awaitable[list[str]]] | None = None,
        reports: Callable[[], Awaitable[None]] | None = None,
        questions: Callable[[], Awaitable[None]] | None = None,
        uploads: Callable[[], Awaitable[None]] | None = None,
        *,
        is_dead: Callable[[str], bool],
    ) -> None:
        self._is_dead = is_dead
        self._reports = reports
        self._questions = questions
        self._uploads = uploads
        self._look = look
        self._enabled = enabled
        self._store = store
        self._filer = filer
        self._records = records
        self._dispatcher = dispatcher
        self._clock = clock
        self._every = every
        self._patience = patience
        self._watched: dict[str, _Watched] = {}
        self._said: dict[str, str] = {}  # what went wrong last, and was said, by where it did
        self._task: asyncio.Task[None] | None = None

    def start(self, found: Callable[[str], None] = lambda _: None) -> None:
        self._task = asyncio.create_task(self._sweep_on(found), name="moot-supervisor")

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def sweep(self) -> list[str]:
        """Air what is due, queue what nobody alive has in hand, and file what has ended.

        Says which were lost. `look` sees to the stations, where this process is to.
        """
        if self._look:
            with self._going_on("stations"):  # whatever happens there, debates go on
                for debate_id in await self._look():
                    log.info("%s goes on air", debate_id)
        lost = await self._queue_again()
        for debate_id in await self._store.unfiled():
            with self._going_on(f"files of {debate_id}"):  # the others' can perhaps be written
                await self._filer.file(debate_id, self._clock.now())
        if self._reports:  # those that a model is to write
            await self._reports()
        if self._questions:  # those whose process is gone
            with self._going_on("questions"):
                await self._questions()
        if self._uploads:  # those that no debate asked for in time
            with self._going_on("uploads"):
                await self._uploads()
        return lost

    async def _queue_again(self) -> list[str]:
        """Queue what nobody alive has in hand."""
        now = self._clock.now()
        free = [one for one in await self._store.unfinished(now) if self._free(one, now)]
        known, self._watched = self._watched, {}
        waiting = await self._dispatcher.waiting() if free and self._patience else None
        lost: list[str] = []
        for one in free:
            seen = self._watched[one.id] = self._watch(known.get(one.id), one, now, waiting)
            if seen.due > now:
                continue
            with self._going_on(one.id):  # a row that is damaged must not keep the others waiting
                if await self._dispatched(one.id):
                    lost.append(one.id)
            seen.due = now + max(self._patience, now - seen.since)
        return lost

    def _free(self, one: Unfinished, now: float) -> bool:
        """Whether nobody alive has it in hand."""
        return not moves.is_held(one.lease_owner, one.lease_until, now, self._is_dead)

    async def _dispatched(self, debate_id: str) -> bool:
        debate = await self._store.load(debate_id)
        if debate.status == "paused":
            await self._store.change(debate_id, self._abandon)
        if debate.status not in RUNNABLE or not self._enabled(debate.format):
            return False
        if debate.waiting_for:  # somebody may have spoken since
            return False
        if wrong := await behind(self._records, debate, lambda: self._store.load(debate_id)):
            raise wrong
        self._dispatcher.dispatch(debate)
        return True

    def _abandon(self, row: Debate) -> Change:
        now = self._clock.now()
        return moves.abandon(row, now, iso(now), self._is_dead)

    def _watch(
        self, seen: _Watched | None, one: Unfinished, now: float, waiting: int | None
    ) -> _Watched:
        if seen is None or seen.state != one.state or seen.since > now:  # the clock was set back
            at_once = one.lease_owner is not None or one.waited or not self._patience
            return _Watched(one.state, now, now if at_once else now + self._patience)
        if waiting == 0:  # the message that it waited for is gone
            seen.due = now
        return seen

    async def _sweep_on(self, found: Callable[[str], None]) -> None:
        while True:
            with self._going_on("sweep"):  # whatever happens, the next one must come
                for debate_id in await self.sweep():
                    log.info("going on with %s, which nobody had in hand", debate_id)
                    found(debate_id)
            await asyncio.sleep(self._every)

    @contextmanager
    def _going_on(self, place: str) -> Generator[None]:
        """What goes wrong is said once, as long as it stays the same, and stops nothing else."""
        try:
            yield
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            if self._said.get(place) == said:
                return
            self._said[place] = said
            if isinstance(error, MootError):
                log.warning("%s", error)
            else:
                log.error("a sweep failed at: %s", place, exc_info=error)
        else:
            self._said.pop(place, None)
