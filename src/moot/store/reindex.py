"""Files beside the database: where they disagree, and the rows that follow from the files."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam, delete, select, text

from moot.core import moves
from moot.core.change import Ended, Record
from moot.core.debate import NO_USAGE, Debate, Turn, Usage
from moot.core.events import Event, TurnCommitted
from moot.core.followups import Followup
from moot.core.ids import check_id
from moot.core.status import FINAL, RUNNABLE
from moot.errors import DuplicateError, MootError, StorageError
from moot.outcome.result import result
from moot.ports.debate_store import ReportRow
from moot.render import packet_text, report
from moot.render.layout import LAYOUT, LAYOUTS
from moot.render.reading import Read, Reading, encode
from moot.store import (
    attempts,
    deletion,
    followup_rows,
    indexing,
    log,
    outcomes,
    reports,
    runs,
    source_rows,
    tables,
)
from moot.store.files import MANIFEST, Folder
from moot.store.formats import switched_off
from moot.store.query import Connection, Query, SqlDatabase, by
from moot.store.replay import MAX_LISTED, Replay, differences, read_folder, shown, why
from moot.wire import codec

EVERYTHING = 2**31 - 1
MANIFEST_ALONE = "manifest"
"""In every finding that is about the manifest, or about what it says of a file."""
CATCH_UP = "Run `moot reindex --from-files` to bring the database up to the files."

FORGET = [
    Query(delete(table).where(table.c.debate_id == bindparam("debate_id")))
    for table in (tables.turns, tables.events, tables.actions, tables.records, tables.reports)
]
GOING_ON = Query(
    select(tables.runs.c.id)
    .where(text("status NOT IN ('completed', 'stopped', 'failed')"))
    .order_by(tables.runs.c.id)
)
SEQS = Query(by(tables.events.c.debate_id))


@dataclass(frozen=True, slots=True)
class Rows:
    """What the database has of a debate."""

    debate: Debate
    turns: list[Turn]
    events: list[Event]
    actions: list[dict[str, Any]]
    records: list[dict[str, Any]]
    report: ReportRow | None
    followups: list[Followup]  # that are over


@dataclass(frozen=True, slots=True)
class Examined:
    """A replay, beside what the database says."""

    replay: Replay
    indexed: bool
    issues: tuple[str, ...]


@dataclass(slots=True)
class Reindexed:
    """What came of rebuilding the database from the files."""

    found: int = 0
    indexed: list[str] = field(default_factory=list[str])
    brought_up: list[str] = field(default_factory=list[str])  # whose rows were behind their files
    present: int = 0
    skipped: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


class DisagreeError(MootError):
    """The rows that are there already are not those of the files."""

    code = "DEBATE_ERR_STORAGE"

    def __init__(self, issues: list[str]) -> None:
        super().__init__(" ".join(issues))
        self.issues = issues


# --- beside the database ---


def examine(
    home: Path, database: Path | str, debate_id: str, disabled: Collection[str] = ()
) -> Examined:
    """A debate's files, and what the database says, if there is one. Nothing is written."""
    replay = read_folder(home, debate_id)
    rows, trouble = look(database, debate_id)
    if not replay.found and rows is None:
        raise runs.unknown(debate_id)
    formats = replay.formats | ({rows.debate.format} if rows else set[str]())
    for name in sorted(formats & set(disabled)):
        raise switched_off(name)
    found = compare(replay, rows) if rows else []
    return Examined(replay, rows is not None, (*replay.issues, *trouble, *found))


MADE = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE name = 'debate_runs'",
    "postgresql": "SELECT 1 WHERE to_regclass('debate_runs') IS NOT NULL",
}


def look(database: Path | str, debate_id: str) -> tuple[Rows | None, list[str]]:
    """What the database has of a debate, read without changing or making it."""
    if isinstance(database, Path) and not database.is_file():
        return None, []
    try:
        with _opened(database) as conn:
            if not conn.driver.execute(MADE[conn.dialect]).fetchall():
                return None, []  # another program's
            return rows_of(conn, debate_id), []
    except (sqlite3.Error, MootError) as error:
        wrong = f"it cannot be read ({error}); the files were compared with nothing."
    except Exception as error:  # whatever damaged rows make the readers do
        wrong = f"its rows of {debate_id} cannot be read ({why(error)})."
    return None, [f"{'Postgres' if isinstance(database, str) else database.name}: {shown(wrong)}"]


