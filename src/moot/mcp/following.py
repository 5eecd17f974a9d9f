"""A debate as a tool tells of it: as it stands, and followed for as long as a call may take."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from moot.core.debate import Debate
from moot.core.events import StatusChanged, TurnCommitted
from moot.core.followups import Followup
from moot.core.status import FINAL
from moot.mcp.tool_shapes import Standing
from moot.ports.debate_store import Once
from moot.ports.entry_point import Moot

Tell = Callable[[int, int, str], Awaitable[None]]
"""Takes the turns that are done, how many there will be, and who has just spoken."""


def rests(debate: Debate) -> bool:
    return debate.status in FINAL or debate.status == "paused"


def standing(debate: Debate, where: str) -> Standing:
    decided = debate.outcome
    return {
        "id": debate.id,
        "motion": debate.motion,
        "format": debate.format,
        "status": debate.status,
        "rests": rests(debate),
        "waiting_for": debate.waiting_for,
        "turns_done": debate.turn_count,
        "turns_total": debate.total,
        "outcome": decided.outcome if decided else None,
        "selected": decided.selected_option if decided else None,
        "degraded": debate.degraded,
        "problem": debate.failure.message if debate.failure else None,
        "warnings": list(debate.warnings),
        "where": where,
    }


async def waited(moot: Moot, debate_id: str, seconds: float, tell: Tell) -> Debate:
    """The debate once it rests and its report is made, or waits for a person, or as it is after so
    many seconds."""
    debate = await moot.get(debate_id)
    if seconds <= 0:
        return debate
    try:
        async with asyncio.timeout(seconds):
            if not (rests(debate) or debate.waiting_for):
                await _follow(moot, debate, tell)
            return await moot.wait(debate_id)
    except TimeoutError:
        return await moot.get(debate_id)


async def _follow(moot: Moot, debate: Debate, tell: Tell) -> None:
    done = debate.turn_count
    async with aclosing(moot.follow(debate.id, debate.last_seq)) as events:
        async for event in events:
            if isinstance(event, TurnCommitted):
                done += 1
                await tell(done, debate.total, f"{event.turn.name}, {event.turn.stage}")
            elif isinstance(event, StatusChanged) and event.waiting_for:
                return


class Questions:
    """Questions about debates. They are answered even if the call that asked has ended: they are
    paid for."""

    def __init__(self, moot: Moot) -> None:
        self._moot = moot
        self._asked: dict[tuple[str, str], asyncio.Task[Followup]] = {}

    async def ask(
        self, debate_id: str, question: str, seconds: float, once: Once | None
    ) -> Followup | None:
        """What was answered; None if it is not after so many seconds. Who then asks the same waits
        for the same answer."""
        place = debate_id, question
        task = self._asked.get(place)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            asking = self._moot.ask(debate_id, question, once=once)
            task = self._asked[place] = asyncio.ensure_future(asking)
        await asyncio.wait((task,), timeout=seconds)
        if not task.done():
            return None
        self._asked.pop(place, None)
        return task.result()
