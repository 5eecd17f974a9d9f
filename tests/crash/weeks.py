"""Weeks of many stations in minutes: supervisors in processes of their own, on one clock that the
test sets.

The clock lies in a shared page of memory, with a mark of each supervisor: up to when it has seen to
everything and has nothing left to do. It goes on once every living supervisor has said so. Speech
takes simulated minutes, so what is on air overlaps with what comes next.
"""

import asyncio
import mmap
import os
import signal
import struct
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from moot.bootstrap import open_service
from moot.dispatch.inline import InlineDispatcher
from moot.engine import finish
from moot.engine.service import Service
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.stations.station import Conversation
from moot.store.files import Folder
from moot.testing.speaker import ScriptedSpeaker
from tests.crash.harness import Books
from tests.patience import Patience

STEP = 1800.0
"""Seconds between two looks at the clock; every cron line of the tests names multiples of it."""
Guard = Callable[[], None]


class SharedClock:
    """A time that several processes see, and a mark of each."""

    def __init__(self, marks: int) -> None:
        self._page = mmap.mmap(-1, 8 * (marks + 1))

    def now(self) -> float:
        return self._get(0)

    def set(self, moment: float) -> None:
        self._put(0, moment)

    def mark(self, place: int, moment: float) -> None:
        self._put(place + 1, moment)

    def marked(self, place: int) -> float:
        return self._get(place + 1)

    def _get(self, place: int) -> float:
        return struct.unpack_from("d", self._page, 8 * place)[0]

    def _put(self, place: int, value: float) -> None:
        struct.pack_into("d", self._page, 8 * place, value)


class SlowSpeaker(ScriptedSpeaker):
    """Speaks for as many simulated minutes as the motion says: `Topic 3, 40 minutes a turn`."""

    def __init__(self, clock: SharedClock) -> None:
        super().__init__()
        self._clock = clock
        self.waiting = 0
        self.ticked = asyncio.Event()

    async def speak(self, call: Call, say: Say) -> Reply:
        until = self._clock.now() + 60 * int(call.debate.motion.split()[2])
        while self._clock.now() < until:
            self.waiting += 1
            await self.ticked.wait()
            self.waiting -= 1
        return await super().speak(call, say)

    def tick(self) -> None:
        self.ticked.set()
        self.ticked = asyncio.Event()


