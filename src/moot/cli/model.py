"""`moot model`: the models that run on this machine itself, with no key and no server."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.ask import Json, print_json
from moot.cli.hints import hint
from moot.errors import InputError, MootError, NotFoundError
from moot.extras import install

if TYPE_CHECKING:
    from moot.models.local.catalog import Entry
    from moot.models.local.weights import Model, Shelf
    from moot.settings import Settings

models = typer.Typer(no_args_is_help=True, help="Models that run on this machine itself.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="As `moot model list` shows it.")]


def register(app: typer.Typer) -> None:
    app.add_typer(models, name="model")


@models.command("list")
def list_(json: Json = False) -> None:
    """List what can be fetched, what is here, and which one is in use."""
    from moot.cli.model_work import rows

    shelf, _ = _open("list")
    found = rows(shelf)
    if json:
        print_json(found)
        return
    widths = [max(len(row[key]) for row in found) for key in ("name", "state")]
    for row in found:
        parts = (row["name"].ljust(widths[0]), row["state"].ljust(widths[1]), _size(row["size"]),
                 row["quantisation"], row["licence"])  # fmt: skip
        typer.echo("  ".join(part for part in parts if part))
        if row["goodFor"]:
            typer.echo(f"  {row['goodFor']}")
    wanted = shelf.wanted()
    if wanted and wanted != "none" and shelf.chosen() is None:
        hint(f"In use is {wanted}, which is gone or is not a GGUF. Choose another:  "
                   "moot model use NAME", err=True)  # fmt: skip


@models.command()
def fetch(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Default: one that suits this machine.")
    ] = None,
    if_needed: Annotated[
        bool,
        typer.Option(
            "--if-needed",
            help="Only if nothing else would speak, and never fail: for `make run`.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Download a model, check it, and put it in use if none is. Continues a broken download."""
    if if_needed:
        model = _fetch_if_needed(name)
    else:
        shelf, settings = _open("fetch")
        model = _fetch(_entry(name), shelf, settings)
    if model:
        _tell_fetched(model, _open("fetch")[0], json)
    elif json:
        print_json(None)


@models.command()
def remove(name: Name, json: Json = False) -> None:
    """Delete a model, and what a broken download left of it."""
    shelf, _ = _open("remove")
    if not shelf.remove(name):
        raise NotFoundError(f"There is no model {name!r} here; `moot model list` shows them.",
                            "model")  # fmt: skip
    if json:
        print_json({"deleted": name})
    else:
        typer.echo(f"{name} is gone.")


@models.command()
def use(
    which: Annotated[
        str,
        typer.Argument(metavar="NAME|PATH|none", help="One that is here, any GGUF file, or none."),
    ],
    json: Json = False,
) -> None:
    """Choose what `local` means if no server is found."""
    shelf, _ = _open("use")
    model = shelf.use(which)
    if json:
        print_json(_told(model) if model else None)
    elif model is None:
        typer.echo("No model of this machine is used; without a server, the understudy speaks.")
    else:
        typer.echo(f"{model.name} is in use ({model.path}).")
        _hint()


def _open(command: str) -> "tuple[Shelf, Settings]":
    from moot.cli.target import at_home
    from moot.models.local.weights import Shelf

    settings = at_home(f"model {command}")
    return Shelf(settings.home), settings


def _entry(name: str | None) -> "Entry":
    from moot.models.local.catalog import catalog, entry, machine, suits

    if name is not None:
        return entry(name)
    found = suits(*machine())
    if found is None:
        names = ", ".join(one.name for one in catalog())
        raise InputError(f"This machine is too small for any of them; name one: {names}.", "model")
    return found


def _fetch_if_needed(name: str | None) -> "Model | None":
    """The model, if somebody has to speak and it can be had; else it is said why not."""
    from moot.bootstrap import load_settings
    from moot.cli.model_work import Needless, needed

    if load_settings().url:
        return None  # who speaks there is that server's affair
    shelf, settings = _open("fetch")
    try:
        return _fetch(needed(settings, shelf, name), shelf, settings)
    except Needless as reason:
        if str(reason):
            typer.echo(f"moot: {reason}", err=True)
    except MootError as error:
        typer.echo(f"moot: {error.message}\nThe understudy speaks instead.", err=True)
    return None


def _fetch(entry: "Entry", shelf: "Shelf", settings: "Settings") -> "Model":
    from moot.bootstrap import places
    from moot.cli.model_work import shown
    from moot.models.local.fetch import fetch as get
    from moot.models.local.weights import NONE

    try:
        with shown(entry.name, entry.size) as told:
            model = get(entry, shelf, places(settings), told)
    except KeyboardInterrupt:
        typer.echo(f"moot: called off; `moot model fetch {entry.name}` goes on.", err=True)
        raise
    if shelf.chosen() is None and shelf.wanted() != NONE:  # none was, or it is gone
        shelf.use(model.name)
    return model


def _tell_fetched(model: "Model", shelf: "Shelf", json: bool) -> None:
    chosen = shelf.chosen()
    if json:
        print_json(_told(model) | {"inUse": chosen == model})
        return
    if chosen == model:
        typer.echo(f"{model.name} is here and in use.")
    else:
        typer.echo(f"{model.name} is here. Put it in use:  moot model use {model.name}")
    _hint()


def _hint() -> None:
    if find_spec("xllamacpp") is None:
        typer.echo(f"To run it, moot needs llama.cpp. {install('llama')}", err=True)


def _told(model: "Model") -> dict[str, Any]:
    return {"name": model.name, "path": str(model.path), "context": model.context}


def _size(count: int) -> str:
    return f"{count / 1e6:,.0f} MB".rjust(9)
