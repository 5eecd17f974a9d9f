"""One call: stream, time, usage, answer.

The call is read in a task of its own and timed from outside, so that a peer that hangs anywhere,
even while its connection is closed, delays nobody beyond its time.
"""

import asyncio
import logging
import math
from dataclasses import dataclass, field
from typing import Any

from httpx2 import AsyncByteStream
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, StreamedResponse

from moot.core.debate import Usage
from moot.core.limits import thinking
from moot.core.prompts import Message, estimate, size
from moot.models import failures
from moot.models.asides import Aside
from moot.models.connection import Exchange, hanging_up
from moot.models.decode import NOTHING, WIRES, Counts, Joined, Wire
from moot.models.failures import Failures, interrupted
from moot.models.payload import Thinking, in_words, prompt, settings, shape, takes_system, way
from moot.models.providers import Part, Place, Vendor, then
from moot.ports.model_call import Call, ModelCard, Reply, Say

_CLOSING_SECONDS = 0.2  # for a cancelled call to let go of its connection
_TAIL_SECONDS = 1.0  # for a peer to hang up after its last word
_MAX_COUNT = 10**9  # tokens that a vendor may claim
_log = logging.getLogger(__name__)
_left_behind: set[asyncio.Task[None]] = set()  # calls that did not let go in time


class _LateError(Exception):
    """Its time is up."""


@dataclass(slots=True)
class _Heard:
    """What has come so far."""

    call: Call
    say: Say
    alive: float  # when the last word came, thoughts included
    silence: float  # the longest that may follow
    whole: float  # seconds for all of it
    exchange: Exchange = field(default_factory=Exchange)
    endless: bool = False  # it was cut because a whole turn takes no longer
    thoughts: int = 0  # characters that were thought
    unseen: int = 0  # those, and the ones of a tool's input
    pieces: list[str] = field(default_factory=list[str])
    length: int = 0
    aside: Aside = field(default_factory=Aside)  # thoughts within the text
    over: bool = False  # more text came than was asked for, and we hung up
    told: Counts = NOTHING  # all that came, with thoughts within the text counted as text
    ahead: Counts = NOTHING  # what was heard that the library has yet to tell
    joined: Joined | None = None
    stream: StreamedResponse | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def ended(self) -> str | None:
        """Why the model stopped, in the vendor's words or the library's; None while it has not."""
        if self.stream is None:
            return None
        details = self.stream.provider_details or {}
        return details.get("finish_reason") or self.stream.finish_reason

    def counts(self) -> Counts:
        return self.told

    def hear_ahead(self, piece: str, thoughts: int, unseen: int) -> None:
        """What a stream brought, before the library tells it."""
        text, thought, hidden = self.ahead
        self.ahead = Counts(text + len(piece), thought + thoughts, hidden + unseen)
        self._hear(piece, thoughts, unseen)

    def hear(self, piece: str, thoughts: int, unseen: int) -> None:
        """What the library tells, part of which may have been heard."""
        ahead = self.ahead
        if any(ahead):
            known = Counts(*map(min, ahead, (len(piece), thoughts, unseen)))
            self.ahead = Counts(*(all_ - one for all_, one in zip(ahead, known, strict=True)))
            piece = piece[known.text :]
            thoughts -= known.thoughts
            unseen -= known.unseen
        if piece or unseen:
            self._hear(piece, thoughts, unseen)

    def end(self) -> None:
        """Nothing more comes."""
        if rest := self.aside.rest():
            self._keep(rest)

    def _hear(self, piece: str, thoughts: int, unseen: int) -> None:
        if self.over:
            return
        text, thought, hidden = self.told
        self.told = Counts(text + len(piece), thought + thoughts, hidden + unseen)
        call = self.call
        if piece:
            piece, aside = self.aside.hear(piece)
            thoughts, unseen = thoughts + aside, unseen + aside
        if piece:
            self.silence = call.seconds
        self.alive = asyncio.get_running_loop().time()
        call.allow(self.silence)
        self.thoughts += thoughts
        self.unseen += unseen
        if piece:
            self.length += len(piece)
            surplus = self.length - call.max_tokens * 12 - 20_000
            self.over = surplus > 0
            self._keep(piece[:-surplus] if self.over else piece)

    def _keep(self, piece: str) -> None:
        self.pieces.append(piece)
        if self.call.schema is None:  # pieces of JSON are not for people
            self.say(piece)


