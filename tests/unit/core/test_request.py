"""What is asked for: each bound, at its edge and one beyond."""

# ruff: noqa: E501  a table reads best with one case a line

from importlib import resources
from typing import Any

import pytest

from moot.core.debate import Debate
from moot.core.format import parse
from moot.core.request import build, council
from moot.errors import InputError


def ask(format_: str = "standard", motion: str = "Should we?", **fields: Any) -> Debate:
    text = resources.files("moot.formats").joinpath(f"{format_}.toml").read_text("utf-8")
    return build(
        debate_id="debate_20261115_120000_aaaaaa",
        at="2026-11-15T12:00:00.000Z",
        motion=motion,
        rules=parse(text, format_),
        default_model="local",
        normalize=lambda model: (model, None),
        **fields,
    )


def cast(count: int) -> list[dict[str, Any]]:
    return [{"name": f"P{number}"} for number in range(count)]


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "motion blank": ({"motion": " \n"}, "motion", "empty"),
    "motion long": ({"motion": "x" * 4001}, "motion", "4,001"),
    "roster of one": ({"format_": "duel", "participants": cast(1)}, "participants", "exactly 2"),
    "roster of three": ({"format_": "duel", "participants": cast(3)}, "participants", "exactly 2"),
    "too many": ({"participants": cast(13)}, "participants", "12 is the most"),
    "host for a duel": ({"format_": "duel", "host": {}}, "host", "no host"),
    "rounds 0": ({"format_": "custom", "options": {"rounds": 0}}, "options.rounds", "1..50"),
    "rounds 51": ({"format_": "custom", "options": {"rounds": 51}}, "options.rounds", "1..50"),
    "free 0": ({"format_": "classic", "options": {"free_rounds": 0}}, "options.free_rounds", "1..10"),
    "free 11": ({"format_": "classic", "options": {"free_rounds": 11}}, "options.free_rounds", "1..10"),
    "no option": ({"format_": "duel", "options": {"rounds": 2}}, "options.rounds", "no option"),
    "half a round": ({"options": {"rounds": 1.5}}, "options.rounds", "whole number"),
    "true rounds": ({"options": {"rounds": True}}, "options.rounds", "whole number"),
    "seconds 4": ({"limits": {"max_turn_seconds": 4}}, "limits.max_turn_seconds", "5..120"),
    "seconds 121": ({"limits": {"max_turn_seconds": 121}}, "limits.max_turn_seconds", "5..120"),
    "tokens 127": ({"limits": {"max_turn_tokens": 127}}, "limits.max_turn_tokens", "128..4,096"),
    "tokens 4097": ({"limits": {"max_turn_tokens": 4097}}, "limits.max_turn_tokens", "128..4,096"),
    "turns 0": ({"limits": {"max_turns": 0}}, "limits.max_turns", "1..2,000"),
    "turns 2001": ({"limits": {"max_turns": 2001}}, "limits.max_turns", "1..2,000"),
    "asks for more": ({"limits": {"max_turns": 5}}, "limits.max_turns", "asks for 6 turns"),
    "no room": (
        {"options": {"rounds": 0}, "host": {}, "limits": {"max_turns": 2}},
        "limits.max_turns",
        "leaves no turn",
    ),
    "id with a space": ({"participants": [{"name": "A", "id": "a b"}, {"name": "B"}]}, "participants[0].id", "not an id"),
    "id in capitals": ({"participants": [{"name": "A"}, {"name": "B", "id": "B"}]}, "participants[1].id", "not an id"),
    "id too long": ({"participants": [{"name": "A", "id": "a" * 41}, {"name": "B"}]}, "participants[0].id", "not an id"),
    "id a number": ({"participants": [{"name": "A", "id": 1}, {"name": "B"}]}, "participants[0].id", "not an id"),
    "id twice": ({"participants": [{"name": "A", "id": "x"}, {"name": "B", "id": "x"}]}, "participants[1].id", "two participants"),
    "id of the host": ({"participants": [{"name": "A", "id": "host"}, {"name": "B"}]}, "participants[0].id", "only the host"),
    "id for the host": ({"format_": "classic", "host": {"id": "ada"}}, "host.id", "is host"),
    "id of another role": ({"format_": "council", "participants": [{"role": "Judge", "id": "critic"}]}, "participants[0].id", "is judge"),
    "field of no role": ({"format_": "council", "participants": [{"role": "Bard", "key": "x"}]}, "participants[0].key", "no field"),
    "no such limit": ({"limits": {"max_words": 5}}, "limits.max_words", "no limit"),
    "a word": ({"limits": {"max_turns": "5"}}, "limits.max_turns", "whole number"),
    "stance": ({"participants": [{"name": "A", "stance": "maybe"}, {"name": "B"}]},
               "participants[0].stance", "pro, con or neutral"),
    "nameless": ({"participants": [{"name": " "}, {"name": "B"}]}, "participants[0].name", "no name"),
    "same name": ({"participants": [{"name": "A"}, {"name": "a"}]}, "participants[1].name", "called a"),
    "host's name": ({"host": {"name": "ada"}}, "host.name", "both called"),
    "base url": ({"participants": [{"name": "A", "base_url": "http://x"}, {"name": "B"}]},
                 "participants[0].base_url", "no field 'base_url'"),
    "long bio": ({"participants": [{"name": "A", "bio": "x" * 2001}, {"name": "B"}]},
                 "participants[0].bio", "2,001"),
    "on_failure": ({"on_failure": "explode"}, "on_failure", "pause or degrade"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_field_and_what_is_wrong(case: str) -> None:
    fields, field, words = REFUSED[case]
    with pytest.raises(InputError) as error:
        ask(**fields)
    assert error.value.field == field
    assert words in error.value.message


@pytest.mark.parametrize(
    "fields",
    [
        {"motion": "x" * 4000},
        {"participants": cast(12)},
        {"format_": "custom", "options": {"rounds": 1}},
        {"format_": "custom", "options": {"rounds": 50}},
        {"format_": "classic", "options": {"free_rounds": 10}},
        {"options": {"rounds": 0}},
        {"options": {"rounds": 0}, "host": {}, "limits": {"max_turns": 3}},
        {"limits": {"max_turns": 6}},
        *({"limits": {"max_turn_seconds": value}} for value in (5, 120)),
        *({"limits": {"max_turn_tokens": value}} for value in (128, 4096)),
    ],
)
def test_taken_at_the_edge(fields: dict[str, Any]) -> None:
    debate = ask(**fields)
    assert debate.total <= debate.limits.max_turns


def test_the_defaults_of_the_contract() -> None:
    assert ask("duel").limits.max_turns == 6
    assert ask("standard", options={"rounds": 0}).limits.max_turns == 100
    assert ask("standard").limits.max_turns == 6
    assert ask("classic").options == {"free_rounds": 2}
    assert ask("custom").host is not None
    assert ask("standard").host is None
    limits = ask().limits
    assert (limits.max_turn_seconds, limits.max_turn_tokens) == (35, 900)
    assert (limits.max_total_tokens, limits.max_cost_usd) == (None, None)
    assert [seat.stance for seat in ask("standard", participants=cast(3)).participants] == [
        "pro", "con", "pro",
    ]  # fmt: skip


def test_ids_are_made_from_names_and_never_clash() -> None:
    seats = [{"name": "Host"}, {"name": "Ä B"}, {"name": "a-b"}, {"name": "A  b!"}]
    ids = [seat.id for seat in ask(participants=seats).participants]
    assert len(set(ids)) == 4
    assert "host" not in ids


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"max_turn_tokens": 900, "maxTurnTokens": 4097}, "max_turn_tokens"),
        ({"participants": [{"role": "Critic", "modelName": "a", "model_name": "b"}]},
         "participants[0].model_name"),
        ({"participants": [{"role": "Critic", "modelName": 7}]}, "participants[0].model_name"),
    ],
)  # fmt: skip
def test_a_council_takes_either_spelling_and_each_name_once(
    asked: dict[str, Any], field: str
) -> None:
    whole = {"problem": "Should we?", "outputType": "decision", **asked}
    with pytest.raises(InputError) as refused:
        council(whole)
    assert refused.value.field == field


def test_an_id_is_the_seats_own() -> None:
    seats = [{"name": "Ada"}, {"name": "Ben", "id": "ada"}, {"name": "Cleo", "id": "third-1"}]
    debate = ask(participants=seats)
    assert [seat.id for seat in debate.participants] == ["ada-2", "ada", "third-1"]
    assert debate.cursor.next_actor == "ada-2"
    judge = ask("council", participants=[{"role": "Judge", "id": "judge"}]).seat("judge")
    assert judge.role == "Judge"


def test_a_request_is_kept_as_it_came() -> None:
    asked = {"problem": "Ship?", "participants": ({"role": "Critic"},), "n": 900.0, "t": "a\ud800"}
    debate = ask(received=asked)
    assert debate.received == {**asked, "participants": [{"role": "Critic"}], "t": "a?"}
    assert ask().received is None
    with pytest.raises(InputError, match="256 KiB"):
        ask(received={"problem": "x" * 300_000})
