"""Lists of debates, newest first, a page at a time.

A page is a range of one index, or several merged: it costs the same however many debates there
are. What no index can tell is looked at debate by debate, and no more than `LOOKED_AT` of them.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Text, bindparam, or_, select, text

from moot.core.debate import Debate, Writing
from moot.core.ids import ENDING, check_part
from moot.core.prices import known
from moot.ports.finding import Found, Line, Search
from moot.render.result_line import result_line
from moot.store import label_rows, runs, said
from moot.store.query import Connection, Query, any_of, can_hold, parts, planned_anew
from moot.store.reports import report_of
from moot.store.search import INDEXED, matching, words, words_of
from moot.store.tables import conversations, reports
from moot.store.tables import lines as lines_table
from moot.store.tables import models as models_table
from moot.store.tables import runs as table
from moot.store.tables import tags as tags_table
from moot.wire.codec_station import BROADCASTING

LOOKED_AT = 2000
MODELS = 500  # that are told apart
TOP = 2**63 - 1

Row = dict[str, Any]
Look = Callable[[int, int], list[Row]]
"""Gives candidates before a number, newest first, as many as are asked for."""


_COLUMNS = ("number", "status", "format", "outcome", "archived", "cost_usd")
_candidates = (
    select(*table.c[_COLUMNS])
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
WITH_OUTCOME = Query(_candidates.where(table.c.outcome == bindparam("outcome")))
_aired = table.join(conversations, conversations.c.debate_id == table.c.id)
ON_AIR = Query(_candidates.select_from(_aired).where(_in_status))
_sat = models_table.join(table, table.c.number == models_table.c.number)
WITH_MODEL = Query(
    select(*table.c[_COLUMNS])
    .select_from(_sat)
    .where(models_table.c.model == bindparam("model"), models_table.c.number < bindparam("before"))
    .order_by(models_table.c.number.desc())
    .limit(bindparam("limit"))
)
_tagged = tags_table.join(table, table.c.number == tags_table.c.number)
WITH_TAG = Query(
    select(*table.c[_COLUMNS])
    .select_from(_tagged)
    .where(tags_table.c.tag == bindparam("tag"), tags_table.c.number < bindparam("before"))
    .order_by(tags_table.c.number.desc())
    .limit(bindparam("limit"))
)
ARCHIVED = Query(_candidates.where(text("archived = 1")))
TITLED = Query(_candidates.add_columns(table.c.title, table.c.motion).where(text("title <> ''")))
OF_MODEL = Query(
    select(models_table.c.number)
    .where(models_table.c.model == bindparam("model"), any_of(models_table.c.number))
)  # fmt: skip
EVERY_MODEL = Query(
    text(
        "WITH RECURSIVE known(model) AS (SELECT min(model) FROM debate_models UNION ALL"
        " SELECT (SELECT min(model) FROM debate_models WHERE debate_models.model > known.model)"
        " FROM known WHERE known.model IS NOT NULL)"
        " SELECT model FROM known WHERE model IS NOT NULL LIMIT :limit"
    ).columns(model=Text)
)
SUPPORT = Query(
    select(*lines_table.c["debate_id", "support"]).where(any_of(lines_table.c.debate_id))
)
SUMMARIES = Query(select(*reports.c["debate_id", "summary"]).where(any_of(reports.c.debate_id)))
WRITTEN = Query(select(reports).where(any_of(reports.c.debate_id), reports.c.tries > 0))
WRITTEN_COST = Query(
    select(table.c.number, reports.c.cost_usd)
    .select_from(table.join(reports, reports.c.debate_id == table.c.id))
    .where(any_of(table.c.number), reports.c.cost_usd > 0)
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A search, and what has to be known of the database to check a candidate."""

    search: Search
    on_air: Collection[int] = ()
    models: Sequence[str] = ()  # those that are meant, if a model is asked for
    long: Sequence[str] = ()  # words of which `search.matching` knows the beginning only


