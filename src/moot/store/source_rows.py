"""Sources in the database: each text once, however many debates read it; and uploads that wait for
their debate."""

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, delete, select

from moot.core.debate import Debate
from moot.core.sources import Passage, Source
from moot.store.query import Connection, Query, by, keeping
from moot.store.tables import source_texts, source_uses, uploads
from moot.wire import codec

MAX_TRIES = 3
MAX_CACHED = 32 * 1024 * 1024  # characters of texts that a process keeps at hand

TEXT = Query(by(source_texts.c.sha256))
HOLD_TEXT = Query(
    select(source_texts.c.sha256)
    .where(source_texts.c.sha256 == bindparam("sha256"))
    .with_for_update(read=True)
)
KEEP_TEXT = keeping(source_texts)
KEEP_USE = keeping(source_uses)
KEEP_UPLOAD = keeping(uploads, ["source", "created_at"])
UPLOAD = Query(by(uploads.c.id))
OLD_UPLOADS = Query(select(uploads.c.id).where(uploads.c.created_at < bindparam("before")))
DROP_UPLOADS = Query(delete(uploads).where(uploads.c.created_at < bindparam("before")))
_UNREAD = (
    source_texts.c.sha256.not_in(select(source_uses.c.sha256)),
    source_texts.c.sha256.not_in(select(uploads.c.sha256)),
)
UNREAD = Query(
    select(source_texts.c.sha256)
    .where(*_UNREAD)
    .order_by(source_texts.c.sha256)
    .with_for_update(of=source_texts)
)
DROP_TEXT = Query(
    delete(source_texts).where(source_texts.c.sha256 == bindparam("b_sha256"), *_UNREAD)
)


class _Texts:
    """The texts that were read last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Passage, ...]] = OrderedDict()
        self._size = 0

    def get(self, sha256: str) -> tuple[Passage, ...] | None:
        with self._lock:
            if sha256 in self._known:
                self._known.move_to_end(sha256)
            return self._known.get(sha256)

    def put(self, sha256: str, text: tuple[Passage, ...]) -> None:
        with self._lock:
            if sha256 not in self._known:
                self._known[sha256] = text
                self._size += _size(text)
            while self._size > MAX_CACHED and len(self._known) > 1:
                self._size -= _size(self._known.popitem(last=False)[1])


_texts = _Texts()


def _size(text: Sequence[Passage]) -> int:
    return sum(len(passage.text) for passage in text)


def keep(conn: Connection, debate: Debate) -> None:
    """Keep the texts that a debate reads, unless another one has read them before."""
    for source in sorted(debate.sources, key=lambda one: one.text_sha256):  # locked in that order
        if source.text:
            _keep_text(conn, source)
            KEEP_USE.run(conn, {"sha256": source.text_sha256, "debate_id": debate.id})


def _keep_text(conn: Connection, source: Source) -> None:
    """Keep a text, and let nobody forget it before this transaction has said who reads it."""
    said = ""
    for _ in range(MAX_TRIES):  # it may be forgotten, or kept by another, between the two
        if HOLD_TEXT.rows(conn, {"sha256": source.text_sha256}):
            return
        said = said or codec.dumps([[passage.page, passage.text] for passage in source.text])
        KEEP_TEXT.run(conn, {"sha256": source.text_sha256, "passages": said})


def forget_texts(conn: Connection) -> None:
    """Forget the texts that nobody reads. Who locks one first, to read or to forget it, is seen by
    the other, whose next statement waits for it."""
    for row in UNREAD.rows(conn):
        DROP_TEXT.run(conn, {"b_sha256": row["sha256"]})


def read(conn: Connection, row: str | None, *, whole: bool) -> tuple[Source, ...]:
    """The sources of a debate's row; `whole`: with their texts."""
    if not row:
        return ()
    found = codec.read_sources(row)
    return (
        tuple(replace(one, text=_text(conn, one.text_sha256)) for one in found) if whole else found
    )


def _text(conn: Connection, sha256: str) -> tuple[Passage, ...]:
    """A text; none if the database has lost it."""
    known = _texts.get(sha256)
    if known is None:
        rows = TEXT.rows(conn, {"sha256": sha256})
        said: list[Any] = json.loads(rows[0]["passages"]) if rows else []
        known = tuple(Passage(n, text, page) for n, (page, text) in enumerate(said, start=1))
        if known:
            _texts.put(sha256, known)
    return known


# --- uploads ---


def keep_upload(conn: Connection, upload: str, source: Source, at: str) -> None:
    _keep_text(conn, source)
    said = codec.dumps(codec.plain(source))
    KEEP_UPLOAD.run(
        conn, {"id": upload, "source": said, "sha256": source.text_sha256, "created_at": at}
    )


def upload_of(conn: Connection, upload: str) -> Source | None:
    rows = UPLOAD.rows(conn, {"id": upload})
    if not rows:
        return None
    source = codec.read_sources(f"[{rows[0]['source']}]")[0]
    return replace(source, text=_text(conn, source.text_sha256))


def sweep_uploads(conn: Connection, before: str) -> None:
    """Forget uploads from before that time, and the texts that nobody reads."""
    if OLD_UPLOADS.rows(conn, {"before": before}):
        DROP_UPLOADS.run(conn, {"before": before})
        forget_texts(conn)
