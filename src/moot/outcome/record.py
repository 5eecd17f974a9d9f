"""The note that is written back among the user's own records."""

from collections.abc import Mapping
from typing import Any

from moot.core.debate import Debate

SINCE = ("outcome", "support", "dissent", "openQuestions", "work")
"""What a record has of the outcome, since there is one."""


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
    decision, outcome = packet_["decision"], packet_.get("outcome")
    contested = "Contested: " if outcome == "contested" else ""
    return {
        "id": debate.id,
        "type": record_type(debate),
        "title": contested + decision["selectedOption"],
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
        **({name: packet_[name] for name in SINCE if name in packet_} if outcome else {}),
    }
