"""Every provider that has a key, and endpoints of the user's own: each is called at its own address
with its own key, and no key reaches another."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from moot.errors import (
    ProviderAuthError,
    ProviderUnavailableError,
    ProviderUnknownModelError,
)
from moot.models.endpoints import FILE, load
from moot.models.providers import LOCAL, VENDORS, Providers
from moot.models.router import Router
from moot.ports.model_call import Reply
from moot.testing.provider_calls import Understudy, call
from moot.testing.wires.wire_server import Wire
from tests.contract.test_providers import WIRES

KEYED = [one.name for one in VENDORS if one.keys]
SERVERS = [one.name for one in VENDORS if one.local and one.name != LOCAL]
OWN = """
[corp]
base_url = "{url}"
key_env = "CORP_LLM_KEY"
models = ["big"]
prices = {{big = {{input = 2.0, output = 8.0}}}}
[attic]
base_url = "{url}"
[bare]
base_url = "{url}"
key_env = "BARE_KEY"
"""


def key_of(provider: str) -> str:
    return f"sk-canary-of-{provider}."


async def spoken(router: Router, model: str, **more: Any) -> Reply:
    return await router.speak(call(model, **more), lambda _: None)


def test_each_is_called_with_its_own_key_and_no_other() -> None:
    assert len(KEYED) >= 14

    async def work() -> None:
        async with Wire() as server:
            urls = {name: server.url(WIRES[VENDORS[name].api]) for name in KEYED}
            region = {"bedrock": {"AWS_REGION": "eu-central-1"}}
            keys = {name: key_of(name) for name in KEYED}
            router = Router(Providers(keys, urls, more=region), Understudy())
            try:
                for name in KEYED:
                    await spoken(router, f"{name}:m")
                    (request,) = server.requests
                    server.requests.clear()
                    sent = str(request)
                    assert key_of(name) in str(request.headers)
                    assert [key for key in keys.values() if key in sent] == [key_of(name)]
            finally:
                await router.aclose()

    asyncio.run(work())


def test_without_an_address_the_variable_is_named() -> None:
    async def work() -> None:
        router = Router(Providers({"azure": "k"}), Understudy())
        try:
            with pytest.raises(ProviderAuthError, match="Set AZURE_OPENAI_ENDPOINT"):
                await spoken(router, "azure:m")
        finally:
            await router.aclose()

    asyncio.run(work())


def test_several_servers_and_own_endpoints_speak_beside_each_other(tmp_path: Path) -> None:
    async def work() -> None:
        async with Wire() as one, Wire() as other:
            (tmp_path / FILE).write_text(OWN.format(url=one.url(LOCAL)))
            urls = {"vllm": one.url(LOCAL), "lmstudio": other.url(LOCAL)}
            keys = {name: key_of(name) for name in ("corp", "bare", "azure")}
            known = Providers(keys, urls, table=load(tmp_path))
            router = Router(known, Understudy())
            try:
                paid = await spoken(router, "corp")
                assert paid.model == "corp:big"
                usage = paid.usage
                price = usage.input_tokens * 2e-6 + usage.output_tokens * 8e-6
                assert usage.cost_usd == pytest.approx(price)
                assert one.requests[-1].headers["authorization"] == f"Bearer {key_of('corp')}"
                assert (await spoken(router, "bare")).model == "bare:tiny", "the first it lists"
                with pytest.raises(ProviderUnknownModelError, match="Write azure:NAME"):
                    await spoken(router, "azure")
                free = await spoken(router, "attic")
                assert (free.model, free.usage.cost_usd) == ("attic:tiny", 0.0)
                assert (await spoken(router, "vllm")).model == "vllm:tiny"
                assert (await spoken(router, "lmstudio:tiny")).model == "lmstudio:tiny"
                assert other.requests
                heard = [one.headers.get("authorization", "") for one in other.requests]
                assert not any("canary" in key for key in heard)
                assert router.card("vllm:tiny").window == 4096
                found = {status.provider: status.works for status in await router.describe()}
                assert all(found[name] for name in ("corp", "attic", "vllm", "lmstudio"))
                assert "groq" not in found, "those that nobody set are not listed"
            finally:
                await router.aclose()

    asyncio.run(work())


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_that_is_not_there_says_what_to_do(name: str) -> None:
    async def work() -> None:
        router = Router(Providers({}, {name: "http://127.0.0.1:1/v1"}), Understudy())
        try:
            with pytest.raises(ProviderUnavailableError, match=f"set {VENDORS[name].url}"):
                await spoken(router, name)
        finally:
            await router.aclose()

    asyncio.run(work())
