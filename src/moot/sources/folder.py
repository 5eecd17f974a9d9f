"""The files of a folder that a debate may read: none that `.gitignore` leaves out, and none that is
hidden, holds keys, or is not a document."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pathspec

from moot.errors import InputError
from moot.sources.kinds import is_named

Rules = list[tuple[Path, pathspec.GitIgnoreSpec]]
"""What is left out, by the folder that says so; the last one that speaks of a file decides."""

MAX_ENTRIES = 50_000  # files and folders that are looked at
_KEYS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".asc", ".gpg", ".ppk")
_KEY_NAMES = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "secrets", "htpasswd")
_LOCKS = frozenset(("package-lock.json", "pnpm-lock.yaml", "yarn.lock", "uv.lock", "go.sum"))
_SKIPPED = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))


def files_of(folder: Path, given: str, field: str) -> Iterator[Path]:
    """The files to read, by name. Links are not followed. Raises InputError if there are too many
    to look at."""
    real = folder.resolve()
    try:
        for path in _walk(real, _rules_above(real), [0]):
            yield folder / path.relative_to(real)
    except OverflowError:
        raise InputError(
            f"{given}: it has more than {MAX_ENTRIES:,} files and folders. Name a smaller one.",
            field,
        ) from None


def _rules_above(folder: Path) -> Rules:
    """The rules of the repository that a folder is in, unless they leave out the folder itself: who
    names it wants it."""
    above = [folder, *folder.parents]
    root = next((place for place in above if (place / ".git").exists()), None)
    if root is None:
        return []
    found = _rules(root, root / ".git" / "info" / "exclude")
    for place in reversed(above[1 : above.index(root) + 1] if root != folder else ()):
        found += _rules(place, place / ".gitignore")
    return [] if _ignored(folder, found, "/") else found


def _rules(base: Path, file: Path) -> Rules:
    if not file.is_file() or file.is_symlink():
        return []
    lines = filter(_is_pattern, file.read_text("utf-8", "replace").splitlines())
    return [(base, pathspec.GitIgnoreSpec.from_lines(lines))]


def _is_pattern(line: str) -> bool:
    """Git, too, passes over a line that is not one."""
    try:
        pathspec.GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def _walk(folder: Path, rules: Rules, seen: list[int]) -> Iterator[Path]:
    rules = [*rules, *_rules(folder, folder / ".gitignore")]
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    seen[0] += len(entries)
    if seen[0] > MAX_ENTRIES:
        raise OverflowError
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _SKIPPED and not _ignored(path, rules, "/"):
                yield from _walk(path, rules, seen)
        elif entry.is_file(follow_symlinks=False) and _is_read(path, rules):
            yield path


def _is_read(path: Path, rules: Rules) -> bool:
    return is_named(path.name) and not holds_keys(path.name) and not _ignored(path, rules)


def _ignored(path: Path, rules: Rules, ends: str = "") -> bool:
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
