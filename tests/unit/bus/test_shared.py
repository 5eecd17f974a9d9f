"""What buses between processes have in common: what is sent, what is made of what comes."""

import asyncio
import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from moot.bus import datagrams, foreign, redis, shared
from moot.bus.datagrams import Item, read_hints, read_ids
from moot.bus.redis import Interest
from moot.bus.shared import SharedBus
from moot.core.events import LOST, CutOff, Delta, Speech
from moot.testing.bus_peer import Ear, Talk, committed, delta, in_loop, spoken, until

OTHER = "1-00000000"


class Wire(SharedBus):
    """A bus whose way to the others is a list."""

    def __init__(self) -> None:
        super().__init__("7-0000000a")
        self.said: list[Item] = []  # to all, or to one
        self.there = True
        self.free = asyncio.Event()
        self.free.set()

    def _others(self) -> bool:
        return self.there

    def _broadcast(self, items: Iterable[Item]) -> None:
        self.said.extend(items)

    def _reaches(self, name: str) -> bool:
        return self.there

    async def _deliver(self, name: str, datagram: bytes) -> bool:
        await self.free.wait()
        self.said.extend(json.loads(datagram)["said"])
        return True

    def _ask(self, sender: str, debate_id: str) -> None:
        pytest.fail("nothing was missed")

    def come(self, *said: object, sender: str = OTHER) -> None:
        self._take(json.dumps({"from": sender, "said": said}).encode())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time stands still, unless the test moves it."""
    clock = SimpleNamespace(now=100.0)
    times = SimpleNamespace(monotonic=lambda: clock.now, time=lambda: 0.0)
    monkeypatch.setattr(shared, "time", times)
    monkeypatch.setattr(redis, "time", times)
    return clock


def item(text: str, offset: int = 0, **more: Any) -> Item:
    return {**next(iter(datagrams.delta_items(delta(text, offset)))), **more}


# --- what is sent ---


@in_loop
async def test_a_hint_has_the_first_new_seq_of_each_debate(clock: SimpleNamespace) -> None:
    bus = Wire()
    bus.publish(committed("d", 4))
    assert bus.said == [{"kind": "commit", "of": {"d": 4}}], "the first goes at once"
    bus.said.clear()
    for seq in (5, 6):
        bus.publish(committed("d", seq))
        bus.publish(committed("e", seq))
    assert bus.said == []
    await until(lambda: bus.said)
    assert bus.said == [{"kind": "commit", "of": {"d": 5, "e": 5}}]


@in_loop
async def test_a_hint_of_too_many_debates_names_none(clock: SimpleNamespace) -> None:
    bus = Wire()
    bus.publish(committed())
    for number in range(datagrams.HINTS + 1):
        bus.publish(committed(f"debate{number}"))
    bus._flush()
    assert bus.said[1:] == [{"kind": "commit", "of": {}}]
    assert len(list(datagrams.packed("1-00000000", bus.said))) == 1


@in_loop
async def test_nudges_are_collected(clock: SimpleNamespace) -> None:
    bus = Wire()
    for debate_id in ("a", "b", "b", "b"):
        bus.nudge(debate_id)
    assert len(bus.said) == 1
    await until(lambda: len(bus.said) > 1)
    nudged = [{"kind": "nudge", "debate_id": debate_id} for debate_id in ("a", "b")]
    assert bus.said == nudged
    bus.there = False
    bus.nudge("c")
    bus._flush()
    assert bus.said == nudged


@in_loop
async def test_one_who_asks_while_it_is_told_is_not_told_again() -> None:
    bus = Wire()
    for debate_id in ("d", "e"):
        Talk(bus, debate_id=debate_id).speech.pieces.append("word")
    bus.free.clear()
    bus._owe(OTHER, ["d", "unknown"])
    await asyncio.sleep(0)
    bus._owe(OTHER, ["d"])
    bus._owe(OTHER, ["d", "e"])
    bus.free.set()
    await asyncio.gather(*bus._answers.values())
    assert [said["debate_id"] for said in bus.said] == ["d", "e"]
    bus.come({"kind": "hello"})
    await asyncio.gather(*bus._answers.values())
    assert [said["debate_id"] for said in bus.said] == ["d", "e", "d", "e"]


@in_loop
async def test_what_is_collected_does_not_overlap_with_what_is_told() -> None:
    bus, far = Wire(), Wire()
    talk, ear = Talk(bus), Ear(far)
    talk.say("one ")
    bus._flush()
    talk.say("two ")  # collected, while the other asks
    await bus._answer(OTHER)
    talk.say("three")
    bus._flush()
    far.come(*bus.said)
    assert ear.text() == "one two three"


@in_loop
async def test_what_ceases_while_it_is_told_is_not_kept() -> None:
    bus, far = Wire(), Wire()
    bus.there = False  # so that nothing goes but what is told
    talk = Talk(bus)
    talk.say("never committed, " * 10_000)
    bus.free.clear()
    telling = asyncio.create_task(bus._answer(OTHER))
    await asyncio.sleep(0)
    bus.cease(talk.speech)
    bus.free.set()
    await telling
    assert [one["kind"] for one in bus.said[-2:]] == ["delta", "cease"]
    far.come(*bus.said[:-1])
    assert len(spoken(far)) == 1
    far.come(bus.said[-1])
    assert spoken(far) == []


# --- what is made of what comes ---


def test_what_comes_is_told_to_whoever_waits_for_it() -> None:
    bus = Wire()
    bus.come({"kind": "commit"}, {"kind": "nudge", "debate_id": "d"})  # nobody waits
    ear = Ear(bus)
    bus.come({"kind": "commit"}, {"kind": "commit", "of": {"d": 3}})
    bus.come({"kind": "nudge", "debate_id": "d"})
    assert ear.hints == [{}, {"d": 3}]
    assert ear.nudges == ["d"]


def test_what_is_kept_of_others_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MOST_SPEECHES", 3)
    monkeypatch.setattr(foreign, "MOST_CHARACTERS", 10)
    bus = Wire()
    ear = Ear(bus)
    for number in range(5):
        bus.come(item("1234567", actor=f"seat{number}"))
    bus.come(item("8901", 7, actor="seat0"))
    bus.come(item("2345", 11, actor="seat0"))
    assert ear.text("seat0") == "123456789012345", "those who listen hear all of it"
    assert spoken(bus) == ["1234567890", "1234567", "1234567"]


def test_one_who_missed_something_asks_for_it_now_and_then(clock: SimpleNamespace) -> None:
    bus = Wire()
    assert [bus._may_ask(what) for what in "aabab"] == [True, False, True, False, False]
    clock.now += shared.HELLO_SECONDS
    assert [bus._may_ask(what) for what in "aab"] == [True, False, True]
    clock.now += shared.HELLO_SECONDS
    bus._drop_gone((), 0)
    assert bus._asked == {}, "what is long dealt with is forgotten"


def test_only_what_can_be_an_id_and_a_seq_is_read() -> None:
    assert read_ids(["debate_1", None, {}, "\ud800", "\x00", "a b", "x" * 65, ""]) == ["debate_1"]
    assert read_ids("debate") == read_ids(None) == []
    assert read_hints({"d": 1, "e": 0, "f": 1 << 53, "g": "1", "h h": 1, "i": 1.5}) == {"d": 1}
    assert read_hints(["d"]) == read_hints(None) == {}


def test_an_interest_lasts_as_long_as_it_is_said(clock: SimpleNamespace) -> None:
    interest = Interest()
    assert interest.take("a", ["d", "e"]) == ["d", "e"]
    clock.now = 102.0
    assert interest.take("a", ["d"]) == []
    assert interest.take("b", ["d"]) == ["d"], "new is what is new of that process"
    clock.now = 104.0
    interest.sweep()
    assert "d" in interest
    assert "e" not in interest
    assert interest.take("a", ["e"]) == ["e"]
    clock.now = 109.0
    interest.sweep()
    assert "d" not in interest


def asked(text: str = "", offset: int = 0) -> Delta:
    return Delta("d", 1, "s", "host", "ada", text, "t", offset, "Give Ada the floor.")


@in_loop
async def test_what_the_host_is_asked_goes_along() -> None:
    bus, far = Wire(), Wire()
    ear = Ear(far)
    bus.begin(Speech("d", 1, "s", "host", "ada", [], "Give Ada the floor."))
    await bus._answer(OTHER)
    assert [one.get("instruction") for one in bus.said] == ["Give Ada the floor."]
    far.come(*bus.said)
    heard = [(one.text, one.instruction) for one in ear.deltas("host")]
    assert heard == [("", "Give Ada the floor.")]
    far.come(*datagrams.delta_items(Delta("d", 1, "s", "host", "ada", "Ada, ", "t", 0)))
    far.come(*datagrams.delta_items(Delta("d", 1, "s", "host", "ada", "please.", "t", 5)))
    (known,) = far.speeches("d")
    said = known.so_far("t")
    assert (said.text, said.instruction) == ("Ada, please.", "Give Ada the floor.")
    far.come(*datagrams.delta_items(Delta("d", 1, "s", "host", "ada", "", "t", 0)))
    (known,) = far.speeches("d")
    assert known.so_far("t").instruction is None, "it was taken back"


def test_an_announcement_is_joined_to_what_follows_and_to_nothing_before() -> None:
    outbox = datagrams.Outbox()
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


LATE = CutOff("lost " * 800, "DEBATE_ERR_PROVIDER_TIMEOUT", 2, 4)


@in_loop
async def test_what_was_cut_off_goes_along_until_the_next_try_is_over() -> None:
    bus, far = Wire(), Wire()
    ear = Ear(far)
    first, lost = (Speech("d", 1, "s", "ada", None, [], cut_off=cut) for cut in (None, LATE))
    bus.begin(lost)
    bus.publish(lost.so_far("t"))  # it waits for the next try
    second = Speech("d", 1, "s", "ada", None, [], cut_off=LATE)
    bus.cease(lost)
    bus.begin(second)
    for said in (second.so_far("t"), Delta("d", 1, "s", "ada", None, "Anew ", "t", 0)):
        bus.publish(said)
    bus._flush()
    far.come(*bus.said)
    assert [(one.text, one.cut_off) for one in ear.deltas()] == [
        ("", LATE), ("", LATE), ("Anew ", None),
    ]  # fmt: skip
    (known,) = far.speeches("d")
    assert (known.pieces, known.cut_off) == (["Anew "], LATE), "for who joins there"
    bus.said.clear()
    await bus._answer(OTHER)
    assert [one["cut_off"]["attempt"] for one in bus.said] == [2], "before it says a word, too"
    bus.said.clear()
    second.pieces.append("again " * 800)
    await bus._answer(OTHER)
    assert len(list(datagrams.packed(OTHER, bus.said))) == 1
    late = Wire()
    late.come(*bus.said)
    (known,) = late.speeches("d")
    assert (spoken(late), known.cut_off) == (["again " * 800], LATE)
    late.come(*datagrams.delta_items(first.so_far("t")))
    (known,) = late.speeches("d")
    assert (known.pieces, known.cut_off) == ([""], None), "it was taken back"


def test_a_cut_off_that_cannot_be_read_is_left_out() -> None:
    item = next(iter(datagrams.delta_items(Delta("d", 1, "s", "ada", None, "", "t", cut_off=LATE))))
    assert (read := datagrams.read_delta(item))
    assert read.cut_off == LATE
    for wrong in (7, {}, {**item["cut_off"], "attempt": "2"}):
        assert (read := datagrams.read_delta(item | {"cut_off": wrong}))
        assert read.cut_off is None
    huge = {**item["cut_off"], "text": "x" * 100_000}
    assert (read := datagrams.read_delta(item | {"cut_off": huge}))
    assert read.cut_off
    assert len(read.cut_off.text) == LOST


def test_a_peer_of_the_version_before_says_no_instruction() -> None:
    item = next(iter(datagrams.delta_items(asked("Ada?"))))
    assert datagrams.read_delta(item) == asked("Ada?")
    del item["instruction"]
    old = datagrams.read_delta(item)
    assert old is not None
    assert old.instruction is None
    for wrong in (7, None, ["x"]):
        read = datagrams.read_delta(item | {"instruction": wrong})
        assert read is not None
        assert read.instruction is None
