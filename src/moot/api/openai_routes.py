"""`/v1`: moot as a model of any program that speaks to OpenAI's chat completions."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from moot.api import openai_asked, openai_shapes
from moot.api.common import Context, JsonRoute, Moot
from moot.api.openai_asked import Chat
from moot.api.openai_shapes import Completion, dumps
from moot.api.problems import ProblemError
from moot.api.security import client_of
from moot.api.server import TRANSPORT
from moot.core import schedule
from moot.core.debate import Debate, Usage
from moot.core.events import Delta, Event, TurnCommitted
from moot.core.format import MAX_JURORS
from moot.errors import InputError, MootError, NotFoundError, StateError
from moot.ports.debate_store import Once
from moot.render.answer import unanswered

JOIN_SECONDS = 3600.0
"""For how long the same request joins the debate that it made."""
MOST_AGAIN = 20
"""How often a request whose debate failed may begin another within that time."""
FIRST_BYTE_SECONDS = 0.5
"""Until then an error has a status of its own; after it, the answer has begun."""
TICK_SECONDS = 0.5
BEAT_SECONDS = 5.0
LONGEST_SECONDS = 3600.0
STALL_SECONDS = 60.0
"""A client that takes nothing for that long is dropped: it can ask again, and joins."""
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
FINAL_ERROR = {"x-should-retry": "false"}
"""Tells OpenAI's clients that the same call again would begin another debate."""
UNANSWERED = 424
BEAT = b": the debate goes on\n\n"
DONE = b"data: [DONE]\n\n"
T = TypeVar("T")
router = APIRouter(route_class=JsonRoute, include_in_schema=False)


@router.get("/v1/models")
async def list_models(moot: Moot) -> Response:
    """One for each format, and one with a jury."""
    formats = [rules.name for rules in await moot.service.formats()]
    data = [openai_shapes.model(name) for name in openai_asked.names(formats)]
    return _json({"object": "list", "data": data})


@router.get("/v1/models/{name:path}")
async def get_model(moot: Moot, name: str) -> Response:
    format_, jury = openai_asked.parse_model(name)
    known = [rules.name for rules in await moot.service.formats()]
    if format_ not in known or (jury or 0) > MAX_JURORS:
        raise _no_model(name)
    return _json(openai_shapes.model(name))


@router.post("/v1/chat/completions")
async def complete(moot: Moot, request: Request) -> Response:
    """Hold a debate about the last user message, and answer with what it comes to."""
    chat = openai_asked.read(await request.body())
    client = client_of(request.scope)
    moot.streams.admit(client)
    began = _now()
    asking = asyncio.create_task(_begin(moot, chat, _key(request, chat)))
    asking.add_done_callback(_heard)
    link = f"{request.base_url}d/"
    if chat.stream:
        begun = await _soon(asking, began) or asking
        return Answer(moot, client, _streamed(moot, chat, begun, link), "text/event-stream")
    plain = asyncio.create_task(_plain(moot, chat, asking, link))
    plain.add_done_callback(_heard)
    if (whole := await _soon(plain, began)) is not None:
        return _json(whole)
    return Answer(moot, client, _kept_alive(plain), "application/json")


class UnansweredError(ProblemError):
    """The debate rests and has no answer. `completion` says so to whoever has read a status."""

    def __init__(self, why: str, code: str, completion: dict[str, Any]) -> None:
        super().__init__(UNANSWERED, why, FINAL_ERROR, code)
        self.completion = completion


# --- one debate for one request ---


def _key(request: Request, chat: Chat) -> str:
    """What marks this request: who asks, and what. Another Idempotency-Key asks for another debate
    about the same."""
    who = request.headers.get("authorization", ""), request.headers.get("idempotency-key", "")
    return hashlib.sha256("\n".join((*who, chat.digest)).encode()).hexdigest()


async def _begin(moot: Context, chat: Chat, key: str) -> Debate:
    """The debate of this request: the one that is under way, else a new one. One that waits for a
    speaker that failed tries again; after one that failed for good, another begins."""
    for _ in range(MOST_AGAIN):
        once = Once(f"chat {key}", key, JOIN_SECONDS)  # with a space: no Idempotency-Key has one
        try:
            debate = await moot.service.create(**chat.asked(), once=once)
        except InputError as error:
            raise _no_model(chat.model) if error.field == "format" else error from None
        if debate.status == "paused" and debate.failure:
            with suppress(StateError):  # another request was quicker
                return await moot.service.retry(debate.id)
        if debate.status not in ("failed", "stopped"):
            return debate
        key = hashlib.sha256(f"{key} after {debate.id}".encode()).hexdigest()
    raise StateError(f"This was asked {MOST_AGAIN} times within an hour, and failed each time.")


def _no_model(name: str) -> NotFoundError:
    return NotFoundError(f"There is no model {name[:100]!r}. GET /v1/models lists them.", "model")


async def _used(moot: Context, debate: Debate) -> Usage:
    """All calls: those of the debate, and those for its report."""
    return (await moot.service.get(debate.id)).spent


# --- the answer ---


async def _plain(moot: Context, chat: Chat, asking: Awaitable[Debate], link: str) -> dict[str, Any]:
    """The whole completion. If the debate cannot answer, ProblemError says why."""
    debate = await _rested(moot, (await asyncio.shield(asking)).id)
    page = link + debate.id
    why = unanswered(debate, page)
    content = why or await moot.service.answer(debate.id, page)
    used, said = await _used(moot, debate), openai_shapes.about(debate, page)
    whole = Completion(debate, chat.model).whole(content, used, said)
    if why:
        raise UnansweredError(why, _code(debate), whole)
    return whole


