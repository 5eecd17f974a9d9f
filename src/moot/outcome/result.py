"""All that a debate came to, from its turns: the one way to its verdict, packet and record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from moot.core.debate import Debate, Decision, Turn
from moot.core.depth import effective
from moot.outcome.consensus import consensus
from moot.outcome.decision import rule
from moot.outcome.findings import Findings, find
from moot.outcome.packet import packet
from moot.outcome.record import record, record_path
from moot.outcome.ruling import NOTHING, headline, ruling
from moot.outcome.verdict import verdict


@dataclass(frozen=True, slots=True)
class Result:
    """What follows from the turns of a debate with an outcome."""

    decision: Decision
    verdict: dict[str, Any] | None  # None of a debate from before there were any
    consensus: dict[str, Any] | None = None  # with a packet
    packet: dict[str, Any] | None = None
    path: str | None = None  # where the record lies, below the home; None if none is to be written
    record: dict[str, Any] | None = None


def result(debate: Debate, turns: Sequence[Turn]) -> Result:
    """The verdict, the consensus, the packet and the record of a debate, as its files show them."""
    debate = effective(debate, turns)
    wanted, found = debate.rules.result, None
    if wanted and debate.rules.edition > 1:
        found = find(debate, turns)
    reached = verdict(debate, turns, found) if found else None
    if not (wanted and wanted.packet):
        return Result(_decision(found, reached), reached)
    agreed = consensus(debate, turns)
    ruled = ruling(debate, turns, found) if found else rule(debate, turns)
    made = packet(debate, turns, agreed, ruled, reached)
    if found:
        decision = _decision(found, reached, agreed["confidenceScore"])
    else:
        selected = made["decision"]["selectedOption"]
        decision = Decision(agreed["consensusScore"], agreed["confidenceScore"], selected)
    if not wanted.record:
        return Result(decision, reached, agreed, made)
    path, trace = record_path(debate), made["trace"]
    refs = [*trace["evidenceRefs"], f"writeback:{path}"]
    made = {**made, "trace": {**trace, "evidenceRefs": refs}}
    return Result(decision, reached, agreed, made, path, record(debate, made))


def _decision(
    found: Findings | None, reached: dict[str, Any] | None, confidence: float | None = None
) -> Decision:
    """What lists show. The score is that of the selected option, by the speakers' positions or,
    if nobody states any, by the votes of the jury."""
    if found is None or reached is None:
        return Decision(0.0, 0.0, NOTHING)
    chosen = found.selected if found.selected is not None else found.stood.final.leader
    score = found.stood.final.share(chosen)
    if not found.stood.asked:
        behind = sum(vote.counts == found.selected for vote in found.cast)
        score = round(behind / len(found.cast), 4) if found.selected is not None else 0.0
    if confidence is None:
        votes = [vote for vote in found.cast if vote.counts is not None]
        sure = [vote.confidence for vote in votes if vote.confidence is not None]
        jury = round(sum(sure) / len(sure), 4) if sure else 0.0
        confidence = found.stood.final.confidence if found.stood.asked else jury
    return Decision(score, confidence, headline(found), found.outcome)


def packet_of(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any] | None:
    """The packet of a debate that was decided; None of any other."""
    return result(debate, turns).packet if debate.outcome else None


def verdict_of(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any] | None:
    """The verdict of a debate that has ended with one; None of any other."""
    return verdict(effective(debate, turns), turns) if debate.outcome else None
