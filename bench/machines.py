"""Turns through Celery and Postgres, beside a bare Celery chain; and a thousand slow debates.

`python -m bench.machines worker SECONDS` is a worker whose model answers after that long.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
import psycopg
from tests.services import Postgres, Valkey

from bench import chain, live
from bench.stage import MOTION, SEATS, Instant, home
from bench.table import Row, above, at_least, below, beside
from moot.bootstrap import open_service
from moot.engine.service import Service
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.worker.celery_app import run as work

DEBATES, TURNS, RUNS = 100, 20, 3
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Ground:
    """A Postgres and a Valkey for one measurement."""

    postgres: Postgres
    valkey: Valkey


def rows(runs: int = RUNS) -> list[Row]:
    """Everything, in turns, so that a busy moment of the machine hits all alike."""
    bare: list[float] = []
    one: list[float] = []
    two: list[float] = []
    with _ground() as ground:
        for _ in range(runs):
            bare.append(bare_chain(ground))
            one.append(turns(ground, workers=1))
            two.append(turns(ground, workers=2))
        slow = waiting(ground)
        late = [live_p99(ground) for _ in range(runs)]
    share = max(one) / max(bare)
    return [
        at_least("one worker over a bare Celery chain", share, 2.5, "times", _each(one)),
        beside("the bare chain, threads", max(bare), "tasks/s", _each(bare)),
        beside("one worker", max(one), "turns/s", _each(one)),
        above("two workers over one", max(two) / max(one), 1.0, "times", _each(two)),
        at_least("1,000 debates wait in 2 workers: in flight", slow.in_flight, 1000, "calls"),
        beside("the larger worker", slow.megabytes, "MB"),
        beside("from the first call to the last", slow.seconds, "s"),
        below("commit to client, 50 debates, p99", min(late), 100, "ms", _each(late)),
    ]


def quick() -> list[Row]:
    """That it still runs."""
    with _ground() as ground:
        rate = turns(ground, workers=1, debates=4, turns=6)
        bare = bare_chain(ground, debates=4, turns=6)
    return [
        at_least("4 debates of 6 turns, one worker", rate, 2, "turns/s"),
        at_least("the bare chain", bare, 2, "tasks/s"),
    ]


def live_p99(ground: Ground) -> float:
    """Milliseconds from a worker's commit to a client of a server's stream."""
    with home() as path:
        late = sorted(live.measure(ground.postgres.fresh(), ground.valkey.url, path))
    return 1000 * late[int(0.99 * len(late))]


def bare_chain(ground: Ground, debates: int = DEBATES, turns: int = TURNS) -> float:
    """Tasks a second of the peer, on one worker with threads, its fastest pool here."""
    url = ground.postgres.fresh()
    os.environ |= {"CHAIN_BROKER": ground.valkey.url, "CHAIN_DATABASE": url}
    chain.app.conf.update(broker_url=ground.valkey.url)
    words = ("-A", "bench.chain", "worker", "-P", "threads", "-c", str(debates), "-l", "ERROR")
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(chain.TABLE.encode())
        chain.step.delay(-1, 1, 1)  # done when the worker is up
        with _process([sys.executable, "-m", "celery", *words, "--without-gossip"]):
            _until(lambda: _count(conn, "chain") == 1)
            began = time.perf_counter()
            for number in range(debates):
                chain.step.delay(number, 1, turns)
            _until(lambda: _count(conn, "chain") == debates * turns + 1)
            return debates * turns / (time.perf_counter() - began)


def turns(ground: Ground, workers: int, debates: int = DEBATES, turns: int = TURNS) -> float:
    """Turns a second of moot, from the first message to the last commit."""
    with home() as path:
        settings = _settings(ground, str(path))
        with _workers(settings, workers, seconds=0):
            return asyncio.run(_turns(settings, debates, turns))


async def _turns(settings: Settings, debates: int, turns: int) -> float:
    async with open_service(settings, recover=False) as service:
        made = [
            await service.create(
                MOTION, format="duel", participants=SEATS, limits={"max_turns": turns}, start=False
            )
            for _ in range(debates)
        ]
        began = time.perf_counter()
        await asyncio.gather(*(service.start(debate.id) for debate in made))
        await _all(service, "completed", debates)
        return debates * turns / (time.perf_counter() - began)


@dataclass(frozen=True, slots=True)
class Slow:
    """Debates that wait for slow models."""

    in_flight: int  # calls at once, at the most
    megabytes: float  # of the larger worker
    seconds: float  # until all of them were in flight


def waiting(ground: Ground, debates: int = 1000, workers: int = 2) -> Slow:
    """All of them in flight at once, a turn each."""
    with home() as path:
        settings = _settings(ground, str(path)).model_copy(
            update={"concurrency": debates // workers}
        )
        with _workers(settings, workers, seconds=600) as processes:
            began = time.perf_counter()
            asyncio.run(_make(settings, debates))
            with psycopg.connect(str(settings.database), autocommit=True) as conn:
                sql = "SELECT count(*) FROM debate_attempts WHERE outcome = 'started'"
                _until(lambda: _one(conn, sql) == debates)
                seconds = time.perf_counter() - began
                weights = [psutil.Process(p.pid).memory_info().rss / 1e6 for p in processes]
                return Slow(_one(conn, sql), max(weights), seconds)


async def _make(settings: Settings, debates: int) -> None:
    async with open_service(settings, recover=False) as service:
        for _ in range(debates):
            await service.create(MOTION, format="duel", participants=SEATS)


class _Late(Instant):
    """Answers after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def speak(self, call: Call, say: Say) -> Reply:
        await asyncio.sleep(self._seconds)
        return await super().speak(call, say)


