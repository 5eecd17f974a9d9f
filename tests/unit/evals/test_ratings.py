"""Ratings: how models have done, from verdicts and turns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ConfigDict, TypeAdapter
from tests.integration.evals import dataset
from tests.virtual import engine, go

from moot.core.voices import UNDERSTUDY
from moot.evals import ratings
from moot.evals.ratings import collect, document, strengths
from moot.evals.ratings_text import html, notes, records
from moot.settings import Settings
from moot.testing.skilled import Skill, Skilled
from moot.wire.rating_shapes import Ratings

GOOD, BAD, JUROR = "openai:scripted", "claude:scripted", "gemini:scripted"
SKILLS = {GOOD: Skill(1.0), BAD: Skill(0.0), JUROR: Skill(1.0)}


def rated(home: Path, count: int, most: int | None = None) -> dict[str, Any]:
    """Ratings of a home with councils that a jury decides, and duels without an outcome."""
    items = dataset(count, 2).items
    roles = {"Proponent": BAD, "Critic": GOOD, "Analyst": BAD, "Synthesizer": GOOD}
    cast = [{"role": role, "model": model} for role, model in roles.items()]

    async def work() -> dict[str, Any]:
        async with engine(Settings(home=home, model=JUROR), Skilled(items, SKILLS)) as moot:
            for item in items:
                made = await moot.create(
                    f"{item.text}\n\nWhoever names an option or a position writes its letter.",
                    format="council",
                    participants=cast,
                    jury={"size": 3, "baseline": False},
                )
                await moot.wait(made.id)
            plain = await moot.create("Ships sail?", format="duel", limits={"max_turns": 2})
            await moot.wait(plain.id)
            return document(await collect(moot, most), await moot.calibration())

    return go(work(), within=1e9)


def test_whoever_held_what_juries_chose_is_stronger(tmp_path: Path) -> None:
    made = rated(tmp_path, 3)
    assert made["debates"] == 3, "a duel without a jury has no outcome"
    rows = {(one["model"], one["role"]): one for one in made["records"]}
    assert (rows[GOOD, "Critic"]["won"], rows[GOOD, "Critic"]["judged"]) == (3, 3)
    assert (rows[BAD, "Proponent"]["won"], rows[BAD, "Proponent"]["judged"]) == (0, 3)
    assert all(one["debates"] == 3 and one["costUsd"] > 0 for one in rows.values())
    best, *_, worst = made["strengths"]
    assert worst["model"] == BAD
    assert worst["high"] > best["low"], "three debates settle little"
    assert all(0 < one["low"] < one["chance"] < one["high"] < 1 for one in made["strengths"])


def test_the_newest_debates_are_counted_and_the_rest_is_said_to_be_there(tmp_path: Path) -> None:
    shape = TypeAdapter[Any](list[Ratings], config=ConfigDict(extra="forbid"))
    for most, counted, older in ((1, 1, True), (2, 2, False), (None, 2, False)):
        made = rated(tmp_path / str(most), 2, most)
        assert (made["debates"], made["older"]) == (counted, older)
        assert shape.validate_python([made]) == [made]


def test_without_what_computes_them_there_are_no_strengths_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ratings, "find_spec", lambda _: None)
    made = rated(tmp_path, 1)
    assert (made["strengths"], made["records"][0]["debates"]) == ([], 1)
    assert "pip install" in made["lacks"]


def test_the_understudy_is_not_rated(tmp_path: Path) -> None:
    (item,) = dataset(1, 2).items
    found = ratings.Ratings()

    async def work() -> None:
        settings = Settings(home=tmp_path, model=GOOD)
        async with engine(settings, Skilled([item], SKILLS)) as moot:
            debate = await moot.wait((await moot.create(item.text, format="council")).id)
            turns = [replace(turn, model=UNDERSTUDY) for turn in await moot.turns(debate.id)]
            ratings.add(found, debate, turns, await moot.verdict(debate.id))

    go(work(), within=1e9)
    assert (found.debates, found.records) == (1, {})


def test_strengths_are_known_better_after_more_debates() -> None:
    few = strengths([("a", "b", 1.0)] * 3, {"a": 3, "b": 3})
    many = strengths([("a", "b", 1.0)] * 30 + [("b", "a", 1.0)] * 10, {"a": 40, "b": 40})
    assert [one.model for one in few] == ["a", "b"]
    assert many[0].high - many[0].low < few[0].high - few[0].low
    assert many[0].chance - many[1].chance == pytest.approx(0.26, abs=0.03)  # of odds of 3 to 1
    assert strengths([], {}) == []


def test_the_page_holds_no_markup_of_a_model(tmp_path: Path) -> None:
    row = {"model": "x:<script>alert(1)</script>", "role": "<b>", "debates": 1, "judged": 0,
           "won": 0, "brier": None, "movedOthers": 0, "wasMoved": 0, "calls": 1, "tokens": 9,
           "costUsd": 0.0}  # fmt: skip
    made = {"debates": 1, "strengths": [], "records": [row], "noted": 0,
            "depth": {"early": 8, "checked": 2, "differed": 1}}  # fmt: skip
    page = html(made)
    assert "<script" not in page
    assert "&lt;b&gt;" in page
    assert any("1 came to something else" in note for note in notes(made))
    assert records(made)[0][3] == "0 of 0"
