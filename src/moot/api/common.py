"""What the routes share: the service behind them, the shapes of ids and of errors."""

import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Request, Response
from fastapi.routing import APIRoute

from moot.api import problems
from moot.api.problems import ProblemError
from moot.api.schemas import ID_EXAMPLE, ID_PATTERN, SLUG_PATTERN
from moot.api.stream import Streams
from moot.engine.service import Service
from moot.metrics import Metrics
from moot.settings import Settings
from moot.wire import codec

COUNT_SECONDS = 5.0


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


def _context(request: Request) -> Context:
    return request.app.state.context


Moot = Annotated[Context, Depends(_context)]
DebateId = Annotated[str, Path(pattern=ID_PATTERN, examples=[ID_EXAMPLE])]
ConversationId = Annotated[str, Path(pattern=ID_PATTERN, examples=[ID_EXAMPLE])]
AgentId = Annotated[str, Path(pattern=SLUG_PATTERN, examples=["ada"])]
StationId = Annotated[str, Path(pattern=SLUG_PATTERN, examples=["morning-show"])]


def as_json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Encoded once, by the codec that files and streams are written with."""
    body = codec.dumps(value).encode("utf-8", "replace")
    return Response(body, status, headers, media_type="application/json")


class JsonRoute(APIRoute):
    """A route that takes JSON: a form or a text from another site needs no leave of the browser's,
    JSON does, and so does a DELETE."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if request.method not in ("GET", "DELETE") and kind != "application/json":
                raise ProblemError(
                    415, "Send it as JSON, with the header Content-Type: application/json."
                )
            return await handle(request)

        return handle_json


def location(what: str) -> dict[str, Any]:
    """A 201, for the document."""
    where = {"schema": {"type": "string"}, "description": "Where it is."}
    return {"description": f"{what}, as it was made", "headers": {"Location": where}}


def attached() -> dict[str, Any]:
    """A file of TOML, for the document."""
    return {
        "description": "As a file to save",
        "content": {"application/toml": {"schema": {"type": "string"}}},
        "headers": {"Content-Disposition": {"schema": {"type": "string"}}},
    }


_WORDS = {
    400: "Not a request that can be understood",
    401: "A token, or the signature of a webhook, is needed",
    403: "Pages of another site may not ask this",
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


def refusals(*statuses: int, sends: bool = False) -> dict[int | str, dict[str, Any]]:
    """The errors that a route may answer with, for the document."""
    every = sorted({*statuses, *ALWAYS, *(SENT if sends else ())})
    content = {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _WORDS[status], "content": content} for status in every}
