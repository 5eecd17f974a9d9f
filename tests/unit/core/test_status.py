"""The table of transitions: every pair of statuses, allowed or refused."""

from itertools import product

import pytest

from moot.core import verbs
from moot.core.status import FINAL, STATUSES, Status, check
from moot.errors import StateError
from moot.testing.store_contract import AT, a_debate

ALLOWED = {
    ("scheduled", "queued"), ("scheduled", "stopped"),
    ("queued", "running"), ("queued", "stopped"),
    ("running", "paused"), ("running", "ending"), ("running", "completed"),
    ("running", "stopped"), ("running", "failed"),
    ("paused", "running"), ("paused", "ending"), ("paused", "stopped"),
    ("ending", "completed"), ("ending", "failed"), ("ending", "stopped"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), list(product(STATUSES, STATUSES)))
def test_every_pair(before: Status, after: Status) -> None:
    if (before, after) in ALLOWED:
        check(before, after)
    else:
        with pytest.raises(StateError, match=f"{before} cannot become {after}"):
            check(before, after)


@pytest.mark.parametrize("over", sorted(FINAL))
def test_whoever_resumes_what_is_over_is_told_what_else_can_be_done(over: Status) -> None:
    debate = a_debate().but(status=over)
    with pytest.raises(StateError, match=f"is {over}.*`moot rerun {debate.id}`.*`moot fork"):
        verbs.resume(debate, in_flight=False, at=AT)


def test_final_is_final() -> None:
    assert {"completed", "stopped", "failed"} == FINAL
