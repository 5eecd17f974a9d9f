"""Leases: renewed while a debate is in hand, given back, and never in the way of a wish."""

import asyncio
import json
from typing import Any

import pytest

from moot.core import moves
from moot.core.change import Change
from moot.core.debate import Debate
from moot.errors import (
    StorageError,
)
from moot.settings import Settings
from moot.testing.speaker import ScriptedSpeaker, plain
from moot.testing.virtual import EPOCH
from tests.integration.homes import dead_owner
from tests.integration.speakers import Gated, in_flight
from tests.virtual import engine, go, until


def test_a_lease_that_could_not_be_given_back_is_given_back_later(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full for a moment while a debate is let go; another one stays in hand."""
    refused: list[str] = []
    release = moves.release

    def full(debate: Debate, *rest: Any) -> Any:
        if debate.motion == "stuck" and len(refused) < 3:
            refused.append(debate.id)
            raise StorageError("The disk is full.")
        return release(debate, *rest)

    monkeypatch.setattr(moves, "release", full)

    async def work() -> None:
        speaker = ScriptedSpeaker(seconds=3600)
        async with engine(settings, speaker, recover=False) as service:
            stuck = await service.create("stuck", format="duel")
            await service.create("other", format="duel")
            await until(lambda: speaker.in_flight >= 2)
            service._keeper.call_off(stuck.id)  # let go in mid-call

            async def free() -> bool:
                return (await service.get(stuck.id)).lease_owner is None

            await until(free)
            assert len(refused) == 3
            assert (await service.stop(stuck.id)).status == "stopped"

    go(work())


def test_only_what_is_in_hand_is_renewed(settings: Settings) -> None:
    """A lease of ours that nobody is at runs out, although other debates are in hand."""

    async def work() -> None:
        speaker = ScriptedSpeaker(seconds=3600)
        async with engine(settings, speaker, recover=False) as service:
            stuck = await service.create("stuck", format="duel", start=False)
            held = await service.create("held", format="duel")
            await until(lambda: speaker.in_flight)
            owner, now = service._keeper.owner, service._clock.now()

            def leave(row: Debate) -> Change:
                return Change(
                    row.but(status="running", lease_owner=owner, lease_until=now + 0.5, fence=9)
                )

            await service._store.change(stuck.id, leave)
            first = (await service.get(held.id)).lease_until

            async def renewed() -> bool:
                return (await service.get(held.id)).lease_until > first

            await until(renewed)
            assert (await service.get(stuck.id)).lease_until == pytest.approx(now + 0.5)
            assert (await service.stop(stuck.id)).status == "stopped"

    go(work())


@pytest.mark.sqlite_only
def test_a_writer_who_comes_too_late_is_refused_and_paid(settings: Settings) -> None:
    """It slept for longer than its lease, as a process that is stopped does, and knows nothing.

    Whoever took its place still speaks, so that only the fence is in its way.
    """

    async def nothing(*_: Any) -> Any:
        await asyncio.Event().wait()

    def scripted(who: str, seconds: float) -> ScriptedSpeaker:
        return ScriptedSpeaker(lambda call: f"{who}: {plain(call)}", seconds)

    async def work() -> None:
        late, other = scripted("late", 10.0), scripted("other", 12.0)
        async with (
            engine(settings, late, recover=False) as asleep,
            engine(settings, other) as awake,
        ):
            asleep._store.renew = asleep._store.held = nothing  # type: ignore[method-assign]
            made = await in_flight(asleep, late, format="duel")
            await until(lambda: other.in_flight)
            await until(lambda: not late.in_flight)
            await asyncio.sleep(0.1)
            row = await awake.get(made.id)
            assert row.lease_owner == awake._keeper.owner, "what it lets go is no longer its own"
            done = await awake.wait(made.id)
            turns, attempts = await awake.turns(made.id), await awake.attempts(made.id)
        assert (done.status, done.turn_count, len(turns)) == ("completed", 6, 6)
        assert all(turn.text.startswith("other") for turn in turns)
        assert len(late.calls) == 1, "it lets go once it is refused"
        assert len(attempts) == 7
        assert done.usage.input_tokens == 70, "the late call is paid for, though it is not kept"

    go(work())


class Clock:
    """An hour ahead, until it is set back."""

    def __init__(self) -> None:
        self.ahead = 3600.0
        self._loop = asyncio.get_running_loop()  # it may be asked from another thread

    def now(self) -> float:
        return EPOCH + self._loop.time() + self.ahead


def test_a_wall_clock_that_is_set_back_stalls_no_renewal(settings: Settings) -> None:
    async def work() -> None:
        clock, speaker = Clock(), ScriptedSpeaker(seconds=3600)
        renewals = 0
        async with engine(settings, speaker, clock=clock, recover=False) as service:
            renew = service._store.renew

            async def counted(*given: Any) -> None:
                nonlocal renewals
                renewals += 1
                await renew(*given)

            service._store.renew = counted  # type: ignore[method-assign]
            await service.create("m", format="duel")
            await until(lambda: speaker.in_flight)
            clock.ahead = 0.0
            await until(lambda: renewals >= 2)

    go(work())


@pytest.mark.parametrize("verb", ["stop", "end", "pause"])
def test_no_attempt_stays_open_behind_a_dead_process(settings: Settings, verb: str) -> None:
    async def work() -> None:
        speaker = Gated()
        async with engine(settings, speaker, recover=False) as service:
            made = await in_flight(service, speaker, format="duel")
            await service._store.change(made.id, _owner_died)
            service._keeper._hands.clear()  # as if this process were another
            service._advancer._store = None  # type: ignore[assignment]
            await getattr(service, verb)(made.id)
            attempts = await service.attempts(made.id)
            assert attempts[0]["outcome"] == "unknown"
            assert (await service.get(made.id)).losses == 0, "nobody was lost: it was taken away"
            speaker.gate.set()

    go(work())


def _owner_died(row: Debate) -> Change:
    return Change(row.but(lease_owner=dead_owner()))


def test_the_owner_of_a_call_is_on_record(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, ScriptedSpeaker()) as service:
            made = await service.create("m", format="duel")
            await service.wait(made.id)
            owners = {one["owner"] for one in await service.attempts(made.id)}
            assert owners == {service._keeper.owner}
            json.dumps(await service.attempts(made.id))

    go(work())
