"""How each API words an answer: what comes before it, each piece, and what comes after.

Nothing here knows moot. `DIALECTS` has a class for every wire format there is.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from moot.testing.wires import event_stream

INPUT_TOKENS, OUTPUT_TOKENS = 123, 45
ANSWER = '{"claim": "yes"}'

Json = dict[str, Any]


@dataclass
class _Canary:
    echo: str = "the key sk-canary-echo was seen\nTraceback (most recent call last):"


canary = _Canary()
"""What the server says in its errors: it must reach nobody."""


def _words(status: int) -> str:
    """What an error says: of a 404, that it is about the model, and not about the address."""
    return f"model: {canary.echo}" if status == 404 else canary.echo


def _sse(data: Json | str, event: str | None = None) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


class Counted:
    """What a dialect tells of the tokens that were used, thoughts included; and of its stream."""

    told = OUTPUT_TOKENS
    reasoned = 0
    kind = "text/event-stream"
    alive = b": keep-alive\n\n"  # what may come between two events and says nothing
    garbage = (b"event: message_start\ndata: {not json\n\n", b"event: x\ndata: at all\n\n")
    shapeless = _sse('{"type": 5, "choices": 7, "candidates": 9}', "message_start")

    @staticmethod
    def error_header(status: int) -> str:
        return "x-nothing: 1"


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

    def tool(self, name: str) -> Iterator[bytes]:
        item = {"id": "fc_1", "type": "function_call", "call_id": "tool_1", "name": name}
        item |= {"arguments": "", "status": "in_progress"}
        yield self.event("response.output_item.added", output_index=1, item=item)
        place = {"item_id": "fc_1", "output_index": 1}
        yield self.event("response.function_call_arguments.delta", delta=ANSWER, **place)
        yield from self.after("stop")

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
        return self.event("error", code="server_error", message=canary.echo, param=None)

    @staticmethod
    def error(status: int) -> Json:
        code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
        return {"error": {"message": _words(status), "type": "x", "code": code.get(status)}}

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
        message: Json = {
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

    def tool(self, name: str) -> Iterator[bytes]:
        block: Json = {"type": "tool_use", "id": "tool_1", "name": name, "input": {}}
        yield self.event("content_block_start", index=1, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": ANSWER}
        yield self.event("content_block_delta", index=1, delta=delta)
        yield self.event("content_block_stop", index=1)
        yield from self.after("tool_use")

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
        error = {"type": kinds.get(status, "api_error"), "message": _words(status)}
        return {"type": "error", "error": error}

    @staticmethod
    def too_long() -> Json:
        message = "prompt is too long: 210000 tokens > 200000 maximum"
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


class Gemini(Counted):
    """streamGenerateContent with alt=sse."""

    alive = b""  # its SDK knows no comments

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

    def tool(self, name: str) -> Iterator[bytes]:
        part = {"functionCall": {"name": name, "args": json.loads(ANSWER)}}
        content = {"role": "model", "parts": [part]}
        yield _sse({"candidates": [{"content": content, "index": 0}], "responseId": "r1"})
        yield from self.after("stop")

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
        return {"error": {"code": status, "message": _words(status), "status": word}}

    @staticmethod
    def too_long() -> Json:
        message = "The input token count (2000000) exceeds the maximum number of tokens allowed."
        return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}


class Local(Counted):
    """Chat completions, as llama.cpp and Ollama have them."""

    def __init__(self, model: str) -> None:
        self.model = model

    def chunk(self, delta: Json | None, reason: str | None = None) -> bytes:
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

    def tool(self, name: str) -> Iterator[bytes]:
        function = {"name": name, "arguments": ANSWER}
        called = {"index": 0, "id": "tool_1", "type": "function", "function": function}
        yield self.chunk({"tool_calls": [called]})
        yield from self.after("tool_calls")

    def refusal(self) -> Iterator[bytes]:
        yield self.chunk({"refusal": "I can't help with that."})
        yield self.chunk({}, "stop")
        yield _sse("[DONE]")

    def after(self, reason: str) -> Iterator[bytes]:
        yield self.chunk({}, reason)
        yield self.counted(self.told)
        yield _sse("[DONE]")

    def counted(self, told: int) -> bytes:
        """The tokens so far."""
        usage: Json = {
            "prompt_tokens": INPUT_TOKENS,
            "completion_tokens": told,
            "total_tokens": INPUT_TOKENS + told,
        }
        if self.reasoned:
            usage["completion_tokens_details"] = {"reasoning_tokens": self.reasoned}
        return _sse(
            {
                "id": "chat_1",
                "object": "chat.completion.chunk",
                "created": 1_790_000_000,
                "model": self.model,
                "choices": [],
                "usage": usage,
            }
        )

    def failure(self) -> bytes:
        return _sse(self.error(500))

    @staticmethod
    def error(status: int) -> Json:
        return {"error": {"code": status, "message": _words(status), "type": "x"}}

    @staticmethod
    def too_long() -> Json:
        message = "the request exceeds the available context size, try increasing it"
        return {"error": {"code": 400, "message": message, "type": "exceed_context_size_error"}}


class Bedrock(Counted):
    """ConverseStream, in AWS's event-stream encoding."""

    kind = event_stream.KIND
    alive = b""
    garbage = (b"this is not an event stream at all, ", b"whatever it says")
    shapeless = event_stream.event("contentBlockDelta", {"delta": 7, "contentBlockIndex": "x"})

    def __init__(self, model: str) -> None:
        self.model = model

    def before(self) -> Iterator[bytes]:
        yield event_stream.event("messageStart", {"role": "assistant"})

    def delta(self, delta: Json, index: int = 0) -> bytes:
        return event_stream.event("contentBlockDelta", {"delta": delta, "contentBlockIndex": index})

    def piece(self, text: str) -> bytes:
        return self.delta({"text": text})

    def thought(self, text: str) -> bytes:
        return self.delta({"reasoningContent": {"text": text}}, 7)

    def tool(self, name: str) -> Iterator[bytes]:
        start = {"start": {"toolUse": {"toolUseId": "tool_1", "name": name}}}
        yield event_stream.event("contentBlockStart", start | {"contentBlockIndex": 1})
        yield self.delta({"toolUse": {"input": ANSWER}}, 1)
        yield event_stream.event("contentBlockStop", {"contentBlockIndex": 1})
        yield from self.after("tool_use")

    def refusal(self) -> Iterator[bytes]:
        yield from self.after("content_filtered")

    def after(self, reason: str) -> Iterator[bytes]:
        words = {"stop": "end_turn", "length": "max_tokens"}
        yield event_stream.event("messageStop", {"stopReason": words.get(reason, reason)})
        usage = {"inputTokens": INPUT_TOKENS, "outputTokens": self.told}
        usage["totalTokens"] = INPUT_TOKENS + self.told
        yield event_stream.event("metadata", {"usage": usage, "metrics": {"latencyMs": 5}})

    def failure(self) -> bytes:
        return event_stream.exception("modelStreamErrorException", {"message": canary.echo})

    @staticmethod
    def error_header(status: int) -> str:
        words = {
            400: "ValidationException",
            401: "UnrecognizedClientException",
            403: "AccessDeniedException",
            404: "ResourceNotFoundException",
            429: "ThrottlingException",
            500: "InternalServerException",
            503: "ServiceUnavailableException",
        }
        return f"x-amzn-errortype: {words.get(status, 'UnknownException')}"

    @staticmethod
    def error(status: int) -> Json:
        return {"message": _words(status)}

    @staticmethod
    def too_long() -> Json:
        return {"message": "Input is too long for requested model."}


