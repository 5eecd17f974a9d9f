"""The floor: what sqlite3 alone takes for the very statements that moot's turns are made of.

One run of moot is listened to; its turns' statements are then repeated, with the same values, on a
fresh copy of the schema, with nothing around them.
"""

import asyncio
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from time import perf_counter
from typing import Any

from bench.stage import home, settings
from bench.throughput import run_debates
from moot.store import database, schema

Job = list[tuple[str, Any]]
"""The writing statements of one of moot's changes, with their values."""


class _Heard(sqlite3.Connection):
    """A connection that notes what is written through it, and forgets what is taken back."""

    statements: Job

    def execute(self, sql: str, params: Any = (), /) -> sqlite3.Cursor:
        if sql.startswith("BEGIN"):
            self._begun = len(self.statements)
        elif sql == "ROLLBACK":
            del self.statements[self._begun :]
        elif sql.startswith(("INSERT", "UPDATE")):
            self.statements.append((sql, params))
        return super().execute(sql, params)


class Script:
    """What a run of moot wrote: what came before each debate's first turn, and its turns."""

    def __init__(self, statements: Job) -> None:
        self.before: list[Job] = []
        self.turns: list[Job] = []
        spoken: set[str] = set()
        job: Job = []
        for sql, values in statements:
            job.append((sql, values))
            if not sql.startswith("UPDATE debate_runs"):
                continue  # the debate's row is the last that a change writes
            debate_id = _debate(values)
            if any(sql.startswith("INSERT INTO debate_turns") for sql, _ in job):
                self.turns.append(job)
                spoken.add(debate_id)
            elif debate_id not in spoken:
                self.before.append(job)
            job = []


def listen(debates: int = 100, turns: int = 20) -> Script:
    """Run moot once, and keep what it wrote."""
    with home() as path, _listening() as statements:
        asyncio.run(run_debates(path, debates, turns))
        script = Script(statements)
    if len(script.turns) != debates * turns:
        raise RuntimeError(f"{len(script.turns)} turns were heard, not {debates * turns}")
    return script


def repeat(script: Script, together: int) -> float:
    """Turns a second when that many share a transaction."""
    with home() as path:
        schema.prepare(settings(path).file)
        with closing(database.connect(settings(path).file)) as conn:
            _transact(conn, script.before)
            begun = perf_counter()
            for start in range(0, len(script.turns), together):
                _transact(conn, script.turns[start : start + together])
            return len(script.turns) / (perf_counter() - begun)


def _transact(conn: sqlite3.Connection, jobs: list[Job]) -> None:
    conn.execute("BEGIN IMMEDIATE")
    for job in jobs:
        for sql, values in job:
            conn.execute(sql, values)
    conn.execute("COMMIT")


@contextmanager
def _listening() -> Generator[Job]:
    plain = database.connect
    statements: Job = []

    def connect(path: Any, *, durable: bool = True) -> sqlite3.Connection:
        with closing(plain(path, durable=durable)):  # it makes the file a WAL database, which lasts
            heard = sqlite3.connect(
                path,
                timeout=database.BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
                factory=_Heard,
            )
        heard.statements = statements
        return heard

    database.connect = connect
    try:
        yield statements
    finally:
        database.connect = plain


def _debate(values: Any) -> str:
    """Whose statement it is: an id stands among its values, named or in order."""
    plain = values.values() if isinstance(values, dict) else values
    return next((x for x in plain if isinstance(x, str) and x.startswith("debate_2")), "")
