"""The database of all processes: real SQL, done by the world between two steps of theirs."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from moot.errors import StorageError
from moot.store.jobs import Job, deliver
from moot.store.query import Connection

if TYPE_CHECKING:
    from moot.testing.simulation.process import Process

T = TypeVar("T")
AWAY = "The disk is full, or the database is away."


class Died(GeneratorExit):
    """Whoever asks is dead. Also ends its coroutines when they are thrown away."""


class SimulatedDatabase:
    """One process's way to the database that all share.

    What is written is done a moment after it is asked for, whatever becomes of the process in
    between; what comes of it is heard a moment later, unless that is lost.
    """

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._world = process.world
        self._writer = process.world.backend.writer()
        self._waiting: list[Job] = []
        self._gone = False
        self._sent = self._answered = 0.0  # when what was asked for last is done, and heard of

    async def write(self, fn: Callable[[Connection], T], row: str | None = None) -> T:
        self._process.check_alive()
        loop = asyncio.get_running_loop()
        job = Job(fn, loop, loop.create_future(), row)
        if not self._waiting:
            loop.call_soon(self._hand_over)
        self._waiting.append(job)
        return await job.future

    async def read(self, fn: Callable[[Connection], T]) -> T:
        self._process.check_alive()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def work() -> None:
            if future.done() or self._gone:
                return
            try:
                if self._world.away:
                    raise StorageError(AWAY)
                future.set_result(self._world.backend.read(fn))
            except Exception as error:
                future.set_exception(error)

        self._world.later(self._world.latency(), work)
        return await future

    async def ping(self) -> None:
        await self.write(lambda _: None)

    def now(self) -> float:
        return self._world.wall()

    def close(self) -> None:
        """The file is let go of when the world ends: a write may still be under way."""

    def let_go(self) -> None:
        """Another database is put in its place: what was on its way does not arrive."""
        self._gone = True
        self._writer.close()

    def _hand_over(self) -> None:
        jobs, self._waiting = self._waiting, []
        self._sent = self._in_turn(self._sent)
        self._world.at(self._sent, lambda: self._write(jobs))

    def _in_turn(self, last: float) -> float:
        """A moment from now. On one home everything is done in the order in which it was asked
        for; a server has many connections, whose answers may overtake each other."""
        soon = self._world.loop.time() + self._world.latency()
        return max(soon, last) if self._world.plan.shape == "home" else soon

    def _write(self, jobs: Sequence[Job]) -> None:
        world, process = self._world, self._process
        if self._gone:
            return
        if process.stopped and world.plan.shape == "home":  # its writer is stopped, too
            world.later(0.5, lambda: self._write(jobs))
            return
        if not process.alive and world.chance.random() < 0.5:
            return  # it died before it had sent it
        if world.away or world.full:
            for job in jobs:
                job.error = StorageError(AWAY)
        else:
            self._writer.run(jobs)
            world.checks.committed(process.name)
            if world.chance.random() < world.rate(world.plan.lost_replies):
                world.count("reply lost")
                for job in jobs:
                    job.error = StorageError("Nobody knows whether that was written.")
        self._answered = self._in_turn(self._answered)
        world.at(self._answered, lambda: deliver(jobs))
