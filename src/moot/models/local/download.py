"""One file over HTTP into a part of it on disk, through huggingface_hub, which resumes it.

Its `hf_hub_download` begins anew after a broken download, so `http_get` below it is called here.
tests/unit/models/local/test_fetch.py holds it to that.
"""

import logging
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2

from moot.extras import install

_HEAD_SECONDS = 15.0  # for the hub to say what it has
_TIMEOUT = httpx2.Timeout(30.0, connect=15.0)
_BEYOND = 416  # the answer to a range that begins where the file ends
_PLAIN = {"Accept-Encoding": "identity"}

Progress = Callable[[int], None]
"""Hears how many bytes of the file are there."""


class SourceError(Exception):
    """A source that did not give what it should; the message says why, in one sentence."""


class _TooLargeError(SourceError):
    """More came than the file has."""


def client() -> httpx2.Client:
    """Proxies and certificates are those of the user's environment."""
    return httpx2.Client(follow_redirects=True, timeout=_TIMEOUT)


def get(http: httpx2.Client, url: str, accept: str) -> httpx2.Response:
    """A page."""
    try:
        return http.get(url, headers={"Accept": accept})
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _unreachable(url, error) from None


def from_hub(hub: str, repository: str, file: str, revision: str, size: int) -> str:
    """The address of a file on the hub, which must have that size there."""
    with _sentences(hub, file):
        library = import_module("huggingface_hub")
        url = library.hf_hub_url(repository, file, revision=revision, endpoint=hub.rstrip("/"))
        told = library.get_hf_file_metadata(url, token=False, timeout=_HEAD_SECONDS)
    if told.size not in (None, size):
        raise SourceError(f"{host(url)} has {file} in another size.")
    return url


def download(url: str, part: Path, most: int, progress: Progress, size: int | None) -> None:
    """Fetch until the part is the whole file, of `size` bytes if that is known, and of at most
    `most`. Whoever knows its hash checks it."""
    name = urlsplit(url).path.rpartition("/")[2]
    have = part.stat().st_size if part.exists() else 0
    if have > (most if size is None else size):
        part.unlink()  # it is of another file
        have = 0
    try:
        with _sentences(url, name), part.open("ab") as out:
            library = import_module("huggingface_hub.file_download")
            bar = _bar(most, progress, f"{name} at {host(url)} is larger than it should be.")
            try:
                library.http_get(
                    url, out, resume_size=have, headers=_PLAIN, expected_size=size, tqdm_class=bar
                )
            except httpx2.HTTPError as error:
                if not have or _status(error) != _BEYOND:
                    raise  # else it was whole before, which its hash will tell
    except _TooLargeError:
        part.unlink()
        raise
    finally:
        if part.exists() and not part.stat().st_size:
            part.unlink()  # there is nothing to resume


@contextmanager
def _sentences(url: str, name: str) -> Generator[None]:
    """Whatever the library raises, as a SourceError; what the disk refuses stays as it is."""
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # its warnings hold addresses
    try:
        yield
    except ModuleNotFoundError:
        raise SourceError(f"fetching needs huggingface_hub. {install('llama')}.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        if status := _status(error):
            raise SourceError(f"{host(url)} answers {status} for {name}.") from None
        raise _unreachable(url, error) from None
    except ConnectionError:
        raise SourceError("HF_HUB_OFFLINE is set.") from None
    except OSError as error:
        if error.errno:
            raise
        raise SourceError(f"{host(url)} did not give the whole of {name}.") from None


def _bar(most: int, progress: Progress, too_large: str) -> Any:
    """A progress bar that draws nothing, tells how far it is, and stops what grows too large."""

    class Bar:
        def __init__(self, *, initial: int = 0, **_: Any) -> None:
            self._done = initial

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self, count: int) -> None:
            self._done += count
            if self._done > most:
                raise _TooLargeError(too_large)
            progress(self._done)

    return Bar


def host(url: str) -> str:
    """Who is asked: all that may be shown of an address, which can hold a password."""
    try:
        return urlsplit(url).hostname or "the address"
    except ValueError:
        return "the address"


def _status(error: Exception) -> int | None:
    """The status of an answer that the library took for an error."""
    return getattr(getattr(error, "response", None), "status_code", None)


def _unreachable(url: str, error: Exception) -> SourceError:
    if isinstance(error, httpx2.TimeoutException):
        return SourceError(f"{host(url)} stopped answering.")
    said = (str(error) or type(error).__name__).splitlines()[0]
    why = re.sub(r"^\[.*?\] ", "", said).rstrip(".")
    return SourceError(f"{host(url)} cannot be reached ({why}).")
