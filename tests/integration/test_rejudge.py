"""A jury judges a debate that has ended: two calls for each juror, and nothing of it changes."""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.core.debate import NO_USAGE, Debate, Turn
from moot.core.events import TurnCommitted
from moot.engine.service import Service
from moot.errors import ConflictError, InputError, NotFoundError, ProviderRefusedError, StateError
from moot.ports.debate_store import Once
from moot.ports.finding import Search
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.store.reindex import examine, reindex
from moot.store.replay import read_folder
from moot.store.store import open_database
from moot.testing.speaker import ScriptedSpeaker
from moot.wire import codec
from tests.integration.juries import ballot, jury_speaker, vote

MOTION = "Should we move to Postgres?"
FORMATS = ("standard", "classic", "custom", "duel", "council", "jury", "redteam")
UNTIL = """name = "settle"
title = "S"
description = "D"
rules = "R"
max_turns = 12
[[stages]]
name = "talk"
ask = "Speak."
answer = "position"
rounds = 4
until = "agreement"
[[stages]]
name = "after"
ask = "Speak again."
"""


def a_home(home: Path, **more: Any) -> Settings:
    return Settings(home=home, model="openai:gpt-5", lease_seconds=5.0, sweep_seconds=0.5, **more)


def on(
    settings: Settings,
    speaker: ScriptedSpeaker,
    work: Callable[[Service], Coroutine[Any, Any, None]],
) -> None:
    async def go() -> None:
        async with open_service(settings, speaker=speaker) as service:
            await work(service)

    asyncio.run(go())


def on_disk(service: Service, debate: Debate) -> dict[str, tuple[bytes, int]]:
    """All files of a debate, with when each was written."""
    home = Path(service.folder(debate.id)).parents[2]
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted((home / "records").rglob("*"))
        if path.is_file() and debate.id in str(path)
    }


async def rows(service: Service, debate: Debate) -> tuple[Any, ...]:
    log = await service.log(debate.id, 0, 10_000)
    return await service.get(debate.id), await service.turns(debate.id), log


@pytest.mark.parametrize("name", FORMATS)
def test_it_takes_two_calls_for_each_juror_and_changes_nothing(tmp_path: Path, name: str) -> None:
    speaker, settings = jury_speaker(), a_home(tmp_path)

    async def work(service: Service) -> None:
        made = await service.create(MOTION, format=name)
        judged = await service.wait(made.id)
        before, known = on_disk(service, judged), await rows(service, judged)
        speaker.calls.clear()
        again = await service.wait((await service.rejudge(judged.id, jury={"size": 5})).id)
        assert Counter(call.step.actor for call in speaker.calls) == dict.fromkeys(
            (f"juror-{n}" for n in range(1, 6)), 2
        )
        assert {call.step.reading for call in speaker.calls} == {"spoken", "swapped"}
        assert [row["outcome"] for row in await service.attempts(again.id)] == ["ok"] * 10
        assert on_disk(service, judged) == before
        assert await rows(service, judged) == known
        await check(service, settings, judged, again)

    on(settings, speaker, work)


async def check(service: Service, settings: Settings, judged: Debate, again: Debate) -> None:
    """What a rejudgement is, of whichever debate."""
    assert (again.status, again.stop_reason) == ("completed", "finished")
    assert again.forked_from
    assert again.forked_from.id == judged.id
    assert (again.motion, again.participants, again.host) == (
        judged.motion, judged.participants, judged.host
    )  # fmt: skip
    shared, turns = again.forked_from.seq, await service.turns(again.id)
    copied = [turn for turn in turns if turn.seq <= shared]
    there = [turn for turn in await service.turns(judged.id) if turn.seq <= shared]
    assert [_free(turn) for turn in there] == copied
    assert all(turn.kind == "verdict" for turn in turns[len(copied) :])
    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
    assert again.total == again.turn_count == len(turns)
    assert again.usage.calls == sum(turn.usage.calls for turn in turns)
    events = await service.log(again.id, 0, 10_000)
    assert [event.seq for event in events] == list(range(1, again.last_seq + 1))
    first = [event for event in await service.log(judged.id, 0, 10_000) if event.seq <= shared]
    for ours, theirs in zip(events, first, strict=False):
        assert isinstance(ours, TurnCommitted) == isinstance(theirs, TurnCommitted)
    verdict = await service.verdict(again.id)
    assert verdict["outcome"] == again.outcome.outcome if again.outcome else None
    assert verdict["jury"]["asked"] == len(again.jury.seats if again.jury else ())
    assert verdict["decidedBy"] == "jury"
    with pytest.raises(NotFoundError):
        await service.packet(again.id)
    replayed = await service.replay(again.id)
    assert replayed["consistency"] == {"filesComplete": True, "indexed": True, "issues": []}
    assert replayed["verdict"] == verdict
    assert again.id not in {row["debate_id"] for row in await service.records()}


