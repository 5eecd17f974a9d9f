"""A verdict on the page: what it is, how the jury voted, who moved, and a jury asked afterwards."""

import json
import re
from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import juries
from tests.browser.browsing import Stage, before_verdicts, violations, visit
from tests.browser.juries import AGAINST, SHIP, WAIT, hold, motion
from tests.served import Served, served

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 800}
NAMES = {
    "decided": "Decided",
    "contested": "Contested",
    "deadlock": "Deadlock",
    "facts": "Needs facts",
    "nobody": "No verdict",
}


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage(juries.says)


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("verdict") / "home", stage) as found:
        yield found


@pytest.fixture(scope="module")
def debates(moot: Served) -> dict[str, str]:
    made = {name: hold(moot, name) for name in (*NAMES, "flips", "overruled")}
    made["duel"] = hold(moot, "duel", format="duel")
    return made


def opened(tab: Any, debate_id: str) -> Page:
    page = tab.open(f"/d/{debate_id}/outcome")
    expect(page.get_by_role("heading", name="What it took")).to_be_visible()
    return page


def fact(page: Page, name: str) -> Locator:
    """What the first screen says under a title."""
    return (
        page.locator(".verdict .fact").filter(has=page.get_by_text(name, exact=True)).locator("dd")
    )


@pytest.mark.parametrize("name", NAMES)
def test_each_outcome_says_what_it_is(
    browser: Browser, moot: Served, debates: dict[str, str], name: str
) -> None:
    found = moot.http.get(f"/debates/{debates[name]}/verdict").json()
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates[name])
        verdict = page.locator(".verdict")
        expect(verdict.get_by_role("heading", level=2)).to_have_text(re.compile(NAMES[name]))
        expect(verdict.locator(".sentence")).to_have_text(re.compile(r"^[A-Z].+\.$"))
        # only what was decided is a heading, or has the sign of a decision
        is_decided = found["outcome"] == "decided"
        title = page.get_by_role("heading", level=1)
        expect(title).to_have_text(SHIP if is_decided else motion(name))
        expect(page.locator("tr.selected, .band.selected")).to_have_count(2 if is_decided else 0)
        expect(page.get_by_role("heading", name="Rejected options")).to_have_count(int(is_decided))
        if found["selected"] and not is_decided:
            expect(verdict.locator(".ahead")).to_contain_text(f"not decided: {found['selected']}")
        if not found["selected"]:
            expect(verdict.locator(".ahead")).to_have_count(0)


def test_heads_come_first_then_the_jury_and_what_it_said_alone(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["decided"])
        expect(fact(page, "Speakers")).to_contain_text("5 of 5 stood for it at the end")
        expect(fact(page, "Jury")).to_contain_text("3 of 3 voted for it: 3 for “Ship it”.")
        expect(fact(page, "Alone")).to_contain_text("2 for “Wait a quarter”, 1 for “Ship it”")
        expect(fact(page, "Alone")).to_contain_text("The debate changed the result.")
        expect(fact(page, "What would change it")).to_contain_text("A quarter with two outages.")
        expect(fact(page, "Cost")).to_contain_text("26 calls")
        order = page.locator(".verdict dt").all_inner_texts()
        assert order == [
            "Speakers", "Jury", "Judge", "Alone", "Dissent", "What would change it", "Warnings",
            "Cost",
        ]  # fmt: skip
        # then the options, and the figures last, behind a fold
        titles = page.get_by_role("heading", level=2).all_inner_texts()
        places = [
            next(n for n, t in enumerate(titles) if name in t)
            for name in ("Decided", "Options", "Why", "What it took")
        ]
        assert places == sorted(places)
        expect(page.locator(".plots")).to_be_hidden()
        page.locator("summary", has_text="Statistics").click()
        expect(page.locator(".plots")).to_be_visible()


