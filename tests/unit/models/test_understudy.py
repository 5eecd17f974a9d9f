"""The understudy: the same on every machine, on the motion, and in whatever shape is asked for."""

import asyncio
import dataclasses
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stress import examples

from moot.bootstrap import open_service
from moot.core import answers as shapes
from moot.core import format as formats
from moot.core import prompts, schedule
from moot.core.built_in import BUILT_IN
from moot.core.clean import clean
from moot.core.debate import Cursor, Debate, Limits, Participant, Turn, Usage
from moot.core.legs import layout
from moot.core.schedule import Step
from moot.models.understudy import LABEL, POINTS, Understudy, compose
from moot.outcome.consensus import consensus
from moot.outcome.stands import choices
from moot.ports.model_call import Call, ModelCard, Reply
from moot.settings import Settings

ROLES = ("Proponent", "Critic", "Analyst", "Synthesizer", "Judge")
MOTIONS = [
    "Should the order service move to Postgres?",
    "Is remote work better than office work?",
    "What database should we pick?",
    "Cities should ban cars",
    "Tabs or spaces?",
    "¿Deberían las ciudades prohibir los coches?",
    "城市应该禁止汽车吗",
    'Should we {really} call it "done", “now”?',
    "Should the city council build a new stadium on the old railway yard before 2030? " * 3,
    "?",
    "x" * 900,
]
CAST: tuple[tuple[str, Any], ...] = (("Ada", "pro"), ("Ben", "con"), ("Cy", "neutral"))
SAYS = {"pro": r"\b(?:with|say|answer is) yes\b", "con": r"\b(?:with|say|answer is) no\b",
        "neutral": r"\b(?:with|say|answer is) not yet\b"}  # fmt: skip
BEGAN = "2026-02-20T10:00:00Z"


def scene(
    name: str,
    motion: str,
    cast: Sequence[tuple[str, Any]] = CAST,
    *,
    text: str = "",
    **options: int,
) -> Debate:
    """A debate that has not begun; `text` is a format of one's own."""
    text = text or resources.files("moot.formats").joinpath(f"{name}.toml").read_text()
    rules = formats.parse(text, name)
    seats = tuple(Participant(n.lower(), n, stance=s, model="local") for n, s in cast)
    if rules.roster.roles:
        seats = tuple(Participant(r.lower(), r, role=r, model="local") for r in rules.roster.names)
    chair = Participant("host", "Hedda", role="host", model="local")
    chair = chair if rules.roster.host != "none" else None
    chosen = {key: options.get(key, option.default) for key, option in rules.options.items()}
    legs = layout(rules, seats, chair, chosen, options.get("max_turns"))
    debate = Debate(
        id="debate_1", motion=motion, rules=rules, participants=seats, host=chair, options=chosen,
        limits=Limits(max_turns=sum(leg.turns for leg in legs)), on_failure="degrade",
        status="running", cursor=Cursor(), created_at=BEGAN, updated_at="",
    )  # fmt: skip
    return debate.but(cursor=schedule.first(debate))


def speak(call: Call, pace: float = 0.0) -> tuple[Reply, list[str]]:
    pieces: list[str] = []
    return asyncio.run(Understudy(pace).speak(call, pieces.append)), pieces


