"""The tables of a campaign database, which form of them this program knows, and the statements that verbs make.

``whichdo_event`` is the truth.  ``whichdo_campaign`` has a row for each campaign: its name, and how long its log is and
how it ends, so that a log that lost its end is seen; on PostgreSQL it is also what writers lock.  ``whichdo_store``
says which form the tables have, ``whichdo_version`` the same for alembic.

Statements have question marks where values go, as SQLite wants them.
"""

from __future__ import annotations

FORM = 1
"""The form of the tables; one migration leads from each to the next."""
APPLICATION = 0x77646F21
"""What SQLite keeps in the head of a file to say whose it is: ``wdo!``."""
STORED = ("seq", "kind", "key", "body", "time", "previous", "hash")
"""The columns of an event, beside its campaign."""

FIND = """SELECT id, name, length, head, (SELECT form FROM whichdo_store) FROM whichdo_campaign WHERE name = ?"""
"""With the form, because another process may have migrated since."""
NAMES = "SELECT name FROM whichdo_campaign ORDER BY name"
FORM_OF = "SELECT form, written_by FROM whichdo_store"
SINCE = f"SELECT {', '.join(STORED)} FROM whichdo_event WHERE campaign = ? AND seq >= ? AND seq < ? ORDER BY seq"  # noqa: S608
KEYED = f"SELECT {', '.join(STORED)} FROM whichdo_event WHERE campaign = ? AND key = ?"  # noqa: S608
ADD = "INSERT INTO whichdo_campaign (name, length, head) VALUES (?, ?, ?)"

SNAPSHOTS = "CREATE TABLE whichdo_snapshot (campaign INTEGER PRIMARY KEY, events BIGINT NOT NULL, body {blob} NOT NULL)"
"""A cache beside the log, made when the first is kept: a database without it is whole."""
SNAPSHOT = "SELECT body FROM whichdo_snapshot WHERE campaign = ? AND length(body) <= ?"
KEEP = (
    "INSERT INTO whichdo_snapshot (campaign, events, body) VALUES (?, ?, ?) "
    "ON CONFLICT (campaign) DO UPDATE SET events = excluded.events, body = excluded.body"
)

_TABLES = """
CREATE TABLE whichdo_version (
    version_num VARCHAR(32) NOT NULL, CONSTRAINT whichdo_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE whichdo_store (form INTEGER NOT NULL, written_by VARCHAR(40) NOT NULL);

CREATE TABLE whichdo_campaign (
    id {number} NOT NULL, name VARCHAR(200) NOT NULL, length INTEGER NOT NULL, head VARCHAR(64) NOT NULL,
    PRIMARY KEY (id), UNIQUE (name)
);

CREATE TABLE whichdo_event (
    campaign INTEGER NOT NULL, seq INTEGER NOT NULL, kind VARCHAR(20) NOT NULL, key VARCHAR(200), body TEXT NOT NULL,
    time VARCHAR(40) NOT NULL, previous VARCHAR(64) NOT NULL, hash VARCHAR(64) NOT NULL,
    PRIMARY KEY (campaign, seq), FOREIGN KEY (campaign) REFERENCES whichdo_campaign (id)
){end};

CREATE UNIQUE INDEX whichdo_event_key ON whichdo_event (campaign, key) WHERE key IS NOT NULL
"""
"""The index is of the few events that have a key: another one to write for every event would be felt."""


def tables(number: str, end: str = "") -> list[str]:
    """What makes the tables as migrations would; ``number`` is the type of an id, ``end`` follows those of events."""
    return _TABLES.format(number=number, end=end).split(";")
