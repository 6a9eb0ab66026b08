"""The files of a SQLite database: the database, its log (``-wal``) and their index (``-shm``).

SQLite goes on with files that somebody has removed, because it holds them open.  What it commits then is acknowledged,
and gone with the process; another process begins new files, and the two do not see each other.  So before and after
every transaction that writes, the files must be those that it began with.

Which files they are is found without a question for their times (``statx``).  Since Linux 6.13 a file whose times
somebody has seen gets new ones with its next write, which costs a commit of one event half as much again.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from whichdo.errors import StorageError
from whichdo.files import draft_of
from whichdo.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable


Place = tuple[int, int] | None
ENDS = ("", "-wal", "-shm")


class _Status(ctypes.Structure):
    """A ``struct statx``."""

    _fields_ = (
        ("_before", ctypes.c_uint32 * 8),
        ("inode", ctypes.c_uint64),
        ("_between", ctypes.c_uint32 * 24),
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("_after", ctypes.c_uint32 * 28),
    )


_AT_FDCWD, _STATX_INO = -100, 0x100
_statx: Callable[..., int] | None = getattr(ctypes.CDLL(None), "statx", None) if sys.platform == "linux" else None


class Companions:
    """The files of a database at ``path``, as a connection found them."""

    def __init__(self, path: Path, name: str) -> None:
        self._files = [File(f"{path}{end}") for end in ENDS]
        self._name = name
        self._found: tuple[Place, ...] | None = None

    def forget(self) -> None:
        """A new connection opens the files that are there then."""
        self._found = None

    @property
    def known(self) -> bool:
        """Whether it is known which files the connection has open."""
        return self._found is not None

    def missing(self, *, writes: bool) -> str | None:
        """The name of a file that is not the one it was, if there is such; ``writes``: all of them must be there."""
        now = tuple([each.place() for each in self._files])
        if self._found is None:
            if None not in now:
                self._found = now
            elif writes:
                return self._names(now, (None,) * len(now), gone=True)
            return None
        return None if now == self._found else self._names(now, self._found, gone=False)

    def _names(self, now: tuple[Place, ...], then: tuple[Place, ...], *, gone: bool) -> str:
        return next(
            f"{self._name}{end}"
            for end, one, other in zip(ENDS, now, then, strict=True)
            if (one is None if gone else one != other)
        )


def lost(missing: str, name: str, rescued: str | None) -> StorageError:
    """What to say when a file was removed under a connection."""
    kept = f" All that it could still see is in {rescued}, a database to look at with --db." if rescued else ""
    return StorageError(
        f"{missing} was removed or replaced while {name} was in use. Nothing was written now, but what this process "
        f"wrote before may be lost.{kept} Stop all that use the database, and verify it with your last receipt."
    )


class File:
    """A file that is looked at again and again; not by two threads at once."""

    def __init__(self, path: str) -> None:
        self._path, self._status = os.fsencode(path), _Status()
        self._pointer = ctypes.byref(self._status)

    def place(self) -> Place:
        """Device and inode; None if there is no such file."""
        if _statx is not None and not _statx(_AT_FDCWD, self._path, 0, _STATX_INO, self._pointer):
            return os.makedev(self._status.major, self._status.minor), self._status.inode
        try:  # it is not there, or this system does not say
            status = os.stat(self._path)  # noqa: PTH116 - a third of the time
        except OSError:
            return None
        return status.st_dev, status.st_ino


def rescue(driver: sqlite3.Connection, path: Path) -> str | None:
    """Copy what a connection still sees into a new file beside the database; its name, or None where that fails."""
    target = next((each for n in range(1, 100) if not (each := Path(f"{path}.rescued-{n}")).exists()), None)
    if target is None:
        return None
    with suppress(OSError, sqlite3.Error):
        if driver.in_transaction:
            driver.rollback()
        with draft_of(target, private=True) as (draft, file):
            with closing(sqlite3.connect(draft)) as copy:
                driver.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
            os.fsync(file.fileno())
            draft.replace(target)
        return target.name
    return None


def abandon(driver: sqlite3.Connection) -> None:
    """Give up a connection without closing it: SQLite would put the log that it holds into the database at the end.

    Others may have written there since.  Where SQLite cannot be told (before Python 3.12), it is kept for ever.
    """
    configure = getattr(driver, "setconfig", None)
    if configure is not None:
        configure(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)  # type: ignore[attr-defined]
        with suppress(Exception):
            driver.close()
        return
    with suppress(sqlite3.Error):
        if driver.in_transaction:
            driver.rollback()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(driver))


def make_private(path: Path) -> None:
    """An empty file that only its owner may read, before SQLite makes one for all; what it keeps beside it follows."""
    with suppress(OSError):  # it is there, or SQLite says why it cannot be
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def can_only_be_read(path: Path) -> bool:
    """Whether nothing can be written beside a file, or into it: on a DVD, or in a folder of somebody else."""
    if not path.is_file():
        return False
    folder = path.parent
    if hasattr(os, "statvfs") and os.statvfs(folder).f_flag & getattr(os, "ST_RDONLY", 1):
        return True
    return not (os.access(path, os.W_OK) and os.access(folder, os.W_OK | os.X_OK))


def who_locks(path: str) -> str:
    """The processes that hold locks on a SQLite file, where the system tells (Linux)."""
    numbers = {place[-1] for end in ENDS if (place := File(f"{path}{end}").place()) is not None}
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


def _command(number: int) -> str:
    try:
        words = Path(f"/proc/{number}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return ""
    return f" ({visible(' '.join(words).strip())[:80]})"