def test_jurors_are_dots_that_move_and_a_flip_is_marked(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["flips"])
        drawing = page.get_by_role("img", name="Each juror’s choice.")
        expect(drawing.locator("g.now")).to_have_count(5)
        expect(drawing.locator("g.before")).to_have_count(10)
        expect(drawing.locator("path.line.moves")).to_have_count(3)
        expect(drawing.locator("path.line.flips")).to_have_count(1)
        expect(drawing.locator(".flag-text")).to_have_text("flip")
        said = str(drawing.get_attribute("aria-label"))
        assert (
            "Juror 2: before the debate: Wait a quarter; one order: Ship it; other order: Ship it."
            in said
        )
        assert (
            "Juror 1: before the debate: Ship it; one order: Ship it; other order: Wait a quarter; "
            "it flipped" in said
        )
        expect(fact(page, "Jury")).to_contain_text("4 of 5 voted for it")
        expect(fact(page, "Jury")).to_contain_text(
            "Juror 1 chose differently when the order changed"
        )
        # the same in words, with a way to each ballot
        page.get_by_text("The ballots in words").click()
        ballots = page.locator(".ballots > li")
        expect(ballots.nth(0)).to_contain_text("flipped with the order: it abstains")
        ballots.nth(1).locator("a.cite").click()
        expect(page.locator("article.juror:focus")).to_contain_text("Voted for")


def test_dots_rest_where_motion_is_not_wanted(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    place = "all => all.map(one => getComputedStyle(one).transform)"
    with visit(browser, moot.url, reduced_motion="reduce") as tab:
        page = opened(tab, debates["flips"])
        dots = page.locator(".plot g.now")
        expect(dots.first).to_be_visible()
        assert page.evaluate("() => document.getAnimations().length") == 0
        still = dots.evaluate_all(place)
        expect(page.get_by_role("button", name="Show the moves again")).to_be_hidden()
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["flips"])
        page.get_by_role("button", name="Show the moves again").click()
        page.wait_for_function(
            "() => document.getAnimations().some(one => one.animationName?.includes('travel'))"
        )
        page.evaluate("() => document.getAnimations().forEach(one => one.finish())")
        assert page.locator(".plot g.now").evaluate_all(place) == still


def test_ballots_that_failed_are_shown_as_such(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["nobody"])
        expect(page.locator(".label.none")).to_have_text("No valid ballot")
        expect(fact(page, "Jury")).to_contain_text("1 of 3 gave no valid ballot.")
        page.goto(f"{moot.url}/d/{debates['nobody']}")
        failed = page.locator("article.juror.failed")
        expect(failed).to_have_count(2)
        expect(failed.first).to_contain_text("No valid ballot. The model declined to answer.")


def test_what_is_missing_comes_first_if_facts_are(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["facts"])
        expect(fact(page, "Open questions").locator("li")).to_have_count(2)
        expect(fact(page, "Open questions")).to_contain_text("How many customers are waiting?")
        expect(page.locator(".label.undecided")).to_have_text("Undecided")


def test_favoured_and_selected_stand_side_by_side(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    found = moot.http.get(f"/debates/{debates['overruled']}/verdict").json()
    assert found["selected"] == WAIT
    assert found["support"]["favoured"]["option"] == SHIP
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["overruled"])
        sides = page.get_by_role("group", name="Selected and favoured").locator(".side")
        expect(sides.nth(0)).to_contain_text(f"{found['support']['heads']} of 5 stood for it")
        expect(sides.nth(0)).to_contain_text(WAIT)
        expect(sides.nth(1)).to_contain_text(
            f"{found['support']['favoured']['heads']} of 5 stood for it"
        )
        expect(sides.nth(1)).to_contain_text(SHIP)


def test_options_before_and_after_and_who_moved(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    found = moot.http.get(f"/debates/{debates['contested']}/verdict").json()
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["contested"])
        rows = page.get_by_role("region", name="Table of options").locator("tbody tr")
        expect(rows).to_have_count(len(found["options"]))
        for nth, option in enumerate(found["options"]):
            cells = rows.nth(nth).locator("td")
            for cell, of in enumerate(("round1", "final", "jury")):
                names, total = option[of], 3 if of == "jury" else 5
                expect(cells.nth(cell)).to_contain_text(f"{len(names)} of {total}")
                expect(cells.nth(cell).locator("i.on")).to_have_count(len(names))
        expect(page.locator("main")).to_contain_text("Counted word for word")
        move = page.locator(".moved li")
        expect(move).to_have_count(1)
        expect(move).to_contain_text("Critic")
        expect(move.locator(".from")).to_have_text(WAIT)
        expect(move.locator(".to")).to_have_text(SHIP)
        expect(move).to_contain_text("because The sums hold.")


