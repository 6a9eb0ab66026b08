"""What a command puts on record: decided by the state and the time, nothing changed.

`decide` is a pure function.  It checks a command against the state and says which events follow, or raises.  The
ledger appends them, and then what follows from them (`whichdo.campaign.follow`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from whichdo.campaign.asking import asking
from whichdo.campaign.chain import canonical, time_text
from whichdo.campaign.commands import (
    Allow,
    Amend,
    Ask,
    Command,
    Decision,
    Forbid,
    Observe,
    Pause,
    Receipt,
    Restart,
    Resume,
    Settle,
    Tell,
    Void,
)
from whichdo.campaign.events import (
    Allowed,
    Amended,
    Closed,
    Expired,
    Forbidden,
    Paused,
    Resumed,
    Told,
    Voided,
)
from whichdo.campaign.follow import due, restarting, without_pulls
from whichdo.campaign.plan import without_arms
from whichdo.campaign.register import Pull
from whichdo.campaign.revisions import too_new
from whichdo.campaign.terms import in_units
from whichdo.campaign.tickets import Phase
from whichdo.errors import (
    BusyError,
    ConflictError,
    TooNewError,
    UnknownTicketError,
    UsageError,
    WhichdoError,
    is_interrupt,
)
from whichdo.remedies import Message, Option, Verb
from whichdo.session import Session
from whichdo.text import counted, listed, nearest, quoted, visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from whichdo.campaign.events import Restarted, Said
    from whichdo.campaign.state import State
    from whichdo.campaign.tallying import Log
    from whichdo.problem import Arm


def decide(state: State, order: Command, now: datetime) -> Decision:  # noqa: C901, PLR0911, PLR0912 - one match
    """What a command puts on record; an error where it cannot be done, and then nothing has changed."""
    match order:
        case Ask():
            return asking(state, order)
        case Tell():
            return _telling(state, order, now)
        case Void(ticket, reason):
            return _voiding(state, ticket, reason)
        case Amend():
            return _amendment(state, order)
        case Observe(logs, restart):
            return Decision(_observing(state, logs, restart=restart))
        case Pause(reason):
            if state.paused is not None:
                raise ConflictError(f"Campaign {quoted(state.terms.name)} is already paused: {state.paused}.")
            return Decision((Paused(reason),))
        case Resume(reason):
            if state.paused is None:
                raise ConflictError(f"Campaign {quoted(state.terms.name)} is not paused.")
            return Decision((Resumed(reason),))
        case Forbid(arms, reason):
            return _forbidding(state, arms, reason, forbid=True)
        case Allow(arms, reason):
            return _forbidding(state, arms, reason, forbid=False)
        case Restart(reason, keyed):
            before = None if keyed else _begun_once(state, reason)
            if before is not None:
                return Decision(before=Receipt.of(before, repeated=True))
            return Decision((_begun_anew(state, reason),))
        case Settle():
            return Decision()


def parts_of(state: State, order: Command) -> tuple[str, dict[str, Any]]:  # noqa: PLR0911 - one match
    """The kind of event that a command comes to, and what in its body tells it from another under the same key."""
    match order:
        case Ask(wanted, client):
            return "asked", {"client": client, "wanted": wanted}
        case Tell(ticket, row, arm):
            return "told", {"ticket": ticket, "row": _row_of(state, ticket, row, arm)[1]}
        case Void(ticket, reason):
            return "voided", {"ticket": ticket, "reason": reason}
        case Amend(ticket, row, reason):
            return "amended", {"ticket": ticket, "reason": reason, "row": _row_of(state, ticket, row)[1]}
        case Forbid(arms, reason) | Allow(arms, reason):
            kind = "forbidden" if isinstance(order, Forbid) else "allowed"
            return kind, {"arms": list(map(str, arms)), "reason": reason}
        case Pause(reason):
            return "paused", {"reason": reason}
        case Resume(reason):
            return "resumed", {"reason": reason}
        case Restart(reason):
            return "restarted", {"reason": reason}
        case _:
            return "", {}


def already_due(state: State, now: datetime) -> tuple[Said, ...]:
    """What stands by itself before anything else is done: what the clock says, or else what follows of the state."""
    expired, closed = state.due(now)
    ended: list[Said] = [*([Expired(tuple(expired))] if expired else []), *([Closed(tuple(closed))] if closed else [])]
    return tuple(ended or due(state))


# ------------------------------------------------------------------------------------------------- tell, void and amend


def _found_pull(state: State, ticket: str) -> Pull:
    """The ticket of this id."""
    pull = state.tickets.get(ticket)
    if pull is not None:
        return pull
    position = state.tickets.numbered(ticket)
    if position is not None:
        twin = Pull(state.tickets, position)
        hint = f" Ticket {position + 1} is {quoted(twin.id)}, {twin.arm}."
    elif len(state.tickets) <= 10_000:
        hint = nearest(str(ticket), state.tickets)
    else:
        hint = ""
    raise UnknownTicketError(
        f"There is no ticket {quoted(ticket)} in campaign {quoted(state.terms.name)}.{hint} Nothing was stored."
    )


def _row_of(
    state: State, ticket: str, row: object, arm: str | Arm | None = None
) -> tuple[Pull, dict[str, Any], tuple[str, ...]]:
    """A ticket, its row as it goes on record, and what was ignored; ``arm``, if given, must be the ticket's."""
    pull = _found_pull(state, ticket)
    if isinstance(arm, str):
        arm = state.terms.problem.unpruned.arm(arm)
    if arm is not None and arm != pull.arm:
        way = Message(f" If {arm} was done, void the ticket and say so: ", _way(state, "void", pull.id), ".")
        raise ConflictError(
            f"Ticket {pull.id} is for {pull.arm}, asked at {pull.asked}; the row belongs to {arm}. "
            f"Nothing was changed.",
            "" if pull.phase is Phase.TOLD else way,
        )
    kept, extra = state.reader.read(pull.arm, row, pull.needed)
    return pull, kept, (f"Ignored, not nodes of the graph: {listed(map(quoted, extra))}.",) if extra else ()


