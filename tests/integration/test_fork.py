"""A fork begins with the turns of another debate, to the byte, and goes on by its own settings."""

import asyncio
from typing import Any

import pytest

from moot.core.debate import HUMAN, NO_USAGE, Debate
from moot.core.voices import UNDERSTUDY
from moot.engine.service import Service
from moot.errors import InputError, NotFoundError, StateError
from moot.ports.debate_store import Once
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.store.reindex import examine
from moot.testing.speaker import ScriptedSpeaker
from moot.wire import codec
from tests.integration.juries import jury_speaker, vote
from tests.integration.speakers import add_chorus
from tests.stress import STRESS
from tests.virtual import engine, go

OTHER = "claude:other"
FORMATS: list[dict[str, Any]] = [
    {"format": "standard", "options": {"rounds": 2}, "host": {}},
    {"format": "classic", "options": {"free_rounds": 1}},
    {"format": "custom", "options": {"rounds": 1}},
    {"format": "duel", "limits": {"max_turns": 4}},
    {"format": "duel", "limits": {"max_turns": 2}, "jury": {"size": 2}},
    {"format": "chorus", "participants": [{"name": "Ada"}, {"name": "Ben"}]},
    {"format": "council"},
]


async def forked(service: Service, whole: Debate, place: int, **changes: Any) -> Debate:
    """A fork at that turn, brought to its end; its first turns are those of the other."""
    said = await service.turns(whole.id)
    made = await service.fork(whole.id, said[place].seq, changes=changes)
    assert made.forked_from is not None
    assert (made.forked_from.id, made.forked_from.seq) == (whole.id, said[place].seq)
    ended = await service.wait(made.id)
    assert ended.status == "completed", ended.failure
    turns = await service.turns(made.id)
    first = [codec.turn(turn) for turn in said[: place + 1]]
    assert [codec.turn(turn) for turn in turns[: place + 1]] == first
    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
    assert ended.usage.calls == len(turns) - place - 1  # what was said before is not paid again
    return ended


