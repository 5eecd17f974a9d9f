"""A debate's whole folder as a zip, and such a zip as a debate.

A zip comes from anywhere: its names, sizes and kinds of entries are checked before anything is
written, it is unpacked beside the debates under a name of its own, and it becomes a debate only if
a replay of it finds nothing wrong.
"""

import io
import os
import re
import shutil
import stat
import tempfile
import time
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from moot.core import labels
from moot.core.debate import Debate
from moot.core.ids import is_id
from moot.core.status import FINAL
from moot.errors import InputError, StateError, StorageError
from moot.store import files
from moot.store.replay import MAX_ENTRIES, Replay, read_folder
from moot.wire import codec

MAX_ZIP = 64 * 1024 * 1024
MAX_UNPACKED = files.MAX_BYTES
MAX_RATIO = 200
"""A text is packed to a fiftieth at best; what unpacks to more than that is a bomb."""
LABELS = "labels.json"
"""In a zip, beside the folder: the title and tags."""
STALE_SECONDS = 3600.0
_INSIDE = re.compile(
    r"(?:rounds/round-[0-9]{1,9}\.json|sources/S[1-9][0-9]{0,2}\.md"
    r"|[a-z]{1,20}(?:-[a-z]{1,20})?\.(?:json|md|html))"
)
_RECORD = re.compile(r"(decisions|worklogs)/(debate_[0-9]{8}_[0-9]{6}_[a-z2-7]{6})\.(?:json|md)")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_BEGINS = ".import-"


def packed(home: Path, debate: Debate) -> bytes:
    """The zip of a debate's folder, with its record and labels: the same bytes every time."""
    records = home / "records"
    root = records / "debates" / debate.id
    if root.is_symlink() or not root.is_dir():
        raise StateError("This debate has no files yet. They are written once it has begun.")
    found: dict[str, bytes] = {}
    with files.at_rest(root):
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if _INSIDE.fullmatch(name) and path.is_file() and not path.is_symlink():
                found[f"{debate.id}/{name}"] = path.read_bytes()
    for kind in files.WRITTEN[1:]:
        for end in (".json", ".md"):
            path = records / kind / f"{debate.id}{end}"
            if path.is_file() and not path.is_symlink():
                found[f"{kind}/{path.name}"] = path.read_bytes()
    called = {"debate": debate.id, "title": debate.title, "tags": list(debate.tags)}
    found[LABELS] = files.as_json(called)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in found.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return made.getvalue()


class Bundle:
    """A zip that was unpacked into a folder of its own, in `records`, until it is installed."""

    def __init__(self, home: Path, staging: Path, debate_id: str) -> None:
        self._home, self._staging = home, staging
        self.debate_id = debate_id
        self._notes: list[Path] = []  # records that were not there before
        self.replay: Replay = read_folder(staging, debate_id)
        self.debate = self._checked()

    def _checked(self) -> Debate:
        replay = self.replay
        if replay.issues or replay.debate is None:
            found = " ".join(replay.issues[:3]) or "It holds no debate."
            more = len(replay.issues) - 3
            rest = f" And {more} more." if more > 0 else ""
            raise InputError(f"The zip is not a debate as moot exported it: {found}{rest}", "file")
        if replay.debate.status not in FINAL and replay.debate.status != "paused":
            raise InputError(
                f"The debate was {replay.debate.status} when it was exported. Export it again once "
                "it is paused or has ended.",
                "file",
            )
        title, tags = self._labels()
        return replay.debate.but(title=title, tags=tags)

    def _labels(self) -> tuple[str, tuple[str, ...]]:
        try:
            told = codec.adapter(dict[str, object]).validate_json(
                (self._staging / LABELS).read_bytes()
            )
            tags = told.get("tags", [])
            if not isinstance(tags, list):
                raise ValueError("tags is not a list")
            return labels.title(str(told.get("title", ""))), labels.tags(map(str, tags))  # pyright: ignore[reportUnknownArgumentType]
        except FileNotFoundError:
            return "", ()
        except InputError as error:
            raise InputError(f"{LABELS}: {error.message}", "file") from None
        except ValueError:
            raise InputError(f"{LABELS} in the zip cannot be read.", "file") from None

    def install(self) -> bool:
        """Move it to where debates are: the folder at once, by its name. Says whether it was not
        there already. Blocking."""
        records, staged = self._home / "records", self._staging / "records"
        target = records / "debates" / self.debate_id
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(target):
            if not self._is_same(target):
                raise StateError(
                    f"There is a folder of {self.debate_id} already, with other files. Move it "
                    "away, or run `moot reindex` if it belongs here."
                )
            return False
        notes = [path for kind in files.WRITTEN[1:] for path in (staged / kind).glob("*")]
        for note in notes:
            there = records / note.parent.name / note.name
            if there.exists() and there.read_bytes() != note.read_bytes():
                raise StateError(f"There is another record already, at {there}.")
        for note in notes:
            folder = records / note.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / note.name).exists():
                self._notes.append(folder / note.name)
            files.write_whole(folder / note.name, note.read_bytes())
        (staged / "debates" / self.debate_id).rename(target)
        return True

    def _is_same(self, target: Path) -> bool:
        """Whether the same zip was installed before, by a process that died before its rows."""
        mine = self._staging / "records" / "debates" / self.debate_id / files.MANIFEST
        with suppress(OSError):
            return (target / files.MANIFEST).read_bytes() == mine.read_bytes()
        return False

    def withdraw(self) -> None:
        """Its rows could not be written: it is as if it had never come. Blocking."""
        files.Folder(self._home).remove(self.debate_id, record=False)
        for note in self._notes:
            note.unlink(missing_ok=True)


