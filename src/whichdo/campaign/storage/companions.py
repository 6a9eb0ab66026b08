"""The files of a SQLite database that is open: the database, its log (``-wal``) and their index (``-shm``).

SQLite goes on with files that somebody has removed, because it holds them open.  What it commits then is acknowledged,
and gone with the process; another process begins new files, and the two do not see each other.  So before and after
every transaction that writes, the files must be those that it began with.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichdo.errors import StorageError
from whichdo.files import draft_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Companions", "abandon", "lost", "place_of", "rescue"]

Place = tuple[int, int] | None
ENDS = ("", "-wal", "-shm")


class Companions:
    """The files of a database at ``path``, as a connection found them."""

    def __init__(self, path: Path, name: str) -> None:
        self._paths = [f"{path}{end}" for end in ENDS]
        self._path, self._name = path, name
        self._found: tuple[Place, ...] | None = None

    def forget(self) -> None:
        """A new connection opens the files that are there then."""
        self._found = None

    def missing(self, *, writes: bool) -> str | None:
        """The name of a file that is not the one it was, if there is such; ``writes``: all of them must be there."""
        now = tuple(place_of(each) for each in self._paths)
        if self._found is None:
            if None not in now:
                self._found = now
            elif writes:
                return self._names(now, (None,) * len(now), gone=True)
            return None
        return None if now == self._found else self._names(now, self._found, gone=False)

    def _names(self, now: tuple[Place, ...], then: tuple[Place, ...], *, gone: bool) -> str:
        return next(
            f"{self._name}{end}"
            for end, one, other in zip(ENDS, now, then, strict=True)
            if (one is None if gone else one != other)
        )


def lost(missing: str, name: str, rescued: str | None) -> StorageError:
    """What to say when a file was removed under a connection."""
    kept = f" All that it could still see is in {rescued}, a database to look at with --db." if rescued else ""
    return StorageError(
        f"{missing} was removed or replaced while {name} was in use. Nothing was written now, but what this process "
        f"wrote before may be lost.{kept} Stop all that use the database, and verify it with your last receipt."
    )


def place_of(path: str) -> Place:
    """Device and inode of a file; None if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a third of the time
    except OSError:
        return None
    return status.st_dev, status.st_ino


def rescue(connection: Connection, path: Path) -> str | None:
    """Copy what a connection still sees into a new file beside the database; its name, or None where that fails."""
    driver: Any = connection.connection.dbapi_connection
    target = next((each for n in range(1, 100) if not (each := Path(f"{path}.rescued-{n}")).exists()), None)
    if target is None:
        return None
    with suppress(OSError, sqlite3.Error):
        if driver.in_transaction:
            driver.rollback()
        with draft_of(target, private=True) as (draft, file):
            with closing(sqlite3.connect(draft)) as copy:
                driver.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
            os.fsync(file.fileno())
            draft.replace(target)
        return target.name
    return None


def abandon(connection: Connection) -> None:
    """Give up a connection without closing it: SQLite would put the log that it holds into the database at the end.

    Others may have written there since.  Where SQLite cannot be told (before Python 3.12), it is kept for ever.
    """
    driver: Any = connection.connection.dbapi_connection
    configure = getattr(driver, "setconfig", None)
    if configure is not None:
        configure(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)  # type: ignore[attr-defined]
        with suppress(Exception):
            connection.close()
        return
    with suppress(sqlite3.Error):
        if driver.in_transaction:
            driver.rollback()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(driver))
