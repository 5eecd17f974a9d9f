"""Calls asked for shorter, and speeds kept."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from moot.core import answers
from moot.core.built_in import BUILT_IN
from moot.core.debate import Debate
from moot.core.prompts import Message
from moot.core.schedule import Step
from moot.models.local.brief import LEAST, Memory, _worst, bounded, brief
from moot.models.local.speed import Speed, Speeds, Timing
from moot.ports import Call

FAST, SLOW = Speed(1000.0, 100.0), Speed(50.0, 10.0)


def call(*texts: str, **more: Any) -> Call:
    scene = SimpleNamespace(id="debate-1"), SimpleNamespace(actor="ada")
    debate, step = cast(tuple[Debate, Step], scene)
    roles = ("system", "user", "assistant", "user")
    messages = tuple(Message(role, text) for role, text in zip(roles, texts, strict=False))
    return Call("local", messages, 900, 35.0, debate, step, (), **more)


def test_who_is_fast_enough_is_asked_as_always() -> None:
    asked = call("You are Ada.", "Well?")
    assert brief(asked, FAST, 20) == asked


def test_who_is_slow_is_asked_for_what_fits_the_time() -> None:
    asked = brief(call("You are Ada.", "Well?"), SLOW, 10)
    assert 250 < asked.max_tokens < 35 * 10
    assert asked.messages[0].text == "You are Ada."
    assert asked.messages[-1].text.startswith("Well? Be brief: at most ")
    long = brief(call("You are Ada.", "Well?"), SLOW, 1000)  # 20 seconds to read
    assert LEAST <= long.max_tokens < asked.max_tokens - 150
    assert brief(call("You are Ada.", "Well?"), SLOW, 10_000).max_tokens == LEAST


def test_what_was_read_for_another_seat_is_not_read_again() -> None:
    memory = Memory()
    assert 750 < memory.unread(call("x" * 3000, "You are Ada."), "child 1") < 800
    assert memory.unread(call("x" * 3000, "You are Ben."), "child 1") < 10
    assert memory.unread(call("x" * 3000, "And?", "Yes.", "Well?"), "child 1") < 20
    assert memory.unread(call("y" + "x" * 3000, "You are Ben."), "child 1") > 750
    assert memory.unread(call("x" * 3000, "You are Ada."), "child 2") > 750  # it has read nothing


@pytest.mark.parametrize("name", list(BUILT_IN))
@pytest.mark.parametrize("tokens", [300, 500, 900])
def test_a_bounded_answer_fits_its_tokens(name: str, tokens: int) -> None:
    schema = answers.schema(name, BUILT_IN[name], {})
    short = bounded(schema, tokens)
    assert _worst(short, short, 0) <= tokens * 3
    assert schema == answers.schema(name, BUILT_IN[name], {})  # the original is as it was
    assert set(short["properties"]) == set(schema["properties"])


def test_a_structured_answer_is_held_by_its_grammar_and_not_by_its_tokens() -> None:
    asked = brief(
        call("You are Ada.", "Well?", schema=answers.schema("position", BUILT_IN["position"], {})),
        SLOW,
        10,
    )
    assert asked.max_tokens == 900
    assert asked.schema
    assert asked.schema["properties"]["claim"]["maxLength"] < 600
    assert asked.schema["properties"]["confidence"]["enum"][-1] == 1.0


def test_speeds_are_kept_and_follow_what_is_seen(tmp_path: Path) -> None:
    speeds = Speeds(tmp_path / "models")
    assert speeds.get("tiny") is None
    speeds.note("tiny", Timing(100, 1.0, 3, 0.1))  # three words say nothing
    assert speeds.get("tiny") is None
    speeds.note("tiny", Timing(100, 1.0, 50, 5.0))
    assert speeds.get("tiny") == Speed(100.0, 10.0)
    speeds.note("tiny", Timing(2, 1.0, 50, 2.5))  # all of it was in the cache
    assert speeds.get("tiny") == Speed(100.0, 13.0)
    speeds.save()
    assert Speeds(tmp_path / "models").get("tiny") == Speed(100.0, 13.0)


@pytest.mark.parametrize("kept", ["", "[]", '{"tiny": 3}', '{"tiny": {"read": -1, "write": "x"}}'])
def test_damaged_speeds_are_measured_anew(tmp_path: Path, kept: str) -> None:
    (tmp_path / "speed.json").write_text(kept)
    assert Speeds(tmp_path).get("tiny") is None
