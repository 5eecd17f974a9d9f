"""Debates: begin them, find them, read them, and what a person can do to them."""

import hashlib
from typing import Annotated, Any, Literal

from fastapi import Body, Header, Query, Request, Response
from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from moot.api.asked import (
    CouncilAsked,
    DebateAsked,
    ForkAsked,
    LabelsAsked,
    ModelAsked,
    Nothing,
    OutcomeAsked,
    PauseAsked,
    RejudgeAsked,
    RetryAsked,
    SayAsked,
)
from moot.api.common import SAVED, DebateId, Moot, Routes, as_file, as_json, file_of
from moot.api.guests import link_of
from moot.api.problems import ProblemError
from moot.core import debate as core
from moot.core import labels
from moot.core.course import Plan
from moot.core.ids import check_part
from moot.core.status import Status
from moot.errors import InputError
from moot.outcome.calibration import Calibration
from moot.outcome.packet import Packet
from moot.ports.debate_store import Once
from moot.ports.finding import Search
from moot.render.export import MEDIA_TYPES, Kind
from moot.wire import codec
from moot.wire.outcome_shapes import NotedOutcome, Replay, Report, Verdict
from moot.wire.shapes import AskedNow, Debate, ListedDebate, Slug

BLANKS = " \t"  # what may stand around a header's value
BEYOND = 2**31 - 1  # no log is that long
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
ByModel = Annotated[ModelAsked | None, Body()]
EXPORTED = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; frame-ancestors 'none'"
}
routes = Routes("debates")


class Debates(TypedDict):
    """A page, newest first. It may be short, even empty, while there is a `next`."""

    items: list[ListedDebate]
    next: Annotated[str | None, Field(description="`cursor` of the next page; null: no more.")]


class Models(TypedDict):
    """The models that sit or spoke in any debate."""

    items: list[str]


class Tags(TypedDict):
    """The tags of all debates."""

    items: list[str]


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


# --- begin ---


@routes("POST /debates", Debate, 404, 409, status=201)
async def create_debate(moot: Moot, asked: DebateAsked, key: Key = None) -> Response:
    """Begin a debate"""
    wanted = asked.model_dump(exclude_none=True)
    once = once_of(key, "debates", asked.model_dump())
    return _made(await moot.service.create(wanted.pop("motion"), **wanted, once=once))


@routes("POST /debates/council", Debate, 404, 409, status=201, body=CouncilAsked)
async def create_council(moot: Moot, request: Request, key: Key = None) -> Response:
    """Put a problem to the council"""
    asked = await _object(request)
    return _made(await moot.service.council(asked, once=once_of(key, "council", asked)))


FORM: dict[str, Any] = {
    "file": {"type": "string", "format": "binary", "description": "Of export?as=zip."},
}


@routes("POST /debates/import", Debate, 409, status=201, form=FORM)
async def import_debate(moot: Moot, request: Request) -> Response:
    """Bring a debate from the zip of its folder

    It keeps its id, its files are the same to the byte, and everything in it is checked first.
    """
    _, data, _ = await file_of(request)
    return _made(await moot.service.import_folder(data))


@routes("POST /plan", Plan, 404)
async def plan_debate(moot: Moot, asked: DebateAsked) -> Response:
    """What would happen: takes the body of POST /debates, and makes nothing"""
    return as_json(codec.plain(await moot.service.plan(asked.model_dump(exclude_none=True))))


# --- read ---


Words = Annotated[
    str,
    Query(
        max_length=500,
        description="Words, or their beginnings: of the motion, of the names of speakers, "
        "models and the format, and of what was said in debates that have ended or paused.",
    ),
]


