"""Where events are kept: SQLite by default, PostgreSQL by URL, one code for both.

A write takes one transaction: lock the campaign (SQLite: the file, by BEGIN IMMEDIATE), read what others have appended,
validate, append, commit.  When `run` returns, the events are on the disk: SQLite runs in WAL mode with
synchronous=FULL, PostgreSQL with synchronous_commit and fsync, and both are read back and checked.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection, create_engine, insert, inspect, select, text
from sqlalchemy.pool import NullPool

from whichdo._version import __version__
from whichdo.campaign.events import Event
from whichdo.campaign.storage.engines import engine_of, make_private, path_of, url_of
from whichdo.campaign.storage.line import Line
from whichdo.campaign.storage.read_only import can_only_be_read, reader_of
from whichdo.campaign.storage.schema import FORM, campaigns, store
from whichdo.campaign.storage.statements import STORED, Statements
from whichdo.campaign.storage.trouble import speaking, who_locks
from whichdo.errors import DamagedError, NotOursError, StorageError, TooNewError
from whichdo.files import guard
from whichdo.remedies import Verb
from whichdo.text import masked, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

__all__ = ["Place", "Store"]

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds to wait for a lock."""
PAGE = 10_000
"""Events that are read at a time: a database over a network hands over all that is asked for at once."""
MIGRATING = 0x77646F21  # the number of PostgreSQL's lock for making or changing the tables
ADDING = 0x77646F22  # and for adding a campaign


class Place:
    """Where a campaign stands in the database: its row, as last seen."""

    __slots__ = ("head", "id", "length", "name")

    def __init__(self, id: int, name: str, length: int, head: str) -> None:  # noqa: A002 - as the column is called
        self.id, self.name, self.length, self.head = id, name, length, head


