"""What the commands for agents and stations share: one question, one answer, a file in or out."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from moot.errors import InputError

if TYPE_CHECKING:
    from moot.ports import Moot
    from moot.stations.station import Brought

T = TypeVar("T")
File = Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file; - is standard input.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="A file, in place of standard output.")
]


def ask(question: "Callable[[Moot], Awaitable[T]]") -> T:
    """Put a question to the home, or to the server that MOOT_URL names."""

    async def answer() -> T:
        from moot.cli.target import where

        async with where() as service:
            return await question(service)

    return asyncio.run(answer())


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was said."""
    return {name: value for name, value in fields.items() if value is not None}


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))


def read(file: Path) -> str:
    """A file's text; that of standard input for `-`."""
    said = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    try:
        return said.decode()
    except UnicodeDecodeError:
        raise InputError(f"{file} is no text in UTF-8.", "file") from None


def write(text: str, output: Path | None, json: bool) -> None:
    """TOML to a file, or to standard output."""
    if output is not None:
        output.write_bytes(text.encode())
        typer.echo(f"Written to {output}.", err=True)
    if json:
        print_json({"toml": text})
    elif output is None:
        typer.echo(text, nl=not text.endswith("\n"))


def tell_brought(brought: "Brought", json: bool) -> None:
    if json:
        print_json({"made": list(brought.made), "changed": list(brought.changed)})
        return
    for what, ids in (("Made", brought.made), ("Changed", brought.changed)):
        if ids:
            typer.echo(f"{what}: {', '.join(ids)}.")
    if not brought.made and not brought.changed:
        typer.echo("There was nothing in it.")


def tell_gone(what: str, id_: str, json: bool) -> None:
    if json:
        print_json({"deleted": id_})
    else:
        typer.echo(f"The {what} {id_} is gone; its debates stay readable.")


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], wide: str, *, whole: bool = False
) -> None:
    """Rows under their names; the wide column gets the room that is left: as much of it as fits on
    the line or, where it is wanted whole, on as many lines as it takes."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False)
    for name in columns:
        made.add_column(name, style="dim" if name == "id" else "", no_wrap=name != wide)
    for row in rows:
        made.add_row(
            *(
                Text(flat(cell), overflow="ellipsis", no_wrap=not (whole and name == wide))
                for name, cell in zip(columns, row, strict=True)
            )
        )
    Console(highlight=False).print(made)


def flat(text: str) -> str:
    """On one line."""
    return " ".join(text.split())
