"""What is on air: for everybody, without a token, and nothing but what was aired.

A station that is private, or that there is not, and a debate that was not aired there, are all the
same to whoever asks.
"""

import asyncio

from fastapi import Request, Response

from moot.api.common import Context, DebateId, Moot, Routes, StationId, as_json
from moot.api.debate_routes import last_heard
from moot.api.event_routes import HEARD, First, Last, stream_of
from moot.core.status import FINAL
from moot.errors import NotFoundError
from moot.render.feed import rss
from moot.stations.station import Conversation, Station
from moot.wire import codec, codec_station, public
from moot.wire.outcome_shapes import ConversationOnAir
from moot.wire.shapes import OnAir

FRESH = {"Cache-Control": "no-cache"}
FEED_ITEMS, FEED_LOOK = 50, 200
RSS = "application/rss+xml"
routes = Routes("on air")


@routes("GET /on-air/{station_id}", OnAir)
async def get_on_air(moot: Moot, station_id: StationId) -> Response:
    """A station: what is on, comes and was"""
    await _station(moot, station_id)
    found = await moot.service.stations.programme(station_id)
    return as_json(public.programme(found), 200, FRESH)


@routes("GET /on-air/{station_id}/feed.xml", RSS)
async def get_feed(moot: Moot, request: Request, station_id: StationId) -> Response:
    """A station as RSS"""
    station = await _station(moot, station_id)
    past = (await moot.service.stations.programme(station_id, FEED_LOOK)).past
    aired = [one for one in past if public.is_aired(one) and one.debate.status == "completed"]
    aired = aired[:FEED_ITEMS]
    reports = await moot.service.reports([one.id for one in aired])
    summaries = {debate_id: row.summary for debate_id, row in reports.items()}
    # the gate has looked at the host: it is a name of this service
    base = f"{request.url.scheme}://{request.headers['host']}"
    text = await asyncio.to_thread(rss, station, aired, summaries, base)
    cached = {"Cache-Control": "public, max-age=60"}
    return Response(text.encode("utf-8", "replace"), 200, cached, RSS)


@routes("GET /on-air/{station_id}/{debate_id}", ConversationOnAir)
async def get_aired(moot: Moot, station_id: StationId, debate_id: DebateId) -> Response:
    """A conversation that was aired: all that was said"""
    one = await _aired(moot, station_id, debate_id)
    said = [public.turn(turn) for turn in await moot.service.turns(debate_id)]
    debate = await moot.service.get(debate_id)  # after its turns: it is no older than they are
    over = debate.status in FINAL
    shown = {
        "conversation": codec_station.conversation(one),
        "debate": public.debate(debate),
        "turns": [codec.turn(turn) for turn in said],
        "report": public.report(await moot.service.report(debate_id)) if over else None,
    }
    return as_json(shown, 200, FRESH)


@routes.router.get(
    "/on-air/{station_id}/{debate_id}/events",
    summary="A conversation as it happens, as GET /debates/{debate_id}/events",
    response_class=Response,
    responses=HEARD,
)
async def aired_events(
    moot: Moot,
    request: Request,
    station_id: StationId,
    debate_id: DebateId,
    last_event_id: Last = None,
    first: First = None,
) -> Response:
    after = last_heard(last_event_id, first) or 0
    one = await _aired(moot, station_id, debate_id)
    return stream_of(moot, request, one.debate, after, on_air=True)


async def _station(moot: Context, station_id: str) -> Station:
    try:
        found = await moot.service.stations.get(station_id)
    except NotFoundError:
        found = None
    if found is None or not found.public:
        raise NotFoundError(f"There is no station {station_id} on air here.", "id")
    return found


async def _aired(moot: Context, station_id: str, debate_id: str) -> Conversation:
    await _station(moot, station_id)
    try:
        found = await moot.service.stations.conversation(debate_id)
    except NotFoundError:
        found = None
    if found is None or found.station_id != station_id or not public.is_aired(found):
        raise NotFoundError(f"{station_id} has aired no conversation {debate_id}.", "id")
    return found
