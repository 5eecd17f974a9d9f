"""What only the bus of one machine has: its sockets, and the folder that they are in.

What it has in common with other buses is tried in tests/contract/test_bus.py.
"""

import asyncio
import logging
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from moot.bus import processes
from moot.bus.peers import Peers
from moot.bus.processes import LocalBus
from moot.testing.bus_peer import (
    PATIENCE,
    Ear,
    Talk,
    committed,
    delta,
    in_loop,
    meet,
    peers,
    spoken,
    started,
    until,
)


class Ground:
    """A home, and the folder for its sockets: short, as the path of a socket must be."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.runtime = root

    @property
    def make(self) -> Callable[[], LocalBus]:
        return partial(LocalBus, self.home, self.runtime)

    @property
    def folder(self) -> Path:
        return self.make()._folder

    def sockets(self) -> list[Path]:
        return sorted(self.folder.glob("*"))


@pytest.fixture
def ground() -> Iterator[Ground]:
    root = Path(tempfile.mkdtemp(prefix="moot-t"))
    yield Ground(root)
    shutil.rmtree(root)


# --- what it carries ---


@in_loop
async def test_one_that_never_started_may_still_publish(ground: Ground) -> None:
    async with started(ground.make) as (bus,):
        ear, unstarted = Ear(bus), ground.make()
        for seq in (1, 2):
            unstarted.publish(committed(str(seq)))
        Talk(unstarted).say("from nowhere")
        await unstarted.close()  # which sends what waits
        await until(lambda: ear.seqs("1") and ear.seqs("2") and spoken(bus) == ["from nowhere"])
        assert len(ground.sockets()) == 1
        assert not bus.listened("other")


@in_loop
async def test_without_a_loop_it_is_sent_at_once(ground: Ground) -> None:
    def publish() -> None:
        bus = ground.make()
        bus.publish(committed())
        Talk(bus).say("word")
        heard.wait(PATIENCE)
        asyncio.run(bus.close())  # which sends what waits: nothing does

    async with started(ground.make) as (bus,):
        ear, heard = Ear(bus), threading.Event()
        publishing = asyncio.create_task(asyncio.to_thread(publish))
        await until(lambda: ear.seqs() and ear.text() == "word")
        heard.set()
        await publishing


@in_loop
async def test_one_who_does_not_read_is_told_so_often_and_no_more(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "ANSWER_TRIES", 3)
    async with started(ground.make) as (bus,), peers(ground.make, 1) as (stuck,):
        await meet(bus, stuck)
        with stuck.stopped():
            Talk(bus).say("more than it can take " * 100_000)
            await bus._answer(bus._peers.names()[0])
            monkeypatch.setattr(processes, "ANSWER_TRIES", 10**9)
            bus._owe(bus._peers.names()[0], ["d"])
            await until(lambda: bus._telling)
            await bus.close()  # which waits for nobody


@in_loop
async def test_a_long_home_path_does_no_harm(ground: Ground) -> None:
    ground.home = ground.runtime.joinpath(*["long" * 20] * 10)
    async with started(ground.make, 2) as (bus, other):
        Talk(bus).say("far")
        await until(lambda: spoken(other) == ["far"])


# --- the dead ---


@in_loop
async def test_a_killed_peer_is_cleaned_away_and_publishing_goes_on(ground: Ground) -> None:
    async with started(ground.make, 2) as (bus, alive):
        async with peers(ground.make, 1) as (doomed,):
            await meet(bus, doomed)
            await doomed.kill()
            assert len(ground.sockets()) == 3
        talk = Talk(bus)
        talk.say("going on")
        await until(lambda: spoken(alive) == ["going on"])
        await until(lambda: bus.listened("d") and len(ground.sockets()) == 2)


@in_loop
async def test_a_dead_socket_is_removed_by_the_first_datagram(ground: Ground) -> None:
    async with started(ground.make) as (bus,):
        async with peers(ground.make, 1) as (doomed,):
            await meet(bus, doomed)
            bus._flush()  # what is collected of that
            bus._hinted, bus._look_at = 0.0, 1e18  # by sending, not by looking
            await doomed.kill()
        assert len(ground.sockets()) == 2
        bus.publish(committed())
        assert len(ground.sockets()) == 1
        assert not bus.listened("d")


@in_loop
async def test_starting_removes_what_the_dead_left(ground: Ground) -> None:
    async with peers(ground.make, 1) as (doomed,):
        await doomed.kill()
    assert len(ground.sockets()) == 1
    async with started(ground.make) as (bus,):
        assert [path.name for path in ground.sockets()] == [bus._name]


# --- what it refuses ---


def open_to_others(base: Path) -> None:
    base.chmod(0o777)


def a_link(base: Path) -> None:
    base.rename(base.with_name("elsewhere"))
    base.symlink_to(base.with_name("elsewhere"))


def a_file(base: Path) -> None:
    shutil.rmtree(base)
    base.touch(mode=0o600)


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("spoil", [open_to_others, a_link, a_file])
@in_loop
async def test_a_folder_that_is_not_ours_alone_is_refused(
    ground: Ground, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], None], inner: bool
) -> None:
    ground.folder.mkdir(parents=True, mode=0o700)
    ground.folder.parent.chmod(0o700)
    spoil(ground.folder if inner else ground.folder.parent)
    await refused(ground, caplog)


@in_loop
async def test_a_folder_of_somebody_else_is_refused(
    ground: Ground, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    ground.folder.mkdir(parents=True, mode=0o700)
    ground.folder.parent.chmod(0o700)
    await refused(ground, caplog)


async def refused(ground: Ground, caplog: pytest.LogCaptureFixture) -> None:
    """Started or not, it is silent, says so once, and works within this process."""
    if ground.folder.is_dir():
        trap = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        trap.setblocking(False)
        trap.bind(str(ground.folder / "1-00000000.sock"))
    else:
        trap = None
    for begin in (True, False):
        caplog.clear()
        bus = ground.make()
        if begin:
            await bus.start()
        ear, talk = Ear(bus), Talk(bus)
        talk.say("to myself")
        bus.publish(committed())
        assert not bus.listened("other")
        bus.cease(talk.speech)
        await bus.close()
        assert len(ear.heard) == 2
        warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert len(warnings) == 1
        assert "is not a folder of this user alone" in caplog.text
    if trap:
        with pytest.raises(BlockingIOError):
            trap.recv(10)
        trap.close()


@in_loop
async def test_a_runtime_folder_that_cannot_be_used_leaves_it_silent(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    for runtime in (ground.runtime / "missing", ground.runtime / ("long" * 30)):
        if "long" in runtime.name:
            runtime.mkdir()
        caplog.clear()
        async with started(partial(LocalBus, ground.home, runtime)) as (bus,):
            bus.publish(committed())
        assert caplog.text.count("will not be heard") == 1


# --- what it leaves ---


@in_loop
async def test_nothing_is_left_after_closing(ground: Ground) -> None:
    async with started(ground.make) as (other,):
        async with started(ground.make) as (bus,):
            assert len(ground.sockets()) == 2
            Talk(bus).say("word")
            await until(lambda: spoken(other) == ["word"])
        assert len(ground.sockets()) == 1
        await bus.close()
    assert not ground.folder.exists()
    assert ground.folder.parent.stat().st_mode & 0o777 == 0o700


@in_loop
async def test_closing_what_never_started_leaves_nothing(ground: Ground) -> None:
    await ground.make().close()
    assert list(ground.runtime.iterdir()) == []


@in_loop
async def test_a_forked_child_leaves_the_socket_to_its_parent(ground: Ground) -> None:
    async with started(ground.make) as (bus,):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "getpid", lambda: 1)
            child = ground.make()
            child._name = bus._name
            child._unbind(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        assert [path.name for path in ground.sockets()] == [bus._name]


@in_loop
async def test_alone_publishing_costs_next_to_nothing(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks into the folder now and then, however much is said, and collects nothing."""
    look, looks, now = Peers.look, list[str](), 100.0

    def noted(self: Peers, me: str) -> None:
        looks.append(me)
        look(self, me)

    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(Peers, "look", noted)
    async with started(ground.make) as (bus,):
        for _ in range(3):
            looks.clear()
            for _ in range(1_000):
                bus.publish(delta())
                bus.publish(committed())
            assert len(looks) <= 1
            assert bus._timer is None
            assert bus._outbox.take() == []
            now += processes.LOOK_SECONDS
        assert looks == [bus._name]
