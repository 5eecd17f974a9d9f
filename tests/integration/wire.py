"""A local HTTP server that speaks the vendors' wire formats, with a fault to choose by model name.

`wire-<fault>` is a model that misbehaves; any other name answers. Nothing here knows moot.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

PIECES = ("The motion ", "is sound. ", "I stand ", "by it.")
WORDS = ('{"claim": ', '"It ', "is ", "so, ", "I ", 'say."}')  # as text, or as JSON
INPUT_TOKENS, OUTPUT_TOKENS = 123, 45
THOUGHT_TOKENS = 30  # of the thoughts; Gemini counts them apart, the others among the output
THOUGHT = "Between ourselves, I doubt it. "
GIGABYTE = 1 << 30
PATHS = {"openai": "/openai/v1", "claude": "/claude", "gemini": "/gemini", "local": "/local/v1"}

Json = dict[str, Any]


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
        if self.vendor == "gemini":
            return self.path.rpartition("/")[2].partition(":")[0]
        return str(self.body.get("model", ""))

    @property
    def fault(self) -> str:
        return self.model.removeprefix("wire-") if self.model.startswith("wire-") else ""

    @property
    def allowed(self) -> int:
        """The tokens that the answer may take, thoughts included."""
        if self.vendor == "gemini":
            return self.body["generationConfig"]["maxOutputTokens"]
        return self.body["max_output_tokens" if self.vendor == "openai" else "max_tokens"]


@dataclass(frozen=True)
class Answer:
    """What a model says, once it has thought; both are cut by the tokens that it may take."""

    text: str
    told: int  # tokens
    thought: int = 0
    counts: bool = True  # whether it is told how many were thought


# How each vendor words an answer: a list of (event, data) before, one per piece, and after.


def _sse(data: Json | str, event: str | None = None) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


class Counted:
    """What a dialect tells of the tokens that were used, thoughts included."""

    told = OUTPUT_TOKENS
    reasoned = 0


class OpenAI(Counted):
    """The Responses API."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.number = 0

    def event(self, kind: str, **data: Any) -> bytes:
        self.number += 1
        return _sse({"type": kind, "sequence_number": self.number, **data}, kind)

    def response(self, status: str, **more: Any) -> Json:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_790_000_000,
            "model": self.model,
            "status": status,
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            **more,
        }

    def before(self) -> Iterator[bytes]:
        yield self.event("response.created", response=self.response("in_progress"))
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress"}
        yield self.event("response.output_item.added", output_index=0, item=item | {"content": []})

    def piece(self, text: str) -> bytes:
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        return self.event("response.output_text.delta", delta=text, logprobs=[], **place)

    def thought(self, text: str) -> bytes:
        place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
        return self.event("response.reasoning_summary_text.delta", delta=text, **place)

    def refusal(self) -> Iterator[bytes]:
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        yield self.event("response.refusal.delta", delta="I can't help with that.", **place)
        yield from self.after("stop")

    def after(self, reason: str) -> Iterator[bytes]:
        usage = {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self.told,
            "output_tokens_details": {"reasoning_tokens": self.reasoned},
            "total_tokens": INPUT_TOKENS + self.told,
        }
        if reason == "length":
            details = {"reason": "max_output_tokens"}
            response = self.response("incomplete", incomplete_details=details, usage=usage)
            yield self.event("response.incomplete", response=response)
        else:
            yield self.event("response.completed", response=self.response("completed", usage=usage))

    def failure(self) -> bytes:
        return self.event("error", code="server_error", message=CANARY_ECHO, param=None)

    @staticmethod
    def error(status: int) -> Json:
        code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
        return {"error": {"message": CANARY_ECHO, "type": "x", "code": code.get(status)}}

    @staticmethod
    def too_long() -> Json:
        message = "Your input exceeds the context window of this model."
        code = "context_length_exceeded"
        return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


