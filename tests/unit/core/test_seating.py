"""Seats from what people write."""

from pathlib import Path
from typing import Any

import pytest

from moot.core.seating import as_role, seats, with_model
from moot.errors import InputError
from moot.store.formats import FormatFiles


@pytest.fixture
def formats(tmp_path: Path) -> FormatFiles:
    return FormatFiles(tmp_path)


def test_one_model_takes_the_seats_that_a_format_fills_by_itself(formats: FormatFiles) -> None:
    filled = with_model({"motion": "Why?"}, formats.get("duel"), "m")
    assert filled == {
        "motion": "Why?",
        "participants": [{"name": "Ada", "model": "m"}, {"name": "Ben", "model": "m"}],
    }
    filled = with_model({"host": None, "jury": None}, formats.get("classic"), "m")
    assert filled["host"] == {"model": "m"}
    assert filled["jury"] is None
    asked: dict[str, Any] = {"host": {"name": "Eve"}, "jury": {"size": 3, "models": ["other"]}}
    filled = with_model(asked, formats.get("standard"), "m")
    assert filled["host"] == {"name": "Eve", "model": "m"}
    assert filled["jury"] == {"size": 3, "models": ["other", "m", "m"]}


def test_what_was_named_stays(formats: FormatFiles) -> None:
    given = [{"agent": "ada"}, {"name": "Ben", "model": "own"}]
    filled = with_model({"participants": given}, formats.get("duel"), "m")
    assert filled["participants"] == [{"agent": "ada", "model": "m"}, given[1]]
    filled = with_model({"participants": [{"role": "critic"}]}, formats.get("council"), "m")
    assert [seat["role"] for seat in filled["participants"]] == [
        "critic", "Proponent", "Analyst", "Synthesizer", "Judge",
    ]  # fmt: skip
    wrong = {"jury": {"size": "three"}}
    assert with_model(wrong, formats.get("duel"), "m")["jury"] == wrong["jury"]


def test_models_take_free_names_and_roles(formats: FormatFiles) -> None:
    assert seats(["a", {"name": "ada"}, "b"], formats.get("standard")) == [
        {"name": "Ben", "model": "a"}, {"name": "ada"}, {"name": "Cleo", "model": "b"},
    ]  # fmt: skip
    assert seats([{"role": "proponent"}, "a"], formats.get("council")) == [
        {"role": "proponent"}, {"role": "Critic", "model": "a"},
    ]  # fmt: skip
    with pytest.raises(InputError, match="6 models are too many: 5 seats are free"):
        seats(["a"] * 6, formats.get("council"))


def test_a_role_as_a_councils_request_has_it() -> None:
    assert as_role({"role": "Judge", "model": "openai:gpt-5"}) == {
        "role": "Judge", "model_provider": "openai", "model_name": "gpt-5",
    }  # fmt: skip
    for same in ({"role": "Judge"}, {"role": "Judge", "model_provider": "x", "model_name": "y"}):
        assert as_role(same) == same
