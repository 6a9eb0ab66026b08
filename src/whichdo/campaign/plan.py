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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo._version import __version__
from whichdo.campaign.events import Audited
from whichdo.campaign.play import Followed
from whichdo.campaign.terms import revision_of
from whichdo.errors import ConflictError, UnsuitableError
from whichdo.monitoring.conflict import Suspect, fallback
from whichdo.policies.base import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whichdo.campaign.chain import Event
    from whichdo.campaign.events import Alarm, Restarted
    from whichdo.campaign.play import Play
    from whichdo.campaign.terms import Terms
    from whichdo.problem import Arm, Problem


@dataclass(frozen=True)
class Plan:
    """The play that is on: its number, its budget, what is ``kept`` beside it for audits, and who decides it."""

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

    def can_begin(self, terms: Terms, problem: Problem, left: float, kept: float) -> bool:
        """Whether what is left, except what is kept for audits, is enough for the policy to begin a new play."""
        if self.revision > terms.policy.revision:
            return left > 0  # the later revision knows what is enough
        budget = left - min(self.kept, kept)
        if budget < min(problem.costs.values()) - ROUNDING:
            return False
        try:
            terms.policy.check(problem, budget)
        except UnsuitableError:
            return False
        return True

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


def divergence(plan: Plan, terms: Terms, play: Play | Followed, event: Event, pull: str, number: int) -> str:
    """An ask on record for a ``pull`` of play ``number`` is not what comes next: what would, and what to do."""
    name, coming = terms.policy.name, play.expected
    asked = f"Event {event.seq} of campaign {terms.name!r} asked for {pull}"
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
        raise ConflictError("Every arm but do() would be forbidden, leaving nothing to decide. Nothing was changed.")
    left = problem.but(arms=arms)
    if len(left.arms) < 2:
        raise ConflictError(
            "No arm that is left can be better than do(), so nothing is left to decide. Nothing was changed."
        )
    return left
