"""Budgets, checked before a call: what it may cost, and whether that is still there."""

from collections.abc import Iterable
from dataclasses import dataclass

from moot.core.debate import Limits, Usage
from moot.core.format import Effort


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a call may take at the most."""

    tokens: int
    cost_usd: float

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(self.tokens + other.tokens, self.cost_usd + other.cost_usd)


NOTHING = Estimate(0, 0.0)


def dearest(estimates: Iterable[Estimate]) -> Estimate:
    """What the dearest of several models may take, any of which may be called."""
    found = list(estimates)
    return Estimate(max(one.tokens for one in found), max(one.cost_usd for one in found))


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a model may think, beside what it says."""

    tokens: int
    seconds: float  # before its first word


NO_THINKING = Thinking(0, 0.0)
THINKING = {  # by effort; no less than pydantic-ai gives the models that take a number of tokens
    "low": Thinking(4_096, 60.0),
    "medium": Thinking(12_288, 150.0),
    "high": Thinking(24_576, 300.0),
}
_EFFORTS = (None, "none", *THINKING)


def thinking(effort: Effort | None, least: Effort | None, window: int) -> Thinking:
    """What a model may think before a turn that asks for that `effort`. It thinks the `least` that
    it can in any case; None: it cannot think at all. Half of its window stays for the rest."""
    if least is None:
        return NO_THINKING
    harder = max(effort, least, key=_EFFORTS.index)
    given = THINKING.get(harder or "none", NO_THINKING)
    return Thinking(min(given.tokens, window // 2), given.seconds)


WHOLE = 4
"""A whole turn may take this many times the longest silence."""
WIDER = 2
"""Whoever was cut by the token limit is asked again with this many times the tokens."""


USUAL_SECONDS = Limits(max_turns=1).max_turn_seconds
TURN_SECONDS = (5, 120)
"""Within which max_turn_seconds must lie."""


def silence(own: float | None, limits: Limits) -> float:
    """The longest silence of a turn: that of its stage if it has its `own`. What a person allows
    beyond that holds where the stage is no quicker than usual or, once it was raised, everywhere.
    """
    if own is None:
        return limits.max_turn_seconds
    slow = limits.raised or own >= USUAL_SECONDS
    return max(own, limits.max_turn_seconds) if slow else own


def longer(seconds: float) -> float | None:
    """What a person can allow instead of these seconds: twice as much. None: there is no more."""
    most = TURN_SECONDS[1]
    return float(min(2 * seconds, most)) if seconds < most else None


def bounded(limits: Limits) -> bool:
    return limits.max_total_tokens is not None or limits.max_cost_usd is not None


def fits(used: Usage, limits: Limits, ahead: Estimate) -> bool:
    """Whether what lies ahead stays within the budget."""
    tokens = used.input_tokens + used.output_tokens + ahead.tokens
    cost = used.cost_usd + ahead.cost_usd
    return (limits.max_total_tokens is None or tokens <= limits.max_total_tokens) and (
        limits.max_cost_usd is None or cost <= limits.max_cost_usd
    )
