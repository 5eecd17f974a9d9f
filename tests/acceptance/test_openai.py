"""`/v1` through the clients that people use: OpenAI's own SDK, pydantic-ai, and in `make stress`
LangChain and the SDK for Node. And through bodies that no client sends."""

import asyncio
import json
import random
import re
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.api import openai_asked
from moot.core.request import MAX_MOTION
from moot.errors import ProviderAuthError, ProviderError
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker
from tests import clients
from tests.acceptance.test_http import Cast
from tests.patience import seconds, soon, until
from tests.served import Served, served
from tests.stress import STRESS

_count = iter(range(10**6))


def question(word: str = "Ask") -> str:
    return f"{word} door{next(_count)}: should we ship on Fridays?"


class Scene:
    """A server, its speaker, and OpenAI's client."""

    def __init__(self, server: Served, speaker: Cast) -> None:
        self.server, self.speaker, self.http = server, speaker, server.http
        self.client = openai.OpenAI(
            base_url=f"{server.url}/v1", api_key="anything", timeout=seconds(), max_retries=0
        )

    def ask(self, text: str, model: str = "moot/duel", **more: Any) -> Any:
        said: Any = [{"role": "user", "content": text}]
        return self.client.chat.completions.create(model=model, messages=said, **more)

    def stream(self, text: str, model: str = "moot/duel", **more: Any) -> list[Any]:
        with self.ask(text, model, stream=True, **more) as chunks:
            return list(chunks)

    def debates(self, text: str) -> list[dict[str, Any]]:
        return self.http.get("/debates", params={"q": text.split(":")[0]}).json()["items"]

    def count(self) -> int:
        return len(self.http.get("/debates", params={"limit": 200}).json()["items"])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scene]:
    speaker = Cast()
    with served(tmp_path_factory.mktemp("openai") / "home", speaker=speaker) as server:
        made = Scene(server, speaker)
        yield made
        made.client.close()


def one_debate(scene: Scene, text: str) -> dict[str, Any]:
    found = scene.debates(text)
    assert len(found) == 1, found
    return scene.http.get(f"/debates/{found[0]['id']}").json()


# --- what a client sees ---


def test_models(scene: Scene) -> None:
    names = [model.id for model in scene.client.models.list()]
    assert {"moot/council", "moot/council+jury3", "moot/duel"} <= set(names)
    assert scene.client.models.retrieve("moot/council+jury5").id == "moot/council+jury5"
    with pytest.raises(openai.NotFoundError):
        scene.client.models.retrieve("moot/nothing")
    with pytest.raises(openai.NotFoundError):
        scene.client.models.retrieve("moot/council+jury500")


def test_a_council_answers_with_its_decision(scene: Scene) -> None:
    text = question()
    answer = scene.ask(text, "moot/council", temperature=0.3, user="somebody",
                       extra_body={"chat_id": "x", "a_field_of_2030": {"a": 1}})  # fmt: skip
    debate = one_debate(scene, text)
    verdict = scene.http.get(f"/debates/{debate['id']}/verdict").json()
    content = answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "moot/council"
    assert verdict["outcome"] == answer.moot["outcome"]
    assert verdict["selected"]
    assert content.startswith(f"**{verdict['outcome'].capitalize()}: {verdict['selected']}**")
    assert ("**Dissent**" in content) == bool(verdict["dissent"])
    for part in ("**Support**", "## Why", "## Next actions", "[turn:"):
        assert part in content, part
    assert f"({scene.server.url}/d/{debate['id']})" in content
    assert len(debate["participants"]) == 5
    used = debate["usage"]
    assert answer.usage.prompt_tokens == used["input_tokens"] > 0
    assert answer.usage.completion_tokens == used["output_tokens"]


def test_a_jury_is_part_of_the_model(scene: Scene) -> None:
    text = question()
    answer = scene.ask(text, "moot/duel+jury3")
    assert len(one_debate(scene, text)["jury"]["seats"]) == 3
    assert answer.choices[0].message.content.startswith("**")
    assert "Juror" in answer.choices[0].message.content


def test_a_debate_without_an_outcome_answers_with_its_report(scene: Scene) -> None:
    answer = scene.ask(question(), "moot/classic")
    content = answer.choices[0].message.content
    assert "## At issue" in content
    assert "/d/debate_" in content
    assert answer.moot["outcome"] is None


