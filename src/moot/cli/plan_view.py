"""A plan on a terminal: what each model would take, and all of them together."""

from collections.abc import Callable
from typing import Any

import typer

from moot.cli.ask import counted
from moot.core.course import Plan
from moot.core.forecast import Amounts, Counts, Forecast, ModelForecast
from moot.render.cost import about, expected

_UNKNOWN = "unknown"


def show_plan(plan: Plan) -> None:
    """Low, likely and high: for each model, then for all of them, with the time that it takes."""
    whole = plan.estimate
    typer.echo(f"{counted(plan.total, 'turn')}, {counted(whole.calls, 'call')} if none fails.\n")
    _line("", "low", "likely", "high")
    if len(whole.models) > 1:
        for one in whole.models:
            seats = ", ".join(one.seats)
            typer.echo(f"{one.model} ({seats}; {counted(one.calls, 'call')})")
            _amounts(one)
        typer.echo("All together")
    elif whole.models:
        typer.echo(f"{whole.models[0].model} (every seat)")
    _amounts(whole)
    if plan.carrying:
        _spans("of them sources", plan.carrying.input_tokens, _number)
    _spans("time", whole.seconds, _clock)
    typer.echo(
        f"\nCost: {expected(whole)}." if whole.models else "\nCost: nothing; no model speaks."
    )


def _amounts(of: Forecast | ModelForecast) -> None:
    _spans("tokens read", of.input_tokens, _number)
    _spans("tokens written", of.output_tokens, _number)
    _spans("cost", of.cost_usd, about)


def _spans(name: str, span: Counts | Amounts | None, show: Callable[[Any], str]) -> None:
    cells = [_UNKNOWN] * 3 if span is None else map(show, (span.low, span.likely, span.high))
    _line(f"  {name}", *cells)


def _line(name: str, *cells: str) -> None:
    typer.echo(name.ljust(18) + "".join(cell.rjust(14) for cell in cells))


def _number(value: int) -> str:
    return f"{value:,}"


def _clock(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
