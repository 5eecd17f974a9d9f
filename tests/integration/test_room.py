"""The room that an answer has: tokens, more of them once it was cut, and those for thinking."""

import json
from typing import Any

import pytest

from moot.core import limits
from moot.core.debate import NO_USAGE, Debate, Turn, Usage
from moot.core.limits import THINKING, WHOLE
from moot.core.prompts import size
from moot.errors import ProviderUnsaidError
from moot.ports.model_call import Call, ModelCard, Reply
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.integration.reporting import issues
from tests.virtual import MODEL, engine, go

POLL = """
name = "poll"
title = "Poll"
description = "Everybody takes a position."
guidance = "Say where you stand."
[roster]
min = 2
[[stages]]
name = "positions"
answer = "position"
tokens = 1200
seconds = 20
ask = "Take a position."
"""
STAND = {"claim": "So it is.", "rationale": "It is so.", "risks": [], "confidence": 0.5}
WHOLE_ANSWER = json.dumps({**STAND, "position": "Ship it"})


def cut(call: Call, used: Usage = NO_USAGE) -> Reply:
    return Reply(WHOLE_ANSWER[:40], call.model, used, cut=True)


def write(settings: Settings, text: str) -> None:
    """The format, among the user's own."""
    folder = settings.home / "formats"
    folder.mkdir(parents=True)
    (folder / "poll.toml").write_text(text)


def hold(
    settings: Settings, speaker: ScriptedSpeaker, text: str = POLL, **asked: Any
) -> tuple[Debate, list[Turn]]:
    """A debate by that format, to its end."""
    write(settings, text)

    async def work() -> tuple[Debate, list[Turn]]:
        async with engine(settings, speaker) as service:
            seats = [{"name": name, "model": MODEL} for name in ("Ada", "Ben")]
            made = await service.create("Ship it?", format="poll", participants=seats, **asked)
            done = await service.wait(made.id)
            return done, await service.turns(made.id)

    return go(work())


def asked_of(speaker: ScriptedSpeaker, actor: str = "ada") -> list[tuple[int, float]]:
    """The tokens and the longest time of each call for a seat."""
    return [(one.max_tokens, one.whole) for one in speaker.calls if one.step.actor == actor]


def test_an_answer_that_was_cut_is_asked_for_again_with_twice_the_room(settings: Settings) -> None:
    def script(call: Call) -> str | Reply:
        first = call.step.actor == "ada" and call.max_tokens == 1200
        return cut(call) if first else WHOLE_ANSWER

    speaker = ScriptedSpeaker(script)
    done, turns = hold(settings, speaker)
    assert (done.status, done.degraded) == ("completed", False)
    assert asked_of(speaker) == [(1200, 20 * WHOLE), (2400, 2 * 20 * WHOLE)]
    assert asked_of(speaker, "ben") == [(1200, 20 * WHOLE)], "which nobody cut"
    first, again = (call.messages for call in speaker.calls if call.step.actor == "ada")
    assert again[: len(first)] == first, "the words that it is to keep to are the same"
    assert "it was cut by the token limit" in again[-1].text
    assert turns[0].usage.calls == 2


def test_the_room_is_doubled_once_and_what_is_wrong_is_then_said_once(settings: Settings) -> None:
    replies = iter(["cut", "wrong", "whole"])

    def script(call: Call) -> str | Reply:
        if call.step.actor == "ben":
            return cut(call)
        return {"cut": cut(call), "wrong": "no JSON at all", "whole": WHOLE_ANSWER}[next(replies)]

    speaker = ScriptedSpeaker(script)
    done, turns = hold(settings, speaker, on_failure="degrade")
    assert [tokens for tokens, _ in asked_of(speaker)] == [1200, 2400, 2400]
    assert [tokens for tokens, _ in asked_of(speaker, "ben")] == [1200, 2400, 2400]
    assert [turn.status for turn in turns] == ["ok", "failed"]
    assert done.degraded


def test_whoever_thinks_all_its_tokens_away_has_twice_as_many(settings: Settings) -> None:
    def script(call: Call) -> str | ProviderUnsaidError:
        return plain(call) if call.max_tokens > 900 else ProviderUnsaidError("no word")

    speaker = ScriptedSpeaker(script)
    text = POLL.replace('answer = "position"\ntokens = 1200\nseconds = 20\n', "")
    done, _ = hold(settings, speaker, text)
    assert (done.status, done.degraded) == ("completed", False)
    assert [tokens for tokens, _ in asked_of(speaker)] == [900, 1800]


