"""The bus of one process, and the queue of one listener."""

import asyncio
import logging

import pytest

from moot.bus.memory import MemoryBus
from moot.core.debate import NO_USAGE, Turn
from moot.core.events import Delta, Event, Speech, StatusChanged, TurnCommitted
from moot.engine import ear
from moot.engine.ear import Subscription


def delta(debate_id: str = "d", text: str = "word") -> Delta:
    return Delta(debate_id, 1, "opening", "ada", None, text, "now")


def committed(debate_id: str = "d", seq: int = 1) -> TurnCommitted:
    turn = Turn(
        seq, 1, "opening", "ada", "Ada", "speech", None, None, "word", None,
        "ok", None, "understudy:understudy", NO_USAGE, "then", "now",
    )  # fmt: skip
    return TurnCommitted(debate_id, turn)


def status() -> StatusChanged:
    return StatusChanged("d", 2, "now", "running", None, None, None, None, 0, 1, False)


def speech(actor: str = "ada") -> Speech:
    return Speech("d", 1, "opening", actor, None, ["word"])


def test_listeners_of_a_debate_hear_it_and_no_other() -> None:
    bus, heard = MemoryBus(), list[Event | Delta]()
    bus.listen("d", heard.append)
    said: list[Event | Delta] = [delta(), committed(), status()]
    for event in said:
        bus.publish(event)
        bus.publish(delta("other"))
    assert heard == said


def test_forgetting_twice_harms_nobody() -> None:
    bus, heard = MemoryBus(), list[Event | Delta]()
    forget = bus.listen("d", heard.append)
    bus.listen("d", heard.append)
    forget()
    forget()
    assert bus.listened("d")
    bus.publish(delta())
    assert len(heard) == 1


def test_nobody_is_listening_after_the_last_has_gone() -> None:
    bus = MemoryBus()
    assert not bus.listened("d")
    forget = bus.listen("d", print)
    assert bus.listened("d")
    assert not bus.listened("other")
    forget()
    assert not bus.listened("d")


def test_a_listener_may_forget_while_it_is_told() -> None:
    bus, heard = MemoryBus(), list[Event | Delta]()

    def once(event: Event | Delta) -> None:
        heard.append(event)
        forget()

    forget = bus.listen("d", once)
    bus.listen("d", heard.append)
    bus.publish(delta())
    bus.publish(delta())
    assert len(heard) == 3


def test_a_listener_that_fails_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    bus, heard, touched = MemoryBus(), list[Event | Delta](), list[str]()

    def broken(_: object) -> None:
        raise ValueError("broken ear")

    bus.listen("d", broken)
    bus.listen("d", heard.append)
    bus.watch(broken)
    bus.watch(touched.append)
    with caplog.at_level(logging.ERROR):
        bus.publish(committed())
    assert heard == [committed()]
    assert touched == ["d"]
    assert caplog.text.count("ValueError: broken ear") == 2


def test_watchers_hear_of_commits_and_not_of_deltas() -> None:
    bus, touched = MemoryBus(), list[str]()
    forget = bus.watch(touched.append)
    bus.publish(delta())
    bus.publish(committed("a"))
    bus.relay(committed("b"))
    bus.touch("c")
    forget()
    forget()
    bus.publish(committed())
    assert touched == ["a", "b", "c"]


def test_speeches_are_kept_until_they_cease() -> None:
    bus = MemoryBus()
    one, same, other = speech(), speech(), speech("bob")
    for begun in (one, same, other):
        bus.begin(begun)
    bus.publish(committed())  # only the owner ceases it
    assert bus.speeches("d") == [one, same, other]
    bus.cease(same)  # equal to the first, and not the first
    assert [found is one for found in bus.speeches("d")] == [True, False]
    bus.cease(same)
    bus.cease(one)
    bus.cease(other)
    assert bus.speeches("d") == []
    assert bus.speeches("never") == []


def test_hints_start_and_close_do_nothing() -> None:
    async def work() -> None:
        bus = MemoryBus()
        bus.on_hint(lambda _: pytest.fail("nobody else is there"))
        bus.on_nudge(lambda _: pytest.fail("nobody else is there"))
        await bus.start()
        bus.publish(committed())
        bus.nudge("d")
        await bus.close()

    asyncio.run(work())


def test_a_subscription_gives_what_was_said_in_order() -> None:
    async def work() -> None:
        bus = MemoryBus()
        subscription = Subscription(bus, "d")
        bus.publish(delta(text="1"))
        bus.publish(committed())
        assert await subscription.get(5) == delta(text="1")
        assert await subscription.get(5) == committed()
        assert await subscription.get(0.01) is None
        asyncio.get_running_loop().call_later(0.02, bus.publish, status())
        assert await subscription.get(5) == status()
        subscription.close()
        subscription.close()
        bus.publish(delta())
        assert not bus.listened("d")
        assert await subscription.get(0.01) is None

    asyncio.run(work())


def test_a_subscription_that_is_far_behind_loses_what_it_was_sent() -> None:
    async def work() -> None:
        bus = MemoryBus()
        subscription = Subscription(bus, "d")
        for number in range(ear.BACKLOG + 1):
            bus.publish(delta(text=str(number)))
        assert await subscription.get(5) == delta(text=str(ear.BACKLOG))
        assert await subscription.get(0.01) is None
        subscription.close()

    asyncio.run(work())
