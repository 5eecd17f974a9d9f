"""What the terminal shows of a debate while it is spoken."""

import asyncio
import re
from dataclasses import replace
from io import StringIO
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as some
from rich.console import Console
from tests.work import growth

from moot.cli.markdown_view import MOST, said
from moot.cli.screen import Screen
from moot.cli.takeaways_view import report_of
from moot.core.debate import Debate, Stance, Usage, Writing
from moot.core.events import CutOff, Delta, Event, StatusChanged, TurnCommitted
from moot.core.forecast import Amounts
from moot.ports.entry_point import Moot
from moot.render.reading import Point, Reading
from moot.render.report import report
from moot.render.takeaways import Finding
from moot.testing import virtual
from moot.testing.store_contract import AT, a_debate, a_turn

DEBATE = a_debate()
ID = DEBATE.id
SEAT = DEBATE.participants[0]


def delta(text: str, offset: int) -> Delta:
    return Delta(ID, 1, "talk", SEAT.id, None, text, AT, offset)


def now(*events: Event | Delta, debate: Debate = DEBATE, likely: float = 0.0) -> str:
    """What moves on the screen after all these."""
    console = Console(file=StringIO(), width=80, height=40)
    screen = Screen(debate, console, expected=Amounts(0.0, likely, likely))
    for event in events:
        screen.show(event)
    with console.capture() as shown:
        console.print(screen._now())
    return " ".join(shown.get().split())


def printed(*events: Event) -> str:
    out = StringIO()
    screen = Screen(DEBATE, Console(file=out, width=80))
    for event in events:
        screen.show(event)
    return out.getvalue()


def test_what_was_spent_stands_beside_what_is_expected() -> None:
    spent = TurnCommitted(ID, replace(a_turn(1), usage=Usage(9, 9, 0.02, 1)))
    assert "$0.0200 of about $0.08" in now(spent, likely=0.08)
    assert "about" not in now(spent, likely=0.01), "it was more than that"
    unpriced = replace(SEAT, unpriced=("openai:new",))
    unknown = DEBATE.but(participants=(unpriced, *DEBATE.participants[1:]))
    assert "price unknown" in now(debate=unknown)
    assert "at least $0.0200; price of openai:new unknown" in now(spent, debate=unknown)


def test_pieces_make_a_text() -> None:
    assert f"{SEAT.name} We should go" in now(delta("We ", 0), delta("should", 3), delta(" go", 9))


def test_a_piece_at_the_beginning_begins_it_anew() -> None:
    shown = now(delta("We should", 0), delta("Perhaps", 0), delta(" not", 7))
    assert "Perhaps not" in shown
    assert "should" not in shown


def test_an_empty_one_takes_it_back() -> None:
    shown = now(delta("We should", 0), delta("", 0))
    assert SEAT.name not in shown
    assert f"{SEAT.name} Anew" in now(delta("We should", 0), delta("", 0), delta("Anew", 0))


def test_what_was_cut_off_stays_until_the_next_try_speaks() -> None:
    late = CutOff("We should", "DEBATE_ERR_PROVIDER_TIMEOUT", 2, 4)
    cut = replace(delta("", 0), cut_off=late)
    told = f"{SEAT.name} We should Cut off, trying again (2 of 4): the model took too long."
    assert told in now(delta("We ", 0), cut)
    assert told in now(cut), "for who joins"
    shown = now(cut, delta("Anew", 0))
    assert f"{SEAT.name} Anew" in shown
    assert "Cut off" not in shown
    silent = replace(cut, cut_off=replace(late, text="", code="DEBATE_ERR_PROVIDER_EMPTY"))
    none = f"{SEAT.name} No answer, trying again (2 of 4): the answer could not be used."
    assert none in now(silent)
    for over in (
        delta("", 0),
        StatusChanged(ID, 1, AT, "paused", None, None, None, None, 0, 6, False),
    ):
        assert SEAT.name not in now(cut, over)
        assert "Cut off" not in now(cut, over, delta("", 0))


