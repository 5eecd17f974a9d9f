"""One process of moot among others: it can be started, stopped, killed, and closed."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from moot.bootstrap import Instead, open_service
from moot.dispatch.inline import InlineDispatcher
from moot.engine.lease import Census
from moot.engine.service import Service
from moot.errors import MootError
from moot.settings import Settings
from moot.testing.simulation.loop import ACTOR
from moot.testing.simulation.network import PostDispatcher, SimulatedBus
from moot.testing.simulation.records import SimulatedRecords
from moot.testing.simulation.simulated_database import Died, SimulatedDatabase
from moot.testing.simulation.vendor import Vendor

if TYPE_CHECKING:
    from moot.testing.simulation.world import World


class SimulatedCensus(Census):
    """Processes of one machine know of each other's death."""

    def __init__(self, process: "Process") -> None:
        self._process = process

    def owner_name(self) -> str:
        return self._process.name

    def is_dead(self, owner: str) -> bool:
        machine = owner.partition("/")[0]
        here = machine == self._process.name.partition("/")[0]
        return here and not self._process.world.lives(owner)


class Process:
    """A server, or a worker that messages go to."""

    def __init__(self, world: "World", name: str, *, serves: bool) -> None:
        self.world = world
        self.name = name
        self.serves = serves
        self.alive = True
        self.stopped = False
        self.died = 0.0
        self.fuse: int | None = None
        self.stops: list[float] = []  # when it was last stopped, and when it went on
        self.service: Service | None = None
        self.sent: dict[str, list[str]] = {}  # the places of which messages came to it
        self.tasks: list[asyncio.Task[Any]] = []
        self.bus = SimulatedBus(self)
        self.database = SimulatedDatabase(self)
        self._leaving: asyncio.Event | None = None
        self.context = Context()
        self.context.run(ACTOR.set, self)
        self._task(self._live(world.settings))

    @property
    def works(self) -> bool:
        """Whether messages go to it."""
        return self.alive and not self.serves

    def check_alive(self) -> None:
        if not self.alive:
            raise Died

    async def _live(self, settings: Settings) -> None:
        world = self.world
        apart = world.plan.shape == "cluster"
        self._leaving = asyncio.Event()
        parts = Instead(
            database=self.database,
            records=SimulatedRecords(self, settings.home),
            bus=self.bus,
            dispatcher=PostDispatcher(self, world.post) if apart else InlineDispatcher(),
            census=SimulatedCensus(self),
            new_id=world.new_id,
            index=False,  # no rule is about it, and every seed would tell another story
        )
        try:
            async with open_service(
                settings, speaker=Vendor(self), recover=self.serves, live=self.serves,
                air=self.serves, instead=parts,
            ) as service:  # fmt: skip
                self.service = service
                await self._leaving.wait()
                self.service = None
        except MootError as error:
            world.note(f"{self.name} gives up: {error}")
        self._end()

    def spawn(self, work: Callable[[Service], Awaitable[object]]) -> Callable[[], bool]:
        """Have it do something; the answer says whether it has done it."""
        service = self.service
        if service is None:
            return lambda: False
        done: list[bool] = []

        async def bounded() -> None:
            try:
                await work(service)
            except Exception as error:
                self.world.checks.escaped(error)
            done.append(True)

        self._task(bounded())
        return lambda: bool(done)

    def _task(self, coroutine: Any) -> None:
        self.tasks.append(
            self.context.run(self.world.loop.create_task, coroutine)  # type: ignore[arg-type]
        )

    # --- what is done to it ---

    def leave(self) -> None:
        if self.alive and not self.stopped and self._leaving:
            self.world.note(f"{self.name} is asked to leave")
            self.context.run(self._leaving.set)

    def stop(self) -> None:
        if self.alive and not self.stopped:
            self.world.note(f"{self.name} is stopped")
            self.stopped = True
            self.stops.append(self.world.loop.time())

    def go_on(self) -> None:
        if self.alive and self.stopped:
            self.world.note(f"{self.name} goes on")
            self.stopped = False
            self.stops.append(self.world.loop.time())

    def kill(self) -> None:
        if self.alive:
            self.world.note(f"{self.name} is killed")
            self._end()

    def _end(self) -> None:
        self.alive, self.service, self.died = False, None, self.world.loop.time()
        self.world.loop.forget(self)
        self.world.ended(self)
