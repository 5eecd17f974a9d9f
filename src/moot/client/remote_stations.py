"""The agents and stations of a moot elsewhere, over HTTP."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from moot.client.requests import Wire, items
from moot.core.clean import visible
from moot.core.ids import check_id
from moot.errors import NotFoundError
from moot.stations.casting import check_slug
from moot.stations.station import Agent, Brought, Conversation, Programme, Station
from moot.wire import codec_station as read

Noun = TypeVar("Noun")


class RemoteLibrary(Generic[Noun]):
    """What a server keeps under ids of its own."""

    def __init__(self, wire: Wire, root: str, noun: str, reader: Callable[[Any], Noun]) -> None:
        self._wire = wire
        self._root = root
        self._noun = noun
        self._items = items(reader)
        self._one: Callable[[Any], Noun] = lambda said: reader(visible(said))

    async def create(self, asked: Mapping[str, Any], /) -> Noun:
        return await self._wire.call(self._one, "POST", self._root, asked)

    async def get(self, id_: str, /) -> Noun:
        return await self._wire.call(self._one, "GET", self._path(id_))

    async def all(self) -> list[Noun]:
        return await self._wire.call(self._items, "GET", self._root)

    async def change(self, id_: str, asked: Mapping[str, Any], /) -> Noun:
        return await self._wire.call(self._one, "PATCH", self._path(id_), asked)

    async def delete(self, id_: str, /) -> None:
        await self._wire.ask("DELETE", self._path(id_))

    async def bring(self, text: str, /) -> Brought:
        path, asked = f"{self._root}/import", {"toml": text}
        return await self._wire.call(
            lambda said: read.read_brought(visible(said)), "POST", path, asked
        )

    async def take(self, ids: Sequence[str] = (), /) -> str:
        content = await self._wire.ask("GET", f"{self._root}/export", params={"id": list(ids)})
        return self._wire.read(content.decode)

    def _path(self, id_: str) -> str:
        return f"{self._root}/{check_slug(id_, self._noun)}"


class RemoteAgents(RemoteLibrary[Agent]):
    """The saved personas of a server."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire, "/agents", "an agent", read.read_agent)


class RemoteStations(RemoteLibrary[Station]):
    """The stations of a server, and what they air."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire, "/stations", "a station", read.read_station)
        self._airs: dict[str, str] = {}  # which station has a conversation, as far as was heard

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
        return await self._ask("POST", f"{self._path(station_id)}/conversations", asked)

    async def air(self, station_id: str) -> Conversation:
        return await self._ask("POST", f"{self._path(station_id)}/air")

    async def run(self, conversation_id: str) -> Conversation:
        return await self._ask("POST", f"{await self._place(conversation_id)}/air")

    async def cancel(self, conversation_id: str) -> Conversation:
        return await self._ask("DELETE", await self._place(conversation_id))

    async def conversation(self, conversation_id: str) -> Conversation:
        return await self._ask("GET", await self._place(conversation_id))

    async def reorder(self, station_id: str, ids: Sequence[str]) -> list[Conversation]:
        path, asked = f"{self._path(station_id)}/order", {"conversations": list(ids)}
        return await self._wire.call(items(read.read_conversation), "PUT", path, asked)

    async def programme(self, station_id: str, past: int = 20) -> Programme:
        path, params = f"{self._path(station_id)}/conversations", {"past": past}
        return await self._wire.call(
            lambda said: read.read_programme(visible(said)), "GET", path, params=params
        )

    async def _place(self, conversation_id: str) -> str:
        """Where a conversation is found; the stations are asked one by one which of them has it."""
        check_id(conversation_id)
        if station_id := self._airs.get(conversation_id):
            return f"{self._path(station_id)}/conversations/{conversation_id}"
        for station in await self.all():
            path = f"{self._path(station.id)}/conversations/{conversation_id}"
            try:
                await self._ask("GET", path)
            except NotFoundError:
                continue
            return path
        raise NotFoundError(f"There is no conversation {conversation_id}.", "id")

    async def _ask(
        self, method: str, path: str, asked: Mapping[str, Any] | None = None
    ) -> Conversation:
        heard = await self._wire.call(
            lambda said: read.read_conversation(visible(said)), method, path, asked
        )
        self._airs[heard.id] = heard.station_id
        return heard
