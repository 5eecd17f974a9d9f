"""The gate that every request goes through: who may ask, how often, how much, and in which words.

Plain ASGI, so that a stream behind it costs no more than a stream.
"""

import asyncio
import hmac
import ipaddress
import logging
import re
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moot.api import guests, problems
from moot.api.page import is_public, to_screen
from moot.api.problems import ProblemError
from moot.core.link import PREFIX, Link
from moot.core.sources import MAX_UPLOAD
from moot.errors import MootError
from moot.store.bundle import MAX_ZIP

log = logging.getLogger("moot.http")

MAX_BODY = 256 * 1024
BODY_SECONDS = 20.0
_FORM = 64 * 1024  # what a form puts around a file
UPLOADS = {"/sources": MAX_UPLOAD + _FORM, "/debates/import": MAX_ZIP + _FORM}
FORM_SECONDS = 120.0
BURST = 5
"""How many seconds' worth of requests a client may make at once."""
MAX_CLIENTS = 10_000
HOOKS = "/hooks/"
ON_AIR = "/on-air/"
LOCAL = ("localhost", "127.0.0.1", "::1")
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
POLICY = (
    b"content-security-policy",
    b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
)

Note = Callable[[str, str, int, float], None]
"""Takes a request's route, method, status and seconds."""
Guest = Callable[[str], Awaitable[Link | None]]
"""The link that a token is of; None if there is none."""


class Gate:
    """Refuses what is foreign, too much or unsigned; the rest passes with safe headers."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str,
        hosts: Iterable[str] = (),
        token: str | None = None,
        signed_hooks: bool = False,
        rate: float = 0.0,
        note: Note | None = None,
        guest: Guest | None = None,
    ) -> None:
        self._app = app
        self._loopback = is_loopback(host)
        self._hosts = {name.lower() for name in (*hosts, host, *LOCAL)}
        if not self._loopback:
            self._hosts.add(socket.gethostname().lower())
        self._token = token
        self._signed_hooks = signed_hooks
        self._rates = Rates(rate)
        self._note = note
        self._guest = guest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        passage = Passage(scope, send)
        try:
            screen = to_screen(scope["method"], scope["path"], scope["headers"])
            self._check(scope)
            await self._admit(scope, is_open=screen is not None)  # a redirect gives nothing away
            await (screen or self._app)(scope, Body(scope, receive), passage.send)
        except ProblemError as refused:
            await problems.refusal(refused, scope["path"])(scope, receive, passage.send)
        finally:
            self._tell(scope, passage)

    def _check(self, scope: Scope) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if sum(name == b"host" for name, _ in scope["headers"]) != 1:
            raise ProblemError(400, "A request has one Host header.")
        host = headers[b"host"].decode("latin-1")
        self._check_host(host)
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        self._check_origins(host, [origin.decode("latin-1") for origin in origins])
        self._rates.check(client_of(scope))

    async def _admit(self, scope: Scope, *, is_open: bool) -> None:
        """Who has the token of a link is a guest, whatever they ask for."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given = headers.get(b"authorization", b"").decode("latin-1")
        scheme, _, token = given.partition(" ")
        token = token.strip()
        if self._guest and scheme.lower() == "bearer" and token.startswith(PREFIX):
            guests.let_in(scope, await self._link(self._guest, token))
        elif not is_open and not self._is_open(scope["method"], scope["path"]):
            self._check_token(given)

    async def _link(self, guest: Guest, token: str) -> Link:
        try:
            link = await guest(token)
        except MootError as error:
            raise ProblemError(503, error.message, code=error.code) from None
        if link is None:
            raise ProblemError(
                401,
                "This link was revoked, or is not whole. Ask whoever gave it to you for another.",
                {"WWW-Authenticate": 'Bearer realm="moot"'},
                "HTTP_ERR_LINK",
            )
        return link

    def _is_open(self, method: str, path: str) -> bool:
        """Whether a call needs no token: it gives nothing away, or its route checks a signature."""
        if method == "POST":
            return self._signed_hooks and path.startswith(HOOKS)
        return method in ("GET", "HEAD") and _is_public(path)

    def _check_host(self, host: str) -> None:
        """Against DNS rebinding: a page of evil.example that resolves to us still says its name."""
        name = host_name(host)
        if name in self._hosts or (not self._loopback and _is_address(name)):
            return
        raise ProblemError(
            421, f"This service is not called {host[:100]!a}. If it should be, set MOOT_HOSTS."
        )

    def _check_origins(self, host: str, origins: list[str]) -> None:
        """Against calls from other sites' pages: what has an Origin must be of this one."""
        own = (f"http://{host}".lower(), f"https://{host}".lower())
        if not all(origin.lower() in own for origin in origins):
            raise ProblemError(403, "Pages of another site may not call this service.")

    def _check_token(self, given: str) -> None:
        if self._token is None:
            return
        scheme, _, token = given.partition(" ")
        right = hmac.compare_digest(token.strip().encode(), self._token.encode())
        if scheme.lower() != "bearer" or not right:
            raise ProblemError(
                401,
                "That is not the token of this service."
                if given
                else "A token is needed: Authorization: Bearer …, as MOOT_TOKEN says.",
                {"WWW-Authenticate": 'Bearer realm="moot"'},
            )

    def _tell(self, scope: Scope, passage: "Passage") -> None:
        route = getattr(scope.get("route"), "path", "(none)")
        seconds = time.monotonic() - passage.began
        if self._note:
            self._note(route, scope["method"], passage.status, seconds)
        log.info(
            "%s %s %s",
            scope["method"],
            scope["path"],
            passage.status,
            extra={"client": client_of(scope), "seconds": round(seconds, 4)},
        )


