"""Two processes on one home: the server shows what the other does, as it happens."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from moot.core.debate import Usage
from moot.core.transcript import UNDERSTUDY
from moot.ports import Call, ModelCard, Reply, Say
from tests.served import Served, started
from tests.sse import Client, Heard, keep, seqs, speeches, watch

PIECES = 20
SWEEP = {"MOOT_SWEEP_SECONDS": "0.2"}


def tell(**words: Any) -> None:
    print(json.dumps(words), flush=True)


class Talker:
    """Speaks piece by piece, for so long, and tells when it is called off."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 100_000, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        pieces = [f"{call.step.actor} {call.step.round}, piece {n}. " for n in range(PIECES)]
        tell(calls=call.step.actor)
        try:
            for piece in pieces:
                say(piece)
                await asyncio.sleep(self._seconds / PIECES)
        except asyncio.CancelledError:
            tell(cancelled=time.time())
            raise
        return Reply("".join(pieces), UNDERSTUDY, Usage(1, 1, 0.0))


def run_slowly() -> None:
    """What the other process runs: `moot run`, with a speaker of its own."""
    from moot.bootstrap import open_service
    from moot.settings import Settings

    home, seconds, turns = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])

    async def run() -> None:
        async with open_service(
            Settings(home=home), speaker=Talker(seconds), recover=False
        ) as service:
            debate = await service.create("Slowly?", format="duel", limits={"max_turns": turns})
            tell(id=debate.id)
            tell(status=(await service.wait(debate.id)).status)

    asyncio.run(run())


class Neighbour:
    """The other process, and what it tells."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.told: list[dict[str, Any]] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    @property
    def debate(self) -> str:
        return self.wait("id")

    def wait(self, name: str, seconds: float = 60) -> Any:
        """The first thing told by that name."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if found := [words[name] for words in self.told if name in words]:
                return found[0]
            time.sleep(0.01)
        raise AssertionError(f"no {name} in {self.told}")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reading.join()
        if self.process.stdout:
            self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.told.append(json.loads(line))


