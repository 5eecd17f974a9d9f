"""A format that validates runs to its end, whatever its file says; the others are refused."""

# ruff: noqa: E501  a table reads best with one case a line

import asyncio
import copy
import json
import tomllib
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, given, note, settings
from hypothesis import strategies as st
from tests.stress import STRESS, examples

from moot.bootstrap import open_service
from moot.core import answers, moves, prompts, request, schedule, verbs
from moot.core.built_in import BUILT_IN
from moot.core.change import Change, Ended, Spoken
from moot.core.clean import clean
from moot.core.debate import Debate, Turn
from moot.core.events import StatusChanged, TurnCommitted
from moot.core.format import Format, from_json, parse, read_table, to_json
from moot.core.jury import NO_CHOICES
from moot.core.phases import phases_due, stages_over
from moot.core.schedule import Step, Wave
from moot.engine import conclude
from moot.errors import InputError
from moot.models.understudy import Understudy
from moot.outcome.stands import choices, silent
from moot.ports.model_call import Call
from moot.settings import Settings
from moot.store import files
from moot.wire import codec

AT = "2026-11-15T12:00:00.000Z"
NAMES = ("Ada", "Ben", "Cleo", "Dov")
ROLES: tuple[str, ...] = ("Proponent", "Critic", "Host", "Judge")
FIVE = ("Proponent", "Critic", "Analyst", "Synthesizer", "Judge")
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
    draw: st.DrawFn,
    place: int,
    roles: list[str],
    options: list[str],
    host: str,
    own: list[str],
    jury: bool,
) -> dict[str, Any]:
    stage: dict[str, Any] = {"name": f"stage{place}", "ask": _text(draw, "Speak.")}
    if draw(st.booleans()):
        odd = ["summary", "judge", "open-floor", f"stage{place - 1}"]
        stage["name"] = draw(st.sampled_from(odd[:3] if place == 0 else odd))
    who: list[Any] = ["participants"]
    who += ["host"] if host != "none" or _rarely(draw) else []
    who += ["jury"] if jury or _rarely(draw) else []
    who += [roles[:1], roles[1:] or roles, *([[]] if _rarely(draw) else [])] if roles else []
    stage["speakers"] = draw(st.sampled_from(who))
    if stage["speakers"] == "jury" and not _rarely(draw):
        stage |= {"kind": "verdict", "answer": "ballot", "together": True}
        _maybe(draw, stage, "alone", st.just("Vote before you hear it."))
        return stage
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
    _maybe(draw, stage, "answer", st.sampled_from(["text", "position", *BUILT_IN, *own]))
    aimed = stage.get("answer") == "challenge" or (stage.get("answer") in own and "aimed" in own)
    if aimed and not roles and not _rarely(draw):
        stage["answer"] = "position"
    if (stage.get("answer") in STANDS and stage.get("rounds", 1) != 1) or _rarely(draw):
        _maybe(draw, stage, "until", st.just("agreement"))
    for field, values in LIMITS.items():
        _maybe(draw, stage, field, values) if _rarely(draw) else None
    if roles and (aimed or draw(st.booleans())):
        stage["targets"] = {role: draw(st.sampled_from(roles)) for role in roles}
        if _rarely(draw):
            stage["targets"].pop(roles[0])
    return stage


STANDS = ("position", "revision", "ballot", "estimate")
LIMITS: dict[str, st.SearchStrategy[Any]] = {
    "tokens": st.sampled_from([128, 900, 5000, 7]),
    "seconds": st.sampled_from([5.0, 300.0, 1e6]),
    "effort": st.sampled_from(["none", "low", "medium", "high", "utmost"]),
    "on_failure": st.sampled_from(["pause", "degrade"]),
    "outsider": st.booleans(),
}


def _field(draw: st.DrawFn, depth: int = 0) -> dict[str, Any]:
    """A field of an answer, mostly right."""
    kinds = ["line", "text", "share", "date", "choice", "turns", "quotes"]
    kind = draw(st.sampled_from(kinds if depth > 1 else [*kinds, "table"]))
    field: dict[str, Any] = {"type": kind}
    if kind == "choice":
        field |= draw(st.sampled_from([{"choices": ["high", "low"]}, {"of": "challengers"}]))
    if kind == "table":
        names = draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1))
        field["fields"] = {name: _field(draw, depth + 1) for name in names}
    if kind not in ("turns", "quotes") or _rarely(draw):
        _maybe(draw, field, "list", st.just(True))
    if field.get("list"):
        _maybe(draw, field, "min", st.integers(0, 2))
        _maybe(draw, field, "max", st.integers(1 if _rarely(draw) else 2, 4))
    if kind in ("line", "text"):
        _maybe(draw, field, "length", st.integers(20, 300))
    _maybe(draw, field, "help", st.just("What it is."))
    return field


