"""Where the events of campaigns are kept: SQLite by default, PostgreSQL by URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.campaign.storage.contract import PATIENCE, Place, Storage
from whichdo.campaign.storage.locations import address_of
from whichdo.errors import UsageError
from whichdo.text import masked, visible

if TYPE_CHECKING:
    import os

__all__ = ["PATIENCE", "Place", "Storage", "open_storage"]


def open_storage(address: str | os.PathLike[str], *, create: bool = False, patience: float = PATIENCE) -> Storage:
    """The storage at an address: a URL, or the path of a SQLite file.  The one place where the kind is chosen."""
    place = address_of(address)
    if place.kind == "sqlite":
        from whichdo.campaign.storage.sqlite import SqliteStorage

        return SqliteStorage(place, create=create, patience=patience)
    try:
        from whichdo.campaign.storage.postgres import PostgresStorage
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{visible(masked(str(address)))} needs {error.name}: pip install 'whichdo[postgres]'."
        ) from None
    return PostgresStorage(place, create=create, patience=patience)