def _free(turn: Turn) -> Turn:
    """As a fork has it: what it took is on the other debate's bill."""
    said = {**codec.turn(turn), "usage": codec.plain(NO_USAGE)}
    return codec.read_turn(said)


class Stopping(ScriptedSpeaker):
    """Has the debate stopped while it speaks for the so many-th time."""

    at = 0
    service: Service

    async def speak(self, call: Call, say: Say) -> Reply:
        if len(self.calls) + 1 == self.at:
            await self.service.stop(call.debate.id)
        return await super().speak(call, say)


@pytest.mark.parametrize("calls", range(1, 12))
def test_one_that_was_stopped_anywhere_is_judged_by_what_was_said(
    tmp_path: Path, calls: int
) -> None:
    """Half-way through a round or a stage, with a cue that nobody has answered."""
    speaker, settings = Stopping(vote), a_home(tmp_path)

    async def work(service: Service) -> None:
        for name in ("classic", "standard", "council"):
            speaker.calls.clear()
            speaker.at, speaker.service = calls, service
            judged = await service.wait((await service.create(MOTION, format=name)).id)
            speaker.at = 0
            said = await service.turns(judged.id)
            spoken = [turn for turn in said if turn.kind == "speech" and turn.actor != "host"]
            if not spoken:
                with pytest.raises(StateError, match="No participant spoke"):
                    await service.rejudge(judged.id)
                continue
            over = name == "standard" and calls >= 6  # with the call that it was stopped in
            assert judged.status == ("completed" if over and calls > 6 else "stopped")
            speaker.calls.clear()
            again = await service.wait((await service.rejudge(judged.id)).id)
            assert len(speaker.calls) == 6
            assert again.turn_count == again.total
            await check(service, settings, judged, again)

    on(settings, speaker, work)


def test_a_stage_that_ended_in_agreement_is_over(tmp_path: Path) -> None:
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "settle.toml").write_text(UNTIL)
    speaker, settings = jury_speaker(), a_home(tmp_path)

    async def work(service: Service) -> None:
        judged = await service.wait((await service.create(MOTION, format="settle")).id)
        assert [turn.round for turn in await service.turns(judged.id)] == [1, 1, 5, 5]
        speaker.calls.clear()
        again = await service.wait((await service.rejudge(judged.id)).id)
        assert {turn.round for turn in await service.turns(again.id)} == {1, 5, 6, 7}
        assert len(speaker.calls) == 6
        await check(service, settings, judged, again)

    on(settings, speaker, work)


