"""The chunks of an HTTP body, joined before they are passed on.

h11 makes an event of each chunk, which then goes through six generators. Here the chunks that came
with one read are one event. Nothing is changed but the reader of one body at a time; and nothing at
all where the libraries are built otherwise than this module knows them.
"""

import re
from typing import Any

import httpx2

_WAY = ("_stream", "_httpcore_stream", "_stream", "_connection", "_h11_state")
"""From a response's stream to what h11 knows of its connection."""
_LEAST = len(b"\r\n1\r\n.")  # of a buffer that may hold another chunk
_BETWEEN = re.compile(rb"\r\n([0-9A-Fa-f]{1,8})\r\n")


class Together:
    """In place of h11's reader of a body in chunks: says all whole chunks that are there at once.

    It takes only what lies between two chunks and is nothing but a length. All else, such as the
    first chunk, half ones, the end of the body and what is malformed, is read by h11 itself.
    """

    def __init__(self, reader: Any) -> None:
        self.read_eof = reader.read_eof
        self._reader = reader
        self._odd = False  # something else was there: h11 alone goes on

    def __call__(self, buffer: Any) -> Any:
        event = self._reader(buffer)
        if self._odd or len(buffer) < _LEAST or not getattr(event, "chunk_end", False):
            return event
        more = self._whole(buffer)
        if not more:
            return event
        data = b"".join((event.data, *more))
        return type(event)(data, chunk_start=event.chunk_start, chunk_end=True)

    def _whole(self, buffer: Any) -> list[bytes]:
        """Take the next whole chunks, each with the end of the one before it."""
        there, at = bytes(buffer), 0
        found: list[bytes] = []
        while head := _BETWEEN.match(there, at):
            size, begin = int(head[1], 16), head.end()
            if not size or begin + size > len(there):
                break
            at = begin + size
            found.append(there[begin:at])
        else:
            self._odd = there.find(b"\r\n", at + 2) >= 0
        if at:
            buffer.maybe_extract_at_most(at)
        return found


def join_chunks(response: httpx2.Response) -> None:
    """Have the chunks of a body that is not yet read joined, if it comes in chunks."""
    state: Any = response.stream
    for name in _WAY:
        state = getattr(state, name, None)
    reader = getattr(state, "_reader", None)
    if type(reader).__name__ == "ChunkedReader" and hasattr(reader, "read_eof"):
        state._reader = Together(reader)
