"""Brings a debate to its end: the phases it has been through, its packet and its record."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from moot.core import depth, moves, schedule
from moot.core.change import Change, Decided
from moot.core.debate import Debate, Failure, Phase, Turn
from moot.core.events import Event, TurnCommitted
from moot.core.phases import phases, phases_due, stages_over
from moot.core.status import StopReason
from moot.core.times import iso
from moot.engine import failpoints
from moot.engine.finish import said
from moot.engine.ledger import Ledger
from moot.engine.speaking import Run
from moot.errors import MootError, PacketError, StorageError
from moot.outcome import packet
from moot.outcome.result import result
from moot.outcome.stands import silent
from moot.ports.debate_files import Records
from moot.ports.debate_store import Store
from moot.ports.instruments import Clock
from moot.render import packet_text


class Conclusion:
    """How a worker ends a debate that asks for nothing more, or cannot go on."""

    def __init__(self, store: Store, records: Records, clock: Clock, ledger: Ledger) -> None:
        self._store = store
        self._records = records
        self._clock = clock
        self._ledger = ledger

    async def reach(self, run: Run) -> bool:
        """Log the phases that a council has been through; False if nobody took a position."""
        debate, fence, at = run.debate, run.hand.fence, iso(self._clock.now())
        due = phases_due(debate, run.heard.turns, at)
        if not due:
            return True
        rules = depth.effective(debate, run.heard.turns).rules
        if not silent(rules, run.heard.turns, stages_over(debate)):
            await self._ledger.commit(run, lambda row: moves.reach(row, fence, due, at))
            return True
        codes = [turn.error_code for turn in run.heard.turns if turn.error_code]
        result, words = debate.rules.result, "Nobody spoke, so there is nothing to judge."
        if result and result.stands:
            stage = debate.rules.stage(result.stands[-1]).heading
            words = f"Nobody took a position in {stage.lower()}, so there is nothing to decide on."
        code = codes[-1] if codes else PacketError.code
        failure = Failure(code, words, "", "", len(codes), at)
        await self.fail(run, "provider_failed" if codes else "structural_failure", failure, due)
        return False

    async def finish(self, run: Run) -> None:
        """Nothing more is asked for. A packet that cannot be made or filed stops the run."""
        debate, fence, at = run.debate, run.hand.fence, iso(self._clock.now())
        turns = list(run.heard.turns)
        if not moves.decides(debate):
            reason = _reason(debate, turns)
            await self._ledger.commit(run, lambda row: moves.finish(row, fence, reason, at))
            return
        # a worker may have filed the decision and died before the commit: it stands as filed
        at = await asyncio.to_thread(self._records.ended_at, run.debate) or at
        try:
            ending = decision(debate, turns, fence, at)
        except PacketError as error:
            unmade = [Phase("Packetize", at, "failed")]
            await self.fail(run, "structural_failure", failure_of(error, 1, at), unmade)
            return
        if ending.decided:  # a stop that was asked for before is filed once it is committed
            events = await said(self._store, debate)
            events += [event for event in ending.events if not isinstance(event, TurnCommitted)]
            try:
                at = await asyncio.to_thread(self._filed, debate, ending.debate, turns, events)
            except StorageError as error:
                unwritten = last_phases(debate, at, "failed")
                await self.fail(run, "structural_failure", failure_of(error, 1, at), unwritten)
                return
            failpoints.hit("filed")
        await self._ledger.commit(run, lambda row: decision(row, turns, fence, at))

    def _filed(self, debate: Debate, ended: Debate, turns: list[Turn], events: list[Event]) -> str:
        """File a decision ahead of its commit. Returns when it was made: if another worker was
        faster, its decision stands."""
        self._records.file(ended, turns, events, ahead=True)
        return self._records.ended_at(debate) or ended.ended_at or ended.updated_at

    async def fail(
        self, run: Run, reason: StopReason, failure: Failure, phases: list[Phase] | None = None
    ) -> None:
        """The debate cannot be brought to its end."""
        fence = run.hand.fence
        await self._ledger.commit(
            run,
            lambda row: moves.finish(
                row, fence, reason, failure.at, failure=failure, phases=phases or ()
            ),
        )


def decision(debate: Debate, turns: Sequence[Turn], fence: int, at: str) -> Change:
    """A debate with an outcome brought to its end: all of that follows from the turns."""
    came_to = result(debate, turns)
    if came_to.packet is not None:
        packet.validate(came_to.packet)
    actions = came_to.packet["nextActions"] if came_to.packet else ()
    return moves.finish(
        debate,
        fence,
        _reason(debate, turns),
        at,
        phases=last_phases(debate, at),
        outcome=came_to.decision,
        decided=Decided(tuple(actions), packet_text.note(came_to)),
    )


def last_phases(debate: Debate, at: str, last: Literal["ok", "failed"] = "ok") -> list[Phase]:
    """What follows the stages: the packet is valid, and the record written or not."""
    states = [state for state in phases(debate) if state in ("Packetize", "Writeback")]
    return [Phase(state, at, last if state == states[-1] else "ok") for state in states]


def _reason(debate: Debate, turns: Sequence[Turn]) -> StopReason:
    answers = schedule.answers_in(turns, debate.round)
    return schedule.reason(debate, agrees=schedule.agreed(debate, debate.stage, answers))


def failure_of(error: MootError, tries: int, at: str) -> Failure:
    """What went wrong and was no speaker's fault."""
    return Failure(error.code, error.message, "", "", tries, at)
