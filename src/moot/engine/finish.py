"""After the last turn: what was said goes into files."""

import asyncio
from collections.abc import Sequence

from moot.core import council, moves, packet
from moot.core.debate import Debate, Decision, Phase, Turn
from moot.core.events import StatusChanged
from moot.core.moves import Change, Decided, Record
from moot.engine import failpoints
from moot.ports import Records, Store


async def file(store: Store, records: Records, debate: Debate) -> None:
    """Write the debate's files as it stands now, and note up to where they go."""
    if debate.files_seq >= debate.last_seq:
        return
    # only what this state of the debate knows of: it may have gone on since
    turns = [turn for turn in await store.turns(debate.id) if turn.seq <= debate.last_seq]
    await asyncio.to_thread(records.file, debate, turns, await said(store, debate))
    failpoints.hit("filed")
    await store.filed(debate.id, debate.last_seq)


def decision(debate: Debate, turns: Sequence[Turn], fence: int, at: str) -> Change:
    """A council brought to its end: consensus, packet and record follow from the turns."""
    consensus, made = council.decided(debate, turns)
    packet.validate(made)
    note = council.record(debate, made)
    record = Record(
        path=council.record_path(debate),
        type=note["type"],
        title=note["title"],
        text=packet.markdown(made),
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
