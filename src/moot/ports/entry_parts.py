"""What `Moot` has for nouns of their own: agents, stations, and links."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from moot.core.link import Link
from moot.stations.station import Brought, Conversation, Programme, Station

Noun = TypeVar("Noun")


class Library(Protocol[Noun]):
    """Agents or stations: what is kept under an id of its own."""

    async def create(self, asked: Mapping[str, Any], /) -> Noun:
        """Make one. Its id is given, or follows from its name."""
        ...

    async def get(self, id_: str, /) -> Noun: ...

    async def all(self) -> list[Noun]:
        """All of them, by name."""
        ...

    async def change(self, id_: str, asked: Mapping[str, Any], /) -> Noun:
        """Change what is given, and leave the rest."""
        ...

    async def delete(self, id_: str, /) -> None: ...

    async def bring(self, text: str, /) -> Brought:
        """Import TOML: what is new is made, an id that exists is changed; all of it or nothing."""
        ...

    async def take(self, ids: Sequence[str] = (), /) -> str:
        """Export those, or all, as TOML."""
        ...


class Stations(Library[Station], Protocol):
    """The stations, and what they air."""

    async def schedule(
        self,
        station_id: str,
        *,
        motion: str | None = None,
        agents: Sequence[str] = (),
        at: str | None = None,
    ) -> Conversation:
        """Add a conversation. What is not given comes from the pool, and airs when it can."""
        ...

    async def air(self, station_id: str) -> Conversation:
        """Air what waits first, or the pool's next; returns what is on air already, if any."""
        ...

    async def run(self, conversation_id: str) -> Conversation:
        """Air this one now, or next if another is on air."""
        ...

    async def cancel(self, conversation_id: str) -> Conversation:
        """Take a conversation that waits off the programme."""
        ...

    async def conversation(self, conversation_id: str) -> Conversation: ...

    async def reorder(self, station_id: str, ids: Sequence[str]) -> list[Conversation]:
        """Give what waits another order; the times stay."""
        ...

    async def programme(self, station_id: str, past: int = 20) -> Programme: ...


class Links(Protocol):
    """Links to debates, for guests."""

    async def make(self, debate_id: str, *, seat: str | None = None) -> tuple[Link, str]:
        """A link to a debate, and its token, which is shown this once. Whoever holds the token can
        read the debate and, with a `seat`, speak for that human seat; and nothing else."""
        ...

    async def of(self, debate_id: str) -> list[Link]:
        """The links of a debate that are not revoked, oldest first."""
        ...

    async def revoke(self, debate_id: str, link_id: str) -> None:
        """End a link: whoever holds it is refused from now on. Raises NotFoundError if the debate
        has no such link."""
        ...
