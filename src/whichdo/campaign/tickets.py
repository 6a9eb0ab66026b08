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
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from whichdo.campaign.chain import Event
    from whichdo.campaign.register import Register
    from whichdo.problem import Arm

__all__ = ["NEVER", "PHASES", "Out", "Phase", "Pull", "Record", "Ticket", "instant", "moment_of", "ticket_id"]

LETTERS = "abcdefghjkmnpqrstuvwxyz"
LEASE_ENDED = "its lease ended"
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


class Record(Protocol):
    """The events of a campaign, to look something up in."""

    def event(self, seq: int) -> Event:
        """The event of a number."""

    def keyed(self, key: str) -> Event | None:
        """The event of a key; None where there is none."""


class Out(NamedTuple):
    """What is held of a ticket while it is out."""

    id: str
    asked: str
    receipt: str
    process: str


class Pull:
    """A ticket as it stands."""

    __slots__ = ("_all", "position")

    def __init__(self, register: Register, position: int) -> None:
        self._all, self.position = register, position

    @property
    def id(self) -> str:
        """As it was handed out."""
        return self._all.id(self.position)

    @property
    def arm(self) -> Arm:
        """What to pull."""
        return self._all.arms[self._all.arm[self.position]]

    @property
    def cost(self) -> float:
        """Of the pull."""
        return self._all.costs[self._all.arm[self.position]]

    @property
    def client(self) -> str:
        """To whom it went."""
        return self._all.clients[self._all.client[self.position]]

    @property
    def needed(self) -> tuple[str, ...]:
        """The nodes whose values the row must say."""
        return self._all.needs[self._all.needed[self.position]]

    @property
    def play(self) -> int:
        """The number of its play."""
        return self._all.play[self.position]

    @property
    def slot(self) -> int:
        """Its place in the play."""
        return self._all.slot[self.position]

    @property
    def phase(self) -> Phase:
        """How far it has come."""
        return PHASES[self._all.phase[self.position]]

    @property
    def lease_end(self) -> datetime | None:
        """When its lease ends."""
        return moment_of(self._all.lease[self.position])

    @property
    def window_end(self) -> datetime | None:
        """When its reward window closes."""
        return moment_of(self._all.window[self.position])

    @property
    def codes(self) -> tuple[int, ...] | None:
        """Of all nodes of the problem, -1 where the row does not say; None where it was never told."""
        return self._all.codes_of(self.position) if self.phase is Phase.TOLD else None

    @property
    def counted(self) -> bool:
        """Whether it counts in the estimates."""
        return bool(self._all.counted[self.position])

    @property
    def late(self) -> bool:
        """Whether it was told after its lease."""
        return bool(self._all.late[self.position])

    @property
    def extra(self) -> bool:
        """Told when its slot had gone to another ticket, or its play was over: it counts in the estimates alone."""
        return bool(self._all.extra[self.position])

    @property
    def amended(self) -> int:
        """How often it was amended."""
        return self._all.amended.get(self.position, 0)

    @property
    def asked_at(self) -> int:
        """The number of the event that handed it out."""
        return self._all.asked_at[self.position]

    # ----------------------------------------------------------------------------------------------- from the log

    def _event(self, seq: int) -> Event:
        if self._all.record is None:
            raise LookupError(f"event {seq} is not at hand")
        return self._all.record.event(seq)

    @property
    def _out(self) -> Out:
        out = self._all.out.get(self.position)
        if out is not None:
            return out
        event = self._event(self.asked_at)
        return Out(self.id, event.time, event.receipt, str(event.content.get("process", "")))

    @property
    def asked(self) -> str:
        """When, as its event says."""
        return self._out.asked

    @property
    def asked_receipt(self) -> str:
        """Of the event that handed it out."""
        return self._out.receipt

    @property
    def process(self) -> str:
        """To which process it went, where the client's name does not say."""
        return self._out.process

    @property
    def _last(self) -> Event:
        return self._event(self._all.at[self.position])

    @property
    def since(self) -> str:
        """When it came to its phase."""
        return self.asked if self.phase is Phase.ASKED else self._last.time

    @property
    def receipt(self) -> str:
        """Of the event that brought it there."""
        return self.asked_receipt if self.phase is Phase.ASKED else self._last.receipt

    @property
    def row(self) -> dict[str, Any] | None:
        """As it is on record; None where it was never told."""
        if self.phase is not Phase.TOLD:
            return None
        row: dict[str, Any] = self._last.content["row"]
        return row

    @property
    def reason(self) -> str:
        """Why it was voided, has expired or was amended."""
        if self.phase is Phase.EXPIRED:
            return LEASE_ENDED
        if self.phase is Phase.VOIDED or self.amended:
            return str(self._last.content["reason"])
        return LEASE_ENDED if self.late else ""

    @property
    def first(self) -> tuple[dict[str, Any], str] | None:
        """The row that was told before it was amended, and the receipt of that."""
        seq = self._all.first_at.get(self.position)
        if seq is None:
            return None
        event = self._event(seq)
        return event.content["row"], event.receipt

    @property
    def teller(self) -> str:
        """The client that told it."""
        if self.phase is not Phase.TOLD:
            return ""
        event = self._event(self._all.first_at.get(self.position, self._all.at[self.position]))
        return str(event.content.get("client", self.client)) if event.kind == "told" else ""


def ticket_id(campaign: str, number: int, arm: Arm | str) -> str:
    """A number and two letters that depend on it: a slip of the finger names no other ticket."""
    digest = sha256(f"{campaign}\n{number}\n{arm}".encode()).digest()
    return f"{number}-{LETTERS[digest[0] % len(LETTERS)]}{LETTERS[digest[1] % len(LETTERS)]}"


def instant(when: datetime) -> int:
    """A moment in microseconds since 1970."""
    return (when - EPOCH) // MICROSECOND


def moment_of(instant: int) -> datetime | None:
    """The moment of so many microseconds; None for `NEVER`."""
    return None if instant == NEVER else EPOCH + instant * MICROSECOND
