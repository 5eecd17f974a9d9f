"""What the commands share: their options, a question to a moot, and what they print."""

import asyncio
import inspect
import json as jsonlib
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from moot.errors import InputError

if TYPE_CHECKING:
    from moot.ports.entry_point import Moot

T = TypeVar("T")


def ids() -> list[str]:
    """For the shell's completion: the debates whose files are here."""
    from moot.bootstrap import load_settings

    settings = load_settings()
    folder = settings.home / "records" / "debates"
    ids = [] if settings.url else [path.name for path in folder.glob("debate_*")]
    return sorted(ids, reverse=True)


def format_names() -> list[str]:
    """For the shell's completion."""
    from moot.bootstrap import load_settings
    from moot.store.formats import FormatFiles

    return FormatFiles(load_settings().home).names()


def whole_id(context: typer.Context, given: str | None) -> str | None:
    """The id that was given, or that a part of it or `last` stands for."""
    from moot.core.ids import is_id

    if given is None or context.resilient_parsing or is_id(given):
        return given
    return ask(lambda moot: moot.resolve(given))


def filed_id(context: typer.Context, given: str) -> str:
    """The same, for what needs no database: the files say which debates there are."""
    from moot.bootstrap import load_settings
    from moot.core.ids import LAST, check_part, is_id, meant

    if context.resilient_parsing or is_id(given) or load_settings().url:
        return whole_id(context, given) or given
    return meant(given if given == LAST else check_part(given), dict.fromkeys(ids(), ""))


def whole_ids(context: typer.Context, given: list[str]) -> list[str]:
    """The same for several."""
    return [whole_id(context, one) or one for one in given]


ID_HELP = "Its id, the last six characters or the beginning of it, or `last`."
Id = Annotated[
    str, typer.Argument(metavar="ID", autocompletion=ids, callback=whole_id, help=ID_HELP)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to a file, not to standard output.")
]
OptionValues = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=NUMBER", help="Another option of the format."),
]


def takes(fields: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every field of a dataclass as an option. It gets them as `fields`."""
    options = inspect.signature(fields, eval_str=True).parameters

    def given(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**values: Any) -> None:
            chosen = fields(**{name: values.pop(name) for name in options})
            command(fields=chosen, **values)

        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(command, eval_str=True).parameters.values():
            parameters += options.values() if own.name == "fields" else [own]
        by_name = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        run.__dict__["__signature__"] = inspect.Signature(by_name)
        return run

    return given


def said(**fields: Any) -> dict[str, Any]:
    """The fields that were given."""
    return {name: value for name, value in fields.items() if value is not None}


def read_options(rounds: int | None, given: Iterable[str]) -> dict[str, Any]:
    """The options of a format."""
    options: dict[str, Any] = said(rounds=rounds)
    for text in given:
        name, _, value = text.partition("=")
        if not value.lstrip("-").isdigit():
            raise InputError(f"--option {text}: write it as NAME=NUMBER.", "options")
        options[name.strip()] = int(value)
    return options


def ask(question: "Callable[[Moot], Awaitable[T]]") -> T:
    """Put a question to the home, or to the server that MOOT_URL names."""

    async def answer() -> T:
        from moot.cli.target import where

        async with where() as moot:
            return await question(moot)

    return asyncio.run(answer())


def print_json(value: Any) -> None:
    typer.echo(jsonlib.dumps(value, ensure_ascii=False, indent=1))


def report(
    made: dict[str, Any],
    json: bool,
    show: Callable[[dict[str, Any]], None],
    page: Path | None,
    html: Callable[[dict[str, Any]], str],
) -> None:
    """Show what was found out, as JSON or for people, and write the page that was asked for."""
    if page is not None:
        page.write_text(html(made), "utf-8", "replace")
        typer.echo(f"Written to {page}.", err=True)
    if json:
        print_json(made)
    else:
        show(made)


def write(text: str, output: Path | None) -> None:
    """A document to a file, or to standard output."""
    if output is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    output.write_bytes(text.encode("utf-8", "replace"))
    typer.echo(f"Written to {output}.", err=True)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str | tuple[str, str]]],
    wide: str,
    *,
    whole: bool = False,
) -> None:
    """Rows under their names; a cell is its text, or its text and style. The wide column gets the
    room that is left: as much of it as fits on the line, or all of it if it is wanted `whole`."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False)
    for name in columns:
        made.add_column(name, style="dim" if name == "id" else "", no_wrap=name != wide)
    for row in rows:
        cells: list[Text] = []
        for name, cell in zip(columns, row, strict=True):
            text, style = cell if isinstance(cell, tuple) else (cell, "")
            on_one_line = not (whole and name == wide)
            cells.append(Text(flat(text), style, overflow="ellipsis", no_wrap=on_one_line))
        made.add_row(*cells)
    Console(highlight=False).print(made)


def counted(number: int, noun: str) -> str:
    """So many of them: "1 turn", "6 turns"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def flat(text: str) -> str:
    """On one line."""
    return " ".join(text.split())


# --- files of agents and stations ---


def add_file_commands(app: typer.Typer, nouns: str) -> None:
    """`import` and `export`, which agents and stations have alike."""

    @app.command("import", help=f"Import {nouns} from a TOML file, all or none. Existing ids are "
                 "changed.")  # fmt: skip
    def import_(
        file: Annotated[Path, typer.Argument(metavar="FILE", help="- is standard input.")],
        json: Json = False,
    ) -> None:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise InputError(f"{file} is not text in UTF-8.", "file") from None
        brought = ask(lambda moot: getattr(moot, nouns).bring(text))
        if json:
            print_json({"made": list(brought.made), "changed": list(brought.changed)})
            return
        for what, ids in (("Made", brought.made), ("Changed", brought.changed)):
            if ids:
                typer.echo(f"{what}: {', '.join(ids)}.")
        if not brought.made and not brought.changed:
            typer.echo("There was nothing in it.")

    @app.command(help=f"Export {nouns} as a TOML file, for `moot {nouns} import`.")
    def export(
        ids: Annotated[
            list[str] | None, typer.Argument(metavar="ID", help="Only these; default all.")
        ] = None,
        output: Output = None,
        json: Json = False,
    ) -> None:
        text = ask(lambda moot: getattr(moot, nouns).take(ids or []))
        if output or not json:
            write(text, output)
        if json:
            print_json({"toml": text})


def tell_gone(noun: str, id_: str, json: bool) -> None:
    if json:
        print_json({"deleted": id_})
    else:
        typer.echo(f"The {noun} {id_} is gone. Its debates stay readable.")
