"""Debates that workers share: by place, for a while, with patience, and given up in the end."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import Instead
from moot.core import moves
from moot.core.change import Change, Move, turn_to
from moot.core.debate import Debate
from moot.core.times import iso
from moot.engine import advance
from moot.engine.advance import BESIDE_OTHERS, KEEP_SECONDS
from moot.engine.finish import Filer
from moot.engine.service import Service
from moot.errors import ProviderError, ProviderRateLimitError
from moot.ports.model_call import Call, Reply, Say
from moot.settings import Settings
from moot.store import log
from moot.testing.speaker import ScriptedSpeaker, plain
from moot.testing.virtual import FrozenClock
from tests.integration.councils import answer
from tests.integration.homes import add_foreign_turn
from tests.integration.speakers import add_chorus
from tests.virtual import MODEL, engine, go, took, until

Letter = tuple[str, str]


class Post:
    """A dispatcher that keeps what it is given: the test is the broker."""

    here = False

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.queued: int | None = None  # what it says of its queue

    def start(self, advance: Callable[[str], Awaitable[None]]) -> None:
        """Nobody advances by itself."""

    def dispatch(self, debate: Debate) -> None:
        self.letters.append((debate.id, debate.cursor.name))

    def take(self) -> list[Letter]:
        taken, self.letters = self.letters, []
        return taken

    async def waiting(self) -> int | None:
        return self.queued

    async def idle(self, debate_id: str) -> None:
        """Nothing is under way."""

    async def close(self) -> None:
        """Nothing to close."""


@asynccontextmanager
async def workers(
    home: Path, speaker: ScriptedSpeaker, post: Post, clock: FrozenClock | None = None
) -> AsyncGenerator[Service]:
    settings = Settings(
        home=home,
        model=MODEL,
        broker_url="amqp://nowhere",  # type: ignore[arg-type]
        lease_seconds=5.0,
    )
    instead = Instead(dispatcher=post)
    async with engine(settings, speaker, clock=clock, recover=False, instead=instead) as service:
        yield service


async def deliver(service: Service, post: Post, copies: int = 1) -> None:
    """Hand out letters, each so often at once, until none is left."""
    while letters := post.take():
        await asyncio.gather(*(service.wave(*letter) for letter in letters * copies))


async def lose_a_worker(
    service: Service, debate_id: str, clock: FrozenClock, owner: str = "gone", *, wait: bool = True
) -> None:
    """Somebody takes the wave, and is never heard of again."""

    def take(row: Debate, beside: int) -> Change:
        at = iso(clock.now())
        claimed = moves.claim(
            row, owner=owner, now=clock.now(), lease=1.0, at=at, dead=lambda _: False, beside=beside
        )
        return moves.set_out(claimed, at)

    await service._store.claim(debate_id, take)
    if wait:
        clock.tick(2.0)


def test_calls_of_a_paused_debate_are_ended_once_their_worker_is_gone(tmp_path: Path) -> None:
    """One seat pauses the debate while another speaks on; then the worker dies."""

    async def work() -> None:
        clock, post = FrozenClock(), Post()
        async with workers(tmp_path, ScriptedSpeaker(), post, clock) as service:
            debate = await service.create("m", format="duel")
            post.take()
            await lose_a_worker(service, debate.id, clock, wait=False)
            pause: Move = lambda row: turn_to(row, "paused", iso(clock.now()))  # noqa: E731
            await service._store.change(debate.id, pause)
            assert service.supervisor
            await service.supervisor.sweep()
            (call,) = await service.attempts(debate.id)
            assert call["outcome"] == "started", "its worker may still be at it"
            clock.tick(2.0)
            await service.supervisor.sweep()
            (call,) = await service.attempts(debate.id)
            assert call["outcome"] == "unknown"
            paused = await service.get(debate.id)
            assert (paused.status, paused.open_calls, paused.lease_owner) == ("paused", 0, None)
            await service.resume(debate.id)
            await deliver(service, post)
            assert (await service.get(debate.id)).status == "completed"

    go(work())


def test_every_letter_ten_times_is_every_turn_once(tmp_path: Path) -> None:
    async def work() -> None:
        post, speaker = Post(), ScriptedSpeaker(seconds=3.0)
        async with workers(tmp_path, speaker, post) as service:
            made = [await service.create("m", format="duel") for _ in range(10)]
            await deliver(service, post, copies=10)
            for debate in made:
                assert (await service.get(debate.id)).status == "completed"
            assert len(speaker.calls) == 60

    go(work())


@pytest.fixture
def one_wave_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers let a debate go after each wave."""
    monkeypatch.setattr(advance, "KEEP_SECONDS", 0.0)


