"""A debate with a jury, as people read it: transcript, report, packet, record and terminal."""

import asyncio
import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from moot.bootstrap import open_service
from moot.cli import replay_view
from moot.cli.screen import Screen
from moot.core.answers import UNDECIDED
from moot.core.debate import Debate, Turn, Usage
from moot.core.events import Delta, TurnCommitted
from moot.errors import ProviderRefusedError
from moot.ports.model_call import Call
from moot.render import reading
from moot.render.ballots import ballots, heard, in_order, jurors
from moot.render.reading import Point, Reading
from moot.render.report import report
from moot.render.report_page import html
from moot.render.report_text import markdown
from moot.settings import Settings
from moot.store.replay import document, read_folder
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.integration.councils import answer

FOR, AGAINST = "For the motion", "Against the motion"
Votes = dict[str, list[str | None]]
"""By juror, what it votes for: alone, in one order, in the other. None is no valid ballot."""
FLIP: Votes = {
    "juror-1": [AGAINST, FOR, FOR],
    "juror-2": [UNDECIDED, FOR, AGAINST],
    "juror-3": [FOR, FOR, FOR],
}
READINGS = ("alone", "spoken", "swapped")


def held(home: Path, votes: Votes, **asked: Any) -> tuple[Debate, list[Turn]]:
    """Run a debate whose jurors vote as they are told."""

    def script(call: Call) -> str | ProviderRefusedError:
        if call.step.reading is None:
            said = answer(call)
            return plain(call) if said is None else json.dumps(said)
        chosen = votes[call.step.actor][READINGS.index(call.step.reading)]
        if chosen is None:
            return ProviderRefusedError("no")
        return json.dumps(_ballot(call, chosen))

    async def scene() -> tuple[Debate, list[Turn]]:
        speaker = ScriptedSpeaker(script)
        async with open_service(Settings(home=home), speaker=speaker, recover=False) as service:
            models = {"models": [f"openai:m{n}" for n in range(1, len(votes) + 1)]}
            jury = {"size": len(votes), **models}
            if asked.get("format") == "council":
                made = await service.council(
                    {"problem": "Ship it?", "output_type": "decision", "jury": jury}
                )
            else:
                made = await service.create("Ship it?", jury=jury, **asked)
            return await service.wait(made.id), await service.turns(made.id)

    return asyncio.run(scene())


def _ballot(call: Call, chosen: str) -> dict[str, Any]:
    cited = [turn.number for turn in call.heard[:2]]
    return {
        "reasons": [{"text": f"{call.step.actor} weighed it.", "turns": cited, "quotes": []}],
        "against": {"text": "It may cost more.", "turns": cited[:1]},
        "choice": chosen,
        "confidence": 0.7,
        "wouldChange": "A lower price.",
        "questions": ["What does it cost?"],
    }


def printed(debate: Debate, turns: list[Turn], width: int = 80) -> str:
    out = StringIO()
    screen = Screen(debate, Console(file=out, width=width, highlight=False))
    screen.head()
    for _ in screen.read(turns):
        pass
    screen.outcome(debate, "", turns)
    return out.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Debate, list[Turn]]:
    home = tmp_path_factory.mktemp("duel")
    return (home, *held(home, FLIP, format="duel"))


def files(home: Path, debate: Debate) -> dict[str, str]:
    folder = home / "records" / "debates" / debate.id
    return {path.name: path.read_text("utf-8") for path in folder.iterdir() if path.is_file()}


def test_a_ballot_says_in_which_order_its_juror_read_and_whether_it_flipped(
    duel: tuple[Path, Debate, list[Turn]],
) -> None:
    _, debate, turns = duel
    cast = ballots(debate, turns)
    assert len(cast) == 9
    by = {(turns_by(turns)[seq].actor, one.reading): one for seq, one in cast.items()}
    first, second = by["juror-1", "spoken"], by["juror-1", "swapped"]
    assert (first.order, second.order) == ((FOR, AGAINST), (AGAINST, FOR))
    assert first.told == f"Read “{FOR}” first, then “{AGAINST}”. Votes for “{FOR}”."
    assert by["juror-1", "alone"].told == (
        f"Has heard nothing of the debate. Votes for “{AGAINST}”."
    )
    assert by["juror-2", "alone"].told == "Has heard nothing of the debate. Undecided."
    assert by["juror-2", "spoken"].flip == (
        f"Flipped: in the other order it chose “{AGAINST}”, so its vote does not count."
    )
    assert by["juror-2", "swapped"].flip
    assert not any(one.flip for (who, _), one in by.items() if who != "juror-2")


def turns_by(turns: list[Turn]) -> dict[int, Turn]:
    return {turn.seq: turn for turn in turns}


