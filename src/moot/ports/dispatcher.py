"""Gets somebody to advance a debate."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from moot.core.debate import Debate


class Dispatcher(Protocol):
    """Gets somebody to advance a debate. It may do so twice, late or never: the store decides."""

    @property
    def here(self) -> bool:
        """Whether it is this process that advances what it dispatches."""
        ...

    def start(self, advance: Callable[[str], Awaitable[None]]) -> None: ...

    def dispatch(self, debate: Debate) -> None:
        """Have the wave at the debate's cursor spoken."""
        ...

    async def waiting(self) -> int | None:
        """How many waves wait for a worker; None if that cannot be known."""
        ...

    async def idle(self, debate_id: str) -> None:
        """Wait until nothing of this debate is under way here; raises what ended it, if so."""
        ...

    async def close(self) -> None: ...