def _telling(state: State, order: Tell, now: datetime) -> Decision:
    """The row of a ticket; the same again is the same answer, another, or one by another client, is a conflict."""
    client = order.client
    pull, kept, notes = _row_of(state, order.ticket, order.row, order.arm)
    if pull.phase is Phase.TOLD:
        if client is not None and client != (pull.teller or pull.client):
            raise ConflictError(
                f"Ticket {pull.id}, {pull.arm}, was told {canonical(pull.row)} by {pull.teller or pull.client} at "
                f"{pull.since}; {client} tells {canonical(kept)} now. Nothing was changed: one ticket is one pull. If "
                f"{client} made another pull, that needs another ticket: ask for it as ",
                Option("client"),
                ".",
            )
        if pull.row == kept:
            return Decision(before=Receipt.of(pull.receipt, repeated=True, notes=notes))
        if pull.first is not None and pull.first[0] == kept:
            kept_now = canonical(pull.row)
            said = f"Ticket {pull.id} was amended at {pull.since} ({pull.reason}): the row on record is {kept_now}."
            return Decision(before=Receipt.of(pull.receipt, repeated=True, notes=(*notes, said)))
        raise ConflictError(
            f"Ticket {pull.id}, {pull.arm}, was told {canonical(pull.row)} at {pull.since}; the new row is "
            f"{canonical(kept)}. Nothing was changed. To correct it: ",
            _way(state, "amend", pull.id, kept),
            ".",
        )
    if pull.phase is Phase.VOIDED:
        raise ConflictError(
            f"Ticket {pull.id}, {pull.arm}, was voided at {pull.since} ({pull.reason}); the new row is "
            f"{canonical(kept)}. Nothing was changed. If it was done after all: ",
            _way(state, "amend", pull.id, kept),
            ".",
        )
    late = pull.phase is Phase.EXPIRED
    if late:
        _check_grace(state, pull, now, kept)
    return Decision((Told(pull.id, kept, None if client == pull.client else client, late),), notes)


def _check_grace(state: State, pull: Pull, now: datetime, row: dict[str, Any]) -> None:
    grace = state.terms.grace or 0.0
    if pull.lease_end is None or now <= pull.lease_end + timedelta(seconds=grace):
        return
    raise ConflictError(
        f"Ticket {pull.id}, {pull.arm}, asked at {pull.asked}, expired at {time_text(pull.lease_end)}, and the grace "
        f"of {in_units(grace)} after it is over; the new row is {canonical(row)}. Nothing was changed. If it "
        f"should count all the same: ",
        _way(state, "amend", pull.id, row),
        ".",
    )


