"""Every model call on record: before it is made, and how it ended."""

from typing import Any

from sqlalchemy import Text, bindparam, func, insert, or_, select, text, update

from moot.core.change import Attempt, Ended
from moot.core.debate import Debate
from moot.store.query import Connection, Query
from moot.store.tables import attempts

START = Query(
    insert(attempts).values({c.name: bindparam(c.name) for c in attempts.c if c.name != "id"})
)
END = Query(
    update(attempts)
    .where(
        attempts.c.debate_id == bindparam("b_debate_id"),
        attempts.c.n == bindparam("b_n"),
        # whoever made the call knows better than whoever thought it lost
        or_(attempts.c.outcome == "started", attempts.c.outcome == "unknown"),
    )
    .values(
        outcome=bindparam("outcome"),
        error_code=bindparam("error_code"),
        model=func.coalesce(bindparam("model", type_=Text), attempts.c.model),
        input_tokens=bindparam("input_tokens"),
        output_tokens=bindparam("output_tokens"),
        cost_usd=bindparam("cost_usd"),
        estimated=bindparam("estimated"),
        ended_at=bindparam("ended_at"),
    )
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
OF_DEBATE = Query(
    select(attempts).where(attempts.c.debate_id == bindparam("debate_id")).order_by(attempts.c.n)
)


def start(conn: Connection, debate_id: str, attempt: Attempt) -> None:
    START.run(
        conn,
        {
            "debate_id": debate_id,
            "n": attempt.n,
            "fence": attempt.fence,
            "round": attempt.step.round,
            "stage": attempt.step.stage,
            "actor": attempt.step.actor,
            "target": attempt.step.target,
            "model": attempt.model,
            "outcome": "started",
            "error_code": None,
            "input_tokens": 0,
            "output_tokens": 0,
            "cost_usd": 0.0,
            "estimated": 0,
            "started_at": attempt.started_at,
            "ended_at": None,
            "owner": attempt.owner,
        },
    )


def end(conn: Connection, debate_id: str, ended: Ended) -> None:
    if ended.n is None:
        params = {"b_debate_id": debate_id, "new_outcome": ended.outcome, "ended_at": ended.at}
        END_OPEN.run(conn, params)
        return
    END.run(
        conn,
        {
            "b_debate_id": debate_id,
            "b_n": ended.n,
            "outcome": ended.outcome,
            "error_code": ended.error_code,
            "model": ended.model,
            "input_tokens": ended.usage.input_tokens,
            "output_tokens": ended.usage.output_tokens,
            "cost_usd": ended.usage.cost_usd,
            "estimated": int(ended.usage.estimated),
            "ended_at": ended.at,
        },
    )


def lost_beside(conn: Connection, debate: Debate) -> int:
    """How many calls of other debates were lost with those of this one, by the same process."""
    params = {"owner": debate.lease_owner, "debate_id": debate.id}
    return LOST.rows(conn, params)[0]["calls"]


def of_debate(conn: Connection, debate_id: str) -> list[dict[str, Any]]:
    return OF_DEBATE.rows(conn, {"debate_id": debate_id})
