"""Finds what was lost: debates whose worker died, and ended ones whose files were never written."""

import asyncio
import logging
from collections.abc import Callable

from moot.core import moves
from moot.core.status import RUNNABLE
from moot.engine.finish import Filer
from moot.engine.lease import is_dead
from moot.errors import MootError
from moot.ports import Clock, Dispatcher, Store

log = logging.getLogger(__name__)


class Supervisor:
    """Sweeps now and then. Several may run; the store decides who gets what."""

    def __init__(
        self,
        store: Store,
        filer: Filer,
        dispatcher: Dispatcher,
        clock: Clock,
        every: float,
        enabled: Callable[[str], bool],
    ) -> None:
        self._enabled = enabled
        self._store = store
        self._filer = filer
        self._dispatcher = dispatcher
        self._clock = clock
        self._every = every
        self._task: asyncio.Task[None] | None = None

    def start(self, found: Callable[[str], None] = lambda _: None) -> None:
        self._task = asyncio.create_task(self._sweep_on(found), name="moot-supervisor")

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def sweep(self) -> list[str]:
        """Queue what nobody alive has in hand, and file what has ended; says which were lost."""
        lost: list[str] = []
        for debate_id in await self._store.unfinished():
            debate = await self._store.load(debate_id)
            if not self._enabled(debate.format):
                continue
            free = not moves.held(debate, self._clock.now(), is_dead)
            if debate.status in RUNNABLE and free:
                self._dispatcher.dispatch(debate_id)
                lost.append(debate_id)
        for debate_id in await self._store.unfiled():
            await self._filer.file(debate_id)
        return lost

    async def _sweep_on(self, found: Callable[[str], None]) -> None:
        said = ""
        while True:
            try:
                for debate_id in await self.sweep():
                    found(debate_id)
                said = ""
            except MootError as error:
                if said != str(error):  # once, as long as it stays the same
                    log.warning("a sweep failed: %s", error)
                said = str(error)
            await asyncio.sleep(self._every)
