"""`moot ratings`: how models have done in a user's debates, in each role."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from moot.cli.ask import Json, report


def register(app: typer.Typer) -> None:
    app.command()(ratings)


def ratings(
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE", help="Write a page, too.")
    ] = None,
    json: Json = False,
) -> None:
    """Show how models have done before juries, and at what cost."""
    from moot.evals.ratings_text import html

    report(asyncio.run(_made()), json, _show, page, html)


async def _made() -> dict[str, Any]:
    from moot.cli.target import where
    from moot.evals import ratings, statistics

    statistics.check()
    async with where() as moot:
        return ratings.document(await ratings.collect(moot), await moot.calibration())


def _show(made: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from moot.evals.ratings_text import RECORDS, STRENGTHS, notes, records, strengths

    console = Console(highlight=False)
    wide = Console(highlight=False, width=max(console.width, 120))
    for columns, rows in ((STRENGTHS, strengths(made)), (RECORDS, records(made))):
        if rows:
            table = Table(box=None, pad_edge=False)
            for name in columns:
                table.add_column(name, no_wrap=True)
            for row in rows:
                table.add_row(*row)
            wide.print(table)
            typer.echo()
    for note in notes(made):
        typer.echo(note)