def test_what_was_missed_is_marked() -> None:
    assert "… later on" in now(delta("later", 50), delta(" on", 55))
    shown = now(delta("We ", 0), delta("later", 50))
    assert "… later" in shown
    assert "We" not in shown


def test_a_halt_takes_back_what_was_being_said() -> None:
    paused = StatusChanged(ID, 1, AT, "paused", None, None, None, None, 0, 6, False)
    assert SEAT.name not in now(delta("We should", 0), paused)


def test_a_lost_connection_is_on_the_line_that_moves() -> None:
    out = StringIO()
    console = Console(file=out, width=80, height=40, force_terminal=True)
    screen = Screen(DEBATE, console)
    with screen:
        assert screen.live
        screen.lost(True)
        with console.capture() as shown:
            console.print(screen._now())
        assert "Connection lost; trying again …" in shown.get()
        screen.lost(False)
        with console.capture() as shown:
            console.print(screen._now())
        assert "lost" not in shown.get()
    assert not screen.live


def test_a_log_that_was_replaced_is_shown_from_its_beginning() -> None:
    turns = [TurnCommitted(ID, a_turn(seq, actor=SEAT.id, text=f"No {seq}.")) for seq in (1, 2)]
    assert "replaced" not in printed(*turns)
    shown = printed(*turns, turns[0])
    assert "The log was replaced" in shown
    assert shown.count("No 1.") == 2


def test_what_the_host_is_asked_is_shown_until_it_speaks() -> None:
    asked = Delta(ID, 1, "talk", SEAT.id, None, "", AT, 0, "Give Ben the floor.")
    shown = now(asked)
    assert f"{SEAT.name} Give Ben the floor." in shown
    assert "Give Ben" not in now(asked, delta("Ben, please.", 0))
    shown = now(asked, delta("Ben", 0), delta("", 0))
    assert SEAT.name not in shown, "it was taken back"
    assert "Give Ben" not in shown
    assert "Give Ben" in now(asked, delta("Ben", 0), delta("", 0), asked)


RICH = """\
## Costs

| Option | Recommendation |
| --- | --- |
| Postgres | **Yes** |

- [x] measured \\(x_1\\)

```python
print("<b>")
```
"""
MARKS = [
    "> ",
    "- ",
    "1. ",
    "# ",
    "*",
    "**",
    "_",
    "~~",
    "`",
    "```\n",
    "[",
    "](b)",
    "![",
    "<b {}>",
    "\\",
]
SLY = [
    "\n",
    "\n\n",
    "    ",
    "&#27;[2J",
    "<http://e/%1b]0;x%07>",
    "&#x202e;",
    "\n[a]: {}\n",
]
TABLE = "\n\n| w | w |\n| - | - |\n| {} | {} |\n\n"
COLOURS = re.compile(r"\x1b\[[\d;]*m")


def on_terminal(text: str, width: int = 80) -> str:
    console = Console(file=StringIO(), width=width, force_terminal=True)
    with console.capture() as shown:
        console.print(said(text, console))
    return shown.get()


def test_a_turn_is_markdown_on_a_terminal_and_plain_in_a_pipe() -> None:
    turn = TurnCommitted(ID, a_turn(1, actor=SEAT.id, text=RICH))
    piped = printed(turn)
    for line in RICH.splitlines():
        assert f"  {line}".rstrip() in [one.rstrip() for one in piped.splitlines()]
    out = StringIO()
    Screen(DEBATE, Console(file=out, width=80, force_terminal=True)).show(turn)
    drawn = COLOURS.sub("", out.getvalue())
    assert drawn != out.getvalue()
    assert not any(mark in drawn for mark in ("##", "---", "**", "```", "| "))
    for words in ("Costs", "Option", "Postgres", "Yes", "• [x] measured \\(x_1\\)", 'print("<b>")'):
        assert words in drawn


