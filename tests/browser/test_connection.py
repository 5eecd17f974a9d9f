"""The streams: cut and taken up again, shared by the tabs, behind a token."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
from playwright.sync_api import Browser, expect

from moot.api.server import listen
from moot.ports.model_call import Call, Reply, Say
from tests.browser.browsing import Stage, assert_shows, line, spoken, visit
from tests.patience import until
from tests.served import served
from tests.stress import STRESS

WORD = "open sesame"


@contextmanager
def process(home: Path, port: int, a_second: int) -> Generator[subprocess.Popen[bytes]]:
    words = (str(home), str(port), str(a_second))
    running = subprocess.Popen([sys.executable, "-m", "tests.browser.browsing", *words])
    try:
        until(lambda: answers(port))
        yield running
    finally:
        running.kill()
        running.wait()


def answers(port: int) -> bool:
    with suppress(httpx2.HTTPError):
        return httpx2.get(f"http://127.0.0.1:{port}/healthz").is_success
    return False


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
            expect(page.get_by_text("All rounds are complete.")).to_be_visible()
            expect(page.get_by_text("Reconnecting …")).to_have_count(0)
            turns = httpx2.get(f"{url}/debates/{made['id']}/turns").json()["items"]
            assert len(turns) == 8
            assert_shows(page, turns)
            expect(page.locator(".speaking")).to_have_count(0)
            expect(page.locator(f"a[data-id={made['id']}]")).to_contain_text("Completed")


def settles_at(http: httpx2.Client, readers: int) -> bool:
    """Whether the server comes to count so many: it learns of a reader that left a little later."""
    return until(lambda: _readers(http) == readers, f"there were never {readers} readers")


def _readers(http: httpx2.Client) -> int:
    found = re.search(r"\nmoot_stream_readers(?:\{.*\})? ([0-9.]+)", http.get("/metrics").text)
    return int(float(found[1])) if found else -1


def test_tabs_share_one_stream_and_are_all_live(browser: Browser, tmp_path: Path) -> None:
    stage = Stage(line)
    stage.held = True
    with served(tmp_path / "home", stage) as moot, visit(browser, moot.url) as tab:
        debate = moot.create(format="standard", options={"rounds": 50})
        pages = [tab.open(f"/d/{debate['id']}") for _ in range(8 if STRESS else 3)]
        for page in pages:
            page.locator("[data-state=speaking]").first.wait_for()
            expect(page.get_by_text("● Live")).to_be_visible()
        assert settles_at(moot.http, 2)  # the debate's, and the list's
        pages[2].get_by_role("button", name="Abort").click()
        pages[2].get_by_role("dialog").get_by_role("button", name="Abort").click()
        stage.held = False
        for page in pages:
            expect(page.get_by_text("It was stopped.")).to_be_visible()
        turns = moot.http.get(f"/debates/{debate['id']}/turns").json()["items"]
        for page in pages:
            assert_shows(page, turns)
            page.close()


class Later(Stage):
    """After the first round, nobody speaks until all have come."""

    come = False

    async def speak(self, call: Call, say: Say) -> Reply:
        while call.step.round > 1 and not self.come:
            await asyncio.sleep(0.02)
        return await super().speak(call, say)


def test_more_tabs_than_connections_are_all_live(browser: Browser, tmp_path: Path) -> None:
    """More than the six that a browser opens to a host, each on a debate of its own."""

    stage = Later(line)
    with served(tmp_path / "home", stage) as moot, visit(browser, moot.url) as tab:
        debates = [moot.create(format="standard", options={"rounds": 3}) for _ in range(7)]
        pages = [tab.open(f"/d/{debate['id']}") for debate in debates]
        for page in pages:
            page.locator("article.turn").nth(1).wait_for()
        assert settles_at(moot.http, 5)  # four debates, and the list
        stage.come = True
        for page, debate in zip(pages, debates, strict=True):
            moot.wait(debate["id"])
            expect(page.get_by_text("All rounds are complete.")).to_be_visible()
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
        expect(page.get_by_text("It reached its turn limit.")).to_be_visible()
        assert len(spoken(page)) == 6


def test_a_token_is_asked_for_once_and_shared(browser: Browser, tmp_path: Path) -> None:
    stage = Stage(line)
    with served(tmp_path / "home", stage, WORD) as moot, visit(browser, moot.url) as tab:
        stage.held = True
        debate = moot.create("Who may read this?", format="duel")
        page = tab.open(f"/d/{debate['id']}")
        dialog = page.get_by_role("dialog", name="This service needs a token")
        dialog.get_by_label("Token").fill("wrong")
        dialog.get_by_role("button", name="Continue").click()
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
            expect(one.get_by_text("It reached its turn limit.")).to_be_visible()
            expect(one.get_by_role("dialog")).to_be_hidden()
