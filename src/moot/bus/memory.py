"""Tells listeners of this process."""

import asyncio
from collections import defaultdict

from moot.core.events import Delta, Event

BACKLOG = 10_000
"""A listener further behind than this loses what it was sent; the log still has it."""


class MemorySubscription:
    """A queue of one listener."""

    def __init__(self, bus: "MemoryBus", debate_id: str) -> None:
        self._bus = bus
        self._debate_id = debate_id
        self._queue: asyncio.Queue[Event | Delta] = asyncio.Queue(BACKLOG)

    def put(self, event: Event | Delta) -> None:
        if self._queue.full():
            while not self._queue.empty():
                self._queue.get_nowait()
        self._queue.put_nowait(event)

    async def get(self, timeout: float) -> Event | Delta | None:
        if not self._queue.empty():
            return self._queue.get_nowait()
        try:
            async with asyncio.timeout(timeout):
                return await self._queue.get()
        except TimeoutError:
            return None

    def close(self) -> None:
        self._bus.forget(self._debate_id, self)


class MemoryBus:
    """Publish and subscribe, within one event loop."""

    def __init__(self) -> None:
        self._listeners: defaultdict[str, list[MemorySubscription]] = defaultdict(list)

    def publish(self, event: Event | Delta) -> None:
        for listener in self._listeners.get(event.debate_id, ()):
            listener.put(event)

    def listened(self, debate_id: str) -> bool:
        return debate_id in self._listeners

    def subscribe(self, debate_id: str) -> MemorySubscription:
        subscription = MemorySubscription(self, debate_id)
        self._listeners[debate_id].append(subscription)
        return subscription

    def forget(self, debate_id: str, subscription: MemorySubscription) -> None:
        listeners = self._listeners.get(debate_id, [])
        if subscription in listeners:
            listeners.remove(subscription)
        if not listeners:
            self._listeners.pop(debate_id, None)
