"""Turns at a database: the writers of one machine wait in one queue of the operating system, not each by itself.

SQLite lets those who wait for its lock sleep and try again, longer each time: with many writers the one that comes at
the right moment is served, and others wait for half a minute.  A lock that the system hands on, taken in front of it,
gives turns.  For SQLite it is on the ``-wal`` file, which all connections have in common and on which SQLite itself has
no locks, so to open and close it undoes none of them.  For a server it is on a file that belongs to the user.

The system wakes a process that waits for a lock, but does not keep the lock for it: on a busy machine the one that has
just released it takes it again, many times over.  So there is a lock for each of the first places in line, and only a
process that has a place may wait for the next, the last of which is the turn.  A process that comes back from a turn
has to get in line again, while those before it still have their places.  A place in line is also the time to read what
others have written (``meanwhile``), beside another's writing.  With many processes reading takes longer than a turn, as
each reads what all others write.  So two read at a time, and of what comes after that little is left for the turn.

A turn lasts for some transactions, if one follows the other at once: to hand it on after each would cost more than they
do.  So it is kept for a moment after each, and handed on by a thread if nothing follows.  It only makes waiting fair,
and the database's own lock still keeps writers apart; so where a turn does not come in a few seconds, because a process
is frozen within its own, one goes on without.

Threads are begun and told by C alone, not through events: an interrupt that comes while an event is set or waited for
can leave its lock taken.
"""

from __future__ import annotations

import os
import struct
import tempfile
import time
from _thread import start_new_thread
from contextlib import suppress
from functools import partial
from hashlib import sha256
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING

from whichdo.campaign.storage.companions import File

if TYPE_CHECKING:
    from collections.abc import Callable


TURN = 0.015
"""Seconds that a turn lasts at most, if nothing is under way when it ends."""
AT_ONCE = 0.002
"""Seconds for which a turn is kept after a transaction: a worker tells, asks at once, and goes off to work."""
LINE = (0, 1, 2)
"""The places in line, the last of them the turn; those who wait in one read what others have written."""
WITHOUT = 5.0
"""Seconds after which one goes on without a turn."""


