"""Links: who else may read a debate, or speak for one seat of it."""

from typing import Annotated

from fastapi import Path, Request, Response

from moot.api.asked import LinkAsked
from moot.api.common import DebateId, Moot, Routes, as_json
from moot.api.guests import link_of
from moot.errors import NotFoundError
from moot.wire import codec
from moot.wire.shapes import LINK_EXAMPLE, LINK_PATTERN, Link, MadeLink

LinkId = Annotated[str, Path(pattern=LINK_PATTERN, examples=[LINK_EXAMPLE])]
routes = Routes("links")


@routes("POST /debates/{debate_id}/links", MadeLink, 409, status=201)
async def make_link(moot: Moot, debate_id: DebateId, asked: LinkAsked) -> Response:
    """Let somebody read a debate or, with a seat, speak for it

    Whoever has the token reads this debate and, with a seat, speaks for it; everything else is
    refused with 403. Only a hash of the token is kept.
    """
    link, token = await moot.service.links.make(debate_id, seat=asked.seat)
    path = f"/guest/{debate_id}#{token}"  # a browser sends no fragment: it is in no log
    made = {**codec.plain(link), "token": token, "path": path}
    return as_json(made, 201, {"Location": f"/debates/{debate_id}/links/{link.id}"})


@routes("GET /debates/{debate_id}/links", [Link])
async def list_links(moot: Moot, debate_id: DebateId) -> Response:
    """The links of a debate that are not revoked"""
    found = await moot.service.links.of(debate_id)
    return as_json({"items": [codec.plain(one) for one in found]})


@routes("DELETE /debates/{debate_id}/links/{link_id}", None, status=204)
async def revoke_link(moot: Moot, debate_id: DebateId, link_id: LinkId) -> Response:
    """Revoke a link: its token is refused from now on, and its open streams end"""
    await moot.service.links.revoke(debate_id, link_id)
    await moot.streams.look_at_guests()
    return Response(status_code=204)


@routes("GET /guest", Link, 404)
async def get_guest(request: Request) -> Response:
    """The link whose token this call has"""
    link = link_of(request.scope)
    if link is None:
        raise NotFoundError("This call has no token of a link.")
    return as_json(codec.plain(link))
