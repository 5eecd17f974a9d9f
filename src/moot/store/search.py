"""The words of debates: what counts as one, and which debates hold them.

Words are made here and not by the database, so that a search finds the same on each of them, and
what a person types is never read as a query.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Text, TextualSelect, text

from moot.store.query import Connection, Query

INDEXED = 10  # letters of a word's beginning that debate_search keeps lists for
LONGEST = 64  # letters by which words are told apart

_WORD = re.compile(r"[^\W_]+")
_COLUMNS = (
    "number",
    "status",
    "format",
    "outcome",
    "archived",
    "cost_usd",
    "motion",
    "participants",
    "host",
)
_SELECT = f"SELECT {', '.join(f'runs.{name}' for name in _COLUMNS)} FROM "  # noqa: S608  names of ours


def _matching(sql: str) -> TextualSelect:
    return text(_SELECT + sql).columns(**dict.fromkeys(_COLUMNS, Text))


ADD = Query(
    {
        "sqlite": text("INSERT INTO debate_search (rowid, words) VALUES (:number, :words)"),
        "postgresql": text(
            "INSERT INTO debate_search (number, words)"
            " VALUES (:number, array_to_tsvector(string_to_array(:words, ' ')))"
            " ON CONFLICT (number) DO UPDATE SET words = excluded.words"
        ),
    }
)
MATCHING = Query(
    {
        "sqlite": _matching(
            "debate_search CROSS JOIN debate_runs AS runs ON runs.number = debate_search.rowid"
            " WHERE debate_search MATCH :match AND debate_search.rowid < :before"
            " ORDER BY debate_search.rowid DESC LIMIT :limit"
        ),
        "postgresql": _matching(
            "debate_search JOIN debate_runs AS runs ON runs.number = debate_search.number"
            " WHERE debate_search.words @@ CAST(:match AS tsquery)"
            " AND debate_search.number < :before"
            " ORDER BY debate_search.number DESC LIMIT :limit"
        ),
    }
)


def folded(text_: str) -> str:
    """A text without case and accents."""
    if not text_.isascii():
        apart = unicodedata.normalize("NFKD", text_)
        text_ = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return text_.casefold()


def words(text_: str) -> list[str]:
    """Each word of a text once, without case and accents; letters and digits are all they have."""
    found = _WORD.findall(folded(text_))
    return list(dict.fromkeys(word[:LONGEST] for word in found))


def words_of(row: Mapping[str, Any]) -> list[str]:
    """What a debate is found by from its beginning: its motion, its format, and who sits at the
    table with which model."""
    seats = [*json.loads(row["participants"]), *json.loads(row["host"] or "[]")]
    names = [word for seat in seats for word in (seat["name"], seat.get("model", ""))]
    return words(" ".join([row["motion"], row.get("format", ""), *names]))


def add(conn: Connection, number: int, words_: Iterable[str]) -> None:
    ADD.run(conn, {"number": number, "words": " ".join(words_)})


def matching(
    conn: Connection, words_: Iterable[str], before: int, limit: int
) -> list[dict[str, Any]]:
    """Debates that hold the beginning of every word, up to `INDEXED` letters of it; newest first.

    Whoever asks has to see to the letters after those.
    """
    beginnings = dict.fromkeys(word[:INDEXED] for word in words_)
    if conn.dialect == "sqlite":
        match = " ".join(f'"{beginning}"*' for beginning in beginnings)
    else:
        match = " & ".join(f"'{beginning}':*" for beginning in beginnings)
    params = {"match": match, "before": before, "limit": limit}
    return MATCHING.rows(conn, params)
