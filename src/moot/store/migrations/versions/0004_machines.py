"""Debates that wait for a worker: lost workers, failed tries, and when to go on.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

UNFILED = "ended_at IS NOT NULL AND files_seq = 0"


def upgrade() -> None:
    """Only what a worker of the version before can live with: it knows none of the new columns."""
    for column in (
        sa.Column("deaths", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("tries", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("not_before", sa.Float(), nullable=False, server_default="0"),
    ):
        op.add_column("debate_runs", column)
    op.drop_index("debate_runs_unfiled", "debate_runs")
    op.execute(
        "UPDATE debate_runs SET files_seq = 0 WHERE ended_at IS NOT NULL AND files_seq < last_seq"
    )
    op.create_index(
        "debate_runs_unfiled",
        "debate_runs",
        ["id"],
        sqlite_where=sa.text(UNFILED),
        postgresql_where=sa.text(UNFILED),
    )
    if op.get_bind().dialect.name == "postgresql":
        # room in each page for the next version of a row: a turn then writes to no index
        op.execute("ALTER TABLE debate_runs SET (fillfactor = 70)")
