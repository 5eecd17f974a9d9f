"""The documents of `/v1`, as OpenAI's clients read them: models, completions, chunks, errors."""

import json
from typing import Any

from starlette.responses import Response

from moot.core.debate import Debate, Usage
from moot.core.times import seconds

PREFIX = "/v1/"
OWNER = "moot"
ROUTES = (
    "moot has GET /v1/models and POST /v1/chat/completions. A client that asks for anything else, "
    "such as the Responses API, can usually be set to chat completions."
)
_CODES = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}
"""What OpenAI calls an error, where clients look at that."""


def dumps(value: Any) -> bytes:
    """In ASCII: some clients end a line of a stream at characters that JSON leaves alone."""
    return json.dumps(value, separators=(",", ":")).encode()


def error(status: int, message: str, code: str | None = None, param: str | None = None) -> Any:
    """What went wrong, in OpenAI's shape."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    if status == 429:
        kind = "rate_limit_error"
    said = {"message": message, "type": kind, "param": param, "code": code or _CODES.get(status)}
    return {"error": said}


def refusal(
    status: int,
    message: str,
    code: str | None = None,
    headers: dict[str, str] | None = None,
    *,
    param: str | None = None,
) -> Response:
    """An error as a response. What the request itself got wrong is 400 there, not 422."""
    status = 400 if status == 422 else status
    code = _CODES.get(status, code)
    body = dumps(error(status, message, code, param))
    return Response(body, status, headers, media_type="application/json")


def model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": OWNER}


def usage(used: Usage) -> dict[str, Any]:
    """The sum of all calls."""
    return {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
        "completion_tokens_details": {"reasoning_tokens": used.thinking_tokens},
    }


def about(debate: Debate, link: str) -> dict[str, Any]:
    """What only moot says of an answer, for programs: clients ignore what they do not know."""
    failure = debate.failure
    return {
        "debate": debate.id,
        "status": debate.status,
        "outcome": debate.outcome.outcome if debate.outcome else None,
        "selected": debate.outcome.selected_option if debate.outcome else None,
        "degraded": debate.degraded,
        "failure": {"code": failure.code, "message": failure.message} if failure else None,
        "url": link,
    }


class Completion:
    """The documents of one answer: they have its id, its time and its model."""

    def __init__(self, debate: Debate, name: str) -> None:
        self._about = {
            "id": f"chatcmpl-{debate.id}",
            "created": int(seconds(debate.created_at)),
            "model": name,
        }

    def whole(self, content: str, used: Usage, said: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": content, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {
            **self._about,
            "object": "chat.completion",
            "choices": [choice],
            "usage": usage(used),
            "moot": said,
        }

    def chunk(self, finish: str | None = None, /, **delta: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._about, "object": "chat.completion.chunk", "choices": [choice]}

    def used(self, used: Usage) -> dict[str, Any]:
        """The last chunk, for those who asked for it: it has no choice."""
        return {
            **self._about, "object": "chat.completion.chunk", "choices": [], "usage": usage(used),
        }  # fmt: skip
