"""Services that do not take all of a request that others need: they are asked without it."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from moot.core import answers
from moot.errors import (
    ProviderAbsentError,
    ProviderAllowanceError,
    ProviderAuthError,
    ProviderContextError,
    ProviderRateLimitError,
    ProviderRejectedError,
    ProviderUnknownModelError,
)
from moot.models.providers import Providers
from moot.models.router import Router
from moot.testing.provider_calls import KEY, SCHEMA, call, fails, nothing, talking
from moot.testing.wires import dialects, wire_server
from moot.testing.wires.wire_server import Answer, Request, Wire

OBJECTIONS = {  # a part of the body, and how services refuse it
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead.",
    "stream_options": "body.stream_options.include_usage: Extra inputs are not permitted",
    "response_format": "This model does not support response format `json_schema`.",
}
ROW = "azure"  # one of those whose wire is chat completions


def objecting(*parts: str) -> Callable[[Request], str]:
    def objects(request: Request) -> str:
        words = {**OBJECTIONS, "reasoning_effort": "Unsupported value."}
        return next((words[part] for part in parts if part in request.body), "")

    return objects


def served(server: Wire) -> AbstractAsyncContextManager[Router]:
    return talking(Providers({ROW: KEY}, {ROW: server.url("local")}))


def shaped(_: Request) -> Answer:
    return Answer('```json\n{"claim": "yes"}\n```', 9)


@pytest.mark.parametrize("part", OBJECTIONS)
def test_what_a_service_does_not_take_is_left_out_and_not_tried_again(part: str) -> None:
    async def work() -> None:
        async with Wire(answers=shaped) as server, served(server) as router:
            server.objects = objecting(part)
            for number in (2, 3):
                reply = await router.speak(call(f"{ROW}:m", schema=SCHEMA), nothing)
                assert answers.find(reply.text) == {"claim": "yes"}
                assert (reply.usage.calls, reply.usage.estimated) == (1, False)
                assert len(server.requests) == number, "it was asked once with it"
            body = server.requests[-1].body
            assert part not in body
            if part == "max_tokens":
                assert body["max_completion_tokens"] == 200
            if part == "response_format":
                assert '"claim"' in body["messages"][-1]["content"]
                assert not body.get("tools")

    asyncio.run(work())


def test_a_service_that_takes_none_of_it_is_asked_with_words_alone() -> None:
    async def work() -> None:
        async with Wire(answers=shaped) as server, served(server) as router:
            server.objects = objecting(*OBJECTIONS)
            reply = await router.speak(call(f"{ROW}:m", schema=SCHEMA), nothing)
            assert answers.find(reply.text) == {"claim": "yes"}
            assert len(server.requests) == 4

    asyncio.run(work())


def test_a_service_that_objects_whatever_is_sent_is_not_asked_for_ever() -> None:
    async def work() -> None:
        async with Wire() as server, served(server) as router:
            server.objects = lambda _: " ".join(OBJECTIONS.values())
            error = await fails(router, f"{ROW}:m", "Azure", schema=SCHEMA)
            assert isinstance(error, ProviderRejectedError)
            assert len(server.requests) <= 5
            server.objects = lambda _: ""
            await router.speak(call(f"{ROW}:m"), nothing)
            assert "max_tokens" in server.requests[-1].body, "that was not why"

    asyncio.run(work())


@pytest.mark.parametrize("row", ["deepseek", "moonshot", "zai"])
def test_a_service_that_takes_no_schema_is_told_it_in_words(row: str) -> None:
    """They refuse a schema, and a tool that has to be used while their models think."""

    async def work() -> None:
        async with Wire(answers=shaped) as server:
            known = Providers({row: KEY}, {row: server.url("local")})
            async with talking(known) as router:
                reply = await router.speak(call(row, schema=SCHEMA), nothing)
                assert answers.find(reply.text) == {"claim": "yes"}
                (request,) = server.requests
                assert not {"response_format", "tools", "tool_choice"} & request.body.keys()
                assert '"claim"' in request.body["messages"][-1]["content"]
                assert request.allowed > 200, "its model thinks, and has room for it"

    asyncio.run(work())


@pytest.mark.parametrize("row", ["deepseek", "moonshot", "together", "zai", "mistral"])
def test_an_effort_reaches_a_service_that_takes_one(row: str) -> None:
    """The card says of the others that nothing tells them how hard to think."""

    async def work() -> None:
        async with Wire() as server:
            known = Providers({row: KEY}, {row: server.url("local")})
            model = "mistral:magistral-medium-latest" if row == "mistral" else row
            async with talking(known) as router:
                for effort in ("low", "medium"):
                    await router.speak(call(model, effort=effort), nothing)
                    sent = server.requests[-1].body.get("reasoning_effort")
                    told = "high" if (row, effort) == ("zai", "medium") else effort
                    assert sent == (told if router.card(model).steered else None)
                assert router.card(model).steered == (row != "mistral")
                server.objects = objecting("reasoning_effort")
                for number in (4, 5):
                    await router.speak(call(model, effort="high"), nothing)
                    assert len(server.requests) == number - (row == "mistral")
                assert not router.card(model).steered
                assert server.requests[-1].allowed > 200 + 4096, "it may think all the same"

    asyncio.run(work())


SAID = {  # by services that have no status of its own for it
    "Incorrect API key provided: sk***YA.": ProviderAuthError,
    "API key not valid. Please pass a valid API key.": ProviderAuthError,
    "Model Not Exist": ProviderUnknownModelError,
    "Unknown Model, please check the model code.": ProviderUnknownModelError,
    "foo/bar is not a valid model ID": ProviderUnknownModelError,
    "Your account is not active: exceeded_current_quota_error": ProviderRateLimitError,
    "User location is not supported.": ProviderRejectedError,
}


def test_what_a_service_says_tells_why_it_refused() -> None:
    async def work() -> None:
        async with Wire() as server, served(server) as router:
            for words, kind in SAID.items():
                server.objects = lambda _, words=words: words
                server.objection = 429 if kind is ProviderRateLimitError else 400
                error = await fails(router, f"{ROW}:m", "Azure")
                assert type(error) is kind, words
                assert "foo" not in error.message
            assert len(server.requests) == len(SAID)

    asyncio.run(work())


GROQ = (
    "Request too large for model `openai/gpt-oss-120b` in organization `org_1` service tier "
    "`on_demand` on tokens per minute (TPM): Limit 8000, Requested 12345, please reduce your "
    "message size and try again."
)
OPENAI = (
    "Request too large for gpt-6 in organization org-1 on tokens per min (TPM): Limit 30000, "
    "Requested 40000. The input or output tokens must be reduced in order to run successfully."
)
BY_STATUS = (  # what is said with it, and what that means
    (413, GROQ, ProviderAllowanceError, "in a minute"),
    (429, OPENAI, ProviderAllowanceError, "in a minute"),
    (
        429,
        "Rate limit reached on tokens per min (TPM): Limit 9, Used 8",
        ProviderRateLimitError,
        "",
    ),
    (413, "Request Entity Too Large", ProviderContextError, "too long"),
    (
        404,
        "The model `m` does not exist or you do not have access to it.",
        ProviderUnknownModelError,
        "no model",
    ),
    (404, "No endpoints found for m.", ProviderUnknownModelError, "no model"),
    (404, "Not Found", ProviderAbsentError, "Check AZURE_OPENAI_ENDPOINT"),
    (404, "Invalid URL (POST /v1/models/chat/completions)", ProviderAbsentError, "Check AZURE"),
)


def test_a_status_with_several_meanings_is_told_by_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dialects.canary, "echo", "")

    async def work() -> None:
        async with Wire() as server, served(server) as router:
            for status, words, kind, told in BY_STATUS:
                server.objection = status
                server.objects = lambda _, words=words: words
                error = await fails(router, f"{ROW}:mm", "Azure")
                assert type(error) is kind, words
                assert told in error.message
                assert "org" not in error.message

    asyncio.run(work())


def test_tokens_that_are_told_with_every_piece_are_not_added_up() -> None:
    async def work() -> None:
        async with Wire() as server, served(server) as router:
            reply = await router.speak(call(f"{ROW}:wire-counting"), nothing)
            told = reply.usage.input_tokens, reply.usage.output_tokens
            assert told == (wire_server.INPUT_TOKENS, wire_server.OUTPUT_TOKENS)
            assert server.requests[-1].body["stream_options"] == {"include_usage": True}

    asyncio.run(work())


def test_thoughts_within_the_text_are_not_said() -> None:
    async def work() -> None:
        async with Wire() as server, served(server) as router:
            said: list[str] = []
            reply = await router.speak(call(f"{ROW}:wire-aside"), said.append)
            assert reply.text == "".join(said) == "The " + "".join(wire_server.PIECES)
            assert reply.usage.thinking_tokens > 0

    asyncio.run(work())


@pytest.mark.parametrize("manner", ["null", "unsaid", "both"])
def test_a_stream_that_leaves_something_out_at_its_end_is_whole(manner: str) -> None:
    """The last delta is null, or nothing but `[DONE]` tells that it is over."""

    async def work() -> None:
        async with Wire() as server, served(server) as router:
            reply = await router.speak(call(f"{ROW}:wire-odd-{manner}"), nothing)
            assert reply.text == "".join(wire_server.PIECES)
            assert (reply.cut, reply.usage.estimated) == (False, False)
            told = reply.usage.input_tokens, reply.usage.output_tokens
            assert told == (wire_server.INPUT_TOKENS, wire_server.OUTPUT_TOKENS)

    asyncio.run(work())
