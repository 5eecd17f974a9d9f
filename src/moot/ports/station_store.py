"""The database of agents, stations and what they air."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from moot.core.change import Change
from moot.core.debate import Debate
from moot.stations.airing import Board, StationChange
from moot.stations.station import Agent, Conversation, Station


class StationStore(Protocol):
    """Agents, stations and what they air: the same truth, and each method one transaction."""

    async def agents(self, ids: Sequence[str] | None = None) -> list[Agent]:
        """Those of them that are there, by name; or all."""
        ...

    async def keep_agents(
        self, ids: Sequence[str], change: Callable[[Mapping[str, Agent]], Sequence[Agent]]
    ) -> list[Agent]:
        """Give the agents of those ids to `change`, and keep what it makes of them."""
        ...

    async def delete_agent(self, agent_id: str) -> None:
        """Also out of every station's pool."""
        ...

    async def stations(self, ids: Sequence[str] | None = None) -> list[Station]:
        """Those of them that are there, by name; or all."""
        ...

    async def keep_stations(
        self, ids: Sequence[str], change: Callable[[Mapping[str, Station]], Sequence[Station]]
    ) -> list[Station]:
        """Give the stations of those ids to `change`, under their locks, and keep what it makes."""
        ...

    async def delete_station(
        self, station_id: str, move: Callable[[Debate], Change]
    ) -> list[Change]:
        """With `move` for each debate that waits on it; debates stay."""
        ...

    async def due(self, now: float) -> list[str]:
        """Stations on which there is something to do."""
        ...

    async def board(self, station_id: str) -> Board: ...

    async def on(
        self, station_id: str, move: Callable[[Board], StationChange]
    ) -> tuple[StationChange, list[Change]]:
        """Ask a move for the change, under the station's lock, and write all of it."""
        ...

    async def conversation(self, debate_id: str) -> Conversation: ...

    async def aired(self, station_id: str, limit: int) -> list[Conversation]:
        """What had the air, newest first."""
        ...

    async def use(self, key: str, debate_id: str, at: str) -> None:
        """Use a key, once: raises ConflictError if it was used before."""
        ...
