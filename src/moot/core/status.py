"""The life of a debate: its statuses, and the guard over the way from one to the next."""

from typing import Literal, get_args

from moot.errors import StateError

Status = Literal[
    "scheduled", "queued", "running", "paused", "ending", "completed", "stopped", "failed"
]
StopReason = Literal[
    "finished",
    "max_rounds",
    "max_turns",
    "agreement",
    "ended_by_user",
    "stopped_by_user",
    "budget",
    "provider_failed",
    "structural_failure",
]

STATUSES: tuple[Status, ...] = get_args(Status)

TRANSITIONS: dict[Status, frozenset[Status]] = {
    "scheduled": frozenset({"queued", "stopped"}),
    "queued": frozenset({"running", "stopped"}),
    "running": frozenset({"paused", "ending", "completed", "stopped", "failed"}),
    "paused": frozenset({"running", "ending", "stopped"}),
    "ending": frozenset({"completed", "failed", "stopped"}),
    "completed": frozenset(),
    "stopped": frozenset(),
    "failed": frozenset(),
}

FINAL: frozenset[Status] = frozenset(s for s, after in TRANSITIONS.items() if not after)
RUNNABLE: frozenset[Status] = frozenset({"queued", "running", "ending"})
"""Statuses in which a worker may claim the debate."""


_OVER = "It is over: read it, or begin another."
POSSIBLE: dict[Status, str] = {
    "scheduled": "It has not been started yet: start it, or stop it.",
    "queued": "It begins in a moment: wait for it, or stop it.",
    "running": "It is under way: pause it, end it, or stop it.",
    "paused": "Resume it, end it, or stop it.",
    "ending": "Its closing summary is being written: wait for it, or stop it.",
    "completed": _OVER,
    "stopped": _OVER,
    "failed": _OVER,
}
"""What a person can do with a debate in that status."""


def check(before: Status, after: Status) -> None:
    """Refuse a transition that the table does not have."""
    if after not in TRANSITIONS[before]:
        raise StateError(f"A debate that is {before} cannot become {after}. {POSSIBLE[before]}")
