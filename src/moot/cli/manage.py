"""The commands that look, and those that only say a word: list, show, export, stop, pause …"""

import asyncio
import json as jsonlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from moot.cli.run_commands import Id, Json
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.core.debate import Debate
    from moot.core.format import Format
    from moot.core.status import Status
    from moot.ports import FormatProblem, Moot, Search
    from moot.render.export import Kind

T = TypeVar("T")
database = typer.Typer(no_args_is_help=True, help="The database.")


def register(app: typer.Typer) -> None:
    app.command("list")(list_)
    for command in (show, export, stop, pause, formats, doctor, schema):
        app.command()(command)
    app.add_typer(database, name="db")


def list_(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")] = 20,
    status: Annotated[
        list[str] | None, typer.Option(help="Only those that are running, paused … Repeatable.")
    ] = None,
    format_: Annotated[str | None, typer.Option("--format", "-f", help="Only of this one.")] = None,
    query: Annotated[
        str, typer.Option("--query", "-q", help="Words of the motion, or of a speaker's name.")
    ] = "",
    json: Json = False,
) -> None:
    """The newest debates."""
    from moot.ports import Search

    on_air = "broadcasting" in (status or [])
    search = Search(_statuses(status or []), format_, query, limit=limit, broadcasting=on_air)
    rows = _ask(lambda service: _rows(service, search))
    if json:
        _print([row for row, _ in rows])
        return
    if not rows:
        chosen = status or format_ or query
        typer.echo(
            "No debate is like that."
            if chosen
            else 'No debate yet. Start one:  moot run "Should we …?"'
        )
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("id", "status", "turns", "format", "motion"):
        table.add_column(name, style="dim" if name == "id" else "", no_wrap=name != "motion")
    for row, left in rows:
        mark = " (left behind)" if left else " (degraded)" if row["degraded"] else ""
        table.add_row(
            row["id"],
            Text(row["status"] + mark, style=_STYLES.get(row["status"], "")),
            f"{row['progress']['done']}/{row['progress']['total']}",
            row["format"],
            Text(" ".join(row["motion"].split()), overflow="ellipsis", no_wrap=True),
        )
    console = Console()
    console.print(table)
    if any(left for _, left in rows):
        console.print("[dim]Nobody carries these on;  moot resume ID  does.[/dim]")


_STYLES = {"completed": "green", "running": "cyan", "paused": "yellow", "failed": "red"}


def _statuses(given: list[str]) -> "tuple[Status, ...]":
    from moot.core.status import STATUSES

    for name in given:
        if name not in (*STATUSES, "broadcasting"):
            known = ", ".join((*STATUSES, "broadcasting"))
            raise InputError(f"There is no status {name!r}; there are {known}.", "status")
    return tuple(status for status in STATUSES if status in given)


async def _rows(service: "Moot", search: "Search") -> list[tuple[dict[str, Any], bool]]:
    from moot.wire import codec

    keys = ("id", "motion", "format", "status", "stage", "round", "progress", "degraded",
            "created_at", "updated_at")  # fmt: skip
    return [
        ({key: codec.listed(debate)[key] for key in keys}, service.left_behind(debate))
        for debate in await _find(service, search)
    ]


async def _find(service: "Moot", search: "Search") -> "list[Debate]":
    """As many as are asked for: a page may hold fewer, and still have a next."""
    from dataclasses import replace

    debates: list[Debate] = []
    page = await service.find(search)
    debates += page.debates
    while page.next is not None and len(debates) < search.limit:
        left = search.limit - len(debates)
        page = await service.find(replace(search, limit=left, before=page.next))
        debates += page.debates
    return debates


def show(id_: Id, json: Json = False) -> None:
    """A debate as it stands: its transcript and its outcome."""

    from moot.cli.target import filed

    async def look(service: "Moot") -> tuple["Debate", list[Any], str, str]:
        turns = await service.turns(id_)
        return await service.get(id_), turns, service.folder(id_), filed(service, id_)

    debate, turns, folder, there = _ask(look)
    if json:
        from moot.wire import codec

        _print({**codec.debate(debate), "turns": [codec.turn(t) for t in turns], "folder": folder})
        return
    from moot.cli.screen import Screen
    from moot.core.events import TurnCommitted

    screen = Screen(debate)
    screen.head()
    for turn in turns:
        screen.show(TurnCommitted(debate.id, turn))
    screen.outcome(debate, there)