class Store:
    """A database of campaigns; ``address`` is a URL, or the path of a SQLite file."""

    def __init__(self, address: str | Path, *, create: bool = False, patience: float = PATIENCE) -> None:
        self.url = url_of(address)
        self.patience = patience
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.name = visible(
            str(path_of(self.url)) if self.sqlite else masked(self.url.render_as_string(hide_password=True))
        )
        self.path = path_of(self.url).absolute() if self.sqlite else None
        if self.path is not None and str(path_of(self.url)) == self.url.database:
            self.url = self.url.set(database=str(self.path))  # the same file, wherever the program goes
        if self.path is not None and not create and not self.path.exists():
            raise StorageError(f"There is no database {self.name}. Start a campaign in it: ", self._start(), ".")
        if self.path is not None and self.path.is_dir():
            raise StorageError(f"{self.name} is a folder; name a file in it, such as {self.name}/campaigns.db.")
        if self.path is not None and not create and self.path.is_file() and not self.path.stat().st_size:
            raise self._empty()  # before SQLite writes into it
        self.only_reads = False
        if self.path is not None:
            self.only_reads = can_only_be_read(self.path)
            if create:
                make_private(self.path)
            guard(self, self.path)
        reader = reader_of(self, self.path, patience) if self.path is not None and self.only_reads else None
        engine = engine_of(self.url, self.name, patience, reader)
        self.line = Line(engine, self.name, self.path, patience)
        self._say = Statements(engine.dialect)
        self._prepare(create=create)

    def close(self) -> None:
        """Close the connection; the next transaction makes another."""
        self.line.close()

    def holds(self, path: Path) -> bool:
        """Whether a path is a file of this database; to open one and close it again would undo SQLite's locks."""
        own = [Path(f"{self.path}{end}") for end in ("", "-wal", "-shm")] if self.sqlite else []
        return path.exists() and any(each.exists() and path.samefile(each) for each in own)

    # ------------------------------------------------------------------------------------------------ transactions

    def run(self, work: Callable[[Connection], T], *, writes: bool = False) -> T:
        """Do some work in a transaction, which sees one state: committed when it is done, undone by an error."""
        if writes and self.only_reads:
            raise StorageError(
                f"{self.name} can be read only: nothing can be written there. Copy it, or import an export elsewhere."
            )
        for again in (True, False) if not writes else (False,):  # what writes is repeated by whoever keeps a state
            try:
                with speaking(self.name, self.who):
                    return self.line.run(work, writes=writes)
            except StorageError:
                if not again or not self.line.may_repeat:
                    raise
        raise AssertionError  # one of them returned or raised

    # ------------------------------------------------------------------------------------------- campaigns and events

    def names(self, connection: Connection) -> list[str]:
        """The campaigns that are here."""
        return [row.name for row in connection.execute(select(campaigns.c.name).order_by(campaigns.c.name))]

    def find(self, connection: Connection, name: str, *, lock: bool = False) -> Place | None:
        """The row of a campaign; ``lock`` it until the transaction ends."""
        row = (self._say.lock if lock else self._say.find)(connection, name=name).fetchone()
        if row is None:
            return None
        number, own_name, length, head, form = row
        if type(form) is not int or form > FORM:
            raise self._too_new(*self._form(connection))
        if (type(number), type(length), type(head)) != (int, int, str):
            raise DamagedError(
                f"{self.name} is damaged: the row of campaign {quoted(name)} does not say what it should."
            )
        return Place(number, own_name, length, head)

    def time(self, connection: Connection) -> datetime:
        """What the clock of a database server says: those of its clients may differ."""
        found: datetime = connection.exec_driver_sql("SELECT clock_timestamp()").scalar_one()
        return found

    def reserve_names(self, connection: Connection) -> None:
        """Nobody else adds a campaign before this transaction ends; a writer of SQLite is alone anyway."""
        if not self.sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({ADDING})"))

    def add(self, connection: Connection, first: Event) -> Place:
        """A new campaign with its event 0."""
        added = connection.execute(insert(campaigns).values(name=first.campaign, length=0, head=first.previous))
        place = Place((added.inserted_primary_key or (0,))[0], first.campaign, 0, first.previous)
        self.append(connection, place, [first])
        return place

    def since(self, connection: Connection, place: Place, seq: int) -> Iterator[Event]:
        """The events from ``seq`` on, as far as the campaign's row says that there are."""
        for first in range(seq, place.length, PAGE):
            end = min(first + PAGE, place.length)
            found = self._say.since(connection, campaign=place.id, first=first, length=end)
            for row in found.fetchmany(PAGE):
                yield Event._make((place.name, *row))

    def page(self, connection: Connection, place: Place, first: int) -> list[Event]:
        """Some events from one on, a page of them at most."""
        return list(self.since(connection, Place(place.id, place.name, min(first + PAGE, place.length), ""), first))

    def append(self, connection: Connection, place: Place, new: Sequence[Event]) -> None:
        """Append events that follow on ``place``, which is moved on."""
        for each in new:
            self._say.append(connection, campaign=place.id, **dict(zip(STORED, each[1:], strict=True)))
        last = new[-1]
        moved = self._say.move(
            connection, campaign=place.id, before=place.length, after=last.seq + 1, new_head=last.hash
        )
        if moved.rowcount != 1 or new[0].seq != place.length:
            raise DamagedError(f"Campaign {quoted(place.name)} changed while it was locked. Nothing was written.")
        place.length, place.head = last.seq + 1, last.hash

    # ------------------------------------------------------------------------------------------------------- opening

    def _prepare(self, *, create: bool) -> None:
        """See that the tables are there and of our form; make or migrate them where they are not."""
        form, written_by = self.run(self._form)
        if form > FORM:
            raise self._too_new(form, written_by)
        if form == 0 and not create:
            raise self._empty()
        if form < FORM:
            self._migrate()

    def _form(self, connection: Connection) -> tuple[int, str]:
        if not inspect(connection).has_table(store.name):
            return 0, ""
        row = connection.execute(select(store.c.form, store.c.written_by)).one_or_none()
        if row is None or type(row.form) is not int:
            raise DamagedError(f"{self.name} does not say which form its tables have. Restore a backup.")
        return row.form, row.written_by

    def _empty(self) -> NotOursError:
        return NotOursError(f"{self.name} holds no campaigns. Start one in it: ", self._start(), ".")

    def _start(self) -> Verb:
        return Verb("start", "NAME", {"problem": "problem.toml", "horizon": 100, "db": self.name})

    def _too_new(self, form: int, written_by: str) -> TooNewError:
        return TooNewError(
            f"{self.name} has form {form} and was written by whichdo {written_by}; this is whichdo {__version__}, "
            f"which knows forms up to {FORM}. Update whichdo; nothing was changed."
        )

    def _migrate(self) -> None:
        """One process does it, while the others wait; the copy is of what was there before."""
        from whichdo.campaign.storage.migration import keep_tables, migrate

        def work(connection: Connection) -> None:
            if not self.sqlite:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATING})"))
            form, _ = self._form(connection)  # another process may have been first
            if form >= FORM:
                return
            if form and self.path is not None:
                from whichdo.campaign.exchange import backup

                backup(self, self.path.with_name(f"{self.path.name}.form-{form}"), replace=True)
            elif form:
                keep_tables(connection, form)
            migrate(connection, form)

        self.run(work, writes=True)

    def who(self) -> str:
        """Who holds the database now, for a message."""
        if self.path is not None:
            return who_locks(str(self.path))
        try:
            with create_engine(self.url, poolclass=NullPool).connect() as connection:
                found = connection.execute(text(_HOLDERS)).all()
        except Exception:  # noqa: BLE001 - a hint is all that is wanted here
            return ""
        return (
            f" by {', '.join(f'process {row.pid} ({visible(row.application_name)})' for row in found)}" if found else ""
        )


_HOLDERS = """
SELECT DISTINCT a.pid, a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.relation = 'whichdo_campaign'::regclass AND l.granted AND a.pid <> pg_backend_pid()
AND l.mode IN ('RowShareLock', 'RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
AND NOT EXISTS (SELECT 1 FROM pg_locks w WHERE w.pid = a.pid AND NOT w.granted)
"""