def play(
    debate: Debate, lost: Sequence[tuple[int, str]] = (), **said: Mapping[str, Any]
) -> list[Turn]:
    """Carry a debate to its end; `lost` are (round, name) whose turns fail, and `said` is what
    somebody else says for a seat in its first round."""
    turns: list[Turn] = []
    while isinstance(wave := schedule.plan(debate), schedule.Wave):
        spoken: list[Turn] = []
        for step in wave.steps:
            name = debate.seat(step.actor).name
            heard = () if step.sees == "none" else tuple(t for t in turns if t.status == "ok")
            chosen = choices(debate, turns)
            schema = prompts.schema(step, debate, chosen, turns)
            reply, _ = speak(Call("local", (), 900, 30.0, debate, step, heard, schema))
            text, data = reply.text, None
            if step.answer != "text":
                given = said[name] if step.round == 1 and name in said else reply.data
                data = prompts.read(step, debate, given or {}, chosen, turns)
                text = shapes.spoken(debate.rules.shape(step.answer), data)
            ok = (step.round, name) not in lost
            spoken.append(
                Turn(
                    len(turns) + len(spoken) + 1, step.round, step.stage, step.actor, name,
                    step.kind, step.target, step.instruction, text if ok else "",
                    data if ok else None, "ok" if ok else "failed", None if ok else "X",
                    reply.model, Usage(), "", "",
                )
            )  # fmt: skip
            debate = debate.but(cursor=schedule.after(debate, step.bit))
        turns += spoken
    return turns


def first_call(debate: Debate, schema: Any = None, heard: Sequence[Turn] = ()) -> Call:
    wave = schedule.plan(debate)
    assert isinstance(wave, schedule.Wave)
    return Call("local", (), 900, 30.0, debate, wave.steps[0], tuple(heard), schema)


def quotes(text: str) -> list[str]:
    return [quote.removesuffix(" …") for quote in re.findall(r"“([^”]+)”", text)]


def flat(text: str) -> str:
    return " ".join(text.split()).translate(str.maketrans('“”"', "‘’’"))


# --- what it is ---


def test_it_says_what_it_is() -> None:
    assert Understudy().card("local") == ModelCard("local:understudy", 8192, 0.0, 0.0, local=True)
    reply, pieces = speak(first_call(scene("duel", MOTIONS[0], CAST[:2])))
    assert (reply.model, reply.usage, reply.data) == (LABEL, Usage(calls=1), None)
    assert "".join(pieces) == reply.text
    assert len(pieces) > 6


def test_the_pace_shows_and_never_outlasts_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    call = first_call(scene("duel", MOTIONS[0], CAST[:2]))
    speak(dataclasses.replace(call, seconds=0.2), pace=60.0)
    assert 0.05 < sum(slept) <= 0.2


SCRIPT = """
import json, sys; sys.path[:0] = sys.argv[1:]
import test_understudy as t
for name in ("classic", "council"):
    for turn in t.play(t.scene(name, t.MOTIONS[0])):
        print(turn.name, turn.text, json.dumps(turn.data))
"""


def test_two_processes_say_the_same() -> None:
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[3])]
    said = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, *paths], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "4711")
    ]  # fmt: skip
    assert said[0] == said[1]
    assert len(said[0]) > 4000


# --- how it speaks ---


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", ["standard", "classic", "custom", "duel"])
def test_every_format_reads_like_a_debate(name: str, motion: str) -> None:
    debate = scene(name, motion, CAST[:2] if name == "duel" else CAST)
    turns = play(debate)
    stances = {seat.id: seat.stance for seat in debate.participants}
    names = [seat.name for seat in debate.seats]
    for place, turn in enumerate(turns):
        others = [other for other in names if other != turn.name]
        assert clean(turn.text, turn.name, others) == turn.text
        assert not re.search(r"\{(?!really)| {2}|\.\.|^\s|\s$", turn.text), turn.text
        assert 5 <= len(turn.text.split()) <= 120
        if turn.target and turn.kind == "cue":
            assert turn.text.startswith(debate.seat(turn.target).name)
        if turn.kind != "speech" or turn.actor not in stances:
            continue
        assert on_the_motion(turn.text, motion), turn.text
        own = re.sub(r"“[^”]+”", "", turn.text)
        sides = [side for side, says in SAYS.items() if re.search(says, own)]
        assert sides == [stances[turn.actor]], turn.text
        spoken = {t.actor for t in turns[:place] if t.kind == "speech"} & stances.keys()
        if turn.stage != "opening" and spoken - {turn.actor}:
            assert names_a_turn(turn, turns[:place], stances), turn.text
    if name != "duel":
        assert turns[-1].kind == "summary"
        for seat in debate.participants:
            spoken = [flat(turn.text) for turn in turns if turn.actor == seat.id]
            assert seat.name in turns[-1].text
            assert any(quote in text for quote in quotes(turns[-1].text) for text in spoken)


