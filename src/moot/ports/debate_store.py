"""The database of debates, and what its rows say beside the debates themselves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from moot.core import prices
from moot.core.change import Change, Ended
from moot.core.debate import NO_USAGE, Debate, Turn, Usage, Writing
from moot.core.events import Event
from moot.core.followups import Followup
from moot.core.link import Link
from moot.core.sources import Source
from moot.outcome.calibration import Noted
from moot.ports.finding import Found, Line, Search
from moot.render.reading import Read, Reading, writing


@dataclass(frozen=True, slots=True)
class Once:
    """A request that may come twice and shall be carried out once."""

    key: str
    digest: str  # of all that was asked for
    seconds: float | None = None  # how long the key holds from then on; None: for good


@dataclass(frozen=True, slots=True)
class Held:
    """What the row says of a debate that somebody has in hand."""

    fence: int
    wanted: str | None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A debate that somebody should be advancing, or one that paused with calls still open."""

    id: str
    state: tuple[int, int]  # fence and last seq: as long as they stay, nothing has happened to it
    lease_owner: str | None
    lease_until: float
    waited: bool  # until now, to try again: nobody has been told that it may


@dataclass(frozen=True, slots=True)
class Logged:
    """One entry of the log of all debates."""

    position: int  # grows with every commit, whichever debate it is of
    debate_id: str
    seq: int


ReportState = Literal["making", "made", "failed"]


