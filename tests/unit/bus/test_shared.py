"""What buses between processes have in common: what is sent, what is made of what comes."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from moot.bus import redis, wire
from moot.bus.redis import Interest
from moot.bus.shared import HINT_SECONDS, SharedBus
from moot.bus.wire import Item, read_hints, read_ids
from moot.core.events import Delta, Speech, StatusChanged

OTHER = "1-00000000"


class Wire(SharedBus):
    """A bus whose way to the others is a list."""

    def __init__(self) -> None:
        super().__init__("7-0000000a")
        self.sent: list[Item] = []
        self.delivered: list[Item] = []
        self.asked: list[tuple[str, str]] = []
        self.there = True
        self.free = asyncio.Event()
        self.free.set()

    def _others(self) -> bool:
        return self.there

    def _broadcast(self, items: Iterable[Item]) -> None:
        self.sent.extend(items)

    def _reaches(self, name: str) -> bool:
        return self.there

    async def _deliver(self, name: str, datagram: bytes) -> bool:
        await self.free.wait()
        self.delivered.extend(json.loads(datagram)["said"])
        return True

    def _ask(self, sender: str, debate_id: str) -> None:
        self.asked.append((sender, debate_id))

    def come(self, *said: object, sender: str = OTHER) -> None:
        self._take(json.dumps({"from": sender, "said": said}).encode())


def committed(debate_id: str = "d", seq: int = 1) -> StatusChanged:
    return StatusChanged(debate_id, seq, "now", "running", None, None, None, None, 0, 1, False)


def delta(text: str, offset: int = 0) -> Delta:
    return Delta("d", 1, "opening", "ada", None, text, "now", offset)


def item(text: str, offset: int = 0, **more: Any) -> Item:
    return {**next(iter(wire.delta_items(delta(text, offset)))), **more}


def test_a_hint_has_the_first_new_seq_of_each_debate() -> None:
    async def work() -> None:
        bus = Wire()
        bus.publish(committed("d", 4))
        assert bus.sent == [{"kind": "commit", "of": {"d": 4}}], "the first goes at once"
        bus.sent.clear()
        for seq in (5, 6):
            bus.publish(committed("d", seq))
            bus.publish(committed("e", seq))
        await asyncio.sleep(5 * HINT_SECONDS)
        assert bus.sent == [{"kind": "commit", "of": {"d": 5, "e": 5}}]

    asyncio.run(work())


def test_a_hint_of_too_many_debates_names_none() -> None:
    async def work() -> None:
        bus = Wire()
        bus.publish(committed())
        for number in range(wire.HINTS + 1):
            bus.publish(committed(f"debate{number}"))
        bus._flush()
        assert bus.sent[1:] == [{"kind": "commit", "of": {}}]
        assert len(list(wire.packed("1-00000000", bus.sent))) == 1

    asyncio.run(work())


def test_nudges_are_collected() -> None:
    async def work() -> None:
        bus = Wire()
        for debate_id in ("a", "b", "b", "b"):
            bus.nudge(debate_id)
        await asyncio.sleep(5 * HINT_SECONDS)
        nudged = [{"kind": "nudge", "debate_id": debate_id} for debate_id in ("a", "b")]
        assert bus.sent == nudged
        bus.there = False
        bus.nudge("c")
        bus._flush()
        assert bus.sent == nudged

    asyncio.run(work())


def test_what_comes_is_told_to_whoever_waits_for_it() -> None:
    bus, hints, nudges = Wire(), list[object](), list[str]()
    bus.come({"kind": "commit"}, {"kind": "nudge", "debate_id": "d"})  # nobody waits
    bus.on_hint(hints.append)
    bus.on_nudge(nudges.append)
    bus.come({"kind": "commit"}, {"kind": "commit", "of": {"d": 3}})
    bus.come({"kind": "nudge", "debate_id": "d"})
    assert hints == [{}, {"d": 3}]
    assert nudges == ["d"]


def test_what_it_said_itself_is_no_news() -> None:
    bus = Wire()
    bus.on_hint(lambda _: pytest.fail("it was its own"))
    bus.come({"kind": "commit"}, item("word"), sender="7-0000000a")
    assert bus.speeches("d") == []


def test_those_who_wait_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: object) -> None:
        raise ValueError("broken")

    bus = Wire()
    bus.on_hint(broken)
    bus.on_nudge(broken)
    bus.come({"kind": "commit"}, {"kind": "nudge", "debate_id": "d"}, item("heard"))
    assert caplog.text.count("ValueError: broken") == 2
    assert len(bus.speeches("d")) == 1


def test_what_was_missed_is_asked_for() -> None:
    bus = Wire()
    bus.come(item("one "), item("three", 8))
    assert bus.asked == [(OTHER, "d")]


def test_one_who_asks_while_it_is_told_is_not_told_again() -> None:
    async def work() -> None:
        bus = Wire()
        for debate_id in ("d", "e"):
            bus.begin(Speech(debate_id, 1, "opening", "ada", None, ["word"]))
        bus.free.clear()
        bus._owe(OTHER, ["d", "unknown"])
        await asyncio.sleep(0)
        bus._owe(OTHER, ["d"])
        bus._owe(OTHER, ["d", "e"])
        bus.free.set()
        await asyncio.sleep(0.01)
        assert [said["debate_id"] for said in bus.delivered] == ["d", "e"]
        bus.come({"kind": "hello"})
        await asyncio.sleep(0.01)
        assert [said["debate_id"] for said in bus.delivered] == ["d", "e", "d", "e"]
        await bus._end_answers()

    asyncio.run(work())


def test_only_what_can_be_an_id_and_a_seq_is_read() -> None:
    assert read_ids(["debate_1", None, {}, "\ud800", "\x00", "a b", "x" * 65, ""]) == ["debate_1"]
    assert read_ids("debate") == read_ids(None) == []
    assert read_hints({"d": 1, "e": 0, "f": 1 << 53, "g": "1", "h h": 1, "i": 1.5}) == {"d": 1}
    assert read_hints(["d"]) == read_hints(None) == {}


def test_an_interest_lasts_as_long_as_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(redis.time, "monotonic", lambda: now)
    interest = Interest()
    assert interest.take("a", ["d", "e"]) == ["d", "e"]
    now = 2.0
    assert interest.take("a", ["d"]) == []
    assert interest.take("b", ["d"]) == ["d"], "new is what is new of that process"
    now = 4.0
    interest.sweep()
    assert "d" in interest
    assert "e" not in interest
    assert interest.take("a", ["e"]) == ["e"]
    now = 9.0
    interest.sweep()
    assert "d" not in interest


def asked(text: str = "", offset: int = 0) -> Delta:
    return Delta("d", 1, "s", "host", "ada", text, "t", offset, "Give Ada the floor.")


def test_what_the_host_is_asked_goes_along() -> None:
    async def main() -> None:
        bus, far = Wire(), Wire()
        heard: list[Any] = []
        far.listen("d", heard.append)
        speech = Speech("d", 1, "s", "host", "ada", [], "Give Ada the floor.")
        bus.begin(speech)
        bus._owe(OTHER, ["d"])
        await asyncio.gather(*bus._answers.values())
        assert [one.get("instruction") for one in bus.delivered] == ["Give Ada the floor."]
        far.come(*bus.delivered)
        assert [(one.text, one.instruction) for one in heard] == [("", "Give Ada the floor.")]
        far.come(*wire.delta_items(Delta("d", 1, "s", "host", "ada", "Ada, ", "t", 0)))
        far.come(*wire.delta_items(Delta("d", 1, "s", "host", "ada", "please.", "t", 5)))
        (known,) = far.speeches("d")
        said = known.so_far("t")
        assert (said.text, said.instruction) == ("Ada, please.", "Give Ada the floor.")
        far.come(*wire.delta_items(Delta("d", 1, "s", "host", "ada", "", "t", 0)))
        (known,) = far.speeches("d")
        assert known.so_far("t").instruction is None, "it was taken back"

    asyncio.run(main())


def test_an_announcement_is_joined_to_what_follows_and_to_nothing_before() -> None:
    outbox = wire.Outbox()
    for said in (
        Delta("d", 1, "s", "host", "ada", "A", "t", 0),
        Delta("d", 1, "s", "host", "ada", "", "t", 0),  # taken back
        asked(),
        Delta("d", 1, "s", "host", "ada", "Ada?", "t", 0),
    ):
        outbox.say(said)
    items = outbox.take()
    told = [(one["text"], one.get("instruction")) for one in items]
    assert told == [("A", None), ("", None), ("Ada?", "Give Ada the floor.")]


def test_a_peer_of_the_version_before_says_no_instruction() -> None:
    item = next(iter(wire.delta_items(asked("Ada?"))))
    assert wire.read_delta(item) == asked("Ada?")
    del item["instruction"]
    old = wire.read_delta(item)
    assert old is not None
    assert old.instruction is None
    for wrong in (7, None, ["x"]):
        read = wire.read_delta(item | {"instruction": wrong})
        assert read is not None
        assert read.instruction is None
