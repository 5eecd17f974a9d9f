"""Structured answers, bounded so that they fit their tokens."""

import pytest

from moot.core import answers
from moot.core.built_in import BUILT_IN
from moot.models.local.bounds import _worst, bounded


@pytest.mark.parametrize("name", list(BUILT_IN))
@pytest.mark.parametrize("tokens", [320, 500, 900])
def test_a_bounded_answer_fits_its_tokens(name: str, tokens: int) -> None:
    schema = answers.schema(name, BUILT_IN[name], {})
    short = bounded(schema, tokens)
    assert _worst(short, short, 0) <= tokens * 3
    assert schema == answers.schema(name, BUILT_IN[name], {})  # the original is as it was
    assert set(short["properties"]) == set(schema["properties"])


def test_a_grammar_is_given_what_it_knows() -> None:
    short = bounded(answers.schema("position", BUILT_IN["position"], {}), 300)
    assert short["properties"]["claim"]["maxLength"] < 600
    assert short["properties"]["confidence"]["enum"][-1] == 1.0