PARTS = ("x", "y", "challenges", "responses", "risks", "questions", "confidence", "same", "turns")
"""Some are called like fields of the built-in answers, and hold something else."""


def _shape(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """An answer of the format's own; `estimate` takes a position, `aimed` has a target."""
    fields = {part: _field(draw) for part in draw(st.lists(st.sampled_from(PARTS), unique=True))}
    if name == "estimate":
        fields["position"] = {"type": "line"}
    if name == "aimed":
        fields["whom"] = {"type": "choice", "of": "target"}
    shape: dict[str, Any] = {"fields": fields or {"x": {"type": "text"}}}
    some = next(iter(shape["fields"]))
    _maybe(
        draw, shape, "reads", st.sampled_from([f"So: {{{some}}}", "Well {{then}}.", "{nothing}"])
    )
    return shape


def _outcome(draw: st.DrawFn, stages: list[dict[str, Any]]) -> dict[str, Any]:
    """Made from the stages that can give it; at times from others."""

    def those(*shapes: str) -> list[str]:
        return [one["name"] for one in stages if one.get("answer") in shapes or _rarely(draw)]

    standing = those(*STANDS)
    outcome: dict[str, Any] = {"stands": list(reversed(standing)) or ["none"]}
    if not standing and draw(st.booleans()):
        return {"packet": False, "record": False, "stands": []}
    for field in ("reading", "verdict"):
        if found := those(field):
            _maybe(draw, outcome, field, st.sampled_from(found))
    _maybe(draw, outcome, "record", st.booleans())
    if not outcome.get("record", True):
        _maybe(draw, outcome, "packet", st.booleans())
    return outcome


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """A format file as somebody may write it, right or wrong."""
    roles: list[str] = draw(
        st.just(list[str]()) | st.lists(st.sampled_from(ROLES), unique=True, min_size=1)
    )
    told = [draw(st.sampled_from([role, {"name": role, "brief": "Mind it."}])) for role in roles]
    roster: dict[str, Any] = {"roles": told} if roles else {}
    if not roles:
        roster["min"] = draw(st.integers(1, 3))
        _maybe(draw, roster, "max", st.integers(1 if _rarely(draw) else roster["min"], 4))
        _maybe(draw, roster, "order", st.sampled_from(["given", "stance"]))
        _maybe(draw, roster, "host", st.sampled_from(["required", "optional", "none"]))
    if draw(st.integers(0, 2)) == 0:
        roster["jury"] = {"size": draw(st.integers(0 if _rarely(draw) else 1, 4))}
        _maybe(draw, roster["jury"], "swap", st.booleans())
        _maybe(draw, roster["jury"], "baseline", st.booleans())
    options = {
        name: {"default": draw(st.integers(1, 2)), "min": draw(st.integers(0, 1)), "max": 2,
               "help": "How often."}
        for name in draw(st.lists(st.sampled_from(["often", "laps"]), unique=True))
    }  # fmt: skip
    count = draw(st.integers(1, 4))
    named = draw(st.lists(st.sampled_from(["estimate", "aimed", "plan"]), unique=True, max_size=2))
    shapes = {name: _shape(draw, name) for name in named}
    table: dict[str, Any] = {
        "name": "drawn",
        "title": "Drawn",
        "description": _text(draw, "Drawn by lot."),
        draw(st.sampled_from(["guidance", "rules"])): _text(draw, "Be kind."),
        "roster": roster,
        "options": options,
        "stages": [
            _stage(
                draw,
                place,
                roles,
                list(options),
                roster.get("host", "none"),
                list(shapes),
                "jury" in roster,
            )
            for place in range(count)
        ],
    }
    if shapes:
        table["answers"] = shapes
    _maybe(draw, table, "max_turns", st.integers(1, 20))
    _maybe(draw, table, "ends", st.sampled_from(["finished", "max_rounds", "max_turns"]))
    _maybe(draw, table, "on_failure", st.sampled_from(["pause", "degrade"]))
    _maybe(draw, table, "outcome", st.just("packet" if _rarely(draw) else "transcript"))
    if draw(st.booleans()):
        table["outcome"] = _outcome(draw, table["stages"])
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
            "answer": st.sampled_from(["text", *BUILT_IN]),
            "name": st.sampled_from(["round1", "round9", "consensus"]),
            "targets": st.dictionaries(st.sampled_from(FIVE), st.sampled_from(FIVE)),
            "speakers": st.just("participants") | st.lists(st.sampled_from(FIVE)),
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
            for step in ahead.steps:
                self._commit(step)
            spoken = [turn for turn in self.turns if not turn.actor.startswith("juror-")]
            assert len(spoken) <= self.debate.limits.max_turns + 1
        if moves.decides(self.debate):
            self._decide()

    def _commit(self, step: Step) -> None:
        debate, seat = self.debate, self.debate.seat(step.actor)
        chosen = choices(debate, self.turns) if debate.rules.result else NO_CHOICES
        messages, heard = prompts.render(step, debate, self.heard, 8192, chosen)
        schema = prompts.schema(step, debate, chosen, self.turns)
        call = Call(seat.model, messages, 900, 35.0, debate, step, heard, schema)
        reply = asyncio.run(Understudy().speak(call, lambda _: None))
        text, data = reply.text, reply.data
        if step.answer != "text":
            data = prompts.read(step, debate, dict(data or {}), chosen, self.turns)
            text = answers.spoken(prompts.shape(step, debate), data)
        assert clean(text, seat.name, [])
        ended = Ended(debate.usage.calls, "ok", AT)
        kept = dict(data) if data and step.answer != "text" else None
        spoken = Spoken(step, text, seat.model, AT, data=kept)
        said = schedule.answers_in(self.turns, step.round) | {step.actor: kept}
        self._take(moves.commit(debate, debate.fence, spoken, ended, AT, said=said))

    def _decide(self) -> None:
        debate, fence = self.debate, self.debate.fence
        assert not silent(debate.rules, self.turns, stages_over(debate))
        self._take(moves.reach(debate, fence, phases_due(debate, self.turns, AT), AT))
        self._take(conclude.decision(self.debate, self.turns, fence, AT))


def built(
    rules: Format, seats: int, options: dict[str, int], hosted: bool, jurors: int | None = None
) -> Debate:
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
        jury=None if jurors is None else {"size": jurors},
    )


