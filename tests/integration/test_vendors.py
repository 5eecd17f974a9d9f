"""The vendors' own SDKs against a server that speaks their wire formats, every fault included."""

import asyncio
import math
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from moot import bootstrap
from moot.core import answers, limits, prompts
from moot.core.format import Effort, Format
from moot.core.limits import NO_THINKING, THINKING, Thinking
from moot.core.prompts import Message
from moot.errors import ProviderAuthError, ProviderError
from moot.models import providers
from moot.models.providers import VENDORS as VENDOR_ROWS
from moot.models.providers import Place, Providers
from moot.models.router import Router
from moot.settings import Settings
from moot.testing import provider_calls
from moot.testing.provider_calls import KEY, SCHEMA, SECONDS, Understudy, call, nothing
from moot.testing.wires import wire_server as wire
from moot.testing.wires.wire_server import Answer, Wire
from tests import patience

# pytest finds it from the root of the repo, pyright looks from tests/
from tests.unit.core.test_prompts import steps_of, turn_of
from tests.unit.models.local.test_small import council

VENDORS = ("openai", "claude", "gemini", "local")
KEYS: dict[str, str] = dict.fromkeys(("openai", "claude", "gemini"), KEY)
NAMES = {"openai": "OpenAI", "claude": "Claude", "gemini": "Gemini", "local": "local server"}


@asynccontextmanager
async def talking() -> AsyncGenerator[tuple[Router, Wire]]:
    """A router whose vendors are all the wire server, each SDK loaded."""
    async with Wire() as server:
        known = Providers(KEYS, {vendor: server.url(vendor) for vendor in VENDORS})
        router = Router(known, Understudy())
        try:
            for vendor in VENDORS:
                await router.speak(call(f"{vendor}:warm", patience.seconds()), nothing)
            server.requests.clear()
            yield router, server
        finally:
            await router.aclose()


