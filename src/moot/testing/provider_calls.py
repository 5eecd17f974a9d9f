"""Calls to a provider whose API is the local server's: what `provider_contract` is made of."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from moot.core.debate import Debate
from moot.core.limits import WHOLE
from moot.core.prompts import Message
from moot.core.schedule import Step
from moot.errors import ProviderError
from moot.models.providers import VENDORS, Providers
from moot.models.router import Router
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.testing.bus_peer import PATIENCE
from moot.testing.wires.wire_server import Request, Wire

KEY = "sk-canary-7f3a"
SECONDS = 0.5  # of a call that is to run into its deadline
PROMPT = (
    Message("system", "You are Ada."),
    Message("user", "What do you say?"),
    Message("assistant", "I say yes."),
    Message("user", "And why?"),
)
SCHEMA = {
    "type": "object",
    "properties": {"claim": {"type": "string"}},
    "required": ["claim"],
    "additionalProperties": False,
}
FAULTS = {
    "401": "AUTH",
    "403": "AUTH",
    "404": "UNKNOWN_MODEL",
    "429": "RATE_LIMIT",
    "429-after": "RATE_LIMIT",
    "500": "UNAVAILABLE",
    "503": "UNAVAILABLE",
    "529": "UNAVAILABLE",
    "none": "TIMEOUT",  # no answer
    "late": "TIMEOUT",  # the first token is late
    "stuck": "TIMEOUT",  # the next token is late
    "slow": "TIMEOUT",  # there is no last token
    "cut": "UNAVAILABLE",  # the stream cut half-way: the connection is gone,
    "short": "UNAVAILABLE",  # or the stream ends as if it were whole
    "fails": "UNAVAILABLE",  # an error inside the stream
    "empty": "EMPTY",
    "blank": "EMPTY",
    "silence": "EMPTY",  # the tokens ran out before a word was said
    "refusal": "REFUSED",
    "context": "CONTEXT",
    "garbage": "INVALID",  # not JSON
    "shape": "INVALID",
    "html": "INVALID",
    "packed": "INVALID",
    "huge": "INVALID",  # an event of 1 GB
    "lines": "INVALID",
    "heavy": "INVALID",  # an error whose body has 1 GB
}
"""What can go wrong on the wire, and the code that tells of it."""
ENDLESS = frozenset({"none", "late", "stuck", "slow"})


@dataclass(frozen=True)
class Subject:
    """A provider, the wire format that it speaks, and what is to be known of both."""

    provider: str  # a row of providers.toml
    wire: str  # what the server calls its format
    model: str  # one whose price is known, and that can be called without thinking
    without: frozenset[str] = frozenset()  # faults that the format cannot have
    counts_thoughts: bool = True  # the vendor tells how many tokens were thought
    apart: bool = False  # those are not among the tokens of the answer
    tools: bool = True  # a structured answer may come as a tool's input

    @property
    def label(self) -> str:
        return VENDORS[self.provider].label.removeprefix("the ")

    @property
    def faults(self) -> dict[str, str]:
        return {fault: code for fault, code in FAULTS.items() if fault not in self.without}

    def named(self, name: str) -> str:
        return f"{self.provider}:{name}"


class Understudy:
    """Stands in; here, only to be recognised."""

    def card(self, model: str) -> ModelCard:
        return ModelCard("local:understudy", 1_000_000, 0.0, 0.0)

    async def speak(self, call: Call, say: Say) -> Reply:
        raise AssertionError("nobody asked for the understudy")


def call(model: str, seconds: float = 60.0, **more: Any) -> Call:
    scene = SimpleNamespace(id="debate-1"), SimpleNamespace(actor="ada")
    debate, step = cast(tuple[Debate, Step], scene)
    return Call(model, PROMPT, more.pop("max_tokens", 200), seconds, debate, step, (), **more)


def nothing(_: str) -> None:
    """Hears nobody."""


def known(provider: str, url: str, folder: Path, key: str = KEY) -> Providers:
    """A provider at that address, with a canary for a key."""
    row = VENDORS[provider]
    keys = {provider: key} if row.keys else {}
    more = {"AWS_REGION": "eu-central-1", "GOOGLE_CLOUD_PROJECT": "project-1"}
    if "GOOGLE_APPLICATION_CREDENTIALS" in row.reads:
        more["GOOGLE_APPLICATION_CREDENTIALS"] = str(service_account(folder, f"{url}/token"))
    told = {name: more[name] for name in row.reads if name in more}
    return Providers(keys, {provider: url}, more={provider: told})


def service_account(folder: Path, token_url: str) -> Path:
    """A file as Google Cloud gives it to programs."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    path = folder / "account.json"
    if not path.exists():
        pem = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        account = {
            "type": "service_account",
            "project_id": "project-of-the-file",
            "private_key_id": "1",
            "private_key": pem.decode(),
            "client_email": "moot@project-1.iam.gserviceaccount.com",
            "token_uri": token_url,
        }
        path.write_text(json.dumps(account))
    return path


