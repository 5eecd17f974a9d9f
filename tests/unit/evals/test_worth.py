"""docs/worth.md: what it names is there, and its tables are put where they belong."""

from pathlib import Path

import pytest
from bench.worth import PAGE, SCENES, put

from moot.core.format import parse
from moot.evals import arms
from moot.evals.datasets import Item, Source

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
