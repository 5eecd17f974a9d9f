"""The note that is written back among the user's own records."""

from collections.abc import Mapping
from typing import Any

from moot.core.debate import Debate


def record_type(debate: Debate) -> str:
    """`decision` for decisions, else `worklog`, unless the request says which."""
    asked = debate.brief.get("writeback_record_type")
    kind = debate.brief.get("output_type", "decision")
    return str(asked or ("decision" if kind == "decision" else "worklog"))


def record_path(debate: Debate) -> str:
    """Where the record lies, below the home."""
    return f"records/{record_type(debate)}s/{debate.id}.json"


def record(debate: Debate, packet_: Mapping[str, Any]) -> dict[str, Any]:
    """The note among the user's own records, naming the run and its packet."""
    decision = packet_["decision"]
    return {
        "id": debate.id,
        "type": record_type(debate),
        "title": decision["selectedOption"],
        "problem": debate.motion,
        "runId": debate.id,
        "packet": f"records/debates/{debate.id}/final-packet.json",
        "createdAt": packet_["timestamps"]["finishedAt"],
        "summary": decision["whySelected"],
        "nextActions": packet_["nextActions"],
        "consensusScore": packet_["consensus"]["consensusScore"],
        "confidenceScore": packet_["consensus"]["confidenceScore"],
        "degraded": packet_["degraded"],
        "participants": packet_["participants"],
    }