@pytest.mark.parametrize("wanted", FORMATS, ids=lambda one: "-".join(map(str, one)))
def test_every_format_is_forked_at_every_turn(settings: Settings, wanted: dict[str, Any]) -> None:
    async def work() -> None:
        add_chorus(settings.home)
        async with engine(settings, jury_speaker()) as service:
            made = await service.create("m", **wanted)
            whole = await service.wait(made.id)
            before = [codec.turn(turn) for turn in await service.turns(made.id)]
            (settings.home / "formats" / "chorus.toml").unlink()  # a debate keeps its own
            seat = whole.participants[0].id
            every, ended = 1 if STRESS or len(before) < 12 else 3, whole
            for place in range(0, len(before), every):
                ended = await forked(
                    service, whole, place, participants=[{"id": seat, "model": OTHER}]
                )
                after = (await service.turns(ended.id))[place + 1 :]
                assert all(turn.model == OTHER for turn in after if turn.actor == seat)
                assert ended.turn_count == whole.turn_count
                assert examine(settings.home, settings.database, ended.id).issues == ()
            again = await forked(service, ended, len(before) // 2)  # a fork of a fork
            assert examine(settings.home, settings.database, again.id).issues == ()
            assert await service.get(made.id) == whole
            assert [codec.turn(turn) for turn in await service.turns(made.id)] == before

    go(work(), within=2_000)


def test_options_limits_and_a_jury_are_changed(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, jury_speaker()) as service:
            made = await service.create("m", format="standard", options={"rounds": 2})
            whole = await service.wait(made.id)
            longer = await forked(service, whole, 2, options={"rounds": 3})
            assert (whole.turn_count, longer.turn_count) == (4, 6)
            judged = await forked(service, whole, 1, jury={"size": 1})
            assert judged.outcome is not None
            assert examine(settings.home, settings.database, judged.id).issues == ()
            with pytest.raises(StateError, match="cannot go on"):
                await service.fork(made.id, whole.last_seq - 1, changes={"options": {"rounds": 1}})

    go(work())


class Backwards(ScriptedSpeaker):
    """Jurors who cast the ballots of their last round first."""

    async def speak(self, call: Call, say: Say) -> Reply:
        await asyncio.sleep(9 - call.step.round if call.step.reading else 0)
        return await super().speak(call, say)


def test_a_debate_is_forked_between_the_ballots_of_a_jury(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, Backwards(vote)) as service:
            made = await service.create("m", format="duel", jury={"size": 2, "baseline": True})
            whole = await service.wait(made.id)
            for place in range(6, whole.turn_count):
                ended = await forked(service, whole, place)
                assert ended.turn_count == whole.turn_count

    go(work())


def test_what_cannot_be_forked_is_refused_by_its_field(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, jury_speaker()) as service:
            made = await service.create("m", format="duel")
            whole = await service.wait(made.id)
            seq = (await service.turns(made.id))[0].seq
            wrong: list[tuple[int, dict[str, Any], str]] = [
                (seq - 1, {}, "after"), (whole.last_seq + 1, {}, "after"),
                (seq, {"participants": [{"id": "nobody"}]}, "changes.participants[0].id"),
                (seq, {"host": {"model": OTHER}}, "changes.host"),
                (seq, {"options": {"rounds": 3}}, "options.rounds"),
                (seq, {"title": "x"}, "changes.title"),
                (seq, {"participants": [{"id": "ada", "name": "Eve"}]}, "changes.name"),
            ]  # fmt: skip
            for after, changes, field in wrong:
                with pytest.raises(InputError) as error:
                    await service.fork(made.id, after, changes=changes)
                assert error.value.field == field
            judged = await service.rejudge(made.id, jury={"size": 1})
            await service.wait(judged.id)
            with pytest.raises(StateError, match="only judges"):
                await service.fork(judged.id, seq)
            with pytest.raises(StateError, match="only judges"):
                await service.rerun(judged.id)
            new = [await service.fork(made.id, seq, once=Once("k", "d")) for _ in range(2)]
            assert new[0].id == new[1].id
            rerun = await service.rerun(made.id, once=Once("r", "d"))
            await service.delete(made.id)
            assert (await service.fork(made.id, seq, once=Once("k", "d"))).id == new[0].id
            assert (await service.rerun(made.id, once=Once("r", "d"))).id == rerun.id

    go(work())


def test_a_fork_reads_more_and_stands_without_its_origin(settings: Settings) -> None:
    """Its own documents come after those that both read, which the origin does not take along."""

    async def work() -> None:
        speaker = jury_speaker()
        async with engine(settings, speaker) as service:
            texts = ["The ledger moves in May.", "The budget was cut in June."]
            first, more = ({"title": text[4:10], "text": text} for text in texts)
            made = await service.create(
                "m", format="duel", limits={"max_turns": 3}, sources=[first]
            )
            whole = await service.wait(made.id)
            new = await forked(service, whole, 1, sources=[more], limits={"max_turns": 4})
            assert [one.id for one in new.sources] == ["S1", "S2"]
            heard = "".join(message.text for message in speaker.calls[-1].messages)
            assert all(text in heard for text in texts)
            assert "text" not in (new.received or {})["changes"]["sources"][0]
            with pytest.raises(InputError) as error:
                await service.fork(
                    made.id, whole.last_seq - 1, changes={"sources": [{"upload": "u"}]}
                )
            assert error.value.field == "sources[0].upload"
            await service.delete(made.id)
            again = await service.wait((await service.rerun(new.id)).id)
            for one in (new, again):
                assert examine(settings.home, settings.database, one.id).issues == ()
            assert (again.forked_from, again.limits, again.sources, again.received) == (
                new.forked_from, new.limits, new.sources, new.received
            )  # fmt: skip
            said = [await service.turns(one.id) for one in (new, again)]
            assert said[0][:2] == said[1][:2]
            assert len(said[0]) == len(said[1]) == 4
            await service.delete(new.id)
            assert examine(settings.home, settings.database, again.id).issues == ()

    go(work())


def test_a_person_takes_over_a_seat(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, jury_speaker()) as service:
            made = await service.create("m", format="duel", limits={"max_turns": 4})
            await service.wait(made.id)
            seq = (await service.turns(made.id))[1].seq
            human = {"participants": [{"id": "ada", "model": "human"}]}
            new = await service.fork(made.id, seq, changes=human)
            assert (await service.wait(new.id)).waiting_for == "ada"
            await service.say(new.id, "I take over.")
            assert (await service.wait(new.id)).status == "completed"
            assert (await service.turns(new.id))[2].text == "I take over."

    go(work())


@pytest.mark.parametrize(
    ("before", "status"),
    [
        (HUMAN, "completed"),
        ("claude", "completed"),
        pytest.param("local", "paused", marks=pytest.mark.stress("the others do not wait for it")),
    ],
)
def test_the_understudy_takes_a_seat_but_not_that_of_a_local_server(
    settings: Settings, before: str, status: str
) -> None:
    """Who had the seat before the fork does not count, unless it was the server that is gone."""

    def script(call: Call) -> str | Reply:
        said = f"{call.step.actor} in round {call.step.round}"
        spoke = "local:mine" if call.step.round == 1 else UNDERSTUDY
        return Reply(said, spoke, NO_USAGE) if call.model == "local" else said

    async def work() -> None:
        async with engine(settings, ScriptedSpeaker(script)) as service:
            seats = [{"name": "Ada", "model": before}, {"name": "Ben"}]
            made = await service.create(
                "m", format="duel", participants=seats, limits={"max_turns": 2}
            )
            if before == HUMAN:
                await service.wait(made.id)
                await service.say(made.id, "Mine.")
            await service.wait(made.id)
            seq = (await service.turns(made.id))[0].seq
            changes = {"participants": [{"id": "ada", "model": "local"}],
                       "limits": {"max_turns": 4}}  # fmt: skip
            new = await service.fork(made.id, seq, changes=changes)
            assert (await service.wait(new.id)).status == status

    asyncio.run(work())  # moot looks for local servers


@pytest.mark.parametrize("verb", ["fork", "rejudge"])
def test_a_debate_that_is_deleted_meanwhile_is_not_begun_from(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    async def work() -> None:
        async with engine(settings, jury_speaker()) as service:
            made = await service.create("m", format="duel", limits={"max_turns": 2})
            whole = await service.wait(made.id)
            read = service._store.events  # pyright: ignore[reportPrivateUsage]

            async def deleted_first(debate_id: str, after: int = 0) -> Any:
                if after == 0:
                    await service.delete(debate_id)
                return await read(debate_id, after)

            monkeypatch.setattr(service._store, "events", deleted_first)  # pyright: ignore
            fork = service.fork(whole.id, whole.last_seq - 1)
            again = service.rejudge(whole.id, jury={"size": 1})
            with pytest.raises(NotFoundError):
                await (fork if verb == "fork" else again)
            (again if verb == "fork" else fork).close()
            assert not (await service.find()).debates

    go(work())
