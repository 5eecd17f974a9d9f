"""`<home>/templates/NAME.toml`: saved set-ups, one file each."""

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomli_w

from moot.core import templates
from moot.core.templates import Template
from moot.errors import InputError, NotFoundError, StorageError
from moot.store.files import plain_bytes, write_whole

FOLDER = "templates"
MAX_BYTES = 256 * 1024


class TemplateFiles:
    """The user's own; people may change the files, too."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def all(self) -> list[Template]:
        """By name. A file that cannot be read is left out."""
        found: list[Template] = []
        paths = sorted(self._folder.glob("*.toml")) if self._folder.is_dir() else []
        for path in paths[: templates.MOST]:
            with suppress(InputError):
                found.append(self.get(path.stem))
        return found

    def get(self, id_: str) -> Template:
        path = self._path(id_)
        try:
            asked: Any = tomllib.loads(plain_bytes(path, MAX_BYTES).decode())
        except FileNotFoundError:
            raise NotFoundError(
                f"There is no template {id_}. `moot templates` shows what there is.", "id"
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path} cannot be read: {error}", "id") from None
        return Template(id_, templates.check(asked))

    def put(self, id_: str, asked: Mapping[str, Any]) -> Template:
        path, kept = self._path(id_), templates.check(asked)
        try:
            text = tomli_w.dumps(kept)
            if len(text.encode()) > MAX_BYTES:
                raise InputError(f"A template has at most {MAX_BYTES // 1024} KiB.", "id")
            if not path.exists() and len(self.all()) >= templates.MOST:
                raise InputError(f"{templates.MOST} templates are the most. Delete some.", "id")
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text.encode())
        except (TypeError, UnicodeError) as error:
            raise InputError(f"This cannot be kept in a file: {error}.", "asked") from None
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}.") from None
        return self.get(id_)

    def delete(self, id_: str) -> None:
        try:
            self._path(id_).unlink()
        except FileNotFoundError:
            raise NotFoundError(f"There is no template {id_}.", "id") from None
        except OSError as error:
            raise StorageError(f"{self._path(id_)} cannot be deleted: {error.strerror}.") from None

    def _path(self, id_: str) -> Path:
        return self._folder / f"{templates.check_id(id_)}.toml"