@asynccontextmanager
async def talking(providers: Providers, *warm: str) -> AsyncGenerator[Router]:
    """A router on these providers; what `warm` names is called once, so that its SDK is loaded."""
    router = Router(providers, Understudy())
    try:
        for model in warm:
            await router.speak(call(model, PATIENCE), nothing)
        yield router
    finally:
        await router.aclose()


@dataclass
class Talk:
    """A server, a router that knows it as one provider, and the loop that both live in."""

    subject: Subject
    folder: Path
    server: Wire = field(default_factory=Wire)
    router: Router = field(init=False)
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    @contextmanager
    def open(self) -> Generator["Talk"]:
        opened = self._opened()
        with self.runner:
            self.runner.run(opened.__aenter__())
            try:
                yield self
            finally:
                self.runner.run(opened.__aexit__(None, None, None))

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[None]:
        about = self.subject
        async with self.server:
            providers = known(about.provider, self.server.url(about.wire), self.folder)
            async with talking(providers, about.named("warm")) as self.router:
                yield

    def run(self, test: Callable[[Router, Wire], Coroutine[Any, Any, None]]) -> None:
        self.server.requests.clear()
        self.server.pause, self.server.answers = 0.01, None
        self.runner.run(test(self.router, self.server))

    def model(self, fault: str) -> str:
        return self.subject.named(f"wire-{fault}")

    async def fails(self, fault: str, seconds: float = 60.0, **more: Any) -> ProviderError:
        return await fails(self.router, self.model(fault), self.subject.label, seconds, **more)


async def fails(
    router: Router, model: str, label: str, seconds: float = 60.0, **more: Any
) -> ProviderError:
    """The error of a call that must fail, and not wait for a server that never goes on. It names
    whom it is about, and holds nothing that came over the wire."""
    with pytest.raises(ProviderError) as caught:
        async with asyncio.timeout(PATIENCE + 60 + seconds * WHOLE):
            await router.speak(call(model, seconds, **more), nothing)
    error = caught.value
    assert label in error.message
    assert error.message.endswith(".")
    assert error.__cause__ is None
    assert error.__context__ is None
    for text in (error.message, repr(error), repr(vars(error))):
        assert "canary" not in text
        assert "Traceback" not in text
        assert "127.0.0.1" not in text
    return error


def said_on_the_wire(request: Request) -> list[str]:
    """The prompt's texts in the order in which the model reads them."""
    body = request.body
    match request.vendor:
        case "openai":
            texts = [body["instructions"]] if "instructions" in body else []
            return texts + [message["content"] for message in body["input"]]
        case "claude" | "bedrock":
            turns = body["messages"]
            texts = _texts(body["system"])
            assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
            return texts + [text for turn in turns for text in _texts(turn["content"])]
        case "gemini" | "vertex":
            turns = [body["systemInstruction"], *body["contents"]]
            assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
            return [text for turn in turns for text in _texts(turn["parts"])]
        case _:
            turns = body["messages"]
            roles = ["system", "user", "assistant", "user"]
            assert [turn["role"] for turn in turns] == roles
            return [turn["content"] for turn in turns]


def _texts(blocks: list[Mapping[str, Any]]) -> list[str]:
    return [str(block["text"]) for block in blocks if "text" in block]
