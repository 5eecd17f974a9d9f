"""The files of a debate: written whole or not at all, and listed with their hashes."""

import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from moot.core.debate import Debate, Turn
from moot.core.events import Event
from moot.core.followups import Followup
from moot.core.format import digest
from moot.core.status import FINAL
from moot.errors import StorageError
from moot.outcome.record import record_path
from moot.outcome.result import result
from moot.ports.debate_files import Filed
from moot.render import packet_text, report, report_page, report_text, transcript
from moot.render.layout import LAYOUT, LAYOUTS
from moot.render.reading import Read, Reading, Unread, of_report
from moot.wire import codec, rounds, source_file
from moot.wire.indented import indented

log = logging.getLogger(__name__)

MANIFEST = "manifest.json"
MANIFEST_FIELDS = {"layout", "debate", "lastSeq", "files"}
FOLLOWUPS = "followups.json"
"""Beside the files of a debate: questions that were asked afterwards."""
REPORT = ("report.json", "report.md", "report.html")
DECISION = ("consensus.json", "final-packet.json", "final-packet.md", "verdict.json")
WRITTEN = ("debates", "decisions", "worklogs")
"""The folders in `records`."""
MAX_BYTES = 256 * 1024 * 1024
"""No file of moot's comes near, nor do all files of a folder."""
SOURCES = "sources"
KEPT = ".sources"
"""In `records`: the files of sources, which the folders of debates link to."""
SYNCS = 8
"""Files that are synced at the same time, of all debates that this process files."""
_syncers = ThreadPoolExecutor(SYNCS, "moot-sync")
_TEMPORARY = ".tmp"
_HEAD = 1 << 18  # bytes of a transcript that hold all of its debate but what was said
_LAST_SEQ = re.compile(rb'^  "last_seq": (\d{1,12}),?$', re.MULTILINE)
_DAMAGED = (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""What reading a file that is damaged may raise."""


class Folder:
    """`<home>/records/debates/<id>/` for every debate."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def folder(self, debate_id: str) -> str:
        return str(self._path(debate_id))

    def check(self) -> None:
        """Raises StorageError if debates, or the records that councils write, cannot be filed."""
        records = self._home / "records"
        for folder in dict.fromkeys(_there(records / name) for name in WRITTEN):
            try:
                handle, name = tempfile.mkstemp(prefix=".moot-", suffix=_TEMPORARY, dir=folder)
                os.close(handle)
                Path(name).unlink()
            except OSError as error:
                raise StorageError(
                    f"{records} cannot be written, at {folder}: {error.strerror}. "
                    "Set MOOT_HOME to another folder, or mend its permissions."
                ) from error

    def file(
        self,
        debate: Debate,
        turns: Sequence[Turn],
        events: Sequence[Event] = (),
        read: Read = None,
        *,
        ahead: bool = False,
        anew: bool = False,
    ) -> Filed | None:
        """Write all files of a debate; the manifest last, so that it never promises too much."""
        root = self._path(debate.id)
        if root.is_symlink():
            raise StorageError(f"{root} is a link, which is not followed. Move it away.")
        try:
            (root / "rounds").mkdir(parents=True, exist_ok=True)
            with at_rest(root, fcntl.LOCK_EX):
                there = _read(root / MANIFEST)
                filed_seq = self.last_seq(debate.id)
                if filed_seq > debate.last_seq:
                    return None  # somebody filed what came later
                if ahead and filed_seq == debate.last_seq and self._is_decided(debate.id):
                    return None  # somebody filed a decision before
                layout = _layout(there) if filed_seq == debate.last_seq else LAYOUT
                ended = debate.status in FINAL
                shown = _later(read, self.reading(debate)) if ended and not anew else read
                files = contents(debate, turns, events, shown, layout)
                filed = _filed(files.get(REPORT[0]), shown)
                manifest = files.pop(MANIFEST)
                if _tell_alike(there, manifest):  # what was said is filed: a council's is, before
                    # its end. An edit of it stays to be found; the report is made anew
                    new = {
                        n: files[n] for n in REPORT if n in files and files[n] != _read(root / n)
                    }
                    self._write({root / name: data for name, data in new.items()})
                    if there != manifest:
                        self._write({root / MANIFEST: manifest})
                    return filed
                for left in [*root.rglob(f".*{_TEMPORARY}"), *self._outdated(debate)]:
                    with suppress(FileNotFoundError, NotADirectoryError):
                        left.unlink()
                noted = record(debate, turns, layout)
                whole = {self._home / name: data for name, data in noted.items()}
                whole |= {root / name: data for name, data in files.items()}
                self._write(whole, last={root / MANIFEST: manifest})
                return filed
        except OSError as error:
            place = error.filename or root
            raise StorageError(
                f"The files of {debate.id} cannot be written, at {place}: {error.strerror}. "
                "The debate itself is safe in the database; its files are made at the next start."
            ) from error

    def keep_followups(self, debate_id: str, asked: Sequence[Followup]) -> None:
        """Write what was asked about a debate beside its files; the manifest does not list it."""
        root = self._path(debate_id)
        try:
            if root.is_symlink() or not root.is_dir():
                raise StorageError(f"{root} is not a folder with files of a debate.")
            with at_rest(root, fcntl.LOCK_EX):
                told = as_json(codec.followups_file(debate_id, asked))
                there = _followups(root, debate_id)
                if len(there) <= len(asked) and _read(root / FOLLOWUPS) != told:
                    self._write({root / FOLLOWUPS: told})
        except OSError as error:
            raise StorageError(
                f"{root / FOLLOWUPS} cannot be written: {error.strerror}. The answer is safe in "
                "the database; the file is written at the next start."
            ) from error

    def remove(self, debate_id: str, *, record: bool) -> None:
        """Remove the files of a debate and, if asked for, its record. What is gone already is
        fine."""
        root, notes = self._path(debate_id), self._home / "records"
        try:
            if root.is_symlink():
                root.unlink()
            elif root.is_dir():
                with at_rest(root, fcntl.LOCK_EX):
                    (root / MANIFEST).unlink(missing_ok=True)  # it promises nothing any more
                    linked = [_read(one) for one in (root / SOURCES).glob("*.md")]
                    shutil.rmtree(root)
                    self._unlink(one for one in linked if one is not None)
            for kind in WRITTEN[1:] if record else ():
                for end in (".json", ".md"):
                    (notes / kind / f"{debate_id}{end}").unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(
                f"The files of {debate_id} cannot be removed, at {error.filename or root}: "
                f"{error.strerror}. Its rows are gone; the files go at the next try or start."
            ) from error

    def last_seq(self, debate_id: str) -> int:
        """Up to which entry of the log the files go; 0 if there are none."""
        root, told = self._path(debate_id), 0
        with suppress(*_DAMAGED), plain_file(root / "transcript.json") as transcript:
            # it is written before the manifest, and its beginning says how far it goes
            found = _LAST_SEQ.search(transcript.read(_HEAD))
            told = int(found[1]) if found else 0
        with suppress(*_DAMAGED):
            told = max(told, int(_parsed(root / MANIFEST)["lastSeq"]))
        return told or _last_turn(root)

    def reading(self, debate: Debate) -> Reading | None:
        """What a model wrote of the debate, if the report of the same state of it holds that."""
        with suppress(*_DAMAGED):
            read = of_report(_parsed(self._path(debate.id) / REPORT[0]))
            same = self.last_seq(debate.id) == debate.last_seq
            return read if same and isinstance(read, Reading) else None
        return None

    def ended_at(self, debate: Debate) -> str | None:
        """When the debate ended by its files, if they go one entry further than the database.

        If its transcript is damaged, the time is lost, but not that there was a decision: that
        follows from the turns, and is made again.
        """
        if self.last_seq(debate.id) != debate.last_seq + 1:
            return None
        try:
            return self._ended_at(debate.id)
        except _DAMAGED:
            return debate.updated_at if self._lists_decision(debate.id) else None

    def _is_decided(self, debate_id: str) -> bool:
        with suppress(*_DAMAGED):
            return self._ended_at(debate_id) is not None
        return False

    def _ended_at(self, debate_id: str) -> str | None:
        """When the debate was decided, by its transcript."""
        filed = _parsed(self._path(debate_id) / "transcript.json")["debate"]
        return filed["ended_at"] if filed["status"] == "completed" and filed["outcome"] else None

    def _lists_decision(self, debate_id: str) -> bool:
        root, listed = self._path(debate_id), set[str]()
        with suppress(*_DAMAGED):
            listed = set(_parsed(root / MANIFEST)["files"])
        return any(name in listed or (root / name).is_file() for name in DECISION)

    def _write(
        self, files: Mapping[Path, bytes], last: Mapping[Path, bytes] = MappingProxyType({})
    ) -> None:
        """Write files, and then those that promise that the others are on disk."""
        folders = dict.fromkeys(path.parent for path in files)
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        plain: dict[Path, bytes] = {}
        for path, data in files.items():
            if path.parent.name == SOURCES:
                self._link(path, data)
            else:
                plain[path] = data
        with _prepared({**plain, **last}) as new:
            _rename(new, plain)
            _sync(folders)
            _rename(new, last)
        _sync(path.parent for path in last)

    def _link(self, path: Path, data: bytes) -> None:
        """A file that many debates have alike, kept once and linked wherever links are possible."""
        kept = self._kept(data)
        try:
            if _read(kept) != data:  # none yet, or an edit went through a link
                kept.parent.mkdir(parents=True, exist_ok=True)
                with at_rest(kept.parent, fcntl.LOCK_EX):  # another debate may have the same
                    if _read(kept) != data:
                        write_whole(kept, data)
            if path.exists() and path.samefile(kept):
                return
            temporary = path.with_name(f".{path.name}{_TEMPORARY}")
            temporary.unlink(missing_ok=True)
            os.link(kept, temporary)
            temporary.replace(path)
        except OSError:
            write_whole(path, data)

    def _unlink(self, texts: Iterable[bytes]) -> None:
        """Forget the files of sources that no debate links to any more."""
        for data in texts:
            kept = self._kept(data)
            with suppress(FileNotFoundError):
                if kept.stat().st_nlink == 1:  # who links to it now writes a file of its own
                    kept.unlink()

    def _kept(self, data: bytes) -> Path:
        return self._home / "records" / KEPT / f"{hashlib.sha256(data).hexdigest()}.md"

    def _outdated(self, debate: Debate) -> list[Path]:
        """What was written for a decision that did not come to stand: somebody ended it first."""
        if debate.outcome or debate.rules.result is None:
            return []
        note = self._home / record_path(debate)
        folder = self._path(debate.id)
        return [note, note.with_suffix(".md"), *(folder / name for name in DECISION)]

    def _path(self, debate_id: str) -> Path:
        return self._home / "records" / "debates" / debate_id


def _there(folder: Path) -> Path:
    """The folder, or the one that it would be made in."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder


@contextmanager
def at_rest(folder: Path, lock: int = fcntl.LOCK_SH) -> Generator[None]:
    """Nobody writes to the folder meanwhile, so that what is read there belongs together.

    With `LOCK_EX`, one writer at a time, among the threads and the processes of this machine.
    """
    handle = -1
    try:
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            fcntl.flock(handle, lock)
        except OSError:
            if lock == fcntl.LOCK_EX:
                raise
            # there is none, or it cannot be locked: it is read as it is
        yield
    finally:
        if handle >= 0:
            os.close(handle)


@contextmanager
def plain_file(path: Path) -> Generator[BinaryIO]:
    """A file to read; no link is followed, and no pipe waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a plain file")
        yield file


def plain_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    with plain_file(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise ValueError("with it the folder is larger than any of moot's")
        return file.read(most)


def _parsed(path: Path) -> Any:
    return json.loads(plain_bytes(path))


def _last_turn(root: Path) -> int:
    """As far as the files of the rounds go: they may be all that can still be read."""
    last = 0
    for path in root.glob("rounds/round-*.json"):
        with suppress(*_DAMAGED):
            last = max(last, *(int(turn["seq"]) for turn in _parsed(path)["turns"]))
    return last


def _followups(root: Path, debate_id: str) -> list[Followup]:
    """Those that the file holds: another process may have written more of them."""
    with suppress(*_DAMAGED):
        return codec.read_followups(debate_id, _parsed(root / FOLLOWUPS))
    return []


def _layout(manifest: bytes | None) -> int:
    """The layout of a folder that is there already: its pages stay as they are."""
    with suppress(*_DAMAGED):
        there = json.loads(manifest or b"")["layout"]
        return there if there in LAYOUTS else LAYOUT
    return LAYOUT


def _tell_alike(there: bytes | None, manifest: bytes) -> bool:
    """Whether two manifests list the same debate, their reports aside."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        one, other = json.loads(there or b""), json.loads(manifest)
        for whole in (one, other):
            whole["files"] = {n: sha for n, sha in whole["files"].items() if n not in REPORT}
        return one == other
    return False


def _read(path: Path) -> bytes | None:
    with suppress(OSError, ValueError):
        return plain_bytes(path)
    return None


def write_whole(path: Path, data: bytes) -> None:
    """The old file or the new one, never a torn one."""
    with _prepared({path: data}) as new:
        _rename(new, new)


@contextmanager
def _prepared(files: Mapping[Path, bytes]) -> Generator[Mapping[Path, Path]]:
    """Files that are on disk under other names, to be renamed: all of them, or none is left."""
    temporaries = {path: path.with_name(f".{path.name}{_TEMPORARY}") for path in files}
    try:
        for path, temporary in temporaries.items():
            temporary.write_bytes(files[path])
        _sync(temporaries.values())
        yield temporaries
    except OSError:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)
        raise


def _rename(temporaries: Mapping[Path, Path], paths: Iterable[Path]) -> None:
    for path in paths:
        temporaries[path].replace(path)


def _begin_syncers() -> None:
    """Threads do not live on in a process that is forked, as Celery's workers are."""
    global _syncers
    _syncers = ThreadPoolExecutor(SYNCS, "moot-sync")


os.register_at_fork(after_in_child=_begin_syncers)


def _sync(paths: Iterable[Path]) -> None:
    """See files on disk, or the names in folders. Many at once, so that they share the disk's own
    transactions: one after another, each waits for one of its own."""
    each = list(dict.fromkeys(paths))
    if len(each) < 2:
        for path in each:
            _sync_one(path)
        return
    syncs = [_syncers.submit(_sync_one, path) for path in each]
    wait(syncs)
    for sync in syncs:
        sync.result()


def _sync_one(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def contents(
    debate: Debate,
    turns: Sequence[Turn],
    events: Sequence[Event],
    read: Read = None,
    layout: int = LAYOUT,
) -> dict[str, bytes]:
    """Every file of the folder, the manifest last: a replay makes them again, to compare."""
    files = {"request.json": as_json(codec.request(debate))}
    in_rounds = sorted(turns, key=attrgetter("round", "seq"))
    for number, group in groupby(in_rounds, key=attrgetter("round")):
        said = rounds.document(debate, list(group), turns)
        files[f"rounds/round-{number}.json"] = as_json(said)
    files |= {source_file.name(one): source_file.document(one).encode() for one in debate.sources}
    if debate.outcome:
        came_to = result(debate, turns)
        if came_to.packet is not None:
            files["consensus.json"] = as_json(came_to.consensus)
            files["final-packet.json"] = as_json(came_to.packet)
            files["final-packet.md"] = packet_text.document(came_to, layout).encode()
        if came_to.verdict is not None:
            files["verdict.json"] = as_json(came_to.verdict)
    whole = {
        "debate": codec.filed(debate),
        "rules": digest(debate.rules),  # those of request.json, as is what was received
        **({} if debate.received is None else {"received": _digest(debate.received)}),
        "turns": [codec.filed_turn(turn) for turn in turns],
        "events": [codec.entry(event) for event in events],
    }
    files["transcript.json"] = as_json(whole)
    files["transcript.md"] = transcript.markdown(debate, turns, layout).encode()
    files |= _report(debate, turns, read, layout)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest = {
        "layout": layout,
        "debate": debate.id,
        "lastSeq": debate.last_seq,
        "files": hashes,
    }
    return {**files, MANIFEST: as_json(manifest)}


def _digest(received: Mapping[str, Any]) -> str:
    return hashlib.sha256(codec.dumps(received).encode()).hexdigest()[:32]


def _report(debate: Debate, turns: Sequence[Turn], read: Read, layout: int) -> dict[str, bytes]:
    """The report's files: all of them or, if it cannot be made, none. What was said is worth more
    than what is made of it, so that the others are written all the same."""
    try:
        told = report.report(debate, turns, read, layout)
        beside = "transcript.md" if layout > 4 else None
        texts = (report_text.markdown(told, layout, beside), report_page.html(told, layout, beside))
        made = as_json(told), *(text.encode() for text in texts)
        return dict(zip(REPORT, made, strict=True))
    except Exception as error:  # whatever was said, it must not keep the debate from being filed
        log.warning("the report of %s could not be made: %r", debate.id, error)
        return {}


def _filed(told: bytes | None, read: Read) -> Filed:
    if told is None:
        return Filed("", "The report could not be made; the log says why.", read)
    return Filed(report.brief(json.loads(told)), read=read)


def _later(read: Read, there: Reading | None) -> Read:
    """What the files are to show: whoever writes them may have read the database before a model
    wrote the report that is in them now."""
    if there is None or isinstance(read, Unread):
        return read
    told = (read.made_at, read.usage.calls) if read else ("", 0)
    return read if told >= (there.made_at, there.usage.calls) else there


def record(debate: Debate, turns: Sequence[Turn], layout: int = LAYOUT) -> dict[str, bytes]:
    """The note in the user's own store, as JSON and as a document."""
    if not debate.outcome:
        return {}
    came_to = result(debate, turns)
    if came_to.path is None:
        return {}
    return {
        came_to.path: as_json(came_to.record),
        came_to.path.removesuffix(".json") + ".md": packet_text.document(came_to, layout).encode(),
    }


def as_json(value: Any) -> bytes:
    return f"{indented(value)}\n".encode()
