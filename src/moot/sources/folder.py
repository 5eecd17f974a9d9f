"""The files of a folder that a debate may read: none that `.gitignore` leaves out, and none that is
hidden, holds keys, or is not a document."""

import os
from collections.abc import Iterator
from pathlib import Path

import pathspec

from moot.sources.kinds import is_named

MAX_ENTRIES = 50_000  # files and folders that are looked at
_KEYS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".asc", ".gpg", ".ppk")
_KEY_NAMES = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "secrets", "htpasswd")
_LOCKS = frozenset(("package-lock.json", "pnpm-lock.yaml", "yarn.lock", "uv.lock", "go.sum"))
_SKIPPED = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))


def files_of(folder: Path) -> Iterator[Path]:
    """The files to read, by name. Links are not followed."""
    yield from _walk(folder, [], [0])


def _walk(
    folder: Path, rules: list[tuple[Path, pathspec.GitIgnoreSpec]], seen: list[int]
) -> Iterator[Path]:
    ignored = folder / ".gitignore"
    if ignored.is_file() and not ignored.is_symlink():
        lines = ignored.read_text("utf-8", "replace").splitlines()
        rules = [*rules, (folder, pathspec.GitIgnoreSpec.from_lines(lines))]
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        seen[0] += 1
        if seen[0] > MAX_ENTRIES:
            return
        path = Path(entry.path)
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _SKIPPED and not _ignored(path, rules, "/"):
                yield from _walk(path, rules, seen)
        elif entry.is_file(follow_symlinks=False) and _is_read(path, rules):
            yield path


def _is_read(path: Path, rules: list[tuple[Path, pathspec.GitIgnoreSpec]]) -> bool:
    return is_named(path.name) and not holds_keys(path.name) and not _ignored(path, rules)


def _ignored(path: Path, rules: list[tuple[Path, pathspec.GitIgnoreSpec]], ends: str = "") -> bool:
    """Whether a `.gitignore` leaves it out: the nearest one that speaks of it decides."""
    for base, spec in reversed(rules):
        decided = spec.check_file(f"{path.relative_to(base).as_posix()}{ends}").include
        if decided is not None:
            return decided
    return False


def holds_keys(name: str) -> bool:
    """Whether a file is one that keys are kept in, or is written by a machine for itself."""
    low = name.lower()
    stem = low.partition(".")[0]
    return low.endswith(_KEYS) or stem in _KEY_NAMES or low in _LOCKS