def _settings(ground: Ground, path: str) -> Settings:
    """By the environment, which the workers inherit."""
    os.environ |= {
        "MOOT_HOME": path,
        "MOOT_DATABASE_URL": ground.postgres.fresh(),
        "MOOT_BROKER_URL": ground.valkey.url,
        "MOOT_MODEL": "local:fake",
        "MOOT_LOG_LEVEL": "warning",
    }
    ground.valkey.flush()
    return Settings()


@contextmanager
def _ground() -> Generator[Ground]:
    """The servers; and an environment in which workers are told of them."""
    before = dict(os.environ)
    try:
        with Postgres() as postgres, Valkey() as valkey:
            yield Ground(postgres, valkey)
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _workers(
    settings: Settings, count: int, seconds: float
) -> Generator[list[subprocess.Popen[bytes]]]:
    """Workers that are ready: each has said so."""
    words = [sys.executable, "-m", "bench.machines", "worker", str(seconds)]
    env = {**os.environ, "MOOT_CONCURRENCY": str(settings.concurrency)}
    started = [subprocess.Popen(words, env=env, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for process in started:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


@contextmanager
def _process(words: Sequence[str]) -> Generator[None]:
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(words, stdout=nowhere, stderr=nowhere) as process:
        try:
            yield
        finally:
            process.kill()


async def _all(service: Service, status: str, debates: int) -> None:
    until = time.perf_counter() + PATIENCE
    while (await service.counts()).get(status, 0) < debates:
        assert time.perf_counter() < until, await service.counts()
        await asyncio.sleep(0.02)


def _until(done: object) -> None:
    assert callable(done)
    until = time.perf_counter() + PATIENCE
    while not done():
        assert time.perf_counter() < until
        time.sleep(0.02)


def _count(conn: psycopg.Connection, table: str) -> int:
    return _one(conn, f"SELECT count(*) FROM {table}")  # noqa: S608  a name of ours


def _one(conn: psycopg.Connection, sql: str) -> int:
    found = conn.execute(sql.encode()).fetchone()
    return int(found[0]) if found else 0


def _each(values: Sequence[float]) -> str:
    return ", ".join(f"{value:,.0f}" for value in values)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        work(
            Settings(),
            speaker=_Late(float(sys.argv[2])) if float(sys.argv[2]) else Instant(),
            ready=lambda: print("ready", flush=True),
        )
    else:
        from bench.table import show

        show(rows(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS))
