"""The files of a debate: written whole or not at all, and listed with their hashes."""

import fcntl
import hashlib
import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from moot.core import codec, council, packet, rounds, transcript
from moot.core.debate import Debate, Turn
from moot.errors import StorageError

_TEMPORARY = ".tmp"


class Folder:
    """`<home>/records/debates/<id>/` for every debate."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def folder(self, debate_id: str) -> str:
        return str(self._path(debate_id))

    def file(self, debate: Debate, turns: Sequence[Turn]) -> None:
        """Write all files of a debate; the manifest last, so that it never promises too much."""
        root = self._path(debate.id)
        try:
            (root / "rounds").mkdir(parents=True, exist_ok=True)
            with _alone(root):
                if _last_seq(root) > debate.last_seq:
                    return  # somebody filed what came later
                for left in root.rglob(f".*{_TEMPORARY}"):
                    left.unlink()  # of a process that died half-way through a file
                for name, data in _record(debate, turns).items():
                    (self._home / name).parent.mkdir(parents=True, exist_ok=True)
                    write_whole(self._home / name, data)
                for name, data in _contents(debate, turns).items():
                    write_whole(root / name, data)
        except OSError as error:
            raise StorageError(
                f"The files of {debate.id} cannot be written to {root}: {error.strerror}. "
                "The debate itself is safe in the database; its files are made at the next start."
            ) from error

    def _path(self, debate_id: str) -> Path:
        return self._home / "records" / "debates" / debate_id


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """One writer at a time, among the threads and the processes of this machine."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _last_seq(root: Path) -> int:
    with suppress(OSError, ValueError, KeyError, TypeError):
        return int(json.loads((root / "manifest.json").read_bytes())["lastSeq"])
    return 0


def write_whole(path: Path, data: bytes) -> None:
    """The old file or the new one, never a torn one."""
    temporary = path.with_name(f".{path.name}{_TEMPORARY}")
    try:
        with temporary.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _contents(debate: Debate, turns: Sequence[Turn]) -> dict[str, bytes]:
    contents = {"request.json": _json(codec.request(debate))}
    for number, group in groupby(sorted(turns, key=_place), key=lambda turn: turn.round):
        contents[f"rounds/round-{number}.json"] = _json(rounds.document(debate, list(group)))
    if debate.outcome:
        consensus, made = council.decided(debate, turns)
        contents["consensus.json"] = _json(consensus)
        contents["final-packet.json"] = _json(made)
        contents["final-packet.md"] = packet.markdown(made).encode()
    whole = {"debate": codec.debate(debate), "turns": [codec.turn(turn) for turn in turns]}
    contents["transcript.json"] = _json(whole)
    contents["transcript.md"] = transcript.markdown(debate, turns).encode()
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    manifest = {"debate": debate.id, "lastSeq": debate.last_seq, "files": hashes}
    return {**contents, "manifest.json": _json(manifest)}


def _record(debate: Debate, turns: Sequence[Turn]) -> dict[str, bytes]:
    """The note in the user's own store, as JSON and as a document."""
    if not debate.outcome:
        return {}
    _, made = council.decided(debate, turns)
    path = council.record_path(debate)
    return {
        path: _json(council.record(debate, made)),
        path.removesuffix(".json") + ".md": packet.markdown(made).encode(),
    }


def _place(turn: Turn) -> tuple[int, int]:
    return (turn.round, turn.seq)


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
