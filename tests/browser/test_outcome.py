"""What a debate came to, in a real browser: decision, what changed, graph, report, downloads."""

import json
import re
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from moot.errors import ProviderError, ProviderRefusedError
from moot.ports.model_call import Call
from tests.browser.browsing import (
    NARROW_OR_WIDE,
    Stage,
    before_verdicts,
    line,
    violations,
    visit,
)
from tests.integration.councils import answer, written
from tests.served import Served, served
from tests.stress import STRESS

WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}
EVIL = "http://evil.example"
HOSTILE = (
    f"\u202e\u2066<script>window.harmed='script'</script><img src={EVIL}/a onerror=window.harmed=1>"
    f"<svg onload=window.harmed=2><image href={EVIL}/b /></svg> ![x]({EVIL}/c.png) "
    "[y](javascript:window.harmed=3) [z](data:text/html,<script>1</script>) [turn:3] " + "W" * 2000
)


def says(call: Call) -> str | ProviderError:
    """A council in which the Critic is won over; where the motion asks for it, one that fails."""
    motion, step = call.debate.motion, call.step
    if step.stage == "report":
        return json.dumps(written(call))
    everyone = "all fail" in motion
    judge = "no verdict" in motion and step.actor == "judge" and step.round > 1
    if everyone or judge:
        return ProviderRefusedError("The model declined.")
    said = answer(call)
    if said is None:
        return f"{line(call)} We should ship because the sums say so. **It pays.**"
    if step.actor == "critic" and step.answer == "revision":
        said |= {
            "position": "Ship it",
            "revisions": [{"change": "I no longer ask to wait.", "reason": "The sums hold."}],
        }
    return json.dumps(_hostile(said) if "hostile" in motion else said)


def _hostile(said: Any, name: str = "") -> Any:
    """Every text of an answer, as somebody who means harm would write it."""
    if isinstance(said, dict):
        return {key: _hostile(value, key) for key, value in said.items()}
    if isinstance(said, list):
        return [_hostile(value, name) for value in said]
    kept = ("targetRole", "sourceRole", "severity", "due")
    return f"{said} {HOSTILE}" if isinstance(said, str) and name not in kept else said


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage(says)


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("outcome") / "home", stage) as found:
        yield found


def convene(moot: Served, problem: str, **asked: Any) -> str:
    asked = {"problem": problem, "output_type": "decision", **asked}
    return moot.http.post("/debates/council", json=asked).json()["id"]


@pytest.fixture(scope="module")
def debates(moot: Served, stage: Stage) -> dict[str, str]:
    made = {
        "council": convene(moot, "Shall we ship it?", constraints=["no downtime"]),
        "degraded": convene(moot, "Shall we ship with no verdict?"),
        "failed": convene(moot, "What if all fail?"),
        "classic": moot.create("Is it time?", format="classic")["id"],
        "waiting": moot.create("Later?", format="duel", start=False)["id"],
    }
    for name in ("council", "degraded", "failed", "classic"):
        moot.wait(made[name])
    stage.held = True
    made["ended"] = convene(moot, "Shall we end early?")
    moot.wait(made["ended"], "running")
    assert moot.post(f"/debates/{made['ended']}/end").status_code == 202
    stage.held = False
    moot.wait(made["ended"])
    return made


def opened(tab: Any, debate_id: str) -> Page:
    page = tab.open(f"/d/{debate_id}/outcome")
    expect(page.get_by_role("heading", name="What it took")).to_be_visible()
    return page


