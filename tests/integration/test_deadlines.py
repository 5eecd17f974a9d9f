"""How long a speaker may take, and how long one that failed is waited for."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from moot.bootstrap import Instead
from moot.bus.memory import MemoryBus
from moot.cli.screen import mends
from moot.core import retry, verbs
from moot.core.events import CutOff, Delta, Speech, TurnCommitted
from moot.core.limits import WHOLE
from moot.engine import speaking
from moot.engine.lease import WATCH_SECONDS
from moot.errors import ProviderRateLimitError, ProviderUnavailableError
from moot.models.providers import VENDORS
from moot.models.speak import Line, speak
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker
from moot.wire import codec
from tests.virtual import engine, go, took, until

pytestmark = pytest.mark.sqlite_only  # durations are exact in virtual time only


def seconds(attempt: dict[str, Any]) -> float:
    """How long a call took, by its record."""
    began, ended = (datetime.fromisoformat(attempt[at]) for at in ("started_at", "ended_at"))
    return (ended - began).total_seconds()


def test_a_speaker_that_keeps_no_deadline_is_cut_off(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker(seconds=3600)) as service:
            limits = {"max_turn_seconds": 5}
            made = await service.create("m", format="duel", limits=limits)
            done = await service.wait(made.id)
            attempts = await service.attempts(made.id)
        assert done.status == "paused"
        assert done.failure is not None
        assert (done.failure.code, done.failure.attempts) == ("DEBATE_ERR_PROVIDER_TIMEOUT", 4)
        assert "said nothing for 5 seconds" in done.failure.message
        assert done.usage.estimated, "what hung was paid for all the same"
        assert done.usage.input_tokens > 0
        assert done.usage.cost_usd > 0
        assert all(row["outcome"] == "failed" and row["estimated"] for row in attempts)
        assert done.usage.input_tokens == sum(row["input_tokens"] for row in attempts)
        longest = 5 + speaking.GRACE_SECONDS
        assert all(longest <= seconds(row) <= longest + WATCH_SECONDS for row in attempts)

    go(work())


class Talker(ScriptedSpeaker):
    """Keeps no time of its own: says a word now and then, or only that it is alive."""

    def __init__(self, words: int, aloud: bool = True) -> None:
        super().__init__()
        self.words = words
        self.aloud = aloud

    async def speak(self, call: Call, say: Say) -> Reply:
        for _ in range(self.words):
            await asyncio.sleep(4.5)  # of the 5 s that a silence may take
            if self.aloud:
                say("word ")
            else:
                call.allow(call.seconds)
        return await super().speak(call, say)


@pytest.mark.parametrize("aloud", [True, False])
def test_a_speaker_who_goes_on_is_not_cut_off(settings: Settings, aloud: bool) -> None:
    async def work() -> None:
        talker = Talker(4, aloud)
        async with engine(settings, talker) as service:
            limits = {"max_turn_seconds": 5, "max_turns": 1}
            made = await service.create("m", format="duel", limits=limits)
            assert await took(service.wait(made.id)) >= 18
            done = await service.get(made.id)
        assert (done.status, len(talker.calls)) == ("completed", 1)

    go(work())


def test_a_speaker_who_never_ends_is_cut_off(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, Talker(10_000)) as service:
            limits = {"max_turn_seconds": 5}
            made = await service.create("m", format="duel", limits=limits)
            done = await service.wait(made.id)
            attempts = await service.attempts(made.id)
        assert done.failure
        assert "was still speaking after 20 seconds" in done.failure.message
        longest = 5 * WHOLE + speaking.GRACE_SECONDS
        assert all(longest <= seconds(row) <= longest + WATCH_SECONDS for row in attempts)
        assert done.usage.estimated
        assert done.usage.output_tokens > 4

    go(work())


class Wire(FunctionModel):
    """A model behind moot's own calls: what it streams, and how long it is silent before each
    piece. One list for each call."""

    def __init__(self, *streams: Iterable[tuple[float, str]]) -> None:
        super().__init__(stream_function=self._stream)
        self.streams = iter(streams)

    @asynccontextmanager
    async def request_stream(self, *args: Any, **options: Any) -> AsyncGenerator[StreamedResponse]:
        async with super().request_stream(*args, **options) as self.open:
            yield self.open

    async def _stream(self, _: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        for silence, words in next(self.streams):
            await asyncio.sleep(silence)
            yield words
        self.open.finish_reason = "stop"


class Vendor(ScriptedSpeaker):
    """Speaks as the router does, with another wire."""

    def __init__(self, *streams: Iterable[tuple[float, str]]) -> None:
        super().__init__()
        self.model = Wire(*streams)

    async def speak(self, call: Call, say: Say) -> Reply:
        self.calls.append(call)
        line = Line(self.model, VENDORS["openai"], "slow", self.card(call.model))
        return await speak(line, call, say, asyncio.get_running_loop().time())


def test_a_vendor_that_streams_for_90_seconds_is_heard_out(settings: Settings) -> None:
    words = [(3.0, f"word{number} ") for number in range(30)]

    async def work() -> None:
        vendor = Vendor(words)
        async with engine(settings, vendor) as service:
            made = await service.create("m", format="duel", limits={"max_turns": 1})
            assert made.limits.max_turn_seconds == 35
            heard = [event async for event in service.follow(made.id)]
            (turn,) = await service.turns(made.id)
            (attempt,) = await service.attempts(made.id)
        assert turn.text == "".join(text for _, text in words).strip()
        assert (seconds(attempt), len(vendor.calls)) == (90, 1)
        assert not any(isinstance(one, Delta) and one.cut_off for one in heard)

    go(work())


class Counting(MemoryBus):
    """Knows what was begun and has not ceased. To other processes, a speech that ceases twice ends
    the next one of the same turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[Speech] = []

    def begin(self, speech: Speech) -> None:
        assert not self.open, "one at a time"
        self.open.append(speech)
        super().begin(speech)

    def cease(self, speech: Speech) -> None:
        assert self.open.pop() is speech
        super().cease(speech)