def test_streamed(scene: Scene) -> None:
    text = question()
    options: Any = {"include_usage": True}
    chunks = scene.stream(text, "moot/council", stream_options=options)
    debate = one_debate(scene, text)
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert choices[0].delta.role == "assistant"
    reasoning = "".join(getattr(one.delta, "reasoning_content", None) or "" for one in choices)
    turns = scene.http.get(f"/debates/{debate['id']}/turns").json()["items"]
    assert all(turn["text"] in reasoning for turn in turns)
    content = "".join(one.delta.content or "" for one in choices)
    assert content == scene.ask(text, "moot/council").choices[0].message.content
    assert [one.finish_reason for one in choices if one.finish_reason] == ["stop"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens == debate["usage"]["input_tokens"]
    assert {chunk.id for chunk in chunks} == {f"chatcmpl-{debate['id']}"}
    without = scene.stream(text, "moot/council")
    assert all(chunk.usage is None for chunk in without)


def test_the_last_user_message_is_the_motion_and_the_rest_its_context(scene: Scene) -> None:
    text = question()
    said: Any = [
        {"role": "system", "content": "We are a bank."},
        {"role": "user", "content": "What is at stake?"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": [{"type": "text", "text": "Weekends."}]},
        {"role": "user", "content": [{"type": "text", "text": text},
                                     {"type": "text", "text": "Be brief."}]},
    ]  # fmt: skip
    scene.client.chat.completions.create(model="moot/duel", messages=said)
    motion = one_debate(scene, text)["motion"]
    assert motion.startswith(f"{text}\nBe brief.")
    order = [motion.index(part) for part in ("We are a bank.", "What is at stake?", "Weekends.")]
    assert order == sorted(order)


def test_what_has_no_room_in_the_motion_is_a_source_as_a_whole(scene: Scene) -> None:
    text = question()
    rota = "\n".join(f"On day {day} the rota has {day % 7} people." for day in range(300))
    said: Any = [
        {"role": "system", "content": rota},
        {"role": "assistant", "content": "new"},
        {"role": "user", "content": text},
    ]
    scene.client.chat.completions.create(model="moot/duel", messages=said)
    debate = one_debate(scene, text)
    assert debate["motion"].startswith(text)
    assert "all of it is source S1" in debate["motion"]
    assert debate["motion"].endswith("assistant: new")
    assert rota in whole_source(scene, debate, "S1")
    pasted = f"{question()}\n{rota}"
    scene.client.chat.completions.create(
        model="moot/duel", messages=[*said[:2], {"role": "user", "content": pasted}]
    )
    debate = one_debate(scene, pasted)
    assert debate["motion"].startswith(pasted[:1000])
    assert rota[-1000:] in debate["motion"]
    assert "all of it is source S1" in debate["motion"]
    assert whole_source(scene, debate, "S1") == pasted
    assert "assistant: new" in whole_source(scene, debate, "S2")
    keys: Any = [{"role": "user", "content": f"AKIAQ3EGPZ7RT5XJ2M4N {rota}"}, said[2]]
    with pytest.raises(openai.BadRequestError, match="looks like"):
        scene.client.chat.completions.create(model="moot/duel", messages=keys)
    allowed = {"allow_secrets": True}
    scene.client.chat.completions.create(model="moot/duel", messages=keys, extra_body=allowed)


def whole_source(scene: Scene, debate: dict[str, Any], id_: str) -> str:
    found = scene.http.get(f"/debates/{debate['id']}/sources/{id_}").json()
    return "\n".join(passage["text"] for passage in found["text"])


@given(st.lists(st.text("ab \n\x00", max_size=2500), max_size=3), st.integers(1, 9000))
def test_nothing_that_was_said_is_lost(before: list[str], size: int) -> None:
    """However long it is: the motion holds it, or a source does, and the motion fits."""
    said = [{"role": "user", "content": text} for text in (*before, "q" * size)]
    asked = openai_asked.read(json.dumps({"model": "moot/duel", "messages": said}).encode()).asked()
    assert len(asked["motion"]) <= MAX_MOTION
    held = [asked["motion"], *(source["text"] for source in asked.get("sources", ()))]
    for message in said:
        assert any(message["content"].strip() in text for text in held)


def test_pydantic_ai(scene: Scene) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def ask(text: str) -> str:
        async with openai.AsyncOpenAI(base_url=f"{scene.server.url}/v1", api_key="x") as client:
            provider = OpenAIProvider(openai_client=client)
            agent = Agent(OpenAIChatModel("moot/council", provider=provider))
            plain = (await agent.run(text)).output
            async with agent.run_stream(text) as streamed:
                assert (await streamed.get_output()).strip() == plain.strip()
            return plain

    text = question()
    assert asyncio.run(ask(text)).startswith("**")
    one_debate(scene, text)


# --- refusals ---


REFUSED: list[tuple[dict[str, Any], int, str | None]] = [
    ({"model": "gpt-5"}, 404, "model"),
    ({"model": "moot/nothing"}, 404, "model"),
    ({"model": "moot/duel+jury500"}, 400, "jury.size"),
    ({"model": None}, 404, "model"),
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, 400, "tools"),
    ({"functions": [{"name": "f"}]}, 400, "functions"),
    ({"n": 2}, 400, "n"),
    ({"response_format": {"type": "json_object"}}, 400, "response_format"),
    ({"stream": "yes"}, 400, "stream"),
    ({"stream_options": 1}, 400, "stream_options"),
    ({"messages": []}, 400, "messages"),
    ({"messages": [{"role": "system", "content": "Hello"}]}, 400, "messages"),
    ({"messages": [{"role": "user", "content": " "}]}, 400, "messages"),
    ({"modalities": ["text", "audio"]}, 400, "modalities"),
    ({"messages": [{"role": "wizard", "content": "x"}]}, 400, "messages[0].role"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        400,
        "messages[0].content[0]",
    ),
]


@pytest.mark.parametrize(("wrong", "status", "field"), REFUSED)
def test_refused(scene: Scene, wrong: dict[str, Any], status: int, field: str | None) -> None:
    before = scene.count()
    asked = {"model": "moot/duel", "messages": [{"role": "user", "content": question()}], **wrong}
    answer = scene.http.post("/v1/chat/completions", json=asked)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (status, field), answer.text
    assert error["type"] == "invalid_request_error"
    assert error["message"].endswith((".", "them."))
    assert scene.count() == before


def test_harmless_fields_pass(scene: Scene) -> None:
    scene.ask(question(), tools=[], tool_choice="none", n=1, response_format={"type": "text"})


def test_tokens_hosts_and_origins_are_checked_and_told_in_openais_shape(tmp_path: Path) -> None:
    token = "a-token-of-some-length"  # noqa: S105
    with served(tmp_path / "home", speaker=Cast(), token=token) as server:
        wrong = openai.OpenAI(base_url=f"{server.url}/v1", api_key="wrong", max_retries=0)
        with pytest.raises(openai.AuthenticationError) as refused:
            wrong.models.list()
        assert refused.value.code == "invalid_api_key"
        right = openai.OpenAI(base_url=f"{server.url}/v1", api_key=token)
        assert list(right.models.list())
        for headers, status in (
            ({"Host": "evil.example"}, 421),
            ({"Origin": "http://evil.example"}, 403),
        ):
            answer = server.http.get("/v1/models", headers=headers)
            assert answer.status_code == status
            assert answer.json()["error"]["message"]
        form = server.http.post("/v1/chat/completions", data={"model": "moot/duel"})
        assert (form.status_code, "error" in form.json()) == (415, True)
        with pytest.raises(openai.NotFoundError, match="POST /v1/chat/completions"):
            right.responses.create(model="moot/duel", input="Should we?")
        assert server.http.get("/debates").json()["items"] == []
        wrong.close()
        right.close()


def fuzzed(chance: random.Random, depth: int = 0) -> Any:
    """A value that may be anything, often nearly right."""
    simple: list[Any] = [
        None, True, 0, -1, 1e400, "", "x", "moot/duel+juryx", "\ud800", "\x00", "user", [], {},
    ]  # fmt: skip
    if depth > 3 or chance.random() < 0.5:
        return chance.choice(simple)
    if chance.random() < 0.5:
        return [fuzzed(chance, depth + 1) for _ in range(chance.randrange(4))]
    names = ("role", "content", "type", "text", "model", "messages", "include_usage")
    return {chance.choice(names): fuzzed(chance, depth + 1) for _ in range(chance.randrange(4))}


def test_bodies_that_no_client_sends(scene: Scene) -> None:
    """No error of ours, and no debate that nobody asked for."""
    chance, before = random.Random(7), scene.count()
    for number in range(500 if STRESS else 120):
        asked: Any = {"model": "moot/duel", "messages": fuzzed(chance)}
        asked[chance.choice(["stream", "n", "tools", "model", "messages"])] = fuzzed(chance)
        body = json.dumps(asked).encode()
        if number % 3 == 0:
            cut = chance.randrange(len(body))
            body = body[:cut] + bytes(chance.randrange(256) for _ in range(chance.randrange(9)))
        answer = scene.http.post(
            "/v1/chat/completions", content=body, headers={"Content-Type": "application/json"}
        )
        assert 400 <= answer.status_code < 500, (body, answer.text)
        assert answer.json()["error"]["message"], body
    assert scene.count() == before


# --- one debate, one bill ---


def test_a_request_that_comes_again_joins_its_debate(scene: Scene) -> None:
    text = question("Hold")
    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(scene.ask, text) for _ in range(4)]
        until(lambda: scene.debates(text))
        scene.speaker.let_go(text)
        answers = [one.result() for one in asking]
    again = scene.ask(text)
    assert len({one.model_dump_json() for one in (*answers, again)}) == 1
    assert scene.speaker.count(text) == 6
    one_debate(scene, text)
    other = scene.ask(text, extra_headers={"Idempotency-Key": "another"})
    assert other.id != again.id
    elsewhere = scene.client.with_options(api_key="another").chat.completions.create(
        model="moot/duel", messages=[{"role": "user", "content": text}]
    )
    assert elsewhere.id not in (again.id, other.id)


