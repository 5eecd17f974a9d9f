"""Small models in the engine: what they repeat is refused, once."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from moot.bootstrap import open_service
from moot.core.debate import Debate, Turn
from moot.core.events import Delta
from moot.ports import Call, ModelCard
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker

FIRST = {
    "ada": "The old way has served the town well enough, and nobody ever asked for a new one.",
    "ben": "Whoever pays for a change should be heard before it is made, not a year after it.",
}
LATER = {
    ("ada", 2): "Roads that are dug up twice cost twice, as every summer has shown.",
    ("ben", 2): "Children walk to school along that wall; who will walk with them then?",
    ("ada", 3): "A market needs carts, carts need a gate, and the gate is what goes.",
    ("ben", 3): "Ask the baker: he moved once already, for a plan that came to nothing.",
}


class Parrot(ScriptedSpeaker):
    """Says its first speech again in every turn, unless something makes it think."""

    def __init__(self, script: Callable[[Call], str], small: bool = True) -> None:
        super().__init__(script)
        self._small = small

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 8_192, 0.0, 0.0, self._small)


def copying(call: Call) -> str:
    """It thinks when it is asked again."""
    if call.again:
        return LATER[call.step.actor, call.step.round]
    return FIRST[call.step.actor]


def stubborn(call: Call) -> str:
    return FIRST[call.step.actor]


def duel(settings: Settings, speaker: ScriptedSpeaker) -> tuple[Debate, list[Turn], list[object]]:
    async def work() -> tuple[Debate, list[Turn], list[object]]:
        async with asyncio.timeout(30), open_service(settings, speaker=speaker) as service:
            made = await service.create("Should the town change?", format="duel", start=False)
            await service.start(made.id)
            taken_back = {
                (event.round, event.actor)
                async for event in service.follow(made.id)
                if isinstance(event, Delta) and event.cut_off
            }
            done = await service.wait(made.id)
            attempts = await service.attempts(made.id)
            assert len(attempts) == done.usage.calls
            failed = [one["error_code"] for one in attempts if one["outcome"] == "failed"]
            return done, await service.turns(made.id), [len(taken_back), failed]

    return asyncio.run(work())


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


def test_a_repetition_is_refused_and_something_else_is_said(settings: Settings) -> None:
    done, turns, (taken_back, failed) = duel(settings, Parrot(copying))
    assert done.status == "completed"
    assert not done.degraded
    assert [turn.usage.calls for turn in turns] == [1, 1, 2, 2, 2, 2]
    assert len({turn.text for turn in turns}) == 6
    assert failed == ["DEBATE_ERR_PROVIDER_INVALID"] * 4
    assert taken_back == 4  # whoever listens is told that what was heard does not stand


def test_it_is_tried_once_more_and_not_for_ever(settings: Settings) -> None:
    done, turns, _ = duel(settings, Parrot(stubborn))
    assert (done.status, done.degraded) == ("completed", False)
    assert [turn.usage.calls for turn in turns] == [1, 1, 2, 2, 2, 2]


def test_a_large_model_may_say_what_it_likes(settings: Settings) -> None:
    speaker = Parrot(stubborn, small=False)
    done, turns, (_, failed) = duel(settings, speaker)
    assert (done.usage.calls, failed) == (6, [])
    assert len({turn.text for turn in turns}) == 2
