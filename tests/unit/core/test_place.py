"""Where a debate stands, and how that reads: the same words in every view."""

import random
from dataclasses import replace
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.unit.core.test_schedule_properties import AT, CALM, debates, walk

from moot.cli.screen import Screen
from moot.core import change, request, schedule, verbs
from moot.core.debate import Debate
from moot.core.events import StatusChanged, TurnCommitted
from moot.core.format import parse, shown
from moot.render.transcript import markdown
from moot.store.formats import FormatFiles
from moot.wire import codec
from moot.wire.codec import read_listed

FILES = FormatFiles(Path("/nowhere"))


def debate_of(name: str, options: dict[str, int] | None = None, **more: Any) -> Debate:
    return request.build(
        debate_id="debate_20261115_120000_abcdef",
        at=AT,
        motion="Should we?",
        rules=FILES.get(name),
        default_model="local",
        normalize=lambda model: (model, None),
        options=options,
        **more,
    )


def headings(debate: Debate) -> list[str]:
    """How each place of a debate reads, once for each time that it changes."""
    turns = walk(debate.but(status="running"), random.Random(1))[-1].turns
    said = [schedule.label(debate, turn.round, turn.stage) for turn in turns]
    return [words for words, _ in groupby(said)]


CASES = {
    "custom": (
        debate_of("custom", {"rounds": 2}),
        ["Introduction", "Discussion · round 1 of 2", "Discussion · round 2 of 2", "Summary"],
    ),
    "custom, one round": (
        debate_of("custom", {"rounds": 1}),
        ["Introduction", "Discussion", "Summary"],
    ),
    "classic": (
        debate_of("classic"),
        ["Introduction", "Opening", "Rebuttal", "Free debate · round 1 of 2",
         "Free debate · round 2 of 2", "Conclusion", "Summary"],
    ),
    "endless": (
        debate_of("standard", {"rounds": 0}, limits={"max_turns": 4}),
        ["Discussion · round 1", "Discussion · round 2"],
    ),
    "council": (
        debate_of("council"),
        ["Round 1", "Round 2", "Round 3", "Consensus", "Judge"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_place_reads_as_people_would_say_it(name: str) -> None:
    debate, expected = CASES[name]
    assert headings(debate) == expected


@pytest.mark.parametrize("name", CASES)
def test_the_stages_of_the_view_give_the_same_words(name: str) -> None:
    """A program can label each turn by `stages` alone."""
    debate = CASES[name][0]
    stages = {stage["name"]: stage for stage in codec.debate(debate)["stages"]}
    for turn in walk(debate.but(status="running"), random.Random(1))[-1].turns:
        stage = stages[turn.stage]
        words = stage["title"]
        if stage["rounds"] != 1:
            words += f" · round {turn.round - stage['first_round'] + 1}"
            words += f" of {stage['rounds']}" if stage["rounds"] else ""
        assert words == schedule.label(debate, turn.round, turn.stage)


def test_the_terminal_shows_the_same_words() -> None:
    debate, expected = CASES["classic"]
    out = StringIO()
    screen = Screen(debate, Console(file=out, width=80))
    for turn in walk(debate.but(status="running"), random.Random(1))[-1].turns:
        screen.show(TurnCommitted(debate.id, turn))
    rules = [line.strip("─ ") for line in out.getvalue().splitlines() if line.endswith("─")]
    assert rules == expected


def test_a_debate_stands_where_its_next_wave_is_and_in_the_end_at_its_last_turn() -> None:
    fresh = debate_of("custom", {"rounds": 2})
    first = codec.debate(fresh)
    assert (first["round"], first["stage"]) == (0, "introduction")
    assert first["place"] == {"title": "Introduction", "round": None, "rounds": None}
    assert first["schedule"]["target_id"] == "host"
    assert first["schedule"]["next_stage"] == "introduction"
    assert first["schedule"]["instruction"].startswith("Open the debate")

    prefixes = walk(fresh.but(status="running"), random.Random(1))
    cue = codec.debate(prefixes[1].debate)
    assert (cue["round"], cue["stage"]) == (1, "discussion")
    assert cue["place"] == {"title": "Discussion", "round": 1, "rounds": 2}
    assert cue["schedule"]["target_id"] == "ada"
    assert cue["schedule"]["instruction"].startswith("Round 1 of 2. Give the floor to Ada")
    assert codec.debate(prefixes[2].debate)["schedule"]["next_stage"] is None

    over = codec.debate(prefixes[-1].debate.but(status="completed"))
    assert (over["round"], over["stage"], over["schedule"]) == (3, "summary", None)
    assert over["place"] == {"title": "Summary", "round": None, "rounds": None}
    stopped = codec.debate(prefixes[3].debate.but(status="stopped"))
    assert (stopped["round"], stopped["stage"], stopped["schedule"]) == (1, "discussion", None)


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_a_debate_that_goes_on_always_stands_somewhere(
    debate: Debate, shuffle: random.Random
) -> None:
    for prefix in walk(debate, shuffle):
        ahead = schedule.plan(prefix.debate)
        where, view = schedule.here(prefix.debate), codec.debate(prefix.debate)
        assert None not in where
        assert view["place"]["title"]
        filed = codec.filed(prefix.debate)
        assert (filed["round"], filed["stage"]) == (prefix.debate.round, prefix.debate.stage)
        if isinstance(ahead, schedule.Wave):
            first = prefix.debate.but(cursor=replace(prefix.debate.cursor, done=0))
            whole = schedule.plan(first)  # a jury's has several rounds, and stands in the first
            assert isinstance(whole, schedule.Wave)
            assert where == (whole.steps[0].round, ahead.steps[0].stage)
            told = change.notice(prefix.debate, AT, None).events[0]
            assert isinstance(told, StatusChanged)
            assert (told.round, told.stage) == where
            ended = verbs.end(prefix.debate, AT).debate
            assert " · " not in schedule.label(ended, *schedule.here(ended))
        else:
            assert view["schedule"] is None


def test_a_cursor_that_is_damaged_has_no_next_step_but_a_view() -> None:
    debate = CASES["custom"][0]
    lost = debate.but(status="running", cursor=schedule.Cursor(77, "nowhere", "nobody"))
    view = codec.debate(lost)
    assert view["schedule"] is None
    assert view["place"]["title"] == "Nowhere"


def test_a_row_of_a_list_elsewhere_needs_no_rules() -> None:
    listed = codec.listed(CASES["classic"][0])
    again = codec.listed(read_listed(listed), models=listed["models"])
    assert {**again, "place": None} == {**listed, "place": None}


def test_a_title_reaches_views_and_only_those_files_that_set_it() -> None:
    rules = FILES.get("classic")
    assert [stage["title"] for stage in shown(rules)["stages"]][3:5] == [
        "Free debate",
        "Conclusion",
    ]
    dumped = rules.model_dump(mode="json")["stages"]
    assert [stage["name"] for stage in dumped if "title" in stage] == ["free"]
    own = FILES.get("duel").model_dump(mode="json")
    assert parse(_toml(title="The clash"), "mine.toml").stages[0].heading == "The clash"
    assert "title" not in own["stages"][0]


def _toml(title: str) -> str:
    return (
        'name = "mine"\ntitle = "Mine"\ndescription = "Mine."\nrules = "Speak."\n'
        f'[[stages]]\nname = "open-floor"\ntitle = "{title}"\nask = "Speak."\n'
    )


@pytest.mark.parametrize("name", CASES)
def test_a_transcript_is_headed_in_the_same_words(name: str) -> None:
    debate, expected = CASES[name]
    turns = walk(debate.but(status="running"), random.Random(1))[-1].turns
    heads = [line[3:] for line in markdown(debate, turns).splitlines() if line.startswith("## ")]
    assert heads == expected
    before = markdown(debate, turns, 1)
    assert ("## Summary, round" in before) == ("Summary" in expected), "as older folders have it"
