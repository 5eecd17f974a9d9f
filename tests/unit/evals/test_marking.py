"""What a dataset may hold, and which answers are right."""

from pathlib import Path

import pytest

from moot.errors import InputError
from moot.evals.datasets import Item, load, parse
from moot.evals.marking import is_right, read
from moot.evals.matching import Spent, sizes

COLOURS = Item(id="c", question="Which?", options=("red", "dark red", "blue"), answer="blue")
SUM = Item(id="s", question="How much?", answer="1,234")
NAME = Item(id="n", question="Who?", answer="The Beatles")


@pytest.mark.parametrize(
    ("words", "letter"),
    [("A", "A"), ("b)", "B"), ("C. blue", "C"), ("Option B", "B"), ("Blue", "C"), ("red", "A"),
     ("it is blue!", "C"), ("dark red", "B"), ("D", None), ("a dark red one", None), ("", None),
     ("A blue thing", "C")],
)  # fmt: skip
def test_which_option_words_mean(words: str, letter: str | None) -> None:
    assert read(COLOURS, words) == letter


@pytest.mark.parametrize(
    ("item", "answer", "right"),
    [(COLOURS, "C", True), (COLOURS, "A", False), (COLOURS, None, False),
     (SUM, "So it is 1234.", True), (SUM, "$1,234.00", True), (SUM, "1234 or 12", False),
     (SUM, "many", False), (NAME, "beatles", True), (NAME, "The Stones", False)],
)  # fmt: skip
def test_which_answers_are_right(item: Item, answer: str | None, right: bool) -> None:
    assert is_right(item, answer) == right


@pytest.mark.parametrize(
    ("line", "said"),
    [("{", "is not JSON"), ('{"id": "a"}', "question"), ('["a"]', "line 1"),
     ('{"id": "a", "question": "q", "answer": "x", "options": ["y", "z"]}', "not an option"),
     ('{"id": "a", "question": "q", "answer": "C", "options": ["y", "z"]}', "not an option"),
     ('{"id": "a", "question": "q", "answer": "y", "options": ["y", "Y"]}', "the same"),
     ('{"id": "a", "question": "q", "answer": "y", "more": 1}', "more"), ("", "no items")],
)  # fmt: skip
def test_what_a_dataset_may_not_hold(line: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse([line], "data.jsonl")


def test_a_dataset_is_read_whole(tmp_path: Path) -> None:
    lines = (
        '{"id": "a", "question": "q", "answer": 7}\n\n{"id": "b", "question": "q", "answer": "x"}\n'
    )
    (tmp_path / "own.jsonl").write_text(lines)
    found = load(tmp_path / "own.jsonl")
    assert (found.name, [item.answer for item in found.items]) == ("own", ["7", "x"])
    with pytest.raises(InputError, match="is taken"):
        parse(lines.replace('"b"', '"a"').splitlines(), "data.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "none.jsonl")


def test_sizes_make_up_for_what_was_missed() -> None:
    assert sizes([], 4, target=4.5, vote=1.0) == [4, 5, 4, 5]
    assert sizes([], 2, target=0.1, vote=1.0) == [1, 1], "each item is asked at least once"
    behind = [Spent(target=10.0, own=6.0, votes=6)] * 2
    assert sum(sizes(behind, 2, 0.0, 0.0)) == 28, "8 that are owed, and 10 for each item"
    assert sizes([], 2, target=9.0, vote=0.0) == [1, 1]
    assert max(sizes([], 2, target=1e9, vote=1.0)) == 150