def test_a_vendor_that_falls_silent_is_seen_to_be_cut_off_and_tried_again(
    settings: Settings,
) -> None:
    async def work() -> None:
        begins = [(1.0, "Half a "), (1.0, "sentence"), (36.0, " too late.")]
        vendor = Vendor(begins, [(36.0, "Nothing.")], [(1.0, "All "), (34.0, "of it.")])
        joined: list[tuple[str, CutOff | None]] = []
        bus = Counting()
        async with engine(settings, vendor, instead=Instead(bus=bus)) as service:
            made = await service.create("m", format="duel", limits={"max_turns": 1})
            heard: list[Delta | TurnCommitted] = []
            async for event in service.follow(made.id):
                if isinstance(event, Delta | TurnCommitted):
                    heard.append(event)
                    joined += [(one.text, one.cut_off) for one in service.speeches(made.id)]
            attempts = await service.attempts(made.id)
            assert bus.open == service.speeches(made.id) == []
        first, *_, turn = heard
        assert isinstance(first, Delta)
        assert (first.text, first.cut_off) == ("Half a ", None)
        assert isinstance(turn, TurnCommitted)
        assert turn.turn.text == "All of it."
        marks = [(one.text, one.offset, one.cut_off) for one in heard if isinstance(one, Delta)]
        code = "DEBATE_ERR_PROVIDER_TIMEOUT"
        again, later = (CutOff("Half a sentence", code, n, 4) for n in (2, 3))
        assert [mark for mark in marks if mark[2]] == [
            ("", 0, again),  # when it is cut off
            ("", 0, again),  # when the second try begins, for who heard only half of it
            ("", 0, later),  # that try said nothing, so what the first said stays
            ("", 0, later),
        ]
        assert [seconds(one) for one in attempts] == [37, 35, 35]
        assert ("", again) in joined, "who joins between two tries is told, too"
        assert ("All ", later) in joined, "and who joins the try that follows"

    go(work())


QUICK = """
name = "quick"
title = "Quick"
description = "A stage with a limit of its own."
guidance = "Be brief."
on_failure = "pause"
[roster]
min = 2
[[stages]]
name = "talk"
seconds = 40
ask = "Speak."
"""


