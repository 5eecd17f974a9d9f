"""The agents and stations that come with moot: something good to begin with, and to copy."""

from importlib import resources

from moot.ports.entry_point import Moot
from moot.wire import toml


def agents() -> str:
    """TOML, as it is brought in."""
    return resources.files("moot").joinpath("agents.toml").read_text("utf-8")


def stations() -> str:
    """TOML, as it is brought in; their agents are those of `agents()`."""
    return resources.files("moot").joinpath("stations.toml").read_text("utf-8")


async def bring(moot: Moot) -> tuple[list[str], list[str]]:
    """Add the example stations and agents that are not there yet. Returns the ids of the example
    stations, and those of them that are new."""
    ids = [str(one["id"]) for one in toml.loads(stations(), "stations")]
    there = {station.id for station in await moot.stations.all()}
    made = [id_ for id_ in ids if id_ not in there]
    if made:
        known = {agent.id for agent in await moot.agents.all()}
        await moot.agents.bring(_missing(agents(), "agents", known))
        await moot.stations.bring(_missing(stations(), "stations", there))
    return ids, made


def _missing(text: str, nouns: str, there: set[str]) -> str:
    return toml.dumps(nouns, [one for one in toml.loads(text, nouns) if one["id"] not in there])