def _voiding(state: State, ticket: str, reason: str) -> Decision:
    """A ticket that came to nothing."""
    pull = _found_pull(state, ticket)
    if pull.phase is Phase.VOIDED and pull.reason == reason:
        return Decision(before=Receipt.of(pull.receipt, repeated=True))
    if pull.phase is Phase.TOLD:
        raise ConflictError(
            f"Ticket {pull.id}, {pull.arm}, was told {canonical(pull.row)} at {pull.since}, so it cannot be voided. "
            f"Nothing was changed. To correct the row: ",
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
        notes = (Message("The play that asked for this pull is over: its cost was not spent. To use it: ", way, "."),)
    return Decision((Voided(pull.id, reason),), notes)


def _amendment(state: State, order: Amend) -> Decision:
    """Another row for a ticket, whatever it came to before."""
    pull = _found_pull(state, order.ticket)
    if pull.phase is Phase.ASKED:
        raise ConflictError(
            f"Ticket {pull.id}, {pull.arm}, has been open since {pull.asked}: there is nothing to amend yet. Tell it: ",
            _way(state, "tell", pull.id),
            ".",
        )
    _, kept, notes = _row_of(state, order.ticket, order.row)
    if pull.phase is Phase.TOLD and pull.row == kept:
        return Decision(before=Receipt.of(pull.receipt, repeated=True, notes=notes))
    return Decision((Amended(pull.id, kept, pull.row, order.reason),), notes)


def _way(state: State, verb: str, ticket: str, row: dict[str, Any] | None = None) -> Verb:
    """What to do about a ticket."""
    arguments: dict[str, object] = {"ticket": ticket}
    if verb != "void":
        arguments["row"] = ... if row is None else canonical(row)
    if verb != "tell":
        arguments["reason"] = ...
    return Verb(verb, state.terms.name, arguments)


# ---------------------------------------------------------------------------------------------------- whole campaigns


def _forbidding(state: State, arms: Sequence[Arm], reason: str, *, forbid: bool) -> Decision:
    """Arms that may not be pulled from now on, or may again; the play restarts with what is left of the budget."""
    for arm in arms:
        state.terms.problem.unpruned.index(arm)
        if arm.is_look:
            raise UsageError("do() means doing nothing; it cannot be forbidden.")
        if (arm in state.forbidden) == forbid:
            what = f"already forbidden: {state.forbidden[arm]}" if forbid else "not forbidden"
            raise ConflictError(f"{arm} is {what}. Nothing was changed.")
    if not arms:
        raise UsageError("Name an arm such as do(X=1).")
    if forbid:
        without_arms(state.terms.problem, {*state.forbidden, *arms})
    names = tuple(map(str, arms))
    done = Forbidden(names, reason) if forbid else Allowed(names, reason)
    open_pulls = [Pull(state.tickets, position) for position in state.tickets.out]
    out = [pull for pull in open_pulls if pull.arm in arms] if forbid else []
    events: list[Said] = [done, *(Voided(pull.id, f"{pull.arm} is forbidden: {reason}") for pull in out)]
    returned = sum(pull.cost for pull in out)
    play = state.play
    on = play is None or play.failure is not None or (play.asked > 0 and not state.done)
    if state.auditing:
        if on or (
            play is not None
            and play.asked
            and not state.audits.owed(state.tickets, state.plan.number, out).keys().isdisjoint(arms)
        ):
            events.append(without_pulls(state, out, returned))
    elif on:
        events.append(restarting(state, f"{done.kind}: {', '.join(names)} ({reason})", returned))
    return Decision(tuple(events))


def _begun_anew(state: State, reason: str) -> Restarted:
    """A restart that somebody asks for; refused if what is left is too little, or a later program has to decide."""
    refusal = too_new(state)
    if refusal is not None:
        raise TooNewError(refusal)
    try:
        Session(state.terms.policy, state.allowed, budget=state.left)
    except WhichdoError:
        raise
    except Exception as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        raise ConflictError(
            f"The policy {state.terms.policy.name} cannot begin again ({type(error).__name__}: {error}). Nothing was "
            f"changed."
        ) from error
    return restarting(state, reason)


def _begun_once(state: State, reason: str) -> str | None:
    """The receipt of a restart for this reason after which nothing was asked and the budget did not change."""
    last = state.restarts[-1] if state.restarts else None
    play = state.play
    if last is None or play is None or play.asked or last.reason != reason:
        return None
    changed = abs(last.budget - state.left) > min(state.terms.problem.prices.values()) / 2  # by a pull, not by rounding
    return None if changed or last.play != state.plan.number else last.receipt


# ----------------------------------------------------------------------------------------------------------------- logs


def _observing(state: State, logs: Sequence[Log], *, restart: bool) -> tuple[Said, ...]:
    """The logs that are not on record yet; with ``restart`` the policy begins anew unless it knows all of them."""
    at = {log.sha256: place for place, log in enumerate(state.logs)}
    fresh = {log.sha256: log for log in logs if log.sha256 not in at}
    for log in fresh.values():
        _check_overlap(log, state.logs)
    events: list[Said] = [log.as_event() for log in fresh.values()]
    play = state.play
    if not restart or play is None or not play.asked:
        return tuple(events)
    unknown = len(fresh) + sum(at.get(log.sha256, -1) >= state.logs_known for log in logs)
    if unknown:
        events.append(_begun_anew(state, f"observed {counted(unknown, 'log')}"))
    return tuple(events)


def _check_overlap(log: Log, logs: Sequence[Log]) -> None:
    """Refuse a file that begins with one of its name which is on record: those rows would count twice."""
    counted_before = {log.since}
    for old in reversed(logs):  # what a log grew from was counted with it
        if old.sha256 in counted_before:
            counted_before.add(old.sha256)
            counted_before.add(old.since)
    for old in logs:
        if old.name != log.name or old.bytes is None or log.bytes is None or old.sha256 in counted_before:
            continue
        if old.bytes < log.bytes and old.bytes not in log.prefixes:
            raise BusyError(f"Another log {quoted(old.name)} was observed meanwhile. Nothing was stored; try again.")
        if log.prefixes.get(old.bytes) == old.sha256:
            raise ConflictError(
                f"{visible(log.name)} has grown: it begins with the {counted(old.looks, 'look')} that were observed "
                f"before (event {old.receipt.partition(':')[0]}), and they would count twice. Nothing was stored. To "
                f"observe only what is new: ",
                Option("append", True, of="observe"),
                ".",
            )
