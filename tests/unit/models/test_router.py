"""Names, cards, and who speaks: all of it offline."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.debate import Debate, Usage
from moot.core.prompts import Message
from moot.core.schedule import Step
from moot.core.voices import UNDERSTUDY, family
from moot.errors import (
    InputError,
    ProviderAbsentError,
    ProviderUnavailableError,
    ProviderUnknownModelError,
)
from moot.models.clients import url_of
from moot.models.endpoints import FILE, load
from moot.models.local.servers import LocalServer, Server
from moot.models.providers import VENDORS, Providers, shown, with_path
from moot.models.router import Router
from moot.ports.model_call import Call, ModelCard, Reply, Say

KEY = "sk-canary-91c2"


class Understudy:
    """Says who it is."""

    def card(self, model: str) -> ModelCard:
        return ModelCard(UNDERSTUDY, 1_000_000, 0.0, 0.0)

    async def speak(self, call: Call, say: Say) -> Reply:
        say("I step in.")
        return Reply("I step in.", call.model, Usage(calls=1))


def call(model: str) -> Call:
    scene = SimpleNamespace(id="debate-1"), SimpleNamespace(actor="ada")
    debate, step = cast(tuple[Debate, Step], scene)
    return Call(model, (Message("user", "Well?"),), 100, 5.0, debate, step, ())


def router(**providers: Any) -> Router:
    """A router that finds no server by chance."""
    made = Router(Providers(**providers), Understudy())
    made._local._usual = ()
    return made


@pytest.mark.parametrize(
    ("model", "canonical"),
    [
        ("openai:gpt-5-mini", "openai:gpt-5-mini"),
        ("anthropic:claude-opus-5", "claude:claude-opus-5"),
        ("google:gemini-2.5-flash", "gemini:gemini-2.5-flash"),
        ("  OpenAI : gpt-5 ", "openai:gpt-5"),
        ("openai:ft:gpt-5-mini:acme::x1", "openai:ft:gpt-5-mini:acme::x1"),
        ("local:qwen2.5:7b", "local:qwen2.5:7b"),
        ("local:org/model", "local:org/model"),
        ("local", "local"),
        ("local:", "local"),
        ("local:understudy", "local:understudy"),
        ("claude", f"claude:{VENDORS['claude'].model}"),
        ("google", f"gemini:{VENDORS['gemini'].model}"),
        ("openai:", f"openai:{VENDORS['openai'].model}"),
    ],
)
def test_a_name_becomes_canonical(model: str, canonical: str) -> None:
    assert VENDORS.normalize(model) == (canonical, None)
    assert VENDORS.normalize(canonical) == (canonical, None)


@pytest.mark.parametrize(
    ("model", "nearest"),
    [("opnai:gpt-5", "openai"), ("Claud", "claude"), ("gemeni:x", "gemini"), ("locale:x", "local"),
     ("antropic", "anthropic"), ("xyz-5", ""), (":x", ""), ("olama:llama3", "ollama")],
)  # fmt: skip
def test_an_unknown_provider_is_refused_and_the_nearest_is_named(model: str, nearest: str) -> None:
    with pytest.raises(InputError, match=f"the nearest is {nearest}") as caught:
        VENDORS.normalize(model)
    assert caught.value.field == "model"


def test_seats_without_a_model_take_what_was_set_else_the_vendors_with_a_key() -> None:
    claude, openai, gemini = (VENDORS.normalize(name)[0] for name in ("claude", "openai", "gemini"))
    keys: dict[str, str] = dict.fromkeys(("openai", "claude", "gemini"), KEY)
    assert Providers(keys).defaults() == (claude, openai, gemini)
    assert Providers({"gemini": KEY, "openai": " "}).defaults() == (gemini,)
    assert Providers().defaults() == ("local",)
    assert Providers(keys, default_model="local").defaults() == ("local",)
    assert Providers(keys, default_model=" Google ").defaults() == (gemini,)


def test_one_key_that_reaches_several_families_spreads_seats_over_them() -> None:
    ring = Providers({"openrouter": KEY}).defaults()
    assert {family(model) for model in ring} == {"openai", "claude", "gemini"}


@pytest.mark.parametrize(
    ("model", "made_by"),
    [("openai:gpt-5", "openai"), ("openrouter:anthropic/claude-sonnet-5.5", "claude"),
     ("groq:openai/gpt-oss-120b", "openai"), ("local:qwen2.5:7b", "qwen"), ("corp:big", "corp"),
     ("local", "local"), (UNDERSTUDY, "local"), ("azure:o3-mini", "openai"),
     ("local:phi4:14b", "microsoft"), ("ollama:smollm2", "hugging face"),
     ("mistral:codestral-latest", "mistral"), ("bedrock:amazon.nova-pro-v1:0", "amazon"),
     ("local:dolphin3", "local"), ("corp:o", "corp"), ("corp:nova-lite", "amazon")],
)  # fmt: skip
def test_a_family_is_who_made_a_model_not_who_serves_it(model: str, made_by: str) -> None:
    assert family(model) == made_by


def test_debates_from_before_keep_the_families_that_they_were_filed_with() -> None:
    assert (family("azure:o3", 6), family("local:phi4", 6)) == ("azure", "local")
    assert family("local:qwen2.5:7b", 6) == "qwen"


def test_an_unknown_provider_of_a_council_keeps_its_model_if_a_server_can_be_asked_for_it() -> None:
    async def main(answer: "Handler | None") -> list[tuple[str, str | None]]:
        server = await asyncio.start_server(answer or silence, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1] if answer else 1
        voices = router()
        voices._local._usual = (("test", f"http://127.0.0.1:{port}/v1"),)
        try:
            names = ("acme:llama3", "acme", "openai:gpt-5")
            return [await voices.bend(name) for name in names]
        finally:
            await voices.aclose()
            server.close()
            await server.wait_closed()

    (kept, warned), bare, known = asyncio.run(main(listing({"data": [{"id": "qwen"}]})))
    assert kept == "local:llama3"
    assert warned
    assert warned.startswith('DEBATE_WARN_PROVIDER_NORMALIZED: there is no provider "acme"')
    assert "llama3" in warned
    assert (bare[0], known) == ("local", ("openai:gpt-5", None))
    (lost, told), _, _ = asyncio.run(main(None))
    assert lost == "local"
    assert told
    assert "no server was found that could speak llama3" in told


def test_a_price_that_is_not_by_the_token_is_unknown_and_none_at_all_is_free() -> None:
    free = router().card("gemini:gemma-4-31b-it")
    assert (free.input_price, free.output_price) == (0.0, 0.0)
    spoken = router().card("openai:gpt-realtime-translate")  # by the hour
    assert (spoken.input_price, spoken.output_price) == (None, None)


@pytest.mark.parametrize("model", ["", "  ", "openai:a\nb", "local:\x00", "x" * 201, "a\ud800"])
def test_a_malformed_name_is_refused(model: str) -> None:
    with pytest.raises(InputError) as caught:
        VENDORS.normalize(model)
    assert caught.value.field == "model"


@given(st.text(max_size=250))
def test_any_text_is_refused_or_becomes_canonical(model: str) -> None:
    try:
        canonical, _ = VENDORS.normalize(model)
    except InputError:
        return
    assert VENDORS.normalize(canonical) == (canonical, None)
    assert canonical.partition(":")[0] in VENDORS.rows


def test_keys_do_not_show() -> None:
    providers = Providers({"openai": KEY}, {"openai": f"http://u:{KEY}@host/v1"})
    assert KEY not in repr(providers)
    assert shown(f"http://u:{KEY}@host:1/v1?k={KEY}") == "http://host:1/v1"


def test_cards() -> None:
    cards = router()
    mini = cards.card("openai:gpt-5-mini")
    assert (mini.model, mini.window) == ("openai:gpt-5-mini", 400_000)
    assert mini.input_price == pytest.approx(0.25e-6)
    assert mini.output_price == pytest.approx(2e-6)
    assert cards.card("openai:nobody-knows") == ModelCard(
        "openai:nobody-knows", 128_000, None, None
    )
    assert cards.card("local:tiny") == ModelCard(
        "local:tiny", 8192, 0.0, 0.0, local=True, steered=False
    )
    assert cards.card("local").window == 8192  # nobody looked yet: rather too small
    assert cards.card(UNDERSTUDY).window == 1_000_000


@pytest.mark.parametrize("vendor", [vendor for vendor in VENDORS if vendor.model])
def test_the_default_models_have_a_window_and_prices(vendor: Any) -> None:
    card = router().card(vendor.name)
    assert card.window >= 128_000
    assert card.input_price
    assert card.output_price


def test_with_no_server_the_understudy_speaks_for_local_alone() -> None:
    async def main() -> None:
        alone = router()
        said: list[str] = []
        for model in ("local", UNDERSTUDY, ""):
            reply = await alone.speak(call(model), said.append)
            assert reply.model == UNDERSTUDY
        assert said == ["I step in."] * 3
        with pytest.raises(ProviderUnknownModelError, match="nearest"):
            await alone.speak(call("acme:large"), said.append)
        assert alone.card("acme:large").input_price is None
        assert alone.card("local").model == UNDERSTUDY
        with pytest.raises(ProviderAbsentError, match="MOOT_LOCAL_BASE_URL") as absent:
            await alone.speak(call("local:qwen"), said.append)
        assert not absent.value.retryable  # nobody would mend that in ten seconds
        alone._local.seen = True  # but one that was there may be starting anew
        with pytest.raises(ProviderUnavailableError) as away:
            await alone.speak(call("local:qwen"), said.append)
        assert away.value.retryable
        with pytest.raises(ProviderUnknownModelError):
            await alone.speak(call("x\n"), said.append)
        await alone.aclose()

    asyncio.run(main())


def test_a_seat_without_a_model_takes_the_default() -> None:
    named = router(default_model="openai:gpt-5-mini")
    assert named.card("").model == "openai:gpt-5-mini"


def test_describe_says_what_to_set() -> None:
    async def main() -> None:
        known = router(keys={"openai": KEY, "claude": "  "})
        openai, claude, gemini, local = await known.describe()
        assert (openai.works, claude.works, gemini.works) == (True, False, False)
        assert "ANTHROPIC_API_KEY" in claude.detail
        assert "GEMINI_API_KEY" in gemini.detail
        assert (local.works, local.model, local.small) == (True, UNDERSTUDY, True)
        assert not openai.small
        assert "MOOT_LOCAL_BASE_URL" in local.detail
        assert KEY not in repr([openai, claude, gemini, local])
        (*_, local) = await router(default_model="openai:gpt-5").describe()
        assert (local.works, local.model) == (True, UNDERSTUDY)  # it is nobody's default
        unsaid = router(default_model="local:nothere")
        (*_, local) = await unsaid.describe()
        assert (local.works, local.model) == (False, "local:nothere")
        assert "`moot model list`" in local.detail
        lost = router(urls={"local": f"http://u:{KEY}@127.0.0.1:1/v1"})
        (*_, local) = await lost.describe()
        assert not local.works
        assert KEY not in local.detail
        await lost.aclose()

    asyncio.run(main())


def test_describe_lists_an_endpoint_with_prices_and_no_key(tmp_path: Path) -> None:
    """It is neither a server of the user's nor known by a key: it was in no list."""
    entry = '[paid]\nbase_url = "http://u.example/v1"\nmodels = ["p"]\n'
    (tmp_path / FILE).write_text(entry + "prices = {p = {input = 2.0, output = 8.0}}\n")

    async def main() -> None:
        known = Router(Providers(table=load(tmp_path)), Understudy())
        found = {one.provider: one for one in await known.describe()}
        assert (found["paid"].works, found["paid"].model) == (True, "paid:p")
        assert found["paid"].models == ("paid:p",)
        assert '[paid] in providers.toml: key_env = "PAID_API_KEY"' in found["paid"].detail
        await known.aclose()

    asyncio.run(main())


