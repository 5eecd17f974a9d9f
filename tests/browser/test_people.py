"""People on the page: a seat, notes, a ballot, guests' links, forks and comparing, by keyboard."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.browsing import Stage, line, violations, visit
from tests.browser.test_access import tab_to
from tests.served import Served, served

WIDTHS = (390, pytest.param(1280, marks=pytest.mark.stress("a width of 390")))
SEATS = [{"name": "Me", "model": "human", "stance": "pro"}, {"name": "Ben", "stance": "con"}]
TOKEN = "a token of the house"  # noqa: S105  of this test alone


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage(line)


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("people") / "home", stage) as found:
        yield found


@pytest.fixture(autouse=True)
def on(stage: Stage) -> None:
    """A test that failed may have held the speaker."""
    stage.held = False


def begun(moot: Served, turns: int = 4, **more: Any) -> str:
    asked: dict[str, Any] = {"format": "duel", "participants": SEATS, **more}
    return moot.create(limits={"max_turns": turns}, **asked)["id"]


def shot(page: Page, name: str) -> None:
    """A picture to look at, where somebody wants one."""
    if folder := os.environ.get("MOOT_TEST_SHOTS"):
        width = (page.viewport_size or {"width": 0})["width"]
        page.screenshot(path=Path(folder) / f"{name}-{width}.png")


def turns_of(moot: Served, debate: str) -> list[dict[str, Any]]:
    return moot.http.get(f"/debates/{debate}/turns").json()["items"]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_person_speaks_interjects_forks_and_compares_by_keyboard(
    browser: Browser, moot: Served, stage: Stage, width: int
) -> None:
    size = {"width": width, "height": 800}
    may = ["clipboard-write", "clipboard-read"]
    with visit(browser, moot.url, viewport=size, permissions=may) as tab:
        debate = begun(moot)
        page = tab.open(f"/d/{debate}")
        press, mine = page.keyboard.press, page.get_by_label("Me, it is your turn")
        expect(mine).to_be_visible()
        expect(page.get_by_text("What you are asked")).to_be_visible()
        expect(page.locator("[data-seat=me]")).to_contain_text("a person")
        tab_to(page, "Me, it is your turn")
        page.keyboard.type("My first words")
        page.reload()  # a draft is kept
        expect(mine).to_have_value("My first words")
        shot(page, "turn")
        assert violations(page) == []
        other = tab.open(f"/d/{debate}")  # the same draft, and then another
        expect(other.get_by_label("Me, it is your turn")).to_have_value("My first words")
        other.get_by_label("Me, it is your turn").fill("Words of the other tab")
        stage.held = True
        page.bring_to_front()
        page.get_by_label("Me, it is your turn").fill("My first words.")
        press("Control+Enter")
        expect(page.locator("article.turn")).to_have_count(1)
        expect(other.get_by_text("came from elsewhere")).to_be_visible()
        expect(other.get_by_role("textbox", name="A note")).to_have_value("Words of the other tab")
        shot(other, "told")
        # interject, while Ben is speaking; the draft of the other tab waits here, too
        tab_to(page, "Add a note")
        press("Enter")
        expect(page.get_by_role("textbox", name="A note")).to_have_value("Words of the other tab")
        page.get_by_role("textbox", name="A note").fill("What of **cost**?")
        press("Control+Enter")
        expect(page.locator("article.note")).to_contain_text("What of cost?")
        stage.held = False
        expect(mine).to_be_visible()
        mine.fill("Words of the first tab")  # which spoke before: now the other one is faster
        other.bring_to_front()
        other.get_by_role("button", name="Back to Me").click()
        other.get_by_label("Me, it is your turn").fill("My last words.")
        stage.held = True
        other.keyboard.press("Control+Enter")
        page.bring_to_front()
        expect(page.get_by_text("came from elsewhere")).to_be_visible()
        other.close()
        stage.held = False
        expect(page.get_by_text("See the outcome")).to_be_visible()
        assert [one["text"] for one in turns_of(moot, debate) if one["model"] == "human"] == [
            "My first words.", "What of **cost**?", "My last words."
        ]  # fmt: skip
        shot(page, "spoken")
        # copy a turn, then go on from there with a model in my seat
        tab_to(page, "More for turn 1")
        press("Enter")
        tab_to(page, "Copy as Markdown")
        press("Enter")
        expect(page.get_by_role("dialog").get_by_text("Markdown copied.")).to_be_visible()
        copied: str = page.evaluate("() => navigator.clipboard.readText()")
        assert copied.startswith("> My first words.\n>\n> — Me (pro), a person, ")
        assert f"[turn 1]({moot.url}/d/{debate}#turn-1)" in copied
        tab_to(page, "From here with …")
        press("Enter")
        shot(page, "fork")
        assert violations(page) == []
        page.get_by_role("dialog").get_by_role("combobox", name="Me").focus()
        page.keyboard.type("claude:other")
        tab_to(page, "Continue from here")
        press("Enter")
        page.wait_for_url(lambda url: "/d/" in url and debate not in url)
        expect(page.get_by_text("See the outcome")).to_be_visible()
        tab_to(page, "Compare the two")
        press("Enter")
        expect(page.get_by_text("They share 1 turn")).to_be_visible()
        expect(page.locator(".pairs > li")).to_have_count(4)
        expect(page.get_by_role("row", name="Models")).to_contain_text("other")
        shot(page, "compare")
        assert violations(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_guest_has_a_page_of_its_own(
    browser: Browser, moot: Served, stage: Stage, width: int
) -> None:
    size = {"width": width, "height": 800}
    with visit(browser, moot.url, viewport=size) as tab:
        debate = begun(moot, 2)
        host = tab.open(f"/d/{debate}")
        host.get_by_role("button", name="Share").focus()
        host.keyboard.press("Enter")
        host.get_by_label("For", exact=True).select_option(label="Speaking for Me")
        host.get_by_role("button", name="Make a link").click()
        link = host.get_by_role("dialog").locator("code").inner_text()
        shot(host, "share")
        assert violations(host) == []
        guest = tab.open(link)
        expect(guest.get_by_label("Me, it is your turn")).to_be_visible()
        assert "moot_link" not in guest.url
        for name in ("Share", "Abort", "Pause", "Add a note", "A note instead"):
            expect(guest.get_by_role("button", name=name)).to_have_count(0)
        expect(guest.get_by_role("navigation")).to_have_count(0)
        shot(guest, "guest")
        assert violations(guest) == []
        guest.reload()
        guest.get_by_label("Me, it is your turn").fill("As a guest.")
        stage.held = True
        guest.route("**/say", lambda route: route.abort() if route.fetch() else None)
        guest.keyboard.press("Control+Enter")  # the words are taken, and the reply is lost
        expect(guest.get_by_text("It is not your turn.")).to_be_visible()
        expect(guest.get_by_role("alert")).to_be_visible()
        expect(guest.get_by_text("came from elsewhere")).to_have_count(0)
        stage.held = False
        expect(guest.locator("article.turn")).to_have_count(2)
        with guest.expect_download() as saving:
            guest.get_by_role("button", name="Download as Markdown").click()
        assert "As a guest." in saving.value.path().read_text()
        assert turns_of(moot, debate)[0]["text"] == "As a guest."
        other = begun(moot, 2)
        read = moot.post(f"/debates/{other}/links").json()
        reader = tab.open(read["path"])
        expect(reader.get_by_text("You read along by a link.")).to_be_visible()
        moot.http.delete(f"/debates/{other}/links/{read['id']}")
        expect(reader.get_by_text("This link was revoked")).to_be_visible()
        host.get_by_role("button", name="Revoke").click()
        expect(host.get_by_role("list", name="Links")).to_have_count(0)


def test_a_juror_fills_a_ballot(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url, viewport={"width": 390, "height": 800}) as tab:
        cast = [{"name": "Ada", "stance": "pro"}, {"name": "Ben", "stance": "con"}]
        jury = {"size": 1, "models": ["human"], "baseline": False, "swap": False}
        debate = begun(moot, 2, participants=cast, jury=jury)
        page = tab.open(f"/d/{debate}")
        form = page.get_by_role("form", name="Speak for Juror 1")
        form.get_by_text("What was said, without names").click()
        expect(form.get_by_text("Speaker A").first).to_be_visible()
        form.get_by_label("Text").first.fill("It was shown.")
        form.get_by_label("Turns").first.fill("1")
        form.get_by_label("Text").nth(1).fill("It may fail.")
        form.get_by_label("Turns").nth(1).fill("2")
        form.get_by_label("Choice").select_option("For the motion")
        form.get_by_label("Confidence").fill("0.7")
        page.reload()  # what was filled in is kept
        expect(form.get_by_label("Choice")).to_have_value("For the motion")
        shot(page, "ballot")
        assert violations(page) == []
        page.get_by_role("button", name="Cast it").click()
        expect(page.get_by_role("alert")).to_contain_text("wouldChange")
        form.get_by_label("Would change").fill("Another test.")
        page.get_by_role("button", name="Cast it").click()
        expect(page.get_by_text("See the outcome")).to_be_visible()
        vote = turns_of(moot, debate)[-1]
        assert (vote["model"], vote["data"]["choice"]) == ("human", "For the motion")
        assert vote["data"]["reasons"][0]["turns"] == [1]
