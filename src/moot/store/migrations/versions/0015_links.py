"""Debates have links for guests: each is known by the hash of its token.

Revision ID: 0015
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Only what a worker of the version before can live with."""
    op.create_table(
        "debate_links",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("debate_id", sa.Text(), nullable=False),
        sa.Column("seat", sa.Text()),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
    )
    op.create_index("debate_links_debate", "debate_links", ["debate_id"])
    op.create_index("debate_links_token", "debate_links", ["token_hash"], unique=True)
