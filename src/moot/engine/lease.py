"""Leases: who has which debate in hand, kept alive while they do, noticed when they are lost."""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moot.ports.debate_store import Store
from moot.ports.instruments import Clock

log = logging.getLogger(__name__)

WATCH_SECONDS = 0.4
"""How often a worker looks whether its debates are still its own: an `end` said in another
process must reach the call in flight within a second."""
LOOK_SECONDS = 0.01  # between two looks, however many are asked for


def _start_time(pid: str) -> str | None:
    """When a process of this machine began; with its pid, that is its identity.

    One that is dead and only not yet buried by its parent is gone.
    """
    with suppress(OSError):
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if state in "ZX" else rest[18]
    return None


def _space() -> str:
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink())
    return "-"


def _boot() -> str:
    """This run of this machine. Clones of one image share its name, but not this."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return "-"


def owner_name() -> str:
    """This process, told apart from every other that is or was."""
    pid = str(os.getpid())
    parts = (
        socket.gethostname(), _boot(), _space(), pid, _start_time(pid) or "-", secrets.token_hex(4),
    )  # fmt: skip
    return "/".join(parts)


def is_dead(owner: str) -> bool:
    """Whether that process is known to be gone: on this machine, and no longer there.

    What cannot be known from here (another machine, one that was started anew, no /proc, a name in
    the form of an earlier version) counts as alive until its lease ends.
    """
    try:
        host, boot, space, pid, began, _ = owner.split("/")
    except ValueError:
        return False
    here = (socket.gethostname(), _boot(), _space())
    if (host, boot, space) != here or "-" in (boot, space, began):
        return False
    return _start_time(pid) != began


class Census:
    """Which processes there are: this one's name, and whether another is known to be gone."""

    def owner_name(self) -> str:
        return owner_name()

    def is_dead(self, owner: str) -> bool:
        return is_dead(owner)


class Hand:
    """One debate in hand: its fence, and the calls that must be called off when it is lost."""

    def __init__(self, debate_id: str, fence: int) -> None:
        self.debate_id = debate_id
        self.fence = fence
        self.nudged = asyncio.Event()  # something changed: do not sleep on
        self.lost = False
        self._since = asyncio.get_running_loop().time()
        self._calls: dict[asyncio.Task[Any], Flight] = {}

    def held(self) -> float:
        """Seconds since it was taken."""
        return asyncio.get_running_loop().time() - self._since

    def enter(self, task: asyncio.Task[Any], until: float) -> "Flight":
        """From here on the task makes a call, and may be cancelled; until it leaves."""
        call = self._calls[task] = Flight(until)
        if self.lost:
            task.cancel()
        return call

    def leave(self, task: asyncio.Task[Any]) -> None:
        del self._calls[task]

    def call_off(self) -> None:
        """It is somebody else's now: cancel what is in flight."""
        self.lost = True
        self.nudged.set()
        for task in list(self._calls):
            task.cancel()

    def cut_off(self, now: float) -> None:
        """Cancel what has long been due: one look at all calls, not a timer for each."""
        for task, call in list(self._calls.items()):
            if call.until <= now and not call.overdue:
                call.overdue = True
                task.cancel()


@dataclass(slots=True)
class Flight:
    """A call under way."""

    until: float  # when it must be over
    overdue: bool = False


@dataclass(frozen=True, slots=True)
class _Owed:
    """A lease that is still to be given back."""

    give_back: Callable[[], Awaitable[Any]]
    until: float  # by then it has run out by itself


class Keeper:
    """Keeps the leases of the debates in hand alive, all of them with one write.

    It goes by the monotonic clock: setting the wall clock must not stall it.
    """

    def __init__(
        self, store: Store, clock: Clock, lease_seconds: float, who: Census | None = None
    ) -> None:
        who = who or Census()
        self.owner = who.owner_name()
        self.is_dead = who.is_dead
        self.lease_seconds = lease_seconds
        self._store = store
        self._clock = clock
        self._hands: dict[str, Hand] = {}
        self._owed: list[_Owed] = []
        self._asked = asyncio.Event()  # to look now
        self._task: asyncio.Task[None] | None = None

    def hold(self, debate_id: str, fence: int) -> Hand:
        if before := self._hands.get(debate_id):  # taken away, and taken again, before it was seen
            before.call_off()
        hand = self._hands[debate_id] = Hand(debate_id, fence)
        self._start()
        return hand

    def owe(self, give_back: Callable[[], Awaitable[Any]]) -> None:
        """A lease could not be given back: try again until it has run out."""
        until = asyncio.get_running_loop().time() + self.lease_seconds
        self._owed.append(_Owed(give_back, until))
        self._start()

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._keep(), name="moot-keeper")

    @property
    def count(self) -> int:
        return len(self._hands)

    def holding(self) -> bool:
        return bool(self._hands)

    def drop(self, hand: Hand) -> None:
        if self._hands.get(hand.debate_id) is hand:
            del self._hands[hand.debate_id]

    def call_off(self, debate_id: str) -> None:
        if hand := self._hands.get(debate_id):
            hand.call_off()

    def nudge(self, debate_id: str) -> None:
        if hand := self._hands.get(debate_id):
            hand.nudged.set()

    def look(self, debate_id: str) -> None:
        """Something is wanted of that debate: see what, rather than at the next tick."""
        if debate_id in self._hands:
            self._asked.set()

    async def close(self) -> None:
        for hand in list(self._hands.values()):
            hand.call_off()
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._give_back(asyncio.get_running_loop().time())

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        renewed = loop.time()
        while self._hands or self._owed:
            await self._tick(min(WATCH_SECONDS, self.lease_seconds / 4))
            now = loop.time()
            for hand in list(self._hands.values()):
                hand.cut_off(now)
            try:
                if now - renewed >= self.lease_seconds / 3 and self._hands:
                    until = self._clock.now() + self.lease_seconds
                    await self._store.renew(self.owner, list(self._hands), until)
                    renewed = now
                await self._watch()
            except Exception as error:  # whatever it is, the next look must come
                log.warning("leases could not be renewed: %s", error)
            await self._give_back(now)

    async def _give_back(self, now: float) -> None:
        owed, self._owed = self._owed, []
        for one in owed:
            try:
                await one.give_back()
            except Exception:  # whatever it is, the lease runs out by itself in the end
                if now < one.until:
                    self._owed.append(one)

    async def _tick(self, seconds: float) -> None:
        await asyncio.sleep(LOOK_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds - LOOK_SECONDS):
                await self._asked.wait()
        self._asked.clear()

    async def _watch(self) -> None:
        mine = dict(self._hands)
        rows = await self._store.held(self.owner)
        for debate_id, hand in mine.items():
            row = rows.get(debate_id)
            if row is None or row.fence != hand.fence:
                hand.call_off()
            elif row.wanted:
                hand.nudged.set()