@dataclass(frozen=True, slots=True)
class Line:
    """A model at the other end, and what is known of it."""

    model: Model[Any]
    vendor: Vendor
    name: str
    card: ModelCard
    place: Place | None = None
    without: frozenset[Part] = frozenset()  # what it does not take


async def speak(line: Line, call: Call, say: Say, since: float) -> Reply:
    """Speak one call, whose time runs `since` then, by the running loop. Raises ProviderError only.

    It may be silent for `call.seconds` at a time, and take `call.whole` seconds in all; a model
    that thinks has more of both, before its first word.
    """
    budget = thinking(call.effort, line.card.least, line.card.window)
    silence, whole = call.seconds + budget.seconds, call.whole + budget.seconds
    heard = _Heard(call, say, since, silence, whole)
    if wire := WIRES.get(line.vendor.api):
        heard.exchange.read = lambda stream: _join(stream, wire, heard)
    if budget.seconds:
        call.allow(math.inf)
        call.allow(heard.silence)
    reader = asyncio.create_task(_read(line, call, heard, budget))
    try:
        await _follow(reader, heard, since + heard.whole)
    finally:
        await _let_go(reader)
        if heard.joined:
            heard.joined.hear()
    return _reply(line, call, heard, _outcome(reader, heard))


async def _read(line: Line, call: Call, heard: _Heard, budget: Thinking) -> None:
    """Read the answer to its end, or until it is longer than it may be."""
    messages = call.messages
    if call.schema and way(line.model, line.vendor, call, line.without) == "words":
        messages = (*messages, Message("user", in_words(call.schema)))
    asked = model_request_stream(
        line.model,
        prompt(messages, inline=takes_system(line.model, line.vendor)),
        model_settings=settings(line.vendor, call, budget, line.without),
        model_request_parameters=shape(line.model, line.vendor, call, line.without),
        instrument=False,
    )
    async with hanging_up(heard.exchange), asked as heard.stream:
        async for event in heard.stream:
            heard.hear(*_read_event(event))
            if heard.over:
                return
    heard.end()


def _join(stream: AsyncByteStream, wire: Wire, heard: _Heard) -> Joined:
    heard.joined = Joined(stream, wire, heard)
    return heard.joined


def _read_event(event: ModelResponseStreamEvent) -> tuple[str, int, int]:
    """The text in an event that is meant to be seen; how many characters are thoughts; and how many
    are not to be seen: thoughts, their signature, or a tool's input."""
    part: object = None
    if isinstance(event, PartStartEvent):
        part = event.part
    elif isinstance(event, PartDeltaEvent):
        part = event.delta
    match part:
        case TextPart(content=text) | TextPartDelta(content_delta=text):
            return text, 0, 0
        case ThinkingPart(content=thought, signature=signature):
            return "", len(thought), len(thought) + len(signature or "")
        case ThinkingPartDelta(content_delta=thought, signature_delta=signature):
            return "", len(thought or ""), len(thought or "") + len(signature or "")
        case ToolCallPart():
            return "", 0, len(part.args_as_json_str())
        case ToolCallPartDelta(args_delta=str(args)):
            return "", 0, len(args)
        case _:
            return "", 0, 0


async def _follow(reader: asyncio.Task[None], heard: _Heard, deadline: float) -> None:
    """Wait for the end of the answer, of the time, or of the patience with a peer that is silent,
    or that said its last word and does not hang up."""
    loop = asyncio.get_running_loop()
    length = -1  # of the whole answer, once it seems to be there
    while not reader.done():
        now = loop.time()
        until = min(heard.alive + heard.silence, deadline)
        if now >= until:
            heard.endless = until == deadline and bool(heard.length or heard.unseen)
            return
        left = until - now
        await asyncio.wait((reader,), timeout=min(left, _TAIL_SECONDS))
        if heard.ended is not None:
            if length == heard.length:
                return
            length = heard.length


async def _let_go(reader: asyncio.Task[None]) -> None:
    """End the call's task and its connection; go on without it if that takes long."""
    if not reader.done():
        reader.cancel()
        _left_behind.add(reader)
        reader.add_done_callback(_forget)
        await asyncio.wait((reader,), timeout=_CLOSING_SECONDS)


def _forget(reader: asyncio.Task[None]) -> None:
    _left_behind.discard(reader)
    if not reader.cancelled():
        reader.exception()  # seen, so that asyncio does not report it


