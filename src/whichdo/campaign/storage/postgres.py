"""Campaigns on a PostgreSQL server: a writer locks the row of its campaign, and commits are on the server's disk.

What takes the time of a short write is going to the server and back, so a write does it twice.  First: begin, lock the
campaign, read the clock and what others have appended since it was last seen.  Then: append and commit.  The statements
go through libpq's pipeline, prepared once for each connection.

The writers of one machine take turns (`turns`).  Within a turn the first trip is not made where the one before found
that nobody else writes: the log is guessed to end as this process left it a moment ago.  An append changes something
only where it does, so a guess that was wrong writes nothing and is made good by the two trips; nothing is answered on a
guess alone.

A server that says nothing is given up after a while.  Its own time-outs end statements and locks that take long, and
TCP's find that a packet was not received; neither helps where the other end is there but frozen, so an answer is
waited for only so long.  Time that the program spends on its own decisions does not count.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict

from whichdo.campaign.storage import schema
from whichdo.campaign.storage.contract import AGAIN, PAGE, Place, Storage, first_line
from whichdo.campaign.storage.libpq import ServerError, exchange, is_ready
from whichdo.campaign.storage.locations import who_am_i
from whichdo.campaign.storage.transactions import OvertakenError
from whichdo.campaign.storage.turns import queue_of
from whichdo.errors import DamagedError, NotOursError, StorageError, UsageError
from whichdo.text import masked, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whichdo.campaign.chain import Event
    from whichdo.campaign.storage.libpq import Command, Rows
    from whichdo.campaign.storage.locations import Address
    from whichdo.campaign.storage.transactions import Meanwhile
    from whichdo.errors import WhichdoError


REST = 120.0
"""Seconds after which a connection is made anew: a firewall may have dropped it, and neither end knows."""
SLACK = 15.0
"""Seconds that a server may be late with its answer."""
STATEMENT = 10_000
"""Milliseconds that a statement may take when it has got its lock."""
FROZEN = 300_000
"""Milliseconds after which the server ends a transaction whose client does nothing, and sets its locks free.  A policy
decides within a transaction, so this is longer than any decision takes."""
ADDING = 0x77646F22
"""The number of the lock for adding a campaign and for making or changing the tables."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"  # with a row lock; what the server has by default may be stricter
_LOCK = f"{schema.FIND} FOR UPDATE OF whichdo_campaign"
_CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_COLUMNS = ", ".join(schema.STORED)
_VALUES = "?::integer, ?, ?, ?, ?, ?, ?"
_FIRST = (
    f"WITH moved AS (UPDATE whichdo_campaign SET length = ?, head = ? WHERE id = ? AND length = ? AND head = ? "  # noqa: S608
    f"AND (SELECT form FROM whichdo_store) = ? RETURNING id) "
    f"INSERT INTO whichdo_event (campaign, {_COLUMNS}) SELECT id, {_VALUES} FROM moved"
)
"""Appends an event where the campaign stands as it should, and moves it on."""
_NEXT = (
    f"INSERT INTO whichdo_event (campaign, {_COLUMNS}) SELECT id, {_VALUES} FROM whichdo_campaign "  # noqa: S608
    f"WHERE id = ? AND head = ?"
)
"""Appends another, where the first has moved it on."""
_PREPARED = {
    text: f"whichdo_{number}".encode()
    for number, text in enumerate((_BEGIN, "COMMIT", schema.FIND, _LOCK, _CLOCK, schema.SINCE, _FIRST, _NEXT))
}


class _Left(NamedTuple):
    """A campaign as a transaction left it, and what the clock of the server said at a moment of this machine's."""

    id: int
    name: str
    length: int
    head: str
    time: datetime
    at: float


class _Ahead(NamedTuple):
    """What was read with a campaign's row, before it was asked for."""

    time: datetime
    campaign: int
    first: int
    events: Rows


