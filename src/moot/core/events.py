"""Every fact that the log of a debate can hold, and what is only said to those who listen."""

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from moot.core.debate import UNWRITTEN, Failure, Turn
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
    waiting_for: str | None = None  # the human seat whose words are all that it waits for


LOST = 4_000
"""The characters that are shown of a try that was cut off: its end, where people read."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """A try that came to nothing, and the one that follows."""

    text: str  # what was said of it, the end of it if it is long
    code: str  # of the error
    attempt: int  # that follows: 2 is the second
    attempts: int  # that a step has at the most


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of text as it is spoken. Never stored: the turn holds all of it."""

    debate_id: Annotated[str, Field(exclude=True)]
    round: int
    stage: str
    actor: str
    target: str | None
    text: str
    at: str
    offset: int = 0  # characters of the same turn said before; 0 begins it anew
    instruction: Annotated[str | None, UNWRITTEN] = None
    """What the host is asked, told before it says a word."""
    cut_off: Annotated[CutOff | None, UNWRITTEN] = None
    """What was heard of the turn before will not stand: it is tried again."""


@dataclass(frozen=True, slots=True)
class Speech:
    """A turn while it is spoken: `pieces` grows until it is committed, or dropped."""

    debate_id: str
    round: int
    stage: str
    actor: str
    target: str | None
    pieces: list[str]
    instruction: str | None = None  # of a cue
    cut_off: CutOff | None = None  # the try before

    def so_far(self, at: str) -> Delta:
        """All that was said, for whoever joins now; what was asked; and what was cut off."""
        return Delta(
            self.debate_id, self.round, self.stage, self.actor, self.target, "".join(self.pieces),
            at, instruction=self.instruction, cut_off=self.cut_off,
        )  # fmt: skip

    def lost(self, code: str, attempt: int, attempts: int) -> "Speech":
        """The same turn after a try that came to nothing. One without a word leaves what was shown
        of the try before."""
        text = "".join(self.pieces) or (self.cut_off.text if self.cut_off else "")
        return replace(self, pieces=[], cut_off=CutOff(text[-LOST:], code, attempt, attempts))


Event = TurnCommitted | StatusChanged
"""What is durable, numbered by `seq` without a gap."""
