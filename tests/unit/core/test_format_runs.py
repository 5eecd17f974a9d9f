"""A format that validates runs to its end, whatever its file says; the others are refused."""

# ruff: noqa: E501  a table reads best with one case a line

import asyncio
import copy
import json
import tomllib
from collections import Counter
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, given, note, settings
from hypothesis import strategies as st
from tests.stress import examples

from moot.bootstrap import open_service
from moot.core import codec, council, moves, packet, prompts, request, schedule, shapes, verbs
from moot.core.change import Change, Decided, Ended, Record, Spoken
from moot.core.clean import clean
from moot.core.debate import Debate, Decision, Turn
from moot.core.events import StatusChanged, TurnCommitted
from moot.core.format import (
    PACKET_ROLES,
    PACKET_STAGES,
    Format,
    from_json,
    parse,
    read_table,
    to_json,
)
from moot.core.schedule import Step, Wave
from moot.errors import InputError
from moot.models.understudy import _answer
from moot.ports import Call
from moot.settings import Settings
from moot.store import files

AT = "2026-11-15T12:00:00.000Z"
NAMES = ("Ada", "Ben", "Cleo", "Dov")
ROLES: tuple[str, ...] = ("Proponent", "Critic", "Host", "Judge")
COUNCIL: dict[str, Any] = tomllib.loads(
    resources.files("moot.formats").joinpath("council.toml").read_text("utf-8")
)


# --- the whole schema ---


def _text(draw: st.DrawFn, usual: str) -> str:
    """Mostly plain; at times with something in braces, or a character that nobody sees."""
    odd = ["{name}", "{target} and {motion}", "{round}/{rounds}", "{{stage}}", "{name!r}",
           "{round:d}", "{name!x}", "{name.x}", "{name[0]}", "{}", "{0}", "{name:{round}}", "{nme}",
           "{", "}", "a\x00b", "a\x1bb", "é\n\tü"]  # fmt: skip
    return f"{usual} {draw(st.sampled_from(odd))}" if _rarely(draw) else usual


def _rarely(draw: st.DrawFn) -> bool:
    """Whether to be wrong: so seldom that most files are right."""
    return draw(st.integers(0, 11)) == 11


def _maybe(
    draw: st.DrawFn, into: dict[str, Any], field: str, values: st.SearchStrategy[Any]
) -> None:
    if draw(st.booleans()):
        into[field] = draw(values)


def _stage(
    draw: st.DrawFn, place: int, roles: list[str], options: list[str], host: str
) -> dict[str, Any]:
    stage: dict[str, Any] = {"name": f"stage{place}", "ask": _text(draw, "Speak.")}
    if draw(st.booleans()):
        odd = ["summary", "judge", "open-floor", f"stage{place - 1}"]
        stage["name"] = draw(st.sampled_from(odd[:3] if place == 0 else odd))
    who: list[Any] = ["participants"]
    who += ["host"] if host != "none" or _rarely(draw) else []
    who += [roles[:1], roles[1:] or roles, *([[]] if _rarely(draw) else [])] if roles else []
    stage["speakers"] = draw(st.sampled_from(who))
    stage["kind"] = draw(st.sampled_from(["speech", "speech", "speech", "summary", "verdict"]))
    if place == 0 or _rarely(draw):
        _maybe(draw, stage, "prelude", st.booleans())
    single = stage.get("prelude") or stage["speakers"] == "host" or stage["kind"] != "speech"
    if not single or _rarely(draw):
        _maybe(draw, stage, "rounds", st.sampled_from([0, 1, 1, 2, 3, *options, *options]))
    cued = stage["speakers"] == "participants" and host != "none" and draw(st.booleans())
    if cued or _rarely(draw):
        stage |= {"cued": True, "cue": _text(draw, "To {target}.")}
    elif draw(st.booleans()):
        stage["together"] = draw(st.booleans())
    if (cued or stage["speakers"] == "host") and host == "optional" and not _rarely(draw):
        stage["needs_host"] = True
    _maybe(draw, stage, "title", st.just("A title"))
    _maybe(draw, stage, "sees", st.sampled_from(["all", "none", "own"]))
    shape = st.sampled_from(["text", *shapes.SHAPES])
    _maybe(draw, stage, "answer", shape if roles else shape.filter(lambda x: x != "challenge"))
    if roles and (stage.get("answer") == "challenge" or draw(st.booleans())):
        stage["targets"] = {role: draw(st.sampled_from(roles)) for role in roles}
        if _rarely(draw):
            stage["targets"].pop(roles[0])
    return stage


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """A format file as somebody may write it, right or wrong."""
    roles: list[str] = draw(
        st.just(list[str]()) | st.lists(st.sampled_from(ROLES), unique=True, min_size=1)
    )
    roster: dict[str, Any] = {"roles": roles} if roles else {}
    if not roles:
        roster["min"] = draw(st.integers(1, 3))
        _maybe(draw, roster, "max", st.integers(1 if _rarely(draw) else roster["min"], 4))
        _maybe(draw, roster, "order", st.sampled_from(["given", "stance"]))
        _maybe(draw, roster, "host", st.sampled_from(["required", "optional", "none"]))
    options = {
        name: {"default": draw(st.integers(1, 2)), "min": draw(st.integers(0, 1)), "max": 2,
               "help": "How often."}
        for name in draw(st.lists(st.sampled_from(["often", "laps"]), unique=True))
    }  # fmt: skip
    count = draw(st.integers(1, 4))
    table: dict[str, Any] = {
        "name": "drawn",
        "title": "Drawn",
        "description": _text(draw, "Drawn by lot."),
        "rules": _text(draw, "Be kind."),
        "roster": roster,
        "options": options,
        "stages": [
            _stage(draw, place, roles, list(options), roster.get("host", "none"))
            for place in range(count)
        ],
    }
    _maybe(draw, table, "max_turns", st.integers(1, 20))
    _maybe(draw, table, "ends", st.sampled_from(["finished", "max_rounds", "max_turns"]))
    _maybe(draw, table, "on_failure", st.sampled_from(["pause", "degrade"]))
    _maybe(draw, table, "outcome", st.just("packet" if _rarely(draw) else "transcript"))
    if draw(st.booleans()):
        table["closing"] = _text(draw, "Close it.")
    return table


