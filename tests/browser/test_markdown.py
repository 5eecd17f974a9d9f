"""Markdown as models write it: tables, code, maths and ticks, where turns are shown."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from moot.ports.model_call import Call
from tests.browser.browsing import Stage, violations, visit
from tests.served import Served, served

CODE = """\
def double(x: int) -> int:
    return x * 2  # and a comment that is much too long for a phone, so that the code scrolls"""
RICH = f"""\
It costs $5 and $10, or $5-$10 a month, or 5$, or A$5 and US$; \\[1\\] says so. With $n$ users it is
\\(c(n) = \\frac{{a n^2}}{{2}} + a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p\\).

$$
\\sum_{{i=1}}^n x_i
$$

| Option | Responsibilities | Infrastructure | Recommendation | Internationalisation |
| --- | --- | --: | --- | --- |
| Postgres | Administration | 12 | Recommended | Unquestionable |

3. third
4. fourth

- [x] measured
- [ ] migrated

```python
{CODE}
```
"""
CLIPBOARD = ["clipboard-read", "clipboard-write"]
PLAIN = "It costs $5 and $10. `x` is code, and *that* is all."


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    def says(call: Call) -> str:
        return RICH if "rich" in call.debate.motion else PLAIN

    with served(tmp_path_factory.mktemp("markdown") / "home", Stage(says)) as found:
        yield found


def said(moot: Served, motion: str) -> str:
    debate = moot.create(motion, format="duel", limits={"max_turns": 2})
    moot.wait(debate["id"])
    return debate["id"]


def assert_rich(text: Locator) -> None:
    expect(text.locator("math")).to_have_count(3)
    expect(text).to_contain_text("$5 and $10, or $5-$10 a month, or 5$, or A$5 and US$; [1]")
    expect(text.get_by_role("img", name="done", exact=True)).to_have_text("☑")
    expect(text.get_by_role("img", name="not done")).to_have_text("☐")
    expect(text.locator("ol")).to_have_attribute("start", "3")
    expect(text.locator("pre .hljs-keyword").first).to_have_text("def")


def broken_words(page: Page) -> list[str]:
    """The words in tables that go over more than one line."""
    return page.locator(".text td, .text th").evaluate_all("""cells => cells.flatMap(cell => {
        const range = document.createRange()
        range.selectNodeContents(cell)
        return range.getClientRects().length > 1 ? [cell.textContent] : []
    })""")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_turn_reads_as_it_was_meant(browser: Browser, moot: Served, width: int) -> None:
    debate_id = said(moot, "Is it rich?")
    size = {"width": width, "height": 800}
    with visit(browser, moot.url, viewport=size, permissions=CLIPBOARD) as tab:
        page = tab.open(f"/d/{debate_id}")
        text = page.locator("article.turn .text").first
        assert_rich(text)
        assert broken_words(page) == []
        table = text.get_by_role("group", name="Table")
        assert table.evaluate("one => one.scrollWidth > one.clientWidth") == (width < 1000)
        for formula in text.locator("math").all():
            assert formula.evaluate("one => (one.closest('.wide') ?? one).clientWidth") < width
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert violations(page) == []
        text.get_by_role("button", name="Copy").click()
        expect(text.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("() => navigator.clipboard.readText()") == CODE


def test_a_replay_shows_it_too(browser: Browser, moot: Served) -> None:
    debate_id = said(moot, "Is it rich in replay?")
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate_id}/replay?t=99999")
        assert_rich(page.locator("article.turn .text").first)
        assert violations(page) == []


def test_what_a_text_does_not_need_is_not_loaded(browser: Browser, moot: Served) -> None:
    loaded: list[str] = []
    with visit(browser, moot.url) as tab:
        tab.context.on("request", lambda request: loaded.append(request.url))
        page = tab.open(f"/d/{said(moot, 'Is it plain?')}")
        expect(page.locator("article.turn em").first).to_be_visible()
        assert not [url for url in loaded if "/maths-" in url or "/code-" in url]
        page.goto(f"{moot.url}/d/{said(moot, 'Is it rich, and needs more?')}")
        expect(page.locator("article.turn math").first).to_be_visible()
        assert [url for url in loaded if "/maths-" in url]
        assert [url for url in loaded if "/code-" in url]
