"""A verdict as Markdown, for the report, the packet and the record."""

from collections.abc import Sequence
from typing import Any

from moot.core.clean import escape, visible
from moot.render.verdict_text import Part, Told


def first(told: Told) -> list[str]:
    """What the outcome means, what it rests on, and what speaks against it."""
    above = [warning(told.caution), ""] if told.caution else []
    return [
        *above,
        line(told.sentence),
        "",
        *(item for part in told.parts for item in _part(part)),
        "",
    ]


def warning(caution: str) -> str:
    """What stands above all that small models came to."""
    return f"> **⚠ {line(caution)}**"


def tables(told: Told) -> list[str]:
    """The options, and how the jurors voted."""
    lines: list[str] = []
    for part in told.tables:
        lines += [f"## {part.title}", "", *table(part.rows, text=True), ""]
        for note in part.lines:
            lines += [line(note), ""]
    return lines


def _part(part: Part) -> list[str]:
    if len(part.lines) == 1:
        return [f"- **{part.title}**: {line(part.lines[0])}"]
    return [f"- **{part.title}**:", *(f"  - {line(text)}" for text in part.lines)]


def line(text: Any) -> str:
    """Untrusted text within a line of Markdown."""
    return escape(" ".join(visible(str(text)).split()))


def table(rows: Sequence[Sequence[str]], *, text: bool = False) -> list[str]:
    """Rows with their head first. Columns of figures end at the right, those of words do not."""
    head, *body = ([line(cell).replace("|", "\\|") for cell in row] for row in rows)
    rule = ["---", *("---" if text else "---:" for _ in head[1:])]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *body)]
