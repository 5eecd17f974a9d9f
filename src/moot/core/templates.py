"""Saved set-ups: what a debate is asked for with, under a name, to begin others alike."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moot.core.debate import Debate, Participant
from moot.errors import InputError

NAMED = (
    "motion", "format", "participants", "host", "options", "limits", "on_failure", "brief", "jury",
    "hide_sources_from", "depth", "audit", "allow_unpriced", "tags",
)  # fmt: skip
"""What a template can say, in the order in which it is written."""
MOST = 200
_ID = re.compile("[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True, slots=True)
class Template:
    """A saved set-up."""

    id: str
    asked: Mapping[str, Any]  # of POST /debates; without a motion, each debate gives its own


def check_id(given: str) -> str:
    """The name of a template, which is the name of its file."""
    if not _ID.fullmatch(given):
        raise InputError(
            f"{given[:60]!r} cannot name a template: use small letters, digits and hyphens.", "id"
        )
    return given


def check(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a set-up. Raises InputError, which names the field."""
    if unknown := sorted(set(asked) - set(NAMED)):
        raise InputError(f"A template says nothing of {unknown[0]!r}.", unknown[0])
    kept = {name: asked[name] for name in NAMED if asked.get(name) not in (None, "", [], {}, ())}
    return {**kept, "format": str(asked.get("format") or "standard")}


def of_debate(debate: Debate) -> dict[str, Any]:
    """The set-up of a debate, for others about other motions."""
    limits = {
        "max_turn_seconds": debate.limits.max_turn_seconds,
        "max_turn_tokens": debate.limits.max_turn_tokens,
        "max_total_tokens": debate.limits.max_total_tokens,
        "max_cost_usd": debate.limits.max_cost_usd,
    }
    jury = debate.jury and {
        "size": len(debate.jury.seats),
        "models": [seat.voice for seat in debate.jury.seats],
        "swap": debate.jury.swap,
        "baseline": debate.jury.baseline,
    }
    roles = bool(debate.rules.roster.names)
    return check(
        {
            "format": debate.format,
            "participants": [_seat(seat, role=roles) for seat in debate.participants],
            "host": _seat(debate.host) if debate.host else None,
            "options": dict(debate.options),
            "limits": {name: value for name, value in limits.items() if value is not None},
            "on_failure": debate.on_failure,
            "brief": dict(debate.brief),
            "jury": jury,
            "hide_sources_from": list(debate.hide_sources_from),
            "depth": debate.rules.screen and "auto",
            "audit": debate.rules.screen and debate.rules.screen.audit,
            "tags": list(debate.tags),
        }
    )


def _seat(seat: Participant, *, role: bool = False) -> dict[str, Any]:
    said: dict[str, Any] = {"name": seat.name, "bio": seat.bio, "model": seat.voice}
    if role:
        said = {"role": seat.role, "model": seat.voice}
    elif seat.role != "host":
        said["stance"] = seat.stance
    return {name: value for name, value in said.items() if value}
