"""The decision packet as a document."""

from collections.abc import Mapping, Sequence
from typing import Any

from moot.core.change import Record
from moot.core.clean import escape
from moot.outcome.result import Result


def document(came_to: Result) -> str:
    """The packet of a debate as a document."""
    return markdown(came_to.packet, came_to.consensus["missing"])


def note(came_to: Result) -> Record | None:
    """The record that was written back, as the database knows it; None if there is none."""
    path, said = came_to.path, came_to.record
    if path is None or said is None:
        return None
    return Record(path, said["type"], said["title"], document(came_to), said["createdAt"])


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
        *_section("Why", [escape(why) for why in decision["whySelected"]]),
        *_section(
            "Rejected",
            [
                f"**{escape(r['option'])}**: {escape(r['reason'])}"
                for r in decision["rejectedOptions"]
            ],
        ),
        *_section("Agreed", [escape(text) for text in consensus["keyAgreements"]]),
        *_section("Open", [escape(text) for text in consensus["keyDisagreements"]]),
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
    return "\n".join(lines)


def _understudies(packet: Mapping[str, Any]) -> list[str]:
    """The understudy is not a model, and must be labelled wherever it speaks."""
    roles = [seat["role"] for seat in packet["participants"] if seat["modelName"] == "understudy"]
    return [f"- **No model spoke** for {', '.join(roles)}: the understudy did."] if roles else []


def _section(title: str, items: list[str]) -> list[str]:
    return [f"## {title}", "", *(f"- {item}" for item in items), ""] if items else []
