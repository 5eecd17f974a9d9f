"""The streams: cut and taken up again, shared by the tabs, behind a token."""

import re
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from playwright.sync_api import Browser, expect

from moot.api.server import listen
from tests.browser.browsing import Stage, assert_shows, line, spoken, visit
from tests.served import served

WORD = "open sesame"


@contextmanager
def process(home: Path, port: int, a_second: int) -> Generator[subprocess.Popen[bytes]]:
    words = (str(home), str(port), str(a_second))
    running = subprocess.Popen([sys.executable, "-m", "tests.browser.browsing", *words])
    try:
        until = time.monotonic() + 20
        while True:
            try:
                httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=1).raise_for_status()
                break
            except httpx2.HTTPError:
                assert time.monotonic() < until
                time.sleep(0.05)
        yield running
    finally:
        running.kill()
        running.wait()


def test_a_server_killed_and_restarted_in_the_middle(browser: Browser, tmp_path: Path) -> None:
    sock = listen("127.0.0.1", 0)
    port = sock.getsockname()[1]
    sock.close()
    home = tmp_path / "home"
    url = f"http://127.0.0.1:{port}"
    with visit(browser, url) as tab, process(home, port, 40) as first:
        asked = {"motion": "Does it come back?", "format": "standard", "options": {"rounds": 4}}
        made = httpx2.post(f"{url}/debates", json=asked).json()
        page = tab.open(f"/d/{made['id']}")
        page.locator("article.turn").nth(1).wait_for()
        page.locator("[data-state=speaking]").first.wait_for()
        first.kill()
        first.wait()
        expect(page.get_by_text("○ Reconnecting …")).to_be_visible()
        assert page.locator("article.turn").count() >= 2  # what was read is still there
        with process(home, port, 400):
            expect(page.get_by_text("All its rounds were spoken.")).to_be_visible(timeout=60_000)
            expect(page.get_by_text("Reconnecting …")).to_have_count(0)
            turns = httpx2.get(f"{url}/debates/{made['id']}/turns").json()["items"]
            assert len(turns) == 8
            assert_shows(page, turns)
            expect(page.locator(".speaking")).to_have_count(0)
            expect(page.locator(f"a[data-id={made['id']}]")).to_contain_text("Completed")


def readers(http: httpx2.Client) -> int:
    found = re.search(r"\nmoot_stream_readers(?:\{.*\})? ([0-9.]+)", http.get("/metrics").text)
    return int(float(found[1])) if found else -1


def test_eight_tabs_share_one_stream_and_are_all_live(browser: Browser, tmp_path: Path) -> None:
    stage = Stage(lambda call: f"{line(call)} " + "word " * 20, a_second=50)
    with served(tmp_path / "home", stage) as moot, visit(browser, moot.url) as tab:
        debate = moot.create(format="standard", options={"rounds": 50})
        pages = [tab.open(f"/d/{debate['id']}") for _ in range(8)]
        for page in pages:
            page.locator("[data-state=speaking]").first.wait_for()
            expect(page.get_by_text("● Live")).to_be_visible()
        assert readers(moot.http) == 2  # the debate's, and the list's
        pages[3].get_by_role("button", name="Stop", exact=True).click()
        pages[3].get_by_role("button", name="Stop for good").click()
        for page in pages:
            expect(page.get_by_text("It was stopped.")).to_be_visible()
        turns = moot.http.get(f"/debates/{debate['id']}/turns").json()["items"]
        for page in pages:
            assert_shows(page, turns)
            page.close()


def test_eight_tabs_on_eight_debates_are_all_live(browser: Browser, tmp_path: Path) -> None:
    """More than the connections that a browser opens to a host."""
    stage = Stage(lambda call: f"{line(call)} " + "word " * 10, a_second=50)
    with served(tmp_path / "home", stage) as moot, visit(browser, moot.url) as tab:
        debates = [moot.create(format="standard", options={"rounds": 40}) for _ in range(8)]
        pages = [tab.open(f"/d/{debate['id']}") for debate in debates]
        for page in pages:
            page.locator("article.turn").nth(1).wait_for()
        assert readers(moot.http) == 5  # four debates, and the list
        stage.a_second = 0
        for page, debate in zip(pages, debates, strict=True):
            moot.wait(debate["id"])
            expect(page.get_by_text("All its rounds were spoken.")).to_be_visible()
            turns = moot.http.get(f"/debates/{debate['id']}/turns").json()["items"]
            assert_shows(page, turns)


def test_without_a_shared_worker_the_page_streams_by_itself(
    browser: Browser, tmp_path: Path
) -> None:
    stage = Stage(line)
    stage.held = True
    with served(tmp_path / "home", stage) as moot, visit(browser, moot.url) as tab:
        debate = moot.create(format="duel")
        page = tab.open(f"/d/{debate['id']}", script="delete window.SharedWorker")
        page.locator("[data-state=speaking]").first.wait_for()
        stage.held = False
        expect(page.get_by_text("It reached its number of turns.")).to_be_visible()
        assert len(spoken(page)) == 6


def test_a_token_is_asked_for_once_and_shared(browser: Browser, tmp_path: Path) -> None:
    stage = Stage(line)
    with served(tmp_path / "home", stage, WORD) as moot, visit(browser, moot.url) as tab:
        stage.held = True
        debate = moot.create("Who may read this?", format="duel")
        page = tab.open(f"/d/{debate['id']}")
        dialog = page.get_by_role("dialog", name="This service needs a token")
        dialog.get_by_label("Token").fill("wrong")
        dialog.get_by_role("button", name="Go on").click()
        expect(dialog.get_by_text("That token was refused.")).to_be_visible()
        dialog.get_by_label("Token").fill(WORD)
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        expect(page.get_by_role("heading", level=1)).to_have_text("Who may read this?")
        expect(page.get_by_text("● Live")).to_be_visible()
        second = tab.open(f"/d/{debate['id']}")  # another tab has it from the first
        expect(second.get_by_role("heading", level=1)).to_have_text("Who may read this?")
        stage.held = False
        for one in (page, second):
            expect(one.get_by_text("It reached its number of turns.")).to_be_visible()
            expect(one.get_by_role("dialog")).to_be_hidden()
