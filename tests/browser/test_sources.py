"""Documents on the page: dropped, listed, removed, refused; cited, quoted, opened in their page."""

import json
import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from moot.core.jury import SIDES
from moot.ports.model_call import Call
from tests.browser.browsing import Stage, violations, visit
from tests.integration.juries import ballot
from tests.served import Served, served
from tests.unit.sources.papers import pdf

REAL, FAKE = "the *ledger* ‘moves’ before winter", "nobody ever wrote <b>this</b> down"
WRITTEN = "the *ledger* 'moves' before winter"
HOSTILE = '<img src=x onerror="window.ran = 1"><script>window.ran = 1</script>'
PAGES = [[f"Page {n} of many."] for n in range(1, 8)] + [[f"In short, {WRITTEN}.", HOSTILE]]
SAID = f'It **moves** [S1.8 "{REAL}"], see [S2.1]. Yet [S1.2 "{FAKE}"] {HOSTILE}'


MARKS = ".unverified, [title=DEBATE_WARN_QUOTE_UNVERIFIED]"
"""What shows that a quote failed: a mark, or a sentence that says so."""


def says(call: Call) -> str:
    if call.step.answer != "ballot":
        return f"{len(call.heard)}: {SAID}"
    reason = {"text": f'So [S1.8 "{REAL}"], not [S1.8 "{FAKE}"].', "turns": [], "quotes": [FAKE]}
    return json.dumps({**ballot(call, SIDES[0]), "reasons": [reason]})


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("sources") / "home", Stage(says)) as found:
        yield found


def file(name: str, data: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


DROP = """([box, text]) => {
  const held = new DataTransfer()
  held.items.add(new File([text], 'rfc-12.md'))
  for (const type of ['dragover', 'drop'])
    box.dispatchEvent(new DragEvent(type, { dataTransfer: held, bubbles: true, cancelable: true }))
}"""


def set_up(page: Page) -> None:
    duel = page.get_by_role("radio", name="Duel")
    for _ in range(5):  # what is loaded above it may push it away from under the pointer
        duel.click()
        if duel.is_checked():
            break
    expect(duel).to_be_checked()
    page.get_by_label("Motion").fill("Should we move the ledger?")
    page.get_by_label("Turns", exact=True).fill("2")
    page.locator("#documents-file").set_input_files([
        file("report.pdf", pdf(PAGES)),
        file("keys.txt", b"one\nAKIAIOSFODNN7ABCDEFG\n"),
        file("photo.png", b"\x89PNG\r\n\x00\x00"),
    ])  # fmt: skip
    box = page.locator("section.documents").element_handle()
    page.evaluate(DROP, [box, "# RFC 12\n\nAda owns the ledger."])
    read = page.get_by_role("list", name="Documents that were read")
    expect(read.get_by_text("pdf · 8 pages · 8 passages")).to_be_visible()
    expect(read.get_by_text("keys.txt:2 looks like an AWS access key")).to_be_visible()
    expect(read.get_by_text("photo.png: it is not a document that can be read.")).to_be_visible()
    expect(read.get_by_role("listitem").nth(3)).to_contain_text(re.compile("S2 *rfc-12.md"))
    expect(page.get_by_test_id("carrying")).to_contain_text(re.compile("about .* tokens: .*\\$"))
    for name in ("keys.txt", "photo.png"):
        page.get_by_role("button", name=f"Remove {name}").click()
    expect(read.get_by_role("listitem")).to_have_count(2)
    page.reload()  # what was sent is still there
    expect(read.get_by_role("listitem")).to_have_count(2)
    page.get_by_role("button", name="Next").click()


def marked(page: Page, where: str, least: int = 1) -> None:
    """Wherever the failed words stand, they stand in a mark."""
    everywhere = page.locator(where).get_by_text("nobody ever wrote").all()
    assert len(everywhere) >= least
    for one in everywhere:
        if one.is_visible():
            assert one.evaluate("(one, marks) => !!one.closest(marks)", MARKS)


def test_from_a_dropped_file_to_the_words_in_their_page(browser: Browser, moot: Served) -> None:
    with visit(browser, moot.url) as tab:
        page = tab.open("/new")
        set_up(page)
        page.get_by_label("Jury", exact=True).select_option("3")
        page.get_by_role("button", name="Start the debate").click()
        page.wait_for_url("**/d/debate_*")
        made = moot.wait(page.url.rpartition("/")[2])
        assert [one["title"] for one in made["sources"]] == ["report.pdf", "rfc-12.md"]

        page.goto(f"{moot.url}/d/{made['id']}#turn-1")  # the last turns are what is in view first
        turn = page.locator("#turn-1")
        expect(turn.locator("q")).to_have_text(REAL)
        expect(turn.locator(".unverified")).to_contain_text("unverified quote")
        marked(page, "main")
        assert not violations(page)
        page.goto(f"{moot.url}/d/{made['id']}/outcome")
        page.locator("details").evaluate_all("all => all.forEach((one) => (one.open = true))")
        expect(page.get_by_text("found word for word")).to_be_visible()
        marked(page, "main", least=0)

        page.goto(f"{moot.url}/d/{made['id']}#turn-1")
        turn.get_by_role("link", name="S1.8").click()
        expect(page.locator("mark")).to_have_text(WRITTEN)
        expect(page.locator("mark")).to_be_in_viewport()
        expect(page.locator(".cited .number")).to_have_text("S1.8")
        expect(page.get_by_role("heading", name="Page 8")).to_be_in_viewport()
        expect(page.get_by_text("onerror=")).to_be_visible()
        assert page.evaluate(
            "() => window.ran === undefined && !document.querySelector('main img')"
        )
        assert not violations(page)
        page.get_by_role("link", name="S2 rfc-12.md").click()
        expect(page.get_by_text("Ada owns the ledger.")).to_be_visible()
