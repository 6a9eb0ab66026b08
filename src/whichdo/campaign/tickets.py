"""A ticket: one pull that somebody has been asked to make, from the ask to what came of it.

::

    ask -> ASKED -> tell -> TOLD                 counts in the estimates
                 -> void(reason) -> VOIDED       budget returned, the pull is owed again
                 -> lease ends -> EXPIRED        same; a tell within the grace period still counts and is marked late
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from whichdo.problem import Arm

__all__ = ["Phase", "Pull", "Ticket", "ticket_id"]

LETTERS = "abcdefghjkmnpqrstuvwxyz"


class Phase(StrEnum):
    """How far a ticket has come."""

    ASKED = "asked"
    TOLD = "told"
    VOIDED = "voided"
    EXPIRED = "expired"


@dataclass(frozen=True)
class Ticket:
    """What `ask` hands out: pull ``arm`` once, and tell what came under ``id``."""

    id: str
    arm: Arm
    needed: tuple[str, ...] = ()
    """The nodes whose values the row must say."""
    lease_ends: str | None = None
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


@dataclass(slots=True)
class Pull:
    """A ticket as the fold keeps it."""

    id: str
    arm: Arm
    cost: float
    client: str
    asked: str
    """When, as its event says."""
    asked_at: int
    """The number of that event."""
    play: int
    slot: int
    needed: tuple[str, ...]
    phase: Phase = Phase.ASKED
    lease_end: datetime | None = None
    window_end: datetime | None = None
    row: dict[str, Any] | None = None
    codes: tuple[int, ...] | None = None
    """Of all nodes of the problem, -1 where the row does not say."""
    since: str = ""
    """When it came to its phase."""
    receipt: str = ""
    """Of the event that brought it there."""
    reason: str = ""
    late: bool = False
    extra: bool = False
    """Told when its slot had gone to another ticket, or its play was over: it counts in the estimates alone."""
    counted: bool = False
    amended: int = 0
    process: str = ""
    """To which process it went, where the client's name does not say."""
    asked_receipt: str = ""
    """Of the event that handed it out."""
    teller: str = ""
    """The client that told it."""
    first: tuple[dict[str, Any], str] | None = None
    """The row that was told before it was amended, and the receipt of that."""


def ticket_id(campaign: str, number: int, arm: Arm) -> str:
    """A number and two letters that depend on it: a slip of the finger names no other ticket."""
    digest = sha256(f"{campaign}\n{number}\n{arm}".encode()).digest()
    return f"{number}-{LETTERS[digest[0] % len(LETTERS)]}{LETTERS[digest[1] % len(LETTERS)]}"
