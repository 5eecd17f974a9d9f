"""SIGKILL while documents are sent, and while turns with quotes are committed."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from moot.bootstrap import open_service
from moot.ports.model_call import Call
from moot.store.replay import read_folder
from tests.crash.harness import Ground, Noted, keep_all

TEXT = "The ledger moves before winter, and Ada owns it. It costs 12,000 euros."
GOOD, FAKE = "The ledger moves before winter", "The ledger stays as it was"
COMPLETED = "SELECT count(*) FROM debate_runs WHERE status = 'completed' AND files_seq >= last_seq"
LOST = "SELECT count(*) FROM debate_attempts WHERE outcome = 'unknown'"
TORN = (
    "SELECT count(*) FROM debate_uploads"
    " WHERE sha256 NOT IN (SELECT sha256 FROM debate_source_texts)"
)
SENT = "SELECT count(*) FROM debate_uploads"


def says(call: Call) -> str:
    return f'Turn {len(call.heard) + 1}: [S1.1 "{GOOD}"], and yet [S1.1 "{FAKE}"].'


class Desk(Ground):
    """A home with a debate about a document; or, with a place of "upload", senders of documents."""

    def begin(self) -> str:
        async def make() -> str:
            async with open_service(self.settings, recover=False) as service:
                service._dispatcher.dispatch = lambda debate: None
                made = await service.create(
                    "?", format="duel", limits={"max_turns": 4}, sources=[{"text": TEXT}]
                )
                return made.id

        return asyncio.run(make())

    async def _work(self, place: str | None) -> None:
        self.keep()
        if place == "upload":
            async with open_service(self.settings, recover=False) as service:
                for number in count():
                    text = f"Document {number}. {TEXT} " * 200
                    sent, _ = await service.upload(f"{number}.md", text.encode())
                    self.note("sent", sent)
        if place:
            self.die_at(place)
        async with open_service(self.settings, speaker=Noted(self, 0.0, says)):
            await asyncio.sleep(3600)

    def over(self) -> bool:
        return self.rows(COMPLETED)[0] == (1,)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.kill_all()


@pytest.mark.parametrize(
    "place",
    ["spoken", *(pytest.param(one, marks=pytest.mark.stress("a kill at spoken"))
                 for one in ("begun", "committed", "filed"))],
)  # fmt: skip
def test_no_quote_goes_unmarked_and_no_call_uncounted(desk: Desk, place: str) -> None:
    made = desk.begin()
    for _ in range(2):
        pid = desk.fork(keep_all, place)
        deaths = len(desk.book("died"))
        desk.wait_until(lambda before=deaths: len(desk.book("died")) > before or desk.over())
        desk.kill(pid)
    assert desk.book("died")
    desk.fork(keep_all)
    assert desk.wait_until(desk.over)
    desk.kill_all()
    assert desk.book("errors") == []
    replayed = read_folder(desk.settings.home, made)
    assert replayed.issues == ()
    assert [f'[S1.1 "{GOOD}"]' in turn.text for turn in replayed.turns] == [True] * 4
    for turn in replayed.turns:
        assert re.findall(rf'\[(\S+) "{FAKE}"\]', turn.text) == ["unverified"]
    lost = int(str(desk.rows(LOST)[0][0]))
    calls = Counter(line.split(" ", 1)[1] for line in desk.book("calls"))
    assert all(times <= 2 + 2 * lost for times in calls.values())
    counted = int(str(desk.rows("SELECT count(*) FROM debate_attempts")[0][0]))
    assert counted >= sum(calls.values())


def test_what_was_sent_is_kept_whole_or_not_at_all(desk: Desk) -> None:
    desk.begin()
    for _ in range(3):
        before = len(desk.book("sent"))
        pid = desk.fork(keep_all, "upload")
        assert desk.wait_until(lambda least=before: len(desk.book("sent")) > least + 2)
        desk.kill(pid)
    assert desk.rows(TORN) == [(0,)]
    told = desk.book("sent")
    assert int(str(desk.rows(SENT)[0][0])) >= len(told)

    async def read() -> None:
        async with open_service(desk.settings, recover=False) as service:
            asked = [{"upload": one} for one in (told[0], told[-1])]
            made = await service.create("?", format="duel", sources=asked, start=False)
            assert [len(one.text) > 2 for one in made.sources] == [True, True]

    asyncio.run(read())
