"""Writes what a worker brings about: to the store, to listeners, and to what the worker knows."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from moot.core import moves
from moot.core.change import Change, Ended, FencedError, Move
from moot.core.debate import Debate
from moot.core.events import TurnCommitted
from moot.core.status import RUNNABLE
from moot.engine import publish
from moot.engine.speaking import Run
from moot.errors import MootError, StorageError
from moot.ports.debate_store import Store
from moot.ports.event_bus import Bus


class Ledger:
    """`note` takes the format and the status of each turn that was committed; `round_ended` the
    debate whose files may show another round."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        note: Callable[[str, str], None] | None,
        round_ended: Callable[[str], None],
    ) -> None:
        self._store = store
        self._bus = bus
        self._note = note
        self._round_ended = round_ended

    async def settle(self, run: Run, ended: Ended, move: Move) -> Change:
        """Write what came of a call; if it cannot be written, at least what the call cost."""
        fence = run.hand.fence
        try:
            return await self.commit(run, move)
        except FencedError:
            await self._store.change(run.debate.id, lambda row: moves.settle(row, fence, ended))
            raise
        except Exception:
            unkept = replace(ended, outcome="failed", error_code=StorageError.code)
            with suppress(MootError):
                if await self._is_open(run.debate.id, ended):
                    await self._store.change(
                        run.debate.id, lambda row: moves.settle(row, fence, unkept)
                    )
            raise

    async def _is_open(self, debate_id: str, ended: Ended) -> bool:
        """Whether a call's end is not on record: it may be, if only the reply to that was lost.

        The others of its wave may have been committed since, so the row alone cannot tell.
        """
        made = await self._store.attempts(debate_id)
        return any(one["n"] == ended.n and one["outcome"] in ("started", "unknown") for one in made)

    async def commit(self, run: Run, move: Move) -> Change:
        """Write a change, and remember where the debate stands after it."""
        change = await self.change(run.debate.id, move)
        before = run.debate
        if _order(change.debate) >= _order(before):  # else a later one was heard of first
            run.debate = change.debate
        if run.debate.status in RUNNABLE and _round_over(before, run.debate):
            self._round_ended(run.debate.id)
        for event in change.events:
            if isinstance(event, TurnCommitted):
                run.heard.add(event.turn)
                if self._note:
                    self._note(run.debate.format, event.turn.status)
        return change

    async def change(self, debate_id: str, move: Move) -> Change:
        change = await self._store.change(debate_id, move)
        publish.tell(self._bus, change.events)
        return change


def _round_over(before: Debate, after: Debate) -> bool:
    """Whether the last turn of a round was committed between the two."""
    went_on = after.turn_count > before.turn_count
    return went_on and after.cursor.next_round != before.cursor.next_round


def _order(debate: Debate) -> tuple[int, int, int, int]:
    """Which of two states of a debate came first, of those that one worker brings about."""
    return debate.fence, debate.last_seq, debate.usage.calls, -debate.open_calls
