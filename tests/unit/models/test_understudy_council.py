"""The understudy in a council: answers that fit, aim, cite and hold together."""

import asyncio
import dataclasses
import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.core import council, prompts, schedule, shapes
from moot.core import format as formats
from moot.core.debate import Cursor, Debate, Limits, Participant, Turn, Usage
from moot.models.understudy import Understudy
from moot.models.understudy_council_lines import council_lines
from moot.models.understudy_problem import SIDES, problem
from moot.ports import Call
from moot.settings import Settings

PROBLEMS = [
    "Should we move to Postgres?",
    "What database should we pick?",
    "Which database should we pick: Postgres, MySQL or SQLite?",
    "Is remote work better than office work?",
    "Tabs or spaces?",
    "Should we build or buy a CRM?",
    "Cities should ban cars",
    "Should cars be banned from city centres?",
    "Design a caching layer for the public API",
    "How should we reduce churn next quarter?",
    "AI kills jobs",
    "城市应该禁止汽车吗",
    'Should we {really} call it "done", “now”?',
    "Should the city council build a new stadium on the old railway yard before 2030? " * 3,
    "?",
    "x" * 900,
]
CONSTRAINTS = ['no "downtime"', "under {50} ms", "y" * 400]
OUTPUTS = ["decision", "writing", "architecture", "planning", "evaluation"]
TARGETS = {
    "Proponent": "Critic", "Critic": "Proponent", "Analyst": "Proponent",
    "Synthesizer": "Critic", "Judge": "Synthesizer",
}  # fmt: skip


def scene(text: str, constraints: tuple[str, ...] = (), output: str = "decision") -> Debate:
    """A council that has not begun."""
    rules = formats.parse(Path(formats.__file__).parents[1].joinpath("formats/council.toml")
                          .read_text(), "council")  # fmt: skip
    seats = tuple(Participant(role.lower(), role, "local", role=role) for role in council.ROLES)
    debate = Debate(
        id="debate_1", motion=text, rules=rules, participants=seats, host=None, options={},
        limits=Limits(max_turns=17), on_failure="degrade", status="running", cursor=Cursor(),
        created_at="2026-02-20T10:00:00Z", updated_at="",
        brief={"constraints": list(constraints), "output_type": output},
    )  # fmt: skip
    return dataclasses.replace(debate, cursor=schedule.first(debate))


def play(debate: Debate, lost: tuple[tuple[int, str], ...] = (), **said: Any) -> list[Turn]:
    """Carry a council to its end; `lost` are (round, role) whose turns fail, and `said` is what
    a role says in its first round instead."""
    turns: list[Turn] = []
    while isinstance(wave := schedule.plan(debate), schedule.Wave):
        spoken: list[Turn] = []
        for bit, step in zip(wave.places, wave.steps, strict=True):
            role = debate.seat(step.actor).role
            heard = () if step.sees == "none" else tuple(t for t in turns if t.status == "ok")
            call = Call("local", (), 900, 30.0, debate, step, heard, prompts.schema(step, debate))
            reply = asyncio.run(Understudy().speak(call, lambda _: None))
            assert reply.data is not None
            data = shapes.read(step.answer, reply.data, prompts.target(step, debate))
            assert reply.text == shapes.spoken(step.answer, data)
            if step.round == 1 and role in said:
                data = shapes.read(step.answer, said[role])
            ok = (step.round, role) not in lost
            spoken.append(
                Turn(
                    len(turns) + len(spoken) + 1, step.round, step.stage, step.actor, role,
                    step.kind, step.target, step.instruction, reply.text if ok else "",
                    data if ok else None, "ok" if ok else "failed", None if ok else "X",
                    reply.model, Usage(), "", "",
                )
            )  # fmt: skip
            debate = dataclasses.replace(debate, cursor=schedule.after(debate, bit))
        turns += spoken
    return turns


def answers(turns: list[Turn], number: int) -> dict[str, Any]:
    return {turn.name: turn.data for turn in turns if turn.round == number and turn.data}


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def plain(text: str) -> str:
    return " ".join(text.split()).translate(str.maketrans({"“": "‘", "”": "’", '"': "’"}))


