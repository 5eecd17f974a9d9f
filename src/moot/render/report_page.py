"""A report as one page: no script, nothing from elsewhere, every text escaped."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape as html_escape
from importlib import resources
from typing import Any

from moot.core.clean import visible
from moot.render import verdict_page
from moot.render.layout import LAYOUT
from moot.render.report_text import (
    are_told,
    by,
    clock,
    facts_of,
    method,
    names_of,
    place_of,
    scores,
    seat,
    tables,
    told_of,
)
from moot.render.takeaways_text import Line, origin, sections
from moot.render.verdict_page import text as _text

MAX_ROWS = 24  # of the plot by round; more rounds than that share rows
HUES = 8  # colours; the ninth speaker has the first one's, paler

# Its bytes are in every page that was filed: a change to it takes a new layout.
_STYLE = resources.files("moot.render").joinpath("report.css").read_text("utf-8")
_VERDICT_STYLE = resources.files("moot.render").joinpath("verdict.css").read_text("utf-8")
"""Only in pages with a verdict."""
_CAUTION_STYLE = resources.files("moot.render").joinpath("caution.css").read_text("utf-8")
"""Only where small models spoke."""
_FOLD_STYLE = resources.files("moot.render").joinpath("takeaways.css").read_text("utf-8")
"""Only since layout 5."""


def html(report: Mapping[str, Any], layout: int = LAYOUT, transcript: str | None = None) -> str:
    """A report as one document that fetches nothing, runs nothing, and trusts no text in it.
    `transcript` is the file beside it that holds all that was said."""
    title, told = _text(report["motion"]), told_of(report, layout)
    style = _STYLE + (_VERDICT_STYLE if told else "") + (_FOLD_STYLE if layout > 4 else "")
    style += _CAUTION_STYLE if report.get("caution") else ""
    badge = f'<span class="badge">{_text(report["status"])}</span>'
    if report["degraded"]:
        badge += '<span class="badge warn">degraded</span>'
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n<header>",
        f'<p class="kicker">{_text(report["format"])} debate {badge}</p>',
        f'<h1 dir="auto">{title}</h1>\n</header>',
        "" if told else verdict_page.warning(report.get("caution")),
        verdict_page.sections(told) if told else _html_decision(report),
        _html_takeaways(report),
        f'<p class="note">{_text(why)}</p>' if (why := report.get("unclosed")) else "",
        _html_summary(report, "Summary", report["summary"], layout),
        _html_summary(report, "Closing words", closed, layout)
        if (closed := report.get("closing"))
        else "",
        f'<p class="all"><a href="{_text(transcript)}">All that was said</a></p>'
        if transcript
        else "",
        *_figures(report, layout, last=told is not None),
        f"<footer><p>{_text(method(report))}</p><p>{_text(report['debate'])}</p></footer>",
        "</main>\n</body>\n</html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _policy(style: str) -> str:
    """What the page may load and run: this style, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return html_escape(
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def _figures(report: Mapping[str, Any], layout: int, *, last: bool) -> list[str]:
    """Main points and figures. The figures come last below a verdict and, since layout 5, in every
    report, behind a fold."""
    figures, points = [_html_totals(report), _html_plots(report)], _html_speakers(report)
    if layout < 5:
        shown = [points, *figures] if last else [*figures, points]
        return [*shown, _html_tables(report)]
    inside = "\n".join(part for part in (*figures, _html_tables(report, folded=True)) if part)
    return [
        points,
        _html_failures(report),
        f'<details class="figures"><summary><h2>Statistics</h2></summary>{inside}</details>',
    ]


def _html_takeaways(report: Mapping[str, Any]) -> str:
    """What it comes to, with the turns of each finding."""
    parts = [
        f"<section><h2>{_text(one.title)}</h2>"
        + ("".join(map(_html_finding, one.lines)) or f'<p class="note">{_text(one.nothing)}</p>')
        + "</section>"
        for one in sections(report)
    ]
    if parts and (told := origin(report)):
        parts.append(f'<p class="note">{_text(told)}</p>')
    return "\n".join(parts)


def _html_finding(line: Line) -> str:
    side = f' <span class="seat">{_text(line.side)}</span>' if line.side else ""
    who = f'<h3 dir="auto">{_text(line.who)}{side}</h3>' if line.who else ""
    cited = " ".join(map(_ref, line.turns))
    return f'<div class="finding">{who}<p dir="auto">{_text(line.text)} {cited}</p></div>'


def _html_decision(report: Mapping[str, Any]) -> str:
    decided = report.get("decision")
    if not decided:
        return ""
    bars = "".join(
        _bar_row(_text(name), [(value, "c2", f"{name}: {value:.0%}")], 1.0, f"{value:.0%}")
        for name, value in scores(decided)
    )
    return (
        f'<section><h2>Decision</h2><p class="decided" dir="auto">'
        f'{_text(decided["selectedOption"])}</p><div class="bars">{bars}</div></section>'
    )


def _html_summary(
    report: Mapping[str, Any], title: str, summary: Mapping[str, Any], layout: int
) -> str:
    paragraphs = re.split(r"\n\s*\n", visible(summary["text"]))
    said = "".join(
        f'<p dir="auto">{_text(text).replace(chr(10), "<br>")}</p>' for text in paragraphs if text
    )
    if not said:
        return f'<section><h2>{title}</h2><p class="note">Nothing was said.</p></section>'
    where = f", {_ref(summary['turn'])}" if summary["turn"] else ""
    return (
        f"<section><h2>{title}</h2><blockquote>{said}</blockquote>"
        f'<p class="by">{_text(by(report, summary, layout))}{where}.</p></section>'
    )


def _ref(turn: int | None) -> str:
    return f'<span class="ref">turn {int(turn)}</span>' if turn else ""


def _html_totals(report: Mapping[str, Any]) -> str:
    totals = report["totals"]
    counts = ("turns", "words", "retries", "failures")
    facts = [*facts_of(report)[1:], *((key.capitalize(), f"{totals[key]:,}") for key in counts)]
    items = "".join(f"<div><dt>{_text(n)}</dt><dd>{_text(v)}</dd></div>" for n, v in facts)
    return f'<section><h2>At a glance</h2><dl class="facts">{items}</dl></section>'


def _html_speakers(report: Mapping[str, Any]) -> str:
    blocks: list[str] = []
    told = are_told(report)
    for place, who in enumerate(report["speakers"]):
        points = "".join(
            f'<li dir="auto">{_text(point["text"])} {_ref(point["turn"])}</li>'
            for point in who["mainPoints"]
        )
        said = f"<ul>{points}</ul>" if points else '<p class="note">No main point.</p>'
        said = "" if told else said
        blocks.append(
            f'<div class="speaker"><h3 dir="auto">{_swatch(place)}{_text(who["name"])}</h3>'
            f'<p class="seat">{_text(seat(who))}</p>{said}</div>'
        )
    title = "Speakers" if told else "Main points"
    return f"<section><h2>{title}</h2>{''.join(blocks)}</section>"


def _swatch(place: int) -> str:
    return (
        '<svg class="swatch" viewBox="0 0 1 1" aria-hidden="true">'
        f'<rect class="{_hue(place)}" width="1" height="1"/></svg>'
    )


def _hue(place: int) -> str:
    return f"c{place % (2 * HUES)}"


def _html_tables(report: Mapping[str, Any], *, folded: bool = False) -> str:
    """The tables. Behind a fold that is called Statistics, failures are not."""
    found, title = tables(report), "By speaker" if folded else "Statistics"
    parts = [f"<section><h2>{title}</h2>{_html_table(found['Statistics'], summed=True)}</section>"]
    if not folded:
        parts += filter(None, [_html_failures(report)])
    if rounds := found.get("Rounds"):
        parts.append(
            "<section><details><summary><h2>Rounds</h2></summary>"
            f"{_html_table(rounds)}</details></section>"
        )
    return "\n".join(parts)


def _html_failures(report: Mapping[str, Any]) -> str:
    rows = tables(report).get("Failures")
    return f"<section><h2>Failures</h2>{_html_table(rows, 'text')}</section>" if rows else ""


def _html_table(rows: Sequence[Sequence[str]], kind: str = "", *, summed: bool = False) -> str:
    head, *body = rows
    names = "".join(f'<th scope="col">{_text(name)}</th>' for name in head)
    last = f'<tr class="all">{_cells(body.pop())}</tr>' if summed else ""
    filled = "".join(f"<tr>{_cells(row)}</tr>" for row in body)
    return (
        f'<div class="wide" tabindex="0"><table class="{kind}"><thead><tr>{names}</tr></thead>'
        f"<tbody>{filled}{last}</tbody></table></div>"
    )


def _cells(row: Sequence[str]) -> str:
    return "".join(f"<td>{_text(cell)}</td>" for cell in row)


# --- its plots: the text beside them is the document's own, so that it stays readable ---


def _html_plots(report: Mapping[str, Any]) -> str:
    if not report["timeline"]:
        return ""
    hues = {who["id"]: _hue(place) for place, who in enumerate(report["speakers"])}
    names = names_of(report)
    legend = "".join(
        f'<li dir="auto">{_swatch(place)}{_text(who["name"])}</li>'
        for place, who in enumerate(report["speakers"])
    )
    return (
        "<section><h2>In pictures</h2>"
        f"<figure><figcaption>Words by speaker</figcaption>{_by_person(report, hues)}</figure>"
        f"<figure><figcaption>Words by round</figcaption>{_by_round(report, hues, names)}"
        f'<ul class="legend">{legend}</ul></figure>'
        f"<figure><figcaption>Seconds by turn</figcaption>{_by_turn(report, hues, names)}</figure>"
        "</section>"
    )


def _by_person(report: Mapping[str, Any], hues: Mapping[str, str]) -> str:
    most = max((who["statistics"]["words"] for who in report["speakers"]), default=0)
    rows: list[str] = []
    for who in report["speakers"]:
        words, share = who["statistics"]["words"], who["statistics"]["share"]
        title = f"{who['name']}: {words:,} words, {share:.0%}"
        value = f"{words:,} · {share:.0%}"
        rows.append(_bar_row(_text(who["name"]), [(words, hues[who["id"]], title)], most, value))
    return f'<div class="bars">{"".join(rows)}</div>'


def _by_round(report: Mapping[str, Any], hues: Mapping[str, str], names: Mapping[str, str]) -> str:
    rounds = report["rounds"]
    size = -(-len(rounds) // MAX_ROWS)
    groups = [rounds[place : place + size] for place in range(0, len(rounds), size)]
    most = max(sum(item["words"] for item in group) for group in groups)
    rows: list[str] = []
    for group in groups:
        first, last = group[0], group[-1]
        where = place_of(first) if len(group) == 1 else f"{first['round']}–{last['round']}"
        words: Counter[str] = Counter()
        for item in group:
            words.update(item["wordsBySpeaker"])
        parts = [
            (words[who], hue, f"{names[who]}: {words[who]:,} words")
            for who, hue in hues.items()
            if words[who]
        ]
        rows.append(_bar_row(_text(where), parts, most, f"{words.total():,}"))
    return f'<div class="bars">{"".join(rows)}</div>'


def _bar_row(name: str, parts: Sequence[tuple[float, str, str]], most: float, value: str) -> str:
    """A name, a bar of coloured parts, and the figure it stands for."""
    rects: list[str] = []
    x = 0.0
    for amount, hue, title in parts:
        width = 1000 * amount / most if most else 0.0
        rects.append(
            f'<rect class="{hue}" x="{x:.1f}" width="{width:.1f}" height="10">'
            f"<title>{_text(title)}</title></rect>"
        )
        x += width
    spoken = "; ".join(title for _, _, title in parts) or "nothing"
    return (
        f'<span class="name" dir="auto">{name}</span>'
        f'<svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{_text(spoken)}">{"".join(rects)}</svg>'
        f'<span class="value">{_text(value)}</span>'
    )


def _by_turn(report: Mapping[str, Any], hues: Mapping[str, str], names: Mapping[str, str]) -> str:
    """A dot for each turn; a dashed line from top to bottom where one failed."""
    timeline = report["timeline"]
    most = max(item["seconds"] for item in timeline) or 1.0
    step = 1000 / len(timeline)
    marks: list[str] = []
    for place, item in enumerate(timeline):
        x, y = (place + 0.5) * step, 96 - 92 * item["seconds"] / most
        title = f"Turn {item['turn']}, {names[item['speaker']]}: {clock(item['seconds'])}"
        if item["failed"]:
            marks.append(
                f'<path class="failed" d="M{x:.1f} 0V100"><title>{_text(title)}, failed</title>'
                "</path>"
            )
        marks.append(
            f'<path class="dot {hues[item["speaker"]]}" d="M{x:.1f} {y:.1f}h.01">'
            f"<title>{_text(title)}</title></path>"
        )
    failures = report["totals"]["failures"]
    spoken = (
        f"Seconds of each of {len(timeline)} turns, the longest {clock(most)}; {failures} failed"
    )
    many = " many" if len(timeline) > 80 else ""
    note = '<p class="note">A dashed line marks a turn that failed.</p>' if failures else ""
    return (
        f'<div class="plot{many}"><div class="axis up"><span>{clock(most)}</span><span>0</span>'
        f'</div><svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" '
        f'aria-label="{_text(spoken)}"><path class="grid" d="M0 4H1000M0 50H1000"/>'
        f"{''.join(marks)}</svg><span></span>"
        f'<div class="axis"><span>turn {timeline[0]["turn"]}</span>'
        f"<span>turn {timeline[-1]['turn']}</span></div></div>{note}"
    )
