"""What providers offer: asked live over each wire, bounded in time; and misspelt models."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.core.debate import Debate, Turn
from moot.errors import InputError, ProviderUnknownModelError
from moot.models import listing
from moot.models.endpoints import FILE
from moot.models.listing import read
from moot.models.providers import Providers
from moot.models.router import Router
from moot.ports.available_models import Offers
from moot.settings import Settings
from moot.testing.wires.wire_server import Wire
from tests.integration.test_council_wires import COUNCIL, Model
from tests.integration.test_vendors import VENDORS, Understudy, call

OFFERED = [
    {"id": "gpt-6-astra", "context_length": 400_000},
    {
        "id": "new-words-1",
        "max_input_tokens": 70_000,
        "pricing": {"prompt": "0.000002", "completion": "0.000008"},
    },
    {"id": "text-embedding-9"},
]
KEYS = {name: f"sk-canary-{name}" for name in ("openai", "claude", "gemini")}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "SECONDS", 60.0)  # on a slow machine, too


@asynccontextmanager
async def routed(server: Wire, **more: Any) -> AsyncGenerator[Router]:
    urls = {one: server.url(one) for one in VENDORS}
    router = Router(Providers(KEYS, urls, **more), Understudy())
    try:
        yield router
    finally:
        await router.aclose()


async def offers(router: Router, provider: str) -> Offers:
    (found,) = await router.offers(provider)
    return found


@pytest.mark.parametrize("vendor", ["openai", "claude", "gemini"])
def test_a_vendor_is_asked_in_its_own_way_with_its_own_key(vendor: str) -> None:
    async def work() -> None:
        async with Wire(models=OFFERED) as server, routed(server) as router:
            found = await offers(router, vendor)
            assert (found.live, found.detail) == (True, "")
            by_name = {one.model.partition(":")[2]: one for one in found.models}
            assert set(by_name) == {"gpt-6-astra", "new-words-1"}
            new = by_name["new-words-1"]
            assert (new.window, new.input_price, new.output_price) == (70_000, 2.0, 8.0)
            (asked,) = server.listed
            assert KEYS[vendor] in str(asked.headers)
            others = {key for name, key in KEYS.items() if name != vendor}
            assert not any(key in f"{asked.path} {asked.headers}" for key in others)
            await offers(router, vendor)
            assert len(server.listed) == 1, "it is not asked again at once"

    asyncio.run(work())


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "key for OpenAI was refused"),
        (400, "key for OpenAI was refused"),
        (500, "500"),
        (-1, "within"),
    ],
)
def test_a_provider_that_is_down_says_so_and_shows_what_is_known(
    status: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if status < 0:
        monkeypatch.setattr(listing, "SECONDS", 0.3)

    async def work() -> None:
        words = "API key not valid." if status == 400 else ""
        async with Wire(unlisted=status) as server, routed(server) as router:
            server.objects = lambda _: words
            found = await offers(router, "openai")
            assert not found.live
            assert says in found.detail
            assert "canary" not in found.detail
            first = found.models[0]
            assert first.model == "openai:gpt-6-astra"
            assert first.input_price
            assert first.thinking
            assert not await router.wrong(["openai:gtp-6-astra"]), "nobody can know"

    asyncio.run(work())


def test_without_a_name_those_that_are_set_up_are_shown() -> None:
    async def work() -> None:
        async with Wire(models=OFFERED) as server, routed(server) as router:
            found = {one.provider: one for one in await router.offers()}
            assert set(found) == {*KEYS, "local"}
            assert all(one.live for one in found.values())
            assert found["local"].models[0].model == "local:gpt-6-astra"
            other = await offers(router, "mistral")
            assert (other.live, bool(other.models)) == (False, True)
            assert "MISTRAL_API_KEY" in other.detail
            with pytest.raises(InputError, match="nearest is mistral"):
                await router.offers("mistrall")

    asyncio.run(work())


def test_lists_of_all_kinds_are_read_and_nonsense_is_not() -> None:
    assert [one.name for one in read([{"id": "a"}, {"id": "b", "type": "image"}])] == ["a"]
    speaks = {"inputTokenLimit": 1_000_000, "supportedGenerationMethods": ["generateContent"]}
    paints = {"supportedGenerationMethods": ["predict"]}
    gemini = [{"name": "models/g", **speaks}, {"name": "models/v", **paints}]
    assert [(one.name, one.window) for one in read({"models": gemini})] == [("g", 1_000_000)]
    mistral = {"data": [{"id": "m", "capabilities": {"completion_chat": False}}]}
    assert read(mistral) == ()
    assert read({"data": [{"id": 7}, {"id": "x\x1b[31m"}, {"id": "y" * 999}, None]}) == ()
    for nonsense in ({}, {"data": "x"}, "x", None, 7):
        with pytest.raises((TypeError, LookupError)):
            read(nonsense)


def test_a_misspelt_model_is_refused_before_the_start_with_the_nearest(tmp_path: Path) -> None:
    async def work() -> None:
        listed = [{"id": name} for name in ("gpt-6-astra", "gpt-6-luna", "gpt-6.1-sol", "o9")]
        async with Wire(models=listed) as server:
            settings = Settings(
                home=tmp_path,
                provider_keys={"OPENAI_API_KEY": KEYS["openai"]},  # pyright: ignore[reportArgumentType]
                provider_urls={"OPENAI_BASE_URL": server.url("openai")},
            )
            async with open_service(settings) as service:
                seats = [{"name": "Ada", "model": "openai:gtp-6-astra@high"}, {"name": "Ben"}]
                with pytest.raises(InputError) as caught:
                    await service.create("Why?", format="duel", participants=seats, start=False)
                assert caught.value.field == "participants[0].model"
                assert 'OpenAI has no model "gtp-6-astra"' in caught.value.message
                near = "The nearest are gpt-6-astra, gpt-6-luna and gpt-6.1-sol."
                assert near in caught.value.message
                seats[0]["model"] = "openai:gtp-6"
                with pytest.raises(InputError, match="The nearest are gpt-6"):
                    await service.create("Why?", format="duel", participants=seats, start=False)
                assert not (await service.find()).debates
                assert not server.requests
                for other in ("gpt-6-astra-2026-10-01", "our-own-deployment", "gpt-6-luna"):
                    seats[0]["model"] = f"openai:{other}"
                    made = await service.create(
                        "Why?", format="duel", participants=seats, start=False
                    )
                    assert made.seat("ada").model == f"openai:{other}"
                seats = [{"name": "Me", "model": "human"}, {"name": "Ben", "model": "openai:o9"}]
                made = await service.create("Why?", format="duel", participants=seats)
                await service.wait(made.id)
                await service.pause(made.id)
                await service.say(made.id, "Because.", seat="me")
                seq = (await service.turns(made.id))[0].seq
                changes = {"participants": [{"id": "ben", "model": "openai:gtp-6"}]}
                with pytest.raises(InputError, match="The nearest are gpt-6"):
                    await service.fork(made.id, seq, changes=changes)
                await service.stop(made.id)
                with pytest.raises(InputError, match="The nearest are gpt-6"):
                    await service.rejudge(made.id, jury={"models": ["openai:gtp-6"]})
                assert not server.requests

    asyncio.run(work())


def test_the_failure_of_an_unknown_model_names_the_nearest() -> None:
    async def work() -> None:
        models = [{"id": "wire-405"}, {"id": "wire-4040"}]
        async with Wire(models=models) as server, routed(server) as router:
            with pytest.raises(ProviderUnknownModelError) as caught:
                await router.speak(call("openai:wire-404"), lambda _: None)
            assert 'no model "wire-404". The nearest are wire-4040 and wire-405.' in (
                caught.value.message
            )
            assert caught.value.message.endswith("Choose another model for this speaker.")

    asyncio.run(work())


OWN = """
[corp]
base_url = "{corp}"
key_env = "CORP_LLM_KEY"
models = ["big"]
prices = {{big = {{input = 2.0, output = 8.0}}}}
[lab]
base_url = "{lab}"
key_env = "LAB_LLM_KEY"
[attic]
base_url = "{attic}"
[cellar]
base_url = "{cellar}"
"""
CANARIES = {
    "CORP_LLM_KEY": "sk-canary-corp",
    "LAB_LLM_KEY": "sk-canary-lab",
    "ANTHROPIC_API_KEY": "sk-canary-claude",
}


def test_own_endpoints_a_vendor_and_two_servers_sit_in_one_council(tmp_path: Path) -> None:
    """Each is called at its own address, with its own key or none, and no key reaches another."""
    seats = {
        "Proponent": ("corp", "big"),
        "Critic": ("lab", "fast"),
        "Analyst": ("claude", "claude-sonnet-5-5"),
        "Synthesizer": ("attic", "a1"),
        "Judge": ("cellar", "c1"),
    }

    async def hold(wires: dict[str, Wire]) -> tuple[Debate, list[Turn], list[Offers]]:
        places = {
            name: wires[name].url("claude" if name == "claude" else "local") for name in wires
        }
        (tmp_path / FILE).write_text(OWN.format(**places))
        settings = Settings(
            home=tmp_path,
            provider_keys=CANARIES,  # pyright: ignore[reportArgumentType]
            provider_urls={"ANTHROPIC_BASE_URL": places["claude"]},
        )
        cast = [
            {"role": role, "model_provider": who, "model_name": name}
            for role, (who, name) in seats.items()
        ]
        async with open_service(settings) as service:
            offered = await service.offers()
            made = await service.council({**COUNCIL, "participants": cast})
            done = await service.wait(made.id)
            return done, await service.turns(made.id), offered

    async def work() -> None:
        model = Model()
        wires = {who: Wire(answers=model, models=[{"id": name}]) for who, name in seats.values()}
        for wire in wires.values():
            await wire.__aenter__()
        try:
            done, turns, offered = await hold(wires)
        finally:
            for wire in wires.values():
                await wire.__aexit__()
        assert (done.status, done.degraded) == ("completed", False), done.failure
        spoke = {turn.actor: turn.model for turn in turns}
        assert spoke == {role.lower(): ":".join(seat) for role, seat in seats.items()}
        assert {one.provider for one in offered if one.live} == set(wires)
        keys = {"corp": "sk-canary-corp", "lab": "sk-canary-lab", "claude": "sk-canary-claude"}
        for who, wire in wires.items():
            assert wire.requests, who
            for request in (*wire.requests, *wire.listed):
                seen = f"{request.path} {request.headers} {request.body}"
                own = keys.get(who)
                assert own is None or own in seen
                assert not any(key in seen for key in CANARIES.values() if key != own), who
        assert any(turn.usage.cost_usd for turn in turns if turn.model == "corp:big")

    asyncio.run(work())
