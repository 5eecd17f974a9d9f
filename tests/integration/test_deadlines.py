"""How long a speaker may take, and how long one that failed is waited for."""

import asyncio
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from moot.core import retry
from moot.engine import speaking
from moot.engine.lease import WATCH_SECONDS
from moot.errors import ProviderRateLimitError, ProviderUnavailableError
from moot.ports import WHOLE, Call, Reply, Say
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker
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
