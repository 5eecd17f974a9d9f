"""How long a turn takes from its commit in a worker to a client of a server.

`python -m bench.live BOOK` is the worker: `moot worker`, with a speaker that needs no model, and
that writes into the book, a line of JSON each, what it does and when.
"""

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.stage import SEATS
from moot.core.change import Change
from moot.core.debate import Debate, Usage
from moot.core.events import TurnCommitted
from moot.errors import ProviderAuthError
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.store.store import SqlStore

WORDS = 10
SECONDS = (0.2, 0.5)
_ASKED = re.compile(r"(\d+) words in ([\d.]+) s")
_USAGE = Usage(900, 250, 0.001)
_PATIENCE = 60.0


# The parts


class Book:
    """What a worker noted, a line at a time: a reader never sees half a line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, what: str, debate: str, **more: Any) -> None:
        line = json.dumps({"what": what, "debate": debate, "at": time.time(), **more}) + "\n"
        out = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(out, line.encode())
        os.close(out)

    def read(self, what: str, debate: str | None = None) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        notes = [json.loads(line) for line in self.path.read_text().splitlines()]
        return [
            note
            for note in notes
            if note["what"] == what and (debate is None or note["debate"] == debate)
        ]


class Talker:
    """Says what the motion asks for, "7 words in 1.5 s", in each speech; a model whose name ends
    in "broken" says nothing."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 1_000_000, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        self._book.note("called", call.debate.id, actor=call.step.actor)
        if call.model.endswith("broken"):
            raise ProviderAuthError("It says nothing.")
        asked = _ASKED.search(call.debate.motion) if call.step.kind == "speech" else None
        words = int(asked[1]) if asked else WORDS
        seconds = float(asked[2]) if asked else random.uniform(*SECONDS)
        pieces = list(spoken(call.step.actor, call.step.round, words))
        try:
            for piece in pieces:
                await asyncio.sleep(seconds / words)
                say(piece)
        except asyncio.CancelledError:
            self._book.note("cancelled", call.debate.id, actor=call.step.actor)
            raise
        return Reply("".join(pieces), call.model, _USAGE)


def spoken(actor: str, number: int, words: int) -> Generator[str]:
    """What is said in a turn, a word at a time; no two turns alike."""
    yield f"{actor}-{number}"
    for word in range(1, words):
        yield f" word-{word}"


def _noted(book: Book, change: Callable[..., Any]) -> Callable[..., Any]:
    """Note each turn as soon as its commit has returned, before anybody is told."""

    async def noted(store: SqlStore, debate_id: str, move: Callable[[Debate], Change]) -> Change:
        made: Change = await change(store, debate_id, move)
        for event in made.events:
            if isinstance(event, TurnCommitted):
                book.note("turn", debate_id, seq=event.seq)
        return made

    return noted


def work(book: Book) -> None:
    """A worker, until it is told to stop."""
    from moot import logs
    from moot.bootstrap import load_settings
    from moot.worker.celery_app import run

    settings = load_settings()
    logs.begin(settings)
    SqlStore.change = _noted(book, SqlStore.change)
    run(settings, speaker=Talker(book), ready=lambda: print("ready", flush=True))


@contextmanager
def part(*command: str, log: Path, env: dict[str, str]) -> Generator[subprocess.Popen[str]]:
    """A process of Python, once it has said its first line (which is then in `log`)."""
    with log.open("a") as errors:
        process = subprocess.Popen(
            [sys.executable, "-u", *command],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **env},
        )
    assert process.stdout
    try:
        first = process.stdout.readline()
        with log.open("a") as said:
            said.write(first)
        if not first:
            raise RuntimeError(f"it does not start: {log.read_text()[-2000:]}")
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@contextmanager
def worker(book: Path, env: dict[str, str]) -> Generator[subprocess.Popen[str]]:
    """One that talks; its log is beside its book."""
    log = book.with_suffix(".log")
    with part("-m", "bench.live", str(book), log=log, env=env) as process:
        yield process


