"""A client of the stream that a test can steer: it sees every byte, and can be cut anywhere."""

import json
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

from tests import patience
from tests.served import Served

DURABLE = ("turn", "status")


@dataclass(frozen=True)
class Heard:
    """One frame of a stream: an event, a comment or a retry."""

    event: str
    data: Any
    seq: int | None = None


class Wire:
    """An answer, taken apart as its bytes come. A frame counts once its blank line is there."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.whole = False  # the answer ended as HTTP says
        self.body = b""  # what is not, or not yet, a frame
        self._raw = b""
        self._left = 0  # bytes of the chunk, with the line end after it, that are still to come

    def feed(self, data: bytes) -> list[Heard]:
        self._raw += data
        if not self.status and not self._head():
            return []
        if "content-length" in self.headers or self.status == 204:
            self.body, self._raw = self.body + self._raw, b""
            self.whole = len(self.body) == int(self.headers.get("content-length", "0"))
            return []
        self._unchunk()
        *frames, self.body = self.body.split(b"\n\n")
        return [_frame(frame) for frame in frames]

    def _head(self) -> bool:
        head, found, rest = self._raw.partition(b"\r\n\r\n")
        if found:
            first, *lines = head.decode("latin-1").split("\r\n")
            self.status = int(first.split()[1])
            pairs = (line.partition(":") for line in lines)
            self.headers = {name.lower(): value.strip() for name, _, value in pairs}
            self._raw = rest
        return bool(found)

    def _unchunk(self) -> None:
        while self._raw and not self.whole:
            if not self._left:
                size, found, rest = self._raw.partition(b"\r\n")
                if not found:
                    return
                self._left, self._raw = int(size, 16) + 2, rest
                if self._left == 2:
                    self.whole = self._raw == b"\r\n"
                    self._left = 0 if self.whole else 2
                    return
            part = self._raw[: self._left]
            self.body += part[: max(0, self._left - 2)]
            self._left -= len(part)
            self._raw = self._raw[len(part) :]


def _frame(frame: bytes) -> Heard:
    """As a browser reads it; and its data is one line."""
    fields: dict[str, str] = {}
    for line in frame.decode().replace("\r", "\n").split("\n"):
        name, _, value = line.partition(":")
        assert name not in fields, frame
        fields[name] = value.removeprefix(" ")
    if "" in fields:
        return Heard("comment", fields[""])
    if "retry" in fields:
        return Heard("retry", int(fields["retry"]))
    assert set(fields) <= {"id", "event", "data"}, frame
    seq = int(fields["id"]) if "id" in fields else None
    return Heard(fields["event"], json.loads(fields["data"]), seq)


def request(path: str, last: str | int | None = None) -> bytes:
    header = "" if last is None else f"Last-Event-ID: {last}\r\n"
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode("latin-1")


class Client:
    """Reads one stream, frame by frame; `tiny` takes as little unread as the system allows."""

    seconds: float | None = None
    """How long it waits for anything: as long as this machine may take, or as a test says."""

    def __init__(
        self, port: int, path: str, last: str | int | None = None, *, tiny: bool = False
    ) -> None:
        self.wire = Wire()
        self._heard: deque[Heard] = deque()
        self._socket = socket.socket()
        if tiny:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(self._limit())
        try:
            self._socket.connect(("127.0.0.1", port))
            self._socket.sendall(request(path, last))
            while not self.wire.status:
                self._read()
        except OSError:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def next(self, seconds: float | None = None) -> Heard | None:
        """The next frame; None where the answer is over."""
        until = time.monotonic() + (self._limit() if seconds is None else seconds)
        while not self._heard and not self.wire.whole:
            self._socket.settimeout(max(0.001, until - time.monotonic()))
            self._read()
        return self._heard.popleft() if self._heard else None

    def until(self, wanted: Callable[[Heard], object]) -> list[Heard]:
        """All frames up to the one that is wanted."""
        heard: list[Heard] = []
        while not heard or not wanted(heard[-1]):
            frame = self.next()
            assert frame, f"it ended after {heard[-3:]}"
            heard.append(frame)
        return heard

    def rest(self) -> list[Heard]:
        """All frames, to the proper end of the answer."""
        heard: list[Heard] = []
        while frame := self.next():
            heard.append(frame)
        return heard

    def whole(self) -> bytes:
        """The body of an answer that is no stream."""
        while not self.wire.whole:
            self._read()
        return self.wire.body

    def _limit(self) -> float:
        return patience.seconds() if self.seconds is None else self.seconds

    def _read(self) -> None:
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionError("cut short")
        self._heard.extend(self.wire.feed(data))


def watch(at: Served, debate: str, last: str | int | None = None, *, tiny: bool = False) -> Client:
    client = Client(at.port, f"/debates/{debate}/events", last, tiny=tiny)
    if client.wire.status != 200:
        client.__exit__()
        raise AssertionError(client.wire.body)
    return client


def keep(client: Client, heard: list[Heard]) -> None:
    """Add what there is, whatever ends it."""
    while frame := client.next():
        heard.append(frame)


def seqs(heard: Iterable[Heard]) -> list[int]:
    return [frame.seq for frame in heard if frame.seq is not None]


def speeches(heard: Iterable[Heard]) -> dict[tuple[int, str, str | None], str]:
    """What was said in each turn by the rule of deltas: 0 begins anew, all else follows on."""
    said: dict[tuple[int, str, str | None], str] = {}
    for frame in heard:
        if frame.event == "delta":
            slot = (frame.data["round"], frame.data["actor"], frame.data["target"])
            before = said.get(slot, "") if frame.data["offset"] else ""
            assert frame.data["offset"] == len(before), "a piece is missing, or came twice"
            said[slot] = before + frame.data["text"]
    return said
