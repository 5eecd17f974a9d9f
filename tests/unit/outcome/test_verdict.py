"""The outcome of whole debates: what was seen to go wrong, each outcome at its edges, who dissents,
who moved and why, which quotes hold, and what is doubtful. Every packet on the way validates."""

# ruff: noqa: E501  a table reads best with one case a line

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, TypeAdapter, with_config
from tests.unit.outcome.courts import FLIP, MISSING, ROLES, court, hold

from moot import errors
from moot.core import prompts
from moot.core.debate import Debate, Turn
from moot.core.format import EDITION
from moot.core.schedule import Step, agreed
from moot.engine.filling import choices_of
from moot.outcome import packet
from moot.outcome.opposites import opposed
from moot.outcome.result import result
from moot.outcome.stands import choices, silent
from moot.outcome.verdict import verdict
from moot.wire import outcome_shapes

SHAPE = TypeAdapter(with_config(ConfigDict(strict=True, extra="forbid"))(outcome_shapes.Verdict))
U = "undecided"


def reached(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any]:
    """The verdict, which has its shape; its packet, if it has one, validates."""
    came_to = result(debate, turns)
    if came_to.packet is not None:
        packet.validate(came_to.packet)
    made = came_to.verdict
    assert made is not None
    SHAPE.validate_python(made)
    assert json.loads(json.dumps(made)) == made, "it is JSON as it stands"
    return made


def packed(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any]:
    made = result(debate, turns).packet
    assert made is not None
    packet.validate(made)
    return made


def warned(made: Mapping[str, Any], code: str) -> list[str]:
    return [one.partition(": ")[2] for one in made["warnings"] if one.startswith(f"{code}: ")]


# --- what was seen ---


def test_a_judge_who_overrules_everybody_is_contested_and_has_no_support() -> None:
    """All five stood for Postgres, and the Judge picked what nobody had named, citing nothing."""
    debate = court()
    own = {"choice": "other", "otherOption": "Outsource the whole product",
           "whySelected": [{"text": "I prefer it.", "turns": []}]}  # fmt: skip
    turns = hold(debate, ["Postgres"] * 5, Judge5=own)
    made, came_to = reached(debate, turns), result(debate, turns)
    assert (made["outcome"], made["selected"]) == ("contested", "Outsource the whole product")
    assert (made["support"]["heads"], made["support"]["of"], made["support"]["weight"]) == (
        0,
        5,
        0.0,
    )
    assert made["support"]["favoured"] == {"option": "Postgres", "heads": 5, "weight": 1.0}
    assert came_to.decision.consensus_score == 0.0, "no view can show 100% beside it"
    assert warned(made, errors.WARN_VERDICT_UNWEIGHED) == ["Judge cites no turn for its verdict."]
    assert len(made["dissent"]) == 5
    assert came_to.record is not None
    assert came_to.record["title"] == "Contested: Outsource the whole product"
    why = packed(debate, turns)["decision"]["whySelected"]
    assert "The positions favoured “Postgres” (5 of 5); the Judge chose otherwise." in why


@pytest.mark.parametrize("choice", ["Use Postgres", "use postgres.", "Move to Postgres"])
def test_a_judge_who_rewords_the_favoured_option_chose_it(choice: str) -> None:
    debate = court()
    same = [{"option": "Use Postgres", "wordings": ["Use Postgres", "Move to Postgres"]}]
    stands = ["Use Postgres", "Use Postgres", "Move to Postgres", "Move to Postgres", "Wait"]
    verdict_ = {"choice": "other", "otherOption": choice}
    turns = hold(debate, stands, Synthesizer4={"same": same}, Judge5=verdict_)
    made = reached(debate, turns)
    assert (made["outcome"], made["selected"]) == ("decided", "Use Postgres")
    assert (made["support"]["heads"], made["support"]["of"]) == (4, 5)
    assert "otherwise" not in " ".join(packed(debate, turns)["decision"]["whySelected"])


def test_heads_count_before_weight_and_a_minority_is_never_agreed() -> None:
    """3 × Wait at 0.2 against 2 × Go at 0.95: Go has more weight, and said so in "Agreed"."""
    debate = court()
    stands = [("Wait", 0.2), ("Go", 0.95), ("Wait", 0.2), ("Go", 0.95), ("Wait", 0.2)]
    silent = hold(debate, stands, Judge5=None, Synthesizer4=None)
    made = reached(debate, silent)
    assert (made["outcome"], made["selected"], made["decidedBy"]) == (
        "contested",
        "Wait",
        "positions",
    )
    assert made["support"]["favoured"]["option"] == "Wait", "most heads, though not most weight"
    assert packed(debate, silent)["consensus"]["keyAgreements"] == []
    said = {"agreements": [{"text": "Everybody wants to Go.", "turns": [2, 4]},
                           {"text": "Prices rise.", "turns": [2, 4]},
                           {"text": "It rains.", "turns": [1, 3]}]}  # fmt: skip
    read = packed(debate, hold(debate, stands, Judge5=None, Synthesizer4=said))
    assert read["consensus"]["keyAgreements"] == ["It rains. [turn:1, turn:3]"]
    assert len(read["consensus"]["keyDisagreements"]) == 2


