"""What a person asked for stands: a stop that was accepted, above all."""

from collections.abc import Mapping, Sequence

import pytest

from moot.bootstrap import Instead
from moot.core import moves, verbs
from moot.core.debate import Debate, Failure, Turn
from moot.core.events import Event
from moot.errors import (
    ProviderRefusedError,
    StateError,
)
from moot.ports.debate_files import Filed
from moot.ports.model_call import Call, Reply, Say
from moot.render.reading import Read
from moot.settings import Settings
from moot.store.files import Folder
from moot.store.replay import read_folder
from moot.testing.store_contract import a_debate
from tests.integration.councils import COUNCIL, council_speaker
from tests.integration.homes import damage
from tests.integration.speakers import Gated, add_chorus, in_flight
from tests.virtual import engine, go, reached, until


@pytest.mark.parametrize("verb", ["resume", "retry", "skip", "end"])
def test_after_an_accepted_stop_nothing_brings_it_back(settings: Settings, verb: str) -> None:
    async def work() -> None:
        speaker = Gated()
        async with engine(settings, speaker) as service:
            made = await in_flight(service, speaker, format="duel")
            assert (await service.stop(made.id)).status == "running"
            with pytest.raises(StateError):
                await getattr(service, verb)(made.id)
            speaker.gate.set()
            ended = await service.wait(made.id)
            assert (ended.status, ended.stop_reason) == ("stopped", "stopped_by_user")
            assert len(speaker.calls) == 1

    go(work())


@pytest.mark.parametrize("at_once", [False, True], ids=["pause", "Ctrl-C"])
def test_a_pause_does_not_take_back_a_stop(settings: Settings, at_once: bool) -> None:
    async def work() -> None:
        speaker = Gated()
        async with engine(settings, speaker) as service:
            made = await in_flight(service, speaker, format="duel")
            await service.stop(made.id)
            paused = await service.pause(made.id, at_once=at_once)
            assert paused.status == ("stopped" if at_once else "running")
            speaker.gate.set()
            ended = await service.wait(made.id)
            assert (ended.status, ended.turn_count) == ("stopped", 0 if at_once else 1)

    go(work())


@pytest.mark.parametrize("verb", ["stop", "pause"])
def test_asking_twice_adds_nothing_to_the_log(settings: Settings, verb: str) -> None:
    async def work() -> None:
        speaker = Gated()
        async with engine(settings, speaker) as service:
            made = await in_flight(service, speaker, format="duel")
            once = await getattr(service, verb)(made.id)
            for _ in range(5):
                assert (await getattr(service, verb)(made.id)).last_seq == once.last_seq
            speaker.gate.set()
            await service.wait(made.id)

    go(work())


def test_a_stop_is_obeyed_though_the_step_in_flight_fails(settings: Settings) -> None:
    async def work() -> None:
        speaker = Gated(script=lambda _: ProviderRefusedError("no"))
        async with engine(settings, speaker) as service:
            made = await in_flight(service, speaker, format="duel", on_failure="pause")
            await service.stop(made.id)
            speaker.gate.set()
            ended = await service.wait(made.id)
            assert (ended.status, ended.stop_reason) == ("stopped", "stopped_by_user")

    go(work())


def test_a_stop_holds_while_a_wave_fails(settings: Settings) -> None:
    """One of a wave fails for good and pauses the debate, while another of it still speaks."""
    failing = ProviderRefusedError("no")

    class Mixed(Gated):
        async def speak(self, call: Call, say: Say) -> Reply:
            if call.step.actor == "ada":
                raise failing
            return await super().speak(call, say)

    async def work() -> None:
        add_chorus(settings.home)
        speaker = Mixed()
        async with engine(settings, speaker) as service:
            seats = [{"name": "Ada"}, {"name": "Ben"}]
            made = await service.create(
                "m", format="chorus", participants=seats, on_failure="pause"
            )
            await reached(service, made.id, "paused")
            await service.stop(made.id)
            for verb in (service.retry, service.skip, service.resume):
                with pytest.raises(StateError):
                    await verb(made.id)
            speaker.gate.set()
            await reached(service, made.id, "stopped")

    go(work())


@pytest.mark.parametrize("format_", ["duel", "classic", "council"])
def test_a_stop_in_the_last_step_is_obeyed(settings: Settings, format_: str) -> None:
    last = {"duel": 6, "classic": 18, "council": 17}[format_]

    async def work() -> None:
        speaker = Gated(lambda _: len(speaker.calls) == last - 1, council_speaker()._script)
        async with engine(settings, speaker) as service:
            if format_ == "council":
                made = await service.council(COUNCIL)
            else:
                made = await service.create("m", format=format_, options=_options(format_))
            await until(lambda: speaker.in_flight)
            assert (await service.stop(made.id)).status == "running"
            speaker.gate.set()
            ended = await service.wait(made.id)
            assert (ended.status, ended.stop_reason) == ("stopped", "stopped_by_user")
            assert ended.turn_count == last, "the step in flight is kept"
            assert await service.actions(made.id) == []
        assert read_folder(settings.home, made.id).issues == ()

    go(work())


def _options(format_: str) -> Mapping[str, int]:
    return {"free_rounds": 1} if format_ == "classic" else {}


@pytest.mark.sqlite_only
def test_a_stop_that_comes_while_the_decision_is_filed_is_obeyed(settings: Settings) -> None:
    """It was accepted elsewhere after the last turn, and before the council was completed."""

    class Stopped(Folder):
        def file(
            self,
            debate: Debate,
            turns: Sequence[Turn],
            events: Sequence[Event] = (),
            read: Read = None,
            *,
            ahead: bool = False,
            anew: bool = False,
        ) -> Filed | None:
            filed = super().file(debate, turns, events, read, ahead=ahead, anew=anew)
            if debate.outcome:
                damage(settings, "UPDATE debate_runs SET wanted = 'stop'")
            return filed

    async def work() -> None:
        instead = Instead(records=Stopped(settings.home))
        async with engine(settings, council_speaker(), instead=instead) as service:
            made = await service.council(COUNCIL)
            ended = await service.wait(made.id)
            assert (ended.status, ended.stop_reason) == ("stopped", "stopped_by_user")
            assert await service.actions(made.id) == []
            assert await service.records() == []
        replay = read_folder(settings.home, made.id)
        assert (replay.issues, "final-packet.json" in replay.documents) == ((), False)

    go(work())


def test_what_is_counted_against_a_step_is_not_held_against_the_next() -> None:
    failure = Failure("DEBATE_ERR_PROVIDER_TIMEOUT", "late", "ada", "local", 4, "now")
    counted = a_debate().but(status="running", losses=2, deaths=2, stalls=2)
    for after in (
        verbs.end(counted, "now").debate,
        verbs.retry(counted.but(status="paused", failure=failure), None, None, "now").debate,
    ):
        assert (after.losses, after.deaths, after.stalls) == (0, 0, 0)


def test_a_stop_is_obeyed_even_if_the_files_cannot_be_written() -> None:
    failure = Failure("DEBATE_ERR_STORAGE", "full", "", "", 1, "now")
    stopping = a_debate().but(status="running", wanted="stop")
    ended = moves.finish(stopping, 0, "structural_failure", "now", failure=failure).debate
    assert (ended.status, ended.stop_reason) == ("stopped", "stopped_by_user")


def test_resume_takes_back_a_pause_that_a_dead_process_left() -> None:
    left = a_debate().but(status="running", wanted="pause")
    assert verbs.resume(left, in_flight=False, at="now").debate.wanted is None
