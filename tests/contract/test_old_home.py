"""A home that the version before left: everything is there, replays to the byte, and goes on.

`old/home-0005` holds its files as they were written, and its database as rows, by schema 0005;
`old/make_home.py` made it, and says how. It must never be made anew by a later version.
"""

import asyncio
import hashlib
import json
import shutil
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from inspect import signature
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from pydantic import SecretStr
from sqlalchemy import create_engine, text

from moot.bootstrap import open_service
from moot.core import retry
from moot.core.debate import Debate, Turn
from moot.core.events import Event
from moot.core.status import FINAL, RUNNABLE
from moot.engine.service import Service
from moot.errors import NotFoundError
from moot.ports.finding import Search
from moot.ports.model_call import Call
from moot.render.export import KINDS
from moot.settings import Settings
from moot.store import files, schema
from moot.store.reindex import examine, reindex
from moot.store.replay import Replay, read_folder
from moot.store.store import open_database
from moot.testing.speaker import ScriptedSpeaker, plain
from tests.contract.test_store import migrate
from tests.integration.councils import answer
from tests.integration.juries import ballot
from tests.patience import seconds
from tests.services import Postgres

HOME = Path(__file__).parent / "old" / "home-0005"
DUMP: dict[str, Any] = json.loads((HOME / "database.json").read_text("utf-8"))
CASES: dict[str, str] = DUMP["cases"]
STATUS = {row["id"]: row["status"] for row in DUMP["debate_runs"]}
FOLDERS = sorted(path.name for path in (HOME / "records" / "debates").iterdir())
AFTER = 1_793_700_000.0  # a day after that home was left: leases have ended, no slot is due
ADD_WORDS = {
    "sqlite": "INSERT INTO debate_search (rowid, words) VALUES (:number, :words)",
    "postgresql": "INSERT INTO debate_search (number, words)"
    " VALUES (:number, array_to_tsvector(string_to_array(:words, ' ')))",
}
FINISHED = {one for one, status in STATUS.items() if status in FINAL} - {
    CASES["report-wanted"]  # a model is still to write that
}
HALF_WAY = {one for one, status in STATUS.items() if status in RUNNABLE}


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres(durable=False) as server:
        yield server


_numbers = count(1)


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Of a copy of that home, with the database at this version's schema."""
    home, url = tmp_path / "home", None
    shutil.copytree(HOME / "records", home / "records")
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("server")
        name = f"old_home_{next(_numbers)}"
        with psycopg.connect(server.url(), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name}".encode())
        url = server.url(name)
    made = Settings(
        home=home,
        database_url=SecretStr(url) if url else None,
        broker_url=None,
        bus_url=None,
        sweep_seconds=0.05,
    )
    fill(made.database)
    return made


def fill(place: Path | str) -> None:
    """A database of schema 0005, with every row that was dumped; then brought to this schema."""
    if isinstance(place, Path):
        place.parent.mkdir(parents=True)
        engine = create_engine(f"sqlite:///{place}")
    else:
        engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(place))
    with engine.begin() as conn:
        migrate(conn, DUMP["schema"])
        for name, rows in DUMP.items():
            if name == "debate_search":
                conn.execute(text(ADD_WORDS[conn.dialect.name]), rows)
            elif name.startswith("debate_") and rows:
                table = sqlalchemy.Table(name, sqlalchemy.MetaData(), autoload_with=conn)
                conn.execute(table.delete())  # agents that the schema brings along
                conn.execute(table.insert(), rows)
    engine.dispose()
    if isinstance(place, str):
        assert schema.upgrade_at(place) == (DUMP["schema"], schema.HEAD)
    schema.prepare(place)


