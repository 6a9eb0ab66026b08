"""The first form: campaigns and their events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "whichdo_store",
        sa.Column("form", sa.Integer, nullable=False),
        sa.Column("written_by", sa.String(40), nullable=False),
    )
    op.create_table(
        "whichdo_campaign",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("length", sa.Integer, nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
    )
    op.create_table(
        "whichdo_event",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("whichdo_campaign.id"), primary_key=True, autoincrement=False),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("key", sa.String(200)),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("time", sa.String(40), nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sqlite_with_rowid=False,
    )
    keyed = sa.text("key IS NOT NULL")
    op.create_index(
        "whichdo_event_key",
        "whichdo_event",
        ["campaign", "key"],
        unique=True,
        sqlite_where=keyed,
        postgresql_where=keyed,
    )
