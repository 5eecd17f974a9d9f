"""Ratings on the page: who does well before juries, and what it costs."""

import re
from pathlib import Path

from playwright.sync_api import Browser, expect

from moot.testing.skilled import Skill, Skilled
from tests.browser.browsing import violations, visit
from tests.integration.evals import dataset
from tests.served import Served, served

GOOD, BAD, JUROR = "openai:gpt-6.1-terra", "claude:claude-sonnet-5-5", "gemini:gemini-4-pro"
SKILLS = {GOOD: Skill(1.0), BAD: Skill(0.0), JUROR: Skill(1.0)}
ITEMS = dataset(2, 2).items


def judge(moot: Served) -> None:
    """Councils that a jury decides."""
    roles = {"Proponent": BAD, "Critic": GOOD, "Analyst": BAD, "Synthesizer": GOOD}
    for item in ITEMS:
        made = moot.create(
            f"{item.text}\n\nWhoever names an option or a position writes its letter.",
            format="council",
            participants=[{"role": role, "model": model} for role, model in roles.items()],
            jury={"size": 3, "baseline": False},
        )
        moot.wait(made["id"])


def test_ratings_say_who_does_well_before_juries(browser: Browser, tmp_path: Path) -> None:
    speaker = Skilled(ITEMS, SKILLS)
    with (
        served(tmp_path / "home", speaker, model=JUROR) as moot,
        visit(browser, moot.url, viewport={"width": 390, "height": 800}) as tab,
    ):
        page = tab.open("/studio/ratings")
        expect(page.get_by_text("No ratings yet.")).to_be_visible()
        judge(moot)
        page.goto(f"{moot.url}/")
        page.get_by_role("link", name="Settings").click()
        page.get_by_role("link", name="Ratings").filter(visible=True).click()
        expect(page).to_have_title("Ratings · moot")
        expect(page.get_by_text("How models have done in 2 debates")).to_be_visible()
        strengths = page.get_by_role("region", name="Before juries").get_by_role("listitem")
        expect(strengths).to_have_text([re.compile(GOOD), re.compile(JUROR), re.compile(BAD)])
        critic = page.get_by_role("row").filter(has_text="Critic")
        expect(critic).to_contain_text("2 of 2")
        expect(page.get_by_role("row").filter(has_text="Proponent")).to_contain_text("0 of 2")
        wide = "() => document.documentElement.scrollWidth - innerWidth"
        assert page.evaluate(wide) <= 0, "it scrolls sideways"
        assert not violations(page)
