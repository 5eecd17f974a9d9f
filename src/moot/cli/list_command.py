"""`moot list`: the newest debates, a line each: when, what came of it, what it cost."""

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.ask import Json, ask, flat, print_json
from moot.cli.hints import hint
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.core.debate import Debate, OutcomeKind, Usage
    from moot.core.status import Status
    from moot.ports.entry_point import Moot
    from moot.ports.finding import Line, Search

STYLES = {"completed": "green", "running": "cyan", "paused": "yellow", "failed": "red"}
LISTED = ("id", "motion", "title", "tags", "archived", "format", "status", "stage", "round",
          "progress", "degraded", "outcome", "result", "models", "usage", "writing", "spent",
          "unpriced", "local", "created_at", "updated_at")  # fmt: skip
START = 'No debates yet. Start one:  moot run "Should we …?"'
WIDE = 110  # columns of a terminal from which on the day is written out
Row = tuple["Debate", "Line", bool]
"""A debate, what is shown beside it, and whether it was left behind."""


def list_(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD",
            help="Words, or their beginnings: of the motion, of names, models and formats, and of "
            "what was said.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most debates to list.")] = 20,
    status: Annotated[
        list[str] | None,
        typer.Option(metavar="STATUS", help="Only those that are running, paused … Repeatable."),
    ] = None,
    format_: Annotated[str | None, typer.Option("--format", "-f", help="Only this format.")] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OUTCOME", help="Only those that were decided, contested … Repeatable."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Only those in which this model sits: claude, gpt-5 …")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Only those with this tag. Repeatable: all of them."),
    ] = None,
    archived: Annotated[
        bool, typer.Option("--archived", help="Only those that were put away.")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="Also those that were put away.")] = False,
    min_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Only those that cost so much.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Only those that cost no more.")
    ] = None,
    query: Annotated[str, typer.Option("--query", "-q", help="The same as WORD.")] = "",
    json: Json = False,
) -> None:
    """List the newest debates."""
    from moot.core import labels
    from moot.ports.finding import Search

    statuses, on_air = _statuses(status or [])
    search = Search(
        statuses, format_, " ".join([*(words or []), query]).strip(), limit=limit,
        broadcasting=on_air, outcomes=_outcomes(outcome or []), model=model or None,
        tags=labels.tags(tag or []), archived=True if archived else None if all_ else False,
        min_cost=min_cost, max_cost=max_cost,
    )  # fmt: skip
    found = ask(lambda moot: _found(moot, search))
    if json:
        print_json([_listed(debate, line) for debate, line, _ in found])
    elif found:
        _print(found)
    else:
        everything = search == Search(limit=limit, archived=None if all_ else False)
        hint(START if everything else "No debates match.")


def _listed(debate: "Debate", line: "Line") -> dict[str, object]:
    from moot.wire import codec

    row = codec.listed(debate, line.result, line.models, line.prices)
    return {key: row[key] for key in LISTED}


def _print(found: list[Row]) -> None:
    if sys.stdout.isatty():
        _table(found)
    else:
        for row in found:
            typer.echo("\t".join(_plain(*row)))
    if any(left for *_, left in found):
        hint("Nobody carries on those left behind;  moot resume ID  does.", err=True)


def _statuses(given: list[str]) -> "tuple[tuple[Status, ...], bool]":
    from moot.core.status import STATUSES

    known = (*STATUSES, "broadcasting")
    if unknown := [name for name in given if name not in known]:
        names = ", ".join(known)
        raise InputError(f"There is no status {unknown[0]!r}; there are {names}.", "status")
    return tuple(name for name in STATUSES if name in given), "broadcasting" in given


def _outcomes(given: list[str]) -> "tuple[OutcomeKind, ...]":
    """Both spellings of needs_facts are good: people type needs-facts."""
    from typing import get_args

    from moot.core.debate import OutcomeKind

    known: tuple[OutcomeKind, ...] = get_args(OutcomeKind)
    asked = [name.replace("-", "_") for name in given]
    if unknown := [name for name in asked if name not in known]:
        names = ", ".join(known)
        raise InputError(f"There is no outcome {unknown[0]!r}; there are {names}.", "outcome")
    return tuple(name for name in known if name in asked)


async def _found(moot: "Moot", search: "Search") -> list[Row]:
    """As many as are asked for: a page may hold fewer, and still have a next."""
    from dataclasses import replace

    page = await moot.find(search)
    pages, count = [page], len(page.debates)
    while page.next is not None and count < search.limit:
        page = await moot.find(replace(search, limit=search.limit - count, before=page.next))
        pages.append(page)
        count += len(page.debates)
    return [
        (debate, page.lines[debate.id], moot.left_behind(debate))
        for page in pages
        for debate in page.debates
    ]


def _plain(debate: "Debate", line: "Line", left: bool) -> list[str]:
    """For other programs: whole, and in a fixed order."""
    cells = (
        debate.created_at, debate.id, f"{debate.status}{_mark(debate, left)}", debate.format,
        line.result, _cost(debate.spent, line), debate.motion,
    )  # fmt: skip
    return [flat(cell) for cell in cells]


def _table(found: list[Row]) -> None:
    """For people: a line each, in the width of the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
    for name in ("date", "id", "status", "format"):
        made.add_column(name, no_wrap=True)
    made.add_column("motion", ratio=3, no_wrap=True)
    made.add_column("result", ratio=4, no_wrap=True)
    made.add_column("cost", no_wrap=True, justify="right")
    for debate, line, left in found:
        cells: list[tuple[str, str]] = [
            (_when(debate.created_at, console.width >= WIDE), "dim"),
            (debate.id[-6:], "dim"),
            (f"{debate.status}{_mark(debate, left)}", STYLES.get(debate.status, "")),
            (debate.format, ""),
            (_called(debate), ""),
            (line.result, "bold" if debate.outcome else ""),
            (_cost(debate.spent, line), "dim"),
        ]
        made.add_row(*(Text(flat(text), style, overflow="ellipsis") for text, style in cells))
    console.print(made)


def _called(debate: "Debate") -> str:
    tags = "".join(f" #{tag}" for tag in debate.tags)
    return f"{debate.title or debate.motion}{tags}"


def _when(at: str, wide: bool) -> str:
    """In the user's own time."""
    then = datetime.fromisoformat(at).astimezone()
    if wide:
        return then.strftime("%Y-%m-%d %H:%M")
    today = then.date() == datetime.now().astimezone().date()
    return then.strftime("%H:%M" if today else "%b %d" if _same_year(then) else "%b %Y")


def _same_year(then: datetime) -> bool:
    return then.year == datetime.now().astimezone().year


def _mark(debate: "Debate", left: bool) -> str:
    return " (left behind)" if left else " (degraded)" if debate.degraded else ""


def _cost(usage: "Usage", line: "Line") -> str:
    from moot.render.cost import briefly

    if not usage.calls:
        return ""
    about = "~" if usage.estimated and usage.cost_usd else ""
    return about + briefly(usage.cost_usd, line.prices.unpriced, local=line.prices.local)