def on_the_motion(text: str, motion: str) -> bool:
    """Whether a text quotes the motion, or a word of it."""
    return any(quote and quote in flat(motion) for quote in quotes(text))


def names_a_turn(turn: Turn, before: Sequence[Turn], stances: Mapping[str, Any]) -> bool:
    """Whether a turn quotes words of another speaker, of the other side if there is one, and says
    whose they are."""
    across = {"pro": "con", "con": "pro"}.get(stances[turn.actor])
    return any(
        other.name in turn.text and quote in flat(other.text)
        for quote in quotes(turn.text)
        for other in before
        if other.actor != turn.actor
        and other.kind == "speech"
        and across in (None, stances.get(other.actor))
    )


def test_the_answer_is_to_the_last_opposing_turn() -> None:
    turns = play(scene("duel", MOTIONS[3], CAST[:2], max_turns=10))
    for before, turn in itertools.pairwise(turns):
        assert before.name in turn.text
        assert any(quote in before.text for quote in quotes(turn.text))


def test_a_question_of_the_host_is_answered() -> None:
    turns = play(scene("classic", MOTIONS[0], CAST[:2], free_rounds=2))
    found = 0
    for cue, turn in itertools.pairwise(turns):
        asked = [point for point in POINTS if cue.kind == "cue" and point["ask"] in cue.text]
        for point in asked:
            found += point["yes" if turn.name == "Ada" else "no"] in turn.text
    assert found >= 3


@pytest.mark.parametrize("motion", MOTIONS[:3])
@pytest.mark.parametrize("name", ["standard", "custom"])
def test_no_two_turns_are_the_same_in_fifty_rounds(name: str, motion: str) -> None:
    said = [turn.text for turn in play(scene(name, motion, rounds=50))]
    assert len(said) > 150
    assert len(set(said)) == len(said)


PANEL = """
name = "panel"
title = "Panel"
description = "All at once."
rules = "Speak."
[roster]
min = 2
max = 12
[[stages]]
name = "unseen"
rounds = 3
together = true
sees = "none"
ask = "Speak."
[[stages]]
name = "seen"
rounds = 3
together = true
ask = "Answer."
[[stages]]
name = "conclusion"
rounds = 3
ask = "Conclude."
"""


@pytest.mark.parametrize("motion", MOTIONS)
def test_twelve_seats_of_one_side_who_speak_together_say_twelve_things(motion: str) -> None:
    names = "Ada Ben Cy Dee Eve Flo Gil Hal Ida Jo Kim Lou"
    cast = [(name, "pro") for name in names.split()]
    said = [turn.text for turn in play(scene("panel", motion, cast, text=PANEL))]
    assert len(said) == 12 * 9
    assert len(set(said)) == len(said)


def test_what_was_said_before_is_not_said_again() -> None:
    """The same step again, with what it led to among the turns that were heard."""
    debate = scene("classic", MOTIONS[0])
    for stage, kind in (("conclusion", "speech"), ("conclusion", "cue"), ("free", "cue")):
        heard = play(debate)[:9]
        step = Step(9, stage, "host" if kind == "cue" else "ada", kind, "ben", "")  # type: ignore[arg-type]
        for seq in range(100, 105):
            text = compose(debate, step, heard)
            assert text not in {turn.text for turn in heard}
            heard.append(
                dataclasses.replace(heard[-1], seq=seq, actor="elsewhere", kind="cue", text=text)
            )


