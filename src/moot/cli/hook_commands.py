"""`moot hooks`: who is told what became of debates, and how that went."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.ask import Json, print_json, table

if TYPE_CHECKING:
    from moot.ports.delivery_store import Delivery

hooks = typer.Typer(no_args_is_help=True, help="The webhooks that other programs are told by.")


def register(app: typer.Typer) -> None:
    app.add_typer(hooks, name="hooks")


@hooks.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="So many deliveries.")] = 20,
    json: Json = False,
) -> None:
    """List the hooks of hooks.toml, and the newest deliveries."""
    from moot.bootstrap import open_courier
    from moot.cli.target import at_home
    from moot.settings import webhook_key
    from moot.webhooks.receivers import load
    from moot.wire import codec

    settings = at_home("hooks")
    known = load(settings.home)

    async def read() -> "list[Delivery]":
        async with open_courier(settings) as (_, deliveries):
            return await deliveries.newest(limit)

    found = asyncio.run(read())
    if json:
        told = [one.model_dump(mode="json") for one in known]
        print_json({"hooks": told, "deliveries": [codec.plain(one) for one in found]})
        return
    if not known:
        typer.echo(f"No hooks: {settings.home / 'hooks.toml'} names none.")
    for one in known:
        missing = "" if webhook_key(one.secret_env) else f"  ({one.secret_env} is not set)"
        typer.echo(f"{one.name}  {one.url}  {', '.join(one.events)}{missing}")
    if found:
        typer.echo("")
        rows = [
            (one.id, one.hook, one.type, one.debate_id, one.state, str(one.tries), one.error or "")
            for one in found
        ]
        table(("id", "hook", "type", "debate", "state", "tries", "error"), rows, "error")


@hooks.command("test")
def send_test(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its entry in hooks.toml.")],
    json: Json = False,
) -> None:
    """Send a hook something harmless now."""
    from moot.bootstrap import open_courier
    from moot.cli.target import at_home

    settings = at_home("hooks")

    async def send() -> "Delivery":
        async with open_courier(settings) as (courier, _):
            return await courier.test(name)

    _tell(asyncio.run(send()), json)


@hooks.command()
def resend(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Of the delivery: msg_…")],
    json: Json = False,
) -> None:
    """Try a delivery again, whatever became of it."""
    from moot.bootstrap import open_courier
    from moot.cli.target import at_home

    settings = at_home("hooks")

    async def send() -> "Delivery":
        async with open_courier(settings) as (courier, _):
            return await courier.resend(id_)

    _tell(asyncio.run(send()), json)


def _tell(one: "Delivery", json: bool) -> None:
    from moot.wire import codec

    if json:
        print_json(codec.plain(one))
    elif one.state == "delivered":
        typer.echo(f"{one.id} was delivered to {one.hook}: {one.status}.")
    else:
        typer.echo(f"{one.id} was not delivered to {one.hook}. {one.error}")
    if one.state != "delivered":
        raise typer.Exit(1)
