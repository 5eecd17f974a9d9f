"""A seat's second choice speaks if the first cannot: one turn, every call on record and paid.

The engine keeps what was tried in the debate's row, so that a worker that takes over goes on where
the last one was, and no choice is tried more often than it may be.
"""

import asyncio
import json
from pathlib import Path

import pytest

from moot.core import retry
from moot.core.debate import Debate
from moot.core.events import StatusChanged
from moot.core.retry import MAX_RETRIES
from moot.engine.advance import KEEP_SECONDS
from moot.engine.service import Service
from moot.errors import (
    InputError,
    ProviderAuthError,
    ProviderError,
    ProviderRateLimitError,
    ProviderUnavailableError,
)
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.settings import Settings
from moot.store.replay import read_folder
from moot.testing.speaker import ScriptedSpeaker, plain
from moot.testing.virtual import FrozenClock
from tests.integration.councils import council_speaker
from tests.integration.juries import ballot
from tests.integration.test_waves import Post, workers
from tests.virtual import engine, go, reached

FIRST, SECOND = "claude:first", "openai:second"
BOTH = f"{FIRST}|{SECOND}"
SEATS = [{"name": "Ada", "model": BOTH}, {"name": "Ben", "model": "gemini:ben"}]


class Prices(ScriptedSpeaker):
    """The second choice costs ten times as much."""

    def card(self, model: str) -> ModelCard:
        dear = 10 if model == SECOND else 1
        return ModelCard(model, 100_000, dear * 1e-6, dear * 2e-6)


def failing(*models: str, error: ProviderError | None = None) -> Prices:
    def script(call: Call) -> str | ProviderError:
        if call.model in models:
            return error or ProviderUnavailableError("Gone.", input_tokens=7, cost_usd=0.002)
        return plain(call)

    return Prices(script)


async def calls_of(service: Service, debate: Debate, actor: str = "ada") -> list[tuple[str, str]]:
    made = [one for one in await service.attempts(debate.id) if one["actor"] == actor]
    return [(one["model"], one["outcome"]) for one in made]


def test_the_second_choice_speaks_once_the_retries_are_used_up(settings: Settings) -> None:
    async def work() -> None:
        speaker = failing(FIRST)
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="duel", participants=SEATS)
            ended = await service.wait(made.id)
            assert (ended.status, ended.degraded) == ("completed", False)
            turns = await service.turns(made.id)
            assert [turn.actor for turn in turns] == ["ada", "ben"] * 3, "one turn for each step"
            spoken = turns[0]
            assert (spoken.model, spoken.status) == (SECOND, "ok")
            step = [(FIRST, "failed")] * (MAX_RETRIES + 1) + [(SECOND, "ok")]
            assert await calls_of(service, made) == step * 3
            assert spoken.usage.calls == len(step)
            assert spoken.usage.cost_usd == pytest.approx(4 * 0.002 + 0.001)
            assert spoken.usage.input_tokens == 4 * 7 + 10
            bill = [one["cost_usd"] for one in await service.attempts(made.id)]
            assert ended.usage.cost_usd == pytest.approx(sum(bill))
            assert ended.usage.calls == len(bill) == len(speaker.calls)
            log = await service.log(made.id, 0, 1000)
            told = [one.notice for one in log if isinstance(one, StatusChanged) and one.notice]
            words = f"{FIRST} did not answer for Ada: it could not be reached."
            assert told == [f"{words} {SECOND} speaks instead."] * 3
            assert [one.seq for one in log] == list(range(1, ended.last_seq + 1))
        assert read_folder(settings.home, made.id).issues == ()

    go(work())


def test_an_error_that_no_retry_can_fix_goes_over_at_once(settings: Settings) -> None:
    async def work() -> None:
        speaker = failing(FIRST, error=ProviderAuthError("The key was refused."))
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="duel", participants=SEATS)
            await service.wait(made.id)
            assert await calls_of(service, made) == [(FIRST, "failed"), (SECOND, "ok")] * 3

    go(work())


def test_a_wait_that_is_too_long_goes_over_at_once(settings: Settings) -> None:
    async def work() -> None:
        slow = ProviderRateLimitError("Slower.", retry_after=retry.LONGEST_WAIT + 1)
        async with engine(settings, failing(FIRST, error=slow)) as service:
            made = await service.create("m", format="duel", participants=SEATS)
            await service.wait(made.id)
            assert (await calls_of(service, made))[:2] == [(FIRST, "failed"), (SECOND, "ok")]

    go(work())