def test_a_worker_goes_on_with_a_debate_for_a_while(tmp_path: Path) -> None:
    """It needs no letter for each wave, and lets go after the first that ends when time is up."""

    async def work() -> None:
        post, speaker = Post(), ScriptedSpeaker(seconds=0.4 * KEEP_SECONDS)
        async with workers(tmp_path, speaker, post) as service:
            made = await service.create("m", format="duel")
            for said in (3, 6):
                ((debate_id, place),) = post.take()
                assert place == (await service.get(made.id)).cursor.name
                await service.wave(debate_id, place)
                debate = await service.get(made.id)
                assert (debate.turn_count, debate.lease_owner) == (said, None)
            assert (debate.status, post.take()) == ("completed", [])
            assert {one["outcome"] for one in await service.attempts(made.id)} == {"ok"}

    go(work())


def test_nobody_waits_long_for_a_worker_that_is_full(tmp_path: Path) -> None:
    """A worker with room for one debate gives each of five its share, in turn."""

    async def work() -> None:
        post, begun = Post(), dict[str, float]()
        loop, wave = asyncio.get_running_loop(), 0.3 * KEEP_SECONDS

        def noted(call: Call) -> str:
            begun.setdefault(call.debate.id, loop.time())
            return plain(call)

        speaker = ScriptedSpeaker(noted, seconds=wave)
        async with workers(tmp_path, speaker, post) as service:
            made = [await service.create("m", format="duel") for _ in range(5)]
            since, queue = loop.time(), post.take()
            while queue:
                await service.wave(*queue.pop(0))
                queue += post.take()
            for place, debate in enumerate(made):
                waited = begun[debate.id] - since
                assert waited <= place * (KEEP_SECONDS + wave) + wave + 0.01
                assert (await service.get(debate.id)).status == "completed"
            assert len(speaker.calls) == 30

    go(work())


def test_what_a_worker_loses_in_mid_debate_is_found_by_its_place_there(tmp_path: Path) -> None:
    """Its letter named an earlier place, and does nothing any more. The supervisor's goes on."""

    async def work() -> None:
        post, clock = Post(), FrozenClock()
        last = asyncio.Event()

        def third(call: Call) -> str:
            if len(speaker.calls) == 3:
                last.set()
            return plain(call)

        speaker = ScriptedSpeaker(third, seconds=0.1 * KEEP_SECONDS)
        async with workers(tmp_path, speaker, post, clock) as service:
            made = await service.create("m", format="duel")
            (letter,) = post.take()
            wave = asyncio.create_task(service.wave(*letter))
            await last.wait()
            hand = service._keeper._hands[made.id]
            row = await service.get(made.id)
            await service._store.change(row.id, lambda row: Change(row.but(lease_until=0.0)))
            clock.tick(1.0)
            async with workers(tmp_path, speaker, post, clock) as other:
                await other.wave(*letter)
                assert (await other.get(made.id)).fence == hand.fence, "that place is past"
                assert await other.supervisor.sweep() == [made.id]
                await deliver(other, post)
                await wave
                debate = await other.get(made.id)
                assert (debate.status, debate.turn_count) == ("completed", 6)
                assert debate.usage.calls == len(speaker.calls) == 7, "one call was in flight"

    go(work())


