"""The problem as it is believed and allowed now: with the confounders that alarms have named, without forbidden arms.

The terms of a campaign never change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whichdo.campaign.conflict import Suspect, fallback
from whichdo.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whichdo.problem import Arm, Problem

__all__ = ["Revision", "without_arms"]


class Revision:
    """A problem as what is on record makes of it; worked out again when that has changed."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._key: object = None
        self._found = problem, problem

    def problems(self, alarms: Sequence[dict[str, Any]], forbidden: Collection[Arm]) -> tuple[Problem, Problem]:
        """As it is believed, and of that what is allowed."""
        key = (tuple(str(alarm["suspect"]) for alarm in alarms), tuple(forbidden))
        if self._key != key:
            believed = fallback(self._problem, self.suspects(alarms)) if alarms else self._problem
            self._key, self._found = key, (believed, without_arms(believed, forbidden))
        return self._found

    def suspects(self, alarms: Sequence[dict[str, Any]]) -> list[Suspect]:
        """Where alarms hold the graph to be wrong."""
        return [Suspect.read(self._problem, alarm["suspect"]) for alarm in alarms]


def without_arms(problem: Problem, forbidden: Collection[Arm]) -> Problem:
    """The problem without some arms; an error where nothing would be left to compare with do()."""
    if not forbidden:
        return problem
    arms = [arm for arm in problem.arms if arm not in forbidden]
    if len(arms) < 2:
        raise ConflictError("Every arm but do() would be forbidden, and nothing left to decide. Nothing was changed.")
    return problem.but(arms=arms)
