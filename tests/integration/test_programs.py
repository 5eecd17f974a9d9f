"""Command-line programs as seats, by stand-ins that speak their protocol, and their faults."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import providers
from moot.core.limits import NO_THINKING
from moot.errors import (
    ProviderAbsentError,
    ProviderAuthError,
    ProviderError,
    ProviderInvalidError,
    ProviderRateLimitError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    ProviderUnknownModelError,
)
from moot.models import program
from moot.models.providers import Providers
from moot.models.router import Router
from moot.models.understudy import Understudy
from moot.ports.model_call import Reply
from moot.settings import Settings
from tests.integration.test_vendors import call

CANARY = "sk-canary-7"
STAND_IN = f"""#!{sys.executable} -I
import json, os, subprocess, sys, time
here = os.path.dirname(os.path.abspath(__file__))
plan = json.load(open(here + "/plan.json"))
told = {{"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "files": os.listdir("."),
        "stdin": sys.stdin.read(), "group": os.getpgid(0)}}
json.dump(told, open(here + "/told.json", "w"))
def out(one):
    sys.stdout.write(one if isinstance(one, str) else json.dumps(one) + "\\n")
    sys.stdout.flush()
for kind, what in plan:
    if kind == "say": out(what)
    elif kind == "hang": time.sleep(600)
    elif kind == "spawn":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=0)
    elif kind == "huge":
        while True: out("x" * 1000000)
    elif kind == "lines":
        while True: out({{"type": "noise", "pad": "x" * 1000000}})
    elif kind == "stderr": os.write(2, b"noise " * 500000)
    elif kind == "kill": os.kill(os.getpid(), 9)
    elif kind == "exit": sys.exit(what)
"""


def word(text: str) -> dict[str, Any]:
    delta = {"type": "text_delta", "text": text}
    return {"type": "stream_event", "event": {"type": "content_block_delta", "delta": delta}}


INIT = {"type": "system", "subtype": "init", "tools": [], "model": "claude-opus-4-8[1m]"}
RESULT = {
    "type": "result", "subtype": "success", "is_error": False, "result": "Well said.",
    "total_cost_usd": 0.0123,
    "usage": {"input_tokens": 5, "cache_read_input_tokens": 70, "output_tokens": 9},
}  # fmt: skip
CLAUDE = [("say", INIT), ("say", word("Well ")), ("say", word("said.")), ("say", RESULT)]
USED = {"input_tokens": 100, "output_tokens": 30, "reasoning_output_tokens": 12}
CODEX = [
    ("say", {"type": "thread.started", "thread_id": "1"}),
    ("say", {"type": "error", "message": "Reconnecting... 2/5"}),
    ("say", {"type": "item.completed", "item": {"type": "agent_message", "text": "Well said."}}),
    ("say", {"type": "turn.completed", "usage": USED}),
]


class Bench:
    """A folder with the stand-ins, and a router that finds them there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("claude", "codex"):
            path = folder / name
            path.write_text(STAND_IN)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        known = {"PATH": str(folder), "HOME": str(folder)}
        self.router = Router(Providers(environment=known), Understudy(0.0), folder)

    async def speak(
        self, plan: list[tuple[str, Any]], model: str = "claude-code", **more: Any
    ) -> tuple[Reply, list[str]]:
        (self.folder / "plan.json").write_text(json.dumps(plan))
        pieces: list[str] = []
        return await self.router.speak(call(model, **more), pieces.append), pieces

    @property
    def told(self) -> dict[str, Any]:
        return json.loads((self.folder / "told.json").read_text())

    def left(self) -> list[str]:
        """The processes of the last call's group that are alive."""
        listed = subprocess.run(
            ["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True
        ).stdout
        rows = [line.split(None, 2) for line in listed.splitlines()]
        return [row[2] for row in rows if row[0] == str(self.told["group"]) and row[1][0] != "Z"]

    def check_gone(self) -> None:
        """A kill takes a moment where the machine is busy."""
        _until(lambda: not self.left())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def go(work: Any) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(bounded())


def test_claude_code_speaks(bench: Bench) -> None:
    reply, pieces = go(bench.speak(CLAUDE, "claude-code:opus", effort="high"))
    assert (reply.text, pieces) == ("Well said.", ["Well ", "said."])
    assert reply.model == "claude-code:claude-opus-4-8", "who really spoke"
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (75, 9, 0.0123)
    assert not usage.estimated
    told = bench.told
    flags = told["argv"][1:]
    assert flags[:3] == ["-p", "--output-format", "stream-json"]
    assert flags[flags.index("--tools") + 1] == ""
    assert flags[-1] == "--model=opus"
    assert told["env"]["CLAUDE_CODE_SAFE_MODE"] == "1", "nothing of the user's is part of a debate"
    assert flags[flags.index("--effort") + 1] == "high"
    prompt = [message.text for message in call("claude-code").messages]
    assert all(text in told["stdin"] for text in prompt)
    assert not any(text in " ".join(flags) for text in prompt), "others can read the arguments"
    assert told["files"] == []
    assert not Path(told["cwd"]).exists(), "the empty folder is gone"
    bench.check_gone()


def test_codex_speaks(bench: Bench) -> None:
    reply, pieces = go(bench.speak(CODEX, "codex"))
    assert (reply.text, reply.model, pieces) == ("Well said.", "codex", ["Well said."])
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.thinking_tokens) == (100, 30, 12)
    flags = bench.told["argv"][1:]
    assert flags[:4] == ["exec", "--json", "--sandbox", "read-only"]
    assert flags[-1] == "-", "the prompt comes on standard input"
    assert "features.shell_tool=false" in flags
    card = bench.router.card("codex")
    assert card.input_price is None, "it reports no cost: that is unknown, not nothing"