class Ollama(Counted):
    """`/api/chat`, one JSON document a line."""

    kind = "application/x-ndjson"
    alive = b"\n"
    garbage = (b"{not json\n", b"at all\n")
    shapeless = b"[7]\n"

    def __init__(self, model: str) -> None:
        self.model = model

    def line(self, message: Json, **more: Any) -> bytes:
        told = {"model": self.model, "message": {"role": "assistant", **message}, "done": False}
        return json.dumps(told | more).encode() + b"\n"

    def before(self) -> Iterator[bytes]:
        return iter(())

    def piece(self, text: str) -> bytes:
        return self.line({"content": text})

    def thought(self, text: str) -> bytes:
        return self.line({"content": "", "thinking": text})

    def after(self, reason: str) -> Iterator[bytes]:
        counts = {"prompt_eval_count": INPUT_TOKENS, "eval_count": self.told}
        yield self.line({"content": ""}, done=True, done_reason=reason, **counts)

    def failure(self) -> bytes:
        return json.dumps(self.error(500)).encode() + b"\n"

    @staticmethod
    def error(status: int) -> Json:
        return {"error": _words(status)}

    @staticmethod
    def too_long() -> Json:
        return {"error": "the input length exceeds the context length"}


Dialect = OpenAI | Claude | Gemini | Local | Bedrock | Ollama
DIALECTS: dict[str, type[Dialect]] = {
    "openai": OpenAI,
    "claude": Claude,
    "gemini": Gemini,
    "vertex": Gemini,
    "local": Local,
    "bedrock": Bedrock,
    "ollama": Ollama,
}
"""By the first part of the path that the server has it at."""
