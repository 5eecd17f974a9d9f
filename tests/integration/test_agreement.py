"""A stage that lasts until its speakers agree, from its file to the end of the debate."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.core import prompts, request, schedule
from moot.core.debate import Debate
from moot.core.format import Effort, Format, parse
from moot.errors import InputError
from moot.ports.model_call import Call
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker

ACCORD = """
name = "accord"
title = "Accord"
description = "They go on until they agree."
guidance = "Say where you stand."
[roster]
min = 2
[[stages]]
name = "positions"
rounds = 4
answer = "position"
until = "agreement"
effort = "low"
ask = "Take a position."
"""
LAST = """
[[stages]]
name = "farewell"
ask = "Say goodbye."
"""


def agrees_in(number: int, call: Call) -> str:
    """Ben comes round in that round, in other words."""
    if call.schema is None:
        return "Goodbye."
    with_ada = call.step.actor == "ada" or call.step.round >= number
    stand = "Ship it" if call.step.actor == "ada" else "ship it." if with_ada else "Wait"
    parts = {"claim": "So it is.", "rationale": "It is so.", "risks": [], "confidence": 0.5}
    return json.dumps({**parts, "position": stand})


def run(
    home: Path, text: str, number: int, budget: int | None = None, least: Effort | None = "none"
) -> tuple[Debate, list[str]]:
    (home / "formats").mkdir()
    (home / "formats" / "accord.toml").write_text(text)
    speaker = ScriptedSpeaker(lambda call: agrees_in(number, call), least=least)

    async def debate() -> tuple[Debate, list[str]]:
        async with open_service(Settings(home=home), speaker=speaker) as service:
            limits = {"max_total_tokens": budget} if budget else {}
            made = await service.create("Ship?", format="accord", limits=limits)
            assert made.total == (10 if LAST in text else 8)
            done = await service.wait(made.id)
            assert {call.effort for call in speaker.calls} <= {"low", "none", None}
            turns = await service.turns(made.id)
            return done, [f"{turn.round} {turn.stage} {turn.actor}" for turn in turns]

    return asyncio.run(debate())


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("budget", [None, 10**6])
def test_a_debate_ends_when_all_agree(tmp_path: Path, together: bool, budget: int | None) -> None:
    text = ACCORD.replace("rounds = 4", "rounds = 4\ntogether = true") if together else ACCORD
    done, turns = run(tmp_path, text, 2, budget)
    assert (done.status, done.stop_reason) == ("completed", "agreement")
    assert (done.turn_count, done.total, len(turns)) == (4, 4, 4)


def test_the_next_stage_follows_an_agreement(tmp_path: Path) -> None:
    done, turns = run(tmp_path, ACCORD + LAST, 3)
    assert (done.status, done.stop_reason, done.total) == ("completed", "finished", 8)
    assert turns[-2:] == ["5 farewell ada", "5 farewell ben"]


def test_without_an_agreement_the_stage_has_all_its_rounds(tmp_path: Path) -> None:
    done, turns = run(tmp_path, ACCORD, 9)
    assert (done.stop_reason, done.total, len(turns)) == ("finished", 8, 8)


def test_a_budget_counts_what_a_model_may_think(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="max_total_tokens has no room for Ada's first turn"):
        run(tmp_path, ACCORD, 2, budget=4_600)  # "low" alone allows 4,096


def test_a_budget_counts_no_thinking_of_a_model_that_cannot(tmp_path: Path) -> None:
    done, _ = run(tmp_path, ACCORD, 2, budget=4_600, least=None)
    assert (done.status, done.stop_reason) == ("completed", "agreement")


def test_a_budget_counts_the_thinking_of_a_model_that_always_thinks(tmp_path: Path) -> None:
    text = ACCORD.replace('effort = "low"', 'effort = "none"')
    for home in (tmp_path / "none", tmp_path / "high"):
        home.mkdir()
    assert run(tmp_path / "none", text, 2, 8_000, "none")[0].stop_reason == "agreement"
    with pytest.raises(InputError, match="that may take up to"):
        run(tmp_path / "high", text, 2, 8_000, "high")


def test_one_speaker_alone_does_not_agree_with_itself(tmp_path: Path) -> None:
    alone = ACCORD.replace("min = 2", 'min = 1\nhost = "optional"')
    with pytest.raises(InputError, match=r"roster\.min to 2 or more"):
        parse(alone, "accord.toml")


ROLES = """
[[roster.roles]]
name = "Buy"
[[roster.roles]]
name = "Build"
"""


@pytest.mark.parametrize(
    ("motion", "position", "taken"),
    [
        ("Buy or build?", "Build", True),
        ("Sollen wir build, oder nicht?", "build.", True),
        ("How do we get a shop?", "Build", False),
        ("How do we get a shop?", "build.", False),
        ("How do we get a building?", "Build", False),
        ("How do we get a shop?", "Build it", True),
    ],
)
def test_a_role_is_a_position_only_if_the_motion_names_it(
    motion: str, position: str, taken: bool
) -> None:
    made = debate(parse(ACCORD.replace("min = 2", "min = 2\nmax = 2") + ROLES, "a"), motion=motion)
    step = next(schedule.waves(made))[0]
    said = {"claim": "So it is.", "rationale": "It is so.", "position": position, "confidence": 1}
    if taken:
        assert prompts.read(step, made, said)["position"] == position
    else:
        with pytest.raises(ValueError, match="that is a role"):
            prompts.read(step, made, said)


def debate(
    rules: Format, seats: Sequence[Mapping[str, Any]] = (), motion: str = "Ship?", **more: Any
) -> Debate:
    return request.build(
        debate_id="debate_20261118_120000_aaaaaa", at="2026-11-18T12:00:00.000Z", motion=motion,
        rules=rules, default_model="local:m", normalize=lambda model: (model, None),
        participants=seats, **more,
    )  # fmt: skip
