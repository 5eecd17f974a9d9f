"""Streams cut at any byte: whoever comes back has every event once, in order."""

import asyncio
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import httpx2
import pytest

from moot.api import hub, stream
from moot.api.hub import Channel, Frame
from moot.api.stream import Reader, Streams
from moot.bus.memory import MemoryBus
from moot.core.debate import Usage
from moot.core.events import Delta, Event
from moot.engine.service import Service
from moot.engine.tail import Tail
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.testing.speaker import ScriptedSpeaker, plain
from tests import patience
from tests.served import Served, served
from tests.sse import Client, Heard, Wire, request, seqs, watch
from tests.stress import STRESS

CLIENTS = 1000 if STRESS else 36
DEBATES, TURNS, CUTS = (20, 50, 20) if STRESS else (8, 50, 20)
SPEAK_SECONDS = 0.25 if STRESS else 0.08
MOST_BYTES = 2500  # before a cut: 20 cuts are made before any client can be at the end
AWKWARD = " — “quoted”\n\nevent: end\ndata: {}\n\nid: 1\n\n"


class Paced:
    """Speaks a long text piece by piece, over a while."""

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 100_000, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        text = plain(call) + (AWKWARD if call.step.round % 3 == 0 else " And so on.") * 30 + " So."
        for at in range(0, len(text), 200):
            await asyncio.sleep(SPEAK_SECONDS * 200 / len(text))
            say(text[at : at + 200])
        return Reply(text, call.model, Usage(10, 5, 0.001))


def serve_paced() -> None:
    """What the child runs: `moot serve`, with a speaker of its own."""
    from moot.api.app import serve
    from moot.api.server import listen
    from moot.bootstrap import new_loop
    from moot.settings import Settings

    sock = listen("127.0.0.1", 0)
    port = sock.getsockname()[1]
    settings = Settings(home=Path(sys.argv[1]), rate_per_second=0, streams_per_client=100_000)
    work = serve(settings, sock, ready=lambda _: print(port, flush=True), speaker=Paced())
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(work)


@contextmanager
def child(home: Path) -> Generator[Served]:
    """A server in a process of its own: the clients take a core for themselves."""
    code = f"from {__name__} import serve_paced; serve_paced()"
    process = subprocess.Popen([sys.executable, "-c", code, str(home)], stdout=subprocess.PIPE)
    assert process.stdout
    try:
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        with httpx2.Client(base_url=url, timeout=patience.seconds()) as http:
            yield Served(url, home, http)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(patience.seconds())
        process.stdout.close()