def test_the_decision_as_a_document(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    debate_id = debates["council"]
    packet = moot.http.get(f"/debates/{debate_id}/packet").json()
    turns = {one["number"] for one in moot.http.get(f"/debates/{debate_id}/turns").json()["items"]}
    with visit(browser, moot.url) as tab:
        page = opened(tab, debate_id)
        expect(page.get_by_role("heading", level=1)).to_have_text("Ship it")
        answer, tools = (
            page.locator("[data-outcome]").bounding_box(),
            page.locator(".row.tools").bounding_box(),
        )
        assert answer
        assert tools
        assert answer["y"] < 300 < tools["y"]  # what came of it, before what can be done with it
        document = page.locator(".document")
        for title in ("The problem", "Why", "Rejected options", "Agreed", "Still open", "Risks"):
            expect(document.get_by_role("heading", name=title, exact=True)).to_be_visible()
        for text in ("Shall we ship it?", "no downtime", "Wait", "Slow.", "Cap it.", "Begin"):
            expect(document).to_contain_text(text)
        expect(document.locator(".scores")).to_contain_text(
            f"{packet['consensus']['consensusScore']:.2f}"
        )
        expect(document.locator(".actions li")).to_have_count(2)
        # every citation of the packet is a link to its turn, and no other is there
        cited = re.findall(r"turn:(\d+)", json.dumps(packet))
        links = document.locator("a.cite")
        assert sorted(map(int, cited)) == sorted(
            int(str(link.get_attribute("href")).rpartition("-")[2]) for link in links.all()
        )
        assert {int(number) for number in cited} <= turns == {*range(1, len(turns) + 1)}
        expect(document).to_contain_text("no turn cited")
        expect(page.locator("main")).to_contain_text("One citation was dropped")
        links.first.click()
        expect(page).to_have_url(re.compile(rf"/d/{debate_id}#turn-\d+$"))
        number = page.url.rpartition("-")[2]
        card = page.locator(f"article#turn-{number}")
        expect(card).to_be_in_viewport()
        expect(card.get_by_role("link", name=re.compile(rf"^turn {number} "))).to_be_visible()
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Ship it")


def test_what_debate_changed(browser: Browser, moot: Served, debates: dict[str, str]) -> None:
    debate_id = debates["council"]
    kept = moot.http.get(f"/debates/{debate_id}/replay").json()["consensus"]
    assert [move["role"] for move in kept["moved"]] == ["Critic"]
    with visit(browser, moot.url) as tab:  # with a verdict it is in test_verdict.py
        tab.context.route(f"**/debates/{debate_id}", before_verdicts)
        page = opened(tab, debate_id)
        columns = page.locator(".tallies .column")
        for column, name in ((columns.nth(0), "round1"), (columns.nth(1), "final")):
            expect(column.locator(".option")).to_have_count(len(kept["tally"][name]))
            for counted in kept["tally"][name]:
                expect(column).to_contain_text(f"{counted['support']:.2f}")
                for stand in counted["stands"]:
                    expect(column).to_contain_text(stand["role"])
        expect(columns.nth(0)).to_contain_text("as “Ship it in March”")
        moved = page.locator(".moved li")
        expect(moved).to_have_count(1)
        expect(moved).to_contain_text("Critic went from “Wait a quarter” to “Ship it”")
        for by in kept["moved"][0]["after"]:
            expect(moved).to_contain_text(by["role"])
            expect(moved.locator(f"a[href$='#turn-{by['turn']}']")).to_be_visible()


def test_the_graph_and_its_words_by_keyboard(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["council"])
        graph = page.get_by_role("group", name="Who challenged whom")
        expect(graph.locator("a.node")).to_have_count(5)
        expect(graph.locator("a.badge")).to_have_count(5)
        expect(graph.locator("path.edge")).to_have_count(5)
        critic = graph.get_by_role("link", name="Critic; in round 1: Wait a quarter; at the end")
        expect(critic).to_contain_text("Changed")
        expect(page.get_by_role("list", name="Challenges").locator("> li")).to_have_count(5)
        revisions = page.get_by_role("list", name="Revisions")
        expect(revisions.locator("> li")).to_have_count(5)
        expect(revisions).to_contain_text("I no longer ask to wait. Because: The sums hold.")
        page.get_by_role("button", name="Print").focus()
        for _ in range(200):
            page.keyboard.press("Tab")
            if page.evaluate("() => document.activeElement.classList.contains('badge')"):
                break
        expect(page.locator("figcaption").first).to_contain_text("Proponent asks Critic: Why now?")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"#turn-\d+$"))
        expect(page.locator("article.turn:focus")).to_contain_text("Why now?")


