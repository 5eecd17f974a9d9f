"""What `--dry-run` shows: the sources that would be sent, in tokens and money."""

import typer

from moot.cli.ask import counted, flat, table
from moot.core.course import Plan


def show_plan(plan: Plan) -> None:
    """The sources, what carrying them takes, and what the whole debate is likely to take."""
    if plan.sources:
        rows = [
            (one.id, flat(one.title), one.kind, f"{one.passages:,}", f"{one.tokens:,}")
            for one in plan.sources
        ]
        table(("source", "title", "kind", "passages", "tokens"), rows, "title")
        if plan.carrying:
            tokens = plan.carrying.input_tokens.likely
            cost = plan.carrying.cost_usd
            money = "at an unknown price" if cost is None else f"about ${cost.likely:.4f}"
            typer.echo(f"Carrying them takes about {tokens:,} tokens, {money}.")
    else:
        typer.echo("No sources.")
    whole = plan.estimate
    money = "price unknown"
    if whole.cost_usd is not None:
        low, likely, high = whole.cost_usd.low, whole.cost_usd.likely, whole.cost_usd.high
        money = f"about ${likely:.4f} (${low:.4f} to ${high:.4f})"
    asked, told = whole.input_tokens.likely, whole.output_tokens.likely
    typer.echo(
        f"The debate takes {counted(whole.calls, 'call')}, about {asked:,} tokens read and "
        f"{told:,} written: {money}. Nothing was sent."
    )
