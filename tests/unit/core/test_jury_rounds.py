"""A jury's place in a debate: its rounds, what they are called, how many turns they make."""

from importlib import resources
from typing import Any

import pytest

from moot.core import ladder, moves, request, schedule
from moot.core.course import plan as course
from moot.core.debate import Cursor, Debate
from moot.core.format import parse
from moot.core.schedule import END, Step, Wave
from moot.ports.model_call import ModelCard

AT = "2026-11-15T12:00:00.000Z"


def made(name: str, jury: dict[str, Any] | None, **asked: Any) -> Debate:
    text = resources.files("moot.formats").joinpath(f"{name}.toml").read_text("utf-8")
    debate = request.build(
        debate_id="debate_20261115_120000_abcdef",
        at=AT,
        motion="Should we?",
        rules=parse(text, f"{name}.toml"),
        default_model="local",
        normalize=lambda model: (model, None),
        jury=jury,
        **asked,
    )
    return debate.but(status="running")


def at(debate: Debate, stage: str) -> Debate:
    """The debate when that stage comes next."""
    first = schedule.stage_steps(debate, stage)[0]
    return debate.but(cursor=Cursor(first.round, first.stage, first.actor))


def ahead(debate: Debate) -> tuple[Step, ...]:
    planned = schedule.plan(debate)
    assert isinstance(planned, Wave)
    return planned.steps


def after(debate: Debate, *bits: int) -> Debate:
    for bit in bits:
        debate = debate.but(cursor=schedule.after(debate, bit), turn_count=debate.turn_count + 1)
    return debate


@pytest.mark.parametrize(
    ("asked", "labels"),
    [
        ({}, ["before the debate", "one order", "other order"]),
        ({"baseline": False}, ["one order", "other order"]),
        ({"swap": False}, ["before the debate", "after the debate"]),
    ],
)
def test_each_reading_of_a_jury_is_a_round_that_says_what_was_read(
    asked: dict[str, bool], labels: list[str]
) -> None:
    debate = made("council", {"size": 3, **asked})
    rounds = range(5, 5 + len(labels))
    shown = [schedule.label(debate, number, "jury") for number in rounds]
    assert shown == [f"Jury · {label}" for label in labels]
    assert schedule.label(debate, 5 + len(labels), "judge") == "Judge"
    assert [step.round for step in schedule.stage_steps(debate, "judge")] == [5 + len(labels)]


def test_a_jury_that_votes_once_needs_no_word_for_its_round() -> None:
    debate = made("council", {"size": 3, "swap": False, "baseline": False})
    assert schedule.label(debate, 5, "jury") == "Jury"


def test_the_plan_has_every_ballot() -> None:
    debate = made("council", {"size": 3})
    assert schedule.total(debate) == debate.total == 17 + 9
    planned = course(debate, lambda model: ModelCard(model, 8192, 0.0, 0.0))
    (jury,) = [stage for stage in planned.stages if stage.name == "jury"]
    assert (jury.turns, jury.waves, jury.first_round) == (9, 1, 5)
    assert jury.speakers == ("juror-1", "juror-2", "juror-3")
    keys = {(step.round, step.actor) for step in planned.steps if step.stage == "jury"}
    assert len(keys) == 9


def test_a_wave_of_several_rounds_keeps_who_has_voted() -> None:
    debate = at(made("council", {"size": 3}), "jury")
    steps = ahead(debate)
    assert [step.bit for step in steps] == list(range(9))
    later = after(debate, 4, 8, 0)
    left = ahead(later)
    assert {step.key for step in left} == {step.key for step in steps if step.bit not in (0, 4, 8)}
    shown = schedule.ahead(later)
    assert shown
    assert (shown.round, shown.actor, shown.reading) == (5, "juror-2", "alone")
    over = after(later, 1, 2, 3, 5, 6, 7)
    assert over.cursor.next_stage == "judge"


def test_a_jury_is_last_unless_somebody_writes_the_verdict() -> None:
    duel = at(made("duel", {"size": 3}), "jury")
    assert schedule.is_last(duel, Wave(ahead(duel)))
    assert not schedule.is_last(duel, Wave(ahead(duel)[:-1]))
    council = at(made("council", {"size": 3}), "jury")
    assert not schedule.is_last(council, Wave(ahead(council)))


