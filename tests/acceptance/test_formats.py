"""Each built-in format gives exactly the turns of the contract's table, in the store and on disk.

The table is written out here once more, by hand; nothing of the scheduler is used.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.core.debate import Debate, Turn
from moot.core.events import Event
from moot.engine.service import Service
from moot.errors import InputError
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker, plain

Row = tuple[int, str, str, str, str | None]
"""round, stage, actor, kind, target"""

CAST = (("Ada", "con"), ("Ben", "pro"), ("Cleo", "neutral"), ("Dov", "pro"), ("Edda", "con"))
GIVEN = {
    2: ["ada", "ben"],
    3: ["ada", "ben", "cleo"],
    5: ["ada", "ben", "cleo", "dov", "edda"],
}
BY_STANCE = {
    2: ["ben", "ada"],
    3: ["ben", "ada", "cleo"],
    5: ["ben", "dov", "ada", "edda", "cleo"],
}
INTRODUCTION: Row = (0, "introduction", "host", "speech", None)


def circle(names: list[str], turns: int) -> Iterator[Row]:
    for place in range(turns):
        round_ = 1 + place // len(names)
        yield (round_, "discussion", names[place % len(names)], "speech", None)


def cued(names: list[str], round_: int, stage: str) -> Iterator[Row]:
    for name in names:
        yield (round_, stage, "host", "cue", name)
        yield (round_, stage, name, "speech", None)


def summary(round_: int) -> Row:
    return (round_, "summary", "host", "summary", None)


def standard(seats: int, rounds: int, host: bool) -> list[Row]:
    said = list(circle(GIVEN[seats], rounds * seats))
    return [INTRODUCTION, *said, summary(rounds + 1)] if host else said


def endless(seats: int, max_turns: int, host: bool) -> list[Row]:
    if not host:
        return list(circle(GIVEN[seats], max_turns))
    said = list(circle(GIVEN[seats], max_turns - 2))
    return [INTRODUCTION, *said, summary(said[-1][0] + 1)]


def classic(seats: int, free_rounds: int) -> list[Row]:
    names = BY_STANCE[seats]
    stages = ["opening", "rebuttal", *["free"] * free_rounds, "conclusion"]
    rows = [INTRODUCTION]
    for round_, stage in enumerate(stages, start=1):
        rows += cued(names, round_, stage)
    return [*rows, summary(len(stages) + 1)]


def custom(seats: int, rounds: int) -> list[Row]:
    rows = [INTRODUCTION]
    for round_ in range(1, rounds + 1):
        rows += cued(GIVEN[seats], round_, "discussion")
    return [*rows, summary(rounds + 1)]


def duel(max_turns: int) -> list[Row]:
    pair = ("ada", "ben")
    return [(1 + n // 2, "duel", pair[n % 2], "speech", None) for n in range(max_turns)]


@dataclass(frozen=True)
class Case:
    """What is asked for, and what must come of it."""

    name: str
    format: str
    seats: int
    rows: list[Row]
    reason: str
    host: bool = False
    options: dict[str, int] | None = None
    limits: dict[str, Any] | None = None


def cases() -> Iterator[Case]:
    for seats in (2, 3, 5):
        for host in (False, True):
            who = f"{seats}-{'hosted' if host else 'alone'}"
            rows = standard(seats, 3, host)
            yield Case(f"standard-{who}", "standard", seats, rows, "max_rounds", host)
            for rounds in (1, 4):
                rows = standard(seats, rounds, host)
                options = {"rounds": rounds}
                name = f"standard-{who}-{rounds}"
                yield Case(name, "standard", seats, rows, "max_rounds", host, options)
            for most in (3, 7, 8):
                rows, limits = endless(seats, most, host), {"max_turns": most}
                name = f"endless-{who}-{most}"
                yield Case(name, "standard", seats, rows, "max_turns", host, {"rounds": 0}, limits)
        yield Case(f"classic-{seats}", "classic", seats, classic(seats, 2), "finished", True)
        for free in (1, 3):
            rows, options = classic(seats, free), {"free_rounds": free}
            name = f"classic-{seats}-{free}"
            yield Case(name, "classic", seats, rows, "finished", True, options)
        yield Case(f"custom-{seats}", "custom", seats, custom(seats, 3), "max_rounds", True)
        for rounds in (1, 4):
            rows, options = custom(seats, rounds), {"rounds": rounds}
            name = f"custom-{seats}-{rounds}"
            yield Case(name, "custom", seats, rows, "max_rounds", True, options)
    yield Case("duel", "duel", 2, duel(6), "max_turns")
    for most in (1, 2, 5, 8):
        yield Case(f"duel-{most}", "duel", 2, duel(most), "max_turns", limits={"max_turns": most})
    yield Case("classic-10", "classic", 2, classic(2, 10), "finished", True, {"free_rounds": 10})
    yield Case("custom-50", "custom", 2, custom(2, 50), "max_rounds", True, {"rounds": 50})
    yield Case("endless-100", "standard", 2, endless(2, 100, True), "max_turns", True,
               {"rounds": 0})  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def seats_of(count: int) -> list[dict[str, str]]:
    return [{"name": name, "stance": stance} for name, stance in CAST[:count]]


async def make(service: Service, case: Case) -> Debate:
    return await service.create(
        "Should we ship on Fridays?",
        format=case.format,
        participants=seats_of(case.seats),
        host={} if case.host else None,
        options=case.options,
        limits=case.limits,
    )


async def log_of(service: Service, debate_id: str) -> list[Event]:
    return await service._store.events(debate_id, 0, 10_000)


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_a_format_gives_the_turns_of_its_table(home: Path, case: Case) -> None:
    speaker = ScriptedSpeaker()

    async def scene() -> tuple[Debate, list[Turn], list[Event], Path]:
        async with open_service(Settings(home=home), speaker=speaker, recover=False) as service:
            made = await make(service, case)
            assert made.total == len(case.rows)
            debate = await service.wait(made.id)
            turns = await service.turns(made.id)
            again = await service.get(made.id)
            assert again.files_seq == again.last_seq == debate.last_seq
            return again, turns, await log_of(service, made.id), Path(service.folder(made.id))

    debate, turns, events, folder = asyncio.run(scene())
    rows = [(turn.round, turn.stage, turn.actor, turn.kind, turn.target) for turn in turns]
    assert rows == case.rows
    assert (debate.status, debate.stop_reason, debate.degraded) == ("completed", case.reason, False)
    assert (debate.turn_count, debate.total) == (len(rows), len(rows))
    assert len(rows) <= debate.limits.max_turns
    cursor = debate.cursor
    assert (cursor.next_round, cursor.next_stage, cursor.next_actor) == (None, None, None)
    assert (debate.round, debate.stage) == (rows[-1][0], rows[-1][1])
    assert debate.started_at
    assert debate.ended_at
    assert debate.failure is None

    check_calls(debate, turns, speaker)
    check_log(debate, turns, events)
    check_files(debate, turns, folder)


def check_calls(debate: Debate, turns: list[Turn], speaker: ScriptedSpeaker) -> None:
    """One call a turn, each asked in its turn, and what was said is what stands."""
    assert debate.usage.calls == len(speaker.calls) == len(turns)
    for call, turn in zip(speaker.calls, turns, strict=True):
        assert turn.text == plain(call)
        assert (call.step.round, call.step.actor, call.step.target) == (
            turn.round,
            turn.actor,
            turn.target,
        )
        assert (turn.status, turn.error_code, turn.model) == ("ok", None, call.model)
        if turn.kind == "cue":
            assert turn.instruction == call.step.instruction
            name = next(s.name for s in debate.participants if s.id == turn.target)
            assert turn.instruction is not None
            assert name in turn.instruction
            assert "{" not in turn.instruction
        else:
            assert turn.instruction is None
        assert turn.instruction is None or turn.instruction in call.messages[-1].text


def check_log(debate: Debate, turns: list[Turn], events: list[Event]) -> None:
    """Turns and statuses share one count, with no gap."""
    assert [event.seq for event in events] == list(range(1, debate.last_seq + 1))
    by_seq = {event.seq: getattr(event, "turn", None) for event in events}
    assert [by_seq[turn.seq] for turn in turns] == turns
    assert [seq for seq, turn in by_seq.items() if turn] == [turn.seq for turn in turns]
    statuses = [getattr(event, "status", None) for event in events]
    assert [status for status in statuses if status] == ["queued", "running", "completed"]


def check_files(debate: Debate, turns: list[Turn], folder: Path) -> None:
    """All files of the contract, none torn or left over, and the manifest right about each."""

    def read(name: str) -> Any:
        return json.loads((folder / name).read_text("utf-8"))

    rounds = [(number, list(said)) for number, said in groupby(turns, key=lambda t: t.round)]
    names = {"request.json", "transcript.json", "transcript.md"}
    names |= {f"rounds/round-{number}.json" for number, _ in rounds}
    there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    reports = {"report.json", "report.md", "report.html"}
    assert names | {"manifest.json"} <= there <= names | reports | {"manifest.json"}

    manifest = read("manifest.json")
    assert manifest["lastSeq"] == debate.last_seq
    assert manifest["files"] == {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in there - {"manifest.json"}
    }
    asked = read("request.json")
    assert (asked["id"], asked["motion"], asked["format"]) == (
        debate.id,
        debate.motion,
        debate.format,
    )
    assert [seat["id"] for seat in asked["participants"]] == [s.id for s in debate.participants]
    assert (asked["host"] is None) == (debate.host is None)
    assert asked["options"] == dict(debate.options)

    said = [said_in(turn) for turn in read("transcript.json")["turns"]]
    assert said == [(t.seq, t.round, t.stage, t.actor, t.kind, t.target, t.text) for t in turns]
    assert read("transcript.json")["debate"]["stop_reason"] == debate.stop_reason
    for number, group in rounds:
        file = read(f"rounds/round-{number}.json")
        assert (file["round"], file["stage"]) == (number, group[0].stage)
        assert (file["startedAt"], file["finishedAt"]) == (
            group[0].started_at,
            group[-1].committed_at,
        )
        assert [said_in(turn)[0] for turn in file["turns"]] == [turn.seq for turn in group]
        assert [turn["instruction"] for turn in file["turns"]] == [t.instruction for t in group]
    told = (folder / "transcript.md").read_text("utf-8")
    places = [told.index(f"`turn:{turn.number}`") for turn in turns]
    assert places == sorted(places)
    assert all(turn.text in told for turn in turns)


def said_in(turn: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(turn[key] for key in ("seq", "round", "stage", "actor", "kind", "target", "text"))


@pytest.mark.parametrize(
    ("format_", "asked", "field"),
    [
        ("duel", {"participants": seats_of(2)[:1]}, "participants"),
        ("duel", {"participants": seats_of(3)}, "participants"),
        ("duel", {"host": {}}, "host"),
        ("duel", {"options": {"rounds": 3}}, "options.rounds"),
        ("custom", {"options": {"rounds": 0}}, "options.rounds"),
        ("custom", {"options": {"rounds": 51}}, "options.rounds"),
        ("custom", {"options": {"rounds": True}}, "options.rounds"),
        ("classic", {"options": {"free_rounds": 0}}, "options.free_rounds"),
        ("classic", {"options": {"free_rounds": 11}}, "options.free_rounds"),
        ("classic", {"limits": {"max_turns": 21}}, "limits.max_turns"),
        ("standard", {"limits": {"max_turns": 5}}, "limits.max_turns"),
        ("standard", {"options": {"rounds": -1}}, "options.rounds"),
        ("standard", {"options": {"rounds": 0}, "host": {}, "limits": {"max_turns": 2}},
         "limits.max_turns"),
        ("standard", {"limits": {"max_turns": 2001}}, "limits.max_turns"),
        ("standard", {"limits": {"max_turn_seconds": 4}}, "limits.max_turn_seconds"),
        ("standard", {"limits": {"max_turn_seconds": 121}}, "limits.max_turn_seconds"),
        ("standard", {"limits": {"max_turn_tokens": 127}}, "limits.max_turn_tokens"),
        ("standard", {"limits": {"max_turn_tokens": 4097}}, "limits.max_turn_tokens"),
        ("nonsense", {}, "format"),
        ("../standard", {}, "format"),
    ],
)  # fmt: skip
def test_what_a_format_cannot_do_is_refused_and_nothing_is_written(
    tmp_path: Path, format_: str, asked: dict[str, Any], field: str
) -> None:
    async def scene() -> None:
        async with open_service(
            Settings(home=tmp_path), speaker=ScriptedSpeaker(), recover=False
        ) as service:
            with pytest.raises(InputError) as refused:
                await service.create("Should we?", format=format_, **asked)
            assert refused.value.field == field
            assert refused.value.code == "DEBATE_ERR_INPUT"
            assert (await service.find()).debates == []

    asyncio.run(scene())
    assert not (tmp_path / "records").exists()