def test_a_council_from_before_formats_said_what_they_come_to(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    def before(route: Route) -> None:
        debate = route.fetch().json()
        debate["rules"]["outcome"] = "packet"
        debate["outcome"].pop("outcome")
        roles = debate["rules"]["roster"]["roles"]
        debate["rules"]["roster"]["roles"] = [role["name"] for role in roles]
        route.fulfill(json=debate)

    with visit(browser, moot.url) as tab:
        tab.context.route(f"**/debates/{debates['council']}", before)
        page = opened(tab, debates["council"])
        expect(page.get_by_role("heading", level=1)).to_have_text("Ship it")
        expect(page.locator(".tallies .column").first).to_contain_text("Round 1")
        graph = page.get_by_role("group", name="Who challenged whom")
        expect(graph.locator("a.node")).to_have_count(5)
        expect(graph.locator("a.badge")).to_have_count(5)
        expect(page.get_by_role("list", name="Revisions").locator("> li")).to_have_count(5)


def test_downloads(browser: Browser, moot: Served, debates: dict[str, str], tmp_path: Path) -> None:
    debate_id = debates["council"]
    with visit(browser, moot.url) as tab:
        page = opened(tab, debate_id)
        for kind, name in (("md", "Markdown"), ("html", "HTML"), ("json", "JSON")):
            with page.expect_download() as saved:
                page.get_by_role("button", name=f"Download as {name}").click()
            assert saved.value.suggested_filename == f"{debate_id}.{kind}"
            saved.value.save_as(tmp_path / kind)
            exported = moot.http.get(f"/debates/{debate_id}/export?as={kind}").content
            assert (tmp_path / kind).read_bytes() == exported


def test_the_report_of_any_format(browser: Browser, moot: Served, debates: dict[str, str]) -> None:
    report = moot.http.get(f"/debates/{debates['classic']}/report").json()
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["classic"])
        expect(page.get_by_role("heading", level=1)).to_have_text("Is it time?")
        expect(page.get_by_text("The host’s summary")).to_be_visible()
        for who in report["speakers"]:
            expect(page.locator(".speakers")).to_contain_text(who["name"])
            for point in who["mainPoints"]:
                expect(
                    page.locator(f".speakers a[href$='#turn-{point['turn']}']").first
                ).to_be_visible()
        expect(page.get_by_role("table", name="Words and share")).to_be_hidden()
        page.get_by_text("Statistics", exact=True).click()
        words = page.get_by_role("table", name="Words and share")
        expect(words.get_by_role("row")).to_have_count(len(report["speakers"]) + 1)
        for title in ("Seconds per turn", "Words per turn"):
            expect(page.locator("figure", has_text=title)).to_contain_text(
                f"{report['totals']['turns']} turns"
            )
        table = page.get_by_role("region", name="Statistics per speaker")
        expect(table.get_by_role("row")).to_have_count(len(report["speakers"]) + 2)
        page.get_by_text("Figures by turn").click()
        each = page.get_by_role("region", name="Figures by turn")
        expect(each.get_by_role("row")).to_have_count(report["totals"]["turns"] + 1)


@pytest.mark.parametrize("width", NARROW_OR_WIDE)
def test_a_duel_ends_with_what_it_comes_to(browser: Browser, moot: Served, width: int) -> None:
    made = moot.create("Is it worth its price?", format="duel")["id"]
    moot.wait(made)
    with visit(browser, moot.url, viewport={"width": width, "height": 800}) as tab:
        page = opened(tab, made)
        expect(page.locator("main")).to_contain_text("picked out by counting words")
        best = page.locator(".side")
        expect(best).to_have_count(2)
        expect(best.first).to_contain_text("We should ship because the sums say so.")
        expect(page.get_by_role("heading", name="Conceded")).to_have_count(0)
        written = moot.http.post(f"/debates/{made}/report", json={"model": "openai:x"}).json()
        page.reload()
        expect(page.get_by_role("heading", level=2)).to_have_text(
            [
                "At issue",
                "Best points",
                "Conceded",
                "Still open",
                "Ask about this debate",
                "Summary",
                "What it took",
            ]
        )
        told = written["takeaways"]
        for title, found in (
            ("At issue", [told["atIssue"]]),
            ("Best points", told["best"]),
            ("Conceded", told["conceded"]),
            ("Still open", told["open"]),
        ):
            part = page.get_by_role("region", name=title, exact=True)
            for one in found:
                expect(part).to_contain_text(one["text"])
                for turn in one["turns"]:
                    expect(part.locator(f"a[href$='#turn-{turn}']").first).to_be_visible()
        expect(page.get_by_role("table", name="Words and share")).to_be_hidden()
        page.get_by_role("link", name="Read all that was said").click()
        expect(page.locator("article.turn").first).to_be_visible()


