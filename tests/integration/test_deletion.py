"""A debate is run once more, or deleted: refused or done, and never half done."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from moot.engine.service import Service
from moot.errors import NotFoundError, StateError, StorageError
from moot.ports.debate_store import Once
from moot.ports.finding import Search
from moot.settings import Settings
from moot.store.files import Folder
from moot.testing.speaker import ScriptedSpeaker
from tests.integration.councils import council_speaker
from tests.integration.homes import contents, reindexed
from tests.integration.speakers import Gated, add_chorus, in_flight
from tests.virtual import engine, go, until

COUNCIL = {"problem": "Ship it?", "output_type": "decision"}


def rows(settings: Settings, debate_id: str) -> dict[str, int]:
    """What the database still holds of a debate, by table."""
    with closing(sqlite3.connect(settings.file)) as conn:
        asked = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'debate%'"
        tables = [name for (name,) in conn.execute(asked)]
        found: dict[str, int] = {}
        for table in tables:
            columns = {row[1] for row in conn.execute(f"PRAGMA table_info({table})")}
            column = "id" if table == "debate_runs" else "debate_id"
            if column in columns:
                asked = f"SELECT COUNT(*) FROM {table} WHERE {column} = ?"
                found[table] = conn.execute(asked, (debate_id,)).fetchone()[0]
        return {table: count for table, count in found.items() if count}


def folder(settings: Settings, debate_id: str) -> Path:
    return settings.home / "records" / "debates" / debate_id


async def held(service: Service) -> str:
    made = await service.council(COUNCIL)
    assert (await service.wait(made.id)).status == "completed"
    return made.id


@pytest.mark.sqlite_only
@pytest.mark.parametrize("record", [False, True])
def test_nothing_is_left_of_a_deleted_debate_but_its_record(
    settings: Settings, record: bool
) -> None:
    async def work() -> None:
        async with engine(settings, council_speaker()) as service:
            one, other = await held(service), await held(service)
            await service.note_outcome(one, "right")
            before = {n: c for n, c in contents(settings.home).items() if one not in n}
            for _ in range(2):  # twice is fine
                await service.delete(one, record=record)
            left = contents(settings.home)
            assert {n for n in left if one in n} == (
                set()
                if record
                else {f"records/decisions/{one}.json", f"records/decisions/{one}.md"}
            )
            assert {n: c for n, c in left.items() if one not in n} == before
            gone = {"debate_deleted": 1} | ({} if record else {"debate_records": 1})
            assert rows(settings, one) == gone
            for ask in (service.get, service.turns, service.report, service.rerun, service.replay):
                with pytest.raises(NotFoundError):
                    await ask(one)
            found = await service.find(Search(words="ship"))
            assert [debate.id for debate in found.debates] == [other]
            assert len(await service.records("ship")) == (1 if record else 2)
            done = await reindexed(settings, from_files=False)
            assert (done.found, done.present) == (1, 1)

    go(work())


@pytest.mark.sqlite_only
def test_a_delete_that_was_cut_short_is_finished(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are gone, the files are not: another delete removes them, or the next start."""

    def full(self: Folder, debate_id: str, *, record: bool) -> None:
        raise StorageError("The disk is away.")

    async def work() -> None:
        async with engine(settings, council_speaker()) as service:
            one, other = await held(service), await held(service)
            with monkeypatch.context() as broken:
                broken.setattr(Folder, "remove", full)
                for debate_id in (one, other):
                    with pytest.raises(StorageError):
                        await service.delete(debate_id)
            assert folder(settings, one).is_dir()
            done = await reindexed(settings, from_files=True)
            assert set(done.skipped) == {one, other}  # nothing brings them back
            assert rows(settings, one).keys() == {"debate_deleted", "debate_records"}
            await service.delete(one)
            assert not folder(settings, one).exists()
        folder(settings, other).mkdir(exist_ok=True)
        async with engine(settings, council_speaker()) as service:
            await service.supervisor.sweep()
            assert not folder(settings, other).exists()

    go(work())


