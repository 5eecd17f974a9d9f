"""The contract of the single entry point: the engine, and the client of a real server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from moot.bootstrap import open_service
from moot.client.remote import Remote
from moot.ports import Moot, Speaker
from moot.settings import Settings
from moot.testing.bus_peer import in_loop
from moot.testing.moot_contract import COUNCIL, MOTION, MootContract, Open, everything
from tests.served import served

MODEL = "local:understudy"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


class TestService(MootContract):
    @pytest.fixture
    def moot(self, home: Path) -> Open:
        @asynccontextmanager
        async def open_(speaker: Speaker | None) -> AsyncGenerator[Moot]:
            settings = Settings(home=home, model=MODEL)
            async with open_service(settings, speaker=speaker) as service:
                yield service

        return open_


class TestRemote(MootContract):
    @pytest.fixture
    def moot(self, home: Path) -> Open:
        @asynccontextmanager
        async def open_(speaker: Speaker | None) -> AsyncGenerator[Moot]:
            with served(home, speaker, model=MODEL) as server:
                async with Remote(server.url) as remote:
                    yield remote

        return open_


@in_loop
async def test_both_read_the_same(home: Path) -> None:
    """Of one home, on which a server and an engine of their own look at the same debates."""
    async with open_service(Settings(home=home, model=MODEL), recover=False) as service:
        made = [await service.create(MOTION, format=name) for name in ("duel", "classic", "jury")]
        made.append(await service.council(COUNCIL))
        ids = [(await service.wait(debate.id)).id for debate in made]
        with served(home, model=MODEL) as server:
            async with Remote(server.url) as remote:
                here, there = await everything(service, ids), await everything(remote, ids)
    for name, said in here.items():
        assert there[name] == said, name
