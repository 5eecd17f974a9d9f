"""The bus of one machine, between real processes: what it carries, loses, refuses and leaves."""

import asyncio
import json
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from moot.bus import foreign, local
from moot.bus.local import LocalBus
from moot.core.debate import NO_USAGE, Turn
from moot.core.events import Delta, Event, Speech, StatusChanged, TurnCommitted
from moot.core.status import Status

T = TypeVar("T")
PEER = """
import asyncio, json, sys
from pathlib import Path
from moot.bus.local import LocalBus
from moot.core.events import Delta, Speech, StatusChanged

def tell(*words):
    print(json.dumps(words), flush=True)

def commit():
    return StatusChanged("d", 1, "now", "running", None, None, None, None, 0, 1, False)

class Peer:
    def __init__(self, bus):
        self.bus = bus

    def begin(self):
        self.speech = Speech("d", 1, "opening", "ada", None, [])
        self.bus.begin(self.speech)

    def say(self, text):
        offset = sum(map(len, self.speech.pieces))
        self.speech.pieces.append(text)
        self.bus.publish(Delta("d", 1, "opening", "ada", None, text, "now", offset))

    def cease(self):
        self.bus.cease(self.speech)

    def commit(self):
        self.bus.publish(commit())

    def count(self, n):
        for number in range(n):
            self.say(f"{number} ")

    def spoken(self):
        tell("spoken", ["".join(s.pieces) for s in self.bus.speeches("d")])

async def main(home, runtime, listens):
    bus = LocalBus(Path(home), Path(runtime))
    bus.listen("d", lambda delta: tell("delta", delta.offset, delta.text))
    bus.on_hint(lambda of: tell("hint", of))
    if listens == "yes":
        await bus.start()
    peer = Peer(bus)
    tell("ready")
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        name, *rest = json.loads(line)
        getattr(peer, name)(*rest)
        tell("done")
    await bus.close()

asyncio.run(main(*sys.argv[1:]))
"""