def test_ballots_stand_by_round_and_juror_whenever_they_came(
    duel: tuple[Path, Debate, list[Turn]],
) -> None:
    _, debate, turns = duel
    seqs = [turn.seq for turn in turns]  # the other way round: the last juror was the fastest
    late = [replace(turn, seq=seq) for turn, seq in zip(turns[:5:-1], seqs[6:], strict=True)]
    mixed = [*turns[:6], *late]
    assert [(turn.round, turn.actor) for turn in in_order(debate, mixed)[6:]] == [
        (number, f"juror-{juror}") for number in (4, 5, 6) for juror in (1, 2, 3)
    ]
    assert in_order(debate, turns)[:6] == turns[:6]
    before = {turn.round for turn in heard(debate, turns) if turn.actor in jurors(debate)}
    assert before == {5, 6}, "not the ballots of those who had heard nothing"


def test_the_transcript_shows_who_voted_in_which_order_and_flips(
    duel: tuple[Path, Debate, list[Turn]],
) -> None:
    home, debate, _ = duel
    said = files(home, debate)["transcript.md"]
    assert "- Jury: Juror 1 (openai:m1), Juror 2 (openai:m2), Juror 3 (openai:m3)" in said
    places = [line for line in said.splitlines() if line.startswith("## Jury")]
    assert places == ["## Jury · before the debate", "## Jury · one order", "## Jury · other order"]
    assert said.count("Flipped: in the other order") == 2
    names = re.findall(r"^\*\*(Juror \d)\*\* · (\S+)", said, re.MULTILINE)
    assert names == [(f"Juror {n}", f"openai:m{n}") for n in (1, 2, 3)] * 3


def test_the_report_of_a_juried_duel_has_its_verdict_first_and_figures_last(
    duel: tuple[Path, Debate, list[Turn]],
) -> None:
    home, debate, turns = duel
    filed, made = files(home, debate), report(debate, turns)
    assert json.loads(filed["report.json"])["verdict"] == json.loads(filed["verdict.json"])
    said = filed["report.md"]
    assert said == markdown(made, transcript="transcript.md")
    titles = re.findall(r"^## (.*)$", said, re.MULTILINE)
    assert titles == [
        f"Contested: {FOR}", "Options", "Jurors", "Best points", "Summary", "Speakers",
        "At a glance", "Statistics", "Rounds",
    ]  # fmt: skip
    assert "Consensus" not in said
    page = re.findall("<h2>(?:<span[^>]*>)?([^<]*)", html(made))
    assert page[:5] == ["Contested", "Options", "Jurors", "Best points", "Summary"]
    assert page.index("Main points") < page.index("Statistics") < page.index("At a glance")


def test_a_ballot_is_not_the_summary_of_a_debate_and_jurors_are_no_persons(
    duel: tuple[Path, Debate, list[Turn]],
) -> None:
    _, debate, turns = duel
    made = report(debate, turns)
    assert made["summary"]["by"] == "extraction"
    assert "juror" not in made["summary"]["text"].casefold()
    roles = {who["id"]: who["role"] for who in made["speakers"]}
    assert [who for who, role in roles.items() if role == "juror"] == [*FLIP]
    first = next(who for who in made["speakers"] if who["id"] == "juror-1")
    assert [point["text"] for point in first["mainPoints"]] == [f"{FOR}: juror-1 weighed it."], (
        "what it said alone is no main point"
    )


def test_a_model_that_writes_the_report_is_not_asked_to_read_ballots(
    duel: tuple[Path, Debate, list[Turn]],
) -> None:
    _, debate, turns = duel
    assert [*reading.speakers(debate, turns)] == ["ada", "ben"]
    asked = "\n".join(message.text for message in reading.prompt(debate, turns, 50_000))
    assert "juror" not in asked.casefold()
    points = {"ada": (Point("It pays.", turns[0].number),), "juror-1": (Point("Bought.", None),)}
    read = Reading("They spoke.", tuple(points.items()), "openai:gpt-5", Usage(1, 1), "")
    told = {who["id"]: who["mainPoints"] for who in report(debate, turns, read)["speakers"]}
    plain_ = {who["id"]: who["mainPoints"] for who in report(debate, turns)["speakers"]}
    assert told["ada"] == [{"text": "It pays.", "turn": turns[0].number}]
    assert told["juror-1"] == plain_["juror-1"], "its ballots say that"


def test_the_host_still_sums_up_a_classic_debate_with_a_jury(tmp_path: Path) -> None:
    seats = [{"name": "Ada", "stance": "pro"}, {"name": "Ben", "stance": "con"}]
    host = {"name": "Hanna", "model": "local"}
    debate, turns = held(
        tmp_path, FLIP, format="classic", participants=seats, host=host, options={"free_rounds": 1}
    )
    made = report(debate, turns)
    summary = next(turn for turn in turns if turn.kind == "summary")
    assert made["summary"] == {"text": summary.text, "by": "host", "turn": summary.number}
    assert made["verdict"]["outcome"] == "contested"


