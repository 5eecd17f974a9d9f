"""A verdict on a terminal: the outcome first, what it rests on, then the options and the jurors."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from moot.core.clean import visible
from moot.core.debate import Debate, Turn
from moot.core.prices import known
from moot.outcome.result import verdict_of
from moot.outcome.verdict import usage_of
from moot.render.verdict_text import Part, Told, tell, voices

STYLES = {
    "decided": "bold green",
    "contested": "bold yellow",
    "deadlock": "bold yellow",
    "needs_facts": "bold yellow",
    "no_verdict": "bold red",
}


def show(console: Console, debate: Debate, turns: Sequence[Turn]) -> bool:
    """Print the verdict of a debate, if it has one. Nothing in it can do anything to a terminal."""
    found = verdict_of(debate, turns)
    if found is None:
        return False
    console.print()
    whole = {**found, "usage": usage_of(debate.spent, known(debate))}
    print_told(console, tell(whole if debate.writing else found, voices(debate, turns)))
    console.print()
    return True


def print_told(console: Console, told: Told) -> None:
    style = STYLES.get(told.kind, "bold")
    warn(console, told.caution)
    head = Text(told.name, style=style)
    if told.option:
        head = Text.assemble(head, (f": {_flat(told.option)}", "bold"))
    console.print(head)
    console.print(Text(told.sentence))
    console.print()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for part in told.parts:
        for place, line in enumerate(part.lines):
            title = part.title if place == 0 else ""
            grid.add_row(title, Text(_flat(line), style="yellow" if part.warns else ""))
    console.print(grid)
    for part in told.tables:
        console.print()
        _table(console, part)


def warn(console: Console, caution: str | None) -> None:
    """What stands above all that small models came to."""
    if caution:
        console.print(Text(f"⚠ {_flat(caution)}", style="bold yellow"))


def _table(console: Console, part: Part) -> None:
    head, *rows = part.rows
    console.print(Text(part.title, style="bold"))
    made = Table(box=None, pad_edge=False)
    for name in head:
        made.add_column(name, overflow="fold", header_style="dim")
    for row in rows:
        made.add_row(*(Text(_flat(cell)) for cell in row))
    console.print(made)
    for line in part.lines:
        console.print(Text(_flat(line), style="dim"))


def _flat(text: str) -> str:
    return " ".join(visible(text).split())