@contextmanager
def neighbour(home: Path, seconds: float, turns: int) -> Generator[Neighbour]:
    code = f"from {__name__} import run_slowly; run_slowly()"
    command = [sys.executable, "-c", code, str(home), str(seconds), str(turns)]
    other = Neighbour(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    try:
        yield other
    finally:
        other.end()


def timed(client: Client, done: Callable[[Heard], bool]) -> list[tuple[float, Heard]]:
    """Each frame with the time of its receipt."""
    heard: list[tuple[float, Heard]] = []
    while not heard or not done(heard[-1][1]):
        frame = client.next()
        assert frame
        heard.append((time.time(), frame))
    return heard


def delays(heard: list[tuple[float, Heard]]) -> list[float]:
    """From the commit of each turn to its receipt, the longest last."""
    return sorted(
        at - datetime.fromisoformat(frame.data["committed_at"]).timestamp()
        for at, frame in heard
        if frame.event == "turn"
    )


def test_it_is_shown_as_it_happens(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with started(home) as (at, _), Client(at.port, "/events") as feed:
        with neighbour(home, 0.4, 10) as other, watch(at, other.debate) as client:
            heard = timed(client, lambda frame: frame.event == "end")
            assert other.wait("status") == "completed"
        frames = [frame for _, frame in heard]
        debate = at.wait(other.debate)
        assert seqs(frames) == list(range(1, debate["last_seq"] + 1))
        late = delays(heard)
        print("commit to receipt:", [f"{delay * 1000:.0f} ms" for delay in late])
        assert late[len(late) // 2] < 0.3
        assert late[-2] < 0.5
        check_deltas(at, debate["id"], heard)
        changes = feed.until(lambda f: f.event == "status" and f.data["status"] == "completed")
        shown = [frame.data for frame in changes if frame.event == "status"]
        assert {item["id"] for item in shown} == {debate["id"]}
        assert len({item["progress"]["done"] for item in shown}) > 5, "as it happens"
        assert shown[-1] == at.http.get("/debates").json()["items"][0]


def check_deltas(at: Served, debate_id: str, heard: list[tuple[float, Heard]]) -> None:
    """They came while it was said, and are what was said then: perhaps not to its last word."""
    turns = at.http.get(f"/debates/{debate_id}/turns").json()["items"]
    said = speeches(frame for _, frame in heard)
    texts = {(turn["round"], turn["actor"], turn["target"]): turn["text"] for turn in turns}
    assert said.keys() <= texts.keys()
    assert all(f"{texts[slot]} ".startswith(text) for slot, text in said.items())
    full = [slot for slot, text in said.items() if len(text) > len(texts[slot]) * 0.8]
    assert len(full) >= len(turns) - 2
    first: dict[tuple[int, str], float] = {}
    for when, frame in heard:
        if frame.event == "delta":
            first.setdefault((frame.data["round"], frame.data["actor"]), when)
        elif frame.event == "turn" and (frame.data["round"], frame.data["actor"]) in first:
            assert when - first[frame.data["round"], frame.data["actor"]] > 0.05
    assert len(first) >= len(turns) - 1


def test_what_the_command_runs_is_shown_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with started(home) as (at, _), Client(at.port, "/events") as feed:
        run = subprocess.run(
            [sys.executable, "-m", "moot", "run", "Now?", "--format", "duel", "--json"],
            env={**os.environ, "MOOT_HOME": str(home)},
            capture_output=True,
            text=True,
            check=True,
        )
        debate = json.loads(run.stdout)
        changes = feed.until(lambda f: f.event == "status" and f.data["status"] == "completed")
        assert changes[-1].data["id"] == debate["id"]
        with watch(at, debate["id"]) as client:
            assert seqs(client.rest()) == list(range(1, debate["last_seq"] + 1))


def test_end_reaches_a_call_in_the_other_process(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with started(home) as (at, _), neighbour(home, 60, 4) as other:
        with watch(at, other.debate) as client:
            client.until(lambda frame: frame.event == "delta")
            before = time.time()
            assert at.post(f"/debates/{other.debate}/end").status_code == 202
            took = other.wait("cancelled") - before
            heard = client.rest()
        print(f"called off after {took * 1000:.0f} ms")
        assert 0 < took < 1
        assert heard[-1].event == "end"
        assert at.wait(other.debate)["stop_reason"] == "ended_by_user"
        assert other.wait("status") == "completed"


def test_a_killed_server_is_come_back_to(tmp_path: Path) -> None:
    home = tmp_path / "home"
    heard: list[Heard] = []
    with neighbour(home, 0.1, 2000) as other:
        debate = other.debate
        for stop in (5, 12, 20):
            last = max(seqs(heard), default=0)
            with started(home) as (at, process), watch(at, debate, last) as client:
                heard += client.until(lambda frame, stop=stop: (frame.seq or 0) >= stop)
                process.kill()
                process.wait()
                with pytest.raises(ConnectionError):
                    keep(client, heard)
        with started(home) as (at, _), watch(at, debate, max(seqs(heard))) as client:
            heard += client.until(lambda frame: (frame.seq or 0) > 30)
            assert at.post(f"/debates/{debate}/end").status_code == 202
            heard += client.rest()
            last = at.wait(debate)["last_seq"]
    assert seqs(heard) == list(range(1, last + 1))
    assert heard[-1].event == "end"


def test_what_a_killed_process_left_is_carried_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with started(home, environment=SWEEP) as (at, _), neighbour(home, 0.3, 8) as other:
        with watch(at, other.debate) as client:
            heard = client.until(lambda frame: frame.seq == 4)
            heard += client.until(lambda frame: frame.event == "delta")
            other.process.kill()
            other.process.wait()
            killed = time.monotonic()
            heard += client.rest()
            took = time.monotonic() - killed
        debate = at.wait(other.debate)
        turns = at.http.get(f"/debates/{other.debate}/turns").json()["items"]
    assert debate["status"] == "completed"
    assert seqs(heard) == list(range(1, debate["last_seq"] + 1))
    slots = [(turn["round"], turn["actor"]) for turn in turns]
    assert len(slots) == len(set(slots)) == 8
    said = speeches(heard)
    last = turns[-1]
    assert said[last["round"], last["actor"], None].strip() == last["text"]
    assert took < 8, f"it took {took:.1f} s"