def test_the_verdict_of_an_earlier_jury_stays_beside_it(tmp_path: Path) -> None:
    prefers = {"juror": "Against"}

    def script(call: Call) -> Any:
        return (
            json.dumps(ballot(call, prefers["juror"]))
            if call.step.answer == "ballot"
            else vote(call)
        )

    speaker, settings = ScriptedSpeaker(script), a_home(tmp_path)

    async def work(service: Service) -> None:
        made = await service.create(MOTION, format="duel", jury={"size": 3})
        judged = await service.wait(made.id)
        first = await service.verdict(judged.id)
        before = on_disk(service, judged)
        prefers["juror"] = "For"
        again = await service.wait((await service.rejudge(judged.id)).id)
        assert len(again.jury.seats if again.jury else ()) == 3
        second = await service.verdict(again.id)
        assert (first["selected"], second["selected"]) == ("Against the motion", "For the motion")
        assert await service.verdict(judged.id) == first
        assert on_disk(service, judged) == before
        await check(service, settings, judged, again)
        # and one that was judged again can be judged once more
        third = await service.wait((await service.rejudge(again.id)).id)
        assert third.forked_from
        assert third.forked_from.id == again.id
        await check(service, settings, again, third)

    on(settings, speaker, work)


def test_the_database_can_be_made_from_its_files(tmp_path: Path) -> None:
    speaker, settings = jury_speaker(), a_home(tmp_path)
    made: list[str] = []

    async def work(service: Service) -> None:
        judged = await service.wait((await service.create(MOTION, format="council")).id)
        made.append(judged.id)
        made.append((await service.wait((await service.rejudge(judged.id)).id)).id)

    on(settings, speaker, work)
    kept = {one: read_folder(settings.home, one) for one in made}
    for path in settings.file.parent.iterdir():
        path.unlink()

    async def again() -> None:
        from moot.store import schema

        schema.prepare(settings.database)
        database = open_database(settings.database, 1)
        done = await reindex(database, settings.home)
        database.close()
        assert sorted(done.indexed) == sorted(made)
        assert done.skipped == {}

    asyncio.run(again())
    for one in made:
        examined = examine(settings.home, settings.database, one)
        assert (examined.indexed, examined.issues) == (True, ())
        assert examined.replay.debate == kept[one].debate


def test_an_edit_of_a_verdict_is_found(tmp_path: Path) -> None:
    speaker, settings = jury_speaker(), a_home(tmp_path)
    found: list[str] = []

    async def work(service: Service) -> None:
        made = await service.create(MOTION, format="duel", jury={"size": 3})
        found.append((await service.wait(made.id)).id)

    on(settings, speaker, work)
    path = settings.home / "records" / "debates" / found[0] / "verdict.json"
    told = json.loads(path.read_text())
    told["selected"] = "For the motion" if told["selected"] != "For the motion" else "Nothing"
    path.write_bytes((json.dumps(told, ensure_ascii=False, indent=1) + "\n").encode())
    issues = read_folder(settings.home, found[0]).issues
    assert "verdict.json: selected is not what transcript.json gives." in issues
    del told["support"]
    path.write_bytes((json.dumps(told, ensure_ascii=False, indent=1) + "\n").encode())
    issues = read_folder(settings.home, found[0]).issues
    assert "verdict.json: the verdict is not valid: support: Field required." in issues
    path.unlink()
    assert any(issue.startswith("verdict.json") for issue in read_folder(tmp_path, found[0]).issues)


def test_what_cannot_be_judged_is_refused_with_a_sentence(tmp_path: Path) -> None:
    failing: set[str] = set()

    def script(call: Call) -> Any:
        return ProviderRefusedError("no") if call.step.actor in failing else vote(call)

    speaker = ScriptedSpeaker(script)

    async def work(service: Service) -> None:
        async def refused(debate: Debate, words: str) -> None:
            count = len((await service.find(Search(limit=100))).debates)
            with pytest.raises(StateError, match=words):
                await service.rejudge(debate.id)
            assert len((await service.find(Search(limit=100))).debates) == count

        waiting = await service.create(MOTION, format="duel", start=False)
        await refused(waiting, "has ended can be rejudged; this one is scheduled")
        await refused(await service.stop(waiting.id), "No participant spoke")
        failing.update(("proponent", "critic", "analyst", "synthesizer", "judge"))
        silent = await service.wait((await service.create(MOTION, format="council")).id)
        assert silent.status == "failed"
        await refused(silent, "No participant spoke")
        failing.clear()
        failing.add("ada")
        paused = await service.wait((await service.create(MOTION, format="duel")).id)
        await refused(paused, "this one is paused")
        with pytest.raises(NotFoundError):
            await service.rejudge("debate_20200101_000000_aaaaaa")
        failing.clear()
        over = await service.wait((await service.create(MOTION, format="duel")).id)
        for jury, field in (
            ({"size": 0}, "jury.size"),
            ({"size": 12}, "jury.size"),
            ({"size": 1, "models": ["openai", "claude"]}, "jury.models"),
            ({"models": ["opnai:x"]}, "jury.models[0]"),
            ({"models": "openai"}, "jury.models"),
            ({"swap": False}, "jury.swap"),
            ({"baseline": True}, "jury.baseline"),
        ):
            with pytest.raises(InputError) as caught:
                await service.rejudge(over.id, jury=jury)
            assert caught.value.field == field

    on(a_home(tmp_path), speaker, work)


