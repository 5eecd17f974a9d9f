"""`depth = "auto"`: two seats answer alone, and the debate is left out if they agree."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from moot.core.debate import Debate, Turn
from moot.errors import InputError
from moot.evals.arms import parse
from moot.evals.running import Asked, Run, run
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.store.reindex import examine
from moot.testing.skilled import Skill, Skilled
from tests.integration.evals import dataset
from tests.stress import STRESS
from tests.virtual import engine, go

ONE, TWO = "openai:scripted", "claude:scripted"


def cast(*models: str) -> list[dict[str, str]]:
    return [{"name": f"Seat {n}", "model": model} for n, model in enumerate(models)]


Seen = tuple[Debate, list[Turn], dict[str, Any]]


def held(
    home: Path,
    skills: dict[str, Skill],
    asked: dict[str, Any],
    count: int = 1,
    seats: Sequence[str] = (ONE, TWO),
) -> list[Seen]:
    """Debates about so many questions, each with its turns and its verdict."""
    items = dataset(count, 2).items

    async def work() -> list[Seen]:
        settings = Settings(home=home, model=ONE)
        async with engine(settings, Skilled(items, skills)) as moot:
            found: list[Seen] = []
            for item in items:
                motion = f"{item.text}\n\nWhoever names an option or a position writes its letter."
                usual: dict[str, Any] = {
                    "participants": cast(*seats),
                    "depth": "auto",
                    "audit": 0.0,
                }
                made = await moot.create(motion, **{**usual, **asked})
                made = await moot.wait(made.id)
                found.append((made, await moot.turns(made.id), await moot.verdict(made.id)))
            return found

    return go(work(), within=1e9)


class Heard(Skilled):
    """Notes what each call was told."""

    def __init__(self, skills: dict[str, Skill], halts_at: int = 0) -> None:
        super().__init__(dataset(1, 2).items, skills)
        self.told: list[Call] = []
        self._halts_at = halts_at

    async def speak(self, call: Call, say: Say) -> Reply:
        self.told.append(call)
        await asyncio.sleep(1e6 if len(self.told) == self._halts_at else 0)
        return await super().speak(call, say)

    def stages(self, since: int, answer: str | None = None) -> set[str]:
        """The stages that were read in later calls, by all or by those with that answer."""
        return {
            turn.stage
            for call in self.told[since:]
            if (call.step.answer == answer if answer else call.step.stage not in APART_STAGES)
            for turn in call.heard
        }


APART_STAGES = {"alone", "exchange"}


ROLES = [{"role": "Proponent", "model": ONE}, {"role": "Critic", "model": TWO}]
SURE = {ONE: Skill(1.0), TWO: Skill(1.0)}
APART = {ONE: Skill(1.0), TWO: Skill(0.0)}


@pytest.mark.parametrize(
    "asked",
    [
        {"format": "council", "participants": ROLES},
        {"format": "council", "participants": ROLES, "jury": {"size": 1}},
        {"format": "duel", "jury": {"size": 1}},
        {"format": "jury", "participants": cast(ONE, TWO, ONE)},
    ],
    ids=["council", "council and jury", "duel and jury", "jury"],
)  # fmt: skip
def test_what_two_agree_on_alone_is_the_outcome(tmp_path: Path, asked: dict[str, Any]) -> None:
    ((debate, turns, verdict),) = held(tmp_path, SURE, asked)
    assert (debate.status, debate.stop_reason, debate.degraded) == ("completed", "agreement", False)
    assert [turn.stage for turn in turns] == ["alone", "alone"]
    assert (verdict["outcome"], verdict["decidedBy"]) == ("decided", "positions")
    assert verdict["support"]["heads"] == verdict["support"]["of"] == 2
    assert verdict["depth"]["leftOut"][0] == "exchange"
    assert verdict["depth"]["audited"] is False
    assert any(one.startswith("DEBATE_WARN_LEFT_OUT") for one in verdict["warnings"])
    assert debate.total == 2


def test_whoever_differs_exchanges_once_and_then_debates_unread(tmp_path: Path) -> None:
    asked = {"format": "council", "participants": ROLES}
    ((_, turns, verdict),) = held(tmp_path, APART, asked)
    stages = [turn.stage for turn in turns]
    assert stages[:4] == ["alone"] * 2 + ["exchange"] * 2
    assert len(stages) == 4 + 17, "the whole council follows"
    assert verdict["depth"]["agreed"] is None
    assert verdict["depth"]["leftOut"] == []
    assert verdict["support"]["asked"] == 5, "its own positions decide"
    assert not any(one.startswith("DEBATE_WARN_LEFT_OUT") for one in verdict["warnings"])


def test_an_exchange_is_enough_if_one_convinces_the_other(tmp_path: Path) -> None:
    skills = {ONE: Skill(1.0), TWO: Skill(0.0, insight=1.0)}
    asked = {"format": "council", "participants": ROLES}
    ((_, turns, verdict),) = held(tmp_path, skills, asked)
    assert [turn.stage for turn in turns] == ["alone"] * 2 + ["exchange"] * 2
    assert verdict["depth"]["agreed"]["stage"] == "exchange"
    assert verdict["moved"], "whoever moved is named"


def test_what_is_said_before_takes_no_turn_of_the_debate(tmp_path: Path) -> None:
    asked = {"format": "duel", "jury": {"size": 1}, "limits": {"max_turns": 2}}
    ((_, turns, _verdict),) = held(tmp_path, APART, asked)
    assert len([turn for turn in turns if turn.stage in ("alone", "exchange")]) == 4
    assert len([turn for turn in turns if turn.kind == "speech"]) == 4 + 2


def test_a_debate_that_is_checked_is_held_in_full_and_says_whether_it_differs(
    tmp_path: Path,
) -> None:
    asked = {"format": "council", "participants": ROLES, "audit": 1.0}
    ((debate, turns, verdict),) = held(tmp_path, SURE, asked)
    assert [turn.stage for turn in turns][:3] == ["alone", "alone", "round1"]
    assert len(turns) == 2 + 17
    assert debate.stop_reason == "finished"
    depth = verdict["depth"]
    assert depth["audited"] is depth["same"] is True
    assert depth["leftOut"] == []


def test_what_was_said_before_is_in_no_prompt_of_the_debate(tmp_path: Path) -> None:
    speaker = Heard(APART)
    motion = dataset(1, 2).items[0].text

    async def work() -> None:
        async with engine(Settings(home=tmp_path, model=ONE), speaker) as moot:
            made = await moot.create(
                motion, format="council", participants=ROLES, depth="auto", jury={"size": 1}
            )
            await moot.wait(made.id)

    go(work(), within=1e9)
    assert len(speaker.told) > 4 + 17
    assert not speaker.stages(0) & APART_STAGES
    exchange = next(call for call in speaker.told if call.step.stage == "exchange")
    assert [turn.stage for turn in exchange.heard] == ["alone", "alone"]


def test_with_sources_agreement_needs_a_quote_of_each(tmp_path: Path) -> None:
    """The understudy quotes nothing, so nothing that it says is supported."""
    sources = [{"title": "Note", "text": "The colour of number nought is red, as anybody can see."}]
    asked = {"format": "council", "participants": ROLES, "sources": sources}
    ((_, turns, verdict),) = held(tmp_path, SURE, asked)
    assert verdict["depth"]["agreed"] is None
    assert len(turns) == 4 + 17


def test_a_depth_that_nobody_can_find_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="different families"):
        held(tmp_path, SURE, {"format": "duel", "jury": {"size": 1}}, seats=(ONE, ONE))
    with pytest.raises(InputError, match="comes to no decision"):
        held(tmp_path, SURE, {"format": "duel"})
    with pytest.raises(InputError, match="whole or auto"):
        held(tmp_path, SURE, {"format": "duel", "jury": {"size": 1}, "depth": "deep"})
    with pytest.raises(InputError, match="from 0 to 1"):
        held(tmp_path, SURE, {"format": "duel", "jury": {"size": 1}, "audit": 5})


def test_it_replays_forks_and_is_judged_again(tmp_path: Path) -> None:
    items = dataset(1, 2).items

    async def work() -> None:
        async with engine(Settings(home=tmp_path, model=ONE), Skilled(items, SURE)) as moot:
            made = await moot.create(
                items[0].text, format="council", participants=ROLES, depth="auto", audit=0.0
            )
            made = await moot.wait(made.id)
            assert (await moot.replay(made.id))["consistency"]["issues"] == []
            turns = await moot.turns(made.id)
            fork = await moot.wait((await moot.fork(made.id, turns[-1].seq)).id)
            assert (fork.status, fork.turn_count) == ("completed", 2 + 17), (
                "no exchange: they agree"
            )
            again = await moot.wait((await moot.rejudge(made.id, jury={"size": 1})).id)
            assert again.status == "completed"
            assert again.outcome is not None
            assert again.outcome.selected_option == "A"
            rerun = await moot.wait((await moot.rerun(made.id)).id)
            assert rerun.turn_count == 2

    go(work(), within=1e9)


ASKED: list[dict[str, Any]] = [
    {"format": "council", "participants": ROLES, "audit": 1.0},
    {"format": "duel", "participants": cast(ONE, TWO), "jury": {"size": 1}, "audit": 1.0},
    {"format": "duel", "participants": cast(ONE, TWO), "jury": {"size": 1}, "audit": 0.0},
]


@pytest.mark.parametrize("skills", [SURE, APART], ids=["agree", "differ"])
@pytest.mark.parametrize("asked", ASKED, ids=["council", "duel checked", "duel"])
def test_a_fork_and_a_later_jury_read_it_as_the_debate_did(
    tmp_path: Path, asked: dict[str, Any], skills: dict[str, Skill]
) -> None:
    speaker = Heard(skills)

    async def work() -> None:
        settings = Settings(home=tmp_path, model=ONE)
        async with engine(settings, speaker) as moot:
            made = await moot.create(dataset(1, 2).items[0].text, depth="auto", **asked)
            whole, turns = await moot.wait(made.id), await moot.turns(made.id)
            known, forked = len(speaker.told), whole
            for turn in turns[1::4]:  # each can be forked, those of a check, too
                fork = await moot.fork((whole, forked)[turn.seq % 2].id, turn.seq)
                forked = await moot.wait(fork.id)
                said = [one.stage for one in await moot.turns(fork.id)]
                assert forked.status == "completed"
                assert said.count("exchange") == (0 if skills is SURE else 2)
                if whole.stop_reason != "agreement":
                    assert forked.turn_count == whole.turn_count
                assert examine(settings.home, settings.database, fork.id).issues == ()
            assert not speaker.stages(known) & APART_STAGES
            known = len(speaker.told)
            for one in (whole, forked):
                again = await moot.wait((await moot.rejudge(one.id, jury={"size": 1})).id)
                assert again.status == "completed"
                assert examine(settings.home, settings.database, again.id).issues == ()
            early = {"alone"} if whole.stop_reason == "agreement" else set[str]()
            assert speaker.stages(known, "ballot") & APART_STAGES == early

    go(work(), within=1e9)


def test_what_two_said_is_judged_and_summed_up_if_nothing_else_was_said(tmp_path: Path) -> None:
    speaker = Heard(APART, halts_at=4)

    async def work() -> None:
        async with engine(Settings(home=tmp_path, model=ONE), speaker) as moot:
            motion = dataset(1, 2).items[0].text
            made = await moot.create(motion, format="council", participants=ROLES, depth="auto")
            while len(speaker.told) < 4:
                await asyncio.sleep(1)
            await moot.end(made.id)
            await moot.wait(made.id)
            (summary,) = [call for call in speaker.told if call.step.kind == "summary"]
            assert {turn.stage for turn in summary.heard} == APART_STAGES
            again = await moot.wait((await moot.rejudge(made.id, jury={"size": 1})).id)
            verdict = await moot.verdict(again.id)
            assert [row["name"] for row in verdict["options"]] == ["A", "B"]
            assert speaker.stages(0, "ballot") == APART_STAGES

    go(work(), within=1e9)


@pytest.mark.parametrize(
    ("asked", "skills", "tokens", "stages", "outcome"),
    [
        ({"format": "duel"}, APART, 12_000, ["alone", "exchange"], "deadlock"),
        ({"format": "duel"}, APART, 16_000, ["alone", "exchange", "duel", "jury"], "decided"),
        ({"format": "duel", "audit": 1.0}, SURE, 4_000, ["alone"], "decided"),
        ({"format": "council", "participants": ROLES}, APART, 6_000, ["alone", "exchange"],
         "deadlock"),
    ],
)  # fmt: skip
def test_if_the_budget_has_no_room_for_the_debate_the_two_decide(
    tmp_path: Path,
    asked: dict[str, Any],
    skills: dict[str, Skill],
    tokens: int,
    stages: list[str],
    outcome: str,
) -> None:
    """Nobody votes on a debate that was not held."""
    limits = {"max_total_tokens": tokens, "max_turn_tokens": 128}
    ((debate, turns, verdict),) = held(
        tmp_path, skills, {"jury": {"size": 3}, **asked, "limits": limits}
    )
    assert (debate.stop_reason, debate.degraded) == ("budget", True)
    assert list(dict.fromkeys(turn.stage for turn in turns)) == stages
    assert (verdict["outcome"], verdict["depth"]["audited"]) == (outcome, False)
    assert examine(tmp_path, Settings(home=tmp_path).database, debate.id).issues == ()


def test_a_jury_is_not_asked_where_a_host_alone_has_spoken(tmp_path: Path) -> None:
    limits = {"max_total_tokens": 10_000, "max_turn_tokens": 128}
    asked = {"format": "standard", "host": {"model": ONE}, "jury": {"size": 3}, "limits": limits}
    ((debate, turns, _),) = held(tmp_path, SURE, {**asked, "depth": None, "audit": None})
    assert debate.stop_reason == "budget"
    assert "discussion" in {turn.stage for turn in turns}


OFFERS = """
name = "offers"
title = "Offers"
description = "They choose among two."
guidance = "Choose."
[roster]
min = 2
[outcome]
stands = ["answers"]
[answers.pick.fields.choice]
type = "choice"
choices = ["A", "B", "undecided"]
[[stages]]
name = "answers"
answer = "pick"
ask = "Choose."
"""


def test_where_the_format_offers_options_the_two_choose_among_these(tmp_path: Path) -> None:
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "offers.toml").write_text(OFFERS)
    ((debate, _, verdict),) = held(tmp_path, SURE, {"format": "offers"})
    field = debate.rules.shape(debate.rules.stage("alone").answer).fields["choice"]
    assert field.choices == ("A", "B", "undecided")
    assert (debate.stop_reason, verdict["selected"]) == ("agreement", "A")


def test_a_plan_may_cost_no_more_than_two_answers(tmp_path: Path) -> None:
    items = dataset(1, 2).items

    async def work() -> None:
        async with engine(Settings(home=tmp_path, model=ONE), Skilled(items, SURE)) as moot:
            asked = {"motion": "So?", "format": "council", "participants": ROLES}
            whole = (await moot.plan(asked)).estimate
            deep = (await moot.plan({**asked, "depth": "auto"})).estimate
            assert deep.calls == whole.calls + 4
            assert deep.input_tokens.low < whole.input_tokens.low / 4
            assert deep.input_tokens.high > whole.input_tokens.high

    go(work(), within=1e9)


def compared(home: Path, skills: dict[str, Skill], count: int, *specs: str) -> Run:
    data = dataset(count, 2)

    async def work() -> Run:
        settings = Settings(home=home, model=ONE)
        async with engine(settings, Skilled(data.items, skills)) as moot:
            return await run(moot, Asked(data, tuple(map(parse, specs)), ONE))

    return go(work(), within=1e9)


WHOLE = "council,Critic=claude:scripted"


def test_on_an_easy_set_it_saves_most_and_loses_next_to_nothing(tmp_path: Path) -> None:
    count = 200 if STRESS else 24
    able = Skill(0.97, insight=0.9)
    made = compared(tmp_path, {ONE: able, TWO: able}, count, WHOLE, f"{WHOLE},depth=auto")
    whole, auto = ([made.answers[item.id, arm.spec] for item in made.asked.dataset.items]
                   for arm in made.asked.arms)  # fmt: skip

    def tokens(column: Sequence[Any]) -> int:
        return sum(one.usage.input_tokens + one.usage.output_tokens for one in column)

    assert tokens(auto) <= 0.4 * tokens(whole)
    assert sum(one.right for one in auto) >= sum(one.right for one in whole) - count / 100


def test_errors_that_all_share_show_in_the_check(tmp_path: Path) -> None:
    """Two models that err alike agree on what is wrong; a council that finds it out differs."""
    alike = {ONE: Skill(0.0), TWO: Skill(0.0)}
    asked = {"format": "council", "audit": 1.0, "participants": [
        *ROLES, {"role": "Judge", "model": "gemini:scripted"}]}  # fmt: skip
    found = held(tmp_path, {**alike, "gemini:scripted": Skill(1.0)}, asked, count=2)
    assert [verdict["depth"]["same"] for *_, verdict in found] == [False, False]
