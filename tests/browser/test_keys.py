"""Shortcuts, the palette, and addresses that people type."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.browsing import Stage, line, violations, visit
from tests.browser.test_access import tab_to
from tests.served import Served, served


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage(lambda call: f"{line(call)} {'and so on ' * 60}")


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("keys") / "home", stage) as found:
        yield found


@pytest.fixture(scope="module")
def debate_id(moot: Served) -> str:
    found = moot.create("Do keys suffice?", format="classic")["id"]
    moot.wait(found)
    return found


def focused(page: Page) -> str:
    return page.evaluate("() => document.activeElement.id")


def test_from_the_question_to_the_outcome_without_a_mouse(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    stage.held = True
    with visit(browser, moot.url) as tab:
        page = tab.open("/")
        press = page.keyboard.press
        page.get_by_role("heading", level=1).wait_for()
        expect(page.locator(".cast")).to_contain_text("Ada")  # the models are known
        box = page.get_by_label("What is the question?")
        tab_to(page, "What is the question?")
        page.keyboard.type("Can n, j and k be typed / not obeyed?")
        expect(box).to_have_value("Can n, j and k be typed / not obeyed?")
        press("Shift+Enter")  # a new line, and no debate
        expect(box).to_have_value("Can n, j and k be typed / not obeyed?\n")
        press("Backspace")
        tab_to(page, "change")  # who speaks
        press("Enter")
        tab_to(page, "Ada")
        page.keyboard.type("openai:gpt-6-luna")
        press("Escape")  # the list of models
        expect(page.locator(".cast")).to_contain_text("Ada: gpt-6-luna")
        tab_to(page, "Debate", key="Shift+Tab")
        press("Enter")
        page.wait_for_url("**/d/*")
        expect(page.locator("[data-state=speaking]")).to_be_visible()  # watch it
        stage.held = False
        expect(page.get_by_text("All rounds are complete.")).to_be_visible()
        turns: list[str] = page.locator("article.turn").evaluate_all("all => all.map(x => x.id)")
        for _ in turns:
            press("k")
        expect(page.locator("article.turn").first).to_be_focused()
        for seen in turns[1:]:
            press("j")
            expect(page.locator(f"#{seen}")).to_be_focused()
            expect(page.locator(f"#{seen}")).to_be_in_viewport()
        press("j")  # there is no further one
        assert focused(page) == turns[-1]
        press("Control+k")
        expect(page.get_by_label("Words of a debate, or a screen")).to_be_focused()
        page.keyboard.type("outcome")
        press("Enter")
        page.wait_for_url("**/outcome")
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_the_list_the_help_and_the_palette(browser: Browser, moot: Served, debate_id: str) -> None:
    other = moot.create("Is another one there?", format="duel", start=False)["id"]
    with visit(browser, moot.url) as tab:
        page = tab.open("/")
        press = page.keyboard.press
        expect(page.locator("a[data-id]").first).to_be_visible()
        listed = page.locator("a[data-id]").evaluate_all("all => all.map(one => one.dataset.id)")
        for press_key, place in (("j", 0), ("j", 1), ("k", 0), ("k", 0)):
            press(press_key)
            expect(page.locator(f"a[data-id={listed[place]}]")).to_be_focused()
        press("Enter")
        page.wait_for_url(f"**/d/{other}")
        press("/")
        expect(page.get_by_label("Search debates")).to_be_focused()
        page.keyboard.type("j?/n")  # a field takes them all
        expect(page.get_by_label("Search debates")).to_have_value("j?/n")
        press("Control+k")  # also this
        expect(page.get_by_role("dialog")).to_be_hidden()
        press("Escape")
        press("Tab")
        while page.evaluate("() => document.activeElement.localName === 'select'"):
            press("Tab")  # past the filters, which take keys too
        press("?")
        help_ = page.get_by_role("dialog", name="Keyboard shortcuts")
        expect(help_).to_be_visible()
        assert violations(page) == []
        press("n")  # a dialog takes them too
        expect(help_).to_be_visible()
        press("Space")  # the first control there: single keys are off now
        press("Escape")
        expect(help_).to_be_hidden()
        press("n")
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        press("?")
        press("Control+k")  # not a single key
        palette = page.get_by_role("dialog", name="Go to")
        expect(palette).to_be_visible()
        expect(help_).to_be_hidden()
        page.keyboard.type("suffice keys")
        expect(palette.get_by_role("option")).to_have_text(["Do keys suffice? Completed"])
        assert violations(page) == []
        press("Enter")
        page.wait_for_url(f"**/d/{debate_id}")
        page.get_by_role("button", name="Keyboard shortcuts").click()
        page.get_by_label("Use single-key shortcuts").check()
        press("Escape")
        expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_focused()


def test_on_a_narrow_screen_the_search_is_at_home(
    browser: Browser, moot: Served, debate_id: str
) -> None:
    with visit(browser, moot.url, viewport={"width": 390, "height": 800}) as tab:
        page = tab.open(f"/d/{debate_id}")
        expect(page.locator("article.turn").first).to_be_visible()
        page.keyboard.press("/")
        expect(page.get_by_label("Search debates")).to_be_focused()
        assert page.url == f"{moot.url}/"


def test_an_address_that_a_person_types_shows_a_screen(
    browser: Browser, moot: Served, debate_id: str
) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/agents")
        expect(page.get_by_role("heading", level=1, name="Agents")).to_be_visible()
        page.goto(f"{moot.url}/debates/{debate_id}")
        expect(page.get_by_role("region", name="Transcript")).to_be_visible()
        assert page.url == f"{moot.url}/d/{debate_id}"
    assert moot.http.get("/agents", headers={"Accept": "text/html"}).json()["items"]
