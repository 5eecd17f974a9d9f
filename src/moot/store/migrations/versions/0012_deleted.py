"""Debates can be deleted: which were, and whether their files are gone.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Only what a worker of the version before can live with."""
    op.create_table(
        "debate_deleted",
        sa.Column("debate_id", sa.Text(), primary_key=True),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("record", sa.Integer(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
    )
    left = sa.text("files = 1")
    op.create_index(
        "debate_deleted_left", "debate_deleted", ["debate_id"],
        sqlite_where=left, postgresql_where=left,
    )  # fmt: skip
