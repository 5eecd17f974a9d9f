"""For everyone: by keyboard alone, with a screen reader, in any light, at any width."""

from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from moot.errors import ProviderAuthError, ProviderError
from moot.ports.model_call import Call
from tests.browser.browsing import Stage, line, violations, visit
from tests.served import Served, served
from tests.stress import STRESS

WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}
ZOOMED = {"width": 320, "height": 256}  # 1280 × 1024 at 400 %
LANDSCAPE = {"width": 844, "height": 390}


def says(call: Call) -> str | ProviderError:
    if "fail" in call.debate.motion:
        return ProviderAuthError("The key was refused. Set it, then restart the speaker.")
    return f"{line(call)} **Strong** words, and\n\n- a list\n- of [two](https://example.org)\n"


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("access") / "home", Stage(says)) as found:
        yield found


@pytest.fixture(scope="module")
def debates(moot: Served) -> dict[str, str]:
    made = {
        "done": moot.create(format="classic")["id"],
        "failed": moot.create("It will fail", format="duel")["id"],
        "limped": moot.create("It will fail, on", format="duel", on_failure="degrade")["id"],
        "waits": moot.create("It waits", format="duel", start=False)["id"],
    }
    moot.wait(made["failed"], "paused")
    for name in ("done", "limped"):
        moot.wait(made[name])
    return made


