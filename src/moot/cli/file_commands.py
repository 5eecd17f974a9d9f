"""The commands that go by the files: replay, reindex, records."""

import asyncio
import json as jsonlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.run_commands import Id, Json

if TYPE_CHECKING:
    from rich.console import Console

    from moot.core.debate import Debate, Turn
    from moot.store.reindex import Reindexed


OFF = (
    "The council is switched off {} (MOOT_DISABLED_FORMATS), so its records are not shown; they "
    "are still on disk. To switch it on, take council out of MOOT_DISABLED_FORMATS and restart."
)


def register(app: typer.Typer) -> None:
    for command in (replay, reindex, records):
        app.command()(command)


def replay(id_: Id, json: Json = False) -> None:
    """A debate from its files alone, with its timing, and whether they are as they were written."""
    whole = asyncio.run(_replayed(id_))
    if json:
        _print(whole)
    else:
        _show(whole)
    if whole["consistency"]["issues"]:
        raise typer.Exit(1)


async def _replayed(id_: str) -> dict[str, Any]:
    """By the server; or here from the files, which need no database."""
    from moot.bootstrap import load_settings, replay
    from moot.cli.target import remote, url

    if not url():
        return replay(load_settings(), id_)
    async with remote() as elsewhere:
        return await elsewhere.replay(id_)


