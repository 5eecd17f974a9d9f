"""Debates whose reports are tested: how they are held, and what is filed of them."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from moot.bootstrap import open_service
from moot.core.debate import Debate
from moot.engine.service import Service
from moot.errors import (
    ProviderUnavailableError,
)
from moot.ports.debate_store import ReportRow
from moot.ports.model_call import Speaker
from moot.settings import Settings
from moot.store.reindex import examine
from tests.virtual import MODEL, engine, go

COUNCIL = {"problem": "Should we ship <now>?", "outputType": "decision"}
WRITER = "openai:writer"
DEAD = ProviderUnavailableError("The line to OpenAI is dead. Wait, then restart the speaker.")
T = TypeVar("T")


def a_home(tmp_path: Path, writer: str | None = WRITER, **more: Any) -> Settings:
    home = tmp_path / "home"
    asked: dict[str, Any] = {"model": MODEL, "sweep_seconds": 0.1, **more}
    return Settings(home=home, report_model=writer, **asked)


async def hold(service: Service, format_: str = "duel", **asked: Any) -> Debate:
    if format_ == "council":
        made = await service.council(COUNCIL)
    else:
        made = await service.create("Ship <it>?", format=format_, **asked)
    return await service.wait(made.id)


def run(settings: Settings, voices: Speaker, work: Callable[[Service], Any]) -> Any:
    async def opened() -> Any:
        async with engine(settings, voices, recover=False) as service:
            return await work(service)

    return go(opened())


def run_without_a_speaker(
    settings: Settings, work: Callable[[Service], Coroutine[Any, Any, T]]
) -> T:
    """In real time: with no speaker given, moot looks for local models, which takes sockets."""
    settings = settings.model_copy(update={"model": None})

    async def opened() -> T:
        async with open_service(settings, recover=False) as service:
            return await work(service)

    return asyncio.run(opened())


def wanted(**changes: Any) -> Callable[[ReportRow | None], ReportRow]:
    """A move: a model is to write it, and nobody is at it."""

    def move(row: ReportRow | None) -> ReportRow:
        assert row
        return replace(row, **{"state": "making", "model": WRITER, "until": 0.0, **changes})

    return move


async def row_of(service: Service, debate_id: str) -> ReportRow:
    return (await service.reports([debate_id]))[debate_id]


def filed(settings: Settings, debate_id: str) -> dict[str, Any]:
    folder = settings.home / "records" / "debates" / debate_id
    return json.loads((folder / "report.json").read_bytes())


def issues(settings: Settings, debate_id: str) -> tuple[str, ...]:
    return examine(settings.home, settings.database, debate_id).issues