@pytest.mark.parametrize(
    ("stands", "text", "agreed_"),
    [
        (("Wait", "Wait", "Wait", "Go", "Go"), "Everybody wants (Go).", False),
        (("Wait", "Wait", "Wait", "Go", "Go"), "Go/no-go is settled.", False),
        (("Wait", "Wait", "Wait", "Go", "Go"), "Goats are dear.", True),
        (("先不迁移", "先不迁移", "先不迁移", "迁移", "迁移"), "大家都同意迁移到新库。", False),
        (("先不迁移", "先不迁移", "先不迁移", "迁移", "迁移"), "大家都同意先不迁移。", True),
        (("Wait",) * 5, "All would Sell it.", False),
        (("Sell it now",) * 5, "All would sell it now.", True),
    ],
)
def test_no_option_of_a_few_is_agreed_however_it_is_written(
    stands: tuple[str, ...], text: str, agreed_: bool
) -> None:
    """In brackets, without spaces, or held by nobody any more; a longer option is not the shorter
    one that it begins with."""
    debate = court()
    first = ("Sell it", *stands[1:])
    said = {"agreements": [{"text": text, "turns": [1, 2, 3, 4, 5]}]}
    turns = hold(debate, stands, first=first, Judge5=None, Synthesizer4=said)
    made = packed(debate, turns)["consensus"]
    assert bool(made["keyAgreements"]) == agreed_
    assert bool(made["keyDisagreements"]) != agreed_
    old = debate.but(rules=debate.rules.model_copy(update={"edition": 5}))
    if "Sell" in text or "(" in text or text.endswith("新库。"):
        assert bool(packed(old, turns)["consensus"]["keyAgreements"]), "as it was filed"


def test_cannot_decide_is_not_a_decision() -> None:
    debate = court()
    open_ = {"choice": U, "questions": ["What are the volumes?"]}
    turns = hold(debate, ["Go"] * 5, Judge5=open_)
    made, came_to = reached(debate, turns), result(debate, turns)
    assert (made["outcome"], made["selected"]) == ("needs_facts", None)
    assert [one["text"] for one in made["openQuestions"]] == ["What are the volumes?"]
    sealed = packed(debate, turns)
    assert sealed["decision"]["selectedOption"] == "No decision: facts are missing"
    assert sealed["nextActions"][0]["action"] == "Find out: What are the volumes? [turn:17]"
    assert sealed["decision"]["rejectedOptions"] == []
    assert came_to.record is not None
    assert came_to.record["title"] == "No decision: facts are missing"
    assert came_to.decision.selected_option == "No decision: facts are missing"


@pytest.mark.parametrize(
    "word", ["Undecided", "undecided", "“Undecided.”", "**Undecided**", "Other", "other…"]
)
def test_who_says_undecided_takes_no_position(word: str) -> None:
    """A speaker's "Undecided" became an option, and a jury's `undecided` a vote for it."""
    open_ = {"choice": U, "questions": ["What are the volumes?"]}
    stands = [word, "Go", "Go", "Wait", word]
    court_ = court(5)
    turns = hold(court_, stands, [U] * 5)
    made = reached(court_, turns)
    assert (made["outcome"], made["selected"], made["decidedBy"]) == ("needs_facts", None, "jury")
    assert {option["name"] for option in made["options"]} == {"Go", "Wait"}
    assert choices(court_, turns).options == ("Go", "Wait")
    assert set(choices(court_, turns).held) == {"critic", "analyst", "synthesizer"}
    debate = court()
    made = reached(debate, hold(debate, stands, Judge5=open_))
    assert (made["outcome"], made["selected"], made["decidedBy"]) == ("needs_facts", None, "judge")
    assert (made["support"]["of"], made["support"]["asked"]) == (3, 5)
    own = {"choice": "other", "otherOption": word}
    made = reached(debate, hold(debate, stands, Judge5=own))
    assert (made["outcome"], made["selected"]) == ("needs_facts", None), "in its own words"


@pytest.mark.parametrize("word", ["Undecided", "undecided", "Other."])
@pytest.mark.parametrize("first", [(), ("Go",) * 5])
def test_speakers_who_end_undecided_decide_nothing(word: str, first: Sequence[str]) -> None:
    debate = court()
    turns = hold(debate, [word] * 5, first=first, Judge5=None)
    made, came_to = reached(debate, turns), result(debate, turns)
    assert (made["outcome"], made["selected"]) == ("needs_facts", None)
    assert came_to.decision.selected_option == "No decision: facts are missing"
    assert came_to.decision.consensus_score == 0.0
    assert not silent(debate.rules, turns, ["round1"]), "they were heard, and may still choose"
    assert silent(debate.rules, [replace(turn, data=None) for turn in turns], ["round1"])
    old = replace(debate, rules=debate.rules.model_copy(update={"edition": 1}))
    assert result(old, turns).decision.selected_option == word, "old debates stay as they are"


def test_a_judge_decides_alone_where_nobody_else_takes_a_position() -> None:
    debate = court()
    turns = hold(debate, ["Undecided"] * 5, Judge5={"choice": "other", "otherOption": "Go"})
    made, packet_ = reached(debate, turns), packed(debate, turns)
    assert (made["outcome"], made["selected"], made["support"]["of"]) == ("contested", "Go", 0)
    assert "The Judge chose it; nobody else took a position." in json.dumps(packet_)
    old = replace(debate, rules=debate.rules.model_copy(update={"edition": 8}))
    assert "0 of 0 who took a position stand for it" in json.dumps(packed(old, turns))


def test_to_be_undecided_together_is_no_agreement() -> None:
    debate = court()
    stages = tuple(
        stage.model_copy(update={"until": "agreement"}) if stage.name == "round1" else stage
        for stage in debate.rules.stages
    )
    new = replace(debate, rules=debate.rules.model_copy(update={"stages": stages}))
    old = replace(new, rules=new.rules.model_copy(update={"edition": 1}))
    said = {seat.id: {"position": "Undecided"} for seat in debate.participants}
    assert not agreed(new, "round1", said)
    assert agreed(old, "round1", said)
    assert agreed(new, "round1", {seat: {"position": "Go"} for seat in said})