@pytest.mark.parametrize(("program", "plan"), [("claude-code", CLAUDE), ("codex", CODEX)])
def test_the_name_of_a_model_is_never_an_option(bench: Bench, program: str, plan: Any) -> None:
    """Whoever may name a model over HTTP must not be able to give a program its tools back."""
    go(bench.speak(plan, f"{program}:--dangerously-skip-permissions"))
    flags = bench.told["argv"][1:]
    assert "--model=--dangerously-skip-permissions" in flags
    assert "--dangerously-skip-permissions" not in flags


def test_a_program_on_a_relative_path_is_found_from_where_moot_is(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.folder.parent)
    known = {"PATH": bench.folder.name, "HOME": str(bench.folder)}
    bench.router = Router(Providers(environment=known), Understudy(0.0), bench.folder)
    reply, _ = go(bench.speak(CLAUDE))
    assert reply.text == "Well said."


def test_a_structured_answer_is_asked_for_as_json(bench: Bench) -> None:
    said = {**RESULT, "result": '{"position": "yes"}'}
    schema = {"type": "object", "properties": {"position": {"type": "string"}}}
    reply, pieces = go(bench.speak([("say", word("{")), ("say", said)], schema=schema))
    assert reply.text == '{"position": "yes"}'
    assert pieces == [], "pieces of JSON are not for people"
    assert json.dumps(schema) in bench.told["stdin"]


ILL: list[tuple[str, list[tuple[str, Any]], type[ProviderError], str]] = [
    ("claude-code", [("hang", 0)], ProviderTimeoutError, "said nothing"),
    ("claude-code", [*CLAUDE[:2], ("hang", 0)], ProviderTimeoutError, "said nothing"),
    ("claude-code", [("spawn", 0), ("hang", 0)], ProviderTimeoutError, "said nothing"),
    ("claude-code", [("say", "garbage\n{{{\n\n[1]\n")], ProviderUnavailableError, "without an"),
    ("claude-code", [("huge", 0)], ProviderInvalidError, "far more than"),
    ("claude-code", [("lines", 0)], ProviderInvalidError, "far more than"),
    ("claude-code", [("exit", 1)], ProviderUnavailableError, "without an answer"),
    ("claude-code", [*CLAUDE[:2], ("kill", 0)], ProviderUnavailableError, "broke off"),
    ("claude-code", [*CLAUDE[:3], ("say", '{"type": "res')], ProviderUnavailableError, "broke off"),
    ("claude-code", [("spawn", 0), ("exit", 1)], ProviderUnavailableError, "without an answer"),
    ("claude-code", [("say", {**RESULT, "result": "  "})], ProviderError, "empty"),
    ("claude-code",
     [("say", {"type": "assistant", "error": "authentication_failed"}),
      ("say", {**RESULT, "is_error": True, "result": "Not logged in · Please run /login"})],
     ProviderAuthError, "claude auth login"),
    ("claude-code", [("say", {**RESULT, "is_error": True, "api_error_status": 404})],
     ProviderUnknownModelError, "has no model"),
    ("claude-code",
     [("say", {**RESULT, "is_error": True, "result": "Claude usage limit reached"})],
     ProviderRateLimitError, "quota"),
    ("codex", [("say", {"type": "turn.failed", "error": {"message": "401 Unauthorized"}})],
     ProviderAuthError, "codex login"),
    ("codex", [("say", {"type": "turn.failed", "error": {"message": "Your usage limit is hit"}})],
     ProviderRateLimitError, "quota"),
    ("codex", [("say", {"type": "error", "message": "waiting for network"}), ("exit", 1)],
     ProviderUnavailableError, "reached"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "plan", "kind", "words"), ILL)