def test_when_no_choice_answers_the_debate_waits_and_a_retry_begins_anew(
    settings: Settings,
) -> None:
    async def work() -> None:
        speaker = failing(FIRST, SECOND)
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="duel", participants=SEATS)
            paused = await reached(service, made.id, "paused")
            assert paused.failure
            assert (paused.failure.model, paused.failure.attempts) == (SECOND, 8)
            assert paused.failure.message == "None of Ada's 2 models answered. The last: Gone."
            assert paused.tries == ()
            await service.retry(made.id)
            await reached(service, made.id, "paused")
            assert len(await calls_of(service, made)) == 16, "no more than each may be tried"
            await service.retry(made.id, "claude:other|gemini:last")
            assert (await service.wait(made.id)).status == "completed"
            seat = (await service.get(made.id)).seat("ada")
            assert seat.choices == ("claude:other", "gemini:last")
            assert (await service.turns(made.id))[0].model == "claude:other"

    go(work())


def test_a_council_goes_on_without_the_turn_if_all_choices_fail(settings: Settings) -> None:
    async def work() -> None:
        good = council_speaker()

        def script(call: Call) -> str | Reply | ProviderError:
            if call.model in (FIRST, SECOND):
                return ProviderAuthError("No.")
            return good._script(call)

        async with engine(settings, Prices(script)) as service:
            made = await service.create(
                "m", format="council", participants=[{"role": "Critic", "model": BOTH}]
            )
            ended = await service.wait(made.id)
            assert (ended.status, ended.degraded) == ("completed", True)
            lost = [turn for turn in await service.turns(made.id) if turn.actor == "critic"]
            assert {(turn.model, turn.status) for turn in lost} == {(SECOND, "failed")}
            once = [(FIRST, "failed"), (SECOND, "failed")]
            assert await calls_of(service, made, "critic") == once * len(lost)

    go(work())


@pytest.mark.parametrize("calls", range(1, 7))
def test_whoever_takes_over_goes_on_where_the_last_one_was(settings: Settings, calls: int) -> None:
    """The first process is gone while the n-th call is made: those that failed are not made
    again."""

    class Hanging(Prices):
        async def speak(self, call: Call, say: Say) -> Reply:
            if len(self.calls) == calls:
                self.calls.append(call)
                gone.set()
                await asyncio.Event().wait()
            return await super().speak(call, say)

    gone = asyncio.Event()

    async def work() -> None:
        async with engine(settings, Hanging(failing(FIRST)._script)) as service:
            made = await service.create("m", format="duel", participants=SEATS)
            await gone.wait()
        async with engine(settings, failing(FIRST)) as service:
            ended = await service.wait(made.id)
            assert ended.status == "completed"
            turns = await service.turns(made.id)
            assert [turn.actor for turn in turns] == ["ada", "ben"] * 3
            assert {turn.model for turn in turns if turn.actor == "ada"} == {SECOND}
            failed = [one for one in await calls_of(service, made) if one == (FIRST, "failed")]
            assert len(failed) == (MAX_RETRIES + 1) * 3, "as many as if nothing had happened"

    go(work(), 2000)


def test_a_worker_keeps_the_choice_for_the_next_one(tmp_path: Path) -> None:
    """Between two waves nobody has the debate in hand: its row says who is to speak."""

    async def work() -> None:
        slow = ProviderRateLimitError("Slower.", retry_after=30.0)

        def script(call: Call) -> str | ProviderError:
            if call.model == FIRST:
                return ProviderAuthError("No.")
            return slow if len(speaker.calls) < 4 else plain(call)

        post, clock = Post(), FrozenClock()
        speaker = ScriptedSpeaker(script, seconds=KEEP_SECONDS)  # it lets go after each wave
        async with workers(tmp_path, speaker, post, clock) as service:
            made = await service.create("m", format="duel", participants=SEATS)
            (letter,) = post.take()
            for calls in (1, 2):
                await service.wave(*letter)
                ((_, tried),) = (await service.get(made.id)).tries
                assert (tried.choice, tried.calls) == (1, calls)
                clock.tick(40)
                await service.supervisor.sweep()
                post.take()
            await service.wave(*letter)
            (turn,) = await service.turns(made.id)
            assert turn.model == SECOND
            assert [call.model for call in speaker.calls] == [FIRST] + [SECOND] * 3
            assert (await service.get(made.id)).tries == ()

    go(work())