class Later:
    """A clock that runs on from the day after."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def now(self) -> float:
        return AFTER + time.monotonic() - self._began


def speaker() -> ScriptedSpeaker:
    """Speaks in every format, and writes reports."""

    def script(call: Call) -> str:
        if call.step.stage == "report":
            return json.dumps(_report(call))
        said = ballot(call) if call.step.answer == "ballot" else answer(call)
        return plain(call) if said is None else json.dumps(said)

    return ScriptedSpeaker(script)


def _report(call: Call) -> dict[str, Any]:
    assert call.schema
    ids = call.schema["properties"]["points"]["items"]["properties"]["speaker"]["enum"]
    first = {turn.actor: turn.number for turn in reversed(call.heard)}
    points = [{"speaker": i, "text": "It pays.", "turns": [first[i]]} for i in ids]
    return {
        "points": points,
        "conceded": [],
        "open": [],
        "at_issue": {"text": "Whether it pays.", "turns": []},
        "summary": "It was read later.",
    }


def run(settings: Settings, work: Callable[[Service], Any], *, recover: bool = False) -> Any:
    async def go() -> Any:
        async with open_service(
            settings, speaker=speaker(), clock=Later(), recover=recover, air=True
        ) as service:
            return await work(service)

    return asyncio.run(go())


Kept = dict[str, tuple[Debate, list[Turn], list[Event]]]


async def read_all(service: Service) -> Kept:
    return {
        one: (
            await service.get(one),
            await service.turns(one),
            await service.log(one, 0, 1000),
        )
        for one in STATUS
    }


def on_disk(settings: Settings, ids: set[str]) -> dict[str, tuple[bytes, int]]:
    """All files of those debates, with when each was written."""
    return {
        str(path.relative_to(settings.home)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted((settings.home / "records").rglob("*"))
        if path.is_file() and any(one in str(path) for one in ids)
    }


# --- everything is there ---


def test_the_home_holds_what_it_is_to_stand_for() -> None:
    runs = {row["id"]: row for row in DUMP["debate_runs"]}
    assert set(CASES.values()) == set(runs)
    formats = {row["format"] for row in runs.values() if row["status"] == "completed"}
    assert formats == {"standard", "classic", "custom", "duel", "council"}
    assert set(STATUS.values()) == {
        "scheduled", "queued", "running", "paused", "ending", "completed", "stopped", "failed",
    }  # fmt: skip
    reasons = {row["stop_reason"] for row in runs.values()}
    assert reasons >= {"ended_by_user", "stopped_by_user", "budget", "provider_failed"}
    open_calls = [row for row in DUMP["debate_attempts"] if row["outcome"] == "started"]
    assert len(open_calls) == 7
    assert {row["debate_id"] for row in open_calls} <= HALF_WAY
    assert sum(row["deaths"] > 0 for row in runs.values()) == 3
    assert runs[CASES["duel-filed"]]["files_seq"] == 0


def test_everything_is_listed_and_read(settings: Settings) -> None:
    async def look(service: Service) -> None:
        found = await service.find(Search(limit=100))
        assert sorted(debate.id for debate in found.debates) == sorted(STATUS)
        assert {debate.id: debate.status for debate in found.debates} == STATUS
        counts = await service.counts()
        assert {name: n for name, n in counts.items() if n} == Counter(STATUS.values())
        for debate in found.debates:
            words = Search(words=" ".join(debate.motion.split()[:3]), limit=100)
            assert debate.id in {one.id for one in (await service.find(words)).debates}
            text = " ".join(turn.text for turn in await service.turns(debate.id))
            if text.strip() and (debate.status in FINAL or debate.status == "paused"):
                said = Search(words=max(text.split(), key=len), limit=100)
                assert debate.id in {one.id for one in (await service.find(said)).debates}
        for one, (debate, turns, events) in (await read_all(service)).items():
            rows = {name: _of(name, one) for name in ("turns", "events", "attempts", "actions")}
            assert [turn.text for turn in turns] == [row["text"] for row in rows["turns"]]
            assert [event.seq for event in events] == list(range(1, debate.last_seq + 1))
            assert len(events) == len(rows["events"])
            outcomes = [attempt["outcome"] for attempt in await service.attempts(one)]
            assert outcomes == [row["outcome"] for row in rows["attempts"]]
            assert [a["action"] for a in await service.actions(one)] == [
                row["action"] for row in rows["actions"]
            ]
            assert await service.report(one)
            for kind in KINDS:
                assert await service.export(one, kind)
        assert {row["title"] for row in await service.records()} == {
            row["title"] for row in DUMP["debate_records"]
        }
        reports = await service.reports(list(STATUS))
        assert {one: (row.state, row.method) for one, row in reports.items()} == {
            row["debate_id"]: (row["state"], row["method"]) for row in DUMP["debate_reports"]
        }
        assert {one.id for one in await service.agents.all()} == {
            row["id"] for row in DUMP["debate_agents"]
        }
        morning = await service.stations.programme("morning")
        assert [one.id for one in morning.past] == [CASES["station-finished"]]
        assert [one.id for one in morning.waiting] == [CASES["station-waiting"]]
        evening = await service.stations.programme("evening")
        assert evening.now
        assert evening.now.id == CASES["station-on-air"]

    run(settings, look)


def _of(table: str, debate_id: str) -> list[dict[str, Any]]:
    return [row for row in DUMP[f"debate_{table}"] if row["debate_id"] == debate_id]


# --- every folder replays ---


def by(replay: Replay) -> dict[str, Any]:
    """The rules that a folder was written by, for a version that knows several."""
    knows = "layout" in signature(files.contents).parameters
    return {"layout": replay.documents["manifest.json"]["layout"]} if knows else {}


def replays(settings: Settings, debate_id: str) -> list[str]:
    """What is wrong with a debate's files, alone and made again from what they say."""
    replay = read_folder(settings.home, debate_id)
    if replay.debate is None:
        return [*replay.issues, "it gives no debate"]
    root = settings.home / "records" / "debates" / debate_id
    there = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
    again = files.contents(replay.debate, replay.turns, replay.events, replay.read, **by(replay))
    for name, data in files.record(replay.debate, replay.turns).items():
        again[name], there[name] = data, (settings.home / name).read_bytes()
    unlike = [name for name in {**there, **again} if there.get(name) != again.get(name)]
    return [*replay.issues, *unlike]


