"""Adds the words of debates to the search, after the fact: no commit waits for it.

The log of all debates says what has changed. A debate at rest (ended or paused) is read once, and
what was said in it is added to `debate_said`; how far the log was looked at is kept in the same
transaction. So whatever a process leaves undone, the next one does; a debate that was put back is
found by its new entries in the log; and a database from before has its whole log to be looked at.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, select

from moot.core.debate import Debate, Turn
from moot.core.status import FINAL
from moot.outcome.result import verdict_of
from moot.render.result_line import support
from moot.store import log, runs, said
from moot.store.query import Connection, Query, by, keeping
from moot.store.tables import indexed, lines, models
from moot.store.tables import runs as runs_table

logger = logging.getLogger(__name__)

AT_ONCE = 8  # debates of one transaction: others who write wait for it
NAME = "words"
DAMAGED = (ValueError, TypeError, LookupError, AttributeError, RecursionError, ArithmeticError)
"""What rows that cannot be read make the readers do."""

POSITION = Query(by(indexed.c.name))
LOCKED = Query(by(indexed.c.name).with_for_update())
MOVE = keeping(indexed, ["position"])
NUMBER = Query(select(runs_table.c.number).where(runs_table.c.id == bindparam("id")))
LINE = Query(by(lines.c.debate_id))
KEEP_LINE = keeping(lines, ["seq", "support"])
KEEP_MODEL = keeping(models)


@dataclass(frozen=True, slots=True)
class Entry:
    """What a debate is to be found by from now on, and what lists show of it."""

    debate_id: str
    number: int
    models: tuple[str, ...]
    seq: int | None = None  # up to where it was read; None if it is not at rest
    words: Sequence[str] = ()
    support: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """What is to be added after looking at a part of the log."""

    after: int
    position: int
    entries: list[Entry]


def pending(conn: Connection) -> Batch | None:
    """What comes next in the log, and what it adds; None if all of it was looked at."""
    after = _position(conn, POSITION)
    rows = log.CHANGES_AFTER.rows(conn, {"after": after})
    if not rows:
        return None
    changed: dict[str, None] = {}
    position = after
    for row in rows:
        if row["type"] != "turn":  # a debate comes to rest with an entry of another type
            if row["debate_id"] not in changed and len(changed) == AT_ONCE:
                break
            changed[row["debate_id"]] = None
        position = row["id"]
    found = (_entry(conn, debate_id) for debate_id in changed)
    return Batch(after, position, [entry for entry in found if entry])


def add(conn: Connection, batch: Batch) -> list[str]:
    """Add it, unless another process has; returns the debates that lists show more of now."""
    if _position(conn, LOCKED) != batch.after:
        return []
    for entry in batch.entries:
        for model in entry.models:
            KEEP_MODEL.run(conn, {"model": model, "number": entry.number})
        if entry.seq is not None:
            said.add(conn, entry.number, entry.words)
            line = {"debate_id": entry.debate_id, "seq": entry.seq, "support": entry.support}
            KEEP_LINE.run(conn, line)
    MOVE.run(conn, {"name": NAME, "position": batch.position})
    return [entry.debate_id for entry in batch.entries if entry.seq is not None]


def forget(conn: Connection, debate: Debate, turns: Sequence[Turn]) -> None:
    """Take a debate's words out of the search, before its turns are removed or replaced."""
    number = NUMBER.rows(conn, {"id": debate.id})[0]["number"]
    read = _line(conn, debate.id)
    if read:
        said.remove(conn, number, _words(debate, [turn for turn in turns if turn.seq <= read]))
        KEEP_LINE.run(conn, {"debate_id": debate.id, "seq": 0, "support": ""})


def _position(conn: Connection, query: Query) -> int:
    rows = query.rows(conn, {"name": NAME})
    return rows[0]["position"] if rows else 0


def _line(conn: Connection, debate_id: str) -> int:
    """Up to which seq its words were added."""
    rows = LINE.rows(conn, {"debate_id": debate_id})
    return rows[0]["seq"] if rows else 0


def _entry(conn: Connection, debate_id: str) -> Entry | None:
    """None if there is nothing to add, or the rows cannot be read: the others' can."""
    try:
        numbers = NUMBER.rows(conn, {"id": debate_id})
        return _read(conn, debate_id, numbers[0]["number"]) if numbers else None
    except DAMAGED as error:
        logger.warning("%s cannot be added to the search: %r", debate_id, error)
        return None


def _read(conn: Connection, debate_id: str, number: int) -> Entry | None:
    debate = runs.load(conn, debate_id)
    at_rest, known = debate.status in FINAL or debate.status == "paused", _line(conn, debate_id)
    if not at_rest or known >= debate.last_seq:
        return Entry(debate_id, number, debate.models)
    turns = [turn for turn in log.turns_after(conn, debate_id) if turn.seq <= debate.last_seq]
    spoke = dict.fromkeys(turn.model for turn in turns if turn.model)
    return Entry(
        debate_id,
        number,
        tuple(dict.fromkeys((*debate.models, *spoke))),
        debate.last_seq,
        _words(debate, [turn for turn in turns if turn.seq > known]),
        support(verdict_of(debate, turns)),
    )


def _words(debate: Debate, turns: Sequence[Turn]) -> list[str]:
    """What does not change later: a seat's model may, so those that spoke count."""
    names = (seat.name for seat in debate.seats)
    spoken = (part for turn in turns for part in (turn.name, turn.model, turn.text))
    return said.words([debate.motion, debate.format, debate.rules.title, *names, *spoken])
