"""Which columns must be counted together, per problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.graph.identify import Route

if TYPE_CHECKING:
    from whichdo.problem import Problem

__all__ = ["Scope", "scopes"]

Scope = tuple[str, ...]


def scopes(problem: Problem) -> dict[str, Scope]:
    """For each intervenable node the columns whose joint counts settle its arms, in topological order.

    The node, what it is counted with (`Verdict.given`) and the reward.  A node that does not act on the reward needs
    the reward alone; one that looking cannot settle has no scope.
    """
    found = {}
    for name, verdict in problem.verdicts.items():
        if verdict.route is Route.TRY:
            continue
        together = {problem.reward} if verdict.route is Route.SAME else {name, *verdict.given, problem.reward}
        found[name] = tuple(sorted(together, key=problem.graph.index))
    return found