@contextmanager
def _opened(database: Path | str) -> Generator[Connection]:
    if isinstance(database, str):
        from moot.store.postgres import reading  # here: its driver is an extra

        with reading(database) as conn:
            yield conn
        return
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as driver:
        driver.execute("BEGIN")
        yield Connection("sqlite", driver)


def rows_of(conn: Connection, debate_id: str) -> Rows | None:
    if not runs.BY_ID.rows(conn, {"id": debate_id}):
        return None
    events = log.events_after(conn, debate_id, 0, EVERYTHING)
    return Rows(
        debate=runs.load(conn, debate_id),
        turns=log.turns_after(conn, debate_id, 0),
        events=[event for event in events if not isinstance(event, TurnCommitted)],
        actions=outcomes.actions_of(conn, debate_id),
        records=outcomes.RECORDS_OF.rows(conn, {"debate_id": debate_id}),
        report=reports.of_debate(conn, debate_id),
        followups=[row.followup for row in followup_rows.of_debate(conn, debate_id) if row.filed],
    )


def compare(replay: Replay, rows: Rows) -> list[str]:
    """Each disagreement between the files and the database, as a sentence."""
    debate = replay.debate
    if debate is None:
        return ["The files do not give a debate that the database could be compared with."]
    ours, theirs = debate.last_seq, rows.debate.last_seq
    issues: list[str] = []
    going_on = rows.debate.status in RUNNABLE and ours < theirs  # files follow round by round
    if ours != theirs and not going_on:
        issues.append(f"The files go up to seq {ours}, the database (debate_runs) to {theirs}.")
    upto = min(ours, theirs)
    issues += _compare_log("turn", "debate_turns", replay.turns, rows.turns, codec.turn, upto)
    issues += _compare_log("event", "debate_events", replay.events, rows.events, codec.entry, upto)
    if ours != theirs:
        return issues
    file, row = codec.filed(debate), codec.filed(rows.debate)
    if debate.status not in FINAL:  # what a call cost that was called off is counted later
        file["usage"] = row["usage"]
    for path in differences(row, file):
        issues.append(f"transcript.json and debate_runs disagree on {shown(path)}.")
    if debate.rules != rows.debate.rules:
        issues.append("request.json and debate_formats disagree on the rules.")
    actions, record = _decided(replay)
    kept = [{name: row[name] for name in ("id", "action", "owner", "due")} for row in rows.actions]
    for path in differences(kept, actions, "nextActions"):
        issues.append(f"final-packet.json and debate_actions disagree on {shown(path)}.")
    expected = [outcomes.record_row(replay.id, record)] if record else []
    for path in differences(rows.records, expected, "records"):
        issues.append(f"The record and debate_records disagree on {shown(path)}.")
    kept = [codec.followup(one) for one in rows.followups]
    for path in differences(kept, [codec.followup(one) for one in replay.followups], "items"):
        issues.append(f"followups.json and debate_followups disagree on {shown(path)}.")
    wrote = _written(rows.report.read if rows.report else None)
    for path in differences(wrote, _written(replay.read), "reading"):
        issues.append(f"report.json and debate_reports disagree on {shown(path)}.")
    return issues


def _written(read: Read) -> Any:
    """What a model wrote, to be compared: as it is once it was written and read."""
    return json.loads(codec.dumps(encode(read))) if read else None


def _compare_log(
    noun: str,
    table: str,
    files_: Sequence[Any],
    rows: Sequence[Any],
    encode: Callable[[Any], dict[str, Any]],
    upto: int,
) -> Iterator[str]:
    ours = {item.seq: item for item in files_ if item.seq <= upto}
    theirs = {item.seq: item for item in rows if item.seq <= upto}
    if len(ours) != len(theirs):
        yield f"transcript.json has {len(ours)} {noun}s, {table} has {len(theirs)}."
    for seq, item in sorted((ours | theirs).items()):
        number = item.number if isinstance(item, Turn) else seq
        if seq not in theirs:
            yield f"{table} lacks {noun} {number}."
        elif seq not in ours:
            yield f"transcript.json lacks {noun} {number}, which {table} has."
        else:
            found = differences(encode(theirs[seq]), encode(ours[seq]))
            for path in islice(found, MAX_LISTED):
                yield f"transcript.json and {table} disagree on {noun} {number}: {shown(path)}."


