"""Formats of the user's own on the page: watched while they run, and read when they are decided."""

import json
from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from moot.ports.model_call import Call
from tests.acceptance.test_own_formats import COUNCILS_OWN, FORMATS
from tests.browser.browsing import Stage, assert_shows, violations, visit
from tests.integration.councils import answer
from tests.served import Served, served

MOTION = "Should the service move?"
SHOWN = {
    "review": (["Author", "Critic", "Referee"], ["Draft", "Doubts", "Ruling"], "Ship it"),
    "poll": (["Ada", "Ben", "Cleo"], ["Answers", "Vote"], "Move in spring"),
    "sizing": (["Ada", "Ben"], ["Sizes · round 1 of 2", "Sizes · round 2 of 2"], "Move now"),
}
"""Of each format: who speaks, how its parts are called, and what is decided."""


def says(call: Call) -> str:
    """An answer of the shape that is asked for."""
    cited = [turn.number for turn in call.heard[:2]]
    first = call.step.actor == "ada"
    shapes: dict[str, dict[str, Any]] = {
        "ballot": {
            "reasons": [{"text": "It is the calmest season.", "turns": cited, "quotes": []}],
            "against": {"text": "It is far away.", "turns": cited},
            "choice": "Move in spring",
            "confidence": 0.8,
            "wouldChange": "A cheaper winter.",
            "questions": [],
        },
        "estimate": {
            "because": "The lease ends, so waiting costs more than moving.",
            "low": "two weeks",
            "high": "five weeks",
            "position": "Move now",
            "confidence": 0.7,
            "risks": [{"text": "Something is left behind.", "severity": "low"}],
        },
    }
    made = shapes.get(call.step.answer) or answer(call) or {}
    if call.step.answer == "position" and call.debate.format == "poll":
        made |= {"position": "Move in spring" if first else "Stay"}
    return json.dumps(made)


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage(says)


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> Generator[Served]:
    home = tmp_path_factory.mktemp("own") / "home"
    (home / "formats").mkdir(parents=True)
    for name, text in FORMATS.items():
        (home / "formats" / f"{name}.toml").write_text(text)
    with served(home, stage) as found:
        yield found


@pytest.mark.parametrize("name", FORMATS)
def test_it_is_watched_decided_replayed_and_exported(
    browser: Browser, moot: Served, stage: Stage, name: str
) -> None:
    seats, parts, option = SHOWN[name]
    stage.held = True
    debate_id = moot.create(MOTION, format=name)["id"]
    moot.wait(debate_id, "running")
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate_id}")
        main = page.locator("main")
        expect(main).to_contain_text(parts[0].partition(" · ")[0])
        for seat in seats:
            expect(main).to_contain_text(seat)
        stage.held = False
        moot.wait(debate_id)
        turns = moot.http.get(f"/debates/{debate_id}/turns").json()["items"]
        assert_shows(page, turns)
        for part in parts:
            expect(main).to_contain_text(part)
        assert not COUNCILS_OWN.search(main.inner_text())

        page.goto(f"{moot.url}/d/{debate_id}/outcome")
        expect(page.get_by_role("heading", level=1)).to_have_text(option)
        expect(page.get_by_role("heading", name="What it took")).to_be_visible()
        # a warning calls whoever gives a verdict a judge, in any format
        page.locator(".warnings").evaluate_all("all => all.forEach(one => one.remove())")
        assert not COUNCILS_OWN.search(main.inner_text())
        for seat in seats:
            expect(page.locator(".speakers")).to_contain_text(seat)
        assert violations(page) == []
        with page.expect_download() as saved:
            page.get_by_role("button", name="Download as Markdown").click()
        assert option in saved.value.path().read_text()

    packet = moot.http.get(f"/debates/{debate_id}/packet").json()
    assert packet["decision"]["selectedOption"] == option
    assert [seat["role"] for seat in packet["participants"]] == seats
    again = moot.http.get(f"/debates/{debate_id}/replay").json()
    assert again["consistency"]["issues"] == []
    for kind in ("md", "html", "json"):
        assert option in moot.http.get(f"/debates/{debate_id}/export?as={kind}").text