@pytest.mark.parametrize(
    "text",
    [
        "ok",
        "?",
        "“”",
        "...",
        "一。二三四五六七八九十。",
        "x" * 500,
        "**Bold**\n\n- a\n- b",
        "a {term} {",
    ],
)
def test_it_answers_any_text(text: str) -> None:
    """A debate may mix models and people; what they say has any shape."""
    debate = scene("duel", MOTIONS[0], CAST[:2])
    heard = [dataclasses.replace(play(debate)[0], text=text)]
    debate = debate.but(cursor=schedule.after(debate, 0))
    said = speak(first_call(debate, heard=heard))[0].text
    assert "Ada" in said
    assert 20 <= len(said.split()) <= 90


# --- in a council ---


def answers(turns: Sequence[Turn], number: int) -> dict[str, Any]:
    return {turn.name: turn.data for turn in turns if turn.round == number and turn.data}


@pytest.mark.parametrize("motion", MOTIONS)
def test_a_council_holds_together(motion: str) -> None:
    turns = play(scene("council", motion))
    assert len({turn.text for turn in turns}) == 17
    first, last = answers(turns, 1), answers(turns, 3)
    options = {stand["position"] for stand in (*first.values(), *last.values())}
    assert len(options) == 3
    assert all(on_the_motion(option, motion) for option in options)
    assert first["Proponent"]["position"].startswith("Yes")
    assert first["Critic"]["position"].startswith("No")
    assert len({stand["claim"] for stand in first.values()}) == 5
    assert any(first[role]["position"] != last[role]["position"] for role in first)
    found, verdict = consensus(scene("council", MOTIONS[0]), turns), answers(turns, 5)["Judge"]
    assert found["droppedCitations"] == 0
    assert verdict["choice"] == found["favoured"]
    rejected = [item["option"] for item in verdict["rejectedOptions"]]
    assert sorted(rejected) == sorted(options - {verdict["choice"]})
    stated = {risk for stand in first.values() for risk in stand["risks"]}
    assert {risk["risk"] for risk in verdict["risks"]} <= stated
    for point in [*verdict["whySelected"], *answers(turns, 4)["Synthesizer"]["agreements"]]:
        cited = {turn.name for turn in turns if turn.number in point["turns"]}
        assert cited
        assert all(name in point["text"] for name in cited)
    dues = [date.fromisoformat(item["due"]) for item in verdict["nextActions"]]
    assert sorted(set(dues)) == dues
    assert dues[0] > date.fromisoformat(BEGAN[:10])


@pytest.mark.parametrize("motion", MOTIONS)
def test_challenges_aim_and_are_answered(motion: str) -> None:
    debate = scene("council", motion)
    turns = play(debate)
    first, asked, last = (answers(turns, number) for number in (1, 2, 3))
    targets = debate.rules.stages[1].targets
    for role, target in targets.items():
        (one,) = asked[role]["challenges"]
        assert one["targetRole"] == target
        assert one["claim"].removesuffix(" …") in first[target]["claim"]
        assert one["question"].endswith("?")
    for role, stand in last.items():
        sources = [source for source, target in targets.items() if target == role]
        assert [one["sourceRole"] for one in stand["responses"]] == sources
        for one in stand["responses"]:
            assert asked[one["sourceRole"]]["challenges"][0]["question"] in one["response"]
        reason = stand["revisions"][0]["reason"]
        heard = [other for other in first if other != role and other in reason]
        assert any(quote in first[heard[0]]["claim"] for quote in quotes(reason))


def test_decisions_differ_from_problem_to_problem() -> None:
    chosen = [answers(play(scene("council", m)), 5)["Judge"]["choice"] for m in MOTIONS]
    assert len({option.partition("“")[0] for option in chosen}) == 3


