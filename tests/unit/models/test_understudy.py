"""The understudy: a debate that reads like one, word for word the same on every machine."""

import asyncio
import dataclasses
import itertools
import os
import re
import subprocess
import sys
import time
from importlib import resources
from typing import Any

import pytest

from moot.core import format as formats
from moot.core import schedule
from moot.core.clean import clean
from moot.core.debate import Cursor, Debate, Limits, Participant, Turn, Usage
from moot.models.motion import read
from moot.models.understudy import LABEL, Understudy
from moot.models.understudy_lines import lines
from moot.ports import Call, ModelCard, Reply

MOTIONS = [
    "Should a small team write tests before it writes code?",
    "Is remote work better than office work?",
    "What database should we pick?",
    "Cities should ban cars",
    "AI kills jobs",
    "¿Deberían las ciudades prohibir los coches?",
    "城市应该禁止汽车吗",
    'Should we {really} call it "done", “now”?',
    "Should the city council build a new stadium on the old railway yard before 2030?" * 3,
]
FOR = re.compile(r"my answer is yes|in favour|I say yes", re.IGNORECASE)
AGAINST = re.compile(
    r"my answer is no\b|\b(?:speak|tips|remain|me that counts) against|I say no\b", re.IGNORECASE
)
CAST = (("Ada", "pro"), ("Bob", "con"))


def scene(
    name: str,
    motion: str,
    cast: tuple[tuple[str, Any], ...] = CAST,
    host: bool = True,
    **options: int,
) -> Debate:
    """A debate that has not begun."""
    text = resources.files("moot.formats").joinpath(f"{name}.toml").read_text()
    rules = formats.parse(text, name)
    seats = tuple(Participant(f"p{i}", n, "local", stance=s) for i, (n, s) in enumerate(cast))
    chair = Participant("host", "Hedda", "local", role="host")
    chair = chair if host and rules.roster.host != "none" else None
    chosen = {key: options.get(key, option.default) for key, option in rules.options.items()}
    legs = schedule.layout(rules, seats, chair, chosen, options.get("max_turns"))
    limits = Limits(max_turns=sum(leg.turns for leg in legs))
    debate = Debate(
        id=f"debate_{time.time_ns()}", motion=motion, rules=rules, participants=seats, host=chair,
        options=chosen, limits=limits, on_failure="pause", status="running", cursor=Cursor(),
        created_at=str(time.time_ns()), updated_at="",
    )  # fmt: skip
    return dataclasses.replace(debate, cursor=schedule.first(debate))


def speak(call: Call, pace: float = 0.0) -> tuple[Reply, list[str]]:
    pieces: list[str] = []
    return asyncio.run(Understudy(pace).speak(call, pieces.append)), pieces


def play(debate: Debate) -> list[Turn]:
    """Carry a debate to its end."""
    turns: list[Turn] = []
    while isinstance(wave := schedule.plan(debate), schedule.Wave):
        for bit, step in zip(wave.places, wave.steps, strict=True):
            reply, _ = speak(Call("local", (), 900, 30.0, debate, step, tuple(turns)))
            turns.append(
                Turn(
                    len(turns) + 1, step.round, step.stage, step.actor,
                    debate.seat(step.actor).name, step.kind, step.target, step.instruction,
                    reply.text, None, "ok", None,
                    reply.model, reply.usage, "", "",
                )
            )  # fmt: skip
            debate = dataclasses.replace(debate, cursor=schedule.after(debate, bit))
    return turns


def call(
    debate: Debate, schema: dict[str, Any] | None = None, heard: tuple[Turn, ...] = ()
) -> Call:
    wave = schedule.plan(debate)
    assert isinstance(wave, schedule.Wave)
    return Call("local", (), 900, 30.0, debate, wave.steps[0], heard, schema)


def test_it_says_what_it_is() -> None:
    assert Understudy().card("local") == ModelCard("local:understudy", 8192, 0.0, 0.0)
    reply, pieces = speak(call(scene("duel", MOTIONS[0])))
    assert reply.model == LABEL
    assert reply.usage == Usage(calls=1)
    assert "".join(pieces) == reply.text
    assert len(pieces) > 10


def test_the_pace_shows_and_never_outlasts_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    speak(dataclasses.replace(call(scene("duel", MOTIONS[0])), seconds=0.2), pace=60.0)
    assert 0.05 < sum(slept) <= 0.2


