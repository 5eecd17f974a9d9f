"""Servers, workers and a terminal, each a process of its own, over one Postgres and one Redis.

The passwords in both addresses are canaries: nothing that anybody prints or logs may hold them.
"""

import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
import redis
from bench import live

from moot.store import schema
from tests import forked, patience
from tests.acceptance.test_command_line import terminal
from tests.served import Served
from tests.services import Postgres, Valkey, ask
from tests.sse import Client, Heard, seqs, speeches, watch

SEATS = [{"name": "Ada", "model": "openai:fake"}, {"name": "Ben", "model": "openai:fake"}]
CANARIES = ("canary-of-postgres", "canary-of-redis")
WORKER = "moot"  # whom Redis knows by that name, and by the canary


@dataclass
class Machines:
    """The services, and what everybody is told of them."""

    postgres: Postgres
    valkey: Valkey
    folder: Path
    database: str
    outputs: list[str] = field(default_factory=list[str])  # of all commands

    @property
    def env(self) -> dict[str, str]:
        return {
            "MOOT_HOME": str(self.folder / "home"),
            "MOOT_DATABASE_URL": with_password(self.database, "postgres", CANARIES[0]),
            "MOOT_BROKER_URL": with_password(self.valkey.url, WORKER, CANARIES[1]),
            "MOOT_LOG_LEVEL": "debug",
            "MOOT_SWEEP_SECONDS": "0.5",
            "MOOT_LEASE_SECONDS": "3",
        }

    @property
    def book(self) -> live.Book:
        return live.Book(self.folder / "worker.book")

    @contextmanager
    def server(self, name: str = "serve") -> Generator[Served]:
        with (
            live.server(self.folder / f"{name}.log", self.env) as url,
            httpx2.Client(base_url=url, timeout=patience.seconds()) as http,
        ):
            yield Served(url, self.folder / "home", http)

    def moot(self, *words: str, without: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in {**os.environ, **self.env, **env}.items() if k != without}
        done = forked.moot(kept, *words)
        self.outputs += [done.stdout, done.stderr]
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def attempts(self, debate: str) -> list[str]:
        rows = "SELECT outcome FROM debate_attempts WHERE debate_id = ? ORDER BY n"
        return [row[0] for row in ask(self.database, rows, debate)]

    def let_in(self) -> None:
        """Redis has forgotten whom it knows when it is started again."""
        with redis.Redis.from_url(self.valkey.url) as client:
            client.execute_command(
                "ACL", "SETUSER", WORKER, "on", f">{CANARIES[1]}", "~*", "&*", "+@all"
            )


def with_password(url: str, user: str, password: str) -> str:
    parts = urlsplit(url)
    where = f"{user}:{password}@{parts.hostname}:{parts.port}"
    return parts._replace(netloc=where).geturl()


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    folder = tmp_path_factory.mktemp("machines")
    with Postgres(durable=False) as postgres, Valkey() as valkey:
        machines = Machines(postgres, valkey, folder, postgres.fresh())
        machines.let_in()
        yield machines
        said = [path.read_text() for path in folder.glob("*.log")] + machines.outputs
        assert said
        for canary in CANARIES:
            assert not any(canary in text for text in said), f"{canary} was told"


@pytest.fixture(scope="module")
def server(machines: Machines) -> Iterator[Served]:
    with machines.server() as server:
        yield server


@pytest.fixture(scope="module")
def worker(machines: Machines) -> Iterator[subprocess.Popen[str]]:
    with live.worker(machines.book.path, machines.env) as process:
        yield process


def duel(server: Served, motion: str, turns: int = 4, **asked: Any) -> str:
    asked = {"participants": SEATS, "limits": {"max_turns": turns}, **asked}
    return server.create(motion, format="duel", **asked)["id"]


def eventually(what: Callable[[], Any]) -> Any:
    return patience.until(what)


def heard_until(
    client: Client, wanted: Callable[[Heard], object] = lambda frame: frame.event == "end"
) -> list[tuple[float, Heard]]:
    """All frames up to the one that is wanted, and when each came."""
    heard: list[tuple[float, Heard]] = []
    while not heard or not wanted(heard[-1][1]):
        frame = client.next()
        assert frame, "it ended too soon"
        heard.append((time.time(), frame))
    return heard


def is_delta(frame: Heard) -> bool:
    return frame.event == "delta" and bool(frame.data["text"])


def whole(heard: list[Heard], last: int) -> list[Heard]:
    """The turns of a stream that has all of a debate, once, in order."""
    assert seqs(heard) == list(range(1, last + 1))
    assert heard[-1].event == "end"
    return [frame for frame in heard if frame.event == "turn"]


