"""What follows by itself: what tells give cause for, and what begins another play.

After every tell the campaign checks whether its evidence still holds, and whether it is enough.  What it finds goes on
record in the transaction of the tell, and the play restarts with what is left of the budget.

- Fresh looks that differ from the logs: the logs are out of date and are set aside.
- Direct pulls that contradict looking: where fresh looks differ from the logs, these are to blame; else the graph is
  wrong there, and an alarm names the edge that is probably missing, so that the arms concerned fall back to direct
  pulls.  Where there are too few fresh looks to tell, some are made first.
- A campaign that was begun to stop when sure is stopped when its own pulls make it so.

A policy that is done is audited; after fresh looks on the way it goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.campaign.audit import (
    ROUNDS,
    TO_COMPARE,
    kept_for_audits,
    round_of_audits,
)
from whichdo.campaign.events import Alarm, Amended, Audited, Closed, Restarted, SetAside, Stopped, Told
from whichdo.campaign.revisions import stamp, too_new
from whichdo.errors import UnsuitableError
from whichdo.monitoring.certainty import certainty
from whichdo.monitoring.listening import worth_listening
from whichdo.monitoring.staleness import set_aside_text
from whichdo.problem import LOOK
from whichdo.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whichdo.campaign.events import Said
    from whichdo.campaign.register import Pull
    from whichdo.campaign.state import State
    from whichdo.monitoring.conflict import Conflict
    from whichdo.monitoring.staleness import Difference


FIRST = 0.5
"""The part of what is kept that is spent on fresh looks before the policy begins on logs."""
MOST_FRESH = 400
"""Fresh looks that find a difference of 0.1 nearly surely."""
SUSPICIOUS_SHARE = 1 / 6
"""The most of the budget that goes into fresh looks while these differ from the logs, but not yet for sure."""
FEWEST_LOOKS = 5
"""Fewer fresh looks than these are not worth an interruption."""


def consequences(state: State, events: Sequence[Said]) -> Iterator[Said]:
    """What goes on record after some events; each must be applied before the next is taken."""
    told = [name for event in events for name in _counting(event)]
    if told:
        for found, reason in found_wrong(state, told):
            yield found
            if reason is not None and can_go_on(state):
                yield restarting(state, reason)
        sure = enough(state)
        if sure is not None:
            yield Stopped(sure)
    yield from due(state)


def _counting(event: Said) -> tuple[str, ...]:
    """The tickets of which an event changes the evidence."""
    match event:
        case Told(ticket=ticket) | Amended(ticket=ticket):
            return (ticket,)
        case Closed(tickets):
            return tickets
        case _:
            return ()


def found_wrong(state: State, told: Iterable[str]) -> list[tuple[Said, str | None]]:
    """What is to be put on record after these tickets came to count, and why the play restarts after it; or nothing.

    One thing at a time: the next is judged in the mended graph, or without the logs.
    """
    pulls = [state.tickets[name] for name in told]
    heard = {
        pull.arm
        for pull in pulls
        if pull.counted and pull.arm not in state.forbidden and worth_listening(state.pulled[pull.arm])
    }
    if not heard or not (state.trusted or state.pulled[LOOK]):
        return []
    ear = state.ear()
    if LOOK in heard and state.trusted and (different := ear.outdated()) is not None:
        return [_set_aside(state, different)]
    found = ear.conflicts([arm for arm in state.pulled if not arm.is_look], state.suspects)
    if not found:
        return []
    looks = comparing(state)
    if looks:
        return [(looks[0], None)]
    blamed = ear.to_blame() if state.trusted else None
    if blamed is not None:
        return [_set_aside(state, blamed, found[0])]
    conflict = found[0]
    alarm = Alarm(
        suspect=conflict.suspect.body,
        text=conflict.message,
        edge=conflict.suspect.edge,
        arms=tuple(map(str, conflict.lost)),
        chance=conflict.chance,
    )
    return [(alarm, f"alarm: {conflict.suspect.edge} seems to be missing in the graph")]


def _set_aside(state: State, found: Difference | str, conflict: Conflict | None = None) -> tuple[SetAside, str]:
    logs = state.trusted
    text = set_aside_text([log.name for log in logs], found, conflict)
    return SetAside(tuple(log.sha256 for log in logs), text), "the logs are out of date"


def enough(state: State) -> str | None:
    """Why the campaign may stop, if it was begun to stop when sure and direct pulls make it so."""
    terms = state.terms
    if not terms.stop or state.stopped is not None or not worth_listening(state.pulled.total()):
        return None
    found = certainty(state.allowed, state.direct(), margin=terms.margin)
    return found.words if found.may_stop else None


# ---------------------------------------------------------------------------------------------------------- restarts


def restarting(state: State, reason: str, returned: float = 0.0) -> Restarted:
    """The policy begins anew with what is left, but for what is kept for audits; ``returned`` comes to it just now."""
    left, audits = state.left + returned, state.audits.left
    kept = 0.0
    if audits > 0:
        if state.auditing:
            owed = state.audits.owed(state.tickets, state.plan.number)
            audits += sum(count * state.terms.problem.prices[arm] for arm, count in owed.items())
        kept = min(audits, kept_for_audits(state.terms.policy, state.allowed, left, logs=bool(state.trusted)))
    return Restarted(reason, left, kept, **stamp(state))


def can_go_on(state: State) -> bool:
    """Whether a play that is on can begin anew: it has been asked, is not done, and what is left is enough for it."""
    play = state.play
    return play is not None and play.asked > 0 and not state.done and _is_enough(state)


def _is_enough(state: State) -> bool:
    try:
        state.terms.policy.check(state.allowed, state.left)
    except UnsuitableError:
        return False
    return True


# --------------------------------------------------------------------------------------------------------------- audits


def opening(state: State) -> list[Audited]:
    """Fresh looks before the policy begins on logs: whether these are up to date is found out first."""
    if state.tickets or not state.trusted or state.plan.number or state.audits.left <= 0 or too_new(state) is not None:
        return []
    return _looks(state, _fresh_looks(state))


def comparing(state: State) -> list[Audited]:
    """Fresh looks before a contradiction is blamed on the graph, where too few were made to rule out old logs.

    None where no logs count, or what is kept for audits does not pay for them.
    """
    missing = TO_COMPARE - state.pulled[LOOK]
    cost = missing * state.terms.problem.costs[LOOK]
    if not state.trusted or missing <= 0 or cost > min(state.audits.left, state.left) or state.resumes:
        return []
    return _looks(state, missing)


def _looks(state: State, count: int) -> list[Audited]:
    if count < FEWEST_LOOKS:
        return []
    return [Audited({str(LOOK): count}, state.left, interim=True, **stamp(state))]


def due(state: State) -> list[Said]:
    """What follows by itself: the policy goes on after fresh looks, and is audited once it is done.

    Not before anything was seen: a policy that needs no pulls is done before its logs are observed.
    """
    if state.stopped is not None or not state.done:
        return []
    if state.resumes:
        more: list[Said] = [*_looks(state, _more_looks(state))] if state.trusted and state.ear().is_suspicious() else []
        if more or not _is_enough(state):
            return more
        return [restarting(state, f"after {counted(state.pulled[LOOK], 'fresh look')}")]
    if not state.audit_due or not (state.trusted or state.tickets):
        return []
    ordered = [row.arm for row in state.ranked().contenders]
    rounds = state.audits.rounds + 1
    money = min(state.left, state.audits.left) / (ROUNDS - state.audits.rounds)
    pulls = round_of_audits(ordered[0] if ordered else None, state.direct(), money, logged=bool(state.trusted))
    named = {str(arm): count for arm, count in pulls.items()}
    return [Audited(named, state.left, round=rounds, **stamp(state))]


def without_pulls(state: State, given_up: Sequence[Pull], returned: float) -> Audited:
    """The audit that is on, begun anew without pulls that are given up just now; ``returned`` is what they cost."""
    owed = {str(arm): count for arm, count in state.audits.owed(state.tickets, state.plan.number, given_up).items()}
    interim, rounds = state.audits.interim, None if state.audits.interim else state.audits.rounds or None
    return Audited(owed, state.left + returned, interim=interim, round=rounds, **stamp(state))


def _fresh_looks(state: State) -> int:
    """How many looks to make before the policy begins on logs: a part of what is kept."""
    affordable = int(FIRST * state.audits.left / state.terms.problem.costs[LOOK])
    return max(min(affordable, MOST_FRESH - state.pulled[LOOK]), 0)


def _more_looks(state: State) -> int:
    """How many more to make where those so far look suspicious: as many again, but for a sixth of the budget in all."""
    made, cost = state.pulled[LOOK], state.terms.problem.costs[LOOK]
    most = min(MOST_FRESH, int(SUSPICIOUS_SHARE * state.terms.budget / cost))
    return max(min(made, most - made, int(state.left / cost)), 0)
