"""Tells listeners of other processes of this user that work on the same home, too.

Nothing durable goes this way: a commit is only a hint to look into the log, and deltas go as they
are spoken. A datagram that is lost costs a delta at most. Each process that listens has a Unix
datagram socket in a folder that is this user's alone; whoever speaks sends to all that are there.

A datagram is `{"from": name, "said": [...]}`, with any number of `hello`, `delta`, `cease` and
`commit` in it: Linux holds no more than ten datagrams for one that is not reading just now.
"""

import asyncio
import hashlib
import json
import logging
import os
import re
import secrets
import socket
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from moot.bus.memory import MemoryBus
from moot.core.events import Delta, Event, Speech, StatusChanged, TurnCommitted
from moot.core.times import iso

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5  # how often to see who else is there
DELTA_SECONDS = 0.04  # pieces are collected for that long
HINT_SECONDS = 0.01  # and commits
HELLO_SECONDS = 1.0  # between two requests for what was missed
SILENT_SECONDS = 120.0  # one who said nothing for that long is speaking no more
DATAGRAM = 60_000  # bytes
PIECE = 4_000  # characters of a delta: 12 bytes each at most, so that it fits a datagram
BUFFER = 1 << 18  # bytes; where less is the system's rule, it is less
MOST_SPEECHES, MOST_CHARACTERS = 1_000, 200_000  # of others, kept for those who join
ANSWER_TRIES = 25  # while the other's buffer is full

NEVER = float("inf")
_NAME = re.compile(r"[0-9]+-[0-9a-f]{8}(\.sock)?")
_AT_REST = ("paused", "completed", "stopped", "failed")
_encode = json.JSONEncoder(separators=(",", ":")).encode

Item = dict[str, Any]
Slot = tuple[str, int, str, str | None]
"""Debate, round, actor and target: what no two turns share."""


def slot_of(said: Delta | Speech) -> Slot:
    return said.debate_id, said.round, said.actor, said.target


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
        self._peers = _Peers(self._folder)
        self._look_at = 0.0
        self._outbox = _Outbox()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0  # when the timer goes off
        self._hinting = False  # a commit waits to be hinted at
        self._hinted = 0.0
        self._answers: dict[str, asyncio.Task[None]] = {}
        self._foreign = _Foreign()
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
        for datagram in _packed(self._name, items):
            for name in names:
                self._peers.send(name, datagram)

    async def _answer(self, name: str) -> None:
        """Tell one who came late what is being said, at the pace at which it reads."""
        own = [speech for spoken in self._speeches.values() for speech in spoken]
        for datagram in _packed(self._name, self._so_far(own)):
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
                yield from _delta_items(rest)
                told = len(delta.text)
        yield from (_cease_item(speech) for speech in own if not self._spoken(speech))

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
            case {"from": str(sender), "said": [*items]} if _NAME.fullmatch(sender):
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
            case {"kind": "delta"} if delta := _read_delta(item):
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
            _check_private(folder)
        bound = _open_socket()
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