def test_the_terminal_shows_the_verdict_and_each_ballot(
    duel: tuple[Path, Debate, list[Turn]],
) -> None:
    _, debate, turns = duel
    shown = printed(debate, turns)
    assert max(map(len, shown.splitlines())) <= 80
    assert len(re.findall(r"^Jury ─", shown, re.MULTILINE)) == 1, "one line above all ballots"
    assert "○ Juror 1 juror, openai:m1" in flat(shown)
    read = f"Read “{AGAINST}” first, then “{FOR}”."
    assert re.search(rf"Juror 2 openai:m2 turn \d+ {re.escape(read)}", flat(shown))
    assert flat(shown).count("so its vote does not count.") == 2
    assert f"Contested: {FOR}" in shown
    assert "Consensus" not in shown


def test_a_flip_is_shown_as_soon_as_the_second_ballot_is_in(
    duel: tuple[Path, Debate, list[Turn]],
) -> None:
    _, debate, turns = duel
    mine = [turn for turn in turns if turn.actor == "juror-2" and turn.round > 4]
    out = StringIO()
    earlier = [turn for turn in turns if turn.seq < mine[0].seq]
    screen = Screen(debate, Console(file=out, width=200, highlight=False), heard=earlier)
    screen.show(TurnCommitted(debate.id, mine[0]))
    assert "Votes for" in out.getvalue()
    assert "Flipped" not in out.getvalue()
    screen.show(TurnCommitted(debate.id, mine[1]))
    assert out.getvalue().count("Flipped") == 1


def test_two_ballots_of_a_juror_can_be_spoken_at_once(
    duel: tuple[Path, Debate, list[Turn]],
) -> None:
    _, debate, _ = duel
    console = Console(file=StringIO(), width=80, height=40)
    screen = Screen(debate.but(status="running"), console)
    for number, words in ((5, "One. "), (6, "Two. "), (5, "Uno."), (6, "Due.")):
        offset = 0 if len(words) == 5 else 5
        screen.show(Delta(debate.id, number, "jury", "juror-1", None, words, "", offset))
    with console.capture() as shown:
        console.print(screen._now())
    assert "One. Uno." in flat(shown.get())
    assert "Two. Due." in flat(shown.get())


def test_a_replay_of_answers_that_somebody_changed_still_shows_what_was_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    votes: Votes = {f"juror-{n}": ["Wait a quarter"] * 3 for n in (1, 2, 3)}
    debate, turns = held(tmp_path, votes, format="council")
    whole = document(read_folder(tmp_path, debate.id), indexed=True, issues=())
    replay_view.tell(whole)
    assert "Decided: Wait a quarter" in capsys.readouterr().out
    whole["transcript"]["turns"][0]["data"]["position"] = 5
    replay_view.tell(whole)
    shown = flat(capsys.readouterr().out)
    assert flat(turns[1].text) in shown
    assert "Votes for “Wait a quarter”." in shown
    assert "Read" not in shown, "nobody knows in which order"


@pytest.mark.parametrize(
    ("votes", "kind", "first"),
    [
        ({f"juror-{n}": [FOR] * 3 for n in (1, 2, 3)}, "decided", f"Decided: {FOR}"),
        (
            {"juror-1": [FOR] * 3, "juror-2": [AGAINST] * 3, "juror-3": [UNDECIDED] * 3},
            "deadlock",
            "Deadlock",
        ),
        (
            {"juror-1": [FOR] * 3, "juror-2": [UNDECIDED] * 3, "juror-3": [UNDECIDED] * 3},
            "needs_facts",
            "Needs facts",
        ),
        (
            {"juror-1": [FOR] * 3, "juror-2": [FOR, FOR, AGAINST], "juror-3": [None] * 3},
            "no_verdict",
            "No verdict",
        ),
    ],
)
def test_each_outcome_from_the_engine_reads_well_and_replays_to_the_byte(
    tmp_path: Path, votes: Votes, kind: str, first: str
) -> None:
    debate, turns = held(tmp_path, votes, format="duel", on_failure="degrade")
    assert debate.outcome
    assert debate.outcome.outcome == kind
    shown = printed(debate, turns)
    assert f"\n{first}\n" in shown
    assert f"\n## {first}\n" in files(tmp_path, debate)["report.md"]
    replayed = read_folder(tmp_path, debate.id)
    assert replayed.issues == ()


def test_a_council_with_a_jury_has_its_outcome_first_in_packet_and_record(tmp_path: Path) -> None:
    votes: Votes = {f"juror-{n}": ["Wait a quarter"] * 3 for n in (1, 2, 3)}
    debate, turns = held(tmp_path, votes, format="council")
    packet = files(tmp_path, debate)["final-packet.md"]
    record = tmp_path / "records" / "decisions" / f"{debate.id}.md"
    assert record.read_text("utf-8") == packet
    titles = re.findall(r"^##? (.*)$", packet, re.MULTILINE)
    assert titles[:4] == [
        "Decided: Wait a quarter", "Favoured and selected", "Options", "Jurors",
    ]  # fmt: skip
    assert titles[-1] == "Figures"
    assert "**Support**" in packet
    assert "| Heads and weight | 4 of 5" in packet, "what is favoured"
    assert "The positions favour “Ship it”: 4 of 5" in packet
    assert "Consensus:" not in packet
    assert "Favoured and selected" in printed(debate, turns)
    assert read_folder(tmp_path, debate.id).issues == ()
