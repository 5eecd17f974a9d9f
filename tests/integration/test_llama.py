"""A real llama.cpp with a tiny model of random weights: the child, its queue, and its deaths."""

import asyncio
import json
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest

from moot.bootstrap import open_service
from moot.cli.doctor import examine
from moot.core import answers, retry
from moot.core.built_in import BUILT_IN
from moot.core.debate import Debate
from moot.core.prompts import Message
from moot.core.schedule import Step
from moot.core.voices import UNDERSTUDY
from moot.engine import speaking
from moot.errors import ProviderAbsentError, ProviderContextError, ProviderUnavailableError
from moot.models.local import bounds
from moot.models.local.llama import Child, Llama, Size
from moot.models.local.servers import LocalServer
from moot.models.local.weights import Shelf
from moot.models.providers import Providers
from moot.models.router import Router
from moot.models.understudy import Understudy
from moot.ports.model_call import Call, ModelCard, Reply, Say
from moot.settings import Settings
from tests import patience, tiny_gguf

SIZE = Size(slots=2, threads=1, cache_mib=64)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that takes some milliseconds for each word, so that one can interrupt it."""
    return tiny_gguf.write(tmp_path_factory.mktemp("gguf") / "tiny.gguf", layers=24)


def furnish(home: Path, file: Path) -> Path:
    folder = home / "models"
    folder.mkdir(parents=True)
    (folder / "tiny.gguf").symlink_to(file)
    Shelf(home).use("tiny")
    return home


def make(home: Path, *, idle: float = 60.0, size: Size = SIZE) -> Router:
    """A router that finds no server by chance."""
    router = Router(Providers(), Understudy(), home)
    router._local._usual = ()
    router.embedded.llama = Llama(size=size, idle_seconds=idle)
    return router


@asynccontextmanager
async def opened(router: Router) -> AsyncGenerator[Router]:
    try:
        yield router
    finally:
        await router.aclose()


class Stage:
    """One child for all tests that leave it alive."""

    def __init__(self, home: Path) -> None:
        self.router = make(home)
        self._runner = asyncio.Runner()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(asyncio.wait_for(work, patience.seconds()))

    def close(self) -> None:
        self._runner.run(self.router.aclose())
        self._runner.close()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, file: Path) -> Generator[Stage]:
    stage = Stage(furnish(tmp_path_factory.mktemp("home"), file))
    yield stage
    stage.close()


def call(text: str = "Well?", *, seconds: float = 30.0, tokens: int = 40, **more: Any) -> Call:
    scene = SimpleNamespace(id="debate-1"), SimpleNamespace(actor="ada", instruction="")
    debate, step = cast(tuple[Debate, Step], scene)
    return Call("local", (Message("user", text),), tokens, seconds, debate, step, (), **more)


def nothing(_: str) -> None:
    pass


def child_of(router: Router) -> Child:
    child = router.embedded.llama.child
    assert child is not None
    return child


async def wait_for(condition: Any) -> None:
    limit = patience.Patience()
    while not condition():
        assert not limit.over, "it did not come to that"
        await asyncio.sleep(0.02)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def public(pid: int) -> bytes:
    """What others may see of a process."""
    return b"".join(Path(f"/proc/{pid}/{place}").read_bytes() for place in ("cmdline", "environ"))


async def slots(child: Child) -> list[dict[str, Any]]:
    """What llama.cpp says of its slots."""
    async with httpx2.AsyncClient(trust_env=False) as http:
        url = child.base_url.removesuffix("/v1") + "/slots"
        answer = await http.get(url, headers={"Authorization": f"Bearer {child.key}"})
        return answer.raise_for_status().json()


# One child, many calls.


def test_it_streams_and_is_counted(stage: Stage) -> None:
    async def main() -> None:
        pieces: list[str] = []
        reply = await stage.router.speak(call(tokens=200), pieces.append)
        assert len(pieces) > 2
        assert "".join(pieces) == reply.text
        assert (reply.model, reply.cut) == ("local:tiny", True)
        assert reply.usage.output_tokens == 200
        assert reply.usage.input_tokens > 5
        assert not reply.usage.estimated

    stage.run(main())


def test_nobody_else_on_the_machine_may_ask(stage: Stage) -> None:
    async def main() -> None:
        await stage.router.speak(call(), nothing)
        child = child_of(stage.router)
        assert child.base_url.startswith("http://127.0.0.1:")
        assert os.getpgid(child.pid) != os.getpgid(0)  # nor does it hear our Ctrl-C
        assert child.key not in repr(child)
        assert child.key.encode() not in public(child.pid)
        asked = {"messages": [{"role": "user", "content": "Well?"}], "max_tokens": 1}
        async with httpx2.AsyncClient(trust_env=False) as http:
            answer = await http.post(f"{child.base_url}/chat/completions", json=asked)
        assert answer.status_code == 401

    stage.run(main())


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_the_grammar_holds_whatever_is_said(
    stage: Stage, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random weights, and yet the answer is whole and has its shape."""
    monkeypatch.setattr(bounds, "_LETTERS", 0.5)  # of a token here: with them it also writes spaces

    async def main() -> None:
        schema = answers.schema(name, BUILT_IN[name], {})
        reply = await stage.router.speak(call(tokens=1500, schema=schema, seconds=60.0), nothing)
        assert not reply.cut
        answers.read(name, BUILT_IN[name], json.loads(reply.text), {})

    stage.run(main())


