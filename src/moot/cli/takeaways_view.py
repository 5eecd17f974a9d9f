"""What a debate comes to, on a terminal: the first sections of its report."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from moot.cli.verdict_view import warn
from moot.core.clean import visible
from moot.core.debate import Debate
from moot.core.status import FINAL
from moot.ports.entry_point import Moot
from moot.render.takeaways_text import Line, origin, sections

PATIENCE = 120  # looks at a report that a model is writing elsewhere
LOOK_SECONDS = 1.0
Tell = Callable[[str], None]


async def ended(
    moot: Moot, debate: Debate, tell: Tell = lambda _: None
) -> tuple[Debate, dict[str, Any] | None]:
    """The debate with its report, once that is written, and with what that took."""
    report = await report_of(moot, debate, tell=tell)
    return (await moot.get(debate.id) if report else debate), report


async def report_of(
    moot: Moot, debate: Debate, patience: int = PATIENCE, tell: Tell = lambda _: None
) -> dict[str, Any] | None:
    """The report of a debate that has ended, once whoever writes it is done. If that takes a
    moment, a person is told what they wait for."""
    if debate.status not in FINAL or not debate.turn_count:
        return None
    reading = asyncio.create_task(_written(moot, debate.id, patience))
    try:
        ready, _ = await asyncio.wait({reading}, timeout=LOOK_SECONDS)
        if not ready:
            tell("The debate is over. A model is writing what it comes to …")
        return await reading
    finally:
        reading.cancel()


async def _written(moot: Moot, debate_id: str, patience: int) -> dict[str, Any]:
    made = await moot.report(debate_id)
    for _ in range(patience):
        if not made.get("pending"):
            break
        await asyncio.sleep(LOOK_SECONDS)
        made = await moot.report(debate_id)
    return made


def show(console: Console, report: Mapping[str, Any]) -> None:
    """Print it. Nothing in it can do anything to a terminal."""
    if not (found := sections(report)):
        return
    console.print()
    if not report.get("verdict"):
        warn(console, report.get("caution"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for section in found:
        lines = [*map(_line, section.lines)] or [Text(section.nothing)]
        for place, line in enumerate(lines):
            grid.add_row(section.title if place == 0 else "", line)
    if report["method"] == "model":
        grid.add_row("Summary", Text(_flat(report["summary"]["text"])))
    console.print(grid)
    console.print(Text(_flat(origin(report)), style="dim"))
    console.print()


def _line(line: Line) -> Text:
    side = f" ({line.side})" if line.side else ""
    who = f"{_flat(line.who)}{side}: " if line.who else ""
    cited = "".join(f" [turn:{turn}]" for turn in line.turns)
    return Text.assemble((who, "bold"), _flat(line.text), (cited, "dim"))


def _flat(text: str) -> str:
    return " ".join(visible(text).split())
