"""A ticket: one pull that somebody has been asked to make, from the ask to what came of it.

::

    ask -> ASKED -> tell -> TOLD                 counts in the estimates
                 -> void(reason) -> VOIDED       budget returned, the pull is owed again
                 -> lease ends -> EXPIRED        same; a tell within the grace period still counts and is marked late

A campaign may have millions of them, so they are kept in columns (`whichdo.campaign.register`).  A `Pull` is made when
somebody asks for one, and takes from the log what the columns do not hold: times, receipts, rows and reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whichdo.problem import Arm


LETTERS = ("abcdefghjkmnpqrstuvwxyz" * 12)[:256]
"""A letter for each value of a byte: none that looks like another."""
EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
NEVER = -1 << 62
"""The instant of what has no end."""


class Phase(StrEnum):
    """How far a ticket has come."""

    ASKED = "asked"
    TOLD = "told"
    VOIDED = "voided"
    EXPIRED = "expired"


PHASES = tuple(Phase)
"""In the order of their numbers."""


@dataclass(frozen=True)
class Ticket:
    """One pull to be made: pull ``arm`` once, and tell the row under ``id``; `Campaign.ask` makes it."""

    id: str
    """What `Campaign.tell` takes."""
    arm: Arm
    """What to pull."""
    needed: tuple[str, ...] = ()
    """The nodes whose values the row must say."""
    lease_ends: str | None = None
    """When its pull is owed again; None where it may stay open forever."""
    receipt: str = field(default="", compare=False)
    """``seq:hash`` of the event that handed it out."""
    again: str = field(default="", compare=False)
    """Where it was handed out before and is handed out again: when, and to whom."""

    def to_dict(self) -> dict[str, Any]:
        """The ticket as JSON can hold it."""
        return {
            "id": self.id,
            "arm": self.arm.to_dict(),
            "needed": list(self.needed),
            "lease_ends": self.lease_ends,
            "receipt": self.receipt,
            "again": self.again or None,
        }


def ticket_id(campaign: str, number: int, arm: Arm | str) -> str:
    """A number and two characters that depend on it, so that a typing error does not name another ticket."""
    digest = sha256(f"{campaign}\n{number}\n{arm}".encode()).digest()
    return f"{number}-{LETTERS[digest[0]]}{LETTERS[digest[1]]}"


def instant(when: datetime) -> int:
    """A moment in microseconds since 1970."""
    return (when - EPOCH) // MICROSECOND


def moment_of(instant: int) -> datetime | None:
    """The moment of so many microseconds; None for `NEVER`."""
    return None if instant == NEVER else EPOCH + instant * MICROSECOND
