"""The two streams: one debate, and the changes of all of them."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from moot.api.common import Context, DebateId, Moot, refusals
from moot.api.debate_routes import last_heard
from moot.api.guests import link_of
from moot.api.security import client_of
from moot.api.stream import EventStream
from moot.core.debate import Debate
from moot.core.status import FINAL

router = APIRouter(tags=["streams"])
STREAM = {
    "description": "Server-sent events",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}
HEARD = {200: STREAM, 204: {"description": "Nothing is left to hear"}, **refusals(404, 422)}
Last = Annotated[
    str | None, Header(description="The last seq that was heard; beats last_event_id.")
]
First = Annotated[
    str | None,
    Query(
        alias="last_event_id",
        description="The same, for those who cannot send headers.",
        examples=["0"],
    ),
]


@router.get(
    "/debates/{debate_id}/events",
    summary="A debate as it happens: everything so far, then live, nothing missed or doubled",
    response_class=Response,
    responses=HEARD,
)
async def debate_events(
    moot: Moot,
    request: Request,
    debate_id: DebateId,
    last_event_id: Last = None,
    first: First = None,
) -> Response:
    after = last_heard(last_event_id, first) or 0
    return stream_of(moot, request, await moot.service.get(debate_id), after)


def stream_of(
    moot: Context, request: Request, debate: Debate, after: int, *, on_air: bool = False
) -> Response:
    """A debate from that seq on; `on_air`: what an audience may hear of it."""
    over, beyond = debate.status in FINAL, after > debate.last_seq
    if over and after == debate.last_seq:
        return Response(status_code=204)
    client = client_of(request.scope)
    moot.streams.admit(client)
    pour = partial(
        moot.streams.debate,
        debate_id=debate.id,
        after=0 if beyond else after,
        reset=beyond,
        over=over,
        on_air=on_air,
        link=link_of(request.scope),
    )
    return EventStream(client, pour)


@router.get(
    "/events",
    summary="Each debate that changes, as the list shows it",
    description=(
        "`event: status` with a debate as GET /debates shows it, a few times a second at most. "
        "Open it, then read the list, then apply what comes: so nothing is missed. After "
        "`event: reset`, or a cut, read the list again."
    ),
    response_class=Response,
    responses={200: STREAM, **refusals()},
)
async def all_events(moot: Moot, request: Request) -> Response:
    client = client_of(request.scope)
    moot.streams.admit(client)
    return EventStream(client, moot.streams.all)
