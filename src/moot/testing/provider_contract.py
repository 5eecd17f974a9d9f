"""What moot promises of every provider, whatever API it has: one suite, run on each wire format.

`ProviderContract` holds all of it. A subclass in a test file names its `subject`: a provider, the
format that it speaks, and a model. `RowContract` is the part that is cheap enough for every row of
`providers.toml`. Both talk through the vendors' own SDKs to the server in `wires`, faults included.
"""

import asyncio
import gc
import logging
import socket
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from moot.core import answers
from moot.core.limits import THINKING
from moot.errors import ProviderAuthError, ProviderError, ProviderTimeoutError
from moot.models.connection import _Bounded  # pyright: ignore[reportPrivateUsage]
from moot.models.providers import VENDORS, Providers
from moot.models.router import Router
from moot.models.speak import _left_behind  # pyright: ignore[reportPrivateUsage]
from moot.testing.bus_peer import PATIENCE, until
from moot.testing.provider_calls import (
    ENDLESS,
    KEY,
    PROMPT,
    SCHEMA,
    SECONDS,
    Subject,
    Talk,
    call,
    fails,
    known,
    nothing,
    said_on_the_wire,
    talking,
)
from moot.testing.wires import wire_server as wire
from moot.testing.wires.wire_server import Wire

TEXT = "".join(wire.PIECES)