def test_what_does_not_fit_says_so(stage: Stage) -> None:
    async def main() -> None:
        assert stage.router.card("local").window == 8192
        with pytest.raises(ProviderContextError):
            await stage.router.speak(call("water, and more of it! " * 1000), nothing)
        await stage.router.speak(call(), nothing)  # it goes on

    stage.run(main())


def test_a_cancelled_call_frees_its_slot(stage: Stage) -> None:
    async def main() -> None:
        pieces: list[str] = []
        task = asyncio.create_task(stage.router.speak(call(tokens=7000), pieces.append))
        await wait_for(lambda: pieces)
        child = child_of(stage.router)
        assert any(slot["is_processing"] for slot in await slots(child))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        said = len(pieces)
        limit = patience.Patience()
        while any(slot["is_processing"] for slot in await slots(child)):
            assert not limit.over
            await asyncio.sleep(0.05)
        assert said < 3000  # it did not simply finish
        assert stage.router.embedded.llama.seated == 0

    stage.run(main())


def test_five_seats_queue_for_two_slots(stage: Stage) -> None:
    async def main() -> None:
        most, pieces = 0, [0] * 5
        llama = stage.router.embedded.llama

        def hear(seat: int) -> Say:
            def say(_: str) -> None:
                nonlocal most
                most = max(most, llama.seated)
                pieces[seat] += 1

            return say

        await stage.router.speak(call(), nothing)
        pid = child_of(stage.router).pid
        calls = [stage.router.speak(call(f"Seat {n}?"), hear(n)) for n in range(5)]
        replies = await asyncio.gather(*calls)
        assert [reply.usage.output_tokens for reply in replies] == [40] * 5
        assert most == 2
        assert min(pieces) > 0
        assert child_of(stage.router).pid == pid

    stage.run(main())


def test_time_runs_from_the_call_and_not_in_the_queue(stage: Stage) -> None:
    async def main() -> None:
        llama, model = stage.router.embedded.llama, stage.router.embedded.chosen()
        assert model
        allowed: list[float] = []
        async with llama.slot(model), llama.slot(model):
            asked = call(seconds=2.0, tokens=10, allow=allowed.append)
            waiting = asyncio.create_task(stage.router.speak(asked, nothing))
            await asyncio.sleep(2.5)
            assert not waiting.done()
            assert allowed == [math.inf]
        await waiting
        assert allowed[:2] == [math.inf, 2.0]
        assert set(allowed[2:]) == {2.0}, "each word is a sign of life"

    stage.run(main())


