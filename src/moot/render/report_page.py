"""A report as one page: no script, nothing from elsewhere, every text escaped."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape as html_escape
from typing import Any

from moot.core.clean import visible
from moot.render.report_text import (
    BY,
    COLUMNS,
    FAILURE_COLUMNS,
    ROUND_COLUMNS,
    clock,
    facts_of,
    failure_rows,
    figures,
    method,
    names_of,
    place_of,
    round_rows,
    scores,
    seat,
)

MAX_ROWS = 24  # of the plot by round; more rounds than that share rows
HUES = 8  # colours; the ninth speaker has the first one's, paler

_LIGHT = (
    "#2f6fb3", "#c8641b", "#23856b", "#9a4fb0", "#a8860f", "#c2406a", "#4f8a2b", "#6b6bc9",
)  # fmt: skip
_DARK = (
    "#6aa9e9", "#f0965a", "#4fc3a1", "#cf8ee0", "#d9b945", "#f07f9f", "#8cc466", "#a3a3f5",
)  # fmt: skip
_TONES = {
    "light": "--bg:#f6f6f3;--card:#fff;--ink:#1d1f23;--soft:#5c626b;--line:#dcdcd6;--bad:#c02b2b;"
    "--warn:#8a5a00;--warnbg:#fff2d6;--bar:#ebebe6;",
    "dark": "--bg:#14161a;--card:#1d2026;--ink:#e8e8e4;--soft:#a2a8b2;--line:#343942;--bad:#ff7b72;"
    "--warn:#ffd58a;--warnbg:#3a2c0c;--bar:#2a2e36;",
}


def _tones(tone: str, hues: Sequence[str]) -> str:
    return _TONES[tone] + "".join(f"--c{place}:{hue};" for place, hue in enumerate(hues))


def _style() -> str:
    tones = f":root{{color-scheme:light dark;{_tones('light', _LIGHT)}}}"
    dark = f"@media (prefers-color-scheme:dark){{:root{{{_tones('dark', _DARK)}}}}}"
    hues = (
        f".c{place},.c{place + HUES}{{fill:var(--c{place});stroke:var(--c{place})}}"
        f".c{place + HUES}{{opacity:.55}}"
        for place in range(HUES)
    )
    return "".join((tones, dark, *hues, _RULES))


_RULES = """
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:64rem;margin:0 auto;padding:2rem 1.25rem 3rem}
h1{font-size:1.7rem;line-height:1.25;margin:.2rem 0 .8rem;text-wrap:balance}
h2{font-size:1.1rem;margin:0 0 .8rem}
h3{font-size:1rem;margin:0}
h1,h2,h3,p,li,td,th,dd,blockquote,.name{overflow-wrap:anywhere;unicode-bidi:plaintext}
p{margin:.5rem 0}
.kicker,.by,.note,footer,dt,.seat,figcaption,.axis{color:var(--soft);font-size:.85rem}
.kicker{text-transform:capitalize;letter-spacing:.02em;margin:0}
.badge{display:inline-block;border-radius:1rem;padding:.05rem .6rem;margin-inline-start:.4rem;
background:var(--bar);color:var(--ink)}
.warn{background:var(--warnbg);color:var(--warn)}
section{background:var(--card);border:1px solid var(--line);border-radius:.7rem;
padding:1.1rem 1.25rem;margin:1rem 0}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.7rem 1.2rem;
margin:0}
dt{margin:0}
dd{margin:0;font-size:1.05rem;font-variant-numeric:tabular-nums}
.facts dd{font-size:.95rem}
.decided{font-size:1.3rem;font-weight:600;margin:0 0 .8rem}
blockquote{margin:0;padding-inline-start:.9rem;border-inline-start:3px solid var(--line)}
.speaker{padding:.9rem 0;border-top:1px solid var(--line)}
.speaker:first-of-type{border-top:0;padding-top:0}
.speaker:last-child{padding-bottom:0}
.seat{margin:0}
ul{margin:.5rem 0 0;padding-inline-start:1.2rem}
li{margin:.35rem 0}
.ref{color:var(--soft);font-size:.8rem;white-space:nowrap}
.swatch{width:.75rem;height:.75rem;border-radius:.2rem;margin-inline-end:.45rem;
vertical-align:-.05em}
figure{margin:0 0 1.6rem}
figure:last-child{margin-bottom:0}
figcaption{margin:0 0 .5rem;color:var(--ink);font-weight:600;font-size:.95rem}
.bars{display:grid;grid-template-columns:minmax(4rem,max-content) 1fr max-content;
gap:.3rem .8rem;align-items:center;font-size:.9rem}
.bars .name{max-width:13rem}
.bars .value{text-align:end;font-variant-numeric:tabular-nums;color:var(--soft)}
.bars svg{display:block;width:100%;height:1.05rem;border-radius:.2rem;background:var(--bar)}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.6rem 0 0;padding:0;list-style:none;
font-size:.85rem}
.legend li{margin:0}
.plot{display:grid;grid-template-columns:max-content 1fr;gap:.2rem .6rem}
.plot svg{display:block;width:100%;height:10rem;border-bottom:1px solid var(--line);
border-inline-start:1px solid var(--line);overflow:visible}
.axis{display:flex;justify-content:space-between;font-variant-numeric:tabular-nums}
.up{flex-direction:column;text-align:end}
.dot{stroke-width:7;stroke-linecap:round;fill:none;vector-effect:non-scaling-stroke}
.many .dot{stroke-width:4}
.failed{stroke:var(--bad);stroke-width:2;stroke-dasharray:4 3;fill:none;
vector-effect:non-scaling-stroke}
.grid{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .45rem;text-align:end;border-bottom:1px solid var(--line);
overflow-wrap:normal}
th{color:var(--soft);font-weight:600;white-space:nowrap}
th:first-child,td:first-child{text-align:start;padding-inline-start:0;min-width:6rem}
td{white-space:nowrap}
td:first-child,.text td{white-space:normal}
th:first-child,td:first-child{position:sticky;left:0;background:var(--card)}
tr.all td{font-weight:600;border-bottom:0}
table.text th,table.text td{text-align:start}
summary{cursor:pointer;font-weight:600}
summary h2{display:inline}
details[open] summary{margin-bottom:.7rem}
footer{margin-top:1.5rem}
@media (max-width:34rem){main{padding:1.1rem .8rem 2rem}h1{font-size:1.35rem}
section{padding:.9rem .9rem}.bars .name{max-width:7.5rem}}
@media print{section{break-inside:avoid}body{background:none}}
rect{stroke:none}
"""
_STYLE = _style()
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
)


def html(report: Mapping[str, Any]) -> str:
    """A report as one document that fetches nothing, runs nothing, and trusts no text in it."""
    title = _text(report["motion"])
    badge = f'<span class="badge">{_text(report["status"])}</span>'
    if report["degraded"]:
        badge += '<span class="badge warn">degraded</span>'
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{html_escape(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<header>",
        f'<p class="kicker">{_text(report["format"])} debate {badge}</p>',
        f'<h1 dir="auto">{title}</h1>\n</header>',
        _html_decision(report),
        f'<p class="note">{_text(why)}</p>' if (why := report.get("unclosed")) else "",
        _html_summary(report["summary"]),
        _html_summary(closed, "Closing words") if (closed := report.get("closing")) else "",
        _html_totals(report),
        _html_plots(report),
        _html_speakers(report),
        _html_tables(report),
        f"<footer><p>{_text(method(report))}</p><p>{_text(report['debate'])}</p></footer>",
        "</main>\n</body>\n</html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _text(value: Any) -> str:
    """Untrusted text anywhere in the document, attributes included."""
    return html_escape(visible(str(value)), quote=True)


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


def _html_summary(summary: Mapping[str, Any], title: str = "Summary") -> str:
    paragraphs = re.split(r"\n\s*\n", visible(summary["text"]))
    said = "".join(
        f'<p dir="auto">{_text(text).replace(chr(10), "<br>")}</p>' for text in paragraphs if text
    )
    if not said:
        return f'<section><h2>{title}</h2><p class="note">Nothing was said.</p></section>'
    where = f", {_ref(summary['turn'])}" if summary["turn"] else ""
    return (
        f"<section><h2>{title}</h2><blockquote>{said}</blockquote>"
        f'<p class="by">{BY[summary["by"]]}{where}.</p></section>'
    )


def _ref(turn: int | None) -> str:
    return f'<span class="ref">turn {int(turn)}</span>' if turn else ""


def _html_totals(report: Mapping[str, Any]) -> str:
    totals = report["totals"]
    facts = [
        *facts_of(report)[1:],
        *(
            (name, f"{totals[key]:,}")
            for name, key in (
                ("Turns", "turns"),
                ("Words", "words"),
                ("Retries", "retries"),
                ("Failures", "failures"),
            )
        ),
    ]
    items = "".join(f"<div><dt>{_text(n)}</dt><dd>{_text(v)}</dd></div>" for n, v in facts)
    return f'<section><h2>At a glance</h2><dl class="facts">{items}</dl></section>'


def _html_speakers(report: Mapping[str, Any]) -> str:
    blocks: list[str] = []
    for place, who in enumerate(report["speakers"]):
        points = "".join(
            f'<li dir="auto">{_text(point["text"])} {_ref(point["turn"])}</li>'
            for point in who["mainPoints"]
        )
        said = f"<ul>{points}</ul>" if points else '<p class="note">No main point.</p>'
        blocks.append(
            f'<div class="speaker"><h3 dir="auto">{_swatch(place)}{_text(who["name"])}</h3>'
            f'<p class="seat">{_text(seat(who))}</p>{said}</div>'
        )
    return f"<section><h2>Main points</h2>{''.join(blocks)}</section>"


def _swatch(place: int) -> str:
    return (
        '<svg class="swatch" viewBox="0 0 1 1" aria-hidden="true">'
        f'<rect class="{_hue(place)}" width="1" height="1"/></svg>'
    )


def _hue(place: int) -> str:
    return f"c{place % (2 * HUES)}"


def _html_tables(report: Mapping[str, Any]) -> str:
    rows = [(who["name"], *figures(who["statistics"])) for who in report["speakers"]]
    tables = [
        "<section><h2>Statistics</h2>"
        + _html_table(("Speaker", *COLUMNS), rows, "", figures(report["totals"]))
        + "</section>"
    ]
    if report["failures"]:
        failed = failure_rows(report, names_of(report))
        tables.append(
            f"<section><h2>Failures</h2>{_html_table(FAILURE_COLUMNS, failed, 'text')}</section>"
        )
    if report["rounds"]:
        tables.append(
            "<section><details><summary><h2>Rounds</h2></summary>"
            f"{_html_table(ROUND_COLUMNS, round_rows(report))}</details></section>"
        )
    return "\n".join(tables)


def _html_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    kind: str = "",
    totals: Sequence[str] = (),
) -> str:
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    last = f'<tr class="all">{_cells(("All", *totals))}</tr>' if totals else ""
    names = "".join(f'<th scope="col">{_text(name)}</th>' for name in head)
    return (
        f'<div class="wide" tabindex="0"><table class="{kind}"><thead><tr>{names}</tr></thead>'
        f"<tbody>{body}{last}</tbody></table></div>"
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
