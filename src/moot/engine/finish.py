"""After the last turn: what was said goes into files."""

import asyncio
from collections.abc import Callable, Sequence

from moot.core import council, moves, packet
from moot.core.change import Change, Decided, Record
from moot.core.debate import Debate, Decision, Phase, Turn
from moot.core.events import StatusChanged
from moot.core.status import FINAL
from moot.engine import failpoints
from moot.ports import Filed, Records, ReportRow, Store

PATIENCE_SECONDS = 1.0


class Filer:
    """Writes the files of debates that have come to rest, one at a time and nothing twice.

    While others of this process still speak, it waits a moment: words first, then paper. `model`
    is to write the reports of those that have ended, where one is.
    """

    def __init__(
        self, store: Store, records: Records, busy: Callable[[], bool], model: str | None = None
    ) -> None:
        self._model = model
        self._store = store
        self._records = records
        self._busy = busy
        self._turn = asyncio.Semaphore(1)

    async def file(self, debate_id: str) -> None:
        """Write the debate's files as it stands now, and note up to where they go."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_SECONDS
        async with self._turn:
            while self._busy() and loop.time() < until:  # noqa: ASYNC110  many things end it
                await asyncio.sleep(0.02)
            debate = await self._store.load(debate_id)
            if debate.files_seq >= debate.last_seq or not at_rest(debate):
                return
            turns = await self._store.turns(debate_id)
            # only what this state of the debate knows of: it may have gone on since
            turns = [turn for turn in turns if turn.seq <= debate.last_seq]
            events = await said(self._store, debate)
            ended = debate.status in FINAL
            known = (await self._store.reports([debate_id])).get(debate_id) if ended else None
            read = known.read if known else None
            filed = await asyncio.to_thread(self._records.file, debate, turns, events, read)
            failpoints.hit("filed")
            report = self._report(debate, filed) if ended and filed else None
            await self._store.filed(debate_id, debate.last_seq, report)

    def _report(self, debate: Debate, filed: Filed) -> ReportRow:
        """How its report stands: by extraction, made; by a model, wanted."""
        wanted = bool(self._model and debate.turns)
        return ReportRow(
            debate.id,
            "failed" if filed.error else "making" if wanted else "made",
            "extraction",
            self._model if wanted else None,
            filed.summary,
            error=filed.error,
            made_at=debate.ended_at or debate.updated_at,
        )


def at_rest(debate: Debate) -> bool:
    """Whether nobody is to advance it: it has ended, or waits for a person."""
    return debate.status in FINAL or debate.status == "paused"


def decision(debate: Debate, turns: Sequence[Turn], fence: int, at: str) -> Change:
    """A council brought to its end: consensus, packet and record follow from the turns."""
    consensus, made = council.decided(debate, turns)
    packet.validate(made)
    note = council.record(debate, made)
    record = Record(
        path=council.record_path(debate),
        type=note["type"],
        title=note["title"],
        text=packet.markdown(made, consensus["missing"]),
        created_at=note["createdAt"],
    )
    outcome = Decision(
        consensus["consensusScore"],
        consensus["confidenceScore"],
        made["decision"]["selectedOption"],
    )
    phases = [Phase(state, at, "ok") for state in ("Packetize", "Writeback")]
    return moves.decide(
        debate, fence, outcome, Decided(tuple(made["nextActions"]), record), phases, at
    )


async def said(store: Store, debate: Debate) -> list[StatusChanged]:
    """What the log holds beside the turns."""
    found: list[StatusChanged] = []
    after = 0
    while after < debate.last_seq and (events := await store.events(debate.id, after)):
        found += [e for e in events if isinstance(e, StatusChanged) and e.seq <= debate.last_seq]
        after = events[-1].seq
    return found
