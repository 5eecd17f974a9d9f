"""The command line against a real server: as at home, through cuts, and where there is none."""

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import IO, Any

import pytest

from moot.bootstrap import open_service
from moot.cli.main import main
from moot.cli.screen import LOST
from moot.client.remote import Remote
from moot.core import verbs
from moot.core.debate import Debate
from moot.core.events import Delta, Event, TurnCommitted
from moot.engine.service import Service
from moot.errors import StateError
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker
from tests.acceptance.test_command_line import (
    ID,
    MOOT,
    MOTION,
    environment,
    eventually,
    hear_interrupts,
    terminal,
)
from tests.patience import seconds
from tests.served import Served, served, started

TOKEN = "a-token-that-is-long-enough"  # noqa: S105  of this test alone


def words(call: Call) -> str:
    """Long, and with characters of up to four bytes."""
    return f"{call.debate.seat(call.step.actor).name}, {call.step.round}. " + "é漢🙂 – so. " * 60


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def here(home: Path, *asked: str, **env: str) -> Done:
    """What `moot` does, in this process: most of what a command takes is its start."""
    out, err = StringIO(), StringIO()
    known = environment(home, **env)
    with (
        pytest.MonkeyPatch.context() as patched,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        for name in [name for name in os.environ if name.startswith("MOOT_")]:
            patched.delenv(name)
        for name, value in known.items():
            patched.setenv(name, value)
        patched.setattr(sys, "argv", ["moot", *asked])
        with pytest.raises(SystemExit) as left:
            sys.exit(main())
    return Done(left.value.code or 0, out.getvalue(), err.getvalue())  # type: ignore[arg-type]


def there(server: Served, home: Path, *asked: str, **env: str) -> Done:
    """The same, pointed at the server, with a home of its own that nothing may touch."""
    return here(home, *asked, MOOT_URL=server.url, **env)


def json_of(done: Done) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def command(url: str, home: Path, *asked: str) -> Generator["Command"]:
    """A `moot` of its own, that signals can be sent to."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            [MOOT, *asked],
            env=environment(home, MOOT_URL=url),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            preexec_fn=hear_interrupts,
        )
        try:
            yield Command(process, out, err)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


@dataclass
class Command:
    process: subprocess.Popen[bytes]
    _out: IO[str]
    _err: IO[str]

    @property
    def shown(self) -> str:
        return self._all(self._out)

    @property
    def complaints(self) -> str:
        return self._all(self._err)

    def _all(self, file: IO[str]) -> str:
        with open(f"/proc/self/fd/{file.fileno()}", encoding="utf-8") as again:  # noqa: PTH123
            return again.read()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def wait(self) -> int:
        return self.process.wait(seconds())


class Proxy:
    """Passes bytes on, and cuts each connection after as many as it is told."""

    def __init__(self, port: int, budget: Callable[[], int | None]) -> None:
        self.cuts = 0
        self._target = port
        self._budget = budget
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                thread = threading.Thread(target=self._carry, args=(client, self._budget()))
                self._threads.append(thread)
                thread.start()

    def _carry(self, client: socket.socket, left: int | None) -> None:
        with client, socket.create_connection(("127.0.0.1", self._target)) as server:
            up = threading.Thread(target=self._up, args=(client, server))
            up.start()
            with suppress(OSError):
                while piece := server.recv(4096 if left is None else min(4096, max(left, 1))):
                    if left is not None and left <= 0:
                        self.cuts += 1
                        break
                    client.sendall(piece)
                    left = None if left is None else left - len(piece)
            for end in (client, server):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            up.join()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while piece := client.recv(4096):
                server.sendall(piece)
            server.shutdown(socket.SHUT_RDWR)  # whoever asked has gone

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._accepting.join()
        for thread in self._threads:
            thread.join()


@contextmanager
def proxied(port: int, budget: Callable[[], int | None]) -> Generator[Proxy]:
    proxy = Proxy(port, budget)
    try:
        yield proxy
    finally:
        proxy.close()


# --- cuts ---


def test_every_event_comes_once_and_in_order_through_fifty_cuts(tmp_path: Path) -> None:
    chance = random.Random(7)

    async def follow(url: str, debate_id: str) -> list[Event | Delta]:
        async with Remote(url, first_wait=0.002) as remote:
            return [event async for event in remote.follow(debate_id)]

    with served(tmp_path, ScriptedSpeaker(words, seconds=0.01)) as server:
        debate = server.create(options={"rounds": 50}, participants=[{"name": "A"}, {"name": "B"}])
        with proxied(server.port, lambda: chance.randrange(9000)) as proxy:
            events = asyncio.run(follow(proxy.url, debate["id"]))
        assert proxy.cuts >= 50
        now = server.http.get(f"/debates/{debate['id']}").json()
        turns = server.http.get(f"/debates/{debate['id']}/turns").json()["items"]
    durable = [event for event in events if not isinstance(event, Delta)]
    assert [event.seq for event in durable] == list(range(1, now["last_seq"] + 1))
    said = [event.turn.text for event in durable if isinstance(event, TurnCommitted)]
    assert said == [turn["text"] for turn in turns]
    assert len(said) == 100


def test_a_debate_whose_answer_is_lost_is_made_once(tmp_path: Path) -> None:
    budgets: list[int | None] = [0, 300, 2000, None]

    async def create(url: str) -> str:
        async with Remote(url, first_wait=0.01) as remote:
            return (await remote.create(MOTION, format="duel")).id

    with (
        served(tmp_path, ScriptedSpeaker()) as server,
        proxied(server.port, lambda: budgets.pop(0)) as proxy,
    ):
        made = asyncio.run(create(proxy.url))
        assert proxy.cuts == 3
        assert [item["id"] for item in server.http.get("/debates").json()["items"]] == [made]


def test_watch_misses_nothing_while_the_server_dies_and_comes_back(tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    names = [{"name": f"N{number}"} for number in range(12)]
    with started(home) as (server, process):
        made = server.create(options={"rounds": 25}, participants=names, start=False)["id"]
        with command(server.url, away, "watch", made) as watcher:
            eventually(lambda: made in watcher.shown)
            server.post(f"/debates/{made}/start")
            eventually(lambda: "round 2" in watcher.shown)
            process.kill()
            process.wait()
            before = watcher.shown
            with started(home, "--port", str(server.port)) as (again, _):
                assert watcher.wait() == 0, watcher.complaints
                shown, complaints = watcher.shown, watcher.complaints
                over = again.wait(made)
                afterwards = there(again, away, "watch", made)
    assert (over["status"], over["progress"]["done"]) == ("completed", 300)
    assert shown == afterwards.stdout
    assert shown.count("understudy, no model") == 300
    assert "Completed" not in before
    first, second = complaints.splitlines()
    assert first == f"It has not been started yet; that does:  moot start {made}"
    assert "Trying again" in second
    assert not away.exists()


@pytest.mark.stress("test_watch_misses_nothing_while_the_server_dies_and_comes_back")
def test_a_terminal_shows_that_the_connection_is_lost_and_back(tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    slowly = {"MOOT_PACE": "0.05"}
    with started(home, environment=slowly) as (server, process):
        made = server.create(format="duel")["id"]
        with terminal(away, "watch", made, MOOT_URL=server.url) as watcher:
            eventually(lambda: "0/6" in watcher.text)
            assert LOST not in watcher.text
            process.kill()
            process.wait()
            eventually(lambda: LOST in watcher.text)
            with started(home, "--port", str(server.port), environment={"MOOT_PACE": "0"}):
                assert watcher.wait() == 0
                text = watcher.text
    assert "Trying again" not in text  # nothing but the line that moves
    assert LOST not in text[text.rindex("6/6") :]
    assert "Completed" in text


def test_start_goes_over_http_too(tmp_path: Path) -> None:
    with served(tmp_path / "home") as server:
        made = server.create(MOTION, format="duel", start=False)["id"]
        begun = json_of(there(server, tmp_path / "away", "start", made, "--json"))
    assert (begun["status"], len(begun["turns"])) == ("completed", 6)


def test_watch_of_a_failure_is_exit_3(tmp_path: Path) -> None:
    seats = [{"name": "Ada", "model": "claude"}, {"name": "Ben"}]
    with served(tmp_path / "home") as server:
        made = server.create(MOTION, format="duel", participants=seats)["id"]
        server.wait(made, "paused")
        watched = there(server, tmp_path / "away", "watch", made)
    assert watched.returncode == 3
    assert f"moot retry {made}" in watched.stdout


# --- as at home ---


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("served") / "home") as server:
        yield server


def test_every_command_gives_what_it_gives_at_home(server: Served, tmp_path: Path) -> None:
    away, home = tmp_path / "away", server.home
    duel = json_of(there(server, away, "run", MOTION, "-f", "duel", "--json"))
    council = json_of(there(server, away, "council", MOTION, "--json"))
    assert duel["status"] == council["status"] == "completed"
    assert len(duel["turns"]) == 6
    assert council["packet"]["decision"]
    assert sorted(duel) == sorted(council)
    filed(home, duel["id"], council["id"])
    for asked in [
        ["list", "--json"],
        ["list", "--json", "-q", "tests", "-f", "duel", "--status", "completed"],
        ["list", "--json", "--limit", "1"],
        ["list", "--status", "paused"],
        ["formats", "--json"],
        ["records", "--json"],
        ["replay", duel["id"], "--json"],
        ["replay", council["id"]],
        ["export", duel["id"]],
        ["export", council["id"], "--as", "html"],
        ["export", council["id"], "--as", "json"],
    ]:
        assert there(server, away, *asked) == here(home, *asked), asked
    for made in (duel, council):
        shown = json_of(there(server, away, "show", made["id"], "--json"))
        ours = json_of(here(home, "show", made["id"], "--json"))
        assert shown.pop("folder") == f"{server.url}/debates/{made['id']}" == made["folder"]
        assert ours.pop("folder") == str(home / "records" / "debates" / made["id"])
        assert shown == ours
    assert not away.exists()


def filed(home: Path, *debates: str) -> None:
    """A server says that a debate is over, and then writes its files."""
    for debate_id in debates:
        manifest = home / "records" / "debates" / debate_id / "manifest.json"
        eventually(manifest.exists)


def test_people_see_it_as_at_home(server: Served, tmp_path: Path) -> None:
    away, home = tmp_path / "away", server.home
    made = server.create(MOTION, format="duel")["id"]
    server.wait(made)
    filed(home, made)
    watched, ours = there(server, away, "watch", made), here(home, "watch", made)
    assert watched.stdout.splitlines()[:-1] == ours.stdout.splitlines()[:-1]
    assert watched.stdout.splitlines()[-1] == f"On the server: {server.url}/debates/{made}"
    for after in ("6", "9999"):
        asked = ["watch", made, "--after", after]
        watched, ours = there(server, away, *asked), here(home, *asked)
        assert watched.stdout.splitlines()[:-1] == ours.stdout.splitlines()[:-1]
        assert watched.stdout.count("understudy") < 6
    assert "understudy" not in watched.stdout
    doctor = there(server, away, "doctor")
    assert f"{server.url} answers" in doctor.stdout
    assert "understudy" in doctor.stdout
    assert made in there(server, away, "list").stdout
    file = tmp_path / "out.md"
    exported = there(server, away, "export", made, "-o", str(file))
    assert (exported.returncode, exported.stdout) == (0, "")
    assert file.read_text() == server.http.get(f"/debates/{made}/export").text
    assert not away.exists()


def test_an_id_may_be_short_at_home_and_on_a_server(server: Served, tmp_path: Path) -> None:
    away, home = tmp_path / "away", server.home
    made, other = [server.create(MOTION, format="duel")["id"] for _ in range(2)]
    for id_ in (made, other):  # so that `debate_` can mean several
        server.wait(id_)
    filed(home, made, other)
    for part in (made[-6:], made[:-1]):
        for asked in (["show", part, "--json"], ["replay", part, "--json"], ["export", part]):
            told, ours = there(server, away, *asked), here(home, *asked)
            assert (told.returncode, ours.returncode) == (0, 0), (asked, told.stderr, ours.stderr)
            assert made in told.stdout
            assert made in ours.stdout
        for verb in ("stop", "pause", "resume", "skip", "retry", "start", "end"):
            assert there(server, away, verb, part).returncode == 1  # it is over: it was found
    last = server.create("Is this the last?", start=False)["id"]
    for done in (there(server, away, "show", "last"), here(home, "show", "last")):
        assert last in done.stdout
    assert last not in here(home, "replay", "last").stdout  # it has no files yet
    for command_ in ("show", "replay"):
        for done in (there(server, away, command_, "debate_"), here(home, command_, "debate_")):
            assert (done.returncode, done.stdout) == (2, "")
            assert made in done.stderr
        for nothing in ("debate_1999", "a/../b"):
            for done in (there(server, away, command_, nothing), here(home, command_, nothing)):
                assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert not away.exists()


def test_long_lists_come_page_by_page(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.client.remote.PAGE", 5)
    for number in range(14):
        server.create(f"{'Zebras' if number < 3 else 'Horses'} {number}?", start=False)
    for limit, words, count in ((9, "horses", 9), (1000, "horses", 11), (1000, "zebras", 3)):
        asked = ["list", "--json", "--limit", str(limit), "-q", words, "--status", "scheduled"]
        found = json_of(there(server, tmp_path, *asked))
        assert len(found) == len({row["id"] for row in found}) == count
        assert found == json_of(here(server.home, *asked))


def test_what_needs_a_home_says_so(server: Served, tmp_path: Path) -> None:
    for asked in (["reindex"], ["db", "upgrade"], ["serve"]):
        refused = there(server, tmp_path / "away", *asked)
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"moot: `moot {' '.join(asked)}` works on a home")
    assert not (tmp_path / "away").exists()


def test_what_is_wrong_is_one_sentence(server: Served, tmp_path: Path) -> None:
    missing = "debate_20200101_000000_aaaaaa"
    done = server.create(MOTION, format="duel")["id"]
    server.wait(done)
    waiting = server.create(MOTION, start=False)["id"]
    wrong: list[tuple[list[str], int, str]] = [
        (["show", missing], 2, "There is no debate"),
        (["watch", missing], 2, "There is no debate"),
        (["show", "../etc"], 2, "is not a debate's id"),
        (["stop", done], 1, "cannot become stopped. It is over"),
        (["resume", waiting], 1, "not been started yet: start it"),
        (["records", "--limit", "1000"], 2, "at most 200"),
        (["resume", done], 1, "completed"),
        (["retry", done, "--model", "claude"], 1, "retry"),
        (["run", MOTION, "-f", "nonsense"], 2, "There is no format"),
        (["run", MOTION, "--option", "rounds=-1"], 2, "rounds"),
        (["run", MOTION, "--on-failure", "cry"], 2, "on_failure"),
        (["council", " "], 2, "problem"),
        (["list", "--status", "odd"], 2, "There is no status"),
        (["export", done, "--as", "pdf"], 2, "md, html, json"),
    ]
    for asked, code, sentence in wrong:
        told = there(server, tmp_path, *asked)
        assert (told.returncode, told.stdout) == (code, ""), (asked, told.stderr)
        assert told.stderr.startswith("moot: "), asked
        assert sentence in told.stderr, (asked, told.stderr)
        assert told.stderr.count("\n") == 1, asked


# --- who runs it ---


@pytest.fixture
def slow(tmp_path: Path) -> Generator[Served]:
    """A server whose speakers take half a second."""
    with served(tmp_path / "home", ScriptedSpeaker(seconds=0.5)) as server:
        yield server


def only(server: Served) -> dict[str, Any] | None:
    found = server.http.get("/debates").json()["items"]
    return found[0] if found else None


class Held(ScriptedSpeaker):
    """Who speaks second comes to an end when it is let go."""

    held = True

    async def speak(self, call: Call, say: Say) -> Reply:
        while self.held and call.debate.turn_count:
            await asyncio.sleep(0.02)
        return await super().speak(call, say)


@pytest.fixture
def second(tmp_path: Path) -> Generator[tuple[Served, Held]]:
    speaker = Held()
    with served(tmp_path / "home", speaker) as server:
        yield server, speaker


def test_ctrl_c_pauses_it_on_the_server_and_resume_goes_on(
    second: tuple[Served, Held], tmp_path: Path
) -> None:
    slow, speaker = second
    away = tmp_path / "away"
    with command(slow.url, away, "run", MOTION, "-f", "duel", "--max-turns", "4") as running:
        eventually(lambda: (found := only(slow)) and found["progress"]["done"] >= 1)
        running.interrupt()
        eventually(lambda: running.complaints)
        speaker.held = False
        assert running.wait() == 130, running.complaints
        shown, complaints = running.shown, running.complaints
    assert complaints.startswith("It pauses after the step in flight")
    assert complaints.count("\n") == 1
    assert "Paused" in shown
    found = only(slow)
    assert found
    assert (found["status"], found["progress"]["done"]) == ("paused", 2)
    assert f"moot resume {found['id']}" in shown
    watched, ours = there(slow, away, "watch", found["id"]), here(slow.home, "watch", found["id"])
    assert watched.returncode == ours.returncode == 0
    assert f"moot resume {found['id']}" in watched.stdout
    assert watched.stdout.splitlines()[:-1] == ours.stdout.splitlines()[:-1]
    resumed = json_of(there(slow, away, "resume", found["id"], "--json"))
    assert (resumed["status"], len(resumed["turns"])) == ("completed", 4)


def test_ctrl_c_in_watch_leaves_it_running_and_stop_stops_it(slow: Served, tmp_path: Path) -> None:
    away = tmp_path / "away"
    made = slow.create(MOTION, options={"rounds": 30})["id"]
    with command(slow.url, away, "watch", made) as watcher:
        eventually(lambda: "round 1" in watcher.shown)
        watcher.interrupt()
        assert watcher.wait() == 130
        assert watcher.complaints == ""
    assert slow.http.get(f"/debates/{made}").json()["status"] == "running"
    with command(slow.url, away, "watch", made) as watcher:
        stopped = there(slow, away, "stop", made)
        assert stopped.stdout == f"{made} is running; it will stop after the step in flight.\n"
        assert watcher.wait() == 0
        assert "Stopped: you stopped it" in watcher.shown


def test_end_goes_to_the_closing_summary(slow: Served, tmp_path: Path) -> None:
    made = slow.create(MOTION, format="classic")["id"]
    slow.wait(made, "running")
    ended = json_of(there(slow, tmp_path / "away", "end", made, "--json"))
    assert (ended["status"], ended["stop_reason"]) == ("completed", "ended_by_user")


# --- no server, or not ours ---


def test_a_token_is_needed_and_sent(tmp_path: Path) -> None:
    with served(tmp_path / "home", token=TOKEN) as server:
        without = there(server, tmp_path, "list")
        wrong = there(server, tmp_path, "run", MOTION, MOOT_TOKEN="x" * 20)
        right = there(server, tmp_path, "run", MOTION, "-f", "duel", MOOT_TOKEN=TOKEN)
        doctor = there(server, tmp_path, "doctor")
    assert "MOOT_TOKEN is not set" in without.stderr
    assert "refused the token" in wrong.stderr
    for refused in (without, wrong):
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "MOOT_TOKEN" in refused.stderr
        assert refused.stderr.count("\n") == 1
    assert right.returncode == 0
    assert doctor.returncode == 1
    assert "MOOT_TOKEN" in doctor.stdout


def test_where_no_moot_is_one_sentence_says_so(tmp_path: Path) -> None:
    page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        other = f"http://127.0.0.1:{listening.getsockname()[1]}"

        def serve() -> None:
            for _ in range(2):
                client, _ = listening.accept()
                with client:
                    client.recv(65536)
                    client.sendall(page)

        serving = threading.Thread(target=serve)
        serving.start()
        nobody = {"MOOT_URL": "http://127.0.0.1:1"}
        gone = here(tmp_path, "list", **nobody)
        run = here(tmp_path, "run", MOTION, "--json", **nobody)
        foreign = here(tmp_path, "list", MOOT_URL=other)
        begun = here(tmp_path, "run", MOTION, MOOT_URL=other)
        odd = here(tmp_path, "list", MOOT_URL="ftp://example.org")
        serving.join()
    for failed in (gone, run):
        assert (failed.returncode, failed.stdout) == (1, "")
        assert failed.stderr == (
            "moot: No moot answers at http://127.0.0.1:1. "
            "Start one with `moot serve`, or unset MOOT_URL.\n"
        )
    for failed in (foreign, begun):
        assert (failed.returncode, failed.stdout) == (1, "")
        assert "not as a moot" in failed.stderr
    assert odd.returncode == 2
    assert "MOOT_URL" in odd.stderr


# --- at home, beside another process ---


def test_what_a_crash_left_is_resumed_however_late_the_word_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command must not take the debate itself before it was told to, and then be refused."""

    async def left_behind() -> str:
        async with open_service(Settings(home=tmp_path), recover=False) as service:
            made = await service.create(MOTION, format="duel", start=False)
            await service._store.change(made.id, lambda row: verbs.enqueue(row, "now"))
            for verb in (service.retry, service.skip):
                with pytest.raises(StateError, match=f"`moot resume {made.id}` does"):
                    await verb(made.id)
            return made.id

    resume = Service.resume

    async def late(self: Service, debate_id: str) -> Debate:
        await asyncio.sleep(0.5)
        return await resume(self, debate_id)

    monkeypatch.setattr(Service, "resume", late)
    resumed = json_of(here(tmp_path, "resume", asyncio.run(left_behind()), "--json"))
    assert (resumed["status"], len(resumed["turns"])) == ("completed", 6)


def test_watch_at_home_hears_each_word_that_another_process_speaks(tmp_path: Path) -> None:
    async def hear(debate_id: str) -> tuple[list[Delta], TurnCommitted]:
        settings = Settings(home=tmp_path)
        pieces: list[Delta] = []
        async with (
            open_service(settings, recover=False, live=True) as service,
            asyncio.timeout(seconds()),
        ):
            begun = (await service.get(debate_id)).last_seq
            async for event in service.follow(debate_id, begun):
                if isinstance(event, Delta):
                    pieces.append(event)
                elif isinstance(event, TurnCommitted) and len(pieces) > 20:
                    return pieces, event
        raise AssertionError("it ended")

    with terminal(tmp_path, "run", MOTION, "-f", "duel") as shown:
        id_ = shown.spoken(1)
        with terminal(tmp_path, "watch", id_) as watcher:
            pieces, committed = asyncio.run(hear(id_))
            eventually(lambda: MOTION in watcher.text)
            os.kill(watcher.process.pid, signal.SIGINT)
            assert watcher.wait() == 130
        shown.interrupt()
        shown.wait()
    spoken = [piece.text for piece in pieces if piece.actor == committed.turn.actor]
    assert len(spoken) > 5  # word by word, and not all of it at its end
    assert ID.fullmatch(id_)
    assert json.dumps(spoken[-1].strip())[1:-1] in json.dumps(committed.turn.text)
