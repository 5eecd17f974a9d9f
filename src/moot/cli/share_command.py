"""`moot share`: links by which others read a debate, or speak for one seat of it."""

from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.ask import Id, Json, ask, counted, print_json, table
from moot.cli.hints import hint
from moot.errors import InputError

if TYPE_CHECKING:
    from moot.core.link import Link


def register(app: typer.Typer) -> None:
    app.command()(share)


def share(
    id_: Id,
    seat: Annotated[
        str | None,
        typer.Option(metavar="SEAT", help="The id of a human seat that the guest speaks for."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Show the links that there are.")] = False,
    revoke: Annotated[
        str | None, typer.Option(metavar="LINK", help="End the link with this id; `all`: each.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a link by which somebody else reads a debate.

    Whoever has the link reads this debate and, with --seat, speaks for that seat; nothing else.
    Without MOOT_URL, the link is to `moot serve` on this home.
    """
    if sum((seat is not None, list_, revoke is not None)) > 1:
        raise InputError("Give one of --seat, --list and --revoke.", "share")
    if list_:
        _show(ask(lambda moot: moot.links.of(id_)), json)
    elif revoke is not None:
        _revoke(id_, revoke, json)
    else:
        _make(id_, seat, json)


def _make(id_: str, seat: str | None, json: bool) -> None:
    from moot.bootstrap import load_settings

    link, token = ask(lambda moot: moot.links.make(id_, seat=seat))
    settings = load_settings()
    base = settings.url or f"http://{settings.host}:{settings.port}"
    url = f"{base.rstrip('/')}/guest/{id_}#{token}"
    if json:
        print_json({**_plain(link), "url": url})
        return
    typer.echo(url)
    what = f"reads this debate and speaks for {seat}" if seat else "reads this debate"
    hint(
        f"Whoever has this link {what}. It is shown once; `moot share {id_} --revoke {link.id}` "
        "ends it.",
        err=True,
    )


def _revoke(id_: str, link: str, json: bool) -> None:
    gone = [one.id for one in ask(lambda moot: moot.links.of(id_))] if link == "all" else [link]
    for one in gone:
        ask(lambda moot, one=one: moot.links.revoke(id_, one))
    if json:
        print_json({"revoked": gone})
    else:
        typer.echo(f"Revoked {counted(len(gone), 'link')}.")


def _show(links: "list[Link]", json: bool) -> None:
    if json:
        print_json([_plain(one) for one in links])
    elif not links:
        typer.echo("This debate has no links.")
    else:
        rows = [(one.id, one.seat or "read-only", one.created_at) for one in links]
        table(("id", "speaks for", "made"), rows, "made")


def _plain(link: "Link") -> dict[str, str | None]:
    from moot.wire import codec

    return codec.plain(link)