def _outcome(reader: asyncio.Task[None], heard: _Heard) -> BaseException | None:
    """What kept the answer from being whole. A fault after the last word keeps it from nothing."""
    if heard.over:
        return None
    if not reader.done() or reader.cancelled():
        return None if heard.ended is not None else _LateError()
    error = reader.exception()
    return None if error and heard.ended is not None and interrupted(error) else error


def _reply(line: Line, call: Call, heard: _Heard, error: BaseException | None) -> Reply:
    """The answer, or the error that says why there is none."""
    response = _response(heard.stream)
    failed = error is not None or heard.ended is None
    usage = _usage(line, call, heard, response, failed=failed)
    failed_as = Failures(line.vendor, line.name, usage, then(line.place, call.debate.id))
    if isinstance(error, _LateError):
        if heard.endless:
            raise failed_as.error(failures.ENDLESS, seconds=heard.whole)
        raise failed_as.error(failures.SILENT, seconds=heard.silence)
    if error is not None:
        _log.debug("%s: %s", line.card.model, type(error).__name__)
        raise failed_as.explain(error)
    if heard.over:
        return Reply(heard.text, line.card.model, usage, cut=True)
    if response is None or (failed and not response.provider_response_id and not heard.pieces):
        raise failed_as.error(failures.UNREADABLE)  # it ended, and nothing in it was known
    if failed or response.finish_reason == "error":
        raise failed_as.error(failures.CUT)
    if response.finish_reason == "content_filter":
        raise failed_as.error(failures.REFUSED)
    cut = response.finish_reason == "length"
    text = heard.text
    if call.schema is not None:
        tools = (part for part in response.parts if isinstance(part, ToolCallPart))
        text = next((part.args_as_json_str() for part in tools), text)
    if text.strip():
        kept = response.usage.cache_read_tokens, response.usage.cache_write_tokens
        return Reply(text, line.card.model, usage, cut=cut, cached=sum(map(_count, kept)))
    if heard.ended == "model_context_window_exceeded":
        raise failed_as.error(failures.TOO_LONG)
    raise failed_as.error(failures.UNSAID if cut else failures.EMPTY)


def _response(stream: StreamedResponse | None) -> ModelResponse | None:
    """What the library made of the stream, if it could make anything of it."""
    try:
        return stream.get() if stream else None
    except Exception:  # whatever was on the wire, it must not escape as a bug of ours
        return None


def _usage(
    line: Line, call: Call, heard: _Heard, response: ModelResponse | None, *, failed: bool
) -> Usage:
    """What the call used: as metered, or estimated if the meter was not read to its end. A call
    that never got through, or was refused, used nothing."""
    asked = _count(response.usage.input_tokens) if response else 0
    told = _count(response.usage.output_tokens) if response else 0
    thought = _thought(heard, response, told)
    if failed and not heard.exchange.accepted and not heard.pieces:
        return Usage(asked, told, _price(line.card, asked, told), 1, thinking_tokens=thought)
    estimated = failed or heard.over or not asked or (not told and bool(heard.pieces))
    if not asked:
        asked = size(call.messages)
    if estimated:
        said = estimate(heard.text) if heard.pieces else 0
        told = max(told, said + heard.unseen // 3)
        thought = _thought(heard, response, told)
    cost = None if estimated or response is None else _cost(line, response)
    if cost is None:
        cost = _price(line.card, asked, told)
    return Usage(asked, told, cost, 1, estimated, thought)


def _thought(heard: _Heard, response: ModelResponse | None, told: int) -> int:
    """How many of the tokens were thought and not said: as the vendor counts them, else by their
    share of the characters that came."""
    counted = 0
    if response:
        counts = response.usage.details
        counted = _count(response.usage.output_reasoning_tokens) or max(
            _count(counts.get("reasoning_tokens")), _count(counts.get("thoughts_tokens"))
        )
    if not counted and heard.thoughts:
        counted = told * heard.thoughts // (heard.length + heard.unseen)
    return min(counted, told)


def _cost(line: Line, response: ModelResponse) -> float | None:
    """What the price list says of a metered call, its cached parts included."""
    if not line.vendor.prices:  # free, or the card says what the user pays
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, TypeError, AssertionError, ArithmeticError):
        return None


def _price(card: ModelCard, asked: int, told: int) -> float:
    return asked * (card.input_price or 0.0) + told * (card.output_price or 0.0)


def _count(tokens: object) -> int:
    """A count that a database can hold, whatever the wire claimed."""
    return min(max(tokens, 0), _MAX_COUNT) if isinstance(tokens, int) else 0
