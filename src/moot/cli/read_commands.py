"""The commands that read: list, show, export, report, replay, records, formats, schema."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.ask import ID_HELP, Id, Json, Output, ask, filed_id, ids, print_json, write
from moot.cli.list_command import list_
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.core.debate import Debate, Turn
    from moot.core.format import Format
    from moot.ports.entry_point import Moot
    from moot.ports.inputs import FormatProblem

OFF = (
    "The council is switched off {} (MOOT_DISABLED_FORMATS), so its records are not shown; they "
    "are still on disk. To switch it on, remove council from MOOT_DISABLED_FORMATS and restart."
)


def register(app: typer.Typer) -> None:
    app.command("list")(list_)
    app.command("import")(import_)
    for command in (show, export, report, replay, records, formats, schema):
        app.command()(command)


def show(
    id_: Id,
    no_pager: Annotated[
        bool, typer.Option("--no-pager", help="Print it all at once, also on a terminal.")
    ] = False,
    json: Json = False,
) -> None:
    """Show a debate as it stands: its transcript and its outcome."""

    async def look(moot: "Moot") -> "tuple[Debate, list[Turn], str, str, dict[str, Any] | None]":
        from moot.cli.takeaways_view import report_of
        from moot.cli.target import filed

        debate, turns = await moot.get(id_), await moot.turns(id_)
        report = None if json else await report_of(moot, debate, patience=0)
        return debate, turns, moot.folder(id_), filed(moot, id_), report

    debate, turns, folder, there, report = ask(look)
    if json:
        from moot.outcome.result import verdict_of
        from moot.wire import codec

        told = {**codec.debate(debate), "turns": [codec.turn(turn) for turn in turns]}
        print_json({**told, "verdict": verdict_of(debate, turns), "folder": folder})
        return
    from rich.console import Console

    from moot.bootstrap import load_settings
    from moot.cli.pager import paged
    from moot.cli.screen import Screen

    console = Console(highlight=False, soft_wrap=False)
    screen = Screen(debate, console)
    with paged(console, "" if no_pager else load_settings().pager):
        screen.head()
        for _ in screen.read(turns):
            pass
        screen.outcome(debate, there, turns, report)


def export(
    id_: Id,
    as_: Annotated[str, typer.Option("--as", help="md, html, json or zip.")] = "md",
    output: Output = None,
) -> None:
    """Export a debate as Markdown, HTML, JSON or a zip.

    The HTML page has plots, the JSON has all of it, and the zip holds the whole folder, for
    `moot import`.
    """
    from moot.render.export import KINDS

    if as_ == "zip":
        data = ask(lambda moot: moot.export_folder(id_))
        place = output or Path(f"{id_}.zip")
        place.write_bytes(data)
        typer.echo(f"Written to {place}.", err=True)
        return
    if as_ not in KINDS:
        raise InputError(f"--as {as_}: there are {', '.join(KINDS)} and zip.", "as")
    write(ask(lambda moot: moot.export(id_, as_)), output)


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A zip that moot exported.")],
    json: Json = False,
) -> None:
    """Import a debate from the zip of its folder.

    It keeps its id. Everything in it is checked first, and replays as it did where it was made.
    """
    data = file.read_bytes()
    debate = ask(lambda moot: moot.import_folder(data))
    if json:
        from moot.wire import codec

        print_json(codec.debate(debate))
    else:
        typer.echo(f"{debate.id} is here: “{debate.title or debate.motion[:60]}”.")


def report(
    id_: Id,
    model: Annotated[
        str | None,
        typer.Option(help="Who writes it; default MOOT_REPORT_MODEL, or a model of the debate."),
    ] = None,
    json: Json = False,
) -> None:
    """Show the report of a debate.

    If the debate has ended, its report is made again; else this is the report so far.
    """

    async def made(moot: "Moot") -> tuple[dict[str, Any], str]:
        from moot.core.status import FINAL

        status, folder = (await moot.get(id_)).status, moot.folder(id_)
        if status not in FINAL:
            where = f"It is {status}: this is its report so far, by extraction, and not filed."
            return await moot.report(id_), where
        where = f"Written to {folder}: report.json, report.md, report.html."
        if "://" in folder:
            where = f"Made at {folder}/report."
        return await moot.remake_report(id_, model), where

    document, where = ask(made)
    if json:
        print_json(document)
    else:
        from moot.render.report_text import markdown

        typer.echo(markdown(document), nl=False)
    typer.echo(where, err=True)


def replay(
    id_: Annotated[
        str, typer.Argument(metavar="ID", autocompletion=ids, callback=filed_id, help=ID_HELP)
    ],
    json: Json = False,
) -> None:
    """Replay a debate from its files alone, and check the files."""
    from moot.cli.replay_view import replayed, tell

    whole = asyncio.run(replayed(id_))
    if json:
        print_json(whole)
    else:
        tell(whole)
    if whole["consistency"]["issues"]:
        raise typer.Exit(1)


def records(
    query: Annotated[str, typer.Argument(help="Only those that contain each of these words.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most records to list.")] = 50,
    json: Json = False,
) -> None:
    """List what councils wrote back, newest first."""

    async def look(moot: "Moot") -> tuple[list[dict[str, Any]], bool]:
        rows = await moot.records(query, limit)
        return rows, bool(rows) or "council" in {one.name for one in await moot.formats()}

    rows, on = ask(look)
    if not on:
        from moot.bootstrap import load_settings

        typer.echo(OFF.format("on that server" if load_settings().url else "here"), err=True)
    if json:
        print_json(rows)
        return
    if on and not rows:
        typer.echo("No records match." if query else "No records yet. A council writes one.")
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for row in rows:
        console.print(Text.assemble((row["title"], "bold"), (f"  {row['type']}", "dim")))
        console.print(Text(f"  {row['created_at'][:10]}  {row['path']}", style="dim"))


def formats(json: Json = False) -> None:
    """List the formats, with their options."""
    from moot.bootstrap import load_settings

    async def look(moot: "Moot") -> "tuple[list[Format], list[FormatProblem]]":
        return await moot.formats(), await moot.format_problems()

    settings = load_settings()
    folder = "" if settings.url else f"{settings.home / 'formats'}/"
    known, problems = ask(look)
    for problem in problems:
        typer.echo(f"moot: {folder}{problem.detail}", err=True)
    if json:
        from moot.core.format import shown

        print_json([shown(rules) for rules in known])
        return
    for rules in known:
        title = "" if rules.title.casefold() == rules.name else f"{rules.title}. "
        typer.echo(f"{rules.name}: {title}{rules.description}")
        for name, option in rules.options.items():
            bounds = f"{option.min}..{option.max}, default {option.default}"
            typer.echo(f"    {name} ({bounds}): {option.help}")
    if folder:
        typer.echo(f"\nYour own go to {folder}, one TOML file each.")


def schema(
    what: Annotated[str, typer.Argument(help="packet, verdict or format")] = "packet",
) -> None:
    """Print the JSON Schema of a packet, a verdict or a format file."""
    from moot.core.format import Format
    from moot.outcome import packet
    from moot.wire.codec import adapter
    from moot.wire.outcome_shapes import Verdict

    schemas: dict[str, Callable[[], dict[str, Any]]] = {
        "packet": packet.schema,
        "verdict": lambda: adapter(Verdict).json_schema(),
        "format": Format.model_json_schema,
    }
    if what not in schemas:
        known = " and ".join((", ".join(list(schemas)[:-1]), list(schemas)[-1]))
        raise InputError(f"There is no schema {what!r}; there are {known}.", "schema")
    print_json(schemas[what]())
