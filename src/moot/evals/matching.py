"""How often a vote is taken so that it costs what another arm costs.

Items come in blocks. What an arm may take in a block follows from what both arms really cost in the
blocks before, so that an error is made up for in the next; within a block, votes are spread evenly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from moot.evals.arms import MOST_VOTES


@dataclass(frozen=True, slots=True)
class Spent:
    """What one item took in the arm that is matched, and in the one that matches it."""

    target: float
    own: float
    votes: int


def sizes(before: Sequence[Spent], count: int, target: float, vote: float) -> list[int]:
    """How many votes each item of the next block takes. `target` and `vote` are what an item of the
    target and one vote are expected to cost while there is nothing to go by."""
    votes = sum(one.votes for one in before)
    if votes and sum(one.own for one in before) > 0:
        target = sum(one.target for one in before) / len(before)
        vote = sum(one.own for one in before) / votes
    if vote <= 0:
        return [1] * count
    owed = sum(one.target - one.own for one in before)
    most = round((owed + count * target) / vote)
    most = min(max(most, count), count * MOST_VOTES)  # each item is asked at least once
    return [most * (n + 1) // count - most * n // count for n in range(count)]
