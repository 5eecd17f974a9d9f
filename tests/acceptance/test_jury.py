"""A jury and its verdict, as people ask for them: in a terminal, over HTTP and in Python."""

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import moot
from moot.errors import InputError
from moot.settings import Settings
from tests import forked
from tests.acceptance.test_command_line import environment
from tests.integration.juries import jury_speaker
from tests.served import Served, served

MOTION = "Should a small team write its tests first?"
NOBODY = "debate_20200101_000000_aaaaaa"


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked.moot(environment(home), *words)


def told(home: Path, *words: str) -> dict[str, Any]:
    ran = run(home, *words)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


# --- in a terminal ---


def test_moot_run_with_a_jury_and_rejudge(tmp_path: Path) -> None:
    held = told(tmp_path, "run", MOTION, "--format", "duel", "--jury", "3", "--no-swap", "--json")
    assert [seat["id"] for seat in held["jury"]["seats"]] == ["juror-1", "juror-2", "juror-3"]
    assert (held["jury"]["swap"], held["jury"]["baseline"]) == (False, True)
    assert held["packet"] is None
    assert held["verdict"]["jury"]["asked"] == 3
    assert told(tmp_path, "verdict", held["id"]) == held["verdict"]
    assert told(tmp_path, "show", held["id"], "--json")["verdict"] == held["verdict"]
    assert told(tmp_path, "replay", held["id"], "--json")["verdict"] == held["verdict"]
    folder = Path(held["folder"])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    again = told(tmp_path, "rejudge", held["id"], "--juror", "local", "--jury", "5", "--json")
    assert again["forked_from"]["id"] == held["id"]
    assert (again["usage"]["calls"], again["verdict"]["jury"]["asked"]) == (10, 5)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert told(tmp_path, "verdict", held["id"]) == held["verdict"]
    shown = run(tmp_path, "rejudge", held["id"])
    assert shown.returncode == 0
    assert "Juror 1, Juror 2, Juror 3: the understudy" in shown.stdout
    assert "Ada" not in shown.stdout.splitlines()[0]


def test_moot_council_with_a_jury(tmp_path: Path) -> None:
    held = told(tmp_path, "council", MOTION, "--juror", "local", "--no-baseline", "--json")
    assert len(held["jury"]["seats"]) == 1
    assert (held["jury"]["swap"], held["jury"]["baseline"]) == (True, False)
    assert held["packet"]["runId"] == held["id"]
    assert held["verdict"]["decidedBy"] == "jury"


def test_a_jury_that_cannot_be_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for words, said in (
        (("run", MOTION, "--jury", "12"), "jury.size"),
        (("run", MOTION, "--no-swap"), "How many jurors?"),
        (("run", MOTION, "--jury", "1", "--juror", "local", "--juror", "local"), "2 models for 1"),
        (("run", MOTION, "--juror", "opnai:x"), "openai"),
        (("council", MOTION, "--jury", "-1"), "jury.size"),
        (("rejudge", NOBODY), "There is no debate"),
    ):
        ran = run(tmp_path, *words)
        assert ran.returncode == 2, ran
        assert said in ran.stderr
    assert json.loads(run(tmp_path, "list", "--json").stdout) == []


def test_the_schema_of_a_verdict_is_published(tmp_path: Path) -> None:
    schema = told(tmp_path, "schema", "verdict")
    held = told(tmp_path, "run", MOTION, "--format", "duel", "--jury", "3", "--json")
    jsonschema_rs.Draft202012Validator(schema).validate(held["verdict"])
    assert "there are packet, verdict and format" in run(tmp_path, "schema", "x").stderr


def test_moot_outcome_and_who_knew_it(tmp_path: Path) -> None:
    held = told(tmp_path, "council", MOTION, "--json")["id"]
    assert run(tmp_path, "outcome", held).stdout == f"{held}: nothing noted.\n"
    assert run(tmp_path, "outcome", held, "right").stdout == f"{held}: right.\n"
    assert told(tmp_path, "outcome", held, "--json") == {"outcome": "right"}
    assert "1 of 10 outcomes are noted" in run(tmp_path, "outcome", "--summary").stdout
    assert run(tmp_path, "outcome", held, "open").stdout == f"{held}: nothing noted.\n"
    assert told(tmp_path, "outcome", "--summary", "--json")["noted"] == 0
    for words in (["outcome"], ["outcome", held, "--summary"], ["outcome", held, "perfect"]):
        assert run(tmp_path, *words).returncode == 2
    for _ in range(10):
        made = told(tmp_path, "rejudge", held, "--json")
        assert run(tmp_path, "outcome", made["id"], "right").returncode == 0
    said = run(tmp_path, "outcome", "--summary").stdout
    assert said.startswith("10 outcomes noted. Brier score: 0 is best, 0.25 is guessing.")
    assert "jury: local:understudy, local:understudy, local:understudy" in said
    assert "10 debates" in said


# --- over HTTP ---


