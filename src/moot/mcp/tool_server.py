"""The MCP server of a moot: its tools, its debates and records as resources, its formats as
prompts. It knows `Moot` alone, so it serves a home and a server elsewhere alike."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    TextContent,
    Tool,
)
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from moot.errors import MootError, NotFoundError
from moot.mcp.tools import SCHEME, Tools, record_uri
from moot.ports.entry_point import Moot
from moot.ports.finding import Search

PATH = "/mcp"
LISTED = 50
"""Debates and records that are listed as resources; the tools find the others."""
MARKDOWN = "text/markdown"
INSTRUCTIONS = """\
moot holds debates between language models and returns a decision that can be traced to what was
said. For a question that is worth a second opinion: start_debate (format council decides, with
jury 3 for more certainty; duel is quick), then wait_debate until it rests. search_records finds
what was decided before. Tell the user the outcome, the dissent, and what would change it."""
ASK = """\
Hold a {title} with moot about this:

{motion}

Call start_debate with format {format!r} and this question, then wait_debate until it rests. Tell me
what it came to, who disagrees, and what would change it, with the turns that you cite."""


class Server(MCPServer[Any]):
    """What it lists is what there is now, not what there was when it began."""

    def __init__(self, moot: Moot) -> None:
        super().__init__(
            "moot",
            title="moot",
            instructions=INSTRUCTIONS,
            version=version("moot"),
            log_level="WARNING",
            subscriptions=False,
        )
        self._moot = moot
        Tools(moot).add_to(self)
        self.resource(
            "moot://debates/{id}", name="debate", title="A debate",
            description="All that was said, and what it came to.", mime_type=MARKDOWN,
        )(self._debate)  # fmt: skip
        self.resource(
            "moot://records/{id}", name="record", title="A record",
            description="What the council of that debate wrote back.", mime_type=MARKDOWN,
        )(self._record)  # fmt: skip

    async def list_tools(self) -> list[Tool]:
        """Each with a schema that says what `call_tool` holds to: it has no other arguments."""
        tools = await super().list_tools()
        for tool in tools:
            tool.input_schema = {**tool.input_schema, "additionalProperties": False}
        return tools

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """An argument that the tool does not have is refused: without it, what is begun and paid
        for would be another debate than the one that was meant."""
        for tool in await self.list_tools():
            known = tool.input_schema.get("properties", {})
            if tool.name == name and (unknown := sorted(set(arguments) - set(known))):
                raise ToolError(
                    f"{name} has no argument {unknown[0]!r}; it has {', '.join(known)}."
                )
        return await super().call_tool(name, arguments, context)

    async def list_resources(self) -> list[Resource]:
        debates = (await self._moot.find(Search(limit=LISTED))).debates
        found = [
            Resource(
                uri=f"moot://debates/{one.id}", name=one.id, title=_short(one.motion),
                description=f"{one.format}, {one.status}", mime_type=MARKDOWN,
            )
            for one in debates
        ]  # fmt: skip
        records = await self._moot.records("", LISTED)
        return found + [
            Resource(
                uri=record_uri(one["debate_id"]), name=one["path"], title=_short(one["title"]),
                description=one["type"], mime_type=MARKDOWN,
            )
            for one in records
        ]  # fmt: skip

    async def _debate(self, id: str) -> str:  # noqa: A002  the name in the address
        try:
            return await self._moot.export(await self._moot.resolve(id), "md")
        except NotFoundError as error:
            raise ResourceNotFoundError(error.message) from None
        except MootError as error:
            raise ResourceError(error.message) from None

    async def _record(self, id: str) -> str:  # noqa: A002
        try:
            found = await self._moot.records(id, LISTED)
        except MootError as error:
            raise ResourceError(error.message) from None
        for one in found:
            if one["debate_id"] == id:
                return str(one["text"])
        raise ResourceNotFoundError(f"No record names the debate {id}.")

    async def list_prompts(self) -> list[Prompt]:
        motion = PromptArgument(name="motion", description="The question.", required=True)
        return [
            Prompt(
                name=rules.name, title=rules.purpose or rules.title,
                description=rules.description, arguments=[motion],
            )
            for rules in await self._moot.formats()
        ]  # fmt: skip

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Any = None
    ) -> GetPromptResult:
        motion = str((arguments or {}).get("motion") or "").strip()
        rules = next((one for one in await self._moot.formats() if one.name == name), None)
        if rules is None:
            raise MCPError(code=INVALID_PARAMS, message=f"There is no format {name!r}.")
        if not motion:
            raise MCPError(code=INVALID_PARAMS, message="motion is the question; give one.")
        text = ASK.format(title=rules.title.lower(), motion=motion, format=rules.name)
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=rules.description, messages=[message])


@asynccontextmanager
async def over_http(moot: Moot) -> AsyncGenerator[ASGIApp]:
    """The server for `/mcp`, behind a gate that checks tokens, hosts and origins already.

    No session is kept: every call stands alone, so that none is lost with a process.
    """
    server = Server(moot)
    checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, transport_security=checked
    )

    async def posted(scope: Scope, receive: Receive, send: Send) -> None:
        """There is nothing to hear that a call did not ask for, and no session to end."""
        if scope["method"] == "POST":
            asked = [one for one in scope["headers"] if one[0] != SCHEME.encode()]
            asked.append((SCHEME.encode(), scope["scheme"].encode()))  # as the gate knows it
            await app({**scope, "headers": asked}, receive, send)
        else:
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)

    async with server.session_manager.run():
        yield posted


async def over_stdio(moot: Moot) -> None:
    """Serve the program that started this one, until it hangs up."""
    await Server(moot).run_stdio_async()


def _short(text: str, most: int = 100) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 2].rstrip()} …"