SCRIPT = """
import sys; sys.path.insert(0, sys.argv[1])
import test_understudy as t
for turn in t.play(t.scene("classic", t.MOTIONS[0])): print(turn.name, turn.text)
"""


def test_two_processes_say_the_same() -> None:
    here = os.path.dirname(__file__)  # noqa: PTH120 - an argument for another process
    said = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, here], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "4711")
    ]  # fmt: skip
    assert said[0] == said[1]
    assert len(said[0]) > 4000


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", ["standard", "classic", "custom", "duel"])
def test_every_format_reads_like_a_debate(name: str, motion: str) -> None:
    cast = CAST if name == "duel" else (*CAST, ("Cy", "neutral"))
    debate = scene(name, motion, cast)
    turns = play(debate)
    stances = {seat.id: seat.stance for seat in debate.participants}
    names = [seat.name for seat in debate.seats]
    for place, turn in enumerate(turns):
        others = [other for other in names if other != turn.name]
        assert clean(turn.text, turn.name, others) == turn.text
        assert not re.search(r"\{(?!really)|\}(?<!really\})| {2}|\.\.|^\s|\s$", turn.text), (
            turn.text
        )
        count = len(turn.text.split())
        if turn.kind == "cue":
            assert 15 <= count <= 35, turn.text
            assert turn.target is not None
            assert debate.seat(turn.target).name in turn.text
        elif turn.kind == "speech":
            assert 60 <= count <= 120, (count, turn.text)
        stance = stances.get(turn.actor)
        if turn.kind != "speech" or stance is None:
            continue
        own = re.sub(r"“[^”]+”", "", turn.text)
        assert bool(FOR.search(own)) == (stance == "pro"), turn.text
        assert bool(AGAINST.search(own)) == (stance == "con"), turn.text
        if turn.stage != "opening" and place > 1 and turn.round > 1:
            assert names_a_point(turn, turns[:place], stances), turn.text
    if name != "duel":
        assert turns[-1].kind == "summary"
        assert all(seat.name in turns[-1].text for seat in debate.participants)


def names_a_point(turn: Turn, before: list[Turn], stances: dict[str, Any]) -> bool:
    """Whether a turn quotes somebody else's words and says whose they are."""
    across = {"pro": "con", "con": "pro"}.get(stances[turn.actor])
    for quote in re.findall(r"“([^”]+)”", turn.text):
        for other in before:
            fits = other.actor != turn.actor and across in (None, stances.get(other.actor))
            if fits and other.kind == "speech" and quote in other.text and other.name in turn.text:
                return True
    return False


@pytest.mark.parametrize("motion", MOTIONS[:3])
@pytest.mark.parametrize("name", ["standard", "custom"])
def test_nobody_repeats_a_speech_in_fifty_rounds(name: str, motion: str) -> None:
    turns = play(scene(name, motion, host=name == "custom", rounds=50))
    for actor in ("p0", "p1"):
        said = [turn.text for turn in turns if turn.actor == actor]
        assert len(said) == 50
        assert len(set(said)) == 50
        assert len({text.split(". ")[1] for text in said}) > 20


def test_the_answer_is_to_the_last_opposing_turn() -> None:
    turns = play(scene("duel", MOTIONS[3], max_turns=10))
    for before, turn in itertools.pairwise(turns):
        assert before.name in turn.text
        assert any(quote in before.text for quote in re.findall(r"“([^”]+)”", turn.text))


def test_the_summary_quotes_everyone() -> None:
    cast = (("Ada", "pro"), ("Bob", "con"), ("Cy", "neutral"), ("Dee", "pro"), ("Eve", "con"))
    turns = play(scene("standard", MOTIONS[1], cast, rounds=2))
    quotes = re.findall(r"“([^”]+)”", turns[-1].text)
    for name, _ in cast:
        own = " ".join(turn.text for turn in turns[:-1] if turn.name == name)
        assert name in turns[-1].text
        assert any(quote in own for quote in quotes)
    assert "stays open" in turns[-1].text


def test_it_answers_any_text() -> None:
    """A debate may mix models; what they say has any shape."""
    debate = scene("duel", MOTIONS[0])
    first = play(debate)[0]
    debate = dataclasses.replace(debate, cursor=schedule.after(debate, 0))
    for text in [
        "ok",
        "?",
        "“”",
        "一。二三四五六七八九十。",
        "x" * 500,
        "**Bold** claim\n\n- a\n- b",
        "a {thing} {",
    ]:
        heard = (dataclasses.replace(first, text=text),)
        reply, _ = speak(call(debate, heard=heard))
        assert 60 <= len(reply.text.split()) <= 120


