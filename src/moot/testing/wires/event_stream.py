"""The frames of AWS's event streams: lengths, typed headers, a payload, and two checksums."""

import json
import struct
import zlib
from typing import Any

KIND = "application/vnd.amazon.eventstream"
_STRING = 7  # the type of a header


def frame(payload: object, **headers: str) -> bytes:
    """One message. A header's `message_type` is written ":message-type"."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    named = b"".join(_header(f":{name.replace('_', '-')}", text) for name, text in headers.items())
    return _sealed(struct.pack("!II", 16 + len(named) + len(body), len(named)), named + body)


def event(kind: str, payload: dict[str, Any]) -> bytes:
    return frame(payload, event_type=kind, content_type="application/json", message_type="event")


def exception(kind: str, payload: dict[str, Any]) -> bytes:
    """An error in the middle of a stream."""
    return frame(
        payload, exception_type=kind, content_type="application/json", message_type="exception"
    )


def claim(length: int) -> bytes:
    """The beginning of a message that says it is so long."""
    lengths = struct.pack("!II", length, 0)
    return lengths + struct.pack("!I", zlib.crc32(lengths))


def _header(name: str, text: str) -> bytes:
    value = text.encode()
    return struct.pack(f"!B{len(name)}sBH", len(name), name.encode(), _STRING, len(value)) + value


def _sealed(lengths: bytes, rest: bytes) -> bytes:
    message = lengths + struct.pack("!I", zlib.crc32(lengths)) + rest
    return message + struct.pack("!I", zlib.crc32(message))
