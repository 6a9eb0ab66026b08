"""Commands: what somebody wants of a campaign, and the answer to it.

`whichdo.campaign.decide` says what a command puts on record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whichdo.campaign.events import Said
    from whichdo.campaign.tallying import Log
    from whichdo.problem import Arm


@dataclass(frozen=True)
class Receipt:
    """The answer to a write: it is on the disk."""

    seq: int
    """The number of the event."""
    hash: str
    """The hash of the event, which depends on all before it."""
    repeated: bool = False
    """Whether the same was on record already."""
    notes: tuple[str, ...] = ()
    """Remarks on the request, such as columns that were ignored."""

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    def to_dict(self) -> dict[str, Any]:
        """The receipt as JSON can hold it."""
        return {"receipt": str(self), "repeated": self.repeated, "notes": list(map(str, self.notes))}

    @classmethod
    def of(cls, text: str, *, repeated: bool = False, notes: tuple[str, ...] = ()) -> Receipt:
        """Make a receipt of its string.

        Parameters
        ----------
        text
            ``seq:hash``, as `str` writes it.
        repeated
            Whether the same was on record already.
        notes
            Remarks on the request.

        Returns
        -------
        Receipt
            The receipt.
        """
        seq, _, digest = text.partition(":")
        return cls(int(seq), digest, repeated, notes)


@dataclass(frozen=True)
class Decision:
    """The events that a command puts on record, or the receipt that the same command got before; and remarks on it."""

    events: tuple[Said, ...] = ()
    notes: tuple[str, ...] = ()
    before: Receipt | None = None
    make_way: bool = False
    """Whether these only make way: the command is decided again when they are on record, in the same transaction."""


@dataclass(frozen=True)
class Ask:
    """Tickets for a client, up to so many with those that it holds; ``keyed`` notes what was wanted and held."""

    wanted: int
    client: str
    keyed: bool = False
    process: str = ""


@dataclass(frozen=True)
class Tell:
    """The row of a ticket; ``arm``, if given, must be the ticket's."""

    ticket: str
    row: object
    arm: str | Arm | None = None
    client: str | None = None


@dataclass(frozen=True)
class Void:
    """A ticket came to nothing."""

    ticket: str
    reason: str


@dataclass(frozen=True)
class Amend:
    """Another row for a ticket, whatever it came to before."""

    ticket: str
    row: object
    reason: str


@dataclass(frozen=True)
class Observe:
    """Logs that were counted; with ``restart`` the policy begins anew unless it knows all of them."""

    logs: tuple[Log, ...]
    restart: bool = False


@dataclass(frozen=True)
class Pause:
    """Hand out nothing more."""

    reason: str


@dataclass(frozen=True)
class Resume:
    """Hand out tickets again."""

    reason: str


@dataclass(frozen=True)
class Forbid:
    """Arms that may not be pulled from now on."""

    arms: tuple[Arm, ...]
    reason: str


@dataclass(frozen=True)
class Allow:
    """Arms that may be pulled again."""

    arms: tuple[Arm, ...]
    reason: str


@dataclass(frozen=True)
class Restart:
    """Let the policy begin anew; repeated for the same reason it is one restart, unless it is ``keyed``."""

    reason: str
    keyed: bool = False


@dataclass(frozen=True)
class Settle:
    """What the clock says, and nothing else."""


Command = Ask | Tell | Void | Amend | Observe | Pause | Resume | Forbid | Allow | Restart | Settle
