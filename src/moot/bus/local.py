"""Tells listeners of other processes of this user that work on the same home, too.

Nothing durable goes this way: a commit is only a hint to look into the log, and deltas go as they
are spoken. A datagram that is lost costs a delta at most. Each process that listens has a Unix
datagram socket in a folder that is this user's alone; whoever speaks sends to all that are there.
"""

import asyncio
import hashlib
import json
import logging
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from moot.bus.foreign import Foreign
from moot.bus.memory import MemoryBus
from moot.bus.peers import NAME, Peers, check_private, open_socket
from moot.bus.wire import Item, Outbox, cease_item, delta_items, packed, read_delta, slot_of
from moot.core.events import Delta, Event, Speech, StatusChanged, TurnCommitted
from moot.core.times import iso

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5  # how often to see who else is there
DELTA_SECONDS = 0.04  # pieces are collected for that long
HINT_SECONDS = 0.01  # and commits
HELLO_SECONDS = 1.0  # between two requests for what was missed
SILENT_SECONDS = 120.0  # one who said nothing for that long is speaking no more
ANSWER_TRIES = 25  # while the other's buffer is full

NEVER = float("inf")
_AT_REST = ("paused", "completed", "stopped", "failed")


class LocalBus(MemoryBus):
    """The bus of one machine. Where it cannot work it is silent, and this process goes on alone."""

    def __init__(self, home: Path, runtime: Path | None = None) -> None:
        super().__init__()
        name = hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:16]
        base = (runtime or Path(tempfile.gettempdir())) / f"moot-{os.getuid()}"
        self._folder = base / name
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}"  # .sock is added with the socket
        self._socket: socket.socket | None = None
        self._buffer = memoryview(bytearray(1 << 16))
        self._peers = Peers(self._folder)
        self._look_at = 0.0
        self._outbox = Outbox()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0  # when the timer goes off
        self._hinting = False  # a commit waits to be hinted at
        self._hinted = 0.0
        self._answers: dict[str, asyncio.Task[None]] = {}
        self._foreign = Foreign()
        self._asked: dict[str, float] = {}

    async def start(self) -> None:
        try:
            self._socket = self._bound()
        except OSError as error:
            self._fall_silent(error)
            return
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._read)
        self._look()
        self._send(self._peers.names(), [{"kind": "hello"}])

    async def close(self) -> None:
        self._flush()  # a hint that waits would be lost
        self._look_at = NEVER
        self._peers.close()
        if self._socket:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            self._unbind(self._socket)
            self._socket = None
        answers = list(self._answers.values())
        for task in answers:
            task.cancel()
        await asyncio.gather(*answers, return_exceptions=True)

    # --- said here ---

    def publish(self, event: Event | Delta) -> None:
        super().publish(event)
        if not self._others():
            return
        if isinstance(event, Delta):
            self._outbox.say(event)
            self._flush_in(DELTA_SECONDS)
        else:
            self._hinting = True
            self._flush_in(self._hinted + HINT_SECONDS - time.monotonic())

    def begin(self, speech: Speech) -> None:
        self._foreign.drop(slot_of(speech))  # it was somebody else's, who lost it
        super().begin(speech)

    def cease(self, speech: Speech) -> None:
        super().cease(speech)
        if self._others():
            self._outbox.cease(speech)
            self._flush_in(DELTA_SECONDS)

    def listened(self, debate_id: str, *, here: bool = False) -> bool:
        return super().listened(debate_id) or (not here and self._others())

    def _flush_in(self, seconds: float) -> None:
        due = time.monotonic() + seconds
        if self._timer and self._due <= due:
            return
        loop = _running_loop()
        if loop is None or seconds <= 0:
            self._flush()
            return
        if self._timer:
            self._timer.cancel()
        self._due, self._timer = due, loop.call_later(seconds, self._flush)

    def _flush(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        items = self._outbox.take()
        if self._hinting:
            self._hinting, self._hinted = False, time.monotonic()
            items.append({"kind": "commit"})
        self._send(self._peers.names(), items)

    def _send(self, names: Sequence[str], items: Iterable[Item]) -> None:
        for datagram in packed(self._name, items):
            for name in names:
                self._peers.send(name, datagram)

    async def _answer(self, name: str) -> None:
        """Tell one who came late what is being said, at the pace at which it reads."""
        own = [speech for spoken in self._speeches.values() for speech in spoken]
        for datagram in packed(self._name, self._so_far(own)):
            for _ in range(ANSWER_TRIES):
                if self._peers.send(name, datagram):
                    break
                await asyncio.sleep(DELTA_SECONDS)
            else:
                return

    def _so_far(self, own: Sequence[Speech]) -> Iterator[Item]:
        """All that was said. It is asked for bit by bit, and meanwhile the speeches go on."""
        for speech in own:
            told = 0
            while self._spoken(speech):
                self._flush()  # or what is collected would overlap with this
                delta = speech.so_far(iso(time.time()))
                if len(delta.text) == told:
                    break
                rest = replace(delta, text=delta.text[told:], offset=told)
                yield from delta_items(rest)
                told = len(delta.text)
        yield from (cease_item(speech) for speech in own if not self._spoken(speech))

    def _spoken(self, speech: Speech) -> bool:
        return any(speech is other for other in self._speeches.get(speech.debate_id, ()))

    # --- said elsewhere ---

    def relay(self, event: Event | Delta) -> None:
        if isinstance(event, TurnCommitted):
            turn = event.turn
            self._foreign.drop((event.debate_id, turn.round, turn.actor, turn.target))
        elif isinstance(event, StatusChanged) and event.status in _AT_REST:
            self._foreign.drop_debate(event.debate_id)
        super().relay(event)

    def speeches(self, debate_id: str) -> list[Speech]:
        self._others()  # one that is gone speaks no more
        return super().speeches(debate_id) + self._foreign.of(debate_id)

    def _read(self) -> None:
        for _ in range(64):  # then the others on this loop have their turn
            if self._socket is None:
                return
            try:
                size = self._socket.recv_into(self._buffer)
            except OSError:
                return
            self._take(bytes(self._buffer[:size]))

    def _take(self, datagram: bytes) -> None:
        try:
            packet: Any = json.loads(datagram)
        except (ValueError, RecursionError) as error:
            log.debug("a datagram that is no JSON: %s", error)
            return
        match packet:
            case {"from": str(sender), "said": [*items]} if NAME.fullmatch(sender):
                self._foreign.heard[sender] = time.monotonic()
                self._others()
                for item in items:
                    self._hear(sender, item)
            case _:
                log.debug("a datagram that says nothing, of %d bytes", len(datagram))

    def _hear(self, sender: str, item: Any) -> None:
        match item:
            case {"kind": "commit"}:
                self._hear_hint()
            case {"kind": "hello"}:
                self._hear_hello(sender)
            case {"kind": "delta"} if delta := read_delta(item):
                self._hear_delta(sender, delta)
            case {
                "kind": "cease",
                "debate_id": str(debate_id),
                "round": int(number),
                "actor": str(actor),
                "target": str() | None as target,
            }:
                self._foreign.cease(sender, (debate_id, number, actor, target))
            case _:
                log.debug("%s said something unknown", sender)

    def _hear_hint(self) -> None:
        try:
            if self._hint:
                self._hint()
        except Exception:
            log.exception("whoever waits for hints failed")

    def _hear_hello(self, sender: str) -> None:
        self._look()
        task = self._answers.get(sender)
        if sender in self._peers.names() and (task is None or task.done()):
            self._answers[sender] = asyncio.create_task(self._answer(sender), name="moot-answer")

    def _hear_delta(self, sender: str, delta: Delta) -> None:
        match self._foreign.take(sender, delta):
            case "new":
                self.relay(delta)
            case "missed":
                self._ask(sender)
            case "old":
                pass

    def _ask(self, sender: str) -> None:
        """Something was missed: have the speaker say it again from the beginning."""
        now = time.monotonic()
        if self._socket is None or now - self._asked.get(sender, -NEVER) < HELLO_SECONDS:
            return
        self._asked[sender] = now
        if sender not in self._peers.names():
            self._look()
        self._send([sender], [{"kind": "hello"}])

    # --- who is there ---

    def _others(self) -> bool:
        if time.monotonic() >= self._look_at:
            self._look()
        return self._peers.any()

    def _look(self) -> None:
        if self._look_at == NEVER:
            return
        now = time.monotonic()
        self._look_at = now + LOOK_SECONDS
        try:
            self._peers.look(self._name)
        except PermissionError as error:
            self._fall_silent(error)
        self._foreign.drop_gone(self._peers.names(), now - SILENT_SECONDS)
        self._asked = {name: at for name, at in self._asked.items() if now - at < HELLO_SECONDS}
        self._answers = {name: task for name, task in self._answers.items() if not task.done()}

    def _fall_silent(self, error: OSError) -> None:
        if self._look_at != NEVER:
            log.warning("other processes on this home will not be heard: %s", error)
        self._look_at = NEVER
        self._peers.close()

    def _bound(self) -> socket.socket:
        try:
            return self._bind()
        except FileNotFoundError:  # whoever left last took the folder away just now
            return self._bind()

    def _bind(self) -> socket.socket:
        for folder in (self._folder.parent, self._folder):
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            check_private(folder)
        bound = open_socket()
        fresh = self._folder / f"{self._name}.bind"
        try:
            bound.bind(str(fresh))  # a file whose socket is not bound yet would be taken for dead
            fresh.rename(fresh.with_suffix(".sock"))
        except OSError:
            fresh.unlink(missing_ok=True)
            bound.close()
            raise
        self._name += ".sock"
        return bound

    def _unbind(self, bound: socket.socket) -> None:
        try:
            if self._name.startswith(f"{os.getpid()}-"):  # a forked child leaves it to its parent
                (self._folder / self._name).unlink(missing_ok=True)
                self._folder.rmdir()
        except OSError:
            log.debug("others are still in %s", self._folder)
        bound.close()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
