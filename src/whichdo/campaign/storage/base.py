"""What a storage promises, and the part of it that does not depend on the kind of database.

A storage keeps campaigns, each an append-only list of events.  It stores and no more: what events mean, when they are
due and what is said about them is the campaign's business.

A write takes one transaction: lock the campaign, read what others have appended, validate, append, commit.  When `run`
returns, the events are on the disk, and settings that would not keep them there are refused when a connection is made.

A storage has one connection, kept open between transactions, never shared with a child, and given up in doubt.  The
threads that share a storage take turns.  A connection must not be used on both sides of a fork: SQLite's locks stay
with the parent, which the child does not notice, and a socket to PostgreSQL would be shared.  So before a fork all
connections are closed, at rest, and then made anew.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import finalize, ref

from whichdo._version import __version__
from whichdo.campaign.events import Event
from whichdo.campaign.storage import schema
from whichdo.errors import (
    BusyError,
    DamagedError,
    NotOursError,
    StorageError,
    TooNewError,
    WhichdoError,
    is_interrupt,
)
from whichdo.remedies import Verb
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from whichdo.campaign.storage.addresses import Address

__all__ = ["AGAIN", "PAGE", "PATIENCE", "Place", "Storage", "first_line"]

T = TypeVar("T")
Connection = Any
"""The driver's own; a caller passes it on from `Storage.run` to what is done in the transaction."""

PATIENCE = 30.0
"""Seconds to wait for a lock."""
PAGE = 10_000
"""Events that are read at a time: a database over a network hands over all that is asked for at once."""
LONGEST = 60.0
"""Seconds for which a fork waits for a thread that is at work."""
AGAIN = "Nothing was half written; repeat the command once it is mended."


class Place:
    """Where a campaign stands in the database: its row, as last seen."""

    __slots__ = ("head", "id", "length", "name")

    def __init__(self, id: int, name: str, length: int, head: str) -> None:  # noqa: A002 - as the column is called
        self.id, self.name, self.length, self.head = id, name, length, head


