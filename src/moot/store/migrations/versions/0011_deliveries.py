"""What programs elsewhere are told of debates, on record.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table that a process of the version before does not know, and does not miss."""
    op.create_table(
        "debate_deliveries",
        sa.Column("id", sa.Text(), primary_key=True),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("hook", "debate_id", "type", "body", "state", "created_at")
        ),
        *(sa.Column(name, sa.Text()) for name in ("error", "delivered_at")),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("next_at", sa.Float(), nullable=False),
    )
    op.create_index(
        "debate_deliveries_waiting", "debate_deliveries", ["next_at"],
        sqlite_where=sa.text("state = 'waiting'"), postgresql_where=sa.text("state = 'waiting'"),
    )  # fmt: skip
    op.create_index("debate_deliveries_newest", "debate_deliveries", ["created_at", "id"])
