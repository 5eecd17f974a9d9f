"""Who may speak at the same time in this process: everybody, or one step alone."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Floor:
    """Many waves share it. A step that has lost several workers has it alone: if this process dies
    as well, there is no doubt about which step it died of."""

    def __init__(self) -> None:
        self._turnstile = asyncio.Lock()  # who waits to be alone lets nobody else pass
        self._speaking = 0
        self._empty = asyncio.Event()
        self._empty.set()

    @asynccontextmanager
    async def shared(self) -> AsyncGenerator[None]:
        if self._turnstile.locked():
            async with self._turnstile:
                pass
        self._speaking += 1
        self._empty.clear()
        try:
            yield
        finally:
            self._speaking -= 1
            if not self._speaking:
                self._empty.set()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        async with self._turnstile:
            await self._empty.wait()
            yield
