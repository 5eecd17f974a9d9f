"""`<home>/settings.toml`: the models and limits of debates that name none."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from moot.core import preferences
from moot.core.preferences import Preferences
from moot.core.request import Normalize
from moot.errors import InputError, StorageError
from moot.store.files import write_whole

NAME = "settings.toml"
MAX_BYTES = 64_000
HEADER = """\
# The models and limits of debates that name none. The page and `moot settings` change this file.
# Variables of the environment win. Keys and addresses do not belong here.

"""
Stamp = tuple[int, int, int] | None


class PreferencesFile:
    """The file. It is read again once it has changed, so every process of a home agrees."""

    def __init__(self, home: Path, normalize: Normalize) -> None:
        self._path = home / NAME
        self._normalize = normalize
        self._known: tuple[Stamp, Preferences] = None, Preferences()

    def get(self) -> Preferences:
        """What the file says; nothing is preferred if there is none."""
        stamp = self._stamp()
        if stamp != self._known[0]:
            self._known = stamp, self._read() if stamp else Preferences()
        return self._known[1]

    def put(self, given: Mapping[str, Any]) -> Preferences:
        """Replace the file: all of it, or nothing if anything is wrong."""
        wanted = preferences.read(given, self._normalize)
        tables = {"models": list(wanted.models), "limits": dict(wanted.limits)}
        text = HEADER + tomli_w.dumps({name: one for name, one in tables.items() if one})
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, text.encode())
        except OSError as error:
            raise StorageError(f"{self._path} cannot be written: {error.strerror}.") from None
        return wanted

    def _stamp(self) -> Stamp:
        try:
            seen = self._path.stat()
        except OSError:  # there is none, or no home: whoever writes there is told
            return None
        return seen.st_mtime_ns, seen.st_size, seen.st_ino

    def _read(self) -> Preferences:
        try:
            if not self._path.is_file() or self._path.stat().st_size > MAX_BYTES:
                raise InputError(f"it is not a file of up to {MAX_BYTES:,} bytes.")
            return preferences.read(tomllib.loads(self._path.read_text("utf-8")), self._normalize)
        except InputError as error:
            raise InputError(f"{self._path}: {error.message}", error.field) from None
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{self._path} cannot be read: {error}", NAME) from None