class Storage(ABC):
    """A database of campaigns; messages call it ``name``, and its locks are waited for with ``patience`` (seconds)."""

    path: Path | None = None
    """The file, where it is one."""
    only_reads = False
    """Whether nothing can be written there."""
    mending = "Restore a backup, or import an export."
    """What to do about one that is damaged."""
    dialect: str
    """What SQLAlchemy calls such a database, for migrations."""
    alone: tuple[str, ...]
    """Statements that begin a transaction in which nobody else adds a campaign or changes a table."""

    def __init__(self, address: Address, name: str, patience: float) -> None:
        self.address, self.name, self.patience = address, name, patience
        self.may_repeat = False
        """Whether the last transaction failed because its connection broke, surely before it was committed."""
        self.lock = RLock()
        """Held in every transaction, and by whoever wants none to begin."""
        self._at_work = False
        self._wire = Wire()
        finalize(self, self._wire.cut)
        with _FORKING:
            number = next(_numbers)
            _STORAGES[number] = ref(self)
        finalize(self, _STORAGES.pop, number)

    # ---------------------------------------------------------------------------------------------------- transactions

    def run(self, work: Callable[[Connection], T], *, writes: bool = False) -> T:
        """Do some work in a transaction: committed when it is done, undone by an error.

        A transaction that reads and whose connection breaks is tried again; one that writes is repeated by whoever
        keeps a state (`may_repeat`).
        """
        if writes and self.only_reads:
            raise StorageError(
                f"{self.name} can be read only: nothing can be written there. Copy it, or import an export elsewhere."
            )
        try:
            return self._run(work, writes=writes)
        except (StorageError, BusyError):
            if writes or not self.may_repeat:
                raise
        return self._run(work, writes=False)

    def _run(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        """A function, not a context: an interrupt may find a context between its own steps, and leave it as it was."""
        with self.lock:
            self.check_free()
            begun = committing = False
            try:
                self._at_work, self.may_repeat = True, False
                connection = self._ready()
                begun = True
                self._begin(connection, writes=writes)
                try:
                    found = work(connection)
                    self._check(writes=writes)
                except WhichdoError:
                    self._rollback(connection)
                    raise
                committing = True
                self._commit(connection)
            except WhichdoError:
                raise
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
        """Refuse whoever comes in while this very thread is at work: a handler of a signal, or of garbage."""
        if self._at_work:
            raise BusyError(
                f"{self.name} is at work in this thread, and was interrupted by what asks for it now. Ask from "
                f"another thread, or later; nothing was changed."
            )

    def close(self) -> None:
        """Close the connection, unless this thread is at work with it; the next transaction makes another."""
        with self.lock:
            if not self._at_work:
                self._wire.cut()

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
    def _begin(self, connection: Connection, *, writes: bool) -> None:
        """Begin a transaction; the ``lock`` of `find` or that of the file keeps other writers out."""

    def _check(self, *, writes: bool) -> None:  # noqa: B027 - where nothing can go wrong
        """What must hold before a transaction ends."""

    @abstractmethod
    def _commit(self, connection: Connection) -> None:
        """On the disk, when it returns."""

    @abstractmethod
    def _rollback(self, connection: Connection) -> None:
        """Undo what the transaction did."""

    def _done(self, *, writes: bool) -> None:  # noqa: B027 - where nothing is left to do
        """The transaction is over, one way or another."""

    @abstractmethod
    def _is_broken(self, error: BaseException) -> bool:
        """Whether a connection broke, or the transaction was given up for another's sake: it may be tried again."""

    def _said(self, error: Exception) -> WhichdoError | None:
        """What an error in a transaction means, if it is the database's."""
        if isinstance(error, UnicodeDecodeError):  # a text of the database, or of its complaint about it
            return DamagedError(f"{self.name} is damaged: it holds texts that are none. {self.mending}")
        return self._complaint(error)

    @abstractmethod
    def _complaint(self, error: Exception) -> WhichdoError | None:
        """What a driver's error means: busy, full, read-only, damaged, not ours, not there; None if it is not one."""

    # ----------------------------------------------------------------------------------- campaigns and their events

    @abstractmethod
    def _do(self, connection: Connection, statement: str, values: tuple[object, ...] = ()) -> Sequence[Sequence[Any]]:
        """Run a statement; the rows it finds."""

    def names(self, connection: Connection) -> list[str]:
        """The campaigns that are here."""
        return [name for (name,) in self._do(connection, schema.NAMES)]

    @abstractmethod
    def find(self, connection: Connection, name: str, *, lock: bool = False) -> Place | None:
        """The row of a campaign; ``lock`` it until the transaction ends."""

    @abstractmethod
    def time(self, connection: Connection) -> datetime:
        """The time by the clock that all clients of the database share."""

    def reserve_names(self, connection: Connection) -> None:  # noqa: B027 - where a writer is alone anyway
        """Nobody else adds a campaign before this transaction ends."""

    def add(self, connection: Connection, first: Event) -> Place:
        """A new campaign with its event 0."""
        place = Place(self._added(connection, first), first.campaign, 0, first.previous)
        self.append(connection, place, [first])
        return place

    @abstractmethod
    def _added(self, connection: Connection, first: Event) -> int:
        """The number of a new campaign's row, which has no events yet."""

    def since(self, connection: Connection, place: Place, seq: int) -> Iterator[Event]:
        """The events from ``seq`` on, as far as the campaign's row says that there are."""
        for first in range(seq, place.length, PAGE):
            for row in self._events(connection, place, first, min(first + PAGE, place.length)):
                yield Event._make((place.name, *row))

    def page(self, connection: Connection, place: Place, first: int) -> list[Event]:
        """Some events from one on, a page of them at most."""
        return list(self.since(connection, Place(place.id, place.name, min(first + PAGE, place.length), ""), first))

    def _events(self, connection: Connection, place: Place, first: int, end: int) -> Sequence[Sequence[Any]]:
        """The columns of some events."""
        return self._do(connection, schema.SINCE, (place.id, first, end))

    @abstractmethod
    def append(self, connection: Connection, place: Place, new: Sequence[Event]) -> None:
        """Append events that follow on ``place``, which is moved on: all of them, or none."""

    def _found(self, connection: Connection, name: str, row: Sequence[Any]) -> Place:
        """The row of a campaign, if it is one."""
        number, own_name, length, head, form = row
        if type(form) is not int or form > schema.FORM:
            raise self._too_new(*self._form(connection))
        if (type(number), type(length), type(head)) != (int, int, str):
            raise DamagedError(
                f"{self.name} is damaged: the row of campaign {quoted(name)} does not say what it should."
            )
        return Place(number, own_name, length, head)

    def _changed(self, place: Place) -> DamagedError:
        return DamagedError(f"Campaign {quoted(place.name)} changed while it was locked. Nothing was written.")

    # ----------------------------------------------------------------------------------------------- the whole of it

    @abstractmethod
    def check_file(self) -> None:
        """Raise `DamagedError` where the database itself finds that it is; the chain of events is checked elsewhere."""

    @abstractmethod
    def backup(self, target: Path, *, replace: bool = False) -> Path:
        """Copy the database as it stands into a file, while others work on it; whole or not at all."""

    def holds(self, path: Path) -> bool:  # noqa: ARG002
        """Whether a path is a file of this database, which nobody else may open."""
        return False

    @abstractmethod
    def who(self) -> str:
        """Who holds the database now, for a message."""

    # -------------------------------------------------------------------------------------------------------- opening

    def _prepare(self, *, create: bool) -> None:
        """See that the tables are there and of our form; make or migrate them where they are not."""
        form, written_by = self.run(self._form)
        if form > schema.FORM:
            raise self._too_new(form, written_by)
        if form == 0 and not create:
            raise self._empty()
        if form == 0:
            self.run(self._make, writes=True)
        elif form < schema.FORM:
            self._migrate()

    def _form(self, connection: Connection) -> tuple[int, str]:
        if not self._has_tables(connection):
            return 0, ""
        rows = self._do(connection, schema.FORM_OF)
        if len(rows) != 1 or type(rows[0][0]) is not int:
            raise DamagedError(f"{self.name} does not say which form its tables have. Restore a backup.")
        return rows[0][0], rows[0][1]

    @abstractmethod
    def _has_tables(self, connection: Connection) -> bool:
        """Whether there is a table that says the form."""

    def _make(self, connection: Connection) -> None:
        """Make the tables, unless another process was first."""
        self.reserve_names(connection)
        if self._form(connection)[0]:
            return
        for statement in self._tables():
            self._do(connection, statement)
        self._do(connection, "INSERT INTO whichdo_version (version_num) VALUES (?)", (str(schema.FORM),))
        self._do(connection, "INSERT INTO whichdo_store VALUES (?, ?)", (schema.FORM, __version__))

    @abstractmethod
    def _tables(self) -> Sequence[str]:
        """The statements that make the tables."""

    def _migrate(self) -> None:
        """Bring the tables to our form; one process does it, while the others wait."""
        from whichdo.campaign.storage import migration

        self.close()
        try:
            migration.migrate(self)
        except WhichdoError:
            raise
        except Exception as error:
            said = self._said(getattr(error, "orig", None) or error)
            if said is None:
                raise
            raise said from error

    def _empty(self) -> NotOursError:
        return NotOursError(f"{self.name} holds no campaigns. Start one in it: ", self._start(), ".")

    def _start(self) -> Verb:
        return Verb("start", "NAME", {"problem": "problem.toml", "horizon": 100, "db": self.name})

    def _too_new(self, form: int, written_by: str) -> TooNewError:
        return TooNewError(
            f"{self.name} has form {form} and was written by whichdo {written_by}; this is whichdo {__version__}, "
            f"which knows forms up to {schema.FORM}. Update whichdo; nothing was changed."
        )

    def _busy(self) -> BusyError:
        return BusyError(f"{self.name} is locked{self.who()}. Nothing was written; try again.")


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


def first_line(error: object) -> str:
    """What an error says, to the end of the first line."""
    lines = str(error).strip().splitlines()
    return visible(lines[0]).rstrip(".") if lines else type(error).__name__


# --------------------------------------------------------------------------------------------------------------- forks

_FORKING = RLock()
_numbers = count()
_STORAGES: dict[int, ref[Storage]] = {}
_held: list[Storage] = []


def _before_fork() -> None:
    _FORKING.acquire()
    for each in list(_STORAGES.values()):
        storage = each()
        if storage is not None and storage.lock.acquire(timeout=LONGEST):
            _held.append(storage)
            storage.close()  # but for one that a policy at work forks under: its children do without the campaign


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