def test_a_fault_is_one_of_our_errors_and_leaves_no_process(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, model: str, plan: Any, kind: Any, words: str
) -> None:
    monkeypatch.setattr(program, "thinking", lambda *_: NO_THINKING)
    monkeypatch.setattr(program, "MAX_OUTPUT", 8 << 20)
    with pytest.raises(kind, match=words):
        go(bench.speak(plan, model, seconds=2.0 if ("hang", 0) in plan else 30.0))
    bench.check_gone()


def test_a_flood_of_complaints_does_not_stop_it(bench: Bench) -> None:
    reply, _ = go(bench.speak([("stderr", 0), *CLAUDE]))
    assert reply.text == "Well said."


def test_a_child_that_outlives_its_parent_is_ended_and_the_answer_kept(bench: Bench) -> None:
    reply, _ = go(bench.speak([("spawn", 0), *CLAUDE]))
    assert reply.text == "Well said."
    bench.check_gone()


def test_a_call_that_is_called_off_leaves_no_process(bench: Bench) -> None:
    async def work() -> None:
        task = asyncio.create_task(bench.speak([("spawn", 0), ("hang", 0)]))
        while not (bench.folder / "told.json").exists() or not bench.left():
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        bench.check_gone()

    go(work())


def test_no_process_outlives_moot(bench: Bench) -> None:
    """Moot is killed: whatever it had started goes with it."""
    (bench.folder / "plan.json").write_text(json.dumps([("spawn", 0), ("hang", 0)]))
    script = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from tests.integration.test_programs import Bench, call\n"
        "asyncio.run(Bench(Path(sys.argv[1])).router.speak(call('claude-code'), print))\n"
    )
    moot = subprocess.Popen([sys.executable, "-c", script, str(bench.folder)])
    try:
        _until(lambda: (bench.folder / "told.json").exists() and bool(bench.left()))
    finally:
        moot.send_signal(signal.SIGKILL)
        moot.wait()
    _until(lambda: not bench.left())


def _until(there: Any) -> None:
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        try:
            if there():
                return
        except ValueError:  # half-written
            pass
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


def test_no_key_is_in_its_environment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY",
                 "GEMINI_API_KEY", "MOOT_TOKEN", "AWS_SECRET_ACCESS_KEY"):  # fmt: skip
        monkeypatch.setenv(name, CANARY * 3)
    monkeypatch.setenv("PATH", f"{bench.folder}:{os.environ['PATH']}")
    known = providers(Settings(home=bench.folder))
    bench.router = Router(known, Understudy(0.0), bench.folder)
    for model, plan in (("claude-code", CLAUDE), ("codex", CODEX)):
        go(bench.speak(plan, model))
        assert CANARY not in json.dumps(bench.told)
        assert bench.told["env"]["HOME"] == os.environ["HOME"], "where its login is"


def test_one_that_is_not_installed_says_how_to_get_it(bench: Bench) -> None:
    (bench.folder / "claude").unlink()
    with pytest.raises(ProviderAbsentError, match="npm install -g @anthropic-ai/claude-code"):
        go(bench.speak(CLAUDE))


def test_they_are_listed_if_they_are_installed_and_taken_only_by_name(bench: Bench) -> None:
    (bench.folder / "codex").unlink()
    found = {one.provider: one for one in go(bench.router.describe())}
    assert found["claude-code"].works
    assert "claude-code:opus" in found["claude-code"].models
    assert "codex" not in found
    assert bench.router.defaults() == ("local",), "no seat takes it silently"