def find(conn: Connection, search: Search) -> Found:
    wanted = search.format
    if wanted is not None and (wanted in search.hidden or not can_hold(wanted)):
        return Found([], None)
    conn = planned_anew(conn)
    meant = _meant(conn, search.model) if search.model else []
    if search.model and not meant:
        return Found([], None)
    on_air = _on_air(conn) if search.broadcasting else frozenset[int]()
    if search.id:
        known = _Asked(search, on_air, meant, words(search.words))
        return _page(conn, known, _by_id(conn, search.id))
    if not search.words.strip():
        return _page(conn, _Asked(search, on_air, meant), _by_index(conn, search, meant))
    plain, every = words(search.words), said.asked(search.words)
    if not plain and not every:
        return Found([], None)

    def look(before: int, limit: int) -> list[Row]:
        found = matching(conn, plain, before, limit) if plain else []
        certain = said.matching(conn, every, before, limit) if every else []
        return _merged([found, certain, _titled(conn, plain, before, limit)], limit)

    long = [word for word in plain if len(word) > INDEXED]
    return _page(conn, _Asked(search, on_air, meant, long), look)


def billed(conn: Connection, debates: Sequence[Debate]) -> list[Debate]:
    """The same debates, with what their reports took."""
    wrote: dict[str, Writing | None] = {}
    for some in parts(reports.c.debate_id, [one.id for one in debates if one.ended_at]):
        wrote |= {row["debate_id"]: report_of(row).writing for row in WRITTEN.rows(conn, some)}
    return [one.but(writing=wrote.get(one.id)) for one in debates]


def lines(conn: Connection, debates: Sequence[Debate]) -> dict[str, Line]:
    """What lists show of them beside."""
    support, summaries = dict[str, str](), dict[str, str]()
    for some in parts(lines_table.c.debate_id, [one.id for one in debates if one.outcome]):
        support |= {row["debate_id"]: row["support"] for row in SUPPORT.rows(conn, some)}
    untold = [one.id for one in debates if one.ended_at and not one.outcome]
    for some in parts(reports.c.debate_id, untold):
        summaries |= {row["debate_id"]: row["summary"] for row in SUMMARIES.rows(conn, some)}
    return {one.id: _line(one, support, summaries) for one in debates}


def models(conn: Connection) -> list[str]:
    """Those that sit or spoke in any debate, up to `MODELS`; it costs as much as there are."""
    return [row["model"] for row in EVERY_MODEL.rows(conn, {"limit": MODELS})]


def _line(debate: Debate, support: dict[str, str], summaries: dict[str, str]) -> Line:
    result = result_line(debate, support.get(debate.id, ""), summaries.get(debate.id, ""))
    return Line(result, debate.models, known(debate))


def _meant(conn: Connection, asked: str) -> list[str]:
    """The models that begin like that, with their provider or without."""
    wanted = asked.casefold()
    known = [(model, model.casefold()) for model in models(conn)]
    return [
        model
        for model, name in known
        if name.startswith(wanted) or name.partition(":")[2].startswith(wanted)
    ]


def _by_index(conn: Connection, asked: Search, meant: Sequence[str]) -> Look:
    """One range for each model, outcome or status, or one for all of them, merged."""
    ranges: list[tuple[Query, Row]]
    if meant:
        ranges = [(WITH_MODEL, {"model": model}) for model in meant]
    elif asked.tags:
        ranges = [(WITH_TAG, {"tag": asked.tags[0]})]
    elif asked.outcomes:
        ranges = [(WITH_OUTCOME, {"outcome": one}) for one in dict.fromkeys(asked.outcomes)]
    elif asked.archived and not (asked.statuses or asked.format or asked.broadcasting):
        ranges = [(ARCHIVED, {})]
    else:
        ranges = _by_status(asked)

    def look(before: int, limit: int) -> list[Row]:
        params = {"format": asked.format, "before": before, "limit": limit}
        return _merged([query.rows(conn, {**params, **of}) for query, of in ranges], limit)

    return look


def _by_status(asked: Search) -> list[tuple[Query, Row]]:
    if asked.format is None:
        query = IN_STATUS if asked.statuses else ALL
    else:
        query = OF_FORMAT_IN_STATUS if asked.statuses else OF_FORMAT
    wanted = asked.statuses or (() if asked.broadcasting else (None,))
    ranges: list[tuple[Query, Row]] = [(query, {"status": one}) for one in dict.fromkeys(wanted)]
    aired = [(ON_AIR, {"status": one}) for one in BROADCASTING] if asked.broadcasting else []
    return [*ranges, *aired]


