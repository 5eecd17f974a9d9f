"""A debate in a notebook: the outcome first, then the motion, and what was said when opened."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from moot.core import schedule
from moot.core.debate import Debate, Turn
from moot.core.voices import UNDERSTUDY, caution, label
from moot.render.ballots import in_order
from moot.render.verdict_text import tell, voices

SHOWN = ("Support", "Jury", "Dissent", "Open questions", "Warnings")
"""What stands below the outcome; `verdict` has the rest."""


def page(debate: Debate, turns: Sequence[Turn], verdict: Mapping[str, Any] | None) -> str:
    """A piece of HTML. Whatever people or models wrote in it is text, and nothing but text."""
    said = "".join(_turn(debate, turn) for turn in in_order(debate, turns))
    count = f"{len(turns)} turn{'s' * (len(turns) != 1)}"
    return (
        '<div style="max-width:46em">'
        f"{_caution(debate)}"
        f"{_verdict(debate, turns, verdict) if verdict else _ending(debate)}"
        f"<p><b>{escape(debate.motion)}</b><br><small>{escape(debate.format)}, "
        f"{escape(debate.status)}, {escape(debate.id)}</small></p>"
        f"<details><summary>{count}</summary>{said}</details></div>"
    )


def _caution(debate: Debate) -> str:
    said = caution(debate.warnings)
    return f"<p><b>{escape(said)}</b></p>" if said else ""


def _verdict(debate: Debate, turns: Sequence[Turn], verdict: Mapping[str, Any]) -> str:
    told = tell(verdict, voices(debate, turns))
    rows = "".join(
        f"<li>{escape(part.title)}: {'<br>'.join(map(escape, part.lines))}</li>"
        for part in told.parts
        if part.title in SHOWN and part.lines
    )
    return f"<h4>{escape(told.headline)}</h4><p>{escape(told.sentence)}</p><ul>{rows}</ul>"


def _ending(debate: Debate) -> str:
    """How it stands, of a debate that came to no verdict, and what went wrong."""
    doubt = ", degraded" if debate.degraded else ""
    failed = f"<p>{escape(debate.failure.message)}</p>" if debate.failure else ""
    return f"<h4>{escape(debate.status.capitalize())}{doubt}</h4>{failed}"


def _turn(debate: Debate, turn: Turn) -> str:
    where = schedule.label(debate, turn.round, turn.stage)
    model = f" ({label(turn.model)})" if turn.model == UNDERSTUDY else ""
    text = turn.text if turn.status == "ok" else f"no answer ({turn.error_code})"
    return (
        f"<p><b>{escape(turn.name)}</b>{escape(model)} <small>{escape(where)}</small></p>"
        f'<p style="white-space:pre-wrap">{escape(text)}</p>'
    )
