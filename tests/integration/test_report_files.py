"""Reports as files: what a model wrote is kept there, and tampering with it is found."""

import asyncio
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from moot.core.debate import Debate, Usage
from moot.engine.finish import Filer
from moot.ports.model_call import Reply
from moot.render import report_page, report_text
from moot.settings import Settings
from moot.store import files
from moot.testing.speaker import ScriptedSpeaker
from tests.integration.councils import Voices
from tests.integration.homes import reindexed
from tests.integration.reporting import (
    DEAD,
    a_home,
    filed,
    hold,
    issues,
    run,
)
from tests.virtual import engine, go, until


@pytest.mark.sqlite_only
def test_reindex_brings_back_what_the_model_wrote(tmp_path: Path) -> None:
    settings = a_home(tmp_path)
    debate = run(settings, Voices(), hold)
    for path in settings.file.parent.glob("*"):
        path.unlink()
    first, second = [go(reindexed(settings, from_files=False)) for _ in range(2)]
    assert (first.indexed, first.skipped, second.present) == ([debate.id], {}, 1)
    voices = Voices()
    told = run(settings, voices, lambda service: service.report(debate.id))
    assert told == filed(settings, debate.id)
    assert (told["method"], voices.reports) == ("model", [])


@pytest.mark.sqlite_only
def test_reindex_brings_back_what_was_paid_for_nothing(tmp_path: Path) -> None:
    settings = a_home(tmp_path)
    debate = run(settings, Voices(lambda call: Reply("No.", call.model, Usage(10, 5, 0.001))), hold)
    assert debate.writing
    for path in settings.file.parent.glob("*"):
        path.unlink()
    go(reindexed(settings, from_files=False))
    found = run(settings, Voices(), lambda service: service.get(debate.id))
    assert (found.spent, found.writing) == (debate.spent, debate.writing)


def test_what_a_model_wrote_counts_for_the_same_state_only(tmp_path: Path) -> None:
    settings = a_home(tmp_path)
    debate = run(settings, Voices(), hold)
    folder = files.Folder(settings.home)
    assert folder.reading(debate)
    assert folder.reading(debate.but(last_seq=debate.last_seq + 1)) is None


def test_tampering_with_a_models_report_is_found(tmp_path: Path) -> None:
    settings = a_home(tmp_path)
    debate = run(settings, Voices(), hold)
    folder = settings.home / "records" / "debates" / debate.id
    kept = {name: (folder / name).read_bytes() for name in (*files.REPORT, files.MANIFEST)}
    told = json.loads(kept["report.json"])

    def write(**data: bytes) -> None:
        for name, content in {**kept, **data}.items():
            (folder / name).write_bytes(content)

    def mended(**data: bytes) -> dict[str, bytes]:
        manifest = json.loads(kept[files.MANIFEST])
        for name, content in data.items():
            manifest["files"][name] = hashlib.sha256(content).hexdigest()
        return {**data, files.MANIFEST: files.as_json(manifest)}

    changed = {**told, "summary": {**told["summary"], "text": "All moved."}}
    write(**mended(**{"report.json": files.as_json(changed)}))
    found = " ".join(issues(settings, debate.id))
    for name in (
        "report.md: line",
        "report.html: line",
        "debate_reports disagree on reading.summary",
    ):
        assert name in found
    whole = {
        "report.json": files.as_json(changed),
        "report.md": report_text.markdown(changed, transcript="transcript.md").encode(),
        "report.html": report_page.html(changed, transcript="transcript.md").encode(),
    }
    write(**mended(**whole))
    assert issues(settings, debate.id) == (
        "report.json and debate_reports disagree on reading.summary.",
    ), "with all its files made to fit, the database knows"
    for damage in (
        {"method": "magic"}, {"writer": None}, {"writer": {**told["writer"], "inputTokens": -1}},
        {"speakers": []}, {"summary": {**told["summary"], "text": "x" * 9000}},
        {"totals": {**told["totals"], "words": 1}}, {"closing": {"text": "x", "by": "host"}},
        {"unread": "budget"},
    ):  # fmt: skip
        write(**mended(**{"report.json": files.as_json({**told, **damage})}))
        assert issues(settings, debate.id), damage
    write()
    assert issues(settings, debate.id) == ()
    (folder / "report.html").unlink()
    run(settings, Voices(lambda _: DEAD), lambda s: s.remake_report(debate.id, "local:understudy"))
    assert filed(settings, debate.id)["method"] == "extraction", "asked for"
    assert issues(settings, debate.id) == ()


def test_what_was_said_is_not_mended_by_a_report(tmp_path: Path) -> None:
    settings = a_home(tmp_path, None)
    debate = run(settings, Voices(), hold)
    folder = settings.home / "records" / "debates" / debate.id
    path = folder / "transcript.md"
    path.write_text(path.read_text() + "Somebody was here.")
    (folder / "report.md").unlink()
    run(settings, Voices(), lambda service: service.remake_report(debate.id))
    assert (folder / "report.md").exists()
    assert {issue.partition(":")[0] for issue in issues(settings, debate.id)} == {"transcript.md"}


def test_a_debate_is_filed_beside_another_and_by_one_at_a_time(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, most, gate, write = Counter[str](), Counter[str](), asyncio.Event(), Filer._write
    held: list[str] = []

    async def slow(self: Filer, debate: Debate, *more: Any, **named: Any) -> Any:
        held.extend([debate.id] if not held else [])
        at[debate.id] += 1
        most[debate.id] = max(most[debate.id], at[debate.id])
        if debate.id == held[0]:
            await gate.wait()
        try:
            return await write(self, debate, *more, **named)
        finally:
            at[debate.id] -= 1

    monkeypatch.setattr(Filer, "_write", slow)

    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            made = [await service.create(motion, format="duel") for motion in ("One?", "Two?")]
            await until(lambda: held)
            (other,) = (one.id for one in made if one.id != held[0])
            assert (await service.wait(other)).status == "completed"
            assert (settings.home / "records" / "debates" / other / "report.json").exists()
            filing = [asyncio.create_task(service._filer.file(held[0])) for _ in range(2)]
            await asyncio.sleep(2)
            gate.set()
            await asyncio.gather(*filing)
        assert most == {one.id: 1 for one in made}

    go(work())
