"""Looking things up in the log, and the table of snapshots: a cache beside the log, which may be dropped at any time.

The table is made when the first snapshot is kept.  It is no part of the schema: programs that do not know of it go on,
and a database without it is whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, Table, delete, func, insert, inspect, select
from sqlalchemy.schema import CreateTable

from whichdo.campaign.chain import Event
from whichdo.campaign.storage.schema import events
from whichdo.campaign.storage.statements import STORED

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from whichdo.campaign.storage.store import Place

__all__ = ["event_of_key", "keep_snapshot", "snapshot_of"]

MOST_BYTES = 1 << 28
"""Of a snapshot; what would be larger is not kept."""

snapshots = Table(
    "whichdo_snapshot",
    MetaData(),
    Column("campaign", Integer, primary_key=True, autoincrement=False),
    Column("events", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

_BY_KEY = select(*(events.c[name] for name in STORED))


def event_of_key(connection: Connection, place: Place, key: str) -> Event | None:
    """The event of a campaign that has a key; None where none has it."""
    found = connection.execute(_BY_KEY.where(events.c.campaign == place.id, events.c.key == key)).one_or_none()
    return None if found is None else Event._make((place.name, *found))


def snapshot_of(connection: Connection, place: Place) -> bytes | None:
    """The snapshot that is kept of a campaign, if there is one."""
    if not inspect(connection).has_table(snapshots.name):
        return None
    own = snapshots.c.campaign == place.id
    size = connection.execute(select(func.length(snapshots.c.body)).where(own)).scalar_one_or_none()
    if type(size) is not int or size > MOST_BYTES:
        return None
    found = connection.execute(select(snapshots.c.body).where(own)).scalar_one_or_none()
    return bytes(found) if isinstance(found, (bytes, memoryview)) else None


def keep_snapshot(connection: Connection, place: Place, count: int, body: bytes) -> None:
    """Keep a snapshot of so many events in place of the one before."""
    if len(body) > MOST_BYTES:
        return
    connection.execute(CreateTable(snapshots, if_not_exists=True))
    connection.execute(delete(snapshots).where(snapshots.c.campaign == place.id))
    connection.execute(insert(snapshots).values(campaign=place.id, events=count, body=body))
