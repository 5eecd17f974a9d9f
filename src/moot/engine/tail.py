"""Reads what other processes add to the log, for whoever listens in this one."""

import asyncio
import logging
from collections.abc import Mapping

from moot.errors import MootError
from moot.ports.debate_store import Store
from moot.ports.event_bus import Bus

log = logging.getLogger(__name__)

EVERY_SECONDS = 0.25
"""How often it looks without being told: a hint may be lost, the log is not."""
COMPARE_SECONDS = 1.0
"""How often it looks at the rows of what is listened to: on Postgres the log of all debates lags
behind the oldest transaction that is open, whoever's it is."""


class Tail:
    """Follows the log of all debates. What this process itself wrote comes by again: whoever
    listens goes by seq, and drops what it has."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus
        self._wake = asyncio.Event()
        self._after = 0
        self._hints: dict[str, int] = {}
        self._told: dict[str, int] = {}  # the last seq, by debate, of those that are listened to
        self._look_at = self._compare_at = 0.0
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._task is None:
            self._after = await self._store.last_logged()
            self._bus.on_hint(self._hear)
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
                if entry.seq > self._told.get(entry.debate_id, 0):
                    first.setdefault(entry.debate_id, entry.seq)
            for debate_id, seq in first.items():
                await self._tell(debate_id, seq)
            self._after = entries[-1].position

    async def _compare(self) -> None:
        """Find by its row what was neither hinted at nor logged so far."""
        last = await self._store.reached(self._bus.listening())
        self._told = {debate_id: seq for debate_id, seq in self._told.items() if debate_id in last}
        for debate_id, seq in last.items():
            told = self._told.get(debate_id, seq - 1)  # the last will do: who has a gap looks
            if told < seq:
                await self._tell(debate_id, told + 1)

    async def _tell(self, debate_id: str, seq: int) -> None:
        """Tell what there is from that seq on, unless it was told before."""
        if not self._bus.listened(debate_id, here=True):
            self._told.pop(debate_id, None)
            self._bus.touch(debate_id)
            return
        for event in await self._store.events(
            debate_id, max(seq - 1, self._told.get(debate_id, 0))
        ):
            self._bus.relay(event)
            self._told[debate_id] = event.seq

    def _hear(self, hints: Mapping[str, int]) -> None:
        for debate_id, seq in hints.items():
            self._hints[debate_id] = min(seq, self._hints.get(debate_id, seq))
        if not hints:
            self._look_at = 0.0
        self._wake.set()

    async def _follow(self) -> None:
        while True:
            try:
                async with asyncio.timeout_at(min(self._look_at, self._compare_at)):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            try:
                await self._go_through()
            except MootError as error:
                log.warning("the log could not be read: %s", error)

    async def _go_through(self) -> None:
        hints, self._hints = self._hints, {}
        for debate_id, seq in hints.items():
            await self._tell(debate_id, seq)
        now = asyncio.get_running_loop().time()
        if now >= self._look_at:
            self._look_at = now + EVERY_SECONDS
            await self.look()
        if now >= self._compare_at:
            self._compare_at = now + COMPARE_SECONDS
            await self._compare()
