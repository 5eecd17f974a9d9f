"""A budget that runs out leads a debate with an outcome to one, and a jury's wave to its end."""

import asyncio
import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import settings as settings_
from hypothesis import strategies as st

from moot.core import ladder, prompts, schedule
from moot.core.debate import Debate, Turn, Usage
from moot.core.events import StatusChanged
from moot.core.phases import phases
from moot.core.prompts import Heard
from moot.core.schedule import Wave
from moot.engine import making
from moot.engine.budget import Purse, check_budget
from moot.engine.service import Service
from moot.engine.speaking import Run, Voice
from moot.errors import (
    InputError,
    ProviderAuthError,
    ProviderEmptyError,
    ProviderError,
    ProviderShapeError,
    StateError,
    StorageError,
)
from moot.models.understudy import Understudy
from moot.outcome import packet
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.settings import Settings
from tests.stress import STRESS
from tests.unit.core.test_schedule_properties import debates
from tests.virtual import MODEL, engine, go, until

MOTION = "Should we adopt Postgres?"
NO_JURY = "The budget has no room for a jury, however small"
NO_JUDGE = "The budget has no room for the Judge's verdict: "
SMALL = "The budget has no room for 5 jurors: 3 of them vote."
LADDER = {
    "as asked": (),
    "no baseline": (ladder.NO_BASELINE,),
    "no swap": (ladder.NO_BASELINE, ladder.NO_SWAP),
    "three jurors": (ladder.NO_BASELINE, ladder.NO_SWAP, SMALL),
    "three jurors alone": (
        ladder.NO_BASELINE, ladder.NO_SWAP, SMALL, f"{NO_JUDGE}the jury's votes decide.",
    ),
    "the Judge": (f"{NO_JURY}: the Judge decides.",),
    "the positions": (f"{NO_JURY}.", f"{NO_JUDGE}the positions decide as they stand."),
}  # fmt: skip
"""What the log tells on each rung, of who decides."""
PANEL = """
name = "panel"
title = "Panel"
description = "They speak, and a jury decides."
guidance = "Be brief."
[roster]
min = 2
[roster.jury]
size = 3
[[stages]]
name = "talk"
rounds = 2
ask = "Speak."
[[stages]]
name = "vote"
speakers = "jury"
kind = "verdict"
answer = "ballot"
together = true
ask = "Choose."
[outcome]
packet = false
record = false
"""
"""A format of the user's own: a failing juror pauses it."""
Fails = Callable[[Call], ProviderError | None]


class Metered:
    """Answers every shape, and uses all that the estimate of a call allows, to the last token."""

    def __init__(self, fails: Fails = lambda _: None) -> None:
        self.calls: list[Call] = []
        self.hold: Callable[[Call], bool] = lambda _: False
        self.held = 0
        self.gate = asyncio.Event()
        self._fails = fails
        self._words = Understudy()

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 100_000, 1e-6, 2e-6)

    async def speak(self, call: Call, say: Say) -> Reply:
        self.calls.append(call)
        if self.hold(call) and not self.gate.is_set():
            self.held += 1
            await self.gate.wait()
        tokens = prompts.size(call.messages)
        cost = tokens * 1e-6 + call.max_tokens * 2e-6
        if error := self._fails(call):
            if not error.input_tokens:
                error.input_tokens, error.output_tokens = tokens, call.max_tokens
                error.cost_usd = cost
            raise error
        reply = await self._words.speak(call, say)
        return replace(reply, model=call.model, usage=Usage(tokens, call.max_tokens, cost))


@dataclass
class Ended:
    """A debate that is over, and what is known of it."""

    debate: Debate
    turns: list[Turn]
    told: list[str]
    folder: Path

    @property
    def used(self) -> int:
        return self.debate.usage.input_tokens + self.debate.usage.output_tokens

    @property
    def rung(self) -> str | None:
        """By what the log tells of who decides."""
        words = tuple(one for one in self.told if not one.endswith("so far decides."))
        return next((name for name, said in LADDER.items() if said == words), None)

    def stages(self, outcome: str) -> list[str]:
        return [phase.state for phase in self.debate.phases if phase.outcome == outcome]


