"""Every fact that the log of a debate can hold, and what is only said to those who listen."""

from dataclasses import dataclass

from moot.core.debate import Failure, Turn
from moot.core.status import Status, StopReason


@dataclass(frozen=True, slots=True)
class TurnCommitted:
    """A turn stands in the transcript."""

    debate_id: str
    turn: Turn

    @property
    def seq(self) -> int:
        return self.turn.seq


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """The debate's status, or something beside it that a reader must know."""

    debate_id: str
    seq: int
    at: str
    status: Status
    reason: StopReason | None
    failure: Failure | None
    stage: str | None
    round: int | None
    done: int
    total: int
    degraded: bool
    notice: str | None = None  # in words, where the status alone does not say it


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of text as it is spoken. Never stored: the turn holds all of it."""

    debate_id: str
    round: int
    stage: str
    actor: str
    target: str | None
    text: str
    at: str


Event = TurnCommitted | StatusChanged
"""What is durable, numbered by `seq` without a gap."""