def test_what_is_missing_is_said(browser: Browser, moot: Served, debates: dict[str, str]) -> None:
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["degraded"])
        main = page.locator("main")
        expect(main).to_contain_text("Degraded. It continued without something")
        expect(main.locator(".notice.warn")).to_contain_text("Judge did not speak, ")
        expect(main.locator(".notice.warn")).to_contain_text("The model declined to answer.")
        expect(main).to_contain_text("The Judge gave no verdict")
        expect(page.locator(".document section", has_text="Missing")).to_contain_text("Judge, ")
        expect(page.get_by_role("list", name="Revisions")).to_contain_text("not revised")
        page = opened(tab, debates["failed"])
        expect(page.locator("main")).to_contain_text("There is no decision.")
        expect(page.locator(".document")).to_have_count(0)
        page = opened(tab, debates["ended"])
        expect(page.locator("main")).to_contain_text("There is no decision. It was ended early")
        page = tab.open(f"/d/{debates['waiting']}/outcome")
        expect(page.locator("main")).to_contain_text("This debate is not over: it is scheduled.")
        page.get_by_role("link", name="Go to the debate").click()
        expect(page).to_have_url(f"{moot.url}/d/{debates['waiting']}")
        page = tab.open("/d/debate_20261115_120000_abcdef/outcome")
        expect(page.get_by_role("heading", level=1)).to_have_text("The outcome cannot be shown")


def test_where_no_model_spoke(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path / "home") as alone, visit(browser, alone.url) as tab:
        debate_id = convene(alone, "Shall we ship it?")
        alone.wait(debate_id)
        page = opened(tab, debate_id)
        expect(page.locator("main")).to_contain_text("No model spoke for Proponent, Critic")


def test_a_file_that_somebody_spoiled(browser: Browser, moot: Served) -> None:
    debate_id = convene(moot, "Shall we lose a file?")
    moot.wait(debate_id)
    file = moot.home / "records/debates" / debate_id / "consensus.json"
    for _ in range(20):  # the last files are written after the end
        file.write_text('{"tally": 7}')
        time.sleep(0.7)
        if file.read_text() == '{"tally": 7}':
            break
    with visit(browser, moot.url) as tab:
        page = opened(tab, debate_id)
        expect(page.get_by_role("heading", level=1)).to_have_text("Ship it")
        expect(page.locator("main")).to_contain_text("which could not be read")


@pytest.mark.parametrize(
    ("theme", "viewport"),
    [pytest.param("light", WIDE, marks=pytest.mark.stress("dark")), ("dark", PHONE)],
)
def test_axe_finds_nothing(
    browser: Browser, moot: Served, debates: dict[str, str], theme: Any, viewport: Any
) -> None:
    with visit(browser, moot.url, viewport=viewport, color_scheme=theme) as tab:
        shown = ("council", "degraded", "ended", "classic")
        if not STRESS:  # each screen once
            shown = shown[theme == "dark" :: 2]
        for name in shown:
            page = opened(tab, debates[name])
            for fold in page.locator("details").all():
                fold.evaluate("one => { one.open = true }")
            expect(page.get_by_role("region", name="Figures by turn")).to_be_visible()
            assert violations(page) == [], name
            wide = "one => one.scrollWidth - one.clientWidth"
            assert page.locator(".outcome").evaluate(wide) <= 0
            assert page.locator("html").evaluate(wide) <= 0
            page.close()
        page = tab.open(f"/d/{debates['waiting']}/outcome")
        expect(page.get_by_role("link", name="Go to the debate")).to_be_visible()
        assert violations(page) == []