def test_every_folder_replays_to_the_byte(settings: Settings) -> None:
    before = on_disk(settings, set(FOLDERS))
    assert {one: replays(settings, one) for one in FOLDERS} == {one: [] for one in FOLDERS}
    beside = {one: examine(settings.home, settings.database, one) for one in FOLDERS}
    ahead = beside.pop(CASES["council-filed"])  # of the database, by its decision
    assert len([issue for issue in ahead.issues if "go up to seq" in issue]) == 1
    assert {one: seen.issues for one, seen in beside.items()} == dict.fromkeys(beside, ())
    assert all(seen.indexed for seen in beside.values())
    assert on_disk(settings, set(FOLDERS)) == before


@pytest.mark.parametrize("layout", [2, 3, 4])
def test_pages_of_older_layouts_are_made_again_to_the_byte(layout: int) -> None:
    """`old/layout-2.json` has their hashes, by the last version that made nothing newer. In layout
    4, pages without a verdict are as in 3."""
    kept = (HOME.parent / f"layout-{min(layout, 3)}.json").read_text()
    expected: dict[str, dict[str, str]] = json.loads(kept)
    for name, pages in expected.items():
        found = read_folder(HOME, name)
        assert found.debate
        made = files.contents(found.debate, found.turns, found.events, found.read, layout)
        hashes = {page: hashlib.sha256(made[page]).hexdigest() for page in pages}
        assert hashes == pages, name
    assert expected.keys() == set(FOLDERS)


def test_the_files_alone_give_the_rows(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(HOME / "records", home / "records")
    settings = Settings(home=home, database_url=None, broker_url=None, bus_url=None)
    schema.prepare(settings.file)
    database = open_database(settings.file, 2)
    try:
        done = asyncio.run(reindex(database, home))
    finally:
        database.close()
    assert (sorted(done.indexed), done.skipped) == (FOLDERS, {})
    for one in FOLDERS:
        assert examine(home, settings.file, one).issues == ()


# --- what was left goes on ---


def test_a_jury_can_judge_what_ended_before_there_were_juries(settings: Settings) -> None:
    ended = [one for one, status in STATUS.items() if status in FINAL]
    spoken = [
        one
        for one in ended
        if any(row["kind"] == "speech" and row["status"] == "ok" for row in _of("turns", one))
    ]
    assert {row["format"] for row in DUMP["debate_runs"] if row["id"] in spoken} == {
        "standard", "classic", "custom", "duel", "council",
    }  # fmt: skip
    before = on_disk(settings, set(ended))

    async def judge(service: Service) -> None:
        for one in spoken:
            known = await service.get(one), await service.turns(one)
            with pytest.raises(NotFoundError):
                await service.verdict(one)
            made = await service.wait((await service.rejudge(one)).id)
            assert (made.status, made.rules.edition, made.usage.calls) == ("completed", 2, 6)
            assert (await service.verdict(made.id))["jury"]["valid"] == 3
            assert [t.number for t in await service.turns(made.id)] == [
                t.seq for t in await service.turns(made.id)
            ]
            assert replays(settings, made.id) == []
            assert examine(settings.home, settings.database, made.id).issues == ()
            assert (await service.get(one), await service.turns(one)) == known

    run(settings, judge)
    assert on_disk(settings, set(ended)) == before


def test_people_go_on_from_what_ended_before_there_were_forks(settings: Settings) -> None:
    """Each is forked, run again and asked about, stays as it is, and can be deleted."""
    ended = [one for one, status in STATUS.items() if status in FINAL and _of("turns", one)]
    before = on_disk(settings, set(ended))

    async def go_on(service: Service) -> None:
        for one in ended:
            known, said = await service.get(one), await service.turns(one)
            place = len(said) // 2
            new = await service.fork(one, said[place].seq)
            for made in (new, await service.rerun(one), await service.rerun(new.id)):
                assert (await service.wait(made.id)).status == "completed"
                if made.forked_from:
                    assert (await service.turns(made.id))[: place + 1] == said[: place + 1]
                assert examine(settings.home, settings.database, made.id).issues == ()
            assert (await service.get(one), await service.turns(one)) == (known, said)
            spoke = any(turn.kind == "speech" and turn.status == "ok" for turn in said)
            if spoke and known.stop_reason != "budget":
                assert (await service.ask(one, "What was said?")).status == "answered"
        now = on_disk(settings, set(ended))
        assert {name: now[name] for name in before} == before
        for one in ended:
            await service.delete(one, record=True)
        assert not on_disk(settings, set(ended))

    run(settings, go_on)


@pytest.fixture
def quick_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "WAITS", (0.01, 0.02, 0.03))