def test_those_who_speak_together_may_be_heard_in_any_order() -> None:
    debate = scene("council", MOTIONS[0])
    turns = play(debate)
    step = next(turn for turn in turns if turn.round == 3 and turn.name == "Critic")
    asked = Step(3, step.stage, step.actor, "speech", None, "", together=True, answer="revision")
    schema = shapes.schema("revision", BUILT_IN["revision"], {})
    heard = turns[:10]
    said = [
        speak(Call("local", (), 900, 30.0, debate, asked, tuple(order), schema))[0].data
        for order in (heard, heard[4::-1] + heard[:4:-1])
    ]
    assert said[0] == said[1]


LOST: list[list[tuple[int, str]]] = [
    [(1, "Proponent")],
    [(1, "Critic"), (2, "Critic")],
    [(2, role) for role in ROLES],
    [(4, "Synthesizer")],
    [(1, "Judge"), (3, "Judge"), (5, "Judge")],
    [(1, role) for role in ROLES if role != "Analyst"],
    [(3, role) for role in ROLES],
    [(number, role) for number in (1, 2, 3) for role in ROLES],
]


@pytest.mark.parametrize("lost", LOST)
def test_what_was_not_heard_breaks_nothing(lost: Sequence[tuple[int, str]]) -> None:
    turns = play(scene("council", MOTIONS[0]), lost)
    known = {turn.number for turn in turns if turn.status == "ok"}
    for turn in turns:
        assert {int(seq) for seq in re.findall(r"turn:(\d+)", turn.text)} <= known
    asked = answers(turns, 2)
    for role, stand in answers(turns, 3).items():
        heard = {one["sourceRole"] for one in stand["responses"]}
        assert heard <= asked.keys()
        assert all(asked[name]["challenges"][0]["targetRole"] == role for name in heard)
    if (1, "Proponent") in lost and "Critic" in asked:
        assert "not heard" in asked["Critic"]["challenges"][0]["claim"]


def test_it_deals_with_what_others_say() -> None:
    """A council may mix models; their options and claims are their own."""
    words = {"position": "Keep MySQL, but “sharded”", "claim": "It works. " * 60,
             "rationale": "r", "risks": ["Shards {drift}."], "confidence": 0.9}  # fmt: skip
    odd = {"position": "5!", "claim": "y?", "rationale": "r", "risks": [], "confidence": 1}
    turns = play(scene("council", MOTIONS[0]), Critic=words, Synthesizer=odd)
    found, verdict = consensus(scene("council", MOTIONS[0]), turns), answers(turns, 5)["Judge"]
    assert found["droppedCitations"] == 0
    assert verdict["choice"] == found["favoured"]
    named = [verdict["choice"], *(item["option"] for item in verdict["rejectedOptions"])]
    assert words["position"] in named
    assert "Shards {drift}." in {risk["risk"] for risk in verdict["risks"]}


async def run(home: Path, asked: dict[str, Any]) -> tuple[Debate, list[Turn]]:
    async with open_service(Settings(home=home)) as service:
        made = await service.council(asked)
        debate = await service.wait(made.id)
        return debate, list(await service.turns(made.id))


def _unnumbered(turns: Sequence[Turn]) -> dict[tuple[int, str], str]:
    """What was said in the first three rounds, without the numbers of turns."""
    return {
        (turn.round, turn.name): re.sub(r'"turns": \[[\d, ]*\]', "", json.dumps(turn.data))
        for turn in turns
        if turn.round < 4
    }


@pytest.mark.parametrize("motion", [MOTIONS[0], MOTIONS[6]])
def test_the_engine_takes_it(tmp_path: Path, motion: str) -> None:
    debate, turns = asyncio.run(run(tmp_path, {"problem": motion, "outputType": "planning"}))
    folder = next(path for path in tmp_path.rglob(debate.id) if path.is_dir())
    packet = json.loads((folder / "final-packet.json").read_text())
    assert (debate.status, debate.degraded, packet["degraded"]) == ("completed", False, False)
    assert [turn.usage.calls for turn in turns] == [1] * 17
    refs = [ref for ref in packet["trace"]["evidenceRefs"] if ref.startswith("turn:")]
    assert set(refs) <= {f"turn:{turn.number}" for turn in turns}
    assert len(refs) > 5
    # Which of those who speak together is committed first is chance; the words are not.
    again = play(scene("council", motion))
    assert _unnumbered(turns) == _unnumbered(again)


