"""Which database the tests run on: the file in each home or, with MOOT_TEST_DATABASE=postgres, a
Postgres that is started for them. Nothing here skips: what is missing is an error."""

import gc
import os
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.memory import memory_but_for_stress
from tests.stress import STRESS, examples

if TYPE_CHECKING:
    from tests.services import Postgres

ASKED = os.environ.get("MOOT_TEST_DATABASE") or "sqlite"
LONGEST = (
    "simulation/test_schedules.py", "contract/test_providers.py", "acceptance/test_command_line.py",
    "integration/test_machines.py", "acceptance/test_verbs.py", "acceptance/test_remote.py",
    "unit/outcome/test_faults.py", "browser/test_replay.py", "acceptance/test_openapi.py",
    "acceptance/test_canary.py", "browser/test_verdict.py", "integration/test_vendors.py",
    "browser/test_arena.py", "contract/test_moot.py", "browser/test_outcome.py",
    "acceptance/test_own_formats.py", "browser/test_connection.py", "contract/test_old_home.py",
    "browser/test_setup.py", "integration/test_neighbours.py", "browser/test_weight.py",
    "integration/test_postgres.py", "browser/test_studio.py", "acceptance/test_cast.py",
    "acceptance/test_council.py", "integration/test_budget.py", "acceptance/test_jury.py",
    "browser/test_home.py", "browser/test_on_air.py", "browser/test_access.py",
    "acceptance/test_attacks.py", "integration/test_stream.py", "integration/test_llama.py",
    "unit/core/test_format_runs.py", "crash/test_machines_kill.py", "crash/test_machines_faults.py",
)  # fmt: skip
"""Begun first: the last one to be begun is waited for by all other workers."""
URLS = ("MOOT_DATABASE_URL", "MOOT_BROKER_URL", "MOOT_BUS_URL")

# On a busy machine an example may take long; that proves nothing.
settings.register_profile(
    "moot", deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("moot")


def pytest_configure(config: pytest.Config) -> None:
    """Tests must not find the databases of whoever runs them, nor wait for their disk. Who counts
    calls counts turns: a test of reports says who writes them."""
    gc.disable()  # until all is imported: it would look at half a million objects again and again
    if ASKED not in ("sqlite", "postgres"):
        raise pytest.UsageError(f"MOOT_TEST_DATABASE is sqlite or postgres, not {ASKED}")
    for name in URLS:
        os.environ.pop(name, None)
    os.environ["MOOT_REPORT_MODEL"] = "none"
    if folder := memory_but_for_stress():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))  # where tmp_path is


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get("/".join(item.path.parts[-2:]), len(places)))
    unwanted = ["sqlite_only"] if ASKED == "postgres" else []
    unwanted += [] if STRESS else ["stress"]
    left_out = {one for one in items if any(map(one.get_closest_marker, unwanted))}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [one for one in items if one not in left_out]


@pytest.fixture(scope="session", autouse=True)
def new_files_are_copies() -> Iterator[None]:
    """A thousand homes are made here. All migrations make the file of the first, and the others
    are copies of it. `make stress` makes each anew."""
    if STRESS:
        yield
        return
    from moot.store import schema  # here: not while the tests are only listed
    from moot.testing.inline_database import empty_database, make_database

    empty_database()  # by the migrations, before the copies
    prepare = schema.prepare

    def copied(place: Path | str) -> None:
        if isinstance(place, Path) and not place.exists():
            with suppress(OSError):  # which `prepare` meets too, and says in words
                make_database(place)
                with closing(sqlite3.connect(place)) as driver:
                    driver.execute("PRAGMA journal_mode=WAL")
        prepare(place)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "prepare", copied)
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator["Postgres"]:
    """The one that MOOT_TEST_DATABASE asks for; a test that breaks its server starts its own."""
    from tests.services import Postgres  # here: its drivers take half a second

    with Postgres(durable=False) as server:
        yield server


@contextmanager
def on_a_fresh_one(server: "Postgres") -> Generator[None]:
    url = server.fresh()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOOT_DATABASE_URL", url)
        yield
    server.drop(url)


@pytest.fixture(scope="module", autouse=True)
def database_of_the_module(request: pytest.FixtureRequest) -> Iterator[None]:
    """For homes and servers that live as long as their module, and for unit tests."""
    if ASKED == "sqlite":
        yield
        return
    with on_a_fresh_one(request.getfixturevalue("postgres_server")):
        yield


@pytest.fixture(autouse=True)
def database_of_the_test(
    request: pytest.FixtureRequest, database_of_the_module: None
) -> Iterator[None]:
    """For all others: the lists of debates are then their own, as those of a new home are."""
    if ASKED == "sqlite" or "unit" in request.node.nodeid.split("/") or _shares(request):
        yield
        return
    with on_a_fresh_one(request.getfixturevalue("postgres_server")):
        yield


def _shares(request: pytest.FixtureRequest) -> bool:
    """Whether the test uses something that its file made for several tests."""
    known = request.node._fixtureinfo.name2fixturedefs
    used = [known[name][-1] for name in request.fixturenames if name in known]
    return any(one.scope != "function" and one.baseid.endswith(".py") for one in used)


@pytest.fixture
def switch_database(request: pytest.FixtureRequest) -> Iterator[Callable[[object], None]]:
    """For a test with several homes: from now on, the database that goes with a key. On SQLite each
    home has its own anyway."""
    if ASKED == "sqlite":
        yield lambda _: None
        return
    server: Postgres = request.getfixturevalue("postgres_server")
    urls: dict[object, str] = {}
    with pytest.MonkeyPatch.context() as patch:

        def switch(key: object) -> None:
            patch.setenv("MOOT_DATABASE_URL", urls.get(key) or urls.setdefault(key, server.fresh()))

        yield switch
    for url in urls.values():
        server.drop(url)
