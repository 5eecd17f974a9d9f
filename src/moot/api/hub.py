"""What streams send, encoded once for all who read it.

A ring holds the last frames of one stream; its readers keep no queue, only a place in it. Whoever
falls behind the ring goes back to the log, which has everything that is durable.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from moot.core.events import Delta, Event, StatusChanged
from moot.core.status import FINAL
from moot.engine.service import Service
from moot.wire import codec, public

RING_FRAMES = 256
RING_BYTES = 1 << 20
LOG_BYTES = 4 << 20
PAGE = 200
HEARTBEAT_SECONDS = 10.0
DELTA_SECONDS = 0.04
"""Deltas of that long go out as one: nobody reads faster, and a thousand readers cost less."""
FEED_SECONDS = 0.2
COMMENT = b": still here\n\n"


@dataclass(frozen=True, slots=True)
class Frame:
    """Some bytes of a stream, whole."""

    data: bytes
    seq: int = 0  # 0: not durable
    final: bool = False  # after it a debate has nothing more to say


def encode(event: Event | Delta) -> Frame:
    """An event as the stream sends it: its data is one line, whatever a model wrote."""
    name, data = codec.event(event)
    line = codec.dumps(data)
    if isinstance(event, Delta):
        return Frame(f"event: {name}\ndata: {line}\n\n".encode("utf-8", "replace"))
    text = f"id: {event.seq}\nevent: {name}\ndata: {line}\n\n"
    final = isinstance(event, StatusChanged) and event.status in FINAL
    return Frame(text.encode("utf-8", "replace"), event.seq, final)


def chunk(data: bytes) -> bytes:
    """As HTTP/1.1 carries a part of a body whose length is not known, and as uvicorn writes it."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Live(Protocol):
    """A reader that has everything so far: what comes next can be handed to it at once."""

    def push(self, frame: Frame, data: bytes) -> bool:
        """Take the frame, or return False and go on alone. `data` is its chunk."""
        ...

    def wake(self) -> None: ...


class Ring:
    """The last frames of one stream."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.base = 0  # the place of the first frame that is kept
        self.readers = 0
        self.live: set[Live] = set()
        self._bytes = 0
        self._news = asyncio.Event()
        self._last = time.monotonic()

    @property
    def end(self) -> int:
        return self.base + len(self.frames)

    def add(self, frame: Frame) -> None:
        self.frames.append(frame)
        self._bytes += len(frame.data)
        self._last = time.monotonic()
        self._hand_out(frame)
        if len(self.frames) > RING_FRAMES or self._bytes > RING_BYTES:
            half = max(1, len(self.frames) // 2)
            self._bytes -= sum(len(old.data) for old in self.frames[:half])
            del self.frames[:half]
            self.base += half
        self.wake()

    def _hand_out(self, frame: Frame) -> None:
        """One write for each that waits: to wake a task costs more than to send."""
        if self.live:
            data = chunk(frame.data)
            self.live = {reader for reader in self.live if reader.push(frame, data)}

    def release(self) -> None:
        """Let every reader look for itself."""
        for reader in self.live:
            reader.wake()
        self.live.clear()
        self.wake()

    def wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def wait(self, place: int) -> None:
        """Until there is something from that place on."""
        if place == self.end:
            await self._news.wait()

    def beat(self, now: float) -> None:
        """Say that it is still here, if nothing else was said for a while."""
        if now - self._last >= HEARTBEAT_SECONDS:
            self.add(Frame(COMMENT))


class Channel(Ring):
    """The stream of one debate, or what an audience may hear of it. It listens from the moment it
    is made."""

    def __init__(self, service: Service, debate_id: str, *, on_air: bool = False) -> None:
        super().__init__()
        self.debate_id = debate_id
        self._on_air = on_air
        self._service = service
        self._log: dict[int, Frame] = {}  # by seq: what was read or heard, for all who come later
        self._log_bytes = 0
        self._heard = 0
        self._deltas: list[Delta] = []
        self._flushing: asyncio.TimerHandle | None = None
        self._reading = asyncio.Lock()
        self.close = service.listen(debate_id, self.hear)

    def hear(self, event: Event | Delta) -> None:
        if isinstance(event, Delta):
            if not self._deltas:
                loop = asyncio.get_running_loop()
                self._flushing = loop.call_later(DELTA_SECONDS, self.flush)
            self._deltas.append(event)
        elif event.seq > self._heard:
            self._heard = event.seq
            self.flush()
            frame = self._encode(event)
            self._keep(frame)
            self.add(frame)

    def flush(self) -> None:
        """Send the deltas that wait, those of one speaker as one."""
        if self._flushing:
            self._flushing.cancel()
            self._flushing = None
        deltas, self._deltas = self._deltas, []
        for delta in _joined(deltas):
            self.add(encode(delta))

    def speeches(self) -> list[Frame]:
        """What is being said, for whoever joins; what waits to be sent is sent before."""
        self.flush()
        return [encode(delta) for delta in self._service.speeches(self.debate_id)]

    async def page(self, after: int) -> list[Frame]:
        """The log after that seq; read once, however many ask for it. Empty: that is all of it."""
        async with self._reading:
            if kept := self._kept(after):
                return kept
            events = await self._service.log(self.debate_id, after, PAGE)
            frames = [self._encode(event) for event in events]
            for frame in frames:
                self._keep(frame)
            return frames

    def _encode(self, event: Event) -> Frame:
        return encode(public.event(event) if self._on_air else event)

    def _kept(self, after: int) -> list[Frame]:
        found: list[Frame] = []
        while len(found) < PAGE and (frame := self._log.get(after + 1 + len(found))):
            found.append(frame)
        return found

    def _keep(self, frame: Frame) -> None:
        if frame.seq in self._log:
            return
        if self._log_bytes > LOG_BYTES:
            self._log.clear()
            self._log_bytes = 0
        self._log[frame.seq] = frame
        self._log_bytes += len(frame.data)


def _joined(deltas: list[Delta]) -> list[Delta]:
    """Neighbouring pieces of one speech as one piece."""
    whole: dict[tuple[int, str, str | None], Delta] = {}
    done: list[Delta] = []
    for delta in deltas:
        key = (delta.round, delta.actor, delta.target)
        before = whole.get(key)
        follows = before and delta.offset == before.offset + len(before.text)
        if before and follows and delta.instruction is None and delta.cut_off is None:
            delta = replace(before, text=before.text + delta.text)
        elif before and delta.offset:
            done.append(before)
        whole[key] = delta  # one that begins anew takes the place of what was said before
    return [*done, *whole.values()]


Shown = Callable[[str], Awaitable[bytes | None]]
"""A debate as lists show it, or None if they do not."""


class Feed(Ring):
    """The stream of all debates: each that changed, as the list shows it, a few times a second."""

    def __init__(self, service: Service, shown: Shown) -> None:
        super().__init__()
        self._shown = shown
        self._changed: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None
        self.close = service.watch(self.hear)

    def hear(self, debate_id: str) -> None:
        if not self.readers:
            return
        self._changed[debate_id] = None
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._tell(), name="moot-feed")

    async def _tell(self) -> None:
        while self._changed:
            await asyncio.sleep(FEED_SECONDS)
            changed, self._changed = self._changed, {}
            for debate_id in changed:
                if line := await self._shown(debate_id):
                    self.add(Frame(b"event: status\ndata: " + line + b"\n\n"))