def _rebuilt(whole: dict[str, Any]) -> "tuple[Debate, list[Turn]] | None":
    """The debate that a replay tells of, unless its files are too damaged for that."""
    from moot.wire.codec import read_debate, read_turn

    try:
        told = whole["transcript"]
        turns = [read_turn(turn) for turn in told["turns"]]
        return read_debate(told["debate"], whole["request"]["rules"]), turns
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def reindex(
    from_files: Annotated[
        bool,
        typer.Option(
            "--from-files",
            help="Also bring rows up to files that go further: after an older copy of the "
            "database was restored.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Give the database the rows that it lacks, from the files."""
    from moot.cli.target import at_home

    at_home("reindex")
    done = asyncio.run(_reindex(from_files))
    if json:
        _print(
            {
                "found": done.found,
                "indexed": done.indexed,
                "brought_up": done.brought_up,
                "present": done.present,
                "skipped": [{"id": id_, "issues": said} for id_, said in done.skipped.items()],
            }
        )
    else:
        typer.echo(
            f"{done.found} debates on disk: {len(done.indexed)} indexed, "
            f"{len(done.brought_up)} brought up to their files, "
            f"{done.present} were there already, {len(done.skipped)} left out."
        )
        if done.indexed:
            typer.echo(
                "Agents, stations and their programmes are not in these files: "
                "`moot agents import` and `moot stations import` bring back what was exported."
            )
        for id_, said in done.skipped.items():
            typer.echo(f"{id_} was left out:")
            for issue in said:
                typer.echo(f"  {issue}")
    if done.skipped:
        raise typer.Exit(1)


def records(
    query: Annotated[str, typer.Argument(help="Only those that hold each of these words.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")] = 50,
    json: Json = False,
) -> None:
    """What councils wrote back, newest first."""
    rows, off = asyncio.run(_records(query, limit))
    if off:
        typer.echo(off, err=True)
    if json:
        _print(rows)
        return
    if off:
        return
    if not rows:
        typer.echo("No record holds that." if query else "No record yet. A council writes one.")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for row in rows:
        console.print(Text.assemble((row["title"], "bold"), (f"  {row['type']}", "dim")))
        console.print(Text(f"  {row['created_at'][:10]}  {row['path']}", style="dim"))


async def _reindex(from_files: bool) -> "Reindexed":
    from moot.bootstrap import load_settings
    from moot.store import schema
    from moot.store.reindex import reindex
    from moot.store.store import open_database

    settings = load_settings()
    schema.prepare(settings.database)
    database = open_database(settings.database, 1)
    try:
        return await reindex(database, settings.home, from_files=from_files)
    finally:
        database.close()


async def _records(query: str, limit: int) -> tuple[list[dict[str, Any]], str]:
    """The records; and why there are none, if the council is switched off."""
    from moot.bootstrap import load_settings
    from moot.cli.target import remote, where

    if load_settings().url:
        async with remote() as elsewhere:
            rows = await elsewhere.records(query, limit)
            known = {rules.name for rules in await elsewhere.formats()} if not rows else {"council"}
        return rows, "" if "council" in known else OFF.format("on that server")
    async with where() as service:
        rows = await service.records(query, limit)
    return rows, OFF.format("here") if "council" in load_settings().disabled_formats else ""


def _show(whole: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.text import Text

    from moot.core.clean import visible

    console = Console(highlight=False, soft_wrap=False)
    if told := _rebuilt(whole):
        _transcript(console, *told)
    if not whole["consistency"]["indexed"]:
        console.print(Text("The database does not have it;  moot reindex  adds it.", style="dim"))
    issues = whole["consistency"]["issues"]
    if not issues:
        console.print(Text("All files are as they were written.", style="green"))
        return
    console.print(Text(f"{len(issues)} finding{'s' if len(issues) > 1 else ''}:", style="bold red"))
    for issue in issues:
        console.print(Text(f"  {visible(issue)}", style="red"), soft_wrap=True)


def _transcript(console: "Console", debate: "Debate", turns: "list[Turn]") -> None:
    """What was said and when; without anything that a changed file could do to a terminal."""
    from dataclasses import replace

    from rich.rule import Rule
    from rich.text import Text

    from moot.cli.screen import REASONS, Screen
    from moot.core.clean import visible
    from moot.core.events import TurnCommitted

    seats = {seat.id: _clean(seat) for seat in debate.seats}
    plain = debate.but(
        motion=visible(debate.motion),
        participants=tuple(seats[seat.id] for seat in debate.participants),
        host=seats[debate.host.id] if debate.host else None,
        warnings=tuple(visible(list(debate.warnings))),
    )
    screen = Screen(plain, console)
    screen.head()
    begun = debate.started_at or debate.created_at
    for turn in turns:
        said = {name: visible(getattr(turn, name)) for name in ("text", "name", "stage", "model")}
        screen.show(TurnCommitted(debate.id, replace(turn, **said)))
        when, took = _between(begun, turn.started_at), _between(turn.started_at, turn.committed_at)
        console.print(Text(f"  +{when} s, took {took} s", style="dim"))
    console.print(Rule(style="dim"))
    reason = f": {REASONS[debate.stop_reason]}" if debate.stop_reason else ""
    degraded = ", degraded" if debate.degraded else ""
    lasted = f", {_between(begun, debate.ended_at)} s" if debate.ended_at else ""
    ending = f"{debate.status.capitalize()}{degraded}{reason}"
    console.print(Text.assemble((ending, "bold"), (f"  {len(turns)} turns{lasted}", "dim")))
    if debate.outcome:
        outcome = debate.outcome
        console.print(Text(f"Decided: {visible(outcome.selected_option)}", style="bold"))
        scores = f"consensus {outcome.consensus_score:.2f}"
        console.print(Text(f"  {scores}, confidence {outcome.confidence_score:.2f}", style="dim"))
    if debate.failure:
        console.print(Text(visible(debate.failure.message), style="red"))


def _clean(seat: Any) -> Any:
    from dataclasses import replace

    from moot.core.clean import visible

    said = {name: visible(getattr(seat, name)) for name in ("name", "role", "model")}
    return replace(seat, **said)


def _between(start: str, end: str) -> str:
    from moot.core.times import seconds

    try:
        return f"{seconds(end) - seconds(start):.1f}"
    except (ValueError, TypeError, OverflowError):
        return "?"  # a time that somebody changed


def _print(value: Any) -> None:
    typer.echo(jsonlib.dumps(value, ensure_ascii=False, indent=1))
