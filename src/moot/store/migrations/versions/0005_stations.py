"""Stations: agents, stations, their conversations, and what models write of finished debates.

Revision ID: 0005
Revises: 0004
"""

import json
import tomllib
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from moot.store import examples

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """New tables only: a worker of the version before does not know of them."""
    people = op.create_table(
        "debate_agents",
        sa.Column("id", sa.Text(), primary_key=True),
        *(_text(name) for name in ("name", "bio", "model", "stance", "voice")),
        *(_text(name) for name in ("created_at", "updated_at")),
    )
    op.bulk_insert(people, _agents())
    op.create_table(
        "debate_stations",
        sa.Column("id", sa.Text(), primary_key=True),
        _text("name"),
        _text("about"),
        sa.Column("public", sa.Integer(), nullable=False),
        *(_text(name) for name in ("format", "options", "limits", "on_failure", "zone")),
        sa.Column("cron", sa.Text()),
        *(_text(name) for name in ("missed", "motions", "agents")),
        sa.Column("seats", sa.Integer()),
        sa.Column("on_air", sa.Text()),
        sa.Column("free_at", sa.Float(), nullable=False),
        sa.Column("next_slot", sa.Float()),
        sa.Column("wake", sa.Float()),
        sa.Column("made", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("trouble", sa.Text()),
        *(_text(name) for name in ("created_at", "updated_at")),
    )
    op.create_index("debate_stations_wake", "debate_stations", ["wake"])
    op.create_index("debate_stations_on_air", "debate_stations", ["on_air"])
    op.create_table(
        "debate_conversations",
        sa.Column("debate_id", sa.Text(), primary_key=True),
        _text("station_id"),
        sa.Column("due", sa.Float(), nullable=False),
        sa.Column("called", sa.Integer(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("aired_at", sa.Float()),
        _text("agents"),
    )
    op.create_index(
        "debate_conversations_waiting",
        "debate_conversations",
        ["station_id", "due"],
        sqlite_where=sa.text("waiting = 1"),
        postgresql_where=sa.text("waiting = 1"),
    )
    op.create_index(
        "debate_conversations_aired", "debate_conversations", ["station_id", "aired_at"]
    )
    op.create_table(
        "debate_reports",
        sa.Column("debate_id", sa.Text(), primary_key=True),
        _text("state"),
        _text("method"),
        sa.Column("model", sa.Text()),
        _text("summary"),
        sa.Column("reading", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        _text("made_at"),
    )
    op.create_index(
        "debate_reports_making",
        "debate_reports",
        ["until"],
        sqlite_where=sa.text("state = 'making'"),
        postgresql_where=sa.text("state = 'making'"),
    )


def _agents() -> list[dict[str, str]]:
    """The agents that come along: from here on they are the user's, to change or delete."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return [
        {
            "id": one["id"],
            "name": one["name"],
            "bio": one["bio"],
            "model": "",
            "stance": one.get("stance", "neutral"),
            "voice": json.dumps(
                {"lang": "", "name": "", "rate": 1.0, "pitch": 1.0, **one["voice"]}
            ),
            "created_at": at,
            "updated_at": at,
        }
        for one in tomllib.loads(examples.agents())["agents"]
    ]


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)