def test_a_minority_beside_the_undecided_does_not_decide() -> None:
    debate = court()
    made = reached(debate, hold(debate, ["Undecided"] * 3 + ["Go"] * 2, Judge5=None))
    assert made["outcome"] != "decided"
    assert made["selected"] != "Undecided"


def test_a_reader_does_not_pick_the_winner_by_its_mapping() -> None:
    """The Synthesizer maps its own option's name over others': 0.59 with it, 0.41 for another
    without. It may group wordings, not rename them, and the count without merging is shown."""
    debate = court()
    stands = ["Buy", "Buy", "Rent for a year", "Lease for a year", "Borrow"]
    same = [
        {"option": "My own plan", "wordings": ["Rent for a year", "Lease for a year", "Borrow"]}
    ]
    made = reached(debate, hold(debate, stands, Judge5=None, Synthesizer4={"same": same}))
    assert "My own plan" not in {option["name"] for option in made["options"]}
    assert made["support"]["favoured"]["heads"] == 3
    assert made["support"]["unmapped"]["favoured"]["option"] == "Buy"
    assert made["support"]["unmapped"]["heads"] == 1, "of the selected one, in its best wording"


MERGED: dict[str, tuple[list[str], list[str], dict[str, Any]]] = {
    "negation": (["Adopt it", "Do not adopt it"], [], {}),
    "negation, short": (["Adopt it", "Don't adopt it!"], [], {}),
    "yes and no": (["Yes to “it”", "No to “it”"], [], {}),
    "signs": (["+10%", "-10%"], [], {}),
    "in French": (["Adopter le plan", "Ne pas adopter le plan"], [], {}),
    "in Chinese": (["采用它", "不采用它"], [], {}),
    "a word and its opposite": (["Raise prices", "Lower prices"], [], {}),
    "denied, and a word on": (["Ship it", "Do not ship it yet"], [], {}),
    "yes and no, each with words": (["Yes, ban them", "No, do not ban them"], [], {}),
    "another prefix": (["Centralise it", "Decentralise it"], [], {}),
    "in and out": (["Opt in", "Opt out"], [], {}),
    "make or buy": (["Build it", "Buy it"], [], {}),
    "turned round": (["Postgres over MySQL", "MySQL over Postgres"], [], {}),
    "numbers": (["Increase it to 5", "Increase it to 50"], [], {}),
    "opposites in German": (["Handys verbieten", "Handys erlauben"], [], {}),
    "opposites in Japanese": (["採用する", "採用しない"], [], {}),
    "moved to the opposite": (["Lower prices", "Other"], ["Raise prices", "Other"], {}),
    "ruled out": (["Buy", "Rent"], [], {"rejects": ["Rent"]}),
    "moved": (["Rent", "Rent"], ["Buy", "Rent"], {}),
    "moved, and named why": (["Rent a van", "Rent"], ["Rent a car", "Rent"],
                             {"revisions": [{"change": "A van.", "reason": "Room.", "turns": [2]}]}),
}  # fmt: skip


@pytest.mark.parametrize("case", MERGED)
def test_opposites_stay_two_whatever_a_reading_says(case: str) -> None:
    stands, first, changed = MERGED[case]
    pair = sorted({*(first or stands)[:1], *stands, *first})[:3]
    debate = court()
    filled = [*stands, "Other", "Other", "Other"]
    began = [*first, "Other", "Other", "Other"] if first else []
    same = [{"option": pair[0], "wordings": pair}]
    turns = hold(debate, filled, first=began, Proponent3=changed, Synthesizer4={"same": same})
    made = reached(debate, turns)
    held = (first[0], stands[0]) if first else (stands[0], stands[1])
    names = {word: one["name"] for one in made["options"] for word in one["wordings"]}
    assert names[held[0]] != names[held[1]]
    assert len(warned(made, errors.WARN_OPPOSITES_KEPT)) >= 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Adopt Postgres", "Use Postgres"), ("Do not ban phones", "Allow phones"),
        ("Ship later", "Do not ship now"), ("Yes", "Yes, ban them"), ("No", "No, do not ban them"),
        ("Not MySQL, Postgres", "Postgres, not MySQL"), ("Reduce the cost", "Lower the cost"),
        ("Hire 10,000 people", "Hire 10000 people"), ("Hire 10k people", "Hire 10,000 people"),
        ("Leave it as it is", "Keep it as it is"), ("Try it", "Try it out"), ("Ship it", "Ship v2"),
        ("Adopt Postgres", "Adopt Postgres 16"),
    ],
)  # fmt: skip
def test_what_may_be_one_option_is_left_to_the_reading(one: str, other: str) -> None:
    assert opposed(one, other, EDITION) is opposed(other, one, EDITION) is None


def test_before_edition_7_only_a_plain_negation_kept_two_apart() -> None:
    assert opposed("Raise prices", "Lower prices", 6) is None
    assert opposed("Raise prices", "Do not raise prices", 6)


