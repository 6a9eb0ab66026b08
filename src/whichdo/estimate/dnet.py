"""The factor network of one node: what do(X=x) makes of the observed law (the paper's Algorithms 3 to 5).

Let W be X, what it is counted with, and the reward; H the latent projection of the graph on W; S the c-component of X
in H; and Z_v the effective parents of v in H.  Then

    E[Y | do(X=x)] = sum over w of  y * [ sum over x' of prod_{v in S} P(v | Z_v) with X := x' ]
                                      * [ prod_{v in W, not in S} P(v | Z_v) with X := x ]

Inside S the node keeps its own value x', which is summed out; everything outside S sees the value x that was set.
Reading this differently (no sum over x', plain parents for Z, X cut inside S) is wrong, and a test shows each mistake.
Factors that the reward does not depend on sum to one and are left out.

The largest factor of S alone spans Pa+(S), which is W but for the reward at most.  So the tables are as large as the
sum is long, and there is nothing that eliminating variables one by one could save.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.counting.scopes import Reading, judged, scopes, together
from whichdo.graph.components import effective_parents
from whichdo.graph.identify import Route
from whichdo.graph.projection import project

if TYPE_CHECKING:
    from whichdo.counting.scopes import Scope
    from whichdo.graph.identify import Verdict
    from whichdo.problem import Problem

__all__ = ["Factor", "FactorNetwork", "factor_networks", "look_network"]


@dataclass(frozen=True)
class Factor:
    """P(node | given); ``inside`` the c-component of the intervened node or not."""

    node: str
    given: Scope
    inside: bool


@dataclass(frozen=True)
class FactorNetwork:
    """The factors whose product gives the mean of the reward under do(node=x)."""

    node: str | None
    """The intervened node; None for do() itself."""
    scope: Scope
    """What must be counted together."""
    cells: Scope
    """The part of the scope whose rarest cell decides how well the arms can be known."""
    factors: tuple[Factor, ...]
    """In topological order; only those that the reward depends on."""

    @property
    def sums_over_node(self) -> bool:
        """Whether the node's own value x' occurs, to be summed out beside the value x that was set."""
        return any(factor.inside and self.node in factor.given for factor in self.factors)


def look_network(problem: Problem) -> FactorNetwork:
    """The network of do(): the reward by itself.  Nodes that do not act on the reward share it."""
    return FactorNetwork(None, (problem.reward,), (), (Factor(problem.reward, (), inside=False),))


def factor_networks(problem: Problem, reading: Reading = Reading.OURS) -> dict[str, FactorNetwork]:
    """The network of every intervenable node that looking settles and that can be counted."""
    found = {}
    verdicts = judged(problem, reading)
    for name, scope in scopes(problem, reading).items():
        verdict = verdicts[name]
        if verdict.route is Route.SAME:
            found[name] = look_network(problem)
        else:
            found[name] = _network(problem, verdict, scope, together(problem, verdict, reading))
    return found


def _network(problem: Problem, verdict: Verdict, scope: Scope, cells: Scope) -> FactorNetwork:
    projected = project(verdict.within, scope)
    inside = set(projected.c_component(verdict.node))
    given = effective_parents(projected)
    factors = {name: Factor(name, given[name], name in inside) for name in projected.nodes}
    needed = {problem.reward}
    stack = [problem.reward]
    while stack:
        factor = factors[stack.pop()]
        for name in factor.given:
            # Outside S the intervened node is the constant x, which depends on nothing.
            if name not in needed and (name != verdict.node or factor.inside):
                needed.add(name)
                stack.append(name)
    return FactorNetwork(verdict.node, scope, cells, tuple(factors[name] for name in projected.nodes if name in needed))
