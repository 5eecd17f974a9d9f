"""The bus's contract: within a process, between processes of one machine, and over Valkey."""

import asyncio
import shutil
import socket
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py

from moot.bus import processes, redis
from moot.bus.memory import MemoryBus
from moot.bus.processes import LocalBus
from moot.bus.redis import RedisBus
from moot.testing.bus_contract import BusContract, SharedBusContract
from moot.testing.bus_peer import Make
from tests.services import Valkey

SECONDS = 0.4
_numbers = count()


class TestMemory(BusContract):
    @pytest.fixture
    def make(self) -> Make:
        return MemoryBus


@pytest.fixture
def runtime() -> Iterator[Path]:
    """Short, as the path of a socket must be."""
    root = Path(tempfile.mkdtemp(prefix="moot-t"))
    yield root
    shutil.rmtree(root)


class TestLocal(SharedBusContract):
    @pytest.fixture
    def make(self, runtime: Path) -> Make:
        return partial(LocalBus, runtime / "home", runtime)

    @pytest.fixture
    def elsewhere(self, runtime: Path) -> Make:
        return partial(LocalBus, runtime / "another", runtime)

    @pytest.fixture
    def stranger(self, runtime: Path) -> Iterator["Neighbour"]:
        folder = LocalBus(runtime / "home", runtime)._folder
        for one in (folder.parent, folder):
            one.mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
            yield Neighbour(folder, bound)

    @pytest.fixture
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(processes, "SILENT_SECONDS", SECONDS)


class Neighbour:
    """Has a socket beside those of the buses."""

    name = "1-00000000.sock"

    def __init__(self, folder: Path, bound: socket.socket) -> None:
        self._folder, self._socket = folder, bound
        self._heard: list[bytes] = []
        bound.setblocking(False)
        bound.bind(str(folder / self.name))

    async def throw(self, packet: bytes) -> None:
        for path in self._folder.glob("*.sock"):
            while path.name != self.name:
                try:
                    self._socket.sendto(packet, str(path))
                    break
                except BlockingIOError:
                    await asyncio.sleep(0.001)

    def heard(self) -> list[bytes]:
        while True:
            try:
                self._heard.append(self._socket.recv(1 << 16))
            except BlockingIOError:
                return self._heard


@pytest.fixture(scope="module")
def valkey() -> Iterator[Valkey]:
    with Valkey() as server:
        yield server


@pytest.fixture
def installation() -> str:
    """A name that no other test has."""
    return f"moot{next(_numbers)}"


class TestRedis(SharedBusContract):
    @pytest.fixture(autouse=True)
    def patient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A machine that stands still for some seconds must not look like one that is gone."""
        monkeypatch.setattr(redis, "SILENT_SECONDS", 60.0)
        monkeypatch.setattr(redis, "INTEREST_SECONDS", 60.0)

    @pytest.fixture
    def make(self, valkey: Valkey, installation: str) -> Make:
        return partial(RedisBus, valkey.url, installation)

    @pytest.fixture
    def elsewhere(self, valkey: Valkey, installation: str) -> Make:
        return partial(RedisBus, valkey.url, f"{installation}-another")

    @pytest.fixture
    def stranger(self, valkey: Valkey, installation: str) -> Iterator["Client"]:
        with redis_py.Redis.from_url(valkey.url) as client:
            yield Client(client, installation)

    @pytest.fixture
    def impatient(self, monkeypatch: pytest.MonkeyPatch, patient: None) -> None:
        monkeypatch.setattr(redis, "SILENT_SECONDS", SECONDS)
        monkeypatch.setattr(redis, "BEAT_SECONDS", SECONDS / 10)


class Client:
    """Is on the same server, and knows the channels."""

    name = "1-00000000"

    def __init__(self, client: redis_py.Redis, installation: str) -> None:
        self._client, self._to = client, f"{installation}:to:"
        self._heard: list[bytes] = []
        self._pubsub: Any = client.pubsub(ignore_subscribe_messages=True)
        self._pubsub.subscribe(
            f"{installation}:work", f"{installation}:hear", f"{self._to}{self.name}"
        )

    async def throw(self, packet: bytes) -> None:
        own = f"{self._to}{self.name}".encode()
        for channel in self._client.pubsub_channels(f"{self._to}*"):
            if channel != own:
                self._client.publish(channel, packet)

    def heard(self) -> list[bytes]:
        while self._pubsub.connection.can_read():
            if message := self._pubsub.get_message():
                self._heard.append(message["data"])
        return self._heard
