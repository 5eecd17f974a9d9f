"""What lists cost on the embedded database, and debates that are made once."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from moot.core import verbs
from moot.core.change import Change
from moot.core.debate import Debate
from moot.errors import ConflictError, DuplicateError
from moot.ports.debate_store import Once
from moot.ports.finding import Search
from moot.store import indexing, keys, lists, runs, schema, tables
from moot.store.database import Database, connect
from moot.store.query import Connection
from moot.store.store import SqlStore
from moot.testing.store_contract import (
    AT,
    NARROWED,
    SEARCHES,
    a_debate,
    at_rest,
    index_all,
    one_of_many,
)

T = TypeVar("T")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "home" / ".agentic" / "x.sqlite"
    schema.prepare(path)
    return path


@pytest.fixture
def driver(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path)) as driver:
        yield driver


# --- what they cost ---


class Explained:
    """A driver that keeps the plan of every statement it runs."""

    def __init__(self, driver: sqlite3.Connection) -> None:
        self.driver = driver
        self.plans: list[str] = []

    def execute(self, sql: Any, params: Any = (), /) -> sqlite3.Cursor:
        plan = self.driver.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        self.plans += [row[3] for row in plan]
        return self.driver.execute(sql, params)


WITHIN = (
    "SCAN debate_search VIRTUAL",
    "SCAN debate_said VIRTUAL",
    "SCAN known",  # one model after another
    "SCAN CONSTANT ROW",
)


def check_plans(driver: sqlite3.Connection, search: Search) -> None:
    """No page reads or sorts all rows: neither the first one nor one far down."""
    for before in (None, 2**62):
        explained = Explained(driver)
        lists.find(Connection("sqlite", explained), replace(search, before=before))
        assert explained.plans or search.format in search.hidden
        for step in explained.plans:
            assert "TEMP B-TREE" not in step
            if step.startswith("SCAN"):
                assert step.startswith(WITHIN), step


EVERY = [*SEARCHES, *(search for search, _ in NARROWED)]


@pytest.mark.parametrize("search", EVERY, ids=str)
def test_no_page_reads_or_sorts_all_rows(driver: sqlite3.Connection, search: Search) -> None:
    indexing.KEEP_MODEL.run(Connection("sqlite", driver), {"model": "vendor:m1", "number": 1})
    check_plans(driver, search)


def test_the_plans_stay_when_the_database_has_counted_its_rows(
    path: Path, driver: sqlite3.Connection
) -> None:
    driver.execute("BEGIN")
    for number in range(300):
        at_rest(Connection("sqlite", driver), number, "It is so.")
    index_all(Connection("sqlite", driver))
    driver.execute("ANALYZE")
    driver.execute("COMMIT")
    with closing(connect(path)) as again:
        for search in EVERY:
            check_plans(again, search)


def test_debates_are_counted_from_an_index(driver: sqlite3.Connection) -> None:
    explained = Explained(driver)
    runs.counts(Connection("sqlite", explained))
    assert explained.plans == ["SCAN debate_runs USING COVERING INDEX debate_runs_status"]


def test_a_sweep_passes_by_debates_that_rest(driver: sqlite3.Connection) -> None:
    explained = Explained(driver)
    runs.unfinished(Connection("sqlite", explained), 0.0)  # three statuses, and then leases
    assert explained.plans == [
        "SEARCH debate_runs USING INDEX debate_runs_status (status=?)",
        "SEARCH debate_runs USING INDEX debate_runs_leased (lease_owner>?)",
    ]


def test_no_index_holds_what_a_turn_changes() -> None:
    changed = set(runs.PROGRESS)
    for one in tables.runs.indexes:
        assert not changed & set(one.columns.keys()), one.name


# --- made once ---


def open_(debate: Debate) -> Change:
    return verbs.open_(debate, True, AT)


def with_store(path: Path, act: Callable[[SqlStore], Any]) -> Any:
    async def go() -> Any:
        db = Database(path)
        try:
            return await act(SqlStore(db))
        finally:
            db.close()

    return asyncio.run(go())


def test_the_same_request_makes_one_debate(path: Path) -> None:
    once = Once("key", "digest")

    async def act(store: SqlStore) -> None:
        first = await store.create(a_debate(1), open_, once)
        assert first.events
        await store.change(first.debate.id, lambda debate: Change(debate.but(turn_count=3)))
        again = await store.create(a_debate(2), open_, once)
        assert again == Change(first.debate.but(turn_count=3)), (
            "as it stands, and nothing to announce"
        )
        with pytest.raises(ConflictError):
            await store.create(a_debate(2), open_, Once("key", "other"))
        found = await store.find(Search())
        assert [debate.id for debate in found.debates] == [first.debate.id]
        assert await store.last_logged() == len(first.events)
        other = await store.create(a_debate(2), open_, Once("other", "digest"))
        assert [one.debate_id for one in await store.logged(len(first.events))] == [other.debate.id]
        assert await store.counts() == {"queued": 2}

    with_store(path, act)


def test_the_same_request_many_times_at_once(path: Path) -> None:
    async def act(store: SqlStore) -> None:
        made = await asyncio.gather(
            *(store.create(one_of_many(n), open_as_made, Once("key", "d")) for n in range(20))
        )
        assert len({change.debate.id for change in made}) == 1
        assert len((await store.find(Search())).debates) == 1

    def open_as_made(debate: Debate) -> Change:
        return Change(debate)

    with_store(path, act)


def test_a_debate_whose_opening_fails_leaves_no_key_and_no_words(path: Path) -> None:
    def fail(debate: Debate) -> Change:
        raise RuntimeError

    async def act(store: SqlStore) -> None:
        with pytest.raises(RuntimeError):
            await store.create(a_debate(1), fail, Once("key", "digest"))
        assert (await store.find(Search())).debates == []
        assert (await store.find(Search(words="test"))).debates == []
        await store.create(a_debate(2), open_, Once("key", "digest"))
        assert len((await store.find(Search(words="test"))).debates) == 1

    with_store(path, act)


def test_an_id_or_number_that_is_taken_is_said(path: Path) -> None:
    same = a_debate(1)
    number_only = same.but(id=same.id.replace("_aaaaa", "_baaaa"))

    async def act(store: SqlStore) -> None:
        await store.create(same, open_)
        for debate in (same, number_only):
            for once in (None, Once("key", "digest")):
                with pytest.raises(DuplicateError):
                    await store.create(debate, open_, once)
        assert len((await store.find(Search())).debates) == 1

    with_store(path, act)


@pytest.mark.parametrize("column", ["participants", "limits", "format_digest", "phases"])
def test_a_row_that_cannot_be_read_hides_no_other(
    driver: sqlite3.Connection, column: str, caplog: pytest.LogCaptureFixture
) -> None:
    conn, debates = Connection("sqlite", driver), [one_of_many(number) for number in range(3)]
    for debate in debates:
        runs.create(conn, debate)
    driver.execute(f"UPDATE debate_runs SET {column} = '{{' WHERE id = ?", (debates[1].id,))
    assert lists.find(conn, Search()).debates == [debates[2], debates[0]]
    assert debates[1].id in caplog.text


class Overtaken(Database):
    """Another process keeps the same key first, whenever this one has looked for it."""

    async def write(self, fn: Callable[[Connection], T], row: str | None = None) -> T:
        if hasattr(self, "other"):
            return await super().write(fn)
        self.other = a_debate(7)
        await super().write(lambda conn: runs.create(conn, self.other))
        await super().write(lambda conn: keys.keep(conn, Once("k", "d"), self.other.id, AT))
        raise DuplicateError


def test_two_at_once_agree_on_the_one_that_came_first(path: Path) -> None:
    async def act() -> None:
        db = Overtaken(path)
        made = await SqlStore(db).create(a_debate(1), open_, Once("k", "d"))
        db.close()
        assert made == Change(db.other)

    asyncio.run(act())