async def notices(service: Service, id_: str) -> list[str]:
    events = await service._store.events(id_, 0, 10_000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [one.notice for one in events if isinstance(one, StatusChanged) and one.notice]


async def least(service: Service, limit: str, format_: str = "council", **asked: Any) -> float:
    """The smallest budget that is not refused, as the refusal of a smaller one gives it."""
    tiny = 1 if limit == "max_total_tokens" else 1e-9
    with pytest.raises(InputError, match=r"has no room for .*first") as caught:
        await service.create(MOTION, format=format_, **asked, limits={limit: tiny})
    assert caught.value.field == f"limits.{limit}"
    assert f"the limit is {'1' if tiny == 1 else '0.000000001'}. " in caught.value.message
    return float(caught.value.message.split(" or more")[0].rpartition(" ")[2].replace(",", ""))


async def held(service: Service, format_: str = "council", **asked: Any) -> Ended:
    made = await service.create(MOTION, format=format_, **asked)
    return await ended(service, made.id)


async def ended(service: Service, id_: str) -> Ended:
    debate = await service.wait(id_)
    turns, told = await service.turns(id_), await notices(service, id_)
    over = Ended(debate, turns, told, Path(service.folder(id_)))
    replayed = await service.replay(id_)
    assert replayed["consistency"]["issues"] == []
    if debate.outcome:
        assert schedule.rebuild(debate, turns) == debate.cursor
    calls = await service.attempts(id_)
    assert debate.usage.calls == len(calls)
    keys = [(turn.round, turn.actor) for turn in turns if turn.kind == "verdict"]
    assert len(set(keys)) == len(keys)
    return over


def check_outcome(over: Ended) -> None:
    """It has all that a debate with an outcome has at its end, and says that it is not whole."""
    debate = over.debate
    assert (debate.status, debate.failure) == ("completed", None)
    assert debate.outcome
    assert debate.outcome.outcome
    states = [phase.state for phase in debate.phases]
    assert states == list(phases(debate))
    assert json.loads((over.folder / "verdict.json").read_text())["outcome"]
    if debate.rules.result and debate.rules.result.packet:
        made = json.loads((over.folder / "final-packet.json").read_text())
        packet.validate(made)
        assert made["decision"]["selectedOption"] == debate.outcome.selected_option


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "panel.toml").write_text(PANEL)
    return Settings(home=tmp_path, model=MODEL)


