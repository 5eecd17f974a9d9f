"""The agents and stations of a moot elsewhere, over HTTP: the verbs of the engine's own."""

from collections.abc import Mapping, Sequence
from typing import Any

from moot.client.requests import Wire
from moot.core.clean import visible
from moot.core.ids import check_id
from moot.errors import NotFoundError
from moot.stations.casting import check_slug
from moot.stations.station import Agent, Brought, Conversation, Programme, Station
from moot.wire import codec_station as read


class RemoteAgents:
    """The saved personas of a server."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def create(self, asked: Mapping[str, Any]) -> Agent:
        return self._one(await self._wire.json("POST", "/agents", dict(asked)))

    async def get(self, agent_id: str) -> Agent:
        return self._one(await self._wire.json("GET", _agent(agent_id)))

    async def all(self) -> list[Agent]:
        said = visible(await self._wire.json("GET", "/agents"))
        return self._wire.read(lambda: [read.read_agent(one) for one in said["items"]])

    async def change(self, agent_id: str, asked: Mapping[str, Any]) -> Agent:
        return self._one(await self._wire.json("PATCH", _agent(agent_id), dict(asked)))

    async def delete(self, agent_id: str) -> None:
        await self._wire.ask("DELETE", _agent(agent_id))

    async def bring(self, text: str) -> Brought:
        return await _bring(self._wire, "/agents/import", text)

    async def take(self, ids: Sequence[str] = ()) -> str:
        return await _take(self._wire, "/agents/export", ids)

    def _one(self, said: Any) -> Agent:
        return self._wire.read(lambda: read.read_agent(visible(said)))


class RemoteStations:
    """The stations of a server, and what they air."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._airs: dict[str, str] = {}  # which station has a conversation, as far as was heard

    async def create(self, asked: Mapping[str, Any]) -> Station:
        return self._one(await self._wire.json("POST", "/stations", dict(asked)))

    async def get(self, station_id: str) -> Station:
        return self._one(await self._wire.json("GET", _station(station_id)))

    async def all(self) -> list[Station]:
        said = visible(await self._wire.json("GET", "/stations"))
        return self._wire.read(lambda: [read.read_station(one) for one in said["items"]])

    async def change(self, station_id: str, asked: Mapping[str, Any]) -> Station:
        return self._one(await self._wire.json("PATCH", _station(station_id), dict(asked)))

    async def delete(self, station_id: str) -> None:
        await self._wire.ask("DELETE", _station(station_id))

    async def bring(self, text: str) -> Brought:
        return await _bring(self._wire, "/stations/import", text)

    async def take(self, ids: Sequence[str] = ()) -> str:
        return await _take(self._wire, "/stations/export", ids)

    # --- what they air ---

    async def schedule(
        self,
        station_id: str,
        *,
        motion: str | None = None,
        agents: Sequence[str] = (),
        at: str | None = None,
    ) -> Conversation:
        given = {"motion": motion, "agents": list(agents) or None, "at": at}
        asked = {name: value for name, value in given.items() if value is not None}
        return await self._conversation("POST", f"{_station(station_id)}/conversations", asked)

    async def air(self, station_id: str) -> Conversation:
        return await self._conversation("POST", f"{_station(station_id)}/air")

    async def run(self, conversation_id: str) -> Conversation:
        return await self._conversation("POST", f"{await self._place(conversation_id)}/air")

    async def cancel(self, conversation_id: str) -> Conversation:
        return await self._conversation("DELETE", await self._place(conversation_id))

    async def conversation(self, conversation_id: str) -> Conversation:
        return await self._conversation("GET", await self._place(conversation_id))

    async def reorder(self, station_id: str, ids: Sequence[str]) -> list[Conversation]:
        asked = {"conversations": list(ids)}
        said = visible(await self._wire.json("PUT", f"{_station(station_id)}/order", asked))
        return self._wire.read(lambda: [read.read_conversation(one) for one in said["items"]])

    async def programme(self, station_id: str, past: int = 20) -> Programme:
        path = f"{_station(station_id)}/conversations"
        said = visible(await self._wire.json("GET", path, params={"past": past}))
        return self._wire.read(read.read_programme, said)

    # --- pieces ---

    async def _place(self, conversation_id: str) -> str:
        """Where a conversation is found; the stations are asked one by one which of them has it."""
        check_id(conversation_id)
        if station_id := self._airs.get(conversation_id):
            return f"{_station(station_id)}/conversations/{conversation_id}"
        for station in await self.all():
            path = f"{_station(station.id)}/conversations/{conversation_id}"
            try:
                await self._conversation("GET", path)
            except NotFoundError:
                continue
            return path
        raise NotFoundError(f"There is no conversation {conversation_id!r}.", "conversation")

    async def _conversation(
        self, method: str, path: str, asked: dict[str, Any] | None = None
    ) -> Conversation:
        said = visible(await self._wire.json(method, path, asked))
        heard = self._wire.read(read.read_conversation, said)
        self._airs[heard.id] = heard.station_id
        return heard

    def _one(self, said: Any) -> Station:
        return self._wire.read(lambda: read.read_station(visible(said)))


async def _bring(wire: Wire, path: str, text: str) -> Brought:
    said = visible(await wire.json("POST", path, {"toml": text}))
    return wire.read(read.read_brought, said)


async def _take(wire: Wire, path: str, ids: Sequence[str]) -> str:
    content = await wire.ask("GET", path, params={"id": list(ids)})
    return wire.read(content.decode)


def _agent(agent_id: str) -> str:
    return f"/agents/{check_slug(agent_id, 'an agent')}"


def _station(station_id: str) -> str:
    return f"/stations/{check_slug(station_id, 'a station')}"
