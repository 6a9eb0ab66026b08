"""Turns at a SQLite file: writers wait in a queue of the system's, not each by itself.

SQLite lets those who wait for its lock sleep and try again, longer each time: with many writers whoever comes in at the
right moment is served, and others wait for half a minute.  A lock that the system hands on, taken in front of SQLite's,
gives turns.  It is on the ``-wal`` file, which all connections have in common and on which SQLite itself has no locks,
so to open and close it undoes none of them.

A turn lasts for some transactions, if one follows the other: to hand it on after each would cost more than they do.  It
only makes waiting fair, and SQLite's lock still keeps writers apart; so where a turn does not come in a few seconds,
because a process is frozen within its own, one goes on without.

Threads are begun and told by C alone, not through events: an interrupt that comes while an event is set or waited for
can leave its lock taken.
"""

from __future__ import annotations

import os
import time
from _thread import start_new_thread
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock

from whichdo.campaign.storage.companions import place_of

__all__ = ["Turns"]

TURN = 0.02
"""Seconds that a turn lasts at most, if nothing is under way when it ends."""
WITHOUT = 5.0
"""Seconds after which one goes on without a turn."""


class Turns:
    """The queue of a database, for one connection."""

    def __init__(self, path: str) -> None:
        self._path = f"{path}-wal"
        self._file: int | None = None
        self._place: tuple[int, int] | None = None
        self._ends = 0.0
        self._lock = Lock()
        self._kept = False  # whether the turn goes on, with nothing under way
        self._ender: tuple[int, SimpleQueue[None]] | None = None
        self._noted = 0.0  # the end of the turn that the ender knows of

    def wait(self) -> None:
        """Wait for a turn; where the system has no such locks, or the file is not there yet, it always is."""
        with self._lock:
            if self._kept and time.monotonic() < self._ends:
                self._kept = False
                return
            if self._kept:
                self._hand_on()
        file = self._opened()
        if file is None or self._taken(file) or _Waiter.came(self, file):
            self._ends = time.monotonic() + TURN

    def leave(self) -> None:
        """What was under way is done: the next one's turn, unless this one goes on for a moment."""
        with self._lock:
            if self._file is None:
                return
            if time.monotonic() >= self._ends:
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
            file, self._file, self._place, self._kept = self._file, None, None, False
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
            while (left := self._ends - time.monotonic()) > 0:
                time.sleep(left)
            with self._lock:
                if self._kept and time.monotonic() >= self._ends:
                    self._hand_on()

    def _hand_on(self) -> None:
        self._kept = False
        if self._file is not None:
            with suppress(OSError, ImportError):
                import fcntl

                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _opened(self) -> int | None:
        place = place_of(self._path)
        if self._file is None or place != self._place:
            self.close()
            if place is None:
                return None
            with suppress(OSError):
                self._file = os.open(self._path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
                self._place = place
        return self._file

    @staticmethod
    def _taken(file: int) -> bool:
        """Whether a turn could be had at once, or there are none to be had."""
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except (OSError, ImportError):
            return True
        return True

    def forget(self) -> None:
        """Leave the file to the thread that waits for it, which closes it when the turn comes."""
        self._file = self._place = None


class _Waiter:
    """Waits for a lock in a thread of its own: the system's wait has no end."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._came: SimpleQueue[None] = SimpleQueue()
        self._lock = Lock()
        self._given_up = self._has_come = False
        start_new_thread(self._run, ())

    @classmethod
    def came(cls, turns: Turns, file: int) -> bool:
        """Whether the turn came within a few seconds."""
        waiter, came = cls(file), False
        try:
            with suppress(Empty):
                waiter._came.get(timeout=WITHOUT)
                came = True
        finally:
            if not came:
                turns.forget()
                waiter._give_up()
        return came

    def _run(self) -> None:
        import fcntl

        with suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_EX)
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
