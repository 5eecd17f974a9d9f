"""What the routes share: the service behind them, how one is declared, and how it answers."""

import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.routing import APIRoute

from moot.api.openapi import REF, Problem, described
from moot.api.problems import MEDIA_TYPE, ProblemError
from moot.api.stream import Streams
from moot.engine.service import Service
from moot.errors import InputError, NotFoundError
from moot.metrics import Metrics
from moot.settings import Settings
from moot.wire import codec
from moot.wire.shapes import ID_EXAMPLE, ID_PATTERN, SLUG_PATTERN

COUNT_SECONDS = 5.0
T = TypeVar("T")
Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Response]])


class Figures:
    """How many debates there are; counted at most every few seconds, however often it is asked."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._until = 0.0

    async def refresh(self, service: Service) -> None:
        if time.monotonic() >= self._until:
            self.counts = await service.counts()
            self._until = time.monotonic() + COUNT_SECONDS

    def waiting(self) -> int:
        return self.counts.get("queued", 0)


@dataclass(frozen=True, slots=True)
class Context:
    """What a request may use."""

    service: Service
    settings: Settings
    streams: Streams
    metrics: Metrics
    figures: Figures

    async def measured(self) -> bytes:
        """The metrics, with what must be counted for them now."""
        await self.figures.refresh(self.service)
        return self.metrics.text()


async def _context(request: Request) -> Context:
    return request.app.state.context


Moot = Annotated[Context, Depends(_context)]
DebateId = Annotated[str, Path(pattern=ID_PATTERN, examples=[ID_EXAMPLE])]
ConversationId = DebateId
AgentId = Annotated[str, Path(pattern=SLUG_PATTERN, examples=["ada"])]
StationId = Annotated[str, Path(pattern=SLUG_PATTERN, examples=["morning-show"])]


class JsonRoute(APIRoute):
    """A route that takes JSON: a form or a text from another site needs no leave of the browser's,
    JSON does, and so does a DELETE."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if getattr(self.endpoint, "takes_a_form", False):
                if kind != "multipart/form-data":
                    raise ProblemError(415, "Send it as a form: multipart/form-data, with a file.")
                return await handle(request)
            if request.method not in ("GET", "DELETE") and kind != "application/json":
                raise ProblemError(
                    415, "Send it as JSON, with the header Content-Type: application/json."
                )
            return await handle(request)

        return handle_json


# --- a route, and the document's words for it ---

_WORDS = {
    400: "Not a request that can be understood",
    401: "A token, or the signature of a webhook, is needed",
    403: "Pages of another site may not ask this, nor may whoever has a link to one debate",
    404: "There is none of that id",
    408: "The body did not come in time",
    409: "The debate's state does not allow it, or the key was used for another request",
    413: "The body is too large",
    415: "Send JSON",
    421: "The service has another name",
    422: "Input that cannot be used; `field` says which",
    429: "Too many requests, or streams, from one address",
    502: "The model that was asked gave no usable answer",
    503: "The database cannot be used now, or the service is going down",
}
ALWAYS = (400, 401, 403, 421, 429, 503)
SENT = (408, 413, 415, 422)
SAVED = {"Content-Disposition": {"schema": {"type": "string"}}}
"""The header of an answer that is a file to save."""
_MADE = {"Location": {"schema": {"type": "string"}, "description": "Where it is."}}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route may answer with, for the document."""
    content = {MEDIA_TYPE: {"schema": described(Problem)}}
    every = sorted({*statuses, *ALWAYS})
    return {status: {"description": _WORDS[status], "content": content} for status in every}


class Routes:
    """Declares routes: `@routes("GET /agents/{agent_id}", Agent)`.

    The second is what is answered: a shape, `[shape]` for a list of it, or media types. After it
    come the errors that the method and the address do not tell. The docstring is what the document
    says of the route, its first line in short.
    """

    def __init__(self, tag: str) -> None:
        self.router = APIRouter(tags=[tag], route_class=JsonRoute)

    def __call__(
        self,
        call: str,
        answer: Any,
        *errors: int,
        status: int = 200,
        headers: dict[str, Any] | None = None,
        body: type | None = None,
        form: dict[str, Any] | None = None,
        unready: Any = None,
    ) -> Callable[[Handler], Handler]:
        """`body` describes one that the route reads by itself, or `form` the fields of a form,
        `unready` a 503 of its own."""
        method, path = call.split()
        by_id, sends = "{" in path, method not in ("GET", "DELETE")
        told = refusals(*errors, *((404,) if by_id else ()), *(SENT if sends else ()))
        told[status] = {"description": _ANSWERS.get(status, "As asked")}
        if answer is not None:
            told[status]["content"] = _content(answer)
        if found := headers or (_MADE if status == 201 else None):
            told[status]["headers"] = found
        if unready:
            told[503] = {"description": "Not now", "content": _content(unready)}

        def declare(handler: Handler) -> Handler:
            handler.__dict__["takes_a_form"] = form is not None
            said = inspect.getdoc(handler) or ""
            summary, _, more = said.partition("\n\n")
            self.router.add_api_route(
                path,
                handler,
                methods=[method],
                status_code=status,
                summary=" ".join(summary.split()).removesuffix("."),
                description=more,
                response_model=None,
                response_class=Response,
                responses=told,
                openapi_extra=_body(body) if body else _form(form) if form else None,
            )
            return handler

        return declare


_ANSWERS = {201: "As it was made", 202: "As it is now", 204: "Done"}


def _content(answer: Any) -> dict[str, Any]:
    if isinstance(answer, str):
        text = {"schema": {"type": "string"}}
        return {kind: {} if kind.endswith("json") else text for kind in answer.split()}
    return {"application/json": {"schema": described(answer)}}


def _body(shape: type) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": REF + shape.__name__}}}
    return {"requestBody": {"required": True, "content": content}}


def _form(fields: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields, "required": ["file"]}
    content = {"multipart/form-data": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


# --- answers ---


def as_json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Encoded once, by the codec that files and streams are written with."""
    body = codec.dumps(value).encode("utf-8", "replace")
    return Response(body, status, headers, media_type="application/json")


def as_file(name: str, text: str, media_type: str, **headers: str) -> Response:
    """A file to save."""
    told = {"Content-Disposition": f'attachment; filename="{name}"', **headers}
    return Response(text.encode("utf-8", "replace"), 200, told, media_type)


async def as_asked(doing: Awaitable[T]) -> T:
    """If a format or an agent is not there: the address was right, and what was asked is not."""
    try:
        return await doing
    except NotFoundError as error:
        raise InputError(error.message, error.field) from None