@pytest.mark.usefixtures("one_wave_each")
def test_a_letter_for_a_place_that_is_past_does_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        post, speaker = Post(), ScriptedSpeaker()
        async with workers(tmp_path, speaker, post) as service:
            debate = await service.create("m", format="duel")
            (first,) = post.take()
            await service.wave(*first)
            (second,) = post.take()
            assert first != second
            assert first[0] == second[0] == debate.id
            await service.wave(*first)
            assert post.take() == []
            assert len(speaker.calls) == 1
            await service.wave(*second)
            assert len(speaker.calls) == 2

    go(work())


def test_a_long_wait_is_kept_in_the_database(tmp_path: Path) -> None:
    """Nobody holds the debate meanwhile, no early letter counts, and the tries go on counting."""

    async def work() -> None:
        def refused(_: Call) -> ProviderRateLimitError:
            return ProviderRateLimitError("Not so fast.", retry_after=30.0)

        post, speaker, clock = Post(), ScriptedSpeaker(refused), FrozenClock()
        async with workers(tmp_path, speaker, post, clock) as service:
            made = await service.create("m", format="duel")
            (letter,) = post.take()
            for tries in (1, 2, 3):
                await service.wave(*letter)
                debate = await service.get(made.id)
                assert (debate.status, debate.lease_owner) == ("running", None)
                assert debate.not_before == pytest.approx(clock.now() + 30, abs=8)
                assert [tried.calls for _, tried in debate.tries] == [tries]
                assert post.take() == [], "it is not due"
                await service.wave(*letter)
                assert len(speaker.calls) == tries, "an early letter does nothing"
                assert await service.supervisor.sweep() == []
                clock.tick(40)
                assert await service.supervisor.sweep() == [made.id], "at once, when it is due"
                assert post.take() == [letter]
            await service.wave(*letter)
            debate = await service.get(made.id)
            assert debate.status == "paused"
            assert debate.failure
            assert debate.failure.attempts == 4
            assert (debate.not_before, debate.tries) == (0.0, ())

    go(work())


@pytest.mark.usefixtures("one_wave_each")
def test_an_ill_shaped_answer_has_no_retry_of_its_own_after_a_wait(tmp_path: Path) -> None:
    """Three calls fail in three workers' hands; the fourth is the last, whatever it brings."""

    async def work() -> None:
        def script(call: Call) -> str | ProviderError:
            if call.step.actor != "critic":
                return json.dumps(answer(call))
            asked = sum(one.step.key == call.step.key for one in speaker.calls)
            return "no json" if asked > 3 else ProviderRateLimitError("Slower.", retry_after=30.0)

        post, clock = Post(), FrozenClock()
        speaker = ScriptedSpeaker(script)
        async with workers(tmp_path, speaker, post, clock) as service:
            made = await service.council({"problem": "m", "outputType": "decision"})
            for _ in range(4):
                (letter,) = post.take()
                await service.wave(*letter)
                clock.tick(40)
                await service.supervisor.sweep()
            turns = await service.turns(made.id)
        (failed,) = [turn for turn in turns if turn.actor == "critic"]
        assert failed.status == "failed"
        assert sum(call.step.actor == "critic" for call in speaker.calls) == 4

    go(work())


def test_a_wait_does_not_outlast_the_wish_to_go_on(tmp_path: Path) -> None:
    async def work() -> None:
        said: list[str | ProviderRateLimitError] = [
            ProviderRateLimitError("Not so fast.", retry_after=50.0)
        ]
        speaker = ScriptedSpeaker(lambda call: said.pop() if said else plain(call))
        post = Post()
        async with workers(tmp_path, speaker, post, FrozenClock()) as service:
            made = await service.create("m", format="duel")
            await deliver(service, post)
            assert (await service.get(made.id)).not_before > 0
            await service.pause(made.id)
            await service.resume(made.id)
            await deliver(service, post)
            assert (await service.get(made.id)).status == "completed"

    go(work())


