"""How many turns a second moot commits, and how many bytes they take."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

from bench.stage import MOTION, SEATS, Instant, home, settings
from moot.bootstrap import open_service
from moot.engine.service import Service
from moot.store import schema

POLL_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Crowd:
    """Many debates at once."""

    turns: int
    committed: float  # seconds from the first start until the last debate is committed
    filed: float  # seconds until the files of all of them are written, too
    text_bytes: int  # of what was said, in UTF-8
    database_bytes: int  # after a clean close
    file_bytes: int

    @property
    def rate(self) -> float:
        return self.turns / self.committed

    @property
    def filed_rate(self) -> float:
        return self.turns / self.filed


@dataclass(frozen=True, slots=True)
class Lone:
    """One debate, its turns one after another."""

    rate: float  # turns a second
    first: float  # seconds that its first turns took
    last: float  # seconds that as many of its last turns took


class _Watch:
    """Sees from outside, on a connection of its own, when all debates are on disk as completed."""

    def __init__(self, database: Path, debates: int) -> None:
        self.at = 0.0
        self._database = database
        self._debates = debates
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def result(self) -> float:
        self._thread.join(60)
        if not self.at:
            raise RuntimeError("the debates did not complete")
        return self.at

    def _watch(self) -> None:
        query = "SELECT count(*) FROM debate_runs WHERE status = 'completed'"
        with closing(sqlite3.connect(self._database)) as conn:
            for _ in range(int(60 / POLL_SECONDS)):
                if conn.execute(query).fetchone()[0] == self._debates:
                    self.at = perf_counter()
                    return
                sleep(POLL_SECONDS)


def crowd(debates: int = 100, turns: int = 20) -> Crowd:
    """That many duels, all started at once."""
    with home() as path:
        committed, filed = asyncio.run(run_debates(path, debates, turns))
        database = settings(path).file
        _check_closed(database)
        with closing(sqlite3.connect(database)) as conn:
            said, text_bytes = conn.execute(
                "SELECT count(*), sum(length(CAST(text AS BLOB))) FROM debate_turns"
            ).fetchone()
        if said != debates * turns:
            raise RuntimeError(f"{said} turns are there, not {debates * turns}")
        files = (file for file in (path / "records").rglob("*") if file.is_file())
        sizes = database.stat().st_size, sum(file.stat().st_size for file in files)
        return Crowd(said, committed, filed, text_bytes, *sizes)


def lone(turns: int = 200, edge: int = 20) -> Lone:
    """One duel of that many turns."""
    with home() as path:
        speaker = Instant()
        committed, _ = asyncio.run(run_debates(path, 1, turns, speaker))
    asked = speaker.asked
    # A call is made as soon as the turn before it is committed; the last commit has no call after.
    return Lone(turns / committed, asked[edge] - asked[0], asked[-1] - asked[-1 - edge])


async def run_debates(
    path: Path, debates: int, turns: int, speaker: Instant | None = None
) -> tuple[float, float]:
    """Start them, wait for them; seconds until all were committed, and until all were filed."""
    schema.prepare(settings(path).file)
    watch = _Watch(settings(path).file, debates)
    speaker = speaker or Instant()
    async with open_service(settings(path), speaker=speaker) as service:
        begun = perf_counter()
        ids = await asyncio.gather(*(_start(service, turns) for _ in range(debates)))
        await asyncio.gather(*(service.wait(debate_id) for debate_id in ids))
        filed = perf_counter()
        return watch.result() - begun, filed - begun


async def _start(service: Service, turns: int) -> str:
    debate = await service.create(
        MOTION, format="duel", participants=SEATS, limits={"max_turns": turns}
    )
    return debate.id


def _check_closed(database: Path) -> None:
    """Nothing may be left in the log, or the database's own size would tell half the story."""
    log = database.with_name(database.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise RuntimeError("the write-ahead log was not folded in at the close")
