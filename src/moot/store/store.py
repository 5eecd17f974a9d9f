"""The store that the engine sees: each method one transaction on the database."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from moot.core.change import Change, SaidAlreadyError
from moot.core.debate import Debate, Turn
from moot.core.events import Event
from moot.errors import DuplicateError
from moot.ports import Found, Held, Logged, Once, ReportRow, Search, Unfinished
from moot.render.reading import Read
from moot.store import attempts, keys, lists, log, outcomes, reports, runs
from moot.store.database import Database
from moot.store.query import Connection, SqlDatabase


def open_database(
    place: Path | str, connections: int, timed: Callable[[float], None] | None = None
) -> SqlDatabase:
    """The file of that path, or the Postgres of that URL."""
    if isinstance(place, Path):
        return Database(place, timed)
    from moot.store.postgres import PostgresDatabase  # here: its driver is an extra

    return PostgresDatabase(place, connections, timed)


class SqlStore:
    """Debates in a SQL database."""

    def __init__(self, database: SqlDatabase) -> None:
        self._db = database

    async def create(
        self, debate: Debate, change: Callable[[Debate], Change], once: Once | None = None
    ) -> Change:
        def work(conn: Connection) -> Change:
            if once and (known := keys.made_by(conn, once)):
                return Change(runs.load(conn, known))
            runs.create(conn, debate)
            if once:
                keys.keep(conn, once, debate.id, debate.created_at)
            made = change(debate)
            apply(conn, debate, made)
            return made

        try:
            return await self._db.write(work)
        except DuplicateError:
            if once is None:
                raise
        return await self._db.write(work)  # perhaps the same request came at the same moment

    async def claim(
        self, debate_id: str, move: Callable[[Debate, int], Change], known: Debate | None = None
    ) -> tuple[Change, list[Turn] | None]:
        def work(conn: Connection) -> tuple[Change, list[Turn] | None]:
            before = runs.load(conn, debate_id, lock=True)
            made = move(before, attempts.lost_beside(conn, before) if before.open_calls else 0)
            turns = None if _same(before, known) else log.turns_after(conn, debate_id, 0)
            apply(conn, before, made)
            return made, turns

        return await self._db.write(work, debate_id)

    async def change(self, debate_id: str, move: Callable[[Debate], Change]) -> Change:
        def work(conn: Connection) -> Change:
            return _change(conn, debate_id, move)

        try:
            return await self._db.write(work, debate_id)
        except DuplicateError:
            # The last wall held: a turn of this step, or an event of this seq, is there already.
            raise SaidAlreadyError(f"{debate_id}: that turn has been said already") from None

    async def load(self, debate_id: str) -> Debate:
        return await self._db.read(lambda conn: runs.load(conn, debate_id))

    async def find(self, search: Search) -> Found:
        return await self._db.read(lambda conn: lists.find(conn, search))

    async def turns(self, debate_id: str, after: int = 0) -> list[Turn]:
        return await self._db.read(lambda conn: log.turns_after(conn, debate_id, after))

    async def events(self, debate_id: str, after: int = 0, limit: int = 500) -> list[Event]:
        return await self._db.read(lambda conn: log.events_after(conn, debate_id, after, limit))

    async def last_seq(self, debate_id: str) -> int:
        return await self._db.read(lambda conn: log.last_seq(conn, debate_id))

    async def reached(self, debate_ids: Sequence[str]) -> dict[str, int]:
        return await self._db.read(lambda conn: log.reached(conn, debate_ids))

    async def logged(self, after: int) -> list[Logged]:
        return await self._db.read(lambda conn: log.logged(conn, after))

    async def last_logged(self) -> int:
        return await self._db.read(log.last_logged)

    async def counts(self) -> dict[str, int]:
        return await self._db.read(runs.counts)

    async def ping(self) -> None:
        await self._db.ping()

    async def attempts(self, debate_id: str) -> list[dict[str, Any]]:
        return await self._db.read(lambda conn: attempts.of_debate(conn, debate_id))

    async def actions(self, debate_id: str) -> list[dict[str, Any]]:
        return await self._db.read(lambda conn: outcomes.actions_of(conn, debate_id))

    async def records(
        self, words: str, limit: int, hidden: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        return await self._db.read(lambda conn: outcomes.find_records(conn, words, limit, hidden))

    async def unfinished(self, now: float) -> list[Unfinished]:
        return await self._db.read(lambda conn: runs.unfinished(conn, now))

    async def unfiled(self) -> list[str]:
        return await self._db.read(lambda conn: runs.ids(conn, runs.UNFILED))

    async def filed(
        self, debate: Debate, report: ReportRow | None = None, read: Read = None
    ) -> None:
        await self._db.write(lambda conn: filed(conn, debate, report, read))

    async def reports(self, debate_ids: Sequence[str]) -> dict[str, ReportRow]:
        return await self._db.read(lambda conn: reports.of_debates(conn, debate_ids))

    async def change_report(
        self,
        debate_id: str,
        move: Callable[[ReportRow | None], ReportRow],
        *,
        refile: bool = False,
    ) -> ReportRow:
        return await self._db.write(
            lambda conn: reports.change(conn, debate_id, move, refile=refile)
        )

    async def wanted_reports(self, now: float) -> list[str]:
        return await self._db.read(lambda conn: reports.wanted(conn, now))

    async def held(self, owner: str) -> dict[str, Held]:
        return await self._db.read(lambda conn: runs.held(conn, owner))

    async def renew(self, owner: str, debate_ids: Sequence[str], until: float) -> None:
        await self._db.write(lambda conn: runs.renew(conn, owner, debate_ids, until))


def _same(row: Debate, known: Debate | None) -> bool:
    """Whether a debate stands where it was when it was let go."""
    return known is not None and (row.last_seq, row.turn_count, row.fence, row.cursor) == (
        known.last_seq, known.turn_count, known.fence, known.cursor
    )  # fmt: skip


def _change(conn: Connection, debate_id: str, move: Callable[[Debate], Change]) -> Change:
    before = runs.load(conn, debate_id, lock=True)
    made = move(before)
    if made.debate is not before:
        apply(conn, before, made)
    return made


def filed(conn: Connection, debate: Debate, report: ReportRow | None, read: Read) -> None:
    """Note that the files show a debate as it was then, unless they miss what came since."""
    row = runs.load(conn, debate.id, lock=True)
    known = reports.of_debate(conn, debate.id)
    newer = known is not None and known.read is not None and known.read != read
    if row.usage != debate.usage or newer:
        runs.outdated(conn, debate.id)  # others may have noted better ones, which these replaced
        return
    runs.filed(conn, debate.id, debate.last_seq)
    if report:
        reports.note(conn, report)


def apply(conn: Connection, before: Debate, change: Change) -> None:
    """Write all of a change; the caller's transaction makes it all or nothing."""
    debate_id = change.debate.id
    for ended in change.ended:
        attempts.end(conn, debate_id, ended)
    for event in change.events:
        log.add(conn, debate_id, event)
    for attempt in change.started:
        attempts.start(conn, debate_id, attempt)
    if change.decided:
        outcomes.keep_actions(conn, debate_id, [dict(a) for a in change.decided.actions])
        if change.decided.record:
            outcomes.keep_record(conn, debate_id, change.decided.record)
    runs.change(conn, before, change.debate)