def test_a_host_and_a_juror_have_second_choices_too(settings: Settings) -> None:
    async def work() -> None:
        def script(call: Call) -> str | Reply | ProviderError:
            if call.model == FIRST:
                return ProviderAuthError("No.")
            return json.dumps(ballot(call)) if call.step.answer == "ballot" else plain(call)

        async with engine(settings, Prices(script)) as service:
            made = await service.create(
                "m", format="classic", host={"model": BOTH}, options={"free_rounds": 1},
                jury={"size": 1, "models": [f"{FIRST}|gemini:juror"], "baseline": False},
                participants=[{"name": "Ada", "model": "xai:a"}, {"name": "Ben", "model": SECOND}],
            )  # fmt: skip
            ended = await service.wait(made.id)
            assert (ended.status, ended.degraded) == ("completed", False)
            turns = await service.turns(made.id)
            assert {turn.model for turn in turns if turn.actor == "host"} == {SECOND}
            votes = [turn for turn in turns if turn.actor == "juror-1"]
            assert [turn.model for turn in votes] == ["gemini:juror"] * 2
            verdict = await service.verdict(made.id)
            assert verdict["jury"]["jurors"][0]["family"] == "gemini", (
                "who voted, not who was asked"
            )

    go(work())


def test_the_outcome_counts_the_families_that_spoke(settings: Settings) -> None:
    """A juror whose second choice debated: nobody knew before that it would vote."""

    async def work() -> None:
        def script(call: Call) -> str | Reply | ProviderError:
            if call.model == FIRST:
                return ProviderAuthError("No.")
            return json.dumps(ballot(call)) if call.step.answer == "ballot" else plain(call)

        async with engine(settings, Prices(script)) as service:
            made = await service.create(
                "m", format="duel", jury={"size": 1, "models": [BOTH], "baseline": False},
                participants=[{"name": "Ada", "model": SECOND}, {"name": "Ben", "model": SECOND}],
            )  # fmt: skip
            assert not [one for one in made.warnings if "JURY_OVERLAP" in one or "ONE_FAM" in one]
            await service.wait(made.id)
            warnings = (await service.verdict(made.id))["warnings"]
            assert any(one.startswith("DEBATE_WARN_JURY_OVERLAP") for one in warnings)
            assert any(one.startswith("DEBATE_WARN_ONE_FAMILY") for one in warnings)

    go(work())


def test_budgets_and_plans_count_the_dearer_choice(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, failing()) as service:
            seats = [{"name": "Ada", "model": FIRST}, {"name": "Ben", "model": FIRST}]
            cheap = await service.plan({"motion": "m", "format": "duel", "participants": seats})
            seats[0]["model"] = BOTH
            dear = await service.plan({"motion": "m", "format": "duel", "participants": seats})
            assert cheap.estimate.cost_usd
            assert dear.estimate.cost_usd
            assert dear.estimate.cost_usd.high > 4 * cheap.estimate.cost_usd.high
            limit = {"max_cost_usd": 0.005}
            await service.create(
                "m", format="duel", participants=[{"name": "A", "model": FIRST}, seats[1]],
                limits=limit,
            )  # fmt: skip
            with pytest.raises(InputError, match="max_cost_usd has no room"):
                await service.create("m", format="duel", participants=seats, limits=limit)

    go(work())


def test_what_cannot_be_a_choice_is_refused_with_its_place(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, failing()) as service:
            for model, words in (
                ("claude|", 'A model is "provider:name"'),
                ("claude|nope:x", 'There is no provider "nope"'),
                ("claude|claude", "is named twice"),
                ("|".join(f"claude:{n}" for n in range(5)), "5 models for one seat are too many"),
            ):
                seats = [{"name": "Ada", "model": model}, {"name": "Ben"}]
                with pytest.raises(InputError, match=words) as wrong:
                    await service.create("m", format="duel", participants=seats)
                assert wrong.value.field == "participants[0].model"

    go(work())
