"""`moot doctor --live`: two small calls to each provider, over each wire, and what they show."""

import asyncio
from pathlib import Path

import pytest

from moot.cli import doctor
from moot.models import probe as probing
from moot.models.probe import Probe, probe
from moot.models.providers import Providers
from moot.models.router import Router
from moot.settings import Settings
from moot.testing.wires.wire_server import Answer, Request, Wire
from tests.integration.test_vendors import KEY, KEYS, VENDORS, Understudy

MODELS = {
    "openai": "openai:gpt-6.1-terra",
    "claude": "claude:claude-sonnet-5-5",
    "gemini": "gemini:gemini-2.5-flash",
    "local": "local:deepseek-r1:32b",
}


def shaped(_: Request) -> Answer:
    return Answer('{"answer": "I can hear you."}', 9, 40)


async def tried(server: Wire, model: str) -> Probe:
    urls = {one: server.url(one) for one in VENDORS}
    router = Router(Providers(KEYS, urls), Understudy())
    try:
        return await probe(router, model)
    finally:
        await router.aclose()


@pytest.mark.parametrize("vendor", MODELS)
def test_it_tells_how_fast_a_model_is_and_what_works(vendor: str) -> None:
    async def work() -> None:
        async with Wire(answers=shaped) as server:
            found = await tried(server, MODELS[vendor])
            assert (found.wrong, found.structured, found.thinking) == ("", True, True)
            assert found.caching is False, "this server tells of no cache"
            assert found.first_word is not None
            assert found.tokens_per_second
            assert len(server.requests) == found.usage.calls == 2
            assert found.usage.thinking_tokens == 80
            assert found.usage.input_tokens > 200

    asyncio.run(work())


@pytest.mark.parametrize(
    ("fault", "says", "calls"),
    [
        ("401", "The key for OpenAI was refused. Set OPENAI_API_KEY.", 1),
        ("404", 'OpenAI has no model "wire-404".', 1),
        ("429", "OpenAI asks for slower calls.", 1),
        ("503", "OpenAI has trouble of its own", 1),
        ("400", "OpenAI did not accept the request", 2),
        ("none", "OpenAI said nothing for", 1),
    ],
)
def test_what_fails_is_a_sentence_and_ends_in_time(
    fault: str, says: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "SECONDS", 0.3 if fault == "none" else 60.0)

    async def work() -> None:
        async with Wire() as server:
            found = await tried(server, f"openai:wire-{fault}")
            assert says in found.wrong
            assert "restart the speaker" not in found.wrong.lower()
            assert KEY not in found.wrong
            assert (found.structured, found.caching) == (None, None)
            assert len(server.requests) == found.usage.calls == calls

    asyncio.run(work())


def test_a_call_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "MOST_SECONDS", 0.5)

    async def work() -> None:
        async with Wire() as server:
            found = await tried(server, "openai:wire-none")
            assert found.wrong == "It did not answer within 0.5 seconds."

    asyncio.run(work())


def test_the_doctor_calls_only_if_it_is_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with Wire(answers=shaped) as server:
            settings = Settings(
                home=tmp_path,
                provider_keys={"OPENAI_API_KEY": KEY},  # pyright: ignore[reportArgumentType]
                provider_urls={"OPENAI_BASE_URL": server.url("openai")},
            )
            monkeypatch.setattr(doctor, "load_settings", lambda: settings)
            quiet = await doctor.examine()
            assert not server.requests
            assert not [one for one in quiet if one.probe]
            (called,) = [one for one in await doctor.examine(live=True) if one.probe]
            assert (called.name, called.ok) == ("openai live", True)
            for words in ("first word after", "tokens/s", "structured works", "thinking works"):
                assert words in called.detail
            assert len(server.requests) == 2

    asyncio.run(work())
