"""Fetches a document from an address, and from nowhere that it must not.

Only http and https, only hosts that everybody can reach. A name is looked up once, its addresses
are checked, and the connection goes to the one that was checked, whatever the name means a moment
later. Each redirect is checked again. What is sent, and what it unpacks to, is bounded.
"""

import asyncio
import ipaddress
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from moot.errors import InputError

MAX_BYTES = 10 * 1024 * 1024
SECONDS = 20.0
MAX_REDIRECTS = 5
MAX_HEAD = 64 * 1024
PORTS = frozenset((80, 443, 8080, 8443))
_BROKEN = (
    OSError, EOFError, ValueError, asyncio.LimitOverrunError, zlib.error,
)  # fmt: skip
"""What a server that sends anything can make of a request."""
Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address gave."""

    url: str  # the last one, after redirects
    data: bytes
    media_type: str


async def resolve(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def is_public(address: str) -> bool:
    """Whether an address is one of the open internet."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


class Fetcher:
    """Fetches documents from public hosts. `resolve` and `allowed` are others in tests."""

    def __init__(
        self,
        resolve: Resolve = resolve,
        allowed: Callable[[str], bool] = is_public,
        ports: frozenset[int] = PORTS,
    ) -> None:
        self._resolve = resolve
        self._allowed = allowed
        self._ports = ports

    async def fetch(self, url: str, field: str) -> Fetched:
        try:
            async with asyncio.timeout(SECONDS):
                return await self._follow(url, field)
        except TimeoutError:
            raise InputError(f"{_shown(url)}: it took longer than {SECONDS:g} s.", field) from None
        except _BROKEN as error:
            name = type(error).__name__
            raise InputError(f"{_shown(url)}: it cannot be fetched ({name}).", field) from None

    async def _follow(self, url: str, field: str) -> Fetched:
        for _ in range(MAX_REDIRECTS + 1):
            parts, port = self._checked(url, field)
            address = await self._address(parts.hostname or "", port, url, field)
            answer = await _get(parts, port, address, url, field)
            if answer.status in (301, 302, 303, 307, 308) and "location" in answer.headers:
                url = urljoin(url, answer.headers["location"])
                continue
            if answer.status != 200:
                raise InputError(f"{_shown(url)}: it answered {answer.status}.", field)
            kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            return Fetched(url, answer.body, kind)
        raise InputError(f"{_shown(url)}: it redirects more than {MAX_REDIRECTS} times.", field)

    def _checked(self, url: str, field: str) -> tuple[SplitResult, int]:
        if any(ord(char) <= 32 or ord(char) == 127 for char in url):
            raise InputError(f"{_shown(url)}: an address holds no blanks.", field)
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise InputError(f"{_shown(url)}: only http and https are fetched.", field)
        if not parts.hostname or parts.username is not None or parts.password is not None:
            raise InputError(f"{_shown(url)}: an address names a host, and no user.", field)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if port not in self._ports:
            raise InputError(f"{_shown(url)}: port {port} is not one that pages are at.", field)
        return parts, port

    async def _address(self, host: str, port: int, url: str, field: str) -> str:
        """The address to connect to. Every address of the host must be public: one that is not
        says what the name is for."""
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise InputError(f"{_shown(url)}: there is no host {host!r}.", field) from None
        if not found or not all(map(self._allowed, found)):
            raise InputError(
                f"{_shown(url)}: {host} is not a public host, and only those are fetched from.",
                field,
            )
        return found[0]


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: dict[str, str]
    body: bytes


async def _get(parts: SplitResult, port: int, address: str, url: str, field: str) -> _Answer:
    """One request, to the address that was checked. TLS checks the name of the host."""
    host = parts.hostname or ""
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    reader, writer = await asyncio.open_connection(
        address, port, ssl=tls, server_hostname=host if tls else None, limit=MAX_HEAD
    )
    try:
        named = f"[{host}]" if ":" in host else host
        usual = 443 if tls else 80
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        ascii_path = path.encode("utf-8")
        lines = (
            b"GET " + b"".join(bytes([c]) if 32 < c < 127 else b"%%%02X" % c for c in ascii_path),
            b" HTTP/1.1\r\nHost: "
            + (named if port == usual else f"{named}:{port}").encode(
                "idna" if not named.isascii() else "ascii"
            ),
            b"\r\nUser-Agent: moot\r\nAccept: text/html, application/pdf, text/*, */*;q=0.5",
            b"\r\nAccept-Encoding: gzip, deflate\r\nConnection: close\r\n\r\n",
        )
        writer.write(b"".join(lines))
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        status, headers = _head(head)
        if status != 200:
            return _Answer(status, headers, b"")
        return _Answer(status, headers, await _body(reader, headers, url, field))
    finally:
        writer.close()


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *rest = head.decode("latin-1").split("\r\n")
    version, _, status = first.partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("it does not speak HTTP")
    named = (line.partition(":") for line in rest if ":" in line)
    return int(status[:3]), {name.strip().lower(): value.strip() for name, _, value in named}


async def _body(
    reader: asyncio.StreamReader, headers: dict[str, str], url: str, field: str
) -> bytes:
    coding = headers.get("content-encoding", "").lower()
    if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise InputError(f"{_shown(url)}: its encoding {coding[:20]!r} is not known.", field)
    unpack = zlib.decompressobj(47) if coding not in ("", "identity") else None
    sent, made = 0, bytearray()
    chunked = "chunked" in headers.get("transfer-encoding", "").lower()
    length = headers.get("content-length", "")
    left = int(length) if length.isdigit() and not chunked else None
    too_large = InputError(f"{_shown(url)}: it is larger than {MAX_BYTES // 2**20} MB.", field)
    if left is not None and left > MAX_BYTES:
        raise too_large
    while left is None or left > 0:
        piece = await _piece(reader, chunked=chunked, left=left)
        if not piece:
            break
        left = None if left is None else left - len(piece)
        sent += len(piece)
        made += unpack.decompress(piece, MAX_BYTES + 1 - len(made)) if unpack else piece
        if sent > MAX_BYTES or len(made) > MAX_BYTES or (unpack and unpack.unconsumed_tail):
            raise too_large
    return bytes(made)


async def _piece(reader: asyncio.StreamReader, *, chunked: bool, left: int | None) -> bytes:
    if not chunked:
        return await reader.read(65536 if left is None else min(left, 65536))
    size = int((await reader.readuntil(b"\r\n")).partition(b";")[0].strip() or b"0", 16)
    if not 0 <= size <= MAX_BYTES + 1:
        raise ValueError("a chunk that is too large")
    piece = await reader.readexactly(size)
    await reader.readexactly(2)
    return piece


def _shown(url: str) -> str:
    text = url[:120]
    return text if text.isprintable() else ascii(text)
