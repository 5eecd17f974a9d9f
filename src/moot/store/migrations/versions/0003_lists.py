"""Lists and searches of any number of debates; requests that may come twice.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

from moot.core.ids import number
from moot.store.search import words_of

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

AT_ONCE = 1000
LOWEST = -(2**63)
SEARCH = {
    "sqlite": [
        """
        CREATE VIRTUAL TABLE debate_search USING fts5(
            words, content='', columnsize=0, detail=none, tokenize='ascii',
            prefix='1 2 3 4 5 6 7 8 9 10'
        )"""
    ],
    "postgresql": [
        "CREATE TABLE debate_search (number BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
        "CREATE INDEX debate_search_words ON debate_search USING gin (words)",
    ],
}
ADD = {
    "sqlite": "INSERT INTO debate_search (rowid, words) VALUES (:number, :words)",
    "postgresql": (
        "INSERT INTO debate_search (number, words)"
        " VALUES (:number, array_to_tsvector(string_to_array(:words, ' ')))"
    ),
}


def upgrade() -> None:
    op.create_table(
        "debate_keys",
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("debate_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
    )
    op.add_column(
        "debate_runs", sa.Column("number", sa.BigInteger(), nullable=False, server_default="0")
    )
    _number()
    op.drop_index("debate_runs_newest", "debate_runs")
    op.create_index("debate_runs_number", "debate_runs", ["number"], unique=True)
    op.create_index("debate_runs_status", "debate_runs", ["status", "number"])
    op.create_index("debate_runs_format", "debate_runs", ["format", "number"])
    op.create_index("debate_runs_format_status", "debate_runs", ["format", "status", "number"])
    for statement in SEARCH[op.get_bind().dialect.name]:
        op.execute(statement)
    _index_words()


def _number() -> None:
    """Give every debate its number; of two that would have the same, one takes the next."""
    conn = op.get_bind()
    rows = conn.execute(sa.text("SELECT id, created_at FROM debate_runs")).all()
    given: list[dict[str, object]] = []
    last = LOWEST
    for place, debate_id in sorted((number(*row), row[0]) for row in rows):
        last = max(place, last + 1)
        given.append({"number": last, "id": debate_id})
    if given:
        conn.execute(sa.text("UPDATE debate_runs SET number = :number WHERE id = :id"), given)


def _index_words() -> None:
    conn = op.get_bind()
    some = sa.text(
        "SELECT number, motion, participants, host FROM debate_runs"
        " WHERE number > :last ORDER BY number LIMIT :some"
    )
    add = sa.text(ADD[conn.dialect.name])
    last = LOWEST
    while rows := conn.execute(some, {"last": last, "some": AT_ONCE}).mappings().all():
        given = [(row["number"], words_of({**row})) for row in rows]
        conn.execute(add, [{"number": place, "words": " ".join(words)} for place, words in given])
        last = rows[-1]["number"]
