"""Functions that wait to be run on a database, and a thread that runs all that wait together."""

import asyncio
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from moot.store.query import Connection

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Job:
    """A function to run in a transaction, who waits for it, and what came of it."""

    fn: Callable[[Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    row: str | None = None  # the debate whose row it locks, if it locks no other
    result: Any = None
    error: BaseException | None = None
    apart: bool = False  # it needs a transaction of its own


class Together:
    """A thread that takes all jobs that wait, runs them, and wakes whoever asked."""

    def __init__(
        self, name: str, run: Callable[[list[Job]], None], most: int = sys.maxsize
    ) -> None:
        self._run = run
        self._most = most  # jobs that are run at once
        self._asked: SimpleQueue[list[Job]] = SimpleQueue()
        self._waiting: list[Job] = []
        self._closing = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    async def ask(self, fn: Callable[[Connection], T], row: str | None = None) -> T:
        """Whoever is cancelled while waiting has still asked: the job is done all the same."""
        loop = asyncio.get_running_loop()
        job = Job(fn, loop, loop.create_future(), row)
        if not self._waiting:
            loop.call_soon(self._hand_over)
        self._waiting.append(job)
        return await job.future

    def close(self) -> None:
        """Finish what waits."""
        self._hand_over()
        self._closing = True
        self._asked.put([])
        self._thread.join()

    def _hand_over(self) -> None:
        """All that this turn of the event loop asks for goes to the thread at once.

        One by one, the two threads would fight over the interpreter's lock at every statement.
        """
        jobs, self._waiting = self._waiting, []
        self._asked.put(jobs)
        if self._thread.ident is None:
            self._thread.start()

    def _work(self) -> None:
        while not (self._closing and self._asked.empty()):
            jobs = self._asked.get()
            while not self._asked.empty():
                jobs += self._asked.get()
            for start in range(0, len(jobs), self._most):
                some = jobs[start : start + self._most]
                self._run(some)
                deliver([job for job in some if not job.apart])


def deliver(jobs: Sequence[Job]) -> None:
    """Wake each event loop once for all of its jobs."""
    for loop in {job.loop for job in jobs}:
        mine = [job for job in jobs if job.loop is loop]
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, mine)


def _resolve(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # nobody waits any more
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
