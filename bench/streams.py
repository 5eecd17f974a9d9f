"""What many readers of one debate cost, and whether each of them has all of it in good time.

Beside it stands the same in plain FastAPI, with a queue and a generator for each client.
`python -m bench.streams moot FD HOME` and `... plain FD TURNS` are the servers,
`... read PORT PATH READERS IDLE TURNS` is all of the clients, in one process.
"""

import asyncio
import http.client
import json
import os
import re
import select
import socket
import subprocess
import sys
import time
from array import array
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median
from typing import IO, Any

from bench.slow_server import allow_connections
from bench.stage import MOTION, SEATS, home, settings
from bench.table import Row, at_least, below, beside, show
from moot.core.debate import Usage
from moot.core.times import iso, seconds
from moot.ports.model_call import Call, ModelCard, Reply, Say

READERS = 2000
IDLE = 200
RUNS = 3
BEAT = 0.1
TURNS = 120
IDLE_TURNS = 180
"""Long enough to see those dropped who do not read."""
FEW = 10
_TEXT = 1665  # characters; with what else a turn holds, its frame has about 2 KB
_PATIENCE = 60.0
_SENTENCE = "That the cost of a late change grows is no law of nature but a habit of large teams. "
_USAGE = Usage(900, 400, 0.001)


@dataclass(frozen=True, slots=True)
class Heard:
    """What the clients of one server had, and what it cost the server."""

    delivered: int  # events that came in their order, each once
    expected: int
    p50: float  # milliseconds from commit to receipt
    p95: float
    p99: float
    worst: float
    kilobytes: float  # of the server's memory, a reader
    microseconds: float  # of the server's CPU, an event and reader
    dropped: int = 0
    drop_seconds: float = inf  # from the first turn until all were dropped


# The rows


