"""A council that takes ten minutes, through OpenAI's own client with a limit of one: in virtual
time, where a client hears of a silence as it would, and a wait costs nothing."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from moot.api.app import gated, make_app
from moot.api.common import Context, Figures
from moot.api.stream import Streams
from moot.core.debate import Debate
from moot.engine.service import Service
from moot.metrics import Metrics
from moot.settings import Settings
from tests.asgi import Connection, Transport
from tests.integration import councils
from tests.stress import STRESS
from tests.virtual import MODEL, engine, go

pytestmark = pytest.mark.sqlite_only  # in real time, ten minutes are ten minutes
LIMIT = 60.0
LONG = 600.0
WAVES = 5
MESSAGES: Any = [{"role": "user", "content": "Should we move?"}]


@asynccontextmanager
async def asking(
    settings: Settings, seconds: float = 0.0
) -> AsyncGenerator[tuple[openai.AsyncOpenAI, Callable[[], Awaitable[Debate]], list[Connection]]]:
    """OpenAI's client, with its limit on silence and no second try; the one debate that it made,
    whose bill is what was called; and each of its requests."""
    speaker = councils.council_speaker()
    speaker._seconds = seconds
    calls: list[Connection] = []
    async with engine(settings, speaker) as service:
        metrics = Metrics()
        streams = Streams(service, _unseen, settings.streams_per_client, metrics.dropped)
        app = make_app(Context(service, settings, streams, metrics, Figures()))
        transport = Transport(gated(app, settings, "127.0.0.1", metrics), calls.append)
        async with openai.AsyncOpenAI(
            base_url="http://127.0.0.1/v1", api_key="x", max_retries=0, timeout=LIMIT,
            http_client=httpx2.AsyncClient(transport=transport),
        ) as client:  # fmt: skip

            async def held() -> Debate:
                (debate,) = (await service.find()).debates
                assert debate.usage.calls == len(speaker.calls) >= 5 * 3
                return debate

            yield client, held, calls


async def _unseen(debate_id: str) -> bytes | None:
    return None


def patient(home: Path) -> Settings:
    """A home whose turns may take as long as they do here."""
    home.mkdir(parents=True)
    (home / "settings.toml").write_text("[limits]\nmax_turn_seconds = 120\n")
    return Settings(home=home, model=MODEL)


async def answered(client: openai.AsyncOpenAI, *, stream: bool) -> str:
    if not stream:
        whole = await client.chat.completions.create(model="moot/council", messages=MESSAGES)
        return whole.choices[0].message.content or ""
    chunks = await client.chat.completions.create(
        model="moot/council", messages=MESSAGES, stream=True
    )
    parts = [chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices]
    return "".join(parts)


@pytest.mark.parametrize("stream", [True, False])
def test_a_council_of_ten_minutes_through_a_client_with_a_limit_of_one(
    tmp_path: Path, stream: bool
) -> None:
    """Heartbeats come long before the limit: nobody is silent for more than some seconds."""
    times = 100 if STRESS else 2

    async def use(number: int) -> None:
        settings = patient(tmp_path / str(number))
        async with asking(settings, LONG / WAVES) as (client, held, calls):
            began = asyncio.get_running_loop().time()
            content = await answered(client, stream=stream)
            assert asyncio.get_running_loop().time() - began >= LONG
            debate = await held()
            assert debate.outcome
            assert debate.outcome.outcome == "decided"
            assert content.startswith("**Decided: ")
            assert len(calls) == 1
            assert max(calls[0].silences) <= LIMIT / 6
            assert len(calls[0].silences) >= LONG / 6

    for number in range(times):
        go(use(number), within=2000)
    print(f"{times} of {times} councils of ten minutes, {'streamed' if stream else 'plain'}")


@pytest.mark.parametrize("stream", [True, False])
def test_the_first_byte_comes_within_a_second_however_slow_the_disk_is(
    tmp_path: Path, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Service.create

    async def slowly(service: Service, *args: Any, **asked: Any) -> Debate:
        await asyncio.sleep(30)
        return await create(service, *args, **asked)

    monkeypatch.setattr(Service, "create", slowly)

    async def use() -> None:
        async with asking(Settings(home=tmp_path, model=MODEL)) as (client, _, calls):
            assert (await answered(client, stream=stream)).startswith("**Decided: ")
            head, first, *_ = calls[0].silences
            assert head + first < 1
            assert sum(calls[0].silences) >= 30

    go(use())


def test_a_client_that_hangs_up_after_each_minute_gets_the_answer(tmp_path: Path) -> None:
    """With a limit on the whole call: it asks again and again, and joins its one debate."""

    async def use() -> None:
        async with asking(patient(tmp_path / "home"), LONG / WAVES) as (client, held, calls):
            content = ""
            while not content:
                try:
                    async with asyncio.timeout(LIMIT):
                        content = await answered(client, stream=len(calls) % 2 == 0)
                except TimeoutError:
                    assert len(calls) < 20
            assert content.startswith("**Decided: ")
            assert len(calls) >= LONG / LIMIT
            await held()

    go(use(), within=2000)
