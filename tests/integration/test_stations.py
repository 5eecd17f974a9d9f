"""Stations on a real store: several that look at once, downtime, deletion, and the same request
many times."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from moot.engine.service import Service
from moot.errors import ConflictError, InputError, NotFoundError, StateError
from moot.settings import Settings
from moot.stations.airing import GRACE_SECONDS
from moot.store import station_rows as store
from moot.testing.speaker import ScriptedSpeaker
from moot.testing.virtual import FrozenClock
from tests.virtual import MODEL, engine, go

BEGIN = 1_800_000_000.0  # 2027-01-15 08:00 UTC
HOURLY = {
    "name": "Hourly",
    "cron": "0 * * * *",
    "motions": ["First?", "Second?", "Third?"],
    "agents": ["ada", "ben"],
    "limits": {"max_turns": 2},
}


class Desk:
    """A home whose clock the test sets, and services on it."""

    def __init__(self, home: Path) -> None:
        self.clock = FrozenClock(BEGIN)
        self.speaker = ScriptedSpeaker()
        self._settings = Settings(home=home, model=MODEL, lease_seconds=1e9)

    @asynccontextmanager
    async def open(self, **more: Any) -> AsyncGenerator[Service]:
        async with engine(
            self._settings, self.speaker, clock=self.clock, recover=False, **more
        ) as service:
            yield service

    async def people(self, service: Service, **asked: Any) -> str:
        for name in ("Ada", "Ben"):
            await service.agents.create({"name": name})
        return (await service.stations.create({**HOURLY, **asked})).id

    async def settle(self, service: Service, seconds: float = 0.0) -> list[str]:
        """Let time pass, look, and let what went on air come to its end."""
        self.clock.tick(seconds)
        aired = await service.stations.look()
        for debate_id in aired:
            await service.wait(debate_id)
        return aired


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_it_airs_what_is_due_and_keeps_the_times(desk: Desk) -> None:
    async def main() -> None:
        async with desk.open(air=True) as service:
            name = await desk.people(service)
            assert await desk.settle(service, 3599) == []
            (first,) = await desk.settle(service, 1)
            (second,) = await desk.settle(service, 3600)
            programme = await service.stations.programme(name)
            assert [one.id for one in programme.past] == [second, first]
            assert [one.debate.motion for one in programme.past] == ["Second?", "First?"]
            one = programme.past[1]
            assert one.due == BEGIN + 3600
            assert one.debate.started_at == one.debate.ended_at == "2027-01-15T09:00:00.000Z"
            assert (one.debate.status, one.debate.turn_count) == ("completed", 2)
            assert programme.now is None
            assert programme.station.on_air is None
            assert [slot.due for slot in programme.slots][:2] == [BEGIN + 10800, BEGIN + 14400]
            assert (Path(service.folder(first)) / "report.html").is_file()

    go(main())


@pytest.mark.sqlite_only
def test_for_a_day_every_slot_is_aired_in_time(tmp_path: Path) -> None:
    """By the supervisor alone, whose clock nobody sets: it takes a day of virtual time."""
    settings = Settings(home=tmp_path, model=MODEL, sweep_seconds=120.0)

    async def main() -> None:
        async with engine(settings, ScriptedSpeaker(seconds=20.0), air=True) as service:
            for name in ("Ada", "Ben"):
                await service.agents.create({"name": name})
            station = await service.stations.create(HOURLY)
            await asyncio.sleep(24 * 3600)
            aired = await service.stations._store.aired(station.id, 99)
        assert len({one.due for one in aired}) == len(aired) == 24
        assert {one.debate.status for one in aired} == {"completed"}
        for one in aired:
            began = datetime.fromisoformat(one.debate.started_at or "").timestamp()
            assert 0 <= began - one.due <= 120.1

    go(main(), within=25 * 3600)


def test_each_prompt_has_both_bios_and_what_was_said(desk: Desk) -> None:
    async def main() -> None:
        async with desk.open() as service:
            for name, bio in (("Ada", "A baker from Graz."), ("Ben", "A pilot from Oslo.")):
                await service.agents.create({"name": name, "bio": bio, "model": f"openai:{name}"})
            name = (await service.stations.create({**HOURLY, "limits": {"max_turns": 6}})).id
            await service.wait((await service.stations.air(name)).id)

    go(main())
    assert [call.model for call in desk.speaker.calls] == ["openai:Ada", "openai:Ben"] * 3
    for call in desk.speaker.calls:
        assert "A baker from Graz." in call.messages[0].text
        assert "A pilot from Oslo." in call.messages[0].text
    assert "ada in round 1" in desk.speaker.calls[1].messages[-1].text
    assert len(desk.speaker.calls[5].heard) == 5


async def _race(desk: Desk, services: int) -> tuple[int, list[Any]]:
    """Several look at twenty stations in the same moment, for three hours."""
    errors: list[Any] = []
    async with desk.open() as first:
        for name in ("Ada", "Ben"):
            await first.agents.create({"name": name})
        for number in range(20):
            await first.stations.create({**HOURLY, "id": f"s{number}"})
        for _ in range(3):
            desk.clock.tick(3600)
            others = [desk.open() for _ in range(services)]
            looking = [await one.__aenter__() for one in others]
            done = await asyncio.gather(
                *(one.stations.look() for one in looking for _ in range(3)), return_exceptions=True
            )
            errors += [one for one in done if isinstance(one, BaseException)]
            for one in others:
                await one.__aexit__(None, None, None)
            for debate in (await first.find()).debates:
                await first.wait(debate.id)
        rows = [one for n in range(20) for one in await first.stations._store.aired(f"s{n}", 99)]
        slots = Counter((one.station_id, one.due) for one in rows)
        assert set(slots) == {(f"s{n}", BEGIN + 3600 * h) for n in range(20) for h in (1, 2, 3)}
        return max(slots.values()), errors


def test_many_that_look_at_once_air_each_once(desk: Desk) -> None:
    assert go(_race(desk, 3)) == (1, [])
    assert len(desk.speaker.calls) == 20 * 3 * 2


def test_it_is_seen_where_nothing_keeps_a_slot_from_being_filled_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guards taken out: what the station remembers, and the wall behind it."""
    monkeypatch.setattr(store, "_filling", lambda *_: store.Once(str(next(_numbers)), ""))
    keep = store._keep

    def forget(conn: Any, station: Any) -> None:
        keep(conn, store.replace(station, next_slot=BEGIN + 3600, wake=0, on_air=None))

    monkeypatch.setattr(store, "_keep", forget)

    async def main() -> int:
        async with desk.open() as service:
            name = await desk.people(service)
            desk.clock.tick(3600)
            for _ in range(3):
                await service.stations.look()
            return len(await service.stations._store.aired(name, 99))

    assert go(main()) == 3


