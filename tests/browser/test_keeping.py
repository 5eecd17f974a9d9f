"""Keeping debates: asked about, named, put away, deleted with second thoughts, and brought back."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.browsing import Stage, line, visit
from tests.patience import until
from tests.served import Served, served


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("keeping") / "home", Stage(line)) as found:
        yield found


def ended(moot: Served, motion: str) -> str:
    return moot.wait(moot.create(motion, format="duel")["id"], "completed")["id"]


def get(moot: Served, path: str) -> Any:
    return moot.http.get(path).json()


def press(page: Page, name: str) -> None:
    """By keyboard alone."""
    button = page.get_by_role("button", name=name, exact=True)
    button.focus()
    page.keyboard.press("Enter")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_debate_is_asked_named_archived_and_deleted_by_keyboard(
    browser: Browser, moot: Served, width: int
) -> None:
    debate_id = ended(moot, f"Do we keep this at {width}?")
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate_id}/outcome")
        page.set_viewport_size({"width": width, "height": 900})
        page.get_by_label("Question").focus()
        page.keyboard.type("What was said?")
        page.keyboard.press("Enter")
        answers = page.locator("section[aria-labelledby=followups] li")
        expect(answers).to_have_count(1)
        expect(answers).to_contain_text("What was said?")
        press(page, "Title and tags")
        page.get_by_label("Title", exact=True).fill(f"Kept at {width}")
        page.get_by_label("Tags", exact=True).fill("Work, home")
        page.keyboard.press("Enter")
        expect(page.locator(".kicker")).to_contain_text("#work")
        expect(page.locator(".kicker")).to_contain_text(f"Kept at {width}")
        press(page, "Archive")
        expect(page.get_by_role("button", name="List again")).to_be_visible()
        assert [one["id"] for one in get(moot, "/debates?archived=yes&tag=work")["items"]] == [
            debate_id
        ]
        press(page, "List again")
        expect(page.get_by_role("button", name="Archive", exact=True)).to_be_visible()
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, "nothing is wider than the screen"
        press(page, "Delete")
        row = page.locator(f"a[data-id={debate_id}]")
        expect(page.get_by_role("group", name="Deleted")).to_contain_text(f"Kept at {width}")
        expect(row).to_have_count(0)
        page.get_by_role("button", name="Undo").focus()
        page.keyboard.press("Enter")
        expect(row).to_have_count(1)
        assert get(moot, f"/debates/{debate_id}")["tags"] == ["home", "work"]


def test_who_closes_the_page_has_decided_and_a_zip_brings_it_back(
    browser: Browser, moot: Served, tmp_path: Path
) -> None:
    debate_id, other = ended(moot, "Shall it go?"), ended(moot, "Shall it come?")
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{other}/outcome")
        with page.expect_download() as saving:
            page.get_by_role("button", name="Download as Zip").click()
        zipped = tmp_path / "it.zip"
        saving.value.save_as(zipped)
        page.goto(f"{moot.url}/d/{debate_id}/outcome")
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_role("group", name="Deleted")).to_be_visible()
        page.goto("about:blank")
        until(lambda: debate_id not in {one["id"] for one in get(moot, "/debates")["items"]})
        page.goto(f"{moot.url}/studio/settings")
        page.get_by_label("Zip file").set_input_files(zipped)
        expect(page.get_by_text(f"{other} is here already")).to_be_visible()
