"""The files of a debate: written whole or not at all, and listed with their hashes."""

import hashlib
import json
import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from moot.core import codec, transcript
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
        contents = _contents(debate, turns)
        hashes = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
        manifest = {"debate": debate.id, "lastSeq": debate.last_seq, "files": hashes}
        contents["manifest.json"] = _json(manifest)
        try:
            (root / "rounds").mkdir(parents=True, exist_ok=True)
            for name, data in contents.items():
                write_whole(root / name, data)
            _sweep(root)
        except OSError as error:
            raise StorageError(
                f"The files of {debate.id} cannot be written to {root}: {error.strerror}. "
                "The debate itself is safe in the database; its files are made at the next start."
            ) from error

    def _path(self, debate_id: str) -> Path:
        return self._home / "records" / "debates" / debate_id


def write_whole(path: Path, data: bytes) -> None:
    """The old file or the new one, never a torn one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_TEMPORARY}")
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


def _sweep(root: Path) -> None:
    """Remove what a process that died half-way through a file left behind."""
    for left in root.rglob(f".*{_TEMPORARY}"):
        pid = left.name.removesuffix(_TEMPORARY).rpartition(".")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            left.unlink(missing_ok=True)


def _contents(debate: Debate, turns: Sequence[Turn]) -> dict[str, bytes]:
    contents = {"request.json": _json(codec.request(debate))}
    for number, group in groupby(turns, key=lambda turn: turn.round):
        said = list(group)
        contents[f"rounds/round-{number}.json"] = _json(
            {
                "round": number,
                "stage": said[0].stage,
                "startedAt": said[0].started_at,
                "finishedAt": said[-1].committed_at,
                "turns": [codec.turn(turn) for turn in said],
            }
        )
    whole = {"debate": codec.debate(debate), "turns": [codec.turn(turn) for turn in turns]}
    contents["transcript.json"] = _json(whole)
    contents["transcript.md"] = transcript.markdown(debate, turns).encode()
    return contents


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
