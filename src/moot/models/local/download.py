"""One file over HTTP into a part of it on disk, going on where the part ends."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

TRIES = 4  # of a connection that breaks, before it has brought anything more
_PAUSE = 0.5  # seconds before the next try
_PARTIAL, _BEYOND = 206, 416  # answers to a range
_TIMEOUT = httpx2.Timeout(30.0, connect=15.0)

Progress = Callable[[int], None]
"""Hears how many bytes of the file are there."""


class SourceError(Exception):
    """A source that did not give what it should; the message says why, in one sentence."""


def client() -> httpx2.Client:
    """Proxies and certificates are those of the user's environment."""
    return httpx2.Client(follow_redirects=True, timeout=_TIMEOUT)


def download(
    http: httpx2.Client, url: str, part: Path, most: int, progress: Progress, size: int | None
) -> None:
    """Until the part is the whole file, which has `size` bytes, if that is known, or `most`."""
    problem, furthest, left = "", -1, TRIES
    while left:
        try:
            if _finish(http, url, part, most, progress, size):
                return
            problem = f"{host(url)} ended the file too early"
        except httpx2.TimeoutException:
            problem = f"{host(url)} stopped answering"
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            problem = f"{host(url)} cannot be reached ({_why(error)})"
        have = _size(part)
        if not have:
            break  # where nothing comes at all, asking again does not help
        left = TRIES if have > furthest else left - 1
        if have <= furthest:
            time.sleep(_PAUSE)
        furthest = max(have, furthest)
    raise SourceError(f"{problem}.")


def get(http: httpx2.Client, url: str, accept: str) -> httpx2.Response:
    """A page."""
    try:
        return http.get(url, headers={"Accept": accept})
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise SourceError(f"{host(url)} cannot be reached ({_why(error)}).") from None


def _finish(
    http: httpx2.Client, url: str, part: Path, most: int, progress: Progress, size: int | None
) -> bool:
    """Fetch what is missing; whether the file is whole now."""
    have = _size(part)
    if size is not None and have == size:
        return True
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with http.stream("GET", url, headers=headers) as answer:
        if answer.status_code == _BEYOND and have:
            if answer.headers.get("content-range") == f"bytes */{have}":
                return True  # it was whole before
            part.unlink()  # more than there is: it was another file
            return _finish(http, url, part, most, progress, size)
        if not answer.is_success:
            raise SourceError(f"{host(url)} answers {answer.status_code} for {_file(url)}.")
        start, whole = _range(answer)
        if size is not None and whole not in (None, size):
            raise SourceError(f"{host(url)} has {_file(url)} in another size.")
        whole = size or whole
        with part.open("r+b" if part.exists() else "wb") as out:
            out.truncate(start if start <= have else 0)
            at = out.seek(0, 2)
            if at != start:
                return False  # not the bytes that were asked for
            for block in answer.iter_raw():  # in no larger blocks: a cut would lose a begun one
                at += len(block)
                if at > most:
                    part.unlink()
                    raise SourceError(f"{_file(url)} at {host(url)} is larger than it should be.")
                out.write(block)
                progress(at)
    return at == whole if whole is not None else True


def _range(answer: httpx2.Response) -> tuple[int, int | None]:
    """Where the answer begins in the file, and how large the whole is, where that is told."""
    if answer.status_code == _PARTIAL:
        told = re.match(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("content-range", ""))
        if told:
            return int(told[1]), int(told[2]) if told[2] != "*" else None
    length = answer.headers.get("content-length", "")
    return 0, int(length) if length.isdigit() else None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def host(url: str) -> str:
    """Who is asked: all that may be shown of an address, which can hold a password."""
    try:
        return urlsplit(url).hostname or "the address"
    except ValueError:
        return "the address"


def _file(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]


def _why(error: Exception) -> str:
    said = str(error) or type(error).__name__
    return re.sub(r"^\[.*?\] ", "", said.splitlines()[0]).rstrip(".")