def test_the_engine_lets_a_call_wait_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn of 5 seconds, cut off here after half of one: unless it waits for its turn."""
    monkeypatch.setattr(speaking, "GRACE_SECONDS", -4.5)

    class Queue:
        waits = True

        def card(self, model: str) -> ModelCard:
            return ModelCard(model, 8192, 0.0, 0.0)

        async def speak(self, call: Call, say: Say) -> Reply:
            if self.waits:
                call.allow(math.inf)
                await asyncio.sleep(1.2)
                call.allow(call.seconds)
            else:
                await asyncio.sleep(1.2)
            raise ProviderAbsentError("heard")

    async def code(speaker: Queue) -> str:
        home = tmp_path / str(speaker.waits)
        async with open_service(Settings(home=home), speaker=speaker) as service:
            made = await service.create("Well?", format="duel", limits={"max_turn_seconds": 5})
            debate = await service.wait(made.id)
            assert debate.failure
            return debate.failure.message

    async def main() -> None:
        assert await code(Queue()) == "heard"
        monkeypatch.setattr(Queue, "waits", False)
        monkeypatch.setattr(retry, "MAX_RETRIES", 0)
        assert "said nothing for" in await code(Queue())

    asyncio.run(main())


def test_prompts_are_read_once(stage: Stage) -> None:
    """Three seats on two slots: each finds its own prompt in the cache when it comes again."""

    async def main() -> None:
        child, said = child_of(stage.router), " the town will need more water" * 60
        async with httpx2.AsyncClient(trust_env=False) as http:

            async def read(seat: int) -> int:
                content = f"{seat}{seat}{seat}{seat} {said}"
                asked = {"messages": [{"role": "user", "content": content}], "max_tokens": 2}
                answer = await http.post(
                    f"{child.base_url}/chat/completions",
                    json=asked,
                    headers={"Authorization": f"Bearer {child.key}"},
                )
                return answer.raise_for_status().json()["timings"]["prompt_n"]

            first = [await read(seat) for seat in range(3)]
            again = [await read(seat) for seat in range(3)]
        assert min(first) > 1000
        assert max(again) < 100

    stage.run(main())


# Deaths, starts and ends.


def test_a_child_killed_mid_turn_is_started_anew_and_the_turn_tried_again(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "WAITS", (0.05, 0.1, 0.2))
    router = make(furnish(tmp_path, file))
    pids: list[int] = []

    class Killer:
        """Kills the model at the first word of the third call."""

        calls = 0
        failed: list[Exception] = []  # noqa: RUF012

        def card(self, model: str) -> ModelCard:
            return router.card(model)

        async def speak(self, call: Call, say: Say) -> Reply:
            self.calls += 1
            deadly = self.calls == 3

            def hear(piece: str) -> None:
                nonlocal deadly
                say(piece)
                if deadly:
                    deadly = False
                    os.kill(child_of(router).pid, signal.SIGKILL)

            try:
                return await router.speak(replace(call, max_tokens=60), hear)
            except Exception as error:
                self.failed.append(error)
                raise
            finally:
                pids.append(router.embedded.llama.child.pid if router.embedded.llama.child else 0)

    async def main() -> None:
        speaker = Killer()
        async with (
            opened(router),
            open_service(Settings(home=tmp_path), speaker=speaker) as service,
        ):
            made = await service.create("Should we test first?", format="duel")
            debate = await asyncio.wait_for(service.wait(made.id), patience.seconds())
            assert debate.status == "completed"
            tries = await service.attempts(made.id)
        codes = [one["error_code"] for one in tries if one["outcome"] == "failed"]
        assert codes.count("DEBATE_ERR_PROVIDER_UNAVAILABLE") == 1  # the others were echoes
        assert debate.turn_count + len(codes) == speaker.calls
        (error,) = speaker.failed
        assert type(error) is ProviderUnavailableError
        assert "ended before its answer did" in error.message
        assert len(set(pids)) == 2
        assert not any(map(runs, pids))

    asyncio.run(main())


def test_a_port_that_somebody_took_is_left_to_them(tmp_path: Path, file: Path) -> None:
    async def main() -> None:
        async with opened(make(furnish(tmp_path, file))) as router:
            await router.speak(call(), nothing)
            first = child_of(router)
            first.process.kill()
            first.process.wait()
            port = int(first.base_url.removesuffix("/v1").rpartition(":")[2])
            with socket.socket() as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                other.bind(("127.0.0.1", port))
                other.listen()
                await router.speak(call(), nothing)
            assert child_of(router).base_url != first.base_url

    asyncio.run(main())


def test_it_stops_when_idle_and_starts_again(tmp_path: Path, file: Path) -> None:
    async def main() -> None:
        async with opened(make(furnish(tmp_path, file), idle=0.3)) as router:
            replies = await asyncio.gather(*(router.speak(call(), nothing) for _ in range(3)))
            assert len(replies) == 3
            pid = child_of(router).pid
            await wait_for(lambda: router.embedded.llama.child is None and not runs(pid))
            await router.speak(call(), nothing)
            last = child_of(router).pid
            assert last != pid
        assert not runs(last)

    asyncio.run(main())


PARENT = """
import asyncio, sys
from pathlib import Path
from moot.models.local.llama import Llama, Size
from moot.models.local.weights import Shelf

