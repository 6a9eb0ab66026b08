"""The problem as it is allowed now: without the arms that are forbidden.  The terms of a campaign never change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.errors import ConflictError
from whichdo.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from whichdo.graph.admg import CausalGraph
    from whichdo.problem import Arm

__all__ = ["without_arms"]


def without_arms(problem: Problem, forbidden: Collection[Arm]) -> Problem:
    """The problem without some arms; an error where nothing would be left to compare with do()."""
    if not forbidden:
        return problem
    arms = [arm for arm in problem.arms if arm not in forbidden]
    if len(arms) < 2:
        raise ConflictError("Every arm but do() would be forbidden, and nothing left to decide. Nothing was changed.")
    return _like(problem, problem.graph, arms)


def _like(problem: Problem, graph: CausalGraph, arms: Iterable[Arm]) -> Problem:
    kept = set(arms)
    settings: dict[str, list[int | float | str]] = {}
    for arm in problem.arms:
        if arm in kept and arm.node is not None and arm.value is not None:
            settings.setdefault(arm.node, []).append(arm.value)
    return Problem(
        graph,
        problem.reward,
        settings,
        goal=str(problem.goal),
        domains=problem.domains,
        rewards=problem.rewards,
        costs={arm: cost for arm, cost in problem.costs.items() if arm in kept},
    )
