"""Databases that can only be read: on a disk that is mounted so, in a folder of somebody else, on a DVD.

SQLite keeps an index beside a database in WAL mode even to read it, so there it cannot.  Where nothing is in the log
beside the file, it is opened as one that does not change.  Where something is, that would be left out: then the files
are copied to a temporary folder, and the copy is read.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from weakref import finalize

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["can_only_be_read", "reader_of"]


def can_only_be_read(path: Path) -> bool:
    """Whether nothing can be written beside a file, or into it."""
    if not path.is_file():
        return False
    folder = path.parent
    if hasattr(os, "statvfs") and os.statvfs(folder).f_flag & getattr(os, "ST_RDONLY", 1):
        return True
    return not (os.access(path, os.W_OK) and os.access(folder, os.W_OK | os.X_OK))


def reader_of(owner: object, path: Path, patience: float) -> Callable[[], Any]:
    """What opens a database to be read, and changes nothing there; a copy lasts as long as its ``owner``."""
    log = Path(f"{path}-wal")
    if not log.is_file() or not log.stat().st_size:
        return lambda: _opened(f"file:{quote(str(path))}?immutable=1", patience)
    folder = Path(tempfile.mkdtemp(prefix="whichdo-read-"))
    finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    copy = folder / "copy.db"
    shutil.copyfile(path, copy)
    shutil.copyfile(log, f"{copy}-wal")
    return lambda: _opened(f"file:{quote(str(copy))}", patience, query_only=True)


def _opened(address: str, patience: float, *, query_only: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, timeout=patience, check_same_thread=False)
    if query_only:
        connection.execute("PRAGMA query_only = ON")
    return connection
