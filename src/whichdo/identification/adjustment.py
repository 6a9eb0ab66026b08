"""Valid adjustment sets, and the best of them.

A set Z is *valid* for do(X) if P(y | do(x)) = sum over z of P(z) P(y | x, z) in every model of the
graph.  The criterion is complete (Shpitser, VanderWeele and Robins 2010; for mixed graphs and joint
targets van der Zander, Liśkiewicz and Textor 2014).  Call the nodes on proper causal paths from X
to Y *causal*: those that X acts on and through which Y is reached without meeting X again.  Z is
valid if

1.  nothing in Z is a causal node or something that causal nodes act on, and
2.  Z m-separates X and Y once the first arrow of every proper causal path is cut.

Of many valid sets the variance of the estimate is least for the *O-set*: the parents of the causal
nodes, without what causal nodes act on (Henckel, Perković and Maathuis 2022, for graphs without
hidden confounders; with them it may not be valid, so it is checked).  If any set is valid, then so
is the largest candidate: all ancestors of X and Y that condition 1 allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.graph.separation import m_separated, nearest, without_arrows, without_edges_into
from whichdo.graph.targets import acting_targets
from whichdo.identification.engine import checked_targets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whichdo.graph.admg import CausalGraph
    from whichdo.identification.estimand import Names


@dataclass(frozen=True)
class Candidate:
    """A valid adjustment set, pruned, and how it was come by: ``optimal``, ``parents`` or ``ancestors``."""

    origin: str
    given: Names


def is_valid_adjustment(graph: CausalGraph, targets: Iterable[str], reward: str, given: Iterable[str]) -> bool:
    """True if adjusting for ``given`` yields the effect of the targets in every model of the graph."""
    return _Criterion(graph, checked_targets(graph, targets, reward), reward).holds(frozenset(given))


def adjustment_sets(graph: CausalGraph, targets: Iterable[str], reward: str) -> tuple[Candidate, ...]:
    """The candidates for adjustment that are valid, best first, each pruned of what it can spare; () if none exists.

    In this order: the O-set, the parents of the targets, the ancestors of targets and reward.  Targets that do not act
    on the reward are left out of the question first.

    Examples
    --------
    >>> from whichdo.graph.admg import CausalGraph
    >>> graph = CausalGraph.parse("P -> X; P -> C; C -> Y; X -> Y")
    >>> [(each.origin, each.given) for each in adjustment_sets(graph, ["X"], "Y")]
    [('optimal', ('C',)), ('parents', ('P',))]
    """
    names = acting_targets(graph, checked_targets(graph, targets, reward), reward)
    criterion = _Criterion(graph, names, reward)
    parents = {parent for name in names for parent in graph.parents(name)}
    optimal = {parent for name in criterion.causal for parent in graph.parents(name)}
    found: dict[frozenset[str], Candidate] = {}
    for origin, some in (
        ("optimal", optimal),
        ("parents", parents),
        ("ancestors", set(graph.ancestors([*names, reward]))),
    ):
        allowed = frozenset(some) - criterion.forbidden
        if criterion.holds(allowed):
            pruned = criterion.pruned(allowed)
            found.setdefault(pruned, Candidate(origin, tuple(sorted(pruned, key=graph.index))))
    return tuple(found.values())


class _Criterion:
    """The adjustment criterion for one target set and reward; the graphs it asks are made once."""

    def __init__(self, graph: CausalGraph, targets: Names, reward: str) -> None:
        self.targets, self.reward = targets, reward
        below = set(without_edges_into(graph, targets).descendants(targets)).difference(targets)
        self.causal = below.intersection(without_arrows(graph, targets).ancestors([reward]))
        self.forbidden = frozenset(graph.descendants(self.causal)).union(targets, [reward])
        self._backdoor = without_arrows(graph, targets, self.causal)

    def holds(self, given: frozenset[str]) -> bool:
        return not given & self.forbidden and m_separated(self._backdoor, self.targets, [self.reward], given)

    def pruned(self, given: frozenset[str]) -> frozenset[str]:
        """What is left of a valid set when nothing more can be spared, what is nearest to the reward first."""
        ends = (*self.targets, self.reward)
        inside = self._backdoor.subgraph(self._backdoor.ancestors([*ends, *given]))
        return nearest(inside, self.targets, nearest(inside, [self.reward], given))