@contextmanager
def server(log: Path, env: dict[str, str]) -> Generator[str]:
    """`moot serve`; gives its address."""
    limits = {"MOOT_RATE_PER_SECOND": "0", "MOOT_STREAMS_PER_CLIENT": "10000", "MOOT_PACE": "0"}
    with part("-m", "moot", "serve", "--port", "0", log=log, env={**limits, **env}):
        found = re.findall(r"moot is at (http://\S+:\d+)", log.read_text())
        yield found[-1]


# The measurement


@dataclass(frozen=True, slots=True)
class Receipt:
    """A turn, as a client got it."""

    debate: str
    seq: int
    at: float


def measure(
    database_url: str,
    broker_url: str,
    home: Path,
    debates: int = 50,
    turns: int = 6,
    workers: int = 1,
) -> list[float]:
    """Seconds from commit to receipt of each turn, of debates that run at once with a client each.

    Raises where a client missed a turn, or had one twice.
    """
    env = {
        "MOOT_HOME": str(home / "home"),
        "MOOT_DATABASE_URL": database_url,
        "MOOT_BROKER_URL": broker_url,
        "MOOT_QUEUE": f"live-{os.getpid()}",  # whatever else is at work on that broker
        "MOOT_LOG_LEVEL": "warning",
    }
    books = [home / f"worker-{number}.book" for number in range(workers)]
    with ExitStack() as stack:
        address = stack.enter_context(server(home / "serve.log", env))
        for book in books:
            stack.enter_context(worker(book, env))
        receipts = asyncio.run(_listen(address, debates, turns))
    committed = {
        (note["debate"], note["seq"]): note["at"]
        for book in books
        for note in Book(book).read("turn")
    }
    got = [(receipt.debate, receipt.seq) for receipt in receipts]
    if len(committed) != debates * turns or sorted(got) != sorted(committed):
        lost = len(committed.keys() - set(got))
        raise RuntimeError(f"{len(committed)} turns, {len(got)} receipts, {lost} of them lost")
    return [receipt.at - committed[receipt.debate, receipt.seq] for receipt in receipts]


async def _listen(address: str, debates: int, turns: int) -> list[Receipt]:
    """Connect to all of them, then start all of them."""
    asked = {
        "motion": "Is it there yet?",
        "format": "duel",
        "participants": SEATS,
        "limits": {"max_turns": turns},
        "start": False,
    }
    ids = [_post(f"{address}/debates", asked)["id"] for _ in range(debates)]
    listening = [asyncio.Event() for _ in ids]
    clients = [
        asyncio.create_task(_client(address, debate, up))
        for debate, up in zip(ids, listening, strict=True)
    ]
    await asyncio.gather(*(up.wait() for up in listening))
    await asyncio.sleep(1.5)  # the interest in them is said once a second
    await asyncio.gather(
        *(asyncio.to_thread(_post, f"{address}/debates/{debate}/start", {}) for debate in ids)
    )
    async with asyncio.timeout(_PATIENCE):
        heard = await asyncio.gather(*clients)
    return [receipt for receipts in heard for receipt in receipts]


def _post(url: str, asked: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310  http, to ourselves
        url, json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
        return json.load(answer)


async def _client(address: str, debate: str, up: asyncio.Event) -> list[Receipt]:
    """Read one stream to its end."""
    receipts: list[Receipt] = []
    async for event, seq, at in _frames(address, f"/debates/{debate}/events"):
        up.set()
        if event == "turn":
            receipts.append(Receipt(debate, seq, at))
        elif event == "end":
            break
    return receipts


async def _frames(address: str, path: str) -> AsyncIterator[tuple[str, int, float]]:
    """The name of each frame, its id, and when its last byte was there."""
    host, _, port = address.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    try:
        raw = b""
        while data := await reader.read(65536):
            at = time.time()
            *frames, raw = (raw + data).split(b"\n\n")
            for frame in frames:
                name, seq = re.search(rb"event: (\w+)", frame), re.search(rb"id: (\d+)", frame)
                yield name[1].decode() if name else "", int(seq[1]) if seq else 0, at
    finally:
        writer.close()


if __name__ == "__main__":
    work(Book(Path(sys.argv[1])))
