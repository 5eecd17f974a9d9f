"""The stream (§8): everything durable in order and once, then live, as server-sent events."""

import asyncio
import logging
import math
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from moot.api.hub import Channel, Feed, Frame, Ring, Shown
from moot.api.problems import ProblemError
from moot.api.server import TRANSPORT
from moot.core.link import Link
from moot.engine.service import Service
from moot.errors import MootError, NotFoundError

log = logging.getLogger(__name__)

STALL_SECONDS = 3.0
"""A reader whose connection is full and takes nothing for that long is dropped: it can come back.
Its system and ours hold some seconds of text before it is."""
TICK_SECONDS = 0.5
GATE_SECONDS = 2.0
"""How long an audience may go on hearing a station that was made private."""
GUEST_SECONDS = 0.4
"""How often it is looked whether the links of guests who listen were revoked, and the longest that
such a look may take."""
GOODBYE_SECONDS = 1.0
SEND_BYTES = 64 * 1024
SYSTEM_BYTES = 16 * 1024
"""What our system may hold for a reader, so that one who does not read is noticed soon."""
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
HELLO = b"retry: 2000\n\n"
END = b"event: end\ndata: {}\n\n"
RESET = b"event: reset\ndata: {}\n\n"


class Reader:
    """One client of a stream, while it is connected."""

    def __init__(self, send: Send, transport: asyncio.Transport, client: str) -> None:
        self.client = client
        self.gone = False
        self._send = send
        self._transport = transport
        self._since = 0.0  # when the bytes were handed over that are still not taken; 0: none are
        self._task: asyncio.Task[Any] | None = asyncio.current_task()
        self._idle: asyncio.Future[None] | None = None
        self._place = self._after = 0  # while the ring hands it what comes

    async def start(self) -> None:
        with suppress(OSError, ValueError, AttributeError):  # it has gone already
            sock = self._transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_BYTES)
        await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})

    async def give(self, data: bytes) -> None:
        """Send, in portions: whoever is slow is waited for with little in memory."""
        for at in range(0, len(data), SEND_BYTES):
            part = data if len(data) <= SEND_BYTES else data[at : at + SEND_BYTES]
            self._since = time.monotonic()
            await self._send({"type": "http.response.body", "body": part, "more_body": True})
            self._since = 0.0

    async def live(self, ring: Ring, place: int, after: int) -> tuple[int, int]:
        """Be handed what comes, until there is something to look at; says where it is then."""
        if not self._is_free():
            await ring.wait(place)
            return place, after
        self._place, self._after = place, after
        self._idle = asyncio.get_running_loop().create_future()
        ring.live.add(self)
        try:
            await self._idle
        finally:
            ring.live.discard(self)
        return self._place, self._after

    def push(self, frame: Frame, data: bytes) -> bool:
        fits = frame.seq in (0, self._after + 1) and not frame.final
        if not (fits and self._is_free()):
            self.wake()
            return False
        self._transport.write(data)
        self._place += 1
        self._after = frame.seq or self._after
        return True

    def wake(self) -> None:
        if self._idle and not self._idle.done():
            self._idle.set_result(None)

    def _is_free(self) -> bool:
        """Whether all that was sent is on its way."""
        return not self._transport.is_closing() and not self._transport.get_write_buffer_size()

    async def finish(self, data: bytes = b"") -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    def check(self, now: float) -> bool:
        """Let go of a client that has gone, or does not read; says whether it had to be dropped."""
        if self.gone:
            return False
        stalled = bool(self._since) and now - self._since > STALL_SECONDS
        if stalled or self._transport.is_closing():
            self.cut()
        return stalled

    def cut(self) -> None:
        """Let go of the client, and wake the task that carries it: there is nobody to send to."""
        self._transport.abort()
        self.gone = True
        if self._task:
            self._task.cancel()

    async def leave(self) -> None:
        """The task was cancelled to wake it: its end is an ordinary one."""
        if self._task:
            self._task.uncancel()
        await asyncio.sleep(0)  # let the server hear of it first


