"""How far a download is: a bar on a terminal, else a line for every tenth."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from moot.cli.target import say
from moot.models.local.fetch import Told


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
