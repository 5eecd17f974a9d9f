"""A client's connection to a service of the same loop, with no socket: it works in virtual time.

The client is a real one, and so is its limit on silence: what it would not wait for, it does not
get.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
from starlette.types import ASGIApp, Message


class Connection(httpx2.AsyncByteStream):
    """One call: what the service sends, as it sends it."""

    def __init__(self, app: ASGIApp, scope: dict[str, Any], body: bytes, silence: float) -> None:
        self._silence = silence
        self._sent: asyncio.Queue[Message] = asyncio.Queue()
        self._asked = [{"type": "http.request", "body": body, "more_body": False}]
        self._gone = asyncio.Event()
        self.silences: list[float] = []
        self._task = asyncio.create_task(app(scope, self._receive, self._sent.put))  # pyright: ignore[reportArgumentType]

    async def _receive(self) -> Message:
        if self._asked:
            return self._asked.pop()
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def next(self) -> Message:
        loop = asyncio.get_running_loop()
        began = loop.time()
        hearing = asyncio.ensure_future(self._sent.get())
        await asyncio.wait(
            {hearing, self._task}, timeout=self._silence, return_when=asyncio.FIRST_COMPLETED
        )
        self.silences.append(loop.time() - began)
        if hearing.done():
            return hearing.result()
        hearing.cancel()
        if self._task.done():
            self._task.result()
            raise httpx2.RemoteProtocolError("the service went silent")
        raise httpx2.ReadTimeout(f"nothing came for {self._silence} s")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            message = await self.next()
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body"):
                return

    async def aclose(self) -> None:
        """Hang up, wherever the service is."""
        self._gone.set()
        while not self._task.done():
            await asyncio.wait({self._task}, timeout=1.0)


class Transport(httpx2.AsyncBaseTransport):
    """Hands a client's requests to a service."""

    def __init__(self, app: ASGIApp, note: Callable[[Connection], None] = lambda _: None) -> None:
        self._app, self._note = app, note

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        scope: dict[str, Any] = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
            "method": request.method, "path": request.url.path, "root_path": "",
            "raw_path": request.url.raw_path, "query_string": request.url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        silence = request.extensions.get("timeout", {}).get("read") or 1e9
        connection = Connection(self._app, scope, await request.aread(), silence)
        self._note(connection)
        start = await connection.next()
        return httpx2.Response(start["status"], headers=start["headers"], stream=connection)