@pytest.mark.parametrize(("theme", "viewport"), [("light", WIDE), ("dark", PHONE)])
def test_axe_finds_nothing_on_any_screen(
    browser: Browser,
    moot: Served,
    debates: dict[str, str],
    theme: Any,
    viewport: Any,
) -> None:
    with visit(browser, moot.url, viewport=viewport, color_scheme=theme) as tab:
        page = tab.open("/")
        expect(page.locator("a[data-id]")).to_have_count(4)
        assert violations(page) == []
        for name in debates if STRESS else list(debates)[theme == "dark" :: 2]:  # each once
            page.goto(f"{moot.url}/d/{debates[name]}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            page.wait_for_timeout(150)
            assert violations(page) == [], name
        page.goto(f"{moot.url}/d/debate_20261115_120000_abcdef")
        expect(page.get_by_text("cannot be shown")).to_be_visible()
        assert violations(page) == []
        for path in ("/example", "/studio/settings"):
            page.goto(f"{moot.url}{path}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.locator("main [aria-busy]")).to_have_count(0)
            assert violations(page) == [], path
        page.goto(f"{moot.url}/new")
        page.get_by_role("button", name="Next").click()  # with something wrong
        assert violations(page) == []
        page.get_by_label("Motion").fill("Is it fine?")
        page.get_by_role("button", name="Next").click()
        page.get_by_text("Limits", exact=True).click()
        page.get_by_role("group", name="Seat 1").get_by_text("Bio (empty)").click()
        expect(page.get_by_text("Available models")).to_be_visible()
        assert violations(page) == []
        page.get_by_role("button", name="Back").click()
        page.get_by_role("radio", name="Council").check()
        page.get_by_role("button", name="Next").click()
        assert violations(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def tab_to(page: Page, name: str, most: int = 60, key: str = "Tab") -> None:
    """Press Tab, or another key, until the focus is on what has that name, as people do."""
    for _ in range(most):
        page.keyboard.press(key)
        found = page.evaluate(
            "() => (document.activeElement.getAttribute('aria-label') ?? "
            "document.getElementById(document.activeElement.getAttribute('aria-labelledby'))"
            "?.innerText ?? "
            "document.activeElement.labels?.[0]?.innerText ?? document.activeElement.innerText "
            "?? '').trim()"
        )
        if found.startswith(name):
            shown = page.evaluate(
                "() => getComputedStyle(document.activeElement).outlineStyle !== 'none' || "
                "document.activeElement.closest('label.card') !== null"
            )
            assert shown, f"the focus on {name} cannot be seen"
            return
    raise AssertionError(f"no {name} within {most} presses of Tab")


def test_a_debate_from_set_up_to_its_summary_by_keyboard_alone(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stage = Stage(line)
    stage.held = True
    home = tmp_path_factory.mktemp("keyboard") / "home"
    with served(home, stage) as moot, visit(browser, moot.url) as tab:
        page = tab.open("/")
        expect(page.get_by_role("link", name="More options")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        tab_to(page, "More options")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        tab_to(page, "Motion")
        page.keyboard.type("Can it all be done by keyboard?")
        tab_to(page, "Round table")
        page.keyboard.press("ArrowDown")  # standard → classic
        expect(page.get_by_role("radio", name="Classic")).to_be_checked()
        tab_to(page, "Next: the cast")
        page.keyboard.press("Enter")
        tab_to(page, "Start the debate")
        page.keyboard.press("Enter")
        page.wait_for_url("**/d/*")
        expect(page.locator("[data-state=speaking]")).to_be_visible()
        tab_to(page, "Transcript")
        tab_to(page, "Wrap up now")
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        expect(page.get_by_role("button", name="Wrap up now")).to_be_focused()
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("button", name="Keep going")).to_be_focused()
        page.keyboard.press("Tab")
        expect(dialog.get_by_role("button", name="Wrap up now")).to_be_focused()
        page.keyboard.press("Enter")
        moot.wait(page.url.rpartition("/")[2], "ending")
        stage.held = False  # not before: it could be over before it is ended
        expect(page.get_by_text("It was ended early, with a summary.")).to_be_visible()
        expect(page.locator("article.summary")).to_be_focused()


def test_new_turns_are_announced_not_every_word(browser: Browser, moot: Served) -> None:
    stage = Stage(lambda call: "word " * 8, a_second=40)
    stage.held = True
    with served(moot.home.parent / "told", stage) as live, visit(browser, live.url) as tab:
        debate = live.create(format="duel")
        page = tab.open(f"/d/{debate['id']}")
        page.locator("[data-state=speaking]").wait_for()
        stage.held = False
        region = page.locator("[aria-live=polite]")
        expect(region).to_contain_text("spoke, Duel, 8 words.")
        assert page.get_by_role("region", name="Transcript").get_attribute("aria-live") is None
        live.wait(debate["id"])


def test_colours_can_be_chosen_and_are_kept(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url, color_scheme="light") as tab:
        page = tab.open("/")
        paper = "() => getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(paper)
        for _ in range(2):
            page.get_by_role("button", name="Colours:").click()
        dark = page.evaluate(paper)
        assert dark != light
        page.reload()
        expect(page.locator("header")).to_be_visible()
        assert page.evaluate(paper) == dark


def test_reduced_motion_is_respected(browser: Browser, moot: Served) -> None:
    stage = Stage(line)
    stage.held = True
    home = moot.home.parent / "still"
    with served(home, stage) as live, visit(browser, live.url, reduced_motion="reduce") as tab:
        debate = live.create(format="duel")
        page = tab.open(f"/d/{debate['id']}")
        page.locator("[data-state=speaking]").wait_for()
        assert page.evaluate("() => document.getAnimations().length") == 0
        stage.held = False
        live.wait(debate["id"])


@pytest.mark.parametrize("viewport", [ZOOMED, LANDSCAPE], ids=["400 %", "landscape"])
def test_a_short_screen_is_for_the_transcript(
    browser: Browser, moot: Served, debates: dict[str, str], viewport: Any
) -> None:
    height = "one => one.clientHeight / innerHeight"
    done = debates["done"]
    with visit(browser, moot.url, viewport=viewport) as tab:
        for path in (f"/d/{done}", f"/d/{done}/replay"):
            page = tab.open(path)
            region = page.get_by_role("region", name="Transcript")
            expect(region).to_be_visible()
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert region.evaluate(height) >= 0.5, path
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
            assert violations(page) == []
            page.close()
    stage = Stage(lambda call: f"{line(call)} {'and so on ' * 60}")
    stage.held = True
    home = moot.home.parent / f"short-{viewport['width']}"
    with served(home, stage) as live, visit(browser, live.url, viewport=viewport) as tab:
        debate = live.create("M" * 200, format="duel")
        page = tab.open(f"/d/{debate['id']}")
        region = page.get_by_role("region", name="Transcript")
        expect(page.locator(".speaking p")).to_be_in_viewport()  # it follows what is said
        assert region.evaluate(height) >= 0.6
        controls = [
            page.get_by_role("button", name=one) for one in ("Add a note", "Pause", "Abort")
        ]
        boxes = [one.bounding_box() for one in controls]
        assert len({round(box["y"] + box["height"] / 2) for box in boxes if box}) == 1, boxes
        for one in controls:
            expect(one).to_be_in_viewport()
        page.get_by_role("button", name="Add a note").click()
        expect(page.get_by_role("textbox", name="A note")).to_be_in_viewport(
            ratio=0.9
        )  # room to write
        page.get_by_role("button", name="Not now").click()
        region.evaluate("one => one.scrollTo(0, 0)")
        expect(page.get_by_role("heading", level=1)).to_be_in_viewport()  # and nothing is lost
        page.goto(live.url)  # the question and the list scroll together
        expect(page.locator("a[data-id]")).to_be_visible()
        clipped = "one => one.scrollHeight > one.clientHeight + 1"
        for part in ("main", "main > *", "aside", "[aria-label='List of debates']"):
            assert not page.locator(part).first.evaluate(clipped), part
        stage.held = False
        live.wait(debate["id"])
