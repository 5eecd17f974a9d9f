"""Servers of this machine, spoken to as each needs: Ollama in its own words, llama.cpp by slots."""

import asyncio
import json
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from moot.core.debate import Debate
from moot.core.prompts import Heard, Message
from moot.core.schedule import Step
from moot.core.voices import UNDERSTUDY
from moot.models.local.weights import Shelf
from moot.models.providers import Providers
from moot.models.router import Router
from moot.models.understudy import Understudy
from moot.models.vendors.ollama import read_window
from moot.ports.model_call import Call
from tests import tiny_gguf
from tests.unit.core.test_prompts import debate_of, steps_of
from tests.unit.models.local.test_small import call_of

PIECES = ("Well, ", "the town ", "needs it.")


@dataclass
class Server:
    """Answers as Ollama 0.12 does; `owner` and `slots` make a llama.cpp of it."""

    owner: str = "library"
    slots: int | None = None
    sizes: dict[str, Any] = field(default_factory=dict[str, Any])  # of models, as it tells them
    url: str = ""
    paths: list[str] = field(default_factory=list[str])
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    at_once: int = 0
    most: int = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split()[1]
        sizes = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
        size = int(sizes[0].partition(":")[2]) if sizes else 0
        body = json.loads(await reader.readexactly(size)) if size else {}
        self.paths.append(path)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        if path in ("/api/chat", "/v1/chat/completions"):
            self.asked.append(body)
            await asyncio.sleep(0.1)
        status, lines = self.answer(path, body)
        writer.write(f"HTTP/1.1 {status} OK\r\nConnection: close\r\n\r\n".encode())
        for line in lines:
            writer.write(line)
        self.at_once -= 1
        await writer.drain()
        writer.close()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, list[bytes]]:
        model = str(body.get("model", ""))
        match path:
            case "/v1/models":
                rows = [
                    {"id": name, "owned_by": self.owner, "meta": {"n_params": self.sizes.get(name)}}
                    for name in ("qwen:7b", "set:1b")
                ]
                return 200, [json.dumps({"data": rows}).encode()]
            case "/api/tags" if self.owner == "library" and self.sizes:
                models = [
                    {"name": name, "details": {"parameter_size": size}}
                    for name, size in self.sizes.items()
                ]
                return 200, [json.dumps({"models": models}).encode()]
            case "/api/version" if self.owner == "library":
                return 200, [b'{"version": "0.12.6"}']
            case "/props" if self.slots:
                return 200, [json.dumps({"total_slots": self.slots}).encode()]
            case "/api/show":
                shown = {
                    "parameters": 'stop "x"\nnum_ctx                        4096\n'
                    if model == "set:1b"
                    else "",
                    "model_info": {"qwen2.context_length": 32_768},
                }
                return 200, [json.dumps(shown).encode()]
            case "/api/chat":
                return self.chat(model)
            case "/v1/chat/completions":
                event = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": model}
                choice = {"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}
                return 200, [b"data: %s\n\n" % json.dumps(event | {"choices": [choice]}).encode()]
            case _:
                return 404, [b"{}"]

    def chat(self, model: str) -> tuple[int, list[bytes]]:
        lines: list[dict[str, Any]] = [
            {"model": model, "message": {"content": text}, "done": False} for text in PIECES
        ]
        last = {"model": model, "message": {"content": ""}, "done": True, "done_reason": "length"}
        lines.append(last | {"prompt_eval_count": 31, "eval_count": 7})
        return 200, [json.dumps(line).encode() + b"\n" for line in lines]


@asynccontextmanager
async def serving(server: Server, home: Path | None = None) -> AsyncGenerator[Router]:
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    router = Router(Providers(), Understudy(), home)
    router._local._usual = (("here", f"{server.url}/v1"),)
    await router._load()
    try:
        yield router
    finally:
        await router.aclose()
        listening.close()
        await listening.wait_closed()


def call(model: str = "local", **more: Any) -> Call:
    scene = SimpleNamespace(id="debate-1"), SimpleNamespace(actor="ada")
    debate, step = cast(tuple[Debate, Step], scene)
    messages = Message("system", "You are Ada."), Message("user", "Well?")
    return Call(model, messages, 200, 10.0, debate, step, (), **more)


def nothing(_: str) -> None:
    pass


def test_ollama_is_told_the_window_and_the_shape() -> None:
    async def main() -> None:
        server = Server()
        async with serving(server) as router:
            pieces: list[str] = []
            reply = await router.speak(call(), pieces.append)
            assert "".join(pieces) == "".join(PIECES)
            assert (reply.text, reply.model, reply.cut) == ("".join(PIECES), "local:qwen:7b", True)
            assert (reply.usage.input_tokens, reply.usage.output_tokens) == (31, 7)
            (asked,) = server.asked
            assert asked["options"] == {"num_ctx": 8192, "num_predict": 200}
            assert asked["truncate"] is False
            assert [message["role"] for message in asked["messages"]] == ["system", "user"]
            assert "format" not in asked
            schema = {"type": "object", "properties": {"a": {"type": "string"}}}
            await router.speak(call("local:set:1b", schema=schema), nothing)
            asked = server.asked[-1]
            assert asked["options"]["num_ctx"] == 4096
            assert asked["format"]["properties"] == schema["properties"]
            assert router.card("local:set:1b").window == 4096
            assert router.card("local").window == 8192
            assert (await router.describe())[-1].detail.startswith("Ollama with 2 models answers")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("server", "most"), [(Server(), 1), (Server("llamacpp", 2), 2), (Server("somebody"), 5)]
)
def test_calls_wait_for_a_server_that_tells_its_slots(server: Server, most: int) -> None:
    async def main() -> None:
        async with serving(server) as router:
            await router._local.find()
            server.most = 0
            allowed: list[float] = []
            calls = (router.speak(call(allow=allowed.append), nothing) for _ in range(5))
            await asyncio.gather(*calls)
            assert server.most == most
            assert allowed.count(math.inf) == (0 if most == 5 else 5)

    asyncio.run(main())


