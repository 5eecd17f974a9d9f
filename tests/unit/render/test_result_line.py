"""What came of a debate, in one line."""

import pytest
from tests.verdicts import GO

from moot.core.debate import Decision, Failure, OutcomeKind
from moot.outcome.ruling import NOTHING
from moot.render.result_line import LONGEST, result_line, support
from moot.testing.store_contract import AT, a_debate


@pytest.mark.parametrize(
    ("kind", "selected", "behind", "line"),
    [
        ("decided", "Postgres", "4 of 5", "Decided: Postgres, 4 of 5"),
        ("contested", "Postgres", "", "Contested: Postgres"),
        (None, "Postgres", "", "Decided: Postgres"),
        (
            "deadlock",
            f"{NOTHING}: deadlock between “A” and “B”",
            "",
            "Deadlock between “A” and “B”",
        ),
        ("needs_facts", f"{NOTHING}: facts are missing", "", "Needs facts: facts are missing"),
        ("no_verdict", f"{NOTHING}: nobody voted", "", "No verdict: nobody voted"),
        ("no_verdict", NOTHING, "", NOTHING),
        ("decided", f"{NOTHING}: deadlock", "3 of 5", f"Decided: {NOTHING}: deadlock, 3 of 5"),
        ("contested", NOTHING, "", f"Contested: {NOTHING}"),
        ("decided", "Line one\nline two", "", "Decided: Line one line two"),
    ],
)
def test_an_outcome(kind: OutcomeKind | None, selected: str, behind: str, line: str) -> None:
    debate = a_debate().but(status="completed", outcome=Decision(0.5, 0.5, selected, kind))
    assert result_line(debate, behind, "The report.") == line


def test_a_long_option_leaves_room_for_who_stood_for_it() -> None:
    debate = a_debate().but(outcome=Decision(0.5, 0.5, "long " * 1000, "decided"))
    line = result_line(debate, "4 of 5")
    assert len(line) <= LONGEST
    assert line.endswith("…, 4 of 5")


def test_without_an_outcome() -> None:
    debate, failure = a_debate(), Failure("CODE", "The key was refused.", "ada", "local", 4, AT)
    assert result_line(debate.but(status="completed"), "", "They agreed.") == "They agreed."
    assert result_line(debate.but(status="paused", failure=failure)) == "The key was refused."
    stopped = debate.but(status="stopped", stop_reason="stopped_by_user")
    assert result_line(stopped) == "Stopped by a person"
    assert result_line(debate.but(status="running")).endswith("is speaking")
    assert result_line(debate.but(status="scheduled")) == ""


def test_support_is_in_heads_or_in_votes() -> None:
    stood = {"selected": GO, "decidedBy": "judge", "jury": None, "support": {"heads": 4, "of": 5}}
    assert support(stood) == "4 of 5"
    jurors = [{"vote": GO}, {"vote": GO}, {"vote": None}]
    voted = {**stood, "decidedBy": "jury", "jury": {"asked": 3, "jurors": jurors}}
    assert support(voted) == "2 of 3 jurors"
    assert support({**stood, "selected": None}) == ""
    assert support({**stood, "support": {"heads": 0, "of": 0}}) == ""
    assert support(None) == ""
