"""What was said can be searched; lists by outcome and by model.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

SAID = {
    "sqlite": [
        """
        CREATE VIRTUAL TABLE debate_said USING fts5(
            words, content='', columnsize=0, detail=none, tokenize='ascii', prefix='3 4 5 6'
        )""",
        """
        CREATE TRIGGER debate_events_given_back AFTER DELETE ON debate_events
        WHEN OLD.id > coalesce((SELECT max(id) FROM debate_events), 0)
        BEGIN UPDATE debate_indexed SET position = OLD.id - 1 WHERE position >= OLD.id; END""",
    ],
    "postgresql": [
        "CREATE TABLE debate_said (number BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
        "CREATE INDEX debate_said_words ON debate_said USING gin (words)",
    ],
}


def upgrade() -> None:
    """Only what a worker of the version before can live with. The tables are empty: whoever serves
    looks through the whole log in the background, and fills them."""
    op.create_table(
        "debate_models",
        sa.Column("model", sa.Text(), primary_key=True),
        sa.Column("number", sa.BigInteger(), primary_key=True, autoincrement=False),
    )
    op.create_table(
        "debate_lines",
        sa.Column("debate_id", sa.Text(), primary_key=True),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("support", sa.Text(), nullable=False),
    )
    indexed = op.create_table(
        "debate_indexed",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("position", sa.BigInteger(), nullable=False),
    )
    op.bulk_insert(indexed, [{"name": "words", "position": 0}])
    given = sa.text("outcome IS NOT NULL")
    op.create_index(
        "debate_runs_outcome", "debate_runs", ["outcome", "number"],
        sqlite_where=given, postgresql_where=given,
    )  # fmt: skip
    for statement in SAID[op.get_bind().dialect.name]:
        op.execute(statement)