def export(
    id_: Id,
    as_: Annotated[str, typer.Option("--as", help="md, html or json.")] = "md",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file, in place of standard output.")
    ] = None,
) -> None:
    """A debate as one document to keep: Markdown, a page with plots, or all of it as JSON."""
    from moot.render.export import KINDS

    if as_ not in KINDS:
        raise InputError(f"--as {as_}: there are {', '.join(KINDS)}.", "as")
    text = asyncio.run(_exported(id_, as_))
    if output is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    output.write_bytes(text.encode("utf-8", "replace"))
    typer.echo(f"Written to {output}.", err=True)


async def _exported(id_: str, kind: "Kind") -> str:
    from moot.cli.target import where

    async with where() as service:
        return await service.export(id_, kind)


def stop(id_: Id, json: Json = False) -> None:
    """Stop a debate after the step in flight."""
    _say(lambda service: service.stop(id_), json)


def pause(id_: Id, json: Json = False) -> None:
    """Pause a debate after the step in flight."""
    _say(lambda service: service.pause(id_), json)


def formats(json: Json = False) -> None:
    """What kinds of debate there are, with their options."""
    from moot.bootstrap import load_settings
    from moot.cli.target import url

    folder = None if url() else load_settings().home / "formats"

    async def look(service: "Moot") -> "tuple[list[Format], list[FormatProblem]]":
        return await service.formats(), await service.format_problems()

    known, problems = _ask(look)
    for problem in problems:
        typer.echo(
            f"moot: {folder}/{problem.detail}" if folder else f"moot: {problem.detail}", err=True
        )
    if json:
        from moot.core.format import shown

        _print([shown(rules) for rules in known])
        return
    for rules in known:
        typer.echo(f"{rules.name}: {rules.description}")
        for name, option in rules.options.items():
            bounds = f"{option.min}..{option.max}, default {option.default}"
            typer.echo(f"    {name} ({bounds}): {option.help}")
    if folder:
        typer.echo(f"\nYour own go to {folder}, one TOML file each.")


def doctor(json: Json = False) -> None:
    """What works here, and what to set."""
    from moot.cli.doctor import examine

    findings = asyncio.run(examine())
    if json:
        _print([{"name": f.name, "ok": f.ok, "detail": f.detail} for f in findings])
    else:
        for finding in findings:
            mark = (
                typer.style("ok  ", fg="green") if finding.ok else typer.style("--  ", fg="yellow")
            )
            typer.echo(f"{mark}{finding.name:<12}{finding.detail}")
    if not all(finding.ok for finding in findings if finding.needed):
        raise typer.Exit(1)


def schema(
    what: Annotated[str, typer.Argument(help="packet or format")] = "packet",
) -> None:
    """The JSON Schema of a council's packet, or of a format file."""
    from moot.core.format import Format
    from moot.outcome import packet

    if what not in ("packet", "format"):
        raise InputError(f"There is no schema {what!r}; there are packet and format.", "schema")
    _print(packet.schema() if what == "packet" else Format.model_json_schema())


@database.command()
def upgrade() -> None:
    """Bring the database to this version's schema."""
    from moot.bootstrap import load_settings
    from moot.cli.target import at_home
    from moot.store import schema as migrations

    at_home("db upgrade")
    place = load_settings().database
    if isinstance(place, str):
        before, after = migrations.upgrade_at(place)
        said = f"was at schema {before}, and is" if before not in (None, after) else "is"
        typer.echo(f"The database {said} at schema {after}.")
        return
    migrations.prepare(place)
    typer.echo(f"{place} is at schema {migrations.HEAD}.")


def _say(verb: "Callable[[Moot], Awaitable[Debate]]", json: bool) -> None:
    debate = _ask(verb)
    if json:
        from moot.wire import codec

        _print(codec.debate(debate))
        return
    asked = f"; it will {debate.wanted} after the step in flight" if debate.wanted else ""
    typer.echo(f"{debate.id} is {debate.status}{asked}.")


def _ask(question: "Callable[[Moot], Awaitable[T]]") -> T:
    async def ask() -> T:
        from moot.cli.target import where

        async with where() as service:
            return await question(service)

    return asyncio.run(ask())


def _print(value: Any) -> None:
    typer.echo(jsonlib.dumps(value, ensure_ascii=False, indent=1))