def test_wordings_of_one_option_are_merged_and_called_by_one_of_them() -> None:
    debate = court()
    stands = ["Adopt Postgres", "Adopt Postgres now", "Wait", "Adopt Postgres", "Wait"]
    same = [{"option": "The database", "wordings": ["Adopt Postgres", "Adopt Postgres now"]}]
    first = ["Adopt Postgres", "Adopt Postgres", "Wait", "Adopt Postgres", "Wait"]
    made = reached(
        debate,
        hold(
            debate,
            stands,
            first=first,
            Synthesizer4={"same": same},
            Judge5={"choice": "Adopt Postgres"},
        ),
    )
    assert made["options"][0]["name"] == "Adopt Postgres", "what most hold, not the reader's words"
    assert made["options"][0]["wordings"] == ["Adopt Postgres", "Adopt Postgres now"]
    assert made["support"]["heads"] == 3
    assert made["support"]["unmapped"]["heads"] == 2
    assert made["warnings"] == []
    assert made["moved"] == [], "the Critic only worded it otherwise"


def test_who_is_claimed_by_neither_side_of_a_split_stays_by_itself() -> None:
    debate = court()
    stands = ["Adopt it", "Do not adopt it", "Take it on", "Adopt it fully", "Adopt it"]
    same = [{"option": "Adopt it", "wordings": sorted(set(stands))}]
    made = reached(
        debate, hold(debate, stands, Synthesizer4={"same": same}, Judge5={"choice": "Adopt it"})
    )
    groups = {one["name"]: one["final"] for one in made["options"]}
    assert groups["Adopt it"] == ["Proponent", "Synthesizer", "Judge"]
    assert groups["Do not adopt it"] == ["Critic"]
    assert groups["Take it on"] == ["Analyst"]


def test_before_there_were_outcomes_all_of_this_went_wrong() -> None:
    """Debates from before keep the packets that they have, and show what the cases above mend."""
    new = court()
    old = new.but(rules=new.rules.model_copy(update={"edition": 1}))
    overruled = {"choice": "other", "otherOption": "Outsource the whole product"}
    made = packed(old, hold(new, ["Postgres"] * 5, Judge5=overruled))
    assert made["decision"]["selectedOption"] == "Outsource the whole product"
    assert made["consensus"]["consensusScore"] == 1.0
    few = [("Wait", 0.2), ("Go", 0.95), ("Wait", 0.2), ("Go", 0.95), ("Wait", 0.2)]
    made = packed(old, hold(new, few, Judge5=None, Synthesizer4=None))
    assert made["decision"]["selectedOption"] == "Go"
    assert made["consensus"]["keyAgreements"][0].startswith("Critic, Synthesizer: Go")
    made = packed(old, hold(new, ["Go", "Go", "Wait", "Wait", "Sell"], Judge5=None))
    assert made["decision"]["selectedOption"] == "Go", "by the alphabet"
    assert "It had less support at the end." in made["decision"]["rejectedOptions"][0]["reason"]
    named = [{"option": "My own plan", "wordings": ["Adopt it", "Do not adopt it"]}]
    turns = hold(
        new,
        ["Adopt it", "Do not adopt it", "Sell", "Rent", "Buy"],
        Judge5=None,
        Synthesizer4={"same": named},
    )
    assert packed(old, turns)["decision"]["selectedOption"] == "My own plan", "and its negation"


# --- a jury ---

VOTED: dict[str, tuple[list[str], str, str | None, str]] = {
    "3-0": (["Go"] * 3, "decided", "Go", "3 of 3 jurors chose it."),
    "2-1": (
        ["Go", "Go", "Wait"],
        "contested",
        "Go",
        "2 of 3 jurors chose it, which is not a clear lead.",
    ),
    "one flip": (
        ["Go", "Go", FLIP],
        "contested",
        "Go",
        "1 juror changed with the order and abstained.",
    ),
    "one missing": (["Go", "Go", MISSING], "contested", "Go", "not a clear lead"),
    "all flips": ([FLIP] * 3, "no_verdict", None, "Only 0 of 3 jurors gave a vote that counts."),
    "all missing": ([MISSING] * 3, "no_verdict", None, "Only 0 of 3"),
    "two undecided": (["Go", U, U], "needs_facts", None, "2 of 3 jurors would not decide"),
    "three ways": (["Go", "Wait", "Sell"], "deadlock", None, "The jury is deadlocked"),
    "a tie of four": (["Go", "Wait", "Go", "Wait"], "deadlock", None, "deadlocked"),
    "margin 2 of five": (["Go", "Go", "Go", "Wait", "Sell"], "decided", "Go", "3 of 5"),
    "margin 1 of five": (["Go", "Go", "Go", "Wait", "Wait"], "contested", "Go", "3 of 5"),
}


@pytest.mark.parametrize("case", VOTED)
@pytest.mark.parametrize(
    "judge", [{}, {"choice": "Wait"}, {"choice": U, "questions": ["Who pays?"]}, None]
)
def test_the_votes_of_a_jury_decide(case: str, judge: dict[str, Any] | None) -> None:
    ballots, outcome, selected, why = VOTED[case]
    debate = court(len(ballots))
    turns = hold(debate, ["Go", "Wait", "Sell", "Go", "Wait"], ballots, Judge7=judge)
    made, sealed = reached(debate, turns), packed(debate, turns)
    assert (made["outcome"], made["selected"], made["decidedBy"]) == (outcome, selected, "jury")
    assert why in sealed["decision"]["whySelected"][0]
    assert sealed["decision"]["selectedOption"].startswith(selected or "No decision: ")
    assert (made["jury"]["asked"], len(made["jury"]["jurors"])) == (len(ballots), len(ballots))
    assert sealed["outcome"] == outcome
    chosen = (judge or {}).get("choice", "Go")
    if judge is not None and selected and chosen != selected:
        assert any("The Judge would" in text for text in sealed["decision"]["whySelected"])
        assert sealed["nextActions"][0]["action"].startswith("Confirm or overrule: ")
    title = (result(debate, turns).record or {})["title"]
    assert title.startswith(
        {"decided": "Go", "contested": "Contested: "}.get(outcome, "No decision")
    )


