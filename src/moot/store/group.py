"""Writes to several debates in one transaction: they share its beginning, its end and the disk.

Each is about one debate, whose row it locks. Rows that somebody else has locked are not waited for:
what is about them is done apart, so that nobody waits for another's debate.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from moot.store import runs
from moot.store.piped import Piped
from moot.store.query import Connection


@dataclass(slots=True, eq=False)
class Job:
    """One write, and who waits for it."""

    fn: Callable[[Connection], Any]
    row: str
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None
    apart: bool = False  # it needs a transaction of its own


class TornError(Exception):
    """One raised after some of it was sent: the whole transaction has to be taken back."""


def together(conn: Connection, jobs: Sequence[Job]) -> None:
    """Do all of them whose rows are to be had. It may run twice, and begins anew each time."""
    piped = conn.driver
    if not isinstance(piped, Piped):
        raise TypeError(piped)
    conn.seen = runs.lock(conn, list({job.row for job in jobs}))
    locked = set(conn.seen)
    for job in jobs:
        job.result, job.error, job.apart = None, None, job.row not in locked
        if job.apart:
            continue
        sent = piped.sent
        try:
            job.result = job.fn(conn)
            piped.flush()
        except psycopg.Error:
            raise
        except Exception as error:
            if piped.sent != sent:
                raise TornError from error
            piped.forget()
            job.error = error


def deliver(jobs: Sequence[Job]) -> None:
    """Wake each event loop once for all of its jobs."""
    for loop in {job.loop for job in jobs}:
        mine = [job for job in jobs if job.loop is loop]
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, mine)


def _resolve(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # nobody waits any more
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