# --- streams ---


def test_what_a_worker_speaks_is_heard_on_the_server(
    machines: Machines, server: Served, worker: Any
) -> None:
    debate = duel(server, "10 words in 1 s")
    with watch(server, debate) as first, ExitStack() as later:
        early = heard_until(first, lambda f: is_delta(f) and f.data["round"] == 2)
        early += heard_until(first, is_delta)
        last = max(seqs(frame for _, frame in early))
        joined = later.enter_context(watch(server, debate, last))
        late = heard_until(joined)
        early += heard_until(first)
    row = server.wait(debate)
    turns = whole([frame for _, frame in early], row["last_seq"])
    said: dict[tuple[int, str, str | None], str] = {
        (turn.data["round"], turn.data["actor"], None): "".join(
            live.spoken(turn.data["actor"], turn.data["round"], 10)
        )
        for turn in turns
    }
    assert [turn.data["text"] for turn in turns] == list(said.values())
    heard = speeches(frame for _, frame in early)
    assert heard.keys() == said.keys()
    for place, words in heard.items():  # the turn itself may overtake its last words
        assert words
        assert said[place].startswith(words)
    assert sum(heard[place] == said[place] for place in said) >= len(said) - 1
    for turn in turns[1:]:  # the first may have begun before anybody listened
        spoken = [at for at, f in early if is_delta(f) and f.data["round"] == turn.data["round"]]
        assert len(spoken) >= 8, "as it is spoken, not all at once"
        assert spoken[-1] - spoken[0] > 0.6
    assert seqs(frame for _, frame in late) == list(range(last + 1, row["last_seq"] + 1))
    begun = next(frame for _, frame in late if frame.event == "delta")
    assert begun.data["offset"] == 0
    assert begun.data["round"] == 2
    assert "word-1" in begun.data["text"], "who joins in a turn gets what was said so far"
    spoken = speeches(frame for _, frame in late)
    assert spoken == {slot: text for slot, text in said.items() if slot[0] >= 2}


@pytest.mark.stress("test_redis_forgets_everything")
def test_nothing_is_missed_while_redis_throws_listeners_out(
    machines: Machines, server: Served, worker: Any
) -> None:
    """Hints are lost then, and the log is read without them."""
    debates = [duel(server, "5 words in 0.4 s", turns=8) for _ in range(3)]
    over, killed = threading.Event(), 0

    def throw_out() -> None:
        nonlocal killed
        with redis.Redis.from_url(machines.valkey.url) as client:
            while not over.wait(0.15):
                told: Any = client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
                killed += int(told)

    thrower = threading.Thread(target=throw_out)
    with ExitStack() as stack, ThreadPoolExecutor(3) as pool:
        clients = [stack.enter_context(watch(server, debate)) for debate in debates]
        thrower.start()
        try:
            heard = list(pool.map(heard_until, clients))
        finally:
            over.set()
            thrower.join()
    assert killed > 20
    late: list[float] = []
    for debate, frames in zip(debates, heard, strict=True):
        turns = whole([frame for _, frame in frames], server.wait(debate)["last_seq"])
        assert len(turns) == 8
        commits = {note["seq"]: note["at"] for note in machines.book.read("turn", debate)}
        late += [at - commits[f.seq] for at, f in frames if f.event == "turn" and f.seq]
    print(f"{killed} thrown out; {median(late):.3f} s from commit, at most {max(late):.3f} s")
    assert max(late) < 2


def test_two_servers_know_of_each_other(machines: Machines, server: Served, worker: Any) -> None:
    with machines.server("second") as second, ExitStack() as stack:
        lists = [stack.enter_context(Client(at.port, "/events")) for at in (server, second)]
        here, there = duel(server, "8 words in 0.8 s"), duel(second, "8 words in 0.8 s")
        crossed = [(here, second), (there, server)]
        readers = [stack.enter_context(watch(at, debate)) for debate, at in crossed]
        with ThreadPoolExecutor(2) as pool:
            streams = list(pool.map(Client.rest, readers))
        for (debate, at), heard in zip(crossed, streams, strict=True):
            turns = whole(heard, at.wait(debate)["last_seq"])
            assert len(turns) == 4
            assert sum(map(is_delta, heard)) > 8, "it is live on the other server too"
        for client in lists:
            ended: set[str] = set()
            while ended < {here, there}:
                frame = client.next()
                assert frame
                if frame.event == "status" and frame.data["status"] == "completed":
                    ended.add(frame.data["id"])


# --- verbs ---


