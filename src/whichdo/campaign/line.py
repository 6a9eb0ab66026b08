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

from whichdo.errors import Busy, StorageError, WhichdoError, is_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection, Engine

__all__ = ["Line"]

T = TypeVar("T")

REST = 5.0
"""Seconds after which a connection over a network is made anew: a server or a firewall may have dropped it."""
LONGEST = 60.0
"""Seconds for which a fork waits for a thread that is at work."""


class Line:
    """Transactions on an engine, one at a time; ``name`` is for messages, ``path`` the file of a SQLite database."""

    def __init__(self, engine: Engine, name: str, path: Path | None) -> None:
        self.lock = RLock()
        """Held in every transaction, and by whoever wants none to begin."""
        self._wire = _Wire(engine, name, path)
        if path is not None:
            event.listen(engine, "begin", self._wire.begin)
        self._at_work = False
        finalize(self, self._wire.cut)
        with _FORKING:
            number = next(_numbers)
            _LINES[number] = ref(self)
        finalize(self, _LINES.pop, number)

    def close(self) -> None:
        """Close the connection, unless this thread is at work with it; the next transaction makes another."""
        with self.lock:
            if not self._at_work:
                self._wire.cut()

    def check_free(self) -> None:
        """Refuse whoever comes in while this very thread is at work: a handler of a signal, or of garbage."""
        if self._at_work:
            raise Busy(
                f"{self._wire.name} is at work in this thread, and was interrupted by what asks for it now. Ask from "
                f"another thread, or later; nothing was changed."
            )

    def run(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        """Do some work in a transaction: committed when it is done, undone by an error.

        A function, not a context: an interrupt may find a context between its own steps, and leave it as it was.
        """
        with self.lock:
            self.check_free()
            try:
                self._at_work = True
                connection = self._wire.connection()
                self._wire.writes = writes
                transaction = connection.begin()
                try:
                    found = work(connection)
                except WhichdoError:
                    transaction.rollback()
                    raise
                transaction.commit()  # by name: left as a context, one that is not active any more is passed over
            except WhichdoError:
                raise
            except BaseException as error:
                self._wire.cut()
                if is_interrupt(error):
                    raise KeyboardInterrupt from error
                raise
            else:
                return found
            finally:
                self._at_work = False


class _Wire:
    """The connection itself; nothing of it holds on to the line, so that both can be collected."""

    def __init__(self, engine: Engine, name: str, path: Path | None) -> None:
        self._engine, self.name, self._path = engine, name, path
        self.writes = False
        self._connection: Connection | None = None
        self._file: tuple[int, int] | None = None
        self._last = 0.0

    def connection(self) -> Connection:
        """At rest, and to the database that is there now."""
        found = self._connection
        if found is None or found.closed or found.in_transaction() or self._is_stale():
            self.cut()
            if self._file is not None and self._place() is None:
                raise StorageError(f"{self.name} is gone: it was there when it was opened. Restore it, or a backup.")
            self._connection = found = self._engine.connect()
            self._file = self._place()
        self._last = time.monotonic()
        return found

    def _is_stale(self) -> bool:
        if self._path is None:
            return time.monotonic() - self._last > REST
        return self._place() != self._file  # another file has taken its place

    def _place(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._path)  # type: ignore[arg-type]  # noqa: PTH116 - a third of the time
        except (OSError, TypeError):
            return None
        return status.st_dev, status.st_ino

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