_numbers = iter(range(10**6))


@pytest.mark.parametrize(("missed", "aired"), [("air", 5), ("skip", 1)])
def test_what_was_missed_while_everything_was_down(desk: Desk, missed: str, aired: int) -> None:
    """Five slots pass with nobody there, the last within the grace."""

    async def main() -> tuple[int, int]:
        async with desk.open() as service:
            name = await desk.people(service, missed=missed)
            by_hand = await service.stations.schedule(name, at="2027-01-15T08:30")
        desk.clock.tick(5 * 3600 + GRACE_SECONDS)
        async with desk.open() as service:
            while await desk.settle(service):
                desk.clock.tick(1)
            programme = await service.stations.programme(name)
            late = (await service.get(by_hand.id)).status
            assert late == ("completed" if missed == "air" else "stopped")
            if missed == "skip":
                events = await service._store.events(by_hand.id)
                assert "was missed" in str(getattr(events[-1], "notice", ""))
            slots = [one for one in programme.past if one.id != by_hand.id]
            return len(slots), programme.station.skipped

    assert go(main()) == (aired, 5 - aired)


def test_what_was_on_air_when_all_went_down_goes_on(desk: Desk) -> None:
    """Aired and never dispatched, as if the process had died in between."""

    async def main() -> None:
        async with desk.open() as service:
            name = await desk.people(service)
            service.stations._dispatcher = _Nobody()  # pyright: ignore[reportAttributeAccessIssue]
            one = await service.stations.air(name)
            assert one.debate.status == "queued"
        async with desk.open(air=True) as service:
            assert (await service.stations.programme(name)).now
            assert await service.supervisor.sweep() == [one.id]
            assert (await service.wait(one.id)).turn_count == 2
            assert await service.stations.look() == []
            assert (await service.stations.programme(name)).now is None

    go(main())


class _Nobody:
    def dispatch(self, debate: Any) -> None:
        """The message is lost."""


def test_run_twenty_times_at_once_starts_one(desk: Desk) -> None:
    async def main() -> None:
        async with desk.open() as service, desk.open() as other:
            name = await desk.people(service)
            one = await service.stations.schedule(name, at="2027-02-01T10:00")
            done = await asyncio.gather(
                *((service, other)[n % 2].stations.run(one.id) for n in range(20))
            )
            assert {each.id for each in done} == {one.id}
            assert (await service.wait(one.id)).status == "completed"
            assert (await service.stations.run(one.id)).debate.status == "completed"
        assert len(desk.speaker.calls) == 2

    go(main())


