"""What goes between processes: hints and nudges on a bus, and messages to workers."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from moot.bus.memory import MemoryBus
from moot.core.debate import Debate
from moot.core.events import Delta, Event

if TYPE_CHECKING:
    from moot.testing.simulation.process import Process
    from moot.testing.simulation.world import World

REDELIVERED_SECONDS = 60.0


class SimulatedBus(MemoryBus):
    """Tells the other processes, if the message reaches them."""

    def __init__(self, process: "Process") -> None:
        super().__init__()
        self._process = process
        self._world = process.world

    def publish(self, event: Event | Delta) -> None:
        self._process.check_alive()
        if not isinstance(event, Delta):
            self._world.checks.announced(event)
        super().publish(event)
        if not isinstance(event, Delta):
            self._send(lambda bus: bus._hint and bus._hint({event.debate_id: event.seq}))

    def nudge(self, debate_id: str) -> None:
        self._process.check_alive()
        self._send(lambda bus: bus._nudged and bus._nudged(debate_id))

    def _send(self, tell: Callable[["SimulatedBus"], object]) -> None:
        for other in self._world.others(self._process):
            for delay in self._world.delays():
                self._world.in_process(other, delay, lambda bus=other.bus: tell(bus))


class Post:
    """The queue that workers take messages from, each at least once, unless it is lost."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.waiting = 0

    def put(self, debate_id: str, place: str) -> None:
        for delay in self._world.delays():
            self.waiting += 1
            self._world.later(delay, lambda: self._deliver(debate_id, place))

    def _deliver(self, debate_id: str, place: str) -> None:
        workers = [one for one in self._world.processes if one.works and one.service]
        if not workers:
            self._world.later(1.0, lambda: self._deliver(debate_id, place))
            return
        self.waiting -= 1
        worker = self._world.chance.choice(workers)
        worker.sent.setdefault(debate_id, []).append(place)
        done = worker.spawn(lambda service: service.wave(debate_id, place))
        self._world.later(REDELIVERED_SECONDS, lambda: self._again(debate_id, place, done))

    def _again(self, debate_id: str, place: str, done: Callable[[], bool]) -> None:
        """Nobody has said that it was dealt with: somebody else gets it."""
        if not done() and not self._world.settled:
            self._world.count("message repeated")
            self.put(debate_id, place)


class PostDispatcher:
    """A process's way to that queue."""

    here = False

    def __init__(self, process: "Process", post: Post) -> None:
        self._process = process
        self._post = post

    def start(self, advance: Callable[[str], Awaitable[None]]) -> None:
        """Others advance."""

    def dispatch(self, debate: Debate) -> None:
        self._process.check_alive()
        self._post.put(debate.id, debate.cursor.name)

    async def waiting(self) -> int | None:
        return self._post.waiting

    async def idle(self, debate_id: str) -> None:
        """Nothing is under way here."""

    async def close(self) -> None:
        """Nothing was opened."""
