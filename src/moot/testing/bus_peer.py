"""Who speaks and who listens in the tests of a bus: in this process, and in processes of their own.

Nothing here measures time. Tests wait for what must come, however long it takes; the limit is only
there so that a failure ends.
"""

import asyncio
import inspect
import os
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import wraps
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar

from moot.core.debate import NO_USAGE, Turn
from moot.core.events import Delta, Event, Speech, StatusChanged, TurnCommitted
from moot.core.status import Status
from moot.ports.event_bus import Bus

PATIENCE = 60.0  # seconds
Make = Callable[[], Bus]
"""Makes a bus, and can be pickled. All that one makes hear each other, in whichever process."""
P = ParamSpec("P")
B = TypeVar("B", bound=Bus)
_numbers = count()
_context = get_context("forkserver")


def in_loop(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    """Run an async test in an event loop of its own. It ends even if something blocks the loop."""

    def end(*_: object) -> None:
        raise TimeoutError("the test did not end")

    @wraps(test)
    def run(*args: P.args, **named: P.kwargs) -> None:
        before = signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, 3 * PATIENCE, PATIENCE / 10)
        try:
            asyncio.run(test(*args, **named))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    return run


async def until(true: Callable[[], object]) -> None:
    """Wait until a condition, which may be async, is true."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = true()
            if await found if inspect.isawaitable(found) else found:
                return
            await asyncio.sleep(0.005)


@asynccontextmanager
async def started(make: Callable[[], B], count: int = 1) -> AsyncGenerator[list[B]]:
    buses = [make() for _ in range(count)]
    async with AsyncExitStack() as stack:
        for bus in buses:
            stack.push_async_callback(bus.close)
            await bus.start()
        yield buses


def committed(debate_id: str = "d", seq: int = 1) -> StatusChanged:
    return StatusChanged(debate_id, seq, "now", "running", None, None, None, None, 0, 1, False)


def turn(actor: str = "ada", debate_id: str = "d") -> TurnCommitted:
    said = Turn(
        1, 1, "opening", actor, actor, "speech", None, None, "word", None,
        "ok", None, "understudy:understudy", NO_USAGE, "then", "now",
    )  # fmt: skip
    return TurnCommitted(debate_id, said)


def status(value: Status) -> StatusChanged:
    return replace(committed(), status=value)


def delta(text: str = "word", offset: int = 0, **more: Any) -> Delta:
    return replace(Delta("d", 1, "opening", "ada", None, text, "now", offset), **more)


def broken(_: object) -> None:
    raise ValueError("broken")


def spoken(bus: Bus, debate_id: str = "d") -> list[str]:
    """What is being said, as the bus knows it."""
    return ["".join(speech.pieces) for speech in bus.speeches(debate_id)]


class Talk:
    """A speech as the engine makes it: each piece is kept, then said if anybody listens."""

    def __init__(self, bus: Bus, actor: str = "ada", debate_id: str = "d") -> None:
        self.bus = bus
        self.speech = Speech(debate_id, 1, "opening", actor, None, [])
        bus.begin(self.speech)

    def say(self, *pieces: str) -> None:
        for text in pieces:
            delta = self.delta(text, len(self.text()))
            self.speech.pieces.append(text)
            if self.bus.listened(delta.debate_id):
                self.bus.publish(delta)

    def delta(self, text: str, offset: int) -> Delta:
        debate_id, actor = self.speech.debate_id, self.speech.actor
        return Delta(debate_id, 1, "opening", actor, None, text, "then", offset)

    def text(self) -> str:
        return "".join(self.speech.pieces)

    async def go_on(self) -> None:
        """Until cancelled."""
        for number in count():
            self.say(f"{number} ")
            await asyncio.sleep(0.005)


@asynccontextmanager
async def going_on(*talks: Talk) -> AsyncGenerator[None]:
    """They go on talking meanwhile."""
    tasks = [asyncio.create_task(talk.go_on()) for talk in talks]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Ear:
    """All that a bus tells: deltas, hints and nudges."""

    def __init__(self, bus: Bus, debate_id: str = "d") -> None:
        self.bus = bus
        self.heard: list[Event | Delta] = []
        self.hints: list[dict[str, int]] = []
        self.nudges: list[str] = []
        self.forget = bus.listen(debate_id, self.heard.append)
        self.heard.extend(speech.so_far("then") for speech in bus.speeches(debate_id))
        bus.on_hint(lambda of: self.hints.append(dict(of)))
        bus.on_nudge(self.nudges.append)

    def deltas(self, actor: str = "ada") -> list[Delta]:
        return [one for one in self.heard if isinstance(one, Delta) and one.actor == actor]

    def beginnings(self, actor: str = "ada") -> int:
        return sum(delta.offset == 0 for delta in self.deltas(actor))

    def text(self, actor: str = "ada") -> str:
        """What was said, put together as a page would."""
        pieces, length = list[str](), 0
        for delta in self.deltas(actor):
            if delta.offset == 0:
                pieces, length = [], 0
            assert delta.offset == length, "a gap was told, or a piece twice"
            pieces.append(delta.text)
            length += len(delta.text)
        return "".join(pieces)

    def seqs(self, debate_id: str = "d") -> list[int]:
        return [of[debate_id] for of in self.hints if debate_id in of]


class Participant:
    """What a peer has, and what it can be told to do."""

    def __init__(self, bus: Bus) -> None:
        self.bus, self.ear = bus, Ear(bus)
        self._talks: dict[str, Talk] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def _talk(self, actor: str) -> Talk:
        return self._talks.get(actor) or self._talks.setdefault(actor, Talk(self.bus, actor))

    def say(self, actor: str, *pieces: str) -> None:
        self._talk(actor).say(*pieces)

    def said(self, actor: str) -> str:
        return self._talk(actor).text()

    def go_on(self, actor: str) -> None:
        self._tasks.append(asyncio.create_task(self._talk(actor).go_on()))

    def cease(self, actor: str) -> None:
        self.bus.cease(self._talks.pop(actor).speech)


class Peer:
    """A participant in a process of its own."""

    def __init__(self, make: Make) -> None:
        self._orders, theirs = _context.Pipe()
        self.process = _context.Process(target=_live, args=(make, theirs), daemon=True)
        self.process.start()
        theirs.close()

    async def do(self, what: str, *args: object) -> Any:
        """Call what its participant has under that name, or get it."""
        self._orders.send((what, args))
        return await self.answer()

    async def answer(self) -> Any:
        await until(self._orders.poll)
        answer = self._orders.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def hears(self, talk: Talk) -> bool:
        """Whether it has heard all of it."""
        return await self.do("ear.text", talk.speech.actor) == talk.text()

    async def catches_up(self, talk: Talk) -> None:
        """Wait until it has heard all that was said before this: what it missed, it asks for."""
        actor, said = talk.speech.actor, talk.text()

        async def caught_up() -> bool:
            return (await self.do("ear.text", actor)).startswith(said)

        async with going_on(talk):
            await until(caught_up)

    @contextmanager
    def stopped(self) -> Generator[None]:
        """It stands still and reads nothing. Whoever waits for it waits until patience ends."""
        pid = self.process.pid
        assert pid
        os.kill(pid, signal.SIGSTOP)
        end = threading.Timer(PATIENCE, os.kill, (pid, signal.SIGCONT))
        end.start()
        try:
            yield
            assert end.is_alive(), "somebody waited for one that stands still"
        finally:
            end.cancel()
            os.kill(pid, signal.SIGCONT)

    async def kill(self) -> None:
        self.process.kill()
        await until(lambda: self.process.exitcode is not None)

    async def close(self) -> None:
        """Have it close its bus, and end."""
        self._orders.close()
        await until(lambda: self.process.exitcode is not None)
        self.process.close()


@asynccontextmanager
async def peers(make: Make, count: int) -> AsyncGenerator[list[Peer]]:
    async with AsyncExitStack() as stack:
        there: list[Peer] = []
        for _ in range(count):
            there.append(Peer(make))
            stack.push_async_callback(there[-1].close)
        for peer in there:
            assert await peer.answer() == "ready"
        yield there


async def meet(bus: Bus, *others: Ear | Peer) -> None:
    """Wait until what the bus says reaches them."""
    name = f"met-{next(_numbers)}"

    async def met(other: Ear | Peer) -> bool:
        bus.publish(committed(name))
        if isinstance(other, Ear):
            return bool(other.seqs(name))
        return bool(await other.do("ear.seqs", name))

    for other in others:
        await until(lambda other=other: met(other))


def _live(make: Make, orders: Connection) -> None:
    asyncio.run(_obey(make, orders))


async def _obey(make: Make, orders: Connection) -> None:
    over = asyncio.Event()
    async with started(make) as (bus,):
        participant = Participant(bus)

        def obey() -> None:
            try:
                what, args = orders.recv()
            except EOFError:
                over.set()
                return
            try:
                found = attrgetter(what)(participant)
                orders.send(found(*args) if callable(found) else found)
            except Exception as error:
                orders.send(error)

        loop = asyncio.get_running_loop()
        loop.add_reader(orders.fileno(), obey)
        orders.send("ready")
        await over.wait()
        loop.remove_reader(orders.fileno())
