"""The decision packet as a document."""

from collections.abc import Mapping, Sequence
from typing import Any

from moot.core.change import Record
from moot.core.clean import escape, visible
from moot.outcome.result import Result
from moot.render import verdict_markdown
from moot.render.layout import LAYOUT
from moot.render.verdict_markdown import line
from moot.render.verdict_text import tell

_WORKS = {
    "writing": "Text",
    "architecture": "Architecture",
    "planning": "Plan",
    "evaluation": "Evaluation",
}


def document(came_to: Result, layout: int = LAYOUT) -> str:
    """The packet of a debate as a document; empty if it has none."""
    if came_to.packet is None or came_to.consensus is None:
        return ""
    missing = came_to.consensus["missing"]
    if came_to.verdict is None:
        return markdown(came_to.packet, missing)
    return _with_verdict(came_to.packet, came_to.verdict, missing, layout)


def note(came_to: Result, layout: int = LAYOUT) -> Record | None:
    """The record that was written back, as the database knows it; None if there is none."""
    path, said = came_to.path, came_to.record
    if path is None or said is None:
        return None
    return Record(path, said["type"], said["title"], document(came_to, layout), said["createdAt"])


def _with_verdict(
    packet: Mapping[str, Any],
    verdict: Mapping[str, Any],
    missing: Sequence[Mapping[str, Any]],
    layout: int,
) -> str:
    """The packet as a document that begins with its outcome; its scores come last."""
    told = tell(verdict, [(seat["role"], _model(seat)) for seat in packet["participants"]], layout)
    consensus = packet["consensus"]
    failed = ", ".join(packet["errorCodes"])
    lines = [
        f"# {line(told.headline)}",
        "",
        line(packet["problem"]),
        "",
        *verdict_markdown.first(told),
        *verdict_markdown.tables(told),
        *_work(packet),
        *_reasons(packet),
        *_follows(packet, missing),
        *_section(
            "Figures",
            [
                f"Run: `{packet['runId']}`, {packet['outputType']}"
                + (f", **degraded**: {failed}" if packet["degraded"] else ""),
                f"Weight of the leading position: {consensus['consensusScore']:.2f}",
                f"Confidence of the speakers: {consensus['confidenceScore']:.2f}",
                *(f"Constraint: {line(text)}" for text in packet["constraints"]),
            ],
        ),
    ]
    return "\n".join(lines)


def decision(packet: Mapping[str, Any]) -> list[str]:
    """The work that was asked for, the reasons, and what follows: for one who has the outcome."""
    return [*_work(packet), *_reasons(packet), *_follows(packet, ())]


def _work(packet: Mapping[str, Any]) -> list[str]:
    """What was asked for beside a decision: the text, the plan, the architecture …"""
    work, title = packet.get("work"), _WORKS.get(packet["outputType"])
    return [f"## {title}", "", escape(visible(work)), ""] if work and title else []


def _model(seat: Mapping[str, Any]) -> str:
    return f"{seat['modelProvider']}:{seat['modelName']}"


def markdown(packet: Mapping[str, Any], missing: Sequence[Mapping[str, Any]] = ()) -> str:
    """The packet as a document; `missing` are the turns that failed."""
    decision, consensus = packet["decision"], packet["consensus"]
    lines = [
        f"# {escape(decision['selectedOption'])}",
        "",
        escape(" ".join(packet["problem"].split())),
        "",
        f"- Run: `{packet['runId']}`, {packet['outputType']}"
        + (", **degraded**: " + ", ".join(packet["errorCodes"]) if packet["degraded"] else ""),
        f"- Consensus: {consensus['consensusScore']:.2f}",
        f"- Confidence: {consensus['confidenceScore']:.2f}",
        *(f"- Constraint: {escape(text)}" for text in packet["constraints"]),
        *_understudies(packet),
        "",
        *_reasons(packet),
        *_follows(packet, missing),
    ]
    return "\n".join(lines)


def _reasons(packet: Mapping[str, Any]) -> list[str]:
    decision, consensus = packet["decision"], packet["consensus"]
    return [
        *_section("Why", [escape(why) for why in decision["whySelected"]]),
        *_section("Rejected", [_rejected(one) for one in decision["rejectedOptions"]]),
        *_section("Agreed", [escape(text) for text in consensus["keyAgreements"]]),
        *_section("Open", [escape(text) for text in consensus["keyDisagreements"]]),
        *_section(
            "Notes by people",
            [f"{line(note['text'])} (turn {note['turn']})" for note in packet.get("notes") or ()],
        ),
    ]


def _rejected(one: Mapping[str, Any]) -> str:
    best = f" Its best case: {escape(one['bestCase'])}" if one.get("bestCase") else ""
    return f"**{escape(one['option'])}**: {escape(one['reason'])}{best}"


def _follows(packet: Mapping[str, Any], missing: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        *_section(
            "Risks",
            [
                f"{r['severity']}: {escape(r['risk'])} Mitigation: {escape(r['mitigation'])}"
                for r in packet["risks"]
            ],
        ),
        *_section(
            "Next actions",
            [
                f"{a['id']}: {escape(a['action'])} ({escape(a['owner'])}, by {a['due']})"
                for a in packet["nextActions"]
            ],
        ),
        *_section(
            "Missing",
            [
                f"{gap['role']}, {gap['stage']}: {escape(gap['errorMessage'] or gap['errorCode'])}"
                for gap in missing
            ],
        ),
        *_section("Evidence", [f"`{ref}`" for ref in packet["trace"]["evidenceRefs"]]),
    ]


def _understudies(packet: Mapping[str, Any]) -> list[str]:
    """The understudy is not a model, and must be labelled wherever it speaks."""
    roles = [seat["role"] for seat in packet["participants"] if seat["modelName"] == "understudy"]
    return [f"- **No model spoke** for {', '.join(roles)}: the understudy did."] if roles else []


def _section(title: str, items: list[str]) -> list[str]:
    return [f"## {title}", "", *(f"- {item}" for item in items), ""] if items else []
