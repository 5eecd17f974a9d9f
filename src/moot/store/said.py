"""All words of debates, what was said in them too, and which debates hold them.

`indexing.py` adds a debate's words here once it has come to rest. Like those of `search.py`, words
are made here and not by the database. Scripts that put no space between words are kept as single
characters and pairs of neighbours, so that any part of such a text is found.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from sqlalchemy import Text, TextualSelect, text

from moot.store.query import Connection, Query
from moot.store.search import LONGEST, folded

BEGINNING = 3  # letters from which on the beginning of a word is enough
MOST_BYTES = 1_000_000  # of one debate's words on Postgres: beyond 1 MiB it silently loses some

# Thai, Lao, Myanmar, Khmer, kana, Han: letters and vowel signs, without digits and punctuation.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u109f"
    "\u1780-\u17d3\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs of India's scripts and Tibetan, which Python does not count among the letters.
_SIGNS = "\u0900-\u0963\u0971-\u0de6\u0df2\u0df3\u0f71-\u0f84\u0f90-\u0fbc"
_RUN = re.compile(f"[{_UNSPACED}]+|(?:[^\\W_{_UNSPACED}]|[{_SIGNS}])+")
_ASCII = re.compile("[a-z0-9]+")
_FIRST_UNSPACED = "\u0e01"
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_COLUMNS = ("number", "status", "format", "outcome", "archived", "cost_usd")
_SELECT = f"SELECT {', '.join(f'runs.{name}' for name in _COLUMNS)} FROM "  # noqa: S608  names of ours

ADD = Query(
    {
        # of a word that is there already, the newer entry takes the place of the older
        "sqlite": text("INSERT INTO debate_said (rowid, words) VALUES (:number, :words)"),
        "postgresql": text(
            "INSERT INTO debate_said (number, words)"
            " VALUES (:number, array_to_tsvector(string_to_array(:words, ' ')))"
            " ON CONFLICT (number) DO UPDATE SET words = excluded.words"
        ),
    }
)
HELD = Query(
    text("SELECT tsvector_to_array(words) AS words FROM debate_said WHERE number = :number")
    .columns(words=Text)
)  # fmt: skip
REMOVE = Query(
    {
        "sqlite": text(
            "INSERT INTO debate_said (debate_said, rowid, words) VALUES ('delete', :number, :words)"
        ),
        "postgresql": text("DELETE FROM debate_said WHERE number = :number"),
    }
)


def _matching(sql: str) -> TextualSelect:
    return text(_SELECT + sql).columns(**dict.fromkeys(_COLUMNS, Text))


MATCHING = Query(
    {
        "sqlite": _matching(
            "debate_said CROSS JOIN debate_runs AS runs ON runs.number = debate_said.rowid"
            " WHERE debate_said MATCH :match AND debate_said.rowid < :before"
            " ORDER BY debate_said.rowid DESC LIMIT :limit"
        ),
        "postgresql": _matching(
            "debate_said JOIN debate_runs AS runs ON runs.number = debate_said.number"
            " WHERE debate_said.words @@ CAST(:match AS tsquery) AND debate_said.number < :before"
            " ORDER BY debate_said.number DESC LIMIT :limit"
        ),
    }
)


def words(texts: Iterable[str]) -> list[str]:
    """Everything that the texts are found by, each once."""
    found: dict[str, None] = {}
    for text_ in texts:
        plain = folded(text_)
        if plain.isascii():  # the same, eight times as fast
            found |= dict.fromkeys([run[:LONGEST] for run in dict.fromkeys(_ASCII.findall(plain))])
            continue
        for run in _RUN.findall(plain):
            if _is_unspaced(run):
                found |= dict.fromkeys(run)
                found |= dict.fromkeys(map("".join, pairwise(run)))
            else:
                found[run[:LONGEST]] = None
    return list(found)


def asked(text_: str) -> dict[str, bool]:
    """What a debate has to hold to be found, and of each whether its beginning is enough."""
    found: dict[str, bool] = {}
    for run in _RUN.findall(folded(text_)):
        if not _is_unspaced(run):
            found[run[:LONGEST]] = len(run) >= BEGINNING
        elif len(run) == 1:
            found[run] = False
        else:
            found |= dict.fromkeys(map("".join, pairwise(run)), False)
    return found


def _is_unspaced(run: str) -> bool:
    return run[0] >= _FIRST_UNSPACED and _IS_UNSPACED.match(run) is not None


def add(conn: Connection, number: int, words_: Sequence[str]) -> None:
    """Add words to those of a debate."""
    if conn.dialect == "postgresql":
        held = next(iter(HELD.rows(conn, {"number": number})), None)
        words_ = _that_fit([*(held["words"] if held else ()), *words_])
    if words_:
        ADD.run(conn, {"number": number, "words": " ".join(words_)})


def remove(conn: Connection, number: int, words_: Sequence[str]) -> None:
    """Forget a debate's words; SQLite has to be told which they are."""
    REMOVE.run(conn, {"number": number, "words": " ".join(words_)})


def _that_fit(words_: Sequence[str]) -> list[str]:
    room, kept = MOST_BYTES, list[str]()
    for word in dict.fromkeys(words_):
        room -= len(word.encode()) + 1
        if room < 0:
            break
        kept.append(word)
    return kept


def matching(
    conn: Connection, asked_: dict[str, bool], before: int, limit: int
) -> list[dict[str, Any]]:
    """Debates that hold all of it, newest first."""
    if conn.dialect == "sqlite":
        match = " ".join(f'"{word}"{"*" if begins else ""}' for word, begins in asked_.items())
    else:
        match = " & ".join(f"'{word}'{':*' if begins else ''}" for word, begins in asked_.items())
    return MATCHING.rows(conn, {"match": match, "before": before, "limit": limit})
