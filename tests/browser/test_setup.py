"""Set up: the format with its options, the cast, what is wrong as one types."""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.browsing import Stage, line, violations, visit
from tests.served import Served, served


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("setup") / "home", Stage(line)) as found:
        yield found


def id_of(page: Page) -> str:
    page.wait_for_url("**/d/debate_*")
    return page.url.rpartition("/")[2]


def test_each_format_has_its_own_options_and_no_others(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        for title, options in {
            "Standard": ["Rounds"],
            "Classic": ["Free rounds"],
            "Custom": ["Rounds"],
            "Duel": ["Turns"],
            "Council": [],
        }.items():
            page.get_by_role("radio", name=title).check()
            found = page.locator("form input[type=number]")
            expect(found).to_have_count(len(options))
            for option in options:
                expect(page.get_by_label(option, exact=True)).to_be_visible()
        card = page.locator("label.card", has_text="Classic")
        expect(card).to_contain_text("Introduction → Opening → Rebuttal")
        expect(card).to_contain_text("About 22 turns")
        page.get_by_role("radio", name="Custom").check()
        page.get_by_label("Rounds", exact=True).fill("5")
        expect(page.locator("label.card", has_text="Custom")).to_contain_text("About 22 turns")


def test_what_is_wrong_is_said_as_one_types(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        page.get_by_role("radio", name="Custom").check()
        page.get_by_role("button", name="Next").click()
        motion = page.get_by_label("Motion")
        expect(page.get_by_text("Say what the debate is about.")).to_be_visible()
        expect(motion).to_be_focused()
        expect(motion).to_have_attribute("aria-invalid", "true")
        motion.fill("x" * 4001)
        expect(page.get_by_text("4,001 characters; the limit is 4,000.")).to_be_visible()
        motion.fill("Should we ship on Fridays?")
        expect(motion).to_have_attribute("aria-invalid", "false")
        page.get_by_label("Rounds", exact=True).fill("51")
        expect(page.get_by_text("Must be between 1 and 50.")).to_be_visible()
        page.get_by_label("Rounds", exact=True).fill("1")
        page.get_by_role("button", name="Next").click()

        second = page.get_by_role("group", name="Seat 2")
        second.get_by_label("Name").fill("ada")
        expect(second.get_by_text("This name is already taken.")).to_be_visible()
        page.get_by_role("button", name="Start the debate").click()
        expect(second.get_by_label("Name")).to_be_focused()
        second.get_by_label("Name").fill("Zoë")
        page.get_by_text("Limits", exact=True).click()
        page.get_by_label("Longest silence").fill("200")
        expect(page.get_by_text("Must be between 5 and 120.")).to_be_visible()
        page.get_by_label("Longest silence").fill("20")
        page.get_by_role("button", name="Start the debate").click()
        made = moot.wait(id_of(page))
        assert made["options"] == {"rounds": 1}
        assert made["limits"]["max_turn_seconds"] == 20
        assert [seat["name"] for seat in made["participants"]] == ["Ada", "Zoë"]
        assert made["host"]["name"] == "Host"


def test_the_last_cast_and_saved_agents_come_back(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        page.get_by_role("radio", name="Standard").check()
        page.get_by_label("Motion").fill("Who was here before?")
        page.get_by_role("button", name="Next").click()
        page.get_by_text("Include a host, who opens").uncheck()
        page.get_by_role("button", name="Add a seat").click()
        third = page.get_by_role("group", name="Seat 3")
        third.get_by_label("Name").fill("Marie")
        third.get_by_label("Stance").select_option("neutral")
        third.get_by_text("Bio (empty)").click()
        third.get_by_role("textbox", name="Bio").fill("Twice a laureate.")
        third.get_by_label("Model").fill("local:tiny")
        third.get_by_role("button", name="Save as agent").click()
        page.get_by_role("button", name="Start the debate").click()
        made = moot.wait(id_of(page))
        assert made["participants"][2] == {
            "id": "marie", "name": "Marie", "role": "participant", "stance": "neutral",
            "bio": "Twice a laureate.", "model": "local:tiny",
        }  # fmt: skip
        assert made["host"] is None
        kept = moot.http.get("/agents/marie").json()
        assert (kept["bio"], kept["model"]) == ("Twice a laureate.", "local:tiny")

        page.get_by_role("link", name="New debate").click()
        expect(page.get_by_role("radio", name="Standard")).to_be_checked()
        page.get_by_label("Motion").fill("And again?")
        page.get_by_role("radio", name="Duel").check()  # two seats, whoever else is kept
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_role("group", name="Seat 3")).to_have_count(0)
        page.get_by_role("button", name="Back").click()
        page.get_by_role("radio", name="Standard").check()
        page.get_by_role("button", name="Next").click()
        expect(
            page.get_by_role("group", name="Seat 3").get_by_label("Name", exact=True)
        ).to_have_value("Marie")
        first = page.get_by_role("group", name="Seat 1")
        first.get_by_label("use a saved agent").select_option("Marie")
        expect(first.get_by_role("textbox", name="Bio")).to_have_value("Twice a laureate.")


def test_providers_that_do_not_work_say_what_to_do(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        page.get_by_label("Motion").fill("Who can speak?")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_text("export OPENAI_API_KEY=…")).to_be_visible()
        assert "OPENAI" not in "".join(page.locator("main p").all_inner_texts())
        model = page.get_by_role("group", name="Seat 1").get_by_role("combobox", name="Model")
        model.click()
        option = page.get_by_role("option", name="openai:gpt-6-astra")
        expect(option).to_contain_text("not set up")
        expect(option).to_be_disabled()
        option.click(force=True)
        expect(model).to_have_value("")


def test_a_council_has_its_own_short_form(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        page.get_by_role("radio", name="Council").check()
        page.get_by_label("Problem").fill("Should we move to Postgres?")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_role("group", name="Seat 1")).to_have_count(0)
        page.get_by_label("Type of output").select_option("planning")
        page.get_by_label("Constraints").fill("no downtime\n\nby June")
        page.get_by_label("Critic").fill("local:sharp")
        page.get_by_role("button", name="Start the debate").click()
        made = moot.http.get(f"/debates/{id_of(page)}").json()
        assert made["format"] == "council"
        assert made["brief"]["output_type"] == "planning"
        assert made["brief"]["constraints"] == ["no downtime", "by June"]
        models = {seat["role"]: seat["model"] for seat in made["participants"]}
        assert models["Critic"] == "local:sharp"


MINE = """\
name = "mine"
title = "Workshop"
description = "An author proposes, a critic asks, a referee decides."
rules = "It is a workshop: a proposal is tested by one question and then decided."
on_failure = "degrade"

[outcome]
stands = ["draft"]
verdict = "ruling"

[[roster.roles]]
name = "Author"
brief = "Propose something that can be done."
model = "local:understudy"

[[roster.roles]]
name = "Critic"

[[roster.roles]]
name = "Referee"

[[stages]]
name = "draft"
title = "First draft"
speakers = ["Author"]
answer = "position"
ask = "Propose."

[[stages]]
name = "question"
speakers = ["Critic"]
answer = "challenge"
ask = "Ask the {target} what the proposal must answer."
targets = {Critic = "Author"}

[[stages]]
name = "ruling"
speakers = ["Referee"]
kind = "verdict"
answer = "verdict"
ask = "Decide."
"""


def test_a_format_of_ones_own_with_roles_runs_as_itself(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "formats"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(MINE)
    with served(tmp_path / "home") as moot, visit(browser, moot.url) as tab:
        page = tab.open("/new")
        page.get_by_role("radio", name="Workshop").check()
        page.get_by_label("Problem").fill("Should we move to Postgres?")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_role("group", name="Seat 1")).to_have_count(0)
        author = page.get_by_label("Author")
        expect(author).to_have_attribute("placeholder", "Format default (local:understudy)")
        expect(author).to_have_accessible_description("Propose something that can be done.")
        page.get_by_label("Critic").fill("nobody:here")
        expect(page.get_by_text("Unknown provider nobody")).to_be_visible()
        page.get_by_label("Critic").fill("local:understudy")
        page.get_by_label("Constraints").fill("no downtime")
        page.get_by_label("Record type").select_option("worklog")
        assert not violations(page)
        page.get_by_role("button", name="Start the debate").click()
        made = moot.wait(id_of(page))
        assert made["format"] == "mine"
        assert made["brief"] == {
            "output_type": "decision", "constraints": ["no downtime"],
            "writeback_record_type": "worklog",
        }  # fmt: skip
        expect(page.get_by_text("It ran its full course.")).to_be_visible()
        page.get_by_role("link", name="Outcome", exact=True).click()
        expect(page.locator(".kicker")).to_contain_text("Workshop · decision")
        expect(page.get_by_role("heading", level=1)).to_have_text(
            made["outcome"]["selected_option"]
        )
        expect(page.locator("main")).to_contain_text("No model spoke for Author, Critic, Referee")
        graph = page.get_by_role("group", name="Who challenged whom")
        expect(graph.locator(".node")).to_have_count(2)
        graph.scroll_into_view_if_needed()
        assert not violations(page)
        expect(page.get_by_role("list", name="Challenges")).to_contain_text("Critic")
        expect(page.get_by_role("list", name="Positions").locator("> li")).to_have_count(1)
        expect(page.get_by_role("heading", name="What it took")).to_be_visible()
        assert not violations(page)


def test_a_jury_of_three_decides_by_a_vote(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path / "home") as moot, visit(browser, moot.url) as tab:
        page = tab.open("/new")
        page.get_by_role("radio", name="Jury").check()
        page.get_by_label("Problem").fill("Should we move to Postgres?")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_role("group", name="Seat 3")).to_be_visible()
        expect(page.get_by_label("Stance")).to_have_count(0)  # each finds its own position
        page.get_by_label("Type of output").select_option("evaluation")
        assert not violations(page)
        page.get_by_role("button", name="Save for later").click()
        debate_id = id_of(page)
        page.get_by_role("button", name="Start", exact=True).click()
        made = moot.wait(debate_id)
        assert [seat["stance"] for seat in made["participants"]] == ["neutral"] * 3
        assert made["brief"]["output_type"] == "evaluation"
        assert made["outcome"]
        expect(page.get_by_text("It ran its full course.")).to_be_visible()
        page.get_by_role("link", name="Outcome", exact=True).click()
        expect(page.locator(".kicker")).to_contain_text("Jury · evaluation")
        is_decided = made["outcome"]["outcome"] == "decided"
        expect(page.get_by_role("heading", level=1)).to_have_text(
            made["outcome"]["selected_option"] if is_decided else made["motion"]
        )
        heads = page.get_by_role("region", name="Table of options").get_by_role("columnheader")
        expect(heads).to_have_text(["Option", "Answers", "At the end"])
        stood = page.get_by_role("list", name="Who stood where")
        expect(stood.locator("> li")).to_have_count(3)
        for seat in made["participants"]:
            expect(stood).to_contain_text(seat["name"])
        expect(page.get_by_role("group", name="Who challenged whom")).to_have_count(0)
        expect(page.get_by_role("heading", name="What it took")).to_be_visible()
        assert not violations(page)


def test_one_that_is_kept_for_later_waits_to_be_started(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        page.get_by_role("radio", name="Duel").check()
        page.get_by_label("Motion").fill("Later?")
        page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Save for later").click()
        debate_id = id_of(page)
        expect(page.get_by_text("Not started yet.")).to_be_visible()
        page.get_by_role("button", name="Start", exact=True).click()
        moot.wait(debate_id)
        expect(page.get_by_text("It reached its turn limit.")).to_be_visible()


def test_what_comes_later_does_not_move_the_buttons(browser: Browser, moot: Served) -> None:
    """A press on a button that moves away between down and up is lost."""
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        waiting: list[Route] = []
        page.route("**/plan", lambda route: waiting.append(route))
        page.get_by_role("radio", name="Duel").check()
        page.get_by_label("Motion").fill("Does it stand still?")
        page.get_by_role("button", name="Next").click()
        start = page.get_by_role("button", name="Start the debate")
        expect(page.get_by_text("Speakers:")).to_be_visible()
        assert page.get_by_test_id("estimate").count() == 0
        before = start.bounding_box()
        for route in waiting:
            route.continue_()
        page.unroute("**/plan")
        expect(page.get_by_test_id("estimate")).to_be_attached()
        assert start.bounding_box() == before
        bar = page.locator(".actions").bounding_box()
        assert bar
        assert round(bar["y"] + bar["height"]) == 800  # nothing shows below it
        expect(page.get_by_test_id("estimate")).to_be_in_viewport()  # beside the button


def test_what_was_entered_outlives_back_and_reload(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/")
        page.get_by_role("link", name="More options").click()
        page.get_by_role("radio", name="Duel").check()
        page.get_by_label("Motion").fill("Is it kept?")
        page.get_by_label("Turns", exact=True).fill("4")
        page.get_by_role("button", name="Next").click()
        expect(page).to_have_url(f"{moot.url}/new?step=2")
        name = page.get_by_role("group", name="Seat 2").get_by_label("Name", exact=True)
        name.fill("Zoë")
        page.get_by_text("Limits", exact=True).click()
        page.get_by_label("Total cost").fill("0,5")
        page.reload()
        expect(name).to_have_value("Zoë")
        page.go_back()
        expect(page).to_have_url(f"{moot.url}/new")
        expect(page.get_by_label("Motion")).to_have_value("Is it kept?")
        expect(page.get_by_label("Turns", exact=True)).to_have_value("4")
        page.go_forward()
        expect(name).to_have_value("Zoë")
        page.get_by_role("button", name="Back").click()
        expect(page.get_by_role("radio", name="Duel")).to_be_checked()
        page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Start the debate").click()
        made = moot.wait(id_of(page))
        assert made["motion"] == "Is it kept?"
        assert made["limits"]["max_cost_usd"] == 0.5
        assert made["limits"]["max_turns"] == 4
        page.get_by_role("link", name="New debate").click()
        expect(page.get_by_label("Motion")).to_have_value("")
        page = tab.open("/new?step=2")  # there is nothing to cast yet
        expect(page.get_by_label("Motion")).to_be_visible()
        expect(page).to_have_url(f"{moot.url}/new")


def test_no_such_provider_and_no_such_amount(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        page.get_by_role("radio", name="Duel").check()
        page.get_by_label("Motion").fill("Who is that?")
        page.get_by_role("button", name="Next").click()
        first = page.get_by_role("group", name="Seat 1")
        model = first.get_by_label("Model")
        for typed in ("bogus:thing", "http://evil"):
            model.fill(typed)
            wrong = f"Unknown provider {typed.partition(':')[0]}. Choose one of "
            expect(first.get_by_text(wrong)).to_contain_text("openai")
        page.get_by_role("button", name="Start the debate").click()
        expect(page.get_by_text("Something above needs your attention.")).to_be_visible()
        for typed in ("anthropic:some", "google", "local:tiny"):
            model.fill(typed)
            expect(first.get_by_text("Unknown provider")).to_have_count(0)
        page.get_by_text("Limits", exact=True).click()
        for typed in ("1,000", "much", "0.5.5"):
            page.get_by_label("Total cost").fill(typed)
            expect(page.get_by_text("An amount such as 0.50")).to_be_visible()
        page.get_by_label("Total cost").fill("0.25")
        expect(page.get_by_text("An amount such as 0.50")).to_have_count(0)


def to_cast(page: Page, title: str) -> None:
    page.get_by_role("radio", name=title).check()
    page.get_by_label("Problem" if title == "Council" else "Motion").fill("Should we ship?")
    page.get_by_role("button", name="Next").click()


def test_who_will_speak_is_said_before_it_starts(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path / "home") as moot, visit(browser, moot.url) as tab:
        page = tab.open("/new")
        to_cast(page, "Classic")
        who = page.locator("p", has_text="Speakers:")
        understudy = "the understudy, which is not a model"
        expect(who).to_have_text(
            f"Speakers: Ada: {understudy} · Ben: {understudy} · host: {understudy}"
        )
        weak = page.get_by_text(f"The host is {understudy}, and may not lead this debate reliably")
        expect(weak).to_be_visible()
        cost = page.get_by_test_id("estimate")
        expect(cost).to_have_text("22 calls · free, on this machine")
        host = page.get_by_role("group", name="Host")
        host.get_by_label("Name").fill("Hana")
        host.get_by_label("Model").fill("openai:nobody-knows")
        expect(cost).to_contain_text("22 calls")
        expect(cost).to_contain_text("price unknown")
        host.get_by_label("Model").fill("openai:gpt-5")
        expect(who).to_contain_text("Hana: openai:gpt-5")
        expect(cost).to_contain_text(
            re.compile(r"about \$0\.\d+, at most \$0\.\d+ without retries")
        )
        expect(weak).to_have_count(0)
        page.get_by_text("Limits", exact=True).click()
        page.get_by_label("Total tokens").fill("100")
        refused = page.get_by_text("max_total_tokens has no room for Hana's first turn")
        expect(refused).to_be_visible()  # before anybody presses Start
        expect(cost).to_have_count(0)
        page.get_by_label("Total tokens").fill("")
        expect(refused).to_have_count(0)
        host.get_by_label("Model").fill("local:understudy")
        page.get_by_role("button", name="Back").click()
        to_cast(page, "Standard")
        expect(who).to_contain_text(f"Hana: {understudy}")
        expect(weak).to_have_count(0)  # it gives nobody the floor


def provider(name: str, model: str, **more: Any) -> dict[str, Any]:
    one = {
        "provider": name,
        "works": True,
        "model": f"{name}:{model}",
        "detail": "",
        "small": False,
        "label": name,
        "models": [f"{name}:{model}"],
        "fix": "",
    }
    return {**one, **more}


def test_default_models_are_spread_over_the_seats(browser: Browser, moot: Served) -> None:
    items = [
        provider("claude", "claude-sonnet-5"),
        provider("openai", "gpt-5"),
        provider("local", "tiny", small=True),
    ]
    known = {"items": items, "default": ["claude:claude-sonnet-5", "openai:gpt-5"]}
    with visit(browser, moot.url) as tab:
        tab.context.route("**/providers", lambda route: route.fulfill(json=known))
        page = tab.open("/new")
        to_cast(page, "Classic")
        who = page.locator("p", has_text="Speakers:")
        expect(who).to_have_text("Speakers: Ada: Claude · Ben: OpenAI · host: Claude")
        seat = page.get_by_role("group", name="Seat 1").get_by_label("Model")
        expect(seat).to_have_attribute("placeholder", "Default (claude, openai)")
        seat.fill("openai:gpt-5")
        expect(who).to_have_text("Speakers: Ada: OpenAI · Ben: Claude · host: Claude")
        page.get_by_role("group", name="Host").get_by_label("Model").fill("local:tiny")
        expect(who).to_have_text("Speakers: Ada: OpenAI · Ben: Claude · host: local:tiny")
        weak = "The host is local:tiny, which is a small model, and may not lead this debate"
        expect(page.get_by_text(weak)).to_be_visible()
        page.get_by_role("button", name="Back").click()
        to_cast(page, "Council")
        expect(who).to_have_text(
            "Speakers: Proponent: Claude · Critic: OpenAI · Analyst: Claude · "
            "Synthesizer: OpenAI · Judge: OpenAI"  # the Judge is unlike the Proponent
        )


def test_format_files_that_cannot_be_used_are_named(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "formats"
    folder.mkdir(parents=True)
    (folder / "duel2.toml").write_text('name = "duel2"\ntitle = "Duel, again"\nstages = 3\n')
    with served(tmp_path / "home") as moot, visit(browser, moot.url) as tab:
        page = tab.open("/new")
        notice = page.get_by_role("list", name="Formats that cannot be used")
        expect(notice).to_contain_text("duel2.toml cannot be used: field ")
        expect(page.get_by_role("radio", name="Duel")).to_have_count(1)
        assert not violations(page)


def test_the_question_for_the_token_cannot_be_closed(browser: Browser, tmp_path: Path) -> None:
    secret = "a token that is long enough"  # noqa: S105
    with served(tmp_path / "home", token=secret) as moot, visit(browser, moot.url) as tab:
        page = tab.open("/new")
        dialog = page.get_by_role("dialog", name="This service needs a token")
        expect(dialog).to_be_visible()
        for _ in range(4):
            page.keyboard.press("Escape")
            page.wait_for_timeout(50)
        expect(dialog).to_be_visible()
        dialog.get_by_label("Token").fill(secret)
        dialog.get_by_role("button", name="Continue").click()
        expect(page.get_by_label("Motion")).to_be_visible()


def test_what_is_not_there_is_said_to_people(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        for path in ("/d/", "/d/debate_20261115_120000_abcdef/foo", "/foo/bar"):
            page = tab.open(path)
            expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
            page.close()
        for rest in ("", "/outcome", "/replay"):
            page = tab.open(f"/d/debate_20261115_120000_abcdef{rest}")
            expect(page.locator("main")).to_contain_text("There is no such debate.")
            expect(page.locator("main").get_by_text("All debates")).to_be_visible()
            page.close()
    answer = moot.http.get("/foo/bar")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert moot.http.get("/foo/bar", headers={"Accept": "text/html"}).status_code == 404
    assert moot.http.post("/foo/bar", headers={"Accept": "text/html"}).status_code == 404
