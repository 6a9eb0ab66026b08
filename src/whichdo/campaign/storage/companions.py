"""The files of a SQLite database: the database, its log (``-wal``) and their index (``-shm``).

SQLite goes on with files that somebody has removed, because it holds them open.  What it commits then is acknowledged,
and gone with the process; another process begins new files, and the two do not see each other.  So before and after
every transaction that writes, the files must be those that it began with.

Nor does SQLite notice a log that was cut in its place: it goes on writing where its index says that the log ends,
behind a hole, and what lies there is lost with the index.  So before every commit the log must be as long as its index
says, and have the same number (salt).

Which files they are is found without a question for their times (``statx``).  Since Linux 6.13 a file whose times
somebody has seen gets new ones with its next write, which costs a commit of one event half as much again.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import struct
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
        ("size", ctypes.c_uint64),
        ("_between", ctypes.c_uint32 * 22),
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("_after", ctypes.c_uint32 * 28),
    )


_INDEX = struct.Struct("=I10xHI12x8s")
"""Of the head of an index: its form, the size of a page, how many pages the log has, and the number of the log."""
_INDEX_FORM = 3_007_000
"""The only one that there has been, since 2010."""
_AT_FDCWD, _STATX_INO, _STATX_SIZE = -100, 0x100, 0x200
_statx: Callable[..., int] | None = getattr(ctypes.CDLL(None), "statx", None) if sys.platform == "linux" else None


class Companions:
    """The files of a database at ``path``, as a connection found them."""

    def __init__(self, path: Path, name: str) -> None:
        self._files = [File(f"{path}{end}") for end in ENDS]
        self._name = name
        self._found: tuple[Place, ...] | None = None
        self._opened: tuple[int, int] | None = None
        """The descriptors of index and log, where the system tells the former."""

    def forget(self) -> None:
        """A new connection opens the files that are there then."""
        self._found = None
        self._close()

    def _close(self) -> None:
        """Close the log, which is ours, but not the index, which is SQLite's."""
        opened, self._opened = self._opened, None
        if opened is not None:
            os.close(opened[1])

    @property
    def known(self) -> bool:
        """Whether it is known which files the connection has open."""
        return self._found is not None

    def missing(self, *, writes: bool) -> str | None:
        """The name of a file that is not the one it was, if there is such; ``writes``: all of them must be there."""
        now = tuple([each.place() for each in self._files])
        if self._found is None:
            if None in now:
                return self._names(now, (None,) * len(now), gone=True) if writes else None
            self._found = now
            self._open()
        elif now != self._found:
            return self._names(now, self._found, gone=False)
        return f"{self._name}-wal" if writes and self._is_cut() else None

    def _is_cut(self) -> bool:
        """Whether the log is not what its index says; to be asked while nobody else writes."""
        if self._is_as_indexed():
            return False
        self._open()  # something other than SQLite may have had the descriptor, and closed it
        return not self._is_as_indexed()

    def _open(self) -> None:
        """The log, on which SQLite has no locks, and the index as SQLite has it: to close that would undo its locks."""
        self._close()
        index = None if self._found is None else _descriptor_of(self._found[2])
        if index is not None:
            with suppress(OSError):
                self._opened = index, os.open(self._files[1].path, os.O_RDONLY | os.O_CLOEXEC)

    def _is_as_indexed(self) -> bool:
        """Whether the log is as long as the index says, and has the same number; where that cannot be told, it is."""
        if self._opened is None:
            return True
        index, log = self._opened
        try:
            head = os.pread(index, _INDEX.size, 0)
            form, size, frames, salt = _INDEX.unpack(head)
            if not frames or form != _INDEX_FORM:
                return True
            page = (size & 0xFE00) + ((size & 1) << 16)
            same: bool = os.pread(log, len(salt), 16) == salt
            return same and 32 + frames * (24 + page) <= self._files[1].size
        except (OSError, struct.error):
            return False

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
        f"{missing} was removed, replaced or cut while {name} was in use. Nothing was written now, but what this "
        f"process wrote before may be lost.{kept} Stop all that use the database, and verify it with your last receipt."
    )


class File:
    """A file that is looked at again and again; not by two threads at once."""

    def __init__(self, path: str) -> None:
        self.path, self._status = os.fsencode(path), _Status()
        self._pointer = ctypes.byref(self._status)

    @property
    def size(self) -> int:
        """Of the file, when its place was found last."""
        return int(self._status.size)

    def place(self) -> Place:
        """Device and inode; None if there is no such file."""
        status = self._status
        if _statx is not None and not _statx(_AT_FDCWD, self.path, 0, _STATX_INO | _STATX_SIZE, self._pointer):
            return os.makedev(status.major, status.minor), status.inode
        try:  # it is not there, or this system does not say
            found = os.stat(self.path)  # noqa: PTH116 - a third of the time
        except OSError:
            return None
        status.size = found.st_size
        return found.st_dev, found.st_ino


def _descriptor_of(place: Place) -> int | None:
    """The number under which this process has a file open, where the system tells."""
    with suppress(OSError):
        for number in map(int, os.listdir("/dev/fd")):  # noqa: PTH208 - numbers
            with suppress(OSError):
                status = os.fstat(number)
                if (status.st_dev, status.st_ino) == place:
                    return number
    return None


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
                if copy.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                    return None  # it saw a hole
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
