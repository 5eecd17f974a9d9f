"""Ids, and the numbers that lists are ordered by."""

from hypothesis import given
from hypothesis import strategies as st

from moot.core.ids import ALPHABET, number
from moot.core.times import iso

moments = st.integers(0, 2**42 - 1)
letters = st.text(ALPHABET, min_size=6, max_size=6)


def at(milliseconds: int) -> str:
    whole, rest = divmod(milliseconds, 1000)
    return f"{iso(whole)[:-5]}.{rest:03d}Z"


@given(moments, letters)
def test_a_number_fits_a_column_and_keeps_the_millisecond(moment: int, end: str) -> None:
    made = number(f"debate_20261115_120000_{end}", at(moment))
    assert 0 <= made < 2**63
    assert made >> 21 == moment


@given(moments, moments, letters, letters)
def test_the_later_one_has_the_larger_number(a: int, b: int, x: str, y: str) -> None:
    one, other = number(f"debate_{x}", at(a)), number(f"debate_{y}", at(b))
    assert a == b or (one < other) == (a < b)


def test_debates_of_one_millisecond_are_told_apart() -> None:
    made = {number(f"debate_20261115_120000_aa{e}{f}aa", at(5)) for e in ALPHABET for f in ALPHABET}
    assert len(made) == len(ALPHABET) ** 2
