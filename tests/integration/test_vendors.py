"""The vendors' own SDKs against a server that speaks their wire formats, every fault included."""

import asyncio
import gc
import logging
import math
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from moot import bootstrap
from moot.core import answers, limits, prompts
from moot.core.debate import Debate
from moot.core.format import Effort, Format
from moot.core.limits import NO_THINKING, THINKING, Thinking
from moot.core.prompts import Message
from moot.core.schedule import Step
from moot.errors import ProviderAuthError, ProviderError, ProviderTimeoutError
from moot.models import providers
from moot.models.connection import _Bounded
from moot.models.providers import VENDORS as VENDOR_ROWS
from moot.models.providers import Place, Providers
from moot.models.router import Router
from moot.models.speak import _left_behind
from moot.ports import WHOLE, Call, ModelCard, Reply, Say
from moot.settings import Settings
from tests import patience

# pytest finds it from the root of the repo, pyright looks from tests/
from tests.integration import wire
from tests.integration.wire import Answer, Wire
from tests.unit.core.test_prompts import steps_of, turn_of
from tests.unit.models.local.test_small import council

KEY = "sk-canary-7f3a"
VENDORS = ("openai", "claude", "gemini", "local")
KEYS: dict[str, str] = dict.fromkeys(("openai", "claude", "gemini"), KEY)
NAMES = {"openai": "OpenAI", "claude": "Claude", "gemini": "Gemini", "local": "local server"}
SECONDS = 1.0  # of a call that is to run into its deadline
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


@asynccontextmanager
async def talking() -> AsyncGenerator[tuple[Router, Wire]]:
    """A router whose vendors are all the wire server, each SDK loaded."""
    async with Wire() as server:
        known = Providers(KEYS, {vendor: server.url(vendor) for vendor in VENDORS})
        router = Router(known, Understudy())
        try:
            for vendor in VENDORS:
                await router.speak(call(f"{vendor}:warm", patience.seconds()), _nothing)
            server.requests.clear()
            yield router, server
        finally:
            await router.aclose()


def _nothing(_: str) -> None:
    pass


