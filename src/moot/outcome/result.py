"""All that a debate came to, from its turns: the one way to its consensus, packet and record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from moot.core.debate import Debate, Decision, Turn
from moot.outcome.consensus import consensus
from moot.outcome.decision import rule
from moot.outcome.packet import packet
from moot.outcome.record import record, record_path


@dataclass(frozen=True, slots=True)
class Result:
    """What follows from the turns of a debate with an outcome."""

    consensus: dict[str, Any]
    packet: dict[str, Any]
    path: str | None  # where the record lies, below the home; None if none is to be written
    record: dict[str, Any] | None

    @property
    def decision(self) -> Decision:
        return Decision(
            self.consensus["consensusScore"],
            self.consensus["confidenceScore"],
            self.packet["decision"]["selectedOption"],
        )


def result(debate: Debate, turns: Sequence[Turn]) -> Result:
    """The consensus, the packet and the record of a debate, as its files show them."""
    agreed = consensus(debate, turns)
    made = packet(debate, turns, agreed, rule(debate, turns))
    if not (debate.rules.result and debate.rules.result.record):
        return Result(agreed, made, None, None)
    path, trace = record_path(debate), made["trace"]
    refs = [*trace["evidenceRefs"], f"writeback:{path}"]
    made = {**made, "trace": {**trace, "evidenceRefs": refs}}
    return Result(agreed, made, path, record(debate, made))


def packet_of(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any] | None:
    """The packet of a debate that was decided; None of any other."""
    return result(debate, turns).packet if debate.outcome else None
