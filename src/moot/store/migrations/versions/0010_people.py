"""People take seats: for which seat a debate waits.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Only what a worker of the version before can live with."""
    op.add_column("debate_runs", sa.Column("waiting_for", sa.Text()))
