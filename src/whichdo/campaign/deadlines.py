"""When something about tickets is over: leases that end, reward windows that close."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

__all__ = ["Deadlines"]


class Deadlines:
    """Tickets, each with a moment; the next first."""

    def __init__(self) -> None:
        self._queue: list[tuple[datetime, str]] = []

    def add(self, when: datetime, ticket: str) -> None:
        """Something about a ticket is over then."""
        heappush(self._queue, (when, ticket))

    def over(self, now: datetime, still: Callable[[str], bool]) -> list[str]:
        """The tickets whose moment has come, in order, of those of which it ``still`` matters; the rest is dropped."""
        while self._queue and not still(self._queue[0][1]):
            heappop(self._queue)
        if not self._queue or self._queue[0][0] > now:
            return []
        over = [ticket for when, ticket in sorted(self._queue) if when <= now and still(ticket)]
        return list(dict.fromkeys(over))  # one may have been given an earlier end since
