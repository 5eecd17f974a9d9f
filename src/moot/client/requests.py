"""Requests to a moot elsewhere: what is sent, how long is waited, and what can go wrong."""

import json
import socket
import ssl
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, TypeVar

import httpx2

from moot import errors
from moot.core.clean import visible
from moot.errors import InputError, MootError, NotFoundError, StorageError
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
KINDS: dict[object, type[MootError]] = {
    kind.code: kind
    for kind in (
        errors.StateError, errors.StorageError, errors.PacketError, errors.BudgetError,
        errors.CancelledError, errors.ProviderUnavailableError, errors.ProviderAuthError,
        errors.ProviderRateLimitError, errors.ProviderTimeoutError, errors.ProviderRefusedError,
        errors.ProviderEmptyError, errors.ProviderInvalidError, errors.ProviderContextError,
        errors.ProviderUnknownModelError,
    )
}  # fmt: skip
"""The errors that a problem document names by their code, beside InputError."""


class UnreachableError(MootError):
    """No moot answers there now; it may later."""

    code = "HTTP_ERR_UNREACHABLE"


class BrokenError(UnreachableError):
    """The connection broke before the answer was whole: what was asked for may have been done."""


class Wire:
    """One server, and the token for it."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.answered = False  # whether a moot was ever there
        self._has_token = bool(token)
        self._http = _client(url, token)
        self.url = str(self._http.base_url.copy_with(username=None, password=None)).rstrip("/")

    async def close(self) -> None:
        await self._http.aclose()

    async def call(
        self,
        reader: Callable[[Any], T],
        method: str,
        path: str,
        asked: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> T:
        """What the reader makes of the JSON that `ask` gets."""
        content = await self.ask(method, path, asked, **options)
        return self.read(lambda: reader(json.loads(content)))

    async def ask(
        self,
        method: str,
        path: str,
        asked: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
        content: bytes | None = None,
    ) -> bytes:
        """What the server answers; raises what its problem document says, if it refuses."""
        sent = {"Content-Type": "application/json"} if method != "GET" else {}
        body = json.dumps(asked, default=dict).encode() if asked is not None else content
        given = {name: value for name, value in (params or {}).items() if value is not None}
        timeout = httpx2.Timeout(seconds or ANSWER_SECONDS, connect=CONNECT_SECONDS)
        sent |= headers or {}
        try:
            async with self._http.stream(
                method, path, content=body, params=given, headers=sent, timeout=timeout
            ) as answer:
                content = await self._whole(answer)
        except httpx2.RequestError as error:
            raise self._lost(error) from None
        if not answer.is_success:
            raise self._refusal(answer, content)
        self.answered = True
        return content

    async def _whole(self, answer: httpx2.Response) -> bytes:
        content = bytearray()
        async for piece in answer.aiter_bytes():
            content += piece
            if len(content) > MAX_BYTES:
                raise self._foreign()
        return bytes(content)

    def read(self, reader: Callable[..., T], *said: Any) -> T:
        """What the reader returns; an answer of another shape is not moot's."""
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
                    raise self._refusal(answer, await self._whole(answer))
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

    def _refusal(self, answer: httpx2.Response, content: bytes) -> MootError:
        """What a problem document says; anything else is not an answer of moot's."""
        status, kind = answer.status_code, _kind(answer)
        if kind != "application/problem+json":
            if status == 503 and kind == "application/json":  # /readyz says what is wrong
                said = visible(content[:300].decode("utf-8", "replace"))
                return StorageError(f"The moot at {self.url} is not ready: {said}")
            if status in (502, 503, 504):
                return UnreachableError(f"The moot at {self.url} is away now ({status}).")
            return self._foreign()
        problem = self.read(lambda: dict[str, Any](json.loads(content)))
        detail = visible(str(problem.get("detail")))[:1000]
        code, field = problem.get("code"), visible(problem.get("field"))
        if status == 401:
            return InputError(self._token_problem(), "MOOT_TOKEN")
        if status in (408, 429):
            return UnreachableError(detail)
        if code == InputError.code:
            return (NotFoundError if status == 404 else InputError)(detail, field)
        if code in KINDS:
            return KINDS[code](detail)
        if status == 404:
            return InputError(self._unknown())
        if status < 500:
            return InputError(detail)
        return UnreachableError(f"The moot at {self.url} failed: {detail}")

    def _token_problem(self) -> str:
        what = "refused the token in MOOT_TOKEN"
        if not self._has_token:
            what = "wants a token, and MOOT_TOKEN is not set"
        return f"The moot at {self.url} {what}: set it to the one that the server was given."

    def _unknown(self) -> str:
        path = self._http.base_url.path
        if path.strip("/"):
            root = self.url.removesuffix(path.rstrip("/"))
            return f"There is no moot at {self.url}. Take the path off MOOT_URL: {root}."
        return f"The moot at {self.url} does not know this; it may be older."

    def _lost(self, error: httpx2.RequestError) -> UnreachableError:
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            return UnreachableError(f"No moot answers at {self.url}{_why(error)}")
        if isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
            return self._foreign()
        if isinstance(error, httpx2.TimeoutException):
            return BrokenError(f"The moot at {self.url} did not answer in time.")
        return BrokenError(f"The connection to {self.url} broke before it had answered.")

    def _foreign(self) -> UnreachableError:
        part = ", its path too" if self._http.base_url.path.strip("/") else ""
        return UnreachableError(
            f"{self.url} answers, but not as a moot of this version does. Check MOOT_URL{part}."
        )


