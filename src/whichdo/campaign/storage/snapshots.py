"""Looking things up in the log, and snapshots: what a state came to, so that opening it need not replay everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from whichdo.campaign.chain import Event
from whichdo.campaign.storage.schema import events
from whichdo.campaign.storage.statements import STORED

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from whichdo.campaign.storage.store import Place

__all__ = ["event_of_key"]

_BY_KEY = select(*(events.c[name] for name in STORED))


def event_of_key(connection: Connection, place: Place, key: str) -> Event | None:
    """The event of a campaign that has a key; None where none has it."""
    found = connection.execute(_BY_KEY.where(events.c.campaign == place.id, events.c.key == key)).one_or_none()
    return None if found is None else Event._make((place.name, *found))
