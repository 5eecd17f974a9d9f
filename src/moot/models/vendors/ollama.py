"""Ollama, spoken to in its own words.

Its OpenAI-compatible endpoint takes no `num_ctx`, so that a prompt longer than the server's default
is beheaded without a word. The SDK goes on speaking OpenAI's; here it becomes `/api/chat`.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import httpx2

WINDOW = 8_192  # tokens asked for, if the model's own file does not say
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)$", re.MULTILINE)
_SHOW_SECONDS = 5.0
_PATH = "/chat/completions"
_WAITS = ("retry-after", "retry-after-ms")  # headers of a refusal that say for how long


async def look_up(http: httpx2.AsyncClient, base_url: str, name: str) -> int | None:
    """The window to ask for: what the model's file sets, else as much as it was made for."""
    try:
        answer = await http.post(
            f"{root(base_url)}/api/show", json={"model": name}, timeout=_SHOW_SECONDS
        )
        return read_window(answer.raise_for_status().json())
    except Exception:  # an old server, or none of that name: the call will tell
        return None


def read_window(shown: object) -> int | None:
    """The window in an answer of `/api/show`."""
    if not isinstance(shown, Mapping):
        return None
    told = cast(Mapping[str, Any], shown)
    if found := _NUM_CTX.search(str(told.get("parameters", ""))):
        return max(int(found[1]), 512)
    info = told.get("model_info")
    if isinstance(info, Mapping):
        for key, value in cast(Mapping[str, Any], info).items():
            if key.endswith(".context_length") and isinstance(value, int) and value >= 512:
                return min(value, WINDOW)
    return None


def root(base_url: str) -> str:
    """Ollama's own address, which its OpenAI-compatible one stands on."""
    return base_url.removesuffix("/v1")


class Translator(httpx2.AsyncBaseTransport):
    """Takes OpenAI's chat calls to `/api/chat`, and its answer back."""

    def __init__(self, http: httpx2.AsyncClient, base_url: str, windows: Mapping[str, int]) -> None:
        self._http = http
        self._url = f"{root(base_url)}/api/chat"
        self._windows = windows  # as far as they were looked up

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not request.url.path.endswith(_PATH):
            return httpx2.Response(404, json={"error": {"message": "not spoken here"}})
        asked = json.loads(await request.aread())
        body = native(asked, self._windows.get(asked["model"]))
        sent = self._http.build_request("POST", self._url, json=body)
        answer = await self._http.send(sent, stream=True)
        if answer.status_code >= 400:
            return await _refusal(answer)
        return httpx2.Response(
            200, headers={"Content-Type": "text/event-stream"}, stream=_Spoken(answer)
        )


def native(asked: Mapping[str, Any], window: int | None) -> dict[str, Any]:
    """A chat call of OpenAI's in Ollama's words."""
    options: dict[str, Any] = {"num_ctx": window or WINDOW}
    if limit := asked.get("max_tokens"):
        options["num_predict"] = limit
    body: dict[str, Any] = {
        "model": asked["model"],
        "messages": [_message(message) for message in asked["messages"]],
        "stream": True,
        "truncate": False,  # a prompt that is too long is to be refused
        "shift": False,
        "options": options,
    }
    wanted = cast(dict[str, Any], asked.get("response_format") or {})
    if wanted.get("type") == "json_schema":
        body["format"] = wanted["json_schema"]["schema"]
    return body


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content") or ""
    if isinstance(content, list):  # OpenAI's parts
        parts = cast(list[Mapping[str, Any]], content)
        content = "\n".join(str(part.get("text", "")) for part in parts)
    return {"role": message["role"], "content": content}


async def _refusal(answer: httpx2.Response) -> httpx2.Response:
    await answer.aread()
    try:
        words = answer.json()["error"]
    except (ValueError, LookupError, TypeError):
        words = "refused"
    waits = {name: answer.headers[name] for name in _WAITS if name in answer.headers}
    told = {"error": {"message": str(words)[:2000]}}
    return httpx2.Response(answer.status_code, headers=waits, json=told)


class _Spoken(httpx2.AsyncByteStream):
    """Ollama's lines as OpenAI's events."""

    def __init__(self, answer: httpx2.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for line in self._answer.aiter_lines():
            if line.strip():
                told = json.loads(line)
                yield _event(told)
                if told.get("done"):
                    yield b"data: [DONE]\n\n"
                    return

    async def aclose(self) -> None:
        await self._answer.aclose()


def _event(told: Mapping[str, Any]) -> bytes:
    if "error" in told:
        event: dict[str, Any] = {"error": {"message": str(told["error"])[:2000], "code": 500}}
        return b"data: %s\n\n" % json.dumps(event).encode()
    message = cast(dict[str, Any], told.get("message") or {})
    delta = {"role": "assistant", "content": message.get("content") or ""}
    if thought := message.get("thinking"):
        delta["reasoning_content"] = thought  # not said, but a sign of life
    ended = (told.get("done_reason") or "stop") if told.get("done") else None
    reason = "length" if ended == "length" else ended and "stop"
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    event = {"id": "ollama", "object": "chat.completion.chunk", "created": 0, "choices": [choice]}
    event["model"] = told.get("model", "")
    if ended:
        read, written = told.get("prompt_eval_count") or 0, told.get("eval_count") or 0
        used = {"prompt_tokens": read, "completion_tokens": written}
        event["usage"] = used | {"total_tokens": read + written}
    return b"data: %s\n\n" % json.dumps(event).encode()
