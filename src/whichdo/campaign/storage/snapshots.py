"""Looking up a key, and the table of snapshots: a cache beside the log, which may be dropped at any time.

The table is made when the first snapshot is kept.  It is not part of the schema: programs that do not know of it go on,
and a database without it is whole.  PostgreSQL is spoken to in text, so bytes go there and come back as base64.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from whichdo.campaign.chain import Event
from whichdo.campaign.storage.schema import STORED

if TYPE_CHECKING:
    from whichdo.campaign.storage.base import Connection, Place, Storage

__all__ = ["MOST_BYTES", "TABLE", "event_of_key", "keep_snapshot", "snapshot_of"]

TABLE = "whichdo_snapshot"
MOST_BYTES = 1 << 28
"""Of a snapshot; what would be larger is not kept."""

_BY_KEY = f"SELECT {', '.join(STORED)} FROM whichdo_event WHERE campaign = ? AND key = ?"  # noqa: S608
_MAKE = f"CREATE TABLE IF NOT EXISTS {TABLE} (campaign INTEGER PRIMARY KEY, events INTEGER NOT NULL, body %s NOT NULL)"
_SIZE = f"SELECT length(body) FROM {TABLE} WHERE campaign = ?"  # noqa: S608
_FORGET = f"DELETE FROM {TABLE} WHERE campaign = ?"  # noqa: S608


def event_of_key(storage: Storage, connection: Connection, place: Place, key: str) -> Event | None:
    """The event of a campaign that has a key; None where none has it."""
    found = storage._do(connection, _BY_KEY, (place.id, key))
    return Event._make((place.name, *found[0])) if found else None


def snapshot_of(storage: Storage, connection: Connection, place: Place) -> bytes | None:
    """The snapshot that is kept of a campaign, if there is one."""
    if not storage._has_table(connection, TABLE):
        return None
    size = storage._do(connection, _SIZE, (place.id,))
    if not size or type(size[0][0]) is not int or size[0][0] > MOST_BYTES:
        return None
    body = "encode(body, 'base64')" if storage.speaks_text else "body"
    ((found,),) = storage._do(connection, f"SELECT {body} FROM {TABLE} WHERE campaign = ?", (place.id,))  # noqa: S608
    if storage.speaks_text:
        return b64decode(found)
    return found if isinstance(found, bytes) else None


def keep_snapshot(storage: Storage, connection: Connection, place: Place, count: int, body: bytes) -> None:
    """Keep a snapshot of so many events in place of the one before."""
    if len(body) > MOST_BYTES:
        return
    storage._do(connection, _MAKE % ("BYTEA" if storage.speaks_text else "BLOB"))
    storage._do(connection, _FORGET, (place.id,))
    value = "decode(?, 'base64')" if storage.speaks_text else "?"
    given = b64encode(body).decode() if storage.speaks_text else body
    storage._do(connection, f"INSERT INTO {TABLE} VALUES (?, ?, {value})", (place.id, count, given))  # noqa: S608
