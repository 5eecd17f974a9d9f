"""What counts as a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.store import said
from moot.store.search import LONGEST, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" .,;!? _ \0 \ud800 🎭", []),
        ("Should we? We should!", ["should", "we"]),
        ("don't_stop 3.14 C++", ["don", "t", "stop", "3", "14", "c"]),
        ("Crème BRÛLÉE, Straße, İstanbul, ﬁne", ["creme", "brulee", "strasse", "istanbul", "fine"]),
        ("東京 Ελλάδα мир", ["東京", "ελλαδα", "мир"]),
        ("x" * 100, ["x" * LONGEST]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_a_word_is_letters_and_digits_and_stays_what_it_is(text: str) -> None:
    found = words(text)
    assert all(word.isalnum() for word in found)
    assert words(" ".join(found)) == found


@given(st.text(st.characters(codec="ascii")))
def test_plain_text_has_the_words_that_it_has_beside_other_text(text: str) -> None:
    assert said.words([text]) == said.words([f"{text} ‽"])