class _Peers:
    """The sockets of the other processes, each with a connection of its own.

    One that does not read fills its own connection and no other's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._links: dict[str, socket.socket] = {}

    def any(self) -> bool:
        return bool(self._links)

    def names(self) -> list[str]:
        return list(self._links)

    def look(self, me: str) -> None:
        """See who is there now. Raises PermissionError where the folder is not ours alone."""
        try:
            _check_private(self._folder.parent)
            _check_private(self._folder)
            names = {path.name for path in self._folder.glob("*.sock")} - {me}
        except PermissionError:
            raise
        except OSError:  # no folder, so nobody
            names: set[str] = set()
        for name in self._links.keys() - names:
            self._links.pop(name).close()
        for name in filter(_NAME.fullmatch, names):
            self._connect(name)

    def send(self, name: str, datagram: bytes) -> bool:
        link = self._links.get(name)
        if link is None:
            return False
        try:
            link.send(datagram)
        except ConnectionError:
            self._connect(name)
        except OSError as error:  # its buffer is full: it will ask for what it missed
            log.debug("%s was not told: %s", name, error)
        else:
            return True
        return False

    def close(self) -> None:
        for link in self._links.values():
            link.close()
        self._links.clear()

    def _connect(self, name: str) -> None:
        """Connect, again if need be: only so is one that was killed told from one that is busy."""
        path = self._folder / name
        try:
            link = self._links.get(name) or _open_socket()
            self._links[name] = link
            link.connect(str(path))
        except OSError as error:
            if link := self._links.pop(name, None):
                link.close()
            if isinstance(error, ConnectionRefusedError):
                with suppress(OSError):
                    path.unlink()


class _Outbox:
    """What is collected until it is sent: pieces of one speech are joined, the order is kept."""

    def __init__(self) -> None:
        self._said: list[_Joined | Item] = []
        self._open: dict[Slot, _Joined] = {}

    def say(self, delta: Delta) -> None:
        joined = self._open.get(slot_of(delta))
        if joined and delta.offset == joined.end:
            joined.pieces.append(delta.text)
            joined.end += len(delta.text)
        else:
            joined = _Joined(delta, [delta.text], delta.offset + len(delta.text))
            self._open[slot_of(delta)] = joined
            self._said.append(joined)

    def cease(self, speech: Speech) -> None:
        self._open.pop(slot_of(speech), None)
        self._said.append(_cease_item(speech))

    def take(self) -> list[Item]:
        items: list[Item] = []
        for said in self._said:
            if isinstance(said, _Joined):
                items.extend(_delta_items(replace(said.first, text="".join(said.pieces))))
            else:
                items.append(said)
        self._said, self._open = [], {}
        return items


@dataclass(slots=True)
class _Joined:
    """Consecutive deltas of one speech."""

    first: Delta
    pieces: list[str]
    end: int  # the offset of what comes next


class _Foreign:
    """What is being said in other processes, for those who join here."""

    def __init__(self) -> None:
        self.heard: dict[str, float] = {}  # when each process last said anything
        self._speeches: dict[Slot, _Overheard] = {}

    def take(self, sender: str, delta: Delta) -> Literal["new", "old", "missed"]:
        slot = slot_of(delta)
        known = self._speeches.get(slot)
        if delta.offset == 0:
            if known is None and len(self._speeches) >= MOST_SPEECHES:
                return "old"
            debate_id, number, actor, target = slot
            speech = Speech(debate_id, number, delta.stage, actor, target, [])
            known = self._speeches[slot] = _Overheard(sender, speech)
        elif known is None or known.sender != sender or delta.offset > known.length:
            return "missed"
        elif delta.offset < known.length:
            return "old"
        if room := max(MOST_CHARACTERS - known.length, 0):
            known.speech.pieces.append(delta.text[:room])
        known.length += len(delta.text)
        return "new"

    def of(self, debate_id: str) -> list[Speech]:
        return [known.speech for slot, known in self._speeches.items() if slot[0] == debate_id]

    def cease(self, sender: str, slot: Slot) -> None:
        known = self._speeches.get(slot)
        if known and known.sender == sender:
            del self._speeches[slot]

    def drop(self, slot: Slot) -> None:
        self._speeches.pop(slot, None)

    def drop_debate(self, debate_id: str) -> None:
        for slot in [slot for slot in self._speeches if slot[0] == debate_id]:
            del self._speeches[slot]

    def drop_gone(self, there: Sequence[str], since: float) -> None:
        """Drop what nobody goes on saying: the process is gone, or silent for too long."""
        self.heard = {
            name: at
            for name, at in self.heard.items()
            if at >= since and (name in there or not name.endswith(".sock"))
        }
        for slot, known in list(self._speeches.items()):
            if known.sender not in self.heard:
                del self._speeches[slot]


@dataclass(slots=True)
class _Overheard:
    """A speech of another process."""

    sender: str
    speech: Speech
    length: int = 0  # of all that was said, whether it was kept or not


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _open_socket() -> socket.socket:
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    opened.setblocking(False)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):  # macOS: 2 KB a datagram otherwise
        with suppress(OSError):
            opened.setsockopt(socket.SOL_SOCKET, option, BUFFER)
    return opened


def _check_private(folder: Path) -> None:
    """Refuse a folder in which somebody else could listen, or speak."""
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not ours or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder of this user alone")


def _packed(sender: str, items: Iterable[Item]) -> Iterator[bytes]:
    """As few datagrams as will hold them."""
    batch: list[str] = []
    size = 0
    for item in items:
        line = _encode(item)
        if batch and size + len(line) > DATAGRAM:
            yield _datagram(sender, batch)
            batch, size = [], 0
        batch.append(line)
        size += len(line) + 1
    if batch:
        yield _datagram(sender, batch)


def _datagram(sender: str, lines: list[str]) -> bytes:
    return f'{{"from":"{sender}","said":[{",".join(lines)}]}}'.encode()


def _cease_item(speech: Speech) -> Item:
    debate_id, number, actor, target = slot_of(speech)
    slot = {"debate_id": debate_id, "round": number, "actor": actor, "target": target}
    return {"kind": "cease", **slot}


def _delta_items(delta: Delta) -> Iterator[Item]:
    """A delta, or several where its text is long."""
    for start in range(0, len(delta.text), PIECE):
        yield {
            "kind": "delta",
            "debate_id": delta.debate_id,
            "round": delta.round,
            "stage": delta.stage,
            "actor": delta.actor,
            "target": delta.target,
            "text": delta.text[start : start + PIECE],
            "at": delta.at,
            "offset": delta.offset + start,
        }


def _read_delta(item: Any) -> Delta | None:
    match item:
        case {
            "debate_id": str(debate_id),
            "round": int(number),
            "stage": str(stage),
            "actor": str(actor),
            "target": str() | None as target,
            "text": str(text),
            "at": str(at),
            "offset": int(offset),
        }:
            return Delta(debate_id, number, stage, actor, target, text, at, offset)
        case _:
            return None
