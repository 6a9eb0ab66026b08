"""What begins another play: restarts of the policy, fresh looks before it goes on, and rounds of its audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whichdo.campaign.audit import (
    ROUNDS,
    TO_COMPARE,
    audits_owed,
    fresh_looks,
    kept_for_audits,
    more_looks,
    round_of_audits,
)
from whichdo.campaign.plan import stamp, too_new
from whichdo.errors import TooNewError, UnsuitableError
from whichdo.problem import LOOK
from whichdo.session import Session
from whichdo.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.campaign.state import State
    from whichdo.campaign.tickets import Pull

    Draft = tuple[str, dict[str, Any]]

FEWEST_LOOKS = 5
"""Fewer fresh looks than these are not worth an interruption."""

__all__ = ["begun_anew", "begun_once", "can_go_on", "comparing", "due", "opening", "restarting", "without_pulls"]


def begun_anew(state: State, reason: str) -> list[Draft]:
    """A restart that somebody asks for; refused if what is left is too little, or a later program has to decide."""
    refusal = too_new(state)
    if refusal is not None:
        raise TooNewError(refusal)
    Session(state.terms.policy, state.allowed, budget=state.left)
    return restarting(state, reason)


def begun_once(state: State, reason: str) -> str | None:
    """The receipt of a restart for this reason after which nothing was asked and no money came or went."""
    last = state.restarts[-1] if state.restarts else None
    play = state.play
    if last is None or play is None or play.asked or last["reason"] != reason:
        return None
    same = last.get("play") == state.plan.number and last.get("budget") == state.left
    return str(last["receipt"]) if same else None


def restarting(state: State, reason: str, returned: float = 0.0) -> list[Draft]:
    """The policy begins anew with what is left, but for what is kept for audits; ``returned`` comes to it just now."""
    left, audits = state.left + returned, state.audits.left
    kept = 0.0
    if audits > 0:
        if state.auditing:
            owed = audits_owed(state)
            audits += sum(count * state.terms.problem.prices[arm] for arm, count in owed.items())
        kept = min(audits, kept_for_audits(state.terms.policy, state.allowed, left, logs=bool(state.trusted)))
    return [("restarted", {"reason": reason, "budget": left, "kept": kept, **stamp(state)})]


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


def opening(state: State) -> list[Draft]:
    """Fresh looks before the policy begins on logs: whether these are of today is found out first."""
    if state.tickets or not state.trusted or state.plan.number or state.audits.left <= 0 or too_new(state) is not None:
        return []
    return _looks(state, fresh_looks(state))


def comparing(state: State) -> list[Draft]:
    """Fresh looks before a contradiction is blamed on the graph, where too few were made to rule out old logs.

    None where no logs count, or what is kept for audits does not pay for them.
    """
    missing = TO_COMPARE - state.pulled[LOOK]
    cost = missing * state.terms.problem.costs[LOOK]
    if not state.trusted or missing <= 0 or cost > min(state.audits.left, state.left) or state.resumes:
        return []
    return _looks(state, missing)


def _looks(state: State, count: int) -> list[Draft]:
    if count < FEWEST_LOOKS:
        return []
    body = {"pulls": {str(LOOK): count}, "budget": state.left, "interim": True}
    return [("audited", body | stamp(state))]


def due(state: State) -> list[Draft]:
    """What follows by itself: the policy goes on after fresh looks, and is audited once it is done.

    Not before anything was seen: a policy that needs no pulls is done before its logs are observed.
    """
    if state.stopped is not None or not state.done:
        return []
    if state.resumes:
        more = _looks(state, more_looks(state)) if state.trusted and state.ear().is_suspicious() else []
        if more or not _is_enough(state):
            return more
        return restarting(state, f"after {counted(state.pulled[LOOK], 'fresh look')}")
    if not state.audit_due or not (state.trusted or state.tickets):
        return []
    ordered = [row.arm for row in state.ranked().contenders]
    rounds = state.audits.rounds + 1
    money = min(state.left, state.audits.left) / (ROUNDS - state.audits.rounds)
    pulls = round_of_audits(ordered[0] if ordered else None, state.direct(), money, logged=bool(state.trusted))
    body = {"pulls": {str(arm): count for arm, count in pulls.items()}, "budget": state.left, "round": rounds}
    return [("audited", body | stamp(state))]


def without_pulls(state: State, given_up: Sequence[Pull], returned: float) -> Draft:
    """The audit that is on, begun anew without pulls that are given up just now; ``returned`` is what they cost."""
    owed = {str(arm): count for arm, count in audits_owed(state, given_up).items()}
    kind = {"interim": True} if state.audits.interim else {"round": state.audits.rounds} if state.audits.rounds else {}
    return ("audited", {"pulls": owed, "budget": state.left + returned, **kind, **stamp(state)})
