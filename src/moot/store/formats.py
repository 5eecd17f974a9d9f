"""The formats there are: those of the package, and the user's own beside them."""

import os
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path

from moot.core.format import Format, parse
from moot.errors import InputError, NotFoundError
from moot.ports.inputs import FormatProblem

_PACKAGE = resources.files("moot.formats")
FIRST = ("standard", "classic", "custom", "duel", "council")
LATER = tuple(
    sorted(
        {
            file.name.removesuffix(".toml")
            for file in _PACKAGE.iterdir()
            if file.name.endswith(".toml")
        }
        - {*FIRST}
    )
)
"""The other files of the package. Somebody may have had a format of such a name before moot had
one: theirs stays what is meant."""
BUILT_IN = (*FIRST, *LATER)
MAX_BYTES = 256_000
Stamp = tuple[int, int, int] | None


def switched_off(name: str) -> NotFoundError:
    return NotFoundError(f"The format {name} is switched off here.", "format")


class FormatFiles:
    """`<home>/formats/*.toml` beside the built-in ones. A file that changes is read again."""

    def __init__(self, home: Path, disabled: Iterable[str] = ()) -> None:
        self._folder = home / "formats"
        self.disabled = tuple(sorted(set(disabled)))
        self._read: dict[str, tuple[Stamp, Format]] = {}

    def enabled(self, name: str) -> bool:
        return name not in self.disabled

    def get(self, name: str) -> Format:
        if not self.enabled(name):
            raise switched_off(name)
        stamp = self._stamp(name)
        known, rules = self._read.get(name, (None, None))
        if rules is None or known != stamp:
            rules = self._find(name)
            self._read[name] = stamp, rules
        return rules

    def all(self) -> list[Format]:
        return [found for _, found in self._each() if isinstance(found, Format)]

    def problems(self, *, paths: bool = False) -> list[FormatProblem]:
        """What is wrong with files of the user's own; with `paths`, for those who can open them."""
        hidden = "" if paths else f"{self._folder}{os.sep}"
        return [
            FormatProblem(f"{name}.toml", found.message.removeprefix(hidden))
            for name, found in self._each()
            if isinstance(found, InputError)
        ]

    def _each(self) -> Iterator[tuple[str, Format | InputError]]:
        """Every format or, if a file is not a format, what is wrong with it."""
        for name in self.names():
            try:
                yield name, self.get(name)
            except InputError as error:
                yield name, error

    def names(self) -> list[str]:
        files = self._folder.glob("*.toml")
        own = sorted(path.stem for path in files if not path.name.startswith("."))
        names = [*BUILT_IN, *(name for name in own if name not in BUILT_IN)]
        return [name for name in names if name not in self.disabled]

    def _stamp(self, name: str) -> Stamp:
        """What changes whenever the user's file does; None if there is none."""
        if name in FIRST:
            return None
        try:
            seen = (self._folder / f"{name}.toml").stat()
        except (OSError, ValueError):  # no such file, or no name that a file can have
            return None
        return seen.st_mtime_ns, seen.st_size, seen.st_ino

    def _find(self, name: str) -> Format:
        own = name in LATER and (self._folder / f"{name}.toml").exists()
        if name in BUILT_IN and not own:
            text = _PACKAGE.joinpath(f"{name}.toml").read_text("utf-8")
            return parse(text, f"{name}.toml")
        if name not in self.names():
            known = ", ".join(self.names())
            raise NotFoundError(f"There is no format {name!r}; there are {known}.", "format")
        path = self._folder / f"{name}.toml"
        if not path.is_file():  # to read a pipe would wait for ever
            raise InputError(f"{path} is not a file.", "format")
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path} is larger than {MAX_BYTES:,} bytes.", "format")
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read: {error}", "format") from None
        rules = parse(text, str(path))
        if rules.name != name:
            raise InputError(
                f"{path}: field name: it says {rules.name!r}, but the file is {name}.toml", "format"
            )
        return rules
