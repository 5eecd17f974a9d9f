"""SIGTERM in the middle of everything: streams end in good order, debates go on later."""

import asyncio
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from moot.core.events import Event
from moot.engine.service import Service
from moot.ports.model_call import Call, Reply, Say
from moot.testing.speaker import ScriptedSpeaker
from tests import patience
from tests.crash.harness import Ground, Noted, bill, violations
from tests.served import Served, served
from tests.sse import Heard, Wire, request, seqs, watch

LOG = "serve.log"
FAT_TURNS = 500  # more than all buffers on the way to a reader hold
BAD = re.compile(r"Traceback|[Ee]xception|exceeded|\"error\"|ERROR")


class Slow(Noted):
    """Says something at once and the rest later; the first debate is fast, to fill a log."""

    async def speak(self, call: Call, say: Say) -> Reply:
        if call.debate.motion == "fat":
            return await ScriptedSpeaker().speak(call, say)
        say("Well, ")
        return await super().speak(call, say)


def serve_slowly() -> None:
    """What the child runs: `moot serve`, with a speaker of its own."""
    from moot import logs
    from moot.api.app import serve
    from moot.api.server import listen
    from moot.bootstrap import new_loop
    from moot.settings import Settings

    ground = Ground(Path(sys.argv[1]))
    logs.configure("json", "info", [])
    sock = listen("127.0.0.1", 0)
    port = sock.getsockname()[1]
    settings = Settings(
        home=ground.settings.home, rate_per_second=0, streams_per_client=100_000, sweep_seconds=0.2
    )
    speaker = Slow(ground, float(sys.argv[2]))
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve(settings, sock, ready=lambda _: print(port, flush=True), speaker=speaker))


@contextmanager
def child(root: Path, seconds: float) -> Generator[tuple[Served, subprocess.Popen[bytes]]]:
    code = f"from {__name__} import serve_slowly; serve_slowly()"
    with (root / LOG).open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(root), str(seconds)],
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert process.stdout
    try:
        line = process.stdout.readline()
        assert line, (root / LOG).read_text()
        url = f"http://127.0.0.1:{int(line)}"
        with httpx2.Client(base_url=url, timeout=patience.seconds()) as http:
            yield Served(url, root / "home", http), process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Listener:
    """One client that reads all there is."""

    def __init__(self, debate_id: str) -> None:
        self.debate_id = debate_id
        self.heard: list[Heard] = []
        self.wire = Wire()

    @property
    def after(self) -> int:
        return max(seqs(self.heard), default=0)

    async def run(self, port: int) -> None:
        """To the end of the answer, or of the connection."""
        loop, self.wire = asyncio.get_running_loop(), Wire()
        with socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, ("127.0.0.1", port))
            path = f"/debates/{self.debate_id}/events"
            await loop.sock_sendall(sock, request(path, self.after or None))
            async with asyncio.timeout(patience.seconds()):
                while not self.wire.whole and (data := await loop.sock_recv(sock, 65536)):
                    self.heard += self.wire.feed(data)