class Passage:
    """What goes out, with the headers that every answer has."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.began = time.monotonic()
        self.status = 0
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", []), *HEADERS]
            if not any(name == POLICY[0] for name, _ in headers):
                headers.append(POLICY)
            if self.status in (408, 413):  # what is left of the body is not waited for
                headers.append((b"connection", b"close"))
            message = {**message, "headers": headers}
        await self._send(message)


class Body:
    """What comes in: no more than a body may hold, and in good time."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._size = 0
        self._whole = False
        self._expected = scope["method"] in ("POST", "PUT", "PATCH")
        self._most, self._seconds = MAX_BODY, BODY_SECONDS
        if scope["method"] == "POST" and scope["path"] in UPLOADS:
            self._most, self._seconds = UPLOADS[scope["path"]], FORM_SECONDS
        self._until = asyncio.get_running_loop().time() + self._seconds
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._most:
            raise _too_large(self._most)

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):  # all of it, however it trickles in
                message = await self._receive()
        except TimeoutError:
            raise ProblemError(408, f"The body did not come within {self._seconds:g} s.") from None
        if self._expected and message["type"] == "http.disconnect":  # no error of the service's
            raise ProblemError(400, "The client hung up before its request was whole.")
        self._whole = not message.get("more_body", False)
        self._size += len(message.get("body", b""))
        if self._size > self._most:
            raise _too_large(self._most)
        return message


class Rates:
    """So many requests a second for each client, with some at once."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, client: str) -> None:
        if not self._rate:
            return
        now = time.monotonic()
        most = self._rate * BURST
        left, since = self._left.pop(client, (most, now))
        left = min(most, left + (now - since) * self._rate)
        self._left[client] = (max(0.0, left - 1), now)
        if len(self._left) > MAX_CLIENTS:
            self._left.popitem(last=False)
        if left < 1:
            wait = max(1, round((1 - left) / self._rate))
            raise ProblemError(
                429,
                f"More than {self._rate:g} requests a second came from this address. Wait a "
                "little, or raise MOOT_RATE_PER_SECOND.",
                {"Retry-After": str(wait)},
            )


def _is_public(path: str) -> bool:
    """The page and the description of the calls hold nothing, and a browser opens them without;
    what is on air is for everybody, and its routes show no more than that."""
    return is_public(path) or path == "/openapi.json" or path.startswith(("/docs", ON_AIR))


def _too_large(most: int) -> ProblemError:
    said = f"{most // 1024} KiB" if most < 2**20 else f"{most // 2**20} MB"
    return ProblemError(413, f"The body is too large; {said} is the most.")


def client_of(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "-"


def host_name(host: str) -> str:
    """The name of a Host header, without its port; nothing where it is not one."""
    match = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?", host)
    return (match[1] or match[2]).lower() if match else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
