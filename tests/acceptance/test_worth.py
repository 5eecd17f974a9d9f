"""`moot plan` and `moot eval`, as people run them: at a home, and on a server."""

import json
from pathlib import Path

import pytest

from tests.acceptance.test_command_line import json_of, moot
from tests.served import served
from tests.stress import STRESS

PLANNED = ("plan", "Should we?", "--format", "duel", "-m", "openai:gpt-5")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_a_plan_says_what_a_debate_takes_and_makes_none(home: Path) -> None:
    keys = {"OPENAI_API_KEY": "sk-o"}
    told = moot(home, *PLANNED, env=keys)
    assert told.returncode == 0, told.stderr
    assert "6 turns, 6 calls if none fails." in told.stdout
    for name in ("tokens read", "tokens written", "cost", "time"):
        assert f"  {name}" in told.stdout
    plan = json_of(moot(home, *PLANNED, "--json", env=keys))
    spans = [plan["estimate"][name] for name in ("input_tokens", "output_tokens", "cost_usd")]
    assert all(0 < one["low"] < one["likely"] < one["high"] for one in spans)
    unknown = moot(home, *PLANNED[:-1], "openai:nobody", env=keys)
    assert "unknown" in unknown.stdout
    assert "Cost: price unknown." in unknown.stdout
    plan = json_of(moot(home, *PLANNED[:-1], "openai:nobody", "--json", env=keys))
    assert plan["estimate"].get("cost_usd") is None
    wrong = moot(home, *PLANNED, "--role", "Critic=openai", env=keys)
    assert wrong.returncode == 2
    assert "Add --format council." in wrong.stderr
    assert not list((home / "records" / "debates").glob("*"))


def test_an_eval_on_a_server_is_the_same_when_it_is_asked_again(home: Path, tmp_path: Path) -> None:
    items = [{"id": f"q{n}", "question": f"Is {n} <b>even</b>?", "options": ["yes", "no"],
              "answer": "no" if n % 2 else "yes"} for n in range(3)]  # fmt: skip
    data, page = tmp_path / "even.jsonl", tmp_path / "even.html"
    data.write_text("\n".join(map(json.dumps, items)))
    words = ("eval", str(data), "--arm", "single", "--arm", "jury", "-m", "local:understudy")
    with served(home) as server:
        there = {"MOOT_URL": server.url}
        plan = json_of(moot(tmp_path / "none", "plan", "So?", "--json", env=there))
        assert plan["estimate"]["calls"] == 6
        asked = {"motion": "So?", "format": "council", "depth": "auto",
                 "participants": [{"role": "Critic", "model": "claude"}]}  # fmt: skip
        deep = server.http.post("/plan", json=asked).json()["estimate"]
        assert deep["calls"] == 17 + 4
        first = json_of(moot(tmp_path / "none", *words, "--json", "--page", str(page), env=there))
        again = json_of(moot(tmp_path / "none", *words, "--json", env=there))
        assert len(server.http.get("/debates").json()["items"]) == 6
        rated = json_of(moot(tmp_path / "none", "ratings", "--json", env=there))
        assert (rated["debates"], rated["strengths"]) == (3, [])
    assert again == first
    assert [one["arm"] for one in first["arms"]] == ["single", "jury"]
    html = page.read_text()
    assert "default-src &#x27;none&#x27;" in html
    assert "<script" not in html
    assert first["compared"] == 3


def test_what_an_eval_cannot_do_is_said_in_a_sentence(home: Path, tmp_path: Path) -> None:
    data = tmp_path / "one.jsonl"
    data.write_text('{"id": "a", "question": "q", "answer": "x"}')
    nowhere = str(tmp_path / "nowhere" / "page.html")
    cases = [
        (("--arm", "single", "--arm", "jury", "--page", nowhere), "nowhere is not a folder"),
        ((), "Name two or more arms"),
        (("--arm", "single", "--arm", "single"), "two arms are the same"),
        (("--arm", "vote@match", "--arm", "council"), "need each other"),
        (("--arm", "single", "--match", "council"), "need each other"),
        (("--arm", "single", "--arm", "duel"), "Add a jury"),
        (("--arm", "single", "--arm", "jury,audit=0.1"), "for a format with depth=auto"),
        (("--arm", "single", "--arm", "jury,depth=auto,audit=7"), "a share from 0 to 1"),
    ]
    for words, said in cases if STRESS else cases[::3]:  # a process each
        done = moot(home, "eval", str(data), *words)
        assert done.returncode == 2, words
        assert said in done.stderr
        assert "Traceback" not in done.stderr