def in_flight(machines: Machines, server: Served, motion: str = "30 words in 3600 s") -> str:
    """A debate whose first speaker has begun, and has long to go."""
    debate = duel(server, motion)
    eventually(lambda: machines.book.read("called", debate))
    return debate


def seconds_to_cancel(machines: Machines, server: Served, debate: str) -> float:
    """From asking for the end until the speaker in the worker is called off, and that is kept."""
    asked = time.time()
    assert server.post(f"/debates/{debate}/end").status_code < 300
    eventually(lambda: machines.attempts(debate)[:1] == ["cancelled"])
    kept = time.time() - asked
    noted = machines.book.read("cancelled", debate)[0]["at"] - asked
    print(f"called off after {noted:.3f} s, on record after {kept:.3f} s")
    return max(noted, kept)


def test_end_calls_off_the_call_in_a_worker(
    machines: Machines, server: Served, worker: Any
) -> None:
    debate = in_flight(machines, server)
    assert seconds_to_cancel(machines, server, debate) < patience.seconds(1)
    row = server.wait(debate)
    assert (row["status"], row["stop_reason"]) == ("completed", "ended_by_user")
    assert len(machines.book.read("called", debate)) == 2, "the speech, and the summary"


@pytest.mark.stress("test_end_calls_off_the_call_in_a_worker")
def test_end_reaches_a_worker_without_redis(
    machines: Machines, server: Served, worker: Any
) -> None:
    """Through the database; and once Redis is back, all goes on by itself."""
    debate = in_flight(machines, server)
    waits = duel(server, "2 words in 0.1 s", start=False)
    machines.valkey.stop()
    try:
        assert seconds_to_cancel(machines, server, debate) < patience.seconds(1)
        assert server.post(f"/debates/{waits}/start").status_code < 300
        time.sleep(1)
    finally:
        machines.valkey.start()
        machines.let_in()
    assert server.wait(debate)["status"] == "completed"
    assert server.wait(waits)["status"] == "completed"
    with watch(server, debate := duel(server, "5 words in 1 s")) as client:
        assert sum(map(is_delta, client.rest())) > 10, "speech is live again"
    assert server.wait(debate)["status"] == "completed"


def test_stop_and_pause_wait_for_the_step_in_a_worker(
    machines: Machines, server: Served, worker: Any
) -> None:
    stopped, paused = (in_flight(machines, server, "5 words in 1.5 s") for _ in range(2))
    assert server.post(f"/debates/{stopped}/stop").status_code < 300
    assert server.post(f"/debates/{paused}/pause").status_code < 300
    assert server.wait(stopped, "stopped")["progress"]["done"] == 1
    assert server.wait(paused, "paused")["progress"]["done"] == 1
    assert machines.attempts(stopped) == machines.attempts(paused) == ["ok"]
    time.sleep(0.7)  # a sweep, and more
    assert len(machines.book.read("called", paused)) == 1
    assert server.post(f"/debates/{paused}/resume").status_code < 300
    assert server.wait(paused)["progress"]["done"] == 4


def test_retry_and_skip_go_on_in_a_worker(machines: Machines, server: Served, worker: Any) -> None:
    seats = [SEATS[0], {"name": "Ben", "model": "openai:broken"}]
    debate = duel(server, "2 words in 0.1 s", participants=seats, on_failure="pause")
    assert server.wait(debate, "paused")["failure"]["actor"] == "ben"
    assert server.post(f"/debates/{debate}/skip").status_code < 300
    assert server.wait(debate, "paused", "completed")["progress"]["done"] == 3
    assert server.post(f"/debates/{debate}/retry", model="openai:fake").status_code < 300
    assert server.wait(debate)["progress"]["done"] == 4
    turns = server.http.get(f"/debates/{debate}/turns").json()
    assert [turn["status"] for turn in turns["items"]] == ["ok", "failed", "ok", "ok"]


def test_from_commit_to_client(machines: Machines, tmp_path: Path) -> None:
    """Each turn comes, once. How late is the benchmark's to judge."""
    url = machines.postgres.fresh()
    late = sorted(live.measure(url, machines.valkey.url, tmp_path, debates=10))
    p99 = late[int(0.99 * len(late))]
    print(f"{len(late)} turns: p50 {median(late):.3f} s, p99 {p99:.3f} s, worst {late[-1]:.3f} s")
    assert len(late) == 60


# --- the command line ---


