"""The example agents and stations that come along, brought to where the commands go."""

from dataclasses import dataclass

from moot.ports import Moot
from moot.store import examples
from moot.wire import toml


@dataclass(frozen=True, slots=True)
class Examples:
    """The ids of the example stations, and those of them that were made just now."""

    stations: tuple[str, ...]
    made: tuple[str, ...]


async def bring(service: Moot) -> Examples:
    """Bring those that are not there yet; what a person has changed of the others stays."""
    ids = tuple(str(one["id"]) for one in toml.loads(examples.stations(), "stations"))
    there = {station.id for station in await service.stations.all()}
    if stations := _missing(examples.stations(), "stations", there):
        known = {agent.id for agent in await service.agents.all()}
        if agents := _missing(examples.agents(), "agents", known):
            await service.agents.bring(agents)
        await service.stations.bring(stations)
    return Examples(ids, tuple(id_ for id_ in ids if id_ not in there))


def _missing(text: str, table: str, there: set[str]) -> str:
    """The part of a file that is not there; "" where all of it is."""
    left = [one for one in toml.loads(text, table) if one["id"] not in there]
    return toml.dumps(table, left) if left else ""
