"""What can be said of several arms that answered the same questions: with intervals, paired, and
corrected for how many comparisons are made. The methods are those of statsmodels and scipy."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from moot import extras
from moot.errors import InputError

ALPHA = 0.05
DIFFERENCE = 0.05
"""The difference for which the power is stated: five points."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share, with its interval of 95% by Wilson."""

    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Compared:
    """An arm against the first one, item by item."""

    lost: int  # right → wrong: the first arm was right, this one was not
    won: int  # wrong → right
    p: float  # McNemar's exact test
    corrected: float  # the same by Holm, over all arms that are compared
    power: float  # the chance to find a difference of five points, given how often they disagree

    @property
    def significant(self) -> bool:
        return self.corrected <= ALPHA


def _library(name: str) -> Any:
    """They are optional, and take a second to load."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        said = f"This needs statsmodels. {extras.install('evals')}"
        raise InputError(said, "evals") from None


def check() -> None:
    """Raise InputError now if what is needed at the end is not installed."""
    _library("statsmodels.stats.proportion")


def rate(right: Sequence[bool]) -> Rate:
    if not right:
        return Rate(0.0, 0.0, 1.0)
    proportion = _library("statsmodels.stats.proportion")
    low, high = proportion.proportion_confint(sum(right), len(right), ALPHA, method="wilson")
    return Rate(sum(right) / len(right), float(low), float(high))


def brier(confidences: Sequence[float | None], right: Sequence[bool]) -> float | None:
    """How far stated confidence is from what was right: 0 is best, 0.25 is a coin's. None if nobody
    stated any."""
    pairs = [(sure, ok) for sure, ok in zip(confidences, right, strict=True) if sure is not None]
    if not pairs:
        return None
    return sum((sure - ok) ** 2 for sure, ok in pairs) / len(pairs)


def compare(first: Sequence[bool], others: Sequence[Sequence[bool]]) -> list[Compared]:
    """Each of the others against the first: paired, exact, and corrected by Holm."""
    if not others:
        return []
    test = _library("scipy.stats").binomtest  # of the pairs that disagree: McNemar's exact test
    found: list[tuple[int, int, float]] = []
    for arm in others:
        lost = sum(one and not other for one, other in zip(first, arm, strict=True))
        won = sum(other and not one for one, other in zip(first, arm, strict=True))
        found.append((lost, won, float(test(won, lost + won).pvalue) if lost + won else 1.0))
    multiple = _library("statsmodels.stats.multitest")
    corrected = multiple.multipletests([p for *_, p in found], ALPHA, method="holm")[1]
    return [
        Compared(lost, won, p, float(held), power(len(first), lost + won, len(others)))
        for (lost, won, p), held in zip(found, corrected, strict=True)
    ]


def power(count: int, disagreed: int, arms: int = 1, difference: float = DIFFERENCE) -> float:
    """The chance that McNemar's exact test finds such a difference among so many items, of which
    two arms disagree on as many as they did here; for the first step of Holm's correction."""
    if not count:
        return 0.0
    binom, numpy = _library("scipy.stats").binom, _library("numpy")
    share = max(disagreed / count, difference)
    gains = (share + difference) / 2 / share  # of those on which they disagree
    pairs = numpy.arange(count + 1)
    # The most wins of the one side with which the test still rejects; below 0 if it never does.
    worst = binom.ppf(ALPHA / arms / 2, pairs, 0.5)
    worst = numpy.where(2 * binom.cdf(worst, pairs, 0.5) > ALPHA / arms, worst - 1, worst)
    rejected = binom.cdf(worst, pairs, gains) + binom.sf(pairs - worst - 1, pairs, gains)
    return float((binom.pmf(pairs, count, share) * rejected).sum())