@pytest.mark.parametrize("limit", ["max_total_tokens", "max_cost_usd"])
def test_a_budget_is_refused_if_nobody_could_speak_and_only_then(
    settings: Settings, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a debate that is completed with no turns: the first wave is spoken, or it is refused."""
    step = 1 if limit == "max_total_tokens" else 1e-6

    async def scene() -> None:
        async with engine(settings, Metered()) as service:
            for format_ in ("duel", "standard", "classic", "council", "panel"):
                smallest = await least(service, limit, format_)
                over = await held(service, format_, limits={limit: smallest})
                first = next(iter(schedule.waves(over.debate)))
                assert {step.actor for step in first} <= {turn.actor for turn in over.turns}
                with pytest.raises(InputError, match=f"^{limit} has no room"):
                    await service.create(MOTION, format=format_, limits={limit: smallest - step})
                with pytest.raises(InputError, match=f"^{limit} has no room"):
                    await service.plan(
                        {"motion": MOTION, "format": format_, "limits": {limit: smallest - step}}
                    )
                assert len((await service.find()).debates) == 1 + len(seen)
                with monkeypatch.context() as unguarded:
                    unguarded.setattr(making, "check_budget", lambda *_: None)
                    over = await held(service, format_, limits={limit: smallest - 2 * step})
                assert not [turn for turn in over.turns if turn.kind != "summary"]
                seen.extend((over, over))

    seen: list[Ended] = []
    go(scene(), 100_000)


@settings_(max_examples=60, deadline=None)
@given(debates(), st.integers(1, 30_000))
def test_what_is_refused_and_what_is_spoken_agree(debate: Debate, tokens: int) -> None:
    """For any format, cast and budget: one function decides both."""
    bounds = replace(debate.limits, max_total_tokens=tokens, max_cost_usd=None)
    debate, speaker = debate.but(limits=bounds), Metered()
    run = Run(cast(Any, None), debate.but(status="running"), Heard())
    voice = Voice(cast(Any, None), speaker, cast(Any, None), cast(Any, None))
    ahead = schedule.plan(run.debate)
    assert isinstance(ahead, Wave)
    spoken = isinstance(Purse(run.debate, [], partial(voice.estimate, run)).look(ahead), Wave)
    with nullcontext() if spoken else pytest.raises(InputError, match="has no room"):
        check_budget(debate, speaker.card)


@pytest.mark.sqlite_only
def test_every_budget_ends_in_an_outcome_on_some_rung(settings: Settings) -> None:
    """From no room for a word to room for everything, with speakers who use all they may."""

    async def scene() -> None:
        async with engine(settings, Metered()) as service:
            whole = await held(service, jury={"size": 5})
            assert whole.rung == "as asked"
            assert not whole.debate.degraded
            found: list[tuple[int, str | None]] = []
            smallest = await least(service, "max_total_tokens", jury={"size": 5})
            for step in range(1, 47, 1 if STRESS else 3):
                budget = whole.used * step // 32  # the verdict might have longer ballots to read
                limits = {"max_total_tokens": budget}
                if budget < smallest:
                    with pytest.raises(InputError):
                        await held(service, jury={"size": 5}, limits=limits)
                    continue
                over = await held(service, jury={"size": 5}, limits=limits)
                assert over.used <= budget
                assert [turn for turn in over.turns if turn.data and "position" in turn.data]
                check_outcome(over)
                found.append((budget, over.rung))
                cut = over.rung != "as asked" or bool(over.told)
                reason = "budget" if cut else "finished"
                assert (over.debate.stop_reason, over.debate.degraded) == (reason, cut)
                assert bool(over.stages("skipped")) == (len(over.turns) < over_turns(over))
            rungs = [rung for _, rung in found]
            assert None not in rungs
            assert set(rungs) == set(LADDER)
            # the debate does not eat the budget of its own verdict: with more there is one, too
            judged = [rung != "the positions" for rung in rungs]
            assert judged == sorted(judged)

    go(scene(), 100_000)


def over_turns(over: Ended) -> int:
    """How many turns a debate with this jury has if no stage is left out."""
    return sum(len(steps) for steps in schedule.waves(over.debate))


@pytest.mark.sqlite_only
@pytest.mark.parametrize(
    "format_",
    ["jury", "duel"]
    + [
        pytest.param(one, marks=pytest.mark.stress("duel"))
        for one in ("classic", "standard", "redteam")
    ],
)
def test_so_does_every_format_with_a_jury(settings: Settings, format_: str) -> None:
    async def scene() -> None:
        async with engine(settings, Metered()) as service:
            asked: dict[str, Any] = {"format_": format_, "jury": {"size": 4}}
            if format_ == "classic":
                asked["options"] = {"free_rounds": 1}
            whole = await held(service, **asked)
            assert not whole.told
            kinds: set[str | None] = set()
            smallest = await least(service, "max_cost_usd", **asked)
            for step in range(2, 31):
                budget = max(whole.debate.usage.cost_usd * step / 30, smallest)
                over = await held(service, **asked, limits={"max_cost_usd": budget})
                assert over.debate.usage.cost_usd <= budget + 1e-12
                assert over.debate.status == "completed"
                if over.told:
                    check_outcome(over)
                    assert (over.debate.stop_reason, over.debate.degraded) == ("budget", True)
                    kinds.add(str(over.debate.jury and len(over.debate.jury.seats)))
            assert {"4", "3"} <= kinds

    go(scene(), 100_000)


def test_a_stage_that_sums_up_is_kept_if_it_fits(settings: Settings) -> None:
    """It says which positions are one option: that helps the Judge more than another round."""

    async def scene() -> None:
        async with engine(settings, Metered()) as service:
            whole = await held(service)
            kept: set[tuple[str, ...]] = set()
            for step in range(20, 80, 2 if STRESS else 4):
                limits = {"max_total_tokens": whole.used * step // 80}
                over = await held(service, limits=limits)
                check_outcome(over)
                kept.add(tuple(over.stages("skipped")))
            assert ("Round2", "Round3") in kept
            assert ("Round2", "Round3", "Consensus", "Judge") in kept

    go(scene(), 100_000)


def nothing() -> ProviderError:
    return ProviderEmptyError("Nothing.")


def shapeless() -> ProviderError:
    """An answer that is shown to its juror again, with what is wrong with it."""
    return ProviderShapeError("No ballot.", said="{" * 6000, problem="it is not JSON")


@pytest.mark.parametrize(
    ("format_", "fail"), [("council", nothing), ("duel", nothing), ("duel", shapeless)]
)
def test_a_budget_holds_while_ballots_fail(
    settings: Settings, format_: str, fail: Callable[[], ProviderError]
) -> None:
    """Two of three jurors never give a ballot, and each try takes all that it may."""

    async def scene() -> None:
        speaker = Metered(
            lambda call: (
                fail() if call.step.reading == "swapped" or call.step.actor == "juror-2" else None
            )
        )
        async with engine(settings, speaker) as service:
            asked: dict[str, Any] = {"jury": {"size": 3}, "on_failure": "pause"}
            whole = await held(service, format_, **asked)
            assert whole.debate.status == "completed"
            told: set[str] = set()
            for step in range(2, 26, 1 if STRESS else 3):
                limits = {"max_total_tokens": whole.used * step // 24}
                over = await held(service, format_, **asked, limits=limits)
                assert over.used <= limits["max_total_tokens"]
                assert over.debate.status == "completed"
                if over.told:
                    check_outcome(over)
                told |= set(over.told)
            missing = "The budget has no room for the ballots that are missing: "
            assert any(words.startswith(missing) for words in told)

    go(scene(), 100_000)


def juror(call: Call) -> bool:
    return call.step.actor.startswith("juror")


async def at_the_jury(service: Service, speaker: Metered, format_: str, **asked: Any) -> str:
    """A debate whose jurors are all asked, and of whom the first three have answered."""
    speaker.hold = lambda call: juror(call) and call.step.reading != "spoken"
    made = await service.create(MOTION, format=format_, jury={"size": 3}, **asked)
    count = made.total - (1 if format_ == "council" else 0) - 6
    await until(lambda: speaker.held == 6)

    async def three() -> bool:
        return (await service.get(made.id)).turn_count == count

    await until(three)
    return made.id


@pytest.mark.parametrize("format_", ["council", "duel", "classic"])
def test_whoever_ends_it_while_a_jury_votes_gets_a_closing_summary(
    settings: Settings, format_: str
) -> None:
    async def scene() -> None:
        speaker = Metered()
        async with engine(settings, speaker) as service:
            id_ = await at_the_jury(service, speaker, format_)
            await service.end(id_)
            over = await ended(service, id_)
            assert over.told == []  # not even that its cursor was rebuilt
            assert (over.debate.status, over.debate.stop_reason) == ("completed", "ended_by_user")
            assert over.debate.outcome is None
            last = over.turns[-1]
            assert (last.kind, last.status) == ("summary", "ok")
            assert last.round > max(turn.round for turn in over.turns[:-1])
            assert not (over.folder / "final-packet.json").exists()

    go(scene())


@pytest.mark.parametrize("verb", ["stop", "pause"])
def test_a_stop_or_a_pause_keeps_the_ballots_in_flight(settings: Settings, verb: str) -> None:
    async def scene() -> None:
        speaker = Metered()
        async with engine(settings, speaker) as service:
            id_ = await at_the_jury(service, speaker, "council")
            await (service.stop(id_) if verb == "stop" else service.pause(id_))
            speaker.gate.set()
            debate = await service.wait(id_)
            assert debate.status == ("stopped" if verb == "stop" else "paused")
            ballots = [call for call in speaker.calls if juror(call)]
            assert len(ballots) == len([t for t in await service.turns(id_) if t.kind == "verdict"])
            assert len(ballots) == 9
            if verb == "pause":
                await service.resume(id_)
                over = await ended(service, id_)
                check_outcome(over)
                assert over.debate.stop_reason == "finished"
                assert len([call for call in speaker.calls if juror(call)]) == 9

    go(scene())


def test_a_failing_juror_does_not_pause_a_debate(settings: Settings) -> None:
    """Even if the debate is to pause for anybody else."""

    async def scene() -> None:
        speaker = Metered(
            lambda call: ProviderAuthError("No key.") if call.step.actor == "juror-1" else None
        )
        async with engine(settings, speaker) as service:
            over = await held(service, "duel", jury={"size": 3}, on_failure="pause")
            check_outcome(over)
            assert over.debate.degraded
            failed = [turn for turn in over.turns if turn.status == "failed"]
            assert {turn.actor for turn in failed} == {"juror-1"}
            assert len(failed) == 3

    go(scene())


@pytest.mark.parametrize("verb", ["retry", "retry with another model", "skip"])
def test_a_juror_that_paused_its_debate_is_retried_or_skipped(
    settings: Settings, verb: str
) -> None:
    """As a format's own jury may: nobody who has voted is asked again."""

    async def scene() -> None:
        broken = [True]

        def fails(call: Call) -> ProviderError | None:
            wrong = call.step.actor == "juror-2" and call.model != "openai:better"
            return ProviderAuthError("No key.") if wrong and broken[0] else None

        speaker = Metered(fails)
        async with engine(settings, speaker) as service:
            asked: dict[str, Any] = {"jury": {"size": 3}, "on_failure": "pause"}
            made = await service.create(MOTION, format="panel", **asked)
            paused = await service.wait(made.id)
            assert paused.status == "paused"
            assert paused.failure
            assert paused.failure.actor == "juror-2"
            if verb == "skip":
                await service.skip(made.id)
            elif verb == "retry":
                broken[0] = False
                await service.retry(made.id)
            else:
                await service.retry(made.id, "openai:better")
            over = await ended(service, made.id)
            check_outcome(over)
            ballots = [(turn.actor, turn.status) for turn in over.turns if turn.kind == "verdict"]
            good = "failed" if verb == "skip" else "ok"
            assert ballots.count(("juror-2", good)) == 3
            assert len(ballots) == 9
            asked_of = [call.step.key for call in speaker.calls if call.step.actor != "juror-2"]
            assert len(set(asked_of)) == len(asked_of)
            with pytest.raises(StateError):
                await service.skip(made.id)

    go(scene())


def test_ballots_do_not_count_towards_max_turns(settings: Settings) -> None:
    async def scene() -> None:
        async with engine(settings, Metered()) as service:
            over = await held(service, "duel", jury={"size": 3}, limits={"max_turns": 2})
            assert [turn.kind for turn in over.turns] == ["speech"] * 2 + ["verdict"] * 9
            assert (over.debate.stop_reason, over.debate.total) == ("max_turns", 11)

    go(scene())


def test_a_smaller_jury_begins_anew(settings: Settings) -> None:
    """Its rounds have other readings: what failed in them before does not count against those."""

    async def scene() -> None:
        tries: dict[tuple[object, ...], int] = {}

        def fails(call: Call) -> ProviderError | None:
            """Whoever votes fails twice; once the jury is smaller, twice again, and for little."""
            jury = call.debate.jury
            if call.step.reading is None or jury is None:
                return None
            key = (call.debate.id, jury, call.step.key)
            tries[key] = tries.get(key, 0) + 1
            spent = 0 if jury.baseline else 7
            return ProviderEmptyError("Nothing.", input_tokens=spent) if tries[key] < 3 else None

        async with engine(settings, Metered(fails)) as service:
            whole = await held(service, "duel", jury={"size": 3})
            shrunk = 0
            for step in range(4, 24):
                limits = {"max_total_tokens": whole.used * step // 24}
                over = await held(service, "duel", jury={"size": 3}, limits=limits)
                shrunk += len({key[1] for key in tries if key[0] == over.debate.id}) > 1
                assert all(turn.status == "ok" for turn in over.turns)
            assert shrunk

    go(scene(), 100_000)


AFTERWARDS = """
name = "afterwards"
title = "Afterwards"
description = "They debate before and after it is summed up."
guidance = "Be brief."
[outcome]
stands = ["positions"]
verdict = "verdict"
[roster]
min = 2
max = 2
[[roster.roles]]
name = "Advocate"
[[roster.roles]]
name = "Arbiter"
[[stages]]
name = "positions"
together = true
answer = "position"
ask = "Take a position."
[[stages]]
name = "long"
tokens = 30000
ask = "Speak at length."
[[stages]]
name = "sum"
speakers = ["Advocate"]
kind = "summary"
ask = "Sum up."
[[stages]]
name = "more"
ask = "Say more."
[[stages]]
name = "verdict"
speakers = ["Arbiter"]
kind = "verdict"
answer = "verdict"
ask = "Decide."
"""


def test_after_a_cut_nobody_debates_any_more(settings: Settings) -> None:
    """Even if there would be room for a stage that comes later."""
    (settings.home / "formats" / "afterwards.toml").write_text(AFTERWARDS)

    async def scene() -> None:
        async with engine(settings, Metered()) as service:
            over = await held(service, "afterwards", limits={"max_total_tokens": 25_000})
            check_outcome(over)
            assert [turn.stage for turn in over.turns] == ["positions"] * 2 + ["sum", "verdict"]
            events = await service._store.events(over.debate.id, 0, 1000)
            cuts = [one for one in events if isinstance(one, StatusChanged) and one.notice]
            assert [one.total for one in cuts] == [2 + 1 + 2 + 1, 2 + 1 + 1]
            assert over.stages("skipped") == ["Long", "More"]
            assert over.told == [
                "The budget has no room for Long: what was said so far decides.",
                "The budget has no room for More: what was said so far decides.",
            ]

    go(scene())


def test_nothing_is_kept_back_for_a_verdict_that_does_not_fit_anyhow(settings: Settings) -> None:
    """Then what is said on top makes the positions better."""
    dear = AFTERWARDS.replace("tokens = 30000\n", "").replace(
        'answer = "verdict"\n', 'answer = "verdict"\ntokens = 30000\n'
    )
    (settings.home / "formats" / "afterwards.toml").write_text(dear)

    async def scene() -> None:
        async with engine(settings, Metered()) as service:
            over = await held(service, "afterwards", limits={"max_total_tokens": 25_000})
            check_outcome(over)
            assert over.stages("skipped") == ["Verdict"]
            stand = "the positions decide as they stand."
            assert over.told == [f"The budget has no room for the Arbiter's verdict: {stand}"]

    go(scene())


def test_ballots_are_asked_for_again_as_far_as_there_is_room(settings: Settings) -> None:
    async def scene() -> None:
        tried: set[tuple[str, str]] = set()

        def fails(call: Call) -> ProviderError | None:
            """Two of three fail once."""
            who = (call.debate.id, call.step.actor)
            if call.step.actor not in ("juror-2", "juror-3") or who in tried:
                return None
            tried.add(who)
            return ProviderEmptyError("Nothing.")

        async with engine(settings, Metered(fails)) as service:
            jury = {"size": 3, "swap": False, "baseline": False}
            whole = await held(service, "duel", jury=jury)
            used = whole.turns[-1].usage
            ballot = used.input_tokens + used.output_tokens
            limits = {"max_total_tokens": whole.used - ballot // 4}
            over = await held(service, "duel", jury=jury, limits=limits)
            check_outcome(over)
            assert [turn.actor for turn in over.turns if turn.stage == "jury"] == [
                "juror-1", "juror-2",
            ]  # fmt: skip
            missing = "The budget has no room for the ballots that are missing: "
            assert over.told == [f"{missing}what was said so far decides."]

    go(scene())


def test_a_decision_that_cannot_be_filed_fails_a_debate_that_was_cut(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budget is not why it ended then."""

    async def scene() -> None:
        async with engine(settings, Metered()) as service:
            limits = {"max_total_tokens": (await held(service)).used // 2}

            def full(*_: object, **__: object) -> None:
                raise StorageError("The disk is full.")

            monkeypatch.setattr(service._records, "file", full)
            made = await service.create(MOTION, format="council", limits=limits)
            debate = await until_over(service, made.id)
            assert (debate.status, debate.stop_reason) == ("failed", "structural_failure")
            assert debate.degraded

    async def until_over(service: Service, id_: str) -> Debate:
        async def over() -> Debate | None:
            debate = await service.get(id_)
            return debate if debate.ended_at else None

        return await until(over)

    go(scene())
