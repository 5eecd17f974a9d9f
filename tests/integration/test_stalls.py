"""Nothing is tried for ever: what cannot go on pauses or fails with a sentence."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from moot.core import moves
from moot.core.debate import Debate
from moot.core.events import TurnCommitted
from moot.core.status import FINAL
from moot.errors import (
    StateError,
    StorageError,
)
from moot.ports.debate_store import Once
from moot.settings import Settings
from moot.store.replay import read_folder
from moot.store.store import SqlStore
from moot.testing.speaker import ScriptedSpeaker
from tests.integration.homes import add_foreign_turn, damage
from tests.integration.speakers import Gated, in_flight
from tests.virtual import engine, go, reached


def test_nothing_is_said_that_could_not_be_filed(settings: Settings) -> None:
    async def work() -> None:
        speaker = ScriptedSpeaker()
        async with engine(settings, speaker, recover=False) as service:
            made = await service.create("m", format="duel", start=False)
            shutil.rmtree(settings.home / "records", ignore_errors=True)
            settings.home.mkdir(exist_ok=True)
            (settings.home / "records").write_text("in the way")
            await service.start(made.id)
            ended = await reached(service, made.id, *FINAL)
            assert (ended.status, ended.stop_reason) == ("failed", "structural_failure")
            assert ended.failure
            assert "cannot be written" in ended.failure.message
            assert speaker.calls == []

    go(work())


def test_a_debate_that_comes_no_further_fails_with_a_sentence(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever mistake of ours it is: three advances, then the end, and the others go on."""
    speaker = ScriptedSpeaker()
    commit = moves.commit

    def broken(debate: Debate, *rest: Any) -> Any:
        if debate.motion == "bad" and debate.turn_count == 1:
            raise RecursionError("deep")
        return commit(debate, *rest)

    monkeypatch.setattr(moves, "commit", broken)

    async def work() -> None:
        async with engine(settings, speaker) as service:
            bad = await service.create("bad", format="duel")
            good = await service.create("good", format="duel")
            ended = await service.wait(bad.id)
            assert (ended.status, ended.stop_reason) == ("failed", "structural_failure")
            assert ended.failure
            assert "RecursionError" in ended.failure.message
            attempts = await service.attempts(bad.id)
            assert len(attempts) == 1 + moves.MAX_STALLS
            assert all(one["input_tokens"] == 10 for one in attempts), "each call is counted"
            assert [one["outcome"] for one in attempts] == ["ok", "failed", "failed", "failed"]
            assert ended.usage.input_tokens == 10 * len(attempts)
            assert (await service.wait(good.id)).status == "completed"
            await service.supervisor.sweep()
            assert len(await service.attempts(bad.id)) == len(attempts)
        assert read_folder(settings.home, bad.id).issues == ()

    go(work())


def test_a_disk_that_cannot_take_a_turn_pauses_the_debate(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls are not made for ever whose turns cannot be kept; a person makes room and resumes."""
    full = True
    change = SqlStore.change

    async def tight(
        self: SqlStore, debate_id: str, move: Callable[[Debate], Any], once: Once | None = None
    ) -> Any:
        def watched(row: Debate) -> Any:
            made = move(row)
            if full and any(isinstance(event, TurnCommitted) for event in made.events):
                raise StorageError("The disk is full. Make room, then go on.")
            return made

        return await change(self, debate_id, watched, once)

    monkeypatch.setattr(SqlStore, "change", tight)

    async def work() -> None:
        nonlocal full
        speaker = ScriptedSpeaker()
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="duel")
            debate = await reached(service, made.id, "paused")
            assert debate.failure
            assert debate.failure.message == "The disk is full. Make room, then go on."
            assert len(speaker.calls) == moves.MAX_STALLS
            assert debate.usage.input_tokens == 10 * moves.MAX_STALLS, "each call is counted"
            with pytest.raises(StateError, match="neither another model nor more time helps"):
                await service.retry(made.id, "openai:other")
            with pytest.raises(StateError, match=r"no turn to skip\. Resume the debate"):
                await service.skip(made.id)
            full = False
            await service.resume(made.id)
            assert (await service.wait(made.id)).status == "completed"

    go(work())


@pytest.mark.sqlite_only
def test_a_turn_that_the_row_does_not_know_of_is_not_paid_for_again_and_again(
    settings: Settings,
) -> None:
    """The last wall refuses it once; then the cursor is rebuilt from the turns."""

    async def work() -> None:
        speaker = ScriptedSpeaker(seconds=2.0)
        async with engine(settings, speaker, recover=False) as service:
            made = await service.create("m", format="duel")
            async for event in service.follow(made.id):
                if isinstance(event, TurnCommitted):
                    break
            add_foreign_turn(settings, 3, "ada")  # under the feet of whoever has it
            done = await service.wait(made.id)
            assert done.status in FINAL
            assert len(speaker.calls) <= 6 + 1

    go(work())


@pytest.mark.sqlite_only
def test_a_row_that_cannot_be_read_does_not_stop_the_supervisor(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker(), recover=False) as service:
            bad = await service.create("bad", format="duel", start=False)
            good = await service.create("good", format="duel", start=False)
        damage(settings, "UPDATE debate_runs SET status = 'queued'")
        torn = "UPDATE debate_runs SET participants = '[{\"torn\"' WHERE id = ?"
        damage(settings, torn, bad.id)
        async with engine(settings, ScriptedSpeaker()) as service:
            await reached(service, good.id, "completed")

    go(work())


@pytest.mark.sqlite_only
def test_a_debate_whose_turns_cannot_be_read_fails_with_a_sentence(settings: Settings) -> None:
    """It cannot even be claimed: that counts as an advance that came no further."""

    async def work() -> None:
        speaker = Gated(lambda call: call.step.round == 2)
        async with engine(settings, speaker, recover=False) as service:
            made = await in_flight(service, speaker, format="duel")
            await service.pause(made.id, at_once=True)
        damage(settings, "UPDATE debate_turns SET data = '{torn' WHERE round = 1")
        speaker = ScriptedSpeaker()
        async with engine(settings, speaker) as service:
            await service.resume(made.id)
            ended = await reached(service, made.id, "failed")
            assert ended.stop_reason == "structural_failure"
            assert ended.failure
            assert "JSONDecodeError" in ended.failure.message
        assert speaker.calls == []

    go(work())
