"""What the page weighs: its first load, a long debate, a fast one."""

import gzip
import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, Page, expect

from moot.api.app import make_app
from tests.browser import browsing
from tests.browser.browsing import ROOT, STATIC, Stage, line, spoken, visit
from tests.served import Served, served
from tests.stress import STRESS

MOST_BYTES = 120_000
MOST_TASK = 50  # milliseconds of the page's main thread: what a slow machine cannot make longer
MOST_BUSY = 1000
TURNS = 2000 if STRESS else 800
TEXT = "A point, made in **some** words, as a model would make it; " * 6 + "\n\n- one\n- two\n"


def test_the_first_load_is_small() -> None:
    index = (STATIC / "index.html").read_text()
    files = set(re.findall(r'(?:src|href)="/(assets/[^"]+)"', index))
    scripts = [name for name in files if name.endswith(".js")]
    for name in scripts:  # what they import at once comes with them; what is lazy does not
        source = (STATIC / name).read_text()
        files |= {f"assets/{x}" for x in re.findall(r'from\s*"\./([^"]+\.js)"', source)}
        files |= {f"assets/{x}" for x in re.findall(r"(worker-[\w-]+\.js)", source)}
    sizes = {name: len(gzip.compress((STATIC / name).read_bytes())) for name in files}
    assert sum(sizes.values()) <= MOST_BYTES, sizes
    assert not re.search(r"(?:src|href)=\"(?:https?:|data:)", index)


def test_the_types_are_those_of_the_service() -> None:
    kept = json.loads((ROOT / "web/openapi.json").read_text())
    kept["info"].pop("version")
    now = make_app(cast(Any, None)).openapi()
    now = json.loads(json.dumps(now))
    now["info"].pop("version")
    assert kept == now, "run `make web`: web/openapi.json is not what the service says"


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Served, str]]:
    """A debate of very many turns."""
    stage = Stage(lambda call: f"{line(call)} {TEXT}")
    with served(tmp_path_factory.mktemp("long") / "home", stage) as moot:
        debate = moot.create(format="standard", options={"rounds": 0}, limits={"max_turns": TURNS})
        moot.wait(debate["id"])
        yield moot, debate["id"]


def scroll_through(page: Page) -> None:
    scroller = page.get_by_role("region", name="Transcript")
    scroller.hover()
    for _ in range(40):
        page.mouse.wheel(0, 900)
        page.wait_for_timeout(16)
    for share in (0.25, 0.5, 0.9, 0.1):
        scroller.evaluate("(one, share) => one.scrollTo(0, one.scrollHeight * share)", share)
        page.wait_for_timeout(120)


def test_a_debate_of_many_turns_opens_and_scrolls(
    browser: Browser, long: tuple[Served, str]
) -> None:
    moot, debate_id = long
    found: list[tuple[float, float]] = []
    for _ in range(3):  # the machine has other things to do: the best of three counts
        with visit(browser, moot.url) as tab:
            page = tab.open("about:blank")
            with browsing.tasks(browser, page) as opening:
                page.goto(f"{moot.url}/d/{debate_id}")
                expect(page.locator("article.turn .text p").first).to_be_visible()
            with browsing.tasks(browser, page) as scrolling:
                scroll_through(page)
            page.locator("article.turn").nth(TURNS - 1).wait_for(state="attached")
            assert len(spoken(page)) == TURNS
            opened, longest = sum(opening), max(opening[0], scrolling[0])
            print(f"opened in {opened:.0f} ms of work; the longest task took {longest:.0f} ms")
            found.append((opened, longest))
        if opened < MOST_BUSY and longest <= MOST_TASK:
            break
    assert min(opened for opened, _ in found) < MOST_BUSY
    assert min(task for _, task in found) <= MOST_TASK


def test_200_tokens_a_second_leave_room_for_typing(browser: Browser, tmp_path: Path) -> None:
    stage = Stage(lambda call: "token " * 1500, a_second=250)
    with served(tmp_path / "home", stage) as moot, visit(browser, moot.url) as tab:
        debate = moot.create(format="duel")
        page = tab.open(f"/d/{debate['id']}")
        speech = page.locator(".speaking p").first
        speech.wait_for()
        wanted = "the quick brown fox jumps over the lazy dog"
        with browsing.tasks(browser, page) as busy:
            begun = len(speech.inner_text())
            page.get_by_label("Search debates").press_sequentially(wanted, delay=25)
            expect(page.get_by_label("Search debates")).to_have_value(wanted)
            page.wait_for_function(
                "begun => document.querySelector('.speaking p').innerText.length > begun + 600",
                arg=begun,
            )  # it went on meanwhile
            grown = len(speech.inner_text()) - begun
        print(f"{grown // 6} tokens meanwhile; busiest tasks {[round(ms) for ms in busy[:5]]} ms")
        assert busy[0] <= MOST_TASK
        moot.post(f"/debates/{debate['id']}/stop")
        moot.post(f"/debates/{debate['id']}/end")
        stage.a_second = 0