@routes("GET /debates", Debates, 422)
async def list_debates(
    moot: Moot,
    status: Annotated[
        list[Listed],
        Query(max_length=9, description="Any of these; broadcasting: what stations air now."),
    ] = [],  # noqa: B006
    format_: Annotated[str | None, Query(alias="format", max_length=100)] = None,
    q: Words = "",
    id_: Annotated[
        str,
        Query(
            alias="id",
            max_length=40,
            description="The beginning of an id, or its last six characters.",
            examples=["x7k2ab"],
        ),
    ] = "",
    outcome: Annotated[
        list[core.OutcomeKind], Query(max_length=5, description="Any of these.")
    ] = [],  # noqa: B006
    model: Annotated[
        str | None,
        Query(max_length=200, description="A model that sits there, or its beginning."),
    ] = None,
    tag: Annotated[list[str], Query(max_length=20, description="All of these tags.")] = [],  # noqa: B006
    archived: Annotated[
        Literal["no", "yes", "all"], Query(description="Those that were put away, too, or alone.")
    ] = "no",
    min_cost: Annotated[float | None, Query(ge=0, le=10**6, description="USD.")] = None,
    max_cost: Annotated[float | None, Query(ge=0, le=10**6, description="USD.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[
        str | None, Query(pattern="^[0-9]{1,19}$", description="`next` of the page before.")
    ] = None,
) -> Response:
    """The newest debates"""
    search = Search(
        statuses=tuple(one for one in dict.fromkeys(status) if one != "broadcasting"),
        broadcasting="broadcasting" in status,
        format=format_,
        words=q,
        id=check_part(id_) if id_ else "",
        limit=limit,
        before=_before(cursor),
        outcomes=tuple(dict.fromkeys(outcome)),
        model=model or None,
        tags=labels.tags(tag),
        archived={"no": False, "yes": True, "all": None}[archived],
        min_cost=min_cost,
        max_cost=max_cost,
    )
    found = await moot.service.find(search)
    items = [codec.listed(one, found.lines[one.id].result) for one in found.debates]
    return as_json({"items": items, "next": str(found.next) if found.next is not None else None})


def _before(cursor: str | None) -> int | None:
    before = int(cursor) if cursor else None
    if before is not None and before >= 2**63:
        raise InputError("This is not a cursor of a page; take `next` of one.", "cursor")
    return before


@routes("GET /debates/models", Models)
async def list_models(moot: Moot) -> Response:
    """The models that sit or spoke in any debate: what `model` of the list can be"""
    return as_json({"items": await moot.service.models()})


@routes("GET /debates/tags", Tags)
async def list_tags(moot: Moot) -> Response:
    """The tags of all debates: what `tag` of the list can be"""
    return as_json({"items": await moot.service.tags()})


@routes("GET /debates/{debate_id}", Debate)
async def get_debate(moot: Moot, debate_id: DebateId) -> Response:
    """A debate as it stands"""
    return _shown(await moot.service.get(debate_id))


@routes("GET /debates/{debate_id}/turns", [core.Turn], 422)
async def get_turns(
    moot: Moot,
    debate_id: DebateId,
    after: Annotated[
        int, BeforeValidator(_seq), Query(ge=0, description="Only turns with seq > after.")
    ] = 0,
) -> Response:
    """What was said"""
    said = await moot.service.turns(debate_id, after)
    return as_json({"items": [codec.turn(turn) for turn in said]})


@routes("GET /debates/{debate_id}/plan", Plan)
async def get_plan(moot: Moot, debate_id: DebateId) -> Response:
    """The plan of a debate, from its beginning"""
    return as_json(codec.plain(await moot.service.plan_of(debate_id)))


# --- what a person can do to it ---


@routes("POST /debates/{debate_id}/retry", Debate, 409, status=202)
async def retry_debate(
    moot: Moot, debate_id: DebateId, asked: Annotated[RetryAsked | None, Body()] = None
) -> Response:
    """Restart the speaker that failed, with another model or more time if they are given"""
    asked = asked or RetryAsked()
    retried = moot.service.retry(debate_id, asked.model, max_turn_seconds=asked.max_turn_seconds)
    return _shown(await retried, 202)


@routes("POST /debates/{debate_id}/pause", Debate, 409, status=202)
async def pause_debate(
    moot: Moot, debate_id: DebateId, asked: Annotated[PauseAsked | None, Body()] = None
) -> Response:
    """Pause after the step in flight, or at once"""
    at_once = asked is not None and asked.at_once
    return _shown(await moot.service.pause(debate_id, at_once=at_once), 202)


@routes("POST /debates/{debate_id}/rejudge", Debate, 409, status=201)
async def rejudge_debate(
    moot: Moot,
    debate_id: DebateId,
    asked: Annotated[RejudgeAsked | None, Body()] = None,
    key: Key = None,
) -> Response:
    """Have a jury judge a debate that has ended

    It takes 2 calls for each juror and repeats nothing else. It answers with the new debate in
    which the jury votes, whose `forked_from` is the judged one; that one stays as it is.
    """
    given = asked.model_dump(exclude_none=True) if asked else {}
    once = once_of(key, f"rejudge {debate_id}", given)
    return _made(await moot.service.rejudge(debate_id, jury=given.get("jury"), once=once))


@routes("POST /debates/{debate_id}/fork", Debate, 409, status=201)
async def fork_debate(
    moot: Moot, debate_id: DebateId, asked: ForkAsked, key: Key = None
) -> Response:
    """Begin a new debate with the first turns of this one, and go on from there with changes"""
    given = asked.model_dump(exclude_none=True)
    once = once_of(key, f"fork {debate_id}", given)
    made = moot.service.fork(debate_id, asked.after, changes=given.get("changes"), once=once)
    return _made(await made)


@routes("POST /debates/{debate_id}/rerun", Debate, 409, status=201)
async def rerun_debate(
    moot: Moot,
    debate_id: DebateId,
    nothing: Annotated[Nothing | None, Body()] = None,
    key: Key = None,
) -> Response:
    """Begin a new debate with the same request"""
    return _made(await moot.service.rerun(debate_id, once=once_of(key, f"rerun {debate_id}", {})))


@routes("PATCH /debates/{debate_id}", Debate)
async def label_debate(moot: Moot, debate_id: DebateId, asked: LabelsAsked) -> Response:
    """Give a debate a title or tags, or put it away

    What is not given stays. The debate itself and its files stay as they are.
    """
    given = asked.model_dump(exclude_unset=True, exclude_none=True)
    return _shown(await moot.service.label(debate_id, **given))


@routes("DELETE /debates/{debate_id}", None, 409, 422, status=204)
async def delete_debate(
    moot: Moot,
    debate_id: DebateId,
    record: Annotated[bool, Query(description="The record that was written back, too.")] = False,
) -> Response:
    """Delete a debate that is paused or has ended, with its files"""
    await moot.service.delete(debate_id, record=record)
    return Response(status_code=204)


@routes("POST /debates/{debate_id}/say", Debate, 409, status=202)
async def say_in_debate(
    moot: Moot, request: Request, debate_id: DebateId, asked: SayAsked, key: Key = None
) -> Response:
    """Speak: for a human seat whose turn it is, else as a note

    Everyone who speaks after a note hears it; it does not move the cursor. With an Idempotency-Key,
    the same words count once, however often they come.
    """
    seat, link = asked.seat, link_of(request.scope)
    if link:
        if asked.note or seat not in (None, link.seat):
            raise ProblemError(403, f"This link is for {link.seat} alone.", code="HTTP_ERR_GUEST")
        seat, key = link.seat, key and f"{link.id} {key}"  # never a note, and never another's key
    given = {**asked.model_dump(exclude={"step"}), "seat": seat}
    once = once_of(key, f"say {debate_id}", given)
    if asked.text is None and asked.answer is None:
        raise InputError("Say something: text is missing.", "text")
    said = moot.service.say(
        debate_id, asked.text or "", answer=asked.answer, seat=seat, step=asked.step,
        note=asked.note, once=once,
    )  # fmt: skip
    return _shown(await said, 202)


@routes("GET /debates/{debate_id}/asked", AskedNow, 422)
async def get_asked(
    moot: Moot,
    request: Request,
    debate_id: DebateId,
    seat: Annotated[Slug | None, Query(description="Of this human seat, or else of any.")] = None,
) -> Response:
    """What a person is asked for, if it is their turn"""
    link = link_of(request.scope)
    found = await moot.service.asked(debate_id, seat=link.seat if link and link.seat else seat)
    return as_json({"asked": found and codec.plain(found)})


def _verb(name: str, summary: str) -> None:
    async def act(
        moot: Moot, debate_id: DebateId, nothing: Annotated[Nothing | None, Body()] = None
    ) -> Response:
        return _shown(await getattr(moot.service, name)(debate_id), 202)

    act.__doc__, act.__name__ = summary, f"{name}_debate"
    routes(f"POST /debates/{{debate_id}}/{name}", Debate, 409, status=202)(act)


_verb("start", "Start a debate that was made to wait")
_verb("stop", "Keep the step in flight, then nothing more")
_verb("resume", "Go on from where it was paused")
_verb("end", "Call off what is being said, and go to the closing summary")
_verb("skip", "Go on without the turn that failed, or that a person has not spoken")


# --- what it leaves behind ---


@routes("GET /debates/{debate_id}/packet", Packet, 409)
async def get_packet(moot: Moot, debate_id: DebateId) -> Response:
    """A council's decision packet"""
    return as_json(await moot.service.packet(debate_id))


@routes("GET /debates/{debate_id}/verdict", Verdict)
async def get_verdict(moot: Moot, debate_id: DebateId) -> Response:
    """The outcome: what was decided, by whom, and who saw it otherwise"""
    return as_json(await moot.service.verdict(debate_id))


@routes("GET /debates/{debate_id}/outcome", NotedOutcome)
async def get_outcome(moot: Moot, debate_id: DebateId) -> Response:
    """What came of the decision, if somebody noted it"""
    return as_json({"outcome": await moot.service.noted_outcome(debate_id)})


@routes("PUT /debates/{debate_id}/outcome", NotedOutcome, 409)
async def note_outcome(moot: Moot, debate_id: DebateId, asked: OutcomeAsked) -> Response:
    """Note what came of the decision

    It is kept beside the debate, whose files stay as they are, and counts in GET /calibration.
    """
    return as_json({"outcome": await moot.service.note_outcome(debate_id, asked.outcome)})


@routes("GET /calibration", Calibration)
async def get_calibration(moot: Moot) -> Response:
    """How right the sure were: Brier scores of models and juries, once ten outcomes are noted"""
    return as_json(codec.plain(await moot.service.calibration()))


@routes("GET /debates/{debate_id}/report", Report)
async def get_report(moot: Moot, debate_id: DebateId) -> Response:
    """What was said, by whom, and what it took"""
    return as_json(await moot.service.report(debate_id))


@routes("POST /debates/{debate_id}/report", Report, 409, 502)
async def make_report(moot: Moot, debate_id: DebateId, asked: ByModel = None) -> Response:
    """Make the report of a debate that has ended anew

    By the model, else by the one of MOOT_REPORT_MODEL, else by extraction. It is answered once it
    is made, and its files are. If the model fails, all stays as it was.
    """
    return as_json(await moot.service.remake_report(debate_id, asked.model if asked else None))


@routes("GET /debates/{debate_id}/replay", Replay)
async def get_replay(moot: Moot, debate_id: DebateId) -> Response:
    """The debate from its files alone, and whether they are as they were written"""
    return as_json(await moot.service.replay(debate_id))


@routes(
    "GET /debates/{debate_id}/export",
    "text/markdown text/html application/json application/zip",
    409,
    422,
    headers=SAVED,
)
async def get_export(
    moot: Moot,
    request: Request,
    debate_id: DebateId,
    as_: Annotated[Literal[Kind, "zip"], Query(alias="as")] = "md",
) -> Response:
    """The debate as one document to keep, or its whole folder as a zip

    POST /debates/import makes a debate of such a zip again.
    """
    if as_ == "zip":
        if link_of(request.scope):  # it holds what was asked afterwards, and how it is labelled
            raise ProblemError(403, "A link is not for the zip.", code="HTTP_ERR_GUEST")
        told = {"Content-Disposition": f'attachment; filename="{debate_id}.zip"', **EXPORTED}
        data = await moot.service.export_folder(debate_id)
        return Response(data, 200, told, media_type="application/zip")
    text = await moot.service.export(debate_id, as_)
    return as_file(f"{debate_id}.{as_}", text, MEDIA_TYPES[as_], **EXPORTED)


# --- pieces ---


async def _object(request: Request) -> dict[str, Any]:
    """The body, for a request whose spelling is free."""
    try:
        asked = await request.json()
    except (ValueError, RecursionError):
        raise InputError("The body is not valid JSON.", "body") from None
    if not isinstance(asked, dict):
        raise InputError("The body must be an object: problem, output_type …", "body")
    return asked  # pyright: ignore[reportUnknownVariableType]


def once_of(key: str | None, route: str, asked: dict[str, Any]) -> Once | None:
    if key is None:
        return None
    text = codec.dumps([route, sorted(asked.items(), key=lambda item: str(item[0]))])
    return Once(key, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())


def _shown(debate: core.Debate, status: int = 200) -> Response:
    return as_json(codec.debate(debate, Debate), status)


def _made(debate: core.Debate) -> Response:
    headers = {"Location": f"/debates/{debate.id}"}
    return as_json(codec.debate(debate, Debate), 201, headers)


def last_heard(header: str | None, query: str | None) -> int | None:
    """What a client says it has: the header beats the query. None: nothing yet."""
    given = header if header is not None else query
    if given is None or not given.strip(BLANKS):
        return None
    seq = whole_number(given)
    if seq is None:
        raise ProblemError(400, f"Last-Event-ID is a whole number, not {given[:40]!a}.")
    return seq
