"""Debates have a title, tags and follow-up questions, and can be archived.

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

TEXTS = ("question", "model", "status", "answer", "asked_at")
PERHAPS = ("error_code", "error", "answered_at", "owner", "key")
COUNTS = (
    "verified", "failed", "unpriced", "local", "calls", "estimated", "input_tokens",
    "output_tokens", "attempt", "tries", "filed",
)  # fmt: skip


def _index(name: str, table: str, column: str, where: str, *, unique: bool = False) -> None:
    condition = sa.text(where)
    op.create_index(
        name, table, [column], unique=unique, sqlite_where=condition, postgresql_where=condition
    )


def upgrade() -> None:
    """Only what a worker of the version before can live with."""
    for name, kind, default in (
        ("title", sa.Text(), ""),
        ("tags", sa.Text(), "[]"),
        ("archived", sa.Integer(), "0"),
    ):
        op.add_column("debate_runs", sa.Column(name, kind, nullable=False, server_default=default))
    _index("debate_runs_archived", "debate_runs", "number", "archived = 1")
    _index("debate_runs_titled", "debate_runs", "number", "title <> ''")
    op.create_table(
        "debate_tags",
        sa.Column("tag", sa.Text(), primary_key=True),
        sa.Column("number", sa.BigInteger(), primary_key=True, autoincrement=False),
    )
    op.create_index("debate_tags_number", "debate_tags", ["number"])
    op.create_table(
        "debate_followups",
        sa.Column("debate_id", sa.Text(), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in TEXTS),
        *(sa.Column(name, sa.Text()) for name in PERHAPS),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in COUNTS),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("thinking_tokens", sa.Integer(), nullable=False, server_default="0"),
    )
    _index("debate_followups_key", "debate_followups", "key", "key IS NOT NULL", unique=True)
    _index(
        "debate_followups_left", "debate_followups", "debate_id", "status = 'asking' OR filed = 0"
    )