def test_a_terminal_shows_what_a_worker_speaks(machines: Machines, worker: Any) -> None:
    words = ("run", "12 words in 1.5 s", "-f", "duel", "--max-turns", "3")
    with terminal(machines.folder / "home", *words, **machines.env) as shown:
        eventually(lambda: "word-4" in shown.text)
        assert "word-11" not in shown.text, "word by word"
        for turns in (1, 2):
            eventually(lambda n=turns: f"{n}/3" in shown.text)
            assert f"{turns + 1}/3" not in shown.text, "as it comes"
        assert shown.wait() == 0
        text = shown.text
    machines.outputs.append(text)
    id_ = shown.id()
    commits = [note["at"] for note in machines.book.read("turn", id_)]
    assert len(commits) == 3, "a worker spoke it"
    assert "Completed: " in text
    listed = machines.moot("list")
    assert listed.returncode == 0
    assert re.search(rf"{id_}\tcompleted\tduel\t", listed.stdout)


def test_the_doctor_finds_everything(machines: Machines, worker: Any) -> None:
    done = machines.moot("doctor")
    assert done.returncode == 0, done.stdout
    assert re.search(rf"Postgres at 127.0.0.1:\d+/\w+, schema {schema.HEAD}", done.stdout)
    assert re.search(r"ok\s+broker", done.stdout)
    assert re.search(rf"ok\s+workers\s+moot-{worker.pid}@", done.stdout)
    assert re.search(r"ok\s+live", done.stdout)


def test_the_doctor_says_what_is_missing(machines: Machines) -> None:
    """Each of them at once: most of what a command takes is its start."""
    bare = machines.postgres.url("bare")
    ask_admin(machines, "CREATE DATABASE bare")
    away = with_password("redis://127.0.0.1:1/0", WORKER, CANARIES[1])
    broken: list[dict[str, str]] = [
        {"MOOT_QUEUE": "nobody"},
        {"MOOT_BROKER_URL": away},
        {"MOOT_DATABASE_URL": with_password(bare, "postgres", CANARIES[0])},
        {"MOOT_DATABASE_URL": with_password("postgresql://x:1/moot", "postgres", CANARIES[0])
         .replace("@x", "@127.0.0.1")},
    ]  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        alone, no_broker, no_schema, no_database = pool.map(
            lambda env: machines.moot("doctor", **env), broken
        )
    assert alone.returncode == 0, "a worker may be started later"
    assert "None answers. Start one with `moot worker`." in alone.stdout
    assert no_broker.returncode == 1
    assert "Check MOOT_BROKER_URL." in no_broker.stdout
    assert no_schema.returncode == 1
    assert "Run `moot db upgrade`." in no_schema.stdout
    assert no_database.returncode == 1
    assert "cannot be reached" in no_database.stdout


def test_an_upgrade_can_be_said_twice_and_at_once(machines: Machines) -> None:
    ask_admin(machines, "CREATE DATABASE twice")
    url = machines.postgres.url("twice")
    with ThreadPoolExecutor(2) as pool:
        both = list(
            pool.map(lambda _: machines.moot("db", "upgrade", MOOT_DATABASE_URL=url), range(2))
        )
    again = machines.moot("db", "upgrade", MOOT_DATABASE_URL=url)
    for done in (*both, again):
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"The database is at schema {schema.HEAD}.\n"
    assert ask(url, "SELECT count(*) FROM debate_runs") == [(0,)]


def test_a_worker_that_cannot_work_says_why(machines: Machines) -> None:
    ask_admin(machines, "CREATE DATABASE old")
    old = machines.postgres.url("old")
    schema.upgrade_at(old)
    ask(old, "UPDATE debate_schema SET version_num = '0003'")
    wrong = with_password(machines.valkey.url, WORKER, CANARIES[1]).replace("redis:", "http:")
    with ThreadPoolExecutor(2) as pool:
        asked: list[dict[str, str]] = [
            {"without": "MOOT_BROKER_URL"},
            {"without": "MOOT_DATABASE_URL"},
            {"MOOT_DATABASE_URL": with_password(old, "postgres", CANARIES[0])},
            {"MOOT_BROKER_URL": wrong},
        ]
        said = list(pool.map(lambda env: machines.moot("worker", **env), asked))
    assert [done.returncode for done in said] == [2, 2, 1, 2]
    for done, words in zip(
        said,
        ("Set MOOT_BROKER_URL", "Set MOOT_DATABASE_URL", "Run `moot db upgrade`", "redis://"),
        strict=True,
    ):
        assert words in done.stderr
        assert done.stderr.startswith("moot: ")
        assert done.stderr.count("\n") == 1, "one sentence"
        assert done.stdout == ""


def ask_admin(machines: Machines, sql: str) -> None:
    with psycopg.connect(machines.postgres.url(), autocommit=True) as conn:
        conn.execute(sql.encode())
