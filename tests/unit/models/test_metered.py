"""The metered speaker: each call is noted once, however it ends, and nothing else changes."""

import asyncio
from typing import Any, cast

import pytest

from moot.core.debate import NO_USAGE, Debate, Usage
from moot.core.prompts import Message
from moot.core.schedule import Step
from moot.errors import ProviderError, ProviderRateLimitError, ProviderTimeoutError
from moot.models.metered import MeteredSpeaker
from moot.ports.model_call import Call, ModelCard, Reply, Say

USAGE = Usage(10, 5, 0.001, calls=1)
CALL = Call(
    "openai:gpt-5-mini",
    (Message("user", "Well?"),),
    100,
    5.0,
    cast(Debate, None),
    cast(Step, None),
    (),
)
Noted = tuple[str, str, float, float | None, Usage]


class Voice:
    """Says its pieces, each after a while, and then answers or raises."""

    def __init__(self, *pieces: str, end: BaseException | None = None, wait: float = 0.0) -> None:
        self.pieces = pieces
        self.end = end
        self.wait = wait

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 1_000, None, None)

    async def speak(self, call: Call, say: Say) -> Reply:
        for piece in self.pieces:
            await asyncio.sleep(self.wait)
            say(piece)
        await asyncio.sleep(self.wait)
        if self.end is not None:
            raise self.end
        return Reply("".join(self.pieces), "openai:who-really-spoke", USAGE)


class Notes(list[Noted]):
    def __call__(self, *noted: Any) -> None:
        self.append(cast(Noted, noted))


def test_an_answer() -> None:
    notes, said = Notes(), list[str]()
    voice = Voice("", "One", "", " two", wait=0.02)
    reply = asyncio.run(MeteredSpeaker(voice, notes).speak(CALL, said.append))
    assert reply.text == "One two"
    assert said == ["", "One", "", " two"], "every piece is passed on, as it was"
    [(model, outcome, seconds, first, usage)] = notes
    assert (model, outcome, usage) == ("openai:gpt-5-mini", "ok", USAGE)
    assert first is not None
    assert 0.039 <= first < seconds, "the empty piece is not the first"
    assert seconds >= 0.098


def test_the_card_is_passed_on() -> None:
    assert MeteredSpeaker(Voice(), Notes()).card("local:x") == ModelCard(
        "local:x", 1_000, None, None
    )


@pytest.mark.parametrize("kind", [ProviderError, ProviderTimeoutError, ProviderRateLimitError])
def test_a_failed_call_counts_with_what_it_used(kind: type[ProviderError]) -> None:
    notes = Notes()
    error = kind("No.", input_tokens=7, output_tokens=3, cost_usd=0.5, estimated=True)
    with pytest.raises(kind) as raised:
        asyncio.run(MeteredSpeaker(Voice("a", end=error), notes).speak(CALL, lambda _: None))
    assert raised.value is error
    [(_, outcome, _, first, usage)] = notes
    assert outcome == kind.code
    assert first is not None
    assert usage == Usage(7, 3, 0.5, calls=1, estimated=True)


@pytest.mark.parametrize("end", [ValueError("a bug"), KeyError("x"), TimeoutError()])
def test_a_bug_is_an_error(end: Exception) -> None:
    notes = Notes()
    with pytest.raises(type(end)):
        asyncio.run(MeteredSpeaker(Voice(end=end), notes).speak(CALL, lambda _: None))
    assert [(outcome, first, usage) for _, outcome, _, first, usage in notes] == [
        ("error", None, NO_USAGE)
    ]


def test_a_listener_that_fails_is_an_error_too() -> None:
    notes = Notes()

    def say(_: str) -> None:
        raise RuntimeError("nobody listens")

    with pytest.raises(RuntimeError):
        asyncio.run(MeteredSpeaker(Voice("a"), notes).speak(CALL, say))
    assert [outcome for _, outcome, *_ in notes] == ["error"]


@pytest.mark.parametrize("times", [1, 3])
def test_a_cancelled_call_is_noted_once(times: int) -> None:
    async def cancel(notes: Notes) -> None:
        task = asyncio.create_task(
            MeteredSpeaker(Voice("a", wait=0.02), notes).speak(CALL, lambda _: None)
        )
        await asyncio.sleep(0.03)
        for _ in range(times):
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    notes = Notes()
    asyncio.run(cancel(notes))
    [(_, outcome, seconds, first, usage)] = notes
    assert outcome == "cancelled"
    assert first is not None
    assert seconds >= first
    assert usage.input_tokens > 0, "nobody metered it, so it is estimated"
    assert usage.output_tokens > 0
    assert usage.estimated


def test_a_deadline_from_outside_is_a_cancelled_call() -> None:
    async def late(notes: Notes) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await MeteredSpeaker(Voice("a", wait=5), notes).speak(CALL, lambda _: None)

    notes = Notes()
    asyncio.run(late(notes))
    assert [(outcome, first) for _, outcome, _, first, _ in notes] == [("cancelled", None)]


def test_a_call_that_is_dropped_with_its_loop_is_cancelled() -> None:
    notes = Notes()
    speech = MeteredSpeaker(Voice("a", wait=1), notes).speak(CALL, lambda _: None)

    async def begin() -> None:
        speech.send(None)
        speech.close()

    asyncio.run(begin())
    assert [outcome for _, outcome, *_ in notes] == ["cancelled"]


def test_calls_at_the_same_time_are_told_apart() -> None:
    async def both(notes: Notes) -> None:
        quick = MeteredSpeaker(Voice("a"), notes)
        slow = MeteredSpeaker(Voice("b", wait=0.05), notes)
        await asyncio.gather(slow.speak(CALL, print), quick.speak(CALL, print))

    notes = Notes()
    asyncio.run(both(notes))
    assert [outcome for _, outcome, *_ in notes] == ["ok", "ok"]
    assert notes[0][2] < notes[1][2]


def test_a_note_that_fails_costs_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    def note(*_: Any) -> None:
        raise RuntimeError("full")

    reply = asyncio.run(MeteredSpeaker(Voice("a"), note).speak(CALL, lambda _: None))
    assert reply.text == "a"
    assert "could not be noted" in caplog.text
    with pytest.raises(ProviderTimeoutError):
        asyncio.run(
            MeteredSpeaker(Voice(end=ProviderTimeoutError("Late.")), note).speak(CALL, print)
        )
