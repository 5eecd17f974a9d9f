"""A TCP proxy in front of a database or a broker: it resets connections, and loses replies.

It runs as a process of its own. A test that forks its workers would otherwise give each of them the
proxy's sockets, and a socket that somebody else still holds is not reset when it is closed.
"""

import asyncio
import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
from typing import IO, Any, Self
from urllib.parse import urlsplit

ENCRYPT = {struct.pack("!II", 8, code) for code in (80877103, 80877104)}  # by TLS, by GSSAPI
COMMITTED = b"COMMIT\0"
HEAD = 5  # bytes before the body of each message of Postgres: its kind, and its length without it


class Proxy:
    """Stands before the server of a URL, at `at()`. What it is told is done when that returns."""

    def __init__(self, url: str, seed: int = 0) -> None:
        parts = urlsplit(url)
        self._url = url
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(parts.hostname), str(parts.port), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the test
        )
        assert self._process.stdin
        assert self._process.stdout
        self._to, self._from = self._process.stdin, self._process.stdout
        keep_from_children(self._to)
        self._lock = threading.Lock()
        self.port = int(self._from.readline())

    def at(self, url: str | None = None) -> str:
        """The URL, with the proxy's address in place of the server's."""
        parts = urlsplit(url or self._url)
        user, at, _ = parts.netloc.rpartition("@")
        return parts._replace(netloc=f"{user}{at}127.0.0.1:{self.port}").geturl()

    def reset(self) -> int:
        """Break all connections, with RST to both sides; how many there were."""
        before = self.resets
        return self._tell("reset")["resets"] - before

    def lose_commits(self, chance: float = 1.0, most: int = 1) -> None:
        """From now on, lose the reply to a COMMIT with this chance, and at most so many.

        The server has committed, and said so; the client gets an RST in place of the answer. A
        statement that is its own transaction has no COMMIT, and its reply is not lost.
        """
        self._tell("lose", chance, most)

    def pause(self) -> None:
        """Forward nothing more, and keep all connections open."""
        self._tell("pause")

    def resume(self) -> None:
        self._tell("resume")

    @property
    def lost(self) -> int:
        """Replies to COMMIT that were lost."""
        return self._tell("count")["lost"]

    @property
    def resets(self) -> int:
        """Connections that `reset` broke."""
        return self._tell("count")["resets"]

    @property
    def links(self) -> int:
        """Connections that are open."""
        return self._tell("count")["links"]

    def close(self) -> None:
        self._to.close()
        self._from.close()
        self._process.wait(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tell(self, *words: object) -> dict[str, int]:
        with self._lock:
            self._to.write(json.dumps(words).encode() + b"\n")
            self._to.flush()
            return json.loads(self._from.readline())


def keep_from_children(pipe: IO[bytes]) -> None:
    """A forked worker holds no end of it: who waits for its end need not wait for the worker's."""
    os.register_at_fork(after_in_child=lambda: pipe.closed or os.close(pipe.fileno()))


# --- the process itself, which needs nothing but the standard library ---


class Hub:
    """All connections, and what is to happen to them."""

    def __init__(self, host: str, port: int, seed: int) -> None:
        self.host, self.port = host, port
        self.links: set[Link] = set()
        self.paused = False
        self._random = random.Random(seed)
        self._chance, self._left = 0.0, 0
        self._counts = {"resets": 0, "lost": 0}

    def loses(self) -> bool:
        """Whether this reply to COMMIT is lost."""
        if not self._left or self._random.random() >= self._chance:
            return False
        self._left -= 1
        self._counts["lost"] += 1
        return True

    async def told(self, verb: str, *values: Any) -> dict[str, int]:
        if verb == "reset":
            self._counts["resets"] += len(self.links)
            for link in list(self.links):
                link.reset()
            await asyncio.sleep(0)  # they are closed in the loop's next round
        elif verb == "lose":
            self._chance, self._left = values
        elif verb in ("pause", "resume"):
            self.paused = verb == "pause"
            for link in self.links:
                link.hold()
        return {**self._counts, "links": len(self.links)}


class Link:
    """One connection: the client's side, and the server's."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.client, self.server = Client(self), Server(self)

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self.server, self.hub.host, self.hub.port)
        except OSError:
            self.reset()
        if self not in self.hub.links:  # the client is gone already
            self.end()
        self.hold()

    def hold(self) -> None:
        """Read from a side, or leave it: where its peer is slow, or all is paused."""
        for side, peer in ((self.client, self.server), (self.server, self.client)):
            if not side.transport:
                continue
            if self.hub.paused or peer.full or not peer.transport:
                side.transport.pause_reading()
            else:
                side.transport.resume_reading()

    def reset(self) -> None:
        for side in (self.client, self.server):
            if side.transport and not side.transport.is_closing():
                sock = side.transport.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                side.transport.abort()
        self.hub.links.discard(self)

    def end(self) -> None:
        for side in (self.client, self.server):
            if side.transport:
                side.transport.close()  # once all that was written is sent
        self.hub.links.discard(self)


class Side(asyncio.Protocol):
    """One end of a connection."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.transport: asyncio.Transport | None = None
        self.full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def write(self, data: bytes) -> None:
        if data and self.transport:
            self.transport.write(data)

    def pause_writing(self) -> None:
        self.full = True
        self.link.hold()

    def resume_writing(self) -> None:
        self.full = False
        self.link.hold()

    def connection_lost(self, exc: Exception | None) -> None:
        self.link.end()


class Client(Side):
    """What it says goes to the server as it is, except that it wants to speak in cipher."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._first: bytes | None = b""
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.link.hub.links.add(self.link)
        self._task = asyncio.create_task(self.link.connect())
        self.link.hold()

    def data_received(self, data: bytes) -> None:
        if self._first is not None:
            data = self._first + data
            while data[:8] in ENCRYPT:
                self.write(b"N")
                data = data[8:]
            if data[:1] in (b"", b"\0") and len(data) < 8:
                self._first = data
                return
            self._first = None
            self.link.server.framed = data[:1] == b"\0"  # as no command of Redis begins
        self.link.server.write(data)


class Server(Side):
    """What it says goes to the client, except for the reply to a COMMIT that is lost."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self.framed = False
        self._kept = b""  # the beginning of a message that must be seen whole
        self._ahead = 0  # bytes of the last message that are still to come

    def data_received(self, data: bytes) -> None:
        if not self.framed:
            self.link.client.write(data)
            return
        data, at = self._kept + data, self._ahead
        while at + HEAD <= len(data):
            end = at + 1 + int.from_bytes(data[at + 1 : at + HEAD], "big")
            if data[at] == ord("C"):  # a command is complete
                if end > len(data):
                    break
                if data[at + HEAD : end] == COMMITTED and self.link.hub.loses():
                    self.link.client.write(data[:at])
                    self.link.reset()
                    return
            at = end
        self._kept, self._ahead = data[at:], max(0, at - len(data))
        self.link.client.write(data[:at])


async def main(host: str, port: str, seed: str) -> None:
    """Obey what comes in, a line at a time; end where it ends, as it does with whoever asked."""
    loop, hub = asyncio.get_running_loop(), Hub(host, int(port), int(seed))
    said = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(said), sys.stdin)
    server = await loop.create_server(lambda: Link(hub).client, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async for line in said:
        print(json.dumps(await hub.told(*json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
