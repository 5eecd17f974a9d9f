"""What only the bus of many machines has: what it spares its server, and how it does without.

What it has in common with other buses is tried in tests/contract/test_bus.py.
"""

import asyncio
import json
import logging
import os
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import pytest
from redis import Redis

from moot.bus import redis
from moot.bus.redis import RedisBus
from moot.testing.bus_peer import (
    PATIENCE,
    Ear,
    Talk,
    committed,
    going_on,
    in_loop,
    meet,
    spoken,
    started,
    until,
)
from tests.services import Valkey

numbers = count()


class Ground:
    """A server, and a name on it that no other test has."""

    def __init__(self, server: Valkey) -> None:
        self.server = server
        self.name = f"moot{next(numbers)}"

    @property
    def make(self) -> Callable[[], RedisBus]:
        return partial(RedisBus, self.server.url, self.name)

    def do(self, *words: Any) -> Any:
        with Redis.from_url(self.server.url) as client:
            return client.execute_command(*words)


@pytest.fixture(scope="module")
def valkey() -> Iterator[Valkey]:
    with Valkey() as server:
        yield server


@pytest.fixture
def ground(valkey: Valkey) -> Ground:
    return Ground(valkey)


@pytest.fixture
def own_ground() -> Iterator[Ground]:
    """With a server that is there for this test alone, to be stopped."""
    with Valkey() as server:
        yield Ground(server)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stands still for some seconds must not look like one that is gone."""
    for name in ("SILENT_SECONDS", "INTEREST_SECONDS", "SOCKET_SECONDS"):
        monkeypatch.setattr(redis, name, PATIENCE)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "BEAT_SECONDS", 0.1)


# --- what it spares ---


@in_loop
async def test_nothing_is_said_that_nobody_wants_to_hear(ground: Ground) -> None:
    with Redis.from_url(ground.server.url) as client:
        tap: Any = client.pubsub()
        said: list[dict[str, Any]] = []

        def ended() -> bool:
            while tap.connection.can_read():
                message = tap.get_message()
                if message and message["type"] == "message":
                    said.extend(json.loads(message["data"])["said"])
            return any("end" in item.get("of", ()) for item in said)

        tap.subscribe(f"{ground.name}:hear")
        async with started(ground.make, 2) as (bus, other):
            own, ear = Ear(bus), Ear(other, "another")  # who listens here costs nothing elsewhere
            await meet(bus, ear)
            talk, wanted = Talk(bus), Talk(bus, "bob", "another")
            await until(lambda: bus.listened("another"))
            for _ in range(50):
                talk.say("word ")
                wanted.say("word ")
            bus.cease(talk.speech)
            await until(lambda: spoken(other, "another") == [wanted.text()])
            assert own.text() == talk.text()
            bus.publish(committed("end"))
            await until(ended)
    told = [item["debate_id"] for item in said if item["kind"] != "commit"]
    assert 0 < told.count("another") < 20, "pieces are collected"
    assert "d" not in told


@in_loop
async def test_who_listens_no_more_is_forgotten(
    ground: Ground, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(ground.make, 2) as (bus, other):

        def ends() -> float:
            return bus._interest._until["d"][other._name]

        ear = Ear(other)
        await until(lambda: bus.listened("d"))
        first = ends()
        await until(lambda: ends() > first)  # as long as it says so
        Talk(bus).say("word")
        await until(lambda: spoken(other) == ["word"])
        monkeypatch.setattr(redis, "INTEREST_SECONDS", 0.3)
        await until(lambda: not bus.listened("d") or ends() < first)
        ear.forget()
        assert spoken(other) == []
        await until(lambda: not bus.listened("d"))


@in_loop
async def test_one_who_begins_to_listen_is_told_at_once(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "BEAT_SECONDS", 10 * PATIENCE)  # what is said then is not needed
    async with started(ground.make, 3) as (bus, other, third):
        await until(lambda: bus._connected)
        talk, ear = Talk(bus), Ear(other)
        talk.say("one ")
        await until(lambda: ear.text() == "one ")
        await meet(bus, late := Ear(third, "another"))
        third.listen("d", late.heard.append)
        await until(lambda: late.text() == "one ")


@in_loop
async def test_an_interest_that_was_lost_is_said_again(ground: Ground, quick: None) -> None:
    async with started(ground.make, 2) as (bus, other):
        talk = Talk(bus)
        talk.say("one ")
        other._ears = True
        other._greet = lambda debates: None  # type: ignore[method-assign]
        ear = Ear(other)
        await until(lambda: ear.text() == "one ")


@in_loop
async def test_what_others_listen_to_is_not_kept_here(ground: Ground) -> None:
    async with started(ground.make, 3) as (bus, other, third):
        elsewhere, ear, talk = Ear(other, "another"), Ear(third), Talk(bus)
        await until(lambda: bus.listened("d"))
        async with going_on(talk):
            await until(lambda: ear.text().count(" ") > 50)
        await meet(bus, elsewhere)  # all that was said before reached it, too
        assert other._foreign.of("d") == []
        assert "d" not in other._asked


@in_loop
async def test_who_only_speaks_does_not_hear_the_others(ground: Ground) -> None:
    async with started(ground.make, 2) as (speaks, listens):
        await meet(speaks, Ear(listens))
        counted = ground.do("PUBSUB", "NUMSUB", f"{ground.name}:work", f"{ground.name}:hear")
        assert counted[1::2] == [2, 1]


@in_loop
async def test_one_who_speaks_and_is_silent_for_long_says_that_it_is_there(
    ground: Ground, quick: None
) -> None:
    async with started(ground.make, 2) as (bus, other):
        ear, talk = Ear(other), Talk(bus)
        talk.say("hm")
        await until(lambda: ear.text() == "hm")
        for _ in range(3):
            last = other._foreign.heard[bus._name]
            await until(lambda last=last: other._foreign.heard[bus._name] > last)
        assert spoken(other) == ["hm"]


@in_loop
async def test_no_more_waits_than_memory_allows(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "MOST_WAITING", 200_000)
    async with started(ground.make, 2) as (bus, other):
        talk, ear = Talk(bus), Ear(other)
        await until(lambda: bus.listened("d"))
        for _ in range(100):
            talk.say("word " * 2_000)
            bus._flush()
            assert bus._waiting <= 200_000
        said = talk.text()
        async with going_on(talk):
            await until(lambda: ear.text().startswith(said))  # what is missing is asked for


@in_loop
async def test_interests_are_bounded(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "MOST_INTERESTS", 3)
    async with started(ground.make) as (bus,):
        said = {"kind": "interest", "of": [f"d{number}" for number in range(9)]}
        for name in ("1-00000000", "2-00000000"):
            ground.do("PUBLISH", f"{ground.name}:work", json.dumps({"from": name, "said": [said]}))
        await until(lambda: "2-00000000" in bus._foreign.heard)
        assert [bus.listened(f"d{number}") for number in range(9)] == [True] * 3 + [False] * 6


# --- when the server is away ---


async def works(bus: RedisBus, other: RedisBus) -> None:
    """Deltas, hints and nudges come through, again."""
    name = f"debate{next(numbers)}"
    ear, talk = Ear(other, name), Talk(bus, debate_id=name)

    def nudged() -> bool:
        bus.nudge(name)
        return name in ear.nudges

    async with going_on(talk):
        await meet(bus, ear)
        await until(nudged)
        await until(ear.text)
    await until(lambda: ear.text() == talk.text())
    ear.forget()
    bus.cease(talk.speech)


def told(caplog: pytest.LogCaptureFixture) -> dict[str, int]:
    return Counter(record.levelname for record in caplog.records if "redis" in record.name)


@pytest.mark.parametrize(
    "words",
    [("FLUSHALL",), ("CLIENT", "KILL", "TYPE", "pubsub"), ("CLIENT", "KILL", "TYPE", "normal")],
    ids=" ".join,
)
@in_loop
async def test_it_heals(
    ground: Ground, caplog: pytest.LogCaptureFixture, words: tuple[str]
) -> None:
    caplog.set_level(logging.INFO)
    async with started(ground.make, 2) as (bus, other):
        await works(bus, other)
        talk, ear = Talk(bus), Ear(other)
        talk.say("one ")
        await until(lambda: ear.text() == "one ")
        ground.do(*words)
        talk.say("two ")
        await until(lambda: ear.text() == talk.text())
        await works(bus, other)
    assert told(caplog) == ({"WARNING": 2, "INFO": 2} if "pubsub" in words else {})


@in_loop
async def test_a_server_that_goes_and_comes_back(
    own_ground: Ground, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    session, tries = RedisBus._session, Counter[RedisBus]()

    async def noted(self: RedisBus) -> None:
        tries[self] += 1
        await session(self)

    monkeypatch.setattr(RedisBus, "_session", noted)
    async with started(own_ground.make, 2) as (bus, other):
        talk, ear = Talk(bus), Ear(other)
        talk.say("one ")
        await until(lambda: ear.text() == talk.text())
        own_ground.server.stop()
        await until(lambda: not bus.listened("d") and not other._connected)
        for _ in range(100):
            talk.say("while it is away ")
            bus.publish(committed())
            bus.nudge("d")
        Ear(other, "another")
        assert bus._queue == other._queue == []
        await until(lambda: min(tries[bus], tries[other]) > 3)
        own_ground.server.start()
        await until(lambda: ear.text() == talk.text())
        await works(bus, other)
    assert told(caplog) == {"WARNING": 2, "INFO": 2}, "once each"


@in_loop
async def test_a_server_that_starts_later(
    own_ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    own_ground.server.stop()
    async with started(own_ground.make, 2) as (bus, other):
        talk, ear = Talk(bus), Ear(other)
        talk.say("to myself")
        bus.publish(committed())
        assert not bus.listened("d")
        own_ground.server.start()
        await until(lambda: ear.text() == talk.text())
        await works(bus, other)
    assert caplog.text.count("Redis is away") == 2, "once each"


@contextmanager
def hanging(server: Valkey) -> Generator[None]:
    """It is there, and says nothing more."""
    assert server._process
    os.kill(server._process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server._process.pid, signal.SIGCONT)


@in_loop
async def test_a_server_that_hangs_is_noticed(
    own_ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "SOCKET_SECONDS", 0.5)
    async with started(own_ground.make, 2) as (bus, other):
        await works(bus, other)
        with hanging(own_ground.server):
            while bus._connected or other._connected:
                bus.publish(committed())  # which never waits: it would for ever
                await asyncio.sleep(0.02)
            kept = other._redis.connection_pool._available_connections
            assert not [line for line in kept if line.is_connected], "dead, too"
        await works(bus, other)


@in_loop
async def test_nobody_waits_for_a_server_that_hangs(
    own_ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "SOCKET_SECONDS", 10 * PATIENCE)
    async with asyncio.timeout(PATIENCE), started(own_ground.make) as (bus,):
        await until(lambda: bus._connected)
        with hanging(own_ground.server):
            bus.publish(committed())
            await bus.close()
            async with started(own_ground.make) as (late,):
                late.publish(committed())


@in_loop
async def test_closing_waits_a_while_for_what_is_being_sent(
    own_ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "CLOSE_SECONDS", PATIENCE)
    async with started(own_ground.make, 2) as (bus, other):
        ear = Ear(other)
        await meet(bus, ear)
        await until(lambda: bus._idle.is_set() and not bus._timer)
        with hanging(own_ground.server):
            bus.nudge("a")
            await until(lambda: not bus._timer and not bus._queue)
            bus.nudge("b")
            closing = asyncio.create_task(bus.close())
            await until(lambda: bus._queue or closing.done())
        await closing
        await until(lambda: ear.nudges == ["a", "b"])


@in_loop
async def test_once_it_is_closed_it_keeps_nothing(ground: Ground) -> None:
    async with started(ground.make) as (bus,):
        await until(lambda: bus._connected)
    bus.publish(committed())
    bus.nudge("d")
    assert bus._timer is None
    assert bus._queue == []


def test_an_address_that_is_none_is_said_at_once() -> None:
    with pytest.raises(ValueError, match="URL"):
        RedisBus("nonsense", "moot")