class Claude(Counted):
    """The Messages API."""

    def __init__(self, model: str) -> None:
        self.model = model

    def event(self, kind: str, **data: Any) -> bytes:
        return _sse({"type": kind, **data}, kind)

    def before(self) -> Iterator[bytes]:
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": 1},
        }
        yield self.event("message_start", message=message)
        block = {"type": "text", "text": ""}
        yield self.event("content_block_start", index=0, content_block=block)
        yield self.event("ping")

    def piece(self, text: str) -> bytes:
        delta = {"type": "text_delta", "text": text}
        return self.event("content_block_delta", index=0, delta=delta)

    def thought(self, text: str) -> bytes:
        delta = {"type": "thinking_delta", "thinking": text}
        return self.event("content_block_delta", index=7, delta=delta)

    def refusal(self) -> Iterator[bytes]:
        yield from self.after("refusal")

    def after(self, reason: str) -> Iterator[bytes]:
        words = {"stop": "end_turn", "length": "max_tokens"}
        yield self.event("content_block_stop", index=0)
        delta = {"stop_reason": words.get(reason, reason), "stop_sequence": None}
        usage: Json = {"output_tokens": self.told}
        if self.reasoned:
            usage["output_tokens_details"] = {"thinking_tokens": self.reasoned}
        yield self.event("message_delta", delta=delta, usage=usage)
        yield self.event("message_stop")

    def failure(self) -> bytes:
        return self.event("error", error=self.error(529)["error"])

    @staticmethod
    def error(status: int) -> Json:
        kinds = {
            401: "authentication_error",
            403: "permission_error",
            404: "not_found_error",
            429: "rate_limit_error",
            529: "overloaded_error",
        }
        error = {"type": kinds.get(status, "api_error"), "message": CANARY_ECHO}
        return {"type": "error", "error": error}

    @staticmethod
    def too_long() -> Json:
        message = "prompt is too long: 210000 tokens > 200000 maximum"
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


class Gemini(Counted):
    """streamGenerateContent with alt=sse."""

    def __init__(self, model: str) -> None:
        self.model = model

    def chunk(self, text: str | None, reason: str | None = None, thought: bool = False) -> bytes:
        parts: list[Json] = [] if text is None else [{"text": text}]
        if thought:
            parts[0]["thought"] = True
        candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
        chunk: Json = {"candidates": [candidate], "modelVersion": self.model, "responseId": "r1"}
        if reason:
            candidate["finishReason"] = reason
            chunk["usageMetadata"] = {
                "promptTokenCount": INPUT_TOKENS,
                "candidatesTokenCount": self.told - self.reasoned,
                "thoughtsTokenCount": self.reasoned,
                "totalTokenCount": INPUT_TOKENS + self.told,
            }
        return _sse(chunk)

    def before(self) -> Iterator[bytes]:
        return iter(())

    def piece(self, text: str) -> bytes:
        return self.chunk(text)

    def thought(self, text: str) -> bytes:
        return self.chunk(text, thought=True)

    def refusal(self) -> Iterator[bytes]:
        yield self.chunk(None, "SAFETY")

    def after(self, reason: str) -> Iterator[bytes]:
        yield self.chunk(None, {"stop": "STOP", "length": "MAX_TOKENS"}[reason])

    def failure(self) -> bytes:
        return _sse(self.error(503))

    @staticmethod
    def error(status: int) -> Json:
        words = {
            401: "UNAUTHENTICATED",
            403: "PERMISSION_DENIED",
            404: "NOT_FOUND",
            429: "RESOURCE_EXHAUSTED",
            500: "INTERNAL",
            503: "UNAVAILABLE",
        }
        word = words.get(status, "UNKNOWN")
        return {"error": {"code": status, "message": CANARY_ECHO, "status": word}}

    @staticmethod
    def too_long() -> Json:
        message = "The input token count (2000000) exceeds the maximum number of tokens allowed."
        return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}