def _titled(conn: Connection, wanted: Sequence[str], before: int, limit: int) -> list[Row]:
    """Those of which somebody gave a title that the words are in: hardly many, so they are read."""
    rows = TITLED.rows(conn, {"before": before, "limit": LOOKED_AT}) if wanted else []
    fit = [row for row in rows if label_rows.holds(row["title"], row["motion"], wanted)]
    return [{name: row[name] for name in _COLUMNS} for row in fit[:limit]]


def _by_id(conn: Connection, part: str) -> Look:
    """Those whose id begins so or, if the part is as long, ends so."""
    begins = check_part(part).replace("_", "\\_") + "%"
    ends = f"%{part}" if len(part) == ENDING else begins

    def look(before: int, limit: int) -> list[Row]:
        params = {"begins": begins, "ends": ends, "before": before, "limit": limit}
        return BY_ID.rows(conn, params)

    return look


def _merged(found: Sequence[list[Row]], limit: int) -> list[Row]:
    """The newest of several ranges; of those that are in two, what the later one says."""
    rows = {row["number"]: row for row in chain(*found)}
    return sorted(rows.values(), key=itemgetter("number"), reverse=True)[:limit]


def _page(conn: Connection, asked: _Asked, look: Look) -> Found:
    """Look at more and more candidates, until the page is full or enough were looked at."""
    search = asked.search
    before = TOP if search.before is None else search.before
    numbers: list[int] = []
    batch, left, more = search.limit, LOOKED_AT, True
    while more and len(numbers) < search.limit and left > 0:
        rows = look(before, batch + 1)  # one more than is looked at, to know whether there is one
        more = len(rows) > batch
        rows = rows[:batch]
        numbers += _fitting(conn, asked, rows)
        before = rows[-1]["number"] if rows else before
        left -= batch
        batch = min(4 * batch, left)
    page = numbers[: search.limit]
    if len(numbers) > len(page):  # what was looked at after the page's last is for the next one
        before, more = page[-1], True
    debates = billed(conn, runs.by_numbers(conn, page))
    return Found(debates, before if more else None, lines(conn, debates))


def _fitting(conn: Connection, asked: _Asked, rows: Sequence[Row]) -> list[int]:
    """The numbers of those candidates that are to be shown."""
    search = asked.search
    if search.min_cost is not None or search.max_cost is not None:
        rows = _costing(conn, rows)
    fit = [
        row["number"]
        for row in rows
        if _shown(search, row, asked.on_air) and _holds(row, asked.long)
    ]
    for tag in search.tags:
        held: set[int] = set()
        for some in parts(tags_table.c.number, fit):
            held |= {row["number"] for row in label_rows.OF_TAG.rows(conn, {"tag": tag, **some})}
        fit = [number for number in fit if number in held]
    if not asked.models or not (search.words.strip() or search.id):
        return fit  # the index has seen to it
    sat: set[int] = set()
    for some in parts(models_table.c.number, fit):
        for model in asked.models:
            sat |= {row["number"] for row in OF_MODEL.rows(conn, {"model": model, **some})}
    return [number for number in fit if number in sat]


def _costing(conn: Connection, rows: Sequence[Row]) -> list[Row]:
    """The same candidates, each with what its report cost in its cost."""
    more: dict[int, float] = {}
    for some in parts(table.c.number, [row["number"] for row in rows]):
        more |= {row["number"]: row["cost_usd"] for row in WRITTEN_COST.rows(conn, some)}
    return [{**row, "cost_usd": row["cost_usd"] + more.get(row["number"], 0.0)} for row in rows]


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
        and (not asked.outcomes or row["outcome"] in asked.outcomes)
        and row["format"] not in asked.hidden
        and (asked.archived is None or bool(row["archived"]) == asked.archived)
        and (asked.min_cost is None or row["cost_usd"] >= asked.min_cost)
        and (asked.max_cost is None or row["cost_usd"] <= asked.max_cost)
    )


def _holds(row: Row, beginnings: Sequence[str]) -> bool:
    """Whether each of them begins a word of that debate: `said` knows whole words."""
    if not beginnings or "motion" not in row:
        return True
    held = words_of(row)
    return all(any(word.startswith(start) for word in held) for start in beginnings)
