"""Stations on a frozen clock: two supervisors, killed at random, and weeks of schedules.

`make stress` has more conversations, and kills far more often.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from moot.core.times import seconds
from moot.engine.service import Service
from moot.stations import airing
from moot.stations.station import Conversation
from tests.crash.weeks import Studio, minutes_of, studio
from tests.stress import STRESS

STATIONS = 50 if STRESS else 12
WEEKS = timedelta(weeks=5 if STRESS else 2)
BEGIN = datetime(2027, 3, 5, tzinfo=UTC)
"""Two weeks from here hold New York's spring; five, Berlin's too, and autumn in Australia."""
ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Sydney", "Australia/Lord_Howe",
    "Asia/Kolkata", "America/St_Johns", "Pacific/Auckland",
)  # fmt: skip
LINES = (
    "30 2 * * *",  # in the hour that is left out, or comes twice
    "0 2 * * SAT,SUN", "30 1 * * SAT,SUN", "0 3 * * SAT,SUN", "30 7 * * WED", "0 18 * * SAT,SUN",
    "30 20 * * WED", "0 0 * * SAT,SUN",
)  # fmt: skip
OFTEN = ("0 */6 * * *", "0,30 2 * * *", "*/30 2 * * SAT,SUN", "0 * * * WED", "30 9,21 * * *")
"""So often, or for so long, that one is on air when the next is due."""


@pytest.fixture
def ground() -> Iterator[Path]:
    """In memory where that is possible: it is not the disk that is tried here."""
    memory = Path("/dev/shm")  # noqa: S108  a folder of its own is made in it
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as root:
        yield Path(root)


def station(number: int) -> dict[str, Any]:
    lines = (*LINES, *OFTEN) if STRESS or number % 5 == 0 else LINES
    if STRESS:
        lines = tuple(line.replace("SAT,SUN", "*") for line in lines)
    line, zone = lines[number % len(lines)], ZONES[number % len(ZONES)]
    if line.startswith("*/30") and zone == "Australia/Lord_Howe":
        zone = "UTC"  # see test_slots: the one place where a line with a star loses slots
    return {
        "id": f"station-{number}",
        "name": f"Station {number}",
        "cron": line,
        "zone": zone,
        "missed": ("air", "skip")[number % 2],
        "motions": [f"Topic {n}, {(20, 45, 130)[n % 3]} minutes a turn" for n in range(5)],
        "agents": ["ada", "ben", "cleo"],
        "limits": {"max_turns": 2},
    }


async def found(service: Service, stations: list[dict[str, Any]]) -> dict[str, list[float]]:
    """The stations, and beside the cron lines two conversations a week by hand on some of them."""
    for name in ("Ada", "Ben", "Cleo"):
        await service.agents.create({"name": name})
    by_hand: dict[str, list[float]] = {}
    for number, asked in enumerate(stations):
        await service.stations.create(asked)
        half_weeks = range(2 * WEEKS // timedelta(weeks=1))
        due = [BEGIN + timedelta(days=3.5 * n, hours=number % 24, minutes=30) for n in half_weeks]
        if number % 4 == 0:
            for moment in due:
                await service.stations.schedule(asked["id"], at=moment.isoformat())
            by_hand[asked["id"]] = [moment.timestamp() for moment in due]
    return by_hand


def wanted(stations: list[dict[str, Any]], by_hand: dict[str, list[float]]) -> Counter[Any]:
    """Every conversation that is due: station and time, found without moot's own reading."""
    return Counter(
        (asked["id"], moment)
        for asked in stations
        for moment in [
            *minutes_of(asked["cron"], asked["zone"], BEGIN, BEGIN + WEEKS),
            *by_hand.get(asked["id"], []),
        ]
    )


def overlaps(aired: dict[str, list[Conversation]]) -> list[str]:
    """Pairs that were on one station's air at the same time."""
    both: list[str] = []
    for name, conversations in aired.items():
        for one, other in pairwise(sorted(conversations, key=_start)):
            if _end(one) > _start(other):
                both.append(f"{name}: {one.id} until {_end(one)}, {other.id} from {_start(other)}")
    return both