# --- in any shape ---

COUNCIL = play(scene("council", MOTIONS[0]))[:15]
PATTERNS = [
    "^A[0-9]+$",
    "^[a-z]+(-[a-z]+)*$",
    r"^\d{4}-\d\d-\d\d$",
    "^[A-Z]",
    "[.?!]$",
    "^[0-9]{3}$",
]
_NAMED = (
    "position choice option selectedOption claim rationale reasons why risks mitigation severity "
    "turns turn due owner confidence wordings questions responses nextActions agreements same "
    "rejectedOptions challenges revisions id note x headline dueDate would_change"
)
NAMES = st.sampled_from(_NAMED.split())


def bounds(least: int, most: int, low: str, high: str) -> st.SearchStrategy[dict[str, int]]:
    """Two bounds, one of them, or none."""
    both = st.tuples(st.integers(least, most), st.integers(0, 12)).map(
        lambda pair: {low: pair[0], high: pair[0] + pair[1]}
    )
    return both.flatmap(
        lambda made: st.sampled_from([made, {low: made[low]}, {high: made[high]}, {}])
    )


def leaves() -> st.SearchStrategy[dict[str, Any]]:
    def of(kind: str, *more: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Any]:
        return st.one_of(*more).map(lambda part: {"type": kind, **part})

    return st.one_of(
        of("string", bounds(0, 300, "minLength", "maxLength")),
        of("string", st.sampled_from([{"pattern": p} for p in PATTERNS] + [{"format": "date"}])),
        of("integer", bounds(-20, 40, "minimum", "maximum")),
        of("number", bounds(-20, 40, "minimum", "maximum")),
        of("number", st.just({"exclusiveMinimum": 0, "exclusiveMaximum": 1})),
        of("integer", st.just({"exclusiveMinimum": 3, "exclusiveMaximum": 5})),
        st.sampled_from([{"type": "boolean"}, {"type": ["integer", "null"]}, {"const": 7}]),
        st.lists(st.sampled_from(["yes", "no", "high", 3, None]), min_size=1, unique=True).map(
            lambda options: {"enum": options}
        ),
        st.just({"$ref": "#/$defs/Node"}),
    )