@st.composite
def councils(draw: st.DrawFn) -> dict[str, Any]:
    """The council's own file with up to two fields changed, the right way or the wrong."""
    table: dict[str, Any] = copy.deepcopy(COUNCIL) | {"name": "drawn"}
    for _ in range(draw(st.integers(0, 2))):
        stage = draw(st.sampled_from(table["stages"]))
        change: dict[str, st.SearchStrategy[Any]] = {
            "ask": st.just("Say it, {name}, to {target}."),
            "title": st.just("Another"),
            "sees": st.sampled_from(["all", "own", "none"]),
            "together": st.booleans(),
            "needs_host": st.booleans(),
            "prelude": st.booleans(),
            "rounds": st.sampled_from([0, 1, 2]),
            "kind": st.sampled_from(["speech", "summary", "verdict"]),
            "answer": st.sampled_from(["text", *shapes.SHAPES]),
            "name": st.sampled_from(["round1", "round9", "consensus"]),
            "targets": st.dictionaries(st.sampled_from(PACKET_ROLES), st.sampled_from(PACKET_ROLES)),
            "speakers": st.just("participants") | st.lists(st.sampled_from(PACKET_ROLES)),
        }  # fmt: skip
        field = draw(st.sampled_from(list(change)))
        stage[field] = draw(change[field])
    if draw(st.integers(0, 5)) == 0:
        table["stages"] = draw(st.permutations(table["stages"]))
    if draw(st.integers(0, 5)) == 0:
        table["roster"]["roles"] = draw(st.permutations(table["roster"]["roles"]))
    _maybe(draw, table, "on_failure", st.sampled_from(["pause", "degrade"]))
    return table


# --- a debate from beginning to end, without a store ---


