"""Formats of the user's own, without a line of Python: run, decided, replayed and exported."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import seconds

ROOT = Path(__file__).parents[2]
UNDERSTUDY = {"MOOT_MODEL": "local:understudy"}
HEAD = 'title = "Mine"\ndescription = "Mine."\nrules = "Be brief."\non_failure = "degrade"\n'
VERDICT = f"""
name = "review"
{HEAD}
[outcome]
stands = ["draft"]
verdict = "ruling"
record = false

[[roster.roles]]
name = "Author"
brief = "Propose one thing."

[[roster.roles]]
name = "Critic"

[[roster.roles]]
name = "Referee"
model = "local"

[[stages]]
name = "draft"
speakers = ["Author", "Critic"]
together = true
answer = "position"
ask = "Propose, {{name}}."
tokens = 2000
seconds = 200

[[stages]]
name = "doubts"
speakers = ["Critic"]
answer = "challenge"
targets = {{Critic = "Author"}}
ask = "Doubt what the {{target}} says."

[[stages]]
name = "ruling"
speakers = ["Referee"]
kind = "verdict"
answer = "verdict"
outsider = true
ask = "Decide."
"""
BALLOT = f"""
name = "poll"
{HEAD}
[outcome]
stands = ["vote", "answers"]

[roster]
min = 3
max = 5

[[stages]]
name = "answers"
together = true
sees = "none"
answer = "position"
ask = "Answer."

[[stages]]
name = "vote"
together = true
answer = "ballot"
ask = "Vote."
"""
DOCS = (ROOT / "docs/formats.md").read_text()
ESTIMATE = "".join(re.findall(r"```toml\n(\[answers\.estimate\].*?)```", DOCS, re.DOTALL))
OWN = f"""
name = "sizing"
{HEAD}
[outcome]
stands = ["sizes"]

[roster]
min = 2
max = 4

[[stages]]
name = "sizes"
together = true
rounds = 2
answer = "estimate"
ask = "Estimate it."

{ESTIMATE}
"""


def moot(home: Path, *asked: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "moot", *asked],
        env={**os.environ, "MOOT_HOME": str(home), "MOOT_PACE": "0", **UNDERSTUDY},
        capture_output=True, text=True, timeout=seconds(), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("text", [VERDICT, BALLOT, OWN], ids=["verdict", "ballot", "own answer"])
def test_it_runs_is_decided_replayed_and_exported(tmp_path: Path, text: str) -> None:
    name = re.findall(r'name = "(\w+)"', text)[0]
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / f"{name}.toml").write_text(text)
    assert name in moot(tmp_path, "formats")
    moot(tmp_path, "run", "Should the service move?", "--format", name)
    (folder,) = (tmp_path / "records" / "debates").iterdir()
    packet: dict[str, Any] = json.loads((folder / "final-packet.json").read_bytes())
    assert packet["decision"]["selectedOption"]
    assert not packet["degraded"], packet["errorCodes"]
    spoken = {seat["role"] for seat in packet["participants"]}
    if name == "review":
        assert spoken == {"Author", "Critic", "Referee"}
        assert not (tmp_path / "records" / "decisions").exists()  # record = false
    else:
        assert f"writeback:records/decisions/{folder.name}.json" in packet["trace"]["evidenceRefs"]
    said = json.loads((folder / "transcript.json").read_bytes())["turns"]
    if name == "poll":
        stated = {turn["data"]["position"] for turn in said if turn["stage"] == "answers"}
        votes = {turn["data"]["choice"] for turn in said if turn["stage"] == "vote"}
        assert votes <= {*stated, "undecided"}
    if name == "sizing":
        assert all({"because", "low", "high", "risks"} <= turn["data"].keys() for turn in said)
    assert (
        json.loads(moot(tmp_path, "replay", folder.name, "--json"))["consistency"]["issues"] == []
    )
    assert packet["decision"]["selectedOption"] in moot(tmp_path, "export", folder.name)
