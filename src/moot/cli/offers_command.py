"""`moot models`: what each provider offers, with prices, windows and abilities."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.ask import Json, ask, print_json

if TYPE_CHECKING:
    from moot.ports import Offer, Offers


def register(app: typer.Typer) -> None:
    app.command()(models)


def models(
    provider: Annotated[
        str | None,
        typer.Argument(metavar="PROVIDER", help="One of all; without it, those set up here."),
    ] = None,
    json: Json = False,
) -> None:
    """List the models that providers offer, with prices and abilities."""
    found = ask(lambda moot: moot.offers(provider))
    if json:
        print_json([asdict(one) for one in found])
        return
    for place, one in enumerate(found):
        typer.echo("", nl=place > 0)
        _show(one)


def _show(one: "Offers") -> None:
    typer.secho(one.label, bold=True)
    if one.detail:
        typer.secho(f"  {one.detail}", fg="yellow")
    if not one.models:
        typer.echo("  No model is known.")
        return
    width = max(len(model.model) for model in one.models)
    for model in one.models:
        typer.echo(f"  {model.model:<{width}}  {_price(model):>15}  {_rest(model)}".rstrip())


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
