"""What went wrong, as a problem document (RFC 9457): the one place where errors become statuses."""

import logging
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from moot.api import openai_shapes
from moot.errors import (
    BudgetError,
    InputError,
    MootError,
    NotFoundError,
    ProviderError,
    StateError,
    StorageError,
)
from moot.wire import codec

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
CODES = {
    400: "HTTP_ERR_REQUEST",
    401: "HTTP_ERR_TOKEN",
    403: "HTTP_ERR_ORIGIN",
    404: "HTTP_ERR_ROUTE",
    405: "HTTP_ERR_METHOD",
    408: "HTTP_ERR_SLOW",
    413: "HTTP_ERR_SIZE",
    415: "HTTP_ERR_TYPE",
    421: "HTTP_ERR_HOST",
    429: "HTTP_ERR_RATE",
    431: "HTTP_ERR_SIZE",
    500: "HTTP_ERR_INTERNAL",
    503: "HTTP_ERR_BUSY",
}
"""Of what goes wrong before a debate is concerned; the rest have codes of their own."""
NOUNS = {
    "agent_id": ("agent", "GET /agents shows what there is."),
    "link_id": ("link", "GET /debates/{debate_id}/links shows what there is."),
    "station_id": ("station", "GET /stations shows what there is."),
    "template_id": ("template", "GET /templates shows what there is."),
    "conversation_id": ("conversation", "GET /stations/{station_id}/conversations has them."),
}
"""What an address names, by its parameter, and where to look; else it is a debate."""


STATUSES: dict[type[MootError], int] = {
    NotFoundError: 404,  # which is an InputError
    InputError: 422,
    StateError: 409,
    BudgetError: 409,
    ProviderError: 502,
    StorageError: 503,
}


class ProblemError(HTTPException):
    """A request that is refused, with the status and the sentence to say so."""

    def __init__(
        self,
        status: int,
        detail: str,
        headers: dict[str, str] | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code  # None: the one of its status


def document(status: int, detail: str, code: str | None = None, **more: Any) -> bytes:
    code = code or CODES.get(status, "HTTP_ERR_REQUEST")
    whole = {
        "type": f"urn:moot:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        **more,
    }
    return codec.dumps(whole).encode("utf-8", "replace")


def response(
    status: int,
    detail: str,
    code: str | None = None,
    headers: dict[str, str] | None = None,
    *,
    path: str = "",
    **more: Any,
) -> Response:
    """The error as its door writes it: clients of `/v1` read OpenAI's shape."""
    if path.startswith(openai_shapes.PREFIX):
        return openai_shapes.refusal(status, detail, code, headers, param=more.get("field"))
    body = document(status, detail, code, **more)
    return Response(body, status, headers, media_type=MEDIA_TYPE)


def status_of(error: MootError) -> int:
    return next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 500)


def install(app: FastAPI) -> None:
    """Let every error leave as a problem document."""
    handlers: dict[type[Exception], Any] = {
        MootError: _moot,
        ProblemError: _refused,
        RequestValidationError: _invalid,
        HTTPException: _http,
        Exception: _unforeseen,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _moot(request: Request, error: MootError) -> Response:
    field = getattr(error, "field", None)
    return response(
        status_of(error),
        error.message,
        error.code,
        path=request.url.path,
        **({"field": field} if field else {}),
    )


def _refused(request: Request, error: ProblemError) -> Response:
    return refusal(error, request.url.path)


def refusal(error: ProblemError, path: str = "") -> Response:
    headers = dict(error.headers) if error.headers else None
    return response(error.status_code, error.detail, error.code, headers, path=path)


def _invalid(_: Request, error: RequestValidationError) -> Response:
    """Input that does not have the shape that the document describes."""
    problems = [
        {"field": _field(problem["loc"]), "message": str(problem["msg"])}
        for problem in error.errors()
    ]
    first = error.errors()[0]
    where = problems[0]["field"]
    if first["loc"][0] == "path":
        given = str(first.get("input", ""))[:60]
        noun, look = NOUNS.get(
            str(first["loc"][-1]), ("debate", "GET /debates shows what there is.")
        )
        sentence = f"There is no {noun} {given!a}. {look}"
        return response(404, sentence, InputError.code, field="id")
    if first["type"] == "json_invalid":
        sentence = f"The body is not valid JSON: {first.get('ctx', {}).get('error', '')}."
        return response(422, sentence, InputError.code, field="body")
    if first["type"] == "missing":
        sentence = f"{where} is missing."
    elif first["type"] in ("model_attributes_type", "model_type", "dict_type"):
        sentence = f"{where} must be a JSON object."
    elif first["loc"] == ("query", "cursor"):
        sentence = "That is no cursor of a page; take `next` of one."
    else:
        sentence = f"{where}: {problems[0]['message']}."
    return response(422, sentence, InputError.code, field=where, errors=problems)


def _field(place: tuple[Any, ...]) -> str:
    """`participants[0].name`, as people write it."""
    name = ""
    for part in place[1:] if place[0] in ("body", "query", "header") else place:
        if isinstance(part, int):
            name += f"[{part}]"
        else:
            name += f".{part}" if name else str(part)
    return name or str(place[0])


def _http(request: Request, error: HTTPException) -> Response:
    """What the framework refuses: an unknown route, a method that a route does not have."""
    details = {
        400: "The body cannot be read as JSON.",
        404: "There is nothing here. GET /docs shows what there is.",
        405: f"{request.method} is not possible here; the header Allow says what is.",
    }
    detail = details.get(error.status_code, str(error.detail))
    if error.status_code == 404 and request.url.path.startswith(openai_shapes.PREFIX):
        detail = openai_shapes.ROUTES
    headers = dict(error.headers) if error.headers else {}
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request))
    return response(error.status_code, detail, headers=headers, path=request.url.path)


def _methods(request: Request) -> list[str]:
    """What can be done at that address, by whichever of its routes."""
    found: set[str] = set()
    for route in _flat(request.app.routes):
        if route.matches(request.scope)[0] != Match.NONE:
            found |= set(getattr(route, "methods", None) or ())
    return sorted(found) or ["GET", "HEAD"]  # a mounted folder of files says no methods


def _flat(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    """The routes themselves: FastAPI keeps each router that was included as one."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is None:
            yield route
        else:
            yield from _flat(inner.routes)


def _unforeseen(request: Request, error: Exception) -> Response:
    log.error("a request failed: %s", type(error).__name__, exc_info=error)
    sentence = "Something went wrong here, and was logged. Nothing was lost."
    return response(500, sentence, path=request.url.path)
