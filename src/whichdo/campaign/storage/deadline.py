"""A server that says nothing: whoever waits for its answer gives up after a while.

The server's own time-outs end statements and locks that take long, and TCP's find that a packet was not received.
Neither helps where the other end is there but frozen: then the socket is shut down from here, and the wait ends in an
error like any other broken connection.  Time that the program spends on its own decisions does not count.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import ref

from sqlalchemy import event

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["Deadline"]

TICK = 0.5


class Deadline:
    """Watches the statements of an engine, none of which may take longer than ``limit`` seconds."""

    def __init__(self, engine: Engine, limit: float) -> None:
        self._limit = limit
        self._ends: float | None = None
        self._driver: Any = None
        self._process = 0
        event.listen(engine, "before_cursor_execute", self._begin)
        event.listen(engine, "after_cursor_execute", self.end)
        event.listen(engine, "commit", self._begin)
        event.listen(engine, "rollback", self._begin)

    def _begin(self, connection: Any, *_: Any) -> None:
        self._driver = connection.connection.dbapi_connection
        self._ends = time.monotonic() + self._limit
        if self._process != os.getpid():  # a fork leaves threads behind
            self._process = os.getpid()
            threading.Thread(target=_watch, args=(ref(self),), name="whichdo deadline", daemon=True).start()

    def end(self, *_: Any) -> None:
        """Nothing is waited for."""
        self._ends = self._driver = None

    def check(self) -> None:
        """Shut the socket down if the answer is overdue."""
        ends, driver = self._ends, self._driver
        if ends is None or driver is None or time.monotonic() < ends:
            return
        self.end()
        with suppress(Exception), socket.socket(fileno=os.dup(driver.pgconn.socket)) as line:
            line.shutdown(socket.SHUT_RDWR)


def _watch(of: ref[Deadline]) -> None:
    while (deadline := of()) is not None:
        deadline.check()
        del deadline
        time.sleep(TICK)
