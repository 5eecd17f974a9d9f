"""Stations: what airs conversations, when, and about what; and the conversations themselves."""

from typing import Annotated

from fastapi import Body, Query, Response
from typing_extensions import TypedDict

from moot.api.agent_routes import TOML, Ids
from moot.api.asked import (
    ConversationAsked,
    Nothing,
    OrderAsked,
    StationAsked,
    StationChanged,
    StationsImported,
)
from moot.api.common import (
    SAVED,
    Context,
    ConversationId,
    Moot,
    Routes,
    StationId,
    as_asked,
    as_file,
    as_json,
)
from moot.errors import NotFoundError
from moot.stations.station import Brought
from moot.stations.station import Conversation as OnStation
from moot.store import examples
from moot.wire.codec import plain
from moot.wire.codec_station import conversation, programme, station
from moot.wire.shapes import Conversation, Programme, Station

Empty = Annotated[Nothing | None, Body()]
routes = Routes("stations")


@routes("GET /stations", [Station])
async def list_stations(moot: Moot) -> Response:
    """Stations"""
    found = await moot.service.stations.all()
    return as_json({"items": [station(one) for one in found]})


@routes("POST /stations", Station, status=201)
async def create_station(moot: Moot, asked: StationAsked) -> Response:
    """Make a station"""
    given = asked.model_dump(exclude_unset=True)
    made = await as_asked(moot.service.stations.create(given))
    return as_json(station(made), 201, {"Location": f"/stations/{made.id}"})


@routes("GET /stations/export", TOML, 404, 422, headers=SAVED)
async def export_stations(moot: Moot, ids: Ids = []) -> Response:  # noqa: B006
    """Stations as a file"""
    return as_file("stations.toml", await moot.service.stations.take(ids), TOML)


@routes("POST /stations/import", Brought)
async def import_stations(moot: Moot, asked: StationsImported) -> Response:
    """Bring a file of stations"""
    return as_json(plain(await as_asked(moot.service.stations.bring(asked.toml))))


class Examples(TypedDict):
    """The example stations, by id."""

    stations: list[str]
    made: list[str]


@routes("POST /examples/stations", Examples)
async def bring_examples(moot: Moot, nothing: Empty = None) -> Response:
    """Add the example stations and their agents that are not there yet"""
    ids, made = await examples.bring(moot.service)
    return as_json({"stations": ids, "made": made})


@routes("GET /stations/{station_id}", Station)
async def get_station(moot: Moot, station_id: StationId) -> Response:
    """A station"""
    return as_json(station(await moot.service.stations.get(station_id)))


@routes("PATCH /stations/{station_id}", Station)
async def change_station(moot: Moot, station_id: StationId, asked: StationChanged) -> Response:
    """Change a station: what is on air goes on as it began"""
    await moot.service.stations.get(station_id)
    given = asked.model_dump(exclude_unset=True)
    return as_json(station(await as_asked(moot.service.stations.change(station_id, given))))


@routes("DELETE /stations/{station_id}", None, status=204)
async def delete_station(moot: Moot, station_id: StationId) -> Response:
    """Close a station: what waits is stopped, what is on air goes on, debates stay"""
    await moot.service.stations.delete(station_id)
    return Response(status_code=204)


# --- what it airs ---


@routes("GET /stations/{station_id}/conversations", Programme, 422)
async def get_programme(
    moot: Moot,
    station_id: StationId,
    past: Annotated[int, Query(ge=0, le=200, description="So many of those that are over.")] = 20,
) -> Response:
    """What is on, comes and was"""
    return as_json(programme(await moot.service.stations.programme(station_id, past)))


@routes("POST /stations/{station_id}/conversations", Conversation, 409, status=201)
async def schedule_conversation(
    moot: Moot, station_id: StationId, asked: ConversationAsked
) -> Response:
    """Schedule a conversation"""
    stations = moot.service.stations
    await stations.get(station_id)
    made = await as_asked(
        stations.schedule(station_id, motion=asked.motion, agents=asked.agents or (), at=asked.at)
    )
    place = f"/stations/{station_id}/conversations/{made.id}"
    return as_json(conversation(made), 201, {"Location": place})


@routes("GET /stations/{station_id}/conversations/{conversation_id}", Conversation)
async def get_conversation(
    moot: Moot, station_id: StationId, conversation_id: ConversationId
) -> Response:
    """A conversation"""
    return as_json(conversation(await _of(moot, station_id, conversation_id)))


@routes("DELETE /stations/{station_id}/conversations/{conversation_id}", Conversation, 409)
async def cancel_conversation(
    moot: Moot, station_id: StationId, conversation_id: ConversationId
) -> Response:
    """Take a conversation off the programme that has not begun"""
    await _of(moot, station_id, conversation_id)
    return as_json(conversation(await moot.service.stations.cancel(conversation_id)))


@routes(
    "POST /stations/{station_id}/conversations/{conversation_id}/air", Conversation, 409, status=202
)
async def air_conversation(
    moot: Moot, station_id: StationId, conversation_id: ConversationId, nothing: Empty = None
) -> Response:
    """Air a conversation now, or next where the air is taken"""
    await _of(moot, station_id, conversation_id)
    return as_json(conversation(await moot.service.stations.run(conversation_id)), 202)


@routes("POST /stations/{station_id}/air", Conversation, 409, status=202)
async def air_station(moot: Moot, station_id: StationId, nothing: Empty = None) -> Response:
    """Air what waits first, else the pool's next; what is on air already comes back"""
    return as_json(conversation(await moot.service.stations.air(station_id)), 202)


@routes("PUT /stations/{station_id}/order", [Conversation], 409)
async def order_conversations(moot: Moot, station_id: StationId, asked: OrderAsked) -> Response:
    """Air what waits in another order: the times stay"""
    waiting = await moot.service.stations.reorder(station_id, asked.conversations)
    return as_json({"items": [conversation(one) for one in waiting]})


async def _of(moot: Context, station_id: str, conversation_id: str) -> OnStation:
    """The conversation, if it is this station's."""
    found = await moot.service.stations.conversation(conversation_id)
    if found.station_id != station_id:
        raise NotFoundError(f"{station_id} has no conversation {conversation_id}.", "id")
    return found
