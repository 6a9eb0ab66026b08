"""Addresses of databases, and connections to them that keep what they acknowledge.

SQLite runs in WAL mode with synchronous=FULL, PostgreSQL with synchronous_commit and fsync; both are read back and
checked.  A connection to a server gives up on one that does not answer.
"""

from __future__ import annotations

import getpass
import os
import socket
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from whichdo.campaign.storage.schema import APPLICATION
from whichdo.errors import NotOursError, StorageError, UsageError
from whichdo.text import masked, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["engine_of", "make_private", "path_of", "url_of", "user_at_host", "who_am_i"]

STATEMENT = 10_000
"""Milliseconds that a statement may take when it has got its lock."""
FROZEN = 300_000
"""Milliseconds after which the server ends a transaction whose client does nothing, and sets its locks free.  A policy
decides within a transaction, so this is longer than any decision takes."""


def engine_of(url: URL, name: str, patience: float, reader: Callable[[], Any] | None = None) -> Engine:
    """What makes connections to a database; ``reader`` opens a file of SQLite that can only be read."""
    try:
        if reader is not None:
            engine = create_engine(url, creator=reader, poolclass=NullPool)
        elif url.get_backend_name() == "sqlite":
            engine = create_engine(
                url, connect_args={"timeout": patience, "check_same_thread": False}, poolclass=NullPool
            )
        else:
            engine = create_engine(
                url,
                connect_args=_patient(url, patience),
                poolclass=NullPool,
                isolation_level="READ COMMITTED",  # with a row lock; what the server has by default may be stricter
            )
    except ModuleNotFoundError as error:
        raise UsageError(f"{name} needs {error.name}: pip install 'whichdo[postgres]'.") from None
    settings = _sqlite_settings if engine.dialect.name == "sqlite" else _postgres_settings
    settings = _reading_settings if reader is not None else settings
    event.listen(engine, "connect", partial(settings, name, patience))
    return engine


def _patient(url: URL, patience: float) -> dict[str, Any]:
    """How a connection to a server is made: who it is, and when it gives up; what the address says goes first."""
    usual = {
        "application_name": f"whichdo {who_am_i()}"[:63],
        "connect_timeout": max(2, min(10, int(patience))),  # seconds, for each address of the host
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,  # milliseconds until what was sent must have been received
    }
    return {name: value for name, value in usual.items() if name not in url.query}


def make_private(path: Path) -> None:
    """An empty file that only its owner may read, before SQLite makes one for all; what it keeps beside it follows."""
    with suppress(OSError):  # it is there, or SQLite says why it cannot be
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _reading_settings(name: str, patience: float, connection: Any, record: object) -> None:  # noqa: ARG001
    connection.isolation_level = None
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise NotOursError(f"{name} is a database of something else, or empty. Name another file.")


def _sqlite_settings(name: str, patience: float, connection: Any, record: object) -> None:  # noqa: ARG001
    """Leave a file alone that is a database of something else; else set what keeps ours safe, and read it back."""
    connection.isolation_level = None  # transactions are begun by us
    cursor = connection.cursor()
    ours = cursor.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
    if not ours and cursor.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise NotOursError(f"{name} is a database of something else. Name another file; it was not changed.")
    if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    found = [cursor.execute(f"PRAGMA {each}").fetchone()[0] for each in ("journal_mode", "synchronous")]
    if found != ["wal", 2]:
        raise StorageError(f"{name} cannot be kept safe: SQLite answers {found}, not ['wal', 2].")
    cursor.close()


def _postgres_settings(name: str, patience: float, connection: Any, record: object) -> None:  # noqa: ARG001
    cursor = connection.cursor()
    cursor.execute(f"SET lock_timeout = {int(patience * 1000)}")
    cursor.execute(f"SET statement_timeout = {int(patience * 1000) + STATEMENT}")
    cursor.execute(f"SET idle_in_transaction_session_timeout = {FROZEN}")
    cursor.execute("SET synchronous_commit = on")
    cursor.execute("SELECT current_setting('synchronous_commit'), current_setting('fsync')")
    if (found := list(cursor.fetchone())) != ["on", "on"]:
        raise StorageError(
            f"{name} would lose what it has acknowledged: synchronous_commit and fsync are {found}. Switch both on."
        )
    connection.commit()
    cursor.close()


def url_of(address: str | Path) -> URL:
    """An address or a path as SQLAlchemy has it; of SQLite and PostgreSQL alone."""
    text_of = str(address)
    if "://" not in text_of:
        return URL.create("sqlite", database=text_of)
    try:
        url = make_url(text_of)
    except (ArgumentError, ValueError):
        raise UsageError(
            f"{quoted(masked(text_of))} is no address of a database; such as sqlite:///campaigns.db."
        ) from None
    if url.get_backend_name() == "postgresql" and "+" not in url.drivername:
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in {"sqlite", "postgresql"}:
        raise UsageError(
            f"Campaigns are kept in SQLite (sqlite:///campaigns.db) or PostgreSQL (postgresql://user@host/name), not "
            f"in {quoted(url.get_backend_name())}."
        )
    return url


def path_of(url: URL) -> Path:
    """The file of a SQLite database."""
    name = url.database or ""
    if not name or name == ":memory:":
        raise UsageError("A campaign outlives the program, so its database is a file: name one.")
    return Path(name.removeprefix("file:")) if name.startswith("file:") else Path(name)


@lru_cache(maxsize=1)
def user_at_host() -> str:
    """``user@host``: the client of commands, each of which is a process of its own."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "someone"
    return f"{user}@{socket.gethostname()}"


def who_am_i() -> str:
    """``user@host:pid``: the client that asks, unless another is named; of two workers each has its own."""
    return f"{user_at_host()}:{os.getpid()}"
