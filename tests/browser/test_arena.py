"""The arena: the transcript as it is spoken, and what a person can do to it."""

import json
import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from moot.errors import (
    ProviderAuthError,
    ProviderError,
    ProviderRefusedError,
    ProviderTimeoutError,
)
from moot.ports.model_call import Call
from moot.settings import Settings
from tests.browser.browsing import Stage, assert_shows, line, visit
from tests.patience import until
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
        asked = cue.get_by_text("Give the floor to Ada")
        expect(asked).to_be_hidden()
        cue.get_by_text("Instruction to the host").click()
        expect(asked).to_be_visible()
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
        expect(page.locator("h2.place").nth(1)).to_have_text("Opening")
        expect(page.get_by_label("Stage and round")).to_have_count(0)  # it is over
        parts = page.get_by_role("list", name="Stages of the debate").get_by_role("listitem")
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


def _is_still(page: Page, scroller: Locator) -> bool:
    before = scroller.evaluate("one => one.scrollTop")
    page.wait_for_timeout(150)
    return before == scroller.evaluate("one => one.scrollTop")


def test_who_reads_further_up_stays_there(browser: Browser, moot: Served, stage: Stage) -> None:
    stage.says = lambda call: f"{line(call)} " + "A sentence to fill the screen. " * 12
    debate = moot.create(format="standard", options={"rounds": 0}, limits={"max_turns": 1000})
    until(lambda: len(stage.calls) >= 12)
    moot.post(f"/debates/{debate['id']}/pause")
    moot.wait(debate["id"], "paused")
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        scroller = page.get_by_role("region", name="Transcript")
        page.locator("article.turn").nth(8).wait_for(state="attached")
        page.wait_for_timeout(300)
        left = "one => one.scrollHeight - one.scrollTop - one.clientHeight"
        until(lambda: scroller.evaluate(left) < 2)  # it begins where it is being spoken
        scroller.focus()
        page.keyboard.press("PageUp")
        until(lambda: scroller.evaluate(left) > 100)
        until(lambda: _is_still(page, scroller))
        read = "one => [...one.querySelectorAll('article.turn')].map(\
            each => each.getBoundingClientRect()).find(({bottom}) => bottom > 400).top"
        top, place = scroller.evaluate("one => one.scrollTop"), scroller.evaluate(read)
        stage.a_second = 200
        moot.post(f"/debates/{debate['id']}/resume")
        expect(page.get_by_role("button", name="new turn")).to_be_visible()
        page.wait_for_timeout(500)
        assert abs(scroller.evaluate("one => one.scrollTop") - top) < 2
        assert scroller.evaluate(read) == place
        page.get_by_role("button", name="new turn").click()
        until(lambda: scroller.evaluate(left) < 2)
        moot.post(f"/debates/{debate['id']}/stop")
        moot.wait(debate["id"])


def test_pause_resume_and_stop(browser: Browser, moot: Served, stage: Stage) -> None:
    stage.says = lambda call: "word " * 20
    stage.a_second = 100
    debate = moot.create(format="standard", options={"rounds": 50})
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_text("Paused. Resume it to continue")).to_be_visible()
        expect(page.locator(".arena > header")).not_to_contain_text("Live")
        page.get_by_role("button", name="Resume").click()
        page.locator("[data-state=speaking]").first.wait_for()
        expect(page.get_by_text("A pause was asked for")).to_have_count(0)  # it is past
        stop = page.get_by_role("button", name="Abort", exact=True)
        stop.click()
        dialog = page.get_by_role("dialog", name="Abort the debate?")
        expect(dialog.get_by_role("button", name="Keep going")).to_be_focused()
        page.keyboard.press("Enter")  # it asks once
        expect(dialog).to_be_hidden()
        stop.click()
        dialog.get_by_role("button", name="Abort").click()
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
        end = page.get_by_role("button", name="Wrap up now")
        end.click()
        dialog = page.get_by_role("dialog", name="Wrap up now?")
        expect(dialog.get_by_role("button", name="Keep going")).to_be_focused()
        page.keyboard.press("Enter")  # it asks once
        expect(dialog).to_be_hidden()
        end.click()
        dialog.get_by_role("button", name="Wrap up now").click()
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
        expect(card.get_by_role("button", name="Allow longer")).to_have_count(0)
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
        card.get_by_text("Use another model").click()
        card.get_by_label("Model", exact=True).fill("openai:gpt-5")
        card.get_by_role("button", name="Restart with this model").click()
        expect(page.get_by_text("All rounds are complete.")).to_be_visible()
        expect(page.locator("article.pro").last).to_contain_text("openai:gpt-5")
        expect(page.locator("[data-seat=ada] .model")).to_have_text("gpt-5")


