"""A schedule: processes, people and faults, from the first step until all is quiet again."""

import asyncio
import hashlib
import random
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from pydantic import SecretStr

from moot.core.times import stamp
from moot.engine.service import Service
from moot.errors import MootError
from moot.ports.model_call import Call
from moot.settings import Settings
from moot.store.reindex import reindex
from moot.testing.simulation.backend import Backend, FileBackend, PostgresBackend
from moot.testing.simulation.checks import FINAL, Broken, Checks
from moot.testing.simulation.faults import Faults
from moot.testing.simulation.loop import ScheduledLoop
from moot.testing.simulation.network import Post
from moot.testing.simulation.people import ACCORD, People
from moot.testing.simulation.plan import Plan, draw
from moot.testing.simulation.process import Process
from moot.testing.virtual import EPOCH

LEASE_SECONDS = 6.0
READ_AGAIN = 5
"""So often a reader whose server left meanwhile comes back."""
QUIET_SECONDS = 3600.0
"""Virtual time after the last fault in which every debate must have come to rest."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a schedule."""

    seed: int
    plan: Plan
    broken: Broken | None
    counts: Counter[str]  # faults and verbs, by name
    trace: tuple[str, ...]
    steps: int
    commits: int
    calls: int
    seconds: float  # of virtual time

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()[:16]


