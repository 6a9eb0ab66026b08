"""What a play begins on, and who decides it: the revision of the policy that it began with.

The first play has the revision of event 0.  Events that begin another (``restarted``, ``audited``) carry theirs where
it is not that of event 0, with the versions that wrote it; while the program is the same, they are as they always were.

A play of another revision than the program's is followed, not run (`whichdo.campaign.play.Followed`).  An ask that
needs a decision then begins a play of the program's own revision, with what is left; but a program that is older than
the play refuses to decide.  Revisions never go back: what an older program begins anew, as when an arm is forbidden, is
left for the later one to decide.

An audit is decided by the event that begins it, which lists its pulls.  It is run whatever the revision.

The terms of a campaign never change, but the problem that a play begins on may (`Revision`): alarms name confounders,
and arms are forbidden.  A problem that is pruned is pruned anew then: an arm that was pruned comes back where what made
it needless is forbidden, or was shown to be no better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whichdo._version import __version__
from whichdo.campaign.events import Audited
from whichdo.campaign.play import Followed
from whichdo.campaign.terms import made_by, revision_of
from whichdo.errors import ConflictError, UnsuitableError
from whichdo.monitoring.conflict import Suspect, fallback
from whichdo.policies.base import ROUNDING
from whichdo.policies.registry import AbsentPolicy, came_from
from whichdo.policy_names import VARIABLE
from whichdo.text import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whichdo.campaign.chain import Event
    from whichdo.campaign.events import Alarm, Restarted
    from whichdo.campaign.play import Play
    from whichdo.campaign.state import State
    from whichdo.campaign.terms import Terms
    from whichdo.problem import Arm, Problem

__all__ = [
    "Begun",
    "Plan",
    "Revision",
    "can_begin",
    "decided_elsewhere",
    "divergence",
    "needs_new_play",
    "stamp",
    "too_new",
    "update_reason",
    "without_arms",
]


@dataclass(frozen=True)
class Plan:
    """The play that is on: its number, its money, what is ``kept`` beside it for audits, and who decides it."""

    number: int
    budget: float
    kept: float
    revision: int
    made_by: str
    """The version of whichdo that began it."""
    is_audit: bool = False
    is_over: bool = False
    """Whether the log says that the policy was done: its leaders were to be audited, and none needed it."""

    @classmethod
    def first(cls, terms: Terms) -> Plan:
        """Of play 0."""
        return cls(0, terms.budget - terms.audit, terms.audit, terms.revision, terms.made_by)

    def after(self, terms: Terms, begun: Restarted | Audited) -> Plan:
        """Of the play that an event begins."""
        kept = begun.kept or 0.0
        revision, version = terms.revision, terms.made_by
        if begun.revision is not None:
            revision, version = revision_of({"revision": begun.revision}), (begun.made_by or {})["whichdo"]
        is_audit = isinstance(begun, Audited)
        return Plan(self.number + 1, begun.budget - kept, kept, revision, version, is_audit)

    def seed(self, seed: int) -> int:
        """Of the policy's own choices; ``seed`` is the campaign's."""
        if not self.number:
            return seed
        return int(np.random.SeedSequence([seed, self.number]).generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class Begun:
    """A restart that is on record."""

    reason: str
    budget: float
    play: int
    """The number of the play that it began."""
    time: str
    receipt: str


def stamp(state: State) -> dict[str, Any]:
    """What an event that begins a play now says about who decides it; nothing where that is as in event 0."""
    revision = max(state.plan.revision, state.terms.policy.revision)
    return {} if revision == state.terms.revision else {"revision": revision, "made_by": made_by()}


def can_begin(state: State) -> bool:
    """Whether what is left, but for what is kept for audits, is enough for the policy to begin anew."""
    if state.plan.revision > state.terms.policy.revision:
        return state.left > 0  # the later revision knows what is enough
    problem, money = state.allowed, state.left - min(state.plan.kept, state.audits.left)
    if money < min(problem.costs.values()) - ROUNDING:
        return False
    try:
        state.terms.policy.check(problem, money)
    except UnsuitableError:
        return False
    return True


def needs_new_play(state: State) -> bool:
    """Whether the next ticket takes a decision that the play which is on cannot make, having another revision."""
    play = state.play
    if not isinstance(play, Followed) or play.failure is not None or play.owed:
        return False
    return state.stopped is None and not state.plan.is_over and can_begin(state)


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
            f"Campaign {quoted(state.terms.name)} is decided by the policy {policy.name}, which is not installed here"
            f"{came_from(policy)}. Install the package that has it, or name its file: "
            f"{VARIABLE}=path/to/file.py:Name. Tickets that are out can be told, and reports and exports made, "
            f"without it."
        )
    return (
        f"Campaign {quoted(state.terms.name)} is decided by revision {plan.revision} of {policy.name} since whichdo "
        f"{plan.made_by}; this is whichdo {__version__}, which has revision {policy.revision}. Update whichdo to ask "
        f"for more. Tickets that are out can be told, and reports and exports made, with this version too."
    )


def decided_elsewhere(state: State) -> tuple[str, ...]:
    """A sentence for each play whose asks another revision decided, so that they are not derived again."""
    policy = state.terms.policy
    return tuple(
        f"Play {play.number}: {counted(play.asks, 'ask')} ({_span(play)}) decided by revision {play.revision} of "
        f"{policy.name}; this program has revision {policy.revision}. Chain and slots were checked, the choice of arms "
        f"is not derived again."
        for play in state.followed.values()
    )


def _span(play: Followed) -> str:
    first, last = play.first_event, play.last_event
    return f"event {first}" if first == last else f"events {first} to {last}"


def divergence(state: State, play: Play | Followed, event: Event, pull: str, number: int) -> str:
    """An ask on record for a ``pull`` of play ``number`` is not what comes next: what would, and what to do."""
    plan, name, coming = state.plan, state.terms.policy.name, play.expected
    asked = f"Event {event.seq} of campaign {state.terms.name!r} asked for {pull}"
    way = "All that was told is kept: go on with the version it began with, or restart the play with what is left."
    if isinstance(play, Followed):
        return (
            f"{asked}, of play {number}; whatever revision {plan.revision} of {name} decided, play {play.number} goes "
            f"on with {coming}. {way}"
        )
    return (
        f"{asked}; run again on the log, {name} asks for {coming}. Both are revision {plan.revision} of {name}: the "
        f"play began with whichdo {plan.made_by}, this is whichdo {__version__}. {way}"
    )


# -------------------------------------------------------------------------------------------------------- the problem


class Revised(NamedTuple):
    """A problem as it is believed and allowed now."""

    believed: Problem
    """With the edges that alarms have drawn, and all arms on offer."""
    permitted: Problem
    """The same without the arms that are forbidden."""
    allowed: Problem
    """The same without those that are pruned, where the campaign's problem prunes."""


