"""`moot models`: what each provider offers, with prices, windows and abilities."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.ask import Json, ask, print_json
from moot.cli.hints import typed
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.ports.available_models import Offer, Offers
    from moot.ports.entry_point import Moot

MOST = 20
"""Models of each provider that are listed, unless more are asked for."""


def register(app: typer.Typer) -> None:
    app.command()(models)


def models(
    provider: Annotated[
        str | None,
        typer.Argument(metavar="PROVIDER", help="One of all; without it, those set up here."),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Only models whose names have all of these words."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            help=f"The most models of each provider; 0 lists all. {MOST} unless given, and all in "
            "JSON.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the models that providers offer, with prices and abilities."""
    found = ask(lambda moot: _found(moot, provider, words or []))
    if json:
        print_json([asdict(replace(one, models=one.models[: limit or None])) for one in found])
        return
    for place, one in enumerate(found):
        typer.echo("", nl=place > 0)
        _show(one, MOST if limit is None else limit)


async def _found(moot: "Moot", provider: str | None, words: Sequence[str]) -> "list[Offers]":
    """What is offered. What is not the name of a provider is a word of a model's name."""
    try:
        found = await moot.offers(provider)
    except InputError:
        words = [str(provider), *words]
        found = [one for one in _named(await moot.offers(None), words) if one.models]
        if not found:
            raise
        return found
    return _named(found, words)


def _named(found: "Sequence[Offers]", words: Sequence[str]) -> "list[Offers]":
    """Those models alone whose names have all of the words."""
    asked = [word.casefold() for word in words]

    def fits(one: "Offer") -> bool:
        return all(word in one.model.casefold() for word in asked)

    return [replace(one, models=tuple(filter(fits, one.models))) for one in found]


def _show(one: "Offers", limit: int) -> None:
    typer.secho(one.label, bold=True)
    if one.detail:
        typer.secho(f"  {one.detail}", fg="yellow")
    if not one.models:
        typer.echo("  No such model is known.")
        return
    shown = one.models[: limit or None]
    width = max(len(model.model) for model in shown)
    for model in shown:
        typer.echo(f"  {model.model:<{width}}  {_price(model):>15}  {_rest(model)}".rstrip())
    if more := len(one.models) - len(shown):
        ways = f"moot models {one.provider} WORD searches, --limit 0 lists all"
        typer.secho(typed(f"  … and {more:,} more: {ways}."), dim=True)


def _price(model: "Offer") -> str:
    """USD per million tokens, in and out."""
    if model.input_price is None or model.output_price is None:
        return "price unknown"
    if not model.input_price and not model.output_price:
        return "free"
    return f"${model.input_price:g} / ${model.output_price:g}"


def _rest(model: "Offer") -> str:
    window = f"{model.window // 1000:>5,}k" if model.window else "     ?"
    able = {"structured": model.structured, "thinking": model.thinking, "caching": model.caching}
    return f"{window}  {', '.join(name for name, can in able.items() if can)}"
