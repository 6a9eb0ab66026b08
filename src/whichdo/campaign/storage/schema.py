"""The tables of a campaign database, and which form of them this program knows.

``whichdo_event`` is the truth.  ``whichdo_campaign`` has a row for each campaign: its name, and how long its log is and
how it ends, so that a log that lost its end is seen; on PostgreSQL it is also what writers lock.  ``whichdo_store``
says which form the tables have.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, String, Table, Text

__all__ = ["APPLICATION", "FORM", "campaigns", "events", "metadata", "store"]

FORM = 1
"""The form of the tables; one migration leads from each to the next."""
APPLICATION = 0x77646F21
"""What SQLite keeps in the head of a file to say whose it is: ``wdo!``."""

metadata = MetaData()
store = Table(
    "whichdo_store",
    metadata,
    Column("form", Integer, nullable=False),
    Column("written_by", String(40), nullable=False),
)
campaigns = Table(
    "whichdo_campaign",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("length", Integer, nullable=False),
    Column("head", String(64), nullable=False),
)
events = Table(
    "whichdo_event",
    metadata,
    Column("campaign", Integer, ForeignKey("whichdo_campaign.id"), primary_key=True, autoincrement=False),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("key", String(200)),
    Column("body", Text, nullable=False),
    Column("time", String(40), nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    sqlite_with_rowid=False,
)
_keyed = events.c.key.is_not(None)
Index(
    "whichdo_event_key", events.c.campaign, events.c.key, unique=True, sqlite_where=_keyed, postgresql_where=_keyed
)  # of the few events that have a key: another index to write for every event would be felt
