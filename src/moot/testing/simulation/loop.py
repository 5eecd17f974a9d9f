"""An event loop that several processes share, none of which knows of the others."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from math import inf
from random import Random
from typing import Any, Protocol

from moot.testing.virtual import VirtualLoop


class Actor(Protocol):
    """Whoever something on the loop is done by."""

    alive: bool
    stopped: bool
    fuse: int | None  # how many more steps it may do before it is killed

    def kill(self) -> None: ...


ACTOR: ContextVar[Actor | None] = ContextVar("actor", default=None)
"""Whose the running code is; None: the world's own."""


class ScheduledLoop(VirtualLoop):
    """Chance picks who does the next step. Within one process, the order is asyncio's.

    A process that is killed does nothing any more, not even what stands in a `finally`. One that is
    stopped finds what became due meanwhile when it goes on.
    """

    def __init__(self, chance: Random) -> None:
        super().__init__()
        self._chance = chance
        self._queues: dict[Actor | None, deque[asyncio.Handle]] = {None: deque()}
        self.steps = 0
        self.halted = False  # by whoever has seen enough
        self.trouble: Callable[[str, BaseException | None], None] = lambda message, error: None
        self.waits: Callable[[str], float] = lambda name: 0.0  # before a thread does what it is to

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.trouble(str(context.get("message")), context.get("exception"))

    def _queue(self, handle: asyncio.Handle) -> None:
        actor = handle._context.get(ACTOR)  # type: ignore[attr-defined]
        if actor is None or actor.alive:
            self._queues.setdefault(actor, deque()).append(handle)

    def _begin_thread(self, func: Callable[..., object], work: Callable[[], None]) -> None:
        sent = func.args[0] if isinstance(func, partial) else func  # as `to_thread` wraps it
        if seconds := self.waits(getattr(sent, "__name__", "")):
            self.call_later(seconds, work)
        else:
            self.call_soon(work)

    def _is_over(self, handle: asyncio.Handle) -> bool:
        """Nobody waits for what a dead process asked for, either."""
        actor = handle._context.get(ACTOR)  # type: ignore[attr-defined]
        return handle.cancelled() or (actor is not None and not actor.alive)

    def forget(self, actor: Actor) -> None:
        """It is gone, and so is all that it was going to do."""
        self._queues.pop(actor, None)

    def _step(self) -> bool:
        while True:
            ready = [
                actor
                for actor, queue in self._queues.items()
                if queue and (actor is None or not actor.stopped)
            ]
            if ready:
                break
            if not self._advance():
                return False
        actor = ready[0] if len(ready) == 1 else self._chance.choice(ready)
        handle = self._queues[actor].popleft()
        if handle.cancelled():
            return True
        self.steps += 1
        handle._run()
        if actor is not None and actor.fuse is not None and actor.alive:
            actor.fuse -= 1
            if actor.fuse <= 0:
                actor.kill()
        return True

    def run(self, until: float = inf, done: Callable[[], bool] = lambda: False) -> bool:
        """Do one step after the other until that time or event. Returns whether it came."""
        while not self.halted and self._now < until and not done():
            if not self._step():
                return False
        return not self.halted