@pytest.mark.parametrize(("spare", "reason"), [(2400, "finished"), (2399, "budget")])
def test_a_budget_counts_the_room_that_a_second_try_has(
    settings: Settings, spare: int, reason: str
) -> None:
    """What is left after the first call has to hold the prompt and twice the tokens."""
    used = Usage(500, 500)
    prompts: list[int] = []

    def script(call: Call) -> str | Reply:
        prompts.append(size(call.messages))
        return cut(call, used) if call.max_tokens == 1200 else WHOLE_ANSWER

    write(settings, POLL.replace("min = 2", "min = 1\nmax = 1"))

    async def work(budget: int) -> str | None:
        async with engine(settings, ScriptedSpeaker(script, usage=used)) as service:
            made = await service.create(
                "Ship it?", format="poll", participants=[{"name": "Ada", "model": MODEL}],
                limits={"max_total_tokens": budget},
            )  # fmt: skip
            return (await service.wait(made.id)).stop_reason

    assert go(work(10**6)) == "finished"
    assert go(work(1000 + prompts[1] + spare)) == reason


class Thinker(ScriptedSpeaker):
    """Has a small window, and thinks."""

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 12_000, 0.0, 0.0, least=self._least)


@pytest.mark.parametrize("least", [None, "low"])
def test_a_prompt_leaves_room_for_thoughts(settings: Settings, least: Any) -> None:
    long = json.dumps(
        {
            **STAND,
            "position": "Ship it",
            "rationale": " ".join(f"For cause {n}." for n in range(100)),
        }
    )
    text = POLL.replace("ask =", "rounds = 9\nask =")
    speaker = Thinker(lambda _: long, least=least)
    hold(settings, speaker, text)
    longest = max(size(call.messages) for call in speaker.calls)
    room = 12_000 - 1200 - limits.thinking(None, least, 12_000).tokens
    assert room - 3_000 < longest <= room, "as much as fits, and no more"


def test_what_was_thought_is_counted_apart_wherever_usage_is_told(settings: Settings) -> None:
    def script(call: Call) -> Reply:
        thinks = call.step.actor == "ada"
        return Reply(WHOLE_ANSWER, call.model, Usage(10, 50, 0.1, 0, False, 30 if thinks else 0))

    speaker = ScriptedSpeaker(script)
    done, turns = hold(settings, speaker)
    assert [turn.usage.thinking_tokens for turn in turns] == [30, 0]
    assert (done.usage.output_tokens, done.usage.thinking_tokens) == (100, 30)

    async def look() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            attempts = await service.attempts(done.id)
            assert [row["thinking_tokens"] for row in attempts] == [30, 0]
            assert (await service.get(done.id)).usage.thinking_tokens == 30

    go(look())
    assert issues(settings, done.id) == ()
    kept = json.loads((settings.home / "records/debates" / done.id / "transcript.json").read_text())
    usages = [turn["usage"] for turn in kept["turns"]]
    assert [usage.get("thinking_tokens") for usage in usages] == [30, None], "0 is not written"


def test_a_seat_may_be_called_like_a_position_but_a_role_may_not(settings: Settings) -> None:
    """Ben may be who is to be elected; a council's Judge is not an answer to its problem."""
    speaker = ScriptedSpeaker(lambda _: json.dumps({**STAND, "position": "Ben"}))
    _, turns = hold(settings, speaker)
    assert [(turn.data or {})["position"] for turn in turns] == ["Ben", "Ben"]
    assert len(speaker.calls) == 2


def test_a_position_is_not_the_name_of_a_role(settings: Settings) -> None:
    roles = 'roles = ["Chair", "Critic"]'
    speaker = ScriptedSpeaker(lambda _: json.dumps({**STAND, "position": "Critic"}))
    write(settings, POLL.replace("min = 2", roles))

    async def work() -> list[Turn]:
        async with engine(settings, speaker) as service:
            made = await service.create("Who?", format="poll", on_failure="degrade")
            await service.wait(made.id)
            return await service.turns(made.id)

    assert {turn.error_code for turn in go(work())} == {"DEBATE_ERR_PROVIDER_INVALID"}


def test_a_field_that_is_null_was_left_out(settings: Settings) -> None:
    """A strict schema leaves a model no other way."""
    said = {**STAND, "position": "Ship it", "risks": None, "remark": None}
    _, turns = hold(settings, ScriptedSpeaker(lambda _: json.dumps(said)))
    assert [(turn.data or {})["risks"] for turn in turns] == [[], []]


def test_thinking_has_what_its_effort_allows_and_half_of_the_window_at_the_most() -> None:
    low, high = THINKING["low"], THINKING["high"]
    assert limits.thinking("high", None, 10**6) == limits.NO_THINKING
    assert limits.thinking(None, "none", 10**6) == limits.NO_THINKING
    assert limits.thinking("none", "none", 10**6) == limits.NO_THINKING
    assert limits.thinking("none", "low", 10**6) == low
    assert limits.thinking("low", "none", 10**6) == low
    assert limits.thinking("low", "high", 10**6) == high
    assert limits.thinking("high", "low", 10**6) == high
    assert limits.thinking("high", "low", 8192).tokens == 4096
    assert limits.thinking("high", "low", 8192).seconds == high.seconds