@pytest.mark.parametrize("width", NARROW_OR_WIDE)
def test_hostile_text_is_inert(browser: Browser, moot: Served, width: int) -> None:
    council = convene(moot, f"hostile {HOSTILE}"[:4000], constraints=[HOSTILE[:400]])
    seats = [{"name": HOSTILE[:60], "bio": "b"}, {"name": "N" * 60, "bio": "b"}]
    duel = moot.create(f"hostile {HOSTILE}"[:4000], format="duel", participants=seats)["id"]
    for debate_id in (council, duel):
        assert moot.wait(debate_id)["status"] == "completed"
    screen = {**PHONE, "width": width}
    with visit(browser, moot.url, viewport=screen) as tab:  # counts requests elsewhere: none
        for debate_id in (council, duel):
            page = opened(tab, debate_id)
            page.wait_for_timeout(300)
            main = page.locator("main")
            expect(main).to_contain_text("<script>window.harmed='script'</script>")
            assert page.evaluate("() => window.harmed") is None
            bad = "script, img, iframe, image, use, [onerror], [onload], [style*=url], a[target]"
            assert main.locator(bad).count() == 0
            for link in main.locator("a[href]").all():
                assert str(link.get_attribute("href")).startswith(("/", "#"))
            wide = "one => one.scrollWidth - one.clientWidth"
            assert page.locator(".outcome").evaluate(wide) <= 0
            assert page.locator("html").evaluate(wide) <= 0
            expect(page.get_by_role("button", name="Download as JSON")).to_be_visible()
            page.close()


def test_the_first_load_brings_none_of_it(browser: Browser, moot: Served) -> None:
    asked: list[str] = []
    with visit(browser, moot.url) as tab:
        tab.context.on("request", lambda request: asked.append(request.url))
        page = tab.open("/")
        expect(page.get_by_role("link", name="More options")).to_be_visible()
        page.wait_for_timeout(300)
    assert not [url for url in asked if re.search("Outcome|Replay|Exchange|reader", url)]


def test_citations_of_the_transcript_are_links(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    with visit(browser, moot.url) as tab:
        turns = moot.http.get(f"/debates/{debates['council']}/turns").json()["items"]
        last = [one["number"] for one in turns if "[turn:" in one["text"]][-1]
        page = tab.open(f"/d/{debates['council']}#turn-{last}")
        page.locator(f"#turn-{last}").scroll_into_view_if_needed()
        cited = page.locator(f"#turn-{last} .text a[href^='#turn-']").first
        expect(cited).to_be_visible()
        where = str(cited.get_attribute("href"))
        cited.click()
        expect(page.locator(where)).to_be_focused()
        expect(page.locator(where)).to_be_in_viewport()
        expect(page.locator(f"#turn-{last}")).not_to_contain_text("[turn:")


def test_back_from_a_citation_leads_to_where_one_was(
    browser: Browser, moot: Served, debates: dict[str, str]
) -> None:
    with visit(browser, moot.url) as tab:
        page = opened(tab, debates["council"])
        cited = page.locator(".document .actions a.cite").first
        cited.scroll_into_view_if_needed()
        page.wait_for_timeout(100)
        before = page.locator(".outcome").evaluate("one => one.scrollTop")
        assert before > 0
        cited.click()
        page.wait_for_url("**#turn-*")
        page.go_back()
        expect(page.get_by_role("heading", name="What it took")).to_have_count(1)
        page.wait_for_timeout(300)
        after = page.locator(".outcome").evaluate("one => one.scrollTop")
        assert abs(after - before) < 3


def test_a_long_motion_can_be_read_to_its_end(browser: Browser, moot: Served) -> None:
    debate_id = moot.create("Is it long? " * 100, format="duel")["id"]
    moot.wait(debate_id)
    with visit(browser, moot.url) as tab:
        page = opened(tab, debate_id)
        heading = page.get_by_role("heading", level=1)
        hidden = "one => one.scrollHeight - one.clientHeight"
        assert heading.evaluate(hidden) > 20
        page.get_by_role("button", name="Show more").click()
        assert heading.evaluate(hidden) <= 2
        page.get_by_role("button", name="Show less").click()
        assert heading.evaluate(hidden) > 20
