"""Events: what a campaign is made of, a class for each kind.

An event on record is a kind and a body (`whichdo.campaign.chain`).  `said` reads the body into the class of its kind;
`body_of` writes it back, the same to the last character.  What is optional is left out of the body where it has its
default, as it was before it was added.  Keys that a later program added are not read.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    Row = dict[str, Any]
    Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """What an event says; the fields of a kind are the keys of its body."""

    kind: ClassVar[str]

    @classmethod
    def from_body(cls, body: Body) -> Self:
        """Read a body; a KeyError or a TypeError where it is not one of this kind."""
        given = {each.name: _fixed(body[each.name]) for each in fields(cls) if each.name in body}
        for each in fields(cls):
            if each.default is None and each.name in given and given[each.name] is None:
                raise ValueError(f"{each.name} is None")  # what is not there is left out
        return cls(**given)


def _fixed(value: Any) -> Any:
    return tuple(value) if type(value) is list else value


@dataclass(frozen=True, slots=True)
class Created(Said):
    """All that decides: problem, policy with parameters and revision, budget, seed, lease, window; never changes."""

    kind = "created"
    terms: Body

    @classmethod
    def from_body(cls, body: Body) -> Self:
        """The terms are the body."""
        return cls(body)


@dataclass(frozen=True, slots=True)
class Observed(Said):
    """A log of looks, as counts, under the hash of its content."""

    kind = "observed"
    log: str
    sha256: str
    looks: int
    tables: tuple[Body, ...]
    bytes: int | None = None
    since: str | None = None
    database: Body | None = None


class Handed(NamedTuple):
    """A ticket of an ask: its arm and its place in the play."""

    id: str
    arm: str
    slot: int


@dataclass(frozen=True, slots=True)
class Asked(Said):
    """Tickets handed to a client; under a key also how many were ``wanted`` and which were ``held`` already."""

    kind = "asked"
    client: str
    play: int
    needed: tuple[str, ...]
    tickets: tuple[Handed, ...]
    process: str = ""
    wanted: int | None = None
    held: tuple[str, ...] | None = None

    @classmethod
    def from_body(cls, body: Body) -> Self:
        """With its tickets."""
        tickets = tuple([Handed(each["id"], each["arm"], each["slot"]) for each in body["tickets"]])
        held = body.get("held")
        return cls(
            body["client"],
            body["play"],
            tuple(body["needed"]),
            tickets,
            str(body.get("process", "")),
            body.get("wanted"),
            None if held is None else tuple(held),
        )


@dataclass(frozen=True, slots=True)
class Told(Said):
    """The row that came of a ticket; from another ``client`` than it went to, or ``late``, after its lease."""

    kind = "told"
    ticket: str
    row: Row
    client: str | None = None
    late: bool = False

    @classmethod
    def from_body(cls, body: Body) -> Self:
        """Written out, since most events are told ones."""
        return cls(body["ticket"], body["row"], body.get("client"), bool(body.get("late", False)))


@dataclass(frozen=True, slots=True)
class Closed(Said):
    """Tickets whose reward window has ended; they count from here on."""

    kind = "closed"
    tickets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Voided(Said):
    """A ticket that came to nothing, and why; its pull is owed again."""

    kind = "voided"
    ticket: str
    reason: str


@dataclass(frozen=True, slots=True)
class Expired(Said):
    """Tickets whose lease has ended; their pulls are owed again."""

    kind = "expired"
    tickets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Amended(Said):
    """Another row for a ticket, what it had ``before``, and why."""

    kind = "amended"
    ticket: str
    row: Row
    before: Row | None
    reason: str


@dataclass(frozen=True, slots=True)
class Paused(Said):
    """Nothing more is handed out."""

    kind = "paused"
    reason: str


@dataclass(frozen=True, slots=True)
class Resumed(Said):
    """Tickets are handed out again."""

    kind = "resumed"
    reason: str


@dataclass(frozen=True, slots=True)
class Forbidden(Said):
    """Arms that may not be pulled from here on."""

    kind = "forbidden"
    arms: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Allowed(Said):
    """Arms that may be pulled again."""

    kind = "allowed"
    arms: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Alarm(Said):
    """Direct pulls disagree with looking: which arms, and which edge is probably missing."""

    kind = "alarm"
    suspect: Body
    text: str = ""
    edge: str | None = None
    arms: tuple[str, ...] | None = None
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class SetAside(Said):
    """Logs that are out of date, by their hashes, and why."""

    kind = "set_aside"
    logs: tuple[str, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Restarted(Said):
    """The policy begins anew with the budget that is left, and why; its revision, where event 0 has another."""

    kind = "restarted"
    reason: str
    budget: float
    kept: float | None = None
    revision: int | None = None
    made_by: Body | None = None


@dataclass(frozen=True, slots=True)
class Audited(Said):
    """Pulls that the policy did not choose, to find out whether logs and graph still hold; revision as above.

    ``interim``: fresh looks, after which the policy goes on.  Else it is done, and this is a ``round`` of its audit.
    """

    kind = "audited"
    pulls: Mapping[str, int]
    budget: float
    kept: float | None = None
    interim: bool = False
    round: int | None = None
    revision: int | None = None
    made_by: Body | None = None


@dataclass(frozen=True, slots=True)
class Stopped(Said):
    """Direct pulls make it sure enough, where that was asked for."""

    kind = "stopped"
    reason: str


KINDS: dict[str, type[Said]] = {
    each.kind: each
    for each in (
        Created,
        Observed,
        Asked,
        Told,
        Closed,
        Voided,
        Expired,
        Amended,
        Paused,
        Resumed,
        Forbidden,
        Allowed,
        Alarm,
        SetAside,
        Restarted,
        Audited,
        Stopped,
    )
}


def said(kind: str, body: Body) -> Said:
    """What an event of a kind says; a KeyError for a kind that this program does not know."""
    return KINDS[kind].from_body(body)


def body_of(event: Said) -> dict[str, Any]:
    """The body that goes on record."""
    match event:
        case Told(ticket, row, client, late):  # written out, as most events are told or asked
            body: dict[str, Any] = {"ticket": ticket, "row": row}
            if client is not None:
                body["client"] = client
            return body | {"late": True} if late else body
        case Asked(client, play, needed, tickets, process, wanted, held):
            handed = [{"id": each.id, "arm": each.arm, "slot": each.slot} for each in tickets]
            body = {"client": client, "play": play, "needed": needed, "tickets": handed}
            if process:
                body["process"] = process
            return body if wanted is None else body | {"wanted": wanted, "held": held}
        case Created(terms):
            return dict(terms)
        case _:
            values = ((each, getattr(event, each.name)) for each in fields(event))
            return {each.name: value for each, value in values if value is not each.default and value != each.default}