class Run:
    """Every move that the engine makes, on a debate in memory; the understudy speaks."""

    def __init__(self, debate: Debate) -> None:
        self.turns: list[Turn] = []
        self.events: list[StatusChanged] = []
        self.heard = prompts.Heard()
        self.debate = debate
        self._take(verbs.open_(debate, True, AT))
        self._take(
            moves.claim(self.debate, owner="me", now=0.0, lease=9.0, at=AT, dead=lambda _: False)
        )

    def _take(self, change: Change) -> None:
        self.debate = change.debate
        for entry in change.events:
            if isinstance(entry, TurnCommitted):
                self.turns.append(entry.turn)
                self.heard.add(entry.turn)
            else:
                self.events.append(entry)

    def to_the_end(self, end_after: int | None = None) -> None:
        """Through every wave; `end_after` so many turns, a person ends it."""
        while isinstance(ahead := schedule.plan(self.debate), Wave):
            codec.debate(self.debate)
            if end_after is not None and len(self.turns) >= end_after:
                self._take(verbs.end(self.debate, AT))
                end_after = None
                continue
            self._take(moves.begin(self.debate, self.debate.fence, ahead.steps, AT))
            for bit, step in zip(ahead.places, ahead.steps, strict=True):
                self._commit(step, bit)
            assert len(self.turns) <= self.debate.limits.max_turns + 1
        if moves.decides(self.debate):
            self._decide()

    def _commit(self, step: Step, bit: int) -> None:
        debate, seat = self.debate, self.debate.seat(step.actor)
        messages, heard = prompts.render(step, debate, self.heard, 8192)
        schema = shapes.schema(step.answer) if step.answer != "text" else None
        call = Call(seat.model, messages, 900, 35.0, debate, step, heard, schema)
        text, data = _answer(call)
        if step.answer != "text":
            data = shapes.read(step.answer, dict(data or {}), step.target)
            text = shapes.spoken(step.answer, data)
        assert clean(text, seat.name, [])
        ended = Ended(debate.usage.calls, "ok", AT)
        kept = dict(data) if data and step.answer != "text" else None
        spoken = Spoken(step, bit, text, seat.model, AT, data=kept)
        self._take(moves.commit(debate, debate.fence, spoken, ended, AT))

    def _decide(self) -> None:
        phases = council.phases_due(self.debate, self.turns, AT)
        assert not council.silent(self.turns, phases)
        consensus, made = council.decided(self.debate, self.turns)
        packet.validate(made)
        scores = consensus["consensusScore"], consensus["confidenceScore"]
        outcome = Decision(*scores, made["decision"]["selectedOption"])
        last = [*phases, *(replace(phases[0], state=s) for s in ("Packetize", "Writeback"))]
        note_ = Record("records/x.json", "decision", "t", "t", AT)
        decided = Decided(tuple(made["nextActions"]), note_)
        fence = self.debate.fence
        self._take(moves.decide(self.debate, fence, outcome, decided, last, AT))


def built(rules: Format, seats: int, options: dict[str, int], hosted: bool) -> Debate:
    cast = [] if rules.roster.roles else [{"name": name} for name in NAMES[:seats]]
    return request.build(
        debate_id="debate_20261115_120000_abcdef",
        at=AT,
        motion="Should we {motion}?",
        rules=rules,
        default_model="local",
        normalize=lambda model: (model, None),
        participants=cast,
        host={} if hosted else None,
        options=options,
    )


