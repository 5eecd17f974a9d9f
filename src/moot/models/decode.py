"""A vendor's stream, decoded once: its pieces are heard as they come, and reach the library joined.

The libraries spend a tenth of a millisecond and more on each event. Most events only carry a few
more words of the same part, so these are taken from the bytes here, and passed on as one event when
something else comes. Request, errors, usage and the end of an answer stay the library's business,
and so does every event that is not plainly such a piece.
"""

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import httpx2
from pydantic_core import from_json

from moot.models.connection import TooMuchError

PACE_SECONDS = 0.04
"""How often the words that came are passed on: people read no faster."""

Json = dict[str, Any]


class Counts(NamedTuple):
    """Characters: of text that is to be seen, of thoughts, and of all that is not to be seen."""

    text: int
    thoughts: int
    unseen: int


NOTHING = Counts(0, 0, 0)


class Ear(Protocol):
    """Hears an answer: what the library makes of it, and what never gets there piece by piece."""

    over: bool  # it wants to hear no more

    def counts(self) -> Counts:
        """All that was heard so far."""
        ...

    def hear_ahead(self, piece: str, thoughts: int, unseen: int) -> None:
        """The library will tell the same once more, joined with others."""
        ...


class Place(NamedTuple):
    """Where a piece stands in its event."""

    holder: Json
    key: str


@dataclass(frozen=True, slots=True)
class Wire:
    """How one API sends pieces: `find` gives the place of one in an event that carries nothing
    else; `passing` are fields of which only the last value counts."""

    find: Callable[[Json], Place | None]
    passing: tuple[str, ...] = ()

    def without_passing(self, event: bytes) -> bytes:
        """An event's bytes, whatever its passing numbers and plain words are."""
        return _PASSING.sub(b"#", event) if self.passing else event


_PASSING = re.compile(rb'"(?:sequence_number|created|obfuscation)": ?(?:[0-9]+|"[0-9A-Za-z]*")')


def _responses(event: Json) -> Place | None:
    return Place(event, "delta") if event.get("type") in _RESPONSES else None


_RESPONSES = frozenset(
    f"response.{kind}.delta"
    for kind in ("output_text", "reasoning_summary_text", "function_call_arguments")
)


def _chat(event: Json) -> Place | None:
    match event.get("choices"):
        case [{"delta": {"content": str()} as delta} as choice]:
            key = "content"
        case [{"delta": {"reasoning_content": str()} as delta} as choice]:
            key = "reasoning_content"
        case [{"delta": {"reasoning": str()} as delta} as choice]:
            key = "reasoning"
        case _:
            return None
    if event.get("usage") or choice.get("finish_reason"):
        return None
    more = any(value for name, value in delta.items() if name not in (key, "role"))
    return None if more else Place(delta, key)


def _messages(event: Json) -> Place | None:
    match event:
        case {"type": "content_block_delta", "delta": {"type": str(kind)}} if kind in _MESSAGES:
            return Place(event["delta"], _MESSAGES[kind])
        case _:
            return None


_MESSAGES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def _gemini(event: Json) -> Place | None:
    match event.get("candidates"):
        case [{"content": {"parts": [{"text": str()} as part]}} as candidate]:
            plain = len(part) == 1 or part.keys() == {"text", "thought"}
            return Place(part, "text") if plain and "finishReason" not in candidate else None
        case _:
            return None


WIRES: Mapping[str, Wire] = {
    "openai_responses": Wire(_responses, ("sequence_number", "obfuscation")),
    "openai_chat": Wire(_chat, ("obfuscation", "created")),
    "anthropic_messages": Wire(_messages),
    "google_gemini": Wire(_gemini, ("usageMetadata",)),
    "google_vertex": Wire(_gemini, ("usageMetadata",)),
}
"""By the `api` of a provider's row. The streams of others go to their libraries as they are."""


@dataclass(slots=True)
class _Piece:
    """An event that carries a piece and nothing else."""

    head: bytes  # the lines before its data
    event: Json  # without the piece
    place: Place
    text: str
    passing: Json


_PLAIN = re.compile(rb'[^"\\<\x00-\x1f]+')  # what a string of JSON says as it stands there


class _Frame(NamedTuple):
    """What stands before and after the text of a piece, but for what is passing."""

    before: bytes
    after: bytes

    @staticmethod
    def of(event: bytes, key: str, text: str) -> "_Frame | None":
        """If the text stands there once, as it is."""
        if not text.isascii() or not _PLAIN.fullmatch(text.encode()):
            return None
        for colon in (":", ": "):
            said = f'"{key}"{colon}"{text}"'.encode()
            if event.count(said) == 1:
                before, _, after = event.partition(said)
                return _Frame(before + said[: -len(text) - 1], b'"' + after)
        return None

    def text(self, event: bytes) -> str | None:
        """The text of another event that is the same but for it."""
        before, after = self
        end = len(event) - len(after)
        if not event.startswith(before) or not event.endswith(after):
            return None
        if not _PLAIN.fullmatch(event, len(before), end):
            return None
        try:
            return event[len(before) : end].decode()
        except UnicodeDecodeError:
            return None