def test_starting_the_debate_goes_by_the_station(desk: Desk) -> None:
    """`start` does not get past the rule that one is on air."""

    async def main() -> None:
        async with desk.open() as service:
            name = await desk.people(service)
            one, two = [
                await service.stations.schedule(name, at="2027-02-01T10:00") for _ in range(2)
            ]
            service.stations._dispatcher = _Nobody()  # pyright: ignore[reportAttributeAccessIssue]
            assert (await service.start(one.id)).status == "queued"
            assert (await service.start(two.id)).status == "scheduled"
            programme = await service.stations.programme(name)
            assert programme.now
            assert programme.now.id == one.id
            assert [(each.id, each.called) for each in programme.waiting] == [(two.id, 3)]

    go(main())


def test_debates_stay_when_agents_and_stations_go(desk: Desk) -> None:
    async def main() -> None:
        async with desk.open() as service:
            name = await desk.people(service)
            aired = (await service.stations.air(name)).id
            await service.wait(aired)
            waits = await service.stations.schedule(name, at="2027-02-01T10:00")
            await service.agents.delete("ben")
            assert (await service.stations.get(name)).agents == ("ada",)
            with pytest.raises(NotFoundError, match="no agent ben"):
                await service.agents.get("ben")
            said = await service.turns(aired)
            assert [turn.name for turn in said] == ["Ada", "Ben"]
            await service.stations.delete(name)
            assert (await service.get(aired)).status == "completed"
            assert [turn.text for turn in await service.turns(aired)] == [t.text for t in said]
            gone = await service.get(waits.id)
            assert (gone.status, gone.stop_reason) == ("stopped", "stopped_by_user")
            for lost in (service.stations.programme(name), service.stations.run(waits.id)):
                with pytest.raises(NotFoundError):
                    await lost

    go(main())


def test_a_station_that_goes_while_on_air_leaves_a_plain_debate(desk: Desk) -> None:
    async def main() -> None:
        async with desk.open() as service:
            name = await desk.people(service)
            one = await service.stations.air(name)
            await service.stations.delete(name)
            assert (await service.wait(one.id)).status == "completed"

    go(main())


def test_a_signature_is_good_once(desk: Desk) -> None:
    async def main() -> None:
        async with desk.open() as service, desk.open() as other:
            done = await asyncio.gather(
                *((service, other)[n % 2].stations.use("hook abc", "") for n in range(20)),
                return_exceptions=True,
            )
            assert Counter(type(one) for one in done) == {type(None): 1, ConflictError: 19}

    go(main())


def test_those_made_in_one_moment_under_one_name_are_all_there(desk: Desk) -> None:
    async def main() -> None:
        async with desk.open() as service, desk.open() as other:
            before = len(await service.agents.all())
            twins = [(service, other)[n % 2].agents.create({"name": "Ada"}) for n in range(4)]
            made = await asyncio.gather(*twins)
            assert len({one.id for one in made}) == 4
            assert len(await service.agents.all()) == before + 4
            pair = [each.stations.create({"name": "Desk"}) for each in (service, other)]
            assert {one.id for one in await asyncio.gather(*pair)} == {"desk", "desk-2"}

    go(main())


