"""An eval as one page: no script, nothing from elsewhere, every text escaped."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from moot.core.clean import visible
from moot.evals.eval_text import COLUMNS, notes, rows

_STYLE = resources.files("moot.evals").joinpath("eval_page.css").read_text("utf-8")
_WIDTH, _LEFT, _RIGHT = 760, 170, 740
_ROW = 34
_SIDE = 260
_AXIS = (0.0, 0.25, 0.5, 0.75, 1.0)


def html(made: Mapping[str, Any]) -> str:
    """A document that fetches nothing and runs nothing."""
    said = "".join(f"<li>{_text(note)}</li>" for note in notes(made))
    plots = (
        ("Accuracy, with 95% intervals", _accuracy(made)),
        ("Accuracy by cost of an item", _by_cost(made)),
        ("Right answers, by how sure the arm was", _calibration(made)),
    )
    figures = "".join(
        f"<figure><figcaption>{name}</figcaption>{plot}</figure>" for name, plot in plots if plot
    )
    return page(
        f"{made['dataset']}: {', '.join(arm['arm'] for arm in made['arms'])}",
        f"Eval on {made['dataset']}, by {made['model']}",
        f"{made['compared']:,} items, {len(made['arms'])} arms",
        f"{table(COLUMNS, rows(made))}\n<ul>{said}</ul>\n{figures}\n"
        f"<details><summary>Every item</summary>{_items(made)}</details>",
    )


def page(title: str, kicker: str, heading: str, body: str) -> str:
    """A document that fetches nothing and runs nothing. All but the body is escaped here."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>",
            f'<p class="kicker">{_text(kicker)}</p>\n<h1>{_text(heading)}</h1>',
            f"{body}\n</main>\n</body>\n</html>\n",
        ]
    )


def _text(value: Any) -> str:
    return escape(visible(str(value)))


def table(columns: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table; every cell is escaped."""
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in columns)
    filled = "".join(
        f'<tr><th scope="row">{_text(row[0])}</th>'
        + "".join(f"<td>{_text(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in body
    )
    return (
        f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{filled}</tbody></table></div>"
    )


def _items(made: Mapping[str, Any]) -> str:
    names = [arm["arm"] for arm in made["arms"]]
    found = [(row["id"], *(_mark(row["answers"][name]) for name in names)) for row in made["items"]]
    return table(("item", *names), found)


def _mark(answer: Mapping[str, Any]) -> str:
    said = "no answer" if answer["answer"] is None else str(answer["answer"])
    return f"{'✓' if answer['right'] else '✗'} {said}"


# --- plots ---


def _accuracy(made: Mapping[str, Any]) -> str:
    """A dot and its interval for each arm."""
    arms = made["arms"]
    height = _ROW * len(arms) + 30
    marks = [_grid(height - 24)]
    for place, arm in enumerate(arms):
        rate, y = arm["accuracy"], _ROW * place + 22
        low, high, x = (_across(rate[name]) for name in ("low", "high", "share"))
        marks.append(
            f'<text x="{_LEFT - 12}" y="{y + 4}" class="name">{_text(_short(arm["arm"]))}</text>'
            f'<path class="c{place % 8} span" d="M{low:.1f} {y}H{high:.1f}"/>'
            f'<circle class="c{place % 8}" cx="{x:.1f}" cy="{y}" r="5"><title>{_text(arm["arm"])}: '
            f"{rate['share']:.1%}</title></circle>"
        )
    return _svg(height, marks, "The accuracy of each arm")


def _by_cost(made: Mapping[str, Any]) -> str:
    """Accuracy against cost: money where all prices are known, otherwise tokens."""
    arms = made["arms"]
    money = all(arm["perItem"]["costUsd"] and not arm["unpriced"] for arm in arms)
    costs = [arm["perItem"]["costUsd" if money else "tokens"] for arm in arms]
    if not max(costs, default=0):
        return ""
    marks = [_up_grid()]
    for place, (arm, cost) in enumerate(zip(arms, costs, strict=True)):
        x = _LEFT + (_RIGHT - _LEFT - 60) * cost / max(costs)
        y = _up(arm["accuracy"]["share"])
        label = f"${cost:.4f}" if money else f"{cost:,.0f} tokens"
        marks.append(
            f'<circle class="c{place % 8}" cx="{x:.1f}" cy="{y:.1f}" r="6"><title>'
            f"{_text(arm['arm'])}: {label}</title></circle>"
            f'<text x="{x:.1f}" y="{y - 12:.1f}" class="mark">{_text(_short(arm["arm"]))}</text>'
        )
    most = f"${max(costs):.4f}" if money else f"{max(costs):,.0f} tokens"
    marks.append(f'<text x="{_RIGHT - 60}" y="{_SIDE + 26}" class="mark">{most}</text>')
    return _svg(_SIDE + 32, marks, "The accuracy of each arm by the cost of an item")


def _calibration(made: Mapping[str, Any]) -> str:
    """A line for each arm; on the diagonal, an arm is as often right as it is sure."""
    marks = [_up_grid(), f'<path class="even" d="M{_LEFT} {_up(0)}L{_RIGHT} {_up(1)}"/>']
    for place, arm in enumerate(made["arms"]):
        points = [(_across(one["confidence"]), _up(one["right"])) for one in arm["calibration"]]
        if not points:
            continue
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        marks.append(f'<path class="c{place % 8} line" d="M{line}"/>')
        marks += [
            f'<circle class="c{place % 8}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>'
            f"{_text(arm['arm'])}: {one['items']} items</title></circle>"
            for (x, y), one in zip(points, arm["calibration"], strict=True)
        ]
    if len(marks) == 2:
        return ""
    legend = "".join(
        f'<li><svg class="swatch" viewBox="0 0 8 8" aria-hidden="true"><circle class="c{n % 8}" '
        f'cx="4" cy="4" r="4"/></svg>{_text(arm["arm"])}</li>'
        for n, arm in enumerate(made["arms"])
    )
    drawn = _svg(_SIDE + 12, marks, "How often each arm was right, by its confidence")
    return f'{drawn}<ul class="legend">{legend}</ul>'


def _svg(height: int, marks: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">'
        f"{''.join(marks)}</svg>"
    )


def _across(share: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * share


def _up(share: float) -> float:
    return 10 + (_SIDE - 10) * (1 - share)


def _grid(height: int) -> str:
    return "".join(
        f'<path class="grid" d="M{_across(at):.1f} 4V{height}"/>'
        f'<text x="{_across(at):.1f}" y="{height + 18}" class="mark">{at:.0%}</text>'
        for at in _AXIS
    )


def _up_grid() -> str:
    return "".join(
        f'<path class="grid" d="M{_LEFT} {_up(at):.1f}H{_RIGHT}"/>'
        f'<text x="{_LEFT - 12}" y="{_up(at) + 4:.1f}" class="name">{at:.0%}</text>'
        for at in _AXIS
    )


def _short(name: str) -> str:
    return name if len(name) <= 22 else f"{name[:21]}…"
