"""The one connection of a store: kept open between transactions, never shared with a child, and given up in doubt.

The threads that share a store take turns, so one connection serves them; to make one takes as long as some rows.  It
must not be used on both sides of a fork: SQLite's locks stay with the parent, which the child does not notice, and a
socket to PostgreSQL would be shared.  So before a fork all connections are closed, at rest, and then made anew.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import finalize, ref

from sqlalchemy import event

from whichdo.campaign.storage.companions import Companions, abandon, lost, place_of, rescue
from whichdo.campaign.storage.deadline import Deadline
from whichdo.campaign.storage.trouble import is_broken
from whichdo.campaign.storage.turns import Turns
from whichdo.errors import BusyError, StorageError, WhichdoError, is_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection, Engine

__all__ = ["Line"]

T = TypeVar("T")

REST = 5.0
"""Seconds after which a connection over a network is made anew: a server or a firewall may have dropped it."""
SLACK = 15.0
"""Seconds that a server may be late with its answer."""
LONGEST = 60.0
"""Seconds for which a fork waits for a thread that is at work."""


class Line:
    """Transactions on an engine, one at a time; ``name`` is for messages, ``path`` the file of a SQLite database."""

    def __init__(self, engine: Engine, name: str, path: Path | None, patience: float) -> None:
        self.may_repeat = False
        """Whether the last transaction failed because its connection broke, surely before it was committed."""
        self._turns = None if path is None else Turns(str(path))
        self._deadline = Deadline(engine, 1.5 * patience + SLACK) if path is None else None
        self.lock = RLock()
        """Held in every transaction, and by whoever wants none to begin."""
        self._wire = _Wire(engine, name, path)
        if path is not None:
            event.listen(engine, "begin", self._wire.begin)
        self._at_work = False
        finalize(self, self._wire.cut)
        if self._turns is not None:
            finalize(self, self._turns.close)
        with _FORKING:
            number = next(_numbers)
            _LINES[number] = ref(self)
        finalize(self, _LINES.pop, number)

    def close(self) -> None:
        """Close the connection, unless this thread is at work with it; the next transaction makes another."""
        with self.lock:
            if not self._at_work:
                self._wire.cut()
                if self._turns is not None:
                    self._turns.close()

    def check_free(self) -> None:
        """Refuse whoever comes in while this very thread is at work: a handler of a signal, or of garbage."""
        if self._at_work:
            raise BusyError(
                f"{self._wire.name} is at work in this thread, and was interrupted by what asks for it now. Ask from "
                f"another thread, or later; nothing was changed."
            )

    def run(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        """Do some work in a transaction: committed when it is done, undone by an error.

        A function, not a context: an interrupt may find a context between its own steps, and leave it as it was.
        """
        with self.lock:
            self.check_free()
            begun = committing = False
            try:
                self._at_work, self.may_repeat = True, False
                connection = self._wire.connection()
                begun = True
                self._wire.writes = writes
                if writes and self._turns is not None:
                    self._turns.wait()
                transaction = connection.begin()
                try:
                    self._wire.check_files()
                    found = work(connection)
                    self._wire.check_files()
                except WhichdoError:
                    transaction.rollback()
                    raise
                committing = True
                transaction.commit()  # by name: left as a context, one that is not active any more is passed over
            except FilesGoneError as gone:
                raise self._wire.give_up(gone) from None
            except WhichdoError:
                raise
            except BaseException as error:
                self._wire.cut()
                self.may_repeat = begun and not committing and is_broken(error)
                if is_interrupt(error):
                    raise KeyboardInterrupt from error
                raise
            else:
                return found
            finally:
                self._at_work = False
                self._done(writes=writes)

    def _done(self, *, writes: bool) -> None:
        """The next one's turn, even where an interrupt comes just now."""
        try:
            if self._deadline is not None:
                self._deadline.end()
        finally:
            if writes and self._turns is not None:
                try:
                    self._turns.leave()
                except BaseException:
                    self._turns.close()
                    raise


class FilesGoneError(WhichdoError):
    """A file of the database was removed or replaced under the connection."""


class _Wire:
    """The connection itself; nothing of it holds on to the line, so that both can be collected."""

    def __init__(self, engine: Engine, name: str, path: Path | None) -> None:
        self._engine, self.name, self._path = engine, name, path
        self.writes = False
        self._connection: Connection | None = None
        self._file: tuple[int, int] | None = None
        self._files = None if path is None else Companions(path, name)
        self._last = 0.0

    def connection(self) -> Connection:
        """At rest, and to the database that is there now."""
        found = self._connection
        if found is None or found.closed or found.in_transaction() or self._is_stale():
            self.cut()
            if self._file is not None and self._place() is None:
                raise StorageError(f"{self.name} is gone: it was there when it was opened. Restore it, or a backup.")
            self._connection = found = self._engine.connect()
            if self._files is not None:
                self._files.forget()
            self._file = self._place()
        self._last = time.monotonic()
        return found

    def _is_stale(self) -> bool:
        if self._path is None:
            return time.monotonic() - self._last > REST
        return self._place() != self._file  # another file has taken its place

    def _place(self) -> tuple[int, int] | None:
        return None if self._path is None else place_of(str(self._path))

    def check_files(self) -> None:
        """Refuse to go on where a file of the database is not the one that the connection has open."""
        missing = None if self._files is None else self._files.missing(writes=self.writes)
        if missing is not None:
            raise FilesGoneError(missing)

    def give_up(self, gone: FilesGoneError) -> StorageError:
        """Leave the connection to files that are gone, with a copy of what it sees; what to say about it."""
        found, self._connection = self._connection, None
        rescued = None
        if found is not None and self._path is not None:
            if self._place() == self._file:  # else a backup was restored on purpose
                rescued = rescue(found, self._path)
            abandon(found)
        return lost(str(gone), self.name, rescued)

    def cut(self) -> None:
        """Close it, whatever it was doing; what was not committed is undone."""
        found, self._connection = self._connection, None
        if found is not None:
            with suppress(Exception):
                found.close()

    def begin(self, connection: Connection) -> None:
        """As SQLite should, when SQLAlchemy begins."""
        driver: Any = connection.connection.dbapi_connection  # itself: through SQLAlchemy it takes as long as a row
        if driver.in_transaction:  # which an interrupt has left
            driver.rollback()
        driver.execute("BEGIN IMMEDIATE" if self.writes else "BEGIN")


# ------------------------------------------------------------------------------------------------------------- forks

_FORKING = RLock()
_numbers = count()
_LINES: dict[int, ref[Line]] = {}
_held: list[Line] = []


def _before_fork() -> None:
    _FORKING.acquire()
    for each in list(_LINES.values()):
        line = each()
        if line is not None and line.lock.acquire(timeout=LONGEST):
            _held.append(line)
            line.close()  # but for one that a policy at work forks under: its children do without the campaign


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
