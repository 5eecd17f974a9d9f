"""Forks workers on one home, kills or stops them, and looks at what is left.

Workers are forked, not spawned: a thousand of them then take a minute and not an hour. What the
engine is judged by is written by hand into files beside the home (O_APPEND, a line at a time), so
that it does not depend on the database that is under test.
"""

import asyncio
import os
import signal
import sqlite3
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from moot.bootstrap import open_service
from moot.bus.memory import MemoryBus
from moot.core import moves, schedule, verbs
from moot.core.change import FencedError
from moot.core.debate import Debate
from moot.core.events import Delta, Event, TurnCommitted
from moot.core.schedule import Finish
from moot.engine import failpoints
from moot.ports.finding import Search
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.testing.speaker import Script, ScriptedSpeaker, plain
from tests.patience import Patience
from tests.services import ask

Guard = Callable[[], None]
"""Takes a guard out of the engine, in the worker alone."""

OPEN = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend' AND xact_start IS NOT NULL AND pid != pg_backend_pid()"
)
"""Transactions of others on this database of Postgres."""


def keep_all() -> None:
    """The engine as it is."""


@dataclass
class Books:
    """Files in a folder, that several processes write into, a whole line at a time."""

    root: Path

    def note(self, book: str, line: str) -> None:
        out = os.open(self.root / book, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(out, (line + "\n").encode())
        os.close(out)

    def book(self, name: str) -> list[str]:
        path = self.root / name
        return path.read_text().splitlines() if path.exists() else []

    def keep(self) -> None:
        """From here on, note what this process announces, and each write that the fence refuses."""
        publish, fence, books = MemoryBus.publish, moves.check_fence, self

        def noted_publish(self: MemoryBus, event: Event | Delta) -> None:
            if isinstance(event, TurnCommitted):
                books.note("announced", f"{event.debate_id} {event.seq} {event.turn.text}")
            publish(self, event)

        def noted_fence(debate: Debate, number: int) -> None:
            try:
                fence(debate, number)
            except FencedError:
                books.note("fenced", f"{debate.id} {number}")
                raise

        MemoryBus.publish = noted_publish
        moves.check_fence = noted_fence

    def die_at(self, place: str) -> None:
        """From here on, reaching that place of the engine is death."""

        def die(here: str) -> None:
            if here == place:
                self.note("died", here)
                os.kill(os.getpid(), signal.SIGKILL)

        failpoints.hook = die

    def wait_until(self, done: Callable[[], bool], seconds: float | None = None) -> bool:
        """Whether it comes to that; `seconds` only where the test expects that it does not."""
        patience, until = Patience(), time.monotonic() + (seconds or 0)
        while not done():
            if patience.over if seconds is None else time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True


class Judged(Protocol):
    """What is looked at when all is over."""

    @property
    def settings(self) -> Settings: ...

    def book(self, name: str) -> list[str]: ...

    def rows(self, sql: str) -> list[tuple[object, ...]]: ...


@dataclass
class Ground(Books):
    """A home under attack, and the books that are kept beside it."""

    lease_seconds: float = 15.0
    speak_seconds: float = 0.02
    workers: list[int] = field(default_factory=list[int])

    @property
    def settings(self) -> Settings:
        return Settings(
            home=self.root / "home",
            lease_seconds=self.lease_seconds,
            sweep_seconds=0.05,
            deaths=10_000,  # no step is given up: a thousand kills are nobody's fault
        )

    def create(self, count: int, max_turns: int = 20) -> list[str]:
        async def make() -> list[str]:
            async with open_service(self.settings, recover=False) as service:
                ids: list[str] = []
                for number in range(count):
                    debate = await service.create(
                        f"motion {number}",
                        format="duel",
                        limits={"max_turns": max_turns},
                        start=False,
                    )
                    await service._store.change(debate.id, lambda row: verbs.enqueue(row, "now"))
                    ids.append(debate.id)
                return ids

        return asyncio.run(make())

    def fork(self, guard: Guard = keep_all, place: str | None = None) -> int:
        """Start a worker that carries on whatever is unfinished, until it is killed."""
        pid = os.fork()
        if pid == 0:
            try:
                guard()
                asyncio.run(self._work(place))
            except BaseException:  # a worker's mistake must be seen, not lost in a child
                self.note("errors", traceback.format_exc())
            finally:
                os._exit(0)
        self.workers.append(pid)
        return pid

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.workers.remove(pid)

    def kill_all(self) -> None:
        for pid in list(self.workers):
            os.kill(pid, signal.SIGCONT)
            self.kill(pid)

    async def _work(self, place: str | None) -> None:
        self.keep()
        if place:
            self.die_at(place)
        async with open_service(self.settings, speaker=Noted(self, self.speak_seconds)):
            await asyncio.sleep(3600)

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        return ask(self.settings.database, sql)

    def unfinished(self) -> int:
        sql = "SELECT count(*) FROM debate_runs WHERE status NOT IN ('completed', 'failed')"
        return int(str(self.rows(sql)[0][0]))


class Noted(ScriptedSpeaker):
    """Notes each call before it is made: what a vendor would send a bill for."""

    def __init__(self, books: Books, seconds: float, script: Script = plain) -> None:
        super().__init__(script, seconds)
        self._books = books

    async def speak(self, call: Call, say: Say) -> Reply:
        self._books.note("calls", f"{call.debate.id} {call.step.round} {call.step.actor}")
        return await super().speak(call, say)


def expected(debate: Debate) -> Iterator[str]:
    """The texts that the debate must have, in order: an uninterrupted run of the plan."""
    row = debate.but(status="running", cursor=schedule.first(debate), stop_reason=None)
    while not isinstance(ahead := schedule.plan(row), Finish):
        for step in ahead.steps:
            to = f" to {step.target}" if step.target else ""
            yield f"{step.actor} in round {step.round}, {step.stage}{to}."
            row = row.but(cursor=schedule.after(row, step.bit))


def violations(ground: Judged) -> list[str]:
    """Everything that the contract forbids and that can be found in what is left."""

    async def read() -> list[str]:
        found: list[str] = list(ground.book("errors"))
        announced = Counter(ground.book("announced"))
        async with open_service(ground.settings, recover=False) as service:
            for debate in (await service.find(Search(limit=10_000))).debates:
                turns = await service.turns(debate.id)
                events = await service._store.events(debate.id, limit=100_000)
                found += _of_one(debate, [turn.text for turn in turns], [e.seq for e in events])
                stored = {f"{debate.id} {turn.seq} {turn.text}" for turn in turns}
                said = {line for line in announced if line.startswith(debate.id)}
                found += [f"announced but not stored: {line}" for line in said - stored]
                logged = {e.seq for e in events if isinstance(e, TurnCommitted)}
                found += [f"turn without event: {t.seq}" for t in turns if t.seq not in logged]
        return found

    return asyncio.run(read())


def _of_one(debate: Debate, texts: list[str], seqs: list[int]) -> list[str]:
    found: list[str] = []
    if debate.status != "completed":
        found.append(f"{debate.id} is {debate.status}")
    if texts != list(expected(debate)):
        twice = [text for text, count in Counter(texts).items() if count > 1]
        found.append(f"{debate.id} has other turns than planned; twice: {twice}")
    if seqs != list(range(1, debate.last_seq + 1)):
        gaps = [pair for pair in pairwise([0, *seqs]) if pair[1] != pair[0] + 1]
        found.append(f"{debate.id} has gaps in seq at {gaps}")
    if debate.turn_count != len(texts):
        found.append(f"{debate.id} counts {debate.turn_count} turns and has {len(texts)}")
    return found


@dataclass(frozen=True)
class Bill:
    """Calls that were made, turns that came of them, and attempts by how they ended."""

    calls: int
    turns: int
    attempts: Counter[str]


def bill(ground: Judged) -> Bill:
    outcomes = ground.rows("SELECT outcome, count(*) FROM debate_attempts GROUP BY outcome")
    turns = ground.rows("SELECT count(*) FROM debate_turns")[0][0]
    counts = Counter({str(outcome): int(str(count)) for outcome, count in outcomes})
    return Bill(len(ground.book("calls")), int(str(turns)), counts)


def stop_between_writes(database: Path | str, *pids: int) -> None:
    """Stop them where they hold no lock, or nobody else could write until they wake."""
    patience = Patience()
    while not patience.over:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.02)
        if nobody_writes(database):
            return
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.02)
    raise AssertionError("they were never between two writes")


def nobody_writes(database: Path | str) -> bool:
    if isinstance(database, str):
        return ask(database, OPEN) == [(0,)]
    with closing(sqlite3.connect(database, timeout=0.1)) as conn:
        try:
            conn.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True
