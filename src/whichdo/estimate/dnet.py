"""The factor networks of a problem: for all targets that looking settles, the factors that give its arms' means.

What they are and why is told in `whichdo.graph.factors`.  Here are those whose scopes are laid out, which is what
policies and the compiled sums work on; `whichdo.counting.wide` has those that are summed one variable at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.counting.scopes import Reading, judged, scopes, together
from whichdo.graph.factors import Factor, FactorNetwork, factor_network
from whichdo.graph.identify import Route
from whichdo.graph.targets import ByTargets

if TYPE_CHECKING:
    from whichdo.problem import Problem

__all__ = ["Factor", "FactorNetwork", "factor_networks", "look_network"]


def look_network(problem: Problem) -> FactorNetwork:
    """The network of do(): the reward by itself.  Nodes that do not act on the reward share it."""
    return FactorNetwork(None, (problem.reward,), (), (Factor(problem.reward, (), inside=False),))


def factor_networks(problem: Problem, reading: Reading = Reading.OURS) -> ByTargets[FactorNetwork]:
    """The network of every target set that looking settles and whose scope is laid out."""
    found = {}
    verdicts = judged(problem, reading)
    for targets, scope in scopes(problem, reading).items():
        verdict = verdicts[targets]
        if verdict.route is Route.SAME:
            found[targets] = look_network(problem)
        else:
            found[targets] = factor_network(verdict, scope, together(problem, verdict, reading))
    return ByTargets(found)
