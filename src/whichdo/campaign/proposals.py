"""What a request would put on record: checked against the state, nothing changed.

Each function of a verb answers with what is `Proposed`; those that verbs have in common with drafts of events.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from whichdo.campaign.audit import audits_owed
from whichdo.campaign.beginnings import opening, restarting, without_pulls
from whichdo.campaign.events import canonical, in_units, time_text
from whichdo.campaign.plan import needs_new_play, too_new, update_reason
from whichdo.campaign.revised import without_arms
from whichdo.campaign.tickets import Phase, Ticket, ticket_id
from whichdo.errors import ConflictError, ReplayDivergedError, TooNewError, UnknownTicketError, UsageError, WaitError
from whichdo.remedies import Message, Option, Verb
from whichdo.text import counted, listed, nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from whichdo.campaign.rows import RowReader
    from whichdo.campaign.state import State
    from whichdo.campaign.tickets import Pull
    from whichdo.problem import Arm

__all__ = [
    "Draft",
    "Proposed",
    "Receipt",
    "amendment",
    "asking",
    "forbidding",
    "found_pull",
    "overdue",
    "pausing",
    "resuming",
    "row_of",
    "telling",
    "tickets_of",
    "voiding",
]

Draft = tuple[str, dict[str, Any]]


class Proposed(NamedTuple):
    """The events to append, or the receipt that the same request got before; and remarks on it."""

    drafts: list[Draft] | Receipt
    notes: tuple[str, ...] = ()
    then: Callable[[State], list[Draft]] | None = None
    """What was asked for, where ``drafts`` only make way for it: all of them in one transaction, or none."""


@dataclass(frozen=True)
class Receipt:
    """The answer to a write: it is on the disk, as event ``seq`` with this ``hash``."""

    seq: int
    hash: str
    repeated: bool = False
    """Whether the same was on record already."""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    def to_dict(self) -> dict[str, Any]:
        """The receipt as JSON can hold it."""
        return {"receipt": str(self), "repeated": self.repeated, "notes": list(map(str, self.notes))}

    @classmethod
    def of(cls, text: str, *, repeated: bool = False, notes: tuple[str, ...] = ()) -> Receipt:
        """From ``seq:hash``."""
        seq, _, digest = text.partition(":")
        return cls(int(seq), digest, repeated, notes)


def overdue(state: State, now: datetime) -> list[Draft]:
    """What the clock says before anything else is done: leases that have ended, windows that have closed."""
    expired, closed = state.due(now)
    drafts: list[Draft] = []
    if expired:
        drafts.append(("expired", {"tickets": expired}))
    if closed:
        drafts.append(("closed", {"tickets": closed}))
    return drafts


# ------------------------------------------------------------------------------------------------------------------ ask


def asking(state: State, wanted: int, client: str, *, keyed: bool = False, process: str = "") -> Proposed:
    """Tickets for a client beyond those it still holds; an error where there are none to hand out.

    Under a key what was wanted and held is noted, so that the same answer can be given again.  Where the play was
    decided by another revision of the policy and the next ticket takes a decision, a play of this one begins first.
    """
    _check_open(state)
    more: dict[str, Any] = {"process": process} if process else {}
    held = list(state.held.get(client, {}))[:wanted]
    if keyed:
        more |= {"wanted": wanted, "held": held}
    if wanted > len(held) and needs_new_play(state):
        refusal = too_new(state)
        if refusal is None:
            return Proposed(
                restarting(state, update_reason(state)),
                then=lambda after: _handed_out(after, wanted, client, held, more),
            )
        if not held:
            raise TooNewError(refusal)
    drafts = opening(state) if wanted > len(held) else []
    if drafts:
        return Proposed(drafts, then=lambda after: _handed_out(after, wanted, client, held, more))
    return Proposed(_handed_out(state, wanted, client, held, more))


def _handed_out(state: State, wanted: int, client: str, held: list[str], more: dict[str, Any]) -> list[Draft]:
    """The next tickets of the play that is on; ``more`` is noted with them."""
    _check_open(state)
    play = state.play
    on = play is not None and state.stopped is None
    slots = play.next_slots(wanted - len(held)) if play is not None and on else []
    if on and not slots and not held and not state.finished:
        raise _wait(state)
    if play is None or (not slots and not (held and "held" in more)):
        return []
    tickets, number = [], len(state.tickets)
    for slot in slots:
        number += 1
        arm = play.arm_of(slot)
        tickets.append({"id": ticket_id(state.terms.name, number, arm), "arm": str(arm), "slot": slot})
    body = {"client": client, "play": play.number, "needed": list(play.needed), "tickets": tickets}
    return [("asked", body | more)]


def tickets_of(state: State, names: Sequence[str], new: int | None = None) -> list[Ticket]:
    """Tickets as a client gets them; those that event ``new`` did not hand out are handed out again."""
    found = []
    for name in names:
        pull = state.tickets[name]
        ends = None if pull.lease_end is None else time_text(pull.lease_end)
        to = f"process {pull.process} of {pull.client}" if pull.process else pull.client
        again = "" if pull.asked_at == new else f"handed out before, at {pull.asked}, to {to}"
        found.append(Ticket(pull.id, pull.arm, pull.needed, ends, pull.asked_receipt, again))
    return found


def _check_open(state: State) -> None:
    name = state.terms.name
    if state.paused is not None:
        way = Verb("resume", name, {"reason": ...})
        raise ConflictError(f"Campaign {quoted(name)} is paused: {state.paused}. To go on: ", way, ".")
    if state.diverged is not None:
        raise ReplayDivergedError(state.diverged)
    if state.failure is not None:
        raise ConflictError(
            f"The policy {state.terms.policy.name} cannot go on ({state.failure.rstrip('.')}). All that was told is "
            f"kept and counts: ",
            Verb("recommend", name),
            ".",
        )


def _wait(state: State) -> WaitError:
    number = None if state.play is None else state.play.number
    mine = [pull for pull in state.tickets.values() if pull.play == number and not pull.extra]
    out = tuple(pull.id for pull in mine if pull.phase is Phase.ASKED)
    waiting = [pull.id for pull in mine if pull.phase is Phase.TOLD and not pull.counted]
    said = [f"it has heard of {counted(len(out), 'open ticket')}: {listed(out, most=12)}"] if out else []
    if waiting:
        ends = min(end for each in waiting if (end := state.tickets[each].window_end) is not None)
        said.append(f"the reward windows of {listed(waiting, most=12)} have closed, the next at {time_text(ends)}")
    return WaitError(f"{state.terms.policy.name} decides on when {' and '.join(said)}.", (*out, *waiting))


# ------------------------------------------------------------------------------------------------- tell, void and amend


def found_pull(state: State, ticket: str) -> Pull:
    """The ticket of this id."""
    pull = state.tickets.get(ticket)
    if pull is not None:
        return pull
    number = str(ticket).partition("-")[0]
    twin = next((each for each in state.tickets if each.partition("-")[0] == number), None)
    if twin is not None:
        hint = f" Ticket {number} is {quoted(twin)}, {state.tickets[twin].arm}."
    elif len(state.tickets) <= 10_000:
        hint = nearest(str(ticket), state.tickets)
    else:
        hint = ""
    raise UnknownTicketError(
        f"There is no ticket {quoted(ticket)} in campaign {quoted(state.terms.name)}.{hint} Nothing was stored."
    )


def row_of(
    state: State, reader: RowReader, ticket: str, row: object, arm: str | Arm | None = None
) -> tuple[Pull, dict[str, Any], tuple[str, ...]]:
    """A ticket, its row as it goes on record, and what was ignored; ``arm`` must be the ticket's, if it is said."""
    pull = found_pull(state, ticket)
    if isinstance(arm, str):
        arm = state.terms.problem.unpruned.arm(arm)
    if arm is not None and arm != pull.arm:
        way = Message(f" If {arm} was done, void the ticket and say so: ", _way(state, "void", pull.id), ".")
        raise ConflictError(
            f"Ticket {pull.id} is for {pull.arm}, asked at {pull.asked}; told was {arm}. Nothing was changed.",
            "" if pull.phase is Phase.TOLD else way,
        )
    kept, extra = reader.read(pull.arm, row, pull.needed)
    return pull, kept, (f"Ignored, no nodes of the graph: {listed(map(quoted, extra))}.",) if extra else ()


