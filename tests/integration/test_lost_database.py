"""What the files alone must carry: rounds, wishes, decisions and reports that were filed before a
crash, or before the database was lost. All of it is about the embedded database and its file."""

import json
from typing import Any

import pytest

from moot.core import verbs
from moot.core.change import Change
from moot.core.debate import Debate
from moot.core.status import FINAL
from moot.engine import failpoints, finish
from moot.errors import StateError
from moot.settings import Settings
from moot.store import schema
from moot.store.files import DECISION, Folder
from moot.store.reindex import examine
from moot.store.replay import read_folder
from moot.testing.speaker import ScriptedSpeaker
from tests.integration.councils import COUNCIL, Voices, council_speaker
from tests.integration.homes import contents, damage, reindexed
from tests.integration.speakers import Gated, in_flight
from tests.virtual import engine, go, took, until

pytestmark = pytest.mark.sqlite_only


def lose(settings: Settings) -> None:
    """In the database's place, one that knows nothing."""
    settings.file.unlink()
    schema.prepare(settings.database)


def test_a_lost_database_loses_only_the_round_that_is_spoken(settings: Settings) -> None:
    async def work() -> None:
        held = Gated(lambda call: call.step.round > 2)
        async with engine(settings, held, recover=False) as service:
            made = await in_flight(service, held, format="duel")

            async def filed() -> bool:
                replay = read_folder(settings.home, made.id)
                return bool(replay.debate and replay.debate.turn_count == 4)

            await until(filed)
            replay = read_folder(settings.home, made.id)
            assert replay.issues == ()
            assert replay.debate
            assert replay.debate.status == "running"
            seen = examine(settings.home, settings.database, made.id)
            assert seen.issues == (), "that the next round is under way is no disagreement"
        lose(settings)
        assert (await reindexed(settings, from_files=False)).indexed == [made.id]
        speaker = ScriptedSpeaker()
        async with engine(settings, speaker) as service:
            assert (await service.wait(made.id)).status == "completed"
            turns = await service.turns(made.id)
        assert len(speaker.calls) == 2
        assert [(turn.round, turn.actor) for turn in turns] == [
            (number, who) for number in (1, 2, 3) for who in ("ada", "ben")
        ]
        assert read_folder(settings.home, made.id).issues == ()

    go(work())


def test_a_round_is_filed_within_a_moment_though_others_speak(settings: Settings) -> None:
    async def work() -> None:
        held = Gated(lambda call: call.step.round > 1)
        async with engine(settings, held, recover=False) as service:
            made = await in_flight(service, held, format="duel")
            filing = until(lambda: read_folder(settings.home, made.id).debate)
            assert 0 < await took(filing) <= finish.PATIENCE_SECONDS + 0.05, "words first"

    go(work())


def test_a_stop_that_was_accepted_stands_in_the_files_too(settings: Settings) -> None:
    async def work() -> None:
        speaker = Gated(lambda call: call.step.round == 2)
        async with engine(settings, speaker, recover=False) as service:
            made = await in_flight(service, speaker, format="duel")
            await service.stop(made.id)
            await service._filer._file_round(made.id)
        lose(settings)
        assert (await reindexed(settings, from_files=True)).indexed == [made.id]
        speaker = ScriptedSpeaker()
        async with engine(settings, speaker) as service:
            assert (await service.wait(made.id)).status == "stopped"
        assert speaker.calls == []

    go(work())


def test_a_folder_whose_filing_was_cut_short_is_filed_again(settings: Settings) -> None:
    """Its transcript is written, its manifest is not: the database that learns of it says so."""

    async def work() -> None:
        async with engine(settings, ScriptedSpeaker(), recover=False) as service:
            made = await service.create("Tea?", format="duel")
            await service.wait(made.id)
            await until(lambda: read_folder(settings.home, made.id).complete)
        path = settings.home / "records" / "debates" / made.id / "manifest.json"
        whole = path.read_bytes()
        path.write_text(json.dumps({**json.loads(whole), "lastSeq": 2}, indent=1) + "\n")
        lose(settings)
        assert (await reindexed(settings, from_files=True)).indexed == [made.id]
        async with engine(settings, ScriptedSpeaker()):
            await until(lambda: path.read_bytes() == whole)
        assert examine(settings.home, settings.database, made.id).issues == ()

    go(work())


def test_a_page_that_somebody_edited_is_left_alone(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker(), recover=False) as service:
            made = await service.create("Tea?", format="duel")
            await service.wait(made.id)
            await until(lambda: read_folder(settings.home, made.id).complete)
        page = settings.home / "records" / "debates" / made.id / "report.md"
        page.write_text("My own words.\n")
        lose(settings)
        assert (await reindexed(settings, from_files=True)).indexed == [made.id]
        async with engine(settings, ScriptedSpeaker()) as service:
            assert (await service.get(made.id)).files_seq, "nothing is to be filed again"
            await service.supervisor.sweep()
        assert page.read_text() == "My own words.\n"

    go(work())


