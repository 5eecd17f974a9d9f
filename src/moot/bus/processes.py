"""Tells listeners of other processes of this user that work on the same home, too.

Each process that listens has a Unix datagram socket in a folder that is this user's alone; whoever
speaks sends to all that are there.
"""

import asyncio
import hashlib
import logging
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from moot.bus.datagrams import Item, packed
from moot.bus.peers import Peers, check_private, open_socket
from moot.bus.shared import DELTA_SECONDS, NEVER, SharedBus

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5  # how often to see who else is there
SILENT_SECONDS = 120.0  # one who said nothing for that long is speaking no more
ANSWER_TRIES = 25  # while the other's buffer is full
HELLO: Item = {"kind": "hello"}


class LocalBus(SharedBus):
    """The bus of one machine. Where it cannot work it is silent, and this process goes on alone."""

    def __init__(self, home: Path, runtime: Path | None = None) -> None:
        super().__init__(f"{os.getpid()}-{secrets.token_hex(4)}")  # .sock is added with the socket
        name = hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:16]
        base = (runtime or Path(tempfile.gettempdir())) / f"moot-{os.getuid()}"
        self._folder = base / name
        self._socket: socket.socket | None = None
        self._buffer = memoryview(bytearray(1 << 16))
        self._peers = Peers(self._folder)
        self._look_at = 0.0

    async def start(self) -> None:
        try:
            try:
                self._socket = self._bind()
            except FileNotFoundError:  # whoever left last took the folder away just now
                self._socket = self._bind()
        except OSError as error:
            self._fall_silent(error)
            return
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._read)
        self._look()
        self._broadcast([HELLO])

    async def close(self) -> None:
        self._flush()  # a hint that waits would be lost
        self._look_at = NEVER
        self._peers.close()
        if self._socket:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            self._unbind(self._socket)
            self._socket = None
        await self._end_answers()

    # --- sending and hearing ---

    def _broadcast(self, items: Iterable[Item]) -> None:
        names = self._peers.names()
        for datagram in packed(self._name, items):
            for name in names:
                self._peers.send(name, datagram)

    async def _deliver(self, name: str, datagram: bytes) -> bool:
        for _ in range(ANSWER_TRIES):
            if self._peers.send(name, datagram):
                return True
            await asyncio.sleep(DELTA_SECONDS)
        return False

    def _ask(self, sender: str, debate_id: str) -> None:
        if self._socket and self._may_ask(sender):
            if sender not in self._peers.names():
                self._look()
            for datagram in packed(self._name, [HELLO]):
                self._peers.send(sender, datagram)

    def _read(self) -> None:
        for _ in range(64):  # then the others on this loop have their turn
            if self._socket is None:
                return
            try:
                size = self._socket.recv_into(self._buffer)
            except OSError:
                return
            self._take(bytes(self._buffer[:size]))

    # --- who is there ---

    def _others(self) -> bool:
        if time.monotonic() >= self._look_at:
            self._look()
        return bool(self._peers.names())

    def _reaches(self, name: str) -> bool:
        self._look()
        return name in self._peers.names()

    def _look(self) -> None:
        if self._look_at == NEVER:
            return
        self._look_at = time.monotonic() + LOOK_SECONDS
        try:
            self._peers.look(self._name)
        except PermissionError as error:
            self._fall_silent(error)
        self._drop_gone(self._peers.names(), SILENT_SECONDS)

    def _fall_silent(self, error: OSError) -> None:
        if self._look_at != NEVER:
            log.warning("other processes on this home will not be heard: %s", error)
        self._look_at = NEVER
        self._peers.close()

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
