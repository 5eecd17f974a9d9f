"""What a debate came to, or why there is nothing: for whoever asks."""

from collections.abc import Sequence
from typing import Any

from moot.core.debate import Debate, Turn
from moot.core.status import FINAL
from moot.errors import NotFoundError, StateError
from moot.outcome.result import packet_of, verdict_of


def check_packet(debate: Debate) -> None:
    """Raises NotFoundError if the debate's format makes no packet."""
    if debate.rules.result is None or not debate.rules.result.packet:
        raise NotFoundError(_no_packet(debate), "id")


def packet(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any]:
    """The decision packet. Raises StateError if the debate has not decided."""
    found = packet_of(debate, turns)
    if found is None and debate.status in FINAL:
        raise StateError(f"This council is {debate.status} and came to no decision.")
    if found is None:
        raise StateError(f"This council has not decided yet; it is {debate.status}.")
    return found


def verdict(debate: Debate, turns: Sequence[Turn]) -> dict[str, Any]:
    """The outcome. Raises NotFoundError if there is none (yet), and says why."""
    found = verdict_of(debate, turns)
    if found is None:
        raise NotFoundError(_no_verdict(debate), "id")
    return found


def _no_packet(debate: Debate) -> str:
    if debate.forked_from or debate.jury:
        return "This debate leaves a verdict and no packet; a council leaves one."
    return f"A {debate.format} leaves no packet; a council does."


def _no_verdict(debate: Debate) -> str:
    """Why there is none, and what helps."""
    if debate.status not in FINAL:
        if debate.rules.result:
            return f"There is no verdict yet; the debate is {debate.status}."
        return f"A {debate.format} comes to a verdict only with a jury, and this one has none."
    if debate.outcome and debate.rules.edition == 1:
        why = "This debate ended before there were verdicts."
    elif debate.rules.result:
        why = f"This debate is {debate.status} and came to no verdict."
    else:
        why = f"A {debate.format} without a jury comes to no verdict."
    return f"{why} If somebody spoke, `moot rejudge {debate.id}` has a jury judge it."
