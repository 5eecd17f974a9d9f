"""Tells listeners of other processes, on whichever machine, over Redis (or Valkey).

Two channels are for all: `<name>:work`, what whoever speaks must hear (nudges, and who wants to
hear what), and `<name>:hear`, what whoever listens must hear (commits, deltas). Another,
`<name>:to:<process>`, is for one. Deltas are sent only of debates that somebody elsewhere listens
to. While Redis is away nothing is kept: the log is the truth, and there is found what was not told.
"""

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from moot.bus.datagrams import Item, packed, read_ids
from moot.bus.shared import SharedBus
from moot.ports.event_bus import Forget, Listener

log = logging.getLogger(__name__)

BEAT_SECONDS = 1.0  # how often it says what it listens to, and that it is still speaking
INTEREST_SECONDS = 3.0  # who has not said so for that long listens no more
SILENT_SECONDS = 5.0  # and who has not said anything speaks no more
FIRST_WAIT, LAST_WAIT = 0.1, 2.0  # seconds between two tries to connect
SOCKET_SECONDS = 2.0  # for a connection, a reply, or the answer to a ping
START_SECONDS = CLOSE_SECONDS = 0.4
MOST_WAITING = 8 << 20  # bytes to be sent; what comes on top of them is dropped
MOST_INTERESTS = 100_000
IDS = 500  # debates that one item names
AWAY = "Redis is away, other machines are heard through the log only"
_WORK = ("hello", "interest", "nudge")