@dataclass
class Studio(Books):
    """A home with stations, and the supervisors that see to it."""

    supervisors: int = 2
    begin: datetime = datetime(2027, 3, 5, tzinfo=UTC)
    paper: bool = True  # whether what was said is written into files
    kills: int = 0
    _pids: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self.clock = SharedClock(self.supervisors)
        self.clock.set(self.begin.timestamp())

    @property
    def settings(self) -> Settings:
        return Settings(home=self.root / "home", lease_seconds=1e9, sweep_seconds=1e9)

    def ask(self, question: Callable[[Service], Any]) -> Any:
        async def run() -> Any:
            async with open_service(self.settings, clock=self.clock, recover=False) as service:
                return await question(service)

        return asyncio.run(run())

    # --- time goes by ---

    def pass_time(self, until: datetime, between: Callable[[], None] = lambda: None) -> None:
        while self.clock.now() < until.timestamp():
            self._settle()
            between()
            self.clock.set(self.clock.now() + STEP)
        self._settle()

    def _settle(self) -> None:
        """Until every supervisor that lives has nothing left to do at this moment."""
        now, patience = self.clock.now(), Patience()
        while not self._pids or any(self.clock.marked(place) < now for place in self._pids):
            self._bury()
            if not self._pids:  # the last one died: it is not downtime that is tried here
                self.start(0)
            if self.book("errors"):
                raise AssertionError(self.book("errors"))
            assert not patience.over, "no supervisor comes to rest"
            time.sleep(0.001)

    # --- supervisors ---

    def start(self, place: int, guard: Guard = lambda: None, die: str | None = None) -> None:
        self.clock.mark(place, 0.0)
        pid = os.fork()
        if pid == 0:
            try:
                guard()
                if die:
                    self.die_at(die)
                asyncio.run(self._supervise(place))
            except BaseException:  # a mistake must be seen, not lost in a child
                self.note("errors", traceback.format_exc())
            finally:
                os._exit(0)
        self._pids[place] = pid

    def kill(self, place: int) -> None:
        """Whatever it is doing. What it had in hand, the others see to, and say so anew."""
        if pid := self._pids.pop(place, None):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self.kills += 1
            self._forget_marks()

    def alive(self) -> list[int]:
        self._bury()
        return list(self._pids)

    def _bury(self) -> None:
        for place, pid in list(self._pids.items()):
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self._pids[place]
                self.kills += 1
                self._forget_marks()

    def _forget_marks(self) -> None:
        for place in self._pids:
            self.clock.mark(place, 0.0)

    async def _supervise(self, place: int) -> None:
        finish.PATIENCE_SECONDS = 0.0
        if not self.paper:
            Folder.file = lambda *_, **__: None
        speaker, clock = SlowSpeaker(self.clock), self.clock
        async with open_service(
            self.settings, clock=clock, speaker=speaker, recover=False, air=True
        ) as service:
            dispatcher = service._dispatcher
            assert isinstance(dispatcher, InlineDispatcher)
            while True:
                while clock.marked(place) == clock.now():
                    await asyncio.sleep(0.001)
                now = clock.now()
                speaker.tick()
                await asyncio.sleep(0)
                before = (len(dispatcher._tasks) - speaker.waiting, len(speaker.calls))
                await service.supervisor.sweep()
                await asyncio.sleep(0)
                after = (len(dispatcher._tasks) - speaker.waiting, len(speaker.calls))
                if before == after and not before[0] and now == clock.now():
                    clock.mark(place, now)  # a sweep that began and ended with nothing to do

    # --- what came of it ---

    def aired(self) -> dict[str, list[Conversation]]:
        """What each station has aired, in the order of its beginning."""

        async def read(service: Service) -> dict[str, list[Conversation]]:
            found: dict[str, list[Conversation]] = {}
            for station in await service.stations.all():
                newest = await service.stations._store.aired(station.id, 100_000)
                found[station.id] = newest[::-1]
            return found

        return self.ask(read)


@contextmanager
def studio(root: Path, **more: Any) -> Generator[Studio]:
    made = Studio(root, **more)
    try:
        yield made
    finally:
        for place in made.alive():
            made.kill(place)


@cache  # many stations have the same line and the same zone
def minutes_of(line: str, zone: str, begin: datetime, end: datetime) -> list[float]:
    """The moments that a cron line names, found the slow way: by looking at every minute.

    With a fixed hour and minute it is once for each day that has them on its calendar: in a gap of
    the clock right after it, in a doubled hour the first time. With a star, every minute counts.
    """
    minute, hour, _, _, weekday = line.split()
    fixed = "*" not in minute + hour
    place, found, seen = ZoneInfo(zone), list[float](), set[datetime]()
    moment = begin.astimezone(UTC) + timedelta(minutes=1)
    last = (moment - timedelta(minutes=1)).astimezone(place).replace(tzinfo=None)
    while moment <= end:
        local = moment.astimezone(place).replace(tzinfo=None)
        named = [last + timedelta(minutes=1)] if fixed and local > last else [local]
        while fixed and named[-1] < local:  # the minutes that a gap leaves out
            named.append(named[-1] + timedelta(minutes=1))
        hits = [one for one in named if _matches(one, minute, hour, weekday)]
        fresh = [one for one in hits if not fixed or one not in seen]
        if fresh:
            found.append(moment.timestamp())
            seen.update(fresh)
        last, moment = max(last, local) if fixed else local, moment + timedelta(minutes=1)
    return found


def _matches(local: datetime, minute: str, hour: str, weekday: str) -> bool:
    days = {"*": range(7), "MON-FRI": range(5), "SAT,SUN": (5, 6), "WED": (2,)}[weekday]
    return _in(local.minute, minute) and _in(local.hour, hour) and local.weekday() in days


def _in(value: int, field_: str) -> bool:
    if field_ == "*":
        return True
    if field_.startswith("*/"):
        return value % int(field_[2:]) == 0
    return str(value) in field_.split(",")