def full(runs: int = RUNS) -> list[Row]:
    """The promises, and the plain generator beside them."""
    ours: list[Heard] = []
    beset: list[Heard] = []
    theirs: list[Heard] = []
    few: list[Heard] = []
    for number in range(runs):  # in turns, so that a busy moment of the machine hits all alike
        _say(f"{READERS:,} readers of moot, and of plain generators: {number + 1} of {runs}")
        ours.append(of_moot())
        beset.append(of_moot(idle=IDLE, turns=IDLE_TURNS))
        theirs.append(of_generators())
        few.append(of_moot(FEW, turns=TURNS // 2))
    return [*_rows(ours, few), *_plain_rows(theirs), *_idle_rows(beset, ours)]


def quick(readers: int = 50, turns: int = 10) -> list[Row]:
    """That it still runs: loose promises, in a few seconds."""
    ours = of_moot(readers, turns=turns)
    return [
        at_least(f"{readers} readers", 100 * _share(ours), 100, "% delivered", _count([ours])),
        below("  p99 from commit to receipt", ours.p99, 2000, "ms"),
        below("  memory", ours.kilobytes, 400, "kB a reader"),
    ]


def _rows(ours: list[Heard], few: list[Heard]) -> list[Row]:
    p99 = [one.p99 for one in ours]
    noise = [one.p99 for one in few]
    what = f"{READERS:,} readers, 2 kB 10 times a second"
    return [
        at_least(what, 100 * _least(ours), 100, "% delivered", _count(ours)),
        below("  p99 from commit to receipt", median(p99), 250, "ms", _each(p99)),
        below("  memory", max(one.kilobytes for one in ours), 40, "kB a reader"),
        *_beside(ours),
        beside(
            f"p99 with {FEW} readers", median(noise), "ms", f"{_each(noise)}: the commit, noise"
        ),
    ]


def _plain_rows(theirs: list[Heard]) -> list[Row]:
    p99 = [one.p99 for one in theirs]
    return [
        beside("FastAPI, a generator each", 100 * _least(theirs), "% delivered", _count(theirs)),
        beside("  p99", median(p99), "ms", _each(p99)),
        beside("  memory", max(one.kilobytes for one in theirs), "kB a reader"),
        *_beside(theirs, "  "),
    ]


def _beside(heard: list[Heard], indent: str = "") -> list[Row]:
    typical = sorted(heard, key=lambda one: one.p99)[len(heard) // 2]
    note = f"p95 {typical.p95:.0f}, the longest {typical.worst:.0f}; of the run with that p99"
    cpu = [one.microseconds for one in heard]
    return [
        beside(f"{indent}p50", typical.p50, "ms", note),
        beside(f"{indent}CPU, an event and reader", median(cpu), "µs", _each(cpu)),
    ]


def _idle_rows(beset: list[Heard], ours: list[Heard]) -> list[Row]:
    p99 = [one.p99 for one in beset]
    ratio = median(p99) / median(one.p99 for one in ours)
    last = max(one.drop_seconds for one in beset)
    note = f"all of {len(beset)} runs, from the first turn on"
    if last == inf:
        note = f"{min(one.dropped for one in beset)} of them were by the end of the debate"
    return [
        below(f"{IDLE} more that do not read, dropped", last, 15, "s", note),
        at_least("  the others", 100 * _least(beset), 100, "% delivered", _count(beset)),
        below("  their p99", median(p99), 250, "ms", _each(p99)),
        beside("over that without these", ratio, "times"),
    ]


def _count(heard: list[Heard]) -> str:
    return f"{sum(one.delivered for one in heard):,} of {sum(one.expected for one in heard):,}"


def _share(heard: Heard) -> float:
    return heard.delivered / heard.expected


def _least(heard: list[Heard]) -> float:
    return min(map(_share, heard))


def _each(values: list[float]) -> str:
    return "median of " + ", ".join(f"{value:,.0f}" for value in values)


# One measurement


def of_moot(readers: int = READERS, idle: int = 0, turns: int = TURNS) -> Heard:
    """A duel of so many turns, and all that want to hear it."""
    from moot.api.server import listen

    asked = {
        "motion": MOTION,
        "format": "duel",
        "participants": SEATS,
        "limits": {"max_turns": turns},
        "start": False,
    }
    with home() as path, served(listen("127.0.0.1", 0), "moot", str(path)) as server:
        made = server.ask("POST", "/debates", asked)
        debate = f"/debates/{json.loads(made)['id']}"
        heard = _measure(server, debate + "/events", f"{debate}/start", readers, idle, turns)
        last = int(json.loads(server.ask("GET", debate))["last_seq"])
    return Heard(expected=readers * last, **heard)


def of_generators(readers: int = READERS, turns: int = TURNS) -> Heard:
    """The same from a generator for each client, as one would write it."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    with served(sock, "plain", str(turns)) as server:
        heard = _measure(server, "/events", "/start", readers, 0, turns)
    return Heard(expected=readers * turns, **heard)


def _measure(
    server: "Child", path: str, start: str, readers: int, idle: int, turns: int
) -> dict[str, Any]:
    """Connect all, begin, and watch the server until the clients have heard it."""
    weight = server.kilobytes()
    with subprocess.Popen(
        _command("read", server.port, path, readers, idle, turns), stdout=subprocess.PIPE, text=True
    ) as clients:
        assert clients.stdout
        _line(clients.stdout, "connected")
        cpu, began = server.cpu(), time.monotonic()
        server.ask("POST", start, {})
        most, drops = _watch(server, clients.stdout, idle, began)
        cpu = server.cpu() - cpu
        found = json.loads(clients.stdout.readline())
    return {
        **found,
        **drops,
        "kilobytes": (most - weight) / readers,
        "microseconds": cpu * 1e6 / (readers * turns),
    }


def _watch(
    server: "Child", clients: IO[str], idle: int, began: float
) -> tuple[float, dict[str, Any]]:
    """The most that the server weighs until all was heard, and when it dropped whom."""
    most, dropped, when = 0.0, 0, inf
    while not select.select([clients], [], [], 0.25)[0]:
        most = max(most, server.kilobytes())
        if idle and dropped < idle:
            dropped = server.dropped()
            when = time.monotonic() - began if dropped >= idle else when
        if time.monotonic() - began > 2 * _PATIENCE:
            raise RuntimeError("the clients do not come to an end")
    _line(clients, "heard")
    return most, {"dropped": dropped, "drop_seconds": when}


def _line(stream: IO[str], expected: str) -> None:
    if (line := stream.readline().strip()) != expected:
        raise RuntimeError(f"the clients said {line!r} in place of {expected!r}")


class Child:
    """A server in a process of its own, seen from outside."""

    def __init__(self, pid: int, port: int) -> None:
        self.port = port
        self._proc = Path(f"/proc/{pid}")

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        text = None if body is None else json.dumps(body)
        try:
            line.request(method, path, text, {"Content-Type": "application/json"})
            answer = line.getresponse()
            said = answer.read()
        finally:
            line.close()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {said[:500]!r}")
        return said

    def dropped(self) -> int:
        found = re.search(rb"\nmoot_streams_dropped_total (\S+)", self.ask("GET", "/metrics"))
        return int(float(found[1])) if found else 0

    def kilobytes(self) -> float:
        status = (self._proc / "status").read_text()
        return float(status.partition("VmRSS:")[2].split()[0])

    def cpu(self) -> float:
        """Seconds that it computed, in its own code and in the system's."""
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(sock: socket.socket, *arguments: str, module: str = "bench.streams") -> Generator[Child]:
    """A server on that socket, until the end of the block."""
    kind, *rest = arguments
    with (
        sock,
        subprocess.Popen(
            _command(kind, sock.fileno(), *rest, module=module),
            pass_fds=[sock.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # a line for each request, as servers have it
        ) as process,
    ):
        try:
            port = sock.getsockname()[1]
            _until_up(process, port)
            yield Child(process.pid, port)
        finally:
            process.terminate()


def _until_up(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server does not come up")


def _command(*arguments: object, module: str = "bench.streams") -> list[str]:
    return [sys.executable, "-m", module, *map(str, arguments)]


def _say(words: str) -> None:
    print(f"... {words}", file=sys.stderr, flush=True)


# The servers


def words(number: int) -> str:
    """Plain ones: what is cleaned of models' habits stays as it is."""
    return (f"Point {number}. " + _SENTENCE * (_TEXT // len(_SENTENCE) + 1))[:_TEXT].rstrip()


class Metronome:
    """Speaks ten times a second, whatever else the process has to do."""

    def __init__(self) -> None:
        self._due = 0.0

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 1_000_000, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        now = asyncio.get_running_loop().time()
        self._due = (self._due or now) + BEAT
        await asyncio.sleep(self._due - now)
        return Reply(words(call.step.round), call.model, _USAGE)


def _serve_moot(fd: int, path: Path) -> None:
    """As `moot serve` does it."""
    import uvloop

    from moot import logs
    from moot.api.app import serve

    logs.configure("json", "info", [])
    chosen = settings(path).model_copy(
        update={"rate_per_second": 0.0, "streams_per_client": 100_000, "token": None}
    )
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        runner.run(serve(chosen, socket.socket(fileno=fd), speaker=Metronome()))


def _serve_plain(fd: int, turns: int) -> None:
    """As one would write it, with uvicorn as it comes."""
    import uvicorn
    from fastapi import FastAPI
    from fastapi.responses import StreamingResponse

    app = FastAPI()
    queues: set[asyncio.Queue[dict[str, Any] | None]] = set()
    running: list[asyncio.Task[None]] = []

    async def talk() -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        for seq in range(1, turns + 1):
            due += BEAT
            await asyncio.sleep(due - loop.time())
            turn = _turn(seq)
            for queue in queues:
                queue.put_nowait(turn)
        for queue in queues:
            queue.put_nowait(None)

    async def generate() -> AsyncGenerator[str]:
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        queues.add(queue)
        try:
            yield "retry: 2000\n\n"
            while (turn := await queue.get()) is not None:
                yield f"id: {turn['seq']}\nevent: turn\ndata: {json.dumps(turn)}\n\n"
        finally:
            queues.discard(queue)

    @app.post("/start")
    async def start() -> None:  # pyright: ignore[reportUnusedFunction]  a route
        running.append(asyncio.create_task(talk()))

    @app.get("/events")
    async def events() -> StreamingResponse:  # pyright: ignore[reportUnusedFunction]  a route
        return StreamingResponse(generate(), media_type="text/event-stream")

    allow_connections()
    uvicorn.Server(uvicorn.Config(app)).run(sockets=[socket.socket(fileno=fd)])


def _turn(seq: int) -> dict[str, Any]:
    """What a turn of moot's holds."""
    now = iso(time.time())
    return {
        "seq": seq, "round": seq, "stage": "duel", "actor": "p1", "name": "Ada", "kind": "speech",
        "target": None, "instruction": MOTION, "text": words(seq), "data": None, "status": "ok",
        "error_code": None, "model": "local:fake", "usage": {"input_tokens": 900, "calls": 1},
        "started_at": now, "committed_at": now,
    }  # fmt: skip


# The clients


_COMMITTED = re.compile(rb'"committed_at": ?"([^"]+)"')
_CHUNK = re.compile(rb"\r\n[0-9a-f]+\r\n")


class Clients:
    """All of them, in one loop that does as little as it can: they share the server's cores."""

    def __init__(self, port: int, path: str, readers: int, idle: int, turns: int) -> None:
        self._poll = select.epoll()
        self._turns = readers * turns
        self._last: dict[int, int] = {}  # seq, by file
        self._rest: dict[int, bytes] = {}  # of a frame that has not come whole
        self._committed: dict[int, float] = {}  # by seq; 0: no turn
        self._wrong = 0  # doubled, or after one that is missing
        self._waits = array("d")
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
        self._idle = [_connected(port, request) for _ in range(idle)]
        reading = [_connected(port, request) for _ in range(readers)]
        self._socks = {sock.fileno(): sock for sock in reading}
        for file in self._socks:
            self._last[file] = 0
            self._rest[file] = b""
            self._poll.register(file, select.EPOLLIN)

    def run(self) -> None:
        """Read until the server has ended every stream, or has said nothing for long; say when all
        are connected, and when all have heard what there is."""
        silent, heard = set(self._socks), False
        while self._socks and (ready := self._poll.poll(_PATIENCE / 3)):
            for file, _ in ready:
                self._read(file)
            if silent:
                silent.difference_update(file for file, _ in ready)
                if not silent:
                    print("connected", flush=True)
            if not heard and len(self._waits) >= self._turns:
                heard = True
                print("heard", flush=True)
        if not heard:
            print("heard", flush=True)  # all that will ever be

    def _read(self, file: int) -> None:
        try:
            data = os.read(file, 32768)
        except ConnectionError:
            data = b""
        if data:
            self._take(file, data, time.time())
        else:
            self._poll.unregister(file)
            self._socks.pop(file).close()

    def _take(self, file: int, data: bytes, now: float) -> None:
        if rest := self._rest[file]:
            data = rest + data
        end = data.rfind(b"\n\n")
        if end < 0:
            self._rest[file] = data
            return
        tail = data[end + 2 :]
        self._rest[file] = b"" if tail == b"\r\n" else tail
        if end > 4096:
            data = b"\n" + _CHUNK.sub(b"", data[: end + 2])  # a long one is sent in parts
            end = len(data)
        at = data.find(b"\nid: ", 0, end)
        while at >= 0:
            stop = data.find(b"\n", at + 5)
            self._note(file, int(data[at + 5 : stop]), data, stop, now)
            at = data.find(b"\nid: ", stop, end)

    def _note(self, file: int, seq: int, data: bytes, at: int, now: float) -> None:
        if seq != self._last[file] + 1:
            self._wrong += 1
            return
        self._last[file] = seq
        committed = self._committed.get(seq)
        if committed is None:
            found = _COMMITTED.search(data, at, data.find(b"\n\n", at))
            committed = self._committed[seq] = seconds(found[1].decode()) if found else 0.0
        if committed:
            self._waits.append(now - committed)

    def found(self) -> dict[str, float]:
        waits = sorted(self._waits) or [inf]

        def at(share: float) -> float:
            return waits[min(len(waits) - 1, int(share * len(waits)))] * 1000

        return {
            "delivered": sum(self._last.values()) - self._wrong,
            "p50": at(0.5),
            "p95": at(0.95),
            "p99": at(0.99),
            "worst": at(1),
        }


def _connected(port: int, request: bytes) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port))
    sock.sendall(request)
    sock.setblocking(False)
    return sock


def _read(port: int, path: str, readers: int, idle: int, turns: int) -> None:
    allow_connections()
    clients = Clients(port, path, readers, idle, turns)
    clients.run()
    print(json.dumps(clients.found()), flush=True)


def main(arguments: Sequence[str] = sys.argv[1:]) -> None:
    match arguments:
        case ["moot", fd, path]:
            _serve_moot(int(fd), Path(path))
        case ["plain", fd, turns]:
            _serve_plain(int(fd), int(turns))
        case ["read", port, path, readers, idle, turns]:
            _read(int(port), path, int(readers), int(idle), int(turns))
        case ["--quick"]:
            show(quick())
        case _:
            show(full())


if __name__ == "__main__":
    main()
