"""Server-sent events from the bytes of a stream, wherever it was cut into chunks."""

import re
from dataclasses import dataclass

MAX_BYTES = 16 * 1024 * 1024
"""No event of moot's comes near."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Message:
    """One event. `id` is its own: that of an earlier one does not carry over."""

    event: str
    data: str
    id: str | None = None


class Parser:
    """Takes chunks, gives each event once it is whole. What the stream's end cuts off is none."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # of a line that has not ended
        self._after_cr = False  # a line ended with the last chunk; a newline there belongs to it
        self._first = True
        self._event = ""
        self._id: str | None = None
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Message]:
        """The events that this chunk completes. ValueError: one of them is too large."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            if not chunk:
                self._after_cr = False
                return []
        self._after_cr = chunk.endswith(b"\r")
        *ended, rest = _LINE_END.split(chunk)
        messages: list[Message] = []
        for piece in ended:
            line = b"".join((*self._line, piece))
            self._line.clear()
            self._grow(len(piece))
            if message := self._take(line):
                messages.append(message)
        if rest:
            self._line.append(rest)
            self._grow(len(rest))
        return messages

    def _grow(self, by: int) -> None:
        self._size += by
        if self._size > MAX_BYTES:
            raise ValueError("an event of the stream is larger than any of moot's")

    def _take(self, line: bytes) -> Message | None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            self._size -= len(line)
            return None
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _dispatch(self) -> Message | None:
        message = Message(self._event or "message", "\n".join(self._data), self._id)
        said = bool(self._data)
        self._event, self._id, self._size = "", None, 0
        self._data.clear()
        return message if said else None
