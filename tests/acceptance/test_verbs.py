"""What a person can do to a debate, what a failing speaker does to it, and what it may cost."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.core import prompts, schedule
from moot.core.debate import Debate, Turn, Usage
from moot.core.events import StatusChanged
from moot.core.prompts import Heard
from moot.core.schedule import Wave
from moot.engine.service import Service
from moot.errors import (
    InputError,
    ProviderAuthError,
    ProviderEmptyError,
    ProviderError,
    ProviderRateLimitError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    ProviderUnknownModelError,
    StateError,
)
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.patience import soon
from tests.services import ask

MOTION = "Should we ship on Fridays?"
PANEL = """
name = "panel"
title = "Panel"
description = "All at once."
rules = "Be brief."
[roster]
min = 2
max = 4
[[stages]]
name = "panel"
together = true
rounds = 2
ask = "Speak."
"""


class Gated(ScriptedSpeaker):
    """Holds the calls that `hold` picks, half a sentence spoken, until its gate opens."""

    def __init__(self, hold: Callable[[Call], bool], script: Any = plain) -> None:
        super().__init__(script)
        self.holding = asyncio.Event()
        self.gate = asyncio.Event()
        self._hold = hold

    async def speak(self, call: Call, say: Say) -> Reply:
        if self._hold(call) and not self.gate.is_set():
            say("half a sentence that")
            self.holding.set()
            self.in_flight += 1
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.calls.append(call)
                self.cancelled += 1
                raise
            finally:
                self.in_flight -= 1
        return await super().speak(call, say)


def at(round_: int, actor: str) -> Callable[[Call], bool]:
    """The calls for what that seat says in that round, a closing summary aside."""

    def right(call: Call) -> bool:
        step = call.step
        return (step.round, step.actor) == (round_, actor) and step.kind != "summary"

    return right


def failing(
    error: Callable[[], ProviderError], when: Callable[[Call], bool], times: int = 10**6
) -> Callable[[Call], str | ProviderError]:
    """A script that fails for the calls that `when` picks, so many times."""
    left = [times]

    def script(call: Call) -> str | ProviderError:
        if when(call) and left[0]:
            left[0] -= 1
            return error()
        return plain(call)

    return script


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    (home / "formats").mkdir()
    (home / "formats" / "panel.toml").write_text(PANEL)
    return home


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moot.core.retry.WAITS", (0.01, 0.02, 0.03))


class Scene:
    """A service on a home, and short ways to what a test looks at."""

    def __init__(self, service: Service, home: Path) -> None:
        self.service = service
        self._database = Settings(home=home).database

    async def make(self, format_: str = "duel", **asked: Any) -> str:
        return (await self.service.create(MOTION, format=format_, **asked)).id

    async def turns(self, id_: str) -> list[tuple[int, str, str, str]]:
        return [(t.round, t.actor, t.kind, t.status) for t in await self.service.turns(id_)]

    async def outcomes(self, id_: str) -> list[str]:
        return [row["outcome"] for row in await self.service.attempts(id_)]

    async def statuses(self, id_: str) -> list[str]:
        events = await self.service._store.events(id_, 0, 10_000)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        return [e.status for e in events if isinstance(e, StatusChanged) and not e.notice]

    def row(self, id_: str) -> list[Any]:
        """All that the database has of a debate."""
        parts = ("debate_turns", "debate_events", "debate_attempts")
        return [
            ask(self._database, "SELECT * FROM debate_runs WHERE id = ?", id_),
            *(ask(self._database, f"SELECT * FROM {t} WHERE debate_id = ?", id_) for t in parts),
        ]

    def set_status(self, id_: str, status: str) -> None:
        ask(self._database, "UPDATE debate_runs SET status = ? WHERE id = ?", status, id_)

    async def check_books(self, id_: str) -> Debate:
        """Every call is on record and none is left open; the sums on the row are theirs."""
        debate = await self.service.get(id_)
        attempts = await self.service.attempts(id_)
        assert [row["n"] for row in attempts] == list(range(1, debate.usage.calls + 1))
        assert all(row["outcome"] in ("ok", "failed", "cancelled") for row in attempts)
        assert all(row["ended_at"] for row in attempts)
        assert debate.usage.input_tokens == sum(row["input_tokens"] for row in attempts)
        assert debate.usage.output_tokens == sum(row["output_tokens"] for row in attempts)
        assert debate.usage.cost_usd == pytest.approx(sum(row["cost_usd"] for row in attempts))
        return debate


@asynccontextmanager
async def opened(home: Path, speaker: ScriptedSpeaker) -> AsyncGenerator[Scene]:
    async with open_service(Settings(home=home), speaker=speaker, recover=False) as service:
        yield Scene(service, home)


def play(coroutine: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await coroutine

    asyncio.run(bounded())


async def reached(speaker: Gated) -> None:
    async with asyncio.timeout(5):
        await speaker.holding.wait()


# --- stop ---


def test_stop_keeps_the_step_in_flight_and_calls_nobody_after_it(home: Path) -> None:
    async def scene() -> None:
        speaker = Gated(at(2, "ada"))
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await reached(speaker)
            asked = await s.service.stop(id_)
            assert (asked.status, asked.wanted) == ("running", "stop")
            assert asked.stop_requested_at
            speaker.gate.set()
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("stopped", "stopped_by_user")
            assert debate.ended_at
            await asyncio.sleep(0.1)
            assert len(speaker.calls) == 3
            assert await s.turns(id_) == [
                (1, "ada", "speech", "ok"), (1, "ben", "speech", "ok"), (2, "ada", "speech", "ok"),
            ]  # fmt: skip
            assert await s.outcomes(id_) == ["ok"] * 3
            await s.check_books(id_)
            assert (Path(s.service.folder(id_)) / "manifest.json").exists()

    play(scene())


@pytest.mark.parametrize("status", ["scheduled", "queued"])
def test_stop_before_it_began(home: Path, status: str) -> None:
    async def scene() -> None:
        speaker = ScriptedSpeaker()
        async with opened(home, speaker) as s:
            id_ = await s.make(start=False)
            s.set_status(id_, status)
            debate = await s.service.stop(id_)
            assert (debate.status, debate.stop_reason) == ("stopped", "stopped_by_user")
            assert speaker.calls == []

    play(scene())


def test_stop_while_a_speaker_waits_to_try_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.core.retry.WAITS", (3600.0, 3600.0, 3600.0))

    async def scene() -> None:
        speaker = ScriptedSpeaker(failing(lambda: ProviderUnavailableError("Gone."), at(1, "ben")))
        async with opened(home, speaker) as s:
            id_ = await s.make()
            while "failed" not in await s.outcomes(id_):
                await asyncio.sleep(0.01)
            await s.service.stop(id_)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("stopped", "stopped_by_user")
            assert len(speaker.calls) == 2
            await s.check_books(id_)

    play(scene())


def test_stop_a_paused_one(home: Path) -> None:
    async def scene() -> None:
        speaker = Gated(at(2, "ada"))
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await reached(speaker)
            await s.service.pause(id_, at_once=True)
            debate = await s.service.stop(id_)
            assert (debate.status, debate.stop_reason) == ("stopped", "stopped_by_user")

    play(scene())


def test_stop_a_panel_that_one_speaker_has_paused_while_another_still_speaks(home: Path) -> None:
    async def scene() -> None:
        speaker = Gated(at(1, "ben"), failing(lambda: ProviderAuthError("No key."), at(1, "ada")))
        async with opened(home, speaker) as s:
            id_ = await s.make("panel")
            await reached(speaker)
            while (await s.service.get(id_)).status != "paused":
                await asyncio.sleep(0.01)
            await s.service.stop(id_)
            speaker.gate.set()
            await s.service._dispatcher.idle(id_)
            debate = await s.service.get(id_)
            assert (debate.status, debate.stop_reason) == ("stopped", "stopped_by_user")
            assert len(speaker.calls) == 2
            assert await s.turns(id_) == [(1, "ben", "speech", "ok")]
            await s.check_books(id_)

    play(scene())


def test_stop_while_the_closing_summary_waits_to_try_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.core.retry.WAITS", (30.0, 30.0, 30.0))

    async def scene() -> None:
        script = failing(
            lambda: ProviderUnavailableError("Gone."), lambda call: call.step.kind == "summary"
        )
        speaker = Gated(at(1, "ben"), script)
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await reached(speaker)
            await s.service.end(id_)
            while "failed" not in await s.outcomes(id_):
                await asyncio.sleep(0.01)
            await s.service.stop(id_)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("stopped", "stopped_by_user")

    play(scene())


# --- pause and resume ---


def test_pause_keeps_the_step_in_flight_and_resume_goes_on_from_the_cursor(home: Path) -> None:
    async def scene() -> None:
        speaker = Gated(at(2, "ada"))
        async with opened(home, speaker) as s:
            whole = await s.make()
            id_ = whole
            await reached(speaker)
            assert (await s.service.pause(id_)).wanted == "pause"
            speaker.gate.set()
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason, debate.failure) == ("paused", None, None)
            assert debate.ended_at is None
            assert (debate.cursor.next_round, debate.cursor.next_actor) == (2, "ben")
            await asyncio.sleep(0.1)
            assert len(speaker.calls) == 3
            assert (await s.service.resume(id_)).status == "running"
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "max_turns")
            assert [row[:2] for row in await s.turns(id_)] == [
                (1, "ada"), (1, "ben"), (2, "ada"), (2, "ben"), (3, "ada"), (3, "ben"),
            ]  # fmt: skip
            assert await s.statuses(id_) == [
                "queued", "running", "paused", "running", "completed",
            ]  # fmt: skip
            await s.check_books(id_)
            assert len(speaker.calls) == 6

    play(scene())


def test_pause_at_once_calls_the_step_off_and_it_is_said_anew(home: Path) -> None:
    async def scene() -> None:
        speaker = Gated(at(2, "ada"))
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await reached(speaker)
            assert (await s.service.pause(id_, at_once=True)).status == "paused"
            await s.service.wait(id_)
            await soon(lambda: not speaker.in_flight)
            assert speaker.cancelled == 1
            assert await s.outcomes(id_) == ["ok", "ok", "cancelled"]
            assert len(await s.turns(id_)) == 2
            speaker.gate.set()
            await s.service.resume(id_)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.turn_count) == ("completed", 6)
            turns = await s.service.turns(id_)
            assert all("half a sentence" not in turn.text for turn in turns)
            assert await s.outcomes(id_) == ["ok", "ok", "cancelled", *["ok"] * 4]
            books = await s.check_books(id_)
            assert books.usage.estimated

    play(scene())


def test_a_pause_that_was_only_asked_for_can_be_taken_back(home: Path) -> None:
    async def scene() -> None:
        speaker = Gated(at(1, "ben"))
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await reached(speaker)
            await s.service.pause(id_)
            assert (await s.service.resume(id_)).wanted is None
            speaker.gate.set()
            debate = await s.service.wait(id_)
            assert (debate.status, debate.turn_count) == ("completed", 6)
            assert "paused" not in await s.statuses(id_)

    play(scene())


def test_waits_are_kept_after_a_pause_was_taken_back(home: Path) -> None:
    async def scene() -> None:
        script = failing(
            lambda: ProviderRateLimitError("Slow down.", retry_after=0.4), at(2, "ada"), times=1
        )
        speaker = Gated(at(1, "ben"), script)
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await reached(speaker)
            await s.service.pause(id_)
            await s.service.resume(id_)
            began = time.monotonic()
            speaker.gate.set()
            debate = await s.service.wait(id_)
            assert (debate.status, debate.turn_count) == ("completed", 6)
            assert time.monotonic() - began >= 0.4

    play(scene())


# --- end ---


@pytest.mark.parametrize(
    ("format_", "closer", "before"),
    [("duel", "ada", (2, "ada")), ("classic", "host", (2, "ada")), ("custom", "host", (1, "ben"))],
)
def test_end_calls_off_the_call_and_the_closing_summary_follows(
    home: Path, format_: str, closer: str, before: tuple[int, str]
) -> None:
    async def scene() -> None:
        speaker = Gated(at(*before))
        async with opened(home, speaker) as s:
            id_ = await s.make(format_)
            await reached(speaker)
            said = await s.turns(id_)
            asked = await s.service.end(id_)
            assert (asked.status, asked.stop_reason) == ("ending", "ended_by_user")
            await soon(lambda: not speaker.in_flight)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "ended_by_user")
            assert (debate.degraded, speaker.cancelled) == (False, 1)
            latest = max(row[0] for row in said)
            assert await s.turns(id_) == [*said, (latest + 1, closer, "summary", "ok")]
            turns = await s.service.turns(id_)
            assert all("half a sentence" not in turn.text for turn in turns)
            assert turns[-1].stage == "summary"
            assert await s.outcomes(id_) == [*["ok"] * len(said), "cancelled", "ok"]
            await s.check_books(id_)
            again = s.row(id_)
            same = await s.service.end(id_)
            assert same == debate
            assert s.row(id_) == again
            assert await s.statuses(id_) == ["queued", "running", "ending", "completed"]
            assert (Path(s.service.folder(id_)) / f"rounds/round-{latest + 1}.json").exists()

    play(scene())


def test_end_said_twice_while_the_summary_is_spoken(home: Path) -> None:
    async def scene() -> None:
        speaker = Gated(lambda call: call.step.kind == "summary" or at(1, "ben")(call))
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await reached(speaker)
            await s.service.end(id_)
            speaker.holding.clear()
            await reached(speaker)
            before = s.row(id_)
            assert (await s.service.end(id_)).status == "ending"
            assert s.row(id_) == before
            assert speaker.in_flight == 1
            speaker.gate.set()
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "ended_by_user")
            assert [row[2] for row in await s.turns(id_)] == ["speech", "summary"]
            assert await s.outcomes(id_) == ["ok", "cancelled", "ok"]

    play(scene())


class Late(ScriptedSpeaker):
    """Lets somebody else have a word just before one of its calls comes back."""

    def __init__(self, when: Callable[[Call], bool]) -> None:
        super().__init__()
        self.word: Callable[[str], Awaitable[object]] | None = None
        self._when = when

    async def speak(self, call: Call, say: Say) -> Reply:
        reply = await super().speak(call, say)
        if self._when(call) and self.word:
            await self.word(call.debate.id)
        return reply


def test_a_call_that_comes_back_after_another_process_said_end_is_dropped_and_paid(
    home: Path,
) -> None:
    async def scene() -> None:
        speaker = Late(at(1, "ben"))
        async with opened(home, speaker) as s, opened(home, ScriptedSpeaker()) as other:
            speaker.word = other.service.end
            id_ = await s.make()
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "ended_by_user")
            assert await s.turns(id_) == [(1, "ada", "speech", "ok"), (2, "ada", "summary", "ok")]
            books = await s.check_books(id_)
            assert books.usage.calls == 3
            assert books.usage.input_tokens == 30

    play(scene())


@pytest.mark.parametrize(("format_", "closer"), [("duel", "ada"), ("classic", "host")])
def test_end_before_anything_was_said(home: Path, format_: str, closer: str) -> None:
    async def scene() -> None:
        held = [True]
        speaker = Gated(lambda call: held[0])
        async with opened(home, speaker) as s:
            id_ = await s.make(format_)
            await reached(speaker)
            held[0] = False
            await s.service.end(id_)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "ended_by_user")
            assert await s.turns(id_) == [(1, closer, "summary", "ok")]
            assert await s.outcomes(id_) == ["cancelled", "ok"]
            await s.check_books(id_)

    play(scene())


def test_end_in_the_middle_of_a_panel(home: Path) -> None:
    async def scene() -> None:
        speaker = Gated(at(2, "ben"))
        async with opened(home, speaker) as s:
            cast = [{"name": "Ada"}, {"name": "Ben"}, {"name": "Cleo"}]
            id_ = await s.make("panel", participants=cast)
            await reached(speaker)
            while len(await s.turns(id_)) < 5:
                await asyncio.sleep(0.01)
            await s.service.end(id_)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "ended_by_user")
            turns = await s.turns(id_)
            assert {row[:2] for row in turns[3:5]} == {(2, "ada"), (2, "cleo")}
            assert turns[5:] == [(3, "ada", "summary", "ok")]
            await s.check_books(id_)

    play(scene())


def test_end_while_paused_by_a_failure(home: Path) -> None:
    async def scene() -> None:
        speaker = ScriptedSpeaker(failing(lambda: ProviderAuthError("No key."), at(1, "ben")))
        async with opened(home, speaker) as s:
            id_ = await s.make()
            assert (await s.service.wait(id_)).failure
            await s.service.end(id_)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "ended_by_user")
            assert debate.failure is None
            assert await s.turns(id_) == [(1, "ada", "speech", "ok"), (2, "ada", "summary", "ok")]

    play(scene())


def test_a_summary_that_fails_while_ending_leaves_it_completed_and_degraded(home: Path) -> None:
    async def scene() -> None:
        script = failing(
            lambda: ProviderUnavailableError("Gone."), lambda call: call.step.kind == "summary"
        )
        speaker = Gated(at(1, "ben"), script)
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await reached(speaker)
            await s.service.end(id_)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "ended_by_user")
            assert debate.degraded
            assert (await s.turns(id_))[-2:] == [
                (2, "ada", "summary", "failed"), (2, "ben", "summary", "failed")
            ]  # fmt: skip
            assert await s.outcomes(id_) == ["ok", "cancelled", *["failed"] * 8]
            last = (await s.service.turns(id_))[-1]
            assert (last.text, last.error_code) == ("", "DEBATE_ERR_PROVIDER_UNAVAILABLE")
            await s.check_books(id_)

    play(scene())


# --- a failing speaker ---


def test_a_speaker_that_fails_is_tried_four_times_then_the_debate_is_paused(home: Path) -> None:
    async def scene() -> None:
        sentence = "Claude could not be reached. Check the network, then restart the speaker."
        script = failing(
            lambda: ProviderUnavailableError(sentence, input_tokens=7, cost_usd=0.5), at(1, "ben")
        )
        speaker = ScriptedSpeaker(script)
        async with opened(home, speaker) as s:
            id_ = await s.make()
            debate = await s.service.wait(id_)
            assert (debate.status, debate.degraded, debate.stop_reason) == ("paused", False, None)
            failure = debate.failure
            assert failure is not None
            assert failure.code == "DEBATE_ERR_PROVIDER_UNAVAILABLE"
            assert failure.message == sentence
            assert (failure.actor, failure.model, failure.attempts) == ("ben", "local", 4)
            assert failure.at.endswith("Z")
            assert (debate.cursor.next_round, debate.cursor.next_actor) == (1, "ben")
            assert len(speaker.calls) == 5
            assert await s.outcomes(id_) == ["ok", *["failed"] * 4]
            assert all(
                row["error_code"] == failure.code for row in (await s.service.attempts(id_))[1:]
            )
            books = await s.check_books(id_)
            assert books.usage.cost_usd == pytest.approx(0.001 + 4 * 0.5)
            event = (await s.service._store.events(id_, 0, 100))[-1]
            assert isinstance(event, StatusChanged)
            assert event.failure == failure
            assert (Path(s.service.folder(id_)) / "transcript.json").exists()

    play(scene())


@pytest.mark.parametrize("error", [ProviderTimeoutError, ProviderEmptyError, None])
def test_what_passes_by_itself_only_costs_a_retry(
    home: Path, error: type[ProviderError] | None
) -> None:
    """None: an answer of which nothing is left once it is cleaned."""

    async def scene() -> None:
        bad = [True] * (3 if error else 2)

        def script(call: Call) -> str | ProviderError:
            if not (at(2, "ben")(call) and bad and bad.pop()):
                return plain(call)
            return error("Not now.") if error else "<think>hm</think>\u200b"

        speaker = ScriptedSpeaker(script)
        async with opened(home, speaker) as s:
            id_ = await s.make()
            debate = await s.service.wait(id_)
            assert (debate.status, debate.degraded) == ("completed", False)
            assert (await s.outcomes(id_)).count("failed") == (3 if error else 2)
            turn = (await s.service.turns(id_))[3]
            assert turn.usage.calls == (4 if error else 3)
            await s.check_books(id_)

    play(scene())


def test_a_retry_after_is_waited_for(home: Path) -> None:
    async def scene() -> None:
        times: list[float] = []

        def script(call: Call) -> str | ProviderError:
            if at(1, "ben")(call):
                times.append(time.monotonic())
                if len(times) < 3:
                    return ProviderRateLimitError("Slow down.", retry_after=0.3)
            return plain(call)

        async with opened(home, ScriptedSpeaker(script)) as s:
            id_ = await s.make()
            assert (await s.service.wait(id_)).status == "completed"
            assert times[1] - times[0] >= 0.3
            assert times[2] - times[1] >= 0.3

    play(scene())


@pytest.mark.parametrize("error", [ProviderAuthError, ProviderUnknownModelError])
def test_what_no_retry_can_mend_is_not_retried(home: Path, error: type[ProviderError]) -> None:
    async def scene() -> None:
        speaker = ScriptedSpeaker(failing(lambda: error("Set a key."), at(1, "ada")))
        async with opened(home, speaker) as s:
            id_ = await s.make()
            debate = await s.service.wait(id_)
            assert debate.status == "paused"
            assert debate.failure is not None
            assert (debate.failure.code, debate.failure.attempts) == (error.code, 1)
            assert len(speaker.calls) == 1

    play(scene())


def test_a_speaker_that_hangs_is_cut_off_and_its_time_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.engine.speaking.GRACE_SECONDS", -4.9)  # a turn of 0.1 s

    async def scene() -> None:
        speaker = Gated(at(1, "ben"))
        async with opened(home, speaker) as s:
            id_ = await s.make(limits={"max_turn_seconds": 5})
            debate = await s.service.wait(id_)
            assert debate.status == "paused"
            assert debate.failure is not None
            assert (debate.failure.code, debate.failure.attempts) == (
                "DEBATE_ERR_PROVIDER_TIMEOUT",
                4,
            )
            assert speaker.cancelled == 4
            assert await s.outcomes(id_) == ["ok", *["failed"] * 4]
            await s.check_books(id_)

    play(scene())


def test_a_speakers_own_mistake_is_a_failure_like_any_other(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        def script(call: Call) -> str:
            if at(1, "ben")(call):
                raise ZeroDivisionError
            return plain(call)

        async with opened(home, ScriptedSpeaker(script)) as s:
            id_ = await s.make()
            debate = await s.service.wait(id_)
            assert debate.status == "paused"
            assert debate.failure is not None
            assert debate.failure.code == "DEBATE_ERR_PROVIDER_INVALID"
            await s.check_books(id_)

    play(scene())


def test_degrade_commits_a_failed_turn_and_goes_on(home: Path) -> None:
    async def scene() -> None:
        speaker = ScriptedSpeaker(failing(lambda: ProviderUnavailableError("Gone."), at(2, "ada")))
        async with opened(home, speaker) as s:
            id_ = await s.make(on_failure="degrade")
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "max_turns")
            assert debate.degraded
            assert debate.failure is None
            assert (debate.turn_count, debate.total) == (6, 6)
            turns = await s.service.turns(id_)
            failed = turns[2]
            assert (failed.round, failed.actor, failed.status) == (2, "ada", "failed")
            assert (failed.text, failed.error_code) == ("", "DEBATE_ERR_PROVIDER_UNAVAILABLE")
            assert [turn.status for turn in turns].count("failed") == 1
            assert await s.outcomes(id_) == ["ok", "ok", *["failed"] * 4, *["ok"] * 3]
            await s.check_books(id_)
            later = [call for call in speaker.calls if call.step.round == 3]
            assert all(failed not in call.heard for call in later)

    play(scene())


def test_on_a_panel_one_fails_and_the_others_are_kept(home: Path) -> None:
    async def scene() -> None:
        speaker = ScriptedSpeaker(
            failing(lambda: ProviderAuthError("No key."), at(1, "ben"), times=1)
        )
        async with opened(home, speaker) as s:
            cast = [{"name": "Ada"}, {"name": "Ben"}, {"name": "Cleo"}]
            id_ = await s.make("panel", participants=cast)
            debate = await s.service.wait(id_)
            assert debate.status == "paused"
            assert {row[1] for row in await s.turns(id_)} == {"ada", "cleo"}
            await s.service.retry(id_)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.turn_count, debate.degraded) == ("completed", 6, False)
            assert sorted(await s.outcomes(id_)) == ["failed", *["ok"] * 6]
            await s.check_books(id_)

    play(scene())


# --- retry and skip ---


@pytest.mark.parametrize("model", [None, "openai:gpt-5"])
def test_retry_restarts_the_speaker(home: Path, model: str | None) -> None:
    async def scene() -> None:
        script = failing(lambda: ProviderAuthError("No key."), at(2, "ben"), times=1)
        speaker = ScriptedSpeaker(script)
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await s.service.wait(id_)
            asked = await s.service.retry(id_, model)
            assert (asked.status, asked.failure) == ("running", None)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.turn_count, debate.degraded) == ("completed", 6, False)
            models = [turn.model for turn in await s.service.turns(id_) if turn.actor == "ben"]
            assert models == ["local", model or "local", model or "local"]
            assert debate.seat("ben").model == (model or "local")
            assert debate.seat("ada").model == "local"
            assert [row["model"] for row in await s.service.attempts(id_)].count(
                "openai:gpt-5"
            ) == (2 if model else 0)
            await s.check_books(id_)

    play(scene())


def test_retry_with_a_provider_that_does_not_exist_is_refused(home: Path) -> None:
    async def scene() -> None:
        script = failing(lambda: ProviderAuthError("No key."), at(1, "ada"), times=1)
        async with opened(home, ScriptedSpeaker(script)) as s:
            id_ = await s.make()
            await s.service.wait(id_)
            with pytest.raises(InputError, match="the nearest is openai") as caught:
                await s.service.retry(id_, "opnai:x")
            assert caught.value.field == "model"
            debate = await s.service.get(id_)
            assert (debate.status, debate.seat("ada").model) == ("paused", "local")

    play(scene())


def test_retry_that_fails_again_pauses_again(home: Path) -> None:
    async def scene() -> None:
        speaker = ScriptedSpeaker(failing(lambda: ProviderUnavailableError("Gone."), at(1, "ben")))
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await s.service.wait(id_)
            await s.service.retry(id_)
            debate = await s.service.wait(id_)
            assert debate.status == "paused"
            assert debate.failure is not None
            assert debate.failure.attempts == 4
            assert len(speaker.calls) == 9
            await s.check_books(id_)

    play(scene())


@pytest.mark.parametrize("place", [(1, "ada"), (2, "ben"), (3, "ben")])
def test_skip_records_a_failed_turn_and_goes_on(home: Path, place: tuple[int, str]) -> None:
    async def scene() -> None:
        speaker = ScriptedSpeaker(failing(lambda: ProviderAuthError("No key."), at(*place)))
        async with opened(home, speaker) as s:
            id_ = await s.make()
            await s.service.wait(id_)
            await s.service.skip(id_)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "max_turns")
            assert debate.degraded
            assert debate.failure is None
            turns = await s.service.turns(id_)
            assert len(turns) == 6
            failed = [turn for turn in turns if turn.status == "failed"]
            assert [(t.round, t.actor, t.error_code, t.text) for t in failed] == [
                (*place, "DEBATE_ERR_PROVIDER_AUTH", "")
            ]
            assert await s.outcomes(id_) == [
                "failed" if at(*place)(call) else "ok" for call in speaker.calls
            ]
            await s.statuses(id_)
            await s.check_books(id_)

    play(scene())


def test_skip_of_a_cue_leaves_the_floor_to_its_target(home: Path) -> None:
    async def scene() -> None:
        def cue(call: Call) -> bool:
            return (call.step.kind, call.step.target, call.step.round) == ("cue", "ada", 1)

        speaker = ScriptedSpeaker(failing(lambda: ProviderAuthError("No key."), cue))
        async with opened(home, speaker) as s:
            id_ = await s.make("custom", options={"rounds": 1})
            assert (await s.service.wait(id_)).status == "paused"
            await s.service.skip(id_)
            debate = await s.service.wait(id_)
            assert (debate.status, debate.degraded) == ("completed", True)
            turns = await s.service.turns(id_)
            assert [(t.actor, t.kind, t.status) for t in turns[1:3]] == [
                ("host", "cue", "failed"), ("ada", "speech", "ok"),
            ]  # fmt: skip
            assert turns[1].instruction

    play(scene())


# --- what is refused ---

Verb = Callable[[Service, str], Awaitable[Debate]]
VERBS: dict[str, Verb] = {
    "start": lambda service, id_: service.start(id_),
    "stop": lambda service, id_: service.stop(id_),
    "pause": lambda service, id_: service.pause(id_),
    "pause at once": lambda service, id_: service.pause(id_, at_once=True),
    "resume": lambda service, id_: service.resume(id_),
    "end": lambda service, id_: service.end(id_),
    "retry": lambda service, id_: service.retry(id_),
    "retry with a model": lambda service, id_: service.retry(id_, "openai:gpt-5"),
    "skip": lambda service, id_: service.skip(id_),
}
AFTER_A_FAILURE = {"retry", "retry with a model", "skip"}
PAUSES = {"pause", "pause at once"}
REFUSED = {
    "scheduled": {*PAUSES, "resume", "end", *AFTER_A_FAILURE},
    "queued": {*PAUSES, "start", "end", *AFTER_A_FAILURE},
    "running": {"start", "resume", *AFTER_A_FAILURE},
    "paused": {*PAUSES, "start", *AFTER_A_FAILURE},
    "paused by a failure": {*PAUSES, "start"},
    "ending": {*PAUSES, "start", "resume", *AFTER_A_FAILURE},
    "completed": set(VERBS),
    "ended": set(VERBS) - {"end"},
    "stopped": set(VERBS),
    "failed": set(VERBS),
}


async def brought_to(s: Scene, speaker: Gated, state: str) -> str:
    """A debate in that state."""
    if state in ("scheduled", "queued", "failed"):
        id_ = await s.make(start=False)
        s.set_status(id_, state)
        return id_
    id_ = await s.make()
    if state == "paused by a failure":
        await s.service.wait(id_)
        return id_
    await reached(speaker)
    if state == "paused":
        await s.service.pause(id_, at_once=True)
    if state in ("ending", "ended"):
        speaker.holding.clear()
        await s.service.end(id_)
        await reached(speaker)
    if state == "stopped":
        await s.service.stop(id_)
    if state in ("completed", "ended", "stopped"):
        speaker.gate.set()
        await s.service.wait(id_)
    if state == "paused":
        await s.service._dispatcher.idle(id_)
    return id_


@pytest.mark.parametrize("state", list(REFUSED))
def test_what_the_table_forbids_is_refused_and_changes_nothing(home: Path, state: str) -> None:
    async def scene() -> None:
        script: Any = plain
        if state == "paused by a failure":
            script = failing(lambda: ProviderAuthError("No key."), at(1, "ben"))
        speaker = Gated(lambda call: state != "paused by a failure", script)
        async with opened(home, speaker) as s:
            id_ = await brought_to(s, speaker, state)
            before, calls = s.row(id_), len(speaker.calls)
            for verb in sorted(REFUSED[state]):
                with pytest.raises(StateError) as refused:
                    await VERBS[verb](s.service, id_)
                assert refused.value.code == "DEBATE_ERR_STATE", verb
                assert s.row(id_) == before, verb
            await asyncio.sleep(0.02)
            assert s.row(id_) == before
            assert len(speaker.calls) == calls
            if state in ("running", "ending"):
                speaker.gate.set()
                assert (await s.service.wait(id_)).status == "completed"

    play(scene())


def test_a_scheduled_one_starts_when_it_is_told_to(home: Path) -> None:
    async def scene() -> None:
        speaker = ScriptedSpeaker()
        async with opened(home, speaker) as s:
            id_ = await s.make(start=False)
            await asyncio.sleep(0.02)
            assert (await s.service.get(id_)).status == "scheduled"
            assert speaker.calls == []
            await s.service.start(id_)
            assert (await s.service.wait(id_)).status == "completed"
            assert await s.statuses(id_) == ["scheduled", "queued", "running", "completed"]

    play(scene())


# --- budgets ---


class Metered(Gated):
    """Uses exactly what the estimate of a call allows, to the last token."""

    def __init__(
        self, script: Any = plain, hold: Callable[[Call], bool] = lambda call: False
    ) -> None:
        super().__init__(hold, script)

    async def speak(self, call: Call, say: Say) -> Reply:
        tokens = prompts.size(call.messages)
        spent = Usage(tokens, call.max_tokens, tokens * 1e-6 + call.max_tokens * 2e-6)
        try:
            reply = await super().speak(call, say)
        except ProviderError as error:
            error.input_tokens, error.output_tokens = spent.input_tokens, spent.output_tokens
            error.cost_usd = spent.cost_usd
            raise
        words = f"{reply.text} {'so ' * call.max_tokens}"[: call.max_tokens * 3]
        return replace(reply, text=words, usage=spent)


def spent(debate: Debate) -> int:
    return debate.usage.input_tokens + debate.usage.output_tokens


def closing_estimate(debate: Debate, turns: list[Turn]) -> int:
    ending = debate.but(status="ending", cursor=schedule.closing(debate))
    ahead = schedule.plan(ending)
    assert isinstance(ahead, Wave)
    messages, _ = prompts.render(ahead.steps[0], ending, Heard(turns), 100_000)
    return prompts.size(messages) + debate.limits.max_turn_tokens


ASKED: dict[str, dict[str, Any]] = {
    "standard": {"host": {}, "options": {"rounds": 2}},
    "duel": {},
    "custom": {"options": {"rounds": 1}},
    "panel": {"participants": [{"name": "Ada"}, {"name": "Ben"}, {"name": "Cleo"}]},
}


@pytest.mark.sqlite_only  # hundreds of debates, and budgets are not the database's affair
@pytest.mark.parametrize("format_", list(ASKED))
@pytest.mark.parametrize("limit", ["max_total_tokens", "max_cost_usd"])
def test_a_budget_is_never_exceeded(home: Path, format_: str, limit: str) -> None:
    """Speakers that use all that their estimates allow, and budgets of every size."""

    async def scene() -> None:
        asked, broken = ASKED[format_], list[str]()
        async with opened(home, Metered()) as s:

            async def run(limits: dict[str, Any]) -> tuple[Debate, list[Turn]]:
                id_ = await s.make(format_, **asked, limits={"max_turn_tokens": 128} | limits)
                await s.service.wait(id_)
                return await s.check_books(id_), await s.service.turns(id_)

            free, said = await run({})
            whole: float = spent(free) if limit == "max_total_tokens" else free.usage.cost_usd
            reasons: set[str | None] = set()
            for step in (*range(1, 41), 80):
                budget: float = whole * step / 38
                if limit == "max_total_tokens":
                    budget = int(budget)
                try:
                    debate, turns = await run({limit: budget})
                except InputError as refused:  # before the first that is not, and none after it
                    assert (refused.field, reasons) == (f"limits.{limit}", set())  # noqa: PT017
                    continue
                assert turns, "nobody could speak"
                used = spent(debate) if limit == "max_total_tokens" else debate.usage.cost_usd
                reasons.add(debate.stop_reason)
                assert debate.status == "completed"
                if used > budget + 1e-12:
                    broken.append(f"{used} spent of {budget} ({len(turns)} turns)")
                if debate.stop_reason == "budget":
                    assert len(turns) <= len(said)
                    kinds = [turn.kind for turn in turns]
                    assert "summary" not in kinds[:-1]
                    if "summary" not in kinds and limit == "max_total_tokens":
                        assert used + closing_estimate(debate, turns) > budget
                else:
                    assert (debate.stop_reason, len(turns)) == (free.stop_reason, len(said))
            assert reasons == {"budget", free.stop_reason}
            assert broken == []

    play(scene())


@pytest.mark.parametrize("ended_by", ["budget", "person"])
def test_a_budget_holds_while_the_closing_summary_is_tried_again(home: Path, ended_by: str) -> None:
    """Checked before each call: the tries of a failing summary count too."""

    async def scene() -> None:
        script = failing(
            lambda: ProviderEmptyError("Nothing."), lambda call: call.step.kind == "summary"
        )
        budget = 1800
        speaker = Metered(script, at(1, "ben") if ended_by == "person" else lambda call: False)
        async with opened(home, speaker) as s:
            limits = {"max_turn_tokens": 128, "max_total_tokens": budget}
            id_ = await s.make("standard", options={"rounds": 50}, limits=limits)
            if ended_by == "person":
                await reached(speaker)
                await s.service.end(id_)
            debate = await s.service.wait(id_)
            assert debate.status == "completed"
            books = await s.check_books(id_)
            assert spent(books) <= budget

    play(scene())


def test_failed_calls_count_towards_the_budget(home: Path) -> None:
    async def scene() -> None:
        speaker = Metered(failing(lambda: ProviderEmptyError("Nothing."), at(2, "ada"), times=3))
        async with opened(home, speaker) as s:
            limits = {"max_turn_tokens": 128, "max_total_tokens": 4000}
            id_ = await s.make("duel", limits=limits | {"max_turns": 50})
            debate = await s.service.wait(id_)
            assert (debate.status, debate.stop_reason) == ("completed", "budget")
            assert "failed" in await s.outcomes(id_)
            assert spent(await s.check_books(id_)) <= 4000

    play(scene())


def test_a_budget_too_small_for_anything_is_refused(home: Path) -> None:
    async def scene() -> None:
        speaker = ScriptedSpeaker()
        async with opened(home, speaker) as s:
            before = await s.service.find()
            with pytest.raises(InputError, match=r"Ada's first turn .* or more") as caught:
                await s.make("duel", limits={"max_total_tokens": 10})
            assert caught.value.field == "limits.max_total_tokens"
            assert (speaker.calls, await s.service.find()) == ([], before)

    play(scene())