@pytest.mark.parametrize("most", [1, 2, 6])
def test_ballots_do_not_count_towards_max_turns(most: int) -> None:
    with_jury = made("duel", {"size": 3}, limits={"max_turns": most})
    assert schedule.total(with_jury) == most + 9
    assert len([s for wave in schedule.waves(with_jury) for s in wave if s.stage == "duel"]) == most
    endless = made("standard", {"size": 5}, options={"rounds": 0}, limits={"max_turns": 7})
    assert schedule.total(endless) == 7 + 15
    exact = made("council", {"size": 5}, limits={"max_turns": 17})
    assert schedule.total(exact) == 17 + 15


# --- the ladder ---


def told(debate: Debate, room: int) -> tuple[ladder.Way, list[int]]:
    """The way on if there is room for so many calls, and what each rung would have needed."""
    needed: list[int] = []

    def fits(_: Debate, steps: object) -> bool:
        needed.append(len(steps))  # type: ignore[arg-type]
        return needed[-1] <= room

    return ladder.way_on(debate, fits), needed


def test_the_ladder_has_its_rungs_in_the_order_of_the_contract() -> None:
    """From the second round of a council: with its reading, then each jury with the Judge."""
    debate = at(made("council", {"size": 5}), "round2").but(stage="round1")
    way, needed = told(debate, 0)
    reading, juries, alone, judge = [1 + 1], [15 + 1, 10 + 1, 5 + 1, 3 + 1], [3], [1]
    assert needed == [*reading, *juries, *alone, *judge, 1]
    assert way.skips == ("round2", "round3", "consensus", "judge")
    assert way.jury is None


@pytest.mark.parametrize(
    ("size", "room", "left"),
    [(5, 16, 5), (5, 6, 5), (5, 5, 3), (4, 4, 3), (3, 4, 3), (2, 3, 2), (1, 2, 1)],
)
def test_the_smallest_jury_is_odd_or_as_it_was(size: int, room: int, left: int) -> None:
    debate = at(made("council", {"size": size}), "round3")

    def fits(_: Debate, steps: object) -> bool:
        steps_: tuple[Step, ...] = steps  # type: ignore[assignment]
        voted = any(step.stage == "jury" for step in steps_)
        return voted and len(steps_) <= room

    way = ladder.way_on(debate, fits)
    assert way.jury
    assert len(way.jury.seats) == left
    assert debate.jury
    assert way.jury.seats == debate.jury.seats[:left]
    assert any("jurors: 3 of them" in words for words in way.words) == (left < size)


@pytest.mark.parametrize("stage", ["jury", "judge", "consensus"])
def test_no_rung_is_where_the_debate_stands(stage: str) -> None:
    """What comes next did not fit, however small the jury: the way on leads past it."""
    jury = {"size": 3, "swap": False, "baseline": False}
    way = ladder.way_on(at(made("council", jury), stage), lambda *_: True)
    assert way.skips == (() if stage == "jury" else (stage,))
    assert (way.jury is None) == (stage == "jury")


def test_a_wish_is_obeyed_before_anything_is_left_out() -> None:
    debate = at(made("council", {"size": 3}), "jury").but(wanted="stop")
    way = ladder.way_on(debate, lambda *_: False)
    stopped = moves.shorten(debate, debate.fence, way, AT).debate
    assert (stopped.status, stopped.stop_reason) == ("stopped", "stopped_by_user")
    assert stopped.jury == debate.jury


def test_what_is_kept_back_is_the_cheapest_verdict() -> None:
    council = at(made("council", {"size": 5}), "round1")
    assert [step.stage for step in ladder.cheapest(council)[1]] == ["judge"]
    duel = at(made("duel", {"size": 5}), "duel")
    small, steps = ladder.cheapest(duel)
    assert [step.reading for step in steps] == ["spoken"] * 3
    assert small.jury
    assert not small.jury.swap
    assert ladder.cheapest(at(made("council", None), "judge"))[1] == ()
    assert ladder.cheapest(at(duel, "jury"))[1] == ()
    assert ladder.cheapest(made("duel", {"size": 3}).but(cursor=END))[1] == ()
