"""The tools: begin a debate, wait for it, read what it came to."""

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar, cast

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from moot.core.debate import Debate
from moot.core.followups import Followup
from moot.core.request import MAX_MOTION
from moot.core.sources import MAX_UPLOADS
from moot.core.status import Status
from moot.errors import InputError, MootError, NotFoundError, StateError
from moot.mcp.following import Questions, rests, standing, waited
from moot.mcp.tool_shapes import (
    Answered,
    CouncilRun,
    Debates,
    Document,
    Id,
    Records,
    Replayed,
    Result,
    Seat,
    Standing,
    Waited,
)
from moot.ports.debate_store import Once
from moot.ports.entry_point import Moot
from moot.ports.finding import Search
from moot.wire import codec

SCHEME = "x-forwarded-proto"
"""The header that says whether a call over HTTP came by http or https."""
MOST_SECONDS = 50.0
"""A call of a client whose limit is a minute comes back in time."""
P = ParamSpec("P")
T = TypeVar("T")
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
BEGINS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True)
Request = Context[Any, Any]
Seconds = Annotated[
    float, Field(ge=0, le=MOST_SECONDS, description="How long to wait at the most.")
]
Key = Annotated[
    str | None,
    Field(
        description="The same key and arguments give the same debate, however often they come.",
        max_length=200,
        pattern="^[!-~]+$",
    ),
]


