"""The files beside the database, and whole debates as zips."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from moot.core.debate import Debate, Turn
from moot.core.events import Event
from moot.core.followups import Followup
from moot.render.reading import Read, Reading


@dataclass(frozen=True, slots=True)
class Filed:
    """What became of the report among a debate's files."""

    summary: str
    error: str | None = None  # why there is none
    read: Read = None  # what a model wrote of the debate, as its files show it


GONE_SECONDS = 600.0
"""How long after a debate was deleted files of it may still turn up."""


class Records(Protocol):
    """The files beside the database."""

    def file(
        self,
        debate: Debate,
        turns: Sequence[Turn],
        events: Sequence[Event] = (),
        read: Read = None,
        *,
        ahead: bool = False,
        anew: bool = False,
    ) -> Filed | None:
        """Write all files of a debate, each whole or not at all. Blocking.

        `events` is what the log holds beside the turns. A report that cannot be made is left out.
        Returns None if somebody filed what came later. `ahead` of its commit, a decision is filed
        only if there is none: of two workers, the first one's stands. A report by a model that is
        there already stays, if `read` is older or nothing; `anew` replaces it.
        """
        ...

    def folder(self, debate_id: str) -> str: ...

    def keep_followups(self, debate_id: str, asked: Sequence[Followup]) -> None:
        """Write what was asked about a debate beside its files, which stay. Blocking."""
        ...

    def remove(self, debate_id: str, *, record: bool) -> None:
        """Remove all files of a debate, and its record if asked for. Blocking."""
        ...

    def last_seq(self, debate_id: str) -> int:
        """Up to which entry of the log the files go; 0 if there are none. Blocking."""
        ...

    def reading(self, debate: Debate) -> Reading | None:
        """What a model wrote of the debate as it stands, if its files hold that. Blocking."""
        ...

    def ended_at(self, debate: Debate) -> str | None:
        """When the debate was decided by its files, if they go that one entry further than the
        database. Blocking."""
        ...

    def check(self) -> None:
        """Raises StorageError if the files of a debate could not be written now. Blocking."""
        ...


class Bundles(Protocol):
    """Debates as zips of their folders."""

    async def pack(self, debate: Debate) -> bytes: ...

    async def bring(self, data: bytes, at: str) -> Debate:
        """The debate of a zip, once its files and rows are here: all or nothing. Raises InputError
        if it is not one, and StateError if its id is taken."""
        ...
