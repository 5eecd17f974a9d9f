"""The one bridge from plain Python to the engine, which is async.

The engine gets a thread and an event loop of its own for as long as a call takes. So the same call
works in a script and in a notebook, whose own thread runs a loop already.
"""

import asyncio
import atexit
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Self, TypeVar

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """What comes of the work. Ctrl-C cancels it, and waits until it has cleaned up."""
    with _Thread() as thread:
        return thread.call(work)


def iterate(source: AsyncGenerator[T]) -> Generator[T]:
    """What the source gives, as it comes. Whoever stops reading closes the source."""
    ended: Any = object()

    async def following() -> T:
        return await anext(source, ended)

    async def closed() -> None:
        await source.aclose()

    with _Thread() as thread:

        def leave() -> None:
            """Python would stop the thread in the middle, and then wait for it."""
            with suppress(Exception):
                thread.call(closed())
            thread.end()

        atexit.register(leave)
        try:
            while (one := thread.call(following())) is not ended:
                yield one
        finally:
            atexit.unregister(leave)
            if thread.is_alive():
                thread.call(closed())


class _Thread(threading.Thread):
    """A thread that runs an event loop, and does one thing after another on it."""

    def __init__(self) -> None:
        super().__init__(name="moot", daemon=True)
        self._begun: Future[asyncio.AbstractEventLoop] = Future()
        self._over = asyncio.Event()

    def __enter__(self) -> Self:
        self.start()
        self._loop = self._begun.result()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._begun.set_result(asyncio.get_running_loop())
        await self._over.wait()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it on the loop, and wait for it: also if whoever waits is interrupted."""
        begun: Future[asyncio.Task[T]] = Future()
        done: Future[T] = Future()

        def begin() -> None:
            task = self._loop.create_task(work)
            task.add_done_callback(lambda _: _tell(task, done))
            begun.set_result(task)

        self._loop.call_soon_threadsafe(begin)
        try:
            return done.result()
        except BaseException:
            if not done.done():  # Ctrl-C
                self._loop.call_soon_threadsafe(begun.result().cancel)
                with suppress(BaseException):
                    done.result()
            raise

    def end(self) -> None:
        """End the loop, and with it whatever still runs on it."""
        if self.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self.join()


def _tell(task: asyncio.Task[T], done: "Future[T]") -> None:
    if task.cancelled():
        done.set_exception(asyncio.CancelledError())
    elif error := task.exception():
        done.set_exception(error)
    else:
        done.set_result(task.result())
