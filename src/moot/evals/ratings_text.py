"""Ratings in rows and words: what the terminal and the page show of them."""

from collections.abc import Mapping
from html import escape
from typing import Any

from moot.evals.eval_page import page, table
from moot.render.cost import about

Made = Mapping[str, Any]
STRENGTHS = ("model", "against a middling model", "95% interval", "debates")
RECORDS = ("model", "role", "debates", "won before juries", "Brier", "moved others", "was moved",
           "tokens", "cost")  # fmt: skip


def strengths(made: Made) -> list[tuple[str, ...]]:
    return [
        (one["model"], f"{one['chance']:.0%}", f"{one['low']:.0%} – {one['high']:.0%}",
         f"{one['debates']:,}")
        for one in made["strengths"]
    ]  # fmt: skip


def records(made: Made) -> list[tuple[str, ...]]:
    return [
        (
            one["model"],
            one["role"],
            f"{one['debates']:,}",
            f"{one['won']} of {one['judged']}",
            "–" if one["brier"] is None else f"{one['brier']:.3f}",
            f"{one['movedOthers']:,}",
            f"{one['wasMoved']:,}",
            f"{one['tokens']:,}",
            about(one["costUsd"]) if one["costUsd"] else "–",
        )
        for one in made["records"]
    ]


def notes(made: Made) -> list[str]:
    """What must be known to read the tables."""
    count = f"Debates that came to an outcome: {made['debates']:,}."
    said = [f"{count} A model wins before a jury if the jury chose the option that it held."]
    if made["strengths"]:
        said.append(
            "The first figure is the chance to win before a jury against a model of middling "
            "strength, by Bradley and Terry. Where intervals overlap, nothing is settled."
        )
    else:
        said.append("No jury has chosen between two models yet, so none is stronger.")
    if not any(one["brier"] is not None for one in made["records"]):
        said.append(
            f"Brier scores need decisions of which you noted what came (`moot outcome`): "
            f"{made['noted']} so far."
        )
    depth = made["depth"]
    if depth["early"] or depth["checked"]:
        said.append(
            f"Depth auto: two seats settled {depth['early']} debates. {depth['checked']} more were "
            f"held in full to check that, and {depth['differed']} came to something else."
        )
    return said


def html(made: Made) -> str:
    """A page that fetches nothing and runs nothing."""
    said = "".join(f"<li>{escape(note)}</li>" for note in notes(made))
    first = table(STRENGTHS, strengths(made)) if made["strengths"] else ""
    body = f"{first}\n{table(RECORDS, records(made))}\n<ul>{said}</ul>"
    return page("Ratings", "moot", "How models have done in your debates", body)
