"""The debates themselves: one row each, with cursor, counters and lease."""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import astuple, fields
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import ARRAY, Text, bindparam, func, select, text, update

from moot.core.debate import Cursor, Debate, Decision, Participant, Phase, StepKey, Tried
from moot.core.format import Format, from_json, to_json
from moot.core.ids import number as place_of
from moot.errors import NotFoundError
from moot.ports.debate_store import Held, Unfinished
from moot.store import search, source_rows
from moot.store.query import Connection, Query, adding, any_of, by, changing, keeping, parts
from moot.store.rows import picked, same, usage_of, usage_row
from moot.store.tables import deleted, formats, runs, tags
from moot.wire import codec

log = logging.getLogger(__name__)

PROGRESS = [
    "degraded", "next_round", "next_stage", "next_actor", "next_target", "wave_done", "round",
    "stage", "turns", "last_seq", "input_tokens", "output_tokens", "thinking_tokens", "cost_usd",
    "calls", "estimated", "open_calls", "updated_at",
]  # fmt: skip
LEASE = (
    "status", "total", "fence", "lease_owner", "lease_until", "losses", "deaths", "stalls",
    "not_before", "started_at", "waiting_for",
)  # fmt: skip
_AT_REST = (
    "participants", "host", "warnings", "stop_reason", "stop_requested_at", "wanted", "failure",
    "files_seq", "ended_at", "phases", "outcome", "tries", "jury", "limits",
)  # fmt: skip
_CHOICE = 100  # in the number of failed calls, see `_number`
_OUTCOME = [field.name for field in fields(Decision)]
_cursor = itemgetter("next_round", "next_stage", "next_actor", "next_target", "wave_done")
_SAME = same(
    Debate, runs, "participants", "host", "options", "limits", "brief", "received", "phases",
    "warnings", "failure", "tries", "degraded", "outcome", "jury", "forked_from", "sources",
    "hide_sources_from", "tags", "archived",
)  # fmt: skip

_known: dict[str, Format] = {}
"""Formats by their digest: the same rules wherever they are kept."""

BY_ID = Query(by(runs.c.id))
LOCKED = Query(by(runs.c.id).with_for_update())
LOCK = Query(
    # those that nobody else has locked; on Postgres alone
    select(runs)
    .where(runs.c.id == func.any(bindparam("ids", type_=ARRAY(Text))))
    .order_by(runs.c.id)
    .with_for_update(skip_locked=True)
)
FORMAT = Query(by(formats.c.digest))
INSERT = adding(runs)
CHANGE = changing(
    runs, [*PROGRESS, *LEASE, *(name for name in _AT_REST if name != "outcome"), *_OUTCOME]
)
# what taking a debate and letting it go changes
TAKE = changing(runs, [*PROGRESS, *LEASE])
# what a turn changes, and no indexed column: half the cost of writing all of them
ADVANCE = changing(runs, PROGRESS)
KEEP_FORMAT = keeping(formats)
KEEP_TAG = keeping(tags)
BY_NUMBERS = Query(select(runs).where(any_of(runs.c.number)))
COUNTS = Query(select(runs.c.status, func.count().label("debates")).group_by(runs.c.status))
_IN_HAND = select(*runs.c["id", "fence", "last_seq", "lease_owner", "lease_until", "not_before"])
UNFINISHED = Query(
    _IN_HAND.where(
        text("status IN ('queued', 'running', 'ending')"), runs.c.waiting_for.is_(None)
    ).where(runs.c.not_before <= bindparam("now"))
)
LEFT_OPEN = Query(
    # debates that paused while calls of theirs went on, by their leases: these are few, and debates
    # that are paused may be many
    _IN_HAND.where(runs.c.lease_owner > "", runs.c.open_calls > 0).where(
        text("status NOT IN ('queued', 'running', 'ending')")
    )
)
UNFILED = Query(
    select(runs.c.id)
    .where(runs.c.ended_at.is_not(None), text("files_seq = 0"))
    .union_all(select(deleted.c.debate_id).where(text("files = 1")))
)
RENEW = Query(
    update(runs)
    .where(runs.c.lease_owner == bindparam("owner"), any_of(runs.c.id))
    .values(lease_until=bindparam("until"))
)
HELD = Query(
    select(*runs.c["id", "fence", "wanted"]).where(runs.c.lease_owner == bindparam("owner"))
)
FILED = Query(
    update(runs)
    .where(runs.c.id == bindparam("b_id"), runs.c.last_seq == bindparam("seq"))  # or it went on
    .values(files_seq=runs.c.last_seq)
)
OUTDATED = Query(update(runs).where(runs.c.id == bindparam("b_id")).values(files_seq=0))


def create(conn: Connection, debate: Debate) -> None:
    keep_format(conn, debate.rules)
    row = encoded(debate)
    INSERT.run(conn, row)
    if debate.sources:
        source_rows.keep(conn, debate)
    for tag in debate.tags:
        KEEP_TAG.run(conn, {"tag": tag, "number": row["number"]})
    search.add(conn, row["number"], search.words_of(row))