def run(test: Callable[[Router, Wire], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with talking() as (router, server):
            await test(router, server)

    asyncio.run(main())


async def fails(router: Router, model: str, seconds: float = 60.0, **more: Any) -> ProviderError:
    """The error of a call that must fail, and not wait for a server that never goes on."""
    with pytest.raises(ProviderError) as caught:
        async with asyncio.timeout(patience.seconds(60 + seconds * WHOLE)):
            await router.speak(call(model, seconds, **more), _nothing)
    error = caught.value
    assert NAMES[model.partition(":")[0]] in error.message
    assert error.message.endswith(".")
    assert error.__cause__ is None
    assert error.__context__ is None
    for text in (error.message, repr(error), repr(vars(error))):
        assert "canary" not in text
        assert "Traceback" not in text
        assert "127.0.0.1" not in text
    return error


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
    "huge": "INVALID",  # a body of 1 GB
    "lines": "INVALID",
    "heavy": "INVALID",  # an error whose body has 1 GB
}
ENDLESS = frozenset({"none", "late", "stuck", "slow"})


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_every_vendor_has_its_code(
    fault: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)

    async def faults(router: Router, server: Wire) -> None:
        server.pause = 0.05
        seconds = SECONDS if fault in ENDLESS else 60.0
        models = [f"{vendor}:wire-{fault}" for vendor in VENDORS]
        errors = await asyncio.gather(*(fails(router, model, seconds) for model in models))
        codes = {error.code for error in errors}
        assert codes == {f"DEBATE_ERR_PROVIDER_{FAULTS[fault]}"}
        assert len(server.requests) == len(VENDORS)  # nobody tried twice behind our back

    run(faults)
    out, err = capfd.readouterr()
    assert "canary" not in caplog.text
    assert "canary" not in out + err
    assert "Traceback" not in out + err


@pytest.mark.parametrize("vendor", VENDORS)
def test_refused_connection(vendor: str) -> None:
    with socket.socket() as free:  # bound, and nobody listens
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        known = Providers(KEYS, dict.fromkeys(VENDORS, url))

        async def main() -> None:
            router = Router(known, Understudy())
            error = await fails(router, f"{vendor}:any")
            assert error.code == "DEBATE_ERR_PROVIDER_UNAVAILABLE"
            assert (error.input_tokens, error.estimated) == (0, False)
            await router.aclose()

        asyncio.run(main())


def test_a_missing_key_names_its_variable() -> None:
    async def main() -> None:
        router = Router(Providers({"claude": " ", "gemini": "\u00fc"}), Understudy())
        expected = {"openai": "OPENAI_API_KEY", "claude": "ANTHROPIC_API_KEY"}
        for vendor, variable in (expected | {"gemini": "GEMINI_API_KEY"}).items():
            error = await fails(router, vendor)
            assert isinstance(error, ProviderAuthError)
            assert variable in error.message
        await router.aclose()

    asyncio.run(main())


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


def test_how_long_to_wait() -> None:
    async def waits(router: Router, _: Wire) -> None:
        for vendor in VENDORS:
            assert (await fails(router, f"{vendor}:wire-429")).retry_after is None
            assert (await fails(router, f"{vendor}:wire-429-after")).retry_after == 7
            assert (await fails(router, f"{vendor}:wire-429-ms")).retry_after == 2.5
            dated = (await fails(router, f"{vendor}:wire-429-date")).retry_after
            assert dated == pytest.approx(60, abs=5)
            assert (await fails(router, f"{vendor}:wire-503-after")).retry_after == 7
        assert (await fails(router, "gemini:wire-delay")).retry_after == 37  # RetryInfo

    run(waits)


def test_what_a_failed_call_used_is_known() -> None:
    async def used(router: Router, _: Wire) -> None:
        for vendor in VENDORS:
            broken = await fails(router, f"{vendor}:wire-cut")
            assert broken.input_tokens > 0  # a part was said: estimated
            assert broken.output_tokens > 0
            refused = await fails(router, f"{vendor}:wire-401")
            assert (refused.input_tokens, refused.output_tokens) == (0, 0)
        empty = await fails(router, "openai:wire-empty")
        metered = (empty.input_tokens, empty.output_tokens)
        assert metered == (wire.INPUT_TOKENS, wire.OUTPUT_TOKENS)

    run(used)


@pytest.mark.parametrize("fault", ["none", "late", "stuck", "dropped", "cut", "short"])
def test_a_call_that_was_accepted_is_counted(fault: str) -> None:
    async def counted(router: Router, server: Wire) -> None:
        seconds = SECONDS if fault in ("none", "late") else 60.0
        seconds = 4 * SECONDS if fault == "stuck" else seconds  # words come first, even slowly
        models = [f"{vendor}:wire-{fault}" for vendor in VENDORS]
        errors = await asyncio.gather(*(fails(router, model, seconds) for model in models))
        assert len(server.requests) == len(VENDORS)
        for model, error in zip(models, errors, strict=True):
            assert error.estimated
            assert error.input_tokens > 0
            assert (error.output_tokens > 1) == (fault in ("stuck", "cut", "short"))
            assert (error.cost_usd > 0) == bool(router.card(model).input_price)

    run(counted)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_a_call_that_was_refused_costs_nothing(status: int) -> None:
    async def refused(router: Router, _: Wire) -> None:
        for vendor in VENDORS:
            error = await fails(router, f"{vendor}:wire-{status}")
            assert (error.input_tokens, error.output_tokens, error.cost_usd) == (0, 0, 0.0)
            assert not error.estimated

    run(refused)


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["text", "json"])
@pytest.mark.parametrize("fault", ["long", "musing"])
def test_a_speaker_who_goes_on_is_not_cut(fault: str, schema: dict[str, Any] | None) -> None:
    """Each silence is short, the whole is longer than a silence may be."""

    async def goes_on(router: Router, server: Wire, silence: float) -> None:
        server.pause = 0.3 * silence
        signs: dict[str, list[float]] = {vendor: [] for vendor in VENDORS}
        said: list[str] = []
        calls = [
            call(f"{vendor}:wire-{fault}", silence, schema=schema, allow=signs[vendor].append)
            for vendor in VENDORS
        ]
        replies = await asyncio.gather(*(router.speak(one, said.append) for one in calls))
        text = "yes" if fault == "musing" else "".join(wire.WORDS)
        assert {reply.text for reply in replies} == {text}
        assert bool(said) == (schema is None)
        for seconds in signs.values():  # thoughts and pieces of JSON are signs of life, too
            assert seconds[-len(wire.WORDS) :] == [silence] * len(wire.WORDS)

    async def patiently(router: Router, server: Wire) -> None:
        for silence in (SECONDS, 4 * SECONDS, 16 * SECONDS):  # a busy machine is silent, too
            with suppress(ProviderTimeoutError):
                return await goes_on(router, server, silence)
        raise AssertionError("it was cut each time")

    run(patiently)


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


