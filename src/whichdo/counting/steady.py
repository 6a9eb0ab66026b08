"""Logs that others may be writing to: the same bytes are hashed and counted, or none of them are.

A log is read several times, once for its hash and then for its counts.  A row that is appended in between would be in
one and not in the other, and be lost for good.  So the file is looked at before and after: if it is another, or has
another size or time of change, what was made of it is given up.  The clock of a file system ticks; within a tick a
change may leave no trace, so a file that was changed just before it was read is hashed again at the end.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Self

from whichdo.errors import DataError, InputError
from whichdo.files import is_guarded
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Steady", "Tail"]

BLOCK = 1 << 20
TICK = 2.0
"""Seconds within which the clock of a file system, the coarsest, may not have moved."""


@dataclass(frozen=True)
class Tail(os.PathLike[str]):
    """What stands in a CSV file behind its first ``start`` bytes; the header still names its columns."""

    path: Path
    start: int

    def __fspath__(self) -> str:
        return os.fspath(self.path)


class Steady:
    """A file that must not change while it is read: ``with Steady(path) as file: ...``.

    ``marks``: sizes; ``prefixes`` says the hash of the first so many bytes, where there are more.
    """

    def __init__(self, path: Path, marks: Iterable[int] = ()) -> None:
        self._path, self._marks = path, sorted(set(marks))
        self.sha256, self.size = "", 0
        self.prefixes: dict[int, str] = {}

    def __enter__(self) -> Self:
        self._before = self._look()
        if self._before is None:
            return self  # whoever counts it says what it is
        self._began = time.time()
        self.size = self._before.st_size
        self.sha256 = self._hash()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """What was made of a file that changed is given up; a fault that was found in it is explained by that."""
        if self._before is None or (error is not None and not isinstance(error, InputError)):
            return
        after = self._look()
        same = after is not None and _identity(after) == _identity(self._before)
        if same and self._began - self._before.st_mtime < TICK:
            same = self._hash() == self.sha256
        if not same:
            now = "it is gone" if after is None else f"{after.st_size:,} now"
            raise DataError(
                f"{visible(self._path.name)} changed while it was read ({self.size:,} bytes at first, {now}). Nothing "
                f"was stored. Try again when nobody writes to it, or give a copy."
            ) from None

    def ends_a_line(self, size: int) -> bool:
        """Whether the first so many bytes are whole lines."""
        with self._path.open("rb") as file:
            file.seek(size - 1)
            around = file.read(2)
        return around[:1] in {b"\n", b"\r"} or around[1:] in {b"\n", b"\r"}

    def _look(self) -> os.stat_result | None:
        """The state of a regular file that may be opened; else None."""
        try:
            found = self._path.stat()
        except (OSError, ValueError):
            return None
        return found if stat.S_ISREG(found.st_mode) and not is_guarded(self._path) else None

    def _hash(self) -> str:
        """Of the bytes that there were at first; what is appended meanwhile is not read."""
        digest, left = sha256(), self.size
        stops = [mark for mark in self._marks if 0 < mark < self.size]
        try:
            with self._path.open("rb") as file:
                while left:
                    at = self.size - left
                    stop = next((mark for mark in stops if mark > at), self.size)
                    block = file.read(min(BLOCK, stop - at))
                    if not block:
                        return ""  # it was cut
                    digest.update(block)
                    left -= len(block)
                    if self.size - left == stop < self.size:
                        self.prefixes[stop] = digest.copy().hexdigest()
        except OSError as error:
            raise InputError(f"{quoted(self._path)} cannot be read: {error.strerror or error}.") from None
        return digest.hexdigest()


def _identity(found: os.stat_result) -> tuple[int, int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