def deaf(port: int, debate_id: str) -> socket.socket:
    """A client that asks, and never reads."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", port))
    sock.sendall(request(f"/debates/{debate_id}/events"))
    return sock


@pytest.mark.parametrize(
    ("number", "streams", "debates", "unread"),
    [
        (signal.SIGTERM, 50, 5, 5),
        pytest.param(signal.SIGTERM, 500, 50, 0, marks=pytest.mark.stress("fewer streams")),
        pytest.param(signal.SIGTERM, 500, 50, 50, marks=pytest.mark.stress("fewer streams")),
        pytest.param(signal.SIGINT, 50, 5, 5, marks=pytest.mark.stress("SIGTERM")),
    ],
)
def test_told_to_stop(
    tmp_path: Path, number: signal.Signals, streams: int, debates: int, unread: int
) -> None:
    ground = Ground(tmp_path)
    with child(tmp_path, 20.0) as (at, process):  # all of them are still speaking then
        fat = at.create("fat", format="duel", limits={"max_turns": FAT_TURNS if unread else 2})
        at.wait(fat["id"])
        ids = [
            at.create(f"{n}?", format="duel", limits={"max_turns": 4})["id"] for n in range(debates)
        ]
        listeners = [Listener(ids[n % debates]) for n in range(streams)]
        unheard = [deaf(at.port, fat["id"]) for _ in range(unread)]
        code = asyncio.run(stopped(ground, at, process, number, listeners, unread))
    for sock in unheard:
        sock.close()
    assert code == 0, (tmp_path / LOG).read_text()[-3000:]
    assert [listener.wire.whole for listener in listeners] == [True] * streams
    assert {listener.wire.body for listener in listeners} == {b""}
    assert not any(frame.event == "end" for listener in listeners for frame in listener.heard)
    lines = (tmp_path / LOG).read_text().splitlines()
    assert [line for line in lines if BAD.search(line)] == []
    assert bill(ground).attempts["started"] == 0
    assert bill(ground).attempts["cancelled"] == debates, "the signal must hit calls in flight"

    with child(tmp_path, 0.02) as (at, _):
        asyncio.run(to_the_end(at.port, listeners))
        lasts = {debate: at.wait(debate)["last_seq"] for debate in ids}
        assert ground.wait_until(lambda: ground.unfinished() == 0)
    for listener in listeners:
        assert seqs(listener.heard) == list(range(1, lasts[listener.debate_id] + 1))
        assert listener.heard[-1].event == "end"
    assert violations(ground) == []
    paid = bill(ground)
    assert paid.attempts["started"] == 0
    assert paid.attempts["ok"] == paid.turns
    fat_turns = FAT_TURNS if unread else 2
    assert paid.calls == paid.turns - fat_turns + paid.attempts["cancelled"]


async def stopped(
    ground: Ground,
    at: Served,
    process: subprocess.Popen[bytes],
    number: signal.Signals,
    listeners: list[Listener],
    unread: int,
) -> int:
    """Signal it once all listen and all debates are in mid-call; its code."""
    debates = len({listener.debate_id for listener in listeners})
    listening = [asyncio.create_task(listener.run(at.port)) for listener in listeners]
    async with asyncio.timeout(patience.seconds()):
        while len(ground.book("calls")) < debates or not all(
            any(frame.event == "delta" for frame in listener.heard) for listener in listeners
        ):
            await asyncio.sleep(0.05)
    answer = await asyncio.to_thread(at.http.get, "/metrics")
    readers = f"moot_stream_readers {len(listeners) + unread}.0"
    assert readers in answer.text, "those who do not read must hold their streams up"
    before = time.monotonic()
    process.send_signal(number)
    code = await asyncio.to_thread(process.wait, patience.seconds())
    took = time.monotonic() - before
    await asyncio.gather(*listening)
    print(f"gone {took:.2f} s after {number.name}, with {len(listeners)} streams open")
    return code


async def to_the_end(port: int, listeners: list[Listener]) -> None:
    await asyncio.gather(*(listener.run(port) for listener in listeners))


def test_a_stream_that_still_reads_the_log_ends_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told to stop just then, it must not wait for news that nobody will give."""
    reading, log = threading.Event(), Service.log

    async def slowly(self: Service, debate_id: str, after: int, limit: int) -> list[Event]:
        reading.set()
        await asyncio.sleep(0.5)
        return await log(self, debate_id, after, limit)

    monkeypatch.setattr(Service, "log", slowly)
    with served(tmp_path / "home", ScriptedSpeaker()) as at:
        debate = at.create(start=False)
        client = watch(at, debate["id"])
        assert reading.wait(patience.seconds())
    with client:
        client.rest()
        assert client.wire.whole


def test_streams_that_open_just_then_end_too(tmp_path: Path) -> None:
    """Each gets an answer that is whole: a stream, or the word that the service is going down."""
    Ground(tmp_path).create(0)
    with child(tmp_path, 3.0) as (at, process):
        debate = at.create("open?", format="duel")["id"]
        came, refused = asyncio.run(storm(at.port, debate, process))
        assert process.wait(patience.seconds()) == 0
    lines = (tmp_path / LOG).read_text().splitlines()
    assert [line for line in lines if BAD.search(line)] == []
    print(f"{len(came)} answers, {refused} connections refused")
    assert all(listener.wire.whole for listener in came)
    assert {listener.wire.status for listener in came} <= {200, 503}
    assert len(came) > 50
    assert refused, "the storm must outlast the server"


async def storm(
    port: int, debate: str, process: subprocess.Popen[bytes]
) -> tuple[list[Listener], int]:
    """Open streams as fast as they come; signal in their midst."""
    came: list[Listener] = []
    tasks: list[asyncio.Task[None]] = []
    for number in range(400):
        listener = Listener(debate)
        came.append(listener)
        tasks.append(asyncio.create_task(listener.run(port)))
        if number == 200:
            process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.001)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(error is None or isinstance(error, OSError) for error in results), results
    answered = [listener for listener in came if listener.wire.status]
    return answered, sum(error is not None for error in results)