async def main():
    llama = Llama(size=Size(1, 1, 64))
    async with llama.slot(Shelf(Path(sys.argv[1])).chosen()) as child:
        print(child.pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def test_it_does_not_outlive_a_parent_that_was_killed(tmp_path: Path, file: Path) -> None:
    home = furnish(tmp_path, file)
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(home)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert runs(pid)
        parent.kill()
    asyncio.run(wait_for(lambda: not runs(pid)))


def test_whoever_leaves_while_it_starts_leaves_it_to_the_next(tmp_path: Path, file: Path) -> None:
    async def main() -> None:
        async with opened(make(furnish(tmp_path, file))) as router:
            await router._load()
            hasty = asyncio.create_task(router.speak(call(), nothing))
            await wait_for(lambda: router.embedded.llama._coming is not None)
            hasty.cancel()
            await asyncio.gather(hasty, return_exceptions=True)
            coming = router.embedded.llama._coming
            assert coming
            await router.speak(call(), nothing)
            assert (await coming).pid == child_of(router).pid
        async with opened(make(tmp_path)) as router:  # and to nobody, if there is none
            await router._load()
            hasty = asyncio.create_task(router.speak(call(), nothing))
            await wait_for(lambda: router.embedded.llama._coming is not None)
            hasty.cancel()
            coming = router.embedded.llama._coming
            assert coming
        assert not runs((await coming).pid)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("cut", "cannot run tiny"),
        ("gone", "is gone"),
    ],
)
def test_a_model_that_cannot_be_run_is_named(
    tmp_path: Path, file: Path, damage: str, words: str
) -> None:
    home = furnish(tmp_path, file)
    place = home / "models" / "tiny.gguf"
    place.unlink()
    place.write_bytes(file.read_bytes()[:-100_000])

    async def main() -> None:
        async with opened(make(home)) as router:
            model = router.embedded.chosen()
            assert model
            if damage == "gone":
                place.unlink()
            with pytest.raises(ProviderAbsentError, match=words) as caught:
                await router.speak(call(), nothing)
            assert "moot model" in caught.value.message
            assert not caught.value.retryable
            assert router.embedded.llama.child is None

    asyncio.run(main())


# What people are told.


def test_doctor_measures(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = furnish(tmp_path, file)
    monkeypatch.setenv("MOOT_HOME", str(home))
    monkeypatch.setattr(LocalServer.__init__, "__defaults__", ((),))  # no server by chance

    async def main() -> None:
        async with opened(make(home)) as router:
            before = (await router.describe())[-1]
            assert before.works
            assert before.model == "local:tiny"
            assert "measured" not in before.detail
            assert router.embedded.llama.child is None  # nobody is started to be described
        local = next(finding for finding in await examine() if finding.name == "local")
        assert local.ok
        assert "llama.cpp runs tiny here" in local.detail
        assert "tokens a second were measured" in local.detail

    asyncio.run(main())


def test_a_model_that_is_here_and_not_in_use_is_named_and_how_to_use_it(
    tmp_path: Path, file: Path
) -> None:
    home = furnish(tmp_path, file)
    Shelf(home).use("none")

    async def main() -> None:
        async with opened(make(home)) as router:
            status = (await router.describe())[-1]
            assert status.model == UNDERSTUDY
            assert "`moot model use tiny`" in status.detail
            with pytest.raises(ProviderUnavailableError, match="`moot model use tiny`"):
                await router.speak(replace(call(), model="local:tiny"), nothing)
            with pytest.raises(ProviderUnavailableError, match=r"'other'.*`moot model list`"):
                await router.speak(replace(call(), model="local:other"), nothing)
            (home / "models/use").write_text("/nowhere/mine.gguf\n")
            router.embedded._looked = -math.inf
            assert (
                "in use is /nowhere/mine.gguf, which is gone"
                in (await router.describe())[-1].detail
            )

    asyncio.run(main())


def test_without_llama_cpp_the_understudy_speaks_and_says_what_to_install(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.models.local.embedded.installed", lambda: False)

    async def main() -> None:
        async with opened(make(furnish(tmp_path, file))) as router:
            status = (await router.describe())[-1]
            assert status.model == UNDERSTUDY
            assert "pip install 'huggingface-hub" in status.detail
            assert router.card("local").model == UNDERSTUDY

    asyncio.run(main())
