"""report.html as anybody opens it: from its file, with every text in it hostile."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from moot.core.debate import Debate, Participant, Turn, Usage
from moot.render.reading import Point, Reading
from moot.render.report import report
from moot.render.report_page import html
from moot.testing.store_contract import AT, a_debate, a_turn
from tests.browser.browsing import NARROW_OR_WIDE
from tests.verdicts import GO, contested

ELSEWHERE = "https://evil.example"
EVIL = " ".join(
    (
        "<script>window.hit=1</script><img src=x onerror='window.hit=1'><svg/onload=window.hit=1>",
        '<a href="javascript:window.hit=1" autofocus onfocus="window.hit=1">a</a>',
        "</style><style>*{display:none}</style></title></p></section></main>",
        f'<iframe src="{ELSEWHERE}"></iframe><img src="{ELSEWHERE}/p.png">',
        f"<link rel=stylesheet href={ELSEWHERE}/a.css>",
        f"<meta http-equiv=refresh content=0;url={ELSEWHERE}>",
        f"<form action={ELSEWHERE}><button>b</button></form><object data=x></object>",
        '\' " ` " onmouseover=window.hit=1 x=" &#60;script&#62; ]]> -->',
        "\u202egnp.exe\u202c \u2066x\u2069 [a](javascript:window.hit=1)",
        f"![a]({ELSEWHERE}/p.png) {{{{7*7}}}} ${{7*7}} alert(1)",
    )
)
FAILED: dict[str, Any] = {"status": "failed", "text": "", "error_code": EVIL}


def a_hostile_debate() -> tuple[Debate, list[Turn], Reading]:
    seats = tuple(
        Participant(f"{who}{EVIL}", f"{who} {EVIL}", role=EVIL, stance="pro", bio=EVIL, model=EVIL)
        for who in ("a", "b")
    )
    debate = a_debate().but(
        motion=EVIL, participants=seats, status="completed", degraded=True, started_at=AT,
        ended_at=AT, stop_reason="max_turns",
    )  # fmt: skip
    turns = [
        a_turn(
            seq, round=1 + seq // 2, stage=EVIL, actor=seats[seq % 2].id, name=seats[seq % 2].name,
            model=EVIL, data=None, usage=Usage(5, 5, 0.1, 2, True),
            **(FAILED if seq == 4 else {"text": f"{EVIL} {seq}. " * 3}),
        )
        for seq in range(1, 9)
    ]  # fmt: skip
    turns.append(a_turn(9, round=9, kind="summary", actor=seats[0].id, text=EVIL * 2, data=None))
    points = tuple((seat.id, (Point(EVIL[:300], 1), Point(EVIL[-300:], None))) for seat in seats)
    return debate, turns, Reading(EVIL[:2000], points, EVIL, Usage(1, 2, 0.5, 1), AT)


def a_hostile_verdict() -> dict[str, Any]:
    """Every text that a model may have written is hostile."""
    verdict: dict[str, Any] = json.loads(
        json.dumps(contested()).replace(GO, json.dumps(EVIL)[1:-1])
    )
    verdict["dissent"][0] |= {"who": EVIL, "reason": EVIL}
    verdict["moved"][0]["because"]["text"] = EVIL
    verdict["wouldChange"][0]["text"] = verdict["openQuestions"][0]["text"] = EVIL
    verdict["judge"] = {"name": EVIL, "choice": EVIL, "turn": 3}
    verdict["warnings"].append(f"DEBATE_WARN_X: {EVIL}")
    for juror in verdict["jury"]["jurors"]:
        juror |= {"name": EVIL, "model": EVIL}
    return verdict


@pytest.mark.parametrize("width", NARROW_OR_WIDE)
@pytest.mark.parametrize("by", ["extraction", "model", "jury"])
def test_hostile_text_is_inert_and_the_plots_are_there(
    browser: Browser, tmp_path: Path, by: str, width: int
) -> None:
    debate, turns, wrote = a_hostile_debate()
    made = report(debate, turns, wrote if by == "model" else None)
    if by == "jury":
        made["verdict"] = a_hostile_verdict()
    path = tmp_path / "report.html"
    path.write_text(html(made), encoding="utf-8")
    asked: list[str] = []
    wrong: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text))
    page.goto(path.as_uri())
    poke(page)
    assert page.evaluate("window.hit") is None
    assert (wrong, asked) == ([], [path.as_uri()]), "nothing ran, and nothing else was asked for"
    assert page.url == path.as_uri()
    assert page.locator("script, img, iframe, a, form, link, object, button").count() == 0
    assert page.locator("[onerror], [onload], [onfocus], [onmouseover], [style]").count() == 0
    assert page.locator("style").count() == 1
    look(page, made)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, "no text makes the page wider than the screen"
    context.close()


def poke(page: Page) -> None:
    """Move over and click on all that a person could."""
    page.locator("summary").first.click()
    for place in ("h1", "blockquote", "li", "figure", "td", "footer"):
        page.locator(place).first.hover()
        page.locator(place).first.click()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")


def look(page: Page, made: dict[str, Any]) -> None:
    assert "<script>window.hit=1</script>" in page.locator("h1").inner_text(), "as it was said"
    assert "\u202e" not in page.content()
    if "verdict" in made:
        assert page.locator("section").first.inner_text().startswith("Contested")
        assert page.locator("section h2").all_inner_texts()[1:4] == [
            "Favoured and selected",
            "Options",
            "Jurors",
        ]
    plots = page.locator("figure svg[role=img]")
    assert plots.count() >= 4
    for nth in range(plots.count()):
        box = plots.nth(nth).bounding_box()
        assert box
        assert box["width"] > 60
        assert box["height"] > 10
    assert page.locator("path.dot").count() == 9
    assert page.locator("path.failed").count() == 1
    words = page.locator("footer").inner_text()
    told = "written by a model" if made["method"] == "model" else "picked by extraction"
    assert told in words
