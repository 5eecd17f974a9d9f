"""After the last turn: what was said goes into files."""

import asyncio

from moot.core.debate import Debate
from moot.engine import failpoints
from moot.ports import Records, Store


async def file(store: Store, records: Records, debate: Debate) -> None:
    """Write the debate's files as it stands now, and note up to where they go."""
    if debate.files_seq >= debate.last_seq:
        return
    turns = await store.turns(debate.id)
    await asyncio.to_thread(records.file, debate, turns)
    failpoints.hit("filed")
    await store.filed(debate.id, debate.last_seq)