def test_a_flip_is_shown_and_abstains() -> None:
    debate = court(3)
    made = reached(debate, hold(debate, ["Go", "Wait", "Go", "Go", "Wait"], ["Go", FLIP, "Go"]))
    flipped = made["jury"]["jurors"][1]
    assert (flipped["flipped"], flipped["vote"]) == (True, None)
    assert {flipped["choice"], flipped["swapped"]} == {"Go", "Wait"}
    assert (made["jury"]["valid"], made["jury"]["margin"]) == (2, 1)
    assert (made["jury"]["swapConsistent"], made["jury"]["agreement"]) == (0.6667, 1.0)


def test_what_the_jury_said_alone_stands_beside_what_it_said_after() -> None:
    debate = court(3, jury={"baseline": True})
    turns = hold(debate, ["Go", "Wait", "Go", "Go", "Wait"], ["Go"] * 3)
    alone = {turn.seq for turn in turns if turn.stage == "jury" and turn.round == 5}
    turns = [
        replace(t, data={**(t.data or {}), "choice": "Wait"}) if t.seq in alone else t
        for t in turns
    ]
    made = reached(debate, turns)
    assert made["baseline"] == {
        "selected": "Wait",
        "split": [{"option": "Wait", "votes": 3}],
        "changedByDebate": True,
    }
    assert {one["alone"] for one in made["jury"]["jurors"]} == {"Wait"}
    assert made["selected"] == "Go"


def test_a_juror_who_picks_any_wording_votes_for_that_option() -> None:
    debate = court(3)
    same = [{"option": "Go", "wordings": ["Go", "Begin at once"]}]
    turns = hold(
        debate,
        ["Go", "Begin at once", "Wait", "Go", "Wait"],
        ["Go", "Begin at once", "go."],
        Synthesizer4={"same": same},
    )
    made = reached(debate, turns)
    assert (made["outcome"], made["selected"]) == ("decided", "Go")


def test_a_jury_votes_on_what_somebody_still_holds_if_that_leaves_a_choice() -> None:
    debate = court(3)
    rules = debate.rules
    first = ["Go", "Wait", "Ask", "Go", "Sell"]

    def asked(final: list[str], edition: int = rules.edition) -> tuple[str, ...]:
        held = debate.but(rules=rules.model_copy(update={"edition": edition}))
        turns = hold(held, final, ["Go"] * 3, first=first, until=4)
        last = Step(8, "judge", "judge", "verdict", None, "", answer="verdict")
        every = choices_of(last, held, turns).options
        assert {*first, *final} - {"Undecided"} == {*every}, "the Judge chooses from all"
        juror = held.jury.seats[0].id if held.jury else ""
        step = replace(last, stage="jury", actor=juror, answer="ballot", reading="spoken")
        found = choices_of(step, held, turns)
        (_, ask), _ = prompts.render(step, held, prompts.Heard(turns), 10**6, found)
        named = ask.text.rpartition("word for word:\n")[2].partition("\n\n")[0]
        assert {line.removeprefix("> ") for line in named.split("\n")} == {*found.options}
        return found.options

    assert asked(["Go", "Wait", "Wait", "Go", "Go"]) == ("Go", "Wait")
    assert asked(["Wait", "Wait", "Go", "Stop", "Go"]) == ("Go", "Wait", "Stop")
    assert asked(["Go"] * 5) == asked(["Undecided"] * 5) == ("Go", "Wait", "Ask", "Sell")
    assert asked(["Go", "Wait", "Wait", "Go", "Go"], 7) == ("Go", "Wait", "Ask", "Sell")


def test_a_debate_that_ends_before_its_jury_is_asked_is_decided_without_it() -> None:
    debate = court(3)
    made = reached(debate, hold(debate, ["Go", "Go", "Go", "Go", "Wait"], ["Go"] * 3, until=3))
    assert (made["decidedBy"], made["outcome"], made["jury"]) == ("positions", "decided", None)


@pytest.mark.parametrize("format_", ["duel", "standard"])
def test_without_positions_a_jury_decides_between_the_sides(format_: str) -> None:
    debate = court(3, format=format_)
    leg = debate.rules.jury
    assert leg is not None
    made = reached(debate, [])
    assert (made["outcome"], made["decidedBy"], made["selected"]) == ("no_verdict", None, None)
    assert [one["name"] for one in made["options"]] == ["Against the motion", "For the motion"]


# --- without a jury ---

JUDGED: dict[str, tuple[list[str], str, str]] = {
    "all": (["Go"] * 5, "Go", "decided"),
    "3 of 5": (["Go", "Go", "Go", "Wait", "Wait"], "Go", "decided"),
    "2 of 5": (["Go", "Go", "Wait", "Wait", "Wait"], "Go", "contested"),
    "1 of 5": (["Go", "Wait", "Wait", "Wait", "Wait"], "Go", "contested"),
}


@pytest.mark.parametrize("case", JUDGED)
def test_a_judge_decides_with_at_least_half_of_the_positions(case: str) -> None:
    stands, choice, outcome = JUDGED[case]
    debate = court()
    made = reached(debate, hold(debate, stands, Judge5={"choice": choice}))
    assert (made["outcome"], made["selected"], made["decidedBy"]) == (outcome, choice, "judge")


def test_half_of_those_who_took_a_position_is_enough_for_a_judge() -> None:
    debate = court()
    gone: dict[str, Any] = {"Analyst1": None, "Analyst3": None}
    made = reached(debate, hold(debate, ["Go", "Go", "Go", "Wait", "Wait"], **gone))
    assert (made["outcome"], made["support"]["heads"], made["support"]["of"]) == ("decided", 2, 4)


