"""Transactions on one connection, kept open between them, never shared with a child, and given up in doubt.

The threads that share a storage take turns, so one connection serves them; to make one takes as long as some rows.  It
must not be used on both sides of a fork: SQLite's locks stay with the parent, which the child does not notice, and a
socket to PostgreSQL would be shared.  So before a fork all connections are closed, at rest, and then made anew.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from threading import RLock
from typing import Any, TypeVar
from weakref import finalize, ref

from whichdo.errors import BusyError, DamagedError, StorageError, UnfitStateError, WhichdoError, is_interrupt

T = TypeVar("T")
Connection = Any
"""The driver's own; a caller passes it on from `Transactions.run` to what is done in the transaction."""
Meanwhile = Callable[[Connection], object]
"""What reads on a connection before its transaction begins."""


class OvertakenError(Exception):
    """What was believed to be the end of a log may not be; nothing was written."""


LONGEST = 60.0
"""Seconds for which a fork waits for a thread that is at work."""


class Transactions(ABC):
    """A database by its ``name`` in messages, whose locks are waited for with ``patience`` (seconds)."""

    only_reads = False
    """Whether nothing can be written there."""
    mending = "Restore a backup, or import an export."
    """What to do about one that is damaged."""

    def __init__(self, name: str, patience: float) -> None:
        self.name, self.patience = name, patience
        self.may_repeat = False
        """Whether the last transaction failed because its connection broke, or it was overtaken; surely before it was
        committed."""
        self.lock = RLock()
        """Held in every transaction, and by a caller that wants none to begin."""
        self._at_work = False
        self._wire = Wire()
        finalize(self, self._wire.cut)
        with _FORKING:
            number = next(_numbers)
            _ALL[number] = ref(self)
        finalize(self, _ALL.pop, number)

    def run(
        self,
        work: Callable[[Connection], T],
        *,
        writes: bool = False,
        meanwhile: Meanwhile | None = None,
        waits: bool = True,
    ) -> T:
        """Do some work in a transaction: committed when it is done, undone by an error.

        ``meanwhile``: what a transaction that writes may read before, where it has to wait for others.
        ``waits``: for them at all; else it is a `BusyError` at once where another writes.

        A transaction that reads and whose connection breaks is tried again; one that writes is repeated by a caller
        that keeps a state (`may_repeat`).
        """
        if writes and self.only_reads:
            raise StorageError(
                f"{self.name} is read-only: nothing can be written there. Copy it, or import an export elsewhere."
            )
        try:
            return self._run(work, writes=writes, meanwhile=meanwhile, waits=waits)
        except (StorageError, BusyError):
            if writes or not self.may_repeat:
                raise
        return self._run(work, writes=False)

    def _run(
        self,
        work: Callable[[Connection], T],
        *,
        writes: bool,
        meanwhile: Meanwhile | None = None,
        waits: bool = True,
    ) -> T:
        """A function, not a context: an interrupt may find a context between its own steps, and leave it as it was."""
        with self.lock:
            self.check_free()
            begun = committing = False
            try:
                self._at_work, self.may_repeat = True, False
                connection = self._ready()
                begun = True
                if waits:
                    self._begin(connection, writes=writes, meanwhile=meanwhile)
                else:
                    self._begin_at_once(connection)
                try:
                    found = work(connection)
                    self._check(writes=writes)
                except UnfitStateError:
                    self._rollback(connection)  # not an answer: the state in memory has to be put aside
                    raise
                except WhichdoError:
                    self._rollback(connection)
                    self._check_guess()
                    raise
                committing = True
                self._commit(connection)
            except WhichdoError:
                raise
            except OvertakenError:
                self._rollback(connection)
                self.may_repeat = True
                raise BusyError(
                    f"{self.name} was written by others meanwhile. Nothing was written; try again."
                ) from None
            except BaseException as error:
                self._wire.cut()
                self.may_repeat = begun and not committing and self._is_broken(error)
                if is_interrupt(error):
                    raise KeyboardInterrupt from error
                said = self._said(error) if isinstance(error, Exception) else None
                if said is None:
                    raise
                raise said from error
            else:
                return found
            finally:
                self._at_work = False
                self._done(writes=writes)

    def check_free(self) -> None:
        """Refuse a call that comes while this very thread is at work: a handler of a signal, or of garbage."""
        if self._at_work:
            raise BusyError(
                f"{self.name} is in use by this thread, in the middle of a transaction that this call interrupted. "
                f"Call from another thread, or later; nothing was changed."
            )

    @abstractmethod
    def close(self) -> None:
        """Close the connection, unless this thread is at work with it; the next transaction makes another."""

    def _ready(self) -> Connection:
        """The connection, at rest; a new one where there is none or the old one will not do."""
        found = self._wire.connection
        if found is None or self._is_stale(found):
            self._wire.cut()
            self._wire.connection = found = self.connect()
        return found

    @abstractmethod
    def connect(self) -> Connection:
        """Connect, with settings that keep what is acknowledged; they are read back and checked."""

    @abstractmethod
    def _is_stale(self, connection: Connection) -> bool:
        """Whether a connection should be made anew."""

    @abstractmethod
    def _begin(self, connection: Connection, *, writes: bool, meanwhile: Meanwhile | None = None) -> None:
        """Begin a transaction; the ``lock`` of `find` or that of the file keeps other writers out."""

    @abstractmethod
    def _begin_at_once(self, connection: Connection) -> None:
        """Begin a transaction that writes; a `BusyError` where that, or what it does, would have to wait for others."""

    def _check(self, *, writes: bool) -> None:  # noqa: B027 - where nothing can go wrong
        """What must hold before a transaction ends."""

    def _check_guess(self) -> None:  # noqa: B027 - where nothing is guessed
        """Raise `OvertakenError` where what is answered rests on a guess."""

    @abstractmethod
    def _commit(self, connection: Connection) -> None:
        """On the disk, when it returns."""

    @abstractmethod
    def _rollback(self, connection: Connection) -> None:
        """Undo what the transaction did."""

    @abstractmethod
    def _done(self, *, writes: bool) -> None:
        """The transaction is over, one way or another."""

    @abstractmethod
    def _is_broken(self, error: BaseException) -> bool:
        """Whether a connection broke, or the transaction was given up for another's sake: it may be tried again."""

    def _said(self, error: Exception) -> WhichdoError | None:
        """What an error in a transaction means, if it is the database's."""
        if isinstance(error, UnicodeDecodeError):  # a text of the database, or of its complaint about it
            return DamagedError(f"{self.name} is damaged: it contains values that are not strings. {self.mending}")
        return self._complaint(error)

    @abstractmethod
    def _complaint(self, error: Exception) -> WhichdoError | None:
        """What a driver's error means: busy, full, read-only, damaged, not ours, not there; None if it is not one."""


class Wire:
    """The connection itself; nothing of it holds on to the storage, so that both can be collected."""

    def __init__(self) -> None:
        self.connection: Connection = None

    def cut(self) -> None:
        """Close it, whatever it was doing; what was not committed is undone."""
        found, self.connection = self.connection, None
        if found is not None:
            with suppress(Exception):
                found.close()


# --------------------------------------------------------------------------------------------------------------- forks

_FORKING = RLock()
_numbers = count()
_ALL: dict[int, ref[Transactions]] = {}
_held: list[Transactions] = []


def _before_fork() -> None:
    _FORKING.acquire()
    for each in list(_ALL.values()):
        found = each()
        if found is not None and found.lock.acquire(timeout=LONGEST):
            _held.append(found)
            found.close()  # but for one that a policy at work forks under: its children do without the campaign


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
