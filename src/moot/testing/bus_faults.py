"""What a bus between processes drops, and what it bears."""

import asyncio
import json
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pytest

from moot.bus.datagrams import delta_items, packed
from moot.core.events import Delta, Speech
from moot.testing.bus_peer import (
    Ear,
    Make,
    Talk,
    committed,
    delta,
    going_on,
    in_loop,
    meet,
    peers,
    spoken,
    started,
    status,
    turn,
    until,
)


class Stranger(Protocol):
    """Somebody on the same way as the buses, who may say anything, also in the words of `wire`."""

    @property
    def name(self) -> str: ...

    async def throw(self, packet: bytes) -> None:
        """Send it to all buses that are there."""
        ...

    def heard(self) -> Sequence[bytes]:
        """All that was sent to it, or to everybody, since it came."""
        ...


class BusFaults:
    """A part of `SharedBusContract`."""

    # --- what is dropped ---

    @in_loop
    async def test_speeches_of_others_go_with_their_turn_and_their_debate(self, make: Make) -> None:
        async with started(make, 2) as (bus, other):
            Ear(other)
            talks = [Talk(bus, actor) for actor in ("ada", "bob", "cyd")]
            for talk in talks:
                talk.say(talk.speech.actor)
            await until(lambda: spoken(other) == ["ada", "bob", "cyd"])
            other.relay(turn("bob"))
            assert spoken(other) == ["ada", "cyd"]
            other.relay(status("running"))
            assert spoken(other) == ["ada", "cyd"]
            other.begin(Speech("d", 1, "opening", "ada", None, ["mine"]))  # the other lost it
            assert spoken(other) == ["mine", "cyd"]
            other.relay(status("paused"))
            assert spoken(other) == ["mine"]

    @in_loop
    async def test_what_a_process_said_goes_with_it(self, make: Make, impatient: None) -> None:
        async with started(make, 2) as (bus, stays), peers(make, 1) as (doomed,):
            ear = Ear(bus)
            await doomed.do("go_on", "ada")
            async with going_on(Talk(stays, "cyd")):
                async with started(make) as (leaves,), going_on(Talk(leaves, "bob")):
                    await until(lambda: all(map(ear.text, ("ada", "bob", "cyd"))))
                await doomed.kill()
                await until(lambda: [one.actor for one in bus.speeches("d")] == ["cyd"])

    @in_loop
    async def test_one_who_falls_silent_is_forgotten_and_heard_again(
        self, make: Make, impatient: None
    ) -> None:
        async with started(make) as (bus,), peers(make, 1) as (peer,):
            ear = Ear(bus)
            await peer.do("go_on", "ada")
            await until(ear.text)
            with peer.stopped():
                await until(lambda: spoken(bus) == [])
            said = await peer.do("said", "ada")
            await until(lambda: spoken(bus) and ear.text().startswith(said))

    @in_loop
    async def test_what_was_heard_before_is_ignored_and_so_are_the_words_of_another(
        self, make: Make
    ) -> None:
        async with started(make, 3) as (bus, other, third):
            ear, talk = Ear(other), Talk(bus)
            await meet(bus, ear)
            await meet(third, ear)
            await until(lambda: bus.listened("d") and third.listened("d"))
            talk.say("abc")
            bus.publish(talk.delta("bc", 1))
            await until(lambda: ear.text() == "abc")
            for _ in range(2):
                bus.publish(talk.delta("def", 3))
            talk.speech.pieces.append("def")
            await until(lambda: ear.text() == "abcdef")
            third.publish(talk.delta("zzz", 6))
            third.cease(talk.speech)
            Talk(third, "bob").say("after that")
            await until(lambda: ear.text("bob") == "after that")
            talk.say("ghi")
            await until(lambda: ear.text() == "abcdefghi")
            assert [one.text for one in ear.deltas()] == ["abc", "def", "ghi"]
            assert spoken(other) == ["abcdefghi", "after that"]

    # --- what goes wrong ---

    @in_loop
    async def test_what_was_lost_is_asked_for(self, make: Make) -> None:
        async with started(make, 2) as (bus, other):
            ear, talk = Ear(other), Talk(bus)
            await until(lambda: bus.listened("d"))
            talk.say("one ")
            await until(lambda: ear.text() == "one ")
            talk.speech.pieces.append("two ")  # never said
            async with going_on(talk):
                await until(lambda: ear.text().startswith("one two "))
            await until(lambda: ear.text() == talk.text())
            assert ear.beginnings() >= 2, (
                "on a busy machine it may ask again before the answer comes"
            )

    @in_loop
    async def test_it_asks_once_for_what_was_lost_and_tells_once_however_often_it_is_asked(
        self, make: Make, stranger: Stranger
    ) -> None:
        def kinds() -> list[str]:
            return [item["kind"] for item in self._items(stranger)]

        async with started(make) as (bus,):
            ear, asked, number = Ear(bus), 0, 0
            await until(lambda: "hello" in kinds())
            while not asked:
                before, number = kinds().count("hello"), number + 1
                lost = [delta("lost", 9 + at) for at in range(100)]
                mark = delta(str(number), actor="bob")
                await self._say(stranger, *lost, mark)
                await until(lambda mark=mark: ear.text("bob") == mark.text)
                bus.nudge(f"mark{number}")
                await until(lambda number=number: kinds().count("nudge") == number)
                asked = kinds().count("hello") - before
                assert asked <= 1
            assert ear.deltas() == []

            Talk(bus).say("told")
            hello = {"kind": "hello", "of": ["d"]}
            await stranger.throw(self._packet(stranger, *[hello] * 100))
            await until(lambda: "delta" in kinds())
            bus.nudge("end")
            await until(lambda: kinds().count("nudge") == number + 1)
            assert kinds().count("delta") <= 2, "as it was said, and as it was asked for"

    @in_loop
    async def test_one_that_does_not_read_holds_up_nobody(self, make: Make) -> None:
        async with started(make) as (bus,), peers(make, 2) as (stuck, awake):
            await meet(bus, stuck, awake)
            await until(lambda: bus.listened("d"))
            talk = Talk(bus)
            with stuck.stopped():
                for number in range(200):
                    talk.say(f"{number} " + "x" * 5_000)
                    bus.publish(committed())
                    await asyncio.sleep(0.001)
                await awake.catches_up(talk)
                async with started(make) as (leaves,):
                    Talk(leaves, "bob").say("x" * 500_000)
                    await meet(leaves, awake)
            await stuck.catches_up(talk)

    @in_loop
    async def test_those_who_fail_harm_nothing(
        self, make: Make, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with started(make, 2) as (bus, other):
            ear = Ear(other)
            await meet(bus, ear)
            failed: set[str] = set()

            def failing(name: str) -> Callable[[object], None]:
                def fail(_: object) -> None:
                    failed.add(name)
                    raise ValueError(name)

                return fail

            other.on_hint(failing("hint"))
            other.on_nudge(failing("nudge"))
            other.listen("d", failing("delta"))
            bus.publish(committed())
            bus.nudge("d")
            Talk(bus).say("still here")
            await until(lambda: failed == {"hint", "nudge", "delta"})
            await until(lambda: ear.text() == "still here")
            assert all(f"ValueError: {name}" in caplog.text for name in failed)
            other.on_hint(lambda of: ear.hints.append(dict(of)))
            await meet(bus, ear)
        assert not [one for one in caplog.records if one.levelno == logging.WARNING]

    @in_loop
    async def test_garbage_is_ignored(
        self, make: Make, stranger: Stranger, caplog: pytest.LogCaptureFixture
    ) -> None:
        failed: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: failed.append(what))
        caplog.set_level(logging.DEBUG)
        async with started(make, 2) as (bus, other):
            ear = Ear(bus)
            await meet(other, ear)
            for packet in GARBAGE:
                await stranger.throw(packet)
            for item in NONSENSE:
                await stranger.throw(self._packet(stranger, item))
            await stranger.throw(self._packet(stranger, {"kind": "commit", "of": SEQS}))
            Talk(other).say("sense")
            await until(lambda: ear.text() == "sense" and ear.seqs("ok"))
            assert {"ok": 3} in ear.hints
            assert not any(set(SEQS) - {"ok"} & of.keys() for of in ear.hints)
            assert ear.nudges == []
            assert spoken(bus) == ["sense"]
        assert failed == []
        assert not [one for one in caplog.records if one.levelno > logging.DEBUG]

    # --- what a stranger says and hears ---

    def _items(self, stranger: Stranger) -> list[dict[str, Any]]:
        return [item for packet in stranger.heard() for item in json.loads(packet)["said"]]

    def _packet(self, stranger: Stranger, *items: object) -> bytes:
        return json.dumps({"from": stranger.name, "said": items}).encode()

    async def _say(self, stranger: Stranger, *deltas: Delta) -> None:
        items = [item for one in deltas for item in delta_items(one)]
        for packet in packed(stranger.name, items):
            await stranger.throw(packet)


