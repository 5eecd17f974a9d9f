"""The models on this machine, and which of them `local` means when no server is there."""

import fcntl
import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from moot.errors import InputError, MootError, NotFoundError, StateError
from moot.models.local import gguf
from moot.models.local.catalog import catalog

NONE = "none"
PARTS = ".parts"  # what is being fetched
DEFAULT_CONTEXT = 4096  # of a file that does not tell its own
_ENDING = ".gguf"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be run."""

    name: str  # of the catalog, else the file's own
    path: Path
    context: int  # tokens that it was made for


class Shelf:
    """`<home>/models/`: NAME.gguf for each, and `use`, which names one of them or a file."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "models"

    def chosen(self) -> Model | None:
        """The one in use; without a choice, the best that is here."""
        wanted = self.wanted()
        if wanted == NONE:
            return None
        if wanted:
            return self._find(wanted)
        return next((model for one in catalog() if (model := self._find(one.name))), None)

    def wanted(self) -> str | None:
        """What was asked to be used: a name, a path or `none`. It may be gone since."""
        with suppress(OSError, UnicodeDecodeError):
            return (self.folder / "use").read_text("utf-8").strip() or None
        return None

    def models(self) -> list[Model]:
        """All that are in the folder, by name."""
        if not self.folder.is_dir():
            return []
        names = sorted(path.stem for path in self.folder.glob(f"*{_ENDING}"))
        return [model for name in names if (model := self._find(name))]

    def path(self, name: str) -> Path:
        return self.folder / f"{name}{_ENDING}"

    def parts(self, name: str) -> Path:
        """The folder for what is fetched of a model, until it is whole."""
        return self.folder / PARTS / name

    def use(self, wanted: str) -> Model | None:
        """Choose a model by name, any GGUF by its path, or `none`."""
        if wanted == NONE:
            self._write(NONE)
            return None
        if not wanted.strip():
            raise InputError("Name a model, a GGUF file, or `none`.", "model")
        if not _is_name(wanted):
            path = Path(wanted).expanduser().absolute()
            model = _of(path.stem, path)
            self._write(str(path))
            return model
        model = self._find(wanted)
        if model is None:
            self._refuse(wanted)
        self._write(wanted)
        return model

    def remove(self, name: str) -> bool:
        """Delete a model and what a broken download left of it; False if neither is there."""
        if not _is_name(name):
            raise InputError(
                f"Only a model that moot fetched is removed by its name; {name} stays.", "model"
            )
        if not self.folder.is_dir():
            return False
        with self.alone() as got:
            if not got:
                raise StateError("A model is being fetched; remove one when that is done.")
            there = self.path(name).is_file() or self.parts(name).is_dir()
            self.path(name).unlink(missing_ok=True)
            shutil.rmtree(self.parts(name), ignore_errors=True)
            if self.wanted() == name:
                (self.folder / "use").unlink(missing_ok=True)
        return there

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Whether nobody else on this machine fetches or removes; if so, until it is left."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(handle)

    def _find(self, wanted: str) -> Model | None:
        """A model that is there and is a GGUF, by name or by path."""
        path = self.path(wanted) if _is_name(wanted) else Path(wanted)
        try:
            return _of(wanted if _is_name(wanted) else path.stem, path)
        except MootError:
            return None

    def _refuse(self, name: str) -> None:
        if any(one.name == name for one in catalog()):
            raise NotFoundError(f"{name} is not here. Fetch it:  moot model fetch {name}", "model")
        raise NotFoundError(
            f"There is no model {name!r}. `moot model list` shows them; a file is named by its "
            f"path, like ./{name}{'' if name.endswith(_ENDING) else _ENDING}.",
            "model",
        )

    def _write(self, wanted: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / ".use.tmp"
        temporary.write_text(f"{wanted}\n", "utf-8")
        temporary.replace(self.folder / "use")


def _is_name(wanted: str) -> bool:
    """A name, and no path: those hold a slash, or are a file here."""
    if not _NAME.fullmatch(wanted):
        return False
    return not (wanted.endswith(_ENDING) and Path(wanted).is_file())


def _of(name: str, path: Path) -> Model:
    return Model(name, path, gguf.context(path) or DEFAULT_CONTEXT)
