"""Campaigns in a SQLite file: in WAL mode with synchronous=FULL, written by one process at a time.

A writer begins with BEGIN IMMEDIATE, which locks the file; in front of it stands a queue (`turns`), so that many
writers are served in order.  What can happen to the files themselves is in `companions`.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from weakref import finalize

from whichdo.campaign.storage import schema
from whichdo.campaign.storage.companions import (
    Companions,
    File,
    abandon,
    can_only_be_read,
    lost,
    make_private,
    rescue,
    who_locks,
)
from whichdo.campaign.storage.contract import AGAIN, Storage, first_line
from whichdo.campaign.storage.turns import Turns
from whichdo.errors import BusyError, ConflictError, DamagedError, NotOursError, StorageError
from whichdo.files import draft_of, guard, take_place
from whichdo.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.campaign.chain import Event
    from whichdo.campaign.storage.contract import Place
    from whichdo.campaign.storage.locations import Address
    from whichdo.campaign.storage.transactions import Meanwhile
    from whichdo.errors import WhichdoError


_APPEND = f"INSERT INTO whichdo_event (campaign, {', '.join(schema.STORED)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_MOVE = "UPDATE whichdo_campaign SET length = ?, head = ? WHERE id = ? AND length = ?"


class SqliteStorage(Storage):
    """A SQLite file."""

    path: Path
    blob = "BLOB"
    dialect = "sqlite://"
    alone = ("BEGIN IMMEDIATE",)

    def __init__(self, address: Address, *, create: bool, patience: float) -> None:
        path = address.path
        _check_name(path)
        self.path = Path(os.path.realpath(path))  # the same file, wherever the program goes; SQLite follows links too
        self._companions = Companions(self.path, visible(str(path)))
        finalize(self, self._companions.forget)
        self._file = File(str(self.path))
        self._place: tuple[int, int] | None = None
        super().__init__(address, visible(str(path)), patience, Turns(f"{self.path}-wal"))
        self.mending = (  # what SQLite keeps beside a file would spoil the backup too
            f"Restore a backup in its place (and remove {self.name}-wal and {self.name}-shm, which belong to the "
            f"damaged file), or import an export."
        )
        self._look(create=create)
        self.only_reads = can_only_be_read(self.path)
        if create:
            make_private(self.path)
        guard(self, self.path)
        self._uri = self._uri_of(address)
        self._prepare(create=create)

    def _look(self, *, create: bool) -> None:
        """Refuse what is not there, and what is there and cannot be a database, before SQLite writes into it."""
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            if not create:
                raise StorageError(
                    f"There is no database {self.name}. Start a campaign in it: ", self._start(), "."
                ) from None
            return
        except OSError as error:
            raise StorageError(f"{self.name} cannot be opened: {error.strerror}.") from None
        if stat.S_ISDIR(found.st_mode):
            raise StorageError(f"{self.name} is a folder; name a file in it, such as {self.name}/campaigns.db.")
        if not stat.S_ISREG(found.st_mode):
            raise StorageError(f"{self.name} is not a regular file; name another, such as campaigns.db.")
        if not create and not found.st_size:
            raise self._empty()

    # ---------------------------------------------------------------------------------------------------- connections

    def _uri_of(self, address: Address) -> str:
        """What SQLite is to open.

        It keeps an index beside a database in WAL mode even to read it, so it cannot where nothing can be written.
        Where nothing is in the log beside such a file, it is opened as one that does not change.  Where something is,
        that would be left out: then the files are copied to a temporary folder, and the copy is read.
        """
        if not self.only_reads:
            return _uri(self.path, address.options)
        log = Path(f"{self.path}-wal")
        if not log.is_file() or not log.stat().st_size:
            return _uri(self.path, "immutable=1")
        folder = Path(tempfile.mkdtemp(prefix="whichdo-read-"))
        finalize(self, shutil.rmtree, folder, ignore_errors=True)
        copy = folder / "copy.db"
        shutil.copyfile(self.path, copy)
        shutil.copyfile(log, f"{copy}-wal")
        return _uri(copy)

    def connect(self) -> sqlite3.Connection:
        """Open the file, unless it is gone, with settings that keep what is acknowledged."""
        if self._place is not None and self._file.place() is None:
            raise StorageError(f"{self.name} is gone: it was there when it was opened. Restore it, or a backup.")
        connection = sqlite3.connect(
            self._uri, uri=True, timeout=self.patience, check_same_thread=False, isolation_level=None
        )  # transactions are begun by us
        try:
            self._settle(connection)
        except BaseException:
            connection.close()
            raise
        self._companions.forget()
        self._place = self._file.place()
        return connection

    def _settle(self, connection: Any) -> None:
        """Leave a file alone that is a database of something else; else set what keeps ours safe, and read it back."""
        ours = connection.execute("PRAGMA application_id").fetchone()[0] == schema.APPLICATION
        if self.only_reads:
            if not ours:
                raise NotOursError(f"{self.name} is a database of something else, or empty. Name another file.")
            connection.execute("PRAGMA query_only = ON")
            return
        if not ours and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise NotOursError(f"{self.name} is a database of something else. Name another file; it was not changed.")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        found = [connection.execute(f"PRAGMA {each}").fetchone()[0] for each in ("journal_mode", "synchronous")]
        if found != ["wal", 2]:
            raise StorageError(f"{self.name} cannot be kept safe: SQLite answers {found}, not ['wal', 2].")

    def close(self) -> None:
        """Close the connection, and what its files were looked at with."""
        with self.lock:
            super().close()
            if self._wire.connection is None:
                self._companions.forget()

    def _is_stale(self, connection: sqlite3.Connection) -> bool:  # noqa: ARG002
        return self._file.place() != self._place  # another file has taken its place

    # ---------------------------------------------------------------------------------------------------- transactions

    def _begin(self, connection: sqlite3.Connection, *, writes: bool, meanwhile: Meanwhile | None = None) -> None:
        if connection.in_transaction:  # which an interrupt has left
            connection.rollback()
        if writes:
            self._turns.wait(None if meanwhile is None else lambda: self._read(connection, meanwhile))
        self._do(connection, "BEGIN IMMEDIATE" if writes else "BEGIN")
        if not self._companions.known:
            self._check(writes=writes)

    def _begin_at_once(self, connection: sqlite3.Connection) -> None:
        if not self._turns.take():
            raise BusyError(f"{self.name} is being written by others. Nothing was written.")
        self._do(connection, "PRAGMA busy_timeout = 0")
        try:
            self._do(connection, "BEGIN IMMEDIATE")
        finally:
            self._do(connection, f"PRAGMA busy_timeout = {int(self.patience * 1000)}")
        if not self._companions.known:
            self._check(writes=True)

    def _read(self, connection: sqlite3.Connection, work: Meanwhile) -> None:
        """Do something that reads, in a transaction of its own."""
        self._do(connection, "BEGIN")
        try:
            work(connection)
        finally:
            connection.rollback()

    def _check(self, *, writes: bool) -> None:
        """Refuse to go on where a file of the database is not the one that the connection has open.

        The connection to files that are gone is left, with a copy of what it sees.
        """
        missing = self._companions.missing(writes=writes)
        if missing is None:
            return
        found, self._wire.connection = self._wire.connection, None
        rescued = None
        if found is not None:
            if self._file.place() == self._place:  # else a backup was restored on purpose
                rescued = rescue(found, self.path)
            abandon(found)
        raise lost(missing, self.name, rescued)

    def _commit(self, connection: sqlite3.Connection) -> None:
        self._do(connection, "COMMIT")

    def _rollback(self, connection: sqlite3.Connection) -> None:
        if connection is self._wire.connection and connection.in_transaction:
            connection.rollback()

    def _is_broken(self, error: BaseException) -> bool:  # noqa: ARG002
        return False

    # ------------------------------------------------------------------------------------- campaigns and their events

    def _do(
        self, connection: sqlite3.Connection, statement: str, values: tuple[object, ...] = ()
    ) -> Sequence[Sequence[Any]]:
        return connection.execute(statement, values).fetchall()

    def find(self, connection: sqlite3.Connection, name: str, *, lock: bool = False) -> Place | None:  # noqa: ARG002
        """The row of a campaign; the file is locked in every transaction that writes."""
        rows = self._do(connection, schema.FIND, (name,))
        return self._found(connection, name, rows[0]) if rows else None

    def time(self, connection: sqlite3.Connection) -> datetime:  # noqa: ARG002
        """The time of day: all who can open the file are on this machine."""
        return datetime.now(UTC)

    def _added(self, connection: sqlite3.Connection, first: Event) -> int:
        self._do(connection, schema.ADD, (first.campaign, 0, first.previous))
        ((number,),) = self._do(connection, "SELECT last_insert_rowid()")
        return int(number)

    def append(self, connection: sqlite3.Connection, place: Place, new: Sequence[Event]) -> None:
        """Append events that follow on ``place``, which is moved on: all of them, or none."""
        last, before = new[-1], connection.total_changes
        self._do(connection, _MOVE, (last.seq + 1, last.hash, place.id, place.length))
        if connection.total_changes != before + 1 or new[0].seq != place.length:
            raise self._changed(place)
        for each in new:
            self._do(connection, _APPEND, (place.id, *each[1:]))
        place.length, place.head = last.seq + 1, last.hash

    # ------------------------------------------------------------------------------------------------- the whole of it

    def check_file(self) -> None:
        """Raise `DamagedError` where SQLite finds that the file is."""
        ((said,),) = self.run(lambda connection: self._do(connection, "PRAGMA integrity_check(1)"))
        if said != "ok":
            raise DamagedError(f"{self.name} is damaged: {visible(str(said))}. {self.mending}")

    def backup(self, target: Path, *, replace: bool = False) -> Path:
        """Copy the database as it stands into a file, while others work on it; whole or not at all."""
        taken = ConflictError(f"{visible(target)} already exists. Name another file; nothing was written.")
        if not replace and os.path.lexists(target):
            raise taken
        try:
            with draft_of(target, private=True) as (draft, file):
                with self.lock, closing(self._source()) as source, closing(sqlite3.connect(draft)) as copy:
                    source.backup(copy)
                    copy.execute("PRAGMA journal_mode = DELETE")
                    (whole,) = copy.execute("PRAGMA integrity_check").fetchone()
                    if whole != "ok":
                        raise DamagedError(f"{self.name} is damaged: {whole}. The backup was not made.")
                os.fsync(file.fileno())
                take_place(draft, target, free=not replace)
        except FileExistsError:  # it came meanwhile
            raise taken from None
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"{visible(target)} cannot be written: {error}. The backup was not made.") from None
        return target

    def _source(self) -> sqlite3.Connection:
        """A connection to copy from; a file that was removed is not made anew."""
        mode = "ro" if self.only_reads else "rw"
        try:
            source = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode={mode}", uri=True)
            ((application,),) = source.execute("PRAGMA application_id").fetchall()
        except sqlite3.Error as error:
            raise StorageError(f"{self.name} cannot be read: {error}. The backup was not made.") from None
        if application != schema.APPLICATION:
            source.close()
            raise DamagedError(f"{self.name} is not the database it was when it was opened. The backup was not made.")
        return source

    def who(self) -> str:
        """Who holds the file now, for a message."""
        return who_locks(str(self.path))

    def _has_table(self, connection: sqlite3.Connection, name: str) -> bool:
        return bool(self._do(connection, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)))

    def _tables(self) -> Sequence[str]:
        return [*schema.tables("INTEGER", " WITHOUT ROWID"), f"PRAGMA application_id = {schema.APPLICATION}"]

    # --------------------------------------------------------------------------------------------------- its complaints

    def _complaint(self, error: Exception) -> WhichdoError | None:  # noqa: PLR0911 - a rule for each code
        if not isinstance(error, sqlite3.Error):
            return None
        code, words = getattr(error, "sqlite_errorname", "") or "", first_line(error)
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return self._busy()
        if code == "SQLITE_IOERR_SHORT_READ":  # of the database itself it would read zeros
            return lost(f"{self.name}-wal", self.name, None)
        if code == "SQLITE_NOTADB":
            return NotOursError(f"{self.name} is not a database of whichdo: {words}. Name another file.")
        if code.startswith("SQLITE_CORRUPT"):
            return DamagedError(f"{self.name} is damaged: {words}. {self.mending}")
        for start, what in _COMPLAINTS.items():
            if code.startswith(start):
                return StorageError(f"{what.format(self.name)}: {words}. {AGAIN}")
        return StorageError(f"{self.name} cannot be read or written ({code or 'SQLite'}): {words}. {AGAIN}")


def _check_name(path: Path) -> None:
    """Refuse a path that no file can have: the system cuts it at a NUL, or cannot be given it at all."""
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise StorageError(f"{visible(str(path))} cannot be opened: no file can have this name.")


def _uri(path: Path, options: str = "") -> str:
    name = quote(os.fsencode(path.as_posix()))
    return f"file:{name if name.startswith('/') else f'/{name}'}{f'?{options}' if options else ''}"


_COMPLAINTS = {
    "SQLITE_FULL": "There is no room left to write {}",
    "SQLITE_READONLY": "{} is read-only",
    "SQLITE_CANTOPEN": "{} cannot be opened; does its folder exist, and may you write to it",
}