@pytest.mark.parametrize("text", PROBLEMS)
def test_a_council_holds_together(text: str) -> None:
    place = PROBLEMS.index(text)
    constraints = tuple(CONSTRAINTS[: place % 4])
    turns = play(scene(text, constraints, OUTPUTS[place % 5]))
    assert len(turns) == 17
    first, last = answers(turns, 1), answers(turns, 3)
    shape = problem(text, ())
    assert shape.side(first["Proponent"]["position"]) == "yes"
    assert shape.side(first["Critic"]["position"]) == "no"
    for stand in (*first.values(), *last.values()):
        assert len(stand["position"]) <= 80
        assert 0.45 <= stand["confidence"] <= 0.85
    assert all(1 <= len(stand["risks"]) <= 3 for stand in first.values())
    assert len({stand["claim"] for stand in first.values()}) == 5
    moved = [role for role in first if last[role]["position"] != first[role]["position"]]
    assert 0 < len(moved) < 5
    for turn in turns:
        for line in strings(turn.data):
            assert not re.search(r"\{(?!really|50)\w*\}| {2}|\.\.|\.”\.", line), line
    found = council.consensus(turns)
    verdict = answers(turns, 5)["Judge"]
    assert found["droppedCitations"] == 0
    assert verdict["selectedOption"] == found["favoured"]
    named = {found["names"][council.key(s["position"])] for s in (*first.values(), *last.values())}
    rejected = {item["option"] for item in verdict["rejectedOptions"]}
    assert rejected == named - {verdict["selectedOption"]}
    stated = {risk for stand in first.values() for risk in stand["risks"]}
    assert {risk["risk"] for risk in verdict["risks"]} <= stated
    dues = [date.fromisoformat(item["due"]) for item in verdict["nextActions"]]
    assert 2 <= len(dues) <= 3
    assert all(0 < (due - date(2026, 2, 20)).days < 60 for due in dues)


@pytest.mark.parametrize("text", PROBLEMS)
def test_challenges_aim_and_are_answered(text: str) -> None:
    turns = play(scene(text))
    first, asked, last = (answers(turns, number) for number in (1, 2, 3))
    for role, target in TARGETS.items():
        (one,) = asked[role]["challenges"]
        assert one["targetRole"] == target
        assert one["claim"].rstrip(" …") in plain(first[target]["claim"])
        assert one["question"].endswith("?")
    for role in council.ROLES:
        sources = [source for source, target in TARGETS.items() if target == role]
        assert [r["sourceRole"] for r in last[role]["responses"]] == sources
        assert len({r["response"] for r in last[role]["responses"]}) == len(sources)


def test_the_reading_maps_what_was_stated_and_cites_what_was_said() -> None:
    mapped = 0
    for text in PROBLEMS:
        turns = play(scene(text))
        stated = {turn.data["position"] for turn in turns if turn.round in (1, 3) and turn.data}
        reading = answers(turns, 4)["Synthesizer"]
        for same in reading["same"]:
            assert same["option"] in same["wordings"]
            assert set(same["wordings"]) <= stated
            assert len(same["wordings"]) > 1
            mapped += 1
        for point in (*reading["agreements"], *reading["disagreements"]):
            assert point["turns"]
            assert set(point["turns"]) <= {turn.seq for turn in turns if turn.round < 4}
            roles = {turn.name for turn in turns if turn.seq in point["turns"]}
            begins = re.match(r"The (\w+)", point["text"])
            assert begins is None or begins[1] in roles
    assert mapped > len(PROBLEMS) / 2


def test_the_options_differ_and_are_told_apart() -> None:
    for text in PROBLEMS:
        shape = problem(text, ())
        keys = [council.key(word) for side in SIDES for word in shape.options[side]]
        assert len(keys) == len(set(keys))
        assert len(shape.lenses) >= 5
        assert shape.side("Something else") is None


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        (PROBLEMS[0], "Yes, move to Postgres", "No, leave it as it is"),
        (PROBLEMS[1], "Settle on a database now", "Gather more evidence first"),
        (PROBLEMS[2], "Postgres", "SQLite"),
        (PROBLEMS[4], "Tabs", "Spaces"),
        (PROBLEMS[5], "Build", "Buy a CRM instead"),
        ("Should we migrate or not?", "Yes, migrate", "No, leave it as it is"),
        (PROBLEMS[8], "The whole of it now", "Make sure first that it is needed"),
    ],
)
def test_options_come_from_the_problem(text: str, yes: str, no: str) -> None:
    options = problem(text, ()).options
    assert (options["yes"][0], options["no"][0]) == (yes, no)


def test_decisions_vary_and_a_constraint_is_named() -> None:
    chosen: set[str | None] = set()
    for text in PROBLEMS:
        turns = play(scene(text, ("no downtime",)))
        verdict = answers(turns, 5)["Judge"]
        shape = problem(text, ("no downtime",))
        chosen.add(shape.side(verdict["selectedOption"]))
        assert any("no downtime" in why["text"] for why in verdict["whySelected"])
        assert any("no downtime" in risk for risk in answers(turns, 1)["Critic"]["risks"])
    assert len(chosen) > 1


def test_the_same_council_says_the_same() -> None:
    debate = scene(PROBLEMS[0])
    other = dataclasses.replace(debate, id="debate_2", created_at="2031-07-01T00:00:00Z")
    one, two = play(debate), play(other)
    assert [turn.data for turn in one[:-1]] == [turn.data for turn in two[:-1]]
    ends = [re.sub(r"20\d\d-\d\d-\d\d", "", json.dumps(t.data)) for t in (one[-1], two[-1])]
    assert ends[0] == ends[1]
    assert "2031-07-08" in json.dumps(two[-1].data)
    odd = dataclasses.replace(debate, created_at="")
    assert play(odd)[-1].data


