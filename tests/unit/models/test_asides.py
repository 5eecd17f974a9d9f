"""Thoughts between tags: none of them is said, however the answer is cut into pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.models.asides import Aside

ANSWERS = {  # what comes, and what is said of it
    "<think>Hm.</think>\n\nYes.": "Yes.",
    "\n<THINK>a < b, </thin, <think></Think>Yes, x </think> y.": "Yes, x </think> y.",
    "<think>Hm, and no end": "",
    "<think></think>Yes.": "Yes.",
    "<thinner> is a word.": "<thinner> is a word.",
    "  Yes: <think>this is said</think>": "  Yes: <think>this is said</think>",
    "<th": "<th",
    " \n": " \n",
    "": "",
}


def heard(pieces: list[str]) -> tuple[str, int]:
    aside = Aside()
    parts = [aside.hear(piece) for piece in pieces]
    return "".join(said for said, _ in parts) + aside.rest(), sum(kept for _, kept in parts)


@pytest.mark.parametrize("answer", ANSWERS)
@given(data=st.data())
def test_only_what_follows_the_thoughts_is_said(answer: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(answer)), max_size=8))
    places = sorted({0, len(answer), *cuts})
    pieces = [answer[one:other] for one, other in pairwise(places)]
    said, kept = heard(pieces)
    assert said.lstrip() == ANSWERS[answer].lstrip()
    assert kept + len(said) <= len(answer)