class Local(Counted):
    """Chat completions, as llama.cpp and Ollama have them."""

    def __init__(self, model: str) -> None:
        self.model = model

    def chunk(self, delta: Json, reason: str | None = None) -> bytes:
        return _sse(
            {
                "id": "chat_1",
                "object": "chat.completion.chunk",
                "created": 1_790_000_000,
                "model": self.model,
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
            }
        )

    def before(self) -> Iterator[bytes]:
        yield self.chunk({"role": "assistant", "content": ""})

    def piece(self, text: str) -> bytes:
        return self.chunk({"content": text})

    def thought(self, text: str) -> bytes:
        return self.chunk({"reasoning_content": text})

    def refusal(self) -> Iterator[bytes]:
        yield self.chunk({"refusal": "I can't help with that."})
        yield self.chunk({}, "stop")
        yield _sse("[DONE]")

    def after(self, reason: str) -> Iterator[bytes]:
        yield self.chunk({}, reason)
        usage: Json = {
            "prompt_tokens": INPUT_TOKENS,
            "completion_tokens": self.told,
            "total_tokens": INPUT_TOKENS + self.told,
        }
        if self.reasoned:
            usage["completion_tokens_details"] = {"reasoning_tokens": self.reasoned}
        yield _sse(
            {
                "id": "chat_1",
                "object": "chat.completion.chunk",
                "created": 1_790_000_000,
                "model": self.model,
                "choices": [],
                "usage": usage,
            }
        )
        yield _sse("[DONE]")

    def failure(self) -> bytes:
        return _sse(self.error(500))

    @staticmethod
    def error(status: int) -> Json:
        return {"error": {"code": status, "message": CANARY_ECHO, "type": "x"}}

    @staticmethod
    def too_long() -> Json:
        message = "the request exceeds the available context size, try increasing it"
        return {"error": {"code": 400, "message": message, "type": "exceed_context_size_error"}}


