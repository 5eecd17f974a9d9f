"""How votes become an outcome: hand-made tables at each edge, and what no vote may do."""

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moot.core.answers import UNDECIDED
from moot.outcome.count import Count

U, NONE = UNDECIDED, None

TABLE: dict[str, tuple[list[str | None], str, str | None]] = {
    # a jury of three decides only 3-0
    "3-0": (["A", "A", "A"], "decided", "A"),
    "2-1, margin 1": (["A", "A", "B"], "contested", "A"),
    "2-0, one flip or one ballot missing": (["A", "A", NONE], "contested", "A"),
    "1-1-1": (["A", "B", "C"], "deadlock", None),
    "1-1, one missing": (["A", "B", NONE], "deadlock", None),
    "1-0, two missing": (["A", NONE, NONE], "no_verdict", None),
    "all flipped": ([NONE, NONE, NONE], "no_verdict", None),
    "2 undecided of 3": (["A", U, U], "needs_facts", None),
    "1 undecided of 3, 2-0": (["A", "A", U], "contested", "A"),
    "1 undecided of 2 that count: half": (["A", U, NONE], "needs_facts", None),
    "all undecided": ([U, U, U], "needs_facts", None),
    # four: ties, half
    "2-2": (["A", "A", "B", "B"], "deadlock", None),
    "3-1, margin 2": (["A", "A", "A", "B"], "decided", "A"),
    "3-0, one missing": (["A", "A", "A", NONE], "decided", "A"),
    "2-1-1, half is no majority": (["A", "A", "B", "C"], "deadlock", None),
    "half undecided": (["A", "A", U, U], "needs_facts", None),
    "half without a vote": (["A", "A", NONE, NONE], "contested", "A"),
    "more than half without a vote": (["A", NONE, NONE, NONE], "no_verdict", None),
    # five
    "3-2, margin 1": (["A", "A", "A", "B", "B"], "contested", "A"),
    "3-1-1, margin 2": (["A", "A", "A", "B", "C"], "decided", "A"),
    "4-1": (["A", "A", "A", "A", "B"], "decided", "A"),
    "3-1, one flip: margin 1": (["A", "A", "A", "B", NONE], "contested", "A"),
    "4-0, one flip": (["A", "A", "A", "A", NONE], "decided", "A"),
    "3-0, two flips: margin 1": (["A", "A", "A", NONE, NONE], "contested", "A"),
    "2-0, three missing": (["A", "A", NONE, NONE, NONE], "no_verdict", None),
    "2-1, two missing: a majority of the votes": (["A", "A", "B", NONE, NONE], "contested", "A"),
    "2-2-1": (["A", "A", "B", "B", "C"], "deadlock", None),
    "3 and 2 undecided: margin 1": (["A", "A", "A", U, U], "contested", "A"),
    # one, two, nobody
    "one juror": (["A"], "decided", "A"),
    "one juror, undecided": ([U], "needs_facts", None),
    "2-0": (["A", "A"], "decided", "A"),
    "1-1": (["A", "B"], "deadlock", None),
    "1-0, one missing": (["A", NONE], "contested", "A"),
    "nobody": ([], "no_verdict", None),
}


@pytest.mark.parametrize("case", TABLE)
def test_each_outcome_at_its_edges(case: str) -> None:
    cast, outcome, selected = TABLE[case]
    count = Count.of(len(cast), cast)
    assert (count.outcome, count.selected) == (outcome, selected)


def test_the_alphabet_settles_nothing() -> None:
    assert Count.of(4, ["B", "A", "B", "A"]).leader is None
    assert Count.of(4, ["B", "A", "B", "A"]).selected is None


def test_the_margin_counts_who_has_no_vote_against_the_first() -> None:
    assert Count.of(5, ["A", "A", "A", "B", None]).margin == 1
    assert Count.of(5, ["A", "A", "A", "B", "C"]).margin == 2
    assert Count.of(3, ["A", "A", UNDECIDED]).margin == 1


VOTES = st.lists(st.sampled_from(["A", "B", "C", UNDECIDED, None]), min_size=1, max_size=11)
CLEAR = st.builds(lambda most, rest: ["A"] * most + rest, st.integers(1, 8), VOTES | st.just([]))


@given(CLEAR)
def test_a_ballot_for_the_leader_never_makes_it_less(cast: list[str | None]) -> None:
    before = Count.of(len(cast), cast)
    assume(before.selected is not None)
    after = Count.of(len(cast) + 1, [*cast, before.selected])
    assert after.selected == before.selected
    if before.outcome == "decided":
        assert after.outcome == "decided"


@given(CLEAR)
def test_one_who_comes_round_to_the_leader_never_makes_it_less(cast: list[str | None]) -> None:
    before = Count.of(len(cast), cast)
    assume(before.outcome == "decided")
    for place in range(len(cast)):
        joined = [*cast[:place], before.selected, *cast[place + 1 :]]
        assert Count.of(len(joined), joined).outcome == "decided"


@given(VOTES, st.randoms(use_true_random=False))
def test_the_order_of_votes_never_matters(cast: list[str | None], chance: Random) -> None:
    shuffled = list(cast)
    chance.shuffle(shuffled)
    one, other = Count.of(len(cast), cast), Count.of(len(cast), shuffled)
    assert (one.outcome, one.selected, one.margin, one.split) == (
        other.outcome,
        other.selected,
        other.margin,
        other.split,
    )


@given(VOTES)
def test_what_is_decided_has_more_than_half_of_all_who_were_asked(cast: list[str | None]) -> None:
    count = Count.of(len(cast), cast)
    if count.outcome == "decided":
        assert 2 * count.votes[count.selected or ""] > count.asked
    if count.outcome in ("deadlock", "needs_facts", "no_verdict"):
        assert count.selected is None
