"""Saved agents. A debate keeps them as they were when it began."""

from collections.abc import Mapping
from typing import Any

from moot.core.request import Normalize
from moot.core.times import iso
from moot.engine.collection import Check, Collection
from moot.ports.instruments import Clock
from moot.ports.station_store import StationStore
from moot.stations import casting
from moot.stations.station import Agent
from moot.wire import codec_station


class Agents(Collection[Agent]):
    """What a person can do with agents."""

    def __init__(self, store: StationStore, clock: Clock, normalize: Normalize) -> None:
        super().__init__("agent", Agent, store.agents, store.keep_agents)
        self._store = store
        self._clock = clock
        self._normalize = normalize

    async def delete(self, id_: str, /) -> None:
        """Also removes it from every pool. Debates stay as they are."""
        await self.get(id_)
        await self._store.delete_agent(id_)

    async def _checks(self, *, strict: bool = True) -> Check[Agent]:
        at = iso(self._clock.now())

        def check(asked: Mapping[str, Any], before: Agent) -> Agent:
            agent = casting.agent(asked, at, before, self._normalize)
            if asked.get("model") and agent.model:
                self._normalize(agent.model)  # refuses a model that there cannot be
            return agent

        return check

    def _filed(self, one: Agent) -> dict[str, Any]:
        """A file cannot say whose the default model is."""
        shown = codec_station.shown_agent(one)
        kept = {name: value for name, value in shown.items() if not name.endswith("_at")}
        return kept | ({} if kept["provider"] else {"provider": None})
