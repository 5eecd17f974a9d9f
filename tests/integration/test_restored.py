"""A database restored from an older copy: its files hold more, and nothing is destroyed or paid for
again. All of it is about the embedded database and its file."""

import json
import logging
from pathlib import Path

import pytest

from moot.core import moves
from moot.core.debate import Debate
from moot.errors import WARN_FILES_AHEAD, ProviderUnavailableError, StateError
from moot.settings import Settings
from moot.store.reindex import behind, examine
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.integration.councils import COUNCIL, council_speaker
from tests.integration.homes import contents, copied, damage, reindexed, restore
from tests.integration.speakers import Gated, in_flight
from tests.virtual import engine, go, opened, until

pytestmark = pytest.mark.sqlite_only


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Where the copy is."""
    return tmp_path / "older.sqlite"


async def two_and_a_copy(settings: Settings, copy: Path) -> list[str]:
    """A duel and a council that complete; the copy shows them after their first turns."""
    speaker = Gated(lambda call: call.step.round > 1, council_speaker()._script)
    async with engine(settings, speaker, recover=False) as service:
        duel = await service.create("Ship it?", format="duel")
        council = await service.council(COUNCIL)

        async def spoken() -> bool:
            rows = [await service.get(debate.id) for debate in (duel, council)]
            return [row.turn_count for row in rows] == [2, 5]

        await until(spoken)
        copied(settings, copy)
        speaker.gate.set()
        for debate in (duel, council):
            assert (await service.wait(debate.id)).status == "completed"
    return [duel.id, council.id]


def test_a_restored_older_database_destroys_nothing(
    settings: Settings, older: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        ids = await two_and_a_copy(settings, older)
        restore(settings, older)
        before = contents(settings.home)
        speaker = council_speaker()
        with caplog.at_level(logging.WARNING, "moot"):
            async with engine(settings, speaker) as service:
                for _ in range(3):
                    assert await service.supervisor.sweep() == [], "nobody is sent to it"
                for debate_id in ids:
                    await service._advancer.advance(debate_id)  # as a message would
                    shown = await service.get(debate_id)
                    assert (shown.status, shown.lease_owner) != ("completed", None)
                    assert any(WARN_FILES_AHEAD in words for words in shown.warnings)
                    for verb in (service.stop, service.pause, service.end, service.resume):
                        with pytest.raises(StateError, match="reindex --from-files"):
                            await verb(debate_id)
        assert speaker.calls == [], "nothing is paid for again"
        assert contents(settings.home) == before, "no file is touched"
        for debate_id in ids:
            told = [r.message for r in caplog.records if debate_id in r.message]
            assert told
            assert all("reindex --from-files" in words for words in told)
            assert len(told) <= 2, "once by the supervisor, once by whoever was sent"

    go(work())


def test_it_catches_up_from_the_files_and_only_when_told_to(
    settings: Settings, older: Path
) -> None:
    async def work() -> None:
        ids = await two_and_a_copy(settings, older)
        restore(settings, older)
        before = contents(settings.home)
        async with opened(settings) as database:
            ahead, unknown = await behind(database, settings.home)
        assert (sorted(ahead), unknown) == (sorted(ids), 0)
        left = await reindexed(settings, from_files=False)
        assert sorted(left.skipped) == sorted(ids), "without the word, rows that are there stay"
        assert all("--from-files" in issues[-1] for issues in left.skipped.values())
        done = await reindexed(settings, from_files=True)
        assert (sorted(done.brought_up), done.skipped) == (sorted(ids), {})
        for debate_id in ids:
            assert examine(settings.home, settings.database, debate_id).issues == ()
        speaker = council_speaker()
        async with engine(settings, speaker) as service:
            await service.supervisor.sweep()
            for debate_id in ids:
                assert (await service.get(debate_id)).status == "completed"
                attempts = await service.attempts(debate_id)
                assert not [one for one in attempts if one["outcome"] == "started"]
            assert len(await service.actions(ids[1])) == 2
            assert len(await service.records()) == 1
        assert speaker.calls == []
        assert contents(settings.home) == before
        again = await reindexed(settings, from_files=True)
        assert (again.brought_up, again.present, again.skipped) == ([], 2, {})

    go(work())


def test_rows_that_took_another_course_since_are_replaced_by_the_files(
    settings: Settings, older: Path
) -> None:
    """As an older moot leaves them, which does not look at the files."""

    async def work() -> None:
        duel, _ = await two_and_a_copy(settings, older)
        before = contents(settings.home)
        restore(settings, older)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(moves, "behind", lambda *_: False)
            other = Gated(script=lambda call: f"Otherwise, {plain(call)}")
            async with engine(settings, other, recover=False) as service:
                await service.resume(duel)
                await until(lambda: other.in_flight)
                await service.pause(duel)
                other.gate.set()
                assert (await service.wait(duel)).status == "paused"
        assert contents(settings.home) == before, "files that are ahead are not overwritten"
        assert duel in (await reindexed(settings, from_files=True)).brought_up
        assert examine(settings.home, settings.database, duel).issues == ()

    go(work())


@pytest.mark.parametrize("manifest", ["older", "missing", "torn"])
def test_a_manifest_that_a_crash_left_behind_hides_nothing(
    settings: Settings, older: Path, manifest: str
) -> None:
    """The transcript is written before it, and says how far the files go. There is a way out."""

    async def work() -> None:
        ids = await two_and_a_copy(settings, older)
        for debate_id in ids:
            path = settings.home / "records" / "debates" / debate_id / "manifest.json"
            if manifest == "older":
                listed = json.loads(path.read_text())
                path.write_text(json.dumps({**listed, "lastSeq": 2}, indent=1) + "\n")
            elif manifest == "torn":
                path.write_text('{"layout": ')
            else:
                path.unlink()
        restore(settings, older)
        before = contents(settings.home)
        speaker = council_speaker()
        async with engine(settings, speaker) as service:
            await service.supervisor.sweep()
            for debate_id in ids:
                assert await service._advancer.advance(debate_id) is None
        assert speaker.calls == []
        assert contents(settings.home) == before
        assert sorted((await reindexed(settings, from_files=True)).brought_up) == sorted(ids)
        async with engine(settings, council_speaker()) as service:

            async def filed() -> bool:
                rows = [await service.get(debate_id) for debate_id in ids]
                return all(row.files_seq == row.last_seq for row in rows)

            await until(filed)
        for debate_id in ids:
            assert examine(settings.home, settings.database, debate_id).issues == ()

    go(work())


def test_calls_that_only_the_rows_know_of_are_kept(settings: Settings, older: Path) -> None:
    """An older moot went on with the restored copy and made more calls than the files tell of."""

    async def went_on() -> Debate:
        speaker = Gated(lambda call: call.step.round == 2)
        async with engine(settings, speaker, recover=False) as service:
            made = await in_flight(service, speaker, format="duel")
            copied(settings, older)
            await service.pause(made.id)
            speaker.gate.set()
            assert (await service.wait(made.id)).turn_count == 3
        restore(settings, older)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(moves, "behind", lambda *_: False)
            dead = ScriptedSpeaker(lambda _: ProviderUnavailableError("away", cost_usd=0.01))
            async with engine(settings, dead, recover=False) as service:
                await service.resume(made.id)
                return await service.wait(made.id)

    async def work() -> None:
        paid = await went_on()
        assert paid.usage.calls > 3
        assert (await reindexed(settings, from_files=True)).brought_up == [paid.id]
        async with engine(settings, ScriptedSpeaker()) as service:
            assert (await service.get(paid.id)).usage.calls >= paid.usage.calls
            await service.resume(paid.id)
            ended = await service.wait(paid.id)
        assert (ended.status, ended.turn_count) == ("completed", 6)
        assert ended.usage.cost_usd >= paid.usage.cost_usd

    go(work())


def test_a_council_that_was_stopped_at_its_very_end_stays_stopped(settings: Settings) -> None:
    """Its files are one entry ahead of the copy, and that entry is no decision."""

    async def work() -> None:
        speaker = Gated(lambda _: len(speaker.calls) == 16, council_speaker()._script)
        async with engine(settings, speaker, recover=False) as service:
            made = await service.council(COUNCIL)
            await until(lambda: speaker.in_flight)
            await service.stop(made.id)
            speaker.gate.set()
            assert (await service.wait(made.id)).status == "stopped"
        damage(settings, "DELETE FROM debate_events WHERE type = 'status' AND seq ="
               " (SELECT max(seq) FROM debate_events)")  # fmt: skip
        damage(settings, "UPDATE debate_runs SET status = 'running', ended_at = NULL,"
               " stop_reason = NULL, last_seq = last_seq - 1, files_seq = 0,"
               " lease_owner = NULL, wanted = NULL")  # fmt: skip
        before = contents(settings.home)
        async with engine(settings, council_speaker()) as service:
            await service.supervisor.sweep()
            assert await service._advancer.advance(made.id) is None
            assert (await service.get(made.id)).status == "running"
        assert contents(settings.home) == before

    go(work())