def test_claims_that_no_database_holds() -> None:
    async def claims(router: Router, _: Wire) -> None:
        for vendor in VENDORS:
            reply = await router.speak(call(f"{vendor}:wire-claims"), _nothing)
            assert 0 < reply.usage.output_tokens < 2**31

    run(claims)


MODELS = {
    "openai": "gpt-5-mini",
    "claude": "claude-sonnet-4-6",
    "gemini": "gemini-2.5-flash",
    "local": "qwen2.5:7b",
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_an_answer(vendor: str) -> None:
    async def answer(router: Router, server: Wire) -> None:
        said: list[str] = []
        model = f"{vendor}:{MODELS[vendor]}"
        reply = await router.speak(call(model), said.append)
        assert tuple(said) == wire.PIECES
        assert reply.text == "".join(wire.PIECES)
        assert reply.model == model
        assert not reply.cut
        usage = reply.usage
        assert (usage.input_tokens, usage.output_tokens) == (wire.INPUT_TOKENS, wire.OUTPUT_TOKENS)
        assert (usage.calls, usage.estimated) == (1, False)
        card = router.card(model)
        price = usage.input_tokens * (card.input_price or 0)
        price += usage.output_tokens * (card.output_price or 0)
        assert usage.cost_usd == pytest.approx(price)
        assert (usage.cost_usd > 0) == (vendor != "local")
        (request,) = server.requests
        assert said_on_the_wire(vendor, request.body) == [text.text for text in PROMPT]
        assert request.allowed == 200
        sent = str(request.headers)
        assert (KEY in sent) == (vendor != "local")  # a vendor's key goes to the vendor alone

    run(answer)


def said_on_the_wire(vendor: str, body: dict[str, Any]) -> list[str]:
    """The prompt's texts in the order in which the model reads them."""
    if vendor == "openai":
        texts = [body["instructions"]] if "instructions" in body else []
        return texts + [message["content"] for message in body["input"]]
    if vendor == "claude":
        texts = [block["text"] for block in body["system"]]
        return texts + [block["text"] for turn in body["messages"] for block in turn["content"]]
    if vendor == "gemini":
        turns = [body["systemInstruction"], *body["contents"]]
        assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
        return [part["text"] for turn in turns for part in turn["parts"]]
    assert [turn["role"] for turn in body["messages"]] == ["system", "user", "assistant", "user"]
    return [turn["content"] for turn in body["messages"]]


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
        await router.speak(replace(call(model), messages=HOSTS), _nothing)
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
            await router.speak(call(model), _nothing)
        openai, claude, local, gemini = (request.body for request in server.requests)
        assert openai["prompt_cache_key"] == "debate-1:ada"
        assert openai["prompt_cache_options"]
        assert claude["cache_control"]["type"] == "ephemeral"
        assert claude["system"][-1]["cache_control"]["type"] == "ephemeral"
        assert "cache" not in str(local)
        assert "cache" not in str(gemini)

    run(caches)


def test_vendors_are_asked_to_keep_nothing() -> None:
    async def kept(router: Router, server: Wire) -> None:
        for vendor in VENDORS:
            await router.speak(call(f"{vendor}:{MODELS[vendor]}"), _nothing)
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
            await router.speak(asked, _nothing)
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
        assert answers.find((await router.speak(as_a_tool, _nothing)).text) == {"claim": "yes"}
        assert server.requests[-1].body["thinking"]["type"] == "enabled"
        assert server.requests[-1].body["tool_choice"]["type"] == "auto"  # as thinking demands
        await router.speak(call("claude:claude-sonnet-5-5", effort=effort), _nothing)
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
        reply = await router.speak(asked, _nothing)
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
        await router.speak(call(model, effort="high", allow=allowed.append), _nothing)
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
            reply = await router.speak(call(model, effort="high"), _nothing)
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
        await router.speak(call(model), _nothing)
        assert server.requests[-1].allowed == 200 + room.tokens
        assert (room.tokens > 0) == (LEAST[model] not in (None, "none"))
        assert room.tokens <= card.window // 2
        await router.speak(call(model, effort="high"), _nothing)
        high = THINKING["high"].tokens if card.least else 0
        assert server.requests[-1].allowed == 200 + min(high, card.window // 2)

    run(roomy)


@pytest.mark.parametrize("vendor", VENDORS)
def test_thoughts_are_metered(vendor: str) -> None:
    async def metered(router: Router, _: Wire) -> None:
        asked = call(f"{vendor}:wire-thoughts", effort="high")
        usage = (await router.speak(asked, _nothing)).usage
        assert (usage.output_tokens, usage.estimated) == (wire.OUTPUT_TOKENS, False)
        assert usage.thinking_tokens == wire.THOUGHT_TOKENS
        plain = await router.speak(call(f"{vendor}:wire-json"), _nothing)
        assert plain.usage.thinking_tokens == 0

    run(metered)


def test_thoughts_that_a_server_does_not_count_are_counted_by_their_share() -> None:
    async def shared(router: Router, server: Wire) -> None:
        server.answers = lambda _: Answer("x" * len(wire.THOUGHT), 40, 60, counts=False)
        usage = (await router.speak(call("local:some"), _nothing)).usage
        assert (usage.output_tokens, usage.thinking_tokens) == (100, 50)
        server.answers = lambda _: Answer("x", 40, 500)
        error = await fails(router, "local:some")  # which has 200 tokens, and thinks them all
        assert (error.output_tokens, error.thinking_tokens) == (200, 200)

    run(shared)


@pytest.mark.parametrize("vendor", VENDORS)
def test_all_tokens_thought_and_no_word_said_may_be_tried_with_more(vendor: str) -> None:
    async def unsaid(router: Router, _: Wire) -> None:
        error = await fails(router, f"{vendor}:wire-silence")
        assert (error.code, error.cut) == ("DEBATE_ERR_PROVIDER_EMPTY", True)
        assert not (await fails(router, f"{vendor}:wire-empty")).cut

    run(unsaid)


@pytest.mark.parametrize("vendor", VENDORS)
def test_thoughts_are_not_said(vendor: str) -> None:
    async def thoughts(router: Router, _: Wire) -> None:
        said: list[str] = []
        reply = await router.speak(call(f"{vendor}:wire-thoughts"), said.append)
        assert reply.text == "".join(said) == "".join(wire.PIECES)

    run(thoughts)


@pytest.mark.parametrize("vendor", VENDORS)
def test_cut_by_the_token_limit_is_an_answer(vendor: str) -> None:
    async def cut(router: Router, _: Wire) -> None:
        reply = await router.speak(call(f"{vendor}:wire-length"), _nothing)
        assert reply.cut
        assert reply.text == "".join(wire.PIECES)
        assert not reply.usage.estimated

    run(cut)


@pytest.mark.parametrize("vendor", VENDORS)
def test_an_endless_stream_is_cut_by_us(vendor: str) -> None:
    async def endless(router: Router, server: Wire) -> None:
        reply = await router.speak(call(f"{vendor}:wire-endless"), _nothing)
        assert reply.cut
        assert len(reply.text) < 200 * 12 + 20_000 + 1_000
        assert reply.usage.estimated
        await gone(server)

    run(endless)


@pytest.mark.parametrize("fault", ["tail", "reset"])
def test_what_comes_after_the_last_word_does_not_matter(fault: str) -> None:
    async def whole(router: Router, _: Wire) -> None:
        models = [f"{vendor}:wire-{fault}" for vendor in VENDORS]
        replies = await asyncio.gather(*(router.speak(call(m, 30), _nothing) for m in models))
        assert {reply.text for reply in replies} == {"".join(wire.PIECES)}
        assert not any(reply.cut for reply in replies), "nobody waited for more"

    run(whole)


def test_json_where_it_is_asked_for() -> None:
    async def structured(router: Router, server: Wire) -> None:
        for vendor in VENDORS:
            said: list[str] = []
            reply = await router.speak(call(f"{vendor}:wire-json", schema=SCHEMA), said.append)
            assert answers.find(reply.text) == {"claim": "yes"}
            assert said == []
            assert "claim" in str(server.requests[-1].body)
        assert "json_schema" in str(server.requests[-1].body)  # a grammar, on a local server

    run(structured)


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
                await router.speak(call(model, schema=schema), _nothing)
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
            await router.speak(call(f"{vendor}:{MODELS[vendor]}", schema=schema), _nothing)
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
            await other.speak(call("chat:gpt-5-mini", schema=schema), _nothing)
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
            await router.speak(call(model, schema=schema), _nothing)
            (field,) = found(server.requests[-1].body, "choice")
            assert field["enum"][:2] == list(STATED)
            assert set(field["enum"][2:]) <= {"other", "undecided"}

    run(chosen)


CHALLENGERS = {
    "proponent": ["Critic", "Analyst"],
    "critic": ["Proponent", "Synthesizer"],
    "synthesizer": ["Judge"],
}


async def gone(server: Wire) -> None:
    """Once the client has hung up."""
    await patience.soon(lambda: server.requests[-1].gone_at, "the connection is still open")


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("fault", ["slow", "none", "endless"])
def test_a_cancelled_call_hangs_up_at_once(vendor: str, fault: str) -> None:
    async def cancelled(router: Router, server: Wire) -> None:
        said: list[str] = []
        asked = call(f"{vendor}:wire-{fault}", max_tokens=1_000_000)
        task = asyncio.create_task(router.speak(asked, said.append))
        await patience.soon(lambda: server.requests and (fault == "none" or len(said) >= 3))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gone(server)

    run(cancelled)


def test_a_connection_that_does_not_close_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    close = _Bounded.aclose

    may_close = asyncio.Event()

    async def slowly(self: _Bounded) -> None:
        await may_close.wait()
        await close(self)

    async def stuck(router: Router, server: Wire) -> None:
        monkeypatch.setattr(_Bounded, "aclose", slowly)
        for vendor in VENDORS:
            error = await fails(router, f"{vendor}:wire-stuck", 0.3)
            assert error.code == "DEBATE_ERR_PROVIDER_TIMEOUT"
            assert _left_behind, "it came back before the connection was closed"
        may_close.set()
        await patience.soon(lambda: not _left_behind)  # in the end they all went
        monkeypatch.undo()

    run(stuck)


@pytest.mark.parametrize("fault", ["huge", "lines", "heavy", "endless"])
def test_no_answer_fills_the_memory(fault: str) -> None:
    async def bounded(router: Router, _: Wire) -> None:
        limit = patience.seconds(20)
        gc.collect()
        tracemalloc.start()
        try:
            for vendor in VENDORS:
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                if fault == "endless":
                    await router.speak(call(f"{vendor}:wire-endless", limit), _nothing)
                else:
                    await fails(router, f"{vendor}:wire-{fault}", limit)
                assert tracemalloc.get_traced_memory()[1] - before < 8_000_000, vendor
        finally:
            tracemalloc.stop()

    run(bounded)


def test_two_hundred_calls_at_once() -> None:
    async def crowd(router: Router, server: Wire) -> None:
        server.together = 200
        models = [f"{VENDORS[place % 4]}:wire-steady" for place in range(200)]
        replies = await asyncio.gather(
            *(router.speak(call(m, patience.seconds(30)), _nothing) for m in models)
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
            assert tuple(said) == wire.PIECES
            (request,) = server.requests
            assert (request.model, request.headers["authorization"]) == ("large", f"Bearer {KEY}")
            assert router.card("corp").input_price is None  # nobody published one
            with pytest.raises(ProviderAuthError, match=r"^The key for Acme's gateway was refused"):
                await router.speak(call("corp:wire-401"), _nothing)
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
