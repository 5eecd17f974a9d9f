"""A turn is cited by its number: 1, 2, 3 … in every prompt, file and view, whatever else the log
holds between two turns."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from moot.bootstrap import open_service
from moot.cli.main import app
from moot.core.debate import Debate, Turn
from moot.core.events import Delta, TurnCommitted
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.store import schema
from moot.store.reindex import examine, reindex
from moot.store.replay import read_folder
from moot.store.store import open_database
from moot.testing.speaker import ScriptedSpeaker
from tests.integration.councils import answer
from tests.integration.juries import ballot


class Pausing(ScriptedSpeaker):
    """Has the debate paused in each of the first rounds, so that the log says so in between."""

    service: Any

    async def speak(self, call: Call, say: Say) -> Reply:
        if call.step.actor == "critic" and call.step.round < 4:
            await self.service.pause(call.debate.id)
        return await super().speak(call, say)


def said(call: Call) -> str:
    return json.dumps(ballot(call) if call.step.answer == "ballot" else answer(call))


class Held:
    """A council with a jury that was paused three times, and all that anybody read of it."""

    debate: Debate
    turns: list[Turn]

    def __init__(self, home: Path) -> None:
        self.settings = Settings(home=home, model="openai:gpt-5", sweep_seconds=0.1)
        self.speaker = Pausing(said)
        self.read: list[list[Turn]] = []
        asyncio.run(self._hold())
        self.folder = home / "records" / "debates" / self.debate.id

    async def _hold(self) -> None:
        async with open_service(self.settings, speaker=self.speaker) as service:
            self.speaker.service = service
            made = await service.create("Ship it?", format="council", jury={"size": 1})
            while (await service.wait(made.id)).status == "paused":
                await service.resume(made.id)
            self.debate, self.turns = await service.get(made.id), await service.turns(made.id)
            for turn in self.turns:
                self.read.append(await service.turns(made.id, turn.seq - 1))
                events = await service.log(made.id, turn.seq - 1, 1000)
                self.read.append([one.turn for one in events if isinstance(one, TurnCommitted)])
            followed = [one async for one in service.follow(made.id) if not isinstance(one, Delta)]
            self.read.append([one.turn for one in followed if isinstance(one, TurnCommitted)])

    def document(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    @property
    def by_number(self) -> dict[int, Turn]:
        return {turn.number: turn for turn in self.turns}


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Held:
    return Held(tmp_path_factory.mktemp("numbers"))


def test_numbers_have_no_gap_where_the_log_has_other_entries(held: Held) -> None:
    assert (held.debate.status, held.debate.degraded) == ("completed", False)
    assert [turn.number for turn in held.turns] == [*range(1, 17 + 3 + 1)]
    others = [turn.seq - turn.number for turn in held.turns]
    assert others == sorted(others)
    assert others[-1] >= 8, "how it began, and three pauses with their ends"


def test_they_are_the_same_for_every_reader(held: Held) -> None:
    for part in held.read:
        assert part == held.turns[-len(part) :]
    assert held.read[-1] == held.turns


def test_a_prompt_cites_them(held: Held) -> None:
    for call in held.speaker.calls:
        text = "\n".join(message.text for message in call.messages)
        cited = [int(found) for found in re.findall(r"^\[(\d+)\] [^\n]+:$", text, re.MULTILINE)]
        own = {turn.number for turn in call.heard if turn.actor == call.step.actor}
        heard = {turn.number for turn in call.heard}
        assert heard - own <= set(cited) <= heard
        for name, number in re.findall(r"(\w+) \(turn (\d+)\)", text):
            asked = held.by_number[int(number)]
            assert (asked.name, asked.target, asked.round) == (name, call.step.actor, 2)


def test_what_it_came_to_cites_them(held: Held) -> None:
    packet, verdict = held.document("final-packet.json"), held.document("verdict.json")
    refs = [one for one in packet["trace"]["evidenceRefs"] if one.startswith("turn:")]
    judge = held.by_number[verdict["judge"]["turn"]]
    (why,) = (judge.data or {})["whySelected"]
    assert (judge.stage, len(why["turns"])) == ("judge", 3)
    assert {f"turn:{number}" for number in why["turns"]} <= set(refs)
    assert {held.by_number[int(one.removeprefix("turn:"))].status for one in refs} == {"ok"}
    (juror,) = verdict["jury"]["jurors"]
    assert held.by_number[juror["turn"]].actor == "juror-1"
    assert verdict["dissent"]
    for row in (*verdict["moved"], *verdict["dissent"], *verdict["openQuestions"]):
        assert held.by_number[row["turn"]].name == row["who"]
    tally = held.document("consensus.json")["tally"]
    for stand in (one for row in (*tally["round1"], *tally["final"]) for one in row["stands"]):
        turn = held.by_number[stand["turn"]]
        assert (turn.name, (turn.data or {})["position"]) == (stand["role"], stand["option"])


def _cited(report: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for who in report["speakers"]:
        yield from ((who["id"], point["turn"]) for point in who["mainPoints"])
    yield from ((mark["speaker"], mark["turn"]) for mark in report["timeline"])


def test_the_files_for_people_cite_them(held: Held) -> None:
    numbers = [*range(1, len(held.turns) + 1)]
    assert [turn["number"] for turn in held.document("transcript.json")["turns"]] == numbers
    told = (held.folder / "transcript.md").read_text()
    assert sorted(map(int, re.findall(r"`turn:(\d+)`", told))) == numbers
    rounds = [held.document(f"rounds/round-{n}.json")["turns"] for n in (1, 2)]
    assert sorted(turn["number"] for one in rounds for turn in one) == numbers[:10]
    for actor, number in _cited(held.document("report.json")):
        assert held.by_number[number].actor == actor
    page = (held.folder / "report.html").read_text()
    assert f"<span>turn 1</span><span>turn {numbers[-1]}</span>" in page


def test_a_terminal_shows_them(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_HOME", str(held.settings.home))
    shown = CliRunner().invoke(app, ["show", held.debate.id]).output
    found = re.findall(r"^(\w[\w ]*?)  .*turn (\d+)$", shown, re.MULTILINE)
    assert sorted(int(number) for _, number in found) == [*range(1, len(held.turns) + 1)]
    for name, number in found:
        assert held.by_number[int(number)].name == name


def test_the_files_give_them_back(held: Held, tmp_path: Path) -> None:
    place = tmp_path / "again.sqlite"
    schema.prepare(place)
    database = open_database(place, 1)
    try:
        done = asyncio.run(reindex(database, held.settings.home))
    finally:
        database.close()
    assert (list(done.indexed), done.skipped) == ([held.debate.id], {})
    seen = examine(held.settings.home, place, held.debate.id)
    assert (seen.issues, list(seen.replay.turns)) == ((), held.turns)


@pytest.mark.parametrize("number", [None, 0, 1, 7])
def test_a_replay_finds_a_turn_with_another_number(
    held: Held, tmp_path: Path, number: int | None
) -> None:
    home, told = tmp_path, held.document("transcript.json")
    folder = home / "records" / "debates" / held.debate.id
    folder.mkdir(parents=True)
    for name in ("request.json", "manifest.json"):
        (folder / name).write_bytes((held.folder / name).read_bytes())
    second = told["turns"][1]
    assert second.pop("number") == 2
    told["turns"][1] = second if number is None else {**second, "number": number}
    (folder / "transcript.json").write_text(json.dumps(told))
    issues = read_folder(home, held.debate.id).issues
    assert any("its turns are not numbered one after the other" in issue for issue in issues)


def test_a_turn_from_before_is_cited_by_its_seq(held: Held) -> None:
    turn = held.turns[4]
    assert replace(turn, number=0).number == turn.seq
