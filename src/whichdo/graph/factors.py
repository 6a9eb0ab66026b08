"""The factor network of one node: what do(X=x) makes of the observed law (the paper's Algorithms 3 to 5).

Let W be X, what it is counted with, and the reward; H the latent projection of the graph on W; S the c-component of X
in H; and Z_v the effective parents of v in H.  Then

    E[Y | do(X=x)] = sum over w of  y * [ sum over x' of prod_{v in S} P(v | Z_v) with X := x' ]
                                      * [ prod_{v in W, not in S} P(v | Z_v) with X := x ]

Inside S the node keeps its own value x', which is summed out; everything outside S sees the value x that was set.
Reading this differently (no sum over x', plain parents for Z, X cut inside S) is wrong, and a test shows each mistake.
Factors that the reward does not depend on sum to one and are left out.

How large the factors are, against W.  The last node of S in the order has all of Pa+(S) for its factor, so where it is
not X the largest table is W but perhaps for the reward, and summing variables out one by one saves next to nothing.
Where X itself is the last, its factor is among those left out, and the others can be small however wide W is: X with
forty parents and one confounded cause A of Y takes P(A) and P(Y | A, X).  Any topological order gives the same law, so
the order that puts X late is the one to take where W is too wide to lay out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.graph.admg import CausalGraph
from whichdo.graph.components import effective_parents, with_parents
from whichdo.graph.projection import project

if TYPE_CHECKING:
    from whichdo.graph.identify import Verdict

__all__ = ["Factor", "FactorNetwork", "factor_network", "surely_together"]

Names = tuple[str, ...]


@dataclass(frozen=True)
class Factor:
    """P(node | given); ``inside`` the c-component of the intervened node or not."""

    node: str
    given: Names
    inside: bool

    @property
    def columns(self) -> Names:
        """The axes of its table, its own node last."""
        return (*self.given, self.node)


@dataclass(frozen=True)
class FactorNetwork:
    """The factors whose product gives the mean of the reward under do(node=x)."""

    node: str | None
    """The intervened node; None for do() itself."""
    scope: Names
    """What must be counted together."""
    cells: Names
    """The part of the scope whose rarest cell decides how well the arms can be known."""
    factors: tuple[Factor, ...]
    """In topological order; only those that the reward depends on."""

    @property
    def sums_over_node(self) -> bool:
        """Whether the node's own value x' occurs, to be summed out beside the value x that was set."""
        return any(factor.inside and self.node in factor.given for factor in self.factors)

    @property
    def summed(self) -> list[Names]:
        """What the sum runs over in each factor: its columns, without the value x that factors outside S are given."""
        return [
            factor.columns if factor.inside else tuple(name for name in factor.columns if name != self.node)
            for factor in self.factors
        ]


def factor_network(verdict: Verdict, scope: Names, cells: Names, *, late: bool = False) -> FactorNetwork:
    """The network of targets of which one node acts on the reward; ``late`` puts it as late as it can stand."""
    (node,) = verdict.acting
    projected = project(verdict.within, scope)
    if late:
        others = [name for name in projected.nodes if name != node]
        projected = CausalGraph([*others, node], sorted(projected.directed), projected.bidirected)
    inside = set(projected.c_component(node))
    given = effective_parents(projected)
    factors = {name: Factor(name, given[name], name in inside) for name in projected.nodes}
    needed = {verdict.reward}
    stack = [verdict.reward]
    while stack:
        factor = factors[stack.pop()]
        for name in factor.given:
            # Outside S the intervened node is the constant x, which depends on nothing.
            if name not in needed and (name != node or factor.inside):
                needed.add(name)
                stack.append(name)
    return FactorNetwork(node, scope, cells, tuple(factors[name] for name in projected.nodes if name in needed))


def surely_together(verdict: Verdict) -> list[Names]:
    """Sets of columns that some factor of the node has among its own in every order; found without the network.

    Without X its c-component falls into parts.  The last node of a part C in whatever order has Pa+(C) in its factor,
    and that factor is needed if its node acts on the reward past X.  Tells quickly where a sum is hopeless.
    """
    graph, start = verdict.within, verdict.within.index(verdict.acting[0])
    acting = {start}
    stack = [graph.index(verdict.reward)]
    while stack:
        position = stack.pop()
        if position not in acting:
            acting.add(position)
            stack.extend(graph.parent_ids[position])
    left = {graph.index(name) for name in verdict.component} - {start}
    found = []
    while left:
        part = {left.pop()}
        stack = list(part)
        while stack:
            fresh = left.intersection(graph.sibling_ids[stack.pop()])
            left -= fresh
            part |= fresh
            stack.extend(fresh)
        if part <= acting:
            found.append(with_parents(graph, [graph.nodes[position] for position in part]))
    return found