def test_a_step_in_which_three_workers_were_lost_is_given_up(tmp_path: Path) -> None:
    """By the format's rule: where it is to pause, a person decides, and `retry` completes it."""

    async def work() -> None:
        post, speaker, clock = Post(), ScriptedSpeaker(), FrozenClock()
        async with workers(tmp_path, speaker, post, clock) as service:
            made = await service.create("m", format="duel", on_failure="pause")
            (letter,) = post.take()
            for _ in range(3):
                await lose_a_worker(service, made.id, clock)
            await service.wave(*letter)
            debate = await service.get(made.id)
            assert (debate.status, debate.turn_count, debate.deaths) == ("paused", 0, 0)
            assert debate.failure
            assert "3 workers were lost" in debate.failure.message
            assert (debate.failure.actor, speaker.calls) == ("ada", [])
            await service.retry(made.id)
            await deliver(service, post)
            debate = await service.get(made.id)
            assert (debate.status, debate.degraded) == ("completed", False)
            assert [turn.status for turn in await service.turns(made.id)] == ["ok"] * 6
            outcomes = [attempt["outcome"] for attempt in await service.attempts(made.id)]
            assert outcomes.count("unknown") == 3

    go(work())


def test_where_the_rule_is_to_degrade_it_becomes_a_failed_turn(tmp_path: Path) -> None:
    async def work() -> None:
        post, speaker, clock = Post(), ScriptedSpeaker(), FrozenClock()
        async with workers(tmp_path, speaker, post, clock) as service:
            made = await service.create("m", format="duel", on_failure="degrade")
            (letter,) = post.take()
            for _ in range(3):
                await lose_a_worker(service, made.id, clock)
            await service.wave(*letter)
            await deliver(service, post)
            debate = await service.get(made.id)
            assert (debate.status, debate.degraded, debate.deaths) == ("completed", True, 0)
            turns = await service.turns(made.id)
            assert [turn.status for turn in turns] == ["failed", *["ok"] * 5]
            assert turns[0].data
            assert "3 workers were lost" in turns[0].data["errorMessage"]
            assert len(speaker.calls) == 5

    go(work())


def test_a_worker_that_spoke_other_steps_too_is_no_death_of_one(tmp_path: Path) -> None:
    """Two debates are lost with the same worker three times: neither is known to be at fault."""

    async def work() -> None:
        post, speaker, clock = Post(), ScriptedSpeaker(), FrozenClock()
        async with workers(tmp_path, speaker, post, clock) as service:
            made = [await service.create("m", format="duel") for _ in range(2)]
            for n in range(3):
                for debate in made:
                    await lose_a_worker(service, debate.id, clock, f"gone{n}", wait=False)
                clock.tick(2.0)
            rows = [await service.get(debate.id) for debate in made]
            assert [(row.losses, row.deaths) for row in rows] == [(2, 0), (2, 0)]
            await deliver(service, post)
            for debate in made:
                ended = await service.get(debate.id)
                assert (ended.status, ended.degraded, ended.losses) == ("completed", False, 0)

    go(work())


def test_a_step_that_kills_beside_others_is_found_in_the_end(tmp_path: Path) -> None:
    """Whatever else its workers spoke: after so many losses it is given up as well."""

    async def work() -> None:
        post, speaker, clock = Post(), ScriptedSpeaker(), FrozenClock()
        async with workers(tmp_path, speaker, post, clock) as service:
            made = [await service.create("m", format="duel") for _ in range(2)]
            for n in range(3 * BESIDE_OTHERS + 1):
                for debate in made:
                    await lose_a_worker(service, debate.id, clock, f"gone{n}", wait=False)
                clock.tick(2.0)
            await deliver(service, post)
            for debate in made:
                assert (await service.get(debate.id)).status == "paused"
            assert speaker.calls == []

    go(work())


