"""Virtual time: an event loop that never waits. When nothing is left to do, its clock jumps.

What runs on it costs only the work that it does, however long it sleeps, and happens in the same
order every time. Nothing outside reaches it: no sockets and no threads. Blocking functions that are
sent to a thread run on the loop itself.
"""

import asyncio
import heapq
import logging
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import Context
from itertools import count
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")
EPOCH = 1_790_000_000.0
"""Seconds since 1970 when virtual time begins: a day in September 2026."""


class StuckError(Exception):
    """Something is awaited that nothing on this loop will ever bring."""


def run(main: Coroutine[Any, Any, T], within: float = 86_400.0) -> T:
    """Run a coroutine in virtual time, and at the most for so many of its seconds."""

    async def bounded() -> T:
        async with asyncio.timeout(within):
            return await main

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(bounded())


class VirtualLoop(asyncio.AbstractEventLoop):
    """Runs what is ready in the order in which it was asked for, then jumps to the next timer."""

    def __init__(self) -> None:
        self._now = 0.0
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = count()
        self._stopping = self._running = self._closed = False

    def time(self) -> float:
        return self._now

    # --- what is to be done ---

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._queue(handle)
        return handle

    call_soon_threadsafe = call_soon

    def _queue(self, handle: asyncio.Handle) -> None:
        self._ready.append(handle)

    def _is_over(self, handle: asyncio.Handle) -> bool:
        """Whether nobody waits for it any more: then time does not pass for it."""
        return handle.cancelled()

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:  # fmt: skip
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:  # fmt: skip
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._order), timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is skipped when its time comes."""

    def run_in_executor(
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run it here, at the next turn of the loop."""
        future: asyncio.Future[T] = self.create_future()

        def work() -> None:
            if future.done():
                return
            try:
                future.set_result(func(*args))
            except BaseException as error:  # as a thread hands on whatever is raised in it
                future.set_exception(error)

        self._begin_thread(func, work)
        return future

    def _begin_thread(self, func: Callable[..., object], work: Callable[[], None]) -> None:
        self.call_soon(work)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, **options)

    def get_task_factory(self) -> None:
        """None: tasks are made as above. AnyIO asks."""

    # --- doing it ---

    def _advance(self) -> bool:
        """Jump to the next timer, and make ready what is due; False if there is none."""
        while self._timers and self._is_over(self._timers[0][2]):
            heapq.heappop(self._timers)
        if not self._timers:
            return False
        self._now = max(self._now, self._timers[0][0])
        while self._timers and self._timers[0][0] <= self._now:
            handle = heapq.heappop(self._timers)[2]
            if not self._is_over(handle):
                self._queue(handle)
        return True

    def _step(self) -> bool:
        """Do one thing; False if there is nothing left to do."""
        if not self._ready and not self._advance():
            return False
        handle = self._ready.popleft()
        if not handle.cancelled():
            handle._run()
        return True

    def run_forever(self) -> None:
        with self.current():
            self._stopping = False
            while not self._stopping:
                if not self._step():
                    raise StuckError("Nothing is left to do, and what is awaited never comes.")

    def run_until_complete(self, future: Any) -> Any:
        task: asyncio.Future[Any] = asyncio.ensure_future(future, loop=self)
        task.add_done_callback(self._end)
        self.run_forever()
        return task.result()

    @contextmanager
    def current(self) -> Generator[None]:
        """This is the running loop meanwhile."""
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._finish_generator)
        asyncio._set_running_loop(self)
        self._running = True
        try:
            yield
        finally:
            self._running = False
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def _finish_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self._closed:
            self.call_soon(self.create_task, generator.aclose())

    def _end(self, future: asyncio.Future[Any]) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopping = True

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    async def shutdown_asyncgens(self) -> None:
        """Each is finished when nobody holds it any more."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is none."""

    # --- what goes wrong ---

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        """It has no debug mode."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        log.error("%s", context.get("message"), exc_info=error)


class FrozenClock:
    """A clock that stands still until it is told to go on, on any loop."""

    def __init__(self, now: float = EPOCH) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def tick(self, seconds: float) -> None:
        self._now += seconds