@dataclass
class Tally:
    """One client, over all its connections."""

    debate_id: str
    over: asyncio.Event  # somebody has heard the debate's end
    chance: random.Random
    live: int  # so many of its cuts come at once, the others once the debate is over
    heard: list[Heard] = field(default_factory=list[Heard])
    cuts: list[float] = field(default_factory=list[float])  # when
    in_head: int = 0
    in_frame: int = 0
    after: int = 0  # the last seq whose blank line came

    async def run(self, port: int) -> None:
        await asyncio.sleep(self.chance.uniform(0, TURNS * SPEAK_SECONDS / 2))
        while len(self.cuts) < CUTS:
            if len(self.cuts) == self.live:
                await self.over.wait()
            await self._connect(port, self._budget())
        assert (await self._connect(port, None)).whole
        self.over.set()
        assert (await self._connect(port, None)).status == 204

    def _budget(self) -> int:
        if self.chance.random() < 0.1:
            return self.chance.randint(0, 300)
        return self.chance.randint(300, MOST_BYTES)

    async def _connect(self, port: int, budget: int | None) -> Wire:
        """Read so many bytes and be gone; or read to the end."""
        loop, wire = asyncio.get_running_loop(), Wire()
        with socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, ("127.0.0.1", port))
            path = f"/debates/{self.debate_id}/events"
            await loop.sock_sendall(sock, request(path, self.after or None))
            left = budget if budget is not None else 1 << 60
            while left and not wire.whole:
                async with asyncio.timeout(patience.seconds()):
                    data = await loop.sock_recv(sock, min(left, 65536))
                assert data, "the server cut it"
                left -= len(data)
                for frame in wire.feed(data):
                    self.heard.append(frame)
                    self.after = frame.seq or self.after
            if budget is not None:
                assert not wire.whole, "it was at the end before it was cut"
                self._cut(sock, wire)
        return wire

    def _cut(self, sock: socket.socket, wire: Wire) -> None:
        self.cuts.append(time.time())
        self.in_head += not wire.status
        self.in_frame += bool(wire.body)
        if self.chance.random() < 0.5:  # RST in place of FIN
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_cut_at_random_bytes_nothing_is_missed_or_doubled(tmp_path: Path) -> None:
    with child(tmp_path / "home") as at:
        overs = [asyncio.Event() for _ in range(DEBATES)]
        debates = [
            at.create(f"{number}?", format="duel", limits={"max_turns": TURNS})["id"]
            for number in range(DEBATES)
        ]
        tallies = list[Tally]()
        for number in range(CLIENTS):
            here, lap, chance = number % DEBATES, number // DEBATES, random.Random(number)
            live = chance.randint(0, CUTS - 1) if lap % 3 == 2 else CUTS
            tallies.append(Tally(debates[here], overs[here], chance, live))

        async def all_of_them() -> None:
            async with asyncio.TaskGroup() as group:
                for tally in tallies:
                    group.create_task(tally.run(at.port))

        asyncio.run(all_of_them())
        rows = {debate: at.wait(debate) for debate in debates}
        turns = {d: at.http.get(f"/debates/{d}/turns").json()["items"] for d in debates}
    live = replayed = 0
    for tally in tallies:
        row = rows[tally.debate_id]
        assert seqs(tally.heard) == list(range(1, row["last_seq"] + 1))
        assert [f.data for f in tally.heard if f.event == "turn"] == turns[tally.debate_id]
        assert [f.event for f in tally.heard].count("end") == 1
        assert not any(f.event == "reset" for f in tally.heard)
        over = datetime.fromisoformat(row["ended_at"]).timestamp()
        live += sum(cut < over for cut in tally.cuts)
        replayed += sum(cut >= over for cut in tally.cuts)
    heads, frames = sum(t.in_head for t in tallies), sum(t.in_frame for t in tallies)
    print(f"{live} cuts live, {replayed} after the end; {heads} in a head, {frames} in a frame")
    assert live + replayed == CLIENTS * CUTS
    assert min(live, replayed) > CLIENTS, "both the live stream and the replay must be hit"
    assert min(heads, frames) > CLIENTS / 2
    assert all(len(items) == TURNS for items in turns.values())


# --- the guards taken out ---


class Gate:
    """Lets the test hold the server's tasks at a place, from another thread."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()

    async def hold(self) -> None:
        self.reached.set()
        while not self.open.is_set():
            await asyncio.sleep(0.002)


def no_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the right order may save a reader."""

    async def nothing(self: Tail) -> None:
        pass

    monkeypatch.setattr(Tail, "_go_through", nothing)


