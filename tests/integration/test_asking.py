"""A question about a debate that has ended: answered once, on record, with its citations checked,
and nothing of the debate changes."""

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moot.core.debate import Debate
from moot.engine.asking import MOST_CALLS
from moot.engine.service import Service
from moot.errors import (
    BudgetError,
    ConflictError,
    InputError,
    NotFoundError,
    ProviderAuthError,
    ProviderError,
    ProviderUnavailableError,
    StateError,
)
from moot.ports.debate_store import Once
from moot.ports.model_call import Call
from moot.settings import Settings
from moot.store.reindex import examine
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.integration.homes import contents, reindexed
from tests.integration.speakers import Gated
from tests.virtual import MODEL, engine, go, until

SOURCE = {"title": "Note", "text": "The ledger must move before the winter freeze begins."}
ASKED = "Who spoke of the ledger?"


def asks(call: Call) -> bool:
    return call.step.stage == "ask"


def said(*answers: str | ProviderError) -> ScriptedSpeaker:
    """Speaks in the debate, then gives these answers in turn, and the last one again."""
    left = list(answers)

    def script(call: Call) -> Any:
        if not asks(call):
            return plain(call)
        return left.pop(0) if len(left) > 1 else left[0]

    return ScriptedSpeaker(script)


async def held(service: Service, **asked: Any) -> Debate:
    made = await service.create("m", format="duel", **asked)
    return await service.wait(made.id)


async def attempts(service: Service, debate_id: str) -> list[tuple[str, str]]:
    rows = await service.attempts(debate_id)
    return [(row["outcome"], row["model"]) for row in rows if row["stage"] == "ask"]


def issues(settings: Settings, debate_id: str) -> tuple[str, ...]:
    return examine(settings.home, settings.database, debate_id).issues


def test_an_answer_is_on_record_beside_the_debate_which_stays_as_it_is(settings: Settings) -> None:
    async def work() -> None:
        speaker = said('They did [S1.1 "must move before the winter freeze"], says Ada [1, S1.1].')
        async with engine(settings, speaker) as service:
            debate = await held(service, sources=[SOURCE])
            before = contents(settings.home)
            heard: list[str] = []
            answer = await service.ask(debate.id, f"  {ASKED}\n", say=heard.append)
            assert (answer.number, answer.question, answer.status) == (1, ASKED, "answered")
            assert (answer.verified, answer.failed, answer.model) == (3, 0, MODEL)
            assert answer.answer == "".join(heard)
            assert answer.usage.calls == 1
            assert answer.usage.cost_usd > 0
            assert await attempts(service, debate.id) == [("ok", MODEL)]
            assert await service.get(debate.id) == debate
            again = await service.ask(debate.id, "And who else?", model=MODEL)
            assert await service.followups(debate.id) == [answer, again]
            after = contents(settings.home)
            (new,) = after.keys() - before.keys()
            assert new == f"records/debates/{debate.id}/followups.json"
            assert {name: after[name] for name in before} == before, "to the byte"
            prompt = speaker.calls[-1].messages[-1].text
            assert ASKED in prompt, "what was asked before is read with it"
            turns = await service.turns(debate.id)
            assert all(f"[{turn.number}]" in prompt for turn in turns)
            assert "> The ledger" not in prompt
            assert "| The ledger must move" in prompt
            assert issues(settings, debate.id) == ()
            told = await service.replay(debate.id)
            assert [one["answer"] for one in told["followups"]] == [answer.answer, again.answer]
            looked: list[str] = []

            async def look() -> None:
                looked.append("look")

            service._voices = replace(service._voices, look=look)
            await service.ask(debate.id, "Who?", model="local:qwen2.5:7b")
            assert looked, "what the model can do is known before it is asked, whoever made it"

    go(work())


