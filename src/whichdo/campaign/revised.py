"""The problem as it is believed and allowed now: arms forbidden, and confounders that an alarm has named.

The terms of a campaign never change; this is what later events make of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.errors import ConflictError
from whichdo.graph.admg import CausalGraph
from whichdo.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from whichdo.problem import Arm

__all__ = ["doubted", "without_arms"]


def doubted(problem: Problem, confounded: Iterable[tuple[str, str]]) -> Problem:
    """The problem with more bidirected edges, so that looking no longer settles what they spoil."""
    graph = problem.graph
    siblings = [set(row) for row in graph.sibling_ids]
    for first, second in confounded:
        siblings[graph.index(first)].add(graph.index(second))
        siblings[graph.index(second)].add(graph.index(first))
    if all(len(row) == len(before) for row, before in zip(siblings, graph.sibling_ids, strict=True)):
        return problem
    wider = CausalGraph.assemble(
        graph.nodes, graph.parent_ids, list(map(sorted, siblings)), graph.hidden, graph.exposures, graph.outcomes
    )
    return _like(problem, wider, problem.arms)


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
