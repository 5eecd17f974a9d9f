"""What must hold whatever happens: older databases, endless loops, stuck leases, lost stops."""

import asyncio
import json
import logging
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.core import moves, verbs
from moot.core.debate import Debate, Failure
from moot.core.events import StatusChanged, TurnCommitted
from moot.core.status import FINAL
from moot.engine import failpoints, finish
from moot.engine.service import Service
from moot.errors import (
    WARN_FILES_AHEAD,
    ProviderRefusedError,
    ProviderUnavailableError,
    StateError,
    StorageError,
)
from moot.ports import Call
from moot.settings import Settings
from moot.store import schema
from moot.store.reindex import Reindexed, behind, examine, reindex
from moot.store.replay import read_folder
from moot.store.store import SqlStore, open_database
from moot.testing.contract import a_debate
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.integration.councils import council_speaker
from tests.integration.test_engine import dead_owner, go, quick_waits, settings
from tests.integration.test_reports import Voices

__all__ = ["quick_waits", "settings"]
COUNCIL = {"problem": "Ship it?", "output_type": "decision"}


def contents(home: Path) -> dict[str, bytes]:
    """Every file of every debate, and every record."""
    return {str(p.relative_to(home)): p.read_bytes() for p in (home / "records").rglob("*.*")}


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    while not (found := await condition()):
        await asyncio.sleep(0.01)
    return found


def copied(settings: Settings, to: Path) -> Path:
    """The database as it is now."""
    with (
        closing(sqlite3.connect(settings.file)) as source,
        closing(sqlite3.connect(to)) as target,
    ):
        source.backup(target)
    return to


def restore(settings: Settings, copy: Path) -> None:
    for leftover in settings.file.parent.glob(f"{settings.file.name}-*"):
        leftover.unlink()
    shutil.copy(copy, settings.file)
    with closing(sqlite3.connect(settings.file)) as conn:  # the copy is older than any lease
        conn.execute("UPDATE debate_runs SET lease_until = 0")
        conn.commit()


def run_reindex(settings: Settings, *, from_files: bool) -> Reindexed:
    async def work() -> Reindexed:
        database = open_database(settings.database, 2)
        try:
            return await reindex(database, settings.home, from_files=from_files)
        finally:
            database.close()

    return asyncio.run(work())


# --- a database restored from an older copy ---


async def two_and_a_copy(settings: Settings, copy: Path) -> list[str]:
    """A duel and a council that complete; the copy shows them after their first turns."""
    gate = asyncio.Event()
    speaker = council_speaker()
    script = speaker._script

    class Held(ScriptedSpeaker):
        async def speak(self, call: Call, say: Any) -> Any:
            if call.step.round > 1:
                await gate.wait()
            return await super().speak(call, say)

    async with open_service(settings, speaker=Held(script), recover=False) as service:
        duel = await service.create("Ship it?", format="duel")
        council = await service.council(COUNCIL)
        for debate_id, turns in ((duel.id, 2), (council.id, 5)):

            async def spoken(debate_id: str = debate_id, turns: int = turns) -> bool:
                return (await service.get(debate_id)).turns == turns

            await until(spoken)
        copied(settings, copy)
        gate.set()
        for debate in (duel, council):
            assert (await service.wait(debate.id)).status == "completed"
    return [duel.id, council.id]