def test_what_cannot_be_verified_is_shown_to_the_model_once_and_then_marked(
    settings: Settings,
) -> None:
    wrong = 'Ada said [1 "words that nobody ever said"] and [99], [S1.7, 1].'

    async def work() -> None:
        speaker = said(wrong)
        async with engine(settings, speaker) as service:
            debate = await held(service)
            answer = await service.ask(debate.id, ASKED)
            assert answer.answer == (
                'Ada said [unverified "words that nobody ever said"] and [unverified], [1].'
            )
            assert (answer.verified, answer.failed, answer.usage.calls) == (1, 3, 2)
            assert await attempts(service, debate.id) == [("ok", MODEL)] * 2
            assert "there is no [99]" in speaker.calls[-1].messages[-1].text
            assert issues(settings, debate.id) == ()
            file = Path(service.folder(debate.id)) / "followups.json"
            told = json.loads(file.read_text())
            told["items"][0]["answer"] = 'Ada said [1 "words that nobody ever said"].'
            file.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
            found = issues(settings, debate.id)
            assert any("does not cite what it says" in issue for issue in found)
            assert any("debate_followups disagree" in issue for issue in found)

    go(work())


def test_one_key_is_one_answer_however_often_it_comes(settings: Settings) -> None:
    async def work() -> None:
        speaker = Gated(asks)
        async with engine(settings, speaker) as service:
            debate = await held(service)
            once = Once("key", "digest")
            many = [
                asyncio.ensure_future(service.ask(debate.id, ASKED, once=once)) for _ in range(20)
            ]
            await until(lambda: speaker.in_flight)
            with pytest.raises(StateError, match="being answered"):
                await service.delete(debate.id)
            speaker.gate.set()
            answers = await asyncio.gather(*many)
            assert {answer.number for answer in answers} == {1}
            assert await service.ask(debate.id, ASKED, once=once) == answers[0]
            assert len([call for call in speaker.calls if asks(call)]) == 1
            assert len(await attempts(service, debate.id)) == 1
            with pytest.raises(ConflictError):
                await service.ask(debate.id, "Another?", once=replace(once, digest="other"))
            await service.delete(debate.id)

    go(work())


def test_failures_are_counted_and_bounded_and_leave_no_half_answer(settings: Settings) -> None:
    away = ProviderUnavailableError("The line is dead.", input_tokens=7, cost_usd=0.25)

    async def work() -> None:
        async with engine(settings, said(away)) as service:
            debate = await held(service)
            answer = await service.ask(debate.id, ASKED)
            assert (answer.status, answer.answer, answer.error) == (
                "failed", "", "The line is dead.",
            )  # fmt: skip
            assert (answer.usage.calls, answer.usage.cost_usd) == (4, 1.0)
            assert await attempts(service, debate.id) == [("failed", MODEL)] * 4
            assert issues(settings, debate.id) == ()
        refused = ProviderAuthError("The key was refused. Set it, then restart the speaker.")
        async with engine(settings, said(refused)) as service:
            answer = await service.ask(debate.id, ASKED)
            assert (answer.number, answer.usage.calls) == (2, 1)
            assert answer.error == "The key was refused. Set it, then ask again."

    go(work())