def run(test: Callable[[Router, Wire], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with talking() as (router, server):
            await test(router, server)

    asyncio.run(main())


async def fails(router: Router, model: str, seconds: float = 60.0, **more: Any) -> ProviderError:
    return await provider_calls.fails(
        router, model, NAMES[model.partition(":")[0]], seconds, **more
    )


def test_the_sentence_of_the_contract() -> None:
    async def refused(router: Router, _: Wire) -> None:
        error = await fails(router, "claude:wire-401")
        wanted = "The key for Claude was refused. Set ANTHROPIC_API_KEY, then restart the speaker."
        assert error.message == wanted
        assert not error.retryable

    run(refused)


@pytest.mark.parametrize(
    ("place", "ending"),
    [
        (None, ", then restart the speaker."),
        ("command", ", then `moot retry debate-1`."),
        (
            "server",
            " in the environment of `moot serve`, restart it, then restart the speaker.",
        ),
        (
            "worker",
            " in the environment of `moot worker`, restart it, then restart the speaker.",
        ),
    ],
)
def test_where_a_key_is_to_be_set(place: Place | None, ending: str) -> None:
    async def main() -> None:
        async with Wire() as server:
            url = server.url("claude")
            router = Router(Providers({"claude": KEY}, {"claude": url}, place=place), Understudy())
            refused = await fails(router, "claude:wire-401")
            assert refused.message == (
                f"The key for Claude was refused. Set ANTHROPIC_API_KEY{ending}"
            )
            missing = await fails(router, "openai:any")
            assert missing.message == f"There is no key for OpenAI. Set OPENAI_API_KEY{ending}"
            await router.aclose()

    asyncio.run(main())


def test_how_long_gemini_asks_to_wait() -> None:
    async def waits(router: Router, _: Wire) -> None:
        assert (await fails(router, "gemini:wire-delay")).retry_after == 37  # RetryInfo

    run(waits)


def test_which_limit_was_reached() -> None:
    async def limits(router: Router, _: Wire) -> None:
        late = "Restart the speaker to try again."
        for fault in ("none", "stuck"):
            error = await fails(router, f"claude:wire-{fault}", 0.5)
            assert error.message == f"Claude said nothing for 0.5 seconds. {late}"
        for silence in (0.5, 2, 8):  # a busy machine is silent, too
            error = await fails(router, "claude:wire-slow", silence)
            if "said nothing" not in error.message:
                break
        assert error.message == f"Claude was still speaking after {4 * silence:g} seconds. {late}"

    run(limits)


MODELS = {
    "openai": "gpt-5-mini",
    "claude": "claude-sonnet-4-6",
    "gemini": "gemini-2.5-flash",
    "local": "qwen2.5:7b",
}


HOSTS = (
    Message("system", "You are Hanna, the host."),
    Message("user", "Ada said:\n> Yes."),
    Message("assistant", "Ben, what do you say?"),
    Message("user", "Ben said:\n> No."),
    Message("system", "Give the floor to Ada."),
)


@pytest.mark.parametrize(
    ("model", "inline"),
    [
        ("openai:gpt-5-mini", True),
        ("claude:claude-sonnet-5-5", True),  # takes one in the middle
        ("claude:claude-sonnet-4-6", False),  # does not yet
        ("gemini:gemini-2.5-flash", False),
        ("local:qwen2.5:7b", False),  # whose template may take none
    ],
)
def test_the_host_is_instructed_in_the_system_role_where_it_can_be(
    model: str, inline: bool
) -> None:
    async def instructed(router: Router, server: Wire) -> None:
        await router.speak(replace(call(model), messages=HOSTS), nothing)
        body = server.requests[-1].body
        turns = body.get("input") or body.get("messages") or body["contents"]
        roles = [turn["role"] for turn in turns if turn["role"] != "system" or turn is turns[-1]]
        last = str(turns[-1])
        assert "Give the floor to Ada." in last
        assert str(body).count("Give the floor to Ada.") == 1
        assert roles[-1] == ("system" if inline else "user")
        assert ("From moot" in last) == (not inline)
        assert ("> No." in last) == (
            not inline
        )  # one message, for templates want them to alternate
        top = str(body.get("instructions") or body.get("system") or body.get("systemInstruction"))
        assert "Give the floor" not in top, "the beginning stays as it was, for the caches"

    run(instructed)


def test_prompt_caches_are_asked_for_where_they_must_be() -> None:
    async def caches(router: Router, server: Wire) -> None:
        for model in ("openai:gpt-6.1-terra", "claude:claude-sonnet-4-6", "local:x", "gemini:y"):
            await router.speak(call(model), nothing)
        openai, claude, local, gemini = (request.body for request in server.requests)
        assert openai["prompt_cache_key"] == "debate-1:ada"
        assert openai["prompt_cache_options"]
        assert claude["cache_control"]["type"] == "ephemeral"
        assert claude["system"][-1]["cache_control"]["type"] == "ephemeral"
        assert "cache" not in str(local)
        assert "cache" not in str(gemini)

    run(caches)


def test_vendors_are_asked_to_keepnothing() -> None:
    async def kept(router: Router, server: Wire) -> None:
        for vendor in VENDORS:
            await router.speak(call(f"{vendor}:{MODELS[vendor]}"), nothing)
        openai, claude, gemini, local = (request.body for request in server.requests)
        assert openai["store"] is gemini["store"] is False
        assert "store" not in claude  # which has no such choice
        assert "store" not in local

    run(kept)


EFFORTS: dict[Effort | None, dict[str, Any]] = {
    None: {"openai": "minimal", "claude": None, "gemini": 0},
    "none": {"openai": "minimal", "claude": None, "gemini": 0},
    "low": {"openai": "low", "claude": 2048, "gemini": 2048},
    "medium": {"openai": "medium", "claude": 10_000, "gemini": 8192},
    "high": {"openai": "high", "claude": 16_384, "gemini": 24_576},
}


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["text", "json"])
@pytest.mark.parametrize("effort", EFFORTS)
def test_an_effort_becomes_thinking_with_tokens_of_its_own(
    effort: Effort | None, schema: dict[str, Any] | None
) -> None:
    models = MODELS | {"claude": "claude-of-old"}
    budget = THINKING.get(effort or "none", NO_THINKING).tokens

    async def thinks(router: Router, server: Wire) -> None:
        sent: dict[str, dict[str, Any]] = {}
        allowed: dict[str, int] = {}
        for vendor in VENDORS:
            asked = call(f"{vendor}:{models[vendor]}", effort=effort, schema=schema)
            await router.speak(asked, nothing)
            sent[vendor], allowed[vendor] = server.requests[-1].body, server.requests[-1].allowed
        told = {
            "openai": sent["openai"]["reasoning"]["effort"],
            "claude": sent["claude"].get("thinking", {}).get("budget_tokens"),
            "gemini": next(iter(found(sent["gemini"], "thinking_budget"))),
        }
        assert told == EFFORTS[effort]
        for vendor in ("openai", "claude", "gemini"):
            assert allowed[vendor] == 200 + budget
        assert budget == 0 or max(told["claude"], told["gemini"]) <= budget
        assert allowed["local"] == 200  # which cannot be told to think
        assert "reasoning" not in str(sent["local"])
        if effort in (None, "none"):
            return
        as_a_tool = call("claude:wire-json", effort=effort, schema=SCHEMA)
        assert answers.find((await router.speak(as_a_tool, nothing)).text) == {"claim": "yes"}
        assert server.requests[-1].body["thinking"]["type"] == "enabled"
        assert server.requests[-1].body["tool_choice"]["type"] == "auto"  # as thinking demands
        await router.speak(call("claude:claude-sonnet-5-5", effort=effort), nothing)
        adaptive = server.requests[-1].body
        assert adaptive["thinking"]["type"] == "adaptive"
        assert adaptive["output_config"]["effort"] == effort

    run(thinks)


def test_who_thinks_may_be_silent_for_longer_before_the_first_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thought = patience.seconds(30)
    monkeypatch.setitem(THINKING, "low", Thinking(1000, thought))

    async def silent(router: Router, server: Wire) -> None:
        server.pause = 3 * SECONDS
        allowed: list[float] = []
        model, longer = "claude:wire-thinks", SECONDS + thought
        asked = call(model, SECONDS, effort="low", allow=allowed.append)
        reply = await router.speak(asked, nothing)
        assert reply.text == "".join(wire.PIECES)
        assert allowed[:2] == [math.inf, longer]
        assert allowed[-1] == SECONDS, "after the first word it is as for everybody"
        for effort in (None, "none"):
            error = await fails(router, model, SECONDS, effort=effort)
            assert error.code == "DEBATE_ERR_PROVIDER_TIMEOUT"

    run(silent)


UNTHINKING = ("openai:gpt-4o", "gemini:gemini-2.0-flash", "local:qwen2.5:7b")


@pytest.mark.parametrize("model", UNTHINKING)
def test_a_model_that_cannot_think_is_called_without(model: str) -> None:
    """And nobody warns of it: warnings are errors here."""

    async def called(router: Router, server: Wire) -> None:
        allowed: list[float] = []
        await router.speak(call(model, effort="high", allow=allowed.append), nothing)
        (request,) = server.requests
        assert request.allowed == 200
        assert not [word for word in ("reason", "think") if word in str(request.body).lower()]
        assert max(allowed) <= 60
        assert router.card(model).least is None

    run(called)


@pytest.mark.parametrize("fault", ["400", "422"])
def test_a_model_that_refuses_to_think_is_asked_without_and_not_again(fault: str) -> None:
    """The library takes every model of Anthropic's for one that can think."""

    async def refused(router: Router, server: Wire) -> None:
        server.refuses = lambda request: int(fault) if "thinking" in request.body else None
        model = "claude:claude-of-old"
        assert router.card(model).least == "none"
        for number in (2, 3):
            reply = await router.speak(call(model, effort="high"), nothing)
            assert reply.text == "".join(wire.PIECES)
            assert len(server.requests) == number, "it was asked once to think"
        assert server.requests[-1].allowed == 200
        assert router.card(model).least is None, "budgets know, too"

    run(refused)


def test_what_is_refused_without_thinking_is_refused() -> None:
    async def refused(router: Router, server: Wire) -> None:
        server.refuses = lambda _: 400
        for effort, calls in ((None, 1), ("high", 2)):
            server.requests.clear()
            error = await fails(router, "claude:claude-of-old", effort=effort)
            assert (error.code, error.retryable) == ("DEBATE_ERR_PROVIDER_INVALID", False)
            assert len(server.requests) == calls
        assert router.card("claude:claude-of-old").least == "none", "that was not why"

    run(refused)


LEAST: dict[str, Effort | None] = {
    "openai:gpt-4o": None,
    "openai:gpt-6.1-terra": "none",
    "openai:gpt-5-mini": "none",  # "minimal" is next to nothing
    "openai:gpt-6.1-sol": "low",
    "openai:o3": "low",
    "openai:gpt-5.2-pro": "medium",
    "openai:gpt-5-pro": "high",
    "claude:claude-sonnet-5-5": "none",
    "gemini:gemini-2.0-flash": None,
    "gemini:gemini-2.5-flash": "none",
    "gemini:gemini-2.5-pro": "low",
    "local:qwen2.5:7b": None,
    "local:qwen3-30b-a3b-instruct-2507": None,
    "local:qwen3:8b": "low",
    "local:deepseek-r1:32b": "low",
    "local:openai/gpt-oss-20b": "low",
}


@pytest.mark.parametrize("model", LEAST)
def test_a_model_that_always_thinks_has_room_for_it(model: str) -> None:
    """A large thinking model would use up the tokens of a turn before it says a word."""

    async def roomy(router: Router, server: Wire) -> None:
        card = router.card(model)
        assert card.least == LEAST[model]
        room = limits.thinking(None, card.least, card.window)
        await router.speak(call(model), nothing)
        assert server.requests[-1].allowed == 200 + room.tokens
        assert (room.tokens > 0) == (LEAST[model] not in (None, "none"))
        assert room.tokens <= card.window // 2
        await router.speak(call(model, effort="high"), nothing)
        high = THINKING["high"].tokens if card.least else 0
        assert server.requests[-1].allowed == 200 + min(high, card.window // 2)

    run(roomy)


def test_thoughts_that_a_server_does_not_count_are_counted_by_their_share() -> None:
    async def shared(router: Router, server: Wire) -> None:
        server.answers = lambda _: Answer("x" * len(wire.THOUGHT), 40, 60, counts=False)
        usage = (await router.speak(call("local:some"), nothing)).usage
        assert (usage.output_tokens, usage.thinking_tokens) == (100, 50)
        server.answers = lambda _: Answer("x", 40, 500)
        error = await fails(router, "local:some")  # which has 200 tokens, and thinks them all
        assert (error.output_tokens, error.thinking_tokens) == (200, 200)

    run(shared)


def found(value: Any, name: str) -> list[Any]:
    """What stands under that name in a request, however deep."""
    if isinstance(value, list):
        return [hit for part in cast(list[Any], value) for hit in found(part, name)]
    if not isinstance(value, dict):
        return []
    told = cast(dict[str, Any], value)
    own = [told[name]] if name in told else []
    return own + [hit for part in told.values() for hit in found(part, name)]


SHAPED = {**MODELS, "claude as a tool": "wire-json"}


@pytest.mark.parametrize("who", SHAPED)
def test_a_role_can_only_be_one_that_is_meant(who: str) -> None:
    """A model that obeys the schema names its target, and those who challenged it."""

    async def shaped(router: Router, server: Wire) -> None:
        model = f"{who.partition(' ')[0]}:{SHAPED[who]}"
        asking, answering = list(steps_of(council()))[1:3]  # the challenges, and what follows
        said = [turn_of(asking[0], step, "Why?") for step in asking[1].steps]
        for now, ahead in (asking, answering):
            for step in ahead.steps:
                schema = prompts.schema(step, now, turns=said)
                await router.speak(call(model, schema=schema), nothing)
                body = server.requests[-1].body
                named = [field.get("enum") for field in found(body, "targetRole")]
                asked = [field.get("enum") for field in found(body, "sourceRole")]
                if step.answer == "challenge":
                    assert (named, asked) == ([[now.seat(step.target or "").role]], [])
                else:
                    assert (named, asked) == ([], [CHALLENGERS.get(step.actor)])

    run(shaped)


def tables(value: Any) -> list[dict[str, Any]]:
    """Every table of a schema, however deep."""
    if isinstance(value, list):
        return [hit for part in cast(list[Any], value) for hit in tables(part)]
    if not isinstance(value, dict):
        return []
    told = cast(dict[str, Any], value)
    own = [told] if told.get("type") == "object" else []
    return own + [hit for part in told.values() for hit in tables(part)]


SHAPES = Format.model_validate(
    {
        "name": "any", "title": "Any", "description": "x", "guidance": "x", "edition": 2,
        "stages": [{"name": "one", "ask": "x"}],
    },
    strict=False,
)  # fmt: skip
ANSWERS = ("position", "challenge", "revision", "reading", "verdict", "ballot")
STATED = ("Postgres", "SQLite")


@pytest.mark.parametrize("answer", ANSWERS)
def test_openai_is_held_to_the_schema_to_the_letter(answer: str) -> None:
    """By either of its APIs, each table has all of its fields, and none that it does not know."""
    schema = answers.schema(answer, SHAPES.shape(answer), {"options": STATED, "target": ["Ada"]})
    needed = {name for table in tables(schema) for name in table.get("required", ())}
    chat = VENDOR_ROWS["openai"].model_copy(update={"name": "chat", "api": "openai_chat"})

    async def held(router: Router, server: Wire) -> None:
        for vendor in VENDORS:
            await router.speak(call(f"{vendor}:{MODELS[vendor]}", schema=schema), nothing)
        openai, claude, gemini, local = (request.body for request in server.requests)
        told = openai["text"]["format"]
        check(told["strict"], told["schema"])
        for other in (claude, gemini, local):
            assert True not in found(other, "strict")
        wanted = found(local, "json_schema")[0]["schema"]
        assert {n for table in tables(wanted) for n in table.get("required", ())} == needed
        with pytest.MonkeyPatch.context() as patch:  # a vendor with OpenAI's older API
            patch.setitem(cast(dict[str, Any], VENDOR_ROWS.rows), "chat", chat)
            known = Providers({"chat": KEY}, {"chat": server.url("local")})
            other = Router(known, Understudy())
            await other.speak(call("chat:gpt-5-mini", schema=schema), nothing)
            await other.aclose()
        told = server.requests[-1].body["response_format"]["json_schema"]
        check(told["strict"], told["schema"])

    def check(strict: Any, sent: dict[str, Any]) -> None:
        assert strict is True
        for table in tables(sent):
            assert table["additionalProperties"] is False
            assert table["required"] == list(table["properties"])
            for name, field in table["properties"].items():
                null = {"type": "null"} in field.get("anyOf", [])
                assert null == (name not in needed and field.get("type") != "array"), name
        text = str(sent)
        assert not [word for word in ("'default'", "minLength", "maxLength") if word in text]
        assert text.count("enum") >= str(schema).count("enum")

    run(held)


@pytest.mark.parametrize("who", SHAPED)
def test_a_choice_can_only_be_one_that_was_stated(who: str) -> None:
    async def chosen(router: Router, server: Wire) -> None:
        model = f"{who.partition(' ')[0]}:{SHAPED[who]}"
        for answer in ("verdict", "ballot"):
            shape = SHAPES.shape(answer)
            schema = answers.schema(answer, shape, {"options": STATED})
            await router.speak(call(model, schema=schema), nothing)
            (field,) = found(server.requests[-1].body, "choice")
            assert field["enum"][:2] == list(STATED)
            assert set(field["enum"][2:]) <= {"other", "undecided"}

    run(chosen)


CHALLENGERS = {
    "proponent": ["Critic", "Analyst"],
    "critic": ["Proponent", "Synthesizer"],
    "synthesizer": ["Judge"],
}


def test_two_hundred_calls_at_once() -> None:
    async def crowd(router: Router, server: Wire) -> None:
        server.together = 200
        models = [f"{VENDORS[place % 4]}:wire-steady" for place in range(200)]
        replies = await asyncio.gather(
            *(router.speak(call(m, patience.seconds(30)), nothing) for m in models)
        )
        assert {reply.text for reply in replies} == {"".join(wire.PIECES)}
        assert server.peak >= 200

    run(crowd)


ROW = """
[[provider]]
name = "corp"
aliases = ["acme"]
label = "Acme's gateway"
api = "openai_chat"
keys = ["CORP_TEST_KEY", "ACME_TEST_KEY"]
url = "CORP_TEST_URL"
address = "https://gateway.invalid/v1"
model = "large"
"""


def test_a_new_provider_is_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for row in providers.read(ROW).values():
        monkeypatch.setitem(cast(dict[str, Any], providers.VENDORS.rows), row.name, row)

    async def main() -> None:
        async with Wire() as server:
            monkeypatch.setenv("ACME_TEST_KEY", KEY)
            monkeypatch.setenv("CORP_TEST_URL", server.url("local"))
            settings = Settings(home=tmp_path, model="acme")
            assert KEY in settings.secrets()
            assert KEY not in repr(settings)
            router = bootstrap.router(settings)
            assert router.defaults() == ("corp:large",)
            status = next(one for one in await router.describe() if one.provider == "corp")
            assert (status.works, status.detail) == (True, "CORP_TEST_KEY is set.")
            said: list[str] = []
            reply = await router.speak(call("", schema=None), said.append)
            assert (reply.text, reply.model) == ("".join(wire.PIECES), "corp:large")
            assert "".join(said) == reply.text
            (request,) = server.requests
            assert (request.model, request.headers["authorization"]) == ("large", f"Bearer {KEY}")
            assert router.card("corp").input_price is None  # nobody published one
            with pytest.raises(ProviderAuthError, match=r"^The key for Acme's gateway was refused"):
                await router.speak(call("corp:wire-401"), nothing)
            await router.aclose()

    asyncio.run(main())


def test_importing_the_router_loads_no_vendor() -> None:
    code = (
        "import sys, moot.models.router\n"
        "heavy = {'openai', 'anthropic', 'google.genai', 'pydantic_ai', 'httpx2', 'genai_prices'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )

    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[]"


@pytest.mark.stress
def test_several_vendors_may_be_loaded_at_once() -> None:
    """As `moot doctor --live` does: cards and clients are made in threads of their own."""
    script = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from moot.models import cards, providers, router\n"
        "rows = [providers.VENDORS[name] for name in ('openai', 'claude', 'gemini')] * 2\n"
        "with ThreadPoolExecutor(9) as pool:\n"
        "    made = [pool.submit(cards.vendor_card, row, row.model) for row in rows]\n"
        "    made += [pool.submit(router._load_clients, providers.Providers()) for _ in range(3)]\n"
        "    assert all(one.result() for one in made)\n"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-c", script], check=True)


def test_a_warm_router_has_loaded_the_vendors_that_have_a_key_and_called_none() -> None:
    async def main() -> None:
        async with Wire() as server:
            urls = {vendor: server.url(vendor) for vendor in VENDORS}
            router = Router(Providers(KEYS | {"bedrock": " "}, urls), Understudy())
            await router.warm()
            assert router._clients
            assert {place.split()[0] for place in router._clients._make} == set(KEYS)
            assert server.requests == []
            await router.aclose()
            cold = Router(Providers({}, urls), Understudy())
            await cold.warm()
            assert cold._clients is None, "without a key nothing is loaded"
            await cold.aclose()

    asyncio.run(main())