async def _rested(moot: Context, debate_id: str) -> Debate:
    """The debate once it rests and its report is made, or as it stands when nobody waits longer."""
    waiting = asyncio.create_task(moot.service.wait(debate_id))
    until = _now() + LONGEST_SECONDS
    try:
        while not moot.streams.closed and _now() < until:
            if (await asyncio.wait({waiting}, timeout=TICK_SECONDS))[0]:
                return waiting.result()
        return await moot.service.get(debate_id)
    finally:
        waiting.cancel()


async def _kept_alive(whole: "asyncio.Task[dict[str, Any]]") -> AsyncGenerator[bytes]:
    """The document, with white space before it while it is waited for. Its status is sent by then:
    why there is no answer is its content, and in `moot` for programs."""
    yield b" "
    try:
        while not (await asyncio.wait({whole}, timeout=BEAT_SECONDS))[0]:
            yield b" "
        yield dumps(whole.result())
    except UnansweredError as error:
        yield dumps(error.completion)
    except (MootError, ProblemError) as error:
        yield dumps(openai_shapes.error(UNANSWERED, *_words(error)))
    finally:
        whole.cancel()


async def _streamed(
    moot: Context, chat: Chat, begun: Debate | Awaitable[Debate], link: str
) -> AsyncGenerator[bytes]:
    """The completion in chunks: who spoke, as reasoning, then the answer."""
    try:
        yield BEAT
        debate = begun if isinstance(begun, Debate) else await asyncio.shield(begun)
        made = Completion(debate, chat.model)
        yield _event(made.chunk(role="assistant", content=""))
        page = link + debate.id
        yield _event(made.chunk(reasoning_content=f"The debate: {page}\n\n"))
        async with aclosing(_progress(moot, debate)) as progress:
            async for said in progress:
                yield _event(made.chunk(reasoning_content=said)) if said else BEAT
        resting = asyncio.create_task(_rested(moot, debate.id))
        try:
            while not (await asyncio.wait({resting}, timeout=BEAT_SECONDS))[0]:
                yield BEAT
            debate = resting.result()
        finally:
            resting.cancel()
        if why := unanswered(debate, page):
            yield _event(openai_shapes.error(UNANSWERED, why, _code(debate))) + DONE
            return
        yield _event(made.chunk(content=await moot.service.answer(debate.id, page)))
        last = made.chunk("stop")
        yield _event({**last, "moot": openai_shapes.about(debate, page)})
        if chat.include_usage:
            yield _event(made.used(await _used(moot, debate)))
        yield DONE
    except (MootError, ProblemError) as error:
        yield _event(openai_shapes.error(UNANSWERED, *_words(error))) + DONE


async def _progress(moot: Context, debate: Debate) -> AsyncGenerator[str]:
    """What is said, turn by turn; an empty text now and then while nobody has finished."""
    until, beat = _now() + LONGEST_SECONDS, _now() + BEAT_SECONDS
    async with aclosing(moot.service.follow(debate.id)) as events:
        pending = asyncio.ensure_future(anext(events, None))
        try:
            while not moot.streams.closed and _now() < until:
                if not (await asyncio.wait({pending}, timeout=TICK_SECONDS))[0]:
                    if _now() >= beat:
                        beat = _now() + BEAT_SECONDS
                        yield ""
                    continue
                if (event := pending.result()) is None:
                    return
                pending = asyncio.ensure_future(anext(events, None))
                if said := _spoken(debate, event):
                    beat = _now() + BEAT_SECONDS
                    yield said
        finally:
            pending.cancel()
            await asyncio.gather(pending, return_exceptions=True)


def _spoken(debate: Debate, event: Event | Delta) -> str:
    if isinstance(event, Delta):
        return ""
    if isinstance(event, TurnCommitted):
        turn = event.turn
        place = schedule.label(debate, turn.round, turn.stage)
        text = turn.text if turn.status == "ok" else f"no answer ({turn.error_code})"
        return f"**{turn.name}** ({place}): {text}\n\n"
    return f"{event.notice}\n\n" if event.notice else ""


# --- pieces ---


class Answer(StreamingResponse):
    """An answer that takes its time. A client that reads nothing is let go after a while."""

    def __init__(
        self, moot: Context, client: str, content: AsyncGenerator[bytes], media_type: str
    ) -> None:
        super().__init__(content, 200, HEADERS, media_type)
        self._streams, self._client = moot.streams, client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def bounded(message: Message) -> None:
            try:
                async with asyncio.timeout(STALL_SECONDS):
                    await send(message)
            except TimeoutError:
                scope["extensions"][TRANSPORT]["transport"].abort()

        with self._streams.counted(self._client):
            await super().__call__(scope, receive, bounded)


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _soon(task: "asyncio.Task[T]", began: float) -> T | None:
    """What comes of it, if that is known before the first byte is due."""
    left = max(0.0, began + FIRST_BYTE_SECONDS - _now())
    done, _ = await asyncio.wait({task}, timeout=left)
    return task.result() if done else None


def _heard(task: "asyncio.Task[Any]") -> None:
    """Its error is somebody else's to tell; if nobody is left to hear it, that is all right."""
    if not task.cancelled():
        task.exception()


def _code(debate: Debate) -> str:
    return debate.failure.code if debate.failure else StateError.code


def _words(error: MootError | ProblemError) -> tuple[str, str | None]:
    return (error.message if isinstance(error, MootError) else str(error.detail)), error.code


def _event(document: Any) -> bytes:
    return b"data: " + dumps(document) + b"\n\n"


def _json(document: Any) -> Response:
    return Response(dumps(document), media_type="application/json")
