"""The folder of a debate that somebody has put something else into."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from moot.core.debate import Debate, Turn, Usage
from moot.errors import StorageError
from moot.render.reading import Reading
from moot.store.files import SOURCES, Folder
from moot.testing.store_contract import a_debate, a_turn


@pytest.fixture
def turns() -> list[Turn]:
    seats = a_debate().participants
    return [
        replace(a_turn(seq, actor=seat.id, name=seat.name), data=None)
        for seq, seat in enumerate(seats, start=1)
    ]


@pytest.fixture
def debate(turns: list[Turn]) -> Debate:
    return a_debate().but(status="paused", last_seq=len(turns), turn_count=len(turns))


@pytest.fixture
def root(tmp_path: Path, debate: Debate, turns: list[Turn]) -> Path:
    folder = Folder(tmp_path)
    assert folder.file(debate, turns)
    assert folder.last_seq(debate.id) == debate.last_seq
    return Path(folder.folder(debate.id))


def test_rounds_say_how_far_files_go_if_nothing_else_can(
    tmp_path: Path, root: Path, debate: Debate
) -> None:
    for name in ("manifest.json", "transcript.json"):
        (root / name).write_text("{")
    (root / "rounds" / "round-7.json").write_text("[")
    assert Folder(tmp_path).last_seq(debate.id) == debate.last_seq


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, root: Path, debate: Debate, turns: list[Turn]
) -> None:
    for name in ("manifest.json", "transcript.json", "report.json"):
        (root / name).unlink()
        os.mkfifo(root / name)
    folder = Folder(tmp_path)
    assert folder.last_seq(debate.id) == debate.last_seq, "the rounds say so"
    assert folder.reading(debate) is None
    assert folder.ended_at(debate.but(last_seq=debate.last_seq - 1)) is None
    assert folder.file(debate, turns)
    assert json.loads((root / "manifest.json").read_bytes())["lastSeq"] == debate.last_seq


def test_nothing_is_written_through_a_link(
    tmp_path: Path, debate: Debate, turns: list[Turn]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = Folder(tmp_path / "home")
    root = Path(folder.folder(debate.id))
    root.parent.mkdir(parents=True)
    root.symlink_to(elsewhere)
    with pytest.raises(StorageError, match="is a link, which is not followed"):
        folder.file(debate, turns)
    assert list(elsewhere.iterdir()) == []


def test_if_a_file_cannot_be_synced_none_is_replaced(
    tmp_path: Path,
    root: Path,
    debate: Debate,
    turns: list[Turn],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    sync = os.fsync

    def fails(handle: int) -> None:
        if "report.md" in Path(f"/proc/self/fd/{handle}").readlink().name:
            raise OSError(28, os.strerror(28))
        sync(handle)

    monkeypatch.setattr(os, "fsync", fails)
    later = debate.but(last_seq=debate.last_seq + 1)
    with pytest.raises(StorageError, match="cannot be written"):
        Folder(tmp_path).file(later, turns)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    monkeypatch.undo()
    assert Folder(tmp_path).file(later, turns)
    assert Folder(tmp_path).last_seq(debate.id) == later.last_seq


def test_the_manifest_is_named_when_the_others_are_on_disk(
    tmp_path: Path, debate: Debate, turns: list[Turn], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    sync, replace_ = os.fsync, Path.replace

    def synced(handle: int) -> None:
        seen.append(f"synced {Path(f'/proc/self/fd/{handle}').readlink().name}")
        sync(handle)

    def named(temporary: Path, path: Path) -> Path:
        seen.append(f"named {path.name}")
        return replace_(temporary, path)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", named)
    folder = Folder(tmp_path)
    assert folder.file(debate, turns)
    root = Path(folder.folder(debate.id)).name
    names = [one.removeprefix("named ") for one in seen if one.startswith("named ")]
    first, last = seen.index(f"named {names[0]}"), seen.index("named manifest.json")
    assert {f"synced .{name}.tmp" for name in names} <= set(seen[:first])
    assert {f"synced {root}", "synced rounds"} <= set(seen[first:last])
    assert seen[last + 1 :] == [f"synced {root}"]


def test_debates_that_are_filed_together_share_their_sources(tmp_path: Path) -> None:
    debates, sources, barrier = 6, 8, threading.Barrier(6)

    def link(number: int) -> None:
        folder = tmp_path / "records" / "debates" / str(number) / SOURCES
        for source in range(sources):
            barrier.wait(20)
            Folder(tmp_path)._write({folder / f"S{source}.md": b"All read S%d." % source})

    with ThreadPoolExecutor(debates) as pool:
        list(pool.map(link, range(debates)))
    found = list((tmp_path / "records").rglob("*.md"))
    assert len(found) == (debates + 1) * sources
    assert len({path.stat().st_ino for path in found}) == sources
    assert all(
        path.read_text() == f"All read {path.stem}." for path in found if path.stem[0] == "S"
    )


def test_a_report_by_a_model_outlasts_whoever_has_not_heard_of_it(
    tmp_path: Path, debate: Debate, turns: list[Turn]
) -> None:
    """A process may read the database, stand still, and write its files long after others did."""
    folder, ended = Folder(tmp_path), debate.but(status="completed", stop_reason="finished")
    usage = Usage(1, 1, 0.5, 1)
    first = Reading("They spoke.", (), "openai:gpt-5", usage, "2026-01-01T00:00:00.000Z")
    later = replace(first, summary="They agreed.", made_at="2026-01-01T00:00:01.000Z")
    dearer = replace(later, usage=replace(usage, calls=2))
    for read, shown in ((None, None), (first, first), (None, first), (later, later),
                        (first, later), (dearer, dearer), (later, dearer)):  # fmt: skip
        filed = folder.file(ended, turns, read=read)
        assert filed
        assert filed.read == folder.reading(ended) == shown
    filed = folder.file(ended, turns, anew=True)
    assert filed
    assert filed.read is folder.reading(ended) is None
