"""The problem as it is believed and allowed now: with the confounders that alarms have named, without forbidden arms.

The terms of a campaign never change.  A problem that is pruned is pruned anew whenever the graph or the arms change: an
arm that was pruned comes back where what made it needless is forbidden, or was shown to be no better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whichdo.errors import ConflictError
from whichdo.monitoring.conflict import Suspect, fallback

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whichdo.problem import Arm, Problem

__all__ = ["Revised", "Revision", "without_arms"]


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

    def problems(self, alarms: Sequence[dict[str, Any]], forbidden: Collection[Arm]) -> Revised:
        """The problem as it is believed and allowed now."""
        key = (tuple(str(alarm["suspect"]) for alarm in alarms), tuple(forbidden))
        if self._key != key:
            believed = fallback(self._problem, self.suspects(alarms)) if alarms else self._problem
            permitted = allowed = without_arms(believed, forbidden)
            if self._terms.prune:
                allowed = permitted.but(prune=True) if alarms or forbidden else self._terms
            self._key, self._found = key, Revised(believed, permitted, allowed)
        return self._found

    def suspects(self, alarms: Sequence[dict[str, Any]]) -> list[Suspect]:
        """Where alarms hold the graph to be wrong."""
        return [Suspect.read(self._problem, alarm["suspect"]) for alarm in alarms]


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
