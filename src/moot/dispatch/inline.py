"""Advances debates in this process, one task each."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from moot.core.debate import Debate

log = logging.getLogger(__name__)


class InlineDispatcher:
    """A debate that is dispatched while its task runs is looked at once more when that ends."""

    def __init__(self) -> None:
        self._advance: Callable[[str], Awaitable[None]] | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._errors: dict[str, Exception] = {}
        self._closed = False

    def start(self, advance: Callable[[str], Awaitable[None]]) -> None:
        self._advance = advance

    @property
    def here(self) -> bool:
        return True

    async def waiting(self) -> int | None:
        return None

    def dispatch(self, debate: Debate) -> None:
        debate_id = debate.id
        if self._closed:
            return
        if debate_id in self._tasks:
            self._again.add(debate_id)
            return
        self._errors.pop(debate_id, None)
        task = asyncio.create_task(self._run(debate_id), name=f"advance {debate_id}")
        self._tasks[debate_id] = task

    async def idle(self, debate_id: str) -> None:
        while task := self._tasks.get(debate_id):
            await asyncio.wait([task])
        if error := self._errors.pop(debate_id, None):
            raise error

    async def close(self) -> None:
        """Wait for the tasks to let go of their debates; whoever closes has called them off."""
        self._closed = True
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=5)
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _run(self, debate_id: str) -> None:
        try:
            while True:
                self._again.discard(debate_id)
                if self._advance is not None:
                    await self._advance(debate_id)
                if debate_id not in self._again or self._closed:
                    return
        except Exception as error:
            log.warning("advancing %s ended in an error: %s", debate_id, error)
            self._errors[debate_id] = error
        finally:
            self._again.discard(debate_id)
            del self._tasks[debate_id]