def keep_format(conn: Connection, rules: Format) -> None:
    spec = {"digest": _kept_as(rules), "name": rules.name, "spec": to_json(rules)}
    KEEP_FORMAT.run(conn, spec)
    _known.setdefault(spec["digest"], rules)


def load(conn: Connection, debate_id: str, *, lock: bool = False) -> Debate:
    if lock and conn.seen and (known := conn.seen.get(debate_id)):
        return known
    rows = (LOCKED if lock else BY_ID).rows(conn, {"id": debate_id})
    if not rows:
        raise unknown(debate_id)
    return decoded(conn, rows[0])


def unknown(debate_id: str) -> NotFoundError:
    return NotFoundError(f"There is no debate {debate_id}. `moot list` shows what there is.", "id")


def lock(conn: Connection, debate_ids: Sequence[str]) -> dict[str, Debate]:
    """Lock those debates, except what is not there or locked by another."""
    return {row["id"]: decoded(conn, row) for row in LOCK.rows(conn, {"ids": list(debate_ids)})}


def change(conn: Connection, before: Debate, after: Debate) -> None:
    old, new = before.__dict__, after.__dict__

    def stay(names: Sequence[str]) -> bool:
        return all(old[name] is new[name] or old[name] == new[name] for name in names)

    row = {"b_id": after.id, **new, **_progress(after)}  # no statement asks for all of it
    if not stay(_AT_REST):
        CHANGE.run(conn, row | _at_rest(after))
    else:
        (ADVANCE if stay(LEASE) else TAKE).run(conn, row)
    if conn.seen is not None:
        if after.lease_owner is None:
            conn.seen.pop(after.id, None)
        else:
            conn.seen[after.id] = after


def by_numbers(conn: Connection, numbers: Sequence[int]) -> list[Debate]:
    """Those debates, in that order, but for what was deleted meanwhile or cannot be read: one
    damaged row hides no list."""
    rows: dict[int, dict[str, Any]] = {}
    for some in parts(runs.c.number, numbers):
        rows |= {row["number"]: row for row in BY_NUMBERS.rows(conn, some)}
    debates: list[Debate] = []
    for number in filter(rows.__contains__, numbers):
        try:
            debates.append(decoded(conn, rows[number], whole=False))
        except Exception as error:  # whatever a damaged row makes the readers do
            log.warning("the row of %s cannot be read: %r", rows[number]["id"], error)
    return debates


def counts(conn: Connection) -> dict[str, int]:
    return {row["status"]: row["debates"] for row in COUNTS.rows(conn)}


def ids(conn: Connection, query: Query) -> list[str]:
    return [row["id"] for row in query.rows(conn)]


def unfiled(conn: Connection) -> list[str]:
    return ids(conn, UNFILED)


def unfinished(conn: Connection, now: float) -> list[Unfinished]:
    """Debates that somebody should be advancing by now, or whose calls somebody should be ending,
    and who last said they would."""
    return [
        Unfinished(
            id=row["id"],
            state=(row["fence"], row["last_seq"]),
            lease_owner=row["lease_owner"],
            lease_until=row["lease_until"],
            waited=row["not_before"] > 0,
        )
        for row in (*UNFINISHED.rows(conn, {"now": now}), *LEFT_OPEN.rows(conn))
    ]


def held(conn: Connection, owner: str) -> dict[str, Held]:
    """Which debates an owner has in hand, behind which fence, and what is wanted of them."""
    return {
        row["id"]: Held(row["fence"], row["wanted"]) for row in HELD.rows(conn, {"owner": owner})
    }


def renew(conn: Connection, owner: str, debate_ids: Sequence[str], until: float) -> None:
    """Keep those leases alive, of those that the owner still has."""
    if conn.seen:
        conn.seen.clear()
    for some in parts(runs.c.id, debate_ids):
        RENEW.run(conn, {"owner": owner, "until": until, **some})


def filed(conn: Connection, debate_id: str, seq: int) -> None:
    if conn.seen:
        conn.seen.pop(debate_id, None)
    FILED.run(conn, {"b_id": debate_id, "seq": seq})


def outdated(conn: Connection, debate_id: str) -> None:
    """Its files no longer show all that there is."""
    if conn.seen:
        conn.seen.pop(debate_id, None)
    OUTDATED.run(conn, {"b_id": debate_id})


