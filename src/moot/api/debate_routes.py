"""Debates: begin them, find them, read them, and what a person can do to them."""

import hashlib
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Header, Query, Request, Response
from pydantic import BeforeValidator

from moot.api import schemas
from moot.api.common import DebateId, JsonRoute, Moot, as_json, refusals
from moot.api.problems import ProblemError
from moot.core.debate import Debate
from moot.core.status import Status
from moot.errors import InputError
from moot.ports import Once, Search
from moot.render.export import MEDIA_TYPES, Kind
from moot.wire import codec

router = APIRouter(tags=["debates"], route_class=JsonRoute)
BLANKS = " \t"  # what may stand around a header's value
BEYOND = 2**31 - 1  # no log is that long
MADE = {
    "description": "The debate, as it begins",
    "headers": {"Location": {"schema": {"type": "string"}, "description": "Where it is."}},
}
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern="^[!-~]+$",
        description="The same key and body give the same debate, however often they come.",
        examples=["7f9c2ba4-e88f-4f9d-9c1e-6f1f7d1c2b3a"],
    ),
]
Listed = Literal[Status, "broadcasting"]
Verb = Literal["start", "stop", "resume", "end", "skip"]


def whole_number(text: str) -> int | None:
    """The number that a text is, blanks around it aside, or None. However many digits it has, one
    beyond every log is as good as the next."""
    digits = text.strip(BLANKS)
    if not (digits.isascii() and digits.isdigit()):
        return None
    return min(int(digits.lstrip("0")[:19] or "0"), BEYOND)


def _seq(given: object) -> object:
    if not isinstance(given, str):
        return given
    seq = whole_number(given)
    if seq is None:
        raise ValueError(f"a whole number is wanted, not {given[:40]!a}")
    return seq


def shown(debate: Debate) -> dict[str, Any]:
    return {**codec.debate(debate), "rules": debate.rules.model_dump(mode="json")}


@router.post(
    "/debates",
    status_code=201,
    summary="Begin a debate",
    response_model=schemas.Debate,
    responses={201: MADE, **refusals(404, 409, sends=True)},
)
async def create_debate(moot: Moot, asked: schemas.DebateAsked, key: Key = None) -> Response:
    wanted = asked.model_dump(exclude_none=True)
    once = _once(key, "debates", asked.model_dump())
    return _made(await moot.service.create(wanted.pop("motion"), **wanted, once=once))


@router.post(
    "/debates/council",
    status_code=201,
    summary="Put a problem to the council",
    response_model=schemas.Debate,
    responses={201: MADE, **refusals(404, 409, sends=True)},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/CouncilAsked"}}
            },
        }
    },
)
async def create_council(moot: Moot, request: Request, key: Key = None) -> Response:
    asked = await _object(request)
    debate = await moot.service.council(asked, once=_once(key, "council", asked))
    return _made(debate)