@given(some.lists(some.sampled_from([*MARKS, *SLY, TABLE, "{} "]), max_size=40))
@example(["~~", "~~", "{} "])  # words beside a fence, where a language is expected
@example(["~~~python ", "{} "])
def test_no_text_is_lost_or_obeyed_by_the_terminal(parts: list[str]) -> None:
    words = iter(f"w{number}w" for number in range(1000))
    text = "".join(re.sub(r"\{\}", lambda _: next(words), part) for part in parts)
    drawn = COLOURS.sub("", on_terminal(text))
    assert re.sub("[\n -~▌•─━═╴╶╸╺┌└]", "", drawn) == ""
    shown = "".join(drawn.split())
    for word in re.findall(r"w\d+w", text):
        assert word in shown


@pytest.mark.parametrize(
    "text", [">" * 100 + " deep", "- " * 50 + "deep", "|deep" * 60 + "\n" + "|-" * 60]
)
def test_what_would_not_fit_stays_plain(text: str) -> None:
    assert "deep" in on_terminal(text)
    assert "# words" in on_terminal("# words " * (MOST // 7))


def test_what_is_being_said_costs_as_much_as_it_is_long() -> None:
    def speak(size: int) -> None:
        console = Console(file=StringIO(), width=80, height=40, force_terminal=True)
        with Screen(DEBATE, console) as screen:
            for place in range(size):
                screen.show(delta("word ", place * 5))

    assert growth(speak, 4000) < 20


def test_a_debate_that_is_over_ends_with_what_it_comes_to() -> None:
    evil = "[red]Pay[/red] \x1b[31mnow\x1b[0m"
    turns = [a_turn(3, actor=SEAT.id, name=SEAT.name, text="It pays.", data=None)]
    found = Reading(
        "They talked.", ((SEAT.id, (Point("It pays.", 3),)),), "openai:x", Usage(1, 1, 0.1, 1), AT,
        Finding(evil, (3,)), (Finding("It pays.", (3,), SEAT.id),), (),
        (Finding("Who pays?", (3,)),),
    )  # fmt: skip
    out = StringIO()
    took = Writing(Usage(1, 1, 0.1, 1, estimated=True), ("openai:x",))
    debate = DEBATE.but(status="completed", stop_reason="max_turns", writing=took)
    Screen(debate, Console(file=out, width=200)).outcome(
        debate, "", turns, report(debate, turns, found)
    )
    assert "\x1b[31m" not in out.getvalue()
    shown = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    price = "at least $0.1000; price of openai:x unknown"
    used = f"1 call, 2 tokens (partly estimated), {price}"
    assert f"{used}; of that {used} for the report" in " ".join(shown[1:3])
    assert shown[3:9] == [
        "",
        "At issue [red]Pay[/red] now [turn:3]",
        f"Best points {SEAT.name} (pro): It pays. [turn:3]",
        "Conceded Nobody conceded a point.",
        "Still open Who pays? [turn:3]",
        "Summary They talked.",
    ]


@pytest.mark.parametrize(("seconds", "told"), [(0.1, 0), (5.0, 1)])
def test_whoever_waits_for_a_report_is_told_that_a_model_writes_it(
    seconds: float, told: int
) -> None:
    class Slow:
        async def report(self, _: str) -> dict[str, str]:
            await asyncio.sleep(seconds)
            return {"method": "model"}

    said_: list[str] = []
    ended = DEBATE.but(status="completed", turn_count=2)
    slow = cast(Moot, Slow())
    assert virtual.run(report_of(slow, ended, tell=said_.append), 60) == {"method": "model"}
    assert len(said_) == told
    assert all("A model is writing what it comes to" in line for line in said_)


def test_sides_are_told_only_where_there_are_any() -> None:
    def head(*stances: Stance) -> str:
        seats = tuple(
            replace(seat, stance=stance)
            for seat, stance in zip(DEBATE.participants, stances, strict=True)
        )
        console = Console(file=StringIO(), width=80)
        with console.capture() as shown:
            Screen(DEBATE.but(participants=seats), console).head()
        return shown.get()

    assert "neutral" not in head("neutral", "neutral")
    assert "pro, " in head("pro", "neutral")
    assert "neutral, " in head("pro", "neutral")
