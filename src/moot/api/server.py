"""uvicorn, less patient: with those who dawdle over their request, and at the end."""

import asyncio
import errno
import resource
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from moot.api import problems
from moot.errors import InputError

HEAD_SECONDS = 10.0
"""How long a client may take for the head of a request."""
BODY_SECONDS = 22.0
"""And for its body, also if nobody reads it; the gate refuses, in words, a little sooner."""
HEAD_BYTES = 64 * 1024
WRITE_BUFFER = 16 * 1024
"""Bytes that wait for one client before its stream waits too; the system's buffer comes on top."""
GOODBYE_SECONDS = 3
TRANSPORT = "moot.transport"


class Connection(HttpToolsProtocol):
    """One client's connection: its request must come in good time and be of a decent size."""

    _deadline: asyncio.TimerHandle | None = None
    _in_head = True
    _head = 0  # bytes of a head that is not whole yet

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        self._expect(HEAD_SECONDS, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        began_in_head = self._in_head
        super().data_received(data)
        if began_in_head and self._in_head:
            self._head += len(data)
            if self._head > HEAD_BYTES:
                self._refuse(431, "The head of the request is too long.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        if self._deadline is None:  # another request on a connection that was kept
            self._expect(HEAD_SECONDS, self._too_slow)
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]
        scope["extensions"] = {TRANSPORT: {"transport": self.transport}}

    def on_headers_complete(self) -> None:
        self._in_head, self._head = False, 0
        self._expect(BODY_SECONDS, self.transport.close)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._came()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "That is not an HTTP request.")

    def _expect(self, seconds: float, otherwise: Callable[[], None]) -> None:
        """The next part of the request, within so many seconds."""
        self._came()
        self._deadline = self.loop.call_later(seconds, otherwise)

    def _came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._refuse(408, f"The request did not come within {HEAD_SECONDS:g} s.")

    def _refuse(self, status: int, detail: str) -> None:
        self._came()
        if self.transport.is_closing():
            return
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is None or cycle.response_complete:
            body = problems.document(status, detail)
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
                f"content-type: {problems.MEDIA_TYPE}\r\nx-content-type-options: nosniff\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()


class Server(uvicorn.Server):
    """Says when it is ready, and goodbye to the streams before it waits for them."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[["Server"], None],
        goodbye: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._goodbye = goodbye

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready(self)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """As uvicorn does, but without raising the signal again at the end: what runs here is let
        go in good order first."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._goodbye()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """The socket to serve on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except (OSError, UnicodeError) as error:
        sock.close()
        if isinstance(error, socket.gaierror | UnicodeError) or error.errno == errno.EADDRNOTAVAIL:
            raise InputError(
                f"{host} is not an address of this machine. Choose one with --host or MOOT_HOST.",
                "host",
            ) from None
        raise InputError(
            f"{host} port {port} cannot be listened on: {error.strerror}. "
            "Choose another with --port or MOOT_PORT (0 takes any that is free).",
            "port",
        ) from None
    return sock


def more_files() -> None:
    """Every reader is an open file: take as many as the system allows this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def config(app: Any, trusted_proxies: str | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        loop="auto",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=trusted_proxies is not None,
        forwarded_allow_ips=trusted_proxies,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GOODBYE_SECONDS,
        backlog=4096,
    )
