"""A station as its listeners have it: what is on air, what comes, what was, read aloud if asked."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from moot.ports.model_call import Call
from tests.browser.browsing import NARROW_OR_WIDE, Stage, assert_shows, line, violations, visit
from tests.browser.test_hostile import MARKUP, SAFE, SHORT
from tests.proxy import Proxy
from tests.served import Served, served

WORD = "open sesame"
PHONE = {"width": 390, "height": 844}
MOTIONS = ["Should cities ban cars?", "Is it wrong to eat octopus?"]
ADA = {"lang": "en-GB", "rate": 1.2, "pitch": 0.9}
BEN = {"lang": "en", "name": "Fiona", "rate": 0.8}
VOICES = """
window.said = []
const voices = ['Alice en-GB', 'Fiona en-GB', 'Carlos es-ES', 'Dora en-US'].map((one) => {
  const [name, lang] = one.split(' ')
  return { name, lang }
})
window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text } }
Object.defineProperty(window, 'speechSynthesis', { value: {
  getVoices: () => voices,
  addEventListener: () => undefined,
  cancel: () => { sessionStorage.cancelled = 'yes'; window.speaking = null },
  speak: (one) => {
    window.speaking = one
    const { text, lang, rate, pitch } = one
    window.said.push({ text, lang, rate, pitch, voice: one.voice?.name })
    if (window.fluent) setTimeout(() => window.speaking === one && one.onend())
  },
} })
"""


def station(moot: Served, name: str = "Morning Moot", **asked: Any) -> str:
    """A station of two agents; its id."""
    agents = [
        {"name": "Ada", "bio": "Early **adopter**.", "stance": "pro", "voice": ADA},
        {"name": "Ben", "bio": "A sceptic.", "stance": "con", "voice": BEN},
    ]
    made = [moot.post("/agents", **one).json()["id"] for one in agents]
    given = {"name": name, "about": "Every day.", "agents": made, "motions": MOTIONS, **asked}
    answer = moot.post("/stations", **given)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def air(moot: Served, on: str) -> str:
    answer = moot.post(f"/stations/{on}/air")
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def turns_of(moot: Served, debate_id: str) -> list[dict[str, Any]]:
    return moot.http.get(f"/debates/{debate_id}/turns").json()["items"]


def test_one_joins_late_one_drops_and_nobody_is_asked_for_a_token(
    browser: Browser, tmp_path: Path
) -> None:
    def says(call: Call) -> str:
        if len(stage.calls) == 4:
            stage.held = True  # three are on record, the fourth speaks until all have come
        return f"{line(call)} " + "word " * 60

    stage = Stage(says, a_second=90)
    with (
        served(tmp_path / "home", stage, WORD) as moot,
        Proxy(moot.url) as proxy,
        visit(browser, proxy.at()) as far,
        visit(browser, moot.url, viewport=PHONE, color_scheme="dark") as near,
    ):
        asked: list[str] = []
        near.context.on("request", lambda one: asked.append(one.url.removeprefix(moot.url)))
        on = station(moot)
        first = air(moot, on)
        dropped = far.open(f"/air/{on}")
        dropped.locator("article.turn").first.wait_for()
        dropped.locator(".speaking p").first.wait_for()
        expect(dropped.get_by_text("● Live")).to_be_visible()
        proxy.pause()
        proxy.reset()
        expect(dropped.get_by_text("○ Reconnecting …")).to_be_visible()
        late = near.open(f"/air/{on}")
        expect(late.locator("article.turn")).to_have_count(3)  # what was said before it came
        late.get_by_role("button", name="Jump to live").click()
        expect(late.locator(".speaking")).to_be_in_viewport()
        expect(late.get_by_role("button", name="Jump to live")).to_have_count(0)
        assert violations(late) == []
        proxy.resume()
        stage.a_second = 0
        stage.held = False
        moot.wait(first)
        for page in (dropped, late):
            expect(page.get_by_role("heading", name="The end")).to_be_visible()
            assert_shows(page, turns_of(moot, first))
            expect(page.get_by_text("Reconnecting …")).to_have_count(0)
            expect(page.locator(".speaking")).to_have_count(0)
            expect(page.get_by_role("dialog")).to_be_hidden()
        expect(late.locator(".prose")).to_contain_text("word")
        late.get_by_role("region", name="Station").press("End")
        stage.held = True
        second = air(moot, on)  # and on with the next one, by itself
        expect(late.get_by_role("heading", level=2, name=MOTIONS[1])).to_be_visible()
        stage.held = False
        moot.wait(second)
        expect(late.get_by_role("heading", name="The end")).to_be_visible()
        assert_shows(late, turns_of(moot, second))
        ours = ("/air/", "/on-air/", "/assets/")
        assert [path for path in asked if not path.startswith(ours)] == []


@pytest.mark.parametrize("width", NARROW_OR_WIDE)
def test_a_long_conversation_keeps_its_measure(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    size = {"width": width, "height": 740}
    with served(tmp_path / "home", Stage(line)) as moot:
        on = station(moot, limits={"max_turns": 60})
        was = air(moot, on)
        moot.wait(was)
        with visit(browser, moot.url, viewport=size) as tab:
            page = tab.open(f"/air/{on}/{was}")
            spoken = page.locator(".spoken")
            expect(spoken).to_be_visible()
            box = spoken.bounding_box()
            assert box
            assert 200 < box["width"] <= min(width, 900)
            assert box["x"] + box["width"] <= width


def test_what_comes_and_what_was(browser: Browser, tmp_path: Path) -> None:
    asks = {"permissions": ["clipboard-write"]}
    with served(tmp_path / "home", Stage(line)) as moot, visit(browser, moot.url, **asks) as tab:
        on = station(moot, zone="Pacific/Kiritimati")
        hidden = station(moot, "Hidden", public=False)
        page = tab.open(f"/air/{on}")
        expect(page.get_by_text("Nothing is on air right now.")).to_be_visible()
        expect(page.get_by_text("Nothing is scheduled yet.")).to_be_visible()
        was = air(moot, on)
        moot.wait(was)
        at = datetime.now(UTC) + timedelta(minutes=50)
        waits = moot.post(f"/stations/{on}/conversations", at=at.isoformat()).json()["id"]
        page.reload()
        expect(page.get_by_role("timer")).to_contain_text("in 49 min")
        expect(page.get_by_text("Pacific/Kiritimati")).to_be_visible()
        feed = page.locator("link[rel=alternate]").get_attribute("href") or ""
        assert moot.http.get(feed).headers["content-type"].startswith("application/rss+xml")
        assert violations(page) == []
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_text("Copied.")).to_be_visible()
        page.locator(f"a[data-id={was}]").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(MOTIONS[0])
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        assert_shows(page, turns_of(moot, was))
        expect(page.get_by_role("heading", name="The end")).to_be_visible()
        expect(page.get_by_role("list", name="Speakers")).to_contain_text("Early **adopter**.")
        page.get_by_role("link", name="← Morning Moot").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Morning Moot")
        for path in (f"/air/{hidden}", "/air/nothing"):
            page.goto(moot.url + path)
            expect(page.get_by_text("There is no such station, or it is not")).to_be_visible()
        page.goto(f"{moot.url}/air/{on}/{waits}")  # not aired yet
        expect(page.get_by_text("There is no such conversation on this")).to_be_visible()


@pytest.mark.parametrize("width", NARROW_OR_WIDE)
def test_hostile_text_is_inert(browser: Browser, tmp_path: Path, width: int) -> None:
    says = f"One plain sentence stands before all of this.\n\n{MARKUP} {'W' * 20_000}"
    size = {"width": width, "height": 800}
    with (
        served(tmp_path / "home", Stage(lambda _: says)) as moot,
        visit(browser, moot.url, viewport=size) as tab,
    ):
        names = [SHORT[:60], "N" * 60]
        bios = [f"{SHORT} {'B' * 1000}", MARKUP[:2000]]
        agents = [
            moot.post("/agents", name=name, bio=bio, stance=stance).json()["id"]
            for name, bio, stance in zip(names, bios, ("pro", "con"), strict=True)
        ]
        motion = f"{SHORT} {'M' * 3000}"
        asked = {"about": f"{SHORT} {'A' * 300}", "agents": agents, "motions": [motion]}
        on = moot.post("/stations", name=SHORT[:60], **asked).json()["id"]
        moot.wait(air(moot, on))
        (past,) = moot.http.get(f"/on-air/{on}").json()["past"]
        for path in (f"/air/{on}", f"/air/{on}/{past['id']}"):
            page = tab.open(path)
            expect(page.get_by_role("heading", name="Previously aired")).to_be_visible()
            if path.endswith(past["id"]):
                expect(page.locator("article.turn .text p").first).to_be_visible()
                expect(page.get_by_role("heading", name="Summary")).to_be_attached()
            assert_inert(page)


def assert_inert(page: Page) -> None:
    assert page.evaluate("() => window.harmed") is None
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    for tag in ("img", "svg", "iframe", "object", "video", "style", "form", "base", "embed"):
        assert page.locator(f"main {tag}").count() == 0, tag
    for link in page.locator("main :is(.text, .bio, .about) a[href]").all():
        href = link.get_attribute("href") or ""
        assert href in SAFE or href.startswith("#turn-")


def ends(page: Page, times: int = 1) -> None:
    """The voice comes to the end of what it was given."""
    for _ in range(times):
        page.evaluate("() => window.speaking?.onend()")


def test_it_is_read_aloud_when_asked_for_with_a_voice_for_each(
    browser: Browser, tmp_path: Path
) -> None:
    begun: list[str] = []

    def says(call: Call) -> str:
        stage.held = stage.held or (call.step.round == 2 and not begun)
        begun.extend(["round 2"] if call.step.round == 2 else [])
        return f"**{line(call)}**\n\n- and [so](https://example.org) on"

    stage = Stage(says)
    with served(tmp_path / "home", stage) as moot, visit(browser, moot.url) as tab:
        on = station(moot)
        debate = air(moot, on)
        page = tab.open(f"/air/{on}", script=VOICES)
        expect(page.locator("article.turn")).to_have_count(2)
        page.locator(".speaking p").first.wait_for()
        expect(page.locator(".facts")).to_contain_text("Duel · round 2")
        expect(page.locator("h2.place").last).to_have_text("Duel · round 2")
        said = "() => window.said"
        assert page.evaluate(said) == []  # off until asked for
        page.get_by_role("button", name="Read aloud").click()
        expect(page.get_by_text("Waiting for the next turn.")).to_be_visible()
        assert page.evaluate(said) == []  # what was said before is not read
        stage.held = False
        moot.wait(debate)
        turns = turns_of(moot, debate)
        current = page.locator("article[aria-current=true]")
        expect(current).to_have_attribute("id", f"turn-{turns[2]['number']}")
        expect(page.locator("article.turn")).to_have_count(len(turns))
        ends(page, 2)  # its two paragraphs
        expect(current).to_have_attribute("id", f"turn-{turns[3]['number']}")
        page.wait_for_function("() => window.said.length === 3")
        page.get_by_role("button", name="Skip").click()
        expect(current).to_have_attribute("id", f"turn-{turns[4]['number']}")
        page.wait_for_function("() => window.said.length === 4")
        page.evaluate("() => { window.fluent = true; window.speaking.onend() }")
        expect(page.get_by_text("Everything has been read.")).to_be_visible()
        heard: list[dict[str, Any]] = page.evaluate(said)
        voices = {
            "ada": {"voice": "Alice", "lang": "en-GB", "rate": 1.2, "pitch": 0.9},
            "ben": {"voice": "Fiona", "lang": "en", "rate": 0.8, "pitch": 1},
        }
        expected = [
            {"text": text, **voices[turn["actor"]]}
            for turn in turns[2:]
            for text in (turn["text"].split("**")[1], "and so on")
        ]
        del expected[3]  # skipped
        assert heard == expected
        page.evaluate("() => { window.fluent = false }")
        page.get_by_role("button", name="Stop reading").click()
        page.get_by_role("region", name="Station").evaluate("one => one.scrollTo(0, 0)")
        page.get_by_role("button", name="Read aloud").click()  # one that is over: from the top
        expect(current).to_have_attribute("id", f"turn-{turns[0]['number']}")
        page.wait_for_function("before => window.said.length > before", arg=len(heard))
        page.evaluate("() => { sessionStorage.cancelled = 'no' }")
        page.goto(f"{moot.url}/air/nothing")
        page.wait_for_function("() => sessionStorage.cancelled === 'yes'")  # it stops who leaves


def test_a_browser_without_voices_says_so(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path / "home", Stage(line)) as moot, visit(browser, moot.url) as tab:
        on = station(moot)
        debate = air(moot, on)
        moot.wait(debate)
        page = tab.open(f"/air/{on}/{debate}")  # Chromium without a head has none
        page.get_by_role("button", name="Read aloud").click()
        expect(page.get_by_text("This browser has no voices for reading aloud.")).to_be_visible()
        expect(page.get_by_role("button", name="Read aloud")).to_be_visible()
