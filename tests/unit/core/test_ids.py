"""Ids, and the numbers that lists are ordered by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.ids import ALPHABET, check_part, is_id, meant, number, stands_for
from moot.core.times import iso
from moot.errors import InputError, NotFoundError

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


@given(st.integers(0, 99_999_999), st.integers(0, 999_999), letters)
def test_every_beginning_and_the_ending_stand_for_an_id(day: int, time: int, end: str) -> None:
    id_ = f"debate_{day:08}_{time:06}_{end}"
    assert is_id(id_)
    for part in [end, *(id_[:length] for length in range(1, len(id_) + 1))]:
        assert stands_for(check_part(part), id_)


@given(st.text(st.sampled_from("debat_0123xyz%\\*/. "), max_size=31))
def test_what_no_id_begins_or_ends_with_is_refused(part: str) -> None:
    try:
        check_part(part)
    except InputError:
        return
    assert "debate_".startswith(part[:7]) or (len(part) == 6 and set(part) <= set(ALPHABET))
    assert not set(part) & set("%\\*/. ")


def test_what_does_not_fit_is_never_meant() -> None:
    """A server of an older version ignores the part, and answers with whatever is newest."""
    with pytest.raises(NotFoundError):
        meant("abcdef", {"debate_20261115_120000_zzzzzz": "Is it?"})


def test_no_more_than_ten_candidates_are_told() -> None:
    found = {f"debate_20261115_120000_{one * 6}": "Is it?" for one in ALPHABET[:11]}
    with pytest.raises(InputError) as several:
        meant("debate_", found)
    assert several.value.message.count("Is it?") == 10
    assert several.value.message.endswith("…")
