"""The arena: the transcript as it is spoken, and what a person can do to it."""

import time
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect

from moot.errors import ProviderAuthError, ProviderError
from moot.ports import Call
from tests.browser.browsing import Stage, assert_shows, line, visit
from tests.served import Served, served

CAST = [{"name": "Ada", "stance": "pro"}, {"name": "Ben", "stance": "con"}]


@pytest.fixture
def stage() -> Stage:
    return Stage(line)


@pytest.fixture
def moot(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("arena") / "home", stage) as found:
        yield found


def seat_state(page: Page, seat: str) -> str | None:
    return page.locator(f"[data-seat={seat}]").get_attribute("data-state")


def test_token_by_token_with_hosts_instructions_and_sides(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    words = {"ada": 80}
    stage.says = lambda call: (
        f"**{call.step.actor}** said: " + "word " * words.pop(call.step.actor, 3)
    )
    stage.a_second = 20
    debate = moot.create(format="classic", participants=CAST, options={"free_rounds": 1})
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        speech = page.locator(".speaking[data-actor=ada] p")
        page.locator("[data-seat=ada][data-state=speaking]").wait_for()
        before = len(speech.inner_text())
        page.wait_for_function(
            "before => document.querySelector('.speaking p').innerText.length > before", arg=before
        )
        expect(page.get_by_text("Live", exact=False).first).to_be_visible()
        expect(page.locator("li[aria-current=step]")).to_have_count(1)
        stage.a_second = 0
        moot.wait(debate["id"])
        expect(page.get_by_text("It ran its full course.")).to_be_visible()

        turns = moot.http.get(f"/debates/{debate['id']}/turns").json()["items"]
        assert_shows(page, turns)
        cue = page.locator("article.cue").first
        expect(cue.locator(".instruction")).to_contain_text("Give the floor to Ada")
        expect(cue).to_contain_text("gives the floor to Ada")
        ada, ben = page.locator("article.pro").first, page.locator("article.con").first
        expect(ada).to_contain_text("Pro")
        ada.scroll_into_view_if_needed()  # far off the screen, text stays plain
        expect(ada.locator("strong")).to_have_text("ada")
        left, right = ada.bounding_box(), ben.bounding_box()
        assert left
        assert right
        assert left["x"] < right["x"]
        expect(page.locator("h2.place").first).to_have_text("Introduction")
        expect(page.locator("h2.place").nth(1)).to_have_text("Opening · round 1")
        expect(page.get_by_label("Stage and round")).to_have_text("Summary · round 5")
        parts = page.get_by_role("list", name="Course of the debate").get_by_role("listitem")
        expect(parts).to_have_count(6)
        expect(parts.nth(3)).to_contain_text("4 of 4 turns")


def test_a_wave_shows_all_its_speakers_at_once(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    stage.held = True
    stage.says = lambda call: '{"position": "Wait", "claim": "It pays."'
    asked = {"problem": "Should we wait?", "output_type": "decision"}
    council = moot.http.post("/debates/council", json=asked).json()
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{council['id']}")
        expect(page.locator("[data-seat][data-state=silent]")).to_have_count(0)
        expect(page.locator(".speaking")).to_have_count(5)
        moot.post(f"/debates/{council['id']}/end")
        stage.held = False


def test_who_reads_further_up_stays_there(browser: Browser, moot: Served, stage: Stage) -> None:
    stage.says = lambda call: f"{line(call)} " + "A sentence to fill the screen. " * 12
    debate = moot.create(format="standard", options={"rounds": 0}, limits={"max_turns": 1000})
    while len(stage.calls) < 12:
        time.sleep(0.01)
    moot.post(f"/debates/{debate['id']}/pause")
    moot.wait(debate["id"], "paused")
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        scroller = page.get_by_role("region", name="Transcript")
        page.locator("article.turn").nth(8).wait_for(state="attached")
        page.wait_for_timeout(300)
        end = scroller.evaluate("one => one.scrollHeight - one.scrollTop - one.clientHeight")
        assert end < 2  # it begins where it is being spoken
        scroller.focus()
        page.keyboard.press("PageUp")
        page.wait_for_timeout(300)
        read = "one => Math.round(document.elementFromPoint(700, 400).closest('article')\
            ?.getBoundingClientRect().top)"
        top, place = scroller.evaluate("one => one.scrollTop"), scroller.evaluate(read)
        stage.a_second = 200
        moot.post(f"/debates/{debate['id']}/resume")
        expect(page.get_by_role("button", name="new turn")).to_be_visible()
        page.wait_for_timeout(500)
        assert abs(scroller.evaluate("one => one.scrollTop") - top) < 2
        assert scroller.evaluate(read) == place
        page.get_by_role("button", name="new turn").click()
        page.wait_for_timeout(400)
        end = scroller.evaluate("one => one.scrollHeight - one.scrollTop - one.clientHeight")
        assert end < 2
        moot.post(f"/debates/{debate['id']}/stop")
        moot.wait(debate["id"])


def test_pause_resume_and_stop(browser: Browser, moot: Served, stage: Stage) -> None:
    stage.says = lambda call: "word " * 20
    stage.a_second = 100
    debate = moot.create(format="standard", options={"rounds": 50})
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_text("Paused. It goes on from here")).to_be_visible()
        page.get_by_role("button", name="Resume").click()
        page.locator("[data-state=speaking]").first.wait_for()
        expect(page.get_by_text("A pause was asked for")).to_have_count(0)  # it is past
        stop = page.get_by_role("button", name="Stop", exact=True)
        stop.click()
        dialog = page.get_by_role("dialog", name="Stop for good?")
        expect(dialog.get_by_role("button", name="Let it go on")).to_be_focused()
        page.keyboard.press("Enter")  # it asks once
        expect(dialog).to_be_hidden()
        stop.click()
        dialog.get_by_role("button", name="Stop for good").click()
        expect(page.get_by_text("It was stopped.")).to_be_visible()
        expect(page.get_by_role("link", name="Outcome", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="Replay")).to_be_visible()
        page.get_by_role("link", name="Outcome", exact=True).click()
        expect(page).to_have_url(f"{moot.url}/d/{debate['id']}/outcome")
        page.wait_for_timeout(200)  # nothing goes wrong after the transcript has left


def test_the_header_says_where_it_is_now_and_all_of_it_can_be_printed(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    stage.says = lambda call: f"{line(call)} " + "A sentence to fill the page. " * 40
    stage.held = True
    debate = moot.create(format="classic", participants=CAST, options={"free_rounds": 1})
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        page.locator("[data-state=speaking]").wait_for()
        expect(page.get_by_label("Stage and round")).to_have_text("Introduction")
        expect(page.locator("h2.place")).to_have_text(["Introduction"])
        stage.held = False
        moot.wait(debate["id"])
        expect(page.get_by_text("It ran its full course.")).to_be_visible()
        page.emulate_media(media="print")
        expect(page.get_by_role("link", name="New debate")).to_be_hidden()
        expect(page.get_by_role("link", name="Replay")).to_be_hidden()
        scroller = page.get_by_role("region", name="Transcript")
        assert scroller.evaluate("one => getComputedStyle(one).overflowY") == "visible"
        assert page.evaluate("() => document.documentElement.scrollHeight > 3 * innerHeight")


def test_end_in_the_middle_of_a_sentence_leads_to_the_summary(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    def says(call: Call) -> str:
        return "To sum up." if call.step.kind == "summary" else "I would never " * 100

    stage.says = says
    stage.a_second = 40
    debate = moot.create(
        format="classic", participants=CAST, host={"name": "Hana"}, options={"free_rounds": 10}
    )
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        page.locator(".speaking p", has_text="I would never").first.wait_for()
        end = page.get_by_role("button", name="End debate")
        end.click()
        dialog = page.get_by_role("dialog", name="End the debate now?")
        expect(dialog.get_by_role("button", name="Let it go on")).to_be_focused()
        page.keyboard.press("Enter")  # it asks once
        expect(dialog).to_be_hidden()
        end.click()
        dialog.get_by_role("button", name="End debate").click()
        expect(page.get_by_text("It was ended early, with a summary.")).to_be_visible()
        summary = page.locator("article.summary")
        expect(summary).to_contain_text("To sum up.")
        expect(summary).to_be_focused()
        expect(page.locator(".speaking")).to_have_count(0)
        turns = moot.http.get(f"/debates/{debate['id']}/turns").json()["items"]
        assert_shows(page, turns)
        assert not any("never" in turn["text"] for turn in turns)


def test_a_wrong_key_then_restart_skip_and_another_model(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    sentence = "The key for Claude was refused. Set ANTHROPIC_API_KEY, then restart the speaker."
    refused: set[str] = {"ben", "ada"}

    def says(call: Call) -> str | ProviderError:
        return ProviderAuthError(sentence) if call.step.actor in refused else line(call)

    stage.says = says
    debate = moot.create(format="standard", participants=CAST, options={"rounds": 2})
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        card = page.get_by_role("alert", name="A speaker failed")
        expect(card).to_contain_text("Ada could not speak")
        expect(card).to_contain_text(sentence)
        expect(page.locator("[data-seat=ada]")).to_contain_text("failed")
        card.get_by_role("button", name="Skip").click()
        expect(card).to_contain_text("Ben could not speak")
        left_out = "This turn was left out. The key was refused."
        expect(page.locator("article.failed")).to_contain_text(left_out)
        expect(page.locator("[aria-live=polite]")).to_contain_text("Ada did not speak")
        refused.discard("ben")
        card.get_by_role("button", name="Restart speaker").click()
        expect(page.locator("article.con").first).to_contain_text("ben in round 1")
        expect(card).to_contain_text("Ada could not speak")
        refused.clear()
        card.get_by_text("Let another model speak").click()
        card.get_by_label("Model", exact=True).select_option("…")
        card.get_by_label("Model: provider:name").fill("openai:gpt-5")
        card.get_by_role("button", name="Restart with this model").click()
        expect(page.get_by_text("All its rounds were spoken.")).to_be_visible()
        expect(page.locator("article.pro").last).to_contain_text("openai:gpt-5")


def test_a_refused_verb_is_said_in_words(browser: Browser, moot: Served, stage: Stage) -> None:
    stage.held = True
    debate = moot.create(format="duel")
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        expect(page.get_by_role("button", name="Pause")).to_be_enabled()
        refusal = {"detail": "It is completed; it cannot be paused."}
        page.route("**/pause", lambda route: route.fulfill(status=409, json=refusal))
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_text("It is completed; it cannot be paused.")).to_be_visible()
        stage.held = False


def test_a_link_to_a_turn_leads_there(browser: Browser, moot: Served) -> None:
    debate = moot.create(format="standard", options={"rounds": 50})
    moot.wait(debate["id"])
    turns = moot.http.get(f"/debates/{debate['id']}/turns").json()["items"]
    seq = turns[80]["seq"]
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}#turn-{seq}")
        expect(page.locator(f"#turn-{seq}")).to_be_in_viewport()
        expect(page.locator(f"#turn-{seq}")).to_be_focused()


def test_a_debate_that_does_not_exist(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/d/debate_20261115_120000_abcdef")
        expect(page.get_by_text("This debate cannot be shown")).to_be_visible()
        page = tab.open("/d/debate_20261115_120000_abcdef/nowhere")
        expect(page.get_by_text("There is nothing here")).to_be_visible()
