"""Debates have sources: each text is kept once, whoever reads it.

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Only what a worker of the version before can live with."""
    op.add_column("debate_runs", sa.Column("sources", sa.Text()))
    op.add_column("debate_runs", sa.Column("hide_sources_from", sa.Text()))
    op.create_table(
        "debate_source_texts",
        sa.Column("sha256", sa.Text(), primary_key=True),
        sa.Column("passages", sa.Text(), nullable=False),
    )
    op.create_table(
        "debate_source_uses",
        sa.Column("sha256", sa.Text(), primary_key=True),
        sa.Column("debate_id", sa.Text(), primary_key=True),
    )
    op.create_index("debate_source_uses_debate", "debate_source_uses", ["debate_id"])
    op.create_table(
        "debate_uploads",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
    )
