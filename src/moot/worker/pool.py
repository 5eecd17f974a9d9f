"""A Celery pool of coroutines: all waves of a worker share its one event loop.

Celery has no tasks of its own for that. Here a task is an `async def`; Celery's main thread hands
it to the loop, and is woken through a pipe when it is done, so that messages are acknowledged, and
new ones taken, at once and by that thread alone.
"""

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, ClassVar

from celery.concurrency.base import BasePool
from kombu.serialization import loads

from moot.engine.service import Service

log = logging.getLogger(__name__)

Work = Callable[..., Coroutine[Any, Any, None]]


class LoopPool(BasePool):
    """Runs tasks on the loop that the worker set before Celery made this pool."""

    body_can_be_buffer = True
    signal_safe = False
    loop: ClassVar[asyncio.AbstractEventLoop]
    service: ClassVar[Service]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._done: deque[tuple[Callable[..., Any], float]] = deque()
        self._under_way: set[asyncio.Task[None]] = set()
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._waker, False)

    def register_with_event_loop(self, loop: Any) -> None:
        loop.add_reader(self._wake, self._deliver)

    def on_apply(
        self,
        target: object,
        args: tuple[Any, ...],
        kwargs: object = None,
        *,
        callback: Callable[..., Any],
        accept_callback: Callable[..., Any],
        **_: object,
    ) -> None:
        name, _id, _request, body, content_type, encoding = args
        began = time.monotonic()
        accept_callback(os.getpid(), began)
        given, named, _embedded = loads(body, content_type, encoding, accept={content_type})
        work: Work = self.app.tasks[name].run
        self.loop.call_soon_threadsafe(self._begin, work(*given, **named), callback, began)

    def _begin(
        self, work: Coroutine[Any, Any, None], callback: Callable[..., Any], began: float
    ) -> None:
        task = self.loop.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(lambda done: self._finished(done, callback, began))

    def _finished(
        self, task: asyncio.Task[None], callback: Callable[..., Any], began: float
    ) -> None:
        """On the loop: leave the rest to Celery's thread, which may be asleep."""
        if not task.cancelled() and (error := task.exception()):
            log.warning("a wave ended in an error: %s", error)  # the supervisor finds its debate
        self._under_way.discard(task)
        self._done.append((callback, time.monotonic() - began))
        if len(self._done) == 1:
            with suppress(BlockingIOError):  # then it has been told often enough
                os.write(self._waker, b".")

    def _deliver(self, *_: object) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake, 65536)
        while self._done:
            callback, seconds = self._done.popleft()
            callback((0, None, seconds))

    def on_stop(self) -> None:
        """Let go of what is under way: it is queued again, for workers that stay."""
        asyncio.run_coroutine_threadsafe(self.service.let_go(), self.loop).result(timeout=10)
        until = time.monotonic() + 5
        while self._under_way and time.monotonic() < until:
            time.sleep(0.01)
        self._deliver()

    def terminate_job(self, pid: object, signal: object = None) -> None:
        """Celery gives up what it has not acknowledged when the broker is lost. The call goes on:
        if its message is delivered again meanwhile, the store refuses the second copy."""
