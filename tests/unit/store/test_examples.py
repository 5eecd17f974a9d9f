"""The agents and stations that come with moot are ones that it takes."""

import asyncio
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.core.request import MAX_BIO, MAX_MOTION
from moot.settings import Settings
from moot.store import examples
from moot.store.example_debate import MODEL, example
from moot.wire.codec import adapter
from moot.wire.outcome_shapes import Report, Verdict
from moot.wire.toml import dumps, loads

AGENTS = loads(examples.agents(), "agents")
STATIONS = loads(examples.stations(), "stations")


def test_agents_are_different_people() -> None:
    assert 6 <= len(AGENTS) <= 8
    for field in ("id", "name", "voice"):
        assert len({str(one[field]) for one in AGENTS}) == len(AGENTS), field
    for one in AGENTS:
        assert 60 <= len(one["bio"].split()) <= 110, one["id"]
        assert len(one["bio"]) <= MAX_BIO
        assert "\n" not in one["bio"], one["id"]
        assert "model" not in one
    stances = Counter(one["stance"] for one in AGENTS)
    assert stances["neutral"] > stances["pro"] > 0
    assert stances["con"] > 0


def test_stations_are_different_programmes() -> None:
    assert len(STATIONS) == 5
    for field in ("id", "name", "about", "zone", "cron"):
        assert len({one[field] for one in STATIONS}) == 5, field
    assert {one["missed"] for one in STATIONS} == {"air", "skip"}
    motions = [motion for one in STATIONS for motion in one["motions"]]
    assert len(set(motions)) == len(motions)
    assert all(motion and len(motion) <= MAX_MOTION for motion in motions)


@pytest.mark.parametrize("station", STATIONS, ids=lambda one: one["id"])
def test_a_pool_has_agents_who_are_there_and_never_two_of_one_side(station: dict[str, Any]) -> None:
    stances = {one["id"]: one["stance"] for one in AGENTS}
    assert set(station["agents"]) <= set(stances)
    assert len(station["agents"]) > station.get("seats", 2)
    for pair in itertools.combinations(station["agents"], 2):
        sides = {stances[one] for one in pair}
        assert len(sides) == 2 or sides == {"neutral"}, pair
    assert 5 <= len(station["motions"]) <= 8


def test_every_agent_is_on_some_station() -> None:
    assert {one for station in STATIONS for one in station["agents"]} == {a["id"] for a in AGENTS}


def test_the_service_takes_them_and_gives_them_back(tmp_path: Path) -> None:
    async def main() -> tuple[str, str]:
        async with open_service(Settings(home=tmp_path)) as service:
            for _ in range(2):  # again: changed, and nothing is there twice
                await service.agents.bring(examples.agents())
                await service.stations.bring(examples.stations())
            for one in await service.stations.all():
                shown = await service.stations.programme(one.id)
                assert len(shown.slots) == 5
            return await service.agents.take(), await service.stations.take()

    agents, stations = asyncio.run(main())
    assert {one["id"]: one["bio"] for one in loads(agents, "agents")} == {
        one["id"]: one["bio"] for one in AGENTS
    }
    taken = {one["id"]: one for one in loads(stations, "stations")}
    assert set(taken) == {one["id"] for one in STATIONS}
    for one in STATIONS:
        assert {name: taken[one["id"]][name] for name in one} == one
    assert dumps("stations", list(taken.values())) == stations


def test_the_example_debate_is_whole_and_no_models() -> None:
    made = example()
    assert made["debate"]["status"] == "completed"
    assert made["debate"]["progress"] == {"done": len(made["turns"]), "total": len(made["turns"])}
    assert {turn["model"] for turn in made["turns"]} == {MODEL}
    assert {turn["usage"]["calls"] for turn in made["turns"]} == {0}
    assert made["verdict"]["outcome"] == "decided"
    assert made["verdict"]["baseline"]["changedByDebate"]
    assert made["verdict"]["quotes"]["verified"] == made["verdict"]["quotes"]["checked"] > 6
    adapter(Verdict).validate_python(made["verdict"])
    adapter(Report).validate_python(made["report"])
    assert made["debate"]["rules"]["name"] == "duel"
