"""What a storage promises, and the part of it that does not depend on the kind of database.

A storage keeps campaigns, each an append-only list of events.  It stores and no more: what events mean, when they are
due and what is reported about them is the campaign's business.

A write takes one transaction: lock the campaign, read what others have appended, validate, append, commit.  When `run`
returns, the events are on the disk, and settings that would not keep them there are refused when a connection is made.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any
from weakref import finalize

from whichdo._version import __version__
from whichdo.campaign.chain import Event
from whichdo.campaign.storage import schema
from whichdo.campaign.storage.transactions import Connection, Transactions
from whichdo.errors import BusyError, DamagedError, NotOursError, TooNewError, WhichdoError
from whichdo.remedies import Verb
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from whichdo.campaign.storage.locations import Address
    from whichdo.campaign.storage.turns import Turns

__all__ = ["AGAIN", "PAGE", "PATIENCE", "Connection", "Place", "Storage", "first_line"]

PATIENCE = 30.0
"""Seconds to wait for a lock."""
PAGE = 10_000
"""Events that are read at a time: a database over a network hands over all that is asked for at once."""
MOST_BYTES = 1 << 28
"""Of a snapshot."""
AGAIN = "Nothing was half written; repeat the command once this is fixed."


class Place:
    """Where a campaign stands in the database: its row, as last seen."""

    __slots__ = ("head", "id", "length", "name")

    def __init__(self, id: int, name: str, length: int, head: str) -> None:  # noqa: A002 - as the column is called
        self.id, self.name, self.length, self.head = id, name, length, head


class Storage(Transactions):
    """A database of campaigns."""

    path: Path | None = None
    """The file, where it is one."""
    blob: str
    """What it calls a column of bytes."""
    dialect: str
    """What SQLAlchemy calls such a database, for migrations."""
    alone: tuple[str, ...]
    """Statements that begin a transaction in which nobody else adds a campaign or changes a table."""

    def __init__(self, address: Address, name: str, patience: float, turns: Turns) -> None:
        super().__init__(name, patience)
        self.address = address
        self._turns = turns
        finalize(self, turns.close)

    def close(self) -> None:
        """Close the connection and leave the queue, unless this thread is at work; the next transaction comes back."""
        with self.lock:
            if not self._at_work:
                self._wire.cut()
                self._turns.close()

    def _done(self, *, writes: bool) -> None:
        """The next one's turn, even where an interrupt comes just now."""
        if writes:
            try:
                self._turns.leave()
            except BaseException:
                self._turns.close()
                raise

    # ----------------------------------------------------------------------------------- campaigns and their events

    @abstractmethod
    def _do(self, connection: Connection, statement: str, values: tuple[object, ...] = ()) -> Sequence[Sequence[Any]]:
        """Run a statement; the rows it finds."""

    def names(self, connection: Connection) -> list[str]:
        """The campaigns that are here."""
        found = [name for (name,) in self._do(connection, schema.NAMES)]
        if not all(isinstance(name, str) for name in found):
            raise DamagedError(f"{self.name} is damaged: the name of a campaign is not a string. {self.mending}")
        return found

    @abstractmethod
    def find(self, connection: Connection, name: str, *, lock: bool = False) -> Place | None:
        """The row of a campaign; ``lock`` it until the transaction ends."""

    @abstractmethod
    def time(self, connection: Connection) -> datetime:
        """The time by the clock that all clients of the database share."""

    def reserve_names(self, connection: Connection) -> None:
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

    def event_of_key(self, connection: Connection, place: Place, key: str) -> Event | None:
        """The event of a campaign that has a key, if one has it."""
        rows = self._do(connection, schema.KEYED, (place.id, key))
        return Event._make((place.name, *rows[0])) if rows else None

    @abstractmethod
    def append(self, connection: Connection, place: Place, new: Sequence[Event]) -> None:
        """Append events that follow on ``place``, which is moved on: all of them, or none."""

    def snapshot_of(self, connection: Connection, place: Place) -> bytes | None:
        """The snapshot that is kept of a campaign, if there is one; what it says is for the caller to check."""
        if not self._has_table(connection, "whichdo_snapshot"):
            return None
        rows = self._do(connection, schema.SNAPSHOT, (place.id, MOST_BYTES))
        return rows[0][0] if rows and type(rows[0][0]) is bytes else None

    def keep_snapshot(self, connection: Connection, place: Place, count: int, body: bytes) -> None:
        """Keep a snapshot of so many events in place of the one before; one that is too large is not kept."""
        if len(body) > MOST_BYTES:
            return
        if not self._has_table(connection, "whichdo_snapshot"):
            self.reserve_names(connection)
            if not self._has_table(connection, "whichdo_snapshot"):
                self._do(connection, schema.SNAPSHOTS.format(blob=self.blob))
        self._do(connection, schema.KEEP, (place.id, count, body))

    def _found(self, connection: Connection, name: str, row: Sequence[Any]) -> Place:
        """The row of a campaign, if it is one."""
        number, own_name, length, head, form = row
        if type(form) is not int or form > schema.FORM:
            raise self._too_new(*self._form(connection))
        if (type(number), type(length), type(head)) != (int, int, str):
            raise DamagedError(
                f"{self.name} is damaged: the row of campaign {quoted(name)} does not contain what it should."
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
        if not self._has_table(connection, "whichdo_store"):
            return 0, ""
        rows = self._do(connection, schema.FORM_OF)
        if len(rows) != 1 or type(rows[0][0]) is not int:
            raise DamagedError(f"{self.name} does not say which schema version it has. Restore a backup.")
        return rows[0][0], rows[0][1]

    @abstractmethod
    def _has_table(self, connection: Connection, name: str) -> bool:
        """Whether there is such a table."""

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
        return NotOursError(f"{self.name} contains no campaigns. Start one in it: ", self._start(), ".")

    def _start(self) -> Verb:
        return Verb("start", "NAME", {"problem": "problem.toml", "horizon": 100, "db": self.name})

    def _too_new(self, form: int, written_by: str) -> TooNewError:
        return TooNewError(
            f"{self.name} has schema version {form} and was written by whichdo {written_by}; this is whichdo "
            f"{__version__}, which knows versions up to {schema.FORM}. Update whichdo; nothing was changed."
        )

    def _busy(self) -> BusyError:
        return BusyError(f"{self.name} is locked{self.who()}. Nothing was written; try again.")


def first_line(error: object) -> str:
    """What an error says, to the end of the first line."""
    lines = str(error).strip().splitlines()
    return visible(lines[0]).rstrip(".") if lines else type(error).__name__
