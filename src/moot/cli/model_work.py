"""What `moot model` does: what there is, whether to fetch one, and how far a download is."""

import asyncio
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from moot.bootstrap import providers, router
from moot.cli.target import say
from moot.core.voices import UNDERSTUDY
from moot.extras import install
from moot.models.local.catalog import Entry, catalog, entry, machine, suits
from moot.models.local.fetch import Told
from moot.models.local.weights import NONE, Model, Shelf
from moot.models.providers import LOCAL, Providers
from moot.settings import Settings


class Needless(Exception):  # noqa: N818  not an error: a reason, or empty
    """No model is fetched; the words say why, if a person would want to know."""


def needed(settings: Settings, shelf: Shelf, name: str | None = None) -> Entry:
    """The model to fetch."""
    wish = name or settings.demo_model
    known = providers(settings)
    if known.defaults() != (LOCAL,) or wish == NONE or shelf.wanted() == NONE:
        raise Needless("" if settings.model else _keys(known))
    if shelf.chosen() is not None or asyncio.run(_speaks(settings)):
        raise Needless
    if find_spec("xllamacpp") is None:
        said = "llama.cpp is not installed, so the understudy speaks."
        raise Needless(f"{said} {install('llama')}")
    found = entry(wish) if wish else suits(*machine())
    if found is None:
        raise Needless("This machine is small for a model, so the understudy speaks.")
    return found


def _keys(known: Providers) -> str:
    """Whose keys are set, so that nothing else needs to speak."""
    keys = [str(one.key) for one in known.table if one.key and known.key(one.name)]
    if not keys:
        return ""
    return f"{' and '.join(keys)} {'is' if len(keys) == 1 else 'are'} set, so no model is fetched."


async def _speaks(settings: Settings) -> bool:
    """Whether `local` is a server's model already, or was set to one."""
    voices = router(settings)
    try:
        local = next(one for one in await voices.describe() if one.provider == "local")
    finally:
        await voices.aclose()
    return local.model != UNDERSTUDY


def rows(shelf: Shelf) -> list[dict[str, Any]]:
    """One for each model; those of the catalog first."""
    here = {model.name: model for model in shelf.models()}
    chosen = shelf.chosen()
    if chosen and here.get(chosen.name) != chosen:
        here[str(chosen.path)] = chosen  # a file of the user's own
    known = {one.name: one for one in catalog()}
    names = [*known, *(name for name in here if name not in known)]
    return [_row(name, known.get(name), here.get(name), shelf, chosen) for name in names]


def _row(
    name: str, entry: Entry | None, model: Model | None, shelf: Shelf, chosen: Model | None
) -> dict[str, Any]:
    in_use = model is not None and model == chosen
    begun = shelf.parts(name).is_dir() if entry else False
    state = "in use" if in_use else "here" if model else "begun" if begun else "can be fetched"
    return {
        "name": name,
        "state": state,
        "here": model is not None,
        "inUse": in_use,
        "path": str(model.path) if model else None,
        "size": model.path.stat().st_size if model else entry.size if entry else 0,
        "context": model.context if model else entry.context if entry else None,
        "quantisation": entry.quantisation if entry else None,
        "licence": entry.licence if entry else None,
        "sha256": entry.sha256 if entry else None,
        "goodFor": entry.good_for if entry else None,
    }


@contextmanager
def shown(name: str, size: int) -> Generator[Told]:
    """Who hears of a fetch. All of it goes to standard error."""
    if not sys.stderr.isatty():
        yield Told(say, _tenths(name))
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(),
               TransferSpeedColumn(), TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=Console(stderr=True, highlight=False)) as bar:
        task = bar.add_task(name, total=size)
        yield Told(
            lambda said: bar.console.print(said, markup=False),
            lambda done, _: bar.update(task, completed=done),
        )


def _tenths(name: str) -> Callable[[int, int], None]:
    last = -1

    def progress(done: int, total: int) -> None:
        nonlocal last
        if (tenth := done * 10 // total) > last:
            if last >= 0 or tenth:
                say(f"{name}: {tenth * 10}%, {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")
            last = tenth

    return progress
