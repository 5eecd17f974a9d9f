"""`moot gate`: an exit code for each outcome, and for all that can go wrong; and its action."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from moot.cli.main import app, main
from moot.core.jury import SIDES
from moot.errors import ProviderAuthError, ProviderError
from moot.ports.model_call import Call, Reply
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.integration.juries import ballot
from tests.served import Served, served

YES, NO = SIDES
UNDECIDED = "undecided"
ACTION = Path("action.yml")


class Bench(ScriptedSpeaker):
    """Jurors that vote as they are told, in turn; with no votes, the key is refused."""

    votes: tuple[str, ...] = ()
    flips = False

    def __init__(self) -> None:
        super().__init__(self._say)

    def _say(self, call: Call) -> str | Reply | ProviderError:
        if not self.votes:
            return ProviderAuthError("The key for Claude was refused. Set ANTHROPIC_API_KEY.")
        if call.step.answer != "ballot":
            return plain(call)
        jury = call.debate.jury
        assert jury
        place = [seat.id for seat in jury.seats].index(call.step.actor)
        said = ballot(call, self.votes[place % len(self.votes)])
        given: list[str] = (call.schema or {})["properties"]["choice"]["enum"]
        if self.flips:
            said["choice"] = given[0]
        elif self.votes[place % len(self.votes)] == UNDECIDED:
            said |= {"choice": UNDECIDED, "questions": ["How long does a rollback take?"]}
        return json.dumps(said)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, bench: Bench) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("gate") / "home", speaker=bench) as made:
        yield made


@pytest.fixture
def gate(server: Served, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("MOOT_URL", server.url)
    return lambda *arguments: CliRunner().invoke(app, ["gate", *arguments])


OUTCOMES: list[tuple[tuple[str, ...], bool, int, str, str]] = [
    ((YES,), False, 0, "yes", "decided"),
    ((NO,), False, 1, "no", "decided"),
    ((YES, YES, NO), False, 2, UNDECIDED, "contested"),
    ((YES, NO, UNDECIDED), False, 2, UNDECIDED, "deadlock"),
    ((UNDECIDED,), False, 2, UNDECIDED, "needs_facts"),
    ((YES,), True, 2, UNDECIDED, "no_verdict"),
]


@pytest.mark.parametrize(("votes", "flips", "code", "answer", "outcome"), OUTCOMES)
def test_every_outcome_has_its_exit_code(
    gate: Callable[..., Any], bench: Bench, tmp_path: Path,
    votes: tuple[str, ...], flips: bool, code: int, answer: str, outcome: str,
) -> None:  # fmt: skip
    bench.votes, bench.flips = votes, flips
    summary, comment = tmp_path / "summary.md", tmp_path / "comment.md"
    summary.write_text("# The job\n")
    done = gate(
        "Is it safe?", "--jury", "3", "--json", "--summary", str(summary), "--comment", str(comment)
    )
    told = json.loads(done.stdout)
    assert (done.exit_code, told["answer"], told["outcome"]) == (code, answer, outcome), told
    said = summary.read_text()
    assert said.startswith("# The job\n## ")
    assert {"yes": "✅", "no": "❌", UNDECIDED: "⚠️"}[answer] in said
    assert "Is it safe?" in said
    assert told["why"].split(".")[0] in said
    assert comment.read_text().startswith("<!-- moot gate -->\n## ")


def test_a_policy_says_what_passes(gate: Callable[..., Any], bench: Bench, tmp_path: Path) -> None:
    bench.votes, bench.flips = (YES, YES, NO), False
    policy = tmp_path / "gate.toml"
    policy.write_text('question = "Is it safe?"\npasses = ["decided", "contested"]\njury = 3\n')
    assert gate("--policy", str(policy)).exit_code == 0
    bench.votes = (NO, NO, YES)
    assert gate("--policy", str(policy)).exit_code == 1
    bench.votes = (YES, NO, YES)
    policy.write_text('question = "Is it safe?"\n')
    assert gate("--policy", str(policy)).exit_code == 2
    bench.votes = (YES,)
    assert gate("Another?", "--policy", str(policy), "--jury", "1").exit_code == 0


def test_the_sources_are_read_by_all_who_decide(
    gate: Callable[..., Any], bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the policy, and those that the command adds; a key in one of them stops it."""
    bench.votes, bench.flips = (YES,), False
    monkeypatch.chdir(tmp_path)
    Path("notes.md").write_text("We promise the moon.")
    Path("diff.patch").write_text("+ we promise a rollback")
    policy = Path("gate.toml")
    policy.write_text('question = "Is it safe?"\nsources = ["notes.md"]\n')
    calls = len(bench.calls)
    assert gate("--policy", str(policy), "--source", "diff.patch").exit_code == 0
    heard = bench.calls[calls:]
    assert {call.step.answer for call in heard} >= {"ballot", "text"}
    for call in heard:
        prompt = "\n".join(message.text for message in call.messages)
        assert "We promise the moon." in prompt
        assert "we promise a rollback" in prompt
    Path("notes.md").write_text("password = 'hunter2-hunter2-hunter2'\nAKIAQ3EGPZ7RT5XJ2M4N\n")
    calls = len(bench.calls)
    done = gate("--policy", str(policy))
    assert (done.exit_code, len(bench.calls)) == (2, calls)
    assert "looks like keys" in done.stdout
    assert "hunter2" not in done.stdout
    assert gate("--policy", str(policy), "--allow-secrets").exit_code == 0


