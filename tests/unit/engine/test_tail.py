"""What others commit is told at once where they hint at it, and soon where they do not."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast

import pytest

from moot.bus.memory import MemoryBus
from moot.core.events import Delta, Event, StatusChanged
from moot.engine import tail as module
from moot.engine.tail import Tail
from moot.errors import StorageError
from moot.ports.debate_store import Logged, Store
from moot.testing import virtual

AT_ONCE = 0.002  # in virtual time: what needs no wait
COMPARED = module.COMPARE_SECONDS + 0.002


def event(debate_id: str, seq: int) -> StatusChanged:
    return StatusChanged(debate_id, seq, "now", "running", None, None, None, None, 0, 1, False)


class Log:
    """A store as others fill it. What they commit is logged when it is settled."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}
        self.settled: list[Logged] = []
        self.read: list[str] = []
        self.broken = False

    def commit(self, debate_id: str, *, settled: bool = True) -> int:
        seq = self.last[debate_id] = self.last.get(debate_id, 0) + 1
        if settled:
            self.settled.append(Logged(len(self.settled) + 1, debate_id, seq))
        return seq

    async def last_logged(self) -> int:
        return len(self.settled)

    async def logged(self, after: int) -> list[Logged]:
        if self.broken:
            raise StorageError("away")
        return self.settled[after:]

    async def events(self, debate_id: str, after: int = 0) -> list[Event]:
        self.read.append(debate_id)
        if self.broken:
            raise StorageError("away")
        last = self.last.get(debate_id, 0)
        return [event(debate_id, seq) for seq in range(after + 1, last + 1)]

    async def reached(self, debate_ids: Sequence[str]) -> dict[str, int]:
        return {id_: self.last[id_] for id_ in debate_ids if id_ in self.last}


class Scene:
    """A tail at work, with somebody who listens to `d` and watches all."""

    def __init__(self) -> None:
        self.store, self.bus = Log(), MemoryBus()
        self.seqs: list[int] = []
        self.touched: list[str] = []
        self.forget = self.bus.listen("d", self._hear)
        self.bus.watch(self.touched.append)
        self.tail = Tail(cast(Store, self.store), self.bus)

    def _hear(self, heard: Event | Delta) -> None:
        assert not isinstance(heard, Delta)
        self.seqs.append(heard.seq)

    def hint(self, **of: int) -> None:
        assert self.bus._hint
        self.bus._hint(of)


def play(work: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        scene = Scene()
        await scene.tail.start()
        try:
            await work(scene)
        finally:
            await scene.tail.close()

    virtual.run(run())


async def until(true: Callable[[], object], seconds: float) -> None:
    """Raises TimeoutError if it is not true in time, by the clock of the loop."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.001)


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY_SECONDS", 3600.0)
    monkeypatch.setattr(module, "COMPARE_SECONDS", 3600.0)


def test_a_hint_tells_at_once_though_the_log_lags(seldom: None) -> None:
    async def work(scene: Scene) -> None:
        await asyncio.sleep(0.05)
        for _ in range(3):
            scene.hint(d=scene.store.commit("d", settled=False))
            await until(lambda: scene.seqs[-1:] == [scene.store.last["d"]], AT_ONCE)
        scene.hint(e=scene.store.commit("e", settled=False))
        await until(lambda: "e" in scene.touched, AT_ONCE)
        assert scene.seqs == [1, 2, 3]

    play(work)


def test_a_hint_without_debates_has_it_look_into_the_log(seldom: None) -> None:
    async def work(scene: Scene) -> None:
        await asyncio.sleep(0.05)
        scene.store.commit("d")
        scene.hint()
        await until(lambda: scene.seqs == [1], AT_ONCE)

    play(work)


def test_the_log_is_looked_at_though_nobody_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPARE_SECONDS", 3600.0)

    async def work(scene: Scene) -> None:
        await asyncio.sleep(0.05)
        scene.store.commit("d")
        scene.store.commit("e")
        await until(lambda: scene.seqs == [1] and "e" in scene.touched, module.EVERY_SECONDS)

    play(work)


def test_what_is_neither_hinted_at_nor_logged_is_found_by_its_row() -> None:
    async def work(scene: Scene) -> None:
        for number in range(1, 3):
            scene.store.commit("d", settled=False)
            await until(lambda number=number: scene.seqs[-1:] == [number], COMPARED)
        scene.store.commit("d", settled=False)
        scene.store.commit("d", settled=False)
        await until(lambda: scene.seqs == [1, 2, 3, 4], COMPARED)

    play(work)


def test_one_who_begins_to_listen_is_told_the_last_seq() -> None:
    """It may have been committed after they read the log, and before the rows were compared."""

    async def work(scene: Scene) -> None:
        scene.forget()
        for _ in range(5):
            scene.store.commit("d", settled=False)
        await asyncio.sleep(0.05)
        scene.bus.listen("d", scene._hear)
        await until(lambda: scene.seqs == [5], COMPARED)

    play(work)


def test_what_was_told_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY_SECONDS", 0.05)
    monkeypatch.setattr(module, "COMPARE_SECONDS", 0.05)

    async def work(scene: Scene) -> None:
        for _ in range(5):
            scene.hint(d=scene.store.commit("d"))
            await asyncio.sleep(0.12)
        assert scene.seqs == [1, 2, 3, 4, 5]
        assert scene.store.read == ["d"] * 5

    play(work)


def test_what_is_told_is_remembered_only_of_what_is_listened_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "COMPARE_SECONDS", 0.05)

    async def work(scene: Scene) -> None:
        for number in range(100):
            scene.hint(**{f"e{number}": scene.store.commit(f"e{number}")})
        scene.hint(d=scene.store.commit("d"))
        await until(lambda: scene.tail._told == {"d": 1}, AT_ONCE + 0.05)
        scene.forget()
        await until(lambda: scene.tail._told == {}, AT_ONCE + 0.05)

    play(work)


def test_a_hint_that_lies_hides_nothing() -> None:
    async def work(scene: Scene) -> None:
        scene.store.commit("d")
        await until(lambda: scene.seqs == [1], COMPARED)
        scene.hint(d=1_000_000, e=1_000_000)
        await asyncio.sleep(0.05)
        scene.store.commit("d")
        scene.store.commit("e")
        scene.touched.clear()
        await until(lambda: scene.seqs == [1, 2] and "e" in scene.touched, COMPARED)

    play(work)


def test_a_store_that_fails_for_a_while_is_read_again(caplog: pytest.LogCaptureFixture) -> None:
    async def work(scene: Scene) -> None:
        scene.store.broken = True
        scene.hint(d=scene.store.commit("d"))
        await asyncio.sleep(0.6)
        assert len(caplog.records) < 6, "it does not run hot"
        scene.store.broken = False
        await until(lambda: scene.seqs == [1], COMPARED)

    play(work)
    assert "the log could not be read" in caplog.text
