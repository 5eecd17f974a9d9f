"""What was said becomes searchable in the background, whatever is in the way."""

import asyncio
import logging
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from tests.virtual import MODEL, engine, go, until

from moot.bus.memory import MemoryBus
from moot.core.debate import Debate
from moot.engine.indexer import REST, Indexer
from moot.errors import StorageError
from moot.ports.debate_store import Store
from moot.ports.finding import Search
from moot.ports.model_call import Call
from moot.settings import Settings
from moot.store import schema
from moot.testing.speaker import ScriptedSpeaker


class Slow:
    """A store with so many steps left to do, of a second each; the first fails."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.fails = 1
        self.at: list[float] = []

    async def index(self) -> list[str] | None:
        if self.fails:
            self.fails -= 1
            raise StorageError("The disk is full.")
        if not self.left:
            return None
        await asyncio.sleep(1)
        self.left -= 1
        self.at.append(asyncio.get_running_loop().time())
        return [f"debate {self.left}"]


def test_it_goes_on_after_an_error_and_rests_while_others_speak(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, told, speaking = Slow(6), list[str](), [True]
    bus = MemoryBus()
    bus.watch(told.append)

    async def work() -> None:
        indexer = Indexer(cast(Store, store), bus, lambda: speaking[0], every=10)
        indexer.start()
        while store.left > 3:
            await asyncio.sleep(0.1)
        speaking[0] = False
        while store.left:
            await asyncio.sleep(0.1)
        await indexer.close()

    with caplog.at_level(logging.WARNING):
        go(work())
    assert caplog.text.count("The disk is full.") == 1
    gaps = [later - sooner for sooner, later in pairwise(store.at)]
    assert [round(gap) for gap in gaps] == [1 + REST, 1 + REST, 1 + REST, 2, 2]
    assert told == [f"debate {left}" for left in (5, 4, 3, 2, 1, 0)]


def test_a_search_adds_what_is_missing_where_nobody_does_in_the_background() -> None:
    store = Slow(3)
    store.fails = 0

    async def work() -> None:
        indexer = Indexer(cast(Store, store), MemoryBus(), lambda: False, every=10)
        await indexer.catch_up()
        assert store.left == 0
        store.left = 2
        indexer.start()
        await indexer.catch_up()
        assert store.left == 2, "the background has it in hand"
        await indexer.close()

    go(work())


def said(call: Call) -> str:
    return f"A word in round two, {call.step.round}."


def test_what_a_process_left_is_found_by_the_next(tmp_path: Path) -> None:
    """One process runs a debate and ends at once; another is started, and searches."""
    settings = Settings(home=tmp_path, model=MODEL)
    schema.prepare(settings.file)

    async def work() -> None:
        async with engine(settings, ScriptedSpeaker(said), recover=False) as service:
            debate = await service.wait((await service.create("Who?", format="duel")).id)
        async with engine(settings, ScriptedSpeaker(said), recover=True) as service:

            async def found() -> list[Debate]:
                return (await service.find(Search(words="round two"))).debates

            assert [one.id for one in await until(found)] == [debate.id]

    go(work())