@pytest.mark.sqlite_only
def test_a_restored_older_database_destroys_nothing(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> list[str]:
        ids = await two_and_a_copy(settings, tmp_path / "older.sqlite")
        restore(settings, tmp_path / "older.sqlite")
        before = contents(settings.home)
        speaker = council_speaker()
        with caplog.at_level(logging.WARNING, "moot"):
            async with open_service(settings, speaker=speaker) as service:
                for _ in range(3):
                    await service.supervisor.sweep()
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
        return ids

    ids = go(work())
    database = open_database(settings.database, 2)
    try:
        ahead, unknown = asyncio.run(behind(database, settings.home))
    finally:
        database.close()
    assert (sorted(ahead), unknown) == (sorted(ids), 0)

    left = run_reindex(settings, from_files=False)
    assert sorted(left.skipped) == sorted(ids), "without the word, rows that are there stay"
    assert all("--from-files" in issues[-1] for issues in left.skipped.values())
    before = contents(settings.home)
    done = run_reindex(settings, from_files=True)
    assert (sorted(done.brought_up), done.skipped) == (sorted(ids), {})
    for debate_id in ids:
        assert examine(settings.home, settings.database, debate_id).issues == ()

    async def after() -> None:
        speaker = council_speaker()
        async with open_service(settings, speaker=speaker) as service:
            await service.supervisor.sweep()
            for debate_id in ids:
                assert (await service.get(debate_id)).status == "completed"
                attempts = await service.attempts(debate_id)
                assert not [one for one in attempts if one["outcome"] == "started"]
            assert len(await service.actions(ids[1])) == 2
            assert len(await service.records()) == 1
        assert speaker.calls == []

    go(after())
    assert contents(settings.home) == before
    again = run_reindex(settings, from_files=True)
    assert (again.brought_up, again.present, again.skipped) == ([], 2, {})


@pytest.mark.sqlite_only
def test_rows_that_took_another_course_since_are_replaced_by_the_files(
    settings: Settings, tmp_path: Path
) -> None:
    """As an older moot leaves them, which does not look at the files."""

    async def work() -> str:
        duel, _ = await two_and_a_copy(settings, tmp_path / "older.sqlite")
        before = contents(settings.home)
        restore(settings, tmp_path / "older.sqlite")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(moves, "behind", lambda *_: False)
            other = Gated()
            other._script = lambda call: f"Otherwise, {plain(call)}"
            async with open_service(settings, speaker=other, recover=False) as service:
                await service.resume(duel)
                while not other.in_flight:
                    await asyncio.sleep(0.005)
                await service.pause(duel)
                other.gate.set()
                assert (await service.wait(duel)).status == "paused"
        assert contents(settings.home) == before, "files that are ahead are not overwritten"
        return duel

    duel = go(work())
    assert duel in run_reindex(settings, from_files=True).brought_up
    assert examine(settings.home, settings.database, duel).issues == ()


@pytest.mark.sqlite_only
def test_a_council_that_died_between_files_and_commit_ends_as_filed(settings: Settings) -> None:
    """Its files are one entry ahead by right: they stand, and nothing is said or written anew."""

    async def work() -> None:
        class DiedError(BaseException):
            pass

        def die(name: str) -> None:
            if name == "filed":
                raise DiedError

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(failpoints, "hit", die)
            async with open_service(settings, speaker=council_speaker(), recover=False) as service:
                made = await service.council(COUNCIL, start=False)
                patch.setattr(service._advancer, "_let_go", _nothing)
                await service._verb(made.id, _enqueue)
                with pytest.raises(DiedError):
                    await service._advancer.advance(made.id)
                assert (await service.get(made.id)).status == "running"
        before = contents(settings.home)
        assert any(name.endswith("final-packet.json") for name in before)
        speaker = council_speaker()
        with sqlite3.connect(settings.file) as conn:
            conn.execute("UPDATE debate_runs SET lease_until = 0")
        async with open_service(settings, speaker=speaker) as service:

            async def over() -> bool:
                debate = await service.get(made.id)
                return debate.status in FINAL and debate.files_seq == debate.last_seq

            await until(over)
            assert (await service.get(made.id)).status == "completed"
        assert speaker.calls == []
        assert contents(settings.home) == before
        assert examine(settings.home, settings.database, made.id).issues == ()

    go(work())


async def _nothing(*_: Any) -> None:
    """As a process that died does."""


def _enqueue(row: Debate, at: str) -> Any:
    from moot.core import verbs

    return verbs.enqueue(row, at)


@pytest.mark.sqlite_only
@pytest.mark.parametrize("manifest", ["older", "missing", "torn"])
def test_a_manifest_that_a_crash_left_behind_hides_nothing(
    settings: Settings, tmp_path: Path, manifest: str
) -> None:
    """The transcript is written before it, and says how far the files go. There is a way out."""
    ids = go(two_and_a_copy(settings, tmp_path / "older.sqlite"))
    for debate_id in ids:
        path = settings.home / "records" / "debates" / debate_id / "manifest.json"
        if manifest == "older":
            listed = json.loads(path.read_text())
            path.write_text(json.dumps({**listed, "lastSeq": 2}, indent=1) + "\n")
        elif manifest == "torn":
            path.write_text('{"layout": ')
        else:
            path.unlink()
    restore(settings, tmp_path / "older.sqlite")
    before = contents(settings.home)

    async def work() -> None:
        speaker = council_speaker()
        async with open_service(settings, speaker=speaker) as service:
            await service.supervisor.sweep()
            for debate_id in ids:
                assert await service._advancer.advance(debate_id) is None
        assert speaker.calls == []

    go(work())
    assert contents(settings.home) == before
    assert sorted(run_reindex(settings, from_files=True).brought_up) == sorted(ids)

    async def mended() -> None:
        async with open_service(settings, speaker=council_speaker()) as service:

            async def filed() -> bool:
                rows = [await service.get(debate_id) for debate_id in ids]
                return all(row.files_seq == row.last_seq for row in rows)

            await until(filed)

    go(mended())
    for debate_id in ids:
        assert examine(settings.home, settings.database, debate_id).issues == ()


@pytest.mark.sqlite_only
def test_a_stop_that_was_accepted_stands_in_the_files_too(settings: Settings) -> None:
    async def work() -> str:
        speaker = Gated(lambda call: call.step.round == 2)
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await in_flight(service, speaker, format="duel")
            await service.stop(made.id)
            await service._filer._file_round(made.id)
            return made.id

    debate_id = go(work())
    settings.file.unlink()
    schema.prepare(settings.database)
    assert run_reindex(settings, from_files=True).indexed == [debate_id]

    async def after() -> None:
        speaker = ScriptedSpeaker()
        async with open_service(settings, speaker=speaker) as service:
            assert (await service.wait(debate_id)).status == "stopped"
        assert speaker.calls == []

    go(after())


@pytest.mark.sqlite_only
def test_calls_that_only_the_rows_know_of_are_kept(settings: Settings, tmp_path: Path) -> None:
    """An older moot went on with the restored copy and made more calls than the files tell of."""

    async def work() -> Debate:
        speaker = Gated(lambda call: call.step.round == 2)
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await in_flight(service, speaker, format="duel")
            copied(settings, tmp_path / "older.sqlite")
            await service.pause(made.id)
            speaker.gate.set()
            assert (await service.wait(made.id)).turns == 3
        restore(settings, tmp_path / "older.sqlite")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(moves, "behind", lambda *_: False)
            dead = ScriptedSpeaker(lambda _: ProviderUnavailableError("away", cost_usd=0.01))
            async with open_service(settings, speaker=dead, recover=False) as service:
                await service.resume(made.id)
                paid = await service.wait(made.id)
        assert paid.usage.calls > 3
        return paid

    paid = go(work())
    assert run_reindex(settings, from_files=True).brought_up == [paid.id]

    async def after() -> None:
        async with open_service(settings, speaker=ScriptedSpeaker()) as service:
            assert (await service.get(paid.id)).usage.calls >= paid.usage.calls
            await service.resume(paid.id)
            ended = await service.wait(paid.id)
            assert (ended.status, ended.turns) == ("completed", 6)
            assert ended.usage.cost_usd >= paid.usage.cost_usd

    go(after())


@pytest.mark.sqlite_only
@pytest.mark.parametrize("row", ["gone", "making"])
def test_a_report_that_a_model_wrote_is_not_paid_for_again(tmp_path: Path, row: str) -> None:
    settings = Settings(home=tmp_path / "home", report_model="openai:writer", sweep_seconds=0.05)

    async def work() -> None:
        voices = Voices()
        async with open_service(settings, speaker=voices) as service:
            made = await service.create("m", format="duel")
            await service.wait(made.id)
            calls = len(voices.calls)
        before = contents(settings.home)
        report = json.loads(before[f"records/debates/{made.id}/report.json"])
        assert (calls, report["method"]) == (7, "model")
        with closing(sqlite3.connect(settings.file)) as conn:
            if row == "gone":
                conn.execute("DELETE FROM debate_reports")
                conn.execute("UPDATE debate_runs SET files_seq = 0")
            else:
                conn.execute(
                    "UPDATE debate_reports SET state = 'making', reading = NULL, until = 0"
                )
            conn.commit()
        async with open_service(settings, speaker=voices) as service:

            async def known() -> bool:
                found = (await service.reports([made.id])).get(made.id)
                debate = await service.get(made.id)
                done = debate.files_seq == debate.last_seq
                return bool(done and found and found.state == "made" and found.read)

            await until(known)
        assert len(voices.calls) == calls
        assert contents(settings.home) == before
        assert examine(settings.home, settings.database, made.id).issues == ()

    go(work())


@pytest.mark.sqlite_only
def test_a_council_that_was_stopped_at_its_very_end_stays_stopped(
    settings: Settings, tmp_path: Path
) -> None:
    """Its files are one entry ahead of the copy, and that entry is no decision."""

    async def work() -> None:
        speaker = Gated(lambda _: len(speaker.calls) == 16)
        speaker._script = council_speaker()._script
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await service.council(COUNCIL)
            while not speaker.in_flight:
                await asyncio.sleep(0.005)
            await service.stop(made.id)
            speaker.gate.set()
            assert (await service.wait(made.id)).status == "stopped"
            with closing(sqlite3.connect(settings.file)) as conn:  # one entry back
                conn.execute("DELETE FROM debate_events WHERE type = 'status' AND seq ="
                             " (SELECT max(seq) FROM debate_events)")  # fmt: skip
                conn.execute("UPDATE debate_runs SET status = 'running', ended_at = NULL,"
                             " stop_reason = NULL, last_seq = last_seq - 1, files_seq = 0,"
                             " lease_owner = NULL, wanted = NULL")  # fmt: skip
                conn.commit()
        before = contents(settings.home)
        async with open_service(settings, speaker=council_speaker()) as service:
            await service.supervisor.sweep()
            assert await service._advancer.advance(made.id) is None
            assert (await service.get(made.id)).status == "running"
        assert contents(settings.home) == before

    go(work())


# --- files after each round ---


@pytest.mark.sqlite_only
def test_a_lost_database_loses_only_the_round_that_is_spoken(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finish, "PATIENCE_SECONDS", 0.0)
    gate = asyncio.Event()

    class Held(ScriptedSpeaker):
        async def speak(self, call: Call, say: Any) -> Any:
            if call.step.round > 2:
                await gate.wait()
            return await super().speak(call, say)

    async def work() -> str:
        async with open_service(settings, speaker=Held(), recover=False) as service:
            made = await service.create("m", format="duel")

            async def filed() -> bool:
                replay = read_folder(settings.home, made.id)
                return bool(replay.debate and replay.debate.turns == 4)

            await until(filed)
            replay = read_folder(settings.home, made.id)
            assert replay.issues == ()
            assert replay.debate
            assert replay.debate.status == "running"
            seen = examine(settings.home, settings.database, made.id)
            assert seen.issues == (), "that the next round is under way is no disagreement"
        return made.id

    debate_id = go(work())
    settings.file.unlink()
    schema.prepare(settings.database)
    assert run_reindex(settings, from_files=False).indexed == [debate_id]

    async def after() -> None:
        gate.set()
        speaker = ScriptedSpeaker()
        async with open_service(settings, speaker=speaker) as service:

            async def over() -> bool:
                return (await service.get(debate_id)).status == "completed"

            await until(over)
            assert len(speaker.calls) == 2
            turns = await service.turns(debate_id)
            assert [(turn.round, turn.actor) for turn in turns] == [
                (number, who) for number in (1, 2, 3) for who in ("ada", "ben")
            ]
            await service.wait(debate_id)
        assert read_folder(settings.home, debate_id).issues == ()

    go(after())


# --- nothing is tried for ever ---


def test_a_debate_that_comes_no_further_fails_with_a_sentence(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever mistake of ours it is: three advances, then the end, and the others go on."""
    speaker = ScriptedSpeaker()
    commit = moves.commit

    def broken(debate: Debate, *rest: Any) -> Any:
        if debate.motion == "bad" and debate.turns == 1:
            raise RecursionError("deep")
        return commit(debate, *rest)

    monkeypatch.setattr(moves, "commit", broken)

    async def work() -> None:
        async with open_service(settings, speaker=speaker) as service:
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

    async def tight(self: SqlStore, debate_id: str, move: Callable[[Debate], Any]) -> Any:
        def watched(row: Debate) -> Any:
            made = move(row)
            if full and any(isinstance(event, TurnCommitted) for event in made.events):
                raise StorageError("The disk is full. Make room, then go on.")
            return made

        return await change(self, debate_id, watched)

    monkeypatch.setattr(SqlStore, "change", tight)

    async def work() -> None:
        nonlocal full
        speaker = ScriptedSpeaker()
        async with open_service(settings, speaker=speaker) as service:
            made = await service.create("m", format="duel")

            async def paused() -> bool:
                return (await service.get(made.id)).status == "paused"

            await until(paused)
            debate = await service.get(made.id)
            assert debate.failure
            assert debate.failure.message == "The disk is full. Make room, then go on."
            assert len(speaker.calls) == moves.MAX_STALLS
            assert debate.usage.input_tokens == 10 * moves.MAX_STALLS, "each call is counted"
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
        speaker = ScriptedSpeaker(seconds=0.02)
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await service.create("m", format="duel")
            async for event in service.follow(made.id):
                if isinstance(event, TurnCommitted):
                    break
            with sqlite3.connect(settings.file) as conn:  # under the feet of whoever has it
                conn.execute(
                    "INSERT INTO debate_turns (debate_id, seq, round, stage, actor, name, kind,"
                    " text, status, model, input_tokens, output_tokens, cost_usd, calls,"
                    " estimated, started_at, committed_at) SELECT debate_id, 90, 3, stage,"
                    " 'ada', 'Ada', kind, 'Foreign.', status, model, 0, 0, 0, 1, 0, started_at,"
                    " committed_at FROM debate_turns WHERE actor = 'ada' AND round = 1"
                )
            done = await service.wait(made.id)
            assert done.status in FINAL
            assert len(speaker.calls) <= 6 + 1

    go(work())


@pytest.mark.sqlite_only
def test_a_row_that_cannot_be_read_does_not_stop_the_supervisor(settings: Settings) -> None:
    async def work() -> None:
        async with open_service(settings, speaker=ScriptedSpeaker(), recover=False) as service:
            bad = await service.create("bad", format="duel", start=False)
            good = await service.create("good", format="duel", start=False)
        with sqlite3.connect(settings.file) as conn:
            conn.execute("UPDATE debate_runs SET status = 'queued'")
            conn.execute(
                "UPDATE debate_runs SET participants = '[{\"torn\"' WHERE id = ?", (bad.id,)
            )
        async with open_service(settings, speaker=ScriptedSpeaker()) as service:

            async def over() -> bool:
                return (await service.get(good.id)).status == "completed"

            await until(over)

    go(work())


@pytest.mark.sqlite_only
def test_a_debate_whose_turns_cannot_be_read_fails_with_a_sentence(settings: Settings) -> None:
    """It cannot even be claimed: that counts as an advance that came no further."""

    async def work() -> None:
        speaker = Gated(lambda call: call.step.round == 2)
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await in_flight(service, speaker, format="duel")
            await service.pause(made.id, at_once=True)
        with closing(sqlite3.connect(settings.file)) as conn:
            conn.execute("UPDATE debate_turns SET data = '{torn' WHERE round = 1")
            conn.commit()
        speaker = ScriptedSpeaker()
        async with open_service(settings, speaker=speaker) as service:
            await service.resume(made.id)

            async def over() -> bool:
                return (await service.get(made.id)).status == "failed"

            await until(over)
            ended = await service.get(made.id)
            assert ended.stop_reason == "structural_failure"
            assert ended.failure
            assert "JSONDecodeError" in ended.failure.message
        assert speaker.calls == []

    go(work())


def test_what_is_counted_against_a_step_is_not_held_against_the_next() -> None:
    failure = Failure("DEBATE_ERR_PROVIDER_TIMEOUT", "late", "ada", "local", 4, "now")
    counted = a_debate().but(status="running", losses=2, deaths=2, stalls=2)
    for after in (
        verbs.end(counted, "now").debate,
        verbs.retry(counted.but(status="paused", failure=failure), None, None, "now").debate,
    ):
        assert (after.losses, after.deaths, after.stalls) == (0, 0, 0)


def test_a_stop_is_obeyed_even_if_the_files_cannot_be_written() -> None:
    failure = Failure("DEBATE_ERR_STORAGE", "full", "", "", 1, "now")
    stopping = a_debate().but(status="running", wanted="stop")
    ended = moves.fail(stopping, 0, "structural_failure", failure, (), "now").debate
    assert (ended.status, ended.stop_reason) == ("stopped", "stopped_by_user")


def test_resume_takes_back_a_pause_that_a_dead_process_left() -> None:
    left = a_debate().but(status="running", wanted="pause")
    assert verbs.resume(left, in_flight=False, at="now").debate.wanted is None


# --- leases ---


def test_a_lease_that_could_not_be_given_back_is_given_back_later(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full for a moment while a debate is let go; another one stays in hand."""
    refused: list[str] = []
    release = moves.release

    def full(debate: Debate, *rest: Any) -> Any:
        if debate.motion == "stuck" and len(refused) < 3:
            refused.append(debate.id)
            raise StorageError("The disk is full.")
        return release(debate, *rest)

    monkeypatch.setattr(moves, "release", full)

    async def work() -> None:
        speaker = ScriptedSpeaker(seconds=3600)
        async with open_service(settings, speaker=speaker, recover=False) as service:
            stuck = await service.create("stuck", format="duel")
            await service.create("other", format="duel")
            while speaker.in_flight < 2:
                await asyncio.sleep(0.01)
            service._keeper.call_off(stuck.id)  # let go in mid-call

            async def free() -> bool:
                return (await service.get(stuck.id)).lease_owner is None

            await until(free)
            assert len(refused) == 3
            assert (await service.stop(stuck.id)).status == "stopped"

    go(work())


def test_only_what_is_in_hand_is_renewed(settings: Settings) -> None:
    """A lease of ours that nobody is at runs out, although other debates are in hand."""

    async def work() -> None:
        speaker = ScriptedSpeaker(seconds=3600)
        async with open_service(settings, speaker=speaker, recover=False) as service:
            stuck = await service.create("stuck", format="duel", start=False)
            held = await service.create("held", format="duel")
            while not speaker.in_flight:
                await asyncio.sleep(0.01)
            owner, now = service._keeper.owner, service._clock.now()

            def leave(row: Debate) -> Any:
                from moot.core.change import Change

                return Change(
                    row.but(status="running", lease_owner=owner, lease_until=now + 0.5, fence=9)
                )

            await service._store.change(stuck.id, leave)
            first = (await service.get(held.id)).lease_until

            async def renewed() -> bool:
                return (await service.get(held.id)).lease_until > first

            await until(renewed)
            assert (await service.get(stuck.id)).lease_until == pytest.approx(now + 0.5)
            assert (await service.stop(stuck.id)).status == "stopped"

    go(work())


def test_a_wall_clock_that_is_set_back_stalls_no_renewal(settings: Settings) -> None:
    class Clock:
        ahead = 3600.0

        def now(self) -> float:
            import time

            return time.time() + self.ahead

    async def work() -> None:
        clock, speaker = Clock(), ScriptedSpeaker(seconds=3600)
        renewals = 0
        async with open_service(settings, speaker=speaker, clock=clock, recover=False) as service:
            renew = service._store.renew

            async def counted(*given: Any) -> None:
                nonlocal renewals
                renewals += 1
                await renew(*given)

            service._store.renew = counted  # type: ignore[method-assign]
            await service.create("m", format="duel")
            while not speaker.in_flight:
                await asyncio.sleep(0.01)
            clock.ahead = 0.0
            while renewals < 2:
                await asyncio.sleep(0.01)

    go(work())


# --- a stop that was accepted ---


async def in_flight(service: Service, speaker: ScriptedSpeaker, **wanted: Any) -> Debate:
    made = await service.create("m", **wanted)
    while not speaker.in_flight:
        await asyncio.sleep(0.005)
    return made


class Gated(ScriptedSpeaker):
    """Speaks when it is let."""

    def __init__(self, held: Callable[[Call], bool] = lambda _: True) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self._held = held

    async def speak(self, call: Call, say: Any) -> Any:
        if self._held(call):
            self.in_flight += 1
            try:
                await self.gate.wait()
            finally:
                self.in_flight -= 1
        return await super().speak(call, say)


@pytest.mark.parametrize("verb", ["resume", "retry", "skip", "end"])
def test_after_an_accepted_stop_nothing_brings_it_back(settings: Settings, verb: str) -> None:
    async def work() -> None:
        speaker = Gated()
        async with open_service(settings, speaker=speaker) as service:
            made = await in_flight(service, speaker, format="duel")
            assert (await service.stop(made.id)).status == "running"
            with pytest.raises(StateError):
                await getattr(service, verb)(made.id)
            speaker.gate.set()
            ended = await service.wait(made.id)
            assert (ended.status, ended.stop_reason) == ("stopped", "stopped_by_user")
            assert len(speaker.calls) == 1

    go(work())


@pytest.mark.parametrize("at_once", [False, True], ids=["pause", "Ctrl-C"])
def test_a_pause_does_not_take_back_a_stop(settings: Settings, at_once: bool) -> None:
    async def work() -> None:
        speaker = Gated()
        async with open_service(settings, speaker=speaker) as service:
            made = await in_flight(service, speaker, format="duel")
            await service.stop(made.id)
            paused = await service.pause(made.id, at_once=at_once)
            assert paused.status == ("stopped" if at_once else "running")
            speaker.gate.set()
            ended = await service.wait(made.id)
            assert (ended.status, ended.turns) == ("stopped", 0 if at_once else 1)

    go(work())


@pytest.mark.parametrize("verb", ["stop", "pause"])
def test_asking_twice_adds_nothing_to_the_log(settings: Settings, verb: str) -> None:
    async def work() -> None:
        speaker = Gated()
        async with open_service(settings, speaker=speaker) as service:
            made = await in_flight(service, speaker, format="duel")
            once = await getattr(service, verb)(made.id)
            for _ in range(5):
                assert (await getattr(service, verb)(made.id)).last_seq == once.last_seq
            speaker.gate.set()
            await service.wait(made.id)

    go(work())


def test_a_stop_holds_while_a_wave_fails(settings: Settings) -> None:
    """One of a wave fails for good and pauses the debate, while another of it still speaks."""
    failing = ProviderRefusedError("no")

    class Mixed(Gated):
        async def speak(self, call: Call, say: Any) -> Any:
            if call.step.actor == "ada":
                raise failing
            return await super().speak(call, say)

    async def work() -> None:
        (settings.home / "formats").mkdir(parents=True)
        chorus = (Path(__file__).parent / "test_engine.py").read_text()
        text = chorus.split('CHORUS = """')[1].split('"""')[0]
        (settings.home / "formats" / "chorus.toml").write_text(text)
        speaker = Mixed()
        async with open_service(settings, speaker=speaker) as service:
            seats = [{"name": "Ada"}, {"name": "Ben"}]
            made = await service.create(
                "m", format="chorus", participants=seats, on_failure="pause"
            )

            async def paused() -> bool:
                return (await service.get(made.id)).status == "paused"

            await until(paused)
            await service.stop(made.id)
            for verb in (service.retry, service.skip, service.resume):
                with pytest.raises(StateError):
                    await verb(made.id)
            speaker.gate.set()

            async def stopped() -> bool:
                return (await service.get(made.id)).status == "stopped"

            await until(stopped)

    go(work())


@pytest.mark.parametrize("format_", ["duel", "classic", "council"])
def test_a_stop_in_the_last_step_is_obeyed(settings: Settings, format_: str) -> None:
    last = {"duel": 6, "classic": 18, "council": 17}[format_]
    script = council_speaker()._script

    async def work() -> None:
        speaker = Gated(lambda _: len(speaker.calls) == last - 1)
        speaker._script = script
        async with open_service(settings, speaker=speaker) as service:
            if format_ == "council":
                made = await service.council(COUNCIL)
            else:
                made = await service.create("m", format=format_, options=_options(format_))
            while not speaker.in_flight:
                await asyncio.sleep(0.005)
            assert (await service.stop(made.id)).status == "running"
            speaker.gate.set()
            ended = await service.wait(made.id)
            assert (ended.status, ended.stop_reason) == ("stopped", "stopped_by_user")
            assert ended.turns == last, "the step in flight is kept"
            assert await service.actions(made.id) == []
        assert read_folder(settings.home, made.id).issues == ()

    go(work())


def _options(format_: str) -> Mapping[str, int]:
    return {"free_rounds": 1} if format_ == "classic" else {}


@pytest.mark.parametrize("verb", ["stop", "end", "pause"])
def test_no_attempt_stays_open_behind_a_dead_process(settings: Settings, verb: str) -> None:
    async def work() -> None:
        speaker = ScriptedSpeaker(seconds=3600)
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await in_flight(service, speaker, format="duel")
            await service._store.change(made.id, _owner_died)
            service._keeper._hands.clear()  # as if this process were another
            service._advancer._store = None  # type: ignore[assignment]
            await getattr(service, verb)(made.id)
            attempts = await service.attempts(made.id)
            assert attempts[0]["outcome"] == "unknown"
            assert (await service.get(made.id)).losses == 0, "nobody was lost: it was taken away"

    go(work())


def _owner_died(row: Debate) -> Any:
    from moot.core.change import Change

    return Change(row.but(lease_owner=dead_owner()))


# --- the closing summary ---


def test_if_the_host_cannot_close_the_first_participant_who_can_does(settings: Settings) -> None:
    def script(call: Call) -> Any:
        closing = call.step.kind == "summary"
        if closing and call.step.actor in ("host", "ada"):
            return ProviderUnavailableError(f"{call.step.actor} is away.")
        return plain(call)

    async def work() -> None:
        speaker = Gated(lambda call: call.step.round > 0 and call.step.kind != "summary")
        speaker._script = script
        async with open_service(settings, speaker=speaker) as service:
            made = await service.create("m", format="classic")
            while not speaker.in_flight:
                await asyncio.sleep(0.005)
            await service.end(made.id)
            ended = await service.wait(made.id)
            turns = await service.turns(made.id)
            assert (ended.status, ended.stop_reason) == ("completed", "ended_by_user")
            assert [(t.actor, t.kind, t.status) for t in turns[-3:]] == [
                ("host", "summary", "failed"),
                ("ada", "summary", "failed"),
                ("ben", "summary", "ok"),
            ]
            report = await service.report(made.id)
            assert report["summary"]["by"] == "participant"
            assert "unclosed" not in report
        assert read_folder(settings.home, made.id).issues == ()

    go(work())


def test_if_nobody_can_close_every_view_says_so(settings: Settings) -> None:
    def script(call: Call) -> Any:
        if call.step.kind == "summary":
            return ProviderUnavailableError(f"{call.step.actor} is away.")
        return plain(call)

    async def work() -> None:
        speaker = Gated(lambda call: call.step.round > 0 and call.step.kind != "summary")
        speaker._script = script
        async with open_service(settings, speaker=speaker) as service:
            made = await service.create("m", format="classic")
            while not speaker.in_flight:
                await asyncio.sleep(0.005)
            await service.end(made.id)
            ended = await service.wait(made.id)
            assert (ended.status, ended.degraded) == ("completed", True)
            report = await service.report(made.id)
            for name in ("Host", "Ada", "Ben"):
                assert f"{name}: {name.lower()} is away." in report["unclosed"]
            events = [e async for e in service.follow(made.id) if isinstance(e, StatusChanged)]
            assert events[-1].notice == moves.NO_SUMMARY
        folder = settings.home / "records" / "debates" / made.id
        for page in ("report.md", "report.html"):
            assert "Nobody could give the closing summary" in (folder / page).read_text()
        assert read_folder(settings.home, made.id).issues == ()

    go(work())


@pytest.mark.sqlite_only
def test_a_crash_between_two_closers_repeats_none(settings: Settings) -> None:
    """The cursor that the turns give is the one that is kept."""

    def script(call: Call) -> Any:
        if call.step.kind == "summary" and call.step.actor == "host":
            return ProviderUnavailableError("away")
        return plain(call)

    async def work() -> None:
        speaker = Gated(lambda call: call.step.round > 0 and call.step.actor != "host")
        speaker._script = script
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await service.create("m", format="custom")
            while not speaker.in_flight:
                await asyncio.sleep(0.005)
            await service.end(made.id)
            while speaker.calls[-1:] and speaker.in_flight == 0:
                await asyncio.sleep(0.005)

            async def host_failed() -> bool:
                turns = await service.turns(made.id)
                return bool(turns) and turns[-1].status == "failed"

            await until(host_failed)
        with sqlite3.connect(settings.file) as conn:
            conn.execute("UPDATE debate_runs SET next_actor = 'host', lease_until = 0")
        speaker.gate.set()
        async with open_service(settings, speaker=speaker) as service:
            ended = await service.wait(made.id)
            turns = await service.turns(made.id)
            assert (ended.status, turns[-1].actor, turns[-1].status) == ("completed", "ada", "ok")
            assert sum(turn.status == "failed" for turn in turns) == 1

    go(work())


# --- a council whose later rounds fail ---


ROLES = ("proponent", "critic", "analyst", "synthesizer", "judge")


@pytest.mark.parametrize("silent", [{2}, {3}, {2, 3}, {2, 3, 4, 5}], ids=str)
def test_what_was_stated_first_decides_if_all_fail_later(
    settings: Settings, silent: set[int]
) -> None:
    failing = frozenset((role, number) for role in ROLES for number in silent)

    async def work() -> None:
        async with open_service(settings, speaker=council_speaker(failing)) as service:
            made = await service.council(COUNCIL)
            ended = await service.wait(made.id)
            assert (ended.status, ended.degraded) == ("completed", True)
            assert ended.outcome
            assert ended.outcome.selected_option == "Ship it"
        replay = read_folder(settings.home, made.id)
        assert replay.issues == ()
        packet = replay.documents["final-packet.json"]
        assert packet["degraded"]
        assert packet["errorCodes"] == ["DEBATE_ERR_PROVIDER_REFUSED"]

    go(work())


def test_if_nobody_stated_a_position_the_council_fails(settings: Settings) -> None:
    failing = frozenset((role, 1) for role in ROLES)

    async def work() -> None:
        speaker = council_speaker(failing)
        async with open_service(settings, speaker=speaker) as service:
            made = await service.council(COUNCIL)
            ended = await service.wait(made.id)
            assert (ended.status, ended.stop_reason) == ("failed", "provider_failed")
            assert ended.failure
            assert "position" in ended.failure.message
            assert len(speaker.calls) == 5

    go(work())


# --- before the first call ---


def test_nothing_is_said_that_could_not_be_filed(settings: Settings) -> None:
    async def work() -> None:
        speaker = ScriptedSpeaker()
        async with open_service(settings, speaker=speaker, recover=False) as service:
            made = await service.create("m", format="duel", start=False)
            shutil.rmtree(settings.home / "records", ignore_errors=True)
            settings.home.mkdir(exist_ok=True)
            (settings.home / "records").write_text("in the way")
            await service.start(made.id)

            async def over() -> bool:
                return (await service.get(made.id)).status in FINAL

            await until(over)
            ended = await service.get(made.id)
            assert (ended.status, ended.stop_reason) == ("failed", "structural_failure")
            assert ended.failure
            assert "cannot be written" in ended.failure.message
            assert speaker.calls == []

    go(work())


def test_the_owner_of_a_call_is_on_record(settings: Settings) -> None:
    async def work() -> None:
        async with open_service(settings, speaker=ScriptedSpeaker()) as service:
            made = await service.create("m", format="duel")
            await service.wait(made.id)
            owners = {one["owner"] for one in await service.attempts(made.id)}
            assert owners == {service._keeper.owner}
            json.dumps(await service.attempts(made.id))

    go(work())
