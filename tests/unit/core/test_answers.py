"""Shapes of answers: what may be left out, what a choice needs, and whom an answer must answer."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from moot.core import answers
from moot.core.answers import Answer, check_grounds, read, schema, spoken
from moot.core.built_in import BUILT_IN
from moot.core.positions import selected, taken

OPTIONS = ["Move to Postgres", "Stay with MySQL"]
VERDICT: dict[str, Any] = {
    "whySelected": [{"text": "It pays.", "turns": [1]}],
    "rejectedOptions": [{"option": "stay with mysql.", "reason": "It is slow."}],
    "choice": "“Move to Postgres”",
    "nextActions": [{"action": "Begin", "owner": "Ada", "due": "2026-12-01"}],
}
REVISION: dict[str, Any] = {
    "responses": [{"sourceRole": "Critic", "response": "It does."}],
    "revisions": [{"change": "Nothing.", "reason": "Nobody gave a reason."}],
    "claim": "It pays.",
    "position": "Move to Postgres",
    "confidence": 0.7,
}


def verdict(**fields: Any) -> dict[str, Any]:
    return read("verdict", BUILT_IN["verdict"], VERDICT | fields, {"options": OPTIONS})


def ballot(**fields: Any) -> dict[str, Any]:
    said = {
        "reasons": [{"text": "It pays."}], "against": {"text": "It costs."}, "choice": OPTIONS[0],
        "confidence": 0.8, "wouldChange": "A bill.", **fields,
    }  # fmt: skip
    return read("ballot", BUILT_IN["ballot"], said, {"options": OPTIONS})


def revision(*challengers: str, **fields: Any) -> dict[str, Any]:
    known: dict[Any, Any] = {"challengers": challengers, "options": OPTIONS}
    return read("revision", BUILT_IN["revision"], REVISION | fields, known)


# --- what is chosen ---


def test_a_choice_is_one_of_the_stated_options_word_for_word() -> None:
    made = verdict()
    assert made["choice"] == "Move to Postgres", "marks and case do not matter"
    assert [one["option"] for one in made["rejectedOptions"]] == ["Stay with MySQL"]
    with pytest.raises(ValueError, match="choice: it must be one of Move to Postgres; Stay with"):
        verdict(choice="Postgres, but later")


def test_what_nobody_stated_cannot_be_rejected() -> None:
    made = verdict(rejectedOptions=[{"option": "Buy a boat", "reason": "It is wet."}])
    assert made["rejectedOptions"] == []


@pytest.mark.parametrize("size", [238, 239, 240, 600])
@pytest.mark.parametrize("copy", ["{}", "“{}”", "{}.", '"{}."', "  {}"])
def test_a_long_option_can_be_chosen(size: int, copy: str) -> None:
    """A copy of an option with marks around it is longer than a line may be; so is an option in a
    format that asks for longer ones."""
    long = ("Move to Postgres, step by step, " * 20)[: size - 1] + "x"
    known: dict[Any, Any] = {"options": [long, "Wait"]}
    said = VERDICT | {
        "choice": copy.format(long),
        "rejectedOptions": [{"option": copy.format(long), "reason": "It is slow."}],
    }
    made = read("verdict", BUILT_IN["verdict"], said, known)
    assert made["choice"] == long
    assert [one["option"] for one in made["rejectedOptions"]] == [long]


def test_whom_an_answer_is_aimed_at_may_stand_at_the_end_of_a_long_line() -> None:
    who = "x" * 300 + " Critic"
    said = {"challenges": [{"targetRole": who, "question": "Why?", "claim": "It pays."}]}
    made = read("challenge", BUILT_IN["challenge"], said, {"target": ["Critic"]})
    assert made["challenges"][0]["targetRole"] == "Critic"
    made = revision("Critic", responses=[{"sourceRole": who, "response": "It does."}])
    assert made["responses"][0]["sourceRole"] == "Critic"


def test_a_choice_among_nothing_that_is_known_is_cut_like_any_line() -> None:
    said = VERDICT | {
        "choice": "x" * 300,
        "rejectedOptions": [{"option": "y" * 300, "reason": "z"}],
    }
    made = read("verdict", BUILT_IN["verdict"], said, {})
    assert made["choice"] == "x" * 239 + "…"
    assert made["rejectedOptions"][0]["option"] == "y" * 239 + "…"
    told = schema("verdict", BUILT_IN["verdict"], {})
    assert told["properties"]["choice"]["maxLength"] == 240


@pytest.mark.parametrize("options", [[".NET", "NET"], ["NET", ".NET"]])
@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        (".NET", ".NET"), ("NET", "NET"), (".net", ".NET"), ("net", "NET"), ("“.NET”", ".NET"),
        ("'NET'", "NET"), (".NET.", ".NET"), ("NET.", "NET"), ('".net".', ".NET"),
    ],
)  # fmt: skip
def test_options_that_differ_in_a_mark_alone_stay_two(
    options: list[str], said: str, chosen: str
) -> None:
    made = read("verdict", BUILT_IN["verdict"], VERDICT | {"choice": said}, {"options": options})
    assert made["choice"] == chosen
    more = REVISION | {"rejects": [said, said]}
    made = read("revision", BUILT_IN["revision"], more, {"options": options, "challengers": []})
    assert made["rejects"] == [chosen]


def test_a_copy_that_could_be_two_options_is_neither() -> None:
    known: dict[Any, Any] = {"options": [".NET", "..NET"]}
    with pytest.raises(ValueError, match="choice: it must be one of"):
        read("verdict", BUILT_IN["verdict"], VERDICT | {"choice": "NET"}, known)
    known = {"options": [".NET", "Java"]}
    made = read("verdict", BUILT_IN["verdict"], VERDICT | {"choice": "NET"}, known)
    assert made["choice"] == ".NET", "nothing else could be meant"


def test_other_needs_its_words_and_undecided_a_question() -> None:
    with pytest.raises(ValueError, match="otherOption: fill it in, because choice is other"):
        verdict(choice="other")
    assert selected(verdict(choice="Other", otherOption="Outsource it")) == "Outsource it"
    with pytest.raises(ValueError, match="questions: fill it in, because choice is undecided"):
        verdict(choice="undecided")
    made = verdict(choice="undecided", questions=["How many rows?"], otherOption="Buy a boat")
    assert (made["otherOption"], selected(made)) == (None, None)
    with pytest.raises(ValueError, match="questions: fill it in"):
        ballot(choice="undecided")
    assert ballot(choice="undecided", questions=["How many rows?"])["choice"] == "undecided"
    with pytest.raises(ValueError, match="choice: it must be one of"):
        ballot(choice="other")


def test_verdicts_of_old_debates_are_read_too() -> None:
    assert selected({"selectedOption": "Ship it"}) == "Ship it"
    assert selected({"selectedOption": "undecided"}) == "undecided", "then a word like any other"
    assert taken(BUILT_IN["verdict"], {"choice": "undecided"}, 1) is None
    said = {"position": "Undecided."}
    assert taken(BUILT_IN["position"], said, 1) == "Undecided."
    assert taken(BUILT_IN["position"], said, 2) is None
    text = spoken(BUILT_IN["verdict"], {"selectedOption": "x", "whySelected": []})
    assert text == "Nothing was said."  # what it lacks does not break anything


def test_without_stated_options_a_verdict_says_its_own() -> None:
    told = schema("verdict", BUILT_IN["verdict"], {"options": []})
    assert told["properties"]["choice"]["enum"] == ["other", "undecided"]
    told = schema("verdict", BUILT_IN["verdict"], {"options": OPTIONS})
    assert told["properties"]["choice"]["enum"] == [*OPTIONS, "other", "undecided"]
    told = schema("ballot", BUILT_IN["ballot"], {"options": OPTIONS})
    assert told["properties"]["choice"]["enum"] == [*OPTIONS, "undecided"]


# --- what may be left out ---


def test_an_optional_field_may_be_null_blank_or_missing() -> None:
    said: list[dict[str, Any]] = [{}, {"work": None}, {"work": "  "}]
    for one in said:
        assert verdict(**one)["work"] is None
    told = schema("verdict", BUILT_IN["verdict"], {})
    assert "work" not in told["required"]
    assert {"type": "null"} in told["properties"]["work"]["anyOf"]
    assert verdict(work="Dear all,")["work"] == "Dear all,"


def test_what_was_left_out_is_not_spoken() -> None:
    said = spoken(BUILT_IN["verdict"], verdict())
    assert "The best case for it" not in said
    assert "Rejected, Stay with MySQL: It is slow. [no turn cited]" in said
    fair = [{"option": OPTIONS[1], "bestCase": "It works.", "reason": "Slow.", "turns": [2]}]
    assert "The best case for it: It works." in spoken(
        BUILT_IN["verdict"], verdict(rejectedOptions=fair)
    )
    own = spoken(BUILT_IN["verdict"], verdict(choice="other", otherOption="Outsource it"))
    assert own.startswith("Decision: Outsource it\n")
    assert "Because: Nobody gave a reason.\n" in spoken(BUILT_IN["revision"], revision("Critic"))


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ({"type": "line", "list": True, "optional": True}, "a list may be empty anyway"),
        ({"type": "line", "needs": {"a": "b"}}, "needs is for a single choice"),
        ({"type": "share", "rests_on": "target"}, "rests_on is for a line or a text"),
        (
            {"type": "choice", "choices": ["a"], "needs": {"a": "b"}},
            "there is no field b beside it",
        ),
    ],
)
def test_a_shape_that_makes_no_sense_is_refused(field: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Answer.model_validate({"fields": {"one": field}}, strict=False)


def test_an_optional_table_and_choice_of_a_format_are_narrowed() -> None:
    fields: dict[str, Any] = {
        "vote": {"type": "choice", "of": "options", "optional": True},
        "more": {"optional": True, "fields": {"vote": {"type": "choice", "of": "options"}}},
    }
    own = Answer.model_validate({"fields": fields}, strict=False)
    told = schema("own", own, {"options": OPTIONS})
    assert told["properties"]["vote"]["anyOf"][0]["enum"] == OPTIONS
    assert told["$defs"]["More"]["properties"]["vote"]["enum"] == OPTIONS
    assert read("own", own, {}, {"options": OPTIONS}) == {"vote": None, "more": None}


@pytest.mark.parametrize("name", BUILT_IN)
def test_reasons_come_before_conclusions(name: str) -> None:
    order = list(BUILT_IN[name].fields)
    ends = [key for key in ("position", "choice", "confidence") if key in order]
    reasons = {"claim", "rationale", "reasons", "against", "responses", "revisions", "whySelected",
               "rejectedOptions"}  # fmt: skip
    for key in ends:
        assert not reasons & set(order[order.index(key) :])


# --- who must be answered ---


def test_every_challenge_is_answered() -> None:
    with pytest.raises(ValueError, match="responses: answer Analyst too, who challenged you"):
        revision("Critic", "Analyst")
    both = [{"sourceRole": name, "response": "So."} for name in ("the Analyst", "CRITIC", "Judge")]
    made = revision("Critic", "Analyst", responses=both)
    assert [one["sourceRole"] for one in made["responses"]] == ["Analyst", "Critic"]
    assert revision()["responses"] == [], "nobody challenged, so nobody is answered"


def test_the_schema_asks_for_as_many_answers_as_there_were_challenges() -> None:
    shape = BUILT_IN["revision"]
    told = schema("revision", shape, {"challengers": ["Critic", "Judge"]})
    assert told["properties"]["responses"]["minItems"] == 2
    assert told["$defs"]["Response"]["properties"]["sourceRole"]["enum"] == ["Critic", "Judge"]
    told = schema("revision", shape, {"challengers": []})
    assert told["properties"]["responses"]["maxItems"] == 0


def test_rejects_are_stated_options() -> None:
    made = revision("Critic", rejects=["Stay with MySQL.", "Buy a boat", "stay with mysql"])
    assert made["rejects"] == ["Stay with MySQL"]


# --- what a challenge is aimed at ---

SAID = "Moving pays within a year, because the licences of the old database cost 40,000 a month."


def challenge(claim: str) -> dict[str, Any]:
    one = {"targetRole": "Critic", "claim": claim, "question": "Who pays?"}
    return read("challenge", BUILT_IN["challenge"], {"challenges": [one]}, {"target": ["Critic"]})


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        (SAID, "“Moving pays within a year”"),
        (SAID, "moving PAYS within a year because the licences cost 40,000 a month"),
        (SAID, "Moving pays for itself within a year, as licences cost so much a month"),
        ("搬迁会在一年内收回成本，因为旧数据库的许可证很贵。", "搬迁会在一年内收回成本"),
        ("Der Umzug lohnt sich binnen eines Jahres.", "der Umzug lohnt sich binnen Jahresfrist"),
        ("ﬁrst things ﬁrst", "first things first"),
        ("", "It pays."),  # who was not heard cannot be misquoted
    ],
)
def test_a_claim_that_was_made_can_be_challenged(said: str, claim: str) -> None:
    check_grounds(BUILT_IN["challenge"], challenge(claim), "Critic", said)


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        (SAID, "Outsourcing the whole product to a contractor is safest."),
        (SAID, "Nobody will ever need to train the support team for this."),
        ("搬迁会在一年内收回成本，因为旧数据库的许可证很贵。", "外包整个产品才是最安全的选择"),
        ("Der Umzug lohnt sich binnen eines Jahres.", "Niemand versteht die neue Technik."),
    ],
)
def test_a_claim_that_nobody_made_cannot(said: str, claim: str) -> None:
    with pytest.raises(ValueError, match="claim: Critic did not say"):
        check_grounds(BUILT_IN["challenge"], challenge(claim), "Critic", said)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(min_size=1, max_size=300), st.data())
def test_whatever_was_said_can_be_quoted(said: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(said) - 1))
    end = data.draw(st.integers(start + 1, len(said)))
    if said[start:end].strip():
        check_grounds(BUILT_IN["challenge"], challenge(said[start:end]), "Critic", said)


def test_the_outline_tells_the_whole_shape() -> None:
    assert answers.outline(BUILT_IN["ballot"].fields) == (
        "reasons [{text, turns […], quotes […]}], against {text, turns […]}, choice, confidence, "
        "wouldChange, questions […]"
    )
