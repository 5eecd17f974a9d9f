"""The HTTP client that all calls share, with a bound on what an answer may weigh.

The bound hangs on a response hook and not on a transport of our own: with one of those, httpx
would no longer read the proxies from the environment.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx2

from moot.models.chunks import join_chunks

EVENTS = "text/event-stream"
MAX_BODY = 16_000_000  # bytes of a whole answer; with long thoughts, the framing alone takes 7 MB
MAX_ERROR = 256_000  # bytes of an error's body, which is read whole
MAX_EVENT = 1_000_000  # bytes of an event: readers keep it until it is whole
_ENDS = {  # what ends an event, by the type of the body; a blank line, of any other
    "application/vnd.amazon.eventstream": (b"",),  # tells its length beforehand
    "application/x-ndjson": (b"\n",),
}
_BLANK_LINE = (b"\n\n", b"\r\n\r\n")
_LAST = 64  # bytes of the end of a body that are kept


@dataclass(slots=True)
class Exchange:
    """What became of a call on the wire."""

    sent: bool = False  # the whole request
    opened: list[httpx2.Response] = field(default_factory=list[httpx2.Response])
    pending: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])
    over: bool = False
    last: bytes = b""  # of the body of the answer
    read: Callable[[httpx2.AsyncByteStream], httpx2.AsyncByteStream] | None = None
    """Reads a stream of events before the library does."""

    @property
    def accepted(self) -> bool:
        """Whether the other end may have begun to work on it: it was sent, and not refused."""
        return self.sent and not (self.opened and self.opened[-1].status_code >= 400)

    @property
    def done(self) -> bool:
        """Whether the other end has said `[DONE]`, as chat completions do after the last event."""
        return b"[DONE]" in self.last.rpartition(b"data:")[2]


_exchange: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


class WireError(Exception):
    """The body cannot be an answer: it comes packed, although we asked for it plain."""


class TooMuchError(WireError):
    """The body is longer than an answer can be."""


def http_client(
    *,
    trust_env: bool = True,
    transport: httpx2.AsyncBaseTransport | None = None,
    kept: int = 100,  # connections, for calls to come
) -> httpx2.AsyncClient:
    """A client for any number of calls at once; the deadline of a call is not its business."""
    return httpx2.AsyncClient(
        trust_env=trust_env,
        transport=transport,
        timeout=httpx2.Timeout(600, connect=15),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=kept),
        headers={"Accept-Encoding": "identity"},  # a packed body may unpack to gigabytes
        event_hooks={"request": [_watch], "response": [_bound]},
    )


@asynccontextmanager
async def hanging_up(exchange: Exchange) -> AsyncGenerator[None]:
    """Close, at the end, every answer that the task opened inside; and note how far it got.

    The SDKs do so only if they are left at the right moment: Gemini's keeps a connection open
    until the garbage collector comes by if its stream is left, or cancelled, between two reads.
    """
    _exchange.set(exchange)  # for this task alone, and as long as it lives
    try:
        yield
    finally:
        exchange.over = True
        for give_up in list(exchange.pending):
            give_up()
        for response in exchange.opened:
            await response.aclose()


def current() -> Exchange:
    """The call that this task is in."""
    return _exchange.get() or Exchange()


@contextmanager
def at_the_end(give_up: Callable[[], object]) -> Generator[None]:
    """Have that done if the call ends while one is inside: what it waits for in a thread is no task
    of the call's, and would go on."""
    exchange = _exchange.get()
    if exchange is None:
        yield
        return
    exchange.pending.append(give_up)
    if exchange.over:  # the thread was late
        give_up()
    try:
        yield
    finally:
        exchange.pending.remove(give_up)


async def _watch(request: httpx2.Request) -> None:
    """Note when the request is out: what follows may be paid for."""
    exchange = _exchange.get()
    if exchange is None:
        return
    posting = False  # and not asking a proxy for a way

    async def trace(event: str, info: Mapping[str, Any]) -> None:
        nonlocal posting
        if event.endswith("send_request_body.started"):
            posting = info["request"].method == b"POST"
        elif event.endswith("send_request_body.complete") and posting:
            exchange.sent = True

    request.extensions["trace"] = trace


async def _bound(response: httpx2.Response) -> None:
    exchange = _exchange.get()
    if exchange is not None:
        exchange.opened.append(response)
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise WireError
    if isinstance(response.stream, httpx2.AsyncByteStream):
        limit = MAX_ERROR if response.status_code >= 400 else MAX_BODY
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        event = limit if response.request.method == "GET" else MAX_EVENT  # of a list, all of it
        body = _Bounded(response.stream, limit, _ENDS.get(kind, _BLANK_LINE), event, exchange)
        if exchange and exchange.read and response.status_code < 400 and kind == EVENTS:
            join_chunks(response)
            response.stream = exchange.read(body)
        else:
            response.stream = body


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends in TooMuchError once it is longer than an answer can be."""

    def __init__(
        self,
        stream: httpx2.AsyncByteStream,
        limit: int,
        ends: tuple[bytes, ...] = _BLANK_LINE,
        event: int = MAX_EVENT,
        exchange: Exchange | None = None,
    ) -> None:
        self._stream = stream
        self._limit = limit
        self._ends = ends
        self._event = event
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = event = 0
        async for chunk in self._stream:
            total += len(chunk)
            end = -1
            for one in self._ends:
                end = max(end, chunk.rfind(one))
            event = event + len(chunk) if end < 0 else len(chunk) - end
            if total > self._limit or event > self._event:
                raise TooMuchError
            if self._exchange:
                self._exchange.last = (self._exchange.last + chunk)[-_LAST:]
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