def telling(
    state: State,
    reader: RowReader,
    now: datetime,
    ticket: str,
    row: object,
    arm: str | Arm | None,
    client: str | None = None,
) -> Proposed:
    """The row of a ticket; the same again is the same answer, another, or one by another client, is a conflict."""
    pull, kept, notes = row_of(state, reader, ticket, row, arm)
    if pull.phase is Phase.TOLD:
        if client is not None and client != (pull.teller or pull.client):
            raise ConflictError(
                f"Ticket {pull.id}, {pull.arm}, was told {canonical(pull.row)} by {pull.teller or pull.client} at "
                f"{pull.since}; {client} tells {canonical(kept)} now. Nothing was changed: one ticket is one pull. If "
                f"{client} made a pull of its own, it needs a ticket of its own: ask for it as ",
                Option("client"),
                ".",
            )
        if pull.row == kept:
            return Proposed(Receipt.of(pull.receipt, repeated=True, notes=notes))
        if pull.first is not None and pull.first[0] == kept:
            said = f"Ticket {pull.id} was amended at {pull.since} ({pull.reason}): on record is {canonical(pull.row)}."
            return Proposed(Receipt.of(pull.receipt, repeated=True, notes=(*notes, said)))
        raise ConflictError(
            f"Ticket {pull.id}, {pull.arm}, was told {canonical(pull.row)} at {pull.since}; told now is "
            f"{canonical(kept)}. Nothing was changed. To correct it: ",
            _way(state, "amend", pull.id, kept),
            ".",
        )
    if pull.phase is Phase.VOIDED:
        raise ConflictError(
            f"Ticket {pull.id}, {pull.arm}, was voided at {pull.since} ({pull.reason}); told now is {canonical(kept)}. "
            f"Nothing was changed. If it was done after all: ",
            _way(state, "amend", pull.id, kept),
            ".",
        )
    body: dict[str, Any] = {"ticket": pull.id, "row": kept}
    if client is not None and client != pull.client:
        body["client"] = client
    if pull.phase is Phase.EXPIRED:
        _check_grace(state, pull, now, kept)
        body["late"] = True
    return Proposed([("told", body)], notes)


