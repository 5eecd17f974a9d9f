"""The database of what programs elsewhere are told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one program elsewhere is told, and how that went."""

    id: str  # of the message: the same at every try
    hook: str  # the entry of hooks.toml
    debate_id: str  # "" of a test
    type: str
    body: str  # JSON, as it is signed and sent
    state: Literal["waiting", "delivered", "given_up"] = "waiting"
    tries: int = 0
    status: int | None = None  # of the last answer
    error: str | None = None  # of the last try
    created_at: str = ""
    delivered_at: str | None = None
    next_at: float = 0.0  # seconds since the epoch


class Deliveries(Protocol):
    """What is told to programs elsewhere: each method one transaction."""

    async def collect(self, wanted: Mapping[str, Sequence[str]]) -> int:
        """Put on record what each hook wants to hear of since the last look; says how many entries
        of the log were looked at."""
        ...

    async def add(self, delivery: Delivery) -> None: ...

    async def take(self, now: float, until: float) -> list[Delivery]:
        """Those that are due, each for one process, which counts as a try."""
        ...

    async def note(self, delivery: Delivery) -> None:
        """How that try went."""
        ...

    async def again(self, id_: str, until: float) -> Delivery:
        """Take it for one process, to be tried anew, whatever became of it."""
        ...

    async def get(self, id_: str) -> Delivery: ...

    async def newest(self, limit: int) -> list[Delivery]: ...