Dialect = OpenAI | Claude | Gemini | Local
DIALECTS: dict[str, type[Dialect]] = {
    "openai": OpenAI,
    "claude": Claude,
    "gemini": Gemini,
    "local": Local,
}
CANARY_ECHO = "the key sk-canary-echo was seen\nTraceback (most recent call last):"
"""What the server says in its errors: it must reach nobody."""


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
        if request.path.endswith("/models"):
            await _send_json(writer, 200, {"object": "list", "data": self.models})
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

    async def _speak(self, request: Request, writer: asyncio.StreamWriter) -> None:
        dialect = DIALECTS[request.vendor](request.model)
        fault, _, detail = request.fault.partition("-")
        if status := self.refuses(request):
            fault = str(status)
        if fault.isdigit():
            headers = {"after": "retry-after: 7", "ms": "retry-after-ms: 2500"}
            headers["date"] = f"retry-after: {_http_date(60)}"
            header = headers.get(detail, "x-nothing: 1")
            await _send_json(writer, int(fault), dialect.error(int(fault)), header)
        elif fault == "context":
            await _send_json(writer, 400, dialect.too_long())
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
        await _stream(writer, _events(dialect, PIECES, "stop"))

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
        await _stream(writer, [*dialect.before(), *thoughts, *answer])

    async def _length(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, _events(dialect, PIECES, "length"))

    async def _silence(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """All tokens spent, no word said."""
        await _stream(writer, _events(dialect, (), "length"))

    async def _empty(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, _events(dialect, (), "stop"))

    async def _blank(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, _events(dialect, ("\n", "  "), "stop"))

    async def _refusal(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, [*dialect.before(), *dialect.refusal()])

    async def _json(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, _events(dialect, ('{"claim": ', '"yes"}'), "stop"))

    async def _none(self, *_: object) -> None:
        """No answer at all."""
        await asyncio.sleep(3600)

    async def _late(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """The stream opens, and its first token does not come."""

        async def events() -> AsyncIterator[bytes]:
            for event in dialect.before():
                yield event
            while True:
                if not isinstance(dialect, Gemini):  # whose SDK knows no comments
                    yield b": keep-alive\n\n"
                await asyncio.sleep(0.05)

        await _stream(writer, events())

    async def _slow(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        async def events() -> AsyncIterator[bytes]:
            for event in dialect.before():
                yield event
            for _ in range(10_000):
                yield dialect.piece("word ")
                await asyncio.sleep(self.pause)

        await _stream(writer, events())

    async def _steady(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Slow, but it comes to its end."""
        while self.peak < self.together:
            await asyncio.sleep(0.01)

        async def events() -> AsyncIterator[bytes]:
            for event in _events(dialect, PIECES, "stop"):
                yield event
                await asyncio.sleep(self.pause)

        await _stream(writer, events())

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

        await _stream(writer, events())

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

        await _stream(writer, events())

    async def _stuck(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """A few words, and then no more, with the connection open."""
        await _open_stream(writer)
        for event in [*dialect.before(), *map(dialect.piece, PIECES[:2])]:
            await _chunk(writer, event)
        await asyncio.sleep(3600)

    async def _dropped(self, *_: object) -> None:
        """The request is read, and the connection is gone without an answer."""
        raise ConnectionResetError

    async def _cut(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Half of the pieces, and the connection is gone."""
        await _open_stream(writer)
        for event in [*dialect.before(), *map(dialect.piece, PIECES[:2])]:
            await _chunk(writer, event)
        await asyncio.sleep(0.05)
        raise ConnectionResetError

    async def _short(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Half of the pieces, and a proper end of the stream."""
        await _stream(writer, [*dialect.before(), *map(dialect.piece, PIECES[:2])])

    async def _fails(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """Half of the pieces, and an error in the stream."""
        pieces = map(dialect.piece, PIECES[:2])
        await _stream(writer, [*dialect.before(), *pieces, dialect.failure()])

    async def _claims(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """An answer with counts that no counter shows."""
        events = _events(dialect, PIECES, "stop")
        counts = f'tokens": {OUTPUT_TOKENS}'.encode(), f'TokenCount": {OUTPUT_TOKENS}'.encode()
        for count in counts:
            huge = count.replace(str(OUTPUT_TOKENS).encode(), b"9" * 30)
            events = [event.replace(count, huge) for event in events]
        await _stream(writer, events)

    async def _tail(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """The whole answer, and then the connection stays open for ever."""
        await _open_stream(writer)
        for event in _events(dialect, PIECES, "stop"):
            if b"[DONE]" not in event:
                await _chunk(writer, event)
        await asyncio.sleep(3600)

    async def _reset(self, dialect: Dialect, _: Request, writer: asyncio.StreamWriter) -> None:
        """The whole answer, and then the connection breaks."""
        await _open_stream(writer)
        for event in _events(dialect, PIECES, "stop"):
            if b"[DONE]" not in event:
                await _chunk(writer, event)
        await asyncio.sleep(0.05)
        raise ConnectionResetError

    async def _garbage(self, _: Dialect, __: Request, writer: asyncio.StreamWriter) -> None:
        await _stream(writer, [_sse("{not json", "message_start"), _sse("at all", "x")])

    async def _shape(self, _: Dialect, __: Request, writer: asyncio.StreamWriter) -> None:
        """JSON, of no shape that anybody knows."""
        await _stream(writer, [_sse('{"type": 5, "choices": 7, "candidates": 9}', "message_start")])

    async def _html(self, _: Dialect, __: Request, writer: asyncio.StreamWriter) -> None:
        body = b"<html><body>\n" + CANARY_ECHO.encode() + b"\n</body></html>\n"
        await _send(writer, 200, "text/html", body)

    async def _huge(self, _: Dialect, __: Request, writer: asyncio.StreamWriter) -> None:
        await _send_gigabyte(writer, 200, b"x" * 65_536)

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

        await _stream(writer, events())


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
    return Request(vendor, path, headers, json.loads(body) if body else {})


async def _send(writer: asyncio.StreamWriter, status: int, kind: str, body: bytes) -> None:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def _send_json(
    writer: asyncio.StreamWriter, status: int, body: Json, header: str = "x-nothing: 1"
) -> None:
    await _send(writer, status, f"application/json\r\n{header}", json.dumps(body).encode())


async def _send_gigabyte(writer: asyncio.StreamWriter, status: int, block: bytes) -> None:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: text/event-stream\r\n"
    writer.write(f"{head}Content-Length: {GIGABYTE}\r\n\r\n".encode())
    for _ in range(GIGABYTE // len(block)):
        writer.write(block)
        await writer.drain()


async def _open_stream(writer: asyncio.StreamWriter) -> None:
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    writer.write(head.encode())
    await writer.drain()


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


async def _stream(writer: asyncio.StreamWriter, events: list[bytes] | AsyncIterator[bytes]) -> None:
    await _open_stream(writer)
    if isinstance(events, list):
        for event in events:
            await _chunk(writer, event)
    else:
        async for event in events:
            await _chunk(writer, event)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _http_date(seconds: float) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + seconds))