def _check_grace(state: State, pull: Pull, now: datetime, row: dict[str, Any]) -> None:
    grace = state.terms.grace or 0.0
    if pull.lease_end is None or now <= pull.lease_end + timedelta(seconds=grace):
        return
    raise ConflictError(
        f"Ticket {pull.id}, {pull.arm}, asked at {pull.asked}, expired at {time_text(pull.lease_end)}, and the grace "
        f"of {in_units(grace)} after it is over; told now is {canonical(row)}. Nothing was changed. If it "
        f"should count all the same: ",
        _way(state, "amend", pull.id, row),
        ".",
    )


def voiding(state: State, ticket: str, reason: str) -> Proposed:
    """A ticket that came to nothing."""
    pull = found_pull(state, ticket)
    if pull.phase is Phase.VOIDED and pull.reason == reason:
        return Proposed(Receipt.of(pull.receipt, repeated=True))
    if pull.phase is Phase.TOLD:
        raise ConflictError(
            f"Ticket {pull.id}, {pull.arm}, was told {canonical(pull.row)} at {pull.since}, so it cannot be voided. "
            f"Nothing was changed. To correct what was told: ",
            _way(state, "amend", pull.id),
            ".",
        )
    if pull.phase is Phase.VOIDED:
        raise ConflictError(
            f"Ticket {pull.id}, {pull.arm}, was voided at {pull.since} for another reason: {pull.reason}. Nothing was "
            f"changed."
        )
    notes: tuple[str, ...] = ()
    play = state.play
    if pull.phase is Phase.ASKED and play is not None and play.number != pull.play:
        way = Verb("restart", state.terms.name, {"reason": ...})
        notes = (
            Message("The play that wanted this pull is over: what it would have cost is left. To use it: ", way, "."),
        )
    return Proposed([("voided", {"ticket": pull.id, "reason": reason})], notes)


