"""Reads the documents that a debate is given: files, folders, addresses, texts."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

from moot.core.clean import one_line, visible
from moot.core.sources import MAX_SOURCES, MAX_TITLE, MAX_UPLOAD, Source, source
from moot.errors import InputError
from moot.sources.extraction import decoded, extract
from moot.sources.fetching import Fetched, Fetcher
from moot.sources.folder import files_of, holds_keys
from moot.sources.kinds import kind_of
from moot.sources.secrets import secrets

Given = TypeVarTuple("Given")
T = TypeVar("T")
MAX_LISTED = 20
AT_ONCE = 2  # documents that are read at the same time: a hostile one takes 2 GB and a minute
WAYS = ("text", "path", "url")


class Reader:
    """Reads documents. It fetches none unless it has a `fetcher`, and reads no `files` of this
    machine for those who ask from another."""

    def __init__(self, fetcher: Fetcher | None = None, *, files: bool = True) -> None:
        self._fetcher = fetcher
        self._files = files
        self._room = asyncio.Semaphore(AT_ONCE)

    async def read(
        self, asked: Mapping[str, Any], field: str, *, allow_secrets: bool = False
    ) -> list[Source]:
        """The document that was asked for; of a folder, all that it has. Raises InputError."""
        ways = [way for way in WAYS if asked.get(way) is not None]
        if unknown := sorted(set(asked) - {*WAYS, "title"}):
            raise InputError(f"{field}: there is no field {unknown[0]!r}.", f"{field}.{unknown[0]}")
        if len(ways) != 1:
            raise InputError(f"{field}: give one of {', '.join(WAYS)} and upload.", field)
        given, title = str(asked[ways[0]]), str(asked.get("title") or "")
        if ways[0] == "text":
            data = given.encode("utf-8", "replace")
            named = Document(title or "Text", "text", data, "text/plain")
            return await self.documents([named], field, allow_secrets=allow_secrets)
        if ways[0] == "url":
            if self._fetcher is None:
                raise InputError(
                    f"{field}: this moot fetches no addresses. Set MOOT_FETCH=1 where it runs, or "
                    "give the document itself.",
                    f"{field}.url",
                )
            fetched = await self._fetcher.fetch(given, f"{field}.url")
            named = Document.fetched(fetched, title)
            return await self.documents([named], field, allow_secrets=allow_secrets)
        if not self._files:
            raise InputError(
                f"{field}: files are not read where this moot runs. Send the document: POST "
                "/sources.",
                f"{field}.path",
            )
        documents = await self._apart(documents_at, given, title, field)
        return await self.documents(documents, field, allow_secrets=allow_secrets)

    async def _apart(self, work: Callable[[*Given], T], *args: *Given) -> T:
        """Run what may take a minute in a thread. It keeps its place until it is over, whoever has
        gone meanwhile: debates need the other threads."""
        await self._room.acquire()
        running = asyncio.get_running_loop().run_in_executor(None, work, *args)
        running.add_done_callback(self._left)
        return await asyncio.shield(running)

    def _left(self, running: "asyncio.Future[Any]") -> None:
        self._room.release()
        if not running.cancelled():
            running.exception()  # perhaps nobody waits for it any more

    async def upload(
        self, name: str, data: bytes, title: str = "", *, allow_secrets: bool = False
    ) -> Source:
        """A document that was sent."""
        name = one_line(Path(name.replace("\\", "/")).name, MAX_TITLE) or "Upload"
        document = Document(title or name, name, data)
        (read,) = await self.documents([document], "file", allow_secrets=allow_secrets)
        return read

    async def documents(
        self, documents: "Sequence[Document]", field: str, *, allow_secrets: bool = False
    ) -> list[Source]:
        """The sources that documents are, once none of them is seen to hold a key."""
        found, wrong = await self._apart(_read_all, documents, field)
        if wrong and not allow_secrets:
            more = len(wrong) - MAX_LISTED
            listed = "; ".join(wrong[:MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")
            raise InputError(
                f"Nothing was sent, because this looks like keys: {listed}. Take them out, or "
                "allow them: --allow-secrets on the command line, allow_secrets in a request.",
                field,
            )
        return found


class Document:
    """A document before it is read."""

    def __init__(self, title: str, origin: str, data: bytes, media_type: str = "") -> None:
        self.title = one_line(title, MAX_TITLE) or "Untitled"
        self.origin = one_line(origin, 2000)
        self.data = data
        self.media_type = media_type

    @staticmethod
    def fetched(found: Fetched, title: str) -> "Document":
        return Document(title or found.url, found.url, found.data, found.media_type)


def documents_at(given: str, title: str, field: str) -> list[Document]:
    """The file at a path, or the files of a folder."""
    try:
        path = Path(given).expanduser()
        if path.is_dir():
            return _in_folder(path, given, field)
        if not path.is_file():
            raise InputError(f"{given}: there is no such file or folder.", field)
        if holds_keys(path.name):
            raise InputError(f"{given}: files like this hold keys, and are not read.", field)
        return [Document(title or path.name, given, _bytes(path, given, field))]
    except OSError as error:
        place = error.filename or given  # of a folder, the file that cannot be read
        raise InputError(f"{place}: it cannot be read: {error.strerror}.", field) from None
    except RuntimeError:  # "~somebody" who has no home here
        raise InputError(f"{given}: there is no such file or folder.", field) from None


def _in_folder(folder: Path, given: str, field: str) -> list[Document]:
    found: list[Document] = []
    for path in files_of(folder, given, field):
        name = path.relative_to(folder).as_posix()
        data = _bytes(path, f"{given.rstrip('/')}/{name}", field)
        if not data.strip() or kind_of(name, data) is None:
            continue
        if len(found) == MAX_SOURCES:
            raise InputError(
                f"{given}: it has more than {MAX_SOURCES} files that can be read, which is the "
                "most. Name a smaller folder, or leave files out with .gitignore.",
                field,
            )
        found.append(Document(name, f"{given.rstrip('/')}/{name}", data))
    if not found:
        raise InputError(f"{given}: there is no document in this folder that can be read.", field)
    return found


def _bytes(path: Path, given: str, field: str) -> bytes:
    with path.open("rb") as file:
        data = file.read(MAX_UPLOAD + 1)  # it may grow, or not know its size
    if len(data) > MAX_UPLOAD:
        raise InputError(f"{given}: it is larger than {MAX_UPLOAD // 2**20} MB.", field)
    return data


def _read_all(documents: Sequence[Document], field: str) -> tuple[list[Source], list[str]]:
    """The sources, and where they hold what looks like a key."""
    found: list[Source] = []
    wrong: list[str] = []
    for one in documents:
        name = one.title if one.origin == "text" else one.origin
        kind = kind_of(one.origin, one.data, one.media_type)
        if kind is None:
            raise InputError(f"{name}: it is not a document that can be read.", field)
        passages = extract(name, kind, one.data, field)
        sha256 = hashlib.sha256(one.data).hexdigest()
        found.append(source(one.title, one.origin, kind, sha256, passages, place=len(found) + 1))
        wrong += [f"the title of {name} looks like {s.what}" for s in secrets(one.title)]
        if kind in ("pdf", "docx", "html"):
            text = [(p.page, line) for p in passages for line in p.text.splitlines()]
            lines = "\n".join(line for _, line in text)
            for secret in secrets(lines):
                page = text[secret.line - 1][0]
                where = f"page {page}" if page else f"line {secret.line} of its text"
                wrong.append(f"{name}, {where}, looks like {secret.what}")
        else:
            lines = decoded(name, one.data, field).split("\n")
            whole = "\n".join(map(visible, lines))  # as it would be sent, on the lines of the file
            wrong += [f"{name}:{s.line} looks like {s.what}" for s in secrets(whole)]
    return found, wrong
