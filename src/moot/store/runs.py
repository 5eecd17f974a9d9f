"""The debates themselves: one row each, with cursor, counters and lease."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ARRAY, Text, bindparam, func, insert, select, text, update

from moot.core.debate import Cursor, Debate, Decision, Participant, Phase, StepKey, Usage
from moot.core.format import Format, digest, from_json, to_json
from moot.core.ids import number as place_of
from moot.errors import NotFoundError
from moot.ports import Held, Unfinished
from moot.store import search
from moot.store.query import Connection, Query
from moot.store.tables import formats, runs
from moot.wire import codec

PROGRESS = [
    "degraded", "next_round", "next_stage", "next_actor", "next_target", "wave_done", "round",
    "stage", "turns", "last_seq", "input_tokens", "output_tokens", "cost_usd", "calls",
    "estimated", "open_calls", "updated_at",
]  # fmt: skip
LEASE = (
    "status", "total", "fence", "lease_owner", "lease_until", "losses", "deaths", "stalls",
    "not_before", "started_at",
)  # fmt: skip
_AT_REST = (
    "participants", "host", "warnings", "stop_reason", "stop_requested_at", "wanted", "failure",
    "files_seq", "ended_at", "phases", "outcome", "tries",
)  # fmt: skip
_AT_REST_COLUMNS = (
    *(name for name in _AT_REST if name != "outcome"),
    "consensus_score", "confidence_score", "selected_option",
)  # fmt: skip

_known: dict[str, Format] = {}
"""Formats by their digest: the same rules wherever they are kept."""

_all = select(runs)

BY_ID = Query(_all.where(runs.c.id == bindparam("id")))
LOCKED = Query(_all.where(runs.c.id == bindparam("id")).with_for_update())
LOCK = Query(
    # those that nobody else has locked; on Postgres alone
    _all.where(runs.c.id == func.any(bindparam("ids", type_=ARRAY(Text))))
    .order_by(runs.c.id)
    .with_for_update(skip_locked=True)
)
FORMAT = Query(select(formats.c.spec).where(formats.c.digest == bindparam("digest")))
INSERT = Query(insert(runs))
CHANGE = Query(
    update(runs)
    .where(runs.c.id == bindparam("b_id"))
    .values({name: bindparam(name) for name in (*PROGRESS, *LEASE, *_AT_REST_COLUMNS)})
)
TAKE = Query(
    # what taking a debate and letting it go changes
    update(runs)
    .where(runs.c.id == bindparam("b_id"))
    .values({name: bindparam(name) for name in (*PROGRESS, *LEASE)})
)
ADVANCE = Query(
    # what a turn changes, and no indexed column: half the cost of writing all of them
    update(runs)
    .where(runs.c.id == bindparam("b_id"))
    .values({name: bindparam(name) for name in PROGRESS})
)
KEEP_FORMAT = Query(
    text(
        "INSERT INTO debate_formats (digest, name, spec) VALUES (:digest, :name, :spec)"
        " ON CONFLICT DO NOTHING"
    )
)
AT_ONCE = 50  # rows that one query loads
BY_NUMBERS = Query(_all.where(runs.c.number.in_([bindparam(f"n{i}") for i in range(AT_ONCE)])))
COUNTS = Query(select(runs.c.status, func.count().label("debates")).group_by(runs.c.status))
UNFINISHED = Query(
    select(
        runs.c.id,
        runs.c.fence,
        runs.c.last_seq,
        runs.c.lease_owner,
        runs.c.lease_until,
        runs.c.not_before,
    )
    .where(text("status IN ('queued', 'running', 'ending')"))
    .where(runs.c.not_before <= bindparam("now"))
)
UNFILED = Query(select(runs.c.id).where(runs.c.ended_at.is_not(None), text("files_seq = 0")))
RENEW = Query(
    update(runs)
    .where(
        runs.c.lease_owner == bindparam("owner"),
        runs.c.id.in_([bindparam(f"id{i}") for i in range(AT_ONCE)]),
    )
    .values(lease_until=bindparam("until"))
)
HELD = Query(
    select(runs.c.id, runs.c.fence, runs.c.wanted).where(runs.c.lease_owner == bindparam("owner"))
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
    search.add(conn, row["number"], search.words_of(row))


def keep_format(conn: Connection, rules: Format) -> None:
    spec = {"digest": digest(rules), "name": rules.name, "spec": to_json(rules)}
    KEEP_FORMAT.run(conn, spec)
    _known.setdefault(spec["digest"], rules)


def load(conn: Connection, debate_id: str, *, lock: bool = False) -> Debate:
    if lock and conn.seen and (known := conn.seen.get(debate_id)):
        return known
    rows = (LOCKED if lock else BY_ID).rows(conn, {"id": debate_id})
    if not rows:
        raise NotFoundError(
            f"There is no debate {debate_id}. `moot list` shows what there is.", "id"
        )
    return _debate(conn, rows[0])


def lock(conn: Connection, debate_ids: Sequence[str]) -> dict[str, Debate]:
    """Lock those debates, but for what is not there or locked by another."""
    return {row["id"]: _debate(conn, row) for row in LOCK.rows(conn, {"ids": list(debate_ids)})}


def change(conn: Connection, before: Debate, after: Debate) -> None:
    old, new = before.__dict__, after.__dict__
    if not all(old[name] is new[name] or old[name] == new[name] for name in _AT_REST):
        CHANGE.run(conn, {"b_id": after.id, **_progress(after), **_lease(after), **_at_rest(after)})
    elif not all(old[name] is new[name] or old[name] == new[name] for name in LEASE):
        TAKE.run(conn, {"b_id": after.id, **_progress(after), **_lease(after)})
    else:
        ADVANCE.run(conn, {"b_id": after.id, **_progress(after)})
    if conn.seen is not None:
        if after.lease_owner is None:
            conn.seen.pop(after.id, None)
        else:
            conn.seen[after.id] = after


def by_numbers(conn: Connection, numbers: Sequence[int]) -> list[Debate]:
    """Those debates, in that order."""
    rows: dict[int, dict[str, Any]] = {}
    for start in range(0, len(numbers), AT_ONCE):
        some = numbers[start : start + AT_ONCE]
        params = {f"n{i}": some[min(i, len(some) - 1)] for i in range(AT_ONCE)}
        rows |= {row["number"]: row for row in BY_NUMBERS.rows(conn, params)}
    return [_debate(conn, rows[number]) for number in numbers]


def counts(conn: Connection) -> dict[str, int]:
    return {row["status"]: row["debates"] for row in COUNTS.rows(conn)}


def ids(conn: Connection, query: Query) -> list[str]:
    return [row["id"] for row in query.rows(conn)]


def unfinished(conn: Connection, now: float) -> list[Unfinished]:
    """Debates that somebody should be advancing by now, and who last said they would."""
    return [
        Unfinished(
            id=row["id"],
            state=(row["fence"], row["last_seq"]),
            lease_owner=row["lease_owner"],
            lease_until=row["lease_until"],
            waited=row["not_before"] > 0,
        )
        for row in UNFINISHED.rows(conn, {"now": now})
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
    for start in range(0, len(debate_ids), AT_ONCE):
        some = debate_ids[start : start + AT_ONCE]
        ids_ = {f"id{i}": some[min(i, len(some) - 1)] for i in range(AT_ONCE)}
        RENEW.run(conn, {"owner": owner, "until": until, **ids_})


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
    return {**_fixed(debate), **_progress(debate), **_lease(debate), **_at_rest(debate)}


def _fixed(debate: Debate) -> dict[str, Any]:
    return {
        "id": debate.id,
        "motion": debate.motion,
        "format": debate.format,
        "format_digest": digest(debate.rules),
        "options": codec.dumps(dict(debate.options)),
        "limits": codec.dumps(codec.plain(debate.limits)),
        "on_failure": debate.on_failure,
        "created_at": debate.created_at,
        "number": place_of(debate.id, debate.created_at),
        "artifact_root": f"records/debates/{debate.id}",
        "brief": codec.dumps(dict(debate.brief)),
        "received": None if debate.received is None else codec.dumps(dict(debate.received)),
    }


def _progress(debate: Debate) -> dict[str, Any]:
    cursor, usage = debate.cursor, debate.usage
    return {
        "degraded": int(debate.degraded),
        "next_round": cursor.next_round,
        "next_stage": cursor.next_stage,
        "next_actor": cursor.next_actor,
        "next_target": cursor.next_target,
        "wave_done": cursor.done,
        "round": debate.round,
        "stage": debate.stage,
        "turns": debate.turn_count,
        "last_seq": debate.last_seq,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "calls": usage.calls,
        "estimated": int(usage.estimated),
        "open_calls": debate.open_calls,
        "updated_at": debate.updated_at,
    }


def _lease(debate: Debate) -> dict[str, Any]:
    return {name: getattr(debate, name) for name in LEASE}


def _at_rest(debate: Debate) -> dict[str, Any]:
    failure, outcome = debate.failure, debate.outcome
    return {
        "participants": _seats(debate.participants),
        "host": _seats((debate.host,)) if debate.host else None,
        "warnings": codec.dumps(list(debate.warnings)),
        "stop_reason": debate.stop_reason,
        "stop_requested_at": debate.stop_requested_at,
        "wanted": debate.wanted,
        "failure": codec.dumps(codec.plain(failure)) if failure else None,
        "files_seq": debate.files_seq,
        "ended_at": debate.ended_at,
        "phases": codec.dumps([codec.plain(phase) for phase in debate.phases]),
        "tries": codec.dumps(debate.tries),
        "consensus_score": outcome.consensus_score if outcome else None,
        "confidence_score": outcome.confidence_score if outcome else None,
        "selected_option": outcome.selected_option if outcome else None,
    }


@lru_cache(maxsize=4096)
def _seats(seats: tuple[Participant, ...]) -> str:
    return codec.dumps([codec.plain(seat) for seat in seats])


def _format(conn: Connection, digest_: str) -> Format:
    if digest_ not in _known:
        _known[digest_] = from_json(FORMAT.rows(conn, {"digest": digest_})[0]["spec"])
    return _known[digest_]


def _debate(conn: Connection, value: dict[str, Any]) -> Debate:
    host = value["host"]
    return Debate(
        id=value["id"],
        motion=value["motion"],
        rules=_format(conn, value["format_digest"]),
        participants=codec.read_participants(value["participants"]),
        host=codec.read_participants(host)[0] if host else None,
        options=codec.read_options(value["options"]),
        limits=codec.read_limits(value["limits"]),
        on_failure=value["on_failure"],
        status=value["status"],
        cursor=Cursor(
            value["next_round"],
            value["next_stage"],
            value["next_actor"],
            value["next_target"],
            value["wave_done"],
        ),
        created_at=value["created_at"],
        updated_at=value["updated_at"],
        degraded=bool(value["degraded"]),
        warnings=tuple(json.loads(value["warnings"])) if value["warnings"] != "[]" else (),
        stop_reason=value["stop_reason"],
        stop_requested_at=value["stop_requested_at"],
        wanted=value["wanted"],
        failure=codec.read_failure(value["failure"]),
        round=value["round"],
        stage=value["stage"],
        turn_count=value["turns"],
        total=value["total"],
        last_seq=value["last_seq"],
        fence=value["fence"],
        lease_owner=value["lease_owner"],
        lease_until=value["lease_until"],
        open_calls=value["open_calls"],
        files_seq=value["files_seq"],
        usage=Usage(
            value["input_tokens"],
            value["output_tokens"],
            value["cost_usd"],
            value["calls"],
            bool(value["estimated"]),
        ),
        started_at=value["started_at"],
        ended_at=value["ended_at"],
        brief=json.loads(value["brief"]) if value["brief"] != "{}" else {},
        phases=_phases(value["phases"]),
        outcome=_outcome(value),
        received=json.loads(value["received"]) if value["received"] else None,
        losses=value["losses"],
        deaths=value["deaths"],
        stalls=value["stalls"],
        tries=_tries(value["tries"]) if value["tries"] != "[]" else (),
        not_before=value["not_before"],
    )


def _tries(text_: str) -> tuple[tuple[StepKey, int], ...]:
    return tuple(((number, actor, target), n) for (number, actor, target), n in json.loads(text_))


@lru_cache(maxsize=1024)
def _phases(text_: str) -> tuple[Phase, ...]:
    return tuple(Phase(**phase) for phase in json.loads(text_))


def _outcome(value: dict[str, Any]) -> Decision | None:
    if value["selected_option"] is None:
        return None
    return Decision(value["consensus_score"], value["confidence_score"], value["selected_option"])
