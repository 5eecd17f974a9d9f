"""`moot settings`: the models and limits of debates that name none."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.ask import Json, ask, print_json
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.core.preferences import Preferences
    from moot.ports.entry_point import Moot


def register(app: typer.Typer) -> None:
    app.command()(settings)


def settings(
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE",
            help="models=claude,openai or a limit, e.g. max_cost_usd=2; NAME= unsets it.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show or change the models and limits of debates that name none."""

    async def answer(moot: "Moot") -> "Preferences":
        found = await moot.preferences()
        return await moot.prefer(_changed(found, values)) if values else found

    found = ask(answer)
    if json:
        print_json({"models": list(found.models), "limits": dict(found.limits)})
        return
    typer.echo(f"models: {', '.join(found.models) or 'not set: moot takes the best available'}")
    for name, value in found.limits.items():
        typer.echo(f"{name}: {value:g}")


def _changed(found: "Preferences", values: Iterable[str]) -> dict[str, Any]:
    """The settings with what was given. What is wrong with a value is said where it is checked."""
    models: list[str] = list(found.models)
    limits: dict[str, Any] = dict(found.limits)
    for text in values:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(f"{text}: write it as NAME=VALUE, or NAME= to unset it.", name)
        if name == "models":
            models = [model.strip() for model in value.split(",") if model.strip()]
        else:
            limits[name] = _number(value) if value else None
    return {"models": models, "limits": limits}


def _number(text: str) -> float | int | str:
    """The number that a text is. What is none is left to the check, which does not repeat it."""
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
