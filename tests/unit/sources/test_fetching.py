"""Addresses that must not be fetched: each is refused with a sentence."""

import asyncio
import gzip
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moot.errors import InputError
from moot.sources import fetching
from moot.sources.fetching import Fetched, Fetcher

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]

REFUSED = [
    ("file:///etc/passwd", "only http"),
    ("gopher://example.org/1", "only http"),
    ("ftp://example.org/a", "only http"),
    ("data:text/plain,hello", "only http"),
    ("http://127.0.0.1/", "not a public host"),
    ("http://localhost/", "not a public host"),
    ("http://2130706433/", "not a public host"),
    ("http://0x7f.1/", "not a public host"),
    ("http://0.0.0.0/", "not a public host"),
    ("http://10.1.2.3/", "not a public host"),
    ("http://172.16.0.1/", "not a public host"),
    ("http://192.168.1.1/", "not a public host"),
    ("http://169.254.169.254/latest/meta-data/", "not a public host"),
    ("http://100.64.0.1/", "not a public host"),
    ("http://224.0.0.1/", "not a public host"),
    ("http://[::1]/", "not a public host"),
    ("http://[fe80::1]/", "not a public host"),
    ("http://[fd00::1]/", "not a public host"),
    ("http://[::ffff:127.0.0.1]/", "not a public host"),
    ("http://[64:ff9b::7f00:1]/", "not a public host"),
    ("http://[2002:7f00:1::]/", "not a public host"),
    ("http://user:word@example.org/", "no user"),
    ("http://example.org:22/", "port 22"),
    ("http://example.org/a b", "no blanks"),
    ("http:///path", "names a host"),
]


@pytest.mark.parametrize(("url", "says"), REFUSED)
def test_what_is_not_public_is_not_fetched(url: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        asyncio.run(Fetcher().fetch(url, "sources[0].url"))


def fetch(answer: Answer, *, names: dict[str, list[list[str]]] | None = None) -> tuple[Any, int]:
    """What a server on this machine gives, which counts as public here; and how often it was
    asked. `names` are the addresses of hosts, one list for each time that they are looked up."""
    asked = 0

    async def main() -> tuple[Fetched | InputError, int]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            asked += 1
            try:
                await reader.readuntil(b"\r\n\r\n")
                await answer(writer)
            except OSError:
                pass  # who asked has heard enough
            finally:
                writer.close()

        async def resolve(host: str, port: int) -> list[str]:
            known = (names or {}).get(host)
            return known.pop(0) if known else ["127.0.0.1" if host == "docs.example" else host]

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        fetcher = Fetcher(resolve, lambda address: address == "127.0.0.1", frozenset((port, 80)))
        async with server:
            try:
                return await fetcher.fetch(f"http://docs.example:{port}/a", "url"), asked
            except InputError as error:
                return error, asked

    return asyncio.run(main())


def sends(*pieces: bytes, forever: bytes = b"") -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
        await writer.drain()
        while forever:
            writer.write(forever)
            await writer.drain()

    return answer


def to(place: str) -> Answer:
    return sends(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\n\r\n".encode())


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
CHUNK = b"1000\r\n" + b"a" * 4096 + b"\r\n"
PACKED = gzip.compress(bytes(20_000_000))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (to("http://10.0.0.1/"), "not a public host"),
        (to("file:///etc/passwd"), "only http"),
        (to("/a"), "redirects more than 5 times"),
        (sends(OK + b"Content-Length: 99999999\r\n\r\n"), "larger than 10 MB"),
        (sends(OK + b"\r\n", forever=b"x" * 65536), "larger than 10 MB"),
        (sends(OK + b"Transfer-Encoding: chunked\r\n\r\n", forever=CHUNK),
         "larger than 10 MB"),
        (sends(OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n"), "cannot be fetched"),
        (sends(OK + b"Content-Encoding: gzip\r\n\r\n", PACKED), "larger than 10 MB"),
        (sends(OK + b"Content-Encoding: gzip\r\n\r\nnot packed"), "cannot be fetched"),
        (sends(OK + b"Content-Encoding: br\r\n\r\nabc"), "is not known"),
        (sends(b"HTTP/1.1 200 OK\r\n", forever=b"X-Pad: " + b"y" * 9000 + b"\r\n"),
         "cannot be fetched"),
        (sends(b"SSH-2.0-OpenSSH\r\n\r\n"), "cannot be fetched"),
        (sends(b"HTTP/1.1 404 Not Found\r\n\r\n"), "answered 404"),
        (sends(), "cannot be fetched"),
    ],
)  # fmt: skip
def test_what_a_server_sends_is_bounded(answer: Answer, says: str) -> None:
    found, _ = fetch(answer)
    assert isinstance(found, InputError), found
    assert re.search(says, found.message), found.message


def test_a_name_that_changes_is_refused_when_it_does() -> None:
    names = {"docs.example": [["127.0.0.1"], ["10.0.0.1"]]}
    found, asked = fetch(to("/again"), names=names)
    assert "not a public host" in found.message
    assert asked == 1  # the second address was never connected to
    mixed, asked = fetch(to("/again"), names={"docs.example": [["127.0.0.1", "10.0.0.1"]]})
    assert "not a public host" in mixed.message
    assert asked == 0


def test_a_server_that_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "SECONDS", 0.3)

    async def silence(_: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    found, _ = fetch(silence)
    assert "took longer" in found.message


def test_a_document_is_fetched() -> None:
    packed = gzip.compress(b"The ledger moves.")
    found, _ = fetch(sends(OK + b"Content-Encoding: gzip\r\n\r\n" + packed))
    assert (found.data, found.media_type) == (b"The ledger moves.", "text/plain")
