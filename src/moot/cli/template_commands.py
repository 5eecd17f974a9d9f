"""`moot templates`: saved set-ups, for `moot run --template`."""

from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.ask import Id, Json, ask, print_json
from moot.cli.hints import hint

if TYPE_CHECKING:
    from moot.ports.entry_point import Moot

app = typer.Typer(
    help="Saved set-ups for `moot run --template`: list, save, delete.",
    invoke_without_command=True,
    no_args_is_help=False,
)


def register(main: typer.Typer) -> None:
    main.add_typer(app, name="templates")


Name = Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits, hyphens.")]


@app.callback()
def list_(context: typer.Context, json: Json = False) -> None:
    """List saved set-ups, for `moot run --template`."""
    if context.invoked_subcommand:
        return
    found = ask(lambda moot: moot.templates())
    if json:
        print_json([{"id": one.id, "asked": dict(one.asked)} for one in found])
        return
    if not found:
        hint("No templates yet.  moot templates save NAME ID  makes one of a debate.")
    for one in found:
        seats = [str(seat.get("name") or seat.get("role"))
                 for seat in one.asked.get("participants", ())]  # fmt: skip
        told = f": {', '.join(seats)}" if seats else ""
        typer.echo(f"{one.id}  {one.asked['format']}{told}")


@app.command()
def save(name: Name, id_: Id, json: Json = False) -> None:
    """Save the set-up of a debate: its format, seats, limits and jury."""
    from moot.core import templates

    async def kept(moot: "Moot") -> templates.Template:
        return await moot.keep_template(name, templates.of_debate(await moot.get(id_)))

    made = ask(kept)
    if json:
        print_json({"id": made.id, "asked": dict(made.asked)})
    else:
        typer.echo(f'Saved.  moot run "…" --template {made.id}  begins a debate with it.')


@app.command()
def delete(name: Name) -> None:
    """Delete a saved set-up."""
    ask(lambda moot: moot.delete_template(name))
    typer.echo(f"The template {name} is gone.")
