"""A verdict as the first sections of a report's page. Every text is escaped."""

from collections.abc import Sequence
from html import escape
from typing import Any

from moot.core.clean import visible
from moot.render.verdict_text import Part, Told


def text(value: Any) -> str:
    """Untrusted text anywhere in the document, attributes included."""
    return escape(visible(str(value)), quote=True)


def sections(told: Told) -> str:
    """The outcome with what it rests on, then the tables of options and jurors."""
    option = f'<p class="decided" dir="auto">{text(told.option)}</p>' if told.option else ""
    # the kind is one of five words of ours, and becomes a class
    kind = text(told.kind.replace("_", "-"))
    first = (
        f'<section class="verdict"><h2><span class="badge {kind}">{text(told.name)}</span></h2>'
        f'{option}<p>{text(told.sentence)}</p><dl class="lines">'
        f"{''.join(_part(part) for part in told.parts)}</dl></section>"
    )
    above = [warning(told.caution)] if told.caution else []
    return "\n".join([*above, first, *(_table(part) for part in told.tables)])


def warning(caution: str | None) -> str:
    """What stands above all that small models came to."""
    return f'<p class="caution" role="note">{text(caution)}</p>' if caution else ""


def _part(part: Part) -> str:
    warns = ' class="doubt"' if part.warns else ""
    lines = "".join(f'<dd dir="auto">{text(line)}</dd>' for line in part.lines)
    return f"<div{warns}><dt>{text(part.title)}</dt>{lines}</div>"


def _table(part: Part) -> str:
    head, *rows = part.rows
    names = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    notes = "".join(f'<p class="note" dir="auto">{text(line)}</p>' for line in part.lines)
    return (
        f'<section><h2>{text(part.title)}</h2><div class="wide" tabindex="0">'
        f'<table class="text votes"><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>'
        f"</div>{notes}</section>"
    )


def _cells(row: Sequence[str]) -> str:
    return "".join(f'<td dir="auto">{text(cell)}</td>' for cell in row)
