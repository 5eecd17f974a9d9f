"""Formats of the user's own, without a line of Python: run, decided, replayed and exported."""

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from moot.store.formats import BUILT_IN, FIRST
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


FORMATS = {"review": VERDICT, "poll": BALLOT, "sizing": OWN}


def write(home: Path, name: str) -> None:
    """All that a format takes: its file."""
    (home / "formats").mkdir(parents=True)
    (home / "formats" / f"{name}.toml").write_text(FORMATS[name])


@pytest.mark.parametrize("name", FORMATS)
def test_it_runs_is_decided_replayed_and_exported(tmp_path: Path, name: str) -> None:
    write(tmp_path, name)
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
    selected = packet["decision"]["selectedOption"]
    assert selected in moot(tmp_path, "export", folder.name)
    assert html.escape(selected) in moot(tmp_path, "export", folder.name, "--as", "html")
    whole = json.loads(moot(tmp_path, "export", folder.name, "--as", "json"))
    assert whole["packet"] == packet
    assert [turn["seq"] for turn in whole["turns"]] == [turn["seq"] for turn in said]


COUNCILS_OWN = re.compile(r"council|\bjudge\b|Proponent|Synthesizer|Round ?[123]\b")


@pytest.mark.parametrize("name", FORMATS)
def test_its_papers_speak_of_what_it_has(tmp_path: Path, name: str) -> None:
    """Nobody who reads them meets the council's roles or rounds."""
    write(tmp_path, name)
    moot(tmp_path, "run", "Should the service move?", "--format", name)
    (folder,) = (tmp_path / "records" / "debates").iterdir()
    for paper in ("report.md", "report.html", "final-packet.md", "transcript.md"):
        assert not COUNCILS_OWN.search((folder / paper).read_text()), paper
    report = (folder / "report.md").read_text()
    if name == "review":
        assert "*Referee’s verdict, `turn:" in report
    if name == "poll":
        told = json.loads((folder / "report.json").read_bytes())
        votes = json.loads((folder / "transcript.json").read_bytes())["turns"][-3:]
        last = {who["id"]: who["mainPoints"][-1]["text"] for who in told["speakers"]}
        for vote in votes:
            assert last[vote["actor"]].startswith(vote["data"]["choice"].rstrip(".!:;, "))
    if name == "sizing":
        assert " sure." not in report.partition("## Summary")[2].partition("## Speakers")[0]
    assert "(neutral)" not in (folder / "transcript.md").read_text()


def test_every_type_of_field_in_a_shape_of_its_own(tmp_path: Path) -> None:
    """A new answer shape is a table in the format's file, whatever is in it."""
    shape = """
[answers.survey.fields]
why = {type = "text"}
short = {type = "line", length = 80}
parts = {type = "line", list = true, min = 2, max = 4}
rests = {type = "turns"}
words = {type = "quotes"}
when = {type = "date"}
size = {type = "choice", choices = ["small", "large"]}
position = {type = "line"}
confidence = {type = "share"}

[answers.survey.fields.costs]
list = true
min = 1

[answers.survey.fields.costs.fields]
what = {type = "text"}
share = {type = "share"}
"""
    text = OWN.replace('answer = "estimate"', 'answer = "survey"').replace(ESTIMATE, shape)
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "sizing.toml").write_text(text)
    moot(tmp_path, "run", "Should the service move?", "--format", "sizing")
    (folder,) = (tmp_path / "records" / "debates").iterdir()
    said = json.loads((folder / "transcript.json").read_bytes())["turns"]
    assert [turn["status"] for turn in said] == ["ok"] * 4
    for turn in said:
        assert turn["data"]["size"] in ("small", "large")
        assert len(turn["data"]["parts"]) >= 2
        assert turn["data"]["costs"][0]["what"] in turn["text"]
    again = json.loads(moot(tmp_path, "replay", folder.name, "--json"))
    assert again["consistency"]["issues"] == []


def test_a_format_of_the_package_is_its_file_alone() -> None:
    """No line of Python knows the formats that came after the first five."""
    source = "".join(path.read_text() for path in (ROOT / "src/moot").rglob("*.py"))
    names = {path.stem for path in (ROOT / "src/moot/formats").glob("*.toml")} - {*FIRST}
    assert {"jury", "redteam"} <= names <= {*BUILT_IN}
    # the first is also the word for those who vote, in a debate of any format; evals ask the second
    names -= {"jury", "poll"}
    assert [name for name in names if re.search(rf"[\"']{name}[\"']", source)] == []