def amendment(state: State, reader: RowReader, ticket: str, row: object, reason: str) -> Proposed:
    """Another row for a ticket, whatever it came to before."""
    pull = found_pull(state, ticket)
    if pull.phase is Phase.ASKED:
        raise ConflictError(
            f"Ticket {pull.id}, {pull.arm}, is open since {pull.asked}: there is nothing to amend yet. Tell it: ",
            _way(state, "tell", pull.id),
            ".",
        )
    _, kept, notes = row_of(state, reader, ticket, row)
    if pull.phase is Phase.TOLD and pull.row == kept:
        return Proposed(Receipt.of(pull.receipt, repeated=True, notes=notes))
    return Proposed([("amended", {"ticket": pull.id, "row": kept, "before": pull.row, "reason": reason})], notes)


def _way(state: State, verb: str, ticket: str, row: dict[str, Any] | None = None) -> Verb:
    """What to do about a ticket."""
    arguments: dict[str, object] = {"ticket": ticket}
    if verb != "void":
        arguments["row"] = ... if row is None else canonical(row)
    if verb != "tell":
        arguments["reason"] = ...
    return Verb(verb, state.terms.name, arguments)


# ---------------------------------------------------------------------------------------------------- whole campaigns


def pausing(state: State, reason: str) -> Proposed:
    """Hand out nothing more; what is out may be told."""
    if state.paused is not None:
        raise ConflictError(f"Campaign {quoted(state.terms.name)} is paused already: {state.paused}.")
    return Proposed([("paused", {"reason": reason})])


def resuming(state: State, reason: str) -> Proposed:
    """Hand out tickets again."""
    if state.paused is None:
        raise ConflictError(f"Campaign {quoted(state.terms.name)} is not paused.")
    return Proposed([("resumed", {"reason": reason})])


def forbidding(state: State, arms: Sequence[Arm], reason: str, *, forbid: bool) -> Proposed:
    """Arms that may not be pulled from now on, or may again; the play restarts with what is left of the budget."""
    for arm in arms:
        state.terms.problem.unpruned.index(arm)
        if arm.is_look:
            raise UsageError("do() is what happens by itself; it cannot be forbidden.")
        if (arm in state.forbidden) == forbid:
            what = f"forbidden already: {state.forbidden[arm]}" if forbid else "not forbidden"
            raise ConflictError(f"{arm} is {what}. Nothing was changed.")
    if not arms:
        raise UsageError("Name an arm such as do(X=1).")
    if forbid:
        without_arms(state.terms.problem, {*state.forbidden, *arms})
    kind = "forbidden" if forbid else "allowed"
    names = list(map(str, arms))
    drafts: list[Draft] = [(kind, {"arms": names, "reason": reason})]
    out = [pull for pull in state.tickets.values() if pull.phase is Phase.ASKED and pull.arm in arms] if forbid else []
    drafts += [("voided", {"ticket": pull.id, "reason": f"{pull.arm} is forbidden: {reason}"}) for pull in out]
    returned = sum(pull.cost for pull in out)
    play = state.play
    on = play is None or play.failure is not None or (play.asked > 0 and not state.done)
    if state.auditing:
        if on or (play is not None and play.asked and not audits_owed(state, out).keys().isdisjoint(arms)):
            drafts.append(without_pulls(state, out, returned))
    elif on:
        drafts += restarting(state, f"{kind}: {', '.join(names)} ({reason})", returned)
    return Proposed(drafts)