def test_a_server_may_close_a_connection_that_it_seemed_to_keep() -> None:
    """As llama.cpp does after a while: with the next call half-way there."""
    answered, over = 0, asyncio.Semaphore(0)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"data": [{"id": "tiny"}]}'
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        answered += 1
        await reader.read(1)  # the next call, or the end
        writer.close()
        over.release()

    async def main() -> None:
        async with await asyncio.start_server(handle, "127.0.0.1", 0) as listening:
            url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1/models"
            router = Router(Providers(), Understudy(), None)
            try:
                for _ in range(5):
                    await router._fetch(url, 5.0)
            finally:
                await router.aclose()
            for _ in range(answered):
                await over.acquire()
        assert answered == 5

    asyncio.run(main())


@pytest.mark.parametrize(
    "server",
    [
        Server(sizes={"qwen:7b": "7.6B", "set:1b": "494.03M"}),
        Server("llamacpp", 1, sizes={"qwen:7b": 7_600_000_000, "set:1b": 1_500_000_000}),
    ],
    ids=["Ollama", "llama.cpp"],
)
def test_a_small_model_of_a_server_is_told_little_too(server: Server) -> None:
    async def main() -> None:
        async with serving(server) as router:
            await router._local.find()
            assert (router.card("local:qwen:7b").small, router.card("local:set:1b").small) == (
                False,
                True,
            )
            now, wave = next(steps_of(debate_of("duel", "Ada Ben")))
            asked = call_of(wave.steps[0], now, Heard())
            for model in ("local:qwen:7b", "local:set:1b"):
                await router.speak(replace(asked, model=model), nothing)
            large, small = (body["messages"][-1]["content"] for body in server.asked)
            assert "Begin with: " not in large
            assert small.endswith(", because that would help")

    asyncio.run(main())


@pytest.mark.parametrize("sizes", [{"set:1b": "much"}, {"set:1b": 5}, {"set:1b": ""}])
def test_sizes_that_cannot_be_read_are_taken_for_large(sizes: dict[str, Any]) -> None:
    async def main() -> None:
        for server in (Server(sizes=sizes), Server("llamacpp", 1, sizes={"set:1b": "much"})):
            async with serving(server) as router:
                assert (await router.describe())[-1].works
                assert not router.card("local:set:1b").small

    asyncio.run(main())


def test_a_server_goes_before_the_model_of_this_machine(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    tiny_gguf.write(folder / "tiny.gguf", context=2048)
    Shelf(tmp_path).use("tiny")

    async def main() -> None:
        async with serving(Server(), tmp_path) as router:
            assert router.card("local").window == 2048  # nobody has looked for a server
            assert (await router.describe())[-1].model == "local:qwen:7b"
            assert router.card("local").model == "local:qwen:7b"
            assert router.card("local:tiny").window == 2048  # by its name it is meant all the same
            router._local._usual = ()
            router._local.looked = False
            assert (await router.describe())[-1].model == "local:tiny"
            assert router.card("local").model == "local:tiny"
            Shelf(tmp_path).use("none")
            router.embedded._looked = -10.0
            assert (await router.describe())[-1].model == UNDERSTUDY
            assert router.card("local").model == UNDERSTUDY
            assert router.embedded.llama.child is None

    asyncio.run(main())


@pytest.mark.parametrize(
    ("shown", "window"),
    [
        ({"model_info": {"llama.context_length": 2048}}, 2048),
        ({"parameters": "num_ctx 16384"}, 16_384),
        ({"model_info": {"llama.context_length": "much"}}, None),
        ({}, None),
        ([], None),
    ],
)
def test_the_window_in_what_ollama_shows(shown: object, window: int | None) -> None:
    assert read_window(shown) == window
