"""Whoever reads what small models came to is told so first, in every view."""

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from moot.bootstrap import open_service
from moot.cli import takeaways_view, verdict_view
from moot.core.debate import Debate, Turn
from moot.engine.service import Service
from moot.outcome.result import verdict_of
from moot.ports.model_call import ModelCard
from moot.render import notebook
from moot.render.answer import answer
from moot.settings import Settings
from moot.wire import public
from tests.integration.councils import Voices

SAID = "Small model: a demo, not advice."


class Sized(Voices):
    def __init__(self, small: frozenset[str]) -> None:
        super().__init__()
        self._small = small

    def card(self, model: str) -> ModelCard:
        return ModelCard(model, 32_000, 0.0, 0.0, model in self._small)


def seen(home: Path, small: frozenset[str], format_: str) -> tuple[Debate, dict[str, str]]:
    """The debate, and all that people can read of it."""

    async def work() -> tuple[Debate, dict[str, str]]:
        speaker = Sized(small)
        async with asyncio.timeout(60), open_service(Settings(home=home), speaker=speaker) as moot:
            made = await begun(moot, format_)
            done = await moot.wait(made.id)
            await moot.report(done.id)
            return done, views(done, await moot.turns(done.id), await moot.report(done.id), home)

    return asyncio.run(work())


async def begun(moot: Service, format_: str) -> Debate:
    if format_ == "council":
        return await moot.council({"problem": "Shall we move?", "outputType": "decision"})
    seats = [{"name": name, "model": f"local:{name.lower()}"} for name in ("Ada", "Ben")]
    return await moot.create("Shall we move?", format=format_, participants=seats)


def views(done: Debate, turns: list[Turn], report: dict[str, Any], home: Path) -> dict[str, str]:
    verdict = verdict_of(done, turns)
    out = Console(file=io.StringIO(), width=100)
    verdict_view.show(out, done, turns)
    takeaways_view.show(out, report)
    folder = next(path for path in home.rglob(done.id) if path.is_dir())
    files = {path.name: path.read_text() for path in folder.glob("*.*") if path.suffix != ".json"}
    assert isinstance(out.file, io.StringIO)
    return {
        **{name: text for name, text in files.items() if name.startswith(("report", "packet"))},
        "terminal": out.file.getvalue(),
        "notebook": notebook.page(done, turns, verdict),
        "answer": answer(done, turns, verdict, None, report),
        "on air": str(public.report(report).get("caution")),
    }


@pytest.mark.parametrize("format_", ["duel", "council"])
def test_small_models_are_named_above_all_that_they_came_to(tmp_path: Path, format_: str) -> None:
    small = frozenset({"local:ada", "local"})
    done, read = seen(tmp_path, small, format_)
    assert done.status == "completed"
    assert {"report.md", "report.html"} <= read.keys()
    for view, text in read.items():
        assert text.count(SAID) == 1, (view, text[:2000])
    who = "local:ada (Ada)" if format_ == "duel" else "local (Proponent, Critic, Analyst"
    assert who in read["report.md"]


def test_nothing_is_said_of_large_ones(tmp_path: Path) -> None:
    _, read = seen(tmp_path, frozenset(), "duel")
    assert not [view for view, text in read.items() if SAID in text]