def encoded(debate: Debate) -> dict[str, Any]:
    """A debate's whole row."""
    return {
        **picked(debate, _SAME),
        **_progress(debate),
        **_at_rest(debate),
        "format": debate.format,
        "format_digest": _kept_as(debate.rules),
        "options": codec.dumps(dict(debate.options)),
        "number": place_of(debate.id, debate.created_at),
        "artifact_root": f"records/debates/{debate.id}",
        "brief": codec.dumps(dict(debate.brief)),
        "tags": codec.dumps(list(debate.tags)),
        "archived": int(debate.archived),
        "received": None if debate.received is None else codec.dumps(dict(debate.received)),
        "forked_from": codec.dumps(codec.plain(debate.forked_from)) if debate.forked_from else None,
        "sources": codec.dumps([codec.plain(one) for one in debate.sources])
        if debate.sources
        else None,
        "hide_sources_from": (
            codec.dumps(debate.hide_sources_from) if debate.hide_sources_from else None
        ),
    }


def _progress(debate: Debate) -> dict[str, Any]:
    """What a turn changes, and has another form in the row."""
    cursor = debate.cursor
    return {
        **usage_row(debate.usage),
        "degraded": int(debate.degraded),
        "next_round": cursor.next_round,
        "next_stage": cursor.next_stage,
        "next_actor": cursor.next_actor,
        "next_target": cursor.next_target,
        "wave_done": cursor.done,
        "turns": debate.turn_count,
    }


def _at_rest(debate: Debate) -> dict[str, Any]:
    outcome = astuple(debate.outcome) if debate.outcome else (None,) * len(_OUTCOME)
    return {
        "participants": _seats(debate.participants),
        "host": _seats((debate.host,)) if debate.host else None,
        "warnings": codec.dumps(list(debate.warnings)),
        "failure": codec.dumps(codec.plain(debate.failure)) if debate.failure else None,
        "phases": codec.dumps([codec.plain(phase) for phase in debate.phases]),
        "tries": codec.dumps([(key, _number(tried)) for key, tried in debate.tries]),
        "jury": codec.dumps(codec.plain(debate.jury)) if debate.jury else None,
        "limits": codec.dumps(codec.plain(debate.limits)),
        **dict(zip(_OUTCOME, outcome, strict=True)),
    }


@lru_cache(maxsize=4096)
def _seats(seats: tuple[Participant, ...]) -> str:
    return codec.dumps([codec.plain(seat) for seat in seats])


def _kept_as(rules: Format) -> str:
    """The key of a format's row. It tells apart two formats whose answers differ only in the order
    of their fields. The digest does not, and older homes keep fields in the alphabet's order."""
    return hashlib.sha256(to_json(rules).encode()).hexdigest()[:32]


def _format(conn: Connection, digest_: str) -> Format:
    if digest_ not in _known:
        _known[digest_] = from_json(FORMAT.rows(conn, {"digest": digest_})[0]["spec"])
    return _known[digest_]


def decoded(conn: Connection, row: dict[str, Any], *, whole: bool = True) -> Debate:
    """The debate of a row; `whole`: with the texts of its sources, which lists do not need."""
    host, received, brief = row["host"], row["received"], row["brief"]
    decided = row["selected_option"] is not None
    return Debate(
        **{name: row[name] for name in _SAME},
        rules=_format(conn, row["format_digest"]),
        participants=codec.read_participants(row["participants"]),
        host=codec.read_participants(host)[0] if host else None,
        options=codec.read_options(row["options"]),
        limits=codec.read_limits(row["limits"]),
        cursor=Cursor(*_cursor(row)),
        turn_count=row["turns"],
        degraded=bool(row["degraded"]),
        warnings=_texts(row["warnings"]),
        failure=codec.read_failure(row["failure"]),
        usage=usage_of(row),
        brief=json.loads(brief) if brief != "{}" else {},
        phases=_phases(row["phases"]),
        outcome=Decision(*(row[name] for name in _OUTCOME)) if decided else None,
        received=json.loads(received) if received else None,
        tries=_tries(row["tries"]),
        jury=codec.read_jury(row["jury"]) if row["jury"] else None,
        forked_from=codec.read_fork(row["forked_from"]) if row["forked_from"] else None,
        sources=source_rows.read(conn, row["sources"], whole=whole),
        hide_sources_from=codec.read_hidden(row["hide_sources_from"] or "[]"),
        tags=_texts(row["tags"]),
        archived=bool(row["archived"]),
    )


@lru_cache(maxsize=1024)
def _texts(text_: str) -> tuple[str, ...]:
    return tuple(json.loads(text_))


@lru_cache(maxsize=1024)
def _tries(text_: str) -> tuple[tuple[StepKey, Tried], ...]:
    return tuple(
        ((number, actor, target), Tried(n % _CHOICE, n // _CHOICE))
        for (number, actor, target), n in json.loads(text_)
    )


def _number(tried: Tried) -> int:
    """One number, as a moot reads it that knows no second choices and may work on the same
    database: to that one, too many calls have failed for another."""
    return tried.calls + _CHOICE * tried.choice


@lru_cache(maxsize=1024)
def _phases(text_: str) -> tuple[Phase, ...]:
    return tuple(Phase(**phase) for phase in json.loads(text_))