class Revision:
    """A problem as what is on record makes of it; worked out again when that has changed."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._terms = problem.unpruned, problem
        self._key: object = None
        self._found = Revised(problem, problem, problem)

    def problems(self, alarms: Sequence[Alarm], forbidden: Collection[Arm]) -> Revised:
        """The problem as it is believed and allowed now."""
        key = (tuple(str(alarm.suspect) for alarm in alarms), tuple(forbidden))
        if self._key != key:
            believed = fallback(self._problem, self.suspects(alarms)) if alarms else self._problem
            permitted = allowed = without_arms(believed, forbidden)
            if self._terms.prune:
                allowed = permitted.but(prune=True) if alarms or forbidden else self._terms
            self._key, self._found = key, Revised(believed, permitted, allowed)
        return self._found

    def suspects(self, alarms: Sequence[Alarm]) -> list[Suspect]:
        """Where alarms hold the graph to be wrong."""
        return [Suspect.read(self._problem, alarm.suspect) for alarm in alarms]


def without_arms(problem: Problem, forbidden: Collection[Arm]) -> Problem:
    """The problem without some arms; an error where nothing would be left to compare with do()."""
    if not forbidden:
        return problem
    arms = [arm for arm in problem.offered if arm not in forbidden]
    if len(arms) < 2:
        raise ConflictError("Every arm but do() would be forbidden, and nothing left to decide. Nothing was changed.")
    left = problem.but(arms=arms)
    if len(left.arms) < 2:
        raise ConflictError(
            "No arm that is left can be better than do(), so that nothing is left to decide. Nothing was changed."
        )
    return left
