"""Stations: what airs conversations, when, and about what; and the conversations themselves."""

from collections.abc import Awaitable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Body, Query, Response

from moot.api import schemas
from moot.api import schemas_station as shapes
from moot.api.agent_routes import Ids, as_toml, brought
from moot.api.common import (
    Context,
    ConversationId,
    JsonRoute,
    Moot,
    StationId,
    as_json,
    attached,
    location,
    refusals,
)
from moot.errors import InputError, NotFoundError
from moot.stations.station import Conversation
from moot.wire import codec_station

router = APIRouter(tags=["stations"], route_class=JsonRoute)
T = TypeVar("T")
Nothing = Annotated[schemas.Nothing | None, Body()]


@router.get("/stations", summary="Stations", response_model=shapes.Stations, responses=refusals())
async def list_stations(moot: Moot) -> Response:
    found = await moot.service.stations.all()
    return as_json({"items": [codec_station.station(one) for one in found]})


@router.post(
    "/stations",
    status_code=201,
    summary="Make a station",
    response_model=shapes.Station,
    responses={201: location("The station"), **refusals(sends=True)},
)
async def create_station(moot: Moot, asked: shapes.StationAsked) -> Response:
    given = asked.model_dump(exclude_unset=True)
    made = await _as_asked(moot.service.stations.create(given))
    return as_json(codec_station.station(made), 201, {"Location": f"/stations/{made.id}"})


@router.get(
    "/stations/export",
    summary="Stations as a file",
    response_class=Response,
    responses={200: attached(), **refusals(404, 422)},
)
async def export_stations(moot: Moot, ids: Ids = []) -> Response:  # noqa: B006
    return as_toml("stations", await moot.service.stations.take(ids))


@router.post(
    "/stations/import",
    summary="Bring a file of stations",
    response_model=shapes.Brought,
    responses=refusals(sends=True),
)
async def import_stations(moot: Moot, asked: shapes.StationsImported) -> Response:
    return as_json(brought(await _as_asked(moot.service.stations.bring(asked.toml))))


@router.get(
    "/stations/{station_id}",
    summary="A station",
    response_model=shapes.Station,
    responses=refusals(404),
)
async def get_station(moot: Moot, station_id: StationId) -> Response:
    return as_json(codec_station.station(await moot.service.stations.get(station_id)))


@router.patch(
    "/stations/{station_id}",
    summary="Change a station: what is on air goes on as it began",
    response_model=shapes.Station,
    responses=refusals(404, sends=True),
)
async def change_station(
    moot: Moot, station_id: StationId, asked: shapes.StationChanged
) -> Response:
    await moot.service.stations.get(station_id)
    given = asked.model_dump(exclude_unset=True)
    changed = await _as_asked(moot.service.stations.change(station_id, given))
    return as_json(codec_station.station(changed))


@router.delete(
    "/stations/{station_id}",
    status_code=204,
    summary="Close a station: what waits is stopped, what is on air goes on, debates stay",
    responses=refusals(404),
)
async def delete_station(moot: Moot, station_id: StationId) -> Response:
    await moot.service.stations.delete(station_id)
    return Response(status_code=204)


# --- what it airs ---


@router.get(
    "/stations/{station_id}/conversations",
    summary="What is on, comes and was",
    response_model=shapes.Programme,
    responses=refusals(404, 422),
)
async def get_programme(
    moot: Moot,
    station_id: StationId,
    past: Annotated[int, Query(ge=0, le=200, description="So many of those that are over.")] = 20,
) -> Response:
    return as_json(codec_station.programme(await moot.service.stations.programme(station_id, past)))


@router.post(
    "/stations/{station_id}/conversations",
    status_code=201,
    summary="Schedule a conversation",
    response_model=shapes.Conversation,
    responses={201: location("The conversation"), **refusals(404, 409, sends=True)},
)
async def schedule_conversation(
    moot: Moot, station_id: StationId, asked: shapes.ConversationAsked
) -> Response:
    stations = moot.service.stations
    await stations.get(station_id)
    made = await _as_asked(
        stations.schedule(station_id, motion=asked.motion, agents=asked.agents or (), at=asked.at)
    )
    place = f"/stations/{station_id}/conversations/{made.id}"
    return as_json(codec_station.conversation(made), 201, {"Location": place})


@router.get(
    "/stations/{station_id}/conversations/{conversation_id}",
    summary="A conversation",
    response_model=shapes.Conversation,
    responses=refusals(404),
)
async def get_conversation(
    moot: Moot, station_id: StationId, conversation_id: ConversationId
) -> Response:
    return as_json(codec_station.conversation(await _of(moot, station_id, conversation_id)))


@router.delete(
    "/stations/{station_id}/conversations/{conversation_id}",
    summary="Take a conversation off the programme that has not begun",
    response_model=shapes.Conversation,
    responses=refusals(404, 409),
)
async def cancel_conversation(
    moot: Moot, station_id: StationId, conversation_id: ConversationId
) -> Response:
    await _of(moot, station_id, conversation_id)
    cancelled = await moot.service.stations.cancel(conversation_id)
    return as_json(codec_station.conversation(cancelled))


@router.post(
    "/stations/{station_id}/conversations/{conversation_id}/air",
    status_code=202,
    summary="Air a conversation now, or next where the air is taken",
    response_model=shapes.Conversation,
    responses=refusals(404, 409, sends=True),
)
async def air_conversation(
    moot: Moot, station_id: StationId, conversation_id: ConversationId, nothing: Nothing = None
) -> Response:
    await _of(moot, station_id, conversation_id)
    aired = await moot.service.stations.run(conversation_id)
    return as_json(codec_station.conversation(aired), 202)


@router.post(
    "/stations/{station_id}/air",
    status_code=202,
    summary="Air what waits first, else the pool's next; what is on air already comes back",
    response_model=shapes.Conversation,
    responses=refusals(404, 409, sends=True),
)
async def air_station(moot: Moot, station_id: StationId, nothing: Nothing = None) -> Response:
    return as_json(codec_station.conversation(await moot.service.stations.air(station_id)), 202)


@router.put(
    "/stations/{station_id}/order",
    summary="Air what waits in another order: the times stay",
    response_model=shapes.Conversations,
    responses=refusals(404, 409, sends=True),
)
async def order_conversations(
    moot: Moot, station_id: StationId, asked: shapes.OrderAsked
) -> Response:
    waiting = await moot.service.stations.reorder(station_id, asked.conversations)
    return as_json({"items": [codec_station.conversation(one) for one in waiting]})


async def _of(moot: Context, station_id: str, conversation_id: str) -> Conversation:
    """The conversation, if it is this station's."""
    found = await moot.service.stations.conversation(conversation_id)
    if found.station_id != station_id:
        raise NotFoundError(f"{station_id} has no conversation {conversation_id}.", "id")
    return found


async def _as_asked(doing: Awaitable[T]) -> T:
    """Of an agent or a format: the address was right, what was asked is not."""
    try:
        return await doing
    except NotFoundError as error:
        raise InputError(error.message, error.field) from None