def told(tool: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Tell the model what is wrong and how to mend it, in moot's own sentence."""

    @wraps(tool)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await tool(*args, **kwargs)
        except MootError as error:
            field = getattr(error, "field", None)
            raise ToolError(f"{error.message} ({field})" if field else error.message) from None

    return call


class Tools:
    """The tools of one moot."""

    def __init__(self, moot: Moot) -> None:
        self._moot = moot
        self._questions = Questions(moot)

    def add_to(self, server: MCPServer[Any]) -> None:
        tools: list[tuple[Callable[..., Awaitable[Any]], str, ToolAnnotations]] = [
            (self.start_debate, "Begin a debate", BEGINS),
            (self.wait_debate, "Wait for a debate", READS),
            (self.say, "Speak in a debate", BEGINS),
            (self.ask_debate, "Ask about a debate that has ended", BEGINS),
            (self.get_result, "What a debate came to", READS),
            (self.list_debates, "The newest debates", READS),
            (self.search_records, "Search what was decided", READS),
            (self.run_debate_mode, "Put a problem to the council", BEGINS),
            (self.replay_debate_mode, "Replay a debate from its files", READS),
        ]
        for tool, title, hints in tools:
            server.add_tool(
                told(tool), title=title, description=inspect.getdoc(tool), annotations=hints
            )

    async def start_debate(
        self,
        ctx: Request,
        motion: Annotated[
            str,
            Field(
                description=f"The question to debate, with what to know: {MAX_MOTION} characters "
                "at the most. Give longer texts as sources."
            ),
        ],
        format: Annotated[  # noqa: A002  the word of the contract
            str, Field(description="council decides; duel is quick; the prompts list the rest.")
        ] = "council",
        participants: Annotated[
            list[Seat] | None, Field(description="Who speaks; by default the format's own cast.")
        ] = None,
        jury: Annotated[
            int | None, Field(ge=1, le=99, description="So many jurors vote at the end.")
        ] = None,
        sources: Annotated[
            list[Document] | None,
            Field(
                description="Documents that all speakers read, cite and quote. moot checks quotes.",
                max_length=MAX_UPLOADS,
            ),
        ] = None,
        options: Annotated[
            dict[str, int] | None, Field(description="Of the format, for example rounds.")
        ] = None,
        max_cost_usd: Annotated[float | None, Field(gt=0, description="Its budget.")] = None,
        key: Key = None,
    ) -> Standing:
        """Begin a debate between language models about a question, and return at once.

        Then call wait_debate until it rests. A debate costs money if its models do: begin one for
        a question that is worth it, once.
        """
        asked: dict[str, Any] = {"format": format, "participants": participants or []}
        if jury is not None:
            asked["jury"] = {"size": jury}
        if sources:
            _check_sources({"sources": sources})
            asked["sources"] = sources
        if options:
            asked["options"] = options
        if max_cost_usd is not None:
            asked["limits"] = {"max_cost_usd": max_cost_usd}
        once = _once(key, {"motion": motion, **asked})
        return self._standing(ctx, await self._moot.create(motion, **asked, once=once))

    async def wait_debate(self, ctx: Request, id: Id, seconds: Seconds = 45.0) -> Waited:  # noqa: A002
        """Wait until a debate has ended, is paused or waits for a person, for at most 50 seconds.

        Call it again while `rests` is false; a council may take ten minutes. Once it rests,
        `answer` is what it came to. If `waiting_for` names a seat, only `say` lets it go on.
        """
        debate = await self._waited(ctx, await self._moot.resolve(id), seconds)
        asked = await self._moot.asked(debate.id) if debate.waiting_for else None
        answer = None
        if rests(debate):
            answer = await self._moot.answer(debate.id, self._where(ctx, debate))
        return {
            **self._standing(ctx, debate),
            "answer": answer,
            "asked": codec.plain(asked) if asked else None,
            "next": _next(debate),
        }

    async def say(
        self,
        ctx: Request,
        id: Id,  # noqa: A002
        text: Annotated[str, Field(description="What the person says, in their words.")] = "",
        answer: Annotated[
            dict[str, Any] | None,
            Field(description="Instead, if the seat is asked for `fields`: an object with these."),
        ] = None,
        seat: Annotated[
            str | None, Field(description="Only for this human seat, if it is its turn.")
        ] = None,
        key: Key = None,
    ) -> Standing:
        """Speak in a debate for a person: at a human seat that is their turn, otherwise a note that
        everyone hears who speaks after it. Say what the user told you to say, and nothing else."""
        debate_id = await self._moot.resolve(id)
        said: dict[str, Any] = {"say": text, "debate": debate_id, "seat": seat}
        once = _once(key, {**said, "answer": answer} if answer else said)
        debate = await self._moot.say(debate_id, text, answer=answer, seat=seat, once=once)
        return self._standing(ctx, debate)

    async def ask_debate(
        self,
        ctx: Request,
        id: Id,  # noqa: A002
        question: Annotated[str, Field(description="What to know of it.", max_length=4000)],
        seconds: Seconds = 45.0,
        key: Key = None,
    ) -> Answered:
        """Ask about a debate that has ended: a model answers from its transcript and sources, with
        citations that are checked. It takes one or two calls.

        If it takes longer than a call may, the status is `asking`: ask the same again, and it waits
        for that answer.
        """
        debate_id = await self._moot.resolve(id)
        once = _once(key, {"ask": question, "debate": debate_id})
        found = await self._questions.ask(debate_id, question, seconds, once)
        if found is None:
            found = Followup(0, question, "", "asking", asked_at="")
        return {
            "number": found.number,
            "status": found.status,
            "answer": found.answer,
            "model": found.model,
            "verified": found.verified,
            "failed": found.failed,
            "problem": found.error,
        }

    async def get_result(self, ctx: Request, id: Id) -> Result:  # noqa: A002
        """What a debate came to: the answer as Markdown, the verdict and the packet as data."""
        debate = await self._moot.get(await self._moot.resolve(id))
        return {
            **self._standing(ctx, debate),
            "answer": await self._moot.answer(debate.id, self._where(ctx, debate)),
            "verdict": await _if_any(self._moot.verdict(debate.id)),
            "packet": await _if_any(self._moot.packet(debate.id)),
        }

    async def list_debates(
        self,
        ctx: Request,
        words: Annotated[
            str, Field(max_length=500, description="Of the motion, or of what was said.")
        ] = "",
        status: Status | None = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> Debates:
        """The newest debates, with what came of each in a line."""
        search = Search((status,) if status else (), words=words, limit=limit)
        found = await self._moot.find(search)
        return {
            "debates": [
                {
                    "id": one.id,
                    "motion": one.motion,
                    "format": one.format,
                    "status": one.status,
                    "outcome": one.outcome.outcome if one.outcome else None,
                    "result": found.lines[one.id].result if one.id in found.lines else "",
                    "created_at": one.created_at,
                }
                for one in found.debates
            ]
        }

    async def search_records(
        self,
        ctx: Request,
        words: Annotated[str, Field(max_length=500, description="Each of these words.")] = "",
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> Records:
        """What councils decided before: look here before you begin another debate about it."""
        found = await self._moot.records(words, limit)
        return {
            "records": [
                {
                    "title": one["title"],
                    "type": one["type"],
                    "debate": one["debate_id"],
                    "path": one["path"],
                    "created_at": one["created_at"],
                    "uri": record_uri(one["debate_id"]),
                }
                for one in found
            ]
        }

    async def run_debate_mode(
        self,
        ctx: Request,
        request: Annotated[
            dict[str, Any],
            Field(
                description="The council's own request: `problem` and `output_type` (decision, "
                "writing, architecture, planning, evaluation), and perhaps `constraints`, "
                "`participants` {role, model_provider, model_name}, `max_turn_seconds`, "
                "`max_turn_tokens`, `writeback_record_type`, `sources` [{title, text}]."
            ),
        ],
        seconds: Seconds = 45.0,
        key: Key = None,
    ) -> CouncilRun:
        """Put a problem to the council of five roles, and wait for its packet for a while.

        If it goes on after that, call wait_debate with `runId`, then get_result.
        """
        _check_sources(request)
        debate = await self._moot.council(request, once=_once(key, request))
        debate = await self._waited(ctx, debate.id, seconds)
        return {
            "runId": debate.id,
            "status": debate.status,
            "stopReason": debate.stop_reason,
            "degraded": debate.degraded,
            "packet": await _if_any(self._moot.packet(debate.id)),
            "warnings": list(debate.warnings),
            "failure": debate.failure.message if debate.failure else None,
            "next": _next(debate),
        }

    async def replay_debate_mode(self, ctx: Request, run_id: Id) -> Replayed:
        """A debate from its files alone, and where these and the database disagree. No model is
        called and nothing is changed."""
        return {"replay": await self._moot.replay(await self._moot.resolve(run_id))}

    async def _waited(self, ctx: Request, debate_id: str, seconds: float) -> Debate:
        async def tell(done: int, total: int, who: str) -> None:
            await ctx.report_progress(done, total or None, who)

        return await waited(self._moot, debate_id, seconds, tell)

    def _standing(self, ctx: Request, debate: Debate) -> Standing:
        return standing(debate, self._where(ctx, debate))

    def _where(self, ctx: Request, debate: Debate) -> str:
        """Its page, if a server is asked; else its folder."""
        asked = ctx.headers or {}
        if host := asked.get("host"):
            return f"{asked.get(SCHEME, 'http')}://{host}/d/{debate.id}"
        return self._moot.folder(debate.id)


def record_uri(debate_id: str) -> str:
    return f"moot://records/{debate_id}"


def _next(debate: Debate) -> str:
    if debate.status == "paused":
        return "It is paused: a person can resume it, or restart the speaker that failed."
    if seat := debate.waiting_for:
        return (
            f"It waits for {debate.seat(seat).name}: ask the user what they say, and call say with "
            f"seat {seat!r} and their words, or an answer if `asked` of wait_debate has fields."
        )
    if not rests(debate):
        return f"It goes on: call wait_debate with {debate.id} again."
    return "Tell the user what it came to, and who disagrees. get_result has all of it as data."


def _check_sources(request: Mapping[str, Any]) -> None:
    """A tool reads no files of this machine: its caller gives the text of a document."""
    for name, given in request.items():
        if name.lower() != "sources" or not isinstance(given, list | tuple):
            continue
        for place, one in enumerate(cast("Sequence[Any]", given)):
            if isinstance(one, Mapping) and "path" in one:
                field = f"sources[{place}].path"
                raise InputError(f"{field}: give the text of the document instead.", field)


def _once(key: str | None, asked: dict[str, Any]) -> Once | None:
    if key is None:
        return None
    text = codec.dumps(["mcp", sorted(asked.items(), key=lambda item: str(item[0]))])
    return Once(key, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())


async def _if_any(document: Awaitable[dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return await document
    except (NotFoundError, StateError):
        return None
