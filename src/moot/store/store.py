"""The store that the engine sees: each method one transaction on the database."""

from collections.abc import Callable, Sequence
from pathlib import Path

from moot.core.change import Change, SaidAlreadyError
from moot.core.debate import Debate, Turn
from moot.errors import DuplicateError
from moot.ports.debate_store import FollowupRow, Once, ReportRow
from moot.render.reading import Read
from moot.store import (
    attempts,
    deletion,
    followup_rows,
    hindsight,
    indexing,
    keys,
    label_rows,
    link_rows,
    lists,
    log,
    outcomes,
    reports,
    runs,
    source_rows,
)
from moot.store.database import Database
from moot.store.followup_rows import begin
from moot.store.query import Connection, OnDatabase, SqlDatabase, reads, writes


def open_database(
    place: Path | str, connections: int, timed: Callable[[float], None] | None = None
) -> SqlDatabase:
    """The file of that path, or the Postgres of that URL."""
    if isinstance(place, Path):
        return Database(place, timed)
    from moot.store.postgres import PostgresDatabase  # here: its driver is an extra

    return PostgresDatabase(place, connections, timed)


def _same(row: Debate, known: Debate | None) -> bool:
    """Whether a debate stands where it was when it was let go."""
    return known is not None and (row.last_seq, row.turn_count, row.fence, row.cursor) == (
        known.last_seq, known.turn_count, known.fence, known.cursor
    )  # fmt: skip


def change(conn: Connection, debate_id: str, move: Callable[[Debate], Change]) -> Change:
    """Ask a move for the change, under the debate's lock, and write all of it."""
    before = runs.load(conn, debate_id, lock=True)
    made = move(before)
    if made.debate is not before:
        apply(conn, before, made)
    return made


def filed(
    conn: Connection, debate: Debate, report: ReportRow | None = None, read: Read = None
) -> None:
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


class SqlStore(OnDatabase):
    """Debates in a SQL database."""

    load = reads(runs.load)
    find = reads(lists.find)
    lines = reads(lists.lines)
    models = reads(lists.models)
    label = writes(label_rows.change)
    tags = reads(label_rows.every)
    turns = reads(log.turns_after)
    events = reads(log.events_after)
    last_seq = reads(log.last_seq)
    reached = reads(log.reached)
    logged = reads(log.logged)
    last_logged = reads(log.last_logged)
    counts = reads(runs.counts)
    attempts = reads(attempts.of_debate)
    actions = reads(outcomes.actions_of)
    records = reads(outcomes.find_records)
    hindsight_of = reads(hindsight.of_debate)
    hindsights = reads(hindsight.every)
    keep_hindsight = writes(hindsight.keep)
    forget_hindsight = writes(hindsight.forget)
    keep_link = writes(link_rows.keep)
    links = reads(link_rows.of_debate)
    link_of = reads(link_rows.by_hash)
    living_links = reads(link_rows.living)
    forget_link = writes(link_rows.forget)
    keep_upload = writes(source_rows.keep_upload)
    upload_of = reads(source_rows.upload_of)
    sweep_uploads = writes(source_rows.sweep_uploads)
    unfinished = reads(runs.unfinished)
    unfiled = reads(runs.unfiled)
    filed = writes(filed)
    change_report = writes(reports.change)
    wanted_reports = reads(reports.wanted)
    reports = reads(reports.of_debates)
    followups_left = reads(followup_rows.left)
    change_followup = writes(followup_rows.change)
    followups_filed = writes(followup_rows.filed)
    followups = reads(followup_rows.of_debate)
    held = reads(runs.held)
    delete = writes(deletion.remove)
    deleted = reads(deletion.left)
    is_deleted = reads(deletion.is_deleted)
    removed = writes(deletion.removed)
    renew = writes(runs.renew)

    async def ping(self) -> None:
        await self.database.ping()

    async def index(self) -> list[str] | None:
        batch = await self.database.read(indexing.pending)  # read, and made into words, beside
        if batch is None:
            return None
        return await self.database.write(lambda conn: indexing.add(conn, batch))

    async def create(
        self, debate: Debate, change: Callable[[Debate], Change], once: Once | None = None
    ) -> Change:
        def work(conn: Connection) -> Change:
            if once and (known := keys.made_by(conn, once, debate.created_at)):
                return Change(runs.load(conn, known))
            runs.create(conn, debate)
            if once:
                keys.keep(conn, once, debate.id, debate.created_at)
            made = change(debate)
            apply(conn, debate, made)
            return made

        try:
            return await self.database.write(work)
        except DuplicateError:
            if once is None:
                raise
        return await self.database.write(work)  # perhaps the same request came at the same moment

    async def made(self, once: Once, at: str) -> Debate | None:
        def look(conn: Connection) -> Debate | None:
            known = keys.known(conn, once, at)
            return runs.load(conn, known) if known else None

        return await self.database.read(look)

    async def ask(
        self,
        debate_id: str,
        make: Callable[[Debate, Sequence[FollowupRow]], FollowupRow],
        once: Once | None = None,
    ) -> tuple[FollowupRow, bool]:
        return await self.database.write(lambda conn: begin(conn, debate_id, make, once))

    async def claim(
        self, debate_id: str, move: Callable[[Debate, int], Change], known: Debate | None = None
    ) -> tuple[Change, list[Turn] | None]:
        def work(conn: Connection) -> tuple[Change, list[Turn] | None]:
            before = runs.load(conn, debate_id, lock=True)
            lost = attempts.lost_beside(conn, before) if before.open_calls else 0
            made = move(before, lost)
            turns = None if _same(before, known) else log.turns_after(conn, debate_id)
            apply(conn, before, made)
            return made, turns

        return await self.database.write(work, debate_id)

    async def change(
        self, debate_id: str, move: Callable[[Debate], Change], once: Once | None = None
    ) -> Change:
        def work(conn: Connection) -> Change:
            if once is None:
                return change(conn, debate_id, move)
            before = runs.load(conn, debate_id, lock=True)  # the same request may come beside this
            if keys.made_by(conn, once):
                return Change(before)
            made = change(conn, debate_id, move)
            keys.keep(conn, once, debate_id, made.debate.updated_at)
            return made

        try:
            return await self.database.write(work, debate_id)
        except DuplicateError:
            # The last wall held: a turn of this step, or an event of this seq, is there already.
            raise SaidAlreadyError(f"{debate_id}: that turn has been said already") from None
