"""Small models in the engine: what they repeat is refused, once."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from moot.bootstrap import open_service
from moot.core.debate import Debate, Turn
from moot.core.events import Delta
from moot.errors import InputError, ProviderAuthError, ProviderError
from moot.ports.model_call import Call, ModelCard
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


HINDI = "क्या स्कूलों को स्मार्टफ़ोन पर प्रतिबंध लगाना चाहिए?"


class Unable(ScriptedSpeaker):
    """Models that know little: English, or a few hundred tokens."""

    def card(self, model: str) -> ModelCard:
        known = ("en",) if model == "openai:english" else ()
        window = 600 if model == "openai:narrow" else 8_192
        return ModelCard(model, window, 0.0, 0.0, languages=known)


def pair(model: str) -> list[dict[str, str]]:
    return [{"name": "Ada", "model": model}, {"name": "Ben", "model": "openai:large"}]


def test_models_that_cannot_hold_a_debate_are_refused_before_it_is_made(settings: Settings) -> None:
    async def work() -> None:
        speaker = Unable(lambda call: f"{call.step.actor} speaks in round {call.step.round}.")
        async with asyncio.timeout(30), open_service(settings, speaker=speaker) as service:
            refused = (
                (HINDI, pair("openai:english"), "cannot debate in Hindi"),
                (HINDI, pair("openai:large|openai:english"), "cannot debate in Hindi"),
                ("Should we?", pair("openai:narrow"), "a window of 1,[0-9]00 tokens or more"),
            )
            for motion, seats, words in refused:
                with pytest.raises(InputError, match=words):
                    await service.create(motion, format="duel", participants=seats)
            assert not (await service.find()).debates
            assert not [*settings.home.glob("**/transcript*")]

            made = await service.create(HINDI, format="duel", participants=pair("openai:large"))
            await service.wait(made.id)
            changed = {"participants": [{"id": "ada", "model": "openai:english"}]}
            with pytest.raises(InputError, match="Ada speaks with openai:english"):
                await service.fork(made.id, 3, changes=changed)
            with pytest.raises(InputError, match="Juror 1 speaks with openai:english"):
                await service.rejudge(made.id, jury={"size": 1, "models": ["openai:english"]})
            assert len((await service.find()).debates) == 1

    asyncio.run(work())


def test_another_model_for_a_failed_speaker_must_know_the_language(settings: Settings) -> None:
    def script(call: Call) -> str | ProviderError:
        return ProviderAuthError("No.") if call.model == "openai:large" else "बोलता हूँ।"

    async def work() -> None:
        speaker = Unable(script)
        async with asyncio.timeout(30), open_service(settings, speaker=speaker) as service:
            made = await service.create(HINDI, format="duel", participants=pair("openai:large"))
            async for _ in service.follow(made.id):
                if (await service.get(made.id)).status == "paused":
                    break
            with pytest.raises(InputError, match="Ada speaks with openai:english"):
                await service.retry(made.id, "openai:english")
            assert (await service.get(made.id)).status == "paused", "nothing was changed"

    asyncio.run(work())
