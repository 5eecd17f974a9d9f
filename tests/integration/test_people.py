"""People in the room: a human seat waits without cost, and a note is heard, once and in order."""

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from moot.core.debate import Debate
from moot.core.events import Delta
from moot.engine.service import Service
from moot.errors import ConflictError, InputError, StateError
from moot.ports.debate_store import Once
from moot.ports.model_call import Call
from moot.settings import Settings
from moot.store.reindex import examine
from moot.testing.speaker import ScriptedSpeaker
from tests.integration.councils import council_speaker
from tests.integration.homes import contents, reindexed
from tests.integration.juries import jury_speaker
from tests.integration.speakers import Gated, add_chorus, in_flight
from tests.stress import STRESS
from tests.virtual import engine, go, until

SEATS = [{"name": "Me", "model": "human"}, {"name": "Ben"}]
BEN_FIRST = [{"name": "Ben"}, {"name": "Me", "model": "human"}]
DAY = 86_400


async def waits(service: Service, debate_id: str) -> Debate:
    async def there() -> Debate | None:
        debate = await service.get(debate_id)
        return debate if debate.waiting_for else None

    return await until(there)


async def spoken_out(service: Service, debate_id: str) -> Debate:
    """Speak for whoever is a person until the debate is over."""
    said = 0
    while (debate := await service.wait(debate_id)).waiting_for:
        said += 1
        await service.say(debate_id, f"Word {said} of {debate.waiting_for}.")
    return debate


def agree(settings: Settings, debate_id: str) -> None:
    """Its files replay to the byte, and hold what the database does."""
    assert examine(settings.home, settings.database, debate_id).issues == ()


def heard(call: Call) -> str:
    return "\n".join(message.text for message in call.messages)


@pytest.mark.parametrize(
    "wanted",
    [
        {"format": "duel", "participants": SEATS},
        {"format": "duel", "participants": BEN_FIRST, "limits": {"max_total_tokens": 100_000}},
        {"format": "duel", "participants": BEN_FIRST, "jury": {"size": 1}},
        {"format": "duel", "participants": [SEATS[0], {"name": "You", "model": "human"}]},
        {"format": "standard", "participants": SEATS, "options": {"rounds": 2}},
        {"format": "standard", "participants": BEN_FIRST, "host": {"model": "human"}},
        {"format": "classic", "participants": SEATS, "host": {"model": "human"}},
        {"format": "classic", "participants": BEN_FIRST},
        {"format": "custom", "participants": BEN_FIRST, "options": {"rounds": 1}},
        {"format": "chorus", "participants": [*BEN_FIRST, {"name": "Cleo"}]},
    ],
)  # fmt: skip
def test_a_person_takes_a_seat_in_every_format_with_text(
    settings: Settings, wanted: dict[str, Any]
) -> None:
    async def work() -> None:
        add_chorus(settings.home)
        speaker = jury_speaker()
        async with engine(settings, speaker) as service:
            made = await service.create("m", **wanted)
            ended = await spoken_out(service, made.id)
            assert (ended.status, ended.degraded, ended.waiting_for) == ("completed", False, None)
            turns = await service.turns(made.id)
            people = {seat.id for seat in ended.seats if seat.is_human}
            mine = [turn for turn in turns if turn.actor in people]
            assert mine
            assert all(turn.model == "human" for turn in mine)
            assert len({turn.text for turn in mine}) == len(mine)
            assert not {call.step.actor for call in speaker.calls} & people
            assert ended.usage.calls == len(speaker.calls) == len(turns) - len(mine)
            assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
            assert ended.total == ended.turn_count == len(turns)
        agree(settings, made.id)

    go(work())


