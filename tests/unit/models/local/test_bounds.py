"""Structured answers, bounded so that they fit their tokens."""

import pytest

from moot.core import answers
from moot.core.built_in import BUILT_IN
from moot.models.local.bounds import _worst, bounded, unbroken


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


def test_a_text_that_filled_its_room_ends_with_a_whole_word() -> None:
    schema = bounded(answers.schema("position", BUILT_IN["position"], {}), 300)
    room = schema["properties"]["claim"]["maxLength"]
    cut = ("the risk of downtime " * room)[: room - 3] + "dow"
    said = {"claim": cut, "risks": [cut, "It fits."], "confidence": 0.5, "position": "Move"}
    whole = unbroken(said, schema, schema)
    assert whole["claim"].endswith(("downtime…", "the…", "risk…", "of…"))
    assert whole["risks"] == [whole["claim"], "It fits."]
    assert (whole["confidence"], whole["position"]) == (0.5, "Move")


@pytest.mark.parametrize("tail", [" ", ",", " –", ": "])
def test_a_text_that_was_cut_between_words_ends_with_one_too(tail: str) -> None:
    schema = bounded(answers.schema("position", BUILT_IN["position"], {}), 300)
    room = schema["properties"]["claim"]["maxLength"]
    words = ("the risk of downtime " * room)[: room - len(tail)]
    cut = (words[: words.rindex(" ")] + tail).ljust(room)
    whole = unbroken({"claim": cut}, schema, schema)["claim"]
    assert whole.removesuffix("…").endswith(("downtime", "the", "risk", "of"))
    sentence = ("It is so. " * room)[: room - 1] + "."
    assert unbroken({"claim": sentence}, schema, schema)["claim"] == sentence


def test_a_quote_that_filled_its_room_is_still_word_for_word() -> None:
    schema = bounded(answers.schema("ballot", BUILT_IN["ballot"], {}), 600)
    room = schema["$defs"]["Reason"]["properties"]["quotes"]["items"]["maxLength"]
    said = "the risk of downtime " * room
    reason = {"text": "It is.", "turns": [1], "quotes": [said[: room - 1] + "d"]}
    (quote,) = unbroken({"reasons": [reason]}, schema, schema)["reasons"][0]["quotes"]
    assert quote in said
    assert len(quote) > room // 2


def test_a_longer_quote_than_there_is_room_for_is_its_beginning() -> None:
    said = "The pilot ran for three weeks and then some. " * 50
    shape = BUILT_IN["ballot"]
    ballot = {
        "reasons": [{"text": "It is.", "turns": [1], "quotes": [said]}],
        "against": {"text": "It is not.", "turns": [1]},
        "choice": "Go", "confidence": 0.5, "wouldChange": "A fact.",
    }  # fmt: skip
    (quote,) = answers.read("ballot", shape, ballot, {})["reasons"][0]["quotes"]
    assert quote in said
    assert 1400 < len(quote) <= 1500
