"""The sources of a debate before it begins: read where they are, or taken from what was sent."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from moot.core.clean import one_line
from moot.core.sources import MAX_SOURCES, MAX_TITLE, MAX_UPLOADS, Source
from moot.core.times import iso
from moot.errors import InputError
from moot.ports.debate_store import Store
from moot.ports.inputs import SourceReader
from moot.ports.instruments import Clock

KEPT_SECONDS = 86_400.0
"""How long an upload waits for a debate that reads it."""
LOOK_SECONDS = 3600.0  # between two looks for those that have waited longer


class Sources:
    """Documents for debates."""

    def __init__(
        self, store: Store, reader: SourceReader, clock: Clock, *, files: bool = True
    ) -> None:
        self._most = MAX_SOURCES if files else MAX_UPLOADS
        self._store = store
        self._reader = reader
        self._clock = clock
        self._next = clock.now() + LOOK_SECONDS  # not in a process that is soon over

    async def look(self) -> None:
        """Forget, now and then, the uploads that no debate asked for in time."""
        now = self._clock.now()
        if now >= self._next:
            self._next = now + LOOK_SECONDS
            await self._store.sweep_uploads(iso(now - KEPT_SECONDS))

    async def read(self, asked: Any, *, allow_secrets: bool = False) -> list[Source]:
        """What was asked for, in its order. Raises InputError, which names the field."""
        found: list[Source] = []
        for place, one in enumerate(checked(asked, self._most)):
            field = f"sources[{place}]"
            if one.get("upload") is not None:
                found.append(await self._uploaded(one, field))
            else:
                found += await self._reader.read(one, field, allow_secrets=allow_secrets)
        return found

    async def _uploaded(self, asked: Mapping[str, Any], field: str) -> Source:
        if others := sorted(set(asked) - {"upload", "title"}):
            raise InputError(
                f"{field}: an upload comes without {others[0]}.", f"{field}.{others[0]}"
            )
        source = await self._store.upload_of(str(asked["upload"]))
        if source is None or not source.text:
            raise InputError(
                f"{field}: there is no such upload. Uploads are kept for a day: send it again.",
                f"{field}.upload",
            )
        title = one_line(str(asked.get("title") or ""), MAX_TITLE)
        return replace(source, title=title) if title else source

    async def upload(
        self, name: str, data: bytes, title: str = "", *, allow_secrets: bool = False
    ) -> tuple[str, Source]:
        """Keep a document that was sent, under a name that nobody can guess."""
        source = await self._reader.upload(name, data, title, allow_secrets=allow_secrets)
        upload = f"upload_{secrets.token_hex(16)}"
        await self._store.keep_upload(upload, source, iso(self._clock.now()))
        await self.look()
        return upload, source


def checked(asked: Any, most: int = MAX_SOURCES) -> list[Mapping[str, Any]]:
    """A list of sources, each an object without what is not given."""
    if not isinstance(asked, list | tuple):
        raise InputError("sources must be a list of objects.", "sources")
    given = cast("Sequence[Any]", asked)
    if len(given) > most:
        raise InputError(f"{len(given)} sources are too many; {most} is the most.", "sources")
    found: list[Mapping[str, Any]] = []
    for place, one in enumerate(given):
        if not isinstance(one, Mapping):
            raise InputError(f"sources[{place}] must be an object.", f"sources[{place}]")
        source = cast("Mapping[str, Any]", one)
        found.append({name: value for name, value in source.items() if value is not None})
    return found


def named(asked: Any) -> list[dict[str, Any]]:
    """Sources as the request that is kept names them: a text by its SHA-256 alone."""
    made: list[dict[str, Any]] = []
    for one in checked(asked or ()):
        said = dict(one)
        if isinstance(text := said.pop("text", None), str):
            said["sha256"] = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        made.append(said)
    return made
