"""`moot report`: what a debate came to, made anew."""

import asyncio
import json as jsonlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.run_commands import Id, Json

if TYPE_CHECKING:
    from moot.core.debate import Debate


def register(app: typer.Typer) -> None:
    app.command()(report)


def report(
    id_: Id,
    model: Annotated[
        str | None,
        typer.Option(help="Who writes it; default MOOT_REPORT_MODEL, else it is by extraction."),
    ] = None,
    json: Json = False,
) -> None:
    """Make the report of a debate that has ended anew, and show it; of another, as it stands."""
    debate, made, folder = asyncio.run(_made(id_, model))
    if json:
        typer.echo(jsonlib.dumps(made, ensure_ascii=False, indent=1))
    else:
        from moot.render.report_text import markdown

        typer.echo(markdown(made), nl=False)
    typer.echo(_where(debate, folder), err=True)


async def _made(id_: str, model: str | None) -> "tuple[Debate, dict[str, Any], str]":
    from moot.cli.target import where
    from moot.core.status import FINAL

    async with where() as service:
        debate = await service.get(id_)
        ended = debate.status in FINAL
        made = await (service.remake_report(id_, model) if ended else service.report(id_))
        return debate, made, service.folder(id_)


def _where(debate: "Debate", folder: str) -> str:
    from moot.core.status import FINAL

    if debate.status not in FINAL:
        return f"It is {debate.status}: this is its report so far, by extraction, and not filed."
    if "://" in folder:
        return f"Made at {folder}/report."
    return f"Written to {folder}: report.json, report.md, report.html."
