"""The tools of an agent, through the official SDK's own client: over standard input and output,
over HTTP, and in virtual time."""

import asyncio
import json
import os
import random
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from moot.mcp.tool_server import PATH, Server, over_http
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker
from tests import clients
from tests.acceptance.test_http import Cast
from tests.integration import councils
from tests.patience import seconds, until
from tests.served import Served, served
from tests.stress import STRESS
from tests.virtual import MODEL, engine, go

TOKEN = "a-token-of-some-length"  # noqa: S105
TOOLS = {
    "start_debate", "wait_debate", "say", "ask_debate", "get_result", "list_debates",
    "search_records",
    "run_debate_mode", "replay_debate_mode",
}  # fmt: skip


def stdio(home: Path, **environment: str) -> StdioServerParameters:
    told = {**os.environ, "MOOT_HOME": str(home), "MOOT_MODEL": "local:understudy", **environment}
    return StdioServerParameters(command=sys.executable, args=["-m", "moot", "mcp"], env=told)


async def call(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


async def refused(client: Client, tool: str, /, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.structured_content
    return str(getattr(answer.content[0], "text", ""))


async def hold(client: Client, format_: str = "council") -> dict[str, Any]:
    """A debate as an agent holds it, and every answer that it reads."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() >= TOOLS
    assert all(tool.output_schema for tool in tools.values())
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())
    heard: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert message
        heard.append((progress, total))

    asked: dict[str, Any] = {
        "motion": "Should we ship?", "format": format_, "key": "k1",
        "sources": [{"title": "Rota", "text": "Nobody is there on Saturday."}],
    }  # fmt: skip
    begun = await call(client, "start_debate", **asked)
    again = await call(client, "start_debate", **asked)
    assert again["id"] == begun["id"]
    while True:
        answer = await client.call_tool(
            "wait_debate", {"id": begun["id"][-6:]}, progress_callback=hear
        )
        done: Any = answer.structured_content
        if done["rests"]:
            break
    assert done["status"] == "completed"
    assert [at for at, _ in heard] == sorted(at for at, _ in heard)
    assert begun["id"] in done["answer"]  # where to read on
    result = await call(client, "get_result", id="last")
    assert result["answer"] == done["answer"]
    return result


async def read(client: Client, result: dict[str, Any]) -> None:
    """What a council leaves behind, by every way to it."""
    assert result["outcome"] == result["verdict"]["outcome"] == "decided"
    assert result["packet"]["decision"]["selectedOption"] == result["selected"]
    listed = await call(client, "list_debates", words="ship", status="completed")
    assert [one["id"] for one in listed["debates"]] == [result["id"]]
    found = await call(client, "search_records", words="ship")
    resources = (await client.list_resources()).resources
    uris = {str(one.uri) for one in resources}
    assert uris == {f"moot://debates/{result['id']}", found["records"][0]["uri"]}
    for uri in uris:
        content = (await client.read_resource(uri)).contents[0]
        assert getattr(content, "text", "").startswith("# Decided")
    replayed = await call(client, "replay_debate_mode", run_id=result["id"])
    assert replayed["replay"]["finalPacket"] == result["packet"]
    council = {"problem": "Should we move?", "outputType": "decision"}
    ran = await call(client, "run_debate_mode", request=council)
    while ran["packet"] is None:
        await call(client, "wait_debate", id=ran["runId"])
        ran = await call(client, "get_result", id=ran["runId"])
    assert ran["packet"]["problem"] == "Should we move?"
    prompts = {one.name for one in (await client.list_prompts()).prompts}
    assert {"council", "duel", "classic"} <= prompts
    asked = await client.get_prompt("council", {"motion": "Why so?"})
    assert "Why so?" in getattr(asked.messages[0].content, "text", "")


async def wrong(client: Client) -> None:
    """What is wrong is told in words, with the field, and nothing is begun."""
    assert "motion" in await refused(client, "start_debate", motion=" ")
    assert "'rounds'" in await refused(client, "start_debate", motion="x", rounds=3)
    assert "path" in await refused(client, "start_debate", motion="x", sources=[{"path": "/etc"}])
    assert "There is no format" in await refused(client, "start_debate", motion="x", format="wat")
    assert "output_type" in await refused(client, "run_debate_mode", request={"problem": "x"})
    assert "zzzzzz" in await refused(client, "get_result", id="zzzzzz")
    assert "50" in await refused(client, "wait_debate", id="last", seconds=51)
    assert "status" in await refused(client, "list_debates", status="wat")
    assert "Idempotency-Key" in await refused(client, "start_debate", motion="Other?", key="k1")
    for uri in ("moot://debates/debate_20200101_000000_aaaaaa", "moot://records/none", "moot://x"):
        with pytest.raises(MCPError):
            await client.read_resource(uri)
    for name, arguments in (("wat", {"motion": "x"}), ("council", {})):
        with pytest.raises(MCPError):
            await client.get_prompt(name, arguments)
    assert len((await call(client, "list_debates"))["debates"]) == 2


async def whole(client: Client) -> None:
    await read(client, await hold(client))
    await wrong(client)


# --- over standard input and output ---


def test_embedded_without_a_server(tmp_path: Path) -> None:
    async def use() -> None:
        async with Client(stdio(tmp_path / "home")) as client:
            await whole(client)

    asyncio.run(use())


def test_what_was_left_goes_on_in_the_next_process(tmp_path: Path) -> None:
    """An agent that ends its server in the middle finds the debate again, and it ends."""

    async def use() -> None:
        async with Client(stdio(tmp_path / "home")) as client:
            made = await call(client, "start_debate", motion="Should we ship?", format="classic")
        async with Client(stdio(tmp_path / "home")) as client:
            while not (done := await call(client, "wait_debate", id=made["id"]))["rests"]:
                pass
        assert done["status"] == "completed"

    asyncio.run(use())


def test_with_a_server_elsewhere(tmp_path: Path) -> None:
    async def use(url: str) -> None:
        async with Client(stdio(tmp_path / "none", MOOT_URL=url)) as client:
            result = await hold(client, "duel")
            assert result["where"].startswith(url)

    with served(tmp_path / "home", speaker=Cast()) as server:
        asyncio.run(use(server.url))
        (debate,) = server.http.get("/debates").json()["items"]
        (source,) = server.http.get(f"/debates/{debate['id']}/sources").json()["items"]
        assert source["title"] == "Rota"
    assert not (tmp_path / "none" / "records").exists()


def test_a_person_speaks_through_their_agent(tmp_path: Path) -> None:
    """At a human seat the debate waits for them; words that come twice are said once."""

    async def use() -> None:
        async with Client(stdio(tmp_path / "home")) as client:
            seats = [{"name": "Me", "model": "human"}, {"name": "Ben"}]
            made = await call(
                client, "start_debate", motion="Should we ship?", format="duel", participants=seats
            )
            spoken = 0
            while not (done := await call(client, "wait_debate", id=made["id"]))["rests"]:
                assert done["waiting_for"] == "me"
                assert "ask the user" in done["next"]
                words = {"text": f"My point number {spoken}, which is mine alone.", "seat": "me"}
                for _ in "ab":
                    await call(client, "say", id=made["id"], key=f"say{spoken}", **words)
                spoken += 1
            assert spoken == 3
            assert done["status"] == "completed"
            text = (await client.read_resource(f"moot://debates/{made['id']}")).contents[0]
            for number in range(3):
                assert f"My point number {number}, which is mine" in getattr(text, "text", "")

    asyncio.run(use())


def test_a_person_fills_in_the_fields_of_a_council(tmp_path: Path) -> None:
    """wait_debate says what the seat is asked for, and say takes it."""

    async def use() -> None:
        settings = Settings(home=tmp_path, model=MODEL)
        async with (
            engine(settings, councils.council_speaker()) as service,
            Client(Server(service)) as client,
        ):
            seats = [{"role": "Analyst", "model": "human"}]
            made = await call(client, "start_debate", motion="Move?", participants=seats)
            waited = await call(client, "wait_debate", id=made["id"])
            asked = waited["asked"]
            assert (waited["waiting_for"], asked["seat"]) == ("analyst", "analyst")
            result = await call(client, "get_result", id=made["id"])
            assert "waits for Analyst, a person" in result["answer"]
            telling = {"id": made["id"], "seat": "analyst", "key": "mine"}
            assert "`answer`" in await refused(client, "say", text="Yes.", **telling)
            answer = {one["name"]: filled(one) for one in asked["fields"] if one["required"]}
            for _ in "ab":
                await call(client, "say", answer=answer, **telling)
            after = await call(client, "wait_debate", id=made["id"])
            assert (after["waiting_for"], after["turns_done"]) == ("analyst", 5 + 4)
            assert after["asked"]["stage"] != asked["stage"]

    go(use())


def filled(field: dict[str, Any]) -> Any:
    """Something that fits."""
    if field["type"] == "table":
        one: Any = {part["name"]: filled(part) for part in field["fields"]}
    elif field["choices"]:
        one = field["choices"][0]
    else:
        one = {"share": 0.6, "turns": 1}.get(field["type"], "Because of the rota.")
    return [one] if field["list"] else one


# --- over HTTP ---


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    home = tmp_path_factory.mktemp("mcp") / "home"
    told: dict[str, Any] = {"trusted_proxies": "127.0.0.1", "doors": {PATH: over_http}}
    with served(home, speaker=Cast(), token=TOKEN, **told) as made:
        yield made


@asynccontextmanager
async def connected(server: Served) -> AsyncGenerator[Client]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=seconds()) as http,
        Client(streamable_http_client(f"{server.url}{PATH}", http_client=http)) as client,
    ):
        yield client


def test_streamable_http(server: Served) -> None:
    async def use() -> None:
        async with connected(server) as client:
            await whole(client)

    asyncio.run(use())


@pytest.mark.stress("test_streamable_http, with the SDK for Python")
def test_the_sdk_for_node_over_both_transports(server: Served, tmp_path: Path) -> None:
    """The client that most programs written for Node have."""
    told = {"MOOT_HOME": str(tmp_path / "home"), "MOOT_MODEL": "local:understudy"}
    clients.node(
        f"""
import {{ Client }} from "@modelcontextprotocol/sdk/client/index.js";
import {{ StdioClientTransport }} from "@modelcontextprotocol/sdk/client/stdio.js";
import * as http from "@modelcontextprotocol/sdk/client/streamableHttp.js";

async function use(transport) {{
  const client = new Client({{ name: "test", version: "1" }});
  await client.connect(transport);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  if (!tools.includes("wait_debate")) throw new Error("no tools");
  const asked = {{ motion: "Should node ship?", format: "duel" }};
  const begun = await client.callTool({{ name: "start_debate", arguments: asked }});
  const id = begun.structuredContent.id;
  let done;
  do {{
    const call = {{ name: "wait_debate", arguments: {{ id }} }};
    const onprogress = () => {{}};
    done = (await client.callTool(call, undefined, {{ onprogress }})).structuredContent;
  }} while (!done.rests);
  if (done.status !== "completed" || !done.answer) throw new Error(JSON.stringify(done));
  const uri = `moot://debates/${{id}}`;
  const {{ contents }} = await client.readResource({{ uri }});
  if (!contents[0].text.includes("Should node ship?")) throw new Error("not the debate");
  const prompt = await client.getPrompt({{ name: "duel", arguments: {{ motion: "Why?" }} }});
  if (!prompt.messages[0].content.text.includes("Why?")) throw new Error("not the prompt");
  await client.close();
}}

const headers = {{ Authorization: "Bearer {TOKEN}" }};
const url = new URL("{server.url}{PATH}");
await use(new http.StreamableHTTPClientTransport(url, {{ requestInit: {{ headers }} }}));
const args = ["-m", "moot", "mcp"];
await use(new StdioClientTransport({{ command: {sys.executable!r}, args, env: process.env }}));
""",
        **told,
    )


def post(server: Served, body: Any, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    accepted = "application/json, text/event-stream"
    told = {"Content-Type": "application/json", "Accept": accepted, **headers}
    return server.http.post(PATH, content=content, headers=told)


def test_tokens_hosts_and_origins_are_checked(server: Served) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert post(server, listing, Authorization="Bearer wrong").status_code == 401
    assert post(server, listing, Host="evil.example").status_code == 421
    assert post(server, listing, Origin="http://evil.example").status_code == 403
    for method in ("GET", "DELETE", "PUT"):
        assert server.http.request(method, PATH).status_code == 405
    again = server.http.post(
        f"{PATH}/", json=listing, headers={"Accept": "application/json, text/event-stream"}
    )
    assert again.status_code == 200, "people write the path with a slash, too"


def test_behind_a_proxy_the_page_is_where_the_caller_came_from(server: Served) -> None:
    listed = server.http.get("/debates").json()["items"]
    known = listed[0]["id"] if listed else server.create("Fail: shall we?", format="duel")["id"]
    asked = {"name": "get_result", "arguments": {"id": known}}
    calling = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    for scheme in ("http", "https"):
        told = post(server, calling, **{"X-Forwarded-Proto": scheme}).text
        assert f"{scheme}://127.0.0.1:{server.port}/d/{known}" in told


def test_who_hangs_up_in_the_middle_of_a_request_is_no_error_of_ours(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "moot.http")
    for path in (PATH, f"{PATH}/", "/v1/chat/completions", "/debates"):
        with socket.create_connection(("127.0.0.1", server.port)) as half:
            half.sendall(
                f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
                "Accept: application/json, text/event-stream\r\n"
                "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{".encode()
            )
        until(lambda path=path: f"POST {path} 400" in caplog.text)
    assert [one for one in caplog.records if one.levelname not in ("INFO", "DEBUG")] == []


def fuzzed(chance: random.Random, depth: int = 0) -> Any:
    simple: list[Any] = [None, True, -1, 1e400, "", "x", "\ud800", "2.0", "tools/call", [], {}]
    if depth > 3 or chance.random() < 0.5:
        return chance.choice(simple)
    if chance.random() < 0.4:
        return [fuzzed(chance, depth + 1) for _ in range(chance.randrange(3))]
    names = ("jsonrpc", "id", "method", "params", "name", "arguments", "format", "_meta")
    return {chance.choice(names): fuzzed(chance, depth + 1) for _ in range(chance.randrange(4))}


NEARLY: list[dict[str, Any]] = [
    {"format": "wat"}, {"format": None}, {"format": {}}, {"format": "../duel"}, {"jury": 0},
    {"jury": "three"}, {"jury": 1e400}, {"participants": "claude"}, {"participants": [1]},
    {"participants": [{"wat": 1}]}, {"sources": [{"text": "x", "wat": 1}]}, {"sources": ["x"]},
    {"participants": [{"name": "x", "agent": "\x00"}]}, {"options": {"rounds": -1}},
    {"options": {"wat": 1}}, {"options": []}, {"max_cost_usd": 0}, {"max_cost_usd": "NaN"},
    {"max_cost_usd": 1e-12}, {"key": ""}, {"key": "a b"}, {"key": "x" * 201},
    {"motion": "x" * 4001},
    {"motion": "\ud800" * 4001}, {"model": "claude"}, {"base_url": "http://evil.example"},
    {"webhook": "http://evil.example"}, {"sources": [{"path": "/etc/passwd"}]},
]  # fmt: skip
"""A question that could be debated, with something else that is wrong, or not a field at all."""


def test_bodies_that_no_client_sends(server: Served) -> None:
    """No error of ours, and no debate that nobody asked for."""
    before = len(server.http.get("/debates", params={"limit": 200}).json()["items"])
    chance = random.Random(5)
    for number in range(500 if STRESS else 100):
        asked: Any = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
            "name": "start_debate", "arguments": fuzzed(chance)}}  # fmt: skip
        if number % 3 == 0:
            asked["params"]["arguments"] = {"motion": chance.choice(["", None, 1, [], {}, " "])}
        elif number % 3 == 1:
            asked["params"]["arguments"] = {"motion": "Should we?", **chance.choice(NEARLY)}
        if number % 2:
            asked[chance.choice(["params", "method", "id", "jsonrpc"])] = fuzzed(chance)
        if number % 5 == 0:
            asked = fuzzed(chance)
        body = json.dumps(asked).encode()
        if number % 7 == 0:
            body = body[: chance.randrange(len(body))] + bytes(chance.randrange(256) for _ in "abc")
        assert post(server, body).status_code < 500, body
    after = len(server.http.get("/debates", params={"limit": 200}).json()["items"])
    assert after == before


# --- a long council, and a client that waits a minute at the most ---


@pytest.mark.sqlite_only
def test_a_council_of_ten_minutes_through_a_client_with_a_limit_of_one(tmp_path: Path) -> None:
    """In virtual time: every call comes back within the limit, and the council is whole."""
    times = 100 if STRESS else 2

    async def use(number: int) -> None:
        settings = Settings(home=tmp_path / str(number), model=MODEL)
        speaker = councils.council_speaker()
        speaker._seconds = 600 / 5  # five waves
        limits = {"max_turn_seconds": 120}
        async with engine(settings, speaker) as service:
            loop = asyncio.get_running_loop()
            begun = loop.time()
            heard: list[float] = []

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                heard.append(progress)

            asked = {"problem": "Move?", "output_type": "decision", **limits}
            async with Client(Server(service), read_timeout_seconds=60) as client:
                ran = await call(client, "run_debate_mode", request=asked)
                calls = 1
                while True:
                    waited = await client.call_tool(
                        "wait_debate", {"id": ran["runId"]}, progress_callback=hear
                    )
                    done: Any = waited.structured_content
                    if done["rests"]:
                        break
                    calls += 1
            assert heard[-1] == done["turns_done"] == done["turns_total"]
            assert heard == sorted(set(heard))
            assert len(heard) > done["turns_total"] / 2
            assert done["status"] == "completed"
            assert done["outcome"] == "decided"
            assert loop.time() - begun >= 590
            assert calls >= 10

    for number in range(times):
        go(use(number), within=2000)
    print(f"{times} of {times} councils of ten minutes")


@pytest.mark.sqlite_only
def test_an_answer_that_takes_longer_than_a_call_is_paid_for_once(tmp_path: Path) -> None:
    """Whether the call comes back without it, or its client gives up and asks again."""

    async def use() -> None:
        speaker = ScriptedSpeaker()
        async with (
            engine(Settings(home=tmp_path, model=MODEL), speaker) as service,
            Client(Server(service)) as client,
        ):
            made = await service.create("m", format="duel")
            await service.wait(made.id)
            speaker._seconds, before = 33.0, len(speaker.calls)
            asked = {"id": made.id, "question": "Who won?"}
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(10):
                    await call(client, "ask_debate", **asked)
            told = await call(client, "ask_debate", **asked, seconds=10)
            assert (told["status"], told["answer"]) == ("asking", "")
            told = await call(client, "ask_debate", **asked)
            assert (told["status"], told["number"]) == ("answered", 1)
            assert len(speaker.calls) == before + 1

    go(use(), within=2000)