def go(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(bounded())


async def until(true: Callable[[], object], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.005)


class Ground:
    """A home, and the folder for its sockets: short, as sun_path wants it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.runtime = root

    @property
    def folder(self) -> Path:
        return LocalBus(self.home, self.runtime)._folder

    def sockets(self) -> list[Path]:
        return sorted(self.folder.glob("*"))

    @asynccontextmanager
    async def bus(self, home: Path | None = None) -> AsyncGenerator[LocalBus]:
        bus = LocalBus(home or self.home, self.runtime)
        await bus.start()
        try:
            yield bus
        finally:
            await bus.close()

    @asynccontextmanager
    async def peer(self, listens: bool = True) -> AsyncGenerator["Peer"]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PEER, str(self.home), str(self.runtime),
            "yes" if listens else "no", stdin=PIPE, stdout=PIPE, limit=1 << 24,
        )  # fmt: skip
        peer = Peer(process)
        try:
            await peer.heard("ready")
            yield peer
        finally:
            await peer.end()


class Peer:
    """Another process on the same home."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.said: list[list[Any]] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            self.said.append(json.loads(line))

    async def heard(self, what: str, times: int = 1) -> None:
        await until(lambda: sum(said[0] == what for said in self.said) >= times)

    async def do(self, name: str, *rest: object) -> None:
        assert self.process.stdin
        done = sum(said[0] == "done" for said in self.said)
        self.process.stdin.write(json.dumps([name, *rest]).encode() + b"\n")
        await self.heard("done", done + 1)

    def text(self) -> str:
        """What it heard, put together as a page would."""
        text = ""
        for said in self.said:
            if said[0] == "delta":
                text = said[2] if said[1] == 0 else text + said[2]
                assert said[1] in (0, len(text) - len(said[2])), "a gap was relayed"
        return text

    async def end(self) -> None:
        assert self.process.stdin
        if self.process.returncode is None:
            self.process.stdin.close()
            self.process.send_signal(signal.SIGCONT)  # a test that failed may have left it stopped
        await asyncio.wait_for(self.process.wait(), 10)
        await self._reading


@pytest.fixture
def ground() -> Iterator[Ground]:
    root = Path(tempfile.mkdtemp(prefix="moot-t"))
    yield Ground(root)
    shutil.rmtree(root)


class Talk:
    """A speech as the engine makes it: each piece is kept, then said."""

    def __init__(self, bus: LocalBus, actor: str = "ada", begin: bool = True) -> None:
        self.bus = bus
        self.speech = Speech("d", 1, "opening", actor, None, [])
        if begin:
            bus.begin(self.speech)

    def say(self, text: str) -> None:
        offset = sum(map(len, self.speech.pieces))
        self.speech.pieces.append(text)
        actor = self.speech.actor
        self.bus.publish(Delta("d", 1, "opening", actor, None, text, "then", offset))

    def text(self) -> str:
        return "".join(self.speech.pieces)


def status(value: Status = "running") -> StatusChanged:
    return StatusChanged("d", 1, "now", value, None, None, None, None, 0, 1, False)


def committed(actor: str = "ada") -> TurnCommitted:
    turn = Turn(
        1, 1, "opening", actor, actor, "speech", None, None, "word", None,
        "ok", None, "understudy:understudy", NO_USAGE, "then", "now",
    )  # fmt: skip
    return TurnCommitted("d", turn)


def joined(heard: list[Event | Delta]) -> str:
    text = ""
    for delta in heard:
        assert isinstance(delta, Delta)
        assert delta.offset in (0, len(text))
        text = delta.text if delta.offset == 0 else text + delta.text
    return text


def spoken(bus: LocalBus) -> list[str]:
    return ["".join(speech.pieces) for speech in bus.speeches("d")]


def raw(ground: Ground, name: str, *said: object) -> None:
    """Send by hand, to all that are there."""
    packet = json.dumps({"from": name, "said": said}).encode()
    for path in ground.sockets():
        throw(path, packet)


def throw(path: Path, packet: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.sendto(packet, str(path))


def delta_item(text: str, offset: int = 0, **more: object) -> dict[str, object]:
    item: dict[str, object] = {
        "kind": "delta", "debate_id": "d", "round": 1, "stage": "opening", "actor": "ada",
        "target": None, "text": text, "at": "now", "offset": offset,
    }  # fmt: skip
    return {**item, **more}


# --- what it carries ---


def test_deltas_reach_the_other_process_in_order_and_whole(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.peer() as peer:
            await until(lambda: bus.listened("d"), 2)
            talk = Talk(bus)
            for number in range(500):
                talk.say(f'piece {number}, ü 漢字 🙂 "quoted"\n')
                if number % 20 == 0:
                    await asyncio.sleep(0.01)
            talk.say("x" * 150_000)  # more than a datagram holds
            await until(lambda: len(peer.text()) >= len(talk.text()))
            assert peer.text() == talk.text()
            deltas = [said for said in peer.said if said[0] == "delta"]
            assert len(deltas) < 250, "pieces are collected"

    go(work())


def test_they_come_the_other_way_too(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.peer() as peer:
            heard: list[Event | Delta] = []
            bus.listen("d", heard.append)
            await peer.do("begin")
            await peer.do("count", 50)
            expected = "".join(f"{number} " for number in range(50))
            await until(lambda: joined(heard) == expected)
            assert spoken(bus) == [expected]
            delta = heard[0]
            assert isinstance(delta, Delta)
            assert (delta.round, delta.stage, delta.actor, delta.at) == (1, "opening", "ada", "now")
            await peer.do("cease")
            await until(lambda: spoken(bus) == [])

    go(work())


def test_one_who_joins_late_hears_what_was_said_so_far(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus:
            talk = Talk(bus)
            talk.say("said before anybody came, " * 7_000)
            async with ground.peer() as peer:
                await until(lambda: peer.text() == talk.text())
                talk.say("and after")
                await until(lambda: peer.text() == talk.text())
                await peer.do("spoken")
                assert ["spoken", [talk.text()]] in peer.said

    go(work())


def test_one_who_joins_a_speech_that_goes_on_hears_it_whole(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus:
            talk = Talk(bus)

            async def speak() -> None:
                while not (peers and peers[0].text().count(" ") > 500):
                    talk.say(f"{len(talk.speech.pieces)} ")
                    await asyncio.sleep(0.001)

            peers: list[Peer] = []
            speaking = asyncio.create_task(speak())
            await asyncio.sleep(0.1)
            async with ground.peer() as peer:
                peers.append(peer)
                await speaking
                await until(lambda: peer.text() == talk.text())
                beginnings = [said for said in peer.said if said[:2] == ["delta", 0]]
                assert 1 <= len(beginnings) <= 2, "it is told once, or twice if it was missed"

    go(work())


def test_what_is_collected_does_not_overlap_with_what_is_told(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            talk = Talk(bus)
            talk.say("one ")
            await until(lambda: spoken(other) == ["one "])
            talk.say("two ")  # collected, while the other asks
            await bus._answer(other._name)
            talk.say("three")
            await until(lambda: spoken(other) == ["one two three"], 2)

    go(work())


def test_what_ceased_while_it_was_told_is_not_kept(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.peer() as stuck:
            await until(lambda: bus.listened("d"), 2)
            stuck.process.send_signal(signal.SIGSTOP)
            talk = Talk(bus)
            talk.say("never committed, " * 60_000)
            answer = asyncio.create_task(bus._answer(bus._peers.names()[0]))
            await asyncio.sleep(0.1)
            bus.cease(talk.speech)
            await asyncio.sleep(0.1)
            stuck.process.send_signal(signal.SIGCONT)
            await answer
            assert len(stuck.text()) < len(talk.text())
            await asyncio.sleep(0.1)
            await stuck.do("spoken")
            assert stuck.said[-2][:2] == ["spoken", []]

    go(work())


def test_many_speeches_are_told_to_one_who_joins_late(ground: Ground) -> None:
    """Far more than a socket holds at once."""

    async def work() -> None:
        async with ground.bus() as bus:
            talks = [Talk(bus, f"seat{number}") for number in range(300)]
            for talk in talks:
                talk.say(f"{talk.speech.actor}: " + "word " * 1_000)
            async with ground.bus() as late:
                await until(lambda: len(spoken(late)) == 300)
                assert sorted(spoken(late)) == sorted(talk.text() for talk in talks)

    go(work())


def test_a_delta_that_was_lost_is_asked_for(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            heard: list[Event | Delta] = []
            other.listen("d", heard.append)
            talk = Talk(bus)
            talk.say("one ")
            await until(lambda: joined(heard) == "one ")
            talk.speech.pieces.append("two ")  # never said
            talk.say("three ")
            await until(lambda: joined(heard) == "one two three ", 3)
            talk.say("four")
            await until(lambda: joined(heard) == "one two three four", 3)

    go(work())


def test_a_turn_begun_anew_is_heard_anew(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            first = Talk(bus)
            first.say("a wrong start")
            bus.cease(first.speech)
            second = Talk(bus)
            second.say("a right")
            second.say(" start")
            await until(lambda: spoken(other) == ["a right start"])

    go(work())


def test_a_commit_is_hinted_at_within_a_fifth_of_a_second(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.peer() as peer:
            hints: list[float] = []
            bus.on_hint(lambda _: hints.append(time.monotonic()))
            await until(lambda: bus.listened("d"), 2)
            took: list[float] = []
            for number in range(5):
                began = time.monotonic()
                bus.publish(committed())
                await peer.heard("hint", number + 1)
                took.append(time.monotonic() - began)
            assert min(took) < 0.2
            await peer.do("commit")
            await until(lambda: hints)
            assert len(hints) == 1

    go(work())


def test_hints_are_collected_and_the_last_is_never_lost(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            heard_at: list[float] = []
            other.on_hint(lambda _: heard_at.append(time.monotonic()))
            await until(lambda: bus.listened("d"), 2)
            for _ in range(1_000):
                bus.publish(committed())
            last = time.monotonic()
            await until(lambda: heard_at and heard_at[-1] > last, 2)
            assert len(heard_at) < 200

    go(work())


def test_hints_and_nudges_name_their_debates(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            hints: list[object] = []
            nudges: list[str] = []
            other.on_hint(hints.append)
            other.on_nudge(nudges.append)
            await until(lambda: bus.listened("d"), 2)
            bus.publish(replace(status(), seq=7))
            await until(lambda: hints)
            bus.nudge("d")
            await until(lambda: nudges)
            assert hints == [{"d": 7}]
            assert nudges == ["d"]

    go(work())


def test_a_hint_callback_that_fails_harms_nothing(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise ValueError("broken")

    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            other.on_hint(broken)
            await until(lambda: bus.listened("d"), 2)
            bus.publish(committed())
            await until(lambda: "whoever waits for hints failed" in caplog.text)
            Talk(bus).say("still here")
            await until(lambda: spoken(other) == ["still here"])

    go(work())


def test_a_process_that_never_started_may_still_publish(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.peer(listens=False) as peer:
            hints: list[int] = []
            bus.on_hint(lambda _: hints.append(1))
            await peer.do("commit")
            await until(lambda: hints, 0.5)
            await peer.do("begin")
            await peer.do("say", "from nowhere")
            await until(lambda: spoken(bus) == ["from nowhere"])
            assert len(ground.sockets()) == 1
            assert not bus.listened("d")

    go(work())


def test_without_a_loop_it_is_sent_at_once(ground: Ground) -> None:
    async def listen() -> None:
        async with ground.bus() as bus:
            hints: list[int] = []
            bus.on_hint(lambda _: hints.append(1))
            await asyncio.to_thread(publish)
            await until(lambda: hints and spoken(bus) == ["word"])

    def publish() -> None:
        bus = LocalBus(ground.home, ground.runtime)
        bus.publish(committed())
        Talk(bus).say("word")
        asyncio.run(bus.close())

    go(listen())


def test_closing_sends_what_waits(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus:
            hints: list[int] = []
            bus.on_hint(lambda _: hints.append(1))
            short = LocalBus(ground.home, ground.runtime)
            short.publish(committed())
            short.publish(committed())  # within 10 ms: waits
            await short.close()
            await until(lambda: len(hints) == 2)

    go(work())


def test_other_homes_are_not_told(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus(ground.runtime / "another") as other:
            Talk(bus).say("private")
            await asyncio.sleep(0.2)
            assert not bus.listened("d")
            assert spoken(other) == []

    go(work())


def test_it_works_with_uvloop(ground: Ground) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            talk = Talk(bus)
            talk.say("quick")
            await until(lambda: spoken(other) == ["quick"])

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work())


# --- what is dropped ---


def test_foreign_speeches_go_with_their_turn_and_their_debate(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            for actor in ("ada", "bob", "cyd"):
                Talk(bus, actor).say(actor)
            await until(lambda: spoken(other) == ["ada", "bob", "cyd"])
            other.relay(committed("bob"))
            assert spoken(other) == ["ada", "cyd"]
            other.relay(status("running"))
            assert spoken(other) == ["ada", "cyd"]
            other.begin(Speech("d", 1, "opening", "ada", None, ["mine"]))
            assert spoken(other) == ["mine", "cyd"]
            other.relay(status("paused"))
            assert spoken(other) == ["mine"]

    go(work())


def test_what_a_process_said_goes_with_it(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus:
            for kill in (False, True):
                async with ground.peer() as peer:
                    await peer.do("begin")
                    await peer.do("say", "last words")
                    await until(lambda: spoken(bus) == ["last words"])
                    if kill:
                        peer.process.kill()
                await until(lambda: spoken(bus) == [], 2)

    go(work())


def test_what_nobody_goes_on_saying_is_dropped(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "SILENT_SECONDS", 0.8)

    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            Talk(bus).say("hm")
            await until(lambda: spoken(other) == ["hm"])
            await until(lambda: spoken(other) == [], 3)

    go(work())


def test_old_pieces_are_ignored_and_a_beginning_is_not(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus:
            heard: list[Event | Delta] = []
            bus.listen("d", heard.append)
            me = "1-00000000"
            raw(ground, me, delta_item("abc"), delta_item("bc", 1), delta_item("def", 3))
            raw(ground, me, delta_item("zzz", 9), {"kind": "commit"})
            raw(ground, "2-00000000", delta_item("zzz", 6))  # another's words do not continue it
            raw(ground, "2-00000000", {**delta_item(""), "kind": "cease"})
            await until(lambda: spoken(bus) == ["abcdef"])
            raw(ground, me, delta_item("new"))
            await until(lambda: spoken(bus) == ["new"])
            assert [delta.text for delta in heard if isinstance(delta, Delta)] == [
                "abc", "def", "new",
            ]  # fmt: skip

    go(work())


def test_what_is_kept_of_others_is_bounded(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MOST_SPEECHES", 3)
    monkeypatch.setattr(foreign, "MOST_CHARACTERS", 10)

    async def work() -> None:
        async with ground.bus() as bus:
            heard: list[Event | Delta] = []
            bus.listen("d", heard.append)
            for number in range(5):
                raw(ground, "1-00000000", delta_item("1234567", actor=f"seat{number}"))
            raw(ground, "1-00000000", delta_item("8901", 7, actor="seat0"))
            raw(ground, "1-00000000", delta_item("2345", 11, actor="seat0"))
            await until(lambda: len(heard) == 5)
            assert spoken(bus) == ["1234567890", "1234567", "1234567"]

    go(work())


# --- what goes wrong ---


def test_a_killed_peer_is_cleaned_away_and_publishing_goes_on(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.peer() as alive:
            async with ground.peer() as doomed:
                await until(lambda: len(bus._peers.names()) == 2 or not bus.listened("d"))
                doomed.process.kill()
                await doomed.process.wait()
                assert len(ground.sockets()) == 3
            talk = Talk(bus)
            talk.say("going on")
            await until(lambda: alive.text() == "going on")
            await until(lambda: bus.listened("d") and len(ground.sockets()) == 2, 2)

    go(work())


def test_a_dead_socket_is_removed_by_the_first_datagram(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus:
            async with ground.peer() as doomed:
                await until(lambda: bus.listened("d"), 2)
                bus._look_at = time.monotonic() + 60  # by sending, not by looking
                doomed.process.kill()
                await doomed.process.wait()
            bus.publish(committed())
            assert len(ground.sockets()) == 1
            assert not bus.listened("d")

    go(work())


def test_starting_removes_what_the_dead_left(ground: Ground) -> None:
    async def work() -> None:
        async with ground.peer() as doomed:
            doomed.process.kill()
        assert len(ground.sockets()) == 1
        async with ground.bus() as bus:
            assert [path.name for path in ground.sockets()] == [bus._name]

    go(work())


def test_one_that_does_not_read_never_blocks_the_speaker_nor_deafens_others(
    ground: Ground,
) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.peer() as stuck, ground.peer() as awake:
            await until(lambda: bus.listened("d") and len(bus._peers.names()) == 2)
            stuck.process.send_signal(signal.SIGSTOP)
            talk, slowest = Talk(bus), 0.0
            for number in range(200):
                began = time.perf_counter()
                talk.say(f"{number} " + "x" * 5_000)
                bus.publish(committed("bob"))
                slowest = max(slowest, time.perf_counter() - began)
                await asyncio.sleep(0.002)
            assert slowest < 0.5  # a send that waited would wait for ever
            await until(lambda: awake.text() == talk.text())
            stuck.process.send_signal(signal.SIGCONT)
            talk.say("one more")
            await until(lambda: stuck.text() == talk.text())

    go(work())


GARBAGE = [
    b"",
    b"\x00\xff" * 100,
    b"[" * 60_000,
    b'{"from":' * 7_000,
    os.urandom(64_000),
    b"9" * 60_000,
    b"[" * 500 + b"]" * 500,
    b'{"from": "1-00000000.sock", "said": [' + b"[" * 500 + b"]" * 500 + b"]}",
    b"null",
    b"[]",
    b'"hello"',
    b"{}",
    b'{"from": 7, "said": []}',
    b'{"from": "../../etc/x.sock", "said": [{"kind": "hello"}]}',
    b'{"from": "1-00000000.sock", "said": {"kind": "hello"}}',
    b'{"from": "1-00000000.sock", "said": "hello"}',
    *(
        json.dumps({"from": "1-00000000.sock", "said": [item]}).encode()
        for item in (
            None, 3, [], "x", {}, {"kind": "?"}, {"kind": []}, {"kind": "hello"},
            {"kind": "delta"}, {"kind": "cease"}, delta_item("x", round="1"),
            {**delta_item("x"), "text": None}, delta_item("x", target=5),
            {**delta_item("x"), "offset": 1.5},
            delta_item("x", offset=-1), delta_item("x", offset=10**3000), delta_item("x", at=[]),
            delta_item("x", debate_id={}),
        )
    ),
]  # fmt: skip


def test_garbage_is_ignored(ground: Ground, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            bus.on_hint(lambda _: pytest.fail("nobody committed anything"))
            failed: list[object] = []
            asyncio.get_running_loop().set_exception_handler(lambda _, what: failed.append(what))
            for packet in GARBAGE:
                throw(ground.folder / bus._name, packet)
                await asyncio.sleep(0.005)
            assert spoken(bus) == []
            Talk(other).say("sense")
            await until(lambda: spoken(bus) == ["sense"])
            assert failed == []

    go(work())
    assert not [record for record in caplog.records if record.levelno > logging.DEBUG]


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
def test_a_folder_that_is_not_ours_alone_is_refused(
    ground: Ground, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], None], inner: bool
) -> None:
    ground.folder.mkdir(parents=True, mode=0o700)
    ground.folder.parent.chmod(0o700)
    spoil(ground.folder if inner else ground.folder.parent)
    go(refused(ground, caplog))


def test_a_folder_of_somebody_else_is_refused(
    ground: Ground, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    ground.folder.mkdir(parents=True, mode=0o700)
    ground.folder.parent.chmod(0o700)
    go(refused(ground, caplog))


async def refused(ground: Ground, caplog: pytest.LogCaptureFixture) -> None:
    """Started or not, it is silent, says so once, and works within this process."""
    if ground.folder.is_dir():
        trap = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        trap.setblocking(False)
        trap.bind(str(ground.folder / "1-00000000.sock"))
    else:
        trap = None
    for started in (True, False):
        caplog.clear()
        bus = LocalBus(ground.home, ground.runtime)
        if started:
            await bus.start()
        heard: list[Event | Delta] = []
        bus.listen("d", heard.append)
        talk = Talk(bus)
        talk.say("to myself")
        bus.publish(committed())
        assert not bus.listened("other")
        bus.cease(talk.speech)
        await bus.close()
        assert len(heard) == 2
        warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert len(warnings) == 1
        assert "is not a folder of this user alone" in caplog.text
    if trap:
        with pytest.raises(BlockingIOError):
            trap.recv(10)
        trap.close()


def test_a_runtime_folder_that_cannot_be_used_leaves_it_silent(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        for runtime in (ground.runtime / "missing", ground.runtime / ("long" * 30)):
            if "long" in runtime.name:
                runtime.mkdir()
            caplog.clear()
            bus = LocalBus(ground.home, runtime)
            await bus.start()
            bus.publish(committed())
            await bus.close()
            assert caplog.text.count("will not be heard") == 1

    go(work())


def test_a_long_home_path_does_no_harm(ground: Ground) -> None:
    ground.home = ground.runtime.joinpath(*["long" * 20] * 10)

    async def work() -> None:
        async with ground.bus() as bus, ground.peer() as peer:
            await until(lambda: bus.listened("d"), 2)
            Talk(bus).say("far")
            await until(lambda: peer.text() == "far")

    go(work())


# --- what it leaves ---


def test_nothing_is_left_after_closing(ground: Ground) -> None:
    async def work() -> None:
        async with ground.peer() as peer:
            async with ground.bus() as bus:
                assert len(ground.sockets()) == 2
                Talk(bus).say("word")
                await peer.heard("delta")
            assert len(ground.sockets()) == 1
            bus.publish(committed())  # after closing: to this process alone
            await bus.close()
        assert not ground.folder.exists()
        assert ground.folder.parent.stat().st_mode & 0o777 == 0o700

    go(work())


def test_closing_what_never_started(ground: Ground) -> None:
    async def work() -> None:
        await LocalBus(ground.home, ground.runtime).close()
        assert list(ground.runtime.iterdir()) == []

    go(work())


def test_a_forked_child_leaves_the_socket_to_its_parent(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus:
            name = bus._name
            monkey = pytest.MonkeyPatch()
            monkey.setattr(os, "getpid", lambda: 1)
            other = LocalBus(ground.home, ground.runtime)
            other._name = name
            other._unbind(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            monkey.undo()
            assert [path.name for path in ground.sockets()] == [name]

    go(work())


def test_alone_publishing_costs_next_to_nothing(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus:
            delta, best = Delta("d", 1, "opening", "ada", None, "x", "now", 1), 1.0
            for _ in range(5):
                began = time.perf_counter()
                for _ in range(10_000):
                    bus.publish(delta)
                best = min(best, (time.perf_counter() - began) / 10_000)
            assert best < 20e-6

    go(work())
