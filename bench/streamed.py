"""What a streamed turn costs: the CPU of one process, for answers of 300 chunks, on each wire.

Beside moot, watched and unwatched, stand the vendor's SDK alone and the floor: the bytes, split,
and `json.loads`. A server in a process of its own sends each event as a chunk, as fast
as it is read. `python -m bench.streamed` measures all, interleaved; `... serve` is that server,
`... floor|sdk WIRE PORT CALLS` a client, `... moot FD HOME WIRE PORT` is moot behind HTTP.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.slow_server import allow_connections
from bench.stage import MOTION, home, settings
from bench.streams import Child, served
from bench.table import Row, at_most, beside, show
from moot.testing.wires.dialects import DIALECTS

CHUNKS = 300
CALLS = 60
TURNS = 6
RUNS = 3
WIRES = {"openai": "openai", "chat": "local", "claude": "claude", "gemini": "gemini"}
"""By the name it is shown with: the server's dialect."""
MODELS = {"openai": "openai:x", "chat": "local:x", "claude": "claude:x", "gemini": "gemini:x"}
_VARIABLES = {"openai": "OPENAI", "claude": "ANTHROPIC", "gemini": "GEMINI"}
_PREFIX = {"GEMINI": "GOOGLE_GEMINI"}  # of the address, if it is not that of the key
_PATIENCE = 120.0
_WORDS = "That the cost of a late change grows is no law of nature but a habit of teams"


# The rows


def full(runs: int = RUNS, calls: int = CALLS) -> list[Row]:
    """Each wire's promises, with its floor and its SDK."""
    return [row for wire in WIRES for row in _rows(wire, runs, calls)]


def quick() -> list[Row]:
    """That it still runs: a loose promise, in a few seconds."""
    cost = turns("chat", 2, watched=True)
    return [at_most("a watched turn of 300 chunks", cost, 200, "ms of CPU")]


def _rows(wire: str, runs: int, calls: int) -> list[Row]:
    kinds: dict[str, Callable[[], float]] = {
        "floor": lambda: client("floor", wire, calls),
        "sdk": lambda: client("sdk", wire, calls),
        "watched": lambda: turns(wire, calls // TURNS, watched=True),
        "unwatched": lambda: turns(wire, calls // TURNS, watched=False),
    }
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(runs):  # in turns, so that a busy moment of the machine hits all alike
        for kind, measure in kinds.items():
            found[kind].append(measure())
    cost = {kind: median(each) for kind, each in found.items()}
    return [
        at_most(f"{wire}: a watched turn", cost["watched"] / cost["sdk"], 0.45, "of the SDK"),
        at_most("  over the floor", cost["watched"] / cost["floor"], 5, "times"),
        at_most("  an unwatched turn", cost["unwatched"] / cost["sdk"], 0.25, "of the SDK"),
        *(beside(kind, cost[kind], "ms", _each(found[kind])) for kind in kinds),
    ]


def _each(values: list[float]) -> str:
    return "median of " + ", ".join(f"{value:.1f}" for value in values)


# One measurement


def client(kind: str, wire: str, calls: int) -> float:
    """Milliseconds of CPU for a call, of a process that does nothing else."""
    with _answering() as port:
        done = subprocess.run(
            _command(kind, wire, port, calls), check=True, stdout=subprocess.PIPE, text=True
        )
    return float(done.stdout)


def turns(wire: str, debates: int, *, watched: bool) -> float:
    """Milliseconds of the server's CPU for a turn, from the request to the last file."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    with (
        home() as path,
        _answering() as port,
        served(sock, "moot", str(path), wire, str(port), module="bench.streamed") as server,
    ):
        _debate(server, wire, 2, watched=watched)  # which loads the SDK
        began = server.cpu()
        _debate(server, wire, debates, watched=watched)
        return (server.cpu() - began) * 1000 / (debates * TURNS)


def _debate(server: Child, wire: str, debates: int, *, watched: bool) -> None:
    """Run so many debates at once, to their end."""
    seats = [{"name": name, "model": MODELS[wire]} for name in ("Ada", "Ben")]
    asked = {"motion": MOTION, "format": "duel", "participants": seats, "start": False}
    asked |= {"limits": {"max_turns": TURNS}}
    ids = [json.loads(server.ask("POST", "/debates", asked))["id"] for _ in range(debates)]
    readers = [threading.Thread(target=_watch, args=(server.port, one)) for one in ids if watched]
    for reader in readers:
        reader.start()
    for one in ids:
        server.ask("POST", f"/debates/{one}/start", {})
    for reader in readers:
        reader.join(_PATIENCE)
    end = time.monotonic() + _PATIENCE
    while _open(server, ids):
        if time.monotonic() > end:
            raise RuntimeError("the debates do not come to an end")
        time.sleep(0.2)
    time.sleep(0.3)  # for their files


def _open(server: Child, ids: list[str]) -> bool:
    found = {one: json.loads(server.ask("GET", f"/debates/{one}")) for one in ids[-1:]}
    wrong = [one for one in found.values() if one["status"] in ("paused", "failed")]
    if wrong:
        raise RuntimeError(f"a debate did not complete: {wrong[0]}")
    return any(one["status"] != "completed" for one in found.values())


def _watch(port: int, debate_id: str) -> None:
    """A reader that does as little as it can."""
    with socket.create_connection(("127.0.0.1", port), _PATIENCE) as line:
        path = f"/debates/{debate_id}/events"
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        heard = b""
        while b'"completed"' not in heard:
            read = line.recv(1 << 16)
            if not read:
                return
            heard = heard[-20:] + read


@contextmanager
def _answering() -> Generator[int]:
    """The port of a server of answers."""
    with subprocess.Popen(
        _command("serve"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin
        assert server.stdout
        try:
            yield int(server.stdout.readline())
        finally:
            server.stdin.close()


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "bench.streamed", *map(str, arguments)]


# The server of answers


def body(dialect: str) -> bytes:
    """An answer, each of its events an HTTP chunk."""
    told = DIALECTS[dialect]("x")
    words = _WORDS.split()
    pieces = (f"{words[number % len(words)]} " for number in range(CHUNKS))
    events = [*told.before(), *(told.piece(one) for one in pieces), *told.after("stop")]
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in events if one)
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        + chunked
        + b"0\r\n\r\n"
    )


async def _answer(
    bodies: dict[str, bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = head.partition("content-length:")[2].partition("\r")[0]
            await reader.readexactly(int(length or 0))
            if head.startswith("get"):
                listed = json.dumps({"data": [{"id": "x", "meta": {"n_ctx": 100_000}}]}).encode()
                told = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(listed), listed)
                writer.write(told)
            else:
                writer.write(bodies[head.split("/")[1]])
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _serve() -> None:
    allow_connections()
    bodies = {dialect: body(dialect) for dialect in WIRES.values()}
    server = await asyncio.start_server(
        lambda reader, writer: _answer(bodies, reader, writer), "127.0.0.1", 0, backlog=4096
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)


def _url(wire: str, port: int | str) -> str:
    version = "/v1" if wire in ("openai", "chat") else ""
    return f"http://127.0.0.1:{port}/{WIRES[wire]}{version}"


# The clients


async def _floor(wire: str, port: str) -> Callable[[], Awaitable[int]]:
    """The bytes, split at blank lines, and each event's JSON."""
    import httpx2

    http = httpx2.AsyncClient(timeout=_PATIENCE)
    asked = {"model": "x", "input": MOTION, "stream": True}

    async def call() -> int:
        rest, count = b"", 0
        async with http.stream("POST", f"{_url(wire, port)}/x", json=asked) as answer:
            async for read in answer.aiter_raw():
                *events, rest = (rest + read).split(b"\n\n")
                for event in events:
                    data = event.rpartition(b"data: ")[2]
                    if data != b"[DONE]":
                        json.loads(data)
                        count += 1
        return count

    return call


async def _sdk(wire: str, port: str) -> Callable[[], Awaitable[int]]:
    """The vendor's own stream, read to its end."""
    opened = await _OPEN[wire](_url(wire, port))

    async def call() -> int:
        count = 0
        async for _ in await opened():
            count += 1
        return count

    return call


Opened = Callable[[], Awaitable[AsyncIterator[Any]]]


async def _openai(url: str) -> Opened:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key="x", base_url=url)
    return lambda: client.responses.create(model="x", input=MOTION, stream=True)


async def _chat(url: str) -> Opened:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key="x", base_url=url)
    said: Any = [{"role": "user", "content": MOTION}]
    return lambda: client.chat.completions.create(model="x", messages=said, stream=True)