def test_what_was_cut_off_stays_until_the_next_try_speaks(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    stage.says = lambda call: "I would never say that" if len(stage.calls) == 1 else line(call)
    stage.held = True
    stage.breaks = [ProviderTimeoutError("It took too long.")]
    debate = moot.create(format="duel", participants=CAST, limits={"max_turns": 1})
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        speech = page.locator(".speaking[data-actor=ada]")
        expect(speech).to_contain_text("I would never say that")
        stage.silent, stage.held = True, False
        told = "Cut off, trying again (2 of 4): the model took too long."
        expect(speech.get_by_role("status")).to_have_text(told)
        expect(speech.get_by_text("I would never say that")).to_be_visible()
        expect(page.locator("[data-seat=ada]")).to_have_attribute("data-state", "thinking")
        with visit(browser, moot.url) as other:  # whoever joins now is told, too
            joined = other.open(f"/d/{debate['id']}").locator(".speaking[data-actor=ada]")
            expect(joined.get_by_role("status")).to_have_text(told)
            expect(joined.get_by_text("I would never say that")).to_be_visible()
        stage.held, stage.silent = True, False
        expect(speech).to_contain_text("ada in round 1")
        expect(speech.get_by_role("status")).to_have_count(0)
        expect(speech.get_by_text("I would never say that")).to_be_hidden()
        speech.get_by_text("An earlier try was cut off").click()
        expect(speech.get_by_text("I would never say that")).to_be_visible()
        stage.held = False
        moot.wait(debate["id"])
        expect(page.locator("article.turn")).to_have_count(1)
        expect(page.get_by_text("I would never say that")).to_have_count(0)


def test_a_speaker_that_took_too_long_gets_more_time(
    browser: Browser, moot: Served, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.core.retry.WAITS", (0.0, 0.0, 0.0))
    late = ProviderTimeoutError("The model said nothing. Restart the speaker to try again.")
    needs = {"ada": 70, "ben": 999}
    stage.says = lambda call: late if call.seconds < needs[call.step.actor] else line(call)
    debate = moot.create(format="duel", participants=CAST)
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        card = page.get_by_role("alert", name="A speaker failed")
        expect(card).to_contain_text("raise max_turn_seconds to 70 when you do.")
        expect(page.locator(".arena > header")).not_to_contain_text("Live")
        card.get_by_role("button", name="Allow longer and retry (70 s)").click()
        expect(page.locator("article.pro")).to_contain_text("ada in round 1")
        expect(card).to_contain_text("Ben could not speak")
        card.get_by_role("button", name="Allow longer and retry (120 s)").click()
        expect(card).to_contain_text("another model may be faster.")
        expect(card.get_by_role("button", name="Allow longer")).to_have_count(0)
        now = moot.http.get(f"/debates/{debate['id']}").json()
        assert now["limits"]["max_turn_seconds"] == 120
        needs["ben"] = 0
        card.get_by_role("button", name="Restart speaker").click()
        moot.wait(debate["id"])


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
    number = turns[80]["number"]
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}#turn-{number}")
        expect(page.locator(f"#turn-{number}")).to_be_in_viewport()
        expect(page.locator(f"#turn-{number}")).to_be_focused()


def test_a_link_to_a_turn_leads_there_on_a_phone(browser: Browser, moot: Served) -> None:
    """The turn stays where it was asked for, however late what is above it gets its height."""
    debate = moot.create(format="standard", options={"rounds": 50})
    moot.wait(debate["id"])
    turns = moot.http.get(f"/debates/{debate['id']}/turns").json()["items"]
    for place in (40, len(turns) - 2):
        number = turns[place]["number"]
        with visit(browser, moot.url, viewport={"width": 390, "height": 780}) as tab:
            page = tab.open(f"/d/{debate['id']}#turn-{number}")
            turn = page.locator(f"#turn-{number}")
            expect(turn).to_be_focused()
            page.wait_for_timeout(600)  # what comes late has come
            expect(turn).to_be_in_viewport(ratio=0.5)


def test_a_debate_that_does_not_exist(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/d/debate_20261115_120000_abcdef")
        expect(page.get_by_text("This debate cannot be shown")).to_be_visible()
        page = tab.open("/d/debate_20261115_120000_abcdef/nowhere")
        expect(page.get_by_text("Page not found")).to_be_visible()


def test_round_and_stage_are_those_of_the_stage(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    stage.held = True
    seats = [{**seat, "model": "openai:x"} for seat in CAST]
    custom = moot.create(
        format="custom", participants=seats, host={"model": "openai:x"}, options={"rounds": 2}
    )
    classic = moot.create(format="classic", participants=CAST, options={"free_rounds": 2})
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{custom['id']}")
        place = page.get_by_label("Stage and round")
        page.locator("[data-state=speaking]").wait_for()
        expect(place).to_have_text("Introduction")  # while the first speech is made
        expect(page.locator("header")).to_contain_text(["$0.00 of about $0.0"])  # of what is spent
        expect(page.locator(f"a[data-id={custom['id']}]")).to_contain_text("Introduction")
        stage.held = False
        moot.wait(custom["id"])
        expect(page.get_by_text("All rounds are complete.")).to_be_visible()
        expect(page.locator("h2.place")).to_have_text([
            "Introduction", "Discussion · round 1 of 2", "Discussion · round 2 of 2", "Summary",
        ])  # fmt: skip
        expect(place).to_have_count(0)
        row = page.locator(f"a[data-id={custom['id']}] .facts")
        expect(row).to_contain_text("$0.0100 · Custom")
        moot.wait(classic["id"])
        page = tab.open(f"/d/{classic['id']}")
        expect(page.locator("h2.place")).to_have_text([
            "Introduction", "Opening", "Rebuttal", "Free debate · round 1 of 2",
            "Free debate · round 2 of 2", "Conclusion", "Summary",
        ])  # fmt: skip
        endless = moot.create(format="standard", options={"rounds": 0}, limits={"max_turns": 3})
        moot.wait(endless["id"])
        page = tab.open(f"/d/{endless['id']}")
        expect(page.locator("h2.place").last).to_have_text("Discussion · round 2")


STREAM = """
const asked = window.fetch
delete window.SharedWorker
window.fetch = (path, ...how) => {
  if (!/debates.*events/.test(String(path))) return asked(path, ...how)
  const bytes = new TextEncoder()
  const body = new ReadableStream({ start: (stream) => {
    window.hear = (name, data) =>
      stream.enqueue(bytes.encode(`event: ${name}\\ndata: ${JSON.stringify(data)}\\n\\n`))
  } })
  return Promise.resolve(new Response(body, { status: 200 }))
}
"""


def test_a_cues_instruction_stands_beside_the_hosts_words_while_they_are_spoken(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    stage.held = True
    debate = moot.create(format="classic", participants=CAST, host={"name": "Hana"})
    cue = {"round": 1, "stage": "opening", "actor": "host", "target": "ada", "at": "", "offset": 0}
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}", script=STREAM)
        page.wait_for_function("() => 'hear' in window")

        def hear(**more: object) -> None:
            page.evaluate("delta => window.hear('delta', delta)", {**cue, **more})

        speech = page.locator(".speaking[data-actor=host]", has_text="gives the floor to Ada")
        hear(text="", instruction="Give the floor to Ada.")
        expect(speech.locator(".instruction")).to_have_text(
            "Instruction to the host Give the floor to Ada."
        )
        expect(page.locator("[data-seat=host]")).to_have_attribute("data-state", "thinking")
        expect(page.get_by_label("Stage and round")).to_have_text("Opening")
        hear(text="Ada, ")
        hear(text="why?", offset=5)
        expect(speech.locator("p").last).to_have_text("Ada, why?")
        expect(speech.locator(".instruction")).to_be_visible()
        expect(page.locator("[data-seat=host]")).to_have_attribute("data-state", "speaking")
        hear(text="")  # taken back
        expect(speech).to_have_count(0)
        hear(text="", instruction="Give the floor to Ada.")
        expect(speech.locator(".instruction")).to_be_visible()
        expect(speech.locator("p")).to_have_count(0)  # nothing of what was taken back
    stage.held = False


def test_a_dialog_that_is_opened_again_at_once_stays_open(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    stage.held = True
    debate = moot.create(format="duel")
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        page.locator("[data-state=speaking]").wait_for()
        end = page.get_by_role("button", name="Wrap up now")
        end.click()
        dialog = page.get_by_role("dialog", name="Wrap up now?")
        expect(dialog).to_be_visible()
        was_open_again = dialog.evaluate(
            """async (dialog, end) => {
              const told = new Promise((go) =>
                dialog.addEventListener('close', () => go(dialog.open), { capture: true }))
              dialog.querySelector('button').click()
              await null // the page closes it; the browser says so with the next frame
              end.click()
              return await told
            }""",
            page.get_by_role("group", name="Debate controls")
            .get_by_role("button", name="Wrap up now")
            .element_handle(),
        )
        assert was_open_again
        expect(dialog.get_by_role("button", name="Keep going")).to_be_focused()


def test_nobody_could_give_the_closing_summary(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    stage.says = lambda call: (
        ProviderRefusedError("The model declined.") if call.step.kind == "summary" else line(call)
    )
    stage.held = True
    debate = moot.create(format="custom", participants=CAST, options={"rounds": 2})
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        page.locator("[data-state=speaking]").wait_for()
        end = page.get_by_role("button", name="Wrap up now")
        help_ = "The host, or else the first participant who can, gives the closing summary"
        expect(end).to_have_attribute("title", help_)
        end.click()
        dialog = page.get_by_role("dialog", name="Wrap up now?")
        expect(dialog).to_contain_text(help_)
        dialog.get_by_role("button", name="Wrap up now").click()
        stage.held = False
        moot.wait(debate["id"])
        told = "It was ended early. Nobody could give a closing summary."
        expect(page.get_by_text(told)).to_be_visible()
        expect(page.locator("article.failed")).to_have_count(3)
        expect(page.locator("h2.place").last).to_have_text("Summary")
        page.get_by_role("link", name="See the outcome").click()
        expect(page.get_by_text(told)).to_be_visible()
        why = page.locator(".unclosed")
        expect(why).to_contain_text("Nobody could give the closing summary. Host: ")
        expect(why).to_contain_text("The model declined.")


def test_after_a_stop_was_accepted_nothing_else_is_offered(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    stage.held = True
    debate = moot.create(format="duel")
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        page.locator("[data-state=speaking]").wait_for()
        buttons = page.get_by_role("group", name="Debate controls").get_by_role("button")
        expect(buttons).to_have_text(["Pause", "Wrap up now", "Abort"])
        assert moot.post(f"/debates/{debate['id']}/stop").status_code == 202  # somebody else does
        expect(page.get_by_text("A stop was asked for")).to_be_visible()
        expect(buttons).to_have_text(["Aborting …"])
        expect(buttons).to_be_disabled()
        stage.held = False
        expect(page.get_by_text("It was stopped.")).to_be_visible()


def test_a_debate_that_is_behind_its_files_does_not_look_live(
    browser: Browser, tmp_path: Path
) -> None:
    stage = Stage(line)
    file = Settings(home=tmp_path / "home").file
    assert file
    with served(tmp_path / "home", stage) as before:
        stage.says = lambda call: line(call) if call.step.round == 1 else hold(stage, call)
        debate = before.create(format="duel", limits={"max_turns": 6})
        until(lambda: len(stage.calls) >= 3)
        copy = tmp_path / "older.sqlite"
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        stage.held = False
        before.wait(debate["id"])
    for leftover in file.parent.glob(f"{file.name}-*"):
        leftover.unlink()
    shutil.copy(copy, file)
    with served(tmp_path / "home", stage) as moot, visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        warning = page.get_by_role("alert").filter(has_text="This debate is on hold")
        expect(warning).to_contain_text("Its files go up to entry")
        expect(warning.locator("code")).to_have_text("moot reindex --from-files")
        expect(page.locator(".arena > header")).to_contain_text("On hold")
        expect(page.locator(".arena > header")).not_to_contain_text("Running")
        expect(page.locator(".arena > header")).not_to_contain_text("Live")
        expect(page.locator("[data-seat][data-state=silent]")).to_have_count(2)
        expect(page.locator(".speaking")).to_have_count(0)
        page.get_by_role("button", name="Pause").click()
        expect(page.locator("footer .notice")).to_contain_text("moot reindex --from-files")
        page = tab.open(f"/d/{debate['id']}/outcome")
        expect(page.get_by_role("alert")).to_contain_text("This debate is on hold")


def test_an_older_database_is_noticed_while_one_watches(
    browser: Browser, moot: Served, stage: Stage
) -> None:
    stage.held = True
    debate = moot.create(format="duel")
    moot.wait(debate["id"], "running")
    now = moot.http.get(f"/debates/{debate['id']}").json()
    ahead = f"DEBATE_WARN_FILES_AHEAD: {debate['id']}: its files go up to entry 9. Run `moot x`."
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}", script=STREAM)
        page.wait_for_function("() => 'hear' in window")
        expect(page.locator(".speaking")).to_have_count(1)
        behind = json.dumps({**now, "warnings": [ahead]})
        tab.context.route(f"**/debates/{debate['id']}", lambda route: route.fulfill(body=behind))
        page.evaluate("() => window.hear('reset', {})")  # as a service with another database says
        expect(page.locator(".behind code")).to_have_text("moot x")
        expect(page.locator(".behind p")).to_have_text("Its files go up to entry 9. Run moot x.")
        expect(page.locator(".speaking")).to_have_count(0)
    stage.held = False


def hold(stage: Stage, call: Call) -> str:
    """Nobody comes to an end from here on, until the test lets them."""
    stage.held = True
    stage.says = line
    return line(call)


def test_warnings_are_shown_in_words(browser: Browser, moot: Served, stage: Stage) -> None:
    debate = moot.create(format="classic", participants=CAST)
    done = moot.wait(debate["id"])
    weak = "he host is local:tiny, which is a small model; give the host a larger model."
    unpriced = "he price of openai:x is not known, so max_cost_usd does not count it (Ada)."
    done["warnings"] = [f"DEBATE_WARN_WEAK_HOST: t{weak}", f"DEBATE_WARN_UNPRICED: t{unpriced}"]
    with visit(browser, moot.url) as tab:
        tab.context.route(
            f"**/debates/{debate['id']}", lambda route: route.fulfill(body=json.dumps(done))
        )
        page = tab.open(f"/d/{debate['id']}")
        notices = page.locator("footer .notice")
        expect(notices).to_have_text([f"T{weak}", f"T{unpriced}"])
        expect(notices.first).to_have_attribute("title", "DEBATE_WARN_WEAK_HOST")
