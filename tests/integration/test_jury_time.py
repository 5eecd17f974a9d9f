"""How long a jury takes: all its ballots are cast at once."""

import json
from datetime import datetime
from typing import Any

import pytest

from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.virtual import engine, go

pytestmark = pytest.mark.sqlite_only  # durations are exact in virtual time only

LATENCY = 10.0


def ballot(call: Call) -> str:
    if call.step.answer != "ballot":
        return plain(call)
    assert call.schema
    made: dict[str, Any] = {
        "reasons": [{"text": "It pays."}],
        "against": {"text": "It costs."},
        "choice": min(call.schema["properties"]["choice"]["enum"]),
        "confidence": 0.7,
        "wouldChange": "A bill.",
    }
    return json.dumps(made)


class Slow(ScriptedSpeaker):
    """Takes its time for what decides, and for nothing else."""

    async def speak(self, call: Call, say: Say) -> Reply:
        self._seconds = LATENCY if call.step.kind in ("verdict", "summary") else 0.0
        return await super().speak(call, say)


def took(settings: Settings, **asked: Any) -> tuple[int, float]:
    """How many slow calls a debate made, and how long it took with them."""

    async def work() -> tuple[int, float]:
        speaker = Slow(ballot)
        async with engine(settings, speaker) as service:
            done = await service.wait((await service.create("Ship it?", **asked)).id)
            turns = await service.turns(done.id)
        assert (done.status, done.degraded) == ("completed", False)
        began, ended = (datetime.fromisoformat(at or "") for at in (done.started_at, done.ended_at))
        slow = [turn for turn in turns if turn.kind in ("verdict", "summary")]
        return len(slow), (ended - began).total_seconds()

    return go(work())


def test_a_jury_takes_hardly_longer_than_one_judge(settings: Settings) -> None:
    calls, one = took(settings, format="standard", host={"model": "openai:scripted"})
    assert calls == 1, "the host, which sums up"
    assert one >= LATENCY
    calls, jury = took(settings, format="duel", jury={"size": 3, "swap": True, "baseline": True})
    assert calls == 9
    assert LATENCY <= jury <= 1.2 * one