def wider(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    fields = st.dictionaries(NAMES, parts, max_size=5)
    tables = fields.flatmap(
        lambda made: st.sets(st.sampled_from(sorted(made)) if made else st.nothing()).map(
            lambda wanted: {"type": "object", "properties": made, "required": sorted(wanted)}
        )
    )
    lists = st.tuples(bounds(0, 5, "minItems", "maxItems"), parts).map(
        lambda pair: {"type": "array", "items": pair[1], **pair[0]}
    )
    maybe = parts.flatmap(
        lambda part: st.permutations([part, {"type": "null"}]).map(lambda both: {"anyOf": both})
    )
    return tables | lists | maybe


NODE = {
    "type": "object",
    "required": ["next", "text"],
    "properties": {
        "text": {"type": "string", "minLength": 1},
        "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
}
SCHEMAS = st.dictionaries(NAMES, st.recursive(leaves(), wider, max_leaves=12), min_size=1).map(
    lambda made: {
        "type": "object",
        "properties": made,
        "required": list(made),
        "$defs": {"Node": NODE},
    }
)


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(schema=SCHEMAS, heard=st.sampled_from([(), COUNCIL[:5], COUNCIL]), kind=st.booleans())
def test_it_fills_in_any_schema(schema: dict[str, Any], heard: Sequence[Turn], kind: bool) -> None:
    debate = scene("council", MOTIONS[0])
    step = Step(4, "own", "judge", "verdict" if kind else "speech", None, "")
    call = Call("local", (), 900, 30.0, debate, step, tuple(heard), schema)
    reply, pieces = speak(call)
    check(reply.data, schema, schema)
    assert reply.data == speak(call)[0].data
    assert reply.text == "".join(pieces) != ""


def check(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> None:
    """As much of JSON Schema as is drawn above."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        null, part = sorted(schema["anyOf"], key=lambda part: part != {"type": "null"})
        check(value, null if value is None and null == {"type": "null"} else part, root)
        return
    if "enum" in schema or "const" in schema:
        assert value in schema.get("enum", [schema.get("const")])
        return
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if value is None:
        assert "null" in kinds
        return
    match kinds[0]:
        case "object":
            assert set(schema["required"]) <= value.keys() <= schema["properties"].keys()
            for name, part in value.items():
                check(part, schema["properties"][name], root)
        case "array":
            assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 99)
            for item in value:
                check(item, schema["items"], root)
        case "string":
            assert isinstance(value, str)
            assert schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 9999)
            assert re.search(schema.get("pattern", ""), value)
            if schema.get("format") == "date":
                assert date.fromisoformat(value) > date.fromisoformat(BEGAN[:10])
        case "boolean":
            assert isinstance(value, bool)
        case _:
            assert isinstance(value, int if kinds[0] == "integer" else int | float)
            assert schema.get("minimum", value) <= value <= schema.get("maximum", value)
            assert schema.get("exclusiveMinimum", value - 1) < value
            assert value < schema.get("exclusiveMaximum", value + 1)


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", "maxLength": 400, **more}


def table(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


def many(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": 6}


def test_a_shape_of_ones_own_is_filled_by_the_names_of_its_fields() -> None:
    whole = {"type": "integer"}
    stated = sorted(
        {turn.data["position"] for turn in COUNCIL if turn.data and "position" in turn.data}
    )
    ballot = table(
        reasons=many(table(text=text(), turns=many(whole)), 1),
        against=table(text=text(), turns=many(whole)),
        choice={"enum": [*stated, "undecided"]},
        confidence={"type": "number", "minimum": 0, "maximum": 1},
        would_change=text(),
        questions=many(text(), 1),
        same=many(table(option=text(), wordings=many(text(), 1)), 1),
        owner=text(),
        due=text(format="date"),
        severity={"enum": ["high", "medium", "low"]},
    )
    debate = scene("council", MOTIONS[0])
    step = Step(4, "jury", "judge", "verdict", None, "", answer="ballot")
    made = speak(Call("local", (), 900, 30.0, debate, step, tuple(COUNCIL), ballot))[0].data
    assert made is not None
    check(made, ballot, ballot)
    assert made["choice"] == consensus(scene("council", MOTIONS[0]), COUNCIL)["favoured"]
    for reason in (*made["reasons"], made["against"]):
        assert reason["turns"]
        assert set(reason["turns"]) <= {turn.number for turn in COUNCIL}
    assert len({reason["text"] for reason in (*made["reasons"], made["against"])}) > 1
    assert all(question.endswith("?") for question in made["questions"])
    assert set(made["same"][0]["wordings"]) <= set(stated)
    assert made["owner"] in ROLES
    alone = speak(Call("local", (), 900, 30.0, debate, step, (), ballot))[0].data
    assert alone is not None
    assert alone["choice"] in {*stated, "undecided"}
    assert all(reason["turns"] == [] for reason in alone["reasons"])


def test_a_side_chooses_its_own_word() -> None:
    votes = table(vote={"enum": ["undecided", "no", "yes"]})
    for name, stance, vote in (("Ada", "pro", "yes"), ("Ben", "con", "no")):
        cast = [(name, stance), ("Cy", "neutral")]
        data = speak(first_call(scene("duel", MOTIONS[0], cast), votes))[0].data
        assert data == {"vote": vote}