def test_only_what_is_paused_or_has_ended_is_deleted(settings: Settings) -> None:
    async def work() -> None:
        add_chorus(settings.home)
        speaker = Gated()
        async with engine(settings, speaker) as service:
            waiting = await service.create("m", format="duel", start=False)
            made = await in_flight(service, speaker, format="chorus")
            for debate_id in (waiting.id, made.id):
                with pytest.raises(StateError, match="cannot be deleted"):
                    await service.delete(debate_id)
            await service.pause(made.id)  # once the step in flight is kept
            with pytest.raises(StateError):
                await service.delete(made.id)
            speaker.gate.set()
            assert (await service.wait(made.id)).status == "paused"
            kept = await service.turns(made.id)
            assert kept
            await service.delete(made.id)
            with pytest.raises(NotFoundError):
                await service.resume(made.id)
            assert not folder(settings, made.id).exists()
            await service.stop(waiting.id)
            await service.delete(waiting.id)
            with pytest.raises(NotFoundError):
                await service.delete("debate_20200101_000000_aaaaaa")

    go(work())


def test_a_debate_that_is_being_filed_is_deleted_all_the_same(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are written after its rows are gone, and go as well."""
    write = Folder.file

    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            loop, deleting = asyncio.get_running_loop(), list[Any]()

            def late(self: Folder, debate: Any, *args: Any, **more: Any) -> Any:
                if debate.status == "completed" and not deleting:
                    asked = service._store.delete  # before the filer has let go
                    done = asked(debate.id, lambda _: None, "2026-01-01T00:00:00Z", record=False)
                    deleting.append(loop.create_task(done))
                return write(self, debate, *args, **more)

            monkeypatch.setattr(Folder, "file", late)
            made = await service.create("m", format="duel")
            await until(lambda: deleting)
            await asyncio.gather(*deleting)
            with pytest.raises(NotFoundError):
                await service.wait(made.id)
            await service.supervisor.sweep()
            assert not folder(settings, made.id).exists()

    go(work())


@pytest.mark.sqlite_only
def test_what_a_station_aired_is_deleted_and_the_station_goes_on(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            for name in ("Ada", "Ben"):
                await service.agents.create({"name": name})
            await service.stations.create(
                {"name": "One", "id": "one", "motions": ["First?"], "agents": ["ada", "ben"]}
            )
            aired = (await service.stations.air("one")).id
            with pytest.raises(StateError):
                await service.delete(aired)  # on air
            await service.wait(aired)
            await service.delete(aired)
            assert (await service.stations.programme("one")).past == ()
            again = (await service.stations.air("one")).id
            assert again != aired
            assert (await service.wait(again)).status == "completed"

    go(work())


@pytest.mark.parametrize(
    "asked",
    [{"format": "duel", "limits": {"max_turns": 2}},
     {"format": "chorus", "participants": [{"name": "A"}, {"name": "B"}]},
     {"format": "duel", "jury": {"size": 1}}, {"format": "council"}],
)  # fmt: skip
def test_a_debate_is_run_again_with_the_same_request(
    settings: Settings, asked: dict[str, Any]
) -> None:
    async def work() -> None:
        add_chorus(settings.home)
        async with engine(settings, council_speaker()) as service:
            made = await service.create("m", **asked)
            first = await service.wait(made.id)
            (settings.home / "formats" / "chorus.toml").unlink()  # a debate keeps its own
            once = Once("again", "d")
            new = [await service.rerun(made.id, once=once) for _ in range(2)]
            assert new[0].id == new[1].id != made.id
            second = await service.wait(new[0].id)
            for field in ("motion", "rules", "participants", "host", "options", "limits", "brief",
                          "jury", "on_failure", "status", "turn_count", "received"):  # fmt: skip
                assert getattr(first, field) == getattr(second, field), field
            assert await service.get(made.id) == first

    go(work())
