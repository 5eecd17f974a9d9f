"""Reads what other processes add to the log, for whoever listens in this one."""

import asyncio
import logging

from moot.errors import MootError
from moot.ports import Bus, Store

log = logging.getLogger(__name__)

EVERY_SECONDS = 0.25
"""How often it looks without being told: a hint may be lost, the log is not."""


class Tail:
    """Follows the log of all debates. What this process itself wrote comes by again: whoever
    listens goes by seq, and drops what it has."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus
        self._wake = asyncio.Event()
        self._after = 0
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._task is None:
            self._after = await self._store.last_logged()
            self._bus.on_hint(self._wake.set)
            self._task = asyncio.create_task(self._follow(), name="moot-tail")

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def look(self) -> None:
        """Tell of all that was committed since the last look."""
        while entries := await self._store.logged(self._after):
            first: dict[str, int] = {}
            for entry in entries:
                first.setdefault(entry.debate_id, entry.seq)
            for debate_id, seq in first.items():
                await self._tell(debate_id, seq)
            self._after = entries[-1].position

    async def _tell(self, debate_id: str, seq: int) -> None:
        if not self._bus.listened(debate_id, here=True):
            self._bus.touch(debate_id)
            return
        for event in await self._store.events(debate_id, seq - 1):
            self._bus.relay(event)

    async def _follow(self) -> None:
        while True:
            try:
                async with asyncio.timeout(EVERY_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            try:
                await self.look()
            except MootError as error:
                log.warning("the log could not be read: %s", error)
