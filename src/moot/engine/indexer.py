"""Makes what was said searchable, in the background: a little at a time, and less while others
speak."""

import asyncio
import logging
from collections.abc import Callable

from moot.ports.debate_store import Store
from moot.ports.event_bus import Bus

log = logging.getLogger(__name__)

AT_MOST = 40  # steps that a search takes itself where nobody works in the background
REST = 5.0  # while others speak, it rests this many times as long as it worked


class Indexer:
    """Adds words to the search after debates have come to rest. The store knows what is missing:
    whatever one process leaves, another does, or the same one after its next start."""

    def __init__(self, store: Store, bus: Bus, busy: Callable[[], bool], every: float) -> None:
        self._store = store
        self._bus = bus
        self._busy = busy
        self._every = every
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._go_on(), name="moot-indexer")

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def catch_up(self) -> None:
        """Before a search: add what is missing, if it is little and nobody else here does."""
        for _ in range(AT_MOST if self._task is None else 0):
            if await self._store.index() is None:
                return

    async def add_all(self) -> None:
        """Add all that is missing."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            added = await self._store.index()
            if added is None:
                return
            for debate_id in added:  # lists show more of it now
                self._bus.touch(debate_id)
            worked = loop.time() - began
            await asyncio.sleep(worked * REST if self._busy() else worked)

    async def _go_on(self) -> None:
        said = ""
        while True:
            try:
                await self.add_all()
                said = ""
            except Exception as error:  # a search that lags behind stops nothing else
                if said != (said := f"{type(error).__name__}: {error}"):
                    log.warning("what was said cannot be added to the search yet: %s", error)
            await asyncio.sleep(self._every)
