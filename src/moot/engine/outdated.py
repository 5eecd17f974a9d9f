"""Debates whose files hold more than the database, which was restored from an older copy."""

import asyncio
from collections.abc import Awaitable, Callable

from moot.core import moves
from moot.core.change import BehindError
from moot.core.debate import Debate
from moot.ports.debate_files import Records


async def behind(
    records: Records, debate: Debate, load: Callable[[], Awaitable[Debate]]
) -> BehindError | None:
    """What is wrong if a debate is behind its files: then nobody may continue or change it.

    It is loaded again before that is said: it may have been committed and filed in between.
    """
    filed = await asyncio.to_thread(records.last_seq, debate.id)
    if not moves.behind(debate, filed):
        return None
    debate = await load()
    error = BehindError(debate, filed)
    return error if moves.behind(debate, filed) and await stands(records, error) else None


async def stands(records: Records, error: BehindError) -> bool:
    """Whether the files are really ahead, and do not just hold the decision to be committed."""
    if not moves.concludes(error.debate, error.filed):
        return True
    return await asyncio.to_thread(records.ended_at, error.debate) is None
