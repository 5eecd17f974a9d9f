"""Sources on the command line: the options of the commands that begin debates, what they ask for,
and `--dry-run`."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.ask import ask, print_json, said

if TYPE_CHECKING:
    from moot.core.course import Plan
    from moot.ports.entry_point import Moot

SourceGiven = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE|URL|FOLDER", help="A document to debate about. Repeatable."),
]
HideSources = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHO",
        help="judge or jury: decides by the speeches and verified quotes, without the sources.",
    ),
]
AllowSecrets = Annotated[
    bool, typer.Option("--allow-secrets", help="Send sources that hold what looks like a key.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="List what would be sent, and what it costs; call nobody.")
]


def sources_asked(
    given: list[str] | None, hidden: list[str] | None, allow_secrets: bool
) -> dict[str, Any]:
    """The documents, and who does not read them, as far as there are any."""
    from moot.core.seating import as_source

    return said(
        sources=[as_source(one) for one in given or []] or None,
        hide_sources_from=hidden or None,
        allow_secrets=allow_secrets or None,
    )


def show_asked(plan: "Callable[[Moot], Awaitable[Plan]]", json: bool) -> None:
    """What would be sent, and what it would take."""
    from moot.cli.source_view import show_plan
    from moot.wire import codec

    found = ask(plan)
    if json:
        print_json(codec.plain(found))
    else:
        show_plan(found)
