"""What databases complain about, said in our words: busy, full, read-only, damaged, not ours, not there."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from whichdo.errors import BusyError, DamagedError, NotOursError, StorageError
from whichdo.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whichdo.errors import WhichdoError

__all__ = ["is_broken", "mending", "speaking", "who_locks"]

AGAIN = "Nothing was half written; repeat the command once it is mended."


def mending(name: str) -> str:
    """What to do about a SQLite file that is damaged; what SQLite keeps beside it would spoil the backup too."""
    return (
        f"Restore a backup in its place (and remove {name}-wal and {name}-shm, which belong to the damaged file), or "
        f"import an export."
    )


@contextmanager
def speaking(name: str, who: Callable[[], str]) -> Iterator[None]:
    """Inside, what the database raises comes out as an error of ours; ``who`` tells who holds it."""
    try:
        yield
    except DBAPIError as error:
        raise _said(error, name, who) from error
    except sqlite3.Error as error:
        raise _of_sqlite(getattr(error, "sqlite_errorname", "") or "", name, _first_line(error), who) from error
    except UnicodeDecodeError as error:  # a text of the file, or of SQLite's complaint about it
        raise DamagedError(f"{name} is damaged: it holds texts that are none. {mending(name)}") from error
    except SQLAlchemyError as error:
        raise StorageError(f"The database {name} cannot be used: {_first_line(error)}. {AGAIN}") from error


def is_broken(error: BaseException) -> bool:
    """Whether a connection broke, or a server gave a transaction up for another's sake: the same may be tried again."""
    if not isinstance(error, DBAPIError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return error.connection_invalidated and not isinstance(error.orig, sqlite3.Error)
    return state.startswith("08") or state in {"57P01", "57P02", "40001", "40P01"}


def _said(error: DBAPIError, name: str, who: Callable[[], str]) -> WhichdoError:
    original = error.orig
    if isinstance(original, sqlite3.Error):
        code = getattr(original, "sqlite_errorname", "") or ""
        return _of_sqlite(code, name, _first_line(original), who)
    return _of_postgres(getattr(original, "sqlstate", None) or "", name, _first_line(original or error), who)


def _of_sqlite(code: str, name: str, words: str, who: Callable[[], str]) -> WhichdoError:
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return _busy(name, who)
    if code == "SQLITE_NOTADB":
        return NotOursError(f"{name} is no database of whichdo: {words}. Name another file.")
    if code.startswith("SQLITE_CORRUPT"):
        return DamagedError(f"{name} is damaged: {words}. {mending(name)}")
    for start, what in _SQLITE.items():
        if code.startswith(start):
            return StorageError(f"{what.format(name)}: {words}. {AGAIN}")
    return StorageError(f"{name} cannot be read or written ({code or 'SQLite'}): {words}. {AGAIN}")


_SQLITE = {
    "SQLITE_FULL": "There is no room left to write {}",
    "SQLITE_READONLY": "{} can be read only",
    "SQLITE_CANTOPEN": "{} cannot be opened; is the folder there, and may you write to it",
}


def _of_postgres(state: str, name: str, words: str, who: Callable[[], str]) -> WhichdoError:
    if state in {"55P03", "40P01", "40001"}:
        return _busy(name, who)
    for start, what in _POSTGRES.items():
        if state.startswith(start):
            return StorageError(f"{what.format(name)}: {words}. {AGAIN}")
    if state.startswith("42"):
        return NotOursError(f"{name} does not hold the tables of whichdo as they should be: {words}.")
    if state.startswith("XX"):
        return DamagedError(f"{name} is damaged: {words}. Restore a backup, or import an export.")
    return StorageError(f"The database {name} cannot be reached: {words}. {AGAIN}")


_POSTGRES = {
    "53300": "{} takes no more connections",
    "53": "There is no room left to write {}",
    "25006": "{} can be read only",
    "42501": "{} may not be used by this user",
    "57014": "{} took longer than is waited for",
    "25P03": "{} ended the transaction, in which nothing was done for minutes",
}


def _busy(name: str, who: Callable[[], str]) -> BusyError:
    return BusyError(f"{name} is locked{who()}. Nothing was written; try again.")


def _first_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return visible(lines[0]).rstrip(".") if lines else type(error).__name__


def who_locks(path: str) -> str:
    """The processes that hold locks on a SQLite file, where the system tells (Linux)."""
    numbers = {status.st_ino for each in (path, f"{path}-shm", f"{path}-wal") if (status := _status(each)) is not None}
    holders: dict[int, None] = {}
    try:
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            words = line.split()
            if "->" not in words and words[3] == "WRITE" and int(words[5].rpartition(":")[2]) in numbers:
                holders[int(words[4])] = None
    except (OSError, ValueError, IndexError):
        return " by another process"
    said = [f"process {number}{_command(number)}" for number in holders if number not in (os.getpid(), -1)]
    return f" by {', '.join(said)}" if said else " by another process"


def _status(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:
        return None


def _command(number: int) -> str:
    try:
        words = Path(f"/proc/{number}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return ""
    return f" ({visible(' '.join(words).strip())[:80]})"
