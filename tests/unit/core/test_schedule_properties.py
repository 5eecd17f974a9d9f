"""Any format, any roster: the plan ends, says nothing twice, and can be found again from turns."""

import random
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from tests.stress import examples

from moot.core import ladder, legs, moves, request, schedule, verbs
from moot.core.debate import NO_USAGE, Cursor, Debate, Phase, StepKey, Turn, Usage
from moot.core.format import Format, parse
from moot.core.phases import phases, phases_due
from moot.core.schedule import END, Finish, Step, Wave

AT = "2026-11-15T12:00:00.000Z"
COUNCIL = parse(
    resources.files("moot.formats").joinpath("council.toml").read_text("utf-8"), "council.toml"
)
NAMES = ("Ada", "Ben", "Cleo", "Dov", "Edda", "Finn")
CALM = settings(
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


# --- formats, rosters and options that are valid by construction ---


def _stage(draw: st.DrawFn, name: str, host: str, rounds: int | str = 1) -> dict[str, Any]:
    """A stage of participants: in sequence, together or, where there is a host, cued."""
    ways = ["sequence", "together", *(["cued"] if host != "none" else [])]
    way = draw(st.sampled_from(ways))
    stage: dict[str, Any] = {"name": name, "rounds": rounds, "ask": f"Speak in {name}, {{name}}."}
    if way == "together":
        stage["together"] = True
    if draw(st.booleans()):
        stage |= {"answer": "position", "until": draw(st.sampled_from([None, "agreement"]))}
    if way == "cued":
        stage |= {"cued": True, "cue": "Round {round} of {rounds}: the floor is {target}'s."}
        stage["needs_host"] = host == "optional"
    return stage


def _hosts_stage(name: str, host: str, **more: Any) -> dict[str, Any]:
    asks = {"name": name, "speakers": "host", "ask": "Speak as the host of: {motion}"}
    return {**asks, "needs_host": host == "optional", **more}


@st.composite
def formats(draw: st.DrawFn, odd_summary: bool = False) -> Format:
    """With `odd_summary`, participants sum up too, or a summary is not the last of it."""
    host = draw(st.sampled_from(["none", "optional", "required"]))
    options: dict[str, Any] = {}

    def rounds(name: str, endless: bool) -> int | str:
        low = 0 if endless else 1
        if draw(st.booleans()):
            return draw(st.integers(low, 3))
        low = draw(st.integers(low, 1))
        options[name] = {"default": 1, "min": low, "max": 3, "help": "How often."}
        return name

    stages: list[dict[str, Any]] = []
    if draw(st.booleans()):
        opens = host != "none" and draw(st.booleans())
        first = _hosts_stage("prelude", host) if opens else _stage(draw, "prelude", host)
        stages.append(first | {"prelude": True})
    count = draw(st.integers(1, 3))
    for place in range(count):
        last = place == count - 1
        endless = last and draw(st.booleans())
        stages.append(_stage(draw, f"stage{place}", host, rounds(f"often{place}", endless)))
        if not last and host != "none" and draw(st.integers(0, 4)) == 0:
            stages.append(_hosts_stage(f"word{place}", host))
    if all(stage.get("needs_host") for stage in stages):
        stages[-1] = {
            key: value
            for key, value in stages[-1].items()
            if key not in ("cued", "cue", "needs_host")
        }
    bounded = all(
        stage.get("rounds", 1) != 0 and options.get(str(stage.get("rounds")), {}).get("min") != 0
        for stage in stages
    )
    if odd_summary and (host == "none" or draw(st.booleans())) and bounded:
        stages.append(_stage(draw, "summary", host) | {"kind": "summary"})
        if draw(st.booleans()):
            stages.append(_stage(draw, "afterwards", host))
    elif host != "none" and (odd_summary or draw(st.booleans())):
        stages.append(_hosts_stage("summary", host, kind="summary"))
    low = draw(st.integers(1, 3))
    return Format.model_validate(
        {
            "name": "drawn",
            "title": "Drawn",
            "description": "Drawn by lot.",
            "rules": "Be kind.",
            "max_turns": 60,
            "roster": {
                "min": low,
                "max": draw(st.integers(low, 6)),
                "host": host,
                "order": draw(st.sampled_from(["given", "stance"])),
            },
            "options": options,
            "stages": stages,
        }
    )


def _turns_of(rules: Format, seats: int, hosted: bool, options: dict[str, int]) -> tuple[int, int]:
    """How many turns have a count of their own, and how many one unit of the endless one takes."""
    fixed, unit = 0, 0
    for stage in rules.stages:
        if stage.needs_host and not hosted:
            continue
        rounds = options[stage.rounds] if isinstance(stage.rounds, str) else stage.rounds
        if rounds == 0:
            unit = seats if stage.together else 2 if stage.cued else 1
        speakers = 1 if stage.speakers == "host" else seats
        fixed += rounds * speakers * (2 if stage.cued else 1)
    return fixed, unit


juries = st.fixed_dictionaries(
    {"size": st.integers(1, 5), "swap": st.booleans(), "baseline": st.booleans()}
)


def ballots(debate: Debate) -> int:
    """How many a jury casts."""
    return len(debate.jury.seats) * len(debate.jury.readings) if debate.jury else 0


@st.composite
def debates(draw: st.DrawFn, odd_summary: bool = False, voted: bool | None = None) -> Debate:
    """`voted`: whether a jury decides; None: perhaps."""
    rules = draw(formats(odd_summary=odd_summary))
    seats = draw(st.integers(rules.roster.min, rules.roster.max))
    stances = st.sampled_from(["pro", "con", "neutral"])
    hosted = rules.roster.host == "required" or (
        rules.roster.host == "optional" and draw(st.booleans())
    )
    options = {
        name: draw(st.integers(option.min, option.max)) for name, option in rules.options.items()
    }
    fixed, unit = _turns_of(rules, seats, hosted, options)
    limits: dict[str, Any] = {}
    if unit:
        limits["max_turns"] = fixed + unit + draw(st.integers(0, 3 * seats))
    elif draw(st.booleans()):
        limits["max_turns"] = fixed + draw(st.integers(0, 5))
    debate = request.build(
        debate_id="debate_20261115_120000_abcdef",
        at=AT,
        motion="Any {motion} at all",
        rules=rules,
        default_model="local",
        normalize=lambda model: (model, None),
        participants=[{"name": name, "stance": draw(stances)} for name in NAMES[:seats]],
        host={} if hosted else None,
        options=options,
        limits=limits,
        jury=draw(juries) if voted or (voted is None and draw(st.booleans())) else None,
    )
    spoken = schedule.total(debate) - ballots(debate)
    if not unit:
        assert spoken == fixed
    else:
        assert fixed + unit <= spoken <= debate.limits.max_turns
    return debate.but(status="running")


# --- a debate that is only walked through ---


def turn_of(step: Step, seq: int, position: str = "Yes") -> Turn:
    return Turn(
        seq=seq,
        round=step.round,
        stage=step.stage,
        actor=step.actor,
        name=step.actor,
        kind=step.kind,
        target=step.target,
        instruction=None,
        text="So be it.",
        data={"position": position} if step.answer == "position" else None,
        status="ok",
        error_code=None,
        model="local",
        usage=NO_USAGE,
        started_at=AT,
        committed_at=AT,
    )


@dataclass(frozen=True)
class Prefix:
    """How far a debate has come: the debate with its cursor kept, and what was said."""

    debate: Debate
    turns: tuple[Turn, ...]


def walk(debate: Debate, shuffle: random.Random, turns: tuple[Turn, ...] = ()) -> list[Prefix]:
    """Every prefix, the whole last; the turns of a wave are committed in any order."""
    prefixes = [Prefix(debate, turns)]
    while isinstance(ahead := schedule.plan(prefixes[-1].debate), Wave):
        debate, turns = prefixes[-1].debate, prefixes[-1].turns
        pick = shuffle.randrange(len(ahead.steps))
        step = ahead.steps[pick]
        spoken = (*turns, turn_of(step, len(turns) + 1, shuffle.choice(("Yes", "yes.", "No"))))
        said = schedule.answers_in(spoken, step.round)
        agrees = schedule.agreed(debate, step.stage, said)
        moved = debate.but(
            cursor=schedule.after(debate, step.bit, agrees=agrees),
            round=step.round,
            stage=step.stage,
            turn_count=debate.turn_count + 1,
        )
        prefixes.append(Prefix(moved, spoken))
        assert len(turns) < 2000, "the plan does not end"
    return prefixes


def key_of(turn: Turn) -> StepKey:
    return (turn.round, turn.actor, turn.target if turn.kind == "cue" else None)


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_the_plan_ends_and_says_nothing_twice(debate: Debate, shuffle: random.Random) -> None:
    expected = schedule.total(debate)
    prefixes = walk(debate, shuffle)
    turns = prefixes[-1].turns
    note(f"{[(t.round, t.stage, t.actor, t.kind, t.target) for t in turns]}")
    assert len(turns) <= expected <= debate.limits.max_turns + ballots(debate)
    assert len(turns) == expected or any(stage.until for stage in debate.rules.stages)
    assert schedule.total(prefixes[-1].debate) == len(turns)
    assert len({key_of(turn) for turn in turns}) == len(turns)
    rounds = [turn.round for turn in turns if not turn.actor.startswith("juror")]
    assert rounds == sorted(rounds)  # those of a jury are held together
    rounds += [turn.round for turn in turns if turn.actor.startswith("juror")]
    assert set(rounds) <= set(range(max(rounds) + 1))
    assert all((turn.round == 0) == (turn.stage == "prelude") for turn in turns)
    finish = schedule.plan(prefixes[-1].debate)
    assert isinstance(finish, Finish)
    assert prefixes[-1].debate.cursor == END


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_everyone_speaks_once_a_round_and_each_is_cued_first(
    debate: Debate, shuffle: random.Random
) -> None:
    turns = walk(debate, shuffle)[-1].turns
    stages = {stage.name: stage for stage in debate.rules.stages}
    last_round = {turn.stage: turn.round for turn in turns}
    endless = {
        stage.name
        for stage in debate.rules.stages
        if (debate.options[stage.rounds] if isinstance(stage.rounds, str) else stage.rounds) == 0
    }
    heard: dict[tuple[int, str], list[str]] = {}
    for before, turn in zip((None, *turns), turns, strict=False):
        if turn.kind == "cue":
            continue
        if stages[turn.stage].cued:
            assert before is not None
            assert (before.kind, before.target, before.round) == ("cue", turn.actor, turn.round)
        heard.setdefault((turn.round, turn.stage), []).append(turn.actor)
    for (round_, stage), actors in heard.items():
        assert len(actors) == len(set(actors))
        if stages[stage].speakers == "host":
            assert actors == ["host"]
        elif stages[stage].speakers == "jury":
            assert debate.jury
            assert set(actors) == {seat.id for seat in debate.jury.seats}
        elif stage not in endless or round_ < last_round[stage]:
            assert set(actors) == {seat.id for seat in debate.participants}


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_the_cursor_rebuilt_from_the_turns_is_the_one_kept(
    debate: Debate, shuffle: random.Random
) -> None:
    for prefix in walk(debate, shuffle):
        lost = prefix.debate.but(cursor=Cursor(7, "nowhere", "nobody", None, 3))
        spoken = list(prefix.turns)
        assert schedule.rebuild(lost, spoken) == prefix.debate.cursor
        shuffle.shuffle(spoken)
        assert schedule.rebuild(lost, spoken) == prefix.debate.cursor


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_a_stage_until_agreement_ends_with_the_first_round_in_which_all_agree(
    debate: Debate, shuffle: random.Random
) -> None:
    turns = walk(debate, shuffle)[-1].turns
    for leg in legs.legs_of(debate):
        rounds = sorted({turn.round for turn in turns if turn.stage == leg.stage.name})
        for number in rounds if leg.stage.until else ():
            heard = [turn for turn in turns if turn.round == number and turn.kind == "speech"]
            words = {(turn.data or {})["position"].rstrip(".").lower() for turn in heard}
            everyone = len(heard) == len(leg.speakers)
            assert (number == rounds[-1]) or len(words) > 1 or not everyone
            if number == rounds[-1] and (len(words) > 1 or not everyone):
                assert len(rounds) == -(-leg.units // leg.round_units), "it went to its end"


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_a_persons_note_does_not_move_the_cursor(debate: Debate, shuffle: random.Random) -> None:
    for prefix in walk(debate, shuffle):
        if not prefix.turns:
            continue
        noted = replace(prefix.turns[-1], kind="note", actor="you", target=None)
        assert schedule.rebuild(prefix.debate, [*prefix.turns, noted]) == prefix.debate.cursor


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_the_plan_is_the_same_every_time_and_reads_no_turns(
    debate: Debate, shuffle: random.Random
) -> None:
    for prefix in walk(debate, shuffle):
        planned = schedule.plan(prefix.debate)
        other = prefix.debate.but(
            turn_count=999,
            round=77,
            stage="nowhere",
            last_seq=4711,
            usage=Usage(1, 2, 3.0, 4),
            fence=9,
        )
        assert schedule.plan(other) == planned
        legs._legs.cache_clear()
        assert schedule.plan(prefix.debate) == planned
        if isinstance(planned, Wave):
            assert planned.steps
            assert len({step.bit for step in planned.steps}) == len(planned.steps)


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_a_step_that_opens_a_stage_says_so(debate: Debate, shuffle: random.Random) -> None:
    stage: str | None = None
    for prefix in walk(debate, shuffle):
        ahead = schedule.plan(prefix.debate)
        if isinstance(ahead, Wave) and not prefix.debate.cursor.done:
            opened = {step.next_stage for step in ahead.steps}
            assert opened == {ahead.steps[0].stage if ahead.steps[0].stage != stage else None}
            stage = ahead.steps[0].stage
            assert all(step.target_id == (step.target or step.actor) for step in ahead.steps)


def check_closing(prefix: Prefix) -> None:
    """Ended here, one summary follows, in a round of its own, and the turns lead there too."""
    ended = verbs.end(prefix.debate, AT).debate
    assert (ended.status, ended.cursor) == ("ending", schedule.closing(prefix.debate))
    assert schedule.rebuild(ended, prefix.turns) == ended.cursor
    ahead = schedule.plan(ended)
    assert isinstance(ahead, Wave)
    assert len(ahead.steps) == 1
    step = ahead.steps[0]
    assert (step.kind, step.actor, step.target) == ("summary", ended.seats[0].id, None)
    last = max((turn.round for turn in prefix.turns), default=0)
    jury = next((leg for leg in legs.legs_of(prefix.debate) if leg.readings), None)
    if jury and last >= jury.first_round:  # however many of its rounds have begun
        last = jury.first_round + len(jury.readings) - 1
    assert step.round == last + 1
    assert step.instruction
    assert schedule.total(ended) == len(prefix.turns) + 1
    closed = ended.but(cursor=schedule.after(ended, step.bit), turn_count=ended.turn_count + 1)
    assert closed.cursor == END
    assert schedule.rebuild(closed, [*prefix.turns, turn_of(step, 0)]) == END
    assert schedule.plan(closed) == Finish("ended_by_user")


@CALM
@given(debates(), st.randoms(use_true_random=False))
def test_ended_anywhere_one_summary_follows(debate: Debate, shuffle: random.Random) -> None:
    for prefix in walk(debate, shuffle)[:-1]:
        check_closing(prefix)


@CALM
@given(debates(odd_summary=True), st.randoms(use_true_random=False))
def test_so_too_in_a_format_where_summaries_are_not_the_hosts_last_word(
    debate: Debate, shuffle: random.Random
) -> None:
    for prefix in walk(debate, shuffle)[:-1]:
        check_closing(prefix)


# --- a budget that runs out ---


@st.composite
def deciding(draw: st.DrawFn) -> Debate:
    """A debate with an outcome: any format with a jury, or a council with or without one."""
    if draw(st.booleans()):
        debate = draw(debates(voted=True))
    else:
        debate = request.build(
            debate_id="debate_20261115_120000_abcdef",
            at=AT,
            motion="Any motion",
            rules=COUNCIL,
            default_model="local",
            normalize=lambda model: (model, None),
            jury=draw(st.none() | juries),
        ).but(status="running")
    return debate.but(phases=(Phase("Intake", AT, "ok"),))


def cut(debate: Debate, turns: tuple[Turn, ...], fits: ladder.Fits) -> Debate:
    """What a worker does that finds no room for the next wave."""
    due = phases_due(debate, turns, AT)
    reached = moves.reach(debate, debate.fence, due, AT).debate
    return moves.shorten(reached, debate.fence, ladder.way_on(reached, fits), AT).debate


@CALM
@given(deciding(), st.randoms(use_true_random=False))
def test_cut_anywhere_it_goes_on_to_its_end_and_says_nothing_twice(
    debate: Debate, shuffle: random.Random
) -> None:
    chosen = shuffle.choice(walk(debate, shuffle)[:-1])
    debate, turns = chosen.debate, chosen.turns
    rest: list[Prefix] = []
    while not rest or rest[0].debate.cursor != END:  # each cut leaves less of it
        before = schedule.total(debate)
        debate = cut(debate, turns, lambda _, steps: bool(steps) and shuffle.random() < 0.3)
        note(f"{debate.phases} {debate.jury}")
        assert (debate.degraded, debate.stop_reason) == (True, "budget")
        assert len(turns) <= debate.total < before
        rest = walk(debate, shuffle, turns)
        for prefix in rest:
            assert schedule.rebuild(prefix.debate, prefix.turns) == prefix.debate.cursor
            assert schedule.total(prefix.debate) == debate.total
        spoken = rest[-1].turns
        assert len(spoken) == debate.total
        assert len({key_of(turn) for turn in spoken}) == len(spoken)
        over = rest[-1].debate
        due = phases_due(over, spoken, AT)
        held = [phase.state for phase in moves.reach(over, over.fence, due, AT).debate.phases]
        assert held == [state for state in phases(over) if state not in ("Packetize", "Writeback")]
        if len(rest) > 1:
            chosen = shuffle.choice(rest[:-1])
            debate, turns = chosen.debate, chosen.turns
    assert schedule.plan(rest[-1].debate) == Finish("budget")


@CALM
@given(deciding(), st.randoms(use_true_random=False))
def test_a_jury_that_has_begun_to_vote_stays_as_it_is(
    debate: Debate, shuffle: random.Random
) -> None:
    for prefix in walk(debate, shuffle)[:-1]:
        voted = any(turn.actor.startswith("juror") for turn in prefix.turns)
        after = cut(prefix.debate, prefix.turns, lambda *_: False)
        assert after.cursor == END
        assert after.jury == (prefix.debate.jury if voted else None)
