"""A debate as one document, for people and programs elsewhere."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

from moot.core.debate import Debate, Turn
from moot.outcome.result import packet_of, result, verdict_of
from moot.render import packet_text, report, report_page, report_text, transcript
from moot.render.reading import Read
from moot.wire import codec

Kind = Literal["md", "html", "json"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MEDIA_TYPES: dict[Kind, str] = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
}


def export(kind: Kind, debate: Debate, turns: Sequence[Turn], read: Read = None) -> str:
    """Markdown: the decision or the report, then all that was said. HTML: the report with its
    plots. JSON: everything."""
    if kind == "html":
        return report_page.html(report.report(debate, turns, read))
    if kind == "json":
        return codec.dumps(whole(debate, turns, read))
    said = transcript.markdown(debate, turns)
    if not debate.outcome:
        return f"{report_text.markdown(report.report(debate, turns, read))}\n{said}"
    decided = packet_text.document(result(debate, turns))
    return f"{decided or report_text.markdown(report.report(debate, turns, read))}\n{said}"


def whole(debate: Debate, turns: Sequence[Turn], read: Read = None) -> dict[str, Any]:
    return {
        "debate": codec.debate(debate),
        "turns": [codec.turn(turn) for turn in turns],
        "packet": packet_of(debate, turns),
        "verdict": verdict_of(debate, turns),
        "report": report.report(debate, turns, read),
    }