@pytest.mark.sqlite_only  # in virtual time; crash/test_machines_people.py does it on Postgres
def test_a_seat_waits_for_weeks_over_any_number_of_restarts(settings: Settings) -> None:
    """No call, no attempt, no lease, no entry of the log; then it goes on with the first word."""
    days, restarts = (30, 100) if STRESS else (30, 20)
    rare = settings.model_copy(update={"sweep_seconds": 3_600.0})

    async def work() -> None:
        speaker = ScriptedSpeaker()
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="duel", participants=BEN_FIRST)
            before = await waits(service, made.id)
        assert (before.status, before.waiting_for, before.lease_owner) == ("running", "me", None)
        for _ in range(restarts):
            async with engine(rare, speaker, recover=True) as service:
                assert await service.supervisor.sweep() == []
                await asyncio.sleep(days * DAY / restarts)
                assert await service.get(made.id) == before
                assert not service.left_behind(before)
        async with engine(settings, speaker) as service:
            assert len(await service.attempts(made.id)) == len(speaker.calls) == 1
            await service.say(made.id, "At last.")
            after = await waits(service, made.id)
            assert (after.turn_count, len(speaker.calls)) == (3, 2)
            assert "> At last." in heard(speaker.calls[-1])

    go(work(), within=40 * DAY)


def test_the_same_words_with_one_key_count_once(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            made = await service.create("m", format="duel", participants=SEATS)
            await waits(service, made.id)
            once = Once("key", "digest")
            said = [service.say(made.id, "I say so.", once=once) for _ in range(20)]
            await asyncio.gather(*said)
            await waits(service, made.id)
            turns = await service.turns(made.id)
            assert [turn.text for turn in turns if turn.actor == "me"] == ["I say so."]
            assert [turn.kind for turn in turns] == ["speech", "speech"]
            with pytest.raises(ConflictError):
                await service.say(made.id, "Another.", once=Once("key", "other"))

    go(work())


@pytest.mark.parametrize("seat", ["me", pytest.param(None, marks=pytest.mark.sqlite_only)])
def test_of_two_who_speak_for_a_seat_at_once_one_is_told_so(
    settings: Settings, seat: str | None
) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            made = await service.create("m", format="duel", participants=SEATS)
            await waits(service, made.id)
            tabs = [service.say(made.id, f"Tab {n}.", seat=seat, once=Once(f"k{n}", "d"))
                    for n in (1, 2)]  # fmt: skip
            came = await asyncio.gather(*tabs, return_exceptions=True)
            refused = [one for one in came if isinstance(one, StateError)]
            assert len(refused) == 1
            assert "not Me's turn" in str(refused[0])
            await waits(service, made.id)
            turns = await service.turns(made.id)
            assert [turn.actor for turn in turns] == ["me", "ben"]

    go(work())


def test_words_are_for_the_step_that_was_asked_for(settings: Settings) -> None:
    """Even where the next step is the same person's: a host introduces, and then calls somebody."""

    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            host = {"name": "Me", "model": "human"}
            made = await service.create("m", format="classic", host=host)
            await waits(service, made.id)
            first = await service.asked(made.id)
            assert first
            tabs = [service.say(made.id, f"Tab {n}.", seat="host", once=Once(f"k{n}", "d"))
                    for n in (1, 2)]  # fmt: skip
            came = await asyncio.gather(*tabs, return_exceptions=True)
            assert sum(isinstance(one, StateError) for one in came) == 1
            second = await service.asked(made.id)
            assert second
            assert (second.seat, second.step) != (first.seat, first.step)
            with pytest.raises(StateError, match="others came first"):  # a tab that slept
                await service.say(made.id, "Late.", seat="host", step=first.step)
            with pytest.raises(InputError, match="name the seat"):
                await service.say(made.id, "Late.", step=second.step)
            await service.say(made.id, "Ada, please.", seat="host", step=second.step)
            turns = await service.turns(made.id)
            assert [turn.kind for turn in turns if turn.actor == "host"] == ["speech", "cue"]

    go(work())


def test_verbs_work_on_a_debate_that_waits_as_on_any(settings: Settings) -> None:
    async def work() -> None:
        speaker = ScriptedSpeaker()
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="duel", participants=SEATS)
            await waits(service, made.id)
            paused = await service.pause(made.id)
            assert (paused.status, paused.waiting_for) == ("paused", None)
            assert (await service.resume(made.id)).waiting_for == "me"
            skipped = await service.skip(made.id)
            assert (skipped.degraded, skipped.waiting_for) == (True, None)
            await waits(service, made.id)
            turns = await service.turns(made.id)
            assert (turns[0].status, turns[0].error_code) == ("failed", "DEBATE_ERR_CANCELLED")
            ended = await service.end(made.id)
            assert ended.cursor.next_actor == "ben"  # who is a model, and can
            assert (await service.wait(made.id)).stop_reason == "ended_by_user"
            other = await service.create("m", format="duel", participants=SEATS)
            await waits(service, other.id)
            assert (await service.stop(other.id)).status == "stopped"
            with pytest.raises(StateError, match="has ended"):
                await service.say(other.id, "Too late.")
        agree(settings, made.id)
        agree(settings, other.id)

    go(work())