# A server on this machine, found or not.

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def listing(body: object) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
        assert head.startswith(b"GET /v1/models ")
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(sent) + sent)
        await writer.drain()
        writer.close()

    return handle


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


def look(handler: Handler) -> Server | None:
    """What a look at the usual places finds when `handler` answers there, and how long it takes."""

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    async def main() -> Server | None:
        server = await asyncio.start_server(guarded, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        finder = router()
        finder._local._usual = (("test", url),)
        try:
            found = await asyncio.gather(*(finder._local.find() for _ in range(50)))
            assert len({id(server) for server in found}) == 1  # one look for all
            return found[0]
        finally:
            await finder.aclose()
            server.close()
            await server.wait_closed()

    return asyncio.run(main())


def test_a_server_is_found_with_its_models() -> None:
    models = [{"id": "a:7b", "max_model_len": 16_384}, {"id": "b", "meta": {"n_ctx": 4096}}]
    server = look(listing({"data": [*models, {"id": "c"}, {"id": "\x1b"}, 5, {}]}))
    assert server is not None
    assert server.windows == {"a:7b": 16_384, "b": 4096, "c": None}
    assert server.first == "a:7b"


@pytest.mark.parametrize("body", [{"data": []}, {"data": 3}, [1], b"<html>", b"\xff" * 2_000_000])
def test_what_else_may_listen_there_is_no_server(body: object) -> None:
    assert look(listing(body)) is None


def test_a_silent_server_does_not_hold_up() -> None:
    assert look(silence) is None, "it is given up, although it never answers"


@pytest.mark.parametrize(
    ("given_url", "url"),
    [
        ("http://host:11434", "http://host:11434/v1"),
        ("http://host:11434/", "http://host:11434/v1"),
        ("https://host/api/v3/", "https://host/api/v3"),
    ],
)
def test_a_bare_host_means_its_v1(given_url: str, url: str) -> None:
    assert with_path(given_url) == url


@pytest.mark.parametrize("given", ["", "/", "/openai/v1", "/openai/v1/"])
def test_the_usual_endpoint_of_azure_is_a_bare_host(given: str) -> None:
    known = Providers({"azure": "k"}, {"azure": f"https://us.openai.azure.com{given}"})
    assert url_of(known, VENDORS["azure"]) == "https://us.openai.azure.com/openai/v1"


def test_what_was_found_is_looked_for_again_later() -> None:
    async def main() -> None:
        looks: list[str] = []

        async def fetch(url: str, _: float) -> Any:
            looks.append(url)
            return {"data": [{"id": "tiny"}]}

        local = LocalServer("http://host", fetch)
        await local.find()
        await local.find()
        assert looks == ["http://host/v1/models"]
        local._at -= 60
        await local.find()
        assert len(looks) == 2

    asyncio.run(main())
