"""The comparison of duels: what it counts, and what a reader is not told."""

import json
from pathlib import Path
from typing import Any

from bench import duels


def held(*turns: tuple[str, str], motion: str = "Should zoos be closed?") -> dict[str, Any]:
    rows = [
        {"name": name, "stance": "pro" if name == "Ada" else "con", "text": text}
        for name, text in turns
    ]
    return {"motion": motion, "status": "completed", "seconds": 30.0, "calls": 5, "turns": rows}


BEFORE = [held(("Ada", "They are cruel."), ("Ben", "They are cruel."), ("Ada", "They are cruel."))]
AFTER = [held(("Ada", "They are cruel."), ("Ben", "They teach us."), ("Ada", "And they cost."))]
SAID = {"They are cruel.": "yes", "They teach us.": "no", "And they cost.": "neither"}


def read() -> dict[str, str]:
    return {row["number"]: SAID[row["text"]] for row in duels.sheet([BEFORE, AFTER])}


def test_a_reader_sees_each_text_once_and_nothing_of_who_said_it() -> None:
    rows = duels.sheet([BEFORE, AFTER])
    assert sorted(row["text"] for row in rows) == sorted(SAID)
    assert all(set(row) == {"number", "motion", "text"} for row in rows)
    assert "Ada" not in json.dumps(rows)


def test_the_own_side_is_where_all_readers_see_it() -> None:
    answers = read()
    assert duels.own_side(AFTER, "Ada", [answers]) == (1, 2)
    assert duels.own_side(AFTER, "Ben", [answers]) == (1, 1)
    assert duels.own_side(BEFORE, "Ben", [answers]) == (0, 1)
    other = dict.fromkeys(answers, "neither")
    assert duels.own_side(AFTER, "Ben", [answers, other]) == (0, 1)


def test_echoes_are_of_the_same_seat() -> None:
    assert duels.echoes(BEFORE[0]) == [0.0, 0.0, 1.0]
    assert max(duels.echoes(AFTER[0])) < 0.8


def test_before_and_after_stand_side_by_side() -> None:
    rows = {row[0]: row[1:] for row in duels.table([BEFORE, AFTER], [read()])}
    assert rows["turns at 0.8 or more"] == ("1 of 3", "0 of 3")
    assert rows["Ada argues the own side"] == ("2 of 2 (100%)", "1 of 2 (50%)")
    assert rows["duels that were completed"] == ("1 of 1", "1 of 1")


def test_the_table_in_the_docs_is_what_the_files_say() -> None:
    docs = Path(__file__).parents[2] / "docs"

    def load(name: str) -> Any:
        return json.loads((docs / "duels" / f"{name}.json").read_text("utf-8"))

    runs, answers = [load("before"), load("after")], [load("reader1"), load("reader2")]
    told = (docs / "models.md").read_text("utf-8")
    for row in duels.table(runs, answers):
        assert f"| {' | '.join(row)} |" in told
    assert {row["number"] for row in duels.sheet(runs)} == set(answers[0]) == set(answers[1])
