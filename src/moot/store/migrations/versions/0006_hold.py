"""What holds a debate to its bounds: workers lost, advances without progress, whose call it was.

Also the request as it was received, and a view of what each role of a council said.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ROLE_TURNS = {
    "sqlite": """
        CREATE VIEW debate_role_turns AS
        SELECT debate_id, seq, round, stage, name AS role, target AS target_role, status,
               json_extract(data, '$.position') AS position,
               json_extract(data, '$.claim') AS claim,
               json_extract(data, '$.confidence') AS confidence,
               json_extract(data, '$.challenges') AS challenges,
               json_extract(data, '$.revisions') AS revisions,
               error_code, model, text, committed_at
        FROM debate_turns""",
    "postgresql": """
        CREATE VIEW debate_role_turns AS
        SELECT debate_id, seq, round, stage, name AS role, target AS target_role, status,
               CAST(data AS json) ->> 'position' AS position,
               CAST(data AS json) ->> 'claim' AS claim,
               CAST(CAST(data AS json) ->> 'confidence' AS double precision) AS confidence,
               CAST(data AS json) -> 'challenges' AS challenges,
               CAST(data AS json) -> 'revisions' AS revisions,
               error_code, model, text, committed_at
        FROM debate_turns""",
}


def upgrade() -> None:
    """Only what a worker of the version before can live with: it knows none of the new columns."""
    for column in (
        sa.Column("losses", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("stalls", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("received", sa.Text()),
    ):
        op.add_column("debate_runs", column)
    op.add_column("debate_attempts", sa.Column("owner", sa.Text()))
    op.create_index(
        "debate_attempts_lost",
        "debate_attempts",
        ["owner"],
        sqlite_where=sa.text("outcome IN ('started', 'unknown')"),
        postgresql_where=sa.text("outcome IN ('started', 'unknown')"),
    )
    op.execute(ROLE_TURNS[op.get_bind().dialect.name])