class RedisBus(SharedBus):
    """The bus of many machines. `name` tells installations that share a Redis apart."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(f"{os.getpid()}-{secrets.token_hex(4)}")
        self._prefix = name
        self._redis: Any = cast(Any, Redis).from_url(  # half of its types are unknown
            url,
            protocol=2,
            socket_timeout=SOCKET_SECONDS,
            socket_connect_timeout=SOCKET_SECONDS,
            retry=Retry(NoBackoff(), 0, ()),  # we connect anew ourselves, and say hello again
        )
        self._interest = Interest()
        self._queue: list[tuple[str, bytes]] = []
        self._waiting = 0  # bytes in the queue
        self._wake = asyncio.Event()  # something is to be sent, or to be subscribed to
        self._idle = asyncio.Event()  # all of it is
        self._tried = asyncio.Event()  # to connect
        self._connected = False
        self._ears = False  # somebody here wants to hear
        self._warned = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="moot-redis")
        await _within(START_SECONDS, self._tried)

    async def close(self) -> None:
        self._flush()  # a hint that waits would be lost
        await self._end_answers()
        if self._task and self._connected:
            await _within(CLOSE_SECONDS, self._idle)
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=CLOSE_SECONDS)
            self._task = None
        self._connected = False
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_SECONDS / 4):
                await self._redis.aclose()

    # --- who wants to hear ---

    def listen(self, debate_id: str, listener: Listener) -> Forget:
        first = debate_id not in self._listeners
        forget = super().listen(debate_id, listener)
        if first and self._open_ears():
            self._greet([debate_id])

        def forget_it() -> None:
            forget()
            if debate_id not in self._listeners:
                self._foreign.drop_debate(debate_id)

        return forget_it

    def watch(self, watcher: Callable[[str], None]) -> Forget:
        self._open_ears()
        return super().watch(watcher)

    def on_hint(self, hint: Callable[[Mapping[str, int]], None]) -> None:
        self._open_ears()
        super().on_hint(hint)

    def _open_ears(self) -> bool:
        """Whether they are open already; those who only speak need not hear the others."""
        opened, self._ears = self._ears, True
        self._wake.set()
        return opened

    def _greet(self, debates: Sequence[str]) -> None:
        """Have all who speak there tell what was said so far, and go on telling."""
        self._asked |= dict.fromkeys(debates, time.monotonic())
        self._broadcast(_named("hello", debates))

    def _others(self) -> bool:
        return self._connected

    def _wanted(self, debate_id: str) -> bool:
        return self._connected and debate_id in self._interest

    def _reaches(self, name: str) -> bool:
        return self._connected

    # --- sending ---

    def _broadcast(self, items: Iterable[Item]) -> None:
        channels: dict[str, list[Item]] = {"work": [], "hear": []}
        for item in items:
            channels["work" if item["kind"] in _WORK else "hear"].append(item)
        for channel, some in channels.items():
            for datagram in packed(self._name, some):
                self._put(channel, datagram)

    async def _deliver(self, name: str, datagram: bytes) -> bool:
        while self._connected and self._waiting > MOST_WAITING / 2:
            await self._idle.wait()
        self._put(f"to:{name}", datagram)
        return self._connected

    def _ask(self, sender: str, debate_id: str) -> None:
        if self._may_ask(debate_id):
            for datagram in packed(self._name, [{"kind": "hello", "of": [debate_id]}]):
                self._put(f"to:{sender}", datagram)

    def _put(self, channel: str, datagram: bytes) -> None:
        if self._connected and self._waiting + len(datagram) <= MOST_WAITING:
            self._queue.append((f"{self._prefix}:{channel}", datagram))
            self._waiting += len(datagram)
            self._idle.clear()
            self._wake.set()

    # --- hearing ---

    def _hear(self, sender: str, item: Any) -> None:
        match item:
            case {"kind": "hello", "of": of}:
                debates = read_ids(of)
                self._interest.take(sender, debates)
                self._owe(sender, debates)
            case {"kind": "interest", "of": of}:
                self._owe(sender, self._interest.take(sender, read_ids(of)))
            case {"kind": "hello" | "here"}:
                pass  # it is alive, and that is known by now
            case {"kind": "delta" | "cease", "debate_id": str(id_)} if id_ not in self._listeners:
                pass
            case _:
                super()._hear(sender, item)

    # --- the connection ---

    async def _run(self) -> None:
        """Connect, for ever."""
        wait = FIRST_WAIT
        while True:
            try:
                await self._session()
            except Exception as error:
                if not self._warned:
                    why = str(error) or repr(error)
                    log.warning(f"{AWAY}: %s", why)
                self._warned = True
            if self._connected:
                wait = FIRST_WAIT
            self._connected = False
            self._interest.clear()
            self._queue, self._waiting = [], 0
            self._idle.set()
            self._tried.set()
            await asyncio.sleep(wait * (0.75 + secrets.randbelow(500) / 1000))
            wait = min(2 * wait, LAST_WAIT)

    async def _session(self) -> None:
        """One connection to hear and one to send: what ends one ends both."""
        self._wake.set()
        try:
            async with self._redis.pubsub() as pubsub, asyncio.TaskGroup() as tasks:
                await pubsub.subscribe(f"{self._prefix}:work", f"{self._prefix}:to:{self._name}")
                tasks.create_task(self._listen(pubsub))
                tasks.create_task(self._send(pubsub))
                tasks.create_task(self._beat())
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_SECONDS / 2):
                    await self._redis.connection_pool.disconnect()

    async def _listen(self, pubsub: Any) -> None:
        """Hear, and see to it that a connection that is dead and does not say so is noticed."""
        silent = False
        while not _called_off():
            message = await pubsub.get_message(timeout=SOCKET_SECONDS)
            match message:
                case {"type": "message", "data": bytes(datagram)}:
                    self._take(datagram)
                case {"type": "subscribe", "channel": bytes(channel)}:
                    self._subscribed(channel.decode().removeprefix(f"{self._prefix}:"))
                case None if silent:
                    raise TimeoutError("it does not answer")
                case None:
                    await pubsub.ping()
                case _:
                    pass
            silent = message is None

    def _subscribed(self, channel: str) -> None:
        if channel == "hear":
            self._greet(self.listening())
        elif channel != "work":
            self._connected = True
            self._tried.set()
            if self._warned:
                log.info("Redis is there")
            self._warned = False

    async def _send(self, pubsub: Any) -> None:
        """One round trip for all that waits."""
        hears = False
        while not _called_off():
            await self._wake.wait()
            self._wake.clear()
            if self._ears and not hears:
                await pubsub.subscribe(f"{self._prefix}:hear")
                hears = True
            if queue := self._queue:
                self._queue, self._waiting = [], 0
                async with self._redis.pipeline(transaction=False) as pipe:
                    for channel, datagram in queue:
                        pipe.publish(channel, datagram)
                    await pipe.execute()
            if not self._queue:
                self._idle.set()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            self._interest.sweep()
            self._drop_gone((), SILENT_SECONDS)
            items = _named("interest", self.listening())
            if any(debate_id in self._interest for debate_id in self._speeches):
                items.append({"kind": "here"})
            self._broadcast(items)


class Interest:
    """Who, elsewhere, listens to which debates: as long as they go on saying so."""

    def __init__(self) -> None:
        self._until: dict[str, dict[str, float]] = {}  # by debate, then by process

    def __contains__(self, debate_id: str) -> bool:
        return debate_id in self._until

    def take(self, name: str, debates: Iterable[str]) -> list[str]:
        """Note them. Returns those that are new."""
        until, new = time.monotonic() + INTEREST_SECONDS, list[str]()
        room = MOST_INTERESTS - sum(map(len, self._until.values()))
        for debate_id in debates:
            if name not in self._until.get(debate_id, {}):
                if len(new) >= room:
                    continue
                new.append(debate_id)
            self._until.setdefault(debate_id, {})[name] = until
        return new

    def sweep(self) -> None:
        now = time.monotonic()
        for debate_id, known in list(self._until.items()):
            self._until[debate_id] = {name: until for name, until in known.items() if until > now}
            if not self._until[debate_id]:
                del self._until[debate_id]

    def clear(self) -> None:
        self._until.clear()


def _called_off() -> bool:
    """Whether this task was cancelled: redis swallows that if a reply comes the same moment."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _named(kind: str, debates: Sequence[str]) -> list[Item]:
    return [{"kind": kind, "of": debates[at : at + IDS]} for at in range(0, len(debates), IDS)]


async def _within(seconds: float, event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
