"""Text that means harm, wherever it can stand: inert, and the page stays whole."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect

from moot.ports.model_call import Call
from tests.browser.browsing import NARROW_OR_WIDE, Stage, visit
from tests.served import Served, served

EVIL = "http://evil.example"
SAFE = ("https://example.org/fine", "mailto:a@example.org")
RLO = "\u202e\u2066\u202a"
LONG = "W" * 100_000
MARKUP = f"""\
<script>window.harmed = 'script'</script>
<img src={EVIL}/a.png onerror="window.harmed = 'onerror'">
<svg onload="window.harmed = 'svg'"><image href="{EVIL}/b.png"/><use href="{EVIL}/c.svg#x"/></svg>
<iframe src="{EVIL}/d"></iframe><object data="{EVIL}/e"></object><video src="{EVIL}/f"></video>
<style>body {{ display: none; background: url({EVIL}/g) }}</style><base href="{EVIL}/">
<form action="{EVIL}/h"><button>press</button></form><link rel="stylesheet" href="{EVIL}/i.css">
<a id="main" class="skip" style="position:fixed" href="javascript:window.harmed='link'">click</a>

![inline]({EVIL}/j.png) ![data](data:image/svg+xml;base64,PHN2Zy8+) ![by reference][pic]
[script](javascript:window.harmed='md') [data](data:text/html,<script>1</script>) \
[vb](vbscript:x) [good](https://example.org/fine) [mail](mailto:a@example.org) <javascript:x>

[pic]: {EVIL}/k.png
{RLO}reversed

| a | b |
| - | - |
| <img src={EVIL}/l.png> | `<script>` |
"""
FORMULAS = rf"""\
$\href{{javascript:window.harmed='href'}}{{x}}$ $\url{{{EVIL}/o}}$
$\includegraphics{{{EVIL}/p.png}}$
$\class{{skip}}{{x}}$ $\id{{main}}{{x}}$ $\style{{position:fixed}}{{x}}$ $\data{{x=y}}{{x}}$
$\textcolor{{white}}{{hidden}}$ $\rule{{9999em}}{{9999em}}$ $x\raisebox{{9999em}}{{y}}$
$\kern9999em z$
$\text{{<img src={EVIL}/q onerror=window.harmed='text'>}}$
\(a <script>window.harmed='tex'</script>\)
$\text{{</mtext></math><img src={EVIL}/r onerror=window.harmed='mtext'>}}$

$$\begin{{matrix}} </math><svg onload="window.harmed='display'"> & b \\ c & d \end{{matrix}}$$

```html
<img src={EVIL}/s onerror="window.harmed='code'"><span class="skip" style="position:fixed">x</span>
```

```python" onclick="window.harmed='language'" class="skip
print("<script>window.harmed='python'</script>")
```

- [x] <input onfocus="window.harmed='tick'" autofocus>
"""
BOMBS = (
    r"$\def\a{xx}\def\b{\a\a}\def\c{\b\b}\c\c$",
    r"$\newcommand\loop{\loop\loop}\loop$",
    r"\(" + "{" * 480 + "x" + "}" * 480 + r"\)",
    r"\(" + r"\frac1" * 100 + r"2\)",
    r"\(" + r"\left(" * 60 + "x" + r"\right)" * 60 + r"\)",
    r"\(" + r"\sqrt{" * 80 + "x" + "}" * 80 + r"\)",
)
MANY = "$x$ " * 400
SHORT = f"<img src={EVIL}/n onerror=window.harmed=1> {RLO}<script>x</script>"


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    def says(call: Call) -> str:
        if call.debate.motion == "Formulas":
            return (FORMULAS, " ".join(BOMBS), MANY)[min(call.debate.turn_count, 2)]
        return MARKUP if call.step.round < 2 else LONG

    with served(tmp_path_factory.mktemp("hostile") / "home", Stage(says)) as found:
        yield found


def assert_whole(page: Page) -> None:
    assert page.evaluate("() => window.harmed") is None
    wide = "() => [document.documentElement.scrollWidth, innerWidth]"
    scroll, inner = page.evaluate(wide)
    assert scroll <= inner
    expect(page.get_by_role("link", name="Settings")).to_be_in_viewport()
    for selector in ("img", "svg", "iframe", "object", "video", "style", "form", "base", "embed"):
        assert page.locator(f"main {selector}:not(#question)").count() == 0, selector
    assert page.locator("main [onerror], main [onload], main [onclick]").count() == 0


@pytest.mark.parametrize("width", NARROW_OR_WIDE)
def test_a_turn_a_name_a_bio_and_a_motion(browser: Browser, moot: Served, width: int) -> None:
    debate = moot.create(
        f"{SHORT} {'M' * 3000} {MARKUP}"[:4000],
        format="standard",
        participants=[
            {"name": SHORT[:60], "bio": f"{SHORT} {'B' * 1000}", "stance": "pro"},
            {"name": "N" * 60, "bio": MARKUP[:2000], "stance": "con"},
        ],
        host={"name": f"H{RLO}", "bio": SHORT},
        options={"rounds": 2},
        limits={"max_turn_tokens": 4096},
    )
    moot.wait(debate["id"])
    with visit(browser, moot.url, viewport={"width": width, "height": 800}) as tab:
        page = tab.open(f"/d/{debate['id']}")
        scroller = page.get_by_role("region", name="Transcript")
        expect(page.locator("article.turn .text p").first).to_be_visible()
        for _ in range(12):
            scroller.evaluate("one => one.scrollBy(0, 2000)")
            page.wait_for_timeout(60)
            assert_whole(page)
        links = page.locator("main article a[href]:not(.number)")
        assert links.count() > 0
        for link in links.all():
            assert link.get_attribute("href") in SAFE
            assert link.get_attribute("rel") == "noopener noreferrer nofollow"
            assert link.get_attribute("target") == "_blank"
        for plain in page.locator("main article .text *").all():
            assert not plain.get_attribute("id")
            assert not plain.get_attribute("style")
        expect(page.locator("article.turn").first).to_contain_text("<script>window.harmed")
        # the line of 100,000 characters is cut, and can be seen whole
        scroller.evaluate("one => one.scrollTo(0, one.scrollHeight)")
        more = page.get_by_role("button", name="Show the remaining")
        if more.count():
            more.first.click()
            page.wait_for_timeout(300)
        assert_whole(page)
        page = tab.open("/")
        expect(page.locator(f"a[data-id={debate['id']}]")).to_be_visible()
        assert_whole(page)


def test_maths_and_code(browser: Browser, moot: Served) -> None:
    """What is not plain maths stays as it was written, and none of it acts, hides or grows."""
    limits = {"max_turns": 3, "max_turn_tokens": 4096}
    debate = moot.create("Formulas", format="standard", options={"rounds": 0}, limits=limits)
    moot.wait(debate["id"])
    with visit(browser, moot.url) as tab:
        page = tab.open(f"/d/{debate['id']}")
        evil, bombs, many = (page.locator("article.turn .text").nth(nth) for nth in range(3))
        expect(evil.locator("math").first).to_be_visible()
        assert_whole(page)
        for element in evil.locator("*").all():
            assert not element.get_attribute("style")
            assert not element.get_attribute("id")
            assert "skip" not in (element.get_attribute("class") or "")
        assert evil.locator("a, input, [onclick], [mathcolor], [mathbackground]").count() == 0
        for command in ("href", "url", "includegraphics", "class", "id", "style", "data"):
            expect(evil.locator("code", has_text=f"\\{command}{{")).to_have_count(1)
        expect(evil.locator("math", has_text="hidden")).to_have_count(1)
        height = "one => Math.max(...[...one.querySelectorAll('math')].map(m => m.clientHeight))"
        assert evil.evaluate(height) < 1000
        expect(evil.locator(".code")).to_have_count(2)
        expect(evil.locator("pre").first).to_contain_text('<span class="skip"')
        expect(evil.get_by_role("img", name="done", exact=True)).to_have_count(1)
        expect(evil).to_contain_text('<input onfocus="window')
        bombs.scroll_into_view_if_needed()
        expect(bombs.locator("code")).to_have_count(len(BOMBS))
        assert bombs.locator("math").count() == 0
        many.scroll_into_view_if_needed()
        expect(many.locator("math").first).to_be_visible()
        assert many.locator("math").count() == 150
        assert_whole(page)


def test_while_it_is_spoken(browser: Browser, moot: Served) -> None:
    stage = Stage(lambda call: f"{MARKUP} {LONG}")
    with served(moot.home.parent / "spoken", stage) as live, visit(browser, live.url) as tab:
        stage.held = True
        debate = live.create("Is it safe?", format="duel")
        page = tab.open(f"/d/{debate['id']}")
        expect(page.locator(".speaking p").first).to_contain_text("<script>")
        assert_whole(page)
        stage.held = False
        live.wait(debate["id"])


def test_the_policy_stands_on_every_answer_of_the_page(moot: Served) -> None:
    page = moot.http.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "data:" not in policy
    assert page.headers["cache-control"] == "no-cache"
    for path in ("/new", "/d/x", "/d/x/outcome", "/d/x/replay"):
        assert moot.http.get(path).text == page.text