class _Talking:
    """One server and one router for all tests of a class: their SDK is loaded once."""

    subject: Subject

    @pytest.fixture(scope="class")
    @classmethod
    def talk(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
        with Talk(cls.subject, tmp_path_factory.mktemp("provider")).open() as talk:
            yield talk


class RowContract(_Talking):
    """What is asked of every row."""

    def test_an_answer_is_streamed_metered_and_paid(self, talk: Talk) -> None:
        async def answer(router: Router, server: Wire) -> None:
            said: list[str] = []
            model = talk.subject.named(talk.subject.model)
            reply = await router.speak(call(model), said.append)
            assert said[0] == wire.PIECES[0]
            assert "".join(said) == TEXT
            assert reply.text == TEXT
            assert reply.model == model
            assert not reply.cut
            usage = reply.usage
            counts = (usage.input_tokens, usage.output_tokens)
            assert counts == (wire.INPUT_TOKENS, wire.OUTPUT_TOKENS)
            assert (usage.calls, usage.estimated) == (1, False)
            card = router.card(model)
            price = usage.input_tokens * (card.input_price or 0)
            price += usage.output_tokens * (card.output_price or 0)
            assert usage.cost_usd == pytest.approx(price)
            row = VENDORS[talk.subject.provider]
            assert (usage.cost_usd > 0) == bool(row.prices)
            (request,) = server.requests
            assert said_on_the_wire(request) == [text.text for text in PROMPT]
            always = card.least not in (None, "none")
            assert (request.allowed > 200) if always else (request.allowed == 200)

        talk.run(answer)

    def test_its_key_goes_to_it_and_nowhere_else(self, talk: Talk) -> None:
        async def sent(router: Router, server: Wire) -> None:
            await router.speak(call(talk.subject.named("any")), nothing)
            (request,) = server.requests
            row = VENDORS[talk.subject.provider]
            assert (KEY in str(request.headers)) == bool(row.keys)
            assert KEY not in request.path + str(request.body)
            if row.reads and not row.keys:
                assert request.headers["authorization"] == f"Bearer {wire.ACCESS}"

        talk.run(sent)

    def test_a_structured_answer(self, talk: Talk) -> None:
        async def structured(router: Router, server: Wire) -> None:
            said: list[str] = []
            asked = call(talk.model("json"), schema=SCHEMA)
            reply = await router.speak(asked, said.append)
            assert answers.find(reply.text) == {"claim": "yes"}
            assert said == []
            body = server.requests[-1].body
            assert "claim" in str(body)
            if VENDORS[talk.subject.provider].api == "openai_chat":
                native = body.get("response_format", {}).get("type") == "json_schema"
                asked_natively = VENDORS[talk.subject.provider].structured
                assert talk.subject.wire == "ollama" or native == asked_natively
                assert not body.get("tools"), "else it is asked for in words"
            if talk.subject.tools:
                reply = await router.speak(call(talk.model("tool"), schema=SCHEMA), said.append)
                assert answers.find(reply.text) == {"claim": "yes"}

        talk.run(structured)

    def test_thoughts_are_metered_and_not_said(self, talk: Talk) -> None:
        async def metered(router: Router, _: Wire) -> None:
            said: list[str] = []
            asked = call(talk.model("thoughts"), effort="high")
            reply = await router.speak(asked, said.append)
            assert reply.text == "".join(said) == TEXT
            usage = reply.usage
            told = wire.OUTPUT_TOKENS + (wire.THOUGHT_TOKENS if talk.subject.apart else 0)
            assert (usage.output_tokens, usage.estimated) == (told, False)
            thought = len("Hm, let me see.")
            share = wire.OUTPUT_TOKENS * thought // (thought + len(TEXT))
            counted = talk.subject.counts_thoughts
            assert usage.thinking_tokens == (wire.THOUGHT_TOKENS if counted else share)
            plain = await router.speak(call(talk.model("json")), nothing)
            assert plain.usage.thinking_tokens == 0

        talk.run(metered)

    def test_what_it_refuses_is_told_in_its_name(self, talk: Talk) -> None:
        async def refused(_: Router, server: Wire) -> None:
            for status, code in (("401", "AUTH"), ("429", "RATE_LIMIT"), ("500", "UNAVAILABLE")):
                error = await talk.fails(status)
                assert error.code == f"DEBATE_ERR_PROVIDER_{code}"
            assert len(server.requests) == 3, "nobody tried twice behind our back"

        talk.run(refused)

    def test_a_cancelled_call_hangs_up_at_once(self, talk: Talk) -> None:
        async def cancelled(router: Router, server: Wire) -> None:
            for fault in ("slow", "none", "endless"):
                said: list[str] = []
                asked = call(talk.model(fault), max_tokens=1_000_000)
                before = len(server.requests)
                task = asyncio.create_task(router.speak(asked, said.append))
                await until(
                    lambda before=before, fault=fault, said=said: (
                        len(server.requests) > before and (fault == "none" or len(said) >= 3)
                    )
                )
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await until(lambda: server.requests[-1].gone_at)

        talk.run(cancelled)

    def test_a_missing_key_names_its_variable(self, talk: Talk) -> None:
        """A provider that has no key asks for none."""
        row = VENDORS[talk.subject.provider]

        async def missing(_: Router, __: Wire) -> None:
            for key in ({}, {row.name: " "}, {row.name: "\u00fc"}):
                urls = {row.name: "http://127.0.0.1:1/v1"}
                async with talking(Providers(key, urls)) as router:
                    if not row.key:
                        with pytest.raises(ProviderError) as caught:
                            await router.speak(call(row.name + ":any"), nothing)
                        assert "_KEY" not in caught.value.message
                        continue
                    error = await fails(router, row.name + ":any", row.label)
                    assert isinstance(error, ProviderAuthError)
                    assert any(name in error.message for name in (*row.keys, *row.reads))

        talk.run(missing)


class ProviderContract(RowContract):
    """The whole of it, for every wire format."""

    def test_every_failure_has_its_code(
        self, talk: Talk, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        caplog.set_level(logging.DEBUG)
        faults = talk.subject.faults

        async def failing(_: Router, server: Wire) -> None:
            server.pause = 0.05
            errors = await asyncio.gather(
                *(talk.fails(fault, SECONDS if fault in ENDLESS else 60.0) for fault in faults)
            )
            codes = {
                fault: error.code.removeprefix("DEBATE_ERR_PROVIDER_")
                for fault, error in zip(faults, errors, strict=True)
            }
            assert codes == faults
            tried = Counter(request.fault for request in server.requests)
            assert max(tried.values()) == 1, "nobody tried twice behind our back"
            assert faults.keys() - ENDLESS <= tried.keys()

        talk.run(failing)
        out, err = capfd.readouterr()
        assert "canary" not in caplog.text
        assert "canary" not in out + err
        assert "Traceback" not in out + err

    def test_a_refused_connection(self, talk: Talk) -> None:
        async def refused(_: Router, __: Wire) -> None:
            about = talk.subject
            with socket.socket() as free:  # bound, and nobody listens
                free.bind(("127.0.0.1", 0))
                url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
                talk_url = talk.server.url(about.wire)
                providers = known(about.provider, talk_url, talk.folder)
                providers = Providers(providers.keys, {about.provider: url}, more=providers.more)
                async with talking(providers) as router:
                    error = await fails(router, about.named("any"), about.label)
            assert error.code == "DEBATE_ERR_PROVIDER_UNAVAILABLE"
            assert (error.input_tokens, error.estimated) == (0, False)

        talk.run(refused)

    def test_how_long_to_wait(self, talk: Talk) -> None:
        async def waits(_: Router, __: Wire) -> None:
            assert (await talk.fails("429")).retry_after is None
            assert (await talk.fails("429-after")).retry_after == 7
            assert (await talk.fails("429-ms")).retry_after == 2.5
            dated = (await talk.fails("429-date")).retry_after
            assert dated == pytest.approx(60, abs=5)
            assert (await talk.fails("503-after")).retry_after == 7

        talk.run(waits)

    def test_a_call_that_was_accepted_is_counted(self, talk: Talk) -> None:
        faults = ("none", "late", "stuck", "dropped", "cut", "short")

        async def counted(router: Router, server: Wire) -> None:
            long = 4 * SECONDS  # the request goes out first, and words come, even slowly
            errors = await asyncio.gather(
                *(talk.fails(fault, long if fault in ENDLESS else 60.0) for fault in faults)
            )
            assert len(server.requests) == len(faults)
            for fault, error in zip(faults, errors, strict=True):
                assert error.estimated, fault
                assert error.input_tokens > 0, fault
                assert (error.output_tokens > 1) == (fault in ("stuck", "cut", "short")), fault
                price = router.card(talk.model(fault)).input_price
                assert (error.cost_usd > 0) == bool(price), fault
            empty = await talk.fails("empty")
            metered = (empty.input_tokens, empty.output_tokens)
            assert metered == (wire.INPUT_TOKENS, wire.OUTPUT_TOKENS)

        talk.run(counted)

    def test_a_call_that_was_refused_costs_nothing(self, talk: Talk) -> None:
        async def refused(_: Router, __: Wire) -> None:
            for status in (400, 401, 403, 404, 429, 500, 503):
                error = await talk.fails(str(status))
                assert (error.input_tokens, error.output_tokens, error.cost_usd) == (0, 0, 0.0)
                assert not error.estimated

        talk.run(refused)

    def test_a_speaker_who_goes_on_is_not_cut(self, talk: Talk) -> None:
        """Each silence is short, the whole is longer than a silence may be."""

        async def goes_on(
            router: Router, silence: float, fault: str, schema: dict[str, Any] | None
        ) -> None:
            signs: list[float] = []
            said: list[str] = []
            asked = call(talk.model(fault), silence, schema=schema, allow=signs.append)
            reply = await router.speak(asked, said.append)
            assert reply.text == ("yes" if fault == "musing" else "".join(wire.WORDS))
            assert bool(said) == (schema is None)
            # thoughts and pieces of JSON are signs of life, too
            assert signs[-len(wire.WORDS) :] == [silence] * len(wire.WORDS)

        shapes = (None, SCHEMA)

        async def patiently(router: Router, server: Wire) -> None:
            for silence in (SECONDS, 4 * SECONDS, 16 * SECONDS):  # a busy machine is silent, too
                server.pause = 0.3 * silence
                with suppress(ProviderTimeoutError):
                    each = [(fault, schema) for fault in ("long", "musing") for schema in shapes]
                    await asyncio.gather(*(goes_on(router, silence, *one) for one in each))
                    return
            raise AssertionError("it was cut each time")

        talk.run(patiently)

    def test_claims_that_no_database_holds(self, talk: Talk) -> None:
        async def claims(router: Router, _: Wire) -> None:
            reply = await router.speak(call(talk.model("claims")), nothing)
            assert 0 < reply.usage.output_tokens < 2**31

        talk.run(claims)

    def test_an_effort_has_tokens_of_its_own_if_it_can_be_asked_for(self, talk: Talk) -> None:
        async def thinks(router: Router, server: Wire) -> None:
            model = talk.subject.named(talk.subject.model)
            await router.speak(call(model, effort="high"), nothing)
            can = router.card(model).least is not None
            extra = THINKING["high"].tokens if can else 0
            assert server.requests[-1].allowed == 200 + extra

        talk.run(thinks)

    def test_all_tokens_thought_and_no_word_said_may_be_tried_with_more(self, talk: Talk) -> None:
        async def unsaid(_: Router, __: Wire) -> None:
            error = await talk.fails("silence")
            assert (error.code, error.cut) == ("DEBATE_ERR_PROVIDER_EMPTY", True)
            assert not (await talk.fails("empty")).cut

        talk.run(unsaid)

    def test_cut_by_the_token_limit_is_an_answer(self, talk: Talk) -> None:
        async def cut(router: Router, _: Wire) -> None:
            reply = await router.speak(call(talk.model("length")), nothing)
            assert reply.cut
            assert reply.text == TEXT
            assert not reply.usage.estimated

        talk.run(cut)

    def test_an_endless_stream_is_cut_by_us(self, talk: Talk) -> None:
        async def endless(router: Router, server: Wire) -> None:
            reply = await router.speak(call(talk.model("endless")), nothing)
            assert reply.cut
            assert len(reply.text) < 200 * 12 + 20_000 + 1_000
            assert reply.usage.estimated
            await until(lambda: server.requests[-1].gone_at)

        talk.run(endless)

    def test_what_comes_after_the_last_word_does_not_matter(self, talk: Talk) -> None:
        async def whole(router: Router, _: Wire) -> None:
            calls = (call(talk.model(fault), 30) for fault in ("tail", "reset"))
            replies = await asyncio.gather(*(router.speak(one, nothing) for one in calls))
            assert {reply.text for reply in replies} == {TEXT}
            assert not any(reply.cut for reply in replies), "nobody waited for more"

        talk.run(whole)

    def test_a_connection_that_does_not_close_delays_nobody(
        self, talk: Talk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        close = _Bounded.aclose
        may_close = asyncio.Event()

        async def slowly(self: _Bounded) -> None:
            await may_close.wait()
            await close(self)

        async def stuck(_: Router, server: Wire) -> None:
            seconds = 0.15

            async def until_true(sign: Callable[[], object]) -> None:
                """On a busy machine, a call may be late before it has a connection."""
                nonlocal seconds
                while not sign() and seconds < PATIENCE:
                    error = await talk.fails("stuck", seconds := seconds * 2)
                    assert error.code == "DEBATE_ERR_PROVIDER_TIMEOUT"

            before = len(server.requests)
            await until_true(lambda: len(server.requests) > before)  # its package is loaded
            seconds = 0.15
            monkeypatch.setattr(_Bounded, "aclose", slowly)
            await until_true(lambda: _left_behind)
            assert _left_behind, "it came back before the connection was closed"
            may_close.set()
            await until(lambda: not _left_behind)  # in the end it went
            monkeypatch.undo()

        talk.run(stuck)

    @pytest.mark.parametrize("fault", ["huge", "lines", "heavy", "endless"])
    def test_no_answer_fills_the_memory(self, talk: Talk, fault: str) -> None:
        async def bounded(router: Router, _: Wire) -> None:
            gc.collect()
            tracemalloc.start()
            try:
                before = tracemalloc.get_traced_memory()[0]
                if fault == "endless":
                    await router.speak(call(talk.model(fault), PATIENCE), nothing)
                else:
                    await talk.fails(fault, PATIENCE)
                assert tracemalloc.get_traced_memory()[1] - before < 8_000_000
            finally:
                tracemalloc.stop()

        talk.run(bounded)
