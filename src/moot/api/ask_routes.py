"""Questions about debates that have ended, and what was answered."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import Header, Response
from starlette.responses import StreamingResponse

from moot.api import problems
from moot.api.asked import AskAsked
from moot.api.common import DebateId, Moot, Routes, as_json
from moot.api.debate_routes import Key, once_of
from moot.core.followups import Followup
from moot.errors import MootError
from moot.wire import codec

routes = Routes("debates")
STREAM = "text/event-stream"
AT_ONCE_SECONDS = 1.0
"""What goes wrong within that time is a problem document, and no event."""
TICK_SECONDS = 15.0
_asking: set[asyncio.Task[Followup]] = set()
"""Those go on if whoever asked goes away: they are paid for."""


@routes("POST /debates/{debate_id}/ask", Followup, 409, 502, status=201)
async def ask_debate(
    moot: Moot,
    debate_id: DebateId,
    asked: AskAsked,
    key: Key = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Ask about a debate that has ended

    The answer comes from its transcript and sources, with what it cites checked. It is kept beside
    the debate, which stays as it is. With `Accept: text/event-stream` it comes as events: `delta`
    with pieces of it as they are written, then `followup` with all of it, then `end`.
    """
    pieces: asyncio.Queue[str | None] = asyncio.Queue()
    once = once_of(key, f"ask {debate_id}", asked.model_dump())
    task = asyncio.create_task(
        moot.service.ask(
            debate_id, asked.question, model=asked.model, once=once, say=pieces.put_nowait
        )
    )
    _asking.add(task)
    task.add_done_callback(_asking.discard)
    if STREAM not in accept:
        return _made(debate_id, await asyncio.shield(task))
    task.add_done_callback(lambda _: pieces.put_nowait(None))
    await asyncio.wait((task,), timeout=AT_ONCE_SECONDS)
    if task.done():
        task.result()  # raises what is wrong
    return StreamingResponse(_events(task, pieces), 201, media_type=STREAM, headers=_HEADERS)


@routes("GET /debates/{debate_id}/followups", [Followup])
async def get_followups(moot: Moot, debate_id: DebateId) -> Response:
    """What was asked about a debate after its end, and what was answered"""
    found = await moot.service.followups(debate_id)
    return as_json({"items": [codec.followup(one) for one in found]})


_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


async def _events(
    task: asyncio.Task[Followup], pieces: asyncio.Queue[str | None]
) -> AsyncGenerator[bytes]:
    while True:
        try:
            piece = await asyncio.wait_for(pieces.get(), TICK_SECONDS)
        except TimeoutError:
            yield b": waiting\n\n"
            continue
        if piece is None:
            break
        yield _event("delta", {"text": piece})
    try:
        yield _event("followup", codec.followup(task.result()))
    except (MootError, asyncio.CancelledError) as error:
        told = error if isinstance(error, MootError) else None
        status = problems.status_of(told) if told else 503
        detail = told.message if told else "The service is being stopped. Ask again in a moment."
        yield _event("error", {"status": status, "detail": detail})
    yield _event("end", {})


def _event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: {codec.dumps(data)}\n\n".encode("utf-8", "replace")


def _made(debate_id: str, answer: Followup) -> Response:
    headers = {"Location": f"/debates/{debate_id}/followups"}
    return as_json(codec.followup(answer), 201, headers)
