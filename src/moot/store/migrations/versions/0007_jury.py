"""A jury, the kind of outcome, what a debate was forked from, and how much was thought.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Only what a worker of the version before can live with: it knows none of the new columns."""
    op.add_column("debate_runs", sa.Column("outcome", sa.Text()))
    op.add_column("debate_runs", sa.Column("jury", sa.Text()))
    for table in ("debate_runs", "debate_turns", "debate_attempts"):
        thinking = sa.Column("thinking_tokens", sa.Integer(), nullable=False, server_default="0")
        op.add_column(table, thinking)
    op.add_column("debate_runs", sa.Column("forked_from", sa.Text()))
    op.create_table(
        "debate_hindsight",
        sa.Column("debate_id", sa.Text(), primary_key=True),
        sa.Column("hindsight", sa.Text(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("forecasts", sa.Text(), nullable=False),
    )