def test_only_a_debate_that_has_ended_is_asked_and_within_its_budget(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            waiting = await service.create("m", format="duel", start=False)
            with pytest.raises(StateError, match="has ended"):
                await service.ask(waiting.id, ASKED)
            await service.stop(waiting.id)
            with pytest.raises(StateError, match="Nobody spoke"):
                await service.ask(waiting.id, ASKED)
            debate = await held(service)
            for wrong in ("", " \n", "x" * 4001):
                with pytest.raises(InputError):
                    await service.ask(debate.id, wrong)
            with pytest.raises(InputError):
                await service.ask(debate.id, ASKED, model="nowhere:model")
            poor = await held(service, limits={"max_total_tokens": 3_000})
            calls = len(await service.attempts(poor.id))
            with pytest.raises(BudgetError, match="no room"):  # noqa: PT012  the last of them
                for _ in range(200):
                    await service.ask(poor.id, ASKED)
            asked = await service.followups(poor.id)
            assert all(one.status == "answered" for one in asked)
            assert len(await service.attempts(poor.id)) == calls + len(asked)

    go(work())


def test_a_debate_that_is_deleted_meanwhile_is_not_asked_about(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            debate = await held(service)
            read = service._store.turns  # pyright: ignore[reportPrivateUsage]

            async def deleted_first(debate_id: str, after: int = 0) -> Any:
                await service.delete(debate_id)
                return await read(debate_id, after)

            monkeypatch.setattr(service._store, "turns", deleted_first)  # pyright: ignore
            with pytest.raises(NotFoundError):
                await service.ask(debate.id, ASKED, model=MODEL)

    go(work())


def test_a_caller_who_leaves_calls_it_off_and_a_process_that_ends_lets_it_go(
    settings: Settings,
) -> None:
    async def work() -> None:
        speaker = Gated(asks)
        async with engine(settings, speaker) as service:
            debate = await held(service)
            task = asyncio.ensure_future(service.ask(debate.id, ASKED))
            await until(lambda: speaker.in_flight)
            task.cancel()
            await asyncio.wait((task,))
            (off,) = await service.followups(debate.id)
            assert (off.status, off.error, off.usage.calls) == ("failed", "It was called off.", 1)
            task = asyncio.ensure_future(service.ask(debate.id, ASKED))
            await until(lambda: speaker.in_flight)
        await asyncio.wait((task,))
        async with engine(settings, ScriptedSpeaker()) as service:

            async def answered() -> bool:
                return (await service.followups(debate.id))[-1].status == "answered"

            await until(answered)
            assert [outcome for outcome, _ in await attempts(service, debate.id)] == [
                "cancelled", "cancelled", "ok",
            ]  # fmt: skip
            assert (await service.followups(debate.id))[-1].usage.calls == 2
            assert issues(settings, debate.id) == ()

    go(work())


KILLED = """
import asyncio, os, sys
from pathlib import Path
from moot.bootstrap import open_service
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker

class Dies(ScriptedSpeaker):
    async def speak(self, call, say):
        say("Half an answer")
        os._exit(9)

async def work():
    settings = Settings(home=Path(sys.argv[1]), model=sys.argv[3])
    async with open_service(settings, speaker=Dies(), recover=False) as service:
        await service.ask(sys.argv[2], "Who died?")

asyncio.run(work())
"""


@pytest.mark.sqlite_only
def test_a_killed_process_leaves_no_half_answer_and_no_uncounted_call(settings: Settings) -> None:
    async def begin() -> str:
        async with engine(settings, ScriptedSpeaker()) as service:
            return (await held(service)).id

    debate_id = go(begin())
    given = [sys.executable, "-c", KILLED, str(settings.home), debate_id, MODEL]
    for _ in range(2):
        assert subprocess.run(given, env=os.environ, check=False).returncode == 9

    async def end() -> None:
        async with engine(settings, ScriptedSpeaker(), recover=False) as service:
            left = await service.followups(debate_id)
            assert [(one.status, one.answer) for one in left] == [("asking", "")] * 2
            assert issues(settings, debate_id) == ()
            await service.supervisor.sweep()

            async def over() -> bool:
                return all(one.status == "answered" for one in await service.followups(debate_id))

            await until(over)
            outcomes = [outcome for outcome, _ in await attempts(service, debate_id)]
            assert sorted(outcomes) == ["ok", "ok", "unknown", "unknown"]
            await until(lambda: (Path(service.folder(debate_id)) / "followups.json").exists())
        assert issues(settings, debate_id) == ()

    go(end())


@pytest.mark.sqlite_only
def test_a_lost_database_gets_the_answers_from_the_files(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            debate = await held(service)
            answer = await service.ask(debate.id, ASKED)
        for path in settings.file.parent.iterdir():
            path.unlink()
        async with engine(settings, ScriptedSpeaker()) as service:
            await reindexed(settings, from_files=False)
            assert await service.followups(debate.id) == [answer]
            assert (await service.ask(debate.id, "And now?")).number == 2
            assert issues(settings, debate.id) == ()

    go(work())


def test_a_question_that_workers_die_of_is_given_up(settings: Settings) -> None:
    async def work() -> None:
        speaker = Gated(asks)
        settings_ = settings
        async with engine(settings_, speaker) as service:
            debate = await held(service)
            task = asyncio.ensure_future(service.ask(debate.id, ASKED))
            await until(lambda: speaker.in_flight)
        await asyncio.wait((task,))
        for _ in range(MOST_CALLS - 1):
            async with engine(settings_, speaker, recover=False) as service:
                await service.supervisor.sweep()
                await until(lambda: speaker.in_flight)
        async with engine(settings_, speaker, recover=False) as service:
            await service.supervisor.sweep()
            (given_up,) = await service.followups(debate.id)
            assert (given_up.status, given_up.usage.calls) == ("failed", MOST_CALLS)
            assert len(await attempts(service, debate.id)) == MOST_CALLS

    go(work())
