"""Two processes on one home: the server shows what the other does, as it happens.

They are real processes in real time. What is shown is waited for before the other goes on, so that
nothing depends on how fast this machine is.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from moot.core.debate import Usage
from moot.core.voices import UNDERSTUDY
from moot.ports.model_call import Call, ModelCard, Reply, Say
from tests.patience import seconds
from tests.served import Served, started
from tests.sse import Client, Heard, keep, seqs, speeches, watch
from tests.stress import STRESS

PIECES = 20
SWEEP = {"MOOT_SWEEP_SECONDS": "0.2"}


def tell(**words: Any) -> None:
    print(json.dumps(words), flush=True)


class Talker:
    """Speaks piece by piece, for so long; held, it waits in the middle until told to go on."""

    def __init__(self, seconds: float, held: asyncio.StreamReader | None) -> None:
        self._seconds = seconds
        self._held = held

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 100_000, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        pieces = [f"{call.step.actor} {call.step.round}, piece {n}. " for n in range(PIECES)]
        for number, piece in enumerate(pieces):
            say(piece)
            await asyncio.sleep(self._seconds / PIECES)
            if number == PIECES // 2 and self._held:
                await self._held.readline()
        return Reply("".join(pieces), UNDERSTUDY, Usage(1, 1, 0.0))


async def told() -> asyncio.StreamReader:
    """What the test says to this process."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    return reader


def run_slowly() -> None:
    """What the other process runs: `moot run`, with a speaker of its own."""
    from moot.bootstrap import open_service
    from moot.settings import Settings

    home, seconds, turns = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])

    async def run() -> None:
        talker = Talker(seconds, await told() if sys.argv[4] == "held" else None)
        async with open_service(Settings(home=home), speaker=talker, recover=False) as service:
            debate = await service.create("Slowly?", format="duel", limits={"max_turns": turns})
            tell(id=debate.id)
            done = await service.wait(debate.id)
            tell(status=done.status, attempts=await service.attempts(debate.id))

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

    def go_on(self) -> None:
        """Let the speaker end its turn."""
        assert self.process.stdin
        self.process.stdin.write("go on\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reading.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.told.append(json.loads(line))


@contextmanager
def neighbour(
    home: Path, seconds: float, turns: int, *, held: bool = False
) -> Generator[Neighbour]:
    code = f"from {__name__} import run_slowly; run_slowly()"
    how = "held" if held else "free"
    command = [sys.executable, "-c", code, str(home), str(seconds), str(turns), how]
    pipe = subprocess.PIPE
    other = Neighbour(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
    try:
        yield other
    finally:
        other.end()


def a_turn(client: Client, other: Neighbour) -> list[Heard]:
    """One turn of one that is held: some of it is shown while it is said, and all of it then."""
    heard = client.until(lambda frame: frame.event == "delta")
    other.go_on()
    return heard + client.until(lambda frame: frame.event == "turn")


def test_it_is_shown_as_it_happens(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with started(home) as (at, _), Client(at.port, "/events") as feed:
        with neighbour(home, 0.2, 10, held=True) as other, watch(at, other.debate) as client:
            other.go_on()  # of its first turn nobody may have heard: it began before they came
            heard, shown = client.until(lambda frame: frame.event == "turn"), list[Heard]()
            for done in range(2, 11):
                heard += a_turn(client, other)
                shown += feed.until(lambda frame, done=done: spoken(frame) >= done)
            heard += client.until(lambda frame: frame.event == "end")
            assert other.wait("status") == "completed"
        debate = at.wait(other.debate)
        assert seqs(heard) == list(range(1, debate["last_seq"] + 1))
        check_deltas(at, debate["id"], heard)
        while shown[-1].event != "status" or shown[-1].data["status"] != "completed":
            shown += feed.until(lambda frame: frame.event == "status")
        changes = [frame.data for frame in shown if frame.event == "status"]
        assert {item["id"] for item in changes} == {debate["id"]}
        assert changes[-1] == at.http.get("/debates").json()["items"][0]


def spoken(frame: Heard) -> int:
    """How many turns a frame of the feed tells of."""
    return frame.data["progress"]["done"] if frame.event == "status" else 0


def check_deltas(at: Served, debate_id: str, heard: list[Heard]) -> None:
    """They are what was said: perhaps not to its last word."""
    turns = at.http.get(f"/debates/{debate_id}/turns").json()["items"]
    said = speeches(heard)
    texts = {(turn["round"], turn["actor"], turn["target"]): turn["text"] for turn in turns}
    assert said.keys() <= texts.keys()
    assert all(f"{texts[slot]} ".startswith(text) for slot, text in said.items())
    full = [slot for slot, text in said.items() if len(text) > len(texts[slot]) * 0.8]
    assert len(full) >= len(turns) - 2


@pytest.mark.stress("test_it_is_shown_as_it_happens")
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
    with started(home) as (at, _), neighbour(home, 0.2, 4, held=True) as other:
        with watch(at, other.debate) as client:
            client.until(lambda frame: frame.event == "delta")
            assert at.post(f"/debates/{other.debate}/end").status_code == 202
            heard = client.rest()
        assert heard[-1].event == "end"
        assert at.wait(other.debate)["stop_reason"] == "ended_by_user"
        assert other.wait("status") == "completed"
        (ending,) = [f.data["at"] for f in heard if f.data and f.data.get("status") == "ending"]
        (cancelled,) = [row for row in other.wait("attempts") if row["outcome"] == "cancelled"]
    took = datetime.fromisoformat(cancelled["ended_at"]) - datetime.fromisoformat(ending)
    print("called off after", took)
    assert 0 <= took.total_seconds() < seconds(1)


def test_a_killed_server_is_come_back_to(tmp_path: Path) -> None:
    home = tmp_path / "home"
    heard: list[Heard] = []
    with neighbour(home, 0.1, 2000) as other:
        debate = other.debate
        for stop in (5, 12, 20) if STRESS else (5, 12):
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


@pytest.mark.stress("test_a_killed_server_is_come_back_to")
def test_what_a_killed_process_left_is_carried_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with started(home, environment=SWEEP) as (at, _), neighbour(home, 0.2, 8, held=True) as other:
        with watch(at, other.debate) as client:
            other.go_on()
            heard = client.until(lambda frame: frame.event == "turn")
            heard += a_turn(client, other)
            heard += client.until(lambda frame: frame.event == "delta")
            other.process.kill()
            other.process.wait()
            heard += client.rest()
        debate = at.wait(other.debate)
        turns = at.http.get(f"/debates/{other.debate}/turns").json()["items"]
    assert debate["status"] == "completed"
    assert seqs(heard) == list(range(1, debate["last_seq"] + 1))
    slots = [(turn["round"], turn["actor"]) for turn in turns]
    assert len(slots) == len(set(slots)) == 8
    said = speeches(heard)
    last = turns[-1]
    assert said[last["round"], last["actor"], None].strip() == last["text"]