class World:
    """Everything in one schedule. Whatever is left to chance follows from the seed."""

    def __init__(self, seed: int, home: Path, url: str | None = None) -> None:
        self.seed = seed
        self.chance = Random(seed)  # noqa: S311  so that a seed says it all
        self.plan = draw(self.chance)
        self.home = home
        (home / "formats").mkdir(parents=True, exist_ok=True)
        (home / "formats" / "accord.toml").write_text(ACCORD)
        self.loop = ScheduledLoop(self.chance)
        self.loop.trouble = lambda message, error: self.checks.escaped(error, message)
        place = {"home": home, "database_url": SecretStr(url) if url else None}
        settings = _settings(self.plan.shape, self.plan.report_model)
        self.settings = settings.model_copy(update=place)
        self.backend: Backend = PostgresBackend(url) if url else FileBackend(self.settings.file)
        self.checks = Checks(self)
        self.people = People(self)
        self.faults = Faults(self)
        self.loop.waits = self.faults.waits
        self.post = Post(self)
        self.processes: list[Process] = []
        self.past: list[Process] = []  # all that there ever were
        self.counts: Counter[str] = Counter()
        self.trace: list[str] = []
        self.away = self.full = self.settled = self.called_off = False
        self.restored = 0
        self.ahead = 0.0  # of the wall clock
        self.outages: list[tuple[float, float]] = []
        self.mishaps = 0
        self._ids = 0
        self._names = 0
        self._context = Context()
        self.healing = False

    # --- chance and time ---

    def rate(self, planned: float) -> float:
        """How likely something is now."""
        return 0.0 if self.healing else planned

    def wall(self) -> float:
        return EPOCH + self.loop.time() + self.ahead

    def latency(self) -> float:
        return 0.0 if self.chance.random() < 0.7 else self.chance.random() * 0.05

    def delays(self) -> Iterator[float]:
        """When a message arrives: once, late, twice, or not at all."""
        plan, chance = self.plan, self.chance
        if self.healing:
            yield self.latency()
            return
        if chance.random() < plan.lost:
            self.count("message lost")
            return
        doubled = chance.random() < plan.doubled
        if doubled:
            self.count("message doubled")
        for _ in range(2 if doubled else 1):
            late = chance.random() < plan.late
            self.count("message late" if late else "message")
            yield chance.random() * 20 if late else self.latency()

    def likely(self) -> bool:
        return self.chance.random() < 0.5

    def poisoned(self, call: Call) -> bool:
        """Whether it is the seat of the first debate that no model can speak for."""
        goes_on = call.debate.status not in FINAL  # and it is not about its report
        return goes_on and self.is_poisoned(call.debate.id) and call.step.actor in ("ada", "critic")

    def note(self, text: str) -> None:
        self.trace.append(f"{self.loop.time():.3f} {text}")

    def count(self, what: str) -> None:
        self.counts[what] += 1

    def new_id(self, now: float) -> str:
        self._ids += 1
        letters = "abcdefghijklmnopqrstuvwxyz234567"
        token = "".join(letters[self._ids // 32**place % 32] for place in range(6))
        return f"debate_{stamp(now)}_{token}"

    def later(self, seconds: float, work: Callable[[], object]) -> None:
        """The world does something, whatever becomes of the processes."""
        self.loop.call_later(seconds, work, context=self._context.copy())

    def at(self, when: float, work: Callable[[], object]) -> None:
        self.loop.call_at(when, work, context=self._context.copy())

    def in_process(self, process: Process, seconds: float, work: Callable[[], object]) -> None:
        self.loop.call_later(seconds, work, context=process.context.copy())

    # --- processes ---

    def others(self, process: Process) -> list[Process]:
        return [one for one in self.processes if one is not process and one.alive]

    def lives(self, name: str) -> bool:
        return any(one.name == name and one.alive for one in self.processes)

    def start(self, *, serves: bool) -> None:
        self._names += 1
        machine = "home" if self.plan.shape == "home" else f"m{self.chance.randint(1, 2)}"
        name = f"{machine}/p{self._names}"
        self.note(f"{name} starts")
        process = Process(self, name, serves=serves)
        self.processes.append(process)
        self.past.append(process)

    def ended(self, process: Process) -> None:
        """It is gone; somebody starts another a while later."""
        if process in self.processes:
            self.processes.remove(process)
        if not self.settled:
            wait = self.chance.random() * 10
            self.later(wait, lambda: self.settled or self.start(serves=process.serves))

    def troubled(self, process: Process, begin: float, end: float) -> bool:
        """Whether a process, or what it needs, was out of order at some time between the two."""
        stopped = process.stopped or any(begin - 30 <= at <= end for at in process.stops)
        away = any(first < end and last > begin - 5 for first, last in self.outages)
        return stopped or away or bool(self.rate(self.plan.lost_replies))

    @contextmanager
    def offline(self, text: str) -> Generator[None]:
        """Everything is stopped meanwhile, and started again."""
        kinds = [one.serves for one in self.processes] or [True]
        self._stop_all()
        self.note(text)
        yield
        for serves in kinds:
            self.start(serves=serves)

    def forget(self) -> None:
        """The database is another one."""
        self.checks.forget()
        self.people.forget()

    def _stop_all(self) -> None:
        settled, self.settled = self.settled, True  # nobody is started again for this
        for process in list(self.processes):
            process.kill()
        for process in self.past:
            process.database.let_go()
        self.settled = settled

    # --- the schedule ---

    def run(self) -> Result:
        random.seed(self.seed)  # what the engine spreads its waits with
        with self.loop.current():
            try:
                self._begin()
                self.loop.run(self.plan.busy)
                self._heal()
                self._rest()
                self._ask_again()
                self.note("the end")
            finally:
                self._dispose()
        return Result(
            self.seed, self.plan, self.checks.broken, self.counts, tuple(self.trace),
            self.loop.steps, self.checks.commits, len(self.checks.calls), self.loop.time(),
        )  # fmt: skip

    def _begin(self) -> None:
        plan = self.plan
        self.note(str(plan))
        for number in range(plan.processes):
            self.start(serves=plan.shape == "home" or number == 0)
        self.people.begin()
        self.faults.schedule()
        for place in range(6):
            self.later(1.0 + place * plan.busy / 4, self.people.read_along)

    def _heal(self) -> None:
        """No more faults. What is stopped goes on, and what is missing is started."""
        self.note("all is well again")
        self.healing, self.away, self.full, self.ahead = True, False, False, 0.0
        for process in list(self.processes):
            process.fuse = None
            process.go_on()
        if self.plan.station:
            self._in_some(_off_the_air)
        if self.restored and self.chance.random() < 0.7:
            self._reindex()

    def _in_some(self, work: Callable[[Service], object]) -> None:
        for process in self.processes:
            if process.serves and process.service:
                process.spawn(work)  # type: ignore[arg-type]
                return
        self.later(1.0, lambda: self._in_some(work))

    def _reindex(self) -> None:
        """An operator brings the database up to the files, with nothing else under way."""
        with self.offline("reindex --from-files"):
            clerk = Process(self, "home/clerk", serves=False)  # it carries on with nothing
            self.past.append(clerk)
            self.checks.paused = True  # what it writes is not what a debate does
            task = clerk.context.run(
                self.loop.create_task, reindex(clerk.database, self.home, from_files=True)
            )
            self.loop.run(done=task.done)
            clerk.kill()
            self.checks.paused = False
            self.forget()

    def _rest(self) -> None:
        """Every debate comes to rest, and then everything about it is right."""
        until, looks = self.loop.time() + QUIET_SECONDS, 0
        while True:
            while not (quiet := self.checks.at_rest()) and self.loop.time() <= until:
                if not self._let_pass(1.0):
                    break
            if self.checks.broken:
                return
            if not quiet:
                stuck = [row for row in self.checks.rows() if row["status"] not in FINAL]
                self.checks.fail("every debate comes to rest", str(stuck))
                return
            self._let_pass(5.0)  # whoever reads along is a moment behind
            self.people.read_along()
            self._let_pass(5.0)
            looks += 1
            if self.checks.at_rest() and (looks > READ_AGAIN or not self.people.unread()):
                break  # nobody asked for anything meanwhile
        self.checks.finish()
        self.people.check_readers()

    def _let_pass(self, seconds: float) -> bool:
        return self.loop.run(self.loop.time() + seconds)

    def _ask_again(self) -> None:
        """What waits for a person goes on to its end once somebody says so."""
        waiting: list[dict[str, Any]] = []
        for _ in range(6):
            behind = self.checks.behind()
            waiting = [
                row
                for row in self.checks.rows()
                if row["status"] == "paused"
                and row["id"] not in behind
                and not self.is_poisoned(row["id"])
            ]
            if not waiting or self.checks.broken:
                return
            for row in waiting:
                self._in_some(_go_on(row["id"], retry=bool(row["failure"])))
            self._let_pass(2.0)
            self._rest()
        if not self.checks.broken:
            self.checks.fail("what is retried goes on", str(waiting))

    def is_poisoned(self, debate_id: str) -> bool:
        return bool(self.plan.poison) and self.people.debates[:1] == [debate_id]

    def _dispose(self) -> None:
        """Throw all coroutines away. Whatever they still do does not reach the world."""
        self.settled = True
        self.loop.trouble = lambda message, error: None
        for process in self.past:
            process.alive = False
        for task in asyncio.all_tasks(self.loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            try:
                task.get_coro().close()  # type: ignore[union-attr]
            except (RuntimeError, ValueError, MootError):
                continue  # it awaited something, or runs
        for process in self.past:
            process.database.let_go()
        self.backend.close()
        self.loop.close()
        shutil.rmtree(self.home, ignore_errors=True)


@cache
def _settings(shape: str, report_model: bool) -> Settings:
    """Made once: reading the environment takes longer than many a schedule's first minute."""
    cluster = {"broker_url": "amqp://nowhere"} if shape == "cluster" else {}
    return Settings(
        model="claude:x", report_model="claude:writer" if report_model else None,
        lease_seconds=LEASE_SECONDS, disabled_formats=(), **cluster,  # type: ignore[arg-type]
    )  # fmt: skip


def _go_on(debate_id: str, *, retry: bool) -> Callable[[Service], object]:
    async def work(service: Service) -> None:
        try:
            await (service.retry(debate_id) if retry else service.resume(debate_id))
        except MootError:
            await service.resume(debate_id)

    return work


async def _off_the_air(service: Service) -> None:
    """Nothing new is made, so that what waits can come to its end."""
    if await service.stations.all():
        await service.stations.change("one", {"cron": ""})