def test_a_file_of_stations_is_taken_whole_or_not_at_all(desk: Desk) -> None:
    good = '[[stations]]\nname = "A"\n[[stations]]\nname = "B"\nzone = "Asia/Tokyo"\n'

    async def main() -> None:
        async with desk.open() as service:
            brought = await service.stations.bring(good)
            assert (brought.made, brought.changed) == (("a", "b"), ())
            again = await service.stations.bring(good.replace("Tokyo", "Seoul"))
            assert (again.made, again.changed) == ((), ("a", "b"))
            with pytest.raises(InputError) as refused:
                await service.stations.bring(good.replace("Tokyo", "Osaka").replace("A", "C"))
            assert refused.value.field == "stations[1].zone"
            assert [one.id for one in await service.stations.all()] == ["a", "b"]
            taken = await service.stations.take()
            await service.stations.delete("a")
            await service.stations.bring(taken)
            assert await service.stations.take() == taken

    go(main())


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 61}, "name"),
        ({"cron": "0 25 * * *"}, "cron"),
        ({"zone": "Nowhere"}, "zone"),
        ({"missed": "late"}, "missed"),
        ({"format": "council"}, "format"),
        ({"format": "quarrel"}, "format"),
        ({"seats": 3}, "seats"),
        ({"agents": ["ada", "nobody"]}, "agents"),
        ({"agents": ["ada", "ada"]}, "agents"),
        ({"agents": ["ada"]}, "agents"),
        ({"motions": []}, "motions"),
        ({"motions": [" "]}, "motions[0]"),
        ({"motions": "one"}, "motions"),
        ({"limits": {"max_turns": 0}}, "limits.max_turns"),
        ({"options": {"rounds": 3}}, "options.rounds"),
        ({"on_air": "x"}, "on_air"),
        ({"id": "Hourly!"}, "id"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(
    desk: Desk, asked: dict[str, Any], field: str
) -> None:
    async def main() -> None:
        async with desk.open() as service:
            await desk.people(service)
            before = await service.stations.all()
            with pytest.raises(InputError) as refused:
                await service.stations.create({**HOURLY, **asked})
            assert refused.value.field == field
            if "id" not in asked:
                with pytest.raises(InputError) as refused:
                    await service.stations.change("hourly", asked)
                assert refused.value.field == field
            assert await service.stations.all() == before

    go(main())


def test_what_cannot_be_scheduled_or_aired(desk: Desk) -> None:
    async def main() -> None:
        async with desk.open() as service:
            name = await desk.people(service)
            schedule: Callable[..., Awaitable[Any]] = service.stations.schedule
            wrong: list[tuple[dict[str, Any], str]] = [
                ({"at": "2026-01-01T00:00"}, "at"),
                ({"at": "soon"}, "at"),
                ({"at": "9999-12-31T23:59-05:00"}, "at"),
                ({"motion": " "}, "motion"),
                ({"agents": ["ada", "nobody"]}, "agents"),
                ({"agents": ["ada", "ada"]}, "agents"),
            ]
            for asked, field in wrong:
                with pytest.raises(InputError) as refused:
                    await schedule(name, **asked)
                assert refused.value.field == field, asked
            bare = (await service.stations.create({"name": "Bare"})).id
            with pytest.raises(StateError, match="no motion in its pool"):
                await service.stations.air(bare)
            one = await schedule(bare, motion="Alone?", agents=["ben", "ada"])
            assert [seat.name for seat in one.debate.participants] == ["Ben", "Ada"]
            assert (await service.stations.air(bare)).id == one.id
            stopped = await schedule(bare, motion="Off?", agents=["ben", "ada"])
            await service.stations.cancel(stopped.id)
            await service.stations.cancel(stopped.id)
            with pytest.raises(StateError, match="is stopped"):
                await service.stations.run(stopped.id)

    go(main())


def test_a_pool_that_is_too_small_is_told_of_at_once_and_comes_back_from_a_file(desk: Desk) -> None:
    async def main() -> None:
        async with desk.open() as service:
            name = await desk.people(service)
            await service.agents.delete("ben")
            short = "Hourly needs 2 agents in its pool and has 1."
            assert (await service.stations.get(name)).trouble == short
            taken = await service.stations.take([name])
            await service.stations.delete(name)
            await service.stations.bring(taken)
            assert (await service.stations.get(name)).trouble == short
            assert (await service.stations.change(name, {"about": "x"})).trouble == short
            await service.agents.create({"name": "Ben"})
            mended = await service.stations.change(name, {"agents": ["ada", "ben"]})
            assert mended.trouble is None

    go(main())


def test_agents_take_seats_in_plain_debates_too(desk: Desk) -> None:
    async def main() -> None:
        async with desk.open() as service:
            await service.agents.create({"name": "Ada", "bio": "A baker.", "stance": "con"})
            debate = await service.create(
                "Bread?",
                format="duel",
                participants=[{"agent": "ada", "model": "openai:x"}, {"name": "Ben"}],
                start=False,
            )
            ada = debate.participants[0]
            assert (ada.name, ada.bio, ada.stance, ada.model) == (
                "Ada", "A baker.", "con", "openai:x"
            )  # fmt: skip
            with pytest.raises(InputError) as refused:
                await service.create("Bread?", participants=[{"name": "B"}, {"agent": "nobody"}])
            assert refused.value.field == "participants[1].agent"

    go(main())


def test_agents_that_come_along_can_be_changed_and_deleted_for_good(tmp_path: Path) -> None:
    async def main() -> None:
        settings = Settings(home=tmp_path, model=MODEL)
        async with engine(settings, recover=False) as service:
            first, *_ = came = await service.agents.all()
            assert len(came) >= 6
            assert all(one.bio and one.voice.lang for one in came)
            await service.agents.delete(first.id)
        async with engine(settings, recover=False) as service:
            assert len(await service.agents.all()) == len(came) - 1

    go(main())