@router.get(
    "/debates",
    summary="The newest debates",
    response_model=schemas.Debates,
    responses=refusals(422),
)
async def list_debates(
    moot: Moot,
    status: Annotated[
        list[Listed],
        Query(max_length=9, description="Any of these; broadcasting: what stations air now."),
    ] = [],  # noqa: B006
    format_: Annotated[str | None, Query(alias="format", max_length=100)] = None,
    q: Annotated[
        str, Query(max_length=500, description="Words of the motion, or of a speaker's name.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[
        str | None, Query(pattern="^[0-9]{1,19}$", description="`next` of the page before.")
    ] = None,
) -> Response:
    before = int(cursor) if cursor else None
    if before is not None and before >= 2**63:
        raise InputError("That is no cursor of a page; take `next` of one.", "cursor")
    search = Search(
        statuses=tuple(one for one in dict.fromkeys(status) if one != "broadcasting"),
        broadcasting="broadcasting" in status,
        format=format_,
        words=q,
        limit=limit,
        before=before,
    )
    found = await moot.service.find(search)
    items = [codec.listed(debate) for debate in found.debates]
    return as_json({"items": items, "next": str(found.next) if found.next is not None else None})


@router.get(
    "/debates/{debate_id}",
    summary="A debate as it stands",
    response_model=schemas.Debate,
    responses=refusals(404),
)
async def get_debate(moot: Moot, debate_id: DebateId) -> Response:
    return as_json(shown(await moot.service.get(debate_id)))


@router.get(
    "/debates/{debate_id}/turns",
    summary="What was said",
    response_model=schemas.Turns,
    responses=refusals(404, 422),
)
async def get_turns(
    moot: Moot,
    debate_id: DebateId,
    after: Annotated[
        int, BeforeValidator(_seq), Query(ge=0, description="Only turns with seq > after.")
    ] = 0,
) -> Response:
    said = await moot.service.turns(debate_id, after)
    return as_json({"items": [codec.turn(turn) for turn in said]})


@router.post(
    "/debates/{debate_id}/retry",
    status_code=202,
    summary="Restart the speaker that failed, with another model if one is given",
    response_model=schemas.Debate,
    responses=refusals(404, 409, sends=True),
)
async def retry_debate(
    moot: Moot, debate_id: DebateId, asked: Annotated[schemas.RetryAsked | None, Body()] = None
) -> Response:
    return as_json(shown(await moot.service.retry(debate_id, asked.model if asked else None)), 202)


@router.post(
    "/debates/{debate_id}/pause",
    status_code=202,
    summary="Pause after the step in flight, or at once",
    response_model=schemas.Debate,
    responses=refusals(404, 409, sends=True),
)
async def pause_debate(
    moot: Moot, debate_id: DebateId, asked: Annotated[schemas.PauseAsked | None, Body()] = None
) -> Response:
    at_once = asked is not None and asked.at_once
    return as_json(shown(await moot.service.pause(debate_id, at_once=at_once)), 202)


VERBS: dict[Verb, str] = {
    "start": "Start a debate that was made to wait",
    "stop": "Keep the step in flight, then nothing more",
    "resume": "Go on from where it was paused",
    "end": "Call off what is being said, and go to the closing summary",
    "skip": "Go on without the turn that failed",
}


def _verb(name: Verb, summary: str) -> None:
    async def act(
        moot: Moot, debate_id: DebateId, nothing: Annotated[schemas.Nothing | None, Body()] = None
    ) -> Response:
        doing = getattr(moot.service, name)
        return as_json(shown(await doing(debate_id)), 202)

    router.add_api_route(
        f"/debates/{{debate_id}}/{name}",
        act,
        methods=["POST"],
        status_code=202,
        name=name,
        summary=summary,
        operation_id=f"{name}_debate",
        response_model=schemas.Debate,
        responses=refusals(404, 409, sends=True),
    )


for _name, _summary in VERBS.items():
    _verb(_name, _summary)


@router.get(
    "/debates/{debate_id}/packet",
    summary="A council's decision packet",
    responses={
        200: {"description": "See `moot schema packet`", "content": {"application/json": {}}},
        **refusals(404, 409),
    },
)
async def get_packet(moot: Moot, debate_id: DebateId) -> Response:
    return as_json(await moot.service.packet(debate_id))


@router.get(
    "/debates/{debate_id}/report",
    summary="What was said, by whom, and what it took",
    responses={
        200: {"description": "Of the debate so far", "content": {"application/json": {}}},
        **refusals(404),
    },
)
async def get_report(moot: Moot, debate_id: DebateId) -> Response:
    return as_json(await moot.service.report(debate_id))


@router.post(
    "/debates/{debate_id}/report",
    summary="Make the report of a debate that has ended anew",
    description="By the model, else by the one of MOOT_REPORT_MODEL, else by extraction. It is "
    "answered once it is made, and its files are. If the model fails, all stays as it was.",
    responses={
        200: {"description": "The report", "content": {"application/json": {}}},
        **refusals(404, 409, 502, sends=True),
    },
)
async def make_report(
    moot: Moot, debate_id: DebateId, asked: Annotated[schemas.ReportAsked | None, Body()] = None
) -> Response:
    made = await moot.service.remake_report(debate_id, asked.model if asked else None)
    return as_json(made)


@router.get(
    "/debates/{debate_id}/replay",
    summary="The debate from its files alone, and whether they are as they were written",
    response_model=schemas.Replay,
    responses=refusals(404),
)
async def get_replay(moot: Moot, debate_id: DebateId) -> Response:
    return as_json(await moot.service.replay(debate_id))


@router.get(
    "/debates/{debate_id}/export",
    summary="The debate as one document to keep",
    response_class=Response,
    responses={
        200: {
            "description": "As a file to save",
            "content": {
                "text/markdown": {"schema": {"type": "string"}},
                "text/html": {"schema": {"type": "string"}},
                "application/json": {},
            },
            "headers": {"Content-Disposition": {"schema": {"type": "string"}}},
        },
        **refusals(404, 422),
    },
)
async def get_export(
    moot: Moot, debate_id: DebateId, as_: Annotated[Kind, Query(alias="as")] = "md"
) -> Response:
    text = await moot.service.export(debate_id, as_)
    headers = {
        "Content-Disposition": f'attachment; filename="{debate_id}.{as_}"',
        "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; "
        "img-src data:; frame-ancestors 'none'",
    }
    return Response(text.encode("utf-8", "replace"), 200, headers, MEDIA_TYPES[as_])


async def _object(request: Request) -> dict[str, Any]:
    """The body, for a request whose spelling is free."""
    try:
        asked = await request.json()
    except (ValueError, RecursionError):
        raise InputError("The body is not valid JSON.", "body") from None
    if not isinstance(asked, dict):
        raise InputError("The body must be an object: problem, output_type …", "body")
    return asked  # pyright: ignore[reportUnknownVariableType]


def _once(key: str | None, route: str, asked: dict[str, Any]) -> Once | None:
    if key is None:
        return None
    text = codec.dumps([route, sorted(asked.items(), key=lambda item: str(item[0]))])
    return Once(key, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())


def _made(debate: Debate) -> Response:
    return as_json(shown(debate), 201, {"Location": f"/debates/{debate.id}"})


def last_heard(header: str | None, query: str | None) -> int | None:
    """What a client says it has: the header beats the query. None: nothing yet."""
    given = header if header is not None else query
    if given is None or not given.strip(BLANKS):
        return None
    seq = whole_number(given)
    if seq is None:
        raise ProblemError(400, f"Last-Event-ID is a whole number, not {given[:40]!a}.")
    return seq
