"""The council: what it is asked for, the phases it goes through, what it decides.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("debate_runs", sa.Column("brief", sa.Text(), nullable=False, server_default="{}"))
    op.add_column(
        "debate_runs", sa.Column("phases", sa.Text(), nullable=False, server_default="[]")
    )
    op.add_column("debate_runs", sa.Column("consensus_score", sa.Float()))
    op.add_column("debate_runs", sa.Column("confidence_score", sa.Float()))
    op.add_column("debate_runs", sa.Column("selected_option", sa.Text()))
    op.create_table(
        "debate_actions",
        sa.Column("key", Key, primary_key=True),
        sa.Column("debate_id", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("due", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
    )
    op.create_index("debate_actions_id", "debate_actions", ["debate_id", "id"], unique=True)
    op.create_table(
        "debate_records",
        sa.Column("path", sa.Text(), primary_key=True),
        sa.Column("debate_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
    )
    op.create_index("debate_records_newest", "debate_records", ["created_at", "path"])
