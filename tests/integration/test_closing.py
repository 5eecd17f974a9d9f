"""How a debate ends: who sums up, and what decides a council whose roles fail."""

from typing import Any

import pytest

from moot.core import moves
from moot.core.events import StatusChanged
from moot.errors import (
    ProviderUnavailableError,
)
from moot.ports.model_call import Call
from moot.settings import Settings
from moot.store.replay import read_folder
from moot.testing.speaker import plain
from tests.integration.councils import COUNCIL, council_speaker
from tests.integration.homes import damage
from tests.integration.speakers import Gated
from tests.virtual import engine, go, until


def _until_the_end(call: Call) -> bool:
    """Whether a speaker waits: for good, before the debate is to be summed up."""
    return call.step.round > 0 and call.step.kind != "summary"


def test_if_the_host_cannot_close_the_first_participant_who_can_does(settings: Settings) -> None:
    def script(call: Call) -> Any:
        closing = call.step.kind == "summary"
        if closing and call.step.actor in ("host", "ada"):
            return ProviderUnavailableError(f"{call.step.actor} is away.")
        return plain(call)

    async def work() -> None:
        speaker = Gated(_until_the_end, script)
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="classic")
            await until(lambda: speaker.in_flight)
            await service.end(made.id)
            ended = await service.wait(made.id)
            turns = await service.turns(made.id)
            assert (ended.status, ended.stop_reason) == ("completed", "ended_by_user")
            assert [(t.actor, t.kind, t.status) for t in turns[-3:]] == [
                ("host", "summary", "failed"),
                ("ada", "summary", "failed"),
                ("ben", "summary", "ok"),
            ]
            report = await service.report(made.id)
            assert report["summary"]["by"] == "participant"
            assert "unclosed" not in report
        assert read_folder(settings.home, made.id).issues == ()

    go(work())


def test_if_nobody_can_close_every_view_says_so(settings: Settings) -> None:
    def script(call: Call) -> Any:
        if call.step.kind == "summary":
            return ProviderUnavailableError(f"{call.step.actor} is away.")
        return plain(call)

    async def work() -> None:
        speaker = Gated(_until_the_end, script)
        async with engine(settings, speaker) as service:
            made = await service.create("m", format="classic")
            await until(lambda: speaker.in_flight)
            await service.end(made.id)
            ended = await service.wait(made.id)
            assert (ended.status, ended.degraded) == ("completed", True)
            report = await service.report(made.id)
            for name in ("Host", "Ada", "Ben"):
                assert f"{name}: {name.lower()} is away." in report["unclosed"]
            events = [e async for e in service.follow(made.id) if isinstance(e, StatusChanged)]
            assert events[-1].notice == moves.NO_SUMMARY
        folder = settings.home / "records" / "debates" / made.id
        for page in ("report.md", "report.html"):
            assert "Nobody could give the closing summary" in (folder / page).read_text()
        assert read_folder(settings.home, made.id).issues == ()

    go(work())


@pytest.mark.sqlite_only
def test_a_crash_between_two_closers_repeats_none(settings: Settings) -> None:
    """The cursor that the turns give is the one that is kept."""

    def script(call: Call) -> Any:
        if call.step.kind == "summary" and call.step.actor == "host":
            return ProviderUnavailableError("away")
        return plain(call)

    async def work() -> None:
        speaker = Gated(lambda call: call.step.round > 0 and call.step.actor != "host", script)
        async with engine(settings, speaker, recover=False) as service:
            made = await service.create("m", format="custom")
            await until(lambda: speaker.in_flight)
            await service.end(made.id)

            async def host_failed() -> bool:
                turns = await service.turns(made.id)
                return bool(turns) and turns[-1].status == "failed"

            await until(host_failed)
        damage(settings, "UPDATE debate_runs SET next_actor = 'host', lease_until = 0")
        speaker.gate.set()
        async with engine(settings, speaker) as service:
            ended = await service.wait(made.id)
            turns = await service.turns(made.id)
            assert (ended.status, turns[-1].actor, turns[-1].status) == ("completed", "ada", "ok")
            assert sum(turn.status == "failed" for turn in turns) == 1

    go(work())


ROLES = ("proponent", "critic", "analyst", "synthesizer", "judge")


@pytest.mark.parametrize("silent", [{2}, {3}, {2, 3}, {2, 3, 4, 5}], ids=str)
def test_what_was_stated_first_decides_if_all_fail_later(
    settings: Settings, silent: set[int]
) -> None:
    failing = frozenset((role, number) for role in ROLES for number in silent)

    async def work() -> None:
        async with engine(settings, council_speaker(failing)) as service:
            made = await service.council(COUNCIL)
            ended = await service.wait(made.id)
            assert (ended.status, ended.degraded) == ("completed", True)
            assert ended.outcome
            assert ended.outcome.selected_option == "Ship it"
        replay = read_folder(settings.home, made.id)
        assert replay.issues == ()
        packet = replay.documents["final-packet.json"]
        assert packet["degraded"]
        assert packet["errorCodes"] == ["DEBATE_ERR_PROVIDER_REFUSED"]

    go(work())


def test_if_nobody_stated_a_position_the_council_fails(settings: Settings) -> None:
    failing = frozenset((role, 1) for role in ROLES)

    async def work() -> None:
        speaker = council_speaker(failing)
        async with engine(settings, speaker) as service:
            made = await service.council(COUNCIL)
            ended = await service.wait(made.id)
            assert (ended.status, ended.stop_reason) == ("failed", "provider_failed")
            assert ended.failure
            assert "position" in ended.failure.message
            assert len(speaker.calls) == 5

    go(work())