@dataclass(frozen=True, slots=True)
class ReportRow:
    """How the report of a debate that has ended stands."""

    debate_id: str
    state: ReportState  # of the last try; making, and not until later: wanted
    method: Literal["extraction", "model"]  # of the report that there is
    model: str | None  # that is to write it, or wrote it
    summary: str = ""  # its beginning, for lists
    read: Read = None  # what a model wrote, of whichever try
    error: str | None = None  # why the last try failed
    tries: int = 0  # calls that were begun: whoever ends one says which
    until: float = 0.0  # of making: when another may try
    usage: Usage = NO_USAGE  # of all calls for it
    made_at: str = ""

    @property
    def writing(self) -> Writing | None:
        """What it took, if a model was called for it."""
        if not self.usage.calls:
            return None
        if self.read is None:
            return Writing(self.usage, local=prices.runs_on(self.model or ""))
        return replace(writing(self.read), usage=self.usage)

    @staticmethod
    def written(debate_id: str, read: Reading, summary: str) -> "ReportRow":
        """A report that a model has written."""
        return ReportRow(
            debate_id, "made", "model", read.model, summary, read,
            tries=read.usage.calls, usage=read.usage, made_at=read.made_at,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FollowupRow:
    """A question about a debate that has ended, and who is at it."""

    debate_id: str
    followup: Followup
    attempt: int = 0  # its last call, among the attempts of the debate
    tries: int = 0  # calls that were begun
    until: float = 0.0  # of asking: when another process may try
    owner: str | None = None  # the process that asks
    key: str | None = None  # that it came with
    filed: bool = False  # whether the debate's file shows it
    began: str = ""  # its last call; not kept


class Store(Protocol):
    """The truth. Each method is one transaction; a method that raises has changed nothing."""

    async def create(
        self, debate: Debate, change: Callable[[Debate], Change], once: Once | None = None
    ) -> Change:
        """Make a debate or, if `once` is known already, return the one it made.

        Raises ConflictError if the same key came with something else.
        """
        ...

    async def made(self, once: Once, at: str) -> Debate | None:
        """The debate that this request made when it first came, if its key still holds `at` that
        time. Raises ConflictError if the key came with something else."""
        ...

    async def change(
        self, debate_id: str, move: Callable[[Debate], Change], once: Once | None = None
    ) -> Change:
        """Ask a move for the change, under the debate's lock, and write all of it.

        If `once` is known already, nothing is written, and the debate returned as it is. Raises
        ConflictError if the same key came with something else.
        """
        ...

    async def claim(
        self, debate_id: str, move: Callable[[Debate, int], Change], known: Debate | None = None
    ) -> tuple[Change, list[Turn] | None]:
        """The same, and what was said before: whoever takes a debate has to hear it.

        The move is also told how many calls of other steps were lost with the debate's open ones.
        No turns are returned if the debate still stands as it is `known`: nothing was said since.
        """
        ...

    async def load(self, debate_id: str) -> Debate: ...

    async def find(self, search: Search) -> Found:
        """A page of debates, newest first. What it costs does not grow with their number."""
        ...

    async def lines(self, debates: Sequence[Debate]) -> dict[str, Line]:
        """What lists show of those debates beside them."""
        ...

    async def models(self) -> list[str]:
        """The models that sit or spoke in any debate."""
        ...

    async def label(self, debate_id: str, move: Callable[[Debate], Debate]) -> Debate:
        """Change title, tags and whether it is archived, under the debate's lock."""
        ...

    async def tags(self) -> list[str]: ...

    async def index(self) -> list[str] | None:
        """Add some of what was said since to what can be searched. Returns the debates of which
        lists show more now, or None if nothing was left to add."""
        ...

    async def turns(self, debate_id: str, after: int = 0) -> list[Turn]: ...

    async def events(self, debate_id: str, after: int = 0, limit: int = 500) -> list[Event]: ...

    async def last_seq(self, debate_id: str) -> int:
        """The last seq of the log itself, whatever the debate's row says."""
        ...

    async def reached(self, debate_ids: Sequence[str]) -> dict[str, int]:
        """The last seq of each of those debates, as their rows say."""
        ...

    async def logged(self, after: int) -> list[Logged]:
        """What any process added to any debate's log, in the order of commit."""
        ...

    async def last_logged(self) -> int:
        """Where the log of all debates ends now."""
        ...

    async def counts(self) -> dict[str, int]:
        """How many debates there are, by status."""
        ...

    async def ping(self) -> None:
        """Raises StorageError if nothing could be written now."""
        ...

    async def attempts(self, debate_id: str) -> list[dict[str, Any]]: ...

    async def actions(self, debate_id: str) -> list[dict[str, Any]]: ...

    async def records(
        self, words: str, limit: int, hidden: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """The records that contain every word, newest first."""
        ...

    async def hindsight_of(self, debate_id: str) -> Noted | None:
        """What somebody noted of a decision later."""
        ...

    async def hindsights(self) -> list[Noted]: ...

    async def keep_hindsight(self, note: Noted) -> None: ...

    async def forget_hindsight(self, debate_id: str) -> None: ...

    async def keep_link(self, link: Link, token_hash: str) -> None:
        """Raises StateError if the debate has too many already."""
        ...

    async def links(self, debate_id: str) -> list[Link]: ...

    async def link_of(self, token_hash: str) -> Link | None: ...

    async def living_links(self, ids: Sequence[str]) -> set[str]:
        """Those of the links that nobody has revoked."""
        ...

    async def forget_link(self, debate_id: str, link_id: str) -> bool:
        """Returns whether the debate had that link."""
        ...

    async def keep_upload(self, upload: str, source: Source, at: str) -> None:
        """Keep a document that was sent, for a debate that may name it."""
        ...

    async def upload_of(self, upload: str) -> Source | None: ...

    async def sweep_uploads(self, before: str) -> None:
        """Forget uploads from before that time, and the texts that no debate reads."""
        ...

    async def unfinished(self, now: float) -> list[Unfinished]:
        """Debates that somebody should be advancing by now, and those that paused with calls still
        open."""
        ...

    async def unfiled(self) -> list[str]:
        """Debates that have ended and whose files do not show it yet, and those that were deleted
        and whose files may still be there."""
        ...

    async def filed(
        self, debate: Debate, report: ReportRow | None = None, read: Read = None
    ) -> None:
        """Note that the files show a debate as it was then, with what a model had `read` in it;
        and its report, if there is no note of one yet, or if it could not be made before.

        Nothing is noted if more was counted or written of it since: the files are to be made again.
        """
        ...

    async def reports(self, debate_ids: Sequence[str]) -> dict[str, ReportRow]:
        """How the reports of those debates stand, of those that have ended."""
        ...

    async def change_report(
        self,
        debate_id: str,
        move: Callable[[ReportRow | None], ReportRow],
        *,
        refile: bool = False,
    ) -> ReportRow:
        """Change how a report stands, under the debate's lock; `refile`: its files are outdated."""
        ...

    async def wanted_reports(self, now: float) -> list[str]:
        """Debates whose report is to be made, and nobody is at it."""
        ...

    async def ask(
        self,
        debate_id: str,
        make: Callable[[Debate, Sequence[FollowupRow]], FollowupRow],
        once: Once | None = None,
    ) -> tuple[FollowupRow, bool]:
        """Put a question and its first call on record, under the debate's lock; `make` is told
        which were asked before. If `once` is known, returns what came of it. Says whether it is
        new."""
        ...

    async def followups(self, debate_id: str) -> list[FollowupRow]: ...

    async def followups_left(self) -> list[FollowupRow]:
        """Those that are being answered, and those that the files do not show yet."""
        ...

    async def change_followup(
        self,
        debate_id: str,
        number: int,
        move: Callable[[FollowupRow], FollowupRow],
        ended: Ended | None = None,
        *,
        call: bool = False,
    ) -> FollowupRow:
        """Change how a question stands, with the end of a call; `call`: and its next one."""
        ...

    async def followups_filed(self, debate_id: str, numbers: Sequence[int]) -> None: ...

    async def held(self, owner: str) -> dict[str, Held]: ...

    async def delete(
        self, debate_id: str, check: Callable[[Debate], None], at: str, *, record: bool
    ) -> None:
        """Delete all rows of a debate that `check` does not refuse, but its record unless that is
        asked for; and note that its files are to go. Deleted before, it stays so."""
        ...

    async def deleted(self) -> list[tuple[str, str, bool]]:
        """Debates whose files may still be there: since when, and whether their record goes."""
        ...

    async def is_deleted(self, debate_id: str) -> bool: ...

    async def removed(self, debate_id: str) -> None:
        """The files of a deleted debate are gone, and nobody can write them any more."""
        ...

    async def renew(self, owner: str, debate_ids: Sequence[str], until: float) -> None:
        """Keep those leases alive, of those that the owner still has."""
        ...