def _decided(replay: Replay) -> tuple[list[dict[str, Any]], Record | None]:
    """The actions and the record that the turns give."""
    if replay.debate and replay.debate.outcome:
        with suppress(Exception):  # that it does not follow from the turns is said already
            came_to = result(replay.debate, replay.turns)
            actions: list[dict[str, Any]] = came_to.packet["nextActions"] if came_to.packet else []
            layout = replay.documents.get(MANIFEST, {}).get("layout")
            return actions, packet_text.note(came_to, layout if layout in LAYOUTS else LAYOUT)
    return [], None


def _report_row(replay: Replay, debate: Debate) -> ReportRow:
    """How the report stands, as its file says."""
    told, read, summary = replay.documents.get("report.json"), replay.read, ""
    with suppress(KeyError, TypeError, AttributeError):
        summary = report.brief(told or {})
    if isinstance(read, Reading):
        return ReportRow.written(debate.id, read, summary)
    return ReportRow(
        debate.id,
        "made" if told else "failed",
        "extraction",
        None,
        summary,
        read,
        tries=read.usage.calls if read else 0,
        usage=read.usage if read else NO_USAGE,
        error=None if told else "Its files hold no report.",
        made_at=debate.ended_at or debate.updated_at,
    )


# --- the database from the files ---

SOURCES = (
    "request.json", "transcript.json", "manifest.json: it", "rounds/", "sources/",
    "records/debates/",
)  # fmt: skip


async def reindex(database: SqlDatabase, home: Path, *, from_files: bool = False) -> Reindexed:
    """Give the database the rows that it lacks.

    A debate whose files go further than its rows is left out, unless `from_files`: then its rows
    are replaced by what the files say. That is how a database restored from an older copy catches
    up.

    What is said stands in the sources; a folder in which they are damaged is reported and left out.
    What is only made from them (pages, reports, the record) may have been edited: `moot replay`
    says so.
    """
    done = Reindexed()
    for debate_id in await asyncio.to_thread(_folders, home):
        done.found += 1
        replay = await asyncio.to_thread(read_folder, home, debate_id)
        damaged = [issue for issue in replay.issues if issue.startswith(SOURCES)]
        if from_files:  # a process may have died between the files and their manifest
            damaged = [issue for issue in damaged if MANIFEST_ALONE not in issue]
        if damaged:
            done.skipped[debate_id] = damaged
            continue
        if await database.read(partial(deletion.is_deleted, debate_id=debate_id)):
            done.skipped[debate_id] = ["It was deleted; its files are removed at the next start."]
            continue
        try:
            if from_files and await database.write(partial(catch_up, replay=replay)):
                done.brought_up.append(debate_id)
                continue
            added = await database.write(partial(index, replay=replay))
        except DisagreeError as error:
            done.skipped[debate_id] = error.issues
        except DuplicateError:
            done.skipped[debate_id] = ["The database has other rows in the place of its turns."]
        except StorageError:
            raise
        except Exception as error:  # a value that no column takes, or rows that are damaged
            done.skipped[debate_id] = [f"Its rows cannot be written: {shown(why(error))}."]
        else:
            if added:
                done.indexed.append(debate_id)
            else:
                done.present += 1
    return done


def _folders(home: Path) -> list[str]:
    """The debates that have a folder; whatever else is there does not belong to moot."""
    root = home / "records" / "debates"
    found: list[str] = []
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        with suppress(MootError):
            found.append(check_id(path.name))
    return found


def catch_up(conn: Connection, replay: Replay) -> bool:
    """Bring rows that are behind the files up to them; says whether they were. All or nothing."""
    debate = replay.debate
    if debate is None:
        return False
    runs.LOCKED.rows(conn, {"id": debate.id})
    before = rows_of(conn, debate.id)
    if before is None or before.debate.last_seq >= debate.last_seq:
        return False
    indexing.forget(conn, before.debate, before.turns)
    for query in FORGET:
        query.run(conn, {"debate_id": debate.id})
    # whoever still has the debate in hand is fenced off; what its calls cost stays on record
    attempts.end(conn, debate.id, Ended(None, "unknown", debate.updated_at))
    runs.keep_format(conn, debate.rules)
    whole = _unfiled(debate.but(fence=before.debate.fence + 1), replay)
    if debate.status not in FINAL:  # it goes on counting from the calls that are on record
        whole = whole.but(usage=_more(debate.usage, before.debate.usage))
    runs.change(conn, before.debate, whole)
    index(conn, replay)
    return True


