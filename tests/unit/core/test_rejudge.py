"""A debate of any format, ended anywhere: what is left to do in a fork of it is the jury's wave."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.test_schedule_properties import CALM, Prefix, debates, walk

from moot.core import course, rejudge, schedule
from moot.core.debate import Debate, Usage
from moot.core.events import TurnCommitted
from moot.core.format import from_json, parse, to_json
from moot.core.schedule import Wave
from moot.errors import InputError
from moot.ports.model_call import ModelCard

AT = "2026-11-16T12:00:00.000Z"
OWN = """name = "mine"
title = "M"
description = "D"
rules = "R"
[[stages]]
name = "talk"
ask = "Speak."
past = {first_round = 1, rounds = 1, turns = 2}
"""


def judged_again(prefix: Prefix, size: int = 3) -> tuple[Debate, list[Any]]:
    over = prefix.debate.but(status="stopped", last_seq=len(prefix.turns))
    paid = [replace(turn, usage=Usage(9, 9, 0.1, 1)) for turn in prefix.turns]
    said = rejudge.heard(over, paid)
    made = rejudge.rejudged(
        over, said, {"size": size}, debate_id="debate_20261116_120000_bbbbbb", at=AT,
        default_model="local", normalize=lambda model: (model, None),
    )  # fmt: skip
    return made, said


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_exactly_the_jurys_wave_is_left(debate: Debate, shuffle: random.Random) -> None:
    for prefix in walk(debate, shuffle):
        speeches = [turn for turn in prefix.turns if turn.kind == "speech"]
        if all(turn.actor == "host" for turn in speeches):
            continue
        made, said = judged_again(prefix)
        assert [turn.seq for turn in said] == list(range(1, speeches[-1].seq + 1))
        assert all(turn.usage.calls == 0 for turn in said)
        assert schedule.rebuild(made, said) == made.cursor == schedule.first(made)
        ahead = schedule.plan(made)
        assert isinstance(ahead, Wave)
        assert [(step.actor, step.reading) for step in ahead.steps] == [
            (f"juror-{n}", reading) for reading in ("spoken", "swapped") for n in (1, 2, 3)
        ]
        assert min(step.round for step in ahead.steps) > max(turn.round for turn in said)
        assert schedule.is_last(made, ahead)
        assert (made.turn_count, made.total) == (len(said), len(said) + 6)
        planned = course.plan(made, lambda model: ModelCard(model, 8192, 0.0, 0.0))
        assert (planned.total, planned.estimate.calls) == (6, 6)
        assert rejudge.only_votes(made.rules)
        assert from_json(to_json(made.rules)) == made.rules
        for turn in said:  # every turn still has its place
            assert schedule.label(made, turn.round, turn.stage)


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_its_log_goes_on_from_the_one_that_it_judges(
    debate: Debate, shuffle: random.Random
) -> None:
    prefix = walk(debate, shuffle)[-1]
    if not any(turn.kind == "speech" and turn.actor != "host" for turn in prefix.turns):
        return
    made, said = judged_again(prefix)
    events = [TurnCommitted(debate.id, turn) for turn in prefix.turns]
    change = rejudge.open_(made, said, events, AT)
    assert [event.seq for event in change.events] == list(range(1, len(said) + 2))
    assert {event.debate_id for event in change.events} == {made.id}
    assert [e.turn for e in change.events if isinstance(e, TurnCommitted)] == said
    assert (change.debate.status, change.debate.last_seq) == ("queued", len(said) + 1)
    assert [phase.state for phase in change.debate.phases] == ["Intake"]


def test_a_file_does_not_say_what_was_spoken_before() -> None:
    with pytest.raises(InputError, match=r"mine.toml: stage 'talk', field past: moot sets it"):
        parse(OWN, "mine.toml")