CALM = settings(
    max_examples=10_000 if STRESS else 300,  # of those that validate
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def run_all(
    rules: Format, seats: int, options: dict[str, int], jurors: int | None, end_after: int | None
) -> None:
    """With its own defaults it can always be begun; with others, unless that is refused."""
    first = built(rules, rules.roster.min, {}, rules.roster.host == "required")
    debates = [first]
    try:
        debates.append(built(rules, seats, options, rules.roster.host != "none", jurors))
    except InputError as error:
        assert (error.field or "").startswith(("limits", "participants"))  # noqa: PT017
    for debate in debates:
        run = Run(debate)
        run.to_the_end(end_after if debate is not first else None)
        assert run.debate.status == "completed", run.debate
        assert run.debate.total == run.debate.turn_count == len(run.turns)
        slots = Counter(
            (t.round, t.actor, t.target if t.kind == "cue" else None) for t in run.turns
        )
        assert max(slots.values()) == 1
        assert [turn.number for turn in run.turns] == list(range(1, len(run.turns) + 1))
        made = files.contents(run.debate, run.turns, run.events)
        assert "report.json" in made
        result = run.debate.rules.result
        packed = bool(run.debate.outcome and result and result.packet)
        assert ("final-packet.json" in made) == packed
        assert ("verdict.json" in made) == bool(run.debate.outcome)
        ended = run.debate.stop_reason == "ended_by_user"
        assert run.debate.outcome or ended or not (run.debate.jury or result)
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
    jurors = data.draw(st.none() | st.integers(0, 3))
    run_all(rules, seats, options, jurors, data.draw(st.none() | st.integers(0, 8)))
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
    "no position": ('ask = "Speak."\nuntil = "agreement"\nrounds = 2', 'ask = "Speak."\n', "stage 'talk', field until: nobody takes a position in it"),
    "one round": ('ask = "Speak."\nuntil = "agreement"\nanswer = "position"', 'ask = "Speak."\n', "stage 'talk', field until: agreement needs two speakers and several rounds"),
    "alone": ('ask = "Speak."\nuntil = "agreement"\nanswer = "position"\nrounds = 2\nspeakers = ["Ayes"]', 'ask = "Speak."\n', "stage 'talk', field until: agreement needs two speakers"),
    "packet": ('outcome = "packet"\nmax_turns = 10', "max_turns = 10", "field outcome: \"packet\" is for the stages of a council"),
    "conversion": ('ask = "Speak, {name!r}."', 'ask = "Speak."\n', "stage 'talk', field ask: {name!r} is not"),
    "spec": ('ask = "Speak, {round:d}."', 'ask = "Speak."\n', "stage 'talk', field ask: {round:d} is not"),
    "nested": ('ask = "Speak, {name:{round}}."', 'ask = "Speak."\n', "stage 'talk', field ask: {name:{round}} is"),
    "closing": ('closing = "End, {nme}."\nmax_turns = 10', "max_turns = 10", "field closing: {nme} is not"),
    "closing brace": ('closing = "End {"\nmax_turns = 10', "max_turns = 10", "field closing: a brace"),
    "nobody": ('ask = "Speak."\nspeakers = []', 'ask = "Speak."\n', "stage 'talk', field speakers: the list is empty"),
    "no target": ('ask = "Speak."\nanswer = "challenge"\n[stages.targets]\nAyes = "Noes"', 'ask = "Speak."\n', "stage 'talk', field targets: challenge is aimed at somebody. At whom by the Noes?"),
    "after the endless": ('ask = "Speak."\nrounds = 0\n[[stages]]\nname = "more"\nspeakers = ["Ayes"]\nask = "On."', 'ask = "Speak."\n', "stage 'more', field speakers: it comes after 'talk'"),
    "too long": ('ask = "Speak."\nrounds = 1001', 'ask = "Speak."\n', "stages: they ask for 2,002 turns"),
    "no room": ('ask = "Speak."\nrounds = 0\ntogether = true', 'ask = "Speak."\n', "field max_turns: 1 leaves no turn for the stage 'talk'"),
    "too many": (f'roles = {json.dumps(["R" + "abcdefghijklm"[n] for n in range(13)])}', 'roles = ["Ayes", "Noes"]', "field roster.roles: 12 roles"),
    "hidden": ('ask = "Speak \\u0000."', 'ask = "Speak."\n', "field stages[0].ask: the character U+0000"),
    "stands": ('[outcome]\nreading = "talk"\n[roster]', "[roster]", "field outcome.stands: name the stages in which speakers take a position"),
    "edition": ("edition = 2\nmax_turns = 10", "max_turns = 10", "field edition: moot sets it"),
    "no jury": ('ask = "Speak."\n[[stages]]\nname = "vote"\nspeakers = "jury"\nkind = "verdict"\nanswer = "ballot"\ntogether = true\nask = "Vote."', 'ask = "Speak."\n', "stage 'vote', field speakers: say in [roster.jury] who votes"),
    "an early jury": ('[roster.jury]\nsize = 3\n[[stages]]\nname = "vote"\nspeakers = "jury"\nkind = "verdict"\nanswer = "ballot"\ntogether = true\nask = "Vote."\n[[stages]]\nname = "talk"\nask = "Speak."', '[[stages]]\nname = "talk"\nask = "Speak."', "stage 'talk': a jury hears the whole debate"),
    "a jury that talks": ('ask = "Speak."\n[[stages]]\nname = "vote"\nspeakers = "jury"\nask = "Vote."', 'ask = "Speak."\n', "stage 'vote': a jury votes: its stage has"),
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


def test_the_understudy_takes_undecided_for_no_option() -> None:
    """In a verdict it may be undecided; that is not what it stands for when it is asked next."""
    stages = [
        {"name": name, "ask": "Speak.", "speakers": "participants", "answer": answer}
        for name, answer in (("first", "verdict"), ("then", "position"))
    ]
    told = {"title": "t", "description": "d", "guidance": "g", "outcome": {"stands": ["then"]}}
    table = {"name": "drawn", "roster": {"min": 1, "host": "required"}, "stages": stages, **told}
    run_all(read_table(table, "drawn.toml"), 1, {}, None, None)


def test_a_copy_of_the_council_with_other_words_comes_to_its_packet(tmp_path: Path) -> None:
    text = resources.files("moot.formats").joinpath("council.toml").read_text("utf-8")
    text = text.replace('name = "council"', 'name = "panel"', 1)
    text = text.replace('title = "Council"', 'title = "Panel"', 1)
    text = text.replace("Decide. Treat", "{name}, decide, and be brief. Treat")
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


NAMESAKES = """
name = "mine"
title = "Mine"
description = "Mine."
rules = "Speak."

[outcome]
stands = ["talk"]

[[stages]]
name = "talk"
rounds = 2
answer = "odd"
ask = "Speak."

[answers.odd.fields]
challenges = {type = "text"}
risks = {type = "text"}
questions = {type = "line"}
confidence = {type = "line"}
claim = {type = "line", list = true, min = 1}
position = {type = "line"}

[answers.odd.fields.responses]
list = true
min = 1

[answers.odd.fields.responses.fields]
word = {type = "line"}
"""


def test_fields_of_its_own_may_be_called_like_those_of_other_answers() -> None:
    """They are taken for what they are: a text is not a list of risks, letter by letter."""
    rules = parse(NAMESAKES, "mine.toml")
    run = Run(built(rules, 2, {}, False))
    run.to_the_end()
    assert run.debate.outcome
    made = files.contents(run.debate, run.turns, run.events)
    packet = json.loads(made["final-packet.json"])
    assert packet["risks"] == []
    assert packet["consensus"]["confidenceScore"] == 0.0  # nobody said how sure it is
    said = json.loads(made["rounds/round-1.json"])["turns"]
    assert [turn["challenges"] for turn in said] == [[], []]
    assert "report.json" in made