STOOD: dict[str, tuple[list[str], str, str | None]] = {
    "5-0": (["Go"] * 5, "decided", "Go"),
    "4-1": (["Go", "Go", "Go", "Go", "Wait"], "decided", "Go"),
    "3-2": (["Go", "Go", "Go", "Wait", "Wait"], "contested", "Go"),
    "2-2-1": (["Go", "Go", "Wait", "Wait", "Sell"], "deadlock", None),
    "2-1-1-1": (["Go", "Go", "Wait", "Sell", "Rent"], "deadlock", None),
}


@pytest.mark.parametrize("case", STOOD)
@pytest.mark.parametrize("until", [1, 2, 3, 4, 5])
def test_without_a_judge_the_positions_decide_at_any_rung(case: str, until: int) -> None:
    """A budget may end it after any round: five positions are known from the first."""
    stands, outcome, selected = STOOD[case]
    debate = court().but(degraded=True)
    made = reached(debate, turns := hold(debate, stands, until=until, Judge5=None))
    assert (made["outcome"], made["selected"], made["decidedBy"]) == (
        outcome,
        selected,
        "positions",
    )
    sealed = packed(debate, turns)
    assert sealed["degraded"]
    assert "less support" not in json.dumps(sealed)
    assert sealed["decision"]["whySelected"][0].startswith("The Judge gave no verdict. ")
    level = case == "2-2-1"
    assert (made["support"]["favoured"] is None) == level, "the alphabet settles nothing"
    if outcome == "deadlock":
        assert sealed["decision"]["selectedOption"].startswith("No decision: deadlock between “")
        assert sealed["nextActions"]


def test_what_one_of_five_said_decides_but_settles_nothing() -> None:
    debate = court()
    silent: dict[str, Any] = {f"{role}{n}": None for role in ROLES[1:] for n in (1, 2, 3, 4, 5)}
    made = reached(debate, hold(debate, ["Go"] * 5, **silent))
    assert (made["outcome"], made["selected"]) == ("contested", "Go")


def test_a_verdict_from_before_there_were_choices_is_read() -> None:
    debate = court()
    turns = hold(debate, ["Go"] * 5)
    data = dict(turns[-1].data or {})
    old = {name: data[name] for name in ("whySelected", "rejectedOptions", "risks", "nextActions")}
    turns[-1] = replace(turns[-1], data={**old, "selectedOption": "Go"})
    assert reached(debate, turns)["outcome"] == "decided"


def test_old_debates_have_no_verdict() -> None:
    debate = court()
    old = debate.but(rules=debate.rules.model_copy(update={"edition": 1}))
    assert verdict(old, hold(debate)) is None
    assert set(packed(old, hold(debate))) & {"outcome", "support", "dissent"} == set()


# --- who moved, who dissents ---


def test_a_move_names_its_cause_or_is_marked() -> None:
    debate = court()
    first = ["Go", "Wait", "Wait", "Go", "Go"]
    stands = ["Go", "Go", "Go", "Go", "Go"]
    named = {"revisions": [{"change": "I go.", "reason": "The restore failed.", "turns": [6]}]}
    own = {"revisions": [{"change": "I go.", "reason": "You are right.", "turns": [3, 99]}]}
    made = reached(debate, hold(debate, stands, first=first, Critic3=named, Analyst3=own))
    critic, analyst = made["moved"]
    assert critic == {"who": "Critic", "from": "Wait", "to": "Go", "turn": 12,
                      "because": {"text": "The restore failed.", "turns": [6], "named": True}}  # fmt: skip
    assert (analyst["who"], analyst["because"]["named"]) == ("Analyst", False)
    assert analyst["because"]["turns"] == [], "nobody challenged it, and its own turn moves nobody"
    assert [one.split()[0] for one in warned(made, errors.WARN_MOVED_UNREASONED)] == ["Analyst"]


def test_a_move_without_a_reason_shows_the_challenges_before_it() -> None:
    debate = court()
    made = reached(debate, hold(debate, ["Go"] * 5, first=["Go", "Wait", "Go", "Go", "Go"]))
    (move,) = made["moved"]
    assert move["because"] == {"text": "None.", "turns": [6, 9], "named": False}


def test_dissent_is_told_in_its_holders_words() -> None:
    debate = court(3)
    lone = {"claim": "Nobody has counted the invoices."}
    turns = hold(debate, ["Go", "Wait", "Go", "Go", "Go"], ["Go", "Go", "Wait"], Critic3=lone)
    made = reached(debate, turns)
    assert [(one["who"], one["option"], one["reason"]) for one in made["dissent"]] == [
        ("Critic", "Wait", "Nobody has counted the invoices."), ("Juror 3", "Wait", "It pays."),
    ]  # fmt: skip
    assert packed(debate, turns)["dissent"] == made["dissent"]


def test_what_would_change_it_and_what_is_open_each_once() -> None:
    debate = court(3)
    turns = hold(
        debate,
        ["Go"] * 5,
        ["Go", "Go", U],
        Judge7={"questions": ["What does it cost?", "Who pays?"]},
    )
    made = reached(debate, turns)
    assert [one["text"] for one in made["openQuestions"]] == ["What does it cost?", "Who pays?"]
    assert [one["text"] for one in made["wouldChange"]] == ["A lower price."]


