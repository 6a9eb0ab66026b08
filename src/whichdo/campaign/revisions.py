"""Which revision of a policy decides a play, where the program has another than the one that began it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whichdo._version import __version__
from whichdo.campaign.play import Followed
from whichdo.campaign.terms import made_by
from whichdo.policies.registry import AbsentPolicy, came_from
from whichdo.policy_names import VARIABLE
from whichdo.text import counted, quoted

if TYPE_CHECKING:
    from whichdo.campaign.state import State


def stamp(state: State) -> dict[str, Any]:
    """What an event that begins a play now says about who decides it; nothing where that is as in event 0."""
    revision = max(state.plan.revision, state.terms.policy.revision)
    return {} if revision == state.terms.revision else {"revision": revision, "made_by": made_by()}


def needs_new_play(state: State) -> bool:
    """Whether the next ticket takes a decision that the play which is on cannot make, having another revision."""
    play = state.play
    if not isinstance(play, Followed) or play.failure is not None or play.owed:
        return False
    return state.stopped is None and not state.plan.is_over and state.can_begin


def update_reason(state: State) -> str:
    """Why a play of the program's revision begins."""
    now, then = state.terms.policy, state.plan.revision
    return f"{now.name} was updated from revision {then} to revision {now.revision}"


def too_new(state: State) -> str | None:
    """Why this program cannot decide, where the play that is on has a later revision than it knows."""
    plan, policy = state.plan, state.terms.policy
    if plan.is_audit or plan.revision <= policy.revision:
        return None
    if isinstance(policy, AbsentPolicy):
        return (
            f"Campaign {quoted(state.terms.name)} uses the policy {policy.name}, which is not installed here"
            f"{came_from(policy)}. Install the package that has it, or name its file: "
            f"{VARIABLE}=path/to/file.py:Name. Open tickets can be told, and reports and exports made, without it."
        )
    return (
        f"Campaign {quoted(state.terms.name)} is decided by revision {plan.revision} of {policy.name} since whichdo "
        f"{plan.made_by}; this is whichdo {__version__}, which has revision {policy.revision}. Update whichdo to ask "
        f"for more. Open tickets can be told, and reports and exports made, with this version too."
    )


def decided_elsewhere(state: State) -> tuple[str, ...]:
    """A sentence for each play whose asks another revision decided, so that they are not recomputed."""
    policy = state.terms.policy
    return tuple(
        f"Play {play.number}: {counted(play.asks, 'ask')} ({_span(play)}) decided by revision {play.revision} of "
        f"{policy.name}; this program has revision {policy.revision}. Chain and slots were checked; the choice of arms "
        f"is not recomputed."
        for play in state.followed.values()
    )


def _span(play: Followed) -> str:
    first, last = play.first_event, play.last_event
    return f"event {first}" if first == last else f"events {first} to {last}"