@pytest.mark.parametrize(
    ("format_", "asked", "waits", "raised"), [("duel", 35, 50, 70), ("quick", 40, 70, 80)]
)
def test_a_retry_can_allow_longer_turns(
    settings: Settings, format_: str, asked: float, waits: float, raised: float
) -> None:
    """Also in a stage that has a limit of its own."""
    (settings.home / "formats").mkdir(parents=True)
    (settings.home / "formats" / "quick.toml").write_text(QUICK)

    async def work() -> None:
        vendor = Vendor(*[[(waits, "At last.")]] * 6)
        async with engine(settings, vendor) as service:
            made = await service.create("m", format=format_, limits={"max_turns": 2})
            paused = await service.wait(made.id)
            assert paused.failure
            assert paused.failure.message == (
                f"OpenAI said nothing for {asked} seconds. Restart the speaker to try again. To "
                f"give it more time, raise max_turn_seconds to {raised} when you do."
            )
            assert verbs.longer_seconds(paused) == codec.debate(paused)["longer_seconds"] == raised
            assert (
                f"moot retry {made.id} --max-turn-seconds {raised}",
                "and give it more time",
            ) in mends(paused)
            await service.retry(made.id, max_turn_seconds=raised)
            done = await service.wait(made.id)
            attempts = await service.attempts(made.id)
        assert (done.status, done.limits.max_turn_seconds) == ("completed", raised)
        assert [seconds(one) for one in attempts] == [asked] * 4 + [waits] * 2, "both seats have it"
        assert "longer_seconds" not in codec.debate(done)

    go(work(), 600)


def test_no_more_time_is_offered_than_there_is(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker(seconds=3600)) as service:
            made = await service.create("m", format="duel", limits={"max_turn_seconds": 65})
            assert verbs.longer_seconds(await service.wait(made.id)) == 120
            await service.retry(made.id, max_turn_seconds=120)
            paused = await service.wait(made.id)
        assert paused.failure
        assert "said nothing for 120 seconds" in paused.failure.message
        assert paused.failure.message.endswith("another model may be faster.")
        assert verbs.longer_seconds(paused) is None
        assert not any("--max-turn-seconds" in command for command, _ in mends(paused))

    go(work(), 2000)


def test_what_is_called_off_between_two_tries_is_taken_back(settings: Settings) -> None:
    async def work() -> None:
        speaker = ScriptedSpeaker(lambda _: ProviderRateLimitError("slow down", retry_after=50))
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="duel")
            heard: list[Delta] = []

            def hear(event: object) -> None:
                if isinstance(event, Delta):
                    heard.append(event)

            service.listen(made.id, hear)
            await until(lambda: heard)
            (said,) = service.speeches(made.id)
            assert said.cut_off == CutOff("", "DEBATE_ERR_PROVIDER_RATE_LIMIT", 2, 4)
            await service.end(made.id)
            await until(lambda: len(heard) > 1)
            assert (heard[1].text, heard[1].offset, heard[1].cut_off) == ("", 0, None)

    go(work())


def test_a_speaker_that_fails_is_tried_again_after_growing_waits(settings: Settings) -> None:
    async def work() -> None:
        speaker = ScriptedSpeaker(lambda _: ProviderUnavailableError("away"))
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="duel")
            done = await service.wait(made.id)
            attempts = await service.attempts(made.id)
        assert (done.status, len(attempts)) == ("paused", 4)
        starts = [datetime.fromisoformat(row["started_at"]) for row in attempts]
        waits = [(late - early).total_seconds() for early, late in pairwise(starts)]
        for waited, wait in zip(waits, retry.WAITS, strict=True):
            assert wait <= waited <= wait * 1.25 + 0.1, "a quarter is spread over many debates"

    go(work())


def test_a_stop_is_heard_while_a_retry_is_waited_for(settings: Settings) -> None:
    error = ProviderRateLimitError("slow down", retry_after=50)

    async def work() -> None:
        speaker = ScriptedSpeaker(lambda call: error)
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="duel")
            await until(lambda: speaker.calls)
            await asyncio.sleep(10)
            await service.stop(made.id)
            assert await took(service.wait(made.id)) < 0.1
            done = await service.get(made.id)
        assert (done.status, done.stop_reason) == ("stopped", "stopped_by_user")
        assert len(speaker.calls) == 1

    go(work())
