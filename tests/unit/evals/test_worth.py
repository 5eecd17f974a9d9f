"""docs/worth.md: what it names is there, and its tables are put where they belong."""

import shutil
from pathlib import Path

import pytest
from bench.worth import PAGE, SCENES, put
from tests.virtual import engine, go

from moot.core.format import parse
from moot.evals import arms
from moot.evals.datasets import Dataset, Item, Source
from moot.evals.running import Asked, Run, run
from moot.settings import Settings
from moot.testing.skilled import Skill, Skilled

FOLDER = PAGE.parent / "worth"
ITEM = Item(id="q", question="Is it?", options=("yes", "no"), answer="yes",
            sources=(Source(text="It is, as everybody can see."),))  # fmt: skip


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_the_formats_of_the_real_run_can_answer_its_questions(path: Path) -> None:
    rules = parse(path.read_text("utf-8"), path.name)
    arms.check(arms.parse(rules.name), {rules.name: rules}, [ITEM])
    assert f"worth/{path.name}" in PAGE.read_text("utf-8")
    ruling = rules.stage("ruling")
    assert ruling.readers == ("all" if rules.name == "sighted" else "debaters")
    assert next(iter(rules.shape("ruling").fields)) == "reason", "before the conclusion"


def test_a_table_is_put_where_it_belongs() -> None:
    page = PAGE.read_text("utf-8")
    made = put(put(page, "scripted", r"one \1"), "real", "two")
    assert put(put(made, "scripted", r"one \1"), "real", "two") == made
    assert r"one \1" in made
    assert all(f"### {scene.name}" in page for scene in SCENES)


def test_every_arm_of_the_real_run_comes_to_an_answer(tmp_path: Path) -> None:
    (tmp_path / "formats").mkdir()
    for path in FOLDER.glob("*.toml"):
        shutil.copy(path, tmp_path / "formats")
    specs = tuple(arms.parse(path.stem) for path in sorted(FOLDER.glob("*.toml")))
    model = "openai:scripted"

    async def work() -> Run:
        speaker = Skilled([ITEM], {model: Skill(1.0)})
        async with engine(Settings(home=tmp_path, model=model), speaker) as moot:
            return await run(moot, Asked(Dataset("one", (ITEM,)), specs, model))

    made = go(work(), within=1e9)
    assert {one.arm: one.answer for one in made.answers.values()} == dict.fromkeys(
        ("adviser", "advocates", "blind", "sighted"), "A"
    )