def test_a_position_without_a_confidence_is_not_shown_as_certain() -> None:
    debate = court(format="jury", participants=[{"name": name} for name in ("A", "B", "C")])
    shapes = {"a": {"fields": {"position": {"type": "line"}}}}
    rules = type(debate.rules).model_validate(
        {**debate.rules.model_dump(mode="json"), "answers": shapes, "outcome": {"stands": ["answers"]},
         "stages": [{"name": "answers", "together": True, "answer": "a", "ask": "Answer."}]}, strict=False)  # fmt: skip
    debate = debate.but(rules=rules)
    base = hold(court(), until=1)[:3]
    turns = [
        replace(turn, stage="answers", actor=seat.id, name=seat.name, data={"position": "Go"})
        for turn, seat in zip(base, debate.participants, strict=True)
    ]
    came_to = result(debate, turns)
    assert came_to.packet is not None
    packet.validate(came_to.packet)
    assert came_to.packet["consensus"]["confidenceScore"] == 0.0
    stands = (came_to.consensus or {})["tally"]["final"][0]["stands"]
    assert [stand["confidence"] for stand in stands] == [None] * 3


# --- quotes ---

SAID = "The  restore took four hours — naïve, I know."
QUOTED: dict[str, tuple[str, list[int], bool]] = {
    "word for word": ("restore took four hours", [1], True),
    "other white space": ("The restore\n took  four hours", [1], True),
    "other Unicode form": ("nai\u0308ve, I know.", [1], True),
    "in marks": ("“restore took four hours”", [1], True),
    "too short": ("four hours", [1], False),
    "another turn": ("restore took four hours", [2], False),
    "no turn": ("restore took four hours", [], False),
    "a turn that is not there": ("restore took four hours", [999], False),
    "changed": ("restore took five hours", [1], False),
    "two runs": ("The restore … naïve, I know.", [1], False),
}


@pytest.mark.parametrize("case", QUOTED)
def test_quotes_are_checked_word_for_word(case: str) -> None:
    words, cited, holds = QUOTED[case]
    debate = court(1)
    ballot = {"reasons": [{"text": "It was slow.", "turns": cited, "quotes": [words]}]}
    turns = hold(debate, ["Go"] * 5, ["Go"], Proponent1={"claim": SAID}, jurors={"juror-1": ballot})
    made = reached(debate, turns)
    assert made["quotes"] == {"checked": 2, "verified": 2 * holds, "failed": 2 * (not holds)}
    assert len(warned(made, errors.WARN_QUOTE_UNVERIFIED)) == 2 * (not holds)
    turns[-1] = replace(turns[-1], status="failed", data=None, text="", error_code="X")
    assert (f"“{words}”" in " ".join(packed(debate, turns)["decision"]["whySelected"])) == holds


def test_a_juror_may_quote_what_it_read_under_labels() -> None:
    debate = court(1)
    words = "I agree with Speaker B on the price."
    ballot = {"reasons": [{"text": "It was said.", "turns": [1], "quotes": [words]}]}
    said = {"claim": "I agree with Critic on the price."}
    turns = hold(debate, ["Go"] * 5, ["Go"], Proponent1=said, jurors={"juror-1": ballot})
    assert reached(debate, turns)["quotes"] == {"checked": 2, "verified": 2, "failed": 0}


CLAIMED: dict[str, tuple[str, int, int]] = {
    "what it said": ("Proponent says that it pays.", 0, 0),
    "quoted": ("“Proponent says that it pays.”", 0, 0),
    "retold": ("The Proponent says it pays", 0, 0),
    "quoted, and never said": ("“The moon is made of cheese.”", 1, 0),
    "never said": ("Moonlight melts every purple kitchen", 0, 1),
    "too short to tell": ("It pays.", 0, 0),
}


@pytest.mark.parametrize("case", CLAIMED)
def test_a_challenge_is_aimed_at_what_its_target_said(case: str) -> None:
    claim, failed, unmade = CLAIMED[case]
    asked = {"challenges": [{"targetRole": "Proponent", "question": "Why?", "claim": claim}]}
    debate = court()
    made = reached(debate, hold(debate, Critic2=asked))
    assert made["quotes"]["failed"] == len(warned(made, errors.WARN_QUOTE_UNVERIFIED)) == failed
    assert len(warned(made, errors.WARN_CLAIM_UNMADE)) == unmade


# --- what is doubtful ---


def test_one_family_and_overlap_are_told_by_who_really_spoke() -> None:
    debate = court(3)
    turns = hold(debate, ["Go"] * 5, ["Go"] * 3)
    assert warned(reached(debate, turns), errors.WARN_ONE_FAMILY) == []
    same = [replace(turn, model="openai:m") for turn in turns]
    made = reached(debate, same)
    assert len(warned(made, errors.WARN_ONE_FAMILY)) == 1
    assert made["jury"]["overlaps"] == ["openai:m"]
    assert len(warned(made, errors.WARN_JURY_OVERLAP)) == 1
    kin = [replace(turn, model=f"openai:{turn.actor}") for turn in turns]
    made = reached(debate, kin)
    assert len(warned(made, errors.WARN_ONE_FAMILY)) == 1
    assert warned(made, errors.WARN_JURY_OVERLAP) == []
    judged = [replace(turn, model="openai:m") for turn in hold(court())]
    assert len(warned(reached(court(), judged), errors.WARN_ONE_FAMILY)) == 1


