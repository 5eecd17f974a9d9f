"""A report as Markdown, and the rows that its page shows too."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moot.core.clean import escape, visible
from moot.core.prompts import quote
from moot.core.voices import label
from moot.render import cost, verdict_markdown
from moot.render.layout import LAYOUT
from moot.render.takeaways_text import Line, origin, sections
from moot.render.verdict_markdown import line as _line
from moot.render.verdict_markdown import table as _table
from moot.render.verdict_text import Told, tell

_BY = {
    "host": "The host’s closing words",
    "judge": "The judge’s verdict",
    "participant": "A participant’s closing words",
    "extraction": "Picked from what was said; nobody summed up",
    "model": "Written by a model once the debate was over",
}
_WORDS = {"judge": "verdict", "participant": "closing words"}
EXTRACTION = (
    "Main points are picked by extraction: the sentences whose words tell a speaker from the "
    "others, word for word. No model wrote this report."
)
UNREAD = {
    "budget": "A model was to write it, and was not asked: the budget of the debate has no room.",
    "failed": "A model was to write it, and could not. `moot report` tries again.",
}


def method(report: Mapping[str, Any]) -> str:
    """How the report was made, and by whom."""
    if report["method"] != "model":
        why = UNREAD.get(report.get("unread", ""))
        return f"{EXTRACTION} {why}" if why else EXTRACTION
    wrote = report["writer"]
    calls = f"{wrote['calls']} call{'s' if wrote['calls'] != 1 else ''}"
    about = ", in part estimated" if wrote["estimated"] else ""
    if "takeaways" in report:
        return (
            f"This report was written by a model, {label(wrote['model'])}, on "
            f"{_moment(wrote['madeAt'])}: {calls}, {wrote['inputTokens']:,} tokens in, "
            f"{wrote['outputTokens']:,} out, {_writing(report)}{about}. "
            "The figures are counted."
        )
    return (
        f"Summary and main points were written by a model, {label(wrote['model'])}, on "
        f"{_moment(wrote['madeAt'])}: {calls}, {wrote['inputTokens']:,} tokens in, "
        f"{wrote['outputTokens']:,} out, {_writing(report)}{about}, beside what the debate itself "
        "took. The figures are counted."
    )


def markdown(report: Mapping[str, Any], layout: int = LAYOUT, transcript: str | None = None) -> str:
    """A report as a document. What was said in the debate cannot mark up anything in it.
    `transcript` is where all of it can be read, if that is elsewhere."""
    told = told_of(report, layout)
    lines = [f"# {_line(report['motion'])}", ""]
    facts = [f"- {name}: {_line(value)}" for name, value in facts_of(report)]
    if told:
        lines += [f"## {_line(told.headline)}", "", *verdict_markdown.first(told)]
        lines += verdict_markdown.tables(told)[:-1]
    else:
        said = report.get("caution")
        lines += [verdict_markdown.warning(said), ""] if said else []
        lines += facts[:2] if layout > 4 else facts
    if not told and (decided := report.get("decision")):
        lines += ["", "## Decision", "", f"**{_line(decided['selectedOption'])}**", ""]
        lines += [f"- {name}: {value:.0%}" for name, value in scores(decided)]
    lines += [*_takeaways(report), *_summary(report, layout)]
    if transcript:
        lines += ["", f"All that was said: [{transcript}]({transcript})"]
    lines += ["", "## Speakers", ""]
    for who in report["speakers"]:
        lines += [f"### {_line(who['name'])}", "", f"*{_line(seat(who))}*", ""]
        if not are_told(report):
            points = [f"- {_line(p['text'])}{_ref(p['turn'])}" for p in who["mainPoints"]]
            lines += [*(points or ["*No main point.*"]), ""]
    figures: list[str] = []
    if told or layout > 4:
        figures += ["## At a glance", "", *facts, ""]
    for title, rows in tables(report).items():
        figures += [f"## {title}", "", *_table(rows), ""]
    if layout > 4:
        figures = [*FOLD, *figures, "</details>", ""]
    return "\n".join([*lines, *figures, f"*{_line(method(report))}*", ""])


def are_told(report: Mapping[str, Any]) -> bool:
    """Whether the main points stand above already, as the best points that a model has read."""
    return "takeaways" in report and report["takeaways"]["by"] == "model"


FOLD = ("<details>", "<summary>Statistics</summary>", "")
"""Opens what a reader of Markdown may leave shut."""


def _takeaways(report: Mapping[str, Any]) -> list[str]:
    """What it comes to, with the turns of each finding."""
    lines: list[str] = []
    for one in sections(report):
        lines += ["", f"## {one.title}", ""]
        if len(one.lines) == 1 and not one.lines[0].who:
            lines.append(_finding(one.lines[0]))
        else:
            lines += [f"- {_finding(line)}" for line in one.lines]
        lines += [] if one.lines else [f"*{one.nothing}*"]
    if lines and (told := origin(report)):
        lines += ["", f"*{_line(told)}*"]
    return lines


def _finding(line: Line) -> str:
    side = f" ({line.side})" if line.side else ""
    who = f"**{_line(line.who)}**{side}: " if line.who else ""
    return f"{who}{_line(line.text)}{''.join(map(_ref, line.turns))}"


def _summary(report: Mapping[str, Any], layout: int) -> list[str]:
    lines = ["", "## Summary", ""]
    if why := report.get("unclosed"):
        lines += [f"*{_line(why)}*", ""]
    if report["summary"]["text"]:
        lines += _words(report, report["summary"], layout)
    else:
        lines.append("*Nothing was said.*")
    if closed := report.get("closing"):
        lines += ["", "## Closing words", "", *_words(report, closed, layout)]
    return lines


def told_of(report: Mapping[str, Any], layout: int) -> Told | None:
    """The verdict of a report, in words; None if it has none."""
    if not (verdict := report.get("verdict")):
        return None
    spoke = [who for who in report["speakers"] if who["role"] not in ("juror", "person")]
    seats = [(who["name"], model) for who in spoke for model in who["models"][-1:]]
    return tell({**verdict, "usage": report.get("spent", verdict["usage"])}, seats, layout)


def _words(report: Mapping[str, Any], summary: Mapping[str, Any], layout: int) -> list[str]:
    where = f",{_ref(summary['turn'])}" if summary["turn"] else ""
    said = quote(escape(visible(summary["text"])))
    return [said, "", f"*{_line(by(report, summary, layout))}{where}.*"]


def by(report: Mapping[str, Any], summary: Mapping[str, Any], layout: int) -> str:
    """Whose words a summary is."""
    spoke = [item["speaker"] for item in report["timeline"] if item["turn"] == summary["turn"]]
    if layout > 2 and spoke and summary["by"] in _WORDS:
        return f"{names_of(report)[spoke[0]]}’s {_WORDS[summary['by']]}"
    return _BY[summary["by"]]


def _ref(turn: int | None) -> str:
    return f" `turn:{turn}`" if turn else ""


def names_of(report: Mapping[str, Any]) -> dict[str, str]:
    return {who["id"]: who["name"] for who in report["speakers"]}


def facts_of(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    totals = report["totals"]
    reason = f" ({_plain(report['stopReason'])})" if report["stopReason"] else ""
    lasted = report["durationSeconds"]
    used = report.get("spent", totals)
    spent = f"{used['inputTokens']:,} in, {used['outputTokens']:,} out"
    about = " (in part estimated)" if used["estimated"] else ""
    return [
        ("Debate", f"{report['debate']}, {report['format']}"),
        ("Status", f"{report['status']}{reason}{', degraded' if report['degraded'] else ''}"),
        ("Began", _moment(report["startedAt"]) or "never"),
        ("Ended", _moment(report["endedAt"]) or "not yet"),
        *([("Lasted", clock(lasted))] if lasted is not None else []),
        ("Tokens", spent + about),
        ("Cost", f"{cost.of_document(used)}{_for_the_report(report)}"),
    ]


def _for_the_report(report: Mapping[str, Any]) -> str:
    """What the report cost: since layout 7, as a part of the whole. Before layout 5 its last line
    alone said so."""
    if tried := report.get("tried"):
        return f", of which {_paid(tried)} for tries to have this report written"
    if "takeaways" not in report or not report.get("writer"):
        return ""
    part = "of which" if "spent" in report else "and"
    return f", {part} {_writing(report)} for this report"


def _writing(report: Mapping[str, Any]) -> str:
    """What it cost to write a report."""
    wrote = report["writer"]
    if "unpriced" not in report["totals"]:
        return cost.before(wrote["costUsd"])
    return _paid(wrote)


def _paid(wrote: Mapping[str, Any]) -> str:
    """What calls for a report cost. What it does not say of their price is known."""
    unknown, local = wrote.get("unpriced", ()), wrote.get("local", False)
    return cost.spent(wrote["costUsd"], unknown, local=local)


def scores(decided: Mapping[str, Any]) -> list[tuple[str, float]]:
    scores = (("Consensus", "consensusScore"), ("Confidence", "confidenceScore"))
    return [(name, float(decided[key])) for name, key in scores]


def seat(who: Mapping[str, Any]) -> str:
    plain = who["role"] in ("participant", "host", "person") or who["role"] == who["name"]
    roles = [who["role"]] if who["role"] in ("host", "person") or not plain else []
    stance = [who["stance"]] if who["stance"] != "neutral" else []
    return " · ".join([*roles, *stance, *(label(model) for model in who["models"])])


def tables(report: Mapping[str, Any]) -> dict[str, list[Sequence[str]]]:
    """The tables of a report by their titles, each with its head. The statistics end with a sum."""
    names = names_of(report)
    statistics = [(who["name"], who["statistics"]) for who in report["speakers"]]
    statistics += [*_untold(report), *_reported(report)]
    statistics.append(("All", {**report["totals"], **report.get("spent", {})}))
    found: dict[str, list[Sequence[str]]] = {
        "Statistics": [
            ("Speaker", *_FIGURES),
            *((name, *(show(own) for show in _FIGURES.values())) for name, own in statistics),
        ],
        "Rounds": [
            ("Round", "Turns", "Words", "Time"),
            *(
                (place_of(one), _count(one["turns"]), _count(one["words"]), clock(one["seconds"]))
                for one in report["rounds"]
            ),
        ],
        "Failures": [
            ("Turn", "Where", "Speaker", "Model", "Code"),
            *(
                (
                    f"turn:{one['turn']}",
                    place_of(one),
                    names.get(one["speaker"]) or one["speaker"],
                    label(one["model"]),
                    one["errorCode"] or "",
                )
                for one in report["failures"]
            ),
        ],
    }
    return {title: rows for title, rows in found.items() if len(rows) > 1}


def _untold(report: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What calls took that led to no turn, because they failed or were called off: with it, the
    rows add up."""
    totals = report["totals"]
    own = [who["statistics"] for who in report["speakers"]]
    rest: dict[str, Any] = {
        key: round(totals[key] - math.fsum(one[key] for one in own), 8)
        for key in ("inputTokens", "outputTokens", "costUsd")
    }
    if "unpriced" not in totals or not any(value > 0 for value in rest.values()):
        return []
    known = {key: totals[key] for key in ("unpriced", "local")}
    return [("Calls without a turn", {**dict.fromkeys(totals, None), **rest, **known})]