@pytest.mark.usefixtures("quick_waits")
def test_what_was_left_goes_on_and_what_was_done_stays(settings: Settings) -> None:
    kept = on_disk(settings, FINISHED)
    before: Kept = run(settings, read_all)
    assert on_disk(settings, FINISHED) == kept, "to read is not to write"

    async def go_on(service: Service) -> Kept:
        async with asyncio.timeout(seconds()):
            for one in HALF_WAY:  # the supervisor finds them
                await service.wait(one)
            await service.resume(CASES["classic-paused"])
            await service.retry(CASES["duel-paused-by-failure"])
            await service.retry(CASES["council-paused-by-failure"], "openai:gpt-5")
            await service.start(CASES["scheduled"])
            await service.start(CASES["station-waiting"])
            for one in STATUS:
                await service.wait(one)
            wanted = CASES["report-wanted"]
            while (await service.reports([wanted]))[wanted].state == "making":
                await asyncio.sleep(0.02)
            while await service._store.unfiled():
                await asyncio.sleep(0.02)
            assert (await service.reports([wanted]))[wanted].method == "model"
            return await read_all(service)

    after: Kept = run(settings, go_on, recover=True)
    assert on_disk(settings, FINISHED) == kept
    for one, (debate, turns, events) in before.items():
        now, said, logged = after[one]
        assert said[: len(turns)] == turns
        assert logged[: len(events)] == events
        if one in FINISHED:
            assert (len(said), len(logged)) == (len(turns), len(events))
            assert now.but(files_seq=debate.files_seq) == debate
            assert now.files_seq == now.last_seq
    went_on = set(STATUS) - FINISHED
    assert {after[one][0].status for one in went_on} == {"completed"}
    assert after[CASES["ending"]][0].stop_reason == "ended_by_user"
    assert after[CASES["council-filed"]][0].outcome
    for one in went_on:
        now, said, _ = after[one]
        assert now.turn_count == now.total == len(said)
        assert {turn.status for turn in said} == {"ok"}
        assert [turn.number for turn in said] == [turn.seq for turn in said], "as it began"
        slots = Counter((turn.round, turn.actor, turn.target) for turn in said)
        assert set(slots.values()) == {1}

    async def calls(service: Service) -> dict[str, Counter[str]]:
        return {
            one: Counter(attempt["outcome"] for attempt in await service.attempts(one))
            for one in went_on
        }

    for one, outcomes in run(settings, calls).items():
        old = Counter(row["outcome"] for row in _of("attempts", one))
        assert outcomes["started"] == 0
        assert outcomes["unknown"] == old["unknown"] + old["started"], "what was lost is said so"
        assert outcomes["ok"] == after[one][0].turn_count
    assert {one: replays(settings, one) for one in STATUS} == {one: [] for one in STATUS}
    for one in STATUS:
        assert examine(settings.home, settings.database, one).issues == ()
    councils = [one for one in went_on if after[one][0].format == "council"]
    for one in councils:
        made = read_folder(settings.home, one).documents["final-packet.json"]
        cited = {ref for ref in made["trace"]["evidenceRefs"] if ref.startswith("turn:")}
        judge = next(turn for turn in after[one][1] if turn.stage == "judge")
        (why,) = (judge.data or {})["whySelected"]
        assert {f"turn:{seq}" for seq in why["turns"]} <= cited
        assert cited <= {f"turn:{turn.seq}" for turn in after[one][1]}
    assert councils


def test_debates_with_verdicts_replay_to_the_byte(tmp_path: Path) -> None:
    """`old/verdicts-5.tar.xz` holds duels and councils with a jury, and one without, of each
    outcome, as the last version of edition 4 and layout 5 filed them; two are rejudged."""
    with tarfile.open(HOME.parent / "verdicts-5.tar.xz") as kept:
        kept.extractall(tmp_path, filter="data")
    folders = sorted(path.name for path in (tmp_path / "records" / "debates").iterdir())
    seen: set[tuple[str, str]] = set()
    for name in folders:
        found = read_folder(tmp_path, name)
        assert not found.issues, name
        assert found.debate
        assert (found.debate.rules.edition, found.documents["manifest.json"]["layout"]) == (4, 5)
        made = found.documents["verdict.json"]
        seen.add((made["decidedBy"], made["outcome"]))
    assert len(folders) == 13
    kinds = ("decided", "contested", "deadlock", "needs_facts", "no_verdict")
    assert seen == {*(("jury", kind) for kind in kinds), ("judge", "decided")}
