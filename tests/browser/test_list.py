"""Debates: the list that stays current."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.browsing import Stage, line, visit
from tests.patience import until
from tests.served import Served, served

MODEL = "local:fake"
IN_SIGHT = """rows => rows.filter(row => {
    const [own, list] = [row, row.closest('.items')].map(one => one.getBoundingClientRect())
    return own.top >= list.top && own.bottom <= list.bottom
}).length"""


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage(line)


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("list") / "home", stage) as found:
        yield found


def test_it_follows_a_debate_from_its_beginning_to_its_end(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open()
        expect(page.locator("header nav")).to_be_visible()
        stage.held = True
        debate = moot.create("Does the list stay current?", format="duel")
        row = page.locator(f"a[data-id={debate['id']}]")
        expect(row).to_contain_text("Running")
        expect(row).to_contain_text("Does the list stay current?")
        expect(row).to_contain_text("Duel · round 1: Ada is speaking")  # it has no end of its own
        expect(row).to_contain_text("0/6")
        bar = row.get_by_role("progressbar")
        expect(bar).to_have_attribute("aria-valuenow", "0")
        stage.held = False
        expect(row).to_contain_text("Completed")
        expect(row).to_contain_text("$0.0060 · Duel")
        expect(bar).to_have_count(0)
        expect(page.get_by_role("list", name="Today").locator("a").first).to_have_attribute(
            "data-id", debate["id"]
        )
        row.click()  # and it stands beside the open debate
        expect(page.get_by_role("heading", level=1)).to_have_text("Does the list stay current?")
        expect(row).to_have_attribute("aria-current", "page")
        expect(row).to_be_visible()


def test_filter_search_and_endless_scroll(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path / "home", Stage(line), model=MODEL) as many:
        for number in range(60):
            many.create(f"Motion number{number:03d}", format="duel", start=False)
        done = many.create("The one that was held", format="duel")
        many.wait(done["id"])
        query = {"model": MODEL, "limit": 100}
        until(lambda: len(many.http.get("/debates", params=query).json()["items"]) == 61)
        with visit(browser, many.url) as tab:
            page = tab.open()
            rows = page.locator("a[data-id]")
            expect(rows.first).to_contain_text("The one that was held")
            assert rows.count() < 60
            assert page.eval_on_selector_all("a[data-id]", IN_SIGHT) >= 15
            page.get_by_role("region", name="List of debates").focus()
            for _ in range(60):
                page.keyboard.press("End")
                if rows.count() == 61:
                    break
                page.wait_for_timeout(50)
            expect(rows).to_have_count(61)
            expect(rows.last).to_contain_text("number000")

            page.get_by_label("Filter by status").select_option("completed")
            expect(rows).to_have_count(1)
            page.get_by_label("Filter by status").select_option("")
            page.get_by_label("Filter by outcome").select_option("deadlock")
            expect(page.get_by_text("No debates match.")).to_be_visible()
            page.get_by_label("Filter by outcome").select_option("")
            page.get_by_label("Filter by format").select_option("duel")
            expect(rows.nth(30)).to_be_attached()
            page.get_by_label("Filter by model").select_option(MODEL)
            expect(rows.nth(30)).to_be_attached()
            page.get_by_label("Search debates").fill("ada in round")  # that was said in it
            expect(rows).to_have_count(1)
            expect(rows.first).to_contain_text("The one that was held")
            page.get_by_label("Filter by model").select_option("")
            page.get_by_label("Search debates").fill("number042")
            expect(rows).to_have_count(1)
            page.get_by_label("Search debates").fill("nowhere")
            expect(page.get_by_text("No debates match.")).to_be_visible()
            page.get_by_role("button", name="Show all").click()
            expect(rows.nth(30)).to_be_attached()


def test_degraded_and_failed_are_marked(browser: Browser, moot: Served, stage: Stage) -> None:
    from moot.errors import ProviderAuthError

    said, stage.says = stage.says, lambda call: ProviderAuthError("The key was refused.")
    try:
        paused = moot.create("One that fails", format="duel")
        moot.wait(paused["id"], "paused")
        limped = moot.create("One that limps", format="duel", on_failure="degrade")
        moot.wait(limped["id"])
        with visit(browser, moot.url) as tab:
            page = tab.open()
            expect(page.locator(f"a[data-id={paused['id']}]")).to_contain_text("Paused")
            expect(page.locator(f"a[data-id={paused['id']}]")).to_contain_text("The key")
            expect(page.locator(f"a[data-id={limped['id']}]")).to_contain_text("Degraded")
    finally:
        stage.says = said


def test_a_service_that_is_away_is_said_to_be(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path / "home") as gone, visit(browser, gone.url) as tab:
        gone.create("Who is there?", start=False)
        tab.context.route("**/events", lambda route: route.abort())  # else it comes back by itself
        page = tab.open(script="delete window.SharedWorker")
        expect(page.get_by_text("Who is there?")).to_be_visible()
        tab.context.route("**/debates?*", lambda route: route.abort())
        page.get_by_label("Search debates").fill("x")
        expect(page.get_by_text("The service is not responding.")).to_be_visible()
        tab.context.unroute("**/debates?*")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_text("No debates match.")).to_be_visible()
