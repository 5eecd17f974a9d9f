"""The HTTP service: routes, gate and streams around one Service."""

import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from moot.api import (
    agent_routes,
    ask_routes,
    debate_routes,
    event_routes,
    health,
    hooks,
    library,
    link_routes,
    on_air,
    openai_routes,
    openapi,
    problems,
    rating_routes,
    source_routes,
    station_routes,
    template_routes,
)
from moot.api.common import Context, Figures
from moot.api.hub import Shown
from moot.api.page import add_page
from moot.api.security import Gate, Guest
from moot.api.server import Server, config, more_files
from moot.api.stream import Streams
from moot.bootstrap import open_service
from moot.engine.service import Service
from moot.errors import MootError
from moot.metrics import Metrics
from moot.ports.entry_point import Moot
from moot.ports.model_call import Speaker
from moot.settings import Settings, secret
from moot.wire import codec

log = logging.getLogger(__name__)

Door = Callable[[Moot], AbstractAsyncContextManager[ASGIApp]]
"""Another protocol for the same moot: what it serves, while it is open."""
ABOUT = """\
Debates between language models, carried to their end. Begin one with `POST /debates`, follow it
with `GET /debates/{debate_id}/events`.

Errors are problem documents (RFC 9457) with a stable `code`. Every POST, PUT and PATCH is JSON,
also one without a body: `Content-Type: application/json`. Where a token is set, every call brings
it: `Authorization: Bearer …`. Only `/on-air/…`, which is for everybody, needs none, nor does a
webhook that is signed.
"""
DOCS = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>moot: HTTP</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="data:,">
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/begin.js"></script>
</html>
"""
BEGIN = 'SwaggerUIBundle({url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true})\n'
DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def make_app(context: Context) -> FastAPI:
    """The routes, without the gate before them."""
    app = _routes()
    app.state.context = context
    return app


def _routes() -> FastAPI:
    app = FastAPI(
        title="moot",
        version=_version(),
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    for routes in (
        debate_routes,
        ask_routes,
        event_routes,
        agent_routes,
        source_routes,
        link_routes,
        station_routes,
        hooks,
        on_air,
        library,
        template_routes,
        rating_routes,
        health,
    ):
        app.include_router(routes.router if routes is event_routes else routes.routes.router)
    app.include_router(openai_routes.router)
    _add_docs(app)
    add_page(app)
    openapi.install(app)
    problems.install(app)
    return app


def describe() -> dict[str, Any]:
    """The OpenAPI document, without a service behind it."""
    return _routes().openapi()


def gated(
    app: ASGIApp, settings: Settings, host: str, metrics: Metrics, guest: Guest | None = None
) -> Gate:
    return Gate(
        app,
        host=host,
        hosts=settings.hosts,
        token=secret(settings.token),
        signed_hooks=settings.hook_key is not None,
        rate=settings.rate_per_second,
        note=metrics.request,
        guest=guest,
    )


async def serve(
    settings: Settings,
    sock: socket.socket,
    *,
    ready: Callable[[Server], None] = lambda _: None,
    speaker: Speaker | None = None,
    doors: Mapping[str, Door] | None = None,
) -> None:
    """Serve until told to stop; then end the streams, and let the debates go to the next start.

    `doors` are served beside the routes, behind the same gate: each at its path.
    """
    more_files()
    host = sock.getsockname()[0]
    metrics = Metrics()
    async with (
        open_service(
            settings,
            live=True,
            warm=True,
            files=False,
            air=True,
            meter=metrics,
            speaker=speaker,
            pace=settings.pace,
            place="server",
        ) as service,
        AsyncExitStack() as opened,
    ):
        beside = {
            path: await opened.enter_async_context(door(service))
            for path, door in (doors or {}).items()
        }
        streams = Streams(service, _shown(service), settings.streams_per_client, metrics.dropped)
        figures = Figures()
        metrics.watch(
            counts=lambda: figures.counts,
            queue=figures.waiting,
            in_hand=lambda: service.in_hand,
            readers=lambda: streams.readers,
        )
        app = make_app(Context(service, settings, streams, metrics, figures))
        whole = gated(_beside(app, beside), settings, host, metrics, service.links.guest)
        server = Server(config(whole, settings.trusted_proxies), ready, streams.close)
        await server.serve(sockets=[sock])


def _beside(app: ASGIApp, doors: Mapping[str, ASGIApp]) -> ASGIApp:
    """The routes and, at their paths, the doors. People also write such a path with a slash."""

    async def whole(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").removesuffix("/")
        if door := doors.get(path):
            await door({**scope, "path": path}, receive, send)
        else:
            await app(scope, receive, send)

    return whole if doors else app


def _shown(service: Service) -> Shown:
    async def shown(debate_id: str) -> bytes | None:
        try:
            debate = await service.get(debate_id)
            line = await service.line(debate)
        except MootError:  # switched off, or the database is busy: the list has it later
            return None
        return codec.dumps(codec.listed(debate, line.result)).encode("utf-8", "replace")

    return shown


def _operation_id(route: APIRoute) -> str:
    return route.operation_id or route.name


def _add_docs(app: FastAPI) -> None:
    """The OpenAPI document to look at, from files of our own: no other host is asked."""

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:  # pyright: ignore[reportUnusedFunction]  a route
        return HTMLResponse(DOCS, headers={"Content-Security-Policy": DOCS_POLICY})

    @app.get("/docs/begin.js", include_in_schema=False)
    async def begin() -> Response:  # pyright: ignore[reportUnusedFunction]  a route
        return Response(BEGIN, media_type="text/javascript")

    static: Any = resources.files("fastapi_offline").joinpath("static")
    app.mount("/docs", StaticFiles(directory=str(static)), name="docs")


def _version() -> str:
    try:
        return version("moot")
    except PackageNotFoundError:  # run from its sources, not installed
        return "0"