LOST: list[tuple[tuple[int, str], ...]] = [
    ((1, "Proponent"),),
    ((1, "Critic"), (2, "Critic")),
    tuple((2, role) for role in council.ROLES),
    ((4, "Synthesizer"),),
    ((1, "Judge"), (3, "Judge"), (5, "Judge")),
    tuple((1, role) for role in council.ROLES if role != "Analyst"),
    tuple((3, role) for role in council.ROLES),
    tuple((number, role) for number in (1, 2, 3) for role in council.ROLES),
]


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("text", PROBLEMS[:4])
def test_what_was_not_heard_breaks_nothing(text: str, lost: tuple[tuple[int, str], ...]) -> None:
    turns = play(scene(text, ("no downtime",)), lost)
    known = {turn.seq for turn in turns if turn.status == "ok"}
    for turn in turns:
        cited = re.findall(r"turn:(\d+)", turn.text)
        assert {int(seq) for seq in cited} <= known
    asked, last = answers(turns, 2), answers(turns, 3)
    for role, data in last.items():
        sources = [source for source, target in TARGETS.items() if target == role]
        heard = [source for source in sources if source in asked]
        assert [r["sourceRole"] for r in data["responses"]] == heard
    if (1, "Proponent") in lost and "Critic" in asked:
        assert "not heard" in asked["Critic"]["challenges"][0]["claim"]
    for role in ("Proponent", "Critic", "Synthesizer"):
        if role in last and role in answers(turns, 1) and not last[role]["responses"]:
            assert last[role]["position"] == answers(turns, 1)[role]["position"]
            assert "Nobody challenged" in last[role]["revisions"][0]["reason"]


def test_it_deals_with_what_others_say() -> None:
    """A council may mix models; their options and claims are their own."""
    words = {"position": "Keep MySQL, but “sharded”", "claim": "It works. " * 60,
             "rationale": "r", "risks": ["Shards {drift}."], "confidence": 0.9}  # fmt: skip
    odd = {"position": "!", "claim": "?", "rationale": "r", "risks": [], "confidence": 1}
    turns = play(scene(PROBLEMS[0]), Critic=words, Synthesizer=odd)
    found, verdict = council.consensus(turns), answers(turns, 5)["Judge"]
    assert found["droppedCitations"] == 0
    assert verdict["selectedOption"] == found["favoured"]
    named = [verdict["selectedOption"], *(item["option"] for item in verdict["rejectedOptions"])]
    assert words["position"] in named
    assert "Shards {drift}." in {risk["risk"] for risk in verdict["risks"]}


def test_the_table_has_every_output_and_role() -> None:
    table = council_lines()
    assert set(table.output) == set(OUTPUTS)
    owners = {line.owner for line in table.output.values()}
    assert owners <= set(council.ROLES)
    assert len({lens.label for lens in table.lenses}) == len(table.lenses)


async def run(home: Path, asked: dict[str, Any]) -> tuple[Debate, list[Turn]]:
    async with open_service(Settings(home=home)) as service:
        made = await service.council(asked)
        debate = await service.wait(made.id)
        turns = list(await service.turns(made.id))
    return debate, turns


@pytest.mark.parametrize("text", [PROBLEMS[0], PROBLEMS[3], PROBLEMS[8], PROBLEMS[11]])
def test_the_engine_takes_it(tmp_path: Path, text: str) -> None:
    asked = {"problem": text, "outputType": "planning", "constraints": ["no downtime"]}
    debate, turns = asyncio.run(run(tmp_path, asked))
    folder = next(path for path in tmp_path.rglob(debate.id) if path.is_dir())
    packet = json.loads((folder / "final-packet.json").read_text())
    assert (debate.status, debate.degraded) == ("completed", False)
    assert [turn.status for turn in turns] == ["ok"] * 17
    assert packet["degraded"] is False
    assert packet["consensus"]["consensusScore"] > 0.35
    known = {f"turn:{turn.seq}" for turn in turns}
    refs = [ref for ref in packet["trace"]["evidenceRefs"] if ref.startswith("turn:")]
    assert set(refs) <= known
    assert len(refs) > 5
    # Which of those who speak together is committed first is chance; the words are not.
    again = play(scene(text, ("no downtime",), "planning"))
    spoken = {(turn.round, turn.name): turn.data for turn in turns if turn.round < 4}
    assert spoken == {(turn.round, turn.name): turn.data for turn in again if turn.round < 4}
    assert packet["decision"]["selectedOption"] == answers(again, 5)["Judge"]["selectedOption"]