@dataclass(slots=True)
class _Run:
    """Pieces of one part that follow each other. The first went to the library as it was, and what
    the library made of it tells what the others are."""

    first: _Piece
    last: _Piece
    seen: bool
    thought: bool
    frame: _Frame | None  # of the last that was read as JSON
    texts: list[str] = field(default_factory=list[str])  # of those that the library lacks
    new: int = 0  # how many of these nobody heard yet
    unread: bytes = b""  # the last event, if only its text was taken

    def repeated(self, event: bytes, bare: bytes) -> bool:
        """Take the text of an event that says nothing else new; `bare` is without what passes."""
        text = self.frame.text(bare) if self.frame else None
        if text is None:
            return False
        self.unread = event
        self.texts.append(text)
        self.new += 1
        return True

    def continued(self, piece: _Piece, frame: _Frame | None) -> bool:
        """Take a piece if it belongs here."""
        if piece.head != self.first.head or piece.event != self.first.event:
            return False
        self.passed(piece)
        self.frame = frame
        self.texts.append(piece.text)
        self.new += 1
        return True

    def passed(self, piece: _Piece) -> None:
        """The last piece is this one. What it does not say again of what passes holds on."""
        for key, value in self.last.passing.items():
            now = piece.passing.get(key)
            if isinstance(value, dict) and isinstance(now, dict | None):
                piece.passing[key] = {**value, **(now or {})}
        self.last = piece
        self.unread = b""

    def joined(self) -> bytes:
        """The event that says all of it, without the blank line after it."""
        last = self.last
        last.place.holder[last.place.key] = "".join(self.texts)
        told = json.dumps(last.event | last.passing, separators=(",", ":"))
        return last.head + b"data: " + told.encode()


class Joined(httpx2.AsyncByteStream):
    """A stream of events in which pieces that follow each other are one event. The `ear` hears them
    in good time; the bytes after an event are asked for when the library has dealt with it."""

    def __init__(self, stream: httpx2.AsyncByteStream, wire: Wire, ear: Ear) -> None:
        self._stream = stream
        self._wire = wire
        self._ear = ear
        self._run: _Run | None = None
        self._due = -math.inf
        self._timer: asyncio.TimerHandle | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest, end = b"", b""
        async for read in self._stream:
            rest += read
            end = end or _end(rest)
            *events, rest = rest.split(end) if end else (rest,)
            out: list[bytes] = []
            for event in events:
                run, bare = self._run, self._wire.without_passing(event)
                if run and run.repeated(event, bare):
                    continue
                self._read_last()
                piece = self._piece(event)
                frame = _Frame.of(bare, piece.place.key, piece.text) if piece else None
                if piece and run and run.continued(piece, frame):
                    continue
                out += [one + end for one in (*self._flushed(), event)]
                if piece:
                    before = self._ear.counts()
                    yield b"".join(out)
                    out = []
                    self._begin(piece, frame, before)
            if out:
                yield b"".join(out)
            self._hear_soon()
        out = [one + end for one in self._flushed()]
        if out or rest:
            yield b"".join((*out, rest))

    async def aclose(self) -> None:
        await self._stream.aclose()

    def hear(self) -> None:
        """Let the ear have what came since the last time."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        run = self._run
        if run is None or not run.new:
            return
        self._due = asyncio.get_running_loop().time() + PACE_SECONDS
        text = "".join(run.texts[-run.new :])
        run.new = 0
        if run.seen:
            self._ear.hear_ahead(text, 0, 0)
        else:
            self._ear.hear_ahead("", len(text) if run.thought else 0, len(text))

    def _hear_soon(self) -> None:
        if self._ear.over:
            raise TooMuchError
        if self._timer or self._run is None or not self._run.new:
            return
        loop = asyncio.get_running_loop()
        if loop.time() >= self._due:
            self.hear()
        else:
            self._timer = loop.call_at(self._due, self.hear)

    def _read_last(self) -> None:
        """Read the last event of the run as JSON, if only its text was taken."""
        run = self._run
        if run and run.unread and (piece := self._piece(run.unread)):
            run.passed(piece)

    def _begin(self, piece: _Piece, frame: _Frame | None, before: Counts) -> None:
        """The library knows a piece now. If it made just that of it, more of them may follow."""
        size = len(piece.text)
        made = Counts(*(now - then for now, then in zip(self._ear.counts(), before, strict=True)))
        kinds = (size, 0, 0), (0, size, size), (0, 0, size)
        if made in kinds:
            self._run = _Run(piece, piece, made.text > 0, made.thoughts > 0, frame)

    def _flushed(self) -> tuple[bytes, ...]:
        """What the library lacks, at the end of a run."""
        self.hear()
        self._read_last()
        run, self._run = self._run, None
        return (run.joined(),) if run and run.texts else ()

    def _piece(self, event: bytes) -> _Piece | None:
        head, _, data = event.partition(b"data:")
        if b"\n" in data or (head and (not head.startswith(b"event:") or head.count(b"\n") != 1)):
            return None
        try:
            read: Json | None = from_json(data)
        except ValueError:
            return None
        place = self._wire.find(read) if isinstance(read, dict) else None
        text = place.holder.get(place.key) if place else None
        if not read or not place or not isinstance(text, str) or not text or "<" in text:
            return None  # a tag may open or close thoughts, if it comes as a piece
        passing = {key: read.pop(key) for key in self._wire.passing if key in read}
        place.holder[place.key] = ""
        return _Piece(head, read, place, text, passing)


def _end(data: bytes) -> bytes:
    """What ends the events of a stream, by its first line; nothing while that is not whole."""
    line = data.find(b"\n")
    if line < 0:
        return b""
    return b"\r\n\r\n" if data[:line].endswith(b"\r") else b"\n\n"