def test_a_suspect_is_spoken_alone(tmp_path: Path) -> None:
    """A step that lost three workers has its process to itself, so that a death has one cause."""

    async def work() -> None:
        post, clock = Post(), FrozenClock()
        beside: dict[str, int] = {}

        class Noting(ScriptedSpeaker):
            """Notes how many spoke at once, for each that did, whenever another begins."""

            async def speak(self, call: Call, say: Say) -> Reply:
                now.add(call.debate.id)
                beside.update({one: max(beside.get(one, 0), len(now)) for one in now})
                try:
                    return await super().speak(call, say)
                finally:
                    now.remove(call.debate.id)

        now: set[str] = set()
        async with workers(tmp_path, Noting(seconds=3.0), post, clock) as service:
            suspect, *others = [await service.create("m", format="duel") for _ in range(6)]
            for n in range(4):
                for debate in (suspect, others[0]) if n < 3 else (suspect,):
                    await lose_a_worker(service, debate.id, clock, f"gone{n}", wait=False)
                clock.tick(2.0)
            letters = post.take()
            waves = [service.wave(*letter) for letter in [*letters[1:], letters[0]]]
            await asyncio.gather(*waves)
            assert beside.pop(suspect.id) == 1
            assert max(beside.values()) > 1

    go(work())


@pytest.mark.sqlite_only
@pytest.mark.usefixtures("one_wave_each")
def test_a_turn_that_the_row_does_not_know_of_is_paid_for_once(tmp_path: Path) -> None:
    """A worker that remembers the debate must not speak on from memory: it reads it again."""

    async def work() -> None:
        post, speaker = Post(), ScriptedSpeaker()
        async with workers(tmp_path, speaker, post) as service:
            made = await service.create("m", format="duel")
            (letter,) = post.take()
            await service.wave(*letter)
            add_foreign_turn(Settings(home=tmp_path), 1, "ben")
            await deliver(service, post)
            assert len(speaker.calls) == 6, "one for each of five turns, and one in vain"
            outcomes = [one["outcome"] for one in await service.attempts(made.id)]
            assert outcomes == ["ok"] * 6, "none is on record that was never made"

    go(work())


def test_two_lost_workers_cost_nothing_but_their_calls(tmp_path: Path) -> None:
    async def work() -> None:
        post, clock = Post(), FrozenClock()
        async with workers(tmp_path, ScriptedSpeaker(), post, clock) as service:
            made = await service.create("m", format="duel")
            for _ in range(2):
                await lose_a_worker(service, made.id, clock)
            await deliver(service, post)
            debate = await service.get(made.id)
            assert (debate.status, debate.degraded) == ("completed", False)

    go(work())


def test_after_a_lost_worker_a_wave_is_spoken_one_by_one_at_first(tmp_path: Path) -> None:
    """So that the step that kills is found, and not the whole wave given up."""

    async def work() -> None:
        add_chorus(tmp_path)
        post, clock = Post(), FrozenClock()
        most: list[int] = []
        speaker = ScriptedSpeaker(seconds=3.0)

        def heard(call: Call) -> str:
            most.append(speaker.in_flight)
            return plain(call)

        speaker._script = heard
        async with workers(tmp_path, speaker, post, clock) as service:
            seats = [{"name": name} for name in ("Ada", "Ben", "Cy")]
            made = await service.create("m", format="chorus", participants=seats)
            await lose_a_worker(service, made.id, clock)
            await deliver(service, post)
            assert (await service.get(made.id)).status == "completed"
            assert most[0] == 1
            assert max(most) > 1
            first = (await service.attempts(made.id))[:3]
            assert [attempt["outcome"] for attempt in first] == ["unknown"] * 3

    go(work())


@pytest.mark.sqlite_only
def test_what_is_let_go_in_mid_call_is_queued_again(tmp_path: Path) -> None:
    async def work() -> None:
        post, speaker = Post(), ScriptedSpeaker(seconds=3600)
        async with workers(tmp_path, speaker, post) as service:
            made = await service.create("m", format="duel")
            (letter,) = post.take()
            wave = asyncio.create_task(service.wave(*letter))
            await until(lambda: speaker.in_flight)
            assert await took(service.let_go()) < 0.1
            await wave
            assert post.take() == [letter]
            assert (await service.get(made.id)).lease_owner is None
            attempts = await service.attempts(made.id)
            assert [attempt["outcome"] for attempt in attempts] == ["cancelled"]

    go(work())


