"""What debates are made from: formats, documents, saved set-ups, and what the user prefers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from moot.core.format import Format
from moot.core.preferences import Preferences
from moot.core.sources import Source
from moot.core.templates import Template


@dataclass(frozen=True, slots=True)
class FormatProblem:
    """A file of the user's own that is not a format, and why."""

    file: str  # its name in the folder
    detail: str


class Formats(Protocol):
    """Which formats there are."""

    @property
    def disabled(self) -> tuple[str, ...]:
        """Those that are switched off: their debates are neither run nor seen here."""
        ...

    def enabled(self, name: str) -> bool: ...

    def get(self, name: str) -> Format: ...

    def all(self) -> list[Format]:
        """Those that can be used; of the others `problems` says why not."""
        ...

    def problems(self) -> list[FormatProblem]: ...


class SourceReader(Protocol):
    """Reads documents into passages. Raises InputError if one cannot be read, or holds keys."""

    async def read(
        self, asked: Mapping[str, Any], field: str, *, allow_secrets: bool = False
    ) -> list[Source]:
        """The document that is asked for by `text`, `path` or `url`; all documents of a folder."""
        ...

    async def upload(
        self, name: str, data: bytes, title: str = "", *, allow_secrets: bool = False
    ) -> Source: ...


class TemplateStore(Protocol):
    """Keeps saved set-ups."""

    def all(self) -> list[Template]: ...

    def get(self, id_: str) -> Template: ...

    def put(self, id_: str, asked: Mapping[str, Any]) -> Template: ...

    def delete(self, id_: str) -> None: ...


class PreferencesStore(Protocol):
    """Keeps what the user prefers."""

    def get(self) -> Preferences: ...

    def put(self, given: Mapping[str, Any]) -> Preferences: ...
