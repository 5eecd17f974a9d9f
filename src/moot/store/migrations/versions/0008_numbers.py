"""Turns have numbers of their own: what they are cited by.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_ROLE_TURNS = """
    CREATE VIEW debate_role_turns AS
    SELECT debate_id, seq, COALESCE(number, seq) AS number, round, stage, name AS role,
           target AS target_role, status, {}, error_code, model, text, committed_at
    FROM debate_turns"""
ROLE_TURNS = {
    "sqlite": _ROLE_TURNS.format("""
           json_extract(data, '$.position') AS position,
           json_extract(data, '$.claim') AS claim,
           json_extract(data, '$.confidence') AS confidence,
           json_extract(data, '$.challenges') AS challenges,
           json_extract(data, '$.revisions') AS revisions"""),
    "postgresql": _ROLE_TURNS.format("""
           CAST(data AS json) ->> 'position' AS position,
           CAST(data AS json) ->> 'claim' AS claim,
           CAST(CAST(data AS json) ->> 'confidence' AS double precision) AS confidence,
           CAST(data AS json) -> 'challenges' AS challenges,
           CAST(data AS json) -> 'revisions' AS revisions"""),
}


def upgrade() -> None:
    """Only what a worker of the version before can live with: it knows none of the new columns.
    Turns from before have no number: it is their seq."""
    op.add_column("debate_turns", sa.Column("number", sa.Integer()))
    op.create_index(
        "debate_turns_number",
        "debate_turns",
        ["debate_id", "number"],
        unique=True,
        sqlite_where=sa.text("number IS NOT NULL"),
        postgresql_where=sa.text("number IS NOT NULL"),
    )
    op.execute("DROP VIEW debate_role_turns")
    op.execute(ROLE_TURNS[op.get_bind().dialect.name])
