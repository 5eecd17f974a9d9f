"""Bodies in chunks, joined: what comes out is what h11 alone makes of the same bytes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import h11
import httpx2
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.stress import examples

from moot.models.chunks import Together
from moot.models.connection import Exchange, hanging_up, http_client

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = st.one_of(
    st.binary(min_size=1, max_size=40).map(lambda data: b"%x\r\n%s\r\n" % (len(data), data)),
    st.sampled_from(
        [
            b"3;a=b\r\nabc\r\n",
            b"1 \r\n2\r\n",
            b"000A\r\n0123456789\r\n",
            b"2\r\n\r\n\r\n",
            b"3\r\nab\r\n",
            b"zz\r\n",
            b"\r\n",
            b"-1\r\nx\r\n",
            b"123456789\r\nx\r\n",
            b"4\nabcd\n",
        ]
    ),
)
END = st.sampled_from([b"0\r\n\r\n", b"0\r\nA: b\r\n\r\n", b"0\r\n\r\nHTTP/1.1", b"", b"0"])


def read(reads: list[bytes], *, joined: bool) -> tuple[bytes, object, int]:
    """The data, how the body ended, and how many events it took."""
    conn = h11.Connection(h11.CLIENT)
    asked = h11.Request(method="GET", target="/", headers=[("Host", "x")])
    for event in (asked, h11.EndOfMessage()):
        conn.send(event)
    conn.receive_data(HEAD)
    assert isinstance(conn.next_event(), h11.Response)
    if joined:
        state: Any = conn
        state._reader = Together(state._reader)
    data, count = b"", 0
    for one in [*reads, b""]:
        conn.receive_data(one)
        while True:
            try:
                event = conn.next_event()
            except h11.RemoteProtocolError as error:
                return data, str(error), count
            if isinstance(event, h11.Data):
                data += event.data
                count += 1
            elif event is h11.NEED_DATA:
                break
            else:
                return data, (type(event), getattr(event, "headers", None)), count
    return data, conn.trailing_data, count


@example([b"1\r\na\r\n"] * 9, b"0\r\n\r\n", [])
@example([b"1\r\na\r\n", b"1;x\r\nb\r\n", b"1\r\nc\r\n"], b"0\r\n\r\n", [8])
@given(st.lists(CHUNK, max_size=12), END, st.lists(st.integers(1, 400), max_size=6))
@settings(max_examples=examples(600))
def test_what_is_joined_is_what_h11_says(chunks: list[bytes], end: bytes, cuts: list[int]) -> None:
    body = b"".join(chunks) + end
    places = sorted({0, len(body), *(min(cut, len(body)) for cut in cuts)})
    reads = [body[a:b] for a, b in pairwise(places)]
    data, ended, count = read(reads, joined=True)
    assert (data, ended) == read(reads, joined=False)[:2]
    if not cuts and all(chunk == b"1\r\na\r\n" for chunk in chunks):
        assert count <= 1


def test_a_stream_of_a_call_comes_joined_and_its_connection_is_kept() -> None:
    """With the libraries as they are installed here: a new version may be built otherwise."""
    body = b"".join(b"%x\r\ndata: %d\n\n\r\n" % (8 + len(str(n)), n) for n in range(300))
    kind = b"Content-Type: text/event-stream\r\n\r\n"
    answer = HEAD[:-2] + kind + body + b"0\r\n\r\n"
    opened: list[int] = []
    sizes: list[int] = []
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(1)
        with suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(answer)
        writer.close()
        await writer.wait_closed()
        ended.set()

    class Noting(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for one in self._stream:
                sizes.append(len(one))
                yield one

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def call() -> bytes:
        exchange = Exchange(read=Noting)
        async with hanging_up(exchange), http.stream("GET", url) as response:
            return await response.aread()

    async def work() -> None:
        nonlocal url, http
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with http_client(trust_env=False) as http:
            for _ in range(2):
                said = await asyncio.create_task(call())
                assert said.count(b"data: ") == 300
        server.close()
        await ended.wait()

    url, http = "", httpx2.AsyncClient()
    asyncio.run(work())
    assert len(opened) == 1
    assert len(sizes) < 60