def test_a_person_who_hosts_is_asked_to_close(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            host = {"name": "Me", "model": "human"}
            made = await service.create("m", format="classic", host=host)
            await waits(service, made.id)
            ending = await service.end(made.id)
            assert (ending.status, ending.waiting_for) == ("ending", "host")
            await service.say(made.id, "That was it.")
            ended = await service.wait(made.id)
            last = (await service.turns(made.id))[-1]
            assert (ended.status, last.kind, last.text) == ("completed", "summary", "That was it.")

    go(work())


def test_words_that_nobody_asked_for_are_refused(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, council_speaker()) as service:
            made = await service.create("m", format="duel", participants=SEATS, start=False)
            with pytest.raises(StateError, match="has not begun"):
                await service.say(made.id, "Hello?")
            await service.start(made.id)
            await waits(service, made.id)
            for seat, field in (("nobody", "seat"), ("ben", "seat")):
                with pytest.raises(InputError) as wrong:
                    await service.say(made.id, "I.", seat=seat)
                assert wrong.value.field == field
            for text in (" \n\u200b ", "x" * 8_001):
                with pytest.raises(InputError) as wrong:
                    await service.say(made.id, text)
                assert wrong.value.field == "text"
            assert (await service.get(made.id)).turn_count == 0

    go(work())


def test_a_note_is_heard_by_all_who_speak_after_it(settings: Settings) -> None:
    async def work() -> None:
        speaker = Gated(lambda call: call.step.round == 1 and call.step.actor == "ada")
        async with engine(settings, speaker) as service:
            made = await in_flight(service, speaker, format="duel", limits={"max_turns": 4})
            noted = await service.say(made.id, "What of the cost?")
            assert (noted.cursor, noted.turn_count) == (made.cursor, 1)
            speaker.gate.set()
            ended = await service.wait(made.id)
            turns = await service.turns(made.id)
            assert [(turn.kind, turn.number) for turn in turns] == [
                ("note", 1), *(("speech", n) for n in (2, 3, 4, 5))
            ]  # fmt: skip
            assert (ended.turn_count, ended.total, len(speaker.calls)) == (5, 5, 4)
            first, *after = speaker.calls
            assert "What of the cost?" not in heard(first)  # it was asked before
            for call in after:
                said = "[1] A person who listens, in a note:\n> What of the cost?"
                assert said in heard(call)
            with pytest.raises(StateError, match="has ended"):
                await service.say(made.id, "Too late.")
        agree(settings, made.id)
        assert (
            "**A person** · a note · `turn:1`"
            in (settings.home / "records/debates" / made.id / "transcript.md").read_text()
        )

    go(work())


def test_a_note_while_a_wave_is_in_flight_and_while_it_is_paused(settings: Settings) -> None:
    """Its turns are committed beside the note, and those of the next wave hear it."""

    async def work() -> None:
        add_chorus(settings.home)
        speaker = Gated(lambda call: call.step.round == 1)
        async with engine(settings, speaker) as service:
            seats = [{"name": "Ada"}, {"name": "Ben"}, {"name": "Cleo"}]
            made = await in_flight(service, speaker, format="chorus", participants=seats)
            await service.say(made.id, "First note.")
            await service.pause(made.id)
            speaker.gate.set()
            paused = await service.wait(made.id)
            assert (paused.status, paused.turn_count) == ("paused", 4)
            await service.say(made.id, "Second note.")
            agree(settings, made.id)
            await service.resume(made.id)
            ended = await service.wait(made.id)
            assert (ended.status, ended.turn_count) == ("completed", 11)
            second = [call for call in speaker.calls if call.step.round > 1]
            assert all(
                "> First note." in heard(one) and "> Second note." in heard(one) for one in second
            )
        agree(settings, made.id)

    go(work())


@pytest.mark.sqlite_only  # in real time, the first round may be over before the note comes
def test_a_jury_and_a_council_hear_a_note_as_a_persons(settings: Settings) -> None:
    async def work() -> None:
        speaker = council_speaker()
        async with engine(settings, speaker) as service:
            ran = {"problem": "Ship it?", "output_type": "decision", "jury": {"size": 1}}
            made = await service.council(ran, start=False)
            await service.start(made.id)
            await service.say(made.id, "Critic, mind the <b>cost</b>.")
            ended = await service.wait(made.id)
            assert ended.status == "completed"
            told = [heard(call) for call in speaker.calls]
            assert sum("in a note:" in one for one in told) >= len(told) - 6
            ballots = [heard(call) for call in speaker.calls if call.step.reading == "spoken"]
            assert all("in a note:\n> Speaker" in one for one in ballots)  # the name is hidden
            packet = await service.packet(made.id)
            note = (await service.turns(made.id))[0]
            assert packet["notes"] == [{"turn": note.number, "text": note.text}]
            report = await service.report(made.id)
            assert [who["role"] for who in report["speakers"]][-1] == "person"
        agree(settings, made.id)

    go(work())


def test_notes_of_many_stand_in_one_order_and_the_cursor_stays(settings: Settings) -> None:
    clients, each = (10, 20) if STRESS else (5, 6)

    async def work() -> None:
        speaker = Gated()
        async with engine(settings, speaker) as service:
            made = await in_flight(service, speaker, format="duel", limits={"max_turns": 3})
            before = (await service.get(made.id)).cursor

            async def client(who: int) -> None:
                for n in range(each):
                    once = Once(f"{who}-{n}", "d")
                    for _ in range(2):  # the answer was lost, and it is sent again
                        await service.say(made.id, f"Note {who}-{n}.", once=once)

            await asyncio.gather(*(client(who) for who in range(clients)))
            assert (await service.get(made.id)).cursor == before
            speaker.gate.set()
            ended = await service.wait(made.id)
            turns = await service.turns(made.id)
            notes = [turn.text for turn in turns if turn.kind == "note"]
            assert len(notes) == len(set(notes)) == clients * each
            assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
            events = [event.seq async for event in service.follow(made.id)
                      if not isinstance(event, Delta)]  # fmt: skip
            assert events == list(range(1, ended.last_seq + 1))
            assert all(note in heard(speaker.calls[-1]) for note in notes)
        agree(settings, made.id)

    go(work())


@pytest.mark.sqlite_only
def test_what_people_said_is_rebuilt_from_files(settings: Settings) -> None:
    """A lost database comes back with the notes, the seats, and the seat that is waited for."""

    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            made = await service.create("m", format="standard", participants=BEN_FIRST)
            await waits(service, made.id)
            await service.say(made.id, "Mine.")
            await waits(service, made.id)
            await service.pause(made.id)  # its files are written then
            await service.say(made.id, "And in the next.")
            kept = await service.get(made.id)
        before = contents(settings.home)
        settings.file.unlink()
        done = await reindexed(settings, from_files=False)
        assert done.indexed == [made.id]
        async with engine(settings, ScriptedSpeaker()) as service:
            assert await service.get(made.id) == kept.but(fence=0)
            assert contents(settings.home) == before
            ended = await spoken_out_resumed(service, made.id)
            assert ended.status == "completed"
        agree(settings, made.id)

    async def spoken_out_resumed(service: Service, debate_id: str) -> Debate:
        await service.resume(debate_id)
        return await spoken_out(service, debate_id)

    go(work())


@pytest.mark.sqlite_only
def test_the_column_says_for_whom_it_waits(settings: Settings) -> None:
    """Whoever looks for work does not even see such a debate."""

    async def work() -> str:
        async with engine(settings, ScriptedSpeaker()) as service:
            made = await service.create("m", format="duel", participants=SEATS)
            await waits(service, made.id)
            return made.id

    debate_id = go(work())
    with closing(sqlite3.connect(settings.file)) as conn:
        row = conn.execute(
            "SELECT waiting_for, lease_owner, open_calls FROM debate_runs"
        ).fetchone()
        assert (debate_id, row) == (debate_id, ("me", None, 0))
