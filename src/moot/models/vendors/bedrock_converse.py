"""Amazon Bedrock, by its Converse API.

boto3 writes, signs and reads the messages. It knows only blocking calls over its own connections,
so here each request goes out over the client that all calls share: what is bounded, counted and
hung up there is so for Bedrock, too.
"""

import asyncio
import concurrent.futures
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast

import anyio.from_thread
import anyio.to_thread
import httpx2
from pydantic_ai.models.bedrock import BedrockConverseModel
from pydantic_ai.providers.bedrock import BedrockProvider

from moot.errors import ProviderAuthError
from moot.models.connection import MAX_EVENT, TooMuchError, at_the_end
from moot.models.providers import Vendor
from moot.models.vendors import Make

boto3: Any = import_module("boto3")  # it has no types
botocore: Any = import_module("botocore")
botocore_config: Any = import_module("botocore.config")
awsrequest: Any = import_module("botocore.awsrequest")

_THREADS = 1024  # each call waits in one for its next event; the library's own limit is 40
_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_LENGTH = 4  # bytes
_T = TypeVar("_T")


class _Prepared(Protocol):
    """A request of botocore's, signed."""

    method: str
    url: str
    headers: Mapping[str, str | bytes]
    body: bytes | str | None


def connect(
    vendor: Vendor, key: str, url: str, http: httpx2.AsyncClient, more: Mapping[str, str]
) -> Make:
    for name in ("boto3", "botocore"):  # at DEBUG they write down what they sign
        logging.getLogger(name).setLevel(logging.WARNING)
    client = _client(vendor, key, url, more)
    client.meta.events.register_first("before-send.bedrock-runtime", _Sending(http, key))
    provider = BedrockProvider(bedrock_client=client)
    return lambda name: BedrockConverseModel(name, provider=provider)


def _client(vendor: Vendor, key: str, url: str, more: Mapping[str, str]) -> Any:
    """boto3's client; without a key, with what it finds as AWS's own tools do."""
    access, secret, token = (more.get(name) for name in _CREDENTIALS)
    region = more.get("AWS_REGION") or more.get("AWS_DEFAULT_REGION")
    try:
        session = boto3.Session(
            aws_access_key_id=access,
            aws_secret_access_key=secret,
            aws_session_token=token,
            region_name=region,
            profile_name=None if key or access else more.get("AWS_PROFILE"),
        )
        whole = bool(access) == bool(secret)
        found = bool(key) or (whole and session.get_credentials() is not None)
    except Exception:  # a profile that is not there, say; its words may hold a key
        found, session = False, None
    if not found or session is None:
        raise ProviderAuthError(f"There is no key for {vendor.label}. Set {vendor.key}")
    if not session.region_name and not url:
        raise ProviderAuthError(f"There is no region for {vendor.label}. Set AWS_REGION")
    return session.client(
        "bedrock-runtime",
        region_name=session.region_name or "us-east-1",  # of an address that was set, for signing
        endpoint_url=url or None,
        config=botocore_config.Config(
            signature_version=botocore.UNSIGNED if key else "v4",
            retries={"total_max_attempts": 1, "mode": "standard"},
            ignore_configured_endpoint_urls=True,
            parameter_validation=False,
        ),
    )


class _Sending:
    """Answers botocore's question before it sends a request: it has been sent, and this came."""

    def __init__(self, http: httpx2.AsyncClient, key: str) -> None:
        self._http = http
        self._key = key

    def __call__(self, request: _Prepared, **_: object) -> Any:
        headers = {
            name: value.decode("latin-1") if isinstance(value, bytes) else value
            for name, value in request.headers.items()
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        asked = self._http.build_request(
            request.method, request.url, headers=headers, content=request.body or b""
        )
        loop = anyio.from_thread.run_sync(_loop)
        response = _wait(loop, lambda: self._http.send(asked, stream=True))
        return awsrequest.AWSResponse(
            request.url, response.status_code, dict(response.headers), _Body(response, loop)
        )


def _loop() -> asyncio.AbstractEventLoop:
    """The loop that waits for this call; its threads suffice for many such."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens = max(limiter.total_tokens, _THREADS)
    return asyncio.get_running_loop()


def _wait(loop: asyncio.AbstractEventLoop, work: Callable[[], Awaitable[_T]]) -> _T:
    """Have the loop do it, and block this thread meanwhile. If the call ends first, the work ends
    with it: whoever cancels a call does not wait for this thread."""

    async def do() -> _T:
        return await work()

    doing = asyncio.run_coroutine_threadsafe(do(), loop)
    with at_the_end(doing.cancel):
        try:
            return doing.result()
        except concurrent.futures.CancelledError:
            raise httpx2.ReadError("the call was given up") from None


class _Frames:
    """Counts the bytes of each event, which begins with its length: botocore keeps it until it is
    whole."""

    def __init__(self) -> None:
        self._left = 0  # of the event that is being read
        self._head = b""  # of its length

    def check(self, chunk: bytes) -> None:
        while chunk:
            if self._left:
                passed = min(self._left, len(chunk))
                self._left -= passed
                chunk = chunk[passed:]
                continue
            missing = _LENGTH - len(self._head)
            self._head, chunk = self._head + chunk[:missing], chunk[missing:]
            if len(self._head) == _LENGTH:
                self._left = max(int.from_bytes(self._head) - _LENGTH, 0)
                self._head = b""
            if self._left > MAX_EVENT:
                raise TooMuchError


class _Body:
    """The body of an answer as botocore reads it."""

    def __init__(self, response: httpx2.Response, loop: asyncio.AbstractEventLoop) -> None:
        self._response = response
        self._loop = loop

    def stream(self) -> Iterator[bytes]:
        chunks = self._response.aiter_raw()
        frames = _Frames() if self._response.status_code < 300 else None
        while chunk := _wait(self._loop, lambda: anext(chunks, b"")):
            if frames:
                frames.check(chunk)
            yield chunk

    def close(self) -> None:
        _wait(self._loop, lambda: cast(Awaitable[None], self._response.aclose()))
