"""A debate's folder as a zip and back: to the byte, or not at all."""

import asyncio
import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Callable

import pytest

from moot.engine.finish import Filer
from moot.engine.service import Service
from moot.errors import InputError, MootError, StateError
from moot.ports.debate_files import GONE_SECONDS
from moot.settings import Settings
from moot.store import bundle, reindex
from moot.store.reindex import examine
from moot.testing.speaker import ScriptedSpeaker
from tests.integration.councils import council_speaker
from tests.integration.homes import contents
from tests.virtual import engine, go, reached

SOURCE = {"title": "Note", "text": "The ledger must move before the winter freeze begins."}
COUNCIL = {"problem": "Ship it?", "output_type": "decision", "sources": [SOURCE]}
Entries = dict[str, bytes]


def opened(data: bytes) -> Entries:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def packed(entries: Entries, **attributes: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = attributes.get("mode", stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return made.getvalue()


def elsewhere(settings: Settings) -> Settings:
    return settings.model_copy(update={"home": settings.home.parent / "elsewhere"})


async def council(service: Service) -> str:
    made = await service.council(COUNCIL)
    await service.wait(made.id)
    return made.id


def exported(settings: Settings) -> tuple[str, bytes]:
    async def work() -> tuple[str, bytes]:
        async with engine(settings, council_speaker()) as service:
            debate_id = await council(service)
            return debate_id, await service.export_folder(debate_id)

    return go(work())


@pytest.mark.sqlite_only
def test_what_is_imported_is_the_same_to_the_byte_and_replays(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, council_speaker()) as service:
            debate_id = await council(service)
            answer = await service.ask(debate_id, "Why?")
            await service.label(debate_id, title="The ship", tags=["work"], archived=True)
            known = await service.get(debate_id)
            turns, verdict = await service.turns(debate_id), await service.verdict(debate_id)
            zipped = await service.export_folder(debate_id)
            assert zipped == await service.export_folder(debate_id)
        there = elsewhere(settings)
        async with engine(there, ScriptedSpeaker()) as service:
            brought = await service.import_folder(zipped)
            assert brought.but(archived=True, fence=known.fence) == known
            assert await service.turns(debate_id) == turns
            assert await service.verdict(debate_id) == verdict
            assert await service.followups(debate_id) == [answer]
            assert len(await service.records("ship")) == 1
            ours = {n: d for n, d in contents(settings.home).items() if ".sources" not in n}
            assert contents(there.home) == ours
            seen = examine(there.home, there.database, debate_id)
            assert (seen.indexed, seen.issues) == (True, ())
            with pytest.raises(StateError, match="is here already"):
                await service.import_folder(zipped)
            assert contents(there.home) == ours
            await service.delete(debate_id, record=True)
            with pytest.raises(StateError, match="was deleted a moment ago"):
                await service.import_folder(zipped)
            await asyncio.sleep(GONE_SECONDS + 1)
            await service.import_folder(zipped)
            await service.supervisor.sweep()
            assert contents(there.home) == ours
            assert (await service.get(debate_id)).title == "The ship"

    go(work(), within=2000)


def hostile(debate_id: str, entries: Entries) -> dict[str, bytes | Callable[[], bytes]]:
    transcript = f"{debate_id}/transcript.json"
    said = json.loads(entries[transcript])
    said["turns"][0]["text"] += " And more."
    edited = (json.dumps(said, ensure_ascii=False, indent=1) + "\n").encode()
    manifest = json.loads(entries[f"{debate_id}/manifest.json"])
    manifest["files"]["transcript.json"] = hashlib.sha256(edited).hexdigest()
    mended = (json.dumps(manifest, ensure_ascii=False, indent=1) + "\n").encode()
    other = "debate_20200101_000000_aaaaaa"
    renamed = {name.replace(debate_id, other): data for name, data in entries.items()}
    bomb = {**entries, f"{debate_id}/rounds/round-9.json": b"0" * (60 * 2**20)}
    plain = {n: d for n, d in entries.items() if "labels" not in n}
    return {
        "not a zip": b"PK but not really",
        "nothing": b"",
        "torn": packed(entries)[:-40],
        "empty": packed({}),
        "another program's": packed({"word/document.xml": b"<xml/>"}),
        "traversal": packed({**entries, f"{debate_id}/../../../evil.md": b"x"}),
        "absolute": packed({**entries, "/etc/evil.md": b"x"}),
        "backslash": packed({**entries, f"{debate_id}\\..\\evil.md": b"x"}),
        "dots inside": packed({**entries, f"{debate_id}/rounds/../../../evil.md": b"x"}),
        "another's record": packed({**entries, f"decisions/{other}.json": b"{}"}),
        "the database": packed({**entries, ".agentic/kofnote_search.sqlite": b"x"}),
        "links": packed(entries, mode=stat.S_IFLNK | 0o777),
        "devices": packed(entries, mode=stat.S_IFCHR | 0o666),
        "two debates": packed({**entries, **renamed}),
        "another id": packed(renamed),
        "edited": packed({**entries, transcript: edited}),
        "edited and mended": packed(
            {**entries, transcript: edited, f"{debate_id}/manifest.json": mended}
        ),
        "no manifest": packed({n: d for n, d in entries.items() if "manifest" not in n}),
        "no transcript": packed({n: d for n, d in entries.items() if n != transcript}),
        "an extra file": packed({**entries, f"{debate_id}/notes.md": b"x"}),
        "wrong labels": packed({**plain, "labels.json": b'{"tags": "x"}'}),
        "labels of nothing": packed({**plain, "labels.json": b"["}),
        "a bomb": lambda: packed(bomb),
    }


@pytest.mark.sqlite_only
def test_a_hostile_zip_leaves_nothing_behind(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    debate_id, zipped = exported(settings)
    there = elsewhere(settings)
    (there.home / "records").mkdir(parents=True)
    around = {path for path in settings.home.parent.rglob("*") if there.home not in path.parents}
    bad = hostile(debate_id, opened(zipped))

    async def work() -> None:
        async with engine(there, ScriptedSpeaker()) as service:
            for name, made in bad.items():
                data = made if isinstance(made, bytes) else made()
                with pytest.raises(InputError) as refused:
                    await service.import_folder(data)
                assert str(refused.value), name
                assert list((there.home / "records").iterdir()) == [], name
                assert (await service.find()).debates == [], name
            monkeypatch.setattr(bundle, "MAX_ZIP", 100)
            with pytest.raises(InputError, match="larger"):
                await service.import_folder(zipped)

    go(work())
    after = {path for path in settings.home.parent.rglob("*") if there.home not in path.parents}
    assert after == around, "nothing was written anywhere else"


@pytest.mark.sqlite_only
def test_an_import_is_whole_or_has_never_been(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    debate_id, zipped = exported(settings)
    there = elsewhere(settings)
    folder = there.home / "records" / "debates" / debate_id

    def broken(*_: object) -> bool:
        raise MootError("The rows cannot be written.")

    async def work() -> None:
        async with engine(there, ScriptedSpeaker()) as service:
            with monkeypatch.context() as rows:
                rows.setattr(reindex, "index", broken)
                with pytest.raises(MootError, match="rows"):
                    await service.import_folder(zipped)
            assert contents(there.home) == {}
            # a process that died between the files and the rows: the same zip finishes its work
            with bundle.unpacked(there.home, zipped) as brought:
                brought.install()
            assert folder.is_dir()
            assert (await service.find()).debates == []
            many = await asyncio.gather(
                *(service.import_folder(zipped) for _ in range(4)), return_exceptions=True
            )
            assert sorted(type(one).__name__ for one in many) == ["Debate"] + ["StateError"] * 3
            assert examine(there.home, there.database, debate_id).issues == ()
            await service.delete(debate_id, record=True)
            await asyncio.sleep(GONE_SECONDS + 1)
            (folder / "rounds").mkdir(parents=True)
            (folder / "manifest.json").write_text("{}")
            with pytest.raises(StateError, match="with other files"):
                await service.import_folder(zipped)
            assert (folder / "manifest.json").read_text() == "{}"

    go(work(), within=2000)


def test_a_debate_that_ended_a_moment_ago_is_exported_whole(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end is committed, and whoever ended it has not written its files yet."""

    async def nothing(self: Filer, debate_id: str, now: float = 0.0) -> None: ...

    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            with monkeypatch.context() as late:
                late.setattr(Filer, "file", nothing)
                made = await service.create("m", format="duel", limits={"max_turns": 2})
                await reached(service, made.id, "completed")
                await service._dispatcher.idle(made.id)  # pyright: ignore[reportPrivateUsage]
            zipped = await service.export_folder(made.id)
            names = zipfile.ZipFile(io.BytesIO(zipped)).namelist()
            assert f"{made.id}/manifest.json" in names

    go(work())


def test_a_debate_that_goes_on_is_exported_and_not_imported(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            waiting = await service.create("m", format="duel", start=False)
            with pytest.raises(StateError, match="no files yet"):
                await service.export_folder(waiting.id)

    go(work())