def test_a_duel_with_a_jury_has_an_outcome_and_no_packet(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["duel"])
        expect(page.get_by_role("heading", level=1)).to_have_text(AGAINST)
        expect(page.locator(".verdict")).to_contain_text("3 of 3 voted for it")
        expect(page.locator(".document")).to_have_count(0)
        expect(page.get_by_text("There is no decision")).to_have_count(0)


def test_a_debate_from_before_there_were_verdicts_is_as_it_was(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    with visit(browser, moot.url) as tab:
        tab.context.route(f"**/debates/{debates['decided']}", before_verdicts)
        asked: list[str] = []
        tab.context.on("request", lambda request: asked.append(request.url))
        page = opened(tab, debates["decided"])
        expect(page.locator(".document .scores")).to_be_visible()
        expect(page.get_by_role("heading", name="What the debate changed")).to_be_visible()
        expect(page.locator(".verdict")).to_have_count(0)
        assert not [url for url in asked if url.endswith("/verdict")]


@pytest.mark.parametrize(("theme", "viewport"), [("light", WIDE), ("dark", PHONE)])
def test_axe_finds_nothing_on_a_verdict(
    browser: Browser, moot: Served, debates: dict[str, str], theme: Any, viewport: Any
) -> None:
    names = (
        ("decided", "flips", "overruled") if theme == "light" else ("contested", "facts", "nobody")
    )
    with visit(
        browser, moot.url, viewport=viewport, color_scheme=theme, reduced_motion="reduce"
    ) as tab:
        for name in names:
            page = opened(tab, debates[name])
            for fold in page.locator("details").all():
                fold.evaluate("one => { one.open = true }")
            page.get_by_role("button", name="Ask a jury").click()
            expect(page.get_by_role("dialog")).to_be_visible()
            assert violations(page) == [], name
            page.keyboard.press("Escape")
            assert violations(page) == [], name
            assert page.locator(".outcome").evaluate("one => one.scrollWidth <= one.clientWidth")
            page.close()
        page = tab.open(f"/d/{debates['nobody']}")
        expect(page.locator("article.juror").first).to_be_visible()
        for fold in page.locator("article.juror details").all():
            fold.evaluate("one => { one.open = true }")
        assert violations(page) == []


def test_a_jury_asked_afterwards_by_keyboard(
    browser: Browser, moot: Served, debates: dict[str, str], stage: Stage
) -> None:
    before = moot.http.get(f"/debates/{debates['contested']}/verdict").json()
    calls = len(stage.calls)
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["contested"])
        page.get_by_role("button", name="Ask a jury").focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Ask a jury")
        expect(dialog).to_contain_text("6 calls")
        dialog.get_by_label("Jury").select_option("3 jurors")
        dialog.get_by_role("button", name="Ask the jury").press("Enter")
        page.wait_for_url(lambda url: url.split("/")[-1] not in (debates["contested"], "outcome"))
        made = page.url.rpartition("/")[2]
        moot.wait(made)
        assert len(stage.calls) - calls == 6
        expect(page.get_by_role("link", name="Replay", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Run again")).to_have_count(0)
        page.get_by_role("link", name="See the outcome").click()
        expect(page.locator(".verdict")).to_contain_text("Contested")
        page.get_by_role("link", name="an earlier debate").click()
        expect(page).to_have_url(f"{moot.url}/d/{debates['contested']}/outcome")
    assert moot.http.get(f"/debates/{debates['contested']}/verdict").json() == before


def test_jurors_vote_apart_from_the_cast(browser: Browser, moot: Served, stage: Stage) -> None:
    stage.held = True
    debate_id = moot.create(
        motion("duel"), format="duel", jury={"size": 3}, limits={"max_turns": 2}
    )["id"]
    try:
        with visit(browser, moot.url) as tab:
            page = tab.open(f"/d/{debate_id}")
            expect(page.get_by_role("list", name="Cast").locator("li")).to_have_count(2)
            jury = page.get_by_role("list", name="Jury")
            expect(jury.locator("li")).to_have_count(3)
            expect(page.locator("[data-state=speaking]")).to_have_count(1)
            stage.held = False
            expect(page.get_by_role("link", name="See the outcome")).to_be_visible()
            ballots = page.locator("article.juror")
            expect(ballots).to_have_count(9)
            headings = page.locator("h2.place").all_inner_texts()
            assert [one.upper() for one in headings[-3:]] == [
                "JURY · BEFORE THE DEBATE", "JURY · ONE ORDER", "JURY · OTHER ORDER",
            ]  # fmt: skip
            first = ballots.first
            expect(first).to_contain_text("Voted for")
            expect(first).to_contain_text("confidence 0.80")
            expect(first.locator("ol")).to_be_hidden()
            first.get_by_text("Reasons").click()
            expect(first.locator("ol")).to_contain_text("What counts is what")
            expect(first).not_to_contain_text("Neutral")
    finally:
        stage.held = False


def test_who_is_voting_is_seen_while_they_vote(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stage = Stage(lambda call: _held(stage, call))
    with (
        served(tmp_path_factory.mktemp("voting") / "home", stage) as moot,
        visit(browser, moot.url) as tab,
    ):
        asked = {"format": "duel", "jury": {"size": 3}, "limits": {"max_turns": 2}}
        debate_id = moot.create(motion("duel"), **asked)["id"]
        page = tab.open(f"/d/{debate_id}")
        expect(page.locator(".voting")).to_contain_text("are voting: 9 ballots to come")
        expect(page.get_by_role("list", name="Jury").locator("[data-state=silent]")).to_have_count(
            0
        )
        expect(page.get_by_label("Stage and round")).to_have_text("Jury")
        expect(page.locator(".speaking")).to_have_count(0)
        stage.held = False
        expect(page.locator("article.juror")).to_have_count(9)
        expect(page.locator(".voting")).to_have_count(0)
        moot.wait(debate_id)


def _held(stage: Stage, call: Any) -> Any:
    """From the first ballot on, nobody comes to an end."""
    if call.step.reading and not any(one.step.reading for one in stage.calls[:-1]):
        stage.held = True
    return juries.says(call)


def test_a_jury_is_asked_for_when_a_debate_is_set_up(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        page.get_by_label("Motion").fill(motion("duel"))
        page.get_by_role("radio", name="Duel").check()
        expect(page.locator("label.card", has_text="Duel")).to_contain_text("About 6 turns")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_label("Jury", exact=True)).to_have_value(re.compile(".*"))
        expect(page.get_by_text("Jurors and how they vote")).to_have_count(0)
        page.get_by_label("Jury", exact=True).select_option("3 jurors")
        page.get_by_text("Jurors and how they vote").click()
        page.get_by_label("Juror 2").fill("local:understudy")
        page.get_by_label("Also vote alone").uncheck()
        early, refused = page.get_by_label("Stop early"), page.get_by_text("different families")
        early.check()
        expect(refused).to_be_visible()  # one model has all seats
        early.uncheck()
        expect(refused).to_have_count(0)
        expect(page.get_by_text("12 calls")).to_be_visible()  # 6, and 2 ballots of each
        expect(page.get_by_text("Jury:")).to_be_visible()
        page.reload()  # what was entered stays
        expect(page.get_by_label("Jury", exact=True)).to_have_value(re.compile(".*"))
        page.get_by_text("Jurors and how they vote").click()
        expect(page.get_by_label("Juror 2")).to_have_value("local:understudy")
        expect(page.get_by_label("Also vote alone")).not_to_be_checked()
        with page.expect_request(
            lambda one: one.method == "POST" and one.url.endswith("/debates")
        ) as sent:
            page.get_by_role("button", name="Start the debate").click()
        asked = json.loads(str(sent.value.post_data))["jury"]
        assert asked == {"size": 3, "models": ["local:understudy"], "swap": True, "baseline": False}
        page.wait_for_url("**/d/*")
        debate = moot.wait(page.url.rpartition("/")[2])
        assert len(debate["jury"]["seats"]) == 3
        assert debate["jury"]["baseline"] is False
        assert debate["outcome"]["outcome"] == "decided"
