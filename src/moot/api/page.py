"""The page: built from web/ into static/, served whole, under a strict policy."""

import gzip
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from moot.api.problems import ProblemError

ROUTES = (
    "/", "/new", "/example", "/d/{debate_id}", "/d/{debate_id}/outcome", "/d/{debate_id}/replay",
    "/compare/{debate_id}", "/compare/{debate_id}/{other_id}",
    "/studio/agents", "/studio/settings", "/studio/stations", "/studio/stations/{station_id}",
    "/guest/{debate_id}", "/air/{station_id}", "/air/{station_id}/{debate_id}",
)  # fmt: skip
"""What the page shows by itself; each is answered with the same document."""
PUBLIC = ("/", "/new", "/example")
PUBLIC_UNDER = ("/d/", "/guest/", "/compare/", "/studio/", "/air/", "/assets/")
"""Paths that hold no debate and need no token: a browser sends none when it opens a page."""
SCREENS = (
    (re.compile(r"/debates"), "/"),
    (re.compile(r"/debates/(?P<id>debate_\w+)"), "/d/{id}"),
    (re.compile(r"/debates/(?P<id>debate_\w+)/replay"), "/d/{id}/replay"),
    (re.compile(r"/records"), "/"),  # a record is what a debate in the list came to
    (re.compile(r"/formats"), "/new"),  # where one is chosen
    (re.compile(r"/providers"), "/studio/settings"),
    (re.compile(r"/settings"), "/studio/settings"),
    (re.compile(r"/agents"), "/studio/agents"),
    (re.compile(r"/stations"), "/studio/stations"),
    (re.compile(r"/stations/(?!export$)(?P<id>[\w-]+)"), "/studio/stations/{id}"),
)
"""Calls whose noun has a screen: a person who types such an address wants that."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
FOREVER = "public, max-age=31536000, immutable"
NOT_BUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>moot</title>
<h1>moot is running</h1>
<p>Its page is not built here: run <code>make web</code>, then start it again.</p>
<p>The HTTP service is there all the same: <a href="/docs">/docs</a>.</p>
</html>
"""


@dataclass(frozen=True, slots=True)
class Asset:
    """A built file, as it is and packed. Its name holds a hash of what is in it."""

    body: bytes
    packed: bytes
    media_type: str


def is_public(path: str) -> bool:
    """Whether a path may be read without a token."""
    return path in PUBLIC or path.startswith(PUBLIC_UNDER)


def to_screen(method: str, path: str, headers: Iterable[tuple[bytes, bytes]]) -> Response | None:
    """Leads a person who opens a call's address in a browser to its screen; None for a program."""
    given = dict(headers)
    navigates = method == "GET" and given.get(b"sec-fetch-mode") == b"navigate"
    if not navigates or b"text/html" not in given.get(b"accept", b""):
        return None
    for pattern, screen in SCREENS:
        if match := pattern.fullmatch(path):
            varies = {"Cache-Control": "no-store", "Vary": "Accept, Sec-Fetch-Mode"}
            return RedirectResponse(screen.format(**match.groupdict()), 302, varies)
    return None


def add_page(app: FastAPI, static: Traversable | None = None) -> None:
    """Serve the page at / and at its own routes; where it is not built, say how to build it."""
    static = static or resources.files("moot.api").joinpath("static")
    assets = _assets(static.joinpath("assets"))
    index = static.joinpath("index.html")
    document = index.read_text("utf-8") if index.is_file() else NOT_BUILT
    # A worker is under the policy of its own script, so the assets carry it too.
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}

    async def page() -> Response:
        return HTMLResponse(document, headers=headers)

    async def asset(name: str, request: Request) -> Response:
        found = assets.get(name)
        if found is None:
            raise ProblemError(404, "There is no such file; the page may be newer. Load it again.")
        more = {**headers, "Cache-Control": FOREVER, "Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(
                found.packed, 200, {**more, "Content-Encoding": "gzip"}, found.media_type
            )
        return Response(found.body, 200, more, found.media_type)

    for path in ROUTES:
        app.add_api_route(path, page, include_in_schema=False)
    app.add_api_route("/assets/{name}", asset, include_in_schema=False)
    otherwise = app.router.default

    async def lost(scope: Scope, receive: Receive, send: Send) -> None:
        """No route: a person in a browser gets the page, which says so; a program, the problem."""
        asks = scope["type"] == "http" and scope["method"] == "GET"
        if asks and "text/html" in Request(scope).headers.get("accept", ""):
            await HTMLResponse(document, 404, headers)(scope, receive, send)
        else:
            await otherwise(scope, receive, send)

    app.router.default = lost


def _assets(folder: Traversable) -> dict[str, Asset]:
    """All of them, read once: a few hundred kilobytes."""
    if not folder.is_dir():
        return {}
    return {file.name: _asset(file) for file in folder.iterdir() if file.is_file()}


def _asset(file: Traversable) -> Asset:
    body = file.read_bytes()
    kind = TYPES.get(file.name.rpartition(".")[2], "application/octet-stream")
    return Asset(body, gzip.compress(body, mtime=0), kind)