class Streams:
    """All streams of this process."""

    def __init__(
        self, service: Service, shown: Shown, per_client: int, dropped: Callable[[], None]
    ) -> None:
        self._service = service
        self._per_client = per_client
        self._dropped = dropped
        self._channels: dict[tuple[str, bool], Channel] = {}  # by debate, and for whom
        self._readers: dict[Reader, Ring] = {}
        self._clients: Counter[str] = Counter()
        self._guests: dict[Reader, str] = {}  # each with its link
        self._feed = Feed(service, shown)
        self.closed = False
        self._task = asyncio.create_task(self._tick(), name="moot-streams")
        self._gatekeeper = asyncio.create_task(self._keep_gate(), name="moot-on-air")
        self._host = asyncio.create_task(self._keep_guests(), name="moot-guests")

    @property
    def readers(self) -> int:
        return len(self._readers)

    def close(self) -> None:
        """End every stream in good order; the clients come back to whoever serves next."""
        self.closed = True
        self._task.cancel()
        self._gatekeeper.cancel()
        self._host.cancel()
        self._feed.close()
        for ring in [self._feed, *self._channels.values()]:
            ring.release()
        asyncio.get_running_loop().call_later(GOODBYE_SECONDS, self._hang_up)

    def _hang_up(self) -> None:
        """Those who do not read are not waited for."""
        for reader in list(self._readers):
            reader.check(math.inf)

    def admit(self, client: str) -> None:
        """Refuse a stream before it begins: after its first byte it is too late to say why."""
        if self.closed:
            raise ProblemError(503, "The service is going down.", {"Retry-After": "2"})
        if self._clients[client] >= self._per_client:
            raise ProblemError(
                429,
                f"{self._per_client} streams are open from this address already. Close some, "
                "or raise MOOT_STREAMS_PER_CLIENT.",
                {"Retry-After": "10"},
            )

    async def debate(
        self,
        reader: Reader,
        debate_id: str,
        after: int,
        *,
        reset: bool,
        over: bool,
        on_air: bool = False,
        link: Link | None = None,
    ) -> None:
        """Carry one reader through a debate, from what it has heard to the end. `on_air`: it is
        told what an audience may hear. `link`: only as long as that is not revoked."""
        key = (debate_id, on_air)
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = Channel(self._service, debate_id, on_air=on_air)
        if link:
            self._guests[reader] = link.id
        try:
            await self._run(reader, channel, _follow(self, reader, channel, after, reset, over))
        finally:
            self._guests.pop(reader, None)
            if not channel.readers:
                channel.close()
                del self._channels[key]

    async def all(self, reader: Reader) -> None:
        await self._run(reader, self._feed, _listen(self, reader, self._feed))

    async def _run(self, reader: Reader, ring: Ring, reading: Awaitable[None]) -> None:
        self._readers[reader] = ring
        ring.readers += 1
        try:
            with self.counted(reader.client):
                await reading
        except asyncio.CancelledError:
            if not reader.gone:
                raise
            await reader.leave()
        finally:
            del self._readers[reader]
            ring.readers -= 1

    @contextmanager
    def counted(self, client: str) -> Generator[None]:
        """Count a stream among those of its client while it is open."""
        self._clients[client] += 1
        try:
            yield
        finally:
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]

    async def _keep_gate(self) -> None:
        """A station that is private by now, or gone, has no audience any more."""
        while True:
            await asyncio.sleep(GATE_SECONDS)
            for (debate_id, on_air), channel in list(self._channels.items()):
                if not on_air or await self._is_public(debate_id):
                    continue
                for reader in [one for one, ring in self._readers.items() if ring is channel]:
                    reader.cut()

    async def _is_public(self, debate_id: str) -> bool:
        try:
            one = await self._service.stations.conversation(debate_id)
            return (await self._service.stations.get(one.station_id)).public
        except NotFoundError:
            return False
        except MootError:  # the database is away: it is asked again in a moment
            return True

    async def _keep_guests(self) -> None:
        while True:
            await asyncio.sleep(GUEST_SECONDS)
            await self.look_at_guests()

    async def look_at_guests(self) -> None:
        """Let go of readers whose link was revoked, in whichever process. If that cannot be told
        in time, they are let go too: those who may come back do."""
        if not self._guests:
            return
        asked = dict(self._guests)
        living: set[str] = set()
        with suppress(MootError, TimeoutError):
            async with asyncio.timeout(GUEST_SECONDS):
                living = await self._service.links.living(set(asked.values()))
        for reader, link in asked.items():
            if link not in living and reader in self._guests:
                reader.cut()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            for reader in list(self._readers):
                if reader.check(now):
                    log.info("a reader that did not read was dropped", extra={"to": reader.client})
                    self._dropped()
            for ring in [self._feed, *self._channels.values()]:
                ring.beat(now)


async def _follow(
    streams: Streams, reader: Reader, channel: Channel, after: int, reset: bool, over: bool
) -> None:
    """The log first, then live. The channel listened before the log is read, so nothing falls
    between the two; and no seq is sent but the one that comes next. `over`: the log is all there
    will be."""
    await reader.start()
    await reader.give(HELLO + RESET if reset else HELLO)
    place = -1  # not, or no longer, among what the channel keeps
    while not streams.closed:
        joins = place < channel.base
        if joins:
            place = channel.end
            while frames := await channel.page(after):
                await reader.give(_bytes(frames))
                after, over = frames[-1].seq, over or frames[-1].final
            if over:
                await reader.finish(END)
                return
        after, frames, place = _live(channel, place, after)
        if joins and place >= 0:  # what is being said, from its beginning; no piece of it twice
            frames = [frame for frame in frames if frame.seq] + channel.speeches()
            place = channel.end
        if frames:
            await reader.give(_bytes(frames))
        if any(frame.final for frame in frames):
            await reader.finish(END)
            return
        if place == channel.end and not streams.closed:
            place, after = await reader.live(channel, place, after)
    await reader.finish()


def _live(channel: Channel, place: int, after: int) -> tuple[int, list[Frame], int]:
    """The frames from that place on; -1 for the place if one is missing: the log has it."""
    found: list[Frame] = []
    if place < channel.base:
        return after, found, -1
    for frame in channel.frames[place - channel.base :]:
        if frame.seq > after + 1:
            return after, found, -1
        if frame.seq in (0, after + 1):
            found.append(frame)
            after = frame.seq or after
    return after, found, channel.end


def _bytes(frames: list[Frame]) -> bytes:
    return frames[0].data if len(frames) == 1 else b"".join(frame.data for frame in frames)


async def _listen(streams: Streams, reader: Reader, feed: Feed) -> None:
    """All that comes from now on; whoever falls behind is told to read the list again."""
    place = feed.end
    await reader.start()
    await reader.give(HELLO)
    while not streams.closed:
        if place < feed.base:
            place = feed.end
            await reader.give(RESET)
        if frames := feed.frames[place - feed.base :]:
            place = feed.end
            await reader.give(_bytes(frames))
        if place == feed.end and not streams.closed:
            place, _ = await reader.live(feed, place, 0)
    await reader.finish()


class EventStream(Response):
    """A response that a reader is carried through by `pour`."""

    def __init__(self, client: str, pour: Callable[[Reader], Awaitable[None]]) -> None:
        super().__init__()
        self._client = client
        self._pour = pour

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._pour(Reader(send, scope["extensions"][TRANSPORT]["transport"], self._client))
