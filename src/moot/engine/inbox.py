"""Puts aside what the bus says, for one who takes it when there is time."""

import asyncio

from moot.core.events import Delta, Event
from moot.ports.event_bus import Bus

BACKLOG = 10_000
"""A listener further behind than this loses what it was sent; the log still has it."""


class Subscription:
    """The queue of one listener. It hears from the moment it is made until it is closed."""

    def __init__(self, bus: Bus, debate_id: str) -> None:
        self._queue: asyncio.Queue[Event | Delta] = asyncio.Queue(BACKLOG)
        self._forget = bus.listen(debate_id, self._put)

    async def get(self, timeout: float) -> Event | Delta | None:
        """The next thing said, or None when nothing was for that long."""
        if not self._queue.empty():
            return self._queue.get_nowait()
        try:
            async with asyncio.timeout(timeout):
                return await self._queue.get()
        except TimeoutError:
            return None

    def close(self) -> None:
        self._forget()

    def _put(self, event: Event | Delta) -> None:
        if self._queue.full():
            while not self._queue.empty():
                self._queue.get_nowait()
        self._queue.put_nowait(event)
