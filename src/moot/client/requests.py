"""Requests to a moot elsewhere: what is sent, how long is waited, and what can go wrong."""

import json
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

import httpx2

from moot.core.clean import visible
from moot.errors import (
    InputError,
    MootError,
    NotFoundError,
    ProviderError,
    StateError,
    StorageError,
)
from moot.wire import sse

T = TypeVar("T")
MAX_BYTES = 128 * 1024 * 1024
"""No answer of moot's comes near."""
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0
SILENT_SECONDS = 45.0
"""A stream says something every 15 s; one that is silent for so long is cut."""
WRONG = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading raises of an answer that has another shape."""


class UnreachableError(MootError):
    """No moot answers there now; it may later."""

    code = "HTTP_ERR_UNREACHABLE"


class BrokenError(UnreachableError):
    """The connection broke before the answer was whole: what was asked for may have been done."""


class Wire:
    """One address, and the token for it."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.answered = False  # whether a moot was ever there
        self._has_token = bool(token)
        self._http = _client(url, token)
        self.url = str(self._http.base_url.copy_with(username=None, password=None)).rstrip("/")

    async def close(self) -> None:
        await self._http.aclose()

    async def object(self, path: str) -> dict[str, Any]:
        said = await self.json("GET", path)
        return self.read(lambda: {str(name): value for name, value in said.items()})

    async def json(
        self,
        method: str,
        path: str,
        asked: dict[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> Any:
        content = await self.ask(
            method, path, asked, params=params, headers=headers, seconds=seconds
        )
        return self.read(json.loads, content)

    async def ask(
        self,
        method: str,
        path: str,
        asked: dict[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> bytes:
        """What the server answers, if it is what was asked for; else the right error."""
        sent = {"Content-Type": "application/json"} if method != "GET" else {}
        body = json.dumps(asked).encode() if asked is not None else None
        given = {name: value for name, value in (params or {}).items() if value is not None}
        timeout = httpx2.Timeout(seconds or ANSWER_SECONDS, connect=CONNECT_SECONDS)
        sent = {**sent, **(headers or {})}
        try:
            async with self._http.stream(
                method, path, content=body, params=given, headers=sent, timeout=timeout
            ) as answer:
                content = await self._whole(answer)
        except httpx2.RequestError as error:
            raise self._lost(error) from None
        if not answer.is_success:
            self._refuse(answer, content)
        self.answered = True
        return content

    async def _whole(self, answer: httpx2.Response) -> bytes:
        pieces: list[bytes] = []
        size = 0
        async for piece in answer.aiter_bytes():
            size += len(piece)
            if size > MAX_BYTES:
                raise self._foreign()
            pieces.append(piece)
        return b"".join(pieces)

    def read(self, reader: Callable[..., T], *said: Any) -> T:
        try:
            return reader(*said)
        except WRONG:
            raise self._foreign() from None

    async def listen(
        self, path: str, after: int, begun: Callable[[], None] = lambda: None
    ) -> AsyncGenerator[sse.Message]:
        """What one connection gives, until it ends or breaks; `begun` is told that it stands."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        timeout = httpx2.Timeout(SILENT_SECONDS, connect=CONNECT_SECONDS)
        parser, streaming = sse.Parser(), False
        try:
            async with self._http.stream("GET", path, headers=headers, timeout=timeout) as answer:
                if answer.status_code == 204:
                    yield sse.Message("end", "{}")
                    return
                if answer.status_code != 200:
                    self._refuse(answer, await self._whole(answer))
                if _kind(answer) != "text/event-stream":
                    raise self._foreign()
                streaming = True
                begun()
                async for chunk in answer.aiter_bytes():
                    for message in self.read(parser.feed, chunk):
                        yield message
        except httpx2.RequestError as error:
            if streaming:
                raise BrokenError(f"The connection to {self.url} was lost.") from None
            raise self._lost(error) from None

    # --- what can go wrong ---

    def _refuse(self, answer: httpx2.Response, content: bytes) -> None:
        """Raise what a problem document says; anything else is no answer of moot's."""
        status = answer.status_code
        if _kind(answer) != "application/problem+json":
            if status == 503 and _kind(answer) == "application/json":  # /readyz says what is wrong
                raise StorageError(f"The moot at {self.url} is not ready: {_said(content)}")
            if status in (502, 503, 504):
                raise UnreachableError(f"The moot at {self.url} is away now ({status}).")
            raise self._foreign()
        problem = cast(dict[str, Any], self.read(lambda: dict(json.loads(content))))
        detail = visible(str(problem.get("detail")))[:1000]
        code, field = problem.get("code"), visible(problem.get("field"))
        if status == 401:
            raise InputError(self._token_problem(), "MOOT_TOKEN")
        if status in (408, 429):
            raise UnreachableError(detail)
        if code == InputError.code:
            raise (NotFoundError if status == 404 else InputError)(detail, field)
        if code == StateError.code:
            raise StateError(detail)
        if code == StorageError.code:
            raise StorageError(detail)
        if isinstance(code, str) and code.startswith("DEBATE_ERR_PROVIDER"):
            raise ProviderError(detail)
        if status == 404:
            raise InputError(self._unknown())
        if status < 500:
            raise InputError(detail)
        raise UnreachableError(f"The moot at {self.url} failed: {detail}")

    def _token_problem(self) -> str:
        if self._has_token:
            return (
                f"The moot at {self.url} refused the token in MOOT_TOKEN: "
                "set it to the one that the server was given."
            )
        return (
            f"The moot at {self.url} wants a token, and MOOT_TOKEN is not set: "
            "set it to the one that the server was given."
        )

    def _unknown(self) -> str:
        path = self._http.base_url.path
        if path.strip("/"):
            root = self.url.removesuffix(path.rstrip("/"))
            return f"There is no moot at {self.url}. Take the path off MOOT_URL: {root}."
        return f"The moot at {self.url} does not know this; it may be older."

    def _lost(self, error: httpx2.RequestError) -> UnreachableError:
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            return UnreachableError(f"No moot answers at {self.url}{self._why(error)}")
        if isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
            return self._foreign()
        if isinstance(error, httpx2.TimeoutException):
            return BrokenError(f"The moot at {self.url} did not answer in time.")
        return BrokenError(f"The connection to {self.url} broke before it had answered.")

    def _why(self, error: httpx2.RequestError) -> str:
        """What keeps the connection from being made, and how to mend it."""
        if isinstance(error, httpx2.ConnectTimeout):
            return f" within {CONNECT_SECONDS:g} s. Check MOOT_URL."
        causes = list(_causes(error))
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            return ": that host name is not known. Check MOOT_URL."
        if any(_is_certificate(cause) for cause in causes):
            return ": its certificate was refused."
        if any(isinstance(cause, ssl.SSLError) for cause in causes):
            return ": it does not speak https. Perhaps MOOT_URL should begin with http://."
        return ". Start one with `moot serve`, or unset MOOT_URL."

    def _foreign(self) -> UnreachableError:
        part = ", its path too" if self._http.base_url.path.strip("/") else ""
        return UnreachableError(
            f"{self.url} answers, but not as a moot of this version does. Check MOOT_URL{part}."
        )


def _client(url: str, token: str | None) -> httpx2.AsyncClient:
    """Nothing of the environment but what Settings read; a connection for each request, so that
    none is used that the server has closed; no redirect is followed, least of all with a token."""
    headers: dict[str, str] = {"Accept-Encoding": "identity"}
    if token:
        _check_token(token)
        headers["Authorization"] = f"Bearer {token}"
    plain = url.lower().startswith("http:")  # no certificate is read, and none would be accepted
    try:
        client = httpx2.AsyncClient(
            base_url=url,
            headers=headers,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
            timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            limits=httpx2.Limits(max_keepalive_connections=0),
            follow_redirects=False,
            trust_env=False,
        )
    except (httpx2.InvalidURL, ValueError):
        raise InputError(f"MOOT_URL: {url[:200]!a} is no address.", "MOOT_URL") from None
    if not _is_server(client.base_url):
        raise InputError(f"MOOT_URL: {url[:200]!a} is no address of a server.", "MOOT_URL")
    return client


def _is_server(url: httpx2.URL) -> bool:
    """Whether it can be asked: a name of the right size, a port that exists, nothing after it."""
    parts = url.raw_host.removesuffix(b".").split(b".")
    fits = len(url.raw_host) <= 253 and all(0 < len(part) <= 63 for part in parts)
    return fits and (url.port or 0) <= 65535 and not url.query and not url.fragment


def _check_token(token: str) -> None:
    if "\n" in token or "\r" in token:
        what = "it holds a line break"
    elif not token.isascii():
        what = "it is not plain ASCII"
    elif not token.isprintable():
        what = "it holds a control character"
    else:
        return
    raise InputError(f"MOOT_TOKEN cannot be sent: {what}.", "MOOT_TOKEN")


def _kind(answer: httpx2.Response) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def _said(content: bytes) -> str:
    return visible(content[:300].decode("utf-8", "replace"))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_certificate(error: BaseException) -> bool:
    return isinstance(error, ssl.SSLCertVerificationError) or "CERTIFICATE" in str(error)