def _reported(report: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What the calls for the report itself took, since layout 7."""
    took = report.get("writer") or report.get("tried")
    if "spent" not in report or not took:
        return []
    known = {"unpriced": (), "local": False}
    return [("This report", {**dict.fromkeys(report["totals"], None), **known, **took})]


def place_of(item: Mapping[str, Any]) -> str:
    if place := item.get("place"):
        return str(place)
    stage, number = _plain(item["stage"]), item["round"]
    if number == 0 or stage == f"round{number}":
        return stage.replace("round", "round ")
    return f"{number} · {stage}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _moment(at: str | None) -> str:
    return f"{at[:10]} {at[11:19]} UTC" if at else ""


def clock(value: float) -> str:
    if value >= 3600:
        return f"{value // 3600:.0f} h {value % 3600 // 60:.0f} min"
    if value >= 120:
        return f"{value // 60:.0f} min {value % 60:.0f} s"
    return (
        f"{value:.1f} s" if value >= 10 else f"{value:.2f} s" if value >= 0.1 else f"{value:.3f} s"
    )


_count = "{:,}".format


def _figure(key: str, show: Callable[[Any], str] = _count) -> Callable[[Mapping[str, Any]], str]:
    return lambda own: "" if own[key] is None else show(own[key])


_FIGURES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "Turns": _figure("turns"),
    "Words": _figure("words"),
    "Share": _figure("share", "{:.0%}".format),
    "Longest": _figure("longestTurnWords"),
    "Tokens in": _figure("inputTokens", lambda tokens: f"{tokens:,.0f}"),
    "Tokens out": _figure("outputTokens", lambda tokens: f"{tokens:,.0f}"),
    "Cost": cost.in_table,
    "Time": _figure("seconds", clock),
    "Retries": _figure("retries"),
    "Failures": _figure("failures"),
}
"""The columns of the statistics, and how each figure is written."""
