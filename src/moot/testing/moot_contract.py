"""What every moot must do for people and programs: one suite, run on the engine and on the client.

A subclass in a test file gives two fixtures: `home`, a folder, and `moot`, which opens a moot on
that home with the speaker it is given (None: the understudy speaks).
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from moot.core.debate import Debate
from moot.core.events import Delta, Event, TurnCommitted
from moot.errors import (
    ConflictError,
    InputError,
    MootError,
    NotFoundError,
    ProviderAuthError,
    ProviderError,
    StateError,
)
from moot.ports.debate_store import Once
from moot.ports.entry_point import Moot
from moot.ports.finding import Search
from moot.ports.model_call import Call, Reply, Say, Speaker
from moot.render.export import KINDS
from moot.stations.station import Brought
from moot.testing.bus_peer import in_loop
from moot.testing.speaker import ScriptedSpeaker, plain
from moot.wire import codec, codec_station

Open = Callable[[Speaker | None], AbstractAsyncContextManager[Moot]]
MOTION = "Should a small team write its tests first?"
NOBODY = "debate_20200101_000000_aaaaaa"
COUNCIL = {"problem": MOTION, "output_type": "decision"}
FAR = "2199-01-31T09:00"
OWN = """name = "mine"
title = "M"
description = "D"
rules = "R"
[[stages]]
name = "talk"
ask = "Speak."
"""
AGENTS = [{"name": "Ada", "bio": "A baker."}, {"name": "Ben", "stance": "con"}]


class Stage(ScriptedSpeaker):
    """Speaks unless it is held back; models named `broken` have no key."""

    held = False

    def __init__(self) -> None:
        super().__init__(_said)

    async def speak(self, call: Call, say: Say) -> Reply:
        self.calls.append(call)
        while self.held:  # noqa: ASYNC110  set from the loop of the test, not of the server
            await asyncio.sleep(0.01)
        return await super().speak(call, say)


def _said(call: Call) -> str | ProviderError:
    return ProviderAuthError("There is no key.") if "broken" in call.model else plain(call)


async def heard(moot: Moot, debate_id: str, after: int = 0) -> list[Event]:
    return [event async for event in moot.follow(debate_id, after) if not isinstance(event, Delta)]


def seqs(events: list[Event]) -> list[int]:
    return [event.seq for event in events]


async def until(speaker: Stage, calls: int) -> None:
    while len(speaker.calls) < calls:  # noqa: ASYNC110  a server calls it in a loop of its own
        await asyncio.sleep(0.01)


async def refused(doing: Any, kind: type[MootError], field: str | None = None) -> None:
    """It raises exactly that error, with its code and its field."""
    with pytest.raises(kind) as caught:
        await doing
    assert type(caught.value) is kind
    assert caught.value.code == kind.code
    assert getattr(caught.value, "field", None) == field
    assert caught.value.message


class MootContract:
    """Every verb and every read."""

    @in_loop
    async def test_a_debate_waits_starts_and_comes_to_its_end(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            seats = [{"name": "Ada", "stance": "pro"}, {"name": "Ben"}]
            made = await one.create(MOTION, format="duel", participants=seats, start=False)
            assert (made.status, made.motion, made.format) == ("scheduled", MOTION, "duel")
            assert [seat.name for seat in made.participants] == ["Ada", "Ben"]
            assert not one.left_behind(made)
            await one.start(made.id)
            ended = await one.wait(made.id)
            assert (ended.status, ended.stop_reason, ended.turn_count) == (
                "completed",
                "max_turns",
                6,
            )
            assert codec.debate(await one.get(made.id)) == codec.debate(ended)
            turns = await one.turns(made.id)
            assert [turn.actor for turn in turns] == ["ada", "ben"] * 3
            assert await one.turns(made.id, turns[3].seq) == turns[4:]
            assert made.id in one.folder(made.id)
            one.recover(lambda _: None)

    @in_loop
    async def test_followers_hear_every_event_once(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            made = await one.create(MOTION, format="classic")
            events = await heard(one, made.id)
            last = (await one.wait(made.id)).last_seq
            assert seqs(events) == list(range(1, last + 1))
            said = [event.turn for event in events if isinstance(event, TurnCommitted)]
            assert said == await one.turns(made.id)
            for after, first in ((last // 2, last // 2 + 1), (last, last + 1), (last + 9, 1)):
                assert seqs(await heard(one, made.id, after)) == list(range(first, last + 1))

    @in_loop
    async def test_a_pause_keeps_the_step_in_flight_and_at_once_drops_it(self, moot: Open) -> None:
        speaker = Stage()
        async with moot(speaker) as one:
            speaker.held = True
            made = await one.create(MOTION, format="duel")
            await until(speaker, 1)
            asked = await one.pause(made.id)
            assert (asked.status, asked.wanted) == ("running", "pause")
            speaker.held = False
            assert (await one.wait(made.id)).status == "paused"
            assert len(await one.turns(made.id)) == 1
            first = await heard(one, made.id)
            speaker.held = True
            assert (await one.resume(made.id)).status == "running"
            await until(speaker, len(speaker.calls) + 1)
            dropped = await one.pause(made.id, at_once=True)
            assert (dropped.status, dropped.wanted) == ("paused", None)
            speaker.held = False
            assert len(await one.turns(made.id)) == 1
            await one.resume(made.id)
            assert (await one.wait(made.id)).turn_count == 6
            assert first == (await heard(one, made.id))[: len(first)]

    @in_loop
    async def test_stop_and_end(self, moot: Open) -> None:
        speaker = Stage()
        async with moot(speaker) as one:
            speaker.held = True
            stopped = await one.create(MOTION, format="duel")
            await until(speaker, 1)
            assert (await one.stop(stopped.id)).wanted == "stop"
            ended = await one.create(MOTION, format="duel")
            await until(speaker, 2)
            assert (await one.end(ended.id)).status == "ending"
            speaker.held = False
            assert (await one.wait(stopped.id)).stop_reason == "stopped_by_user"
            assert (await one.wait(ended.id)).stop_reason == "ended_by_user"
            assert [turn.kind for turn in await one.turns(ended.id)] == ["summary"]
            for verb in (one.start, one.stop, one.pause, one.resume, one.end, one.skip, one.retry):
                await refused(verb(stopped.id), StateError)

    @in_loop
    async def test_a_speaker_that_fails_is_skipped_or_restarted(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            seats = [{"name": "Ada", "model": "openai:broken"}, {"name": "Ben"}]
            made = await one.create(MOTION, format="duel", participants=seats)
            failure = (await one.wait(made.id)).failure
            assert failure
            assert (failure.actor, failure.code) == ("ada", ProviderAuthError.code)
            await refused(one.retry(made.id, "nonsense:x"), InputError, "model")
            await one.skip(made.id)
            assert (await one.wait(made.id)).status == "paused"
            assert [turn.status for turn in await one.turns(made.id)] == ["failed", "ok"]
            for seconds in (4.9, 121, float("nan")):
                wrong = one.retry(made.id, max_turn_seconds=seconds)
                await refused(wrong, InputError, "max_turn_seconds")
            assert (await one.get(made.id)).status == "paused"
            retried = await one.retry(made.id, "openai:gpt-5", max_turn_seconds=70)
            assert retried.limits.max_turn_seconds == 70
            ended = await one.wait(made.id)
            assert (ended.status, ended.degraded) == ("completed", True)
            assert ended.limits.max_turn_seconds == 70
            await refused(one.remake_report(made.id, "openai:broken"), ProviderAuthError)

    @in_loop
    async def test_people_speak_for_their_seat_and_in_notes(self, moot: Open) -> None:
        seats = [{"name": "Me", "model": "human"}, {"name": "Ben", "model": "local"}]
        async with moot(Stage()) as one:
            made = await one.create(MOTION, format="duel", participants=seats)
            waiting = await one.wait(made.id)
            assert (waiting.status, waiting.waiting_for) == ("running", "me")
            await refused(one.say(made.id, "x", seat="ben"), InputError, "seat")
            await refused(one.say(made.id, " "), InputError, "text")
            asked = await one.asked(made.id)
            assert asked
            for _ in range(2):  # as if the first answer had been lost
                await one.say(made.id, "First.", seat="me", step=asked.step, once=Once("said", "d"))
            await refused(one.say(made.id, "x", once=Once("said", "e")), ConflictError)
            waiting = await one.wait(made.id)
            assert (waiting.waiting_for, waiting.turn_count) == ("me", 2)
            await refused(one.say(made.id, "x", seat="me", step=asked.step), StateError)
            await one.pause(made.id)
            await one.resume(made.id)
            await one.skip(made.id)
            assert (await one.wait(made.id)).waiting_for == "me"
            await one.say(made.id, "Last.")
            ended = await one.wait(made.id)
            assert (ended.status, ended.waiting_for) == ("completed", None)
            await refused(one.say(made.id, "Too late."), StateError)
            said = [turn.text for turn in await one.turns(made.id) if turn.actor == "me"]
            assert said == ["First.", "", "Last."]
            other = await one.create(MOTION, format="duel", participants=seats)
            await one.wait(other.id)
            await one.pause(other.id)
            await one.say(other.id, "First.")  # it stays paused
            noted = await one.say(other.id, "By the way.")
            assert (noted.status, noted.turn_count, noted.total) == ("paused", 2, 7)
            turns = await one.turns(other.id)
            assert [(turn.kind, turn.actor) for turn in turns] == [
                ("speech", "me"), ("note", "@person")
            ]  # fmt: skip

    @in_loop
    async def test_a_debate_has_links_for_guests(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            seats = [{"name": "Me", "model": "human"}, {"name": "Ben"}]
            made = await one.create(MOTION, format="duel", participants=seats, start=False)
            assert await one.links.of(made.id) == []
            (read, first), (sit, second) = [
                await one.links.make(made.id, seat=seat) for seat in (None, "me")
            ]
            assert (read.seat, sit.seat, read.debate_id) == (None, "me", made.id)
            assert first != second
            assert {link.id for link in await one.links.of(made.id)} == {read.id, sit.id}
            await one.links.revoke(made.id, read.id)
            assert await one.links.of(made.id) == [sit]
            for link in (read.id, "x", "../y"):
                await refused(one.links.revoke(made.id, link), NotFoundError, "link")
            for seat in ("ben", "nobody"):
                await refused(one.links.make(made.id, seat=seat), InputError, "seat")
            for ask in (one.links.make, one.links.of):
                await refused(ask(NOBODY), NotFoundError, "id")
            other = await one.create(MOTION, format="duel", start=False)
            await refused(one.links.revoke(other.id, sit.id), NotFoundError, "link")
            assert await one.links.of(made.id) == [sit]

    @in_loop
    async def test_a_debate_is_forked(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            made = await one.create(MOTION, format="duel", limits={"max_turns": 4})
            await one.wait(made.id)
            turns = await one.turns(made.id)
            changes = {
                "participants": [{"id": "ben", "model": "claude:other"}],
                "sources": [{"title": "Note", "text": "The ledger moves in May."}],
            }
            new = [await one.fork(made.id, turns[1].seq, changes=changes, once=Once("f", "1"))
                   for _ in range(2)]  # fmt: skip
            assert new[0].id == new[1].id
            ended = await one.wait(new[0].id)
            assert ended.forked_from is not None
            assert (ended.forked_from.id, ended.forked_from.seq) == (made.id, turns[1].seq)
            said = await one.turns(ended.id)
            assert said[:2] == turns[:2]
            assert (len(said), said[3].model) == (4, "claude:other")
            assert [source.title for source in ended.sources] == ["Note"]
            again = await one.wait((await one.rerun(ended.id)).id)
            assert (again.forked_from, again.sources) == (ended.forked_from, ended.sources)
            assert (await one.turns(again.id))[:2] == turns[:2]
            await refused(one.fork(made.id, 999), InputError, "after")
            wrong = {"participants": [{"id": "nobody"}]}
            field = "changes.participants[0].id"
            await refused(one.fork(made.id, turns[0].seq, changes=wrong), InputError, field)

    @in_loop
    async def test_a_debate_is_run_again_and_deleted(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            made = await one.create(MOTION, format="duel", limits={"max_turns": 2})
            ended = await one.wait(made.id)
            new = [await one.rerun(made.id, once=Once("again", "1")) for _ in range(2)]
            assert new[0].id == new[1].id != made.id
            again = await one.wait(new[0].id)
            assert (again.motion, again.participants, again.limits, again.turn_count) == (
                ended.motion, ended.participants, ended.limits, 2
            )  # fmt: skip
            waiting = await one.create(MOTION, format="duel", start=False)
            await refused(one.delete(waiting.id), StateError)
            for _ in range(2):  # twice is fine
                await one.delete(made.id)
            await refused(one.get(made.id), NotFoundError, "id")
            await refused(one.delete(NOBODY), NotFoundError, "id")
            left = {debate.id for debate in (await one.find()).debates}
            assert left == {again.id, waiting.id}
            await one.delete(again.id, record=True)

    @in_loop
    async def test_a_request_that_comes_twice_is_carried_out_once(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            first = await one.create(MOTION, start=False, once=Once("k", "1"))
            again = await one.create(MOTION, start=False, once=Once("k", "1"))
            assert again.id == first.id
            await refused(one.create("Another?", once=Once("k", "2")), ConflictError)
            await refused(one.council(COUNCIL, once=Once("k", "3")), ConflictError)

    @in_loop
    async def test_a_plan_says_what_a_debate_will_do(self, moot: Open) -> None:
        async with moot(None) as one:
            for name in ("standard", "classic", "duel", "council"):
                planned = await one.plan({"motion": MOTION, "format": name})
                assert (await one.find()).debates == []
                assert planned.total == len(planned.steps)
                assert planned.total == sum(stage.turns for stage in planned.stages)
                assert planned.steps[-1].wave == sum(stage.waves for stage in planned.stages)
            made = await one.wait((await one.create(MOTION, format="council")).id)
            assert await one.plan_of(made.id) == planned
            said = await one.turns(made.id)
            asked = {(step.round, step.stage, step.actor, step.target) for step in planned.steps}
            assert {(turn.round, turn.stage, turn.actor, turn.target) for turn in said} == asked

    @in_loop
    async def test_what_cannot_be_made_is_refused_by_its_field(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            wrong: list[tuple[dict[str, Any], str]] = [
                ({"motion": " "}, "motion"),
                ({"format": "nonsense"}, "format"),
                ({"format": "duel", "options": {"rounds": 2}}, "options.rounds"),
                ({"options": {"rounds": -1}}, "options.rounds"),
                ({"participants": [{"name": "Ada", "model": "opnai:x"}]}, "participants[0].model"),
                ({"participants": [{"agent": "nobody"}]}, "participants[0].agent"),
                ({"on_failure": "weep"}, "on_failure"),
                ({"limits": {"max_turns": 0}}, "limits.max_turns"),
                ({"jury": {"size": 12}}, "jury.size"),
                ({"jury": {"swap": False}}, "jury.size"),
                ({"jury": {"size": "3"}}, "jury.size"),
                ({"jury": {"size": 1, "models": ["openai", "claude"]}}, "jury.models"),
                ({"jury": {"models": ["opnai:x"]}}, "jury.models[0]"),
                ({"jury": {"jurors": 3}}, "jury.jurors"),
                ({"jury": {"size": 3, "baseline": 1}}, "jury.baseline"),
            ]
            for asked, field in wrong:
                whole: dict[str, Any] = {"motion": MOTION, **asked}
                await refused(one.create(**whole), InputError, field)
                await refused(one.plan(whole), InputError, field)
            await refused(one.council({**COUNCIL, "problem": " "}), InputError, "problem")
            await refused(one.council({**COUNCIL, "output_type": "x"}), InputError, "output_type")
            for jury, field in (({"size": 12}, "jury.size"), ({"of": 3}, "jury.of"), (3, "jury")):
                await refused(one.council({**COUNCIL, "jury": jury}), InputError, field)
            assert (await one.find()).debates == []

    @in_loop
    async def test_a_debate_that_is_not_there(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            for id_, kind in ((NOBODY, NotFoundError), ("../debates", InputError)):
                for verb in (one.start, one.stop, one.pause, one.resume, one.end, one.retry,
                             one.skip, one.rejudge, one.get, one.turns, one.packet, one.verdict,
                             one.report, one.remake_report, one.replay, one.wait):  # fmt: skip
                    await refused(verb(id_), kind, "id")
                await refused(one.export(id_, "md"), kind, "id")
                await refused(heard(one, id_), kind, "id")

    @in_loop
    async def test_a_part_of_an_id_stands_for_it(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            await refused(one.resolve("last"), NotFoundError, "id")
            made: list[Debate] = []
            for word in "abc":
                made.append(await one.create(f"Is {word} good?", start=False))
                await asyncio.sleep(0.002)  # those of one millisecond have no order
            for debate in made:
                for part in (debate.id, debate.id[-6:], debate.id[:-1]):
                    assert await one.resolve(part) == debate.id
            assert await one.resolve("last") == made[-1].id
            for part in ("d", "debate_2"):
                with pytest.raises(InputError) as several:
                    await one.resolve(part)
                assert all(f"{debate.id}  {debate.motion}" in several.value.message
                           for debate in made)  # fmt: skip
            await refused(one.resolve("debate_1999"), NotFoundError, "id")
            await refused(one.resolve("debate_______"), InputError, "id")
            for part in ("", "%", "../etc", "debate_x", made[0].id[-5:], made[0].id + "a", "Last"):
                await refused(one.resolve(part), InputError, "id")
            for search, count in ((Search(id=made[0].id[-6:]), 1), (Search(id="debate_"), 3),
                                  (Search(id="debate_", words="c good"), 1),
                                  (Search(id="debate_", format="duel"), 0)):  # fmt: skip
                assert len((await one.find(search)).debates) == count

    @in_loop
    async def test_lists_come_page_by_page(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            made: list[Debate] = []
            for word in "abcde":
                made.append(await one.create(f"Is {word} good?", start=False))
                await asyncio.sleep(0.002)  # those of one millisecond have no order
            found, search = list[str](), Search(limit=2)
            while True:
                page = await one.find(search)
                found += [debate.id for debate in page.debates]
                if page.next is None:
                    break
                search = Search(limit=2, before=page.next)
            assert found == [debate.id for debate in reversed(made)]
            for search, count in ((Search(words="good c"), 1), (Search(format="duel"), 0),
                                  (Search(statuses=("scheduled",)), 5),
                                  (Search(outcomes=("decided",)), 0), (Search(model="x"), 0),
                                  (Search(broadcasting=True), 0)):  # fmt: skip
                assert len((await one.find(search)).debates) == count

    @in_loop
    async def test_what_was_said_is_found_by_its_words_and_models(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            debate = await one.create("Who speaks?", format="duel")
            await one.wait(debate.id)
            while not (found := await one.find(Search(words="roun in"))).debates:  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # it is added in the background
            assert [each.id for each in found.debates] == [debate.id]
            assert found.lines[debate.id].models == debate.models
            assert set(await one.models()) >= set(debate.models)
            for search in (Search(model=debate.models[0]), Search(words="round", model="local")):
                assert [each.id for each in (await one.find(search)).debates] == [debate.id]

    @in_loop
    async def test_a_council_leaves_a_packet_a_report_and_a_record(self, moot: Open) -> None:
        async with moot(None) as one:
            duel = await one.create(MOTION, format="duel", start=False)
            await refused(one.packet(duel.id), NotFoundError, "id")
            await refused(one.remake_report(duel.id), StateError)
            undecided = await one.create(MOTION, format="council", start=False)
            await refused(one.packet(undecided.id), StateError)
            made = await one.council(COUNCIL)
            assert (await one.wait(made.id)).status == "completed"
            packet = await one.packet(made.id)
            assert packet["runId"] == made.id
            assert (await one.report(made.id))["motion"] == MOTION
            assert (await one.remake_report(made.id))["motion"] == MOTION
            assert all([MOTION in await one.export(made.id, kind) for kind in KINDS])
            replayed = await one.replay(made.id)
            while not replayed["consistency"]["filesComplete"]:
                await asyncio.sleep(0.01)  # a server says that it is over, and then files it
                replayed = await one.replay(made.id)
            assert replayed["finalPacket"] == packet
            assert replayed["consistency"]["issues"] == []
            assert [row["debate_id"] for row in await one.records("tests")] == [made.id]
            assert await one.records("zebra") == []

    @in_loop
    async def test_a_jury_votes_from_outside_the_cast(self, moot: Open) -> None:
        jury = {"size": 3, "models": ["openai:gpt-5"], "swap": True, "baseline": False}
        async with moot(None) as one:
            asked: dict[str, Any] = {"motion": MOTION, "format": "duel", "jury": jury}
            planned = await one.plan(asked)
            assert [step.actor for step in planned.steps[-6:]] == ["juror-1", "juror-2",
                                                                  "juror-3"] * 2  # fmt: skip
            none = await one.create(MOTION, format="duel", jury={"size": 0}, start=False)
            assert none.jury is None
            waiting = await one.create(**asked, start=False)
            assert waiting.jury
            assert waiting.jury.seats[0].model == "openai:gpt-5"
            await refused(one.verdict(waiting.id), NotFoundError, "id")
            local = {**jury, "models": []}
            held = [await one.create(MOTION, format="duel", jury=local),
                    await one.council({**COUNCIL, "jury": {"size": 1}})]  # fmt: skip
            for made in held:
                ended = await one.wait(made.id)
                verdict = await one.verdict(made.id)
                assert ended.jury
                assert verdict["jury"]["asked"] == len(ended.jury.seats)
                assert ended.outcome
                assert verdict["outcome"] == ended.outcome.outcome
                assert codec.debate(await one.get(made.id))["jury"] == codec.plain(ended.jury)
                answer = await one.answer(made.id, "https://moot.example/d/1")
                assert answer.startswith("**")
                assert "(https://moot.example/d/1)" in answer
            await refused(one.packet(held[0].id), NotFoundError, "id")
            assert (await one.packet(held[1].id))["runId"] == held[1].id

    @in_loop
    async def test_a_debate_that_has_ended_is_judged_again(self, moot: Open) -> None:
        async with moot(None) as one:
            waiting = await one.create(MOTION, format="duel", start=False)
            await refused(one.rejudge(waiting.id), StateError)
            await refused(one.rejudge(waiting.id, once=Once("k", "1")), StateError)
            judged = await one.wait((await one.create(MOTION, format="duel")).id)
            await refused(one.verdict(judged.id), NotFoundError, "id")
            jury: dict[str, Any]
            for jury, field in (({"size": 12}, "jury.size"), ({"size": 0}, "jury.size"),
                                ({"swap": False}, "jury.swap"),
                                ({"models": ["opnai:x"]}, "jury.models[0]")):  # fmt: skip
                await refused(one.rejudge(judged.id, jury=jury), InputError, field)
            made = await one.rejudge(judged.id, jury={"size": 5}, once=Once("key", "1"))
            again = await one.rejudge(judged.id, jury={"size": 5}, once=Once("key", "1"))
            assert again.id == made.id
            other = one.rejudge(judged.id, jury={"size": 1}, once=Once("key", "2"))
            await refused(other, ConflictError)
            ended = await one.wait(made.id)
            assert ended.forked_from
            assert ended.forked_from.id == judged.id
            assert (ended.status, ended.usage.calls) == ("completed", 10)
            assert (await one.verdict(made.id))["jury"]["asked"] == 5
            said, shared = await one.turns(made.id), await one.turns(judged.id)
            assert [turn.text for turn in said][: len(shared)] == [turn.text for turn in shared]
            assert [turn.seq for turn in said][: len(shared)] == [turn.seq for turn in shared]
            assert seqs(await heard(one, made.id)) == list(range(1, ended.last_seq + 1))
            assert codec.debate(await one.get(judged.id)) == codec.debate(judged)
            replayed = await one.replay(made.id)
            while not replayed["consistency"]["filesComplete"]:
                await asyncio.sleep(0.01)  # a server says that it is over, and then files it
                replayed = await one.replay(made.id)
            assert replayed["consistency"]["issues"] == []
            assert replayed["verdict"] == await one.verdict(made.id)

    @in_loop
    async def test_what_came_of_decisions_is_noted_and_scored(self, moot: Open) -> None:
        async with moot(None) as one:
            undecided = await one.create(MOTION, format="duel", start=False)
            await refused(one.note_outcome(undecided.id, "right"), StateError)
            odd: Any = "perfect"
            await refused(one.note_outcome(undecided.id, odd), InputError, "outcome")
            for id_, kind in ((NOBODY, NotFoundError), ("../debates", InputError)):
                await refused(one.note_outcome(id_, "right"), kind, "id")
                await refused(one.noted_outcome(id_), kind, "id")
            made = await one.wait((await one.council(COUNCIL)).id)
            known, shown = await one.replay(made.id), codec.debate(await one.get(made.id))
            assert await one.noted_outcome(made.id) is None
            assert await one.note_outcome(made.id, "wrong") == "wrong"
            assert await one.note_outcome(made.id, "right") == "right"
            assert await one.noted_outcome(made.id) == "right"
            found = await one.calibration()
            assert (found.noted, found.needed, found.models, found.juries) == (1, 10, (), ())
            assert await one.note_outcome(made.id, None) is None
            assert (await one.calibration()).noted == 0
            assert (await one.replay(made.id), codec.debate(await one.get(made.id))) == (
                known, shown
            )  # fmt: skip
            for number in range(10):
                again = await one.wait((await one.council({**COUNCIL, "jury": {"size": 3}})).id)
                await one.note_outcome(again.id, "right" if number % 2 else "wrong")
            found = await one.calibration()
            assert found.noted == 10
            assert [one.debates for one in found.juries] == [10]
            assert {one.model for one in found.models} == {"local:understudy"}

    @in_loop
    async def test_what_can_be_chosen(self, moot: Open, home: Path) -> None:
        (home / "formats").mkdir(parents=True)
        (home / "formats" / "mine.toml").write_text(OWN)
        (home / "formats" / "bad.toml").write_text("name = ")
        async with moot(None) as one:
            names = [rules.name for rules in await one.formats()]
            assert {"standard", "council", "mine"} <= set(names)
            (problem,) = await one.format_problems()
            assert (problem.file, problem.detail.startswith("bad.toml")) == ("bad.toml", True)
            assert {status.provider for status in await one.providers()} >= {"local", "openai"}
            assert await one.default_models() == ("local:understudy",)
            (local,) = [offers for offers in await one.offers() if offers.provider == "local"]
            assert [offer.model for offer in local.models] == ["local:understudy"]
            (claude,) = await one.offers("anthropic")
            assert (claude.provider, claude.live) == ("claude", False)
            assert "ANTHROPIC_API_KEY" in claude.detail
            assert claude.models[0].output_price
            with pytest.raises(InputError, match="nearest is claude"):
                await one.offers("cluade")

    @in_loop
    async def test_preferences_hold_for_debates_that_say_nothing_else(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            limits = {"max_turn_tokens": 500, "max_total_tokens": 90_000}
            models = ["openai:a", "claude:b"]
            kept = await one.prefer({"models": models, "limits": limits})
            assert kept == await one.preferences()
            assert (kept.models, dict(kept.limits)) == (tuple(models), limits)
            assert await one.default_models() == ("local:understudy",)  # the environment wins
            made = await one.create(MOTION, limits={"max_turn_tokens": 600}, start=False)
            assert (made.limits.max_turn_tokens, made.limits.max_total_tokens) == (600, 90_000)
            await refused(one.prefer({"models": ["nobody:x"]}), InputError, "models[0]")
            await refused(one.prefer({"limits": {"max_turns": 3}}), InputError, "limits.max_turns")
            await refused(one.prefer({"api_key": "sk"}), InputError, "api_key")
            assert await one.preferences() == kept

    @in_loop
    async def test_agents_and_stations_are_kept(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            ada, ben = [await one.agents.create(asked) for asked in AGENTS]
            assert (ada.id, ada.bio, ben.stance) == ("ada", "A baker.", "con")
            assert (await one.agents.change("ada", {"bio": "A judge."})).bio == "A judge."
            assert {"ada", "ben"} <= {agent.id for agent in await one.agents.all()}
            text = await one.agents.take(["ada"])
            assert await one.agents.bring(text) == Brought((), ("ada",))
            assert await one.agents.bring(text.replace('"ada"', '"eve"')) == Brought(("eve",), ())
            await one.agents.delete("eve")
            asked = {"name": "Morning", "motions": [MOTION], "agents": ["ada", "ben"]}
            made = await one.stations.create(asked)
            assert codec_station.station(await one.stations.get("morning")) == (
                codec_station.station(made)
            )
            assert (await one.stations.change("morning", {"about": "Us."})).about == "Us."
            text = await one.stations.take(["morning"])
            assert await one.stations.bring(text) == Brought((), ("morning",))
            for library, id_ in ((one.agents, "nobody"), (one.stations, "nowhere")):
                await refused(library.get(id_), NotFoundError, "id")
                await refused(library.change(id_, {"name": "X"}), NotFoundError, "id")
                await refused(library.delete(id_), NotFoundError, "id")
                await refused(library.take([id_]), NotFoundError, "id")
                await refused(library.create({"name": " "}), InputError, "name")
                await refused(library.bring("["), InputError, "toml")
            await refused(one.stations.create({"name": "X", "agents": ["nobody"]}), InputError,
                          "agents")  # fmt: skip
            await one.stations.delete("morning")
            assert "morning" not in {station.id for station in await one.stations.all()}

    @in_loop
    async def test_stations_air_what_is_on_their_programme(self, moot: Open) -> None:
        async with moot(Stage()) as one:
            for asked in AGENTS:
                await one.agents.create(asked)
            station = {"name": "Noon", "motions": [MOTION], "agents": ["ada", "ben"]}
            await one.stations.create(station)
            first, second, third = [
                await one.stations.schedule("noon", motion=f"{motion}?", at=FAR) for motion in "ABC"
            ]
            ordered = await one.stations.reorder("noon", [third.id, first.id, second.id])
            assert [waiting.debate.motion for waiting in ordered] == ["C?", "A?", "B?"]
            assert (await one.stations.cancel(second.id)).debate.status == "stopped"
            assert (await one.stations.conversation(first.id)).waiting
            assert (await one.stations.run(first.id)).id == first.id
            assert (await one.wait(first.id)).status == "completed"
            assert (await one.stations.air("noon")).id == third.id
            assert (await one.wait(third.id)).status == "completed"
            programme = await one.stations.programme("noon")
            assert [past.id for past in programme.past] == [third.id, first.id]
            assert (programme.now, programme.waiting) == (None, ())
            await refused(one.stations.conversation(NOBODY), NotFoundError, "id")
            await refused(one.stations.air("nowhere"), NotFoundError, "id")
            await refused(one.stations.schedule("noon", at="soon"), InputError, "at")
            await refused(one.stations.schedule("noon", agents=["x"]), InputError, "agents")
            await refused(one.stations.run(second.id), StateError)

    @in_loop
    async def test_whoever_waits_is_let_go_when_it_closes(self, moot: Open) -> None:
        speaker = Stage()
        async with moot(speaker) as one:
            speaker.held = True
            made = await one.create(MOTION, format="duel")
            await until(speaker, 1)
            waiting = asyncio.create_task(one.wait(made.id))
            await asyncio.sleep(0.05)
            await one.close()
            assert (await waiting).status in ("queued", "running")
            speaker.held = False