def hold_after_reading(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """The stream waits after the first time it has read the whole log."""
    gate, log = Gate(), Service.log

    async def held(self: Service, debate_id: str, after: int, limit: int) -> list[Event]:
        events = await log(self, debate_id, after, limit)
        if not events and not gate.reached.is_set():
            await gate.hold()
        return events

    monkeypatch.setattr(Service, "log", held)
    return gate


def read_then_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: the log first, and only then an ear and a place in the channel."""

    async def swapped(
        streams: Streams, reader: Reader, channel: Channel, after: int, *_: object
    ) -> None:
        channel.close()
        await reader.start()
        await reader.give(stream.HELLO)
        while frames := await channel.page(after):
            await reader.give(b"".join(frame.data for frame in frames))
            after = frames[-1].seq
        channel.close = channel._service.listen(channel.debate_id, channel.hear)
        place = channel.end
        while not streams.closed:
            after, frames, place = stream._live(channel, place, after)
            if frames:
                await reader.give(b"".join(frame.data for frame in frames))
            if any(frame.final for frame in frames):
                break
            await channel.wait(place)
        await reader.finish()

    monkeypatch.setattr(stream, "_follow", swapped)


def in_the_window(
    home: Path, gate: Gate, meanwhile: Callable[[], None] = lambda: None
) -> list[Heard] | None:
    """Commit the last event after the log was read; None where the reader never hears of it."""
    with served(home, ScriptedSpeaker()) as at:
        debate = at.create(format="duel", start=False)
        with watch(at, debate["id"]) as client:
            assert gate.reached.wait(patience.seconds()), "the window was never open"
            at.post(f"/debates/{debate['id']}/stop")
            last = at.wait(debate["id"], "stopped")["last_seq"]
            meanwhile()
            gate.open.set()
            late = time.monotonic() + client._limit()
            try:
                heard = client.until(lambda f: f.seq == last or time.monotonic() > late)
            except TimeoutError:
                return None
            if heard[-1].seq != last:  # nothing but comments
                return None
            assert seqs(heard) == list(range(1, last + 1))
            return heard + client.rest()


def test_an_event_between_reading_and_listening_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_tail(monkeypatch)
    gate = hold_after_reading(monkeypatch)
    heard = in_the_window(tmp_path / "home", gate)
    assert heard
    assert heard[-1].event == "end"


@pytest.mark.stress("test_it_fails_when_any_seq_will_do")
def test_it_fails_when_it_reads_before_it_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_tail(monkeypatch)
    gate = hold_after_reading(monkeypatch)
    read_then_listen(monkeypatch)
    monkeypatch.setattr(Client, "seconds", 3)
    assert in_the_window(tmp_path / "home", gate) is None


def test_an_event_that_leaves_the_ring_while_the_log_is_read_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_tail(monkeypatch)
    gate = hold_after_reading(monkeypatch)
    monkeypatch.setattr(hub, "RING_FRAMES", 4)
    monkeypatch.setattr(hub, "HEARTBEAT_SECONDS", 0.0)
    monkeypatch.setattr(stream, "TICK_SECONDS", 0.01)
    beat, beats = hub.Ring.beat, list[float]()

    def noted(self: hub.Ring, now: float) -> None:
        beat(self, now)
        beats.append(now)

    monkeypatch.setattr(hub.Ring, "beat", noted)

    def overflow() -> None:
        before = len(beats)
        while len(beats) < before + 20:  # two rings: the feed has its own
            time.sleep(0.01)

    heard = in_the_window(tmp_path / "home", gate, overflow)
    assert heard
    assert heard[-1].event == "end"


def with_one_lost(home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], int]:
    """What is heard of a debate where the bus loses its fifth event."""
    no_tail(monkeypatch)
    relay, lost = MemoryBus.relay, list[int]()

    def losing(self: MemoryBus, event: Event | Delta) -> None:
        if not isinstance(event, Delta) and event.seq == 5:
            lost.append(event.seq)
        else:
            relay(self, event)

    monkeypatch.setattr(MemoryBus, "relay", losing)
    with served(home, ScriptedSpeaker(seconds=0.05)) as at:
        debate = at.create(format="duel", limits={"max_turns": 6}, start=False)
        with watch(at, debate["id"]) as client:
            heard = client.until(lambda frame: frame.seq == 1)
            at.post(f"/debates/{debate['id']}/start")
            heard += client.rest()
        last = at.wait(debate["id"])["last_seq"]
    assert lost == [5]
    return seqs(heard), last


def test_what_the_bus_loses_the_log_gives_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, last = with_one_lost(tmp_path / "home", monkeypatch)
    assert heard == list(range(1, last + 1))


def test_it_fails_when_any_seq_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def any_seq(channel: Channel, place: int, after: int) -> tuple[int, list[Frame], int]:
        found = [f for f in channel.frames[place - channel.base :] if not f.seq or f.seq > after]
        return max([after, *(frame.seq for frame in found)]), found, channel.end

    monkeypatch.setattr(stream, "_live", any_seq)
    heard, last = with_one_lost(tmp_path / "home", monkeypatch)
    assert heard == [seq for seq in range(1, last + 1) if seq != 5]