def test_after_an_hour_the_same_question_is_a_new_one(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = question()
    first = scene.ask(text)
    assert scene.ask(text).id == first.id
    monkeypatch.setattr("moot.api.openai_routes.JOIN_SECONDS", 0.0)
    until(lambda: scene.ask(text).id != first.id)


class Steady(ScriptedSpeaker):
    """Takes a little while for each turn, so that a client can be killed in the middle."""

    def __init__(self) -> None:
        super().__init__(seconds=0.01)


def test_a_client_that_is_killed_and_asks_again(tmp_path: Path) -> None:
    """At whichever moment: one debate, one bill, the same answer."""
    chance = random.Random(11)
    kills = 200 if STRESS else 12
    with served(tmp_path / "home", speaker=(speaker := Steady())) as server:
        body: dict[str, Any] = {"model": "moot/duel", "messages": []}
        for number in range(kills):
            text = f"Kill kill{number}: should we ship?"
            body["messages"] = [{"role": "user", "content": text}]
            body["stream"] = number % 2 == 0
            for _ in range(chance.randrange(1, 4)):
                _kill_after(server, body, chance.uniform(0, 0.12))
            answers = {_content(server, body) for _ in range(2)}
            assert len(answers) == 1, text
            found = server.http.get("/debates", params={"q": f"kill{number}"}).json()["items"]
            assert len(found) == 1, text
            calls = sum(call.debate.motion == text for call in speaker.calls)
            assert calls == 6, text
    print(f"{kills} clients were killed and asked again")


def _kill_after(server: Served, body: dict[str, Any], pause: float) -> None:
    """Ask, and hang up after a while, wherever that is."""
    with httpx2.Client(base_url=server.url, timeout=httpx2.Timeout(seconds(), read=pause)) as http:
        try:
            with http.stream("POST", "/v1/chat/completions", json=body) as answer:
                for _ in answer.iter_bytes():
                    if random.random() < 0.3:
                        return
        except httpx2.TimeoutException:
            pass


def _content(server: Served, body: dict[str, Any]) -> str:
    answer = server.http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    if not body["stream"]:
        return answer.json()["choices"][0]["message"]["content"]
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if "data: {" in line]
    deltas = [json.loads(line)["choices"][0]["delta"] for line in lines]
    return "".join(delta.get("content") or "" for delta in deltas)


