"""A cluster under attack: a Postgres, a Valkey, workers and supervisors as processes of their own.

The processes are forked from one that has imported everything (see `worker.py`), so that hundreds
of them can be killed. What the engine is judged by is written into books beside the home, as in
`harness.py`; the rest is read from Postgres, past the engine.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Self

import psycopg
from pydantic import SecretStr

from moot.bootstrap import open_service
from moot.core import verbs
from moot.settings import Settings
from tests import patience
from tests.crash import harness
from tests.crash.harness import Bill, Books
from tests.memory import memory_but_for_stress
from tests.patience import Patience
from tests.proxy import keep_from_children
from tests.services import Postgres, Valkey

FINAL = "('completed', 'failed', 'stopped')"


class Source:
    """The process that others are forked from."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **env},
            start_new_session=True,  # Ctrl-C is for the test, which then closes this
        )
        assert self._process.stdin
        assert self._process.stdout
        self._to, self._from = self._process.stdin, self._process.stdout
        keep_from_children(self._to)
        self._lock = Lock()
        assert self._from.readline(), "it does not start"

    def tell(self, told: Mapping[str, Any]) -> int | None:
        with self._lock:
            self._to.write(json.dumps(told).encode() + b"\n")
            self._to.flush()
            return json.loads(self._from.readline())

    def close(self) -> None:
        self._to.close()
        self._process.wait(patience.seconds())
        self._from.close()