class Turns:
    """The queue at a file, for one connection; ``number``: of this queue, where a file has many."""

    def __init__(self, path: str, number: int | None = None) -> None:
        self._path, self._number = path, number
        self._found = File(path)
        self._file: int | None = None
        self._place: tuple[int, int] | None = None
        self._ends = 0.0
        self._lock = Lock()
        self._kept = False  # whether the turn goes on, with nothing under way
        self._ender: tuple[int, SimpleQueue[None]] | None = None
        self._noted = 0.0  # the end of the turn that the ender knows of
        self._left = 0.0  # when the last transaction ended

    def wait(self, meanwhile: Callable[[], object] | None = None) -> bool:
        """Wait for a turn; where the system has no such locks, or the file is not there yet, it always is.

        Whether it is the same turn as before, in which nobody else of this queue has had one.
        ``meanwhile``: what can be done in line; not done where there is nothing to wait for.
        """
        now = time.monotonic()
        with self._lock:
            if self._kept and now < self._ends:
                self._kept = False
                return True
            if self._kept:
                self._hand_on()
        file = self._opened()
        if file is None or self._came(file, now + WITHOUT, meanwhile):
            self._ends = time.monotonic() + TURN
        return False

    def take(self) -> bool:
        """Take a turn if nobody else has it or waits for it; return whether that worked."""
        with self._lock:
            if self._kept and time.monotonic() < self._ends:
                self._kept = False
                return True
        file = self._opened()
        if file is None:
            return True
        if all(self._has(file, place, wait=False) for place in LINE):
            for place in LINE[:-1]:
                _unlock(file, self._where(place))
            return True
        self._give_up(file)
        return False

    def _came(self, file: int, until: float, meanwhile: Callable[[], object] | None) -> bool:
        """Get in line, and go from place to place until the turn comes; False where that takes too long."""
        before: int | None = None
        for place in LINE:
            if not self._has(file, place, wait=False):
                if before is not None and meanwhile is not None:
                    meanwhile()
                if not _Waiter.came(self, file, partial(self._has, place=place), until):
                    return False
            if before is not None:
                _unlock(file, self._where(before))
            before = place
        return True

    def _has(self, file: int, place: int, *, wait: bool) -> bool:
        """Whether this process has a place in line; true where the system has no such lock."""
        return _locked(file, self._where(place), wait=wait)

    def _where(self, place: int) -> int | None:
        """What is locked for a place: a byte of the file; for the turn all of it, where there is no other queue."""
        return None if place == LINE[-1] and self._number is None else len(LINE) * (self._number or 0) + place

    def _give_up(self, file: int) -> None:
        """Leave the line, and the turn."""
        for place in LINE:
            _unlock(file, self._where(place))

    def leave(self) -> None:
        """What was under way is done: the next one's turn, unless this one goes on for a moment."""
        with self._lock:
            if self._file is None:
                return
            self._left = time.monotonic()
            if self._left >= self._ends or not AT_ONCE:
                self._hand_on()
                return
            self._kept = True
        if self._ender is None or self._ender[0] != os.getpid():  # a fork leaves threads behind
            self._ender, self._noted = (os.getpid(), SimpleQueue()), 0.0
            start_new_thread(self._end, (self._ender[1],))
        if self._noted != self._ends:  # once in a turn: to wake a thread takes as long as a row
            self._ender[1].put(None)
            self._noted = self._ends

    def close(self) -> None:
        """Give the file up, and a turn with it."""
        with self._lock:
            file, self._file, self._place, self._kept, self._ends = self._file, None, None, False, 0.0
        if file is not None:
            with suppress(OSError):
                os.close(file)
        if self._ender is not None:
            ender, self._ender = self._ender, None
            ender[1].put(None)

    def _end(self, kept: SimpleQueue[None]) -> None:
        """Hand a turn on when it is over, for one that went off to do something else."""
        while True:
            kept.get()
            if self._ender is None or self._ender[1] is not kept:
                return
            while (left := self._left_of_it()) > 0:
                time.sleep(left)

    def _left_of_it(self) -> float:
        """Hand a turn on that nobody uses; the seconds after which to look again, if it goes on."""
        with self._lock:
            now = time.monotonic()
            if not self._kept:  # something is under way; if that takes longer than the turn, it ends with it
                return min(AT_ONCE, self._ends - now)
            left = min(self._ends, self._left + AT_ONCE) - now
            if left <= 0:
                self._hand_on()
            return left

    def _hand_on(self) -> None:
        self._kept, self._ends = False, 0.0
        if self._file is not None:
            self._give_up(self._file)

    def _opened(self) -> int | None:
        place = self._found.place()
        if self._file is None or place != self._place:
            self.close()
            if place is None:
                return None
            with suppress(OSError):
                self._file = os.open(self._path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
                self._place = place
        return self._file

    def forget(self) -> None:
        """Leave the file to the thread that waits for it, which closes it when the turn comes."""
        file, self._file, self._place = self._file, None, None
        if file is not None:
            self._give_up(file)


def _locked(file: int, place: int | None, *, wait: bool) -> bool:
    """Whether a byte of a file, or the file itself, could be locked; True where nothing can be locked."""
    try:
        import fcntl

        if place is None:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        else:
            fcntl.fcntl(file, fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK, _byte(fcntl.F_WRLCK, place))
    except BlockingIOError:
        return False
    except (OSError, ImportError, AttributeError):
        return True
    return True


def _unlock(file: int, place: int | None) -> None:
    with suppress(OSError, ImportError, AttributeError):
        import fcntl

        if place is None:
            fcntl.flock(file, fcntl.LOCK_UN)
        else:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, _byte(fcntl.F_UNLCK, place))


def _byte(kind: int, place: int) -> bytes:
    """A ``struct flock``."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, place, 1, 0)


def queue_of(name: str) -> Turns:
    """A queue by a name, for all programs of this user on this machine: of a file that has room for all queues."""
    if not hasattr(os, "getuid"):
        return Turns("")
    path = f"{tempfile.gettempdir()}/whichdo-turns-{os.getuid()}"
    with suppress(OSError):
        file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        owner = os.fstat(file).st_uid
        os.close(file)
        if owner == os.getuid():  # else anybody could hold us up
            return Turns(path, int.from_bytes(sha256(name.encode()).digest()[:7], "big"))
    return Turns("")


class _Waiter:
    """Waits for a lock in a thread of its own: the system's wait has no end."""

    def __init__(self, file: int, lock: Callable[..., bool]) -> None:
        self._file, self._wanted = file, lock
        self._came: SimpleQueue[None] = SimpleQueue()
        self._lock = Lock()
        self._given_up = self._has_come = False
        start_new_thread(self._run, ())

    @classmethod
    def came(cls, turns: Turns, file: int, lock: Callable[..., bool], until: float) -> bool:
        """Whether the lock was had in time."""
        waiter, came = cls(file, lock), False
        try:
            with suppress(Empty):
                waiter._came.get(timeout=max(0.0, until - time.monotonic()))
                came = True
        finally:
            if not came:
                turns.forget()
                waiter._give_up()
        return came

    def _run(self) -> None:
        self._wanted(self._file, wait=True)
        with self._lock:
            self._has_come = True
            self._came.put(None)
            if self._given_up:
                os.close(self._file)

    def _give_up(self) -> None:
        with self._lock:
            self._given_up = True
            if self._has_come:
                os.close(self._file)
