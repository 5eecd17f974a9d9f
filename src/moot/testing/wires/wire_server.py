"""A local HTTP server that speaks the vendors' wire formats, with a fault to choose by model name.

`wire-<fault>` is a model that misbehaves; any other name answers. Nothing here knows moot.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, unquote

from moot.testing.wires import event_stream
from moot.testing.wires.dialects import (
    ANSWER,
    DIALECTS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Bedrock,
    Dialect,
    Json,
    Local,
    Ollama,
    canary,
)

PIECES = ("The motion ", "is sound. ", "I stand ", "by it.")
WORDS = ('{"claim": ', '"It ', "is ", "so, ", "I ", 'say."}')  # as text, or as JSON
THOUGHT_TOKENS = 30  # of the thoughts; Gemini counts them apart, the others among the output
THOUGHT = "Between ourselves, I doubt it. "
GIGABYTE = 1 << 30
PATHS = {
    name: f"/{name}/v1" if name in ("openai", "local", "ollama") else f"/{name}"
    for name in DIALECTS
}
ACCESS = "ya29.canary-access"  # the token that Google Cloud gives for a signed claim

__all__ = ["INPUT_TOKENS", "OUTPUT_TOKENS"]  # of every answer, beside what is here


@dataclass
class Request:
    """One request as it came in."""

    vendor: str
    path: str
    headers: dict[str, str]
    body: Json
    gone_at: float | None = None  # when the client hung up before the answer was whole

    @property
    def model(self) -> str:
        if self.vendor in ("gemini", "vertex"):
            return self.path.rpartition("/")[2].partition(":")[0]
        if self.vendor == "bedrock":
            return unquote(self.path.split("/")[-2])
        return str(self.body.get("model", ""))

    @property
    def fault(self) -> str:
        return self.model.removeprefix("wire-") if self.model.startswith("wire-") else ""

    @property
    def allowed(self) -> int:
        """The tokens that the answer may take, thoughts included."""
        if self.vendor in ("gemini", "vertex"):
            return self.body["generationConfig"]["maxOutputTokens"]
        if self.vendor == "bedrock":
            return self.body["inferenceConfig"]["maxTokens"]
        if self.vendor == "ollama":
            return self.body["options"]["num_predict"]
        if "max_completion_tokens" in self.body:
            return self.body["max_completion_tokens"]
        return self.body["max_output_tokens" if self.vendor == "openai" else "max_tokens"]


@dataclass(frozen=True)
class Answer:
    """What a model says, once it has thought; both are cut by the tokens that it may take."""

    text: str
    told: int  # tokens
    thought: int = 0
    counts: bool = True  # whether it is told how many were thought


@dataclass
class Wire:
    """The server. `async with Wire() as wire: wire.url("openai")`."""

    requests: list[Request] = field(default_factory=list[Request])
    models: list[Any] = field(default_factory=lambda: [{"id": "tiny", "meta": {"n_ctx": 4096}}])
    pause: float = 0.01  # between the pieces of a slow answer
    open: int = 0  # connections
    peak: int = 0
    answers: Callable[[Request], Answer] | None = None  # what models say that have no fault
    refuses: Callable[[Request], int | None] = lambda _: None  # with that status
    objects: Callable[[Request], str] = lambda _: ""  # refuses with these words
    objection: int = 400  # and that status
    signed: list[Json] = field(default_factory=list[Json])  # claims that asked for a token
    listed: list[Request] = field(default_factory=list[Request])  # requests for the list of models
    unlisted: int = 0  # the status in place of that list; -1: no answer
    together: int = 0  # a steady answer begins once so many connections have been open at once
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=4096)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    def url(self, vendor: str) -> str:
        assert self._server
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}{PATHS[vendor]}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.peak = max(self.peak, self.open)
        try:
            ahead = b""
            while (request := await _receive(reader, ahead)) is not None:
                ahead = await self._answer(request, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.transport.abort()

    async def _answer(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes:
        """Answer, with an eye on the client; returns what it already sent of its next request."""
        if request.path.partition("?")[0].endswith("/models"):
            await self._list(request, writer)
            return b""
        if (told := self._told(request)) is not None:
            await _send_json(writer, 200, told)
            return b""
        self.requests.append(request)
        answer = asyncio.create_task(self._speak(request, writer))
        ahead = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({answer, ahead}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() or answer.exception():
                request.gone_at = time.monotonic()
        finally:
            if not answer.done():
                answer.cancel()
            ahead.cancel()
            results = await asyncio.gather(answer, ahead, return_exceptions=True)
        if isinstance(results[0], BaseException) or results[1] == b"":
            raise ConnectionResetError
        return results[1] if isinstance(results[1], bytes) else b""

    def _told(self, request: Request) -> Json | None:
        """What is asked for besides answers and the list of models."""
        if request.path == "/ollama/api/version":
            return {"version": "0.12.6"}
        if request.path == "/ollama/api/show":
            return {"parameters": "", "model_info": {"qwen2.context_length": 32_768}}
        if request.path == "/ollama/api/tags":
            return {"models": []}
        if request.path == "/vertex/token":
            self.signed.append(request.body)
            return {"access_token": ACCESS, "expires_in": 3600, "token_type": "Bearer"}
        return None

    async def _list(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """The list of models, in the words of the vendor."""
        self.listed.append(request)
        if self.unlisted < 0:
            await asyncio.sleep(3600)
        if self.unlisted:
            await _send_json(writer, self.unlisted, {"error": self.objects(request) + canary.echo})
            return
        body: Json = {"object": "list", "data": self.models}
        if request.vendor == "ollama":
            body["data"] = [{"id": "tiny", "owned_by": "library"}]
        if request.vendor == "gemini":
            named = [{**one, "name": f"models/{one['id']}"} for one in self.models]
            body = {"models": [{k: v for k, v in one.items() if k != "id"} for one in named]}
        await _send_json(writer, 200, body)

    async def _speak(self, request: Request, writer: asyncio.StreamWriter) -> None:
        dialect = DIALECTS[request.vendor](request.model)
        fault, _, detail = request.fault.partition("-")
        if status := self.refuses(request):
            fault = str(status)
        if words := self.objects(request):
            told = {"error": {"message": f"{words} {canary.echo}"}}
            await _send_json(writer, self.objection, told)
        elif fault.isdigit():
            headers = {"after": "retry-after: 7", "ms": "retry-after-ms: 2500"}
            headers["date"] = f"retry-after: {_http_date(60)}"
            header = f"{headers.get(detail, 'x-none: 1')}\r\n{dialect.error_header(int(fault))}"
            await _send_json(writer, int(fault), dialect.error(int(fault)), header)
        elif fault == "context":
            await _send_json(writer, 400, dialect.too_long(), dialect.error_header(400))
        elif fault == "delay":  # Gemini says in the body how long to wait
            body: Json = dialect.error(429)
            info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}
            body["error"]["details"] = [info]
            await _send_json(writer, 429, body)
        else:
            await getattr(self, f"_{fault}", self._ok)(dialect, request, writer)

    async def _ok(self, dialect: Dialect, request: Request, writer: asyncio.StreamWriter) -> None:
        if self.answers:
            await self._answered(self.answers(request), dialect, request, writer)
            return
        await _stream(writer, dialect, _events(dialect, PIECES, "stop"))

    async def _answered(
        self, answer: Answer, dialect: Dialect, request: Request, writer: asyncio.StreamWriter
    ) -> None:
        """As much of an answer as its tokens allow: first come the thoughts."""
        dialect.reasoned = min(answer.thought, request.allowed)
        left = request.allowed - dialect.reasoned
        whole = answer.told <= left
        text = answer.text if whole else answer.text[: len(answer.text) * left // answer.told]
        dialect.told = dialect.reasoned + min(answer.told, left)
        thoughts = [dialect.thought(THOUGHT)] if answer.thought else []
        if not answer.counts:
            dialect.reasoned = 0
        await _stream(
            writer,
            dialect,
            [
                *dialect.before(),
                *thoughts,
                *([dialect.piece(text)] if text else []),
                *dialect.after("stop" if whole else "length"),
            ],
        )

    async def _thoughts(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Thoughts, then the answer."""
        dialect.reasoned = THOUGHT_TOKENS
        thoughts = [dialect.thought("Hm, "), dialect.thought("let me see.")]
        answer = [*map(dialect.piece, PIECES), *dialect.after("stop")]
        await _stream(writer, dialect, [*dialect.before(), *thoughts, *answer])

    async def _counting(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """After each piece, the tokens so far."""
        assert isinstance(dialect, Local)
        pieces = [
            event
            for number, text in enumerate(PIECES)
            for event in (dialect.piece(text), dialect.counted(number))
        ]
        await _stream(writer, dialect, [*dialect.before(), *pieces, *dialect.after("stop")])

    async def _odd(self, dialect: Dialect, request: Request, writer: asyncio.StreamWriter) -> None:
        """An answer whose last delta is null, or that does not say why it ended; or both."""
        assert isinstance(dialect, Local)
        manner = request.fault.partition("-")[2]
        delta: Json | None = {} if manner == "unsaid" else None
        reason = "stop" if manner == "null" else None
        *_, usage, done = dialect.after("stop")
        said = [*dialect.before(), *map(dialect.piece, PIECES)]
        await _stream(writer, dialect, [*said, dialect.chunk(delta, reason), usage, done])

    async def _aside(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Thoughts in the text itself, between tags, and then the answer."""
        words = ("\n<th", "ink>Hm, ", "let me see.</thi", "nk>\n\nThe ", *PIECES)
        await _stream(writer, dialect, _events(dialect, words, "stop"))

    async def _length(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, dialect, _events(dialect, PIECES, "length"))

    async def _silence(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """All tokens spent, no word said."""
        await _stream(writer, dialect, _events(dialect, (), "length"))

    async def _empty(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, dialect, _events(dialect, (), "stop"))

    async def _blank(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, dialect, _events(dialect, ("\n", "  "), "stop"))

    async def _refusal(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        assert not isinstance(dialect, Ollama), "its models decline in words"
        await _stream(writer, dialect, [*dialect.before(), *dialect.refusal()])

    async def _json(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, dialect, _events(dialect, (ANSWER[:10], ANSWER[10:]), "stop"))

    async def _tool(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """The answer as a tool's input."""
        assert not isinstance(dialect, Ollama), "it is given a grammar instead"
        await _stream(writer, dialect, [*dialect.before(), *dialect.tool("answer")])

    async def _none(self, *_: object) -> None:
        """No answer at all."""
        await asyncio.sleep(3600)

    async def _late(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """The stream opens, and its first token does not come."""

        async def events() -> AsyncIterator[bytes]:
            for event in dialect.before():
                yield event
            while True:
                if dialect.alive:
                    yield dialect.alive
                await asyncio.sleep(0.05)

        await _stream(writer, dialect, events())

    async def _slow(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        async def events() -> AsyncIterator[bytes]:
            for event in dialect.before():
                yield event
            for _ in range(10_000):
                yield dialect.piece("word ")
                await asyncio.sleep(self.pause)

        await _stream(writer, dialect, events())

    async def _steady(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Slow, but it comes to its end."""
        while self.peak < self.together:  # noqa: ASYNC110  counted in many places
            await asyncio.sleep(0.01)

        async def events() -> AsyncIterator[bytes]:
            for event in _events(dialect, PIECES, "stop"):
                yield event
                await asyncio.sleep(self.pause)

        await _stream(writer, dialect, events())

    async def _long(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Word by word, with a pause before each, to its end."""
        await self._words(dialect, writer, [dialect.piece(word) for word in WORDS])

    async def _musing(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Thoughts, with a pause before each, and then one word."""
        thoughts = [dialect.thought(word) for word in WORDS]
        await self._words(dialect, writer, [*thoughts, dialect.piece("yes")])

    async def _thinks(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """A pause before the first word, and none after it."""

        async def events() -> AsyncIterator[bytes]:
            await asyncio.sleep(self.pause)
            for event in _events(dialect, PIECES, "stop"):
                yield event

        await _stream(writer, dialect, events())

    async def _words(
        self, dialect: Dialect, writer: asyncio.StreamWriter, words: list[bytes]
    ) -> None:
        async def events() -> AsyncIterator[bytes]:
            for event in dialect.before():
                yield event
            for word in words:
                await asyncio.sleep(self.pause)
                yield word
            for event in dialect.after("stop"):
                yield event

        await _stream(writer, dialect, events())

    async def _stuck(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """A few words, and then no more, with the connection open."""
        await _open_stream(writer, dialect)
        for event in [*dialect.before(), *map(dialect.piece, PIECES[:2])]:
            await _chunk(writer, event)
        await asyncio.sleep(3600)

    async def _dropped(self, *_: object) -> None:
        """The request is read, and the connection is gone without an answer."""
        raise ConnectionResetError

    async def _cut(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Half of the pieces, and the connection is gone."""
        await _open_stream(writer, dialect)
        for event in [*dialect.before(), *map(dialect.piece, PIECES[:2])]:
            await _chunk(writer, event)
        await asyncio.sleep(0.05)
        raise ConnectionResetError

    async def _short(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Half of the pieces, and a proper end of the stream."""
        await _stream(writer, dialect, [*dialect.before(), *map(dialect.piece, PIECES[:2])])

    async def _fails(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Half of the pieces, and an error in the stream."""
        pieces = map(dialect.piece, PIECES[:2])
        await _stream(writer, dialect, [*dialect.before(), *pieces, dialect.failure()])

    async def _claims(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """An answer with counts that no counter shows."""
        dialect.told = int("9" * 30)
        await _stream(writer, dialect, _events(dialect, PIECES, "stop"))

    async def _tail(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """The whole answer, and then the connection stays open for ever."""
        await _open_stream(writer, dialect)
        for event in _events(dialect, PIECES, "stop"):
            if b"[DONE]" not in event:
                await _chunk(writer, event)
        await asyncio.sleep(3600)

    async def _reset(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """The whole answer, and then the connection breaks."""
        await _open_stream(writer, dialect)
        for event in _events(dialect, PIECES, "stop"):
            if b"[DONE]" not in event:
                await _chunk(writer, event)
        await asyncio.sleep(0.05)
        raise ConnectionResetError

    async def _garbage(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, dialect, dialect.garbage)

    async def _shape(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """JSON, of no shape that anybody knows."""
        await _stream(writer, dialect, [dialect.shapeless])

    async def _html(self, _: Dialect, __: Request, writer: asyncio.StreamWriter) -> None:
        body = b"<html><body>\n" + canary.echo.encode() + b"\n</body></html>\n"
        await _send(writer, 200, "text/html", body)

    async def _huge(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """One event without an end."""
        ahead = event_stream.claim(1 << 24) if isinstance(dialect, Bedrock) else b""
        await _send_gigabyte(writer, 200, b"x" * 65_536, dialect.kind, ahead)

    async def _lines(self, _: Dialect, __: Request, writer: asyncio.StreamWriter) -> None:
        await _send_gigabyte(writer, 200, (b":" + b"x" * 1022 + b"\n") * 64)

    async def _heavy(self, _: Dialect, __: Request, writer: asyncio.StreamWriter) -> None:
        await _send_gigabyte(writer, 500, b"x" * 65_536)

    async def _packed(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _send(writer, 200, "text/event-stream\r\nContent-Encoding: gzip", b"\x1f\x8b\x08")

    async def _endless(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        async def events() -> AsyncIterator[bytes]:
            for event in dialect.before():
                yield event
            while True:
                yield dialect.piece("and so on " * 20)

        await _stream(writer, dialect, events())


def _events(dialect: Dialect, pieces: tuple[str, ...], reason: str) -> list[bytes]:
    return [*dialect.before(), *map(dialect.piece, pieces), *dialect.after(reason)]


async def _receive(reader: asyncio.StreamReader, ahead: bytes) -> Request | None:
    try:
        head = ahead + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    path = first.split()[1].partition("?")[0]
    vendor = path.split("/")[1]
    if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return Request(vendor, path, headers, {"form": parse_qs(body.decode())})
    return Request(vendor, path, headers, json.loads(body) if body else {})


async def _send(writer: asyncio.StreamWriter, status: int, kind: str, body: bytes) -> None:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def _send_json(
    writer: asyncio.StreamWriter, status: int, body: Json, header: str = "x-nothing: 1"
) -> None:
    await _send(writer, status, f"application/json\r\n{header}", json.dumps(body).encode())


async def _send_gigabyte(
    writer: asyncio.StreamWriter,
    status: int,
    block: bytes,
    kind: str = "text/event-stream",
    ahead: bytes = b"",
) -> None:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n"
    writer.write(f"{head}Content-Length: {GIGABYTE}\r\n\r\n".encode() + ahead)
    for _ in range(GIGABYTE // len(block)):
        writer.write(block)
        await writer.drain()


async def _open_stream(writer: asyncio.StreamWriter, dialect: Dialect) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {dialect.kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
    writer.write(head.encode())
    await writer.drain()


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


async def _stream(
    writer: asyncio.StreamWriter, dialect: Dialect, events: Iterable[bytes] | AsyncIterator[bytes]
) -> None:
    await _open_stream(writer, dialect)
    if isinstance(events, AsyncIterator):
        async for event in events:
            await _chunk(writer, event)
    else:
        for event in events:
            await _chunk(writer, event)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _http_date(seconds: float) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + seconds))
