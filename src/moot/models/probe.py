"""Two small calls to a model, to see how fast it answers, and whether structured answers, thinking
and caching work."""

import asyncio
import json
import math
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from time import perf_counter

from moot.core.debate import NO_USAGE, Cursor, Debate, Limits, Participant, Usage
from moot.core.prompts import Message
from moot.core.schedule import Step
from moot.errors import (
    ProviderEmptyError,
    ProviderError,
    ProviderRejectedError,
    ProviderTimeoutError,
)
from moot.ports.model_call import Call, Reply, Speaker
from moot.wire.codec import bare_rules

SECONDS = 25.0  # of silence in a call; thinking has its own beside them
MOST_SECONDS = 150.0  # for all calls to one model
_TOKENS = 300
_RULE = (
    "You are asked whether a model can be reached. Nothing depends on the answer, and nobody is "
    "offended by it. Answer in one short sentence, in plain English, without any greeting. "
)
_RULES = _RULE * 32  # vendors cache from a thousand tokens on
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "description": "One short sentence."}},
    "required": ["answer"],
}
_AFTER = (", then restart the speaker", " Restart the speaker to try again.")


@dataclass(frozen=True, slots=True)
class Probe:
    """What came of the calls. None: it cannot be told, or the model is not one for it."""

    model: str
    wrong: str = ""  # why it does not answer, in a sentence
    first_word: float | None = None  # seconds
    tokens_per_second: float | None = None
    structured: bool | None = None
    thinking: bool | None = None
    caching: bool | None = None
    usage: Usage = NO_USAGE  # of all calls


async def probe(speaker: Speaker, model: str) -> Probe:
    """Call a model, twice at the most. What fails is told, never raised."""
    found = Probe(model)
    try:
        async with asyncio.timeout(MOST_SECONDS):
            async for seen in _calls(speaker, model):
                found = seen
    except TimeoutError:
        late = f"It did not answer within {MOST_SECONDS:g} seconds."
        return replace(found, wrong=found.wrong or late)
    return found


async def _calls(speaker: Speaker, model: str) -> AsyncGenerator[Probe]:
    """What is known after each call."""
    card = await asyncio.to_thread(speaker.card, model)
    found = Probe(model)
    asked = replace(_call(model), schema=_SCHEMA, effort="low" if card.least else None)
    try:
        first, found = await _timed(speaker, asked, found)
    except ProviderError as error:
        yield _failed(found, error)
        if isinstance(error, ProviderRejectedError | ProviderEmptyError):  # for its shape, perhaps
            yield await _plain(speaker, model, _failed(found, error))
        return
    thought = first.usage.thinking_tokens > 0 if card.least else None
    found = replace(found, structured=_is_shaped(first.text), thinking=thought)
    yield found
    try:
        again = await speaker.speak(asked, lambda _: None)
    except ProviderError as error:  # that it answers is known
        yield replace(_failed(found, error), wrong="")
        return
    used = found.usage + again.usage.with_calls(1)
    yield replace(found, caching=first.cached + again.cached > 0, usage=used)


async def _plain(speaker: Speaker, model: str, found: Probe) -> Probe:
    """Whether a model answers that gave no structured answer."""
    try:
        _, found = await _timed(speaker, _call(model), found)
    except ProviderError as error:
        return _failed(found, error)
    return replace(found, structured=False, wrong="")


async def _timed(speaker: Speaker, call: Call, found: Probe) -> tuple[Reply, Probe]:
    """The answer, and how fast it came. A structured one is not heard piece by piece, but each
    piece renews the time of its call."""
    began, words, waits = perf_counter(), list[float](), [False]

    def hear(seconds: float) -> None:
        if not waits[0] and not math.isinf(seconds):
            words.append(perf_counter())
        waits[0] = math.isinf(seconds)

    reply = await speaker.speak(replace(call, allow=hear), lambda _: None)
    ended = perf_counter()
    first = words[0] if words else ended
    took = ended - first
    speed = reply.usage.output_tokens / took if took > 0 and reply.usage.output_tokens else None
    used = found.usage + reply.usage.with_calls(1)
    return reply, replace(found, first_word=first - began, tokens_per_second=speed, usage=used)


def _call(model: str) -> Call:
    seat = Participant("probe", "Probe", model=model)
    scene = Debate(
        id="doctor", motion="", rules=bare_rules("probe"), participants=(seat,), host=None,
        options={}, limits=Limits(1), on_failure="pause", status="running", cursor=Cursor(),
        created_at="", updated_at="",
    )  # fmt: skip
    messages = (Message("system", _RULES), Message("user", "Can you hear me?"))
    step = Step(1, "probe", seat.id, "speech", None, "")
    return Call(model, messages, _TOKENS, SECONDS, scene, step, ())


def _is_shaped(text: str) -> bool:
    try:
        return isinstance(json.loads(text)["answer"], str)
    except (ValueError, LookupError, TypeError):
        return False


def _failed(found: Probe, error: ProviderError) -> Probe:
    used = Usage(
        error.input_tokens, error.output_tokens, error.cost_usd, 1, error.estimated,
        error.thinking_tokens,
    )  # fmt: skip
    return replace(found, usage=found.usage + used, wrong=_sentence(error))


def _sentence(error: ProviderError) -> str:
    """What is wrong, without what to do in a debate."""
    words = error.message
    if isinstance(error, ProviderTimeoutError):
        words = words.partition(". ")[0] + "."
    for after in _AFTER:
        words = words.replace(after, "")
    return words