class PostgresStorage(Storage):
    """A database on a PostgreSQL server."""

    blob = "BYTEA"
    dialect = "postgresql+psycopg://"
    alone = (_BEGIN, f"SELECT pg_advisory_xact_lock({ADDING})")

    def __init__(self, address: Address, *, create: bool, patience: float) -> None:
        name = visible(masked(address.where))
        try:
            self._target = conninfo_to_dict(address.where)
        except (psycopg.ProgrammingError, UnicodeError):
            raise UsageError(
                f"{quoted(name)} is not the address of a database, such as postgresql://user@host/name."
            ) from None
        self._last = 0.0
        self._queue: list[Command] = []  # to be sent with what comes next
        self._appended: Place | None = None  # where the events in it belong
        self._moved: Place | None = None  # where events of this transaction belong, sent or not
        self._begun = False
        self._prepared: set[bytes] = set()
        self._ahead: _Ahead | None = None
        self._seen: dict[str, tuple[int, int]] = {}  # the id of a campaign, and the events that were seen
        self._left: _Left | None = None
        self._alone = False  # whether the last campaign that was locked had been left alone
        self._same_turn = False
        self._guess = False  # whether this transaction rests on a guess
        self._no_guess = 0.0  # until when none is made, after one that was wrong
        super().__init__(address, name, patience, queue_of(address.where))
        self._prepare(create=create)

    # ---------------------------------------------------------------------------------------------------- connections

    def connect(self) -> psycopg.Connection:
        """Connect, with settings that keep what is acknowledged and time-outs that end what takes too long."""
        connection = self._dialled()
        self._prepared = set()
        self._begun = False
        try:
            ((*_, kept, synced),) = self._exchange(connection, [self._settings()])[0]
        except BaseException:
            connection.close()
            raise
        if [kept, synced] != ["on", "on"]:
            connection.close()
            raise StorageError(
                f"{self.name} would lose what it has acknowledged: synchronous_commit and fsync are {[kept, synced]}. "
                f"Switch both on."
            )
        return connection

    def _dialled(self) -> psycopg.Connection:
        """A connection that gives up in time; what the address says goes first."""
        return psycopg.connect(**(patient(self.patience) | self._target), autocommit=True)

    def _settings(self) -> Command:
        wanted = {
            "lock_timeout": int(self.patience * 1000),
            "statement_timeout": int(self.patience * 1000) + STATEMENT,
            "idle_in_transaction_session_timeout": FROZEN,
            "synchronous_commit": "on",
        }
        said = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in wanted.items())
        return f"SELECT {said}, current_setting('fsync')", ()

    def _is_stale(self, connection: psycopg.Connection) -> bool:
        if connection.closed or self._begun or time.monotonic() - self._last > REST:
            return True
        return is_ready(connection.pgconn.socket, 0.0)  # at rest a server says nothing, unless it ends

    # ---------------------------------------------------------------------------------------------------- transactions

    def _begin(self, connection: psycopg.Connection, *, writes: bool, meanwhile: Meanwhile | None = None) -> None:
        """What reads takes statements one by one: a log only grows, so they agree."""
        self._fresh()
        if writes:
            self._same_turn = self._turns.wait(None if meanwhile is None else lambda: meanwhile(connection))
            self._queue, self._ahead = [(_BEGIN, ())], None

    def _fresh(self) -> None:
        """Nothing is under way."""
        self._queue, self._ahead, self._appended, self._moved = [], None, None, None
        self._begun = self._guess = False

    def _begin_at_once(self, connection: psycopg.Connection) -> None:  # noqa: ARG002
        """Without a turn: other writers are not in the way of what does not lock a campaign."""
        self._fresh()
        self._queue = [(_BEGIN, ()), ("SET LOCAL lock_timeout = '1ms'", ())]

    def _check_guess(self) -> None:
        if self._guess:
            self._alone = False
            raise OvertakenError

    def _commit(self, connection: psycopg.Connection) -> None:
        moved, left = self._moved, self._left
        if moved is None:
            self._check_guess()
        if self._begun or len(self._queue) > 1:
            self._send(connection, ("COMMIT", ()))
        if moved is not None:
            self._left = None
            if left is not None and left.id == moved.id:
                self._left = left._replace(length=moved.length, head=moved.head)
        self._queue, self._begun = [], False
        self._last = time.monotonic()

    def _rollback(self, connection: psycopg.Connection) -> None:
        self._queue = []
        if self._begun:
            self._exchange(connection, [("ROLLBACK", ())])
        self._begun = False
        self._last = time.monotonic()

    def _is_broken(self, error: BaseException) -> bool:
        state = getattr(error, "sqlstate", None)
        if state is None:
            return isinstance(error, psycopg.OperationalError)
        return state.startswith("08") or state in {"57P01", "57P02", "40001", "40P01"}

    def _send(self, connection: psycopg.Connection, *commands: Command) -> list[Rows]:
        """Send what is queued and some commands; what the latter found."""
        before, self._queue = self._queue, []
        place, self._appended = self._appended, None
        self._begun = self._begun or bool(before)
        found = self._exchange(connection, [*before, *commands])
        if place is not None and any(
            rows != [(1,)] for (text, _), rows in zip(before, found, strict=False) if text in (_FIRST, _NEXT)
        ):
            self._left = None
            if self._guess:
                self._no_guess = time.monotonic() + REST
                raise OvertakenError
            raise self._changed(place)
        return found[len(before) :]

    def _exchange(self, connection: psycopg.Connection, commands: Sequence[Command]) -> list[Rows]:
        """Go to the server and back once; what each command found, or the number of rows it changed."""
        seconds = 1.5 * self.patience + SLACK
        return exchange(connection.pgconn, commands, _PREPARED, self._prepared, seconds)

    # ------------------------------------------------------------------------------------- campaigns and their events

    def _do(self, connection: psycopg.Connection, statement: str, values: tuple[object, ...] = ()) -> Rows:
        (found,) = self._send(connection, (statement, values))
        return found

    def find(self, connection: psycopg.Connection, name: str, *, lock: bool = False) -> Place | None:
        """The row of a campaign; ``lock`` it until the transaction ends.  What follows on what was seen comes along."""
        if lock and self._may_guess(name) and self._left is not None:
            return self._guessed(self._left)
        number, length = self._seen.get(name, (0, 0))
        commands: list[Command] = [(_LOCK if lock else schema.FIND, (name,)), (_CLOCK, ())]
        if number:
            commands.append((schema.SINCE, (number, length, length + PAGE)))
        rows, ((microseconds,),), *events = self._send(connection, *commands)
        if not rows:
            return None
        place = self._found(connection, name, rows[0])
        self._seen[name] = place.id, place.length
        now = EPOCH + timedelta(microseconds=microseconds)
        self._ahead = _Ahead(now, number, length, events[0] if events else [])
        if lock:
            self._alone = place.length == length
            self._left = _Left(place.id, place.name, place.length, place.head, now, time.monotonic())
        return place

    def _may_guess(self, name: str) -> bool:
        """Whether a campaign is believed to stand as this process left it a moment ago, in the same turn."""
        left = self._left
        if left is None or left.name != name or not self._same_turn or not self._alone:
            return False
        return not self._begun and time.monotonic() > self._no_guess

    def _guessed(self, left: _Left) -> Place:
        """The campaign as it was left; the server's clock by this machine's, which has run for a moment only."""
        self._guess = True
        now = left.time + timedelta(seconds=time.monotonic() - left.at)
        self._ahead = _Ahead(now, left.id, left.length, [])
        return Place(left.id, left.name, left.length, left.head)

    def time(self, connection: psycopg.Connection) -> datetime:
        """What the server's clock says, since it locked a campaign if it has: the clocks of its clients may differ."""
        if self._ahead is not None:
            return self._ahead.time
        ((microseconds,),) = self._do(connection, _CLOCK)
        return EPOCH + timedelta(microseconds=microseconds)

    def _events(self, connection: psycopg.Connection, place: Place, first: int, end: int) -> Rows:
        ahead = self._ahead
        if (
            ahead is not None
            and (ahead.campaign, ahead.first) == (place.id, first)
            and len(ahead.events) >= end - first
        ):
            return ahead.events[: end - first]
        return self._do(connection, schema.SINCE, (place.id, first, end))

    def reserve_names(self, connection: psycopg.Connection) -> None:
        """Nobody else adds a campaign before this transaction ends."""
        self._do(connection, self.alone[1])

    def _added(self, connection: psycopg.Connection, first: Event) -> int:
        ((number,),) = self._do(connection, f"{schema.ADD} RETURNING id", (first.campaign, 0, first.previous))
        return int(number)

    def append(self, connection: psycopg.Connection, place: Place, new: Sequence[Event]) -> None:
        """Append events that follow on ``place``, which is moved on: all of them, or none.

        They are sent with what comes next, at the latest with the commit.
        """
        if new[0].seq != place.length:
            raise self._changed(place)
        if self._appended is not None:
            self._send(connection)
        last = new[-1]
        stands = place.id, place.length, place.head, schema.FORM
        self._queue.append((_FIRST, (last.seq + 1, last.hash, *stands, *new[0][1:])))
        self._queue += [(_NEXT, (*each[1:], place.id, last.hash)) for each in new[1:]]
        self._appended = self._moved = place
        place.length, place.head = last.seq + 1, last.hash
        self._seen[place.name] = place.id, place.length

    # ------------------------------------------------------------------------------------------------- the whole of it

    def check_file(self) -> None:
        """A server looks after its own files."""

    def backup(self, target: Path, *, replace: bool = False) -> Path:  # noqa: ARG002
        """Left to the server's own programs."""
        raise StorageError(f"{self.name} is a PostgreSQL database: back it up with pg_dump, or export each campaign.")

    def who(self) -> str:
        """Who holds the tables now, for a message."""
        try:
            with self._dialled() as connection:
                found = connection.execute(_HOLDERS).fetchall()
        except Exception:  # noqa: BLE001 - a hint is all that is wanted here
            return ""
        return f" by {', '.join(f'process {pid} ({visible(name)})' for pid, name in found)}" if found else ""

    def _has_table(self, connection: psycopg.Connection, name: str) -> bool:
        return self._do(connection, "SELECT to_regclass(?)::text", (name,)) != [(None,)]

    def _tables(self) -> Sequence[str]:
        return schema.tables("SERIAL")

    # --------------------------------------------------------------------------------------------------- its complaints

    def _complaint(self, error: Exception) -> WhichdoError | None:
        if not isinstance(error, (psycopg.Error, ServerError)):
            return None
        state, words = error.sqlstate or "", first_line(error)
        if state in {"55P03", "40P01", "40001"}:
            return self._busy()
        for start, what in _COMPLAINTS.items():
            if state.startswith(start):
                return StorageError(f"{what.format(self.name)}: {words}. {AGAIN}")
        if state.startswith("42"):
            return NotOursError(f"{self.name} does not have the tables of whichdo as they should be: {words}.")
        if state.startswith("XX"):
            return DamagedError(f"{self.name} is damaged: {words}. {self.mending}")
        return StorageError(f"The database {self.name} cannot be reached: {words}. {AGAIN}")


_COMPLAINTS = {
    "53300": "{} accepts no more connections",
    "53": "There is no room left to write {}",
    "25006": "{} is read-only",
    "42501": "{} denies access to this user",
    "57014": "{} took too long to answer",
    "25P03": "{} ended the transaction, which had been idle for minutes",
}
_HOLDERS = """
SELECT DISTINCT a.pid, a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.relation = 'whichdo_campaign'::regclass AND l.granted AND a.pid <> pg_backend_pid()
AND l.mode IN ('RowShareLock', 'RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
AND NOT EXISTS (SELECT 1 FROM pg_locks w WHERE w.pid = a.pid AND NOT w.granted)
"""


def patient(patience: float) -> dict[str, Any]:
    """How a connection to a server is made: who it is, and when it gives up."""
    return {
        "application_name": f"whichdo {who_am_i()}"[:63],
        "client_encoding": "UTF8",
        "connect_timeout": max(2, min(10, int(patience))),  # seconds, for each address of the host
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,  # milliseconds until what was sent must have been received
    }
