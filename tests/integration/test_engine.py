"""The engine on a real home: recovery, damaged rows, waves, several engines at once."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from moot.core.debate import Usage
from moot.core.events import Delta, StatusChanged, TurnCommitted
from moot.engine import speaking
from moot.engine.service import Service
from moot.errors import (
    ProviderContextError,
    ProviderError,
    ProviderUnavailableError,
)
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker, plain
from moot.wire import codec
from tests.integration.councils import council_speaker
from tests.integration.homes import damage, dead_owner
from tests.integration.speakers import add_chorus
from tests.virtual import engine, go, reached, took, until

DAMAGES = {
    "behind": "next_round = 1, next_actor = 'ada'",
    "ahead": "next_round = 3, next_actor = 'ben'",
    "nowhere": "next_round = 77, next_stage = 'attic', next_actor = 'nobody'",
    "at the end": "next_round = NULL, next_stage = NULL, next_actor = NULL",
    "miscounted": "turns = 17",
    "a mask of no wave": "wave_done = 6",
}


@pytest.mark.sqlite_only
@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_cursor_is_rebuilt_and_said_so(settings: Settings, kind: str) -> None:
    async def work() -> None:
        speaker = ScriptedSpeaker(seconds=3.0)  # so that the pause comes before the end
        async with engine(settings, speaker, recover=False) as service:
            made = await service.create("m", format="duel", start=False)
            await service.start(made.id)
            async for event in service.follow(made.id):
                if isinstance(event, TurnCommitted) and event.turn.round == 2:
                    await service.pause(made.id, at_once=True)
                    break
            await service.wait(made.id)
            kept = len(await service.turns(made.id))
            assert 0 < kept < 6
            damage(settings, f"UPDATE debate_runs SET {DAMAGES[kind]}")
            await service.resume(made.id)
            done = await service.wait(made.id)
            turns = await service.turns(made.id)
            events = [event async for event in service.follow(made.id)]
        assert done.status == "completed"
        assert [turn.text for turn in turns] == [
            f"{who} in round {number}, duel." for number in (1, 2, 3) for who in ("ada", "ben")
        ]
        said = [e.notice for e in events if isinstance(e, StatusChanged) and e.notice]
        assert any("rebuilt" in notice for notice in said)
        assert [e.seq for e in events if not isinstance(e, Delta)] == list(
            range(1, done.last_seq + 1)
        )

    go(work())


@pytest.mark.sqlite_only
def test_what_a_dead_process_left_goes_on_when_moot_starts_again(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker(), recover=False) as service:
            made = await service.create("m", format="duel", start=False)
        damage(
            settings,
            "UPDATE debate_runs SET status = 'running', fence = 4, lease_until = 1e12, "
            "open_calls = 1, lease_owner = '" + dead_owner() + "'",
        )
        async with engine(settings, ScriptedSpeaker()) as service:
            ended = reached(service, made.id, "completed")
            assert await took(ended) < 0.1, "at the first sweep: its owner is known dead"
            assert len(await service.turns(made.id)) == 6

    go(work())


def test_a_wave_is_spoken_at_once_and_unseen_by_each_other(settings: Settings) -> None:
    add_chorus(settings.home)

    async def work() -> None:
        peak = 0

        def script(call: Call) -> str | ProviderError:
            nonlocal peak
            peak = max(peak, speaker.in_flight)
            assert all(turn.round < call.step.round for turn in call.heard)
            return ProviderUnavailableError("down") if call.step.actor == "p1" else plain(call)

        speaker = ScriptedSpeaker(script, seconds=0.05)
        async with engine(settings, speaker) as service:
            seats = [{"name": f"P{n}"} for n in range(4)]
            made = await service.create("m", format="chorus", participants=seats)
            done = await service.wait(made.id)
            turns = await service.turns(made.id)
            attempts = await service.attempts(made.id)
        assert peak == 4
        assert (done.status, done.degraded, done.turn_count) == ("completed", True, 12)
        assert sorted((t.round, t.actor) for t in turns) == [
            (number, f"p{n}") for number in (1, 2, 3) for n in range(4)
        ]
        failed = [turn for turn in turns if turn.status == "failed"]
        assert [turn.actor for turn in failed] == ["p1"] * 3
        assert {turn.error_code for turn in failed} == {"DEBATE_ERR_PROVIDER_UNAVAILABLE"}
        assert all(turn.usage.calls == 4 for turn in failed)
        assert len(speaker.calls) == len(attempts) == 9 + 3 * 4

    go(work())


def test_a_wave_half_committed_is_not_spoken_again(settings: Settings) -> None:
    add_chorus(settings.home)

    class Uneven(ScriptedSpeaker):
        async def speak(self, call: Call, say: Say) -> Reply:
            if call.step.actor != "p0" and call.step.round == 1 and first:
                await asyncio.sleep(3600)
            return await super().speak(call, say)

    first = True
    speaker = Uneven()

    async def work() -> None:
        nonlocal first
        async with engine(settings, speaker) as service:
            seats = [{"name": f"P{n}"} for n in range(3)]
            made = await service.create("m", format="chorus", participants=seats)
            async for event in service.follow(made.id):
                if isinstance(event, TurnCommitted):
                    await service.pause(made.id, at_once=True)
                    break
            await service.wait(made.id)
            assert len(await service.turns(made.id)) == 1
            first = False
            await service.resume(made.id)
            done = await service.wait(made.id)
        assert (done.status, done.turn_count) == ("completed", 9)
        spoken = [call.step.actor for call in speaker.calls if call.step.round == 1]
        assert sorted(spoken) == ["p0", "p1", "p2"]

    go(work())


def test_a_prompt_that_is_too_long_is_cut_until_it_fits(settings: Settings) -> None:
    def script(call: Call) -> str | ProviderError:
        size = sum(len(message.text) for message in call.messages)
        return ProviderContextError("too long") if size > 9000 else "word " * 400

    async def work() -> None:
        speaker = ScriptedSpeaker(script)
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="duel", limits={"max_turns": 12})
            done = await service.wait(made.id)
        assert done.status == "completed"
        assert any("left out" in m.text for call in speaker.calls for m in call.messages)

    go(work())


def test_what_the_host_is_asked_is_announced_before_it_speaks(settings: Settings) -> None:
    class Waiting(ScriptedSpeaker):
        async def speak(self, call: Call, say: Say) -> Reply:
            if call.step.kind == "cue" and not late.is_set():
                began.set()
                await late.wait()
            return await super().speak(call, say)

    began, late = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        async with engine(settings, Waiting()) as service:
            seats: dict[str, Any] = {
                "participants": [{"name": "Ada"}, {"name": "Ben"}],
                "host": {"name": "Hanna"},
            }
            made = await service.create("m", format="custom", options={"rounds": 1}, **seats)
            heard: list[Delta] = []
            following = asyncio.create_task(listen(service, made.id, heard.append))
            await began.wait()
            (so_far,) = service.speeches(made.id)  # what one who joins now is told
            assert (so_far.text, so_far.target) == ("", "ada")
            assert so_far.instruction
            late.set()
            await following
            turns = await service.turns(made.id)
        cues = {turn.target: turn.instruction for turn in turns if turn.kind == "cue"}
        told = [one for one in heard if one.instruction]
        assert {one.target: one.instruction for one in told} == cues
        assert {(one.actor, one.text, one.offset) for one in told} == {("host", "", 0)}
        for cue in told:
            words = [one for one in heard if one.target == cue.target and one.text]
            assert all(heard.index(cue) < heard.index(word) for word in words)
        spoken = next(one for one in heard if one.text)
        assert "instruction" not in codec.event(spoken)[1]
        assert codec.read_delta(made.id, codec.event(told[0])[1]) == told[0]

    async def listen(service: Service, debate_id: str, hear: Callable[[Delta], None]) -> None:
        async for event in service.follow(debate_id):
            if isinstance(event, Delta):
                hear(event)

    go(work())


@pytest.mark.parametrize("format_", ["duel", "council"])
def test_an_answer_that_breaks_its_reader_is_invalid_and_paid(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RecursionError("secret-key-123")

    monkeypatch.setattr(speaking, "clean", broken)

    async def work() -> None:
        speaker = council_speaker()
        async with engine(settings, speaker) as service:
            if format_ == "council":
                made = await service.council({"problem": "m", "outputType": "decision"})
            else:
                made = await service.create("m", format=format_)
            done = await service.wait(made.id)
            attempts = await service.attempts(made.id)
        assert done.failure
        assert done.failure.code == "DEBATE_ERR_PROVIDER_INVALID"
        assert "secret-key-123" not in done.failure.message
        assert len(speaker.calls) == len(attempts) == 4 * (5 if format_ == "council" else 1)
        assert {row["outcome"] for row in attempts} == {"failed"}
        assert done.usage.input_tokens == 10 * len(attempts)

    go(work())


def test_a_speaker_with_a_mistake_of_its_own_pauses_the_debate(settings: Settings) -> None:
    def script(call: Call) -> str:
        raise ZeroDivisionError("secret-key-123")

    async def work() -> None:
        async with engine(settings, ScriptedSpeaker(script)) as service:
            made = await service.create("m", format="duel")
            done = await service.wait(made.id)
        assert done.failure is not None
        assert done.failure.code == "DEBATE_ERR_PROVIDER_INVALID"
        assert "secret-key-123" not in done.failure.message

    go(work())


def test_two_engines_on_one_home_say_each_turn_once(settings: Settings) -> None:
    async def work() -> None:
        speakers = [ScriptedSpeaker(seconds=0.005), ScriptedSpeaker(seconds=0.005)]
        async with (
            engine(settings, speakers[0]) as one,
            engine(settings, speakers[1]) as two,
        ):
            made = [await one.create("m", format="duel") for _ in range(20)]
            for debate in made:
                two._dispatcher.dispatch(debate)
            done = await asyncio.gather(*(two.wait(debate.id) for debate in made))
        assert {debate.status for debate in done} == {"completed"}
        assert sum(len(speaker.calls) for speaker in speakers) == 20 * 6

    go(work())


@pytest.mark.sqlite_only
def test_end_said_elsewhere_calls_off_the_call_here_within_a_second(settings: Settings) -> None:
    """No word passes between the two but what is in the database: a hint may be lost."""

    async def work() -> None:
        class Stuck(ScriptedSpeaker):
            async def speak(self, call: Call, say: Say) -> Reply:
                if call.step.kind != "summary":
                    say("half a sen")
                    self.in_flight += 1
                    try:
                        await asyncio.sleep(3600)
                    except asyncio.CancelledError:
                        self.cancelled += 1
                        raise
                return await super().speak(call, say)

        stuck = Stuck()
        async with (
            engine(settings, stuck) as here,
            engine(settings, ScriptedSpeaker(), recover=False) as elsewhere,
        ):
            made = await here.create("m", format="duel")
            await until(lambda: stuck.in_flight)
            await asyncio.sleep(20)
            await elsewhere.end(made.id)
            assert await took(until(lambda: stuck.cancelled)) < 1
            done = await elsewhere.wait(made.id)
            turns = await elsewhere.turns(made.id)

            async def told() -> list[dict[str, Any]]:
                """How each call ended, once its maker has said so."""
                rows = await elsewhere.attempts(made.id)
                return [] if any(row["outcome"] == "unknown" for row in rows) else rows

            attempts = await until(told)
        assert (done.status, done.stop_reason) == ("completed", "ended_by_user")
        assert [turn.kind for turn in turns] == ["summary"]
        assert sorted(row["outcome"] for row in attempts) == ["cancelled", "ok"]

    go(work())


def test_follow_misses_nothing_whoever_advances_it(settings: Settings) -> None:
    async def work() -> None:
        async with (
            engine(settings, ScriptedSpeaker(seconds=0.003)) as one,
            engine(settings, ScriptedSpeaker(), recover=False) as two,
        ):
            made = await one.create("m", format="duel", limits={"max_turns": 40})
            here = [event async for event in one.follow(made.id)]
            there = [event async for event in two.follow(made.id, after=7)]
            last = (await one.get(made.id)).last_seq
        durable = [event.seq for event in here if not isinstance(event, Delta)]
        assert durable == list(range(1, last + 1))
        assert any(isinstance(event, Delta) for event in here)
        assert [e.seq for e in there if not isinstance(e, Delta)] == list(range(8, last + 1))

    go(work())


@pytest.mark.sqlite_only
def test_closing_lets_go_and_the_next_start_goes_on(settings: Settings) -> None:
    async def work() -> None:
        slow = ScriptedSpeaker(seconds=3600)
        async with engine(settings, slow) as service:
            made = await service.create("m", format="duel")
            await until(lambda: slow.in_flight)
            await asyncio.sleep(5)
            loop = asyncio.get_running_loop()
            began = loop.time()
        assert loop.time() - began < 0.1
        async with engine(settings, recover=False) as service:
            left = await service.get(made.id)
            assert (left.status, left.lease_owner) == ("running", None)
        async with engine(settings, ScriptedSpeaker()) as service:
            done = await service.wait(made.id)
            attempts = await service.attempts(made.id)
        assert done.status == "completed"
        assert [row["outcome"] for row in attempts] == ["cancelled"] + ["ok"] * 6

    go(work())


def test_what_cancelled_calls_used_is_estimated_and_counted(settings: Settings) -> None:
    async def work() -> Usage:
        class Talker(ScriptedSpeaker):
            async def speak(self, call: Call, say: Say) -> Reply:
                say("word " * 50)
                self.in_flight += 1
                await asyncio.sleep(3600)
                raise AssertionError

        talker = Talker()
        async with engine(settings, talker) as service:
            made = await service.create("m", format="duel")
            await until(lambda: talker.in_flight)
            await service.pause(made.id, at_once=True)
            await service.wait(made.id)

            async def counted() -> Usage | None:
                usage = (await service.get(made.id)).usage
                return usage if usage.output_tokens else None

            return await until(counted)

    usage = go(work())
    assert usage.estimated
    assert usage.output_tokens > 20
    assert usage.cost_usd > 0


def test_no_task_is_left_behind(settings: Settings) -> None:
    async def work() -> int:
        async with engine(settings, ScriptedSpeaker()) as service:
            made = await service.create("m", format="duel")
            await service.wait(made.id)
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert go(work()) == 1


def test_a_call_on_record_that_was_never_made_is_called_off_when_the_debate_is_let_go(
    settings: Settings,
) -> None:
    """A service that is closed just after a commit: the next wave's calls are on record already."""

    async def work() -> list[dict[str, Any]]:
        async with engine(settings, ScriptedSpeaker(), recover=False) as service:
            keeper, dispatcher = service._keeper, service._dispatcher
            commit = service._store.change

            async def closing(debate_id: str, move: Any, once: Any = None) -> Any:
                change = await commit(debate_id, move, once)
                if change.started and change.debate.turn_count == 1:
                    dispatcher.dispatch = lambda debate: None  # nobody takes it up again
                    keeper.call_off(debate_id)
                return change

            service._store.change = closing  # type: ignore[method-assign]
            made = await service.create("m", format="duel", limits={"max_turns": 4})
            await service._dispatcher.idle(made.id)
            rows = await service.attempts(made.id)
            assert (await service.get(made.id)).open_calls == 0
            return rows

    assert [row["outcome"] for row in go(work())] == ["ok", "cancelled"]