async def _claude(url: str) -> Opened:
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(api_key="x", base_url=url)
    said: Any = [{"role": "user", "content": MOTION}]
    return lambda: client.messages.create(model="x", max_tokens=900, messages=said, stream=True)


async def _gemini(url: str) -> Opened:
    from google.genai import Client
    from google.genai.types import HttpOptions

    client = Client(vertexai=False, api_key="x", http_options=HttpOptions(base_url=url))
    return lambda: client.aio.models.generate_content_stream(model="x", contents=MOTION)


_OPEN: dict[str, Callable[[str], Awaitable[Opened]]] = {
    "openai": _openai,
    "chat": _chat,
    "claude": _claude,
    "gemini": _gemini,
}


async def _measure(kind: str, wire: str, port: str, calls: int) -> None:
    call = await (_floor if kind == "floor" else _sdk)(wire, port)
    for _ in range(3):
        if await call() < CHUNKS:
            raise RuntimeError(f"{wire}: an answer was not heard to its end")
    began = time.process_time()
    for _ in range(calls):
        await call()
    print((time.process_time() - began) * 1000 / calls)


def _serve_moot(fd: int, path: Path, wire: str, port: str) -> None:
    """As `moot serve` does it, with the one vendor whose package it then loads on that port."""
    import uvloop

    from moot import logs
    from moot.api.app import serve

    logs.configure("json", "info", [])
    if name := _VARIABLES.get(wire):
        os.environ[f"{name}_API_KEY"] = "bench"
        os.environ[f"{_PREFIX.get(name, name)}_BASE_URL"] = _url(wire, port)
    chosen = settings(path, _url("chat", port)).model_copy(
        update={"rate_per_second": 0.0, "streams_per_client": 100_000, "token": None}
    )
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        runner.run(serve(chosen, socket.socket(fileno=fd)))


def main() -> None:
    match sys.argv[1:]:
        case ["serve"]:
            asyncio.run(_serve())
        case ["floor" | "sdk" as kind, wire, port, calls]:
            import uvloop

            uvloop.run(_measure(kind, wire, port, int(calls)))
        case ["moot", fd, path, wire, port]:
            _serve_moot(int(fd), Path(path), wire, port)
        case [*wires]:
            show([row for wire in wires or WIRES for row in _rows(wire, RUNS, CALLS)])


if __name__ == "__main__":
    main()
