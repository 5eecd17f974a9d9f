"""The engine: debates, turns, events, attempts.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "debate_attempts",
        sa.Column("id", Key, primary_key=True),
        sa.Column("debate_id", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("target", sa.Text()),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("error_code", sa.Text()),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        sa.Column("estimated", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Text(), nullable=False),
        sa.Column("ended_at", sa.Text()),
    )
    op.create_index("debate_attempts_n", "debate_attempts", ["debate_id", "n"], unique=True)
    op.create_table(
        "debate_events",
        sa.Column("id", Key, primary_key=True),
        sa.Column("debate_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("data", sa.Text()),
    )
    op.create_index("debate_events_seq", "debate_events", ["debate_id", "seq"], unique=True)
    op.create_table(
        "debate_formats",
        sa.Column("digest", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
    )
    op.create_table(
        "debate_runs",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("motion", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("format_digest", sa.Text(), nullable=False),
        sa.Column("participants", sa.Text(), nullable=False),
        sa.Column("host", sa.Text()),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("limits", sa.Text(), nullable=False),
        sa.Column("on_failure", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("artifact_root", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("degraded", sa.Integer(), nullable=False),
        sa.Column("warnings", sa.Text(), nullable=False),
        sa.Column("stop_reason", sa.Text()),
        sa.Column("stop_requested_at", sa.Text()),
        sa.Column("wanted", sa.Text()),
        sa.Column("failure", sa.Text()),
        sa.Column("next_round", sa.Integer()),
        sa.Column("next_stage", sa.Text()),
        sa.Column("next_actor", sa.Text()),
        sa.Column("next_target", sa.Text()),
        sa.Column("wave_done", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer()),
        sa.Column("stage", sa.Text()),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("files_seq", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("estimated", sa.Integer(), nullable=False),
        sa.Column("open_calls", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.Text()),
        sa.Column("lease_until", sa.Float(), nullable=False),
        sa.Column("started_at", sa.Text()),
        sa.Column("ended_at", sa.Text()),
        sa.Column("updated_at", sa.Text(), nullable=False),
    )
    op.create_index("debate_runs_leased", "debate_runs", ["lease_owner"])
    op.create_index("debate_runs_newest", "debate_runs", ["created_at", "id"])
    op.create_index(
        "debate_runs_unfiled",
        "debate_runs",
        ["id"],
        sqlite_where=sa.text("ended_at IS NOT NULL AND files_seq < last_seq"),
        postgresql_where=sa.text("ended_at IS NOT NULL AND files_seq < last_seq"),
    )
    op.create_index(
        "debate_runs_unfinished",
        "debate_runs",
        ["id"],
        sqlite_where=sa.text("status IN ('queued', 'running', 'ending')"),
        postgresql_where=sa.text("status IN ('queued', 'running', 'ending')"),
    )
    op.create_table(
        "debate_turns",
        sa.Column("id", Key, primary_key=True),
        sa.Column("debate_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("target", sa.Text()),
        sa.Column("instruction", sa.Text()),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("data", sa.Text()),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error_code", sa.Text()),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("estimated", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Text(), nullable=False),
        sa.Column("committed_at", sa.Text(), nullable=False),
    )
    op.create_index(
        "debate_turns_cue_once",
        "debate_turns",
        ["debate_id", "round", "actor", "target"],
        unique=True,
        sqlite_where=sa.text("kind = 'cue'"),
        postgresql_where=sa.text("kind = 'cue'"),
    )
    op.create_index(
        "debate_turns_once",
        "debate_turns",
        ["debate_id", "round", "actor"],
        unique=True,
        sqlite_where=sa.text("kind IN ('speech', 'summary', 'verdict')"),
        postgresql_where=sa.text("kind IN ('speech', 'summary', 'verdict')"),
    )
    op.create_index("debate_turns_seq", "debate_turns", ["debate_id", "seq"], unique=True)