UNWEIGHED: dict[str, tuple[dict[str, Any], bool]] = {
    "weighs": ({"against": {"text": "It costs.", "turns": [2]}}, False),
    "a challenge to its own side": ({"against": {"text": "It costs.", "turns": [7]}}, False),
    "its own side": ({"against": {"text": "It costs.", "turns": [1, 3]}}, True),
    "no turn against": ({"against": {"text": "It costs.", "turns": []}}, True),
    "no turn for": ({"reasons": [{"text": "So.", "turns": [], "quotes": []}]}, True),
    "a turn that was not heard": (
        {"reasons": [{"text": "So.", "turns": [99], "quotes": []}]},
        True,
    ),
}


@pytest.mark.parametrize("case", UNWEIGHED)
def test_a_ballot_that_weighs_nothing_is_flagged(case: str) -> None:
    fields, flagged = UNWEIGHED[case]
    debate = court(3)
    turns = hold(debate, ["Go", "Wait", "Go", "Go", "Wait"], ["Go"] * 3, jurors={"juror-2": fields})
    said = warned(reached(debate, turns), errors.WARN_BALLOT_UNWEIGHED)
    assert [one.startswith("Juror 2 ") for one in said] == [True] * flagged


# --- order never matters ---

CHOICES = st.sampled_from(["Go", "Wait", "Do not go"])


def unnumbered(made: Any) -> Any:
    """A verdict without the numbers of turns, which are those of their arrival."""
    if isinstance(made, Mapping):
        return {
            name: unnumbered(part) for name, part in made.items() if name not in ("turn", "turns")
        }
    return [unnumbered(part) for part in made] if isinstance(made, list) else made


@given(
    st.lists(CHOICES, min_size=5, max_size=5),
    st.lists(CHOICES, min_size=5, max_size=5),
    st.lists(st.sampled_from(["Go", "Wait", U, FLIP, MISSING]), min_size=0, max_size=5),
    st.randoms(use_true_random=False),
)
def test_the_order_of_arrival_and_of_jurors_never_matters(
    first: list[str], stands: list[str], ballots: list[str], chance: Random
) -> None:
    debate = court(len(ballots))
    same = [{"option": "Go", "wordings": ["Go", "Do not go", "Wait"]}]
    turns = hold(debate, stands, ballots, first=first, Synthesizer4={"same": same})
    made = reached(debate, turns)
    arrived = list(turns)
    chance.shuffle(arrived)
    late = sorted(arrived, key=lambda turn: turn.round)
    assert verdict(debate, late) == made, "in whichever order they are read"
    numbered = [replace(turn, seq=seq) for seq, turn in enumerate(late, start=1)]
    assert unnumbered(verdict(debate, numbered)) == unnumbered(made), "whoever answered first"
    mixed = list(ballots)
    chance.shuffle(mixed)
    other = reached(debate, hold(debate, stands, mixed, first=first, Synthesizer4={"same": same}))
    for name in ("outcome", "selected", "support"):
        assert other[name] == made[name]
    if ballots:
        for name in ("asked", "valid", "split", "margin", "swapConsistent", "agreement"):
            assert other["jury"][name] == made["jury"][name]


WORDS = st.one_of(
    st.sampled_from(
        ["Go", "Go!", "Do not go", "Wait", "“Wait”", "other", U, "-", "…", "不去", "去"]
    ),
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8),
)
GROUPS = st.lists(
    st.fixed_dictionaries({"option": WORDS, "wordings": st.lists(WORDS, min_size=1, max_size=4)}),
    max_size=4,
)


@given(
    st.lists(WORDS, min_size=5, max_size=5),
    st.lists(WORDS, min_size=5, max_size=5),
    st.lists(st.lists(WORDS, max_size=3), min_size=5, max_size=5),
    GROUPS,
    WORDS,
)
def test_an_outcome_comes_out_whatever_was_said(
    first: list[str], stands: list[str], rejects: list[list[str]], same: list[Any], choice: str
) -> None:
    """A reader may group what nobody stated, name what nobody said, or the same twice."""
    debate = court()
    answers: dict[str, Any] = {
        f"{role}3": {"rejects": ruled_out} for role, ruled_out in zip(ROLES, rejects, strict=True)
    }
    judge = {"choice": "other", "otherOption": choice}
    turns = hold(debate, stands, first=first, Synthesizer4={"same": same}, Judge5=judge, **answers)
    reached(debate, turns)


@pytest.mark.parametrize(
    "stands", [("Go", "Go", "Go", "Wait", "Wait"), ("Go", "Go", "Wait", "Wait", "Sell")]
)
def test_the_order_of_seats_never_matters(stands: tuple[str, ...]) -> None:
    debate = court()
    seen = set()
    for order in set(permutations(stands)):
        made = reached(debate, hold(debate, order, Judge5=None))
        counts = sorted((one["name"], len(one["final"])) for one in made["options"])
        seen.add(json.dumps([made["outcome"], made["selected"], counts, made["support"]]))
    assert len(seen) == 1


def test_the_worked_example_of_the_docs() -> None:
    debate = court()
    stands = [("trial", 0.8), ("wait", 0.9), ("trial", 0.6), ("gone", 0.5), ("trial", 0.7)]
    gone: dict[str, Any] = {"Synthesizer1": None, "Synthesizer3": None}
    for choice, outcome in (("trial", "decided"), ("wait", "contested")):
        turns = hold(debate, stands, Judge5={"choice": choice}, **gone)
        assert reached(debate, turns)["outcome"] == outcome
        scores = packed(debate, turns)["consensus"]
        assert (scores["consensusScore"], scores["confidenceScore"]) == (0.6375, 0.75)
    made = reached(debate, hold(debate, stands, Judge5=None, **gone))
    assert (made["outcome"], made["selected"]) == ("contested", "trial")
    assert (made["support"]["heads"], made["support"]["of"]) == (3, 4)
