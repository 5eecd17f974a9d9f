"""Lists of debates, newest first, a page at a time.

A page is a range of one index, or several merged: it costs the same however many debates there
are. What no index can tell is looked at debate by debate, and no more than `LOOKED_AT` of them.
"""

from collections.abc import Callable, Collection
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import bindparam, or_, select

from moot.core.ids import ENDING, check_part
from moot.ports import Found, Search
from moot.store import runs
from moot.store.query import Connection, Query, can_hold, planned_anew
from moot.store.search import INDEXED, matching, words, words_of
from moot.store.tables import conversations
from moot.store.tables import runs as table
from moot.wire.codec_station import BROADCASTING

LOOKED_AT = 2000
TOP = 2**63 - 1

Row = dict[str, Any]
Look = Callable[[int, int], list[Row]]
"""Gives candidates before a number, newest first, as many as are asked for."""


_candidates = (
    select(table.c.number, table.c.status, table.c.format)
    .where(table.c.number < bindparam("before"))
    .order_by(table.c.number.desc())
    .limit(bindparam("limit"))
)
_of_format = _candidates.where(table.c.format == bindparam("format"))
_in_status = table.c.status == bindparam("status")
_whole = _candidates.add_columns(table.c.motion, table.c.participants, table.c.host)
_is_part = or_(*(table.c.id.like(bindparam(way), escape="\\") for way in ("begins", "ends")))
# The ids are read from their own index: a part of one is looked for among all of them.
BY_ID = Query(_whole.where(table.c.id.in_(select(table.c.id).where(_is_part))))
ALL = Query(_candidates)
IN_STATUS = Query(_candidates.where(_in_status))
OF_FORMAT = Query(_of_format)
OF_FORMAT_IN_STATUS = Query(_of_format.where(_in_status))
_aired = table.join(conversations, conversations.c.debate_id == table.c.id)
ON_AIR = Query(_candidates.select_from(_aired).where(_in_status))


def find(conn: Connection, search: Search) -> Found:
    wanted = search.format
    if wanted is not None and (wanted in search.hidden or not can_hold(wanted)):
        return Found([], None)
    conn = planned_anew(conn)
    on_air = _on_air(conn) if search.broadcasting else frozenset[int]()
    asked = words(search.words)
    if search.words.strip() and not asked:
        return Found([], None)
    unseen = list[str]()  # words that the candidates may lack
    if search.id:
        look, unseen = _by_id(conn, search.id), asked
    elif asked:
        look, unseen = _by_words(conn, asked), [word for word in asked if len(word) > INDEXED]
    else:
        look = _by_index(conn, search)
    return _page(
        conn, search, look, lambda row: _shown(search, row, on_air) and _holds(row, unseen)
    )


def _by_words(conn: Connection, asked: list[str]) -> Look:
    return lambda before, limit: matching(conn, asked, before, limit)


def _by_index(conn: Connection, asked: Search) -> Look:
    """One range for each status, or one for all of them, merged."""
    if asked.format is None:
        query = IN_STATUS if asked.statuses else ALL
    else:
        query = OF_FORMAT_IN_STATUS if asked.statuses else OF_FORMAT
    wanted = asked.statuses or (() if asked.broadcasting else (None,))
    ranges = [(query, status) for status in dict.fromkeys(wanted)]
    ranges += [(ON_AIR, status) for status in BROADCASTING] if asked.broadcasting else []

    def look(before: int, limit: int) -> list[Row]:
        params = {"format": asked.format, "before": before, "limit": limit}
        found = [query.rows(conn, {**params, "status": status}) for query, status in ranges]
        rows = {row["number"]: row for row in chain(*found)}  # of two ranges, once
        return sorted(rows.values(), key=itemgetter("number"), reverse=True)[:limit]

    return look


def _by_id(conn: Connection, part: str) -> Look:
    """Those whose id begins so or, if the part is as long, ends so."""
    begins = check_part(part).replace("_", "\\_") + "%"
    ends = f"%{part}" if len(part) == ENDING else begins

    def look(before: int, limit: int) -> list[Row]:
        params = {"begins": begins, "ends": ends, "before": before, "limit": limit}
        return BY_ID.rows(conn, params)

    return look


def _page(conn: Connection, asked: Search, look: Look, fits: Callable[[Row], bool]) -> Found:
    """Look at more and more candidates, until the page is full or enough were looked at."""
    before = TOP if asked.before is None else asked.before
    numbers: list[int] = []
    batch, left, more = asked.limit, LOOKED_AT, True
    while more and len(numbers) < asked.limit and left > 0:
        rows = look(before, batch + 1)  # one more than is looked at, to know whether there is one
        more = len(rows) > batch
        rows = rows[:batch]
        numbers += [row["number"] for row in rows if fits(row)]
        before = rows[-1]["number"] if rows else before
        left -= batch
        batch = min(4 * batch, left)
    page = numbers[: asked.limit]
    if len(numbers) > len(page):  # what was looked at after the page's last is for the next one
        before, more = page[-1], True
    return Found(runs.by_numbers(conn, page), before if more else None)


def _on_air(conn: Connection) -> frozenset[int]:
    """What stations air now: as many as there are stations, or hardly more."""
    params = {"before": TOP, "limit": LOOKED_AT}
    found = [ON_AIR.rows(conn, {**params, "status": status}) for status in BROADCASTING]
    return frozenset(row["number"] for row in chain(*found))


def _shown(asked: Search, row: Row, on_air: Collection[int]) -> bool:
    any_status = not asked.statuses and not asked.broadcasting
    return (
        (any_status or row["status"] in asked.statuses or row["number"] in on_air)
        and (asked.format is None or row["format"] == asked.format)
        and row["format"] not in asked.hidden
    )


def _holds(row: Row, beginnings: list[str]) -> bool:
    """Whether each of them begins a word of that debate."""
    held = words_of(row) if beginnings else ()
    return all(any(word.startswith(start) for word in held) for start in beginnings)