CALM = settings(
    max_examples=examples(120),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def run_all(rules: Format, seats: int, options: dict[str, int], end_after: int | None) -> None:
    """With its own defaults it can always be begun; with others, unless that is refused."""
    first = built(rules, rules.roster.min, {}, rules.roster.host == "required")
    debates = [first]
    try:
        debates.append(built(rules, seats, options, rules.roster.host != "none"))
    except InputError as error:
        assert (error.field or "").startswith(("limits", "participants"))  # noqa: PT017
    for debate in debates:
        run = Run(debate)
        run.to_the_end(end_after if debate is not first else None)
        assert run.debate.status == "completed", run.debate
        slots = Counter(
            (t.round, t.actor, t.target if t.kind == "cue" else None) for t in run.turns
        )
        assert max(slots.values()) == 1
        made = files.contents(run.debate, run.turns, run.events)
        assert "report.json" in made
        json.dumps(codec.debate(run.debate))


@CALM
@given(tables(), st.data())
def test_what_validates_runs_to_its_end(table: dict[str, Any], data: st.DataObject) -> None:
    try:
        rules = read_table(table, "drawn.toml")
    except InputError as error:
        event(f"refused: {error.message[:40]}")
        assume(False)
        return
    event("runs")
    note(json.dumps(table))
    options = {n: data.draw(st.integers(o.min, o.max)) for n, o in rules.options.items()}
    seats = data.draw(st.integers(1, 4))
    run_all(rules, seats, options, data.draw(st.none() | st.integers(0, 8)))
    assert from_json(to_json(rules)) == rules


@settings(CALM, max_examples=examples(40))
@given(councils())
def test_a_council_that_validates_comes_to_its_packet(table: dict[str, Any]) -> None:
    try:
        rules = read_table(table, "drawn.toml")
    except InputError:
        event("refused")
        return
    event("runs")
    run = Run(built(rules, 5, {}, False))
    run.to_the_end()
    assert run.debate.status == "completed"
    assert run.debate.outcome


def test_the_council_knows_what_the_check_asks_for() -> None:
    assert council.ROLES == PACKET_ROLES
    assert list(council.STAGE_PHASES) == list(PACKET_STAGES)


# --- by hand ---

BASE = """
name = "mine"
title = "Mine"
description = "Mine."
rules = "Speak."
max_turns = 10

[roster]
roles = ["Ayes", "Noes"]

[[stages]]
name = "talk"
ask = "Speak."
"""
REFUSED = {
    "packet": ('outcome = "packet"\nmax_turns = 10', "max_turns = 10", "field outcome: a packet needs exactly the roles Proponent, Critic"),
    "conversion": ('ask = "Speak, {name!r}."', 'ask = "Speak."\n', "stage 'talk', field ask: {name!r} is not"),
    "spec": ('ask = "Speak, {round:d}."', 'ask = "Speak."\n', "stage 'talk', field ask: {round:d} is not"),
    "nested": ('ask = "Speak, {name:{round}}."', 'ask = "Speak."\n', "stage 'talk', field ask: {name:{round}} is"),
    "closing": ('closing = "End, {nme}."\nmax_turns = 10', "max_turns = 10", "field closing: {nme} is not"),
    "closing brace": ('closing = "End {"\nmax_turns = 10', "max_turns = 10", "field closing: a brace"),
    "nobody": ('ask = "Speak."\nspeakers = []', 'ask = "Speak."\n', "stage 'talk', field speakers: the list is empty"),
    "no target": ('ask = "Speak."\nanswer = "challenge"\n[stages.targets]\nAyes = "Noes"', 'ask = "Speak."\n', "stage 'talk', field targets: whom does the Noes challenge"),
    "after the endless": ('ask = "Speak."\nrounds = 0\n[[stages]]\nname = "more"\nspeakers = ["Ayes"]\nask = "On."', 'ask = "Speak."\n', "stage 'more', field speakers: it comes after 'talk'"),
    "too long": ('ask = "Speak."\nrounds = 1001', 'ask = "Speak."\n', "stages: they ask for 2,002 turns"),
    "no room": ('ask = "Speak."\nrounds = 0\ntogether = true', 'ask = "Speak."\n', "field max_turns: 1 leaves no turn for the stage 'talk'"),
    "too many": (f'roles = {json.dumps(["R" + "abcdefghijklm"[n] for n in range(13)])}', 'roles = ["Ayes", "Noes"]', "field roster.roles: 12 roles"),
    "hidden": ('ask = "Speak \\u0000."', 'ask = "Speak."\n', "field stages[0].ask: the character U+0000"),
    "deep": (f"rules = {'[' * 3000}", 'rules = "Speak."', "it is nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_format_that_cannot_run_is_refused(mistake: str) -> None:
    new, old, words = REFUSED[mistake]
    assert old in BASE
    text = BASE.replace(old, new.rstrip("\n") + "\n" * old.endswith("\n"), 1)
    text = text.replace("max_turns = 10", "max_turns = 1") if mistake == "no room" else text
    with pytest.raises(InputError) as error:
        parse(text, "mine.toml")
    assert error.value.message.startswith(f"mine.toml: {words}")


def test_the_rules_of_a_debate_that_began_before_are_read_as_they_are() -> None:
    old = tomllib.loads(BASE) | {"outcome": "packet", "closing": "End, {nme}."}
    rules = Format.model_validate(old)
    assert from_json(to_json(rules)) == rules


def test_a_copy_of_the_council_with_other_words_comes_to_its_packet(tmp_path: Path) -> None:
    text = resources.files("moot.formats").joinpath("council.toml").read_text("utf-8")
    text = text.replace('name = "council"', 'name = "panel"', 1)
    text = text.replace('title = "Council"', 'title = "Panel"', 1)
    text = text.replace("Decide. Name", "{name}, decide, and be brief. Name")
    text = text.replace('name = "round2"', 'name = "round2"\ntitle = "Doubts"')
    text = text.replace('Judge = "Synthesizer"', 'Judge = "Proponent"')
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "panel.toml").write_text(text)

    async def run() -> Debate:
        async with open_service(Settings(home=tmp_path, pace=0.0)) as service:
            debate = await service.create("Should we move to Postgres?", format="panel")
            return await service.wait(debate.id)

    debate = asyncio.run(run())
    assert (debate.status, debate.degraded) == ("completed", False)
    assert debate.outcome
    folder = tmp_path / "records" / "debates" / debate.id
    assert json.loads((folder / "final-packet.json").read_bytes())["decision"]["selectedOption"]
