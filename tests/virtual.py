"""The engine as tests run it: in virtual time, where sleeps cost nothing and durations are exact.

With MOOT_TEST_DATABASE=postgres the same tests run in real time, because Postgres needs threads and
sockets. A test that asserts a duration is therefore marked `sqlite_only`.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from inspect import isawaitable
from typing import Any, TypeVar, overload

from moot.bootstrap import Instead, open_service
from moot.bus.memory import MemoryBus
from moot.core.debate import Debate
from moot.core.status import Status
from moot.engine.service import Service
from moot.ports.model_call import Speaker
from moot.settings import Settings
from moot.store.query import SqlDatabase
from moot.store.store import open_database
from moot.testing import virtual
from moot.testing.inline_database import InlineDatabase

T = TypeVar("T")
REAL = os.environ.get("MOOT_TEST_DATABASE") == "postgres"
REAL_SECONDS = 60.0  # that a test may take there
MODEL = "openai:scripted"
"""Whose card and voice are the speaker's. To find a local model, moot would open a socket."""


def go(work: Coroutine[Any, Any, T], within: float = 200.0) -> T:
    """Run a test's coroutine, for at most so many seconds of its own time."""
    if not REAL:
        return virtual.run(work, within)

    async def bounded() -> T:
        async with asyncio.timeout(REAL_SECONDS):
            return await work

    return asyncio.run(bounded())


def in_virtual_time() -> bool:
    return isinstance(asyncio.get_running_loop(), virtual.VirtualLoop)


@asynccontextmanager
async def engine(
    settings: Settings,
    speaker: Speaker | None = None,
    *,
    instead: Instead = Instead(),  # noqa: B008  it is frozen
    **options: Any,
) -> AsyncGenerator[Service]:
    """The whole engine on that home. Two on one home hear of each other by the database alone."""
    if in_virtual_time():
        database = instead.database or InlineDatabase(settings.file)
        instead = replace(instead, database=database, bus=instead.bus or MemoryBus())
    async with open_service(settings, speaker=speaker, instead=instead, **options) as service:
        yield service


@asynccontextmanager
async def opened(settings: Settings) -> AsyncGenerator[SqlDatabase]:
    """The database alone."""
    inline = in_virtual_time()
    database = InlineDatabase(settings.file) if inline else open_database(settings.database, 2)
    try:
        yield database
    finally:
        database.close()


@overload
async def until(condition: Callable[[], Awaitable[T | None]]) -> T: ...
@overload
async def until(condition: Callable[[], T | None]) -> T: ...
async def until(condition: Callable[[], Any]) -> Any:
    """Wait until it is true; returns what it gave."""
    while True:
        found = condition()
        if isawaitable(found):
            found = await found
        if found:
            return found
        await asyncio.sleep(0.01)


async def reached(service: Service, debate_id: str, *states: Status) -> Debate:
    """Wait until a debate is in one of those states, without a hand in it; `wait` would advance
    and file it."""

    async def there() -> Debate | None:
        debate = await service.get(debate_id)
        return debate if debate.status in states else None

    return await until(there)


async def took(work: Awaitable[object]) -> float:
    """How many seconds it takes, by the loop's clock."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await work
    return loop.time() - began
