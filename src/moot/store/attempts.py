"""Every model call on record: before it is made, and how it ended."""

from typing import Any

from sqlalchemy import Text, bindparam, func, or_, select, text, update

from moot.core.change import Attempt, Ended
from moot.core.debate import NO_USAGE, Debate
from moot.store.query import Connection, Query, adding, by
from moot.store.rows import picked, usage_row
from moot.store.tables import attempts

_ENDED = (
    "outcome", "error_code", "input_tokens", "output_tokens", "thinking_tokens", "cost_usd",
    "estimated", "ended_at",
)  # fmt: skip
START = adding(attempts)
END = Query(
    update(attempts)
    .where(
        attempts.c.debate_id == bindparam("b_debate_id"),
        attempts.c.n == bindparam("b_n"),
        # whoever made the call knows better than whoever thought it lost
        or_(attempts.c.outcome == "started", attempts.c.outcome == "unknown"),
    )
    .values({name: bindparam(name) for name in _ENDED})
    .values(model=func.coalesce(bindparam("model", type_=Text), attempts.c.model))
)
END_OPEN = Query(
    update(attempts)
    .where(attempts.c.debate_id == bindparam("b_debate_id"), attempts.c.outcome == "started")
    .values(outcome=bindparam("new_outcome"), ended_at=bindparam("ended_at"))
)
LOST = Query(
    # calls that a process began and did not end: of one that is gone, those it was making then
    select(func.count().label("calls")).where(
        attempts.c.owner == bindparam("owner"),
        text("outcome IN ('started', 'unknown')"),  # as its index says
        attempts.c.debate_id != bindparam("debate_id"),
    )
)
OF_DEBATE = Query(by(attempts.c.debate_id).order_by(attempts.c.n))


def start(conn: Connection, debate_id: str, attempt: Attempt) -> None:
    row = {
        **picked(attempt, ("n", "fence", "model", "started_at", "owner")),
        **picked(attempt.step, ("round", "stage", "actor", "target")),
        **usage_row(NO_USAGE),
        "debate_id": debate_id,
        "outcome": "started",
        "error_code": None,
        "ended_at": None,
    }
    START.run(conn, row)


def end(conn: Connection, debate_id: str, ended: Ended) -> None:
    row = {"b_debate_id": debate_id, "ended_at": ended.at}
    if ended.n is None:
        END_OPEN.run(conn, {**row, "new_outcome": ended.outcome})
        return
    told = picked(ended, ("outcome", "error_code", "model"))
    END.run(conn, {**row, **told, **usage_row(ended.usage), "b_n": ended.n})


def lost_beside(conn: Connection, debate: Debate) -> int:
    """How many calls of other debates were lost with those of this one, by the same process."""
    params = {"owner": debate.lease_owner, "debate_id": debate.id}
    return LOST.rows(conn, params)[0]["calls"]


def of_debate(conn: Connection, debate_id: str) -> list[dict[str, Any]]:
    return OF_DEBATE.rows(conn, {"debate_id": debate_id})
