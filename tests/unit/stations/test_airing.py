"""What a station does next: pure, so any history of looks and downtimes can be tried."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stress import examples

from moot.core import request
from moot.core.debate import Debate
from moot.core.times import iso
from moot.errors import InputError, StateError
from moot.stations import airing, casting, slots
from moot.stations.airing import Board, StationChange
from moot.stations.station import Agent, Conversation, Station
from moot.store.formats import FormatFiles

DUEL = FormatFiles(Path("/nowhere")).get("duel")
T = 1_800_000_000.0  # 08:00 UTC
AGENTS = {name: Agent(name, name.title(), created_at="then") for name in ("ada", "ben", "cleo")}
_number = count()


def make(station: Station, motion: str, agents: Sequence[Agent]) -> Debate:
    letters = "abcdefghijklmnopqrstuvwxyz"
    n = next(_number)
    token = "".join(letters[n // 26**place % 26] for place in range(6))
    return request.build(
        debate_id=f"debate_20270115_080000_{token}",
        at=iso(T),
        motion=motion,
        rules=DUEL,
        default_model="local",
        normalize=lambda model: (model, None),
        participants=casting.seats(agents),
    )


def recast(debate: Debate, agents: Sequence[Agent]) -> Debate:
    return request.recast(debate, casting.seats(agents), "local", lambda model: (model, None))


STATION = Station(
    "one",
    "One",
    cron="0 * * * *",
    motions=("First?", "Second?"),
    agents=("ada", "ben", "cleo"),
    seats=2,
    next_slot=T + 3600,
    wake=T + 3600,
)


@dataclass
class World:
    """A station as a store would keep it."""

    station: Station = STATION
    rows: dict[str, Conversation] = field(default_factory=dict[str, Conversation])
    debates: dict[str, Debate] = field(default_factory=dict[str, Debate])
    agents: dict[str, Agent] = field(default_factory=lambda: dict(AGENTS))
    filled: Counter[float] = field(default_factory=Counter[float])
    starts: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    ends: dict[str, float] = field(default_factory=dict[str, float])

    def board(self) -> Board:
        on_air = self.station.on_air
        return Board(
            self.station,
            tuple(
                replace(one, debate=self.debates[one.id])
                for one in self.rows.values()
                if one.waiting
            ),
            self.debates[on_air] if on_air else None,
            lambda ids: {one: self.agents[one] for one in ids if one in self.agents},
            lambda slot: slot in self.filled,
        )

    def write(self, change: StationChange, now: float) -> None:
        self.filled.update(change.slots)
        for one in change.made:
            self.debates[one.id] = one.debate.but(status="scheduled" if one.waiting else "queued")
            if not one.waiting:
                self.starts.append((one.id, now))
        for debate_id, move in change.moves:
            before = self.debates[debate_id]
            self.debates[debate_id] = move(before).debate
            if before.status == "scheduled" and self.debates[debate_id].status == "queued":
                self.starts.append((debate_id, now))
        for one in (*change.made, *change.changed):
            self.rows[one.id] = one
        self.station = change.station

    def look(self, now: float) -> StationChange:
        change = airing.look(self.board(), now, make, recast)
        self.write(change, now)
        return change

    def schedule(self, now: float, due: float | None, **more: object) -> Conversation:
        motion = str(more.get("motion") or "By hand?")
        change = airing.schedule(
            self.board(), now, due, motion, [AGENTS["ada"], AGENTS["ben"]], make
        )
        self.write(change, now)
        return change.made[0]

    def finish(self, now: float) -> None:
        if (debate_id := self.station.on_air) and debate_id not in self.ends:
            ended = self.debates[debate_id].but(status="completed", ended_at=iso(now))
            self.debates[debate_id] = ended
            self.ends[debate_id] = now

    def on_air(self) -> str | None:
        one = self.station.on_air
        return one if one and one not in self.ends else None


def overlapping(world: World) -> list[tuple[str, str]]:
    return [
        (one, other)
        for (one, _), (other, began) in pairwise(world.starts)
        if world.ends.get(one, float("inf")) > began
    ]


# --- any history ---

steps = st.lists(
    st.tuples(
        st.sampled_from(["look", "look", "look", "finish", "down", "by hand", "whenever", "run"]),
        st.integers(1, 90),
    ),
    max_size=60,
)


@settings(max_examples=examples(150), deadline=None)
@given(steps=steps, missed=st.sampled_from(["air", "skip"]), line=st.sampled_from(
    ["0 * * * *", "*/5 * * * *", "30 */3 * * *"]))  # fmt: skip
def test_one_at_a_time_and_each_once_whatever_happens(
    steps: list[tuple[str, int]], missed: str, line: str
) -> None:
    world, now = World(replace(STATION, cron=line, missed=missed, next_slot=None)), T
    following = slots.after(line, "UTC", T)
    world.station = replace(world.station, next_slot=following, wake=following)
    for what, minutes in steps:
        now += 60 * minutes * (20 if what == "down" else 0.3)
        if what == "finish":
            world.finish(now)
        elif what == "by hand":
            world.schedule(now, now + 60 * minutes)
        elif what == "whenever":
            world.schedule(now, None)
        elif what == "run" and (waiting := world.board().waiting):
            one = waiting[minutes % len(waiting)].id
            world.write(airing.run(world.board(), one, now, recast), now)
        before = world.station.skipped
        change = world.look(now)
        _check_look(world, change, now, before)
    assert overlapping(world) == []
    assert max(Counter(one for one, _ in world.starts).values(), default=1) == 1
    assert max(world.filled.values(), default=1) == 1


def _check_look(world: World, change: StationChange, now: float, skipped: int) -> None:
    station = world.station
    assert station.next_slot is not None
    assert station.next_slot > now
    waiting = [one for one in world.rows.values() if one.waiting]
    assert all(one.called for one in waiting if one.due <= now)
    if any(one.called for one in waiting):  # then another has the air
        assert world.on_air()
    dropped = [one for one in change.changed if not one.waiting and one.aired_at is None]
    if station.missed == "air":
        assert not dropped
    assert station.skipped >= skipped
    ahead = [one.due for one in waiting if not one.called] + [station.next_slot]
    assert station.wake == min(ahead)
    again = airing.look(world.board(), now, make, recast)
    assert again == StationChange(world.station)  # a second look finds nothing to do


def test_it_would_be_seen_if_the_air_was_not_looked_at() -> None:
    """The guard taken out: with the air always free, two are on it at once."""
    world = World()
    world.look(T + 3600)
    world.station = replace(world.station, on_air=None)
    world.look(T + 7200)
    assert len(overlapping(world)) == 1


# --- missed ---


@pytest.mark.parametrize(("missed", "aired"), [("air", 3), ("skip", 0)])
def test_slots_missed_while_nothing_ran(missed: str, aired: int) -> None:
    world = World(replace(STATION, missed=missed))  # pyright: ignore[reportArgumentType]
    now = T + 3 * 3600 + 1800
    for _ in range(5):
        world.look(now)
        world.finish(now)
    assert len(world.starts) == aired
    assert world.station.skipped == 3 - aired


def test_a_slot_within_the_grace_is_not_missed() -> None:
    world = World(replace(STATION, missed="skip"))
    world.look(T + 3600 + airing.GRACE_SECONDS)
    assert len(world.starts) == 1


def test_what_waits_for_the_air_is_not_missed() -> None:
    world = World(replace(STATION, missed="skip"))
    world.look(T + 3600)
    world.look(T + 7200)
    world.look(T + 9000)  # the second has waited half an hour for the first
    assert len(world.starts) == 1
    world.finish(T + 9030)
    world.look(T + 9032)
    assert len(world.starts) == 2


def test_what_could_have_had_the_air_while_nothing_ran_is_missed() -> None:
    world = World(replace(STATION, missed="skip"))
    world.look(T + 3600)
    world.look(T + 7200)
    world.finish(T + 7300)
    world.look(T + 9000)
    assert len(world.starts) == 1
    stopped = [one for one in world.debates.values() if one.status == "stopped"]
    assert len(stopped) == 1
    assert stopped[0].ended_at


def test_what_has_no_time_of_its_own_cannot_be_missed() -> None:
    world = World(replace(STATION, missed="skip", cron=None, next_slot=None))
    one = world.schedule(T, None)
    world.look(T + 86_400)
    assert world.starts == [(one.id, T + 86_400)]


def test_of_very_many_the_newest_are_aired() -> None:
    world = World(replace(STATION, cron="* * * * *", next_slot=T + 60))
    now = T + 30 * 86_400
    world.look(now)
    waiting = sorted(one.due for one in world.rows.values())
    assert len(waiting) == airing.MOST_WAITING
    assert waiting == [now - 60 * back for back in range(airing.MOST_WAITING - 1, -1, -1)]


def test_a_queue_that_only_grows_is_bounded() -> None:
    world = World(replace(STATION, cron="* * * * *", next_slot=T + 60))
    for minute in range(1, 61):
        world.look(T + 60 * minute)
    assert len(world.rows) == airing.MOST_WAITING + 1
    assert world.station.skipped == 60 - len(world.rows)


# --- order ---


def test_air_now_goes_first_and_said_twice_does_nothing_more() -> None:
    world = World(replace(STATION, cron=None, next_slot=None))
    one, two, three = (world.schedule(T, T + 60 * n) for n in (1, 2, 3))
    world.look(T + 60)
    for _ in range(3):
        world.write(airing.run(world.board(), three.id, T + 70, recast), T + 70)
    world.look(T + 120)
    assert [name for name, _ in world.starts] == [one.id]
    for minute in (3, 4, 5):
        world.finish(T + 60 * minute)
        world.look(T + 60 * minute)
    assert [name for name, _ in world.starts] == [one.id, three.id, two.id]
    world.write(airing.run(world.board(), three.id, T + 900, recast), T + 900)
    assert len(world.starts) == 3


def test_a_slot_airs_before_what_was_due_after_it() -> None:
    world = World()
    world.schedule(T, T + 3630)
    change = world.look(T + 3640)
    (began, _) = world.starts[0]
    assert change.made[0].id == began


def test_reorder_deals_the_conversations_over_the_times() -> None:
    world = World(replace(STATION, cron=None, next_slot=None))
    ones = [world.schedule(T, T + 600 * n) for n in (1, 2, 2)]
    ids = [one.id for one in sorted(ones, key=airing.order)]
    world.write(airing.reorder(world.board(), ids[::-1], T), T)
    waiting = sorted(world.rows.values(), key=airing.order)
    assert [one.id for one in waiting] == ids[::-1]
    assert [round(one.due - T) for one in waiting] == [600, 1200, 1200]
    for wrong in (ids[:2], [*ids, ids[0]], [*ids[:2], "another"]):
        with pytest.raises(InputError, match="once"):
            airing.reorder(world.board(), wrong, T)


def test_cancel_takes_off_what_waits_and_nothing_else() -> None:
    world = World(replace(STATION, cron=None, next_slot=None))
    one, two = world.schedule(T, T + 60), world.schedule(T, T + 120)
    world.write(airing.cancel(world.board(), two.id, T), T)
    assert world.debates[two.id].status == "stopped"
    world.look(T + 200)
    assert [name for name, _ in world.starts] == [one.id]
    with pytest.raises(StateError, match="does not wait"):
        airing.cancel(world.board(), one.id, T + 201)


def test_one_that_a_person_stopped_is_passed_by() -> None:
    world = World(replace(STATION, cron=None, next_slot=None))
    one, two = world.schedule(T, T + 60), world.schedule(T, T + 60)
    world.debates[one.id] = world.debates[one.id].but(status="stopped", ended_at=iso(T))
    world.look(T + 61)
    assert [name for name, _ in world.starts] == [two.id]


# --- the pool ---


def test_the_pool_gives_every_motion_and_every_pair_in_turn() -> None:
    pairs = [airing.next_cast(STATION, lambda _: AGENTS, n) for n in range(6)]
    assert len({frozenset(one.id for one in pair) for pair in pairs}) == 3
    assert len({tuple(one.id for one in pair) for pair in pairs}) == 6
    assert [airing.next_motion(STATION, n) for n in range(3)] == ["First?", "Second?", "First?"]


def test_a_cast_that_cannot_be_is_passed_over_and_the_next_is_tried() -> None:
    world = World()
    world.agents["ben"] = Agent("ben", "Ada")  # two of one name
    world.look(T + 3600)
    assert "called Ada" in str(world.station.trouble)
    assert not world.starts
    assert world.station.skipped == 1
    world.look(T + 7200)
    world.look(T + 10_800)
    assert len(world.starts) == 1
    assert world.station.trouble is None


def test_a_pool_without_agents_is_trouble_and_not_an_end() -> None:
    world = World()
    world.agents.clear()
    world.look(T + 3600)
    assert world.station.trouble == "One needs 2 agents in its pool and has 0."
    world.agents = dict(AGENTS)
    world.look(T + 7200)
    assert len(world.starts) == 1


# --- who speaks ---


def test_agents_are_as_they_are_when_it_begins() -> None:
    world = World(replace(STATION, cron=None, next_slot=None))
    one = world.schedule(T, T + 60)
    world.agents["ada"] = replace(AGENTS["ada"], name="Ada L.", bio="New", model="claude")
    world.look(T + 61)
    seat = world.debates[one.id].participants[0]
    assert (seat.name, seat.bio, seat.model) == ("Ada L.", "New", "claude")
    assert world.debates[one.id].cursor.next_actor == seat.id
    assert world.rows[one.id].agents[0].name == "Ada L."


def test_a_deleted_agent_stays_as_scheduled_also_where_another_took_its_id() -> None:
    world = World(replace(STATION, cron=None, next_slot=None))
    one = world.schedule(T, T + 60)
    del world.agents["ada"]
    world.agents["ben"] = replace(AGENTS["ben"], name="Someone else", created_at="later")
    world.look(T + 61)
    assert [seat.name for seat in world.debates[one.id].participants] == ["Ada", "Ben"]


def test_agents_that_cannot_sit_together_any_more_sit_as_they_were() -> None:
    world = World(replace(STATION, cron=None, next_slot=None))
    one = world.schedule(T, T + 60)
    world.agents["ben"] = replace(AGENTS["ben"], name="Ada")
    world.look(T + 61)
    assert [seat.name for seat in world.debates[one.id].participants] == ["Ada", "Ben"]


@pytest.mark.parametrize(
    ("stances", "sides"),
    [
        (("neutral", "neutral"), ("pro", "con")),
        (("pro", "pro"), ("pro", "con")),
        (("con", "pro"), ("con", "pro")),
        (("neutral", "pro"), ("con", "pro")),
        (("con", "neutral"), ("con", "pro")),
        (("pro", "neutral", "neutral"), ("pro", "neutral", "neutral")),
    ],
)
def test_two_are_for_and_against(stances: tuple[str, ...], sides: tuple[str, ...]) -> None:
    cast = [
        Agent(name, name, stance=stance)  # pyright: ignore[reportArgumentType]
        for name, stance in zip(("ada", "ben", "cleo"), stances, strict=False)
    ]
    seated = request._seats(casting.seats(cast), lambda model: (model, None), [])
    assert tuple(seat.stance for seat in seated) == sides
