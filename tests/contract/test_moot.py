"""The contract of the single entry point: the engine, and the client of a real server."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from moot.bootstrap import open_service
from moot.client.remote import Remote
from moot.core.format import shown
from moot.ports.entry_point import Moot
from moot.ports.model_call import Speaker
from moot.render.export import KINDS
from moot.settings import Settings
from moot.testing.bus_peer import in_loop
from moot.testing.moot_contract import COUNCIL, MOTION, MootContract, Open
from moot.wire import codec
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


async def everything(moot: Moot, debate_ids: Sequence[str]) -> dict[str, Any]:
    """All that can be read of those debates, and of what there is to choose."""
    models = await moot.models()
    found = await moot.find()
    return {
        "models": sorted(models),
        "list": [
            codec.listed(one, line.result, line.models, line.prices) | {"place": None}
            for one in found.debates
            for line in [found.lines[one.id]]
        ],
        "records": await moot.records(),
        "formats": [shown(rules) for rules in await moot.formats()],
        "problems": [asdict(problem) for problem in await moot.format_problems()],
        "providers": [asdict(status) for status in await moot.providers()],
        "defaults": await moot.default_models(),
        "offers": [asdict(one) for one in await moot.offers()],
        **{debate_id: await _one(moot, debate_id) for debate_id in debate_ids},
    }


async def _one(moot: Moot, debate_id: str) -> dict[str, Any]:
    debate = await moot.get(debate_id)
    made = debate.rules.result if debate.outcome else None
    return {
        "debate": codec.debate(debate),
        "rules": debate.rules,
        "turns": [codec.turn(turn) for turn in await moot.turns(debate_id)],
        "events": [event async for event in moot.follow(debate_id)],
        "packet": await moot.packet(debate_id) if made and made.packet else None,
        "verdict": await moot.verdict(debate_id) if made else None,
        "report": await moot.report(debate_id),
        "replay": await moot.replay(debate_id),
        "plan": await moot.plan_of(debate_id),
        "exports": [await moot.export(debate_id, kind) for kind in KINDS],
    }


@in_loop
async def test_both_read_the_same(home: Path) -> None:
    """Of one home, on which a server and an engine of their own look at the same debates."""
    async with open_service(Settings(home=home, model=MODEL), recover=False) as service:
        made = [await service.create(MOTION, format=name) for name in ("duel", "classic", "jury")]
        made.append(await service.council(COUNCIL))
        made.append(await service.create(MOTION, format="classic", jury={"size": 3}))
        ids = [(await service.wait(debate.id)).id for debate in made]
        ids.append((await service.wait((await service.rejudge(ids[0])).id)).id)
        with served(home, model=MODEL) as server:
            async with Remote(server.url) as remote:
                here, there = await everything(service, ids), await everything(remote, ids)
    for name, said in here.items():
        assert there[name] == said, name