@pytest.mark.usefixtures("one_wave_each")
def test_a_worker_reads_a_transcript_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again only when somebody else has gone on with it."""
    reads: list[str] = []
    turns_after = log.turns_after
    monkeypatch.setattr(Filer, "file_round", lambda *_: None)  # it reads them too

    def counted(conn: Any, debate_id: str, after: int = 0) -> Any:
        reads.append(debate_id)
        return turns_after(conn, debate_id, after)

    monkeypatch.setattr(log, "turns_after", counted)

    async def work() -> None:
        post = Post()
        heard: list[int] = []

        def noted(call: Call) -> str:
            heard.append(len(call.heard))
            return plain(call)

        async with (
            workers(tmp_path, ScriptedSpeaker(noted), post) as one,
            workers(tmp_path, ScriptedSpeaker(noted), post) as two,
        ):
            await one.create("m", format="duel")
            for service, read in ((one, 1), (one, 1), (two, 2), (two, 2), (one, 3)):
                (letter,) = post.take()
                await service.wave(*letter)
                assert len(reads) == read
            assert heard == [0, 1, 2, 3, 4]

    go(work())


# --- the supervisor ---


def test_what_waits_for_a_worker_is_queued_again_at_growing_intervals(tmp_path: Path) -> None:
    async def work() -> None:
        post, clock = Post(), FrozenClock()
        post.queued = 7
        async with workers(tmp_path, ScriptedSpeaker(), post, clock) as service:
            made = await service.create("m", format="duel")
            post.take()
            queued: list[int] = []
            for second in range(0, 200, 2):
                if await service.supervisor.sweep():
                    queued.append(second)
                clock.tick(2.0)
            assert post.take() == [(made.id, made.cursor.name)] * len(queued)
            assert queued[0] == 6, "after the patience of a lease"
            gaps = [late - early for early, late in pairwise(queued)]
            assert gaps == sorted(gaps)
            assert gaps[-1] >= 4 * gaps[0]
            assert len(queued) <= 7

    go(work())


def test_a_message_that_is_gone_is_missed_at_the_second_look(tmp_path: Path) -> None:
    async def work() -> None:
        post, clock = Post(), FrozenClock()
        post.queued = 0
        async with workers(tmp_path, ScriptedSpeaker(), post, clock) as service:
            made = await service.create("m", format="duel")
            assert await service.supervisor.sweep() == [], "it may be on its way"
            clock.tick(2.0)
            assert await service.supervisor.sweep() == [made.id]

    go(work())


def test_a_debate_that_somebody_has_in_hand_is_left_to_them(tmp_path: Path) -> None:
    async def work() -> None:
        post, clock = Post(), FrozenClock()
        post.queued = 0
        async with workers(tmp_path, ScriptedSpeaker(), post, clock) as service:
            made = await service.create("m", format="duel")
            post.take()
            await lose_a_worker(service, made.id, clock, wait=False)
            clock.tick(0.9)
            assert await service.supervisor.sweep() == []
            assert post.take() == []
            clock.tick(0.2)
            assert await service.supervisor.sweep() == [made.id], "its lease has run out"

    go(work())


def test_a_debate_whose_lease_ran_out_is_queued_at_once(tmp_path: Path) -> None:
    async def work() -> None:
        post, clock = Post(), FrozenClock()
        post.queued = 7
        async with workers(tmp_path, ScriptedSpeaker(), post, clock) as service:
            made = await service.create("m", format="duel")
            assert await service.supervisor.sweep() == []
            await lose_a_worker(service, made.id, clock)
            assert await service.supervisor.sweep() == [made.id]
            assert await service.supervisor.sweep() == [], "and not at every look"

    go(work())
