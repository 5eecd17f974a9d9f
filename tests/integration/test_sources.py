"""Debates about documents: what is read, quoted, kept and replayed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service, replay
from moot.core.debate import Debate
from moot.engine.service import Service
from moot.errors import InputError, ProviderTimeoutError
from moot.ports.model_call import Call
from moot.settings import Settings
from moot.store.reindex import reindex
from moot.store.schema import prepare
from moot.store.store import open_database
from moot.testing.speaker import ScriptedSpeaker

RFC = "# RFC 12\n\nThe ledger moves before winter, and Ada owns it.\n\nIt costs 12,000 euros."
GOOD, BAD = '[S1.1 "The ledger moves before winter"]', '[S1.1 "The ledger stays as it is"]'
MOTION = "Should we move the ledger?"


def settings(home: Path) -> Settings:
    return Settings(home=home)


async def held(service: Service, **asked: Any) -> Debate:
    asked.setdefault("format", "duel")
    made = await service.create(MOTION, **asked)
    return await service.wait(made.id)


def run(home: Path, speaker: ScriptedSpeaker, **asked: Any) -> tuple[Debate, list[str]]:
    async def main() -> tuple[Debate, list[str]]:
        async with open_service(settings(home), speaker=speaker, recover=False) as service:
            debate = await held(service, **asked)
            return debate, [turn.text for turn in await service.turns(debate.id)]

    return asyncio.run(main())


def issues(home: Path, debate: Debate) -> list[str]:
    return replay(settings(home), debate.id)["consistency"]["issues"]


def test_a_quote_that_fails_is_shown_once_and_then_marked(tmp_path: Path) -> None:
    speaker = ScriptedSpeaker(lambda call: f"{GOOD} and {BAD} (turn {len(call.heard) + 1}).")
    debate, said = run(tmp_path, speaker, sources=[{"title": "RFC", "text": RFC}])
    assert debate.status == "completed"
    assert len(speaker.calls) == 2 * len(said)
    shown = speaker.calls[1].messages[-1].text
    assert "The ledger stays as it is" in shown
    for text in said:
        assert GOOD in text
        assert BAD not in text
        assert '[unverified "The ledger stays as it is"]' in text
    folder = tmp_path / "records" / "debates" / debate.id
    for name in ("transcript.md", "transcript.json", "report.md", "report.json", "report.html"):
        assert BAD not in (folder / name).read_text().replace('\\"', '"').replace("&quot;", '"')
    assert not issues(tmp_path, debate)


def test_a_repair_that_fails_leaves_the_first_answer(tmp_path: Path) -> None:
    def answer(call: Call) -> str | ProviderTimeoutError:
        return ProviderTimeoutError("Silence.") if call.again else f"{len(call.heard)}: {BAD}"

    speaker = ScriptedSpeaker(answer)
    debate, said = run(tmp_path, speaker, sources=[{"text": RFC}])
    assert debate.status == "completed"
    assert not debate.degraded
    assert all("[unverified " in text for text in said)
    assert debate.usage.calls == len(speaker.calls) == 2 * len(said)


def test_a_repair_that_is_right_stands(tmp_path: Path) -> None:
    speaker = ScriptedSpeaker(lambda call: f"{len(call.heard)}: {GOOD if call.again else BAD}")
    _, said = run(tmp_path, speaker, sources=[{"text": RFC}])
    assert all(GOOD in text and "unverified" not in text for text in said)


def test_sources_replay_without_their_originals(tmp_path: Path) -> None:
    home, original = tmp_path / "home", tmp_path / "rfc.md"
    original.write_text(RFC)
    speaker = ScriptedSpeaker(lambda call: f"{len(call.heard)}: {GOOD}")
    debate, _ = run(home, speaker, sources=[{"path": str(original)}])
    original.unlink()
    file = home / "records" / "debates" / debate.id / "sources" / "S1.md"
    assert "moves before winter" in file.read_text()
    assert not issues(home, debate)

    database = settings(home).database
    assert isinstance(database, Path)
    for part in database.parent.glob("*"):
        part.unlink()
    prepare(database)
    opened = open_database(database, 2)
    done = asyncio.run(reindex(opened, home))
    opened.close()
    assert (done.indexed, done.skipped) == ([debate.id], {})
    assert not issues(home, debate)

    async def read() -> list[str]:
        async with open_service(settings(home), recover=False) as service:
            return [one.text[0].text for one in await service.sources(debate.id)]

    assert "moves before winter" in asyncio.run(read())[0]
    text = file.read_text()
    file.unlink()
    file.write_text(text.replace("12,000", "1,000"))
    found = issues(home, debate)
    assert any("sources/S1.md: its text is not the one" in one for one in found)
    assert any("SHA-256" in one for one in found)
    file.unlink()
    assert any("sources/S1.md: it is missing" in one for one in issues(home, debate))


def test_one_file_in_many_debates_is_kept_once(tmp_path: Path) -> None:
    speaker = ScriptedSpeaker(lambda call: f"{len(call.heard)}: as read [S1.1].")

    async def main() -> list[Debate]:
        async with open_service(settings(tmp_path), speaker=speaker, recover=False) as service:
            given = [{"title": "RFC", "text": RFC}]
            return [await held(service, sources=given) for _ in range(3)]

    debates = asyncio.run(main())
    files = [tmp_path / "records/debates" / one.id / "sources/S1.md" for one in debates]
    assert len({file.stat().st_ino for file in files}) == 1
    import sqlite3

    database = sqlite3.connect(tmp_path / ".agentic" / "kofnote_search.sqlite")
    assert database.execute("SELECT count(*) FROM debate_source_texts").fetchone() == (1,)
    assert database.execute("SELECT count(*) FROM debate_source_uses").fetchone() == (3,)
    database.close()


def test_a_judge_can_decide_without_the_sources(tmp_path: Path) -> None:
    speaker = ScriptedSpeaker(lambda call: f"{len(call.heard)}: {GOOD}")
    run(tmp_path, speaker, sources=[{"text": RFC}], jury={"size": 1}, hide_sources_from=["judge"])
    jury = [call for call in speaker.calls if call.step.reading]
    debaters = [call for call in speaker.calls if not call.step.reading]
    assert jury
    assert all("12,000 euros" not in m.text for call in jury for m in call.messages)
    assert all(any("12,000 euros" in m.text for m in call.messages) for call in debaters)
    assert any(GOOD in m.text for call in jury for m in call.messages)


def test_long_sources_are_outlined_and_prompts_share_their_beginning(tmp_path: Path) -> None:
    """1 MB of text in a debate of 20 turns."""
    lines = (f"Note {n}: the {n % 97}th review of budget line {n} says {n * 7} euros. " * 8
             for n in range(1, 2050))  # fmt: skip
    text = "\n\n".join(lines)
    assert len(text) > 1_000_000
    speaker = ScriptedSpeaker(lambda call: f"On note {len(call.heard) * 61 + 5}, I differ. " * 6)
    debate, said = run(
        tmp_path, speaker, sources=[{"text": text}], limits={"max_turns": 20},
    )  # fmt: skip
    assert len(said) == 20
    window = speaker.card("openai:gpt-5").window
    before: dict[str, str] = {}
    for call in speaker.calls:
        prompt = "\n".join(f"{message.role}: {message.text}" for message in call.messages)
        assert len(prompt) // 3 + call.max_tokens <= window
        assert "Passages of the sources that may matter here" in prompt
        if last := before.get(call.step.actor):
            shared = next(
                (n for n, (a, b) in enumerate(zip(last, prompt, strict=False)) if a != b),
                min(len(last), len(prompt)),
            )
            assert shared >= 0.85 * len(prompt)
        before[call.step.actor] = prompt
    assert not issues(tmp_path, debate)


def test_bad_sources_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x00\x00\x00")
    for given, says in (
        ([{"path": str(tmp_path / "none.md")}], "no such file"),
        ([{"path": str(tmp_path / "empty.txt")}], "no text"),
        ([{"path": str(tmp_path / "picture.png")}], "not a document"),
        ([{"text": "a", "url": "http://x"}], "give one of"),
        ([{"title": "x"}], "give one of"),
        ([{"upload": "upload_none"}], "no such upload"),
        ([{"text": "words", "colour": "red"}], "colour"),
        (["words"], "must be an object"),
    ):
        with pytest.raises(InputError, match=says):
            run(tmp_path / "home", ScriptedSpeaker(lambda _: "x"), sources=given)
    for field, wrong, says in (
        ("hide_sources_from", ["host"], "not from 'host'"),
        ("hide_sources_from", False, "must be a list"),
        ("hide_sources_from", "judge", "must be a list"),
        ("allow_secrets", "false", "true or false"),
    ):
        with pytest.raises(InputError, match=says):
            run(tmp_path / "home", ScriptedSpeaker(lambda _: "x"), **{field: wrong})