# --- what goes wrong, and what takes long ---


class Locked(ScriptedSpeaker):
    """Whose key is refused until it is set."""

    def __init__(self) -> None:
        super().__init__(self._say)
        self.works = False
        self.held = threading.Event()
        self.held.set()

    def _say(self, call: Call) -> str | ProviderError:
        if self.works:
            return f"{call.step.actor} says so in round {call.step.round}."
        return ProviderAuthError("The key for Claude was refused. Set ANTHROPIC_API_KEY.")

    async def speak(self, call: Call, say: Say) -> Reply:
        while not self.held.is_set():
            await asyncio.sleep(0.005)
        return await super().speak(call, say)


def test_a_debate_that_pauses_is_an_error_and_the_next_request_goes_on(tmp_path: Path) -> None:
    with served(tmp_path / "home", speaker=(speaker := Locked())) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="x")  # it may try again
        said: Any = [{"role": "user", "content": "Should we ship?"}]
        with pytest.raises(openai.APIStatusError) as refused:
            client.chat.completions.create(model="moot/duel", messages=said)
        assert refused.value.status_code == 424
        assert "Set ANTHROPIC_API_KEY." in refused.value.message
        assert refused.value.code == "DEBATE_ERR_PROVIDER_AUTH"
        calls = len(speaker.calls)
        assert calls == 1  # OpenAI's client was told not to try again
        chunks = client.chat.completions.create(model="moot/duel", messages=said, stream=True)
        with chunks, pytest.raises(openai.APIError, match="Set ANTHROPIC_API_KEY"):
            list(chunks)
        assert len(speaker.calls) == calls + 1
        speaker.held.clear()  # so that it fails after the first byte
        with ThreadPoolExecutor(1) as pool:
            late = pool.submit(client.chat.completions.create, model="moot/duel", messages=said)
            until(lambda: speaker.in_flight == 0 and _status(server) == "running")
            threading.Event().wait(1.0)  # longer than a status is waited for
            speaker.held.set()
            answer: Any = late.result()
        assert "Set ANTHROPIC_API_KEY." in answer.choices[0].message.content
        assert answer.moot["failure"]["code"] == "DEBATE_ERR_PROVIDER_AUTH"
        speaker.works = True
        done: Any = client.chat.completions.create(model="moot/duel", messages=said)
        assert done.moot["status"] == "completed"
        assert len(server.http.get("/debates").json()["items"]) == 1
        client.close()