BAD = {
    "question = ": "TOML",
    "jury = 3": "question",
    'question = "x"\nwat = 1': "wat",
    'question = "x"\njury = "three"': "jury",
    'question = "x"\njury = -1': "jury",
    'question = "x"\npasses = ["deadlock"]': "passes",
    'question = "x"\nformat = "council"': "two sides",
    'question = "x"\nformat = "wat"': "wat",
    'question = "x"\njurors = ["wat:x"]': "wat",
    'question = "x"\njurors = [1]': "jurors",
    'question = "x"\nsources = "a.md"': "sources",
    'question = "x"\nsources = [" "]': "sources",
    'question = "x"\nsources = ["none.md"]': "none.md",
    'question = "x"\nmax_cost_usd = nan': "max_cost_usd",
    'question = "x"\nmax_cost_usd = -1': "max_cost_usd",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_policy_is_never_a_yes(
    gate: Callable[..., Any], bench: Bench, server: Served, tmp_path: Path, text: str
) -> None:
    bench.votes, calls = (YES,), len(bench.calls)
    policy = tmp_path / "gate.toml"
    policy.write_text(text)
    done = gate("--policy", str(policy))
    assert done.exit_code == 2
    assert BAD[text] in done.stdout
    assert len(bench.calls) == calls
    assert gate("--policy", str(tmp_path / "none.toml")).exit_code == 2


def test_a_dead_provider_is_undecided(gate: Callable[..., Any], bench: Bench) -> None:
    bench.votes = ()
    done = gate("Is it safe?")
    assert done.exit_code == 2
    assert "Set ANTHROPIC_API_KEY" in done.stdout


def test_a_budget_that_runs_out_is_undecided(
    gate: Callable[..., Any], bench: Bench, tmp_path: Path
) -> None:
    bench.votes, bench.flips = (YES,), False
    assert gate("Is it safe?", "--max-cost-usd", "0.0000001").exit_code == 2  # before the start
    policy = tmp_path / "gate.toml"
    for tokens in (4000, 6000, 9000):
        policy.write_text(f'question = "Is it safe?"\nmax_total_tokens = {tokens}\n')
        done = gate("--policy", str(policy))
        assert done.exit_code == 2
        assert "udget" in done.stdout


def test_what_cannot_be_told_is_no_answer(
    gate: Callable[..., Any], bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a file that cannot be written, nor a reader that has gone, nor a bug is a yes or a
    no, whatever code others end with then."""
    bench.votes, bench.flips = (YES,), False
    for option in ("--summary", "--comment"):
        done = gate("Is it safe?", option, str(tmp_path / "none" / "file.md"))
        assert done.exit_code == 2
        assert "cannot be written" in done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    with monkeypatch.context() as patched, os.fdopen(writer, "w") as pipe:
        patched.setattr(sys, "stdout", pipe)
        patched.setattr(sys, "argv", ["moot", "gate", "Is it safe?"])
        with pytest.raises(SystemExit) as ended:
            main()
        with suppress(BrokenPipeError):
            pipe.close()
    assert ended.value.code == 2
    monkeypatch.setattr("moot.outcome.gate.ruling", lambda *_: 1 / 0)
    broken = gate("Is it safe?")
    assert broken.exit_code == 2
    assert "moot failed: ZeroDivisionError." in broken.stdout


def test_a_comment_calls_nobody_by_name(
    gate: Callable[..., Any], bench: Bench, tmp_path: Path
) -> None:
    """Models write what they like: a comment sends no mail, shows no picture and closes no tag."""
    bench.votes, bench.flips = (YES,), False
    comment = tmp_path / "comment.md"
    bad = "Is it safe, @everyone? </details><!-- moot gate --> ![x](https://evil.example/x.png)"
    assert gate(bad, "--comment", str(comment)).exit_code == 0
    said = comment.read_text()
    assert "everyone" in said
    assert "@everyone" not in said
    assert said.count("</details>") == said.count("<!--") == 1
    assert "![" not in said


def test_the_understudy_approves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_HOME", str(tmp_path / "home"))
    done = CliRunner().invoke(app, ["gate", "Is it safe?", "-m", "local:understudy"])
    assert done.exit_code == 2
    assert "No model spoke" in done.stdout


def test_a_server_that_is_away_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_URL", "http://127.0.0.1:9")
    done = CliRunner().invoke(app, ["gate", "Is it safe?"])
    assert done.exit_code == 2


# --- the action ---


def steps() -> dict[str, Any]:
    read: Any = yaml.safe_load(ACTION.read_text())
    return {step["name"]: step for step in read["runs"]["steps"]}


@pytest.mark.parametrize(
    ("event", "number", "head", "run", "code"),
    [
        ("push", "", "", "", 0),
        ("merge_group", "", "", "", 0),  # somebody who may merge has queued it
        ("pull_request", "7", "me/moot", "", 0),
        ("pull_request", "7", "evil/moot", "", 2),
        ("pull_request", "7", "", "", 2),  # the fork is gone
        ("pull_request_review", "7", "evil/moot", "", 2),
        ("pull_request_target", "7", "me/moot", "", 2),
        ("issue_comment", "", "", "", 2),
        ("workflow_run", "", "", "me/moot", 0),
        ("workflow_run", "", "", "evil/moot", 2),
        ("workflow_run", "", "", "", 2),
    ],
)
def test_a_fork_gets_no_secret_and_no_approval(
    tmp_path: Path, event: str, number: str, head: str, run: str, code: int
) -> None:
    first, *_ = steps().values()
    assert first["name"] == "Refuse forks"  # before anything is installed or asked
    summary, output = tmp_path / "summary", tmp_path / "output"
    told = {
        "EVENT": event, "PULL_REQUEST": number, "HEAD_REPOSITORY": head, "RUN_REPOSITORY": run,
        "REPOSITORY": "me/moot", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output),
    }  # fmt: skip
    done = subprocess.run(["bash", "-e", "-c", first["run"]], env={**os.environ, **told})
    assert done.returncode == code
    assert summary.exists() == output.exists() == (code == 2)
    if code:
        assert output.read_text() == "answer=undecided\n"


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_action_hands_on_the_exit_code_and_no_word_of_its_inputs(
    tmp_path: Path, code: int
) -> None:
    """Inputs reach the shell as variables, never as text of the script."""
    for step in steps().values():
        assert "uses" not in step
        assert "${{" not in step["run"]
    program = tmp_path / "moot" / "bin" / "moot"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nfor one in "$@"; do echo "$one"; done\nexit {code}\n')
    program.chmod(0o755)
    output = tmp_path / "output"
    question = '"; touch pwned; echo $(touch pwned) `touch pwned`'
    environment = {
        "QUESTION": question, "POLICY": "", "JURY": "5", "COMMENT": "c.md",
        "SOURCES": "a b.md\n\n$(touch pwned).md\n",
        "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": "s",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-e", "-c", steps()["Ask"]["run"]],
        env={**os.environ, **environment}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code
    said = done.stdout.splitlines()
    assert question in said
    sources = [one for one in said if one.startswith("--source")]
    assert sources == ["--source=a b.md", "--source=$(touch pwned).md"]
    assert not (tmp_path / "pwned").exists()
    assert output.read_text() == f"answer={['yes', 'no', UNDECIDED][code]}\n"