@contextmanager
def unpacked(home: Path, data: bytes) -> Generator[Bundle]:
    """A zip as a debate, checked and not yet installed. Raises InputError if it is not one."""
    records = home / "records"
    try:
        records.mkdir(parents=True, exist_ok=True)
        _sweep(records)
        staging = Path(tempfile.mkdtemp(prefix=_BEGINS, dir=records))
    except OSError as error:
        raise StorageError(f"{records} cannot be written: {error.strerror}.") from None
    try:
        yield Bundle(home, staging, _unpack(data, staging))
    except OSError as error:
        raise StorageError(
            f"The zip cannot be unpacked, at {error.filename or staging}: {error.strerror}."
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _sweep(records: Path) -> None:
    """What a process that died left of a zip."""
    for left in records.glob(f"{_BEGINS}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _unpack(data: bytes, staging: Path) -> str:
    """Write the entries below the folder; says whose debate they are."""
    if len(data) > MAX_ZIP:
        raise InputError(f"The zip is larger than {MAX_ZIP // 2**20} MB.", "file")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            debate_id, places = _places(archive.infolist())
            room = min(MAX_UNPACKED, MAX_RATIO * max(len(data), 1024))
            for entry, place in places:
                path = staging / place
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as packed_:
                    read = packed_.read(room + 1)  # whatever size it claims to have
                room -= len(read)
                if room < 0:
                    raise _wrong("unpacks to more than any debate's folder holds")
                path.write_bytes(read)
            return debate_id
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
            ValueError, UnicodeError, OverflowError) as error:  # fmt: skip
        raise InputError(f"The file is not a zip that can be read: {error}.", "file") from None


def _places(entries: list[zipfile.ZipInfo]) -> tuple[str, list[tuple[zipfile.ZipInfo, str]]]:
    """Where each entry belongs: only the names that moot gives its own files become paths."""
    if len(entries) > MAX_ENTRIES:
        raise _wrong("holds more files than any debate has")
    roots = {entry.filename.partition("/")[0] for entry in entries}
    ids = sorted(root for root in roots if is_id(root))
    if len(ids) != 1:
        held = "no debate" if not ids else "several debates"
        raise _wrong(f"holds {held}; `moot export ID --as zip` makes one of one debate")
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        name, mode = entry.filename, entry.external_attr >> 16
        if name.endswith("/") and not entry.file_size:
            continue  # a folder: those that are needed are made
        if entry.flag_bits & 1:
            raise _wrong("is encrypted")
        if mode and not stat.S_ISREG(mode):
            raise _wrong(f"holds a link or a device, {name[:80]!a}")
        place = _place(name, ids[0])
        if place in found:
            raise _wrong(f"holds {name[:80]!a} twice")
        found[place] = entry
    return ids[0], [(entry, place) for place, entry in found.items()]


def _place(name: str, debate_id: str) -> str:
    root, _, inside = name.partition("/")
    if name == LABELS:
        return LABELS
    if root == debate_id and _INSIDE.fullmatch(inside):
        return f"records/debates/{debate_id}/{inside}"
    record = _RECORD.fullmatch(name)
    if record and record[2] == debate_id:
        return f"records/{name}"
    raise _wrong(f"holds {name[:80]!a}, which is not a file of {debate_id}")


def _wrong(what: str) -> InputError:
    return InputError(f"The zip {what}.", "file")
