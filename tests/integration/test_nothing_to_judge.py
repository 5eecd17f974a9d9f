"""A jury decides on what was said: never on nothing, and it says what is missing."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.core.debate import Debate
from moot.errors import InputError, ProviderError, ProviderRefusedError
from moot.ports.model_call import Call
from moot.settings import Settings
from moot.store.reindex import examine
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.integration.councils import answer
from tests.integration.juries import ballot

TWINS = """
name = "twins"
title = "Twins"
description = "Two stages of one name."
guidance = "Speak."

[[stages]]
name = "open-floor"
ask = "Speak."

[[stages]]
name = "open_floor"
ask = "Speak on."
"""
UNSURE = """
name = "unsure"
title = "Unsure"
description = "A position may be left out."
guidance = "Speak."

[outcome]
stands = ["talk"]

[[stages]]
name = "talk"
answer = "stand"
together = true
ask = "Speak."

[answers.stand.fields]
position = {type = "line", optional = true}
why = {type = "text"}
"""


NO_OPTION = {
    "reasons": [{"text": "Nobody said what it costs.", "turns": []}],
    "against": {"text": "Tea is cheap.", "turns": []},
    "confidence": 0.2,
    "wouldChange": "A price.",
    "questions": ["What does it cost?"],
}


def held(home: Path, mute: str = "", **asked: Any) -> tuple[Debate, dict[str, Any] | None, int]:
    """A debate in which `mute` (a seat, or `all`) fails, its verdict, and the count of ballots."""

    def script(call: Call) -> str | ProviderError:
        if call.step.reading:
            return json.dumps(ballot(call))
        if mute in ("all", call.step.actor):
            return ProviderRefusedError("no")
        return json.dumps({"why": "No idea."}) if call.step.answer == "stand" else plain(call)

    async def scene() -> tuple[Debate, dict[str, Any] | None, int]:
        speaker = ScriptedSpeaker(script)
        settings = Settings(home=home, model="openai:gpt-5")
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await service.create("Tea?", on_failure="degrade", **asked)
            debate = await service.wait(made.id)
            verdict = await service.verdict(debate.id) if debate.outcome else None
        return debate, verdict, sum(call.step.reading is not None for call in speaker.calls)

    return asyncio.run(scene())


def test_nobody_votes_on_a_debate_in_which_nobody_spoke(tmp_path: Path) -> None:
    debate, verdict, ballots = held(tmp_path, "all", format="duel", jury={"size": 3})
    assert (debate.status, verdict, ballots) == ("failed", None, 0)
    assert debate.failure
    assert debate.failure.message == "Nobody spoke, so there is nothing to judge."


def test_a_side_that_nobody_heard_is_named(tmp_path: Path) -> None:
    _, verdict, _ = held(tmp_path, "ben", format="duel", jury={"size": 3})
    assert verdict
    said = "DEBATE_WARN_SIDE_UNHEARD: Nobody was heard who holds “Against the motion”."
    assert said in verdict["warnings"]
    _, whole, _ = held(tmp_path / "whole", format="duel", jury={"size": 3})
    assert whole
    assert not any("UNHEARD" in one or "ONE_ORDER" in one for one in whole["warnings"])


def test_one_order_alone_is_said_to_be_less(tmp_path: Path) -> None:
    _, verdict, ballots = held(tmp_path, format="duel", jury={"size": 3, "swap": False})
    assert verdict
    assert ballots == 6
    assert any(one.startswith("DEBATE_WARN_ONE_ORDER:") for one in verdict["warnings"])


def _with(home: Path, name: str, text: str) -> Path:
    (home / "formats").mkdir(parents=True)
    (home / "formats" / f"{name}.toml").write_text(text)
    return home


def test_a_jury_joins_no_format_whose_stages_it_cannot_tell_apart(tmp_path: Path) -> None:
    home = _with(tmp_path, "twins", TWINS)
    assert held(home, format="twins")[0].status == "completed"
    with pytest.raises(InputError, match="two names differ only in a dash"):
        held(home, format="twins", jury={"size": 3})


def test_a_debate_in_which_nobody_takes_a_position_needs_facts(tmp_path: Path) -> None:
    home = _with(tmp_path, "unsure", UNSURE)
    debate, verdict, _ = held(home, format="unsure")
    assert (debate.status, debate.failure) == ("completed", None)
    assert verdict
    assert (verdict["outcome"], verdict["selected"]) == ("needs_facts", None)
    assert examine(home, Settings(home=home).database, debate.id).issues == ()
    debate, verdict, _ = held(home, "all", format="unsure")
    assert (debate.status, debate.stop_reason, verdict) == ("failed", "provider_failed", None)
    assert debate.failure
    assert debate.failure.message.startswith("Nobody took a position in talk")


@pytest.mark.parametrize("heard", [5, 1])
@pytest.mark.parametrize("says", ["undecided", "Go!", None])
def test_a_council_of_the_undecided_is_not_decided(
    tmp_path: Path, heard: int, says: str | None
) -> None:
    """Also if one alone is heard, and whatever its jury says, or does not."""
    seats = {"proponent", "critic", "analyst", "synthesizer", "judge"}
    mute = set(sorted(seats)[: 5 - heard])

    def script(call: Call) -> str | ProviderError:
        if call.step.answer == "ballot":
            free = {**NO_OPTION, "choice": says}
            return json.dumps(free) if says else ProviderRefusedError("no")
        if call.step.actor in mute:
            return ProviderRefusedError("no")
        said = answer(call) or {}
        if "position" in said:
            said["position"] = "Undecided"
        if call.step.answer == "verdict":
            said |= {"choice": "undecided", "rejectedOptions": [], "questions": ["How much?"]}
        return json.dumps(said)

    async def scene() -> tuple[Debate, dict[str, Any], dict[str, Any]]:
        settings = Settings(home=tmp_path, model="openai:gpt-5")
        speaker = ScriptedSpeaker(script)
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await service.create("Tea?", format="council", jury={"size": 3})
            debate = await service.wait(made.id)
            return debate, await service.verdict(debate.id), await service.packet(debate.id)

    debate, verdict, packet = asyncio.run(scene())
    assert (debate.status, debate.failure) == ("completed", None)
    kind = "needs_facts" if says == "undecided" else "no_verdict"
    assert (verdict["outcome"], verdict["selected"], verdict["options"]) == (kind, None, [])
    assert packet["decision"]["selectedOption"].startswith("No decision: ")
    assert packet["nextActions"]
    assert examine(tmp_path, Settings(home=tmp_path).database, debate.id).issues == ()