def _status(server: Served) -> str:
    return server.http.get("/debates").json()["items"][0]["status"]


def test_a_stopped_debate_is_not_joined(scene: Scene) -> None:
    text = question("Hold")
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(scene.stream, text)
        found = until(lambda: scene.debates(text))
        until(lambda: scene.debates(text)[0]["status"] == "running")
        scene.server.post(f"/debates/{found[0]['id']}/stop")
        scene.speaker.let_go(text)
        with pytest.raises(openai.APIError, match="stopped"):
            asking.result()
    assert scene.ask(text).moot["status"] == "completed"
    assert len(scene.debates(text)) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_the_first_byte_does_not_wait_for_the_debate(scene: Scene, stream: bool) -> None:
    text = question("Hold")
    body = {"model": "moot/duel", "messages": [{"role": "user", "content": text}], "stream": stream}
    with scene.http.stream("POST", "/v1/chat/completions", json=body) as answer:
        parts = answer.iter_raw()
        assert next(parts)  # while nobody can have said a word
        assert not scene.http.get(f"/debates/{scene.debates(text)[0]['id']}/turns").json()["items"]
        scene.speaker.let_go(text)
        rest = b"".join(parts)
    assert rest.rstrip().endswith(b"[DONE]" if stream else b"}")


def test_heartbeats_while_a_model_is_silent(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moot.api.openai_routes.BEAT_SECONDS", 0.02)
    monkeypatch.setattr("moot.api.openai_routes.TICK_SECONDS", 0.01)
    for stream, beat in ((True, b": "), (False, b" ")):
        text = question("Hold")
        said = [{"role": "user", "content": text}]
        body = {"model": "moot/duel", "messages": said, "stream": stream}
        with scene.http.stream("POST", "/v1/chat/completions", json=body) as answer:
            parts = answer.iter_raw()
            beats = 0
            while beats < 5:
                beats += next(parts).startswith(beat)
            scene.speaker.let_go(text)
            assert b"".join(parts)


class Waiting(ScriptedSpeaker):
    """Nobody says a word until all may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Event()

    async def speak(self, call: Call, say: Say) -> Reply:
        self.in_flight += 1
        while not self.may.is_set():
            await asyncio.sleep(0.1)
        self.in_flight -= 1
        return await super().speak(call, say)


@pytest.mark.parametrize("number", [12, pytest.param(200, marks=pytest.mark.stress("12 at once"))])
@pytest.mark.parametrize("stream", [True, False])
def test_many_at_once_are_as_many_debates_and_none_waits_for_another(
    tmp_path: Path, number: int, stream: bool
) -> None:
    """With the limits that a server has by default: each has its first byte and its first speaker
    while no debate can have ended, or even begun to speak."""
    usual = {name: Settings.model_fields[name].default
             for name in ("rate_per_second", "streams_per_client")}  # fmt: skip
    speaker = Waiting()
    with served(tmp_path / "home", speaker=speaker, **usual) as server:

        async def ask(http: httpx2.AsyncClient, at: int) -> str:
            said = [{"role": "user", "content": f"Is it {at}?"}]
            body = {"model": "moot/duel", "messages": said, "stream": stream}
            async with http.stream("POST", "/v1/chat/completions", json=body) as answer:
                parts = answer.aiter_raw()
                first = await anext(parts)
                began.add(at)
                return (first + b"".join([part async for part in parts])).decode()

        async def let_go() -> None:
            await soon(lambda: len(began) == number and speaker.in_flight == number)
            speaker.may.set()

        async def all_of_them() -> list[str]:
            limits = httpx2.Limits(max_connections=None)
            async with httpx2.AsyncClient(
                base_url=server.url, timeout=seconds(), limits=limits
            ) as http:
                asking = [ask(http, at) for at in range(number)]
                letting_go = asyncio.create_task(let_go())
                answers = await asyncio.gather(*asking)
                await letting_go
            return answers

        began = set[int]()
        answers = asyncio.run(all_of_them())
        debates = {re.findall(r"debate_\w+", answer)[0] for answer in answers}
        assert len(debates) == number
        assert all('"status":"completed"' in answer for answer in answers)
        assert len(speaker.calls) == 6 * number


# --- other clients, each from its registry: `make clients` ---


@pytest.mark.stress("OpenAI's SDK for Python and pydantic-ai")
def test_langchain(scene: Scene) -> None:
    text = question()
    script = f"""
from langchain_openai import ChatOpenAI
model = ChatOpenAI(model="moot/council", base_url="{scene.server.url}/v1", api_key="x")
plain = model.invoke({text!r})
assert plain.content.startswith("**"), plain
assert plain.usage_metadata["total_tokens"] > 0
streamed = "".join(chunk.content for chunk in model.stream({text!r}))
assert streamed == plain.content, streamed
"""
    clients.python(script)
    one_debate(scene, text)


@pytest.mark.stress("OpenAI's SDK for Python and pydantic-ai")
def test_newer_versions_of_openais_sdk_and_pydantic_ai(scene: Scene) -> None:
    """As a user installs them today, apart from what moot itself is locked to."""
    text = question()
    script = f"""
from openai import OpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
url = "{scene.server.url}/v1"
said = [{{"role": "user", "content": {text!r}}}]
with OpenAI(base_url=url, api_key="x") as client:
    plain = client.chat.completions.create(model="moot/council", messages=said)
    content = plain.choices[0].message.content
provider = OpenAIProvider(base_url=url, api_key="x")
agent = Agent(OpenAIChatModel("moot/council", provider=provider))
assert agent.run_sync({text!r}).output.strip() == content.strip()
"""
    clients.python(script)
    one_debate(scene, text)


@pytest.mark.stress("OpenAI's SDK for Python and pydantic-ai")
def test_the_sdk_for_node(scene: Scene) -> None:
    text = question()
    clients.node(f"""
import OpenAI from "openai";
const client = new OpenAI({{ baseURL: "{scene.server.url}/v1", apiKey: "x" }});
const messages = [{{ role: "user", content: {json.dumps(text)} }}];
const asked = {{ model: "moot/council", messages }};
const plain = await client.chat.completions.create(asked);
let streamed = "";
for await (const chunk of await client.chat.completions.create({{ ...asked, stream: true }}))
  streamed += chunk.choices[0]?.delta?.content ?? "";
if (!plain.choices[0].message.content.startsWith("**")) throw new Error("no outcome");
if (streamed !== plain.choices[0].message.content) throw new Error("another answer");
if (!(plain.usage.total_tokens > 0)) throw new Error("no usage");
const models = (await client.models.list()).data.map((model) => model.id);
if (!models.includes("moot/council")) throw new Error("no models");
const wrong = await client.chat.completions.create({{ ...asked, model: "gpt-5" }}).catch((e) => e);
if (!(wrong instanceof OpenAI.NotFoundError)) throw new Error("not refused");
""")
    one_debate(scene, text)
