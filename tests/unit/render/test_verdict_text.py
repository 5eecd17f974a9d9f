"""A verdict in words: each kind of outcome, with what people must see first, in every view."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.verdicts import GO, KINDS, SEATS, WAIT, contested, decided, juror

from moot.cli import verdict_view
from moot.core.voices import UNDERSTUDY
from moot.render import verdict_markdown, verdict_page
from moot.render.verdict_text import MOST, NAMES, Told, tell
from moot.wire.codec import adapter
from moot.wire.outcome_shapes import Verdict

EVIL = "</section><script>x</script> ![a](http://evil.example) \x1b[31m\u202e \n# Agreed"


def told_of(verdict: dict[str, Any]) -> Told:
    return tell(verdict, SEATS)


def part(told: Told, title: str) -> str:
    return "\n".join(line for one in told.parts if one.title == title for line in one.lines)


def table(told: Told, title: str) -> list[tuple[str, ...]]:
    return [row for one in told.tables if one.title == title for row in one.rows]


def terminal(told: Told, width: int) -> str:
    out = StringIO()
    verdict_view.print_told(Console(file=out, width=width, highlight=False), told)
    return out.getvalue()


def views(told: Told) -> dict[str, str]:
    """The same verdict in each view, as words on one line."""
    page = re.sub("<[^>]*>", " ", verdict_page.sections(told))
    document = [told.headline, *verdict_markdown.first(told), *verdict_markdown.tables(told)]
    found = {
        "terminal": terminal(told, 500),
        "markdown": "\n".join(document).replace("\\[", "["),
        "page": page.replace("&#x27;", "'"),
    }
    return {name: " ".join(text.split()) for name, text in found.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_the_samples_have_the_shape_of_verdict_json(kind: str) -> None:
    adapter(Verdict).validate_python(json.loads(json.dumps(KINDS[kind]())), strict=True)


@pytest.mark.parametrize(
    ("kind", "name", "sentence"),
    [
        ("decided", "Decided", "The jury chose this with a clear lead."),
        ("contested", "Contested", "but not clearly enough to call it decided."),
        ("deadlock", "Deadlock", "No option has more than half of the jury's votes."),
        ("needs_facts", "Needs facts", "The Judge cannot decide this yet: facts are missing."),
        ("no_verdict", "No verdict", "Fewer than half of the jurors gave a vote that counts."),
        ("overruled", "Contested", "but fewer than half of those who took a position stand for it"),
    ],
)
def test_each_kind_is_named_and_explained_in_every_view(
    kind: str, name: str, sentence: str
) -> None:
    verdict = KINDS[kind]()
    told = told_of(verdict)
    assert told.name == name
    for view in views(told).values():
        assert view.startswith(name)
        assert sentence in view
        assert "onsensus" not in view
        assert "greed" not in view
        assert "100%" not in view
    if verdict["selected"] is None:
        assert told.headline == name
    else:
        assert told.headline == f"{name}: {verdict['selected']}"


@pytest.mark.parametrize("by", ["jury", "judge", "positions", None])
@pytest.mark.parametrize("kind", NAMES)
def test_whoever_decides_there_is_a_sentence(kind: str, by: str | None) -> None:
    told = told_of(contested() | {"outcome": kind, "decidedBy": by})
    assert told.sentence.endswith(".")
    assert "{" not in told.sentence


def test_the_page_says_the_same() -> None:
    page = (Path(__file__).parents[3] / "web/src/outcome/verdict.ts").read_text("utf-8")
    page = page.replace("${FACTS}", "facts are missing. The open questions come first.")
    for by in ("jury", "judge", "positions", None):
        for kind in NAMES:
            told = tell(decided() | {"outcome": kind, "decidedBy": by, "judge": None}, SEATS)
            assert told.sentence.replace("The judge", "The {judge}") in page


def test_nothing_is_said_that_an_outcome_at_its_edge_belies() -> None:
    """5 of 10 jurors, the others for four options or silent: the lead is 3, and no majority of all.
    1 of 1 who took a position, of 5. Speakers who are undecided and asked for nothing."""
    votes = contested() | {"outcome": "contested", "decidedBy": "jury"}
    assert "lead" not in told_of(votes).sentence
    alone = votes | {"decidedBy": "positions", "jury": None, "baseline": None}
    assert told_of(alone).sentence.startswith("More than half of those who took a position")
    torn = alone | {"outcome": "needs_facts", "selected": None}
    assert "facts" not in told_of(torn).sentence


def test_older_layouts_keep_their_words() -> None:
    for verdict in (contested(), contested() | {"decidedBy": "positions"}):
        old, new = (tell(verdict, SEATS, layout) for layout in (5, 6))
        assert "the lead is too small to call it decided." in old.sentence
        assert "not clearly enough" in new.sentence
        assert "Nobody said the other 1." in part(old, "Quotes")


def test_support_is_in_heads_first_then_in_weight() -> None:
    told = told_of(decided())
    assert part(told, "Support") == "4 of 5 (weight 0.79) stood for it at the end."
    silent = decided()
    silent["support"] |= {"asked": 6}
    assert "1 of 6 took no position at the end." in part(told_of(silent), "Support")


def test_without_merging_the_count_is_shown_too() -> None:
    told = told_of(contested())
    unmerged = (
        f"If no wordings were merged: 1 of 5 (weight 0.22) for it; “{WAIT}” leads with 3 of 5"
    )
    assert unmerged in part(told, "Support")
    for view in views(told).values():
        assert unmerged in view
        assert f"“{GO}” counts these as one: “{GO}”, “Move to Postgres”." in view
    assert "merged" not in part(told_of(decided()), "Support")


def test_a_jury_has_its_split_its_flips_and_its_first_votes() -> None:
    told = told_of(contested())
    assert part(told, "Jury").splitlines() == [
        f"2 of 3 for “{GO}”.",
        "1 vote of 3 does not count, and stands against the leader.",
    ]
    assert part(told, "Flipped") == (
        f"Juror 2 (claude:opus): “{GO}” in one order, “{WAIT}” in the other."
    )
    assert part(told, "Before the debate") == (
        f"The jurors alone: 2 of 3 for “{WAIT}”, 1 of 3 undecided. "
        f"The debate changed the result, from “{WAIT}”."
    )
    assert table(told, "Jurors") == [
        ("Juror", "Model", "Alone", "After the debate", "Other order", "Counts"),
        ("Juror 1", "gemini:x", WAIT, GO, "the same", "yes"),
        ("Juror 2", "claude:opus", "undecided", GO, WAIT, "no: flipped"),
        ("Juror 3", "understudy, no model", WAIT, GO, "the same", "yes"),
    ]
    assert part(told_of(decided()), "Flipped") == ""
    assert "did not change the result" in part(told_of(decided()), "Before the debate")


def test_a_jury_that_gave_too_little_says_so() -> None:
    told = told_of(KINDS["no_verdict"]())
    assert "2 votes of 3 do not count" in part(told, "Jury")
    assert table(told, "Jurors")[3] == (
        "Juror 3", "gemini:x", "no valid ballot", "no valid ballot", "no valid ballot", "no",
    )  # fmt: skip
    assert f"before, it was “{GO}”" in part(told, "Before the debate")


def test_a_jury_that_read_once_and_was_not_asked_before_has_no_such_columns() -> None:
    once: dict[str, Any] = decided() | {"baseline": None}
    once["jury"] |= {"jurors": [{**juror(1, None, GO, None), "vote": GO}]}
    told = told_of(once)
    assert table(told, "Jurors")[0] == ("Juror", "Model", "After the debate", "Counts")
    assert table(told, "Jurors")[1] == ("Juror 1", "gemini:x", GO, "yes")
    assert part(told, "Before the debate") == ""


@pytest.mark.parametrize("kind", ["contested", "overruled"])
def test_the_favoured_and_the_selected_stand_side_by_side_with_every_score(kind: str) -> None:
    verdict = KINDS[kind]()
    told, own = told_of(verdict), verdict["selected"]
    rows = {name: (favoured, selected) for name, favoured, selected in
            table(told, "Favoured and selected")}  # fmt: skip
    assert rows["Option"] == (WAIT, own)
    assert rows["Final"][0] == "3: Critic, Analyst, Judge"
    assert rows["Heads and weight"][0] == "3 of 5 (weight 0.56)"
    assert rows["Judge"] == (("yes", "no") if kind == "contested" else ("no", "yes"))
    if kind == "contested":
        assert rows["Heads and weight"][1] == "2 of 5 (weight 0.44)"
        assert rows["Without merging"] == ("3 of 5 (weight 0.56)", "1 of 5 (weight 0.22)")
        assert rows["Jury"] == ("0", "2: Juror 1, Juror 3")
    else:
        assert rows["Heads and weight"][1] == "0 of 5 (weight 0.00)"
        assert "Jury" not in rows
    assert f"The positions favour “{WAIT}”: 3 of 5 (weight 0.56)." in part(told, "Support")
    assert table(told_of(decided()), "Favoured and selected") == []


def test_what_the_judge_chose_is_told_if_the_jury_decided() -> None:
    assert part(told_of(contested()), "Judge") == f"The Judge would have chosen “{WAIT}” [turn:30]."
    assert part(told_of(decided()), "Judge") == "The Judge chose the same [turn:30]."
    open_ = contested() | {"judge": {"name": "Judge", "choice": "undecided", "turn": 30}}
    assert part(told_of(open_), "Judge") == "The Judge would not decide [turn:30]."
    assert part(told_of(KINDS["needs_facts"]()), "Judge") == ""


def test_who_moved_has_a_cause_or_is_marked() -> None:
    unreasoned = "without a new reason, after it was challenged [turn:9]."
    assert part(told_of(contested()), "Moved").splitlines() == [
        f"Synthesizer: from “{WAIT}” to “{GO}” [turn:15], because of [turn:8]: Writes are faster.",
        f"Analyst: from “{GO}” to “{WAIT}” [turn:13], {unreasoned}",
    ]


def test_dissent_has_its_reason_and_what_is_open_is_cut_with_a_word() -> None:
    told = told_of(contested())
    assert part(told, "Dissent") == f"Critic, for “{WAIT}”: Nobody can run it at night. [turn:17]"
    asked = part(told, "Open questions").splitlines()
    assert asked[0] == "What is the load in year 1? (Juror 2 [turn:22])"
    assert len(asked) == MOST + 1
    assert asked[-1] == "And 2 more, in verdict.json."
    changed = "A cluster that fails in a day. (Juror 1 [turn:21])"
    assert part(told, "Would change it") == changed


def test_doubts_are_told_once_a_kind_and_quotes_that_nobody_said() -> None:
    told = told_of(contested())
    assert part(told, "Warnings").splitlines() == [
        "claude:opus debated and sat on the jury.",
        "Juror 1 quotes “It is free”, which nobody said. And 1 more like this, in verdict.json.",
    ]
    assert part(told, "Quotes") == "3 of 4 are word for word in what they cite, 1 is not."
    assert part(told_of(decided()), "Quotes") == "4 of 4 are word for word in what they cite."
    assert part(told_of(decided()), "Warnings") == ""


def test_cost_and_models_are_told_and_the_understudy_is_labelled() -> None:
    told = told_of(contested())
    assert part(told, "Cost") == "$0.0312, 34,100 tokens, 27 calls (in part estimated)."
    assert part(told, "Models").splitlines() == [
        "openai:gpt-5: Proponent, Analyst.",
        "claude:opus: Critic, Judge, Juror 2.",
        "No model spoke for Synthesizer, Juror 3: the understudy did.",
        "gemini:x: Juror 1.",
    ]
    for view in views(told).values():
        assert "No model spoke for Synthesizer, Juror 3: the understudy did." in view
        assert UNDERSTUDY not in view


def test_options_show_who_was_for_them_first_at_the_end_and_on_the_jury() -> None:
    assert table(told_of(contested()), "Options")[:2] == [
        ("Option", "First", "Final", "Jury"),
        (GO, "2: Proponent, Analyst", "2: Proponent, Synthesizer", "2: Juror 1, Juror 3"),
    ]
    assert table(told_of(KINDS["needs_facts"]()), "Options")[0] == ("Option", "First", "Final")
    assert table(told_of(KINDS["deadlock"]()), "Options") == [
        ("Option", "Jury"),
        (GO, "1: Juror 1"),
        (WAIT, "1: Juror 2"),
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_is_never_wider_than_it_is(kind: str, width: int) -> None:
    shown = terminal(told_of(KINDS[kind]()), width)
    assert max(map(len, shown.splitlines())) <= width
    assert shown.splitlines()[0].startswith(NAMES[KINDS[kind]()["outcome"]])


def test_marks_within_an_option_become_single() -> None:
    quoting: dict[str, Any] = decided() | {"selected": "Say “yes”"}
    quoting["jury"]["split"] = [{"option": "Say “yes”", "votes": 3}]
    assert part(told_of(quoting), "Jury") == "3 of 3 for “Say ‘yes’”."


def test_hostile_text_marks_up_nothing() -> None:
    hostile: Any = json.loads(json.dumps(contested()).replace(GO, json.dumps(EVIL)[1:-1]))
    hostile["dissent"][0]["reason"] = EVIL
    hostile["warnings"] = [f"DEBATE_WARN_X: {EVIL}"]
    told = tell(hostile, [(EVIL, EVIL)])
    page = verdict_page.sections(told)
    assert "<script" not in page
    assert not re.search("[\x1b\u202e]", page)
    document = "\n".join([*verdict_markdown.first(told), *verdict_markdown.tables(told)])
    assert "<script" not in document
    assert "![a](" not in document
    assert not [line for line in document.splitlines() if line.startswith("# ")]
    assert not re.search("[\x1b\u202e]", terminal(told, 80))


def test_the_styles_of_the_page_fetch_nothing() -> None:
    style = Path(verdict_page.__file__).with_name("verdict.css").read_text("utf-8")
    assert not re.search(r"url\(|@import|expression\(|https?:", style)
