"""What the calls for a report took is kept whole: how many they were, and what is estimated.

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Only what a worker of the version before can live with: it knows none of the new columns."""
    for name in ("calls", "estimated", "thinking_tokens"):
        counted = sa.Column(name, sa.Integer(), nullable=False, server_default="0")
        op.add_column("debate_reports", counted)
    # Each try is a call, but for one that the budget had no room for.
    op.execute("UPDATE debate_reports SET calls = tries WHERE input_tokens > 0 OR cost_usd > 0")