GARBAGE = [
    b"", b"\x00\xff" * 100, b"[" * 60_000, b'{"from":' * 7_000, os.urandom(60_000), b"9" * 60_000,
    b"[" * 500 + b"]" * 500, b"null", b"[]", b'"hello"', b"{}", b'{"from": 7, "said": []}',
    b'{"from": "../../etc/x.sock", "said": [{"kind": "hello", "of": ["d"]}]}',
    b'{"from": "1-00000000", "said": {"kind": "hello"}}',
    b'{"from": "1-00000000", "said": "hello"}',
    b'{"from": "1-00000000", "said": [' + b"[" * 500 + b"]" * 500 + b"]}",
]  # fmt: skip
WRONG: list[dict[str, Any]] = [
    {"round": "1"}, {"text": None}, {"target": 5}, {"offset": 1.5}, {"offset": -1},
    {"offset": 10**3000}, {"at": []}, {"debate_id": {}}, {"actor": 1}, {"stage": None},
]  # fmt: skip
WORD = next(delta_items(delta()))
NONSENSE: list[object] = [
    None, 3, [], "x", {}, {"kind": "?"}, {"kind": []},
    {"kind": "hello"}, {"kind": "hello", "of": 5},
    {"kind": "hello", "of": [None, {}, "\ud800", "x" * 99, "a b", ""]},
    {"kind": "interest", "of": {"d": []}}, {"kind": "interest", "of": None},
    {"kind": "here", "of": []}, {"kind": "cease"}, {**WORD, "kind": "cease", "actor": None},
    {"kind": "nudge"}, {"kind": "nudge", "debate_id": {}}, {"kind": "nudge", "debate_id": "\x00"},
    {"kind": "delta"}, {"kind": "delta", "debate_id": "d", "offset": 10**3000},
    *({**WORD, **wrong} for wrong in WRONG),
]  # fmt: skip
SEQS: dict[str, object] = {
    "d": 0, "e": -1, "f": "1", "g": 1 << 60, "h h": 1, "i": None, "ok": 3,
}  # fmt: skip
