"""What one transaction writes, and the pieces that every move is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from moot.core import schedule, status
from moot.core.debate import NO_USAGE, Debate, Failure, Usage
from moot.core.events import Event, StatusChanged
from moot.core.schedule import Step
from moot.core.status import Status, StopReason
from moot.errors import MootError

UNTRIED: Mapping[str, int] = {"losses": 0, "deaths": 0, "stalls": 0}
"""What is counted against a step, once another one comes next, or somebody else speaks it."""
Outcome = Literal["started", "ok", "failed", "cancelled", "unknown"]


class NotClaimedError(MootError):
    """The debate is not to be had now: a quiet end for whoever was sent to advance it."""

    code = "DEBATE_ERR_STATE"


class BehindError(NotClaimedError):
    """The files of the debate hold more than the database, which was restored from a copy."""

    def __init__(self, debate: Debate, filed: int) -> None:
        super().__init__(
            f"{debate.id}: its files go up to entry {filed}, the database only to "
            f"{debate.last_seq}, as if an older copy had been restored. The debate is left as it "
            "is. Run `moot reindex --from-files` to bring the database up to the files."
        )
        self.debate, self.filed = debate, filed


class FencedError(MootError):
    """Somebody else has the debate by now; what this worker brings comes too late."""

    code = "DEBATE_ERR_STATE"


class SaidAlreadyError(FencedError):
    """The database has a turn in this place, although the debate's row does not say so."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One model call, on record before it is made."""

    n: int  # counts the calls of the debate from 1
    fence: int
    step: Step
    model: str
    started_at: str
    owner: str | None = None  # the process that makes it


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended. `n` None: every call that is still open."""

    n: int | None
    outcome: Outcome
    at: str
    error_code: str | None = None
    model: str | None = None
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class Record:
    """A note written back to the user's own store, as the database knows it."""

    path: str  # of its JSON, below the home
    type: str
    title: str
    text: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision leaves in the database beside its debate."""

    actions: tuple[Mapping[str, str], ...]
    record: Record | None


@dataclass(frozen=True, slots=True)
class Change:
    """All that one transaction writes."""

    debate: Debate
    events: tuple[Event, ...] = ()
    started: tuple[Attempt, ...] = ()
    ended: tuple[Ended, ...] = ()
    decided: Decided | None = None


Move = Callable[[Debate], Change]


@dataclass(frozen=True, slots=True)
class Spoken:
    """What came of a step: the text that will stand, or the code of its failure."""

    step: Step
    text: str
    model: str
    started_at: str
    usage: Usage = NO_USAGE
    data: dict[str, object] | None = None
    error_code: str | None = None


def turn_to(debate: Debate, after: Status, at: str, words: str | None = None) -> Change:
    status.check(debate.status, after)
    turned = debate.but(status=after, not_before=0.0, tries=(), updated_at=at)
    return notice(turned.but(total=schedule.total(turned)), at, words)


def notice(debate: Debate, at: str, words: str | None) -> Change:
    """Log where the debate stands now. If it waits for a person, nobody has it in hand."""
    seq, waiting_for = debate.last_seq + 1, schedule.awaited(debate)
    number, stage = schedule.here(debate)
    event = StatusChanged(
        debate_id=debate.id,
        seq=seq,
        at=at,
        status=debate.status,
        reason=debate.stop_reason,
        failure=debate.failure,
        stage=stage,
        round=number,
        done=debate.turn_count,
        total=debate.total,
        degraded=debate.degraded,
        notice=words,
        waiting_for=waiting_for,
    )
    kept = debate.but(last_seq=seq, waiting_for=waiting_for, updated_at=at)
    if waiting_for:
        kept = kept.but(lease_owner=None, lease_until=0.0)
    return Change(kept, (event,))


def join(first: Change, second: Change) -> Change:
    return Change(
        second.debate,
        first.events + second.events,
        first.started + second.started,
        first.ended + second.ended,
        second.decided or first.decided,
    )


def take(debate: Debate) -> Debate:
    """Away from whoever has it: later writes of theirs are refused.

    Calls that are still open are ended by `lost`.
    """
    return debate.but(fence=debate.fence + 1, lease_owner=None, lease_until=0.0, open_calls=0)


def lost(debate: Debate, at: str) -> tuple[Ended, ...]:
    """How the open calls of a debate end that is taken away: whoever made them may still say."""
    return (Ended(None, "unknown", at),) if debate.open_calls else ()


def obey(debate: Debate, at: str) -> Change:
    if debate.wanted == "pause":
        return turn_to(debate.but(wanted=None), "paused", at)
    return conclude(debate.but(stop_reason=None), "stopped", "stopped_by_user", at)


def conclude(
    debate: Debate,
    after: Status,
    reason: StopReason,
    at: str,
    *,
    words: str | None = None,
    failure: Failure | None = None,
) -> Change:
    """How every debate ends, whatever ends it. A reason that it has already stands."""
    over = debate.but(
        stop_reason=debate.stop_reason or reason,
        ended_at=at,
        failure=failure,
        wanted=None,
        lease_owner=None,
        lease_until=0.0,
        files_seq=0,  # what they show is outdated
    )
    return turn_to(over, after, at, words)