def test_seats_differ_and_unknown_stages_work() -> None:
    cast = (("Ada", "pro"), ("Bob", "pro"), ("Cy", "con"))
    turns = play(scene("standard", MOTIONS[3], cast, host=False, rounds=1))
    assert len({turn.text for turn in turns}) == 3
    odd = call(scene("duel", MOTIONS[3]))
    odd = dataclasses.replace(odd, step=dataclasses.replace(odd.step, stage="lightning"))
    assert len(speak(odd)[0].text.split()) >= 60


@pytest.mark.parametrize(
    ("motion", "thing", "claim"),
    [
        ("Should a team test before it writes code?", "testing before writing code",
         "a team should test before it writes code"),
        ("Is remote work better?", "treating remote work as better", "remote work is better"),
        (MOTIONS[2], "settling on a database now", "it is time to settle on a database"),
        (MOTIONS[3], "banning cars", "cities should ban cars"),
        (MOTIONS[4], "a yes to “AI kills jobs”", "the answer to “AI kills jobs” is yes"),
        ("Does remote work help?", "accepting that remote work does help", "remote work does help"),
        ("We must use Go or Rust", "using Go rather than Rust", "we must use Go rather than Rust"),
        ("Tabs or spaces?", "choosing tabs over spaces", "we should choose tabs over spaces"),
        ("Python should not win", "not winning", "Python should not win"),
    ],
)  # fmt: skip
def test_a_motion_in_a_sentence(motion: str, thing: str, claim: str) -> None:
    assert (read(motion).thing, read(motion).claim) == (thing, claim)


def test_every_point_speaks_of_the_motion() -> None:
    for one in lines().considerations:
        for line in (*one.pro, *one.con, *one.neutral):
            assert "{thing}" in line.lower()
            assert line.lower().count("{thing}") == 1


STANCE = {"type": "string", "enum": ["oppose", "undecided", "support"]}
SCHEMAS: list[dict[str, Any]] = [
    {
        "type": "object",
        "required": ["position", "claim", "confidence", "risks"],
        "properties": {
            "position": STANCE,
            "claim": {"type": "string", "minLength": 10, "maxLength": 40},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "risks": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3},
            "sure": {"type": "boolean"},
            "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        },
    },
    {
        "$defs": {
            "Action": {
                "type": "object",
                "required": ["id", "due", "effort", "severity"],
                "properties": {
                    "id": {"type": "string", "pattern": "^A[0-9]+$"},
                    "due": {"type": "string", "format": "date"},
                    "effort": {"type": "integer", "minimum": 3, "maximum": 5},
                    "severity": {"enum": ["high", "medium", "low"]},
                    "after": {"$ref": "#/$defs/Action"},
                },
            }
        },
        "type": "object",
        "required": ["actions"],
        "properties": {
            "actions": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Action"}}
        },
    },
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_structured_answers_satisfy_their_schema(schema: dict[str, Any]) -> None:
    reply, _ = speak(call(scene("duel", MOTIONS[0]), schema))
    assert reply.data is not None
    check(reply.data, schema, schema)
    if "position" in reply.data:
        assert reply.data["position"] == "support"  # Ada speaks for the motion


def check(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> None:
    """As much of JSON Schema as the schemas above need."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "enum" in schema:
        assert value in schema["enum"]
    match schema.get("type"):
        case "object":
            assert set(schema["required"]) <= value.keys() <= schema["properties"].keys()
            for name, part in value.items():
                check(part, schema["properties"][name], root)
        case "array":
            assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 99)
            for item in value:
                check(item, schema["items"], root)
        case "string":
            assert schema.get("minLength", 1) <= len(value) <= schema.get("maxLength", 999)
            assert re.search(schema.get("pattern", ""), value)
            if schema.get("format") == "date":
                assert re.fullmatch(r"\d{4}-\d\d-\d\d", value)
        case "number" | "integer":
            assert schema["minimum"] <= value <= schema["maximum"]
            assert isinstance(value, int) or schema["type"] == "number"
        case "boolean":
            assert isinstance(value, bool)
        case _:
            pass
