"""What came of a debate, in one line for lists."""

from collections.abc import Mapping
from typing import Any

from moot.core import schedule
from moot.core.debate import Debate, Decision
from moot.outcome.ruling import NOTHING
from moot.render.verdict_text import NAMES

LONGEST = 600  # characters
_STOPPED = {
    "stopped_by_user": "Stopped by a person",
    "budget": "The budget was used up",
    "provider_failed": "A model failed",
    "structural_failure": "It could not go on",
}


def support(verdict: Mapping[str, Any] | None) -> str:
    """How many stood for what was selected, or voted for it."""
    if not verdict or verdict["selected"] is None:
        return ""
    jury, stood = verdict["jury"], verdict["support"]
    if verdict["decidedBy"] == "jury" and jury:
        votes = sum(juror["vote"] == verdict["selected"] for juror in jury["jurors"])
        return f"{votes} of {jury['asked']} jurors"
    return f"{stood['heads']} of {stood['of']}" if stood["of"] else ""


def result_line(debate: Debate, support_: str = "", summary: str = "") -> str:
    """The outcome, why it goes no further, what was said in short, or who speaks."""
    if debate.outcome:
        return _decided(debate.outcome, support_)
    if debate.status in ("failed", "paused", "stopped"):
        why = debate.failure.message if debate.failure else _STOPPED.get(debate.stop_reason or "")
        return _short(why or (summary if debate.status != "paused" else ""))
    if debate.status == "completed":
        return _short(summary)
    return _speaking(debate) if debate.status in ("running", "ending") else ""


def _decided(outcome: Decision, support_: str) -> str:
    kind, option = NAMES[outcome.outcome or "decided"], outcome.selected_option
    room = LONGEST - len(kind) - len(support_) - 4
    if outcome.outcome in ("decided", "contested"):  # whatever the option is called
        return f"{kind}: {_short(option, room)}{f', {support_}' if support_ else ''}"
    if option == NOTHING:
        return NOTHING
    if option.startswith(f"{NOTHING}: "):  # and why
        why = option.removeprefix(f"{NOTHING}: ")
        repeats = why.casefold().startswith(kind.casefold())
        return _short(kind + why[len(kind) :] if repeats else f"{kind}: {why}")
    return f"{kind}: {_short(option, room)}{f', {support_}' if support_ else ''}"


def _speaking(debate: Debate) -> str:
    if debate.waiting_for:
        return f"Waits for {debate.seat(debate.waiting_for).name}"
    try:
        planned = schedule.plan(debate)
    except LookupError:  # a damaged cursor: the engine mends it before the debate goes on
        return ""
    names = [debate.seat(one.actor).name for one in getattr(planned, "steps", ())]
    if len(set(names)) > 1:
        return f"{len(names)} are speaking"
    return f"{names[0]} is speaking" if names else ""


def _short(text: str, room: int = LONGEST) -> str:
    """On one line, and no longer than that."""
    flat = " ".join(text.split())
    return flat if len(flat) <= room else f"{flat[: room - 2].rstrip()} …"
