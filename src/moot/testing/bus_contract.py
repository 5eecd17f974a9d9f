"""What every bus must do for the engine: one suite, run on each of them.

`BusContract` is for any bus. A subclass in a test file gives the fixture `make`: a function that
makes a bus. `SharedBusContract` is for a bus between processes. All buses that `make` makes must
reach each other, and `make` can be pickled, for some are made in another process. A subclass gives
three more fixtures: `elsewhere`, like `make`, for buses that the others must not reach; `stranger`,
who speaks to the buses by hand; and `impatient`, which has a bus think within a second that one who
says nothing is gone.
"""

import asyncio

import pytest

from moot.core.events import Delta, Event, Speech
from moot.testing.bus_faults import BusFaults
from moot.testing.bus_peer import (
    Ear,
    Make,
    Talk,
    broken,
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


class BusContract:
    """Within one process."""

    @in_loop
    async def test_listeners_of_a_debate_hear_it_in_order_and_no_other(self, make: Make) -> None:
        async with started(make) as (bus,):
            heard: list[Event | Delta] = []
            bus.listen("d", heard.append)
            said: list[Event | Delta] = [delta(), turn(), status("running"), delta("!", 4)]
            for event in said:
                bus.publish(event)
                bus.publish(delta(debate_id="other"))
            bus.relay(turn("bob"))
            assert heard == [*said, turn("bob")]

    @in_loop
    async def test_forgetting_twice_harms_nobody(self, make: Make) -> None:
        async with started(make) as (bus,):
            heard: list[Event | Delta] = []
            forget = bus.listen("d", heard.append)
            bus.listen("d", heard.append)
            bus.publish(delta())
            assert len(heard) == 2, "the same listener may be there twice"
            forget()
            forget()
            assert bus.listened("d")
            bus.publish(delta())
            assert len(heard) == 3

    @in_loop
    async def test_nobody_is_listening_after_the_last_has_gone(self, make: Make) -> None:
        async with started(make) as (bus,):
            assert not bus.listened("d")
            forget = bus.listen("d", print)
            assert bus.listened("d")
            assert bus.listened("d", here=True)
            assert not bus.listened("other")
            assert bus.listening() == ["d"]
            forget()
            assert not bus.listened("d")
            assert bus.listening() == []

    @in_loop
    async def test_a_listener_may_forget_while_it_is_told(self, make: Make) -> None:
        async with started(make) as (bus,):
            heard: list[Event | Delta] = []

            def once(event: Event | Delta) -> None:
                heard.append(event)
                forget()

            forget = bus.listen("d", once)
            bus.listen("d", heard.append)
            bus.publish(delta())
            bus.publish(delta())
            assert len(heard) == 3

    @in_loop
    async def test_a_listener_that_fails_harms_no_other(
        self, make: Make, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with started(make) as (bus,):
            heard: list[Event | Delta] = []
            touched: list[str] = []
            bus.listen("d", broken)
            bus.listen("d", heard.append)
            bus.watch(broken)
            bus.watch(touched.append)
            bus.publish(turn())
            assert heard == [turn()]
            assert touched == ["d"]
        assert caplog.text.count("ValueError: broken") == 2

    @in_loop
    async def test_watchers_hear_of_commits_and_not_of_deltas(self, make: Make) -> None:
        async with started(make) as (bus,):
            touched: list[str] = []
            forget = bus.watch(touched.append)
            bus.publish(delta())
            bus.publish(committed("a"))
            bus.relay(turn(debate_id="b"))
            bus.touch("c")
            forget()
            forget()
            bus.publish(committed())
            assert touched == ["a", "b", "c"]

    @in_loop
    async def test_speeches_are_kept_until_they_cease(self, make: Make) -> None:
        async with started(make) as (bus,):
            one, same, other = (
                Speech("d", 1, "opening", actor, None, ["word"]) for actor in ("ada", "ada", "bob")
            )
            for speech in (one, same, other):
                bus.begin(speech)
            bus.publish(turn())  # only whoever began it ceases it
            assert bus.speeches("d") == [one, same, other]
            bus.cease(same)  # equal to the first, and not the first
            assert [found is one for found in bus.speeches("d")] == [True, False]
            for speech in (same, one, other):
                bus.cease(speech)
            assert bus.speeches("d") == bus.speeches("never") == []

    @pytest.mark.parametrize("state", ["not started", "started", "closed"])
    @in_loop
    async def test_alone_it_tells_this_process_and_nothing_is_news(
        self, make: Make, state: str
    ) -> None:
        bus = make()
        if state != "not started":
            await bus.start()
        if state == "closed":
            await bus.close()
        ear = Ear(bus)
        bus.publish(committed())
        bus.nudge("d")
        Talk(bus).say("to myself")
        await bus.close()
        await bus.close()
        assert ear.heard[0] == committed()
        assert ear.text() == "to myself"
        assert ear.hints == ear.nudges == []


class SharedBusContract(BusFaults, BusContract):
    """Between processes."""

    @in_loop
    async def test_it_goes_between_processes_both_ways(self, make: Make) -> None:
        async with started(make) as (bus,), peers(make, 1) as (peer,):
            ear, talk = Ear(bus), Talk(bus)
            await meet(bus, peer)
            talk.say("to you ")
            bus.publish(committed("a", 7))
            bus.nudge("a")
            await until(lambda: peer.hears(talk))
            await until(lambda: peer.do("ear.nudges"))
            await until(lambda: peer.do("ear.seqs", "a"))
            assert await peer.do("ear.seqs", "a") == [7]
            assert await peer.do("ear.nudges") == ["a"]

            await peer.do("say", "bob", "and ", "to you")
            await peer.do("bus.publish", committed("b", 9))
            await peer.do("bus.nudge", "b")
            await until(lambda: ear.text("bob") == "and to you")
            await until(lambda: ear.seqs("b") and ear.nudges)
            assert ear.seqs("b") == [9]
            assert ear.nudges == ["b"]
            assert spoken(bus) == [talk.text(), "and to you"]
            await peer.do("cease", "bob")
            await until(lambda: spoken(bus) == [talk.text()])

    @in_loop
    async def test_deltas_come_in_order_and_whole(self, make: Make) -> None:
        async with started(make, 2) as (bus, other):
            ear = Ear(other)
            await until(lambda: bus.listened("d"))
            own, talk = Ear(bus), Talk(bus)
            for number in range(10):
                talk.say(*(f'{number}/{part}, ü 漢字 🙂 "quoted"\n\0' for part in range(50)))
                await asyncio.sleep(0)
            talk.say("x" * 150_000)  # more than one message holds
            await until(lambda: len(ear.text()) >= len(talk.text()))
            assert ear.text() == talk.text()
            assert spoken(other) == [talk.text()]
            assert len(ear.deltas()) < 250, "pieces are collected"
            first = ear.deltas()[0]
            assert first == talk.delta(first.text, 0)
            assert ear.beginnings() == 1
            assert own.text() == talk.text(), "one's own come once"
            own.forget()
            assert bus.listened("d")
            assert not bus.listened("d", here=True)

    @in_loop
    async def test_one_who_joins_late_hears_what_was_said_so_far(self, make: Make) -> None:
        async with started(make, 2) as (bus, other):
            talk, asked = Talk(bus), Speech("d", 1, "opening", "host", "ada", [], "Ask Ada.")
            bus.begin(asked)
            talk.say("said before anybody came, ü 漢字 🙂 " * 5_000)
            ear = Ear(other)
            await until(lambda: ear.text() == talk.text())
            async with started(make) as (third,):
                late = Ear(third)
                await until(lambda: late.text() == talk.text())
                talk.say("and after")
                await until(lambda: ear.text() == late.text() == talk.text())
                assert ear.beginnings() == late.beginnings() == 1
                for one in (ear, late):
                    await until(lambda one=one: one.deltas("host"))
                    (told,) = one.deltas("host")
                    assert (told.text, told.target, told.instruction) == ("", "ada", "Ask Ada.")
                assert sorted(spoken(other)) == sorted(spoken(third)) == ["", talk.text()]

    @in_loop
    async def test_one_who_joins_while_it_is_said_hears_it_whole(self, make: Make) -> None:
        async with started(make) as (bus,), started(make, 5) as others:
            talk = Talk(bus)
            ears: list[Ear] = []
            async with going_on(talk):
                for other in others:
                    ears.append(Ear(other))
                    await until(lambda: all(ear.text().count(" ") > 20 for ear in ears))
            for ear in ears:
                await until(lambda ear=ear: ear.text() == talk.text())
                assert ear.beginnings() <= 2, "it is told once, or twice if it was missed"

    @in_loop
    async def test_what_ceases_is_kept_by_nobody(self, make: Make) -> None:
        async with started(make, 2) as (bus, other):
            ear, talk = Ear(other), Talk(bus)
            talk.say("never committed, " * 20_000)
            await until(ear.text)  # the first of many messages, if there are many
            bus.cease(talk.speech)
            Talk(bus, "bob").say("the next")
            await until(lambda: spoken(other) == ["the next"])

    @in_loop
    async def test_a_turn_begun_anew_is_heard_anew(self, make: Make) -> None:
        async with started(make, 2) as (bus, other):
            ear, first = Ear(other), Talk(bus)
            await until(lambda: bus.listened("d"))
            first.say("a wrong start")
            bus.cease(first.speech)
            second = Talk(bus)
            second.say("a right", " start")
            await until(lambda: spoken(other) == ["a right start"])
            assert ear.text() == "a right start"

    @in_loop
    async def test_many_speeches_are_told_to_one_who_joins_late(self, make: Make) -> None:
        """Far more than a buffer holds."""
        async with started(make) as (bus,):
            talks = [Talk(bus, f"seat{number}") for number in range(300)]
            for talk in talks:
                talk.say(f"{talk.speech.actor}: " + "word " * 1_000)
            async with started(make) as (late,):
                Ear(late)
                await until(lambda: len(spoken(late)) == 300)
                assert sorted(spoken(late)) == sorted(talk.text() for talk in talks)

    @in_loop
    async def test_hints_name_the_first_new_seq_of_each_debate(self, make: Make) -> None:
        async with started(make, 2) as (bus, other):
            ear = Ear(other)
            await meet(bus, ear)
            for debate_id, seq in (("a", 3), ("a", 4), ("b", 4), ("a", 5), ("b", 5)):
                bus.publish(committed(debate_id, seq))
            await until(lambda: ear.seqs("b"))
            assert (ear.seqs("a")[0], ear.seqs("b")[0]) == (3, 4)

    @in_loop
    async def test_hints_and_nudges_are_collected_and_the_last_is_never_lost(
        self, make: Make
    ) -> None:
        async with started(make, 3) as buses:
            own, *ears = [Ear(bus) for bus in buses]
            await meet(own.bus, *ears)
            for seq in range(1, 1_001):
                own.bus.publish(committed(seq=seq))
                own.bus.nudge("d")
                await asyncio.sleep(0)  # or what nobody reads meanwhile may not fit
            own.bus.publish(committed("last"))
            own.bus.nudge("last")
            for ear in ears:
                await until(lambda ear=ear: ear.seqs("last") and "last" in ear.nudges)
                assert 0 < len(ear.seqs()) < 200
                assert 0 < ear.nudges.count("d") < 200
            assert own.hints == own.nudges == [], "one's own are not told"

    @in_loop
    async def test_closing_sends_what_waits_and_then_nothing(self, make: Make) -> None:
        async with started(make, 2) as (other, third):
            ear = Ear(other)
            await meet(third, ear)
            async with started(make) as (bus,):
                await meet(bus, ear)
                for debate_id in ("a", "b", "c"):  # only the first goes at once
                    bus.publish(committed(debate_id))
                    bus.nudge(debate_id)
            await until(lambda: ear.seqs("c") and "c" in ear.nudges)
            assert [ear.seqs(debate_id) for debate_id in "abc"] == [[1], [1], [1]]
            bus.publish(committed("x"))
            bus.nudge("x")
            Talk(bus).say("to this process alone")
            await bus.close()
            third.nudge("end")
            await meet(third, ear)
            await until(lambda: "end" in ear.nudges)
            assert ear.seqs("x") == []
            assert "x" not in ear.nudges
            assert spoken(other) == []

    @in_loop
    async def test_nothing_goes_elsewhere(self, make: Make, elsewhere: Make) -> None:
        async with started(make) as (bus,), started(elsewhere, 2) as (far, farther):
            there = Ear(far)
            await meet(farther, there)
            await until(lambda: farther.listened("d"))
            assert not bus.listened("d")
            async with started(make) as (near,):
                here, talk = Ear(near), Talk(bus)
                await meet(bus, here)
                talk.say("private")
                bus.publish(committed("a"))
                bus.nudge("a")
                await until(lambda: here.text() == "private" and here.seqs("a") and here.nudges)
            farther.nudge("end")  # it would come after all that
            await meet(farther, there)
            await until(lambda: there.nudges)
            assert there.nudges == ["end"]
            assert there.seqs("a") == there.heard == spoken(far) == []

    def test_it_works_with_uvloop(self, make: Make) -> None:
        uvloop = pytest.importorskip("uvloop")

        async def work() -> None:
            async with started(make, 2) as (bus, other):
                ear, talk = Ear(other), Talk(bus)
                await meet(bus, ear)
                talk.say("quick")
                bus.nudge("d")
                await until(lambda: ear.text() == "quick" and ear.nudges)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(work())
