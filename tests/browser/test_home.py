"""The first page: a question, who will debate it, the example, and the settings behind it."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from moot.testing.wires.wire_server import Wire
from tests.browser.browsing import Stage, line, violations, visit
from tests.patience import seconds
from tests.served import Served, served

OPENAI = {"OPENAI_API_KEY": "sk-o"}
CLAUDE = {"ANTHROPIC_API_KEY": "sk-a"}


@contextmanager
def wired() -> Generator[Wire]:
    """A server that speaks the vendors' wires, in a thread of its own."""
    wire, loop = Wire(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(seconds())

    try:
        run(wire.__aenter__())
        yield wire
        run(wire.__aexit__())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(seconds())
        loop.close()


@pytest.fixture(scope="module")
def wire() -> Generator[Wire]:
    with wired() as found:
        yield found


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """Nothing but the understudy."""
    with served(tmp_path_factory.mktemp("first") / "home") as found:
        yield found


def asked(page: Page, question: str) -> str:
    """Put a question by the box alone; the id of its debate."""
    page.get_by_label("What is the question?").fill(question)
    page.get_by_role("button", name="Debate", exact=True).click()
    page.wait_for_url("**/d/debate_*")
    return page.url.rpartition("/")[2]


@pytest.mark.parametrize(
    ("keys", "cast", "vendors"),
    [
        (OPENAI, "Ada: gpt-6.1-terra · Ben: gpt-6.1-terra", ["openai", "openai"]),
        (CLAUDE | OPENAI, "Ada: claude-sonnet-5-5 · Ben: gpt-6.1-terra", ["claude", "openai"]),
    ],
)
def test_the_box_alone_starts_a_debate_of_whoever_has_a_key(
    browser: Browser,
    tmp_path: Path,
    wire: Wire,
    keys: dict[str, Any],
    cast: str,
    vendors: list[str],
) -> None:
    urls: dict[str, Any] = {
        "OPENAI_BASE_URL": wire.url("openai"),
        "ANTHROPIC_BASE_URL": wire.url("claude"),
    }
    wire.requests.clear()
    with served(tmp_path / "home", **keys, **urls) as moot, visit(browser, moot.url) as tab:
        page = tab.open()
        expect(page.locator(".cast")).to_contain_text(cast)
        expect(page.get_by_text("No model is set up here")).to_have_count(0)
        made = moot.wait(asked(page, "Should we ship on Fridays?"))
        assert made["status"] == "completed"
        assert [seat["model"].partition(":")[0] for seat in made["participants"]] == vendors
        turns = moot.http.get(f"/debates/{made['id']}/turns").json()["items"]
        assert {turn["text"] for turn in turns} == {"The motion is sound. I stand by it."}
        expect(page.locator("article.turn").first).to_contain_text("The motion is sound.")
    assert {request.vendor for request in wire.requests} == set(vendors)


def test_a_model_that_is_set_without_its_key_is_named_as_what_is_missing(
    browser: Browser, tmp_path: Path
) -> None:
    unkeyed = served(tmp_path / "home", model="openai:gpt-6-luna")
    with unkeyed as moot, visit(browser, moot.url) as tab:
        page = tab.open()
        expect(page.locator(".cast")).to_contain_text("Ada: gpt-6-luna")
        expect(page.get_by_text("openai:gpt-6-luna cannot be called yet")).to_be_visible()
        expect(page.get_by_text("export OPENAI_API_KEY=…")).to_be_visible()
        expect(page.get_by_text("No model is set up here")).to_have_count(0)


def test_a_newcomer_sees_one_way_to_begin(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open()
        expect(page.locator(".cast")).to_contain_text("the understudy, which is not a model")
        expect(page.get_by_test_id("estimate")).to_have_text("6 calls · free, on this machine")
        expect(page.get_by_role("button", name="Debate", exact=True)).to_have_count(1)
        expect(page.get_by_role("link", name="New debate")).to_have_count(0)
        expect(page.get_by_text("No debates yet.")).to_be_hidden()
        expect(page.get_by_text("export ANTHROPIC_API_KEY=…")).to_be_visible()
        assert "ANTHROPIC" not in "".join(page.locator("main p").all_inner_texts())
        assert not violations(page)
        page.get_by_role("button", name="Debate", exact=True).click()
        expect(page.get_by_text("Write a question first.")).to_be_visible()
        box = page.get_by_label("What is the question?")
        expect(box).to_be_focused()
        examples = page.get_by_role("list", name="Example questions").get_by_role("button")
        expect(examples).to_have_count(4)
        chosen = examples.first.inner_text()
        examples.first.click()
        expect(box).to_have_value(chosen)
        expect(box).to_be_focused()
        page.reload()  # what was written stays
        expect(box).to_have_value(chosen)
        page.get_by_role("link", name="More options").click()
        expect(page.get_by_label("Motion")).to_have_value(chosen)


def test_a_phone_shows_the_box_and_nothing_overflows(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url, viewport={"width": 360, "height": 700}) as tab:
        for path in ("/", "/example", "/studio/settings"):
            page = tab.open(path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.get_by_role("link", name="Settings")).to_be_in_viewport()
            wide = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
            assert wide[0] <= wide[1], path
            page.close()


def test_the_cast_is_changed_in_place(browser: Browser, tmp_path: Path) -> None:
    stage = Stage(line)
    with (
        served(tmp_path / "home", stage, **CLAUDE, **OPENAI) as moot,
        visit(browser, moot.url) as tab,
    ):
        page = tab.open()
        page.get_by_role("button", name="change who speaks").click()
        page.get_by_role("button", name="Fast and cheap").click()
        cast = page.locator(".cast")
        expect(cast).to_contain_text("Ada: gpt-6-luna · Ben: claude-haiku-5-5")
        page.get_by_role("button", name="Best available").click()
        expect(cast).to_contain_text("Ada: gpt-6-astra · Ben: claude-fable-5-1")
        ben = page.get_by_role("combobox", name="Ben")
        ben.fill("son")
        page.keyboard.press("ArrowDown")
        assert not violations(page)
        page.keyboard.press("Enter")
        expect(ben).to_have_value("claude:claude-sonnet-5-5")
        expect(cast).to_contain_text("Ben: claude-sonnet-5-5")
        made = moot.wait(asked(page, "Who is it?"))
        models = [seat["model"] for seat in made["participants"]]
        assert models == ["openai:gpt-6-astra", "claude:claude-sonnet-5-5"]
        page = tab.open()  # the cast is kept, the question is not
        expect(page.get_by_label("What is the question?")).to_have_value("")
        expect(page.locator(".cast")).to_contain_text("Ben: claude-sonnet-5-5")
        page.get_by_role("button", name="change who speaks").click()
        page.get_by_role("combobox", name="Same for all").fill("openai:gpt-5")
        expect(page.locator(".cast")).to_contain_text("Ada: gpt-5 · Ben: gpt-5")
        page.get_by_role("combobox", name="Ada").fill("nobody:here")
        page.get_by_label("What is the question?").fill("And now?")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text('There is no provider "nobody"')


def test_the_example_is_labelled_and_not_kept(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open()
        page.get_by_role("link", name="See a finished example").click()
        expect(page.get_by_role("note")).to_contain_text("This is an example.")
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        expect(page.locator("article.turn")).to_have_count(13)
        expect(page.locator("article.turn").first).to_contain_text("example:no-model")
        page.get_by_role("link", name="turn 8").first.click()
        expect(page.locator("#turn-8")).to_be_in_viewport()
        assert not violations(page)
    assert moot.http.get("/debates").json()["items"] == []


def test_settings_hold_from_the_next_debate_on(browser: Browser, tmp_path: Path) -> None:
    with (
        served(tmp_path / "home", Stage(line), **CLAUDE) as moot,
        visit(browser, moot.url) as tab,
    ):
        page = tab.open("/studio/settings")
        page.get_by_role("combobox", name="Model 1").fill("cluade")
        page.get_by_label("Tokens per turn").fill("500")
        page.get_by_label("Total cost").fill("much")
        expect(page.get_by_text("An amount such as 0.50")).to_be_visible()
        page.get_by_label("Total cost").fill("1,5")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("the nearest is claude")).to_be_visible()
        assert not (moot.home / "settings.toml").exists()
        page.get_by_role("combobox", name="Model 1").fill("claude:claude-opus-5-5")
        page.get_by_role("button", name="Add a model").click()
        page.get_by_role("combobox", name="Model 2").fill("openai:gpt-5")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved. It holds for debates")).to_be_visible()
        assert not violations(page)
        page.get_by_role("link", name="Debates", exact=True).click()
        expect(page.locator(".cast")).to_contain_text("Ada: claude-opus-5-5 · Ben: gpt-5")
        made = moot.wait(asked(page, "By which rules?"))
        assert made["limits"]["max_turn_tokens"] == 500
        assert made["limits"]["max_cost_usd"] == 1.5
        page = tab.open("/studio/settings")
        expect(page.get_by_role("combobox", name="Model 2")).to_have_value("openai:gpt-5")
        expect(page.get_by_label("Total cost")).to_have_value("1.5")
    assert "sk-" not in (moot.home / "settings.toml").read_text()


NOTICES = """
window.shown = []
window.Notification = class {
  static permission = 'default'
  static async requestPermission() { window.asked = true; return (this.permission = 'granted') }
  constructor(title, options) { window.shown.push(title + ' ' + options.body) }
}
"""


def test_notifications_are_asked_for_on_a_click_and_tell_of_an_end(
    browser: Browser, tmp_path: Path
) -> None:
    stage = Stage(line)
    with served(tmp_path / "home", stage) as moot, visit(browser, moot.url) as tab:
        page = tab.open("/studio/settings", NOTICES)
        expect(page.get_by_role("button", name="Notify me when")).to_be_visible()
        assert page.evaluate("() => window.asked") is None
        page.get_by_role("button", name="Notify me when").click()
        expect(page.get_by_role("button", name="Stop notifying me")).to_be_visible()
        stage.held = True
        made = moot.create("Is it over?", format="duel")
        expect(page.locator(f"a[data-id={made['id']}]")).to_contain_text("Running")
        stage.held = False
        moot.wait(made["id"])
        page.wait_for_function("() => window.shown.length === 1")
        assert page.evaluate("() => window.shown") == ["Is it over? The debate is over: completed."]
