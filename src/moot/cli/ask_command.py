"""`moot ask`: a question about a debate that has ended, and the questions that were asked."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.ask import Id, Json, ask, print_json
from moot.cli.hints import hint

if TYPE_CHECKING:
    from moot.core.followups import Followup
    from moot.ports.entry_point import Moot


def register(app: typer.Typer) -> None:
    app.command("ask")(ask_)


def ask_(
    id_: Id,
    question: Annotated[
        str | None, typer.Argument(help="What to ask; without it, what was asked so far.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Who answers; default one of the debate's own models."),
    ] = None,
    json: Json = False,
) -> None:
    """Ask about a debate that has ended.

    The answer cites the transcript and the sources, and is kept beside the debate.
    """
    from moot.wire import codec

    if question is None:
        asked = ask(lambda moot: moot.followups(id_))
        if json:
            print_json([codec.followup(one) for one in asked])
            return
        if not asked:
            hint('Nothing was asked yet.  moot ask ID "…"  asks.')
        for one in asked:
            typer.echo(f"{one.number}. {one.question}\n")
            _tell(one, one.answer)
        return
    shown = sys.stdout.isatty() and not json

    def say(piece: str) -> None:
        if shown:
            typer.echo(piece, nl=False, err=True)

    async def answered(moot: "Moot") -> "Followup":
        return await moot.ask(id_, question, model=model, say=say)

    try:
        answer = ask(answered)
    except asyncio.CancelledError:
        raise typer.Exit(130) from None
    if json:
        print_json(codec.followup(answer))
    else:
        if shown:
            typer.echo("\n", err=True)
        _tell(answer, answer.answer)
    if answer.status == "failed":
        raise typer.Exit(1)


def _tell(one: "Followup", text: str) -> None:
    from moot.render.cost import briefly

    if one.status == "failed":
        typer.echo(f"There is no answer: {one.error}", err=True)
        return
    if one.status == "asking":
        typer.echo("It is being answered.", err=True)
        return
    typer.echo(f"{text}\n")
    cost = briefly(one.usage.cost_usd, (one.model,) if one.unpriced else (), local=one.local)
    cited = f"{one.verified} citation{'s' * (one.verified != 1)} checked"
    wrong = f", {one.failed} could not be verified" if one.failed else ""
    typer.echo(f"{one.model}, {cost}; {cited}{wrong}.", err=True)
