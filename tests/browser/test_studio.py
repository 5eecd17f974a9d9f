"""The studio: agents and stations, made, changed and scheduled by hand."""

import tomllib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.browsing import Stage, line, violations, visit
from tests.served import Served, served

VOICES = """
window.said = []
window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text } }
Object.defineProperty(window, 'speechSynthesis', { value: {
  getVoices: () => [{ name: 'Alice', lang: 'en-GB', voiceURI: 'alice' }],
  addEventListener: () => undefined,
  cancel: () => undefined, // a browser reports it later; the test says when
  speak: (one) => window.said.push(one),
} })
"""


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage(line)


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("studio") / "home", stage) as found:
        yield found


def made(moot: Served, path: str, **asked: Any) -> dict[str, Any]:
    answer = moot.post(path, **asked)
    assert answer.status_code == 201, answer.text
    return answer.json()


def station(moot: Served, name: str, *motions: str) -> dict[str, Any]:
    """One with two agents of its own."""
    pool = [made(moot, "/agents", name=f"{name} {side}")["id"] for side in ("One", "Two")]
    return made(moot, "/stations", name=name, agents=pool, motions=list(motions), zone="Asia/Tokyo")


def test_an_agent_is_made_changed_and_deleted(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/studio/agents")
        page.get_by_role("button", name="Add an agent").click()
        form = page.get_by_role("form", name="New agent")
        expect(form.get_by_label("Name")).to_be_focused()
        form.get_by_label("Bio").fill("Counts before she speaks.")
        form.get_by_role("button", name="Add agent").click()
        expect(form.get_by_text("Enter a name.")).to_be_visible()
        expect(form.get_by_label("Name")).to_be_focused()
        form.get_by_label("Name").fill("Vera Lind")
        form.get_by_label("Stance").select_option("pro")
        form.get_by_label("Language").fill("no language")
        form.get_by_label("Speed").fill("1.2")
        assert violations(page) == []
        form.get_by_role("button", name="Add agent").click()
        expect(form.get_by_text("is a language like en-GB")).to_be_visible()
        expect(form.get_by_label("Language")).to_be_focused()
        form.get_by_label("Language").fill("sv")
        form.get_by_role("button", name="Add agent").click()
        card = page.get_by_role("article", name="Vera Lind")
        expect(card).to_contain_text("Counts before she speaks.")
        expect(page.get_by_role("button", name="Add an agent")).to_be_focused()
        kept = moot.http.get("/agents/vera-lind").json()
        assert (kept["stance"], kept["bio"]) == ("pro", "Counts before she speaks.")
        assert kept["voice"] == {"lang": "sv", "name": "", "rate": 1.2, "pitch": 1.0}

        card.get_by_role("button", name="Edit Vera Lind").click()
        form = page.get_by_role("form", name="Edit Vera Lind")
        form.get_by_label("Name").fill("Vera Berg")
        form.get_by_label("Model").fill("local:tiny")
        form.get_by_role("button", name="Save").click()
        card = page.get_by_role("article", name="Vera Berg")
        expect(card).to_contain_text("local:tiny")
        kept = moot.http.get("/agents/vera-lind").json()
        assert (kept["name"], kept["model"], kept["voice"]["lang"]) == (
            "Vera Berg", "local:tiny", "sv",
        )  # fmt: skip

        card.get_by_role("button", name="Delete Vera Berg").click()
        dialog = page.get_by_role("dialog", name="Delete Vera Berg?")
        expect(dialog).to_contain_text("Past debates keep everything Vera Berg said.")
        dialog.get_by_role("button", name="Delete").click()
        expect(card).to_have_count(0)
        assert moot.http.get("/agents/vera-lind").status_code == 404


def test_a_voice_that_was_stopped_does_not_end_the_next_one(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/studio/agents", script=VOICES)
        page.get_by_role("button", name="Add an agent").click()
        try_it = page.get_by_role("button", name="Try it")
        stop = page.get_by_role("button", name="Stop")
        try_it.click()
        stop.click()
        try_it.click()
        expect(stop).to_be_visible()
        page.evaluate("() => said[0].onerror()")
        expect(stop).to_be_visible()
        page.evaluate("() => said[1].onend()")
        expect(try_it).to_be_visible()


def test_a_file_of_agents_goes_out_and_comes_back(browser: Browser, moot: Served) -> None:
    asked = {"name": "Otto “Quote” Ö", "bio": 'Says "so".\n\nTwice.', "voice": {"pitch": 0.5}}
    before = made(moot, "/agents", **asked)
    with visit(browser, moot.url) as tab:
        page = tab.open("/studio/agents")
        with page.expect_download() as out:
            page.get_by_role("button", name="Export all").click()
        assert out.value.suggested_filename == "agents.toml"
        text = Path(out.value.path()).read_text("utf-8")
        assert len(tomllib.loads(text)["agents"]) == len(moot.http.get("/agents").json()["items"])
        moot.http.delete(f"/agents/{before['id']}")

        page.get_by_role("button", name="Import").click()
        dialog = page.get_by_role("dialog", name="Import agents")
        pasted = dialog.get_by_label("Or its contents")
        pasted.fill("[[agents]]\nname = \n")
        dialog.get_by_role("button", name="Import").click()
        expect(pasted).to_have_attribute("aria-invalid", "true")
        expect(pasted).to_have_value("[[agents]]\nname = \n")
        dialog.get_by_label("TOML file").set_input_files(
            {"name": "a.toml", "mimeType": "application/toml", "buffer": text.encode()}
        )
        expect(pasted).to_have_value(text)
        dialog.get_by_role("button", name="Import").click()
        expect(page.get_by_text("1 agent added")).to_be_visible()
        expect(page.get_by_role("article", name="Otto")).to_be_visible()
        after = moot.http.get(f"/agents/{before['id']}").json()
        assert {**after, "created_at": "", "updated_at": ""} == {
            **before, "created_at": "", "updated_at": "",
        }  # fmt: skip


def test_a_bad_cron_line_is_said_at_its_field_and_nothing_is_lost(
    browser: Browser, moot: Served
) -> None:
    for name in ("Pia", "Quin"):
        made(moot, "/agents", name=name)
    with visit(browser, moot.url, timezone_id="Europe/Oslo") as tab:
        page = tab.open("/studio/stations")
        page.get_by_role("button", name="Add a station").click()
        form = page.get_by_role("form", name="New station")
        expect(form.get_by_label("Time zone")).to_have_value("Europe/Oslo")
        form.get_by_label("Name").fill("Late Line")
        form.get_by_label("About").fill("After hours.")
        form.get_by_label("Motions").fill("Is it late?\n\nIs it early?\n")
        form.get_by_label("Quin").check()
        form.get_by_label("Pia").check()
        form.get_by_label("Schedule").select_option("own")
        cron = form.get_by_label("Cron line")
        cron.fill("61 * * * *")
        form.get_by_label("Missed slots").select_option("skip")
        form.get_by_label("Maximum turns").fill("4")
        form.get_by_label("Public").uncheck()
        form.get_by_role("button", name="Add station").click()
        expect(form.get_by_text("The cron line cannot be used")).to_be_visible()
        expect(cron).to_be_focused()
        expect(cron).to_have_attribute("aria-invalid", "true")
        assert violations(page) == []
        expect(form.get_by_label("Motions")).to_have_value("Is it late?\n\nIs it early?\n")
        expect(form.get_by_label("Quin")).to_be_checked()
        cron.fill("15 * * * *")
        expect(form.get_by_text("The cron line cannot be used")).to_have_count(0)
        form.get_by_role("button", name="Add station").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Late Line")
        kept = moot.http.get("/stations/late-line").json()
        wanted = {
            "name": "Late Line", "about": "After hours.", "public": False, "format": "duel",
            "zone": "Europe/Oslo", "cron": "15 * * * *", "missed": "skip",
            "motions": ["Is it late?", "Is it early?"], "agents": ["quin", "pia"],
            "limits": {"max_turns": 4}, "on_failure": "degrade",
        }  # fmt: skip
        assert {name: kept[name] for name in wanted} == wanted
        expect(page.get_by_role("heading", name="Next from the pool")).to_be_visible()

        page.get_by_role("button", name="Edit", exact=True).click()
        form = page.get_by_role("form", name="Edit Late Line")
        expect(form.get_by_label("Schedule")).to_have_value("hourly")
        form.get_by_label("Schedule").select_option("weekdays")
        form.get_by_label("At", exact=True).fill("07:30")
        form.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Edit", exact=True)).to_be_focused()
        changed = moot.http.get("/stations/late-line").json()
        assert changed["cron"] == "30 7 * * 1-5"
        assert {name: changed[name] for name in wanted} == {**wanted, "cron": "30 7 * * 1-5"}

        page.get_by_role("button", name="Delete").click()
        dialog = page.get_by_role("dialog", name="Delete Late Line?")
        expect(dialog).to_contain_text("stays in your debates")
        dialog.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Stations")
        assert moot.http.get("/stations/late-line").status_code == 404


def schedule(page: Page, motion: str, at: str) -> None:
    page.get_by_role("button", name="Schedule a conversation").click()
    form = page.get_by_role("form", name="Schedule a conversation")
    form.get_by_label("Motion").fill(motion)
    form.get_by_label("At a time").check()
    form.get_by_label("Date and time in Asia/Tokyo").fill(at)
    form.get_by_role("button", name="Schedule").click()
    expect(form).to_have_count(0)


def motions(waiting: Locator) -> list[str]:
    return waiting.locator("a.motion").all_inner_texts()


def test_what_waits_is_moved_taken_off_and_aired(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    here = station(moot, "Day Line", "From the pool?")
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/studio/stations/{here['id']}")
        expect(page.get_by_text("Nothing is on air.")).to_be_visible()
        schedule(page, "First?", "2031-01-31T18:00")
        schedule(page, "Second?", "2031-02-01T18:00")
        schedule(page, "Third?", "2031-02-02T18:00")
        waiting = page.get_by_role("list", name="Queue")
        expect(waiting.locator("li")).to_have_count(3)
        assert motions(waiting) == ["First?", "Second?", "Third?"]
        later = waiting.get_by_role("button", name="Later: First?")
        later.focus()
        with page.expect_response(lambda one: one.request.method == "GET"):  # what was kept
            page.keyboard.press("Enter")
        expect(waiting.locator("li").nth(1)).to_contain_text("First?")
        expect(later).to_be_focused()
        page.keyboard.press("Enter")
        expect(waiting.locator("li").nth(2)).to_contain_text("First?")
        expect(waiting.get_by_role("button", name="Earlier: First?")).to_be_focused()
        assert violations(page) == []
        expect(page.locator("main")).not_to_contain_text("changed in the meantime")
        kept = moot.http.get(f"/stations/{here['id']}/conversations").json()["waiting"]
        assert [(one["motion"], one["due"][:16]) for one in kept] == [
            ("Second?", "2031-01-31T09:00"),
            ("Third?", "2031-02-01T09:00"),
            ("First?", "2031-02-02T09:00"),
        ]

        waiting.get_by_role("button", name="Remove Second?").click()
        dialog = page.get_by_role("dialog", name="Remove it from the programme?")
        dialog.get_by_role("button", name="Remove").click()
        expect(waiting.locator("li")).to_have_count(2)
        assert moot.http.get(f"/debates/{kept[0]['id']}").json()["status"] == "stopped"

        stage.held = True
        try:
            waiting.get_by_role("button", name="Air now First?").click()
            now = page.get_by_role("region", name="On air")
            expect(now).to_contain_text("Broadcasting")
            expect(now).to_contain_text("First?")
            expect(waiting.locator("li")).to_have_count(1)
            listen = now.get_by_role("link", name="Listen")
            expect(listen).to_have_attribute("href", f"/air/{here['id']}/{kept[2]['id']}")
            waiting.get_by_role("button", name="Air now Third?").click()
            expect(waiting).to_contain_text("As soon as the station is free")
            assert violations(page) == []
        finally:
            stage.held = False
        moot.wait(kept[2]["id"])
        was = page.get_by_role("region", name="Past")
        expect(was.get_by_role("link", name="Report of First?")).to_be_visible()
        expect(was.get_by_role("link", name="Report of Third?")).to_be_visible()
        was.get_by_role("link", name="Report of First?").click()
        expect(page).to_have_url(f"{moot.url}/d/{kept[2]['id']}/outcome")


def test_a_saved_agent_takes_a_seat_and_old_ones_are_saved_once(
    browser: Browser, moot: Served
) -> None:
    made(moot, "/agents", name="Nils", bio="Knows nets.", model="local:tiny", stance="con")
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        page.evaluate(
            "() => localStorage.setItem('moot.agents', JSON.stringify("
            "[{name: 'Old Uma', bio: 'From before.', model: ''}, {name: 'Nils', bio: 'x'}]))"
        )
        page.reload()
        page.get_by_role("radio", name="Duel").check()
        page.get_by_label("Motion").fill("Who sits here?")
        page.get_by_role("button", name="Next").click()
        old = page.get_by_role("region", name="Agents in this browser")
        expect(old).to_contain_text("Old Uma, Nils")
        old.get_by_role("button", name="Save them").click()
        expect(old).to_have_count(0)
        assert page.evaluate("() => localStorage.getItem('moot.agents')") is None
        assert moot.http.get("/agents/old-uma").json()["bio"] == "From before."
        assert moot.http.get("/agents/nils").json()["bio"] == "Knows nets."  # as the service has it

        first = page.get_by_role("group", name="Seat 1")
        first.get_by_label("use a saved agent").select_option("nils")
        expect(first.get_by_label("Model")).to_have_value("local:tiny")
        second = page.get_by_role("group", name="Seat 2")
        second.get_by_label("use a saved agent").select_option("old-uma")
        second.get_by_label("Stance").select_option("pro")
        page.get_by_role("button", name="Start the debate").click()
        page.wait_for_url("**/d/debate_*")
        debate = moot.wait(page.url.rpartition("/")[2])
        assert [(one["name"], one["bio"], one["stance"]) for one in debate["participants"]] == [
            ("Nils", "Knows nets.", "con"),
            ("Old Uma", "From before.", "pro"),
        ]
        page = tab.open("/studio/agents")
        expect(page.get_by_role("article", name="Old Uma")).to_be_visible()
        expect(page.get_by_role("region", name="Agents in this browser")).to_have_count(0)


def test_the_examples_are_brought_with_a_button(browser: Browser, tmp_path: Path) -> None:
    stage = Stage(line)
    with served(tmp_path / "home", stage) as moot, visit(browser, moot.url) as tab:
        page = tab.open("/studio/stations")
        page.get_by_role("button", name="Add the example stations").click()
        said = page.locator(".said")  # a hidden line tells screen readers the same, for a while
        expect(said).to_contain_text("5 example stations added.")
        page.get_by_role("button", name="Add examples").click()
        expect(said).to_have_text("The examples are all here already.")
        assert violations(page) == []
        page.get_by_role("link", name="Build Desk").click()
        page.get_by_role("button", name="Air").first.click()
        expect(page.get_by_role("region", name="Past").get_by_role("link").first).to_be_visible()
    assert stage.calls


def test_a_phone_in_the_dark_shows_it_all(browser: Browser, moot: Served) -> None:
    here = station(moot, "Pocket Line", "Does it fit?")
    made(moot, f"/stations/{here['id']}/conversations", motion="W" * 200, at="2031-01-31T18:00")
    phone = {"width": 360, "height": 740}
    with visit(browser, moot.url, viewport=phone, color_scheme="dark") as tab:
        page = tab.open("/studio/agents")
        for name, button in (("Stations", "Add a station"), ("Agents", "Add an agent")):
            page.locator("header").get_by_role("link", name=name).click()
            expect(page.get_by_role("heading", level=1)).to_be_focused()
            page.get_by_role("button", name=button).click()
            assert violations(page) == [], name
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        page.goto(f"{moot.url}/studio/stations/{here['id']}")
        page.get_by_role("button", name="Schedule a conversation").click()
        page.get_by_role("button", name="Edit", exact=True).click()
        assert violations(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        page.goto(f"{moot.url}/studio/stations/nowhere")
        expect(page.get_by_role("heading", level=1)).to_have_text("Station not found")