def _unfiled(debate: Debate, replay: Replay) -> Debate:
    """The debate, to be filed again if whoever filed it died before its manifest was written."""
    # a page or a document that somebody edited is no such sign, and is left alone
    torn = any(MANIFEST_ALONE in issue and ".json:" in issue for issue in replay.issues)
    return debate.but(files_seq=0) if torn else debate


def _more(one: Usage, other: Usage) -> Usage:
    """What was used at least, of two records of the same calls and perhaps further ones."""
    return Usage(
        max(one.input_tokens, other.input_tokens),
        max(one.output_tokens, other.output_tokens),
        max(one.cost_usd, other.cost_usd),
        max(one.calls, other.calls),
        one.estimated or other.estimated,
        max(one.thinking_tokens, other.thinking_tokens),
    )


def index(conn: Connection, replay: Replay) -> bool:
    """Add the rows that are not there; says whether any was. All of them or, if it raises, none."""
    debate = replay.debate
    if debate is None:
        raise DisagreeError(list(replay.issues))
    runs.LOCKED.rows(conn, {"id": debate.id})  # others who write to it wait
    before = rows_of(conn, debate.id)
    if before and before.debate.last_seq > debate.last_seq:
        return False  # it has gone on since its files were written
    there = {row["seq"] for row in SEQS.rows(conn, {"debate_id": debate.id})}
    entries = [*(TurnCommitted(debate.id, turn) for turn in replay.turns), *replay.events]
    missing = [entry for entry in sorted(entries, key=lambda e: e.seq) if entry.seq not in there]
    spoken = {turn.seq for turn in log.turns_after(conn, debate.id)}
    unsaid = [turn for turn in replay.turns if turn.seq in there and turn.seq not in spoken]
    if before is None:
        runs.create(conn, _unfiled(debate, replay))
    source_rows.keep(conn, debate)
    for entry in missing:
        log.add(conn, debate.id, entry)
    for turn in unsaid:
        log.add_turn(conn, debate.id, turn)
    added = before is None or bool(missing) or bool(unsaid)
    actions, record = _decided(replay)
    known = {row["id"] for row in outcomes.actions_of(conn, debate.id)}
    lacking = [action for action in actions if action["id"] not in known]
    outcomes.add_actions(conn, debate.id, lacking)
    added = added or bool(lacking)
    if record and not outcomes.RECORDS_OF.rows(conn, {"debate_id": debate.id}):
        outcomes.keep_record(conn, debate.id, record)
        added = True
    if debate.status in FINAL and (before is None or before.report is None):
        reports.keep(conn, _report_row(replay, debate))
        added = added or replay.read is not None
    added = followup_rows.add(conn, debate.id, replay.followups) or added
    after = rows_of(conn, debate.id)
    if after and (issues := compare(replay, after)):
        behind = after.debate.last_seq < debate.last_seq
        raise DisagreeError([*issues, CATCH_UP] if behind else issues)
    return added


async def behind(database: SqlDatabase, home: Path) -> tuple[list[str], int]:
    """Debates that go on and whose files hold more than the database; and how many debates have
    files, and no rows at all."""
    unfinished = await database.read(lambda conn: runs.ids(conn, GOING_ON))
    folder = Folder(home)

    def look(conn: Connection) -> list[str]:
        found: list[str] = []
        for debate_id in unfinished:
            with suppress(Exception):  # a row that cannot be read is nobody's to compare
                row = runs.load(conn, debate_id)
                filed = folder.last_seq(debate_id)
                decided = moves.concludes(row, filed) and folder.ended_at(row)
                if moves.behind(row, filed) and not decided:
                    found.append(debate_id)
        return found

    on_disk = await asyncio.to_thread(_folders, home)
    known = await database.read(lambda conn: log.reached(conn, on_disk))
    return await database.read(look), len(set(on_disk) - set(known))
