"""An ask: which tickets a client gets, or why it gets none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whichdo.campaign.chain import time_text
from whichdo.campaign.commands import Decision
from whichdo.campaign.events import Asked, Handed
from whichdo.campaign.follow import opening, restarting
from whichdo.campaign.register import Pull
from whichdo.campaign.revisions import needs_new_play, too_new, update_reason
from whichdo.campaign.tickets import Phase, Ticket, ticket_id
from whichdo.errors import ConflictError, ReplayDivergedError, TooNewError, WaitError
from whichdo.remedies import Verb
from whichdo.text import counted, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.campaign.commands import Ask
    from whichdo.campaign.state import State


def asking(state: State, order: Ask) -> Decision:
    """Tickets for a client beyond those it still holds; an error where there are none to hand out.

    Where the play was decided by another revision of the policy and the next ticket takes a decision, a play of this
    one begins first; so do fresh looks, before the policy begins on logs.
    """
    if not order.wanted:
        return Decision()
    _check_open(state)
    held = tuple(state.held.get(order.client, {}))[: order.wanted]
    if order.wanted > len(held) and needs_new_play(state):
        refusal = too_new(state)
        if refusal is None:
            return Decision((restarting(state, update_reason(state)),), make_way=True)
        if not held:
            raise TooNewError(refusal)
    looks = opening(state) if order.wanted > len(held) else []
    return Decision(tuple(looks), make_way=True) if looks else Decision(_handed_out(state, order, held))


def _handed_out(state: State, order: Ask, held: tuple[str, ...]) -> tuple[Asked, ...]:
    """The next tickets of the play that is on."""
    play = state.play
    on = play is not None and state.stopped is None
    slots = play.next_slots(order.wanted - len(held)) if play is not None and on else []
    if on and not slots and not held and not state.finished:
        raise _wait(state)
    if play is None or (not slots and not (held and order.keyed)):
        return ()
    tickets, number = [], len(state.tickets)
    for slot in slots:
        number += 1
        arm = str(play.arm_of(slot))
        tickets.append(Handed(ticket_id(state.terms.name, number, arm), arm, slot))
    noted: dict[str, Any] = {"wanted": order.wanted, "held": held} if order.keyed else {}
    return (Asked(order.client, play.number, tuple(play.needed), tuple(tickets), order.process, **noted),)


def tickets_of(state: State, names: Sequence[str], new: int | None = None) -> list[Ticket]:
    """Tickets as a client gets them; those that event ``new`` did not hand out are handed out again."""
    found = []
    for name in names:
        pull = state.tickets[name]
        end = pull.lease_end
        ends = None if end is None else time_text(end)
        again = "" if pull.asked_at == new else _before(pull)
        found.append(Ticket(pull.id, pull.arm, pull.needed, ends, pull.asked_receipt, again))
    return found


def _before(pull: Pull) -> str:
    """When a ticket was handed out, and to whom."""
    to = f"process {pull.process} of {pull.client}" if pull.process else pull.client
    return f"handed out before, at {pull.asked}, to {to}"


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
    tickets = state.tickets
    mine = tickets.where(play=-1 if state.play is None else state.play.number, extra=False)
    out = tuple(tickets.id(each) for each in (mine & tickets.where(phase=Phase.ASKED)).nonzero()[0].tolist())
    told = (mine & tickets.waiting()).nonzero()[0].tolist()
    waiting = [tickets.id(each) for each in told]
    said = []
    if out:
        verb = "is" if len(out) == 1 else "are"
        said.append(f"{counted(len(out), 'open ticket')} {verb} told: {listed(out, most=12)}")
    if waiting:
        ends = min(end for each in told if (end := Pull(tickets, each).window_end) is not None)
        said.append(f"the reward windows of {listed(waiting, most=12)} have closed, the next at {time_text(ends)}")
    lost = " A ticket that was lost can be voided; `status` names its holder." if out else ""
    return WaitError(f"{state.terms.policy.name} cannot go on until {', and '.join(said)}.{lost}", (*out, *waiting))