class Servers:
    """What several clusters can share, one after the other: starting it takes seconds."""

    def __init__(self) -> None:
        self._sources: dict[str | None, Source] = {}
        self.postgres = Postgres(memory_but_for_stress())
        self.valkey = Valkey()

    def source(self, clock: str | None = None) -> Source:
        """Of processes whose clock is right; or wrong by so much, "+1h"."""
        if clock not in self._sources:
            self._sources[clock] = Source(wrong_clock(clock) if clock else {})
        return self._sources[clock]

    def close(self) -> None:
        for source in self._sources.values():
            source.close()
        self.valkey.close()
        self.postgres.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def wrong_clock(by: str) -> dict[str, str]:
    """The environment of a process whose wall clock is off; nothing else is, as on a machine."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    assert found, "the tests need libfaketime: apt-get install libfaketime"
    return {
        "LD_PRELOAD": str(found[0]),
        "FAKETIME": by,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_NO_CACHE": "1",
    }


@dataclass(frozen=True)
class Claim:
    """Somebody took a debate."""

    debate_id: str
    fence: int
    pid: int
    at: float  # by the monotonic clock, which all processes of a machine share


class Cluster(Books):
    """Ends with everything that it started. With `servers`, those are left running for the next.

    `settings` are as in the environment, in lower case: `lease_seconds=1`.
    """

    def __init__(
        self,
        root: Path,
        servers: Servers | None = None,
        *,
        speak_seconds: float = 0.02,
        **settings: object,
    ) -> None:
        super().__init__(root)
        self._own = None if servers else Servers()
        self.servers = servers or self._own or Servers()
        self.speak_seconds = speak_seconds
        self.url = self.servers.postgres.fresh()
        self.env: dict[str, object] = {
            "home": root / "home",
            "database_url": self.url,
            "broker_url": self.servers.valkey.url,
            "lease_seconds": 2.0,
            "sweep_seconds": 0.2,
            "deaths": 1000,
            "log_level": "warning",
            **settings,
        }
        self.processes: dict[int, Source] = {}
        self.ids: list[str] = []
        self._conn: psycopg.Connection[tuple[Any, ...]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.kill_all()
        if self._conn:
            self._conn.close()
        if self._own:
            self._own.close()
        else:
            self.servers.postgres.drop(self.url)
            self.servers.valkey.flush()

    # --- processes ---

    def worker(self, **told: Any) -> int:
        """Start one; its pid. See `start`; and `place`: where it dies, `poison`: on which steps,
        `copies`: how often it sends each message, `seconds`: how long it speaks, `keep`: how long
        it goes on with a debate."""
        return self.start("worker", **told)

    def supervisor(self, **told: Any) -> int:
        return self.start("supervisor", **told)

    def start(
        self,
        role: str,
        *,
        wait: bool = True,
        without: Iterable[str] = (),
        clock: str | None = None,
        settings: Mapping[str, object] | None = None,
        **told: Any,
    ) -> int:
        """`without`: guards that are taken out, by their names in `worker.py`; `clock`: "+1h"."""
        env = {f"MOOT_{k.upper()}": str(v) for k, v in {**self.env, **(settings or {})}.items()}
        source = self.servers.source(clock)
        told |= {"role": role, "root": str(self.root), "env": env, "without": list(without)}
        pid = source.tell({"seconds": self.speak_seconds, **told})
        assert pid
        self.processes[pid] = source
        if wait:
            self.wait_until(lambda: self.ready(pid) or self.ended(pid) is not None)
            assert self.ready(pid), f"it did not start: {self.book('errors')}"
        return pid

    def ready(self, pid: int) -> bool:
        return str(pid) in self.book("ready")

    def kill(self, pid: int) -> None:
        """And wait until it is gone, as nobody else could tell."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        assert self.wait_end(pid) is not None

    def stop(self, pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)

    def cont(self, pid: int) -> None:
        os.kill(pid, signal.SIGCONT)

    def terminate(self, pid: int) -> None:
        os.kill(pid, signal.SIGTERM)

    def ended(self, pid: int) -> int | None:
        """Its exit code, or minus the signal; None while it lives. To be asked until it is said."""
        if pid not in self.processes:
            return 0
        code = self.processes[pid].tell({"role": "ended", "pid": pid})
        if code is not None:
            del self.processes[pid]
        return code

    def wait_end(self, pid: int) -> int | None:
        patience = Patience()
        while (code := self.ended(pid)) is None and not patience.over:
            time.sleep(0.005)
        return code

    def kill_all(self) -> None:
        for pid in list(self.processes):
            self.kill(pid)

    # --- debates ---

    def create(
        self, count: int, max_turns: int = 6, *, copies: int = 1, **request: Any
    ) -> list[str]:
        """Make and queue debates, with the motions "motion 0", "motion 1" …; each is sent to the
        workers `copies` times (0: the supervisor has to find it)."""
        if "format" not in request:
            request |= {"format": "duel", "limits": {"max_turns": max_turns}}
        settings = self.settings.model_copy(
            update={"broker_url": SecretStr(self.servers.valkey.url)}
        )

        async def make() -> list[str]:
            async with open_service(settings, recover=False) as service:
                ids: list[str] = []
                for _ in range(count):
                    made = await service.create(
                        f"motion {len(self.ids) + len(ids)}", start=False, **request
                    )
                    change = await service._store.change(
                        made.id, lambda row: verbs.enqueue(row, "now")
                    )
                    for _ in range(copies):
                        service._dispatcher.dispatch(change.debate)
                    ids.append(made.id)
                return ids

        made = asyncio.run(make())
        self.ids += made
        return made

    @property
    def settings(self) -> Settings:
        """For whoever only looks: the same home and database, and no broker."""
        return Settings(
            home=self.root / "home", database_url=SecretStr(self.url), broker_url=None, bus_url=None
        )

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """From Postgres itself, as of now."""
        if self._conn is None or self._conn.closed:
            self._conn = psycopg.connect(self.url, autocommit=True)
        cursor = self._conn.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []

    def count(self, sql: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM {sql}")[0][0])

    def unfinished(self) -> int:
        return self.count(f"debate_runs WHERE status NOT IN {FINAL}")

    def unfiled(self) -> int:
        return self.count("debate_runs WHERE files_seq < last_seq")

    def wait_done(self, seconds: float | None = None, *, filed: bool = False) -> bool:
        """Until every debate has ended (and its files are written); see `wait_until`."""

        def done() -> bool:
            assert not self.book("errors"), "\n".join(self.book("errors"))
            return not self.unfinished() and not (filed and self.unfiled())

        return self.wait_until(done, seconds)

    def held_by(self, pid: int) -> dict[str, int]:
        """The debates that a process has in hand, and behind which fence."""
        named = f"'{pid}' = ANY (string_to_array(lease_owner, '/'))"
        rows = self.rows(f"SELECT id, fence FROM debate_runs WHERE {named}")
        return {str(row[0]): int(row[1]) for row in rows}

    def wait_calls(self, more: int) -> bool:
        """Until so many more calls are made."""
        calls = len(self.book("calls"))
        return self.wait_until(lambda: len(self.book("calls")) >= calls + more)

    # --- what is left ---

    def claims(self) -> list[Claim]:
        lines = [line.split() for line in self.book("claimed")]
        return [Claim(one, int(fence), int(pid), float(at)) for one, fence, pid, at in lines]

    def refused(self) -> list[float]:
        """Messages that found nothing to claim, and how many seconds each took."""
        return [float(line.split()[2]) for line in self.book("refused")]

    def violations(self) -> list[str]:
        """Everything that the contract forbids: twice, lost, out of order, not ended, a gap."""
        return harness.violations(self)

    def bill(self) -> Bill:
        """Calls that were made, turns that came of them, and attempts by how they ended."""
        return harness.bill(self)
