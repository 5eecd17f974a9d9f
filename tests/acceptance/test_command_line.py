"""The real `moot`, as people run it: in a terminal, in a pipe, beside another one, and wrongly."""

import asyncio
import fcntl
import json
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.cli.grouped import GROUPS
from moot.core.events import TurnCommitted
from moot.models.understudy import Understudy
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from tests import forked, patience, services

MOOT = str(Path(sys.executable).with_name("moot"))
MOTION = "Should a small team write its tests first?"
ID = re.compile(r"debate_\d{8}_\d{6}_[a-z2-7]{6}")
FORMATS = {"standard": 6, "classic": 22, "custom": 14, "duel": 6}


def environment(home: Path, **more: str) -> dict[str, str]:
    """No key, no server, no setting of whoever runs the tests, but the database of the test."""
    names = ("PATH", "HOME", "MOOT_DATABASE_URL")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    kept["PATH"] = f"{Path(MOOT).parent}:{kept['PATH']}"  # commands to type are named alone
    fixed = {"MOOT_HOME": str(home), "COLUMNS": "200", "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    return kept | fixed | more


def moot(home: Path, *words: str, env: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    return forked.moot(environment(home, **env), *words)


def moot_anew(home: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """From its very start."""
    return subprocess.run(
        [MOOT, *words],
        env=environment(home, **options.pop("env", {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patience.seconds(),
        check=False,
        **options,
    )


def moots(home: Path, *commands: list[str]) -> list[subprocess.CompletedProcess[str]]:
    """Several at once: most of what each takes is its start."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda words: moot(home, *words), commands))


def json_of(done: subprocess.CompletedProcess[str]) -> Any:
    """Standard output is one JSON document, and nothing else."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def database(home: Path) -> Path:
    """Where it is a file."""
    return home / ".agentic" / "kofnote_search.sqlite"


def ask(home: Path, sql: str, *values: Any) -> list[Any]:
    return services.ask(Settings(home=home).database, sql, *values)


def status_of(home: Path, id_: str) -> str:
    return ask(home, "SELECT status FROM debate_runs WHERE id = ?", id_)[0][0]


def texts_of(home: Path, id_: str) -> list[tuple[int, str, str]]:
    rows = ask(
        home, "SELECT round, actor, text FROM debate_turns WHERE debate_id = ? ORDER BY seq", id_
    )
    return [tuple(row) for row in rows]


def eventually(what: Callable[[], Any]) -> Any:
    """What comes true, or the test fails."""
    return patience.until(what)


def hear_interrupts() -> None:
    """A job in the background is started deaf to Ctrl-C; a terminal of its own is not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A `moot` on a terminal of its own, where the understudy speaks at a person's pace."""

    def __init__(self, home: Path, *words: str, **env: str) -> None:
        self.home = home
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self.process = subprocess.Popen(
            [MOOT, *words], env=environment(home, **env), stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True, preexec_fn=hear_interrupts,
        )  # fmt: skip
        os.close(slave)
        self._heard = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):  # how a terminal says that nobody is there any more
            while piece := os.read(self._master, 65536):
                self._heard += piece

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self._heard.decode("utf-8", "replace"))

    def id(self) -> str:
        return eventually(lambda: ID.search(self.text)).group()

    def spoken(self, turns: int) -> str:
        """Wait for so many turns and for the next to be in the middle of it; the debate's id."""
        id_ = self.id()
        eventually(lambda: len(texts_of(self.home, id_)) >= turns)
        time.sleep(0.2)
        return id_

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        os.kill(self.process.pid, signal.SIGINT)

    def interrupted(self) -> bool:
        """Press Ctrl-C, unless it is over."""
        over = self.process.poll() is not None
        if not over:
            self.interrupt()
        return over

    def wait(self) -> int:
        code = self.process.wait(patience.seconds())
        self._reader.join(patience.seconds())
        assert "Traceback" not in self.text
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(patience.seconds())
        os.close(self._master)


@contextmanager
def terminal(home: Path, *words: str, **env: str) -> Generator[Terminal]:
    shown = Terminal(home, *words, **env)
    try:
        yield shown
    finally:
        shown.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def whole(home: Path) -> dict[str, Any]:
    """A duel that nobody interrupted."""
    return json_of(moot(home, "run", MOTION, "-f", "duel", "--json"))


# --- run ---


@pytest.mark.parametrize("format_", list(FORMATS))
def test_run_debates_to_the_end(home: Path, format_: str) -> None:
    done = moot(home, "run", MOTION, "--format", format_)
    assert (done.returncode, done.stderr) == (0, "")
    id_ = next(iter(ID.findall(done.stdout)))
    assert MOTION in done.stdout
    assert "Completed: " in done.stdout
    assert f"{FORMATS[format_]} turns, {FORMATS[format_]} calls" in done.stdout
    folder = home / "records" / "debates" / id_
    assert f"Files: {folder}" in done.stdout
    assert (folder / "manifest.json").exists()
    assert "understudy, no model" in done.stdout
    assert "\x1b" not in done.stdout
    words = " ".join(done.stdout.split())
    places = [words.index(" ".join(text.split())) for _, _, text in texts_of(home, id_)]
    assert len(places) == FORMATS[format_]
    assert places == sorted(places)


@pytest.mark.parametrize("format_", ["standard", "classic"])
def test_run_with_json_gives_exactly_one_document(home: Path, format_: str) -> None:
    done = moot(home, "run", MOTION, "--format", format_, "--json")
    told = json_of(done)
    assert done.stderr == ""
    assert (told["status"], told["format"], told["motion"]) == ("completed", format_, MOTION)
    assert told["progress"] == {"done": FORMATS[format_], "total": FORMATS[format_]}
    assert [(t["round"], t["actor"], t["text"]) for t in told["turns"]] == texts_of(
        home, told["id"]
    )
    assert Path(told["folder"]).is_dir()
    assert {turn["model"] for turn in told["turns"]} == {"local:understudy"}


def test_run_takes_everything_that_a_debate_can_set(home: Path) -> None:
    told = json_of(
        moot(
            home, "run", MOTION, "-f", "custom", "--rounds", "1", "-p", "Ada:con=local",
            "-p", "Ben:pro=local:understudy", "-p", "Cleo", "--bio", "Ada=A baker.",
            "--host", "Hanna=local", "--max-turn-tokens", "200", "--max-turn-seconds", "10",
            "--on-failure", "degrade", "--json",
        )
    )  # fmt: skip
    assert [(s["name"], s["stance"], s["bio"]) for s in told["participants"]] == [
        ("Ada", "con", "A baker."), ("Ben", "pro", ""), ("Cleo", "neutral", ""),
    ]  # fmt: skip
    assert told["host"]["name"] == "Hanna"
    assert told["options"] == {"rounds": 1}
    assert told["limits"]["max_turn_tokens"] == 200
    assert told["on_failure"] == "degrade"
    assert len(told["turns"]) == 1 + 2 * 3 + 1


def test_a_motion_comes_from_standard_input_or_a_file(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "motion.txt"
    file.write_text(f"\ufeff{MOTION}\n", encoding="utf-8")
    told = json_of(moot(home, "run", "--file", str(file), "-f", "duel", "--json"))
    assert told["motion"] == MOTION
    with file.open() as piped:
        piped_in = subprocess.run(
            [MOOT, "council", "-", "--json"], env=environment(home), stdin=piped, text=True,
            capture_output=True, timeout=patience.seconds(), check=False,
        )  # fmt: skip
    assert json_of(piped_in)["motion"] == MOTION
    assert json_of(moot(home, "council", "--problem", "Why?", "--json"))["motion"] == "Why?"
    odd = tmp_path / "odd"
    odd.write_bytes(b"\xff\xfe")
    wrong = [
        (["run"], "or --file FILE"),
        (["council"], "or - to read it"),
        (["run", MOTION, "--file", str(file)], "not both"),
        (["council", MOTION, "--problem", "Why?"], "not both"),
        (["run", "--file", str(tmp_path / "nowhere")], "cannot be read: No such file"),
        (["run", "--file", str(odd)], "is not text in UTF-8"),
    ]
    refused = moots(home, *(words for words, _ in wrong))
    for (_, said), done in zip(wrong, refused, strict=True):
        assert_one_sentence(done, (2,), said)


def test_somebody_at_a_terminal_is_asked_for_the_motion(home: Path) -> None:
    with terminal(home, "run", "-f", "duel", "--max-turns", "1") as shown:
        eventually(lambda: "Motion:" in shown.text)
        shown.type("Is it so?\n")
        assert shown.wait() == 0
        assert "Is it so?" in shown.text
        assert "  1 turn, 1 call" in shown.text
    with terminal(home, "run") as shown:
        eventually(lambda: "Motion:" in shown.text)
        # Python misses a signal that comes between the question and the read: press again, then.
        patience.until(shown.interrupted, pause=2)
        assert shown.wait() == 130


def test_one_model_takes_every_seat_that_names_none(home: Path) -> None:
    """Participants, host and jurors, of roles and of names; who names a model keeps it."""

    def models(*words: str) -> dict[str, str]:
        told = json_of(moot(home, *words, "-m", "local:understudy", "--json"))
        seats = [*told["participants"], *filter(None, [told["host"]]), *told["jury"]["seats"]]
        return {seat["name"]: seat["model"] for seat in seats}

    found = models("run", MOTION, "-f", "classic", "--jury", "2", "-p", "Ada", "-p", "Ben=local")
    understudy = "local:understudy"
    assert found == {
        "Ada": understudy, "Ben": "local", "Host": understudy,
        "Juror 1": understudy, "Juror 2": understudy,
    }  # fmt: skip
    found = models("council", MOTION, "--role", "critic=local", "--juror", "local", "--jury", "2")
    assert found.pop("Critic") == "local"
    assert found.pop("Juror 1") == "local"
    assert list(found) == ["Proponent", "Analyst", "Synthesizer", "Judge", "Juror 2"]
    assert set(found.values()) == {understudy}
    assert_one_sentence(moot(home, "run", MOTION, "-m", "claud"), (2,), "the nearest is claude")
    refused = moot(home, "run", MOTION, "-f", "nonsense", "-m", "local")
    assert_one_sentence(refused, (2,), "no format 'nonsense'")


def test_the_same_question_gives_the_same_words(home: Path, whole: dict[str, Any]) -> None:
    again = json_of(moot(home, "run", MOTION, "-f", "duel", "--json"))
    assert [turn["text"] for turn in again["turns"]] == [turn["text"] for turn in whole["turns"]]


# --- Ctrl-C and resume ---


def test_ctrl_c_pauses_and_resume_goes_on_as_if_nothing_had_been(
    home: Path, whole: dict[str, Any]
) -> None:
    with terminal(home, "run", MOTION, "-f", "duel") as shown:
        id_ = shown.spoken(1)
        before = texts_of(home, id_)
        shown.interrupt()
        eventually(lambda: status_of(home, id_) == "paused")
        assert shown.wait() == 130
        assert f"moot resume {id_}" in shown.text
    kept = texts_of(home, id_)  # on a busy machine one more may have come before the key
    assert kept[: len(before)] == before
    assert len(kept) < 6
    folder = home / "records" / "debates" / id_
    assert json.loads((folder / "transcript.json").read_text())["debate"]["status"] == "paused"
    outcomes = ask(home, "SELECT outcome FROM debate_attempts WHERE debate_id = ? ORDER BY n", id_)
    assert outcomes == [("ok",)] * len(kept) + [("cancelled",)]

    done = moot(home, "resume", id_)
    assert (done.returncode, done.stderr) == (0, "")
    assert texts_of(home, id_) == [(t["round"], t["actor"], t["text"]) for t in whole["turns"]]
    assert status_of(home, id_) == "completed"
    refused = moot(home, "resume", id_)
    assert_one_sentence(refused, (1, 2))


def test_ctrl_c_while_the_closing_summary_is_spoken_lets_go_of_it(home: Path) -> None:
    """An ending debate cannot pause: the process goes, and whoever resumes it finishes it."""

    async def half_way() -> str:
        async with open_service(Settings(home=home), recover=False, pace=0.01) as service:
            made = await service.create(MOTION, format="duel")
            async for event in service.follow(made.id):
                if isinstance(event, TurnCommitted):
                    await service.pause(made.id, at_once=True)
                    break
            return made.id

    id_ = asyncio.run(half_way())
    assert status_of(home, id_) == "paused"
    with terminal(home, "end", id_) as shown:
        summary = "SELECT 1 FROM debate_attempts WHERE debate_id = ? AND stage = 'summary'"
        eventually(lambda: ask(home, summary, id_))
        shown.interrupt()
        assert shown.wait() == 130
    assert status_of(home, id_) == "ending"
    assert moot(home, "resume", id_).returncode == 0
    assert status_of(home, id_) == "completed"
    kinds = ask(home, "SELECT kind FROM debate_turns WHERE debate_id = ? ORDER BY seq", id_)
    assert [kind for (kind,) in kinds] == ["speech", "summary"]


@pytest.mark.sqlite_only
def test_ctrl_c_before_anything_was_made_shows_no_traceback(tmp_path: Path) -> None:
    with terminal(tmp_path, "run", MOTION, "-f", "duel") as shown:
        eventually(database(tmp_path).parent.exists)
        shown.interrupt()
        assert shown.wait() == 130


def test_a_long_debate_goes_on_with_the_same_words_too(tmp_path: Path) -> None:
    """Longer than a small window: who resumes must remember as much as who never stopped."""

    halts: list[Callable[[], Awaitable[object]]] = []

    class Halting(Understudy):
        """Somebody pauses the debate while it speaks in round 40."""

        async def speak(self, call: Call, say: Say) -> Reply:
            if halts and call.step.round == 40:
                await halts.pop()()
            return await super().speak(call, say)

    async def scene() -> tuple[list[str], list[str]]:
        asked: dict[str, Any] = {"format": "standard", "options": {"rounds": 45}}
        there = open_service(Settings(home=tmp_path), recover=False, speaker=Halting())
        async with there as service:
            whole = await service.create(MOTION, **asked)
            await service.wait(whole.id)
            said = [turn.text for turn in await service.turns(whole.id)]
            halved = await service.create(MOTION, **asked, start=False)
            halts.append(lambda: service.pause(halved.id))
            await service.start(halved.id)
            await service.wait(halved.id)
        async with open_service(Settings(home=tmp_path), recover=False) as service:
            assert (await service.get(halved.id)).status == "paused"
            await service.resume(halved.id)
            await service.wait(halved.id)
            return said, [turn.text for turn in await service.turns(halved.id)]

    whole, halved = asyncio.run(scene())
    assert len(whole) == len(halved) == 90
    assert [place for place in range(90) if whole[place] != halved[place]] == []


# --- what goes wrong ---


def assert_one_sentence(
    done: subprocess.CompletedProcess[str], codes: tuple[int, ...], *words: str
) -> None:
    """One clear sentence on standard error; no traceback, no half of an answer."""
    assert done.returncode in codes, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("moot: ")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.rstrip()[-1] in ".'\")", done.stderr
    for word in words:
        assert word in done.stderr


def assert_nothing_written(home: Path) -> None:
    assert not (home / "records").exists()
    if database(home).exists() or "MOOT_DATABASE_URL" in os.environ:
        assert ask(home, "SELECT count(*) FROM debate_runs") == [(0,)]


WRONG = [
    (["x" * 5000], ["5,000", "4,000"]),
    ([" \n "], ["motion"]),
    ([MOTION, "-f", "duel", "-p", "Ada"], ["duel", "exactly 2"]),
    ([MOTION, "-f", "custom", "--rounds", "0"], ["rounds", "1..50"]),
    ([MOTION, "-f", "nonsense"], ["nonsense", "standard, classic, custom, duel"]),
    ([MOTION, "-p", "=local"], ["NAME=MODEL"]),
    ([MOTION, "--option", "rounds"], ["NAME=NUMBER"]),
    ([MOTION, "--max-turns", "3"], ["max_turns"]),
    ([MOTION, "--on-failure", "panic"], ["pause or degrade"]),
]


def test_wrong_input_is_one_sentence_and_nothing_is_written(tmp_path: Path) -> None:
    moot(tmp_path, "db", "upgrade")
    done = moots(tmp_path, *(["run", *words] for words, _ in WRONG))
    for (_, told), one in zip(WRONG, done, strict=True):
        assert_one_sentence(one, (2,), *told)
    assert_nothing_written(tmp_path)


def test_wrong_usage_is_exit_2(home: Path) -> None:
    wrong = (["run"], ["run", MOTION, "--rounds", "many"], ["nonsense"], ["run", "--nope"])
    for done in moots(home, *wrong):
        assert done.returncode == 2
        assert done.stdout == ""
        assert "Traceback" not in done.stderr


def test_an_id_that_is_none_or_nobodys(home: Path) -> None:
    missing = "debate_20260101_000000_aaaaaa"
    asked = [
        ["show", "../secrets"],
        *([verb, missing] for verb in ("watch", "stop", "end", "skip")),
    ]
    for words, done in zip(asked, moots(home, *asked), strict=True):
        assert_one_sentence(done, (2,), words[1])


def test_a_format_file_with_a_mistake_is_named_with_stage_and_field(tmp_path: Path) -> None:
    (tmp_path / "formats").mkdir()
    path = tmp_path / "formats" / "mine.toml"
    good = 'name = "mine"\ntitle = "M"\ndescription = "D"\nrules = "R"\n'
    path.write_text(f'{good}[[stages]]\nname = "talk"\nsees = "everything"\nask = "Speak."\n')
    done = moot(tmp_path, "run", MOTION, "-f", "mine")
    assert_one_sentence(done, (2,), str(path), "'talk'", "sees")
    path.write_text(f'{good}[[stages]]\nname = "talk"\nrounds = "often"\nask = "Speak."\n')
    done = moot(tmp_path, "run", MOTION, "-f", "mine")
    assert_one_sentence(done, (2,), str(path), "'talk'", "rounds")
    path.write_text("name = \n")
    assert_one_sentence(moot(tmp_path, "run", MOTION, "-f", "mine"), (2,), str(path), "TOML")
    assert_nothing_written(tmp_path)
    listed = moot(tmp_path, "formats")
    assert all(f"{name}:" in listed.stdout for name in FORMATS), "one bad file hides the others"
    assert str(path) in listed.stdout + listed.stderr


def test_a_format_of_ones_own_runs(tmp_path: Path) -> None:
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "mine.toml").write_text(
        'name = "mine"\ntitle = "M"\ndescription = "D"\nrules = "R"\n'
        '[[stages]]\nname = "talk"\ntogether = true\nask = "Speak, {name}."\n'
    )
    told = json_of(moot(tmp_path, "run", MOTION, "-f", "mine", "--json"))
    assert (told["status"], len(told["turns"])) == ("completed", 2)


def test_a_file_that_cannot_be_written_is_named(home: Path, whole: dict[str, Any]) -> None:
    missing = str(home / "nowhere" / "out.md")
    assert_one_sentence(moot(home, "export", whole["id"], "-o", missing), (1,), missing)


def test_settings_are_shown_and_changed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert "models: not set" in moot(home, "settings").stdout
    made = moot(home, "settings", "models=local:understudy", "max_turn_tokens=500", "--json")
    kept = {"models": ["local:understudy"], "limits": {"max_turn_tokens": 500}}
    assert json_of(made) == json_of(moot(home, "settings", "--json")) == kept
    for wrong, words in {
        "max_turn_tokens=1": "max_turn_tokens must lie within 128..4,096",
        "key=sk-1": "There is no limit 'key'",
        "models=cluade": "the nearest is claude",
        "models": "write it as NAME=VALUE",
    }.items():
        done = moot(home, "settings", wrong)
        assert done.returncode == 2
        assert words in done.stderr
    assert json_of(moot(home, "settings", "max_turn_tokens=", "--json"))["limits"] == {}


def test_an_address_that_is_none_is_one_sentence(home: Path) -> None:
    for url, word in (("http://localhost:99999", "65535"), ("nowhere", "http://")):
        done = moot(home, "list", env={"MOOT_URL": url})
        assert_one_sentence(done, (2,), "MOOT_URL", word)
        assert "Value error" not in done.stderr


def test_a_host_that_is_none_is_not_blamed_on_the_port(home: Path) -> None:
    token = {"MOOT_TOKEN": "a-token-that-is-long-enough"}
    done = moot(home, "serve", "--host", "nonsense.invalid", env=token)
    assert_one_sentence(done, (2,), "nonsense.invalid", "--host")


def test_ctrl_c_while_it_loads_shows_nothing(tmp_path: Path) -> None:
    """From the moment that moot's own code runs: what comes before that is Python's."""
    code = (
        "import os, signal, sys\n"
        "def hit(name, args):\n"
        "    if name == 'import' and args[0] == WHERE:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.addaudithook(hit)\n"
        "sys.argv = ['moot', 'serve', '--port', '0']\n"
        "from moot.cli.main import main\n"
        "main()\n"
    )
    for where in ("typer", "fastapi"):
        done = subprocess.run(
            [sys.executable, "-c", code.replace("WHERE", repr(where))],
            env=environment(tmp_path), capture_output=True, text=True, check=False,
            timeout=patience.seconds(),
            preexec_fn=hear_interrupts,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (130, "", ""), where


@pytest.mark.sqlite_only
def test_a_home_that_cannot_be(tmp_path: Path) -> None:
    """Below a regular file nobody can make a folder, not even root."""
    (tmp_path / "file").write_text("not a folder")
    for done in moots(tmp_path / "file" / "home", ["run", MOTION], ["list"]):
        assert_one_sentence(done, (1, 2), str(tmp_path / "file"), "MOOT_HOME")
    assert (tmp_path / "file").read_text() == "not a folder"
    doctor = moot(tmp_path / "file" / "home", "doctor")
    assert doctor.returncode == 1
    assert "MOOT_HOME" in doctor.stdout


@pytest.mark.sqlite_only
def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    moot(tmp_path, "db", "upgrade")
    ask(tmp_path, "UPDATE debate_schema SET version_num = '9999'")
    before = database(tmp_path).read_bytes()
    for done in moots(tmp_path, ["run", MOTION], ["db", "upgrade"]):
        assert_one_sentence(done, (1, 2), str(database(tmp_path)), "newer")
    assert database(tmp_path).read_bytes() == before
    assert_nothing_written(tmp_path)


@pytest.mark.sqlite_only
def test_a_damaged_database_is_left_as_it_is(tmp_path: Path) -> None:
    database(tmp_path).parent.mkdir()
    garbage = bytes(range(256)) * 64
    database(tmp_path).write_bytes(garbage)
    for done in moots(tmp_path, ["run", MOTION], ["list"]):
        assert_one_sentence(done, (1, 2), str(database(tmp_path)), "damaged")
    assert database(tmp_path).read_bytes() == garbage
    assert not (tmp_path / "records").exists()


def test_a_settings_mistake_names_the_variable(home: Path) -> None:
    done = moot(home, "list", env={"MOOT_LEASE_SECONDS": "soon"})
    assert_one_sentence(done, (2,), "MOOT_LEASE_SECONDS")


NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Python itself would leave torn files of its own beside the code, for the next to trip over."""


def small_files(size: int) -> Callable[[], None]:
    """A disk that takes no more: files cannot grow beyond this."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.sqlite_only
def test_a_disk_that_is_full_from_the_start(tmp_path: Path) -> None:
    done = moot_anew(tmp_path, "run", MOTION, preexec_fn=small_files(8192), env=NO_BYTECODE)
    assert_one_sentence(done, (1, 2), str(tmp_path))
    assert not (tmp_path / "records").exists()
    assert json_of(moot(tmp_path, "list", "--json")) == []
    assert moot(tmp_path, "run", MOTION, "-f", "duel").returncode == 0


@pytest.mark.sqlite_only
def test_a_disk_that_fills_up_on_the_way(tmp_path: Path) -> None:
    """What was announced is kept, the rest is refused, and with room again it goes on."""
    moot(tmp_path, "db", "upgrade")
    done = moot_anew(
        tmp_path, "run", MOTION, "--rounds", "20", preexec_fn=small_files(400_000), env=NO_BYTECODE
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    ((id_, status),) = ask(tmp_path, "SELECT id, status FROM debate_runs")
    assert status == "running"
    said = texts_of(tmp_path, id_)
    assert 0 < len(said) < 40
    words = " ".join(done.stdout.split())
    shown = [text for _, _, text in said if " ".join(text.split()) in words]
    announced = words.count("understudy, no model")
    assert announced == len(shown) <= len(said)
    assert moot(tmp_path, "resume", id_).returncode == 0
    assert texts_of(tmp_path, id_)[: len(said)] == said
    assert len(texts_of(tmp_path, id_)) == 40
    assert ask(tmp_path, "PRAGMA integrity_check") == [("ok",)]


ON_A_FULL_DISK = """
mount -t tmpfs -o size=128k tmpfs "$0" || exit 99
"$@"
code=$?
test -e "$0/records" && exit 98
exit $code
"""


@pytest.mark.sqlite_only
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """In namespaces of its own, in which any user may mount."""
    own = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ON_A_FULL_DISK]
    command = [*own, str(tmp_path), MOOT, "run", MOTION, "--rounds", "20"]
    done = patience.run(command, env=environment(tmp_path), stdin=subprocess.DEVNULL)
    assert done.returncode != 99, f"This test needs to mount a file system: {done.stderr}"
    assert "unshare:" not in done.stderr, f"This test needs user namespaces: {done.stderr}"
    assert done.returncode != 98, "records were written"
    assert_one_sentence(done, (1, 2), str(tmp_path), "full")


# --- a speaker that fails ---


def test_a_missing_key_pauses_it_and_skip_and_retry_go_on(home: Path) -> None:
    done = moot(
        home, "run", MOTION, "-f", "duel", "-p", "Ada=claude:claude-sonnet-4-5", "-p", "Ben"
    )
    assert (done.returncode, done.stderr) == (3, "")
    id_ = next(iter(ID.findall(done.stdout)))
    assert f"Set ANTHROPIC_API_KEY, then `moot retry {id_}`." in " ".join(done.stdout.split())
    assert f"moot retry {id_}" in done.stdout
    assert f"moot skip {id_}" in done.stdout
    shown = json_of(moot(home, "show", id_, "--json"))
    assert shown["failure"]["code"] == "DEBATE_ERR_PROVIDER_AUTH"
    assert (shown["failure"]["actor"], shown["failure"]["attempts"]) == ("ada", 1)
    assert "ANTHROPIC_API_KEY" in shown["failure"]["message"]

    assert moot(home, "retry", id_).returncode == 3
    assert moot(home, "watch", id_).returncode == 3
    assert texts_of(home, id_) == []
    assert moot(home, "skip", id_).returncode == 3  # Ben speaks, then Ada fails again
    assert [row[:2] for row in texts_of(home, id_)] == [(1, "ada"), (1, "ben")]
    told = json_of(moot(home, "retry", id_, "--model", "local", "--json"))
    assert (told["status"], told["degraded"], len(told["turns"])) == ("completed", True, 6)
    assert [turn["status"] for turn in told["turns"]] == ["failed", *["ok"] * 5]
    assert_one_sentence(moot(home, "skip", id_), (1, 2))
    assert_one_sentence(moot(home, "retry", id_), (1, 2), "It is over")


def test_a_debate_that_failed_is_exit_1_and_one_document(home: Path) -> None:
    done = moot(home, "council", MOTION, "-m", "claude", "--json")  # nobody has a key, or a say
    assert (done.returncode, json.loads(done.stdout)["status"]) == (1, "failed")
    assert moot(home, "watch", "last").returncode == 1


def test_json_of_a_debate_paused_by_a_failure_is_one_document_too(home: Path) -> None:
    done = moot(home, "run", MOTION, "-p", "Ada=openai:gpt-5", "-p", "Ben", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"]) == (3, "paused")
    assert "OPENAI_API_KEY" in told["failure"]["message"]
    ended = json_of(moot(home, "end", told["id"], "--json"))
    assert (ended["status"], ended["stop_reason"]) == ("completed", "ended_by_user")
    assert ended["turns"][-1]["kind"] == "summary"
    assert ended["degraded"]  # the first participant, who has no key, was to sum up


def test_an_unknown_provider_is_refused_but_in_a_councils_own_request(home: Path) -> None:
    done = moot(home, "run", MOTION, "-f", "duel", "-p", "Ada=opnai:x", "-p", "Ben")
    assert_one_sentence(done, (2,), 'no provider "opnai"; the nearest is openai')
    done = moot(home, "run", MOTION, "-f", "classic", "--host", "gemeni")
    assert_one_sentence(done, (2,), "the nearest is gemini")
    done = moot(home, "run", MOTION, env={"MOOT_MODEL": "claud"})
    assert_one_sentence(done, (2,), 'MOOT_MODEL: There is no provider "claud"')
    done = moot(home, "agents", "add", "Ada", "--model", "claud:x")
    assert_one_sentence(done, (2,), "the nearest is claude")
    council = ("council", "Ship it?", "--role", "Critic=nonsense:x")
    told = json_of(moot(home, *council, "--json"))
    assert [text.split(":")[0] for text in told["warnings"]] == ["DEBATE_WARN_PROVIDER_NORMALIZED"]
    assert told["participants"][1]["model"] == "local"
    shown = moot(home, *council)
    assert "DEBATE_WARN_PROVIDER_NORMALIZED" in shown.stdout
    assert '"nonsense"' in shown.stdout


# --- looking ---


def test_list_and_show(home: Path, whole: dict[str, Any]) -> None:
    listed = moot(home, "list", "--limit", "100")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert whole["id"] in listed.stdout
    rows = json_of(moot(home, "list", "--json", "--limit", "100"))
    made = [row["created_at"] for row in rows]
    assert made == sorted(made, reverse=True)
    row = next(row for row in rows if row["id"] == whole["id"])
    assert set(row) == {
        "id", "motion", "format", "status", "stage", "round", "progress", "degraded", "outcome",
        "result", "models", "usage", "writing", "spent", "unpriced", "local", "created_at",
        "updated_at", "title", "tags", "archived",
    }  # fmt: skip
    assert (row["status"], row["progress"]) == ("completed", {"done": 6, "total": 6})
    assert len(json_of(moot(home, "list", "--json", "--limit", "1"))) == 1

    shown = moot(home, "show", whole["id"])
    assert (shown.returncode, shown.stderr) == (0, "")
    words = " ".join(shown.stdout.split())
    assert all(" ".join(turn["text"].split()) in words for turn in whole["turns"])
    assert json_of(moot(home, "show", whole["id"], "--json"))["turns"] == whole["turns"]


def test_show_uses_the_pager_on_a_terminal_alone(home: Path, whole: dict[str, Any]) -> None:
    marked = "sed s/^/paged:/"
    assert "paged:" not in moot(home, "show", whole["id"], env={"PAGER": marked}).stdout
    for more, pager, used in (([], marked, True), (["--no-pager"], marked, False),
                              ([], "no-such-pager", False), ([], "it's odd", False)):  # fmt: skip
        with terminal(home, "show", whole["id"], *more, PAGER=pager) as shown:
            assert shown.wait() == 0
            assert ("paged:" in shown.text) == used
            assert "Completed" in shown.text
    with terminal(home, "show", whole["id"], PAGER="head -n 1") as shown:  # it reads no more
        assert shown.wait() == 0


def test_a_narrow_pipe_still_shows_whole_ids(home: Path, whole: dict[str, Any]) -> None:
    listed = moot(home, "list", "--limit", "100", env={"COLUMNS": "80"})
    (line,) = [line for line in listed.stdout.splitlines() if whole["id"] in line]
    cells = line.split("\t")
    assert cells[:4] == [whole["created_at"], whole["id"], "completed", whole["format"]]
    assert cells[-1] == whole["motion"]
    assert "\x1b" not in listed.stdout
    said = max(whole["turns"][-1]["text"].split(), key=len)
    by_words = moot(home, "list", *said.split("-"), "--model", "local", "--status", "completed")
    assert whole["id"] in by_words.stdout, "what was said is found by the next command"
    assert "No debates match." in moot(home, "list", "--model", "nobody").stdout
    refused = moot(home, "list", "--outcome", "odd")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "There is no outcome 'odd'; there are decided" in refused.stderr


def test_an_empty_home(tmp_path: Path) -> None:
    listed = moot(tmp_path, "list")
    assert listed.returncode == 0
    assert "moot run" in listed.stdout
    assert json_of(moot(tmp_path, "list", "--json")) == []


def test_formats_and_doctor(home: Path) -> None:
    told = moot(home, "formats")
    assert (told.returncode, told.stderr) == (0, "")
    assert all(f"{name}: " in told.stdout for name in FORMATS)
    assert "free_rounds (1..10, default 2)" in told.stdout
    listed = json_of(moot(home, "formats", "--json"))
    assert {rules["name"] for rules in listed} >= set(FORMATS)
    less = json_of(moot(home, "formats", "--json", env={"MOOT_DISABLED_FORMATS": "duel, classic"}))
    assert {rules["name"] for rules in less} >= {"standard", "custom"}
    assert not {rules["name"] for rules in less} & {"duel", "classic"}
    off = moot(home, "run", MOTION, "-f", "duel", env={"MOOT_DISABLED_FORMATS": "duel"})
    assert_one_sentence(off, (2,), "duel")

    doctor = moot(home, "doctor")
    assert doctor.returncode == 0
    for word in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "understudy", str(home)):
        assert word in doctor.stdout
    secret = "sk-this-must-not-be-shown"  # noqa: S105
    keyed = moot(home, "doctor", env={"OPENAI_API_KEY": secret})
    assert secret not in keyed.stdout + keyed.stderr
    found = {finding["name"]: finding["ok"] for finding in json_of(moot(home, "doctor", "--json"))}
    assert found["home"]
    assert found["database"]
    assert found["local"]
    assert not found["claude"]


def test_a_debate_that_was_made_to_wait_is_started(home: Path) -> None:
    async def make() -> str:
        async with open_service(Settings(home=home), recover=False) as service:
            return (await service.create(MOTION, format="duel", start=False)).id

    id_ = asyncio.run(make())
    assert_one_sentence(moot(home, "resume", id_), (1,), "not been started yet: start it")
    with terminal(home, "watch", id_) as watcher:
        eventually(lambda: f"not been started yet; that does:  moot start {id_}" in watcher.text)
        started = json_of(moot(home, "start", id_, "--json"))
        assert watcher.wait() == 0
    assert (started["status"], len(started["turns"])) == ("completed", 6)
    assert_one_sentence(moot(home, "start", id_), (1,), "It is over")


def test_watch_after_a_seq(home: Path, whole: dict[str, Any]) -> None:
    last = whole["turns"][-1]
    asked = [["watch", whole["id"], "--after", str(seq)] for seq in (last["seq"] - 1, 9999, -1)]
    one, none, wrong = moots(home, *asked)
    assert one.stdout.count("understudy, no model") == 1
    assert "understudy" not in none.stdout
    assert "Completed" in none.stdout
    assert (none.returncode, wrong.returncode, wrong.stdout) == (0, 2, "")


# --- two processes ---


def test_stop_from_another_process_keeps_the_step_in_flight(home: Path) -> None:
    with terminal(home, "run", MOTION, "-f", "duel", "--max-turns", "40") as shown:
        id_ = shown.spoken(1)
        before = len(texts_of(home, id_))
        done = moot(home, "stop", id_)
        assert (done.returncode, done.stderr) == (0, "")
        assert id_ in done.stdout
        assert shown.wait() == 0
        assert "Stopped" in shown.text
    assert status_of(home, id_) == "stopped"
    assert ask(home, "SELECT stop_reason FROM debate_runs WHERE id = ?", id_) == [
        ("stopped_by_user",)
    ]
    assert before < len(texts_of(home, id_)) < 40
    outcomes = ask(home, "SELECT outcome FROM debate_attempts WHERE debate_id = ?", id_)
    assert outcomes == [("ok",)] * len(texts_of(home, id_))
    assert_one_sentence(moot(home, "stop", id_), (1, 2))


def test_end_from_another_process_while_the_first_one_runs(home: Path) -> None:
    with terminal(home, "run", MOTION, "-f", "duel", "--max-turns", "40") as shown:
        id_ = shown.spoken(1)
        ended = json_of(moot(home, "end", id_, "--json"))
        assert shown.wait() == 0
        assert "Completed" in shown.text
    assert (ended["status"], ended["stop_reason"]) == ("completed", "ended_by_user")
    kinds = [turn["kind"] for turn in ended["turns"]]
    assert kinds.count("summary") == 1
    assert kinds[-1] == "summary"
    assert len(kinds) < 40
    attempts = ask(home, "SELECT outcome FROM debate_attempts WHERE debate_id = ? ORDER BY n", id_)
    *before, off, last = [outcome for (outcome,) in attempts]
    assert before == ["ok"] * (len(kinds) - 1)
    assert last == "ok"
    assert off in ("cancelled", "ok")  # ok: it came back just before it could be called off
    seqs = ask(home, "SELECT seq FROM debate_events WHERE debate_id = ? ORDER BY seq", id_)
    assert [seq for (seq,) in seqs] == list(range(1, len(seqs) + 1))
    filed = json.loads((home / "records" / "debates" / id_ / "transcript.json").read_text())
    assert filed["turns"] == ended["turns"]


SLOW = """
import asyncio, sys, time
from pathlib import Path
from moot.bootstrap import open_service
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker

async def main():
    speaker = ScriptedSpeaker(seconds=3600)
    async with open_service(Settings(home=Path(sys.argv[1])), speaker=speaker) as service:
        made = await service.create("Shall we?", format="duel")
        while not speaker.in_flight:
            await asyncio.sleep(0.01)
        print(made.id, flush=True)
        while speaker.in_flight:
            await asyncio.sleep(0.01)
        print(time.time(), flush=True)
        await service.wait(made.id)
asyncio.run(main())
"""


def test_a_call_in_flight_elsewhere_is_called_off_within_a_second(home: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(home)],
        env=environment(home), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert child.stdout
        id_ = child.stdout.readline().strip()

        async def end() -> float:
            async with open_service(Settings(home=home), recover=False) as service:
                await service.end(id_)
                said = time.time()
                assert child.stdout
                off = float(await asyncio.to_thread(child.stdout.readline))
                debate = await service.wait(id_)
                assert (debate.status, debate.turn_count) == ("completed", 1)
                return off - said

        assert asyncio.run(end()) < patience.seconds(1)
        assert child.wait(patience.seconds()) == 0
        outcomes = "SELECT outcome FROM debate_attempts WHERE debate_id = ? ORDER BY n"
        assert ask(home, outcomes, id_) == [("cancelled",), ("ok",)]
    finally:
        child.kill()
        child.wait()
        if child.stdout:
            child.stdout.close()


def test_watch_sees_every_turn_in_order_and_ctrl_c_leaves_the_debate_running(home: Path) -> None:
    with terminal(home, "run", MOTION, "-f", "duel", "--max-turns", "4") as shown:
        id_ = shown.id()
        with terminal(home, "watch", id_) as watcher:
            eventually(lambda: MOTION in watcher.text)
            watcher.interrupt()
            assert watcher.wait() == 130
        watched = moot(home, "watch", id_)
        assert shown.wait() == 0
    assert status_of(home, id_) == "completed"
    assert (watched.returncode, watched.stderr) == (0, "")
    words = " ".join(watched.stdout.split())
    texts = [" ".join(text.split()) for _, _, text in texts_of(home, id_)]
    assert len(texts) == 4
    assert [words.count(text) for text in texts] == [1] * 4
    places = [words.index(text) for text in texts]
    assert places == sorted(places)
    assert "Completed" in watched.stdout


# --- the shell ---


def cpu_of(home: Path, *words: str) -> float:
    child = subprocess.Popen(
        [MOOT, *words], env=environment(home), stdout=subprocess.DEVNULL, preexec_fn=hear_interrupts
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime + used.ru_stime


def test_help_is_quick(home: Path) -> None:
    assert min(cpu_of(home, "--help") for _ in range(5)) < 0.3


def test_help_names_every_command_and_the_version_is_told(home: Path) -> None:
    told = moot(home, "--help").stdout
    for command in ("run", "start", "resume", "end", "retry", "skip", "watch", "list", "show",
                    "stop", "pause", "formats", "doctor", "schema", "db"):  # fmt: skip
        assert re.search(rf"^\s+{command}\s", told, re.MULTILINE), command
    assert "..." not in told.partition("Options:")[2]
    assert "\nMore:\n" not in told, "a command is in no group of cli/grouped.py"
    titles = re.findall(r"^(\S.*):$", told, re.MULTILINE)
    assert titles == ["Options", *GROUPS]
    assert re.fullmatch(r"moot \d+\.\d+\.\d+\S*\n", moot(home, "--version").stdout)


def test_every_command_is_told_whole_in_80_columns(home: Path) -> None:
    pages = [[], ["agents"], ["stations"], ["model"], ["db"]]
    for page, done in zip(pages, moots(home, *([*page, "--help"] for page in pages)), strict=True):
        assert done.returncode == 0
        lines = done.stdout.partition("Options:")[2].splitlines()
        assert max(map(len, lines)) <= 80, page
        assert not [line for line in lines if line.endswith(("...", "…"))], page
        told = [line for line in lines if re.match(r"  \w", line)]
        assert all(line.endswith(".") for line in told), page


def test_the_shell_can_complete(home: Path, whole: dict[str, Any]) -> None:
    plain = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    script = moot(home, "--show-completion", "bash", env=plain)
    assert script.returncode == 0
    assert "complete -o default -F _moot_completion moot" in script.stdout

    def completed(words: str) -> list[str]:
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
        return moot(home, env=asked | {"_MOOT_COMPLETE": "complete_bash"}).stdout.split()

    assert completed("moot res") == ["resume"]
    assert set(completed("moot run x --format ")) >= set(FORMATS)
    assert whole["id"] in completed("moot show debate_")