def test_asked_twice_with_one_key_it_judges_once(tmp_path: Path) -> None:
    speaker = jury_speaker()

    async def work(service: Service) -> None:
        over = await service.wait((await service.create(MOTION, format="duel")).id)
        speaker.calls.clear()
        first = await service.rejudge(over.id, once=Once("key", "1"))
        again = await service.rejudge(over.id, once=Once("key", "1"))
        assert first.id == again.id
        await service.wait(first.id)
        assert (await service.rejudge(over.id, once=Once("key", "1"))).id == first.id
        assert len(speaker.calls) == 6
        with pytest.raises(ConflictError):
            await service.rejudge(over.id, once=Once("key", "2"))
        await service.delete(over.id)
        assert (await service.rejudge(over.id, once=Once("key", "1"))).id == first.id
        with pytest.raises(NotFoundError):
            await service.rejudge(over.id, once=Once("another", "1"))
        await service.delete(first.id)
        with pytest.raises(NotFoundError):
            await service.rejudge(over.id, once=Once("key", "1"))

    on(a_home(tmp_path), speaker, work)


def test_no_model_writes_a_report_that_nobody_asked_for(tmp_path: Path) -> None:
    speaker = jury_speaker()
    settings = a_home(tmp_path)

    async def hold(service: Service) -> None:
        made.append((await service.wait((await service.create(MOTION, format="duel")).id)).id)

    made: list[str] = []
    on(settings, speaker, hold)

    async def judge(service: Service) -> None:
        speaker.calls.clear()
        await service.wait((await service.rejudge(made[0])).id)
        assert [call.step.stage for call in speaker.calls] == ["jury"] * 6

    on(a_home(tmp_path, report_model="openai:gpt-5"), speaker, judge)


def test_a_budget_of_the_judged_debate_does_not_bind_it(tmp_path: Path) -> None:
    speaker = jury_speaker()

    async def work(service: Service) -> None:
        made = await service.create(
            MOTION, format="standard", options={"rounds": 9}, limits={"max_total_tokens": 2600}
        )
        judged = await service.wait(made.id)
        assert judged.stop_reason == "budget"
        speaker.calls.clear()
        again = await service.wait((await service.rejudge(judged.id)).id)
        assert len(speaker.calls) == 6
        assert again.limits.max_total_tokens is None
        assert not [turn for turn in await service.turns(again.id) if turn.kind == "summary"]

    on(a_home(tmp_path), speaker, work)


def test_its_folder_can_be_carried_to_another_home(tmp_path: Path) -> None:
    """Without the judged debate's: it has all that it needs."""
    speaker, settings = jury_speaker(), a_home(tmp_path / "one")
    found: list[str] = []

    async def work(service: Service) -> None:
        judged = await service.wait((await service.create(MOTION, format="council")).id)
        found.append((await service.wait((await service.rejudge(judged.id)).id)).id)

    on(settings, speaker, work)
    shutil.copytree(
        settings.home / "records" / "debates" / found[0],
        tmp_path / "two" / "records" / "debates" / found[0],
    )
    assert read_folder(tmp_path / "two", found[0]).issues == ()
