"""How a debate was decided, and what that rests on: counted once, for every document it leaves.

A jury decides if one was asked; otherwise the judge, if it gave a verdict; otherwise the positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from moot.core.answers import UNDECIDED
from moot.core.debate import Debate, OutcomeKind, Turn
from moot.core.jury import Choices
from moot.outcome.ballot import Vote, judged, votes
from moot.outcome.count import Count
from moot.outcome.moved import moves
from moot.outcome.quotes import Quotes, check
from moot.outcome.stands import Standing, choices, standing, votable

Row = dict[str, Any]
By = Literal["jury", "judge", "positions"]


@dataclass(frozen=True, slots=True)
class Findings:
    """What an outcome is made of: each part is counted once, and all documents are made from it."""

    outcome: OutcomeKind
    selected: str | None
    by: By | None
    stood: Standing
    options: Choices
    cast: tuple[Vote, ...]
    judge: tuple[Turn, str] | None  # the verdict that was given, and what it chooses
    moved: tuple[Row, ...]
    quotes: Quotes


def find(debate: Debate, turns: Sequence[Turn]) -> Findings:
    """The outcome of a debate, and all that it rests on."""
    stood, options = standing(debate, turns), choices(debate, turns)
    cast = votes(debate, turns, options.options, stood.names)
    judge = _judge(debate, turns, options, stood)
    outcome, selected, by = _outcome(debate, turns, stood, cast, judge)
    return Findings(
        outcome,
        selected,
        by,
        stood,
        options,
        tuple(cast),
        judge,
        tuple(moves(debate, turns, stood)),
        check(debate, turns, votable(debate, turns)),
    )


def _outcome(
    debate: Debate,
    turns: Sequence[Turn],
    stood: Standing,
    cast: Sequence[Vote],
    judge: tuple[Turn, str] | None,
) -> tuple[OutcomeKind, str | None, By | None]:
    if cast:
        count = Count.of(len(cast), [vote.counts for vote in cast])
        return count.outcome, count.selected, "jury"
    if judge:
        choice = judge[1]
        if choice == UNDECIDED:
            return "needs_facts", None, "judge"
        behind, of = stood.final.heads(choice), stood.final.stood
        return ("decided" if of and 2 * behind >= of else "contested"), choice, "judge"
    count = positions(debate, turns, stood)
    if not count.valid:
        return "no_verdict", None, "positions" if count.asked else None
    few = 2 * count.valid < count.asked or count.asked == 1
    if few:  # what was said decides, but neither a minority nor a single speaker settles anything
        count = replace(count, asked=count.valid)
    outcome = "contested" if few and count.outcome == "decided" else count.outcome
    return outcome, count.selected, "positions"


def positions(debate: Debate, turns: Sequence[Turn], stood: Standing) -> Count:
    """The positions at the end, counted like votes. Whoever spoke last to say that it is undecided
    is; whoever was not heard has no vote."""
    held = {option: len(group) for option, group, _ in stood.final.options}
    heard = {
        turn.name
        for turn in turns
        if debate.rules.result
        and turn.stage in debate.rules.result.stands
        and turn.status == "ok"
        and turn.data
    }
    standing_ = {stand.role for _, group, _ in stood.final.options for stand in group}
    return Count(len(stood.asked), held, len(heard & set(stood.asked) - standing_))


def _judge(
    debate: Debate, turns: Sequence[Turn], options: Choices, stood: Standing
) -> tuple[Turn, str] | None:
    stage = debate.rules.result.verdict if debate.rules.result else None
    for turn in turns:
        if stage and turn.stage == stage and turn.status == "ok" and turn.data:
            return turn, judged(turn.data, options.options, stood.names)[0]
    return None