def test_a_filed_decision_is_known_though_its_transcript_is_torn(settings: Settings) -> None:
    """Its worker died before the commit, and the disk damaged the transcript: it is decided again,
    rather than left alone for good."""

    async def work() -> None:
        async with engine(settings, council_speaker(), recover=False) as service:
            made = await service.council(COUNCIL)
            ended = await service.wait(made.id)
        assert ended.outcome
        before = ended.but(status="running", last_seq=ended.last_seq - 1, updated_at="then")
        folder, root = Folder(settings.home), settings.home / "records" / "debates" / made.id
        assert folder.ended_at(before) == ended.ended_at
        (root / "transcript.json").write_text("{")
        assert folder.ended_at(before) == "then"
        for name in DECISION:
            (root / name).unlink(missing_ok=True)
        assert folder.ended_at(before) == "then", "the manifest lists them"
        listed = json.loads((root / "manifest.json").read_text())
        listed["files"] = {n: sha for n, sha in listed["files"].items() if n not in DECISION}
        (root / "manifest.json").write_text(json.dumps(listed))
        assert folder.ended_at(before) is None, "it may have been stopped"

    go(work())


class DiedError(BaseException):
    """The process is gone."""


def test_a_council_that_died_between_files_and_commit_ends_as_filed(settings: Settings) -> None:
    """Its files are one entry ahead by right: they stand, and nothing is said or written anew."""

    def die(name: str) -> None:
        if name == "filed":
            raise DiedError

    def enqueue(row: Debate, at: str) -> Change:
        return verbs.enqueue(row, at)

    async def nothing(*_: Any) -> None:
        """As a process that died does."""

    async def work() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(failpoints, "hit", die)
            async with engine(settings, council_speaker(), recover=False) as service:
                made = await service.council(COUNCIL, start=False)
                patch.setattr(service._advancer, "_let_go", nothing)
                await service._verb(made.id, enqueue)
                with pytest.raises(DiedError):
                    await service._advancer.advance(made.id)
                assert (await service.get(made.id)).status == "running"
        before = contents(settings.home)
        assert any(name.endswith("final-packet.json") for name in before)
        async with engine(settings, council_speaker(), recover=False) as service:
            for verb in (service.pause(made.id), service.pause(made.id, at_once=True),
                         service.end(made.id)):  # fmt: skip
                with pytest.raises(StateError, match="the decision is being filed"):
                    await verb
        assert contents(settings.home) == before, "it must not become another decision"
        speaker = council_speaker()
        async with engine(settings, speaker) as service:  # once the lease has run out

            async def over() -> bool:
                debate = await service.get(made.id)
                return debate.status in FINAL and debate.files_seq == debate.last_seq

            await until(over)
            assert (await service.get(made.id)).status == "completed"
        assert speaker.calls == []
        assert contents(settings.home) == before
        assert examine(settings.home, settings.database, made.id).issues == ()

    go(work())


def test_of_two_workers_that_file_a_decision_the_first_one_stands(settings: Settings) -> None:
    """The slower one lost the debate while its thread stood still, and will not commit."""

    async def work() -> None:
        async with engine(settings, council_speaker()) as service:
            debate = await service.wait((await service.council(COUNCIL)).id)
            await until(lambda: read_folder(settings.home, debate.id).debate)
            turns = await service.turns(debate.id)
            events = await finish.said(service._store, debate)
        before = contents(settings.home)
        late = debate.but(ended_at="2030-01-01T00:00:00.000Z")
        assert Folder(settings.home).file(late, turns, events, ahead=True) is None
        assert contents(settings.home) == before

    go(work())


@pytest.mark.parametrize("row", ["gone", "making"])
def test_a_report_that_a_model_wrote_is_not_paid_for_again(settings: Settings, row: str) -> None:
    settings = settings.model_copy(update={"report_model": "openai:writer"})

    async def work() -> None:
        voices = Voices()
        async with engine(settings, voices) as service:
            made = await service.create("m", format="duel")
            await service.wait(made.id)
            calls = len(voices.calls)
        before = contents(settings.home)
        report = json.loads(before[f"records/debates/{made.id}/report.json"])
        assert (calls, report["method"]) == (7, "model")
        if row == "gone":
            damage(settings, "DELETE FROM debate_reports")
            damage(settings, "UPDATE debate_runs SET files_seq = 0")
        else:
            damage(
                settings, "UPDATE debate_reports SET state = 'making', reading = NULL, until = 0"
            )
        async with engine(settings, voices) as service:

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
