"""A link to one debate, for somebody who may read it and, perhaps, speak for one seat of it."""

from dataclasses import dataclass

from moot.core.debate import Debate
from moot.errors import InputError

MAX_LINKS = 100
"""The links that one debate may have at once."""
PREFIX = "moot_link_"
"""What the token of every link begins with, so that it is never taken for another one."""


@dataclass(frozen=True, slots=True)
class Link:
    """What is kept of a link. Its token is in nobody's hands but those of whoever was given it."""

    id: str
    debate_id: str
    seat: str | None  # the human seat that its holder speaks for; None: read-only
    created_at: str


def check_seat(debate: Debate, seat: str | None) -> None:
    """Refuse a link for a seat that no person speaks for."""
    if seat is None:
        return
    if seat not in debate.people:
        known = ", ".join(debate.people) or "none"
        raise InputError(
            f"No person speaks for a seat {seat[:60]!a}. Seats of people: {known}.", "seat"
        )
