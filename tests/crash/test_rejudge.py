"""SIGKILL while a jury judges again: no ballot is paid twice, and the judged debate stays."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from moot.bootstrap import open_service
from moot.core import schedule
from moot.core.debate import Debate
from moot.core.schedule import Finish, Wave
from moot.engine import failpoints
from moot.ports.model_call import Call, Reply, Say
from moot.store.replay import read_folder
from tests.crash.harness import Ground, Guard, Noted, keep_all
from tests.integration.juries import jury_speaker, vote

KILLS = 3
FILED = "SELECT count(*) FROM debate_runs WHERE status = 'completed' AND files_seq >= last_seq"
LOST = "SELECT round, actor FROM debate_attempts WHERE outcome = 'unknown'"
BALLOTS = "SELECT count(*) FROM debate_turns WHERE actor LIKE 'juror-%'"


class Voters(Noted):
    """One ballot comes in after the other, so that a kill finds some committed and some not."""

    async def speak(self, call: Call, say: Say) -> Reply:
        self._seconds = 0.03 * (1 + call.step.bit)
        return await super().speak(call, say)


class Court(Ground):
    """A home with a debate that has ended, and workers that vote."""

    def begin(self, name: str) -> tuple[str, str]:
        """Hold a debate, and ask for a verdict that no worker has begun with."""

        async def make() -> tuple[str, str]:
            speaker = jury_speaker()
            async with open_service(self.settings, speaker=speaker, recover=False) as service:
                judged = await service.wait((await service.create("?", format=name)).id)
                service._dispatcher.dispatch = lambda debate: None
                return judged.id, (await service.rejudge(judged.id)).id

        return asyncio.run(make())

    async def _work(self, place: str | None) -> None:
        self.keep()
        if place:
            self.die_at(place)
        async with open_service(self.settings, speaker=Voters(self, 0.0, vote)):
            await asyncio.sleep(3600)

    def over(self) -> bool:
        return self.rows(FILED)[0] == (2,)

    def kill_at(self, place: str, guard: Guard) -> None:
        """Let worker after worker die there, as long as one comes there."""
        for _ in range(KILLS):
            if self.over():
                return
            pid = self.fork(guard, place)
            deaths = len(self.book("died"))
            self.wait_until(lambda before=deaths: len(self.book("died")) > before or self.over())
            self.kill(pid)

    def paid_twice(self) -> list[str]:
        """Ballots that were asked for again, though no call for them was lost with its worker."""
        calls = Counter(line.split(" ", 1)[1] for line in self.book("calls"))
        lost = Counter(f"{number} {actor}" for number, actor in self.rows(LOST))
        return [step for step, count in calls.items() if count > 1 + lost[step]]

    def files(self, debate_id: str) -> dict[str, tuple[bytes, int]]:
        return {
            str(path): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in (self.settings.home / "records").rglob("*")
            if path.is_file() and debate_id in str(path)
        }


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    court = Court(tmp_path)
    yield court
    court.kill_all()


def run(court: Court, place: str, name: str, guard: Guard = keep_all) -> tuple[str, str]:
    judged, again = court.begin(name)
    before = court.files(judged)
    court.kill_at(place, guard)
    assert court.book("died"), f"{place} was never reached"
    court.fork(guard)
    assert court.wait_until(court.over), "one that lives comes to the verdict"
    court.kill_all()
    assert court.files(judged) == before
    return judged, again


@pytest.mark.parametrize("name", ["duel", "council"])
@pytest.mark.parametrize("place", sorted(failpoints.PLACES))
def test_killed_at_each_named_place_no_ballot_is_paid_twice(
    court: Court, place: str, name: str
) -> None:
    _, again = run(court, place, name)
    assert court.book("errors") == []
    assert court.paid_twice() == []
    assert court.rows(BALLOTS) == [(6,)]
    assert {line.split()[0] for line in court.book("calls")} == {again}
    replayed = read_folder(court.settings.home, again)
    assert replayed.issues == ()
    assert replayed.debate
    assert replayed.debate.outcome


def forgetful() -> None:
    """The guard taken out: nobody looks which steps of a wave are committed."""
    plan = schedule.plan

    def all_of_it(debate: Debate) -> Wave | Finish:
        return plan(debate.but(cursor=replace(debate.cursor, done=0)))

    schedule.plan = all_of_it


def test_it_is_found_if_committed_ballots_are_asked_for_again(court: Court) -> None:
    court.begin("duel")
    court.kill_at("committed", keep_all)
    assert court.paid_twice() == []
    court.fork(forgetful)
    assert court.wait_until(lambda: bool(court.paid_twice()))