def _start(one: Conversation) -> float:
    return seconds(one.debate.started_at or "2999-01-01T00:00:00Z")


def _end(one: Conversation) -> float:
    return seconds(one.debate.ended_at or "2999-01-01T00:00:00Z")


def kill_at_random(made: Studio, chance: float, dice: random.Random) -> Callable[[], None]:
    """Now and then one of them dies, in the midst of what it does or right after an airing."""

    def between() -> None:
        alive = made.alive()
        missing = [place for place in range(made.supervisors) if place not in alive]
        for place in missing:
            made.start(place, die="aired" if dice.random() < 0.2 else None)
        if len(alive) == made.supervisors and dice.random() < chance:
            made.kill(dice.choice(alive))

    return between


def test_many_stations_for_weeks(ground: Path) -> None:
    stations = [station(number) for number in range(STATIONS)]
    with studio(ground, begin=BEGIN, paper=STRESS) as made:
        by_hand = made.ask(lambda service: found(service, stations))
        for place in range(made.supervisors):
            made.start(place)
        between = kill_at_random(made, 0.3 if STRESS else 0.03, random.Random(7))
        made.pass_time(BEGIN + WEEKS, between)
        made.pass_time(BEGIN + WEEKS + timedelta(days=1), keep_going(made))
        aired = made.aired()
        kills = made.kills
    due = wanted(stations, by_hand)
    began = Counter((name, one.due) for name, ones in aired.items() for one in ones
                    if one.due <= (BEGIN + WEEKS).timestamp())  # fmt: skip
    assert began == due
    assert overlaps(aired) == []
    ended = Counter(one.debate.status for ones in aired.values() for one in ones)
    assert ended["completed"] >= due.total()
    late = sum(_start(one) > one.due for ones in aired.values() for one in ones)
    assert late > (20 if STRESS else 3)  # waited for the air
    assert kills >= 10
    print(
        f"\n{due.total()} conversations on {STATIONS} stations, {late} after a wait, {kills} kills"
    )


def keep_going(made: Studio) -> Callable[[], None]:
    def between() -> None:
        for place in set(range(made.supervisors)) - set(made.alive()):
            made.start(place)

    return between


def test_it_would_be_seen_if_two_could_have_the_air(ground: Path) -> None:
    """The guard taken out: the air always looks free, and conversations overlap."""

    def always_free() -> None:
        airing._settled = lambda board, now: replace(board.station, on_air=None)

    stations = [{**station(number), "cron": "0 * * * *"} for number in (0, 1)]
    with studio(ground, begin=BEGIN, paper=False) as made:
        made.ask(lambda service: found(service, stations))
        made.start(0, always_free)
        made.pass_time(BEGIN + timedelta(hours=8))
        assert overlaps(made.aired())


def test_a_day_with_nobody_there(ground: Path) -> None:
    """All supervisors are killed for a day: what was missed is aired late, or skipped."""
    late = {**station(0), "cron": "0 */6 * * *", "zone": "UTC", "missed": "air"}
    skipping = {**station(1), "cron": "0 */6 * * *", "zone": "UTC", "missed": "skip"}
    with studio(ground, begin=BEGIN, paper=False, supervisors=1) as made:
        made.ask(lambda service: found(service, [{**late, "id": "a"}, {**skipping, "id": "b"}]))
        made.start(0)
        made.pass_time(BEGIN + timedelta(hours=12))
        made.kill(0)
        made.clock.set((BEGIN + timedelta(hours=37)).timestamp())
        made.start(0)
        made.pass_time(BEGIN + timedelta(hours=60))
        aired = made.aired()
    by_hand = {(BEGIN + timedelta(minutes=30)).timestamp()}
    hours = {name: [_hours(one) for one in ones if one.due not in by_hand]
             for name, ones in aired.items()}  # fmt: skip
    assert hours["a"] == [6, 12, 18, 24, 30, 36, 42, 48, 54, 60]
    assert hours["b"] == [6, 12, 42, 48, 54, 60]
    assert overlaps(aired) == []


def _hours(one: Conversation) -> int:
    return round((one.due - BEGIN.timestamp()) / 3600)