def judged(server: Served, **asked: Any) -> dict[str, Any]:
    return server.wait(server.create(MOTION, format="duel", **asked)["id"])


def test_over_http_a_jury_is_asked_for_read_and_asked_again(tmp_path: Path) -> None:
    with served(tmp_path, jury_speaker(), model="openai:gpt-5") as server:
        jury = {"size": 3, "models": [], "swap": True, "baseline": True}
        made = judged(server, jury=jury)
        assert (len(made["jury"]["seats"]), made["progress"]["done"]) == (3, 6 + 9)
        verdict = server.http.get(f"/debates/{made['id']}/verdict").json()
        assert (verdict["outcome"], verdict["selected"]) == ("decided", "Against the motion")
        again = server.post(f"/debates/{made['id']}/rejudge", jury={"size": 1})
        assert again.status_code == 201
        assert again.headers["Location"] == f"/debates/{again.json()['id']}"
        assert again.json()["forked_from"]["id"] == made["id"]
        assert server.wait(again.json()["id"])["usage"]["calls"] == 2
        bare = server.http.post(
            f"/debates/{made['id']}/rejudge", headers={"Content-Type": "application/json"}
        )
        assert (bare.status_code, len(bare.json()["jury"]["seats"])) == (201, 3)
        council = server.post(
            "/debates/council", problem=MOTION, outputType="decision", jury={"size": 3}
        )
        assert council.status_code == 201
        assert server.wait(council.json()["id"])["outcome"]["outcome"] == "decided"
        planned = server.post("/plan", motion=MOTION, format="duel", jury=jury).json()
        assert planned["total"] == 6 + 9


def test_over_http_one_key_judges_once(tmp_path: Path) -> None:
    with served(tmp_path, jury_speaker(), model="openai:gpt-5") as server:
        made = judged(server)
        path, headers = f"/debates/{made['id']}/rejudge", {"Idempotency-Key": "one"}
        asked: dict[str, Any] = {"jury": {"size": 3}}
        first = server.http.post(path, json=asked, headers=headers).json()
        assert server.http.post(path, json=asked, headers=headers).json()["id"] == first["id"]
        other = server.http.post(path, json={"jury": {"size": 5}}, headers=headers)
        assert (other.status_code, other.json()["code"]) == (409, "DEBATE_ERR_STATE")
        another = judged(server)["id"]
        elsewhere = server.http.post(f"/debates/{another}/rejudge", json=asked, headers=headers)
        assert elsewhere.status_code == 409


def test_over_http_what_cannot_be_is_said_in_a_sentence(tmp_path: Path) -> None:
    with served(tmp_path, jury_speaker(), model="openai:gpt-5") as server:
        waiting = server.create(MOTION, format="duel", jury={"size": 3}, start=False)["id"]
        plain = judged(server)["id"]
        for path, words in (
            (waiting, "There is no verdict yet; the debate is scheduled."),
            (plain, "A duel without a jury comes to no verdict. If somebody spoke, `moot rejudge"),
            (NOBODY, "There is no debate"),
        ):
            answer = server.http.get(f"/debates/{path}/verdict")
            assert answer.status_code == 404
            assert answer.json()["detail"].startswith(words)
        refused = server.post(f"/debates/{waiting}/rejudge")
        assert (refused.status_code, refused.json()["code"]) == (409, "DEBATE_ERR_STATE")
        assert "can be rejudged; this one is scheduled" in refused.json()["detail"]
        assert server.post(f"/debates/{NOBODY}/rejudge").status_code == 404
        for asked, field in (
            ({"jury": {"size": 12}}, "jury.size"),
            ({"jury": {"swap": False}}, "jury.swap"),
            ({"jury": {"models": ["opnai:x"]}}, "jury.models[0]"),
            ({"size": 3}, "size"),
        ):
            answer = server.post(f"/debates/{plain}/rejudge", **asked)
            assert (answer.status_code, answer.json()["field"]) == (422, field)


# --- in Python ---


def test_in_python(tmp_path: Path) -> None:
    settings, speaker = Settings(home=tmp_path, model="openai:gpt-5"), jury_speaker()
    held = moot.run(
        MOTION, format="duel", jury={"size": 3, "baseline": False}, settings=settings,
        speaker=speaker,
    )  # fmt: skip
    assert held.verdict
    assert held.verdict["selected"] == "Against the motion"
    speaker.calls.clear()
    again = moot.rejudge(held.id, jury={"models": ["claude"]}, settings=settings, speaker=speaker)
    assert again.verdict
    assert (again.verdict["jury"]["asked"], len(speaker.calls)) == (1, 2)
    request = {"problem": MOTION, "outputType": "decision", "jury": {"size": 3}}
    told = moot.run_debate_mode(request, settings=settings, speaker=speaker)
    assert told["verdict"]["jury"]["asked"] == 3
    with pytest.raises(InputError):
        moot.run(MOTION, jury={"size": 99}, settings=settings, speaker=speaker)