def form(fields: Mapping[str, str], name: str, file: str, data: bytes) -> tuple[bytes, str]:
    """A form with one file in it, and its media type."""
    boundary = f"moot-{uuid.uuid4().hex}"
    said = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in fields.items()
    )
    quoted = file.replace("\\", "_").replace('"', "%22").replace("\r", " ").replace("\n", " ")
    said += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{quoted}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    body = said.encode("utf-8", "replace") + data + f"\r\n--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"


def items(reader: Callable[[Any], T]) -> Callable[[Any], list[T]]:
    """How a list is read, each item cleaned of what could harm a terminal."""
    return lambda said: [reader(item) for item in visible(said["items"])]


def _client(url: str, token: str | None) -> httpx2.AsyncClient:
    """It reads nothing from the environment, follows no redirect (least of all with a token), and
    opens a connection for each request, so that none is used that the server has closed."""
    headers: dict[str, str] = {"Accept-Encoding": "identity"}
    if token:
        _check_token(token)
        headers["Authorization"] = f"Bearer {token}"
    plain = url.lower().startswith("http:")  # no certificate is read, and none would be accepted
    wrong = InputError(f"MOOT_URL is not a valid URL of a server: {url[:200]!a}.", "MOOT_URL")
    try:
        client = httpx2.AsyncClient(
            base_url=url,
            headers=headers,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
            limits=httpx2.Limits(max_keepalive_connections=0),
            trust_env=False,
        )
    except (httpx2.InvalidURL, ValueError):
        raise wrong from None
    if not _is_server(client.base_url):
        raise wrong
    return client


def _is_server(url: httpx2.URL) -> bool:
    """Whether it can be asked: a name of the right size, a port that exists, nothing after it."""
    parts = url.raw_host.removesuffix(b".").split(b".")
    fits = len(url.raw_host) <= 253 and all(0 < len(part) <= 63 for part in parts)
    return fits and (url.port or 0) <= 65535 and not url.query and not url.fragment


def _check_token(token: str) -> None:
    if "\n" in token or "\r" in token:
        what = "a line break"
    elif not token.isascii():
        what = "characters that are not plain ASCII"
    elif not token.isprintable():
        what = "a control character"
    else:
        return
    raise InputError(f"MOOT_TOKEN cannot be sent: it contains {what}.", "MOOT_TOKEN")


def _kind(answer: httpx2.Response) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def _why(error: httpx2.RequestError) -> str:
    """What keeps the connection from being made, and how to mend it."""
    if isinstance(error, httpx2.ConnectTimeout):
        return f" within {CONNECT_SECONDS:g} s. Check MOOT_URL."
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return ": that host name is not known. Check MOOT_URL."
        if isinstance(cause, ssl.SSLCertVerificationError) or "CERTIFICATE" in str(cause):
            return ": its certificate was refused."
        if isinstance(cause, ssl.SSLError):
            return ": it does not speak https. Perhaps MOOT_URL should begin with http://."
        cause = cause.__cause__ or cause.__context__
    return ". Start one with `moot serve`, or unset MOOT_URL."
