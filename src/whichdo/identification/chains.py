"""What the arms on a target set are made of: laws of single nodes that other arms leave as they are.

Once X is set, all other nodes D keep their own causes.  In the order of the graph each is drawn given
what came before, and of that only the *screen* matters: its c-component T among the nodes of D up to
itself, and the parents of T.  So

    P(y | do(x)) = sum over D without Y of the product over v in D of P_x(v | screen of v)

and the factor of v is Q[T] / Q[T without v], which depends on v and T alone, not on X: this *link*
is the same for every set of targets that leaves T alone and leads to the same T.  Rows of any arm on
Z teach it, if in these rows nothing else is tied to T among the ancestors of T; that is so for looks
and many other arms, and always for the arm itself.

D may be any nodes that include all that act on the reward once X is set.  Here it is what acts on it
as long as nothing is set, without X: links are then those of looks wherever X does not cut them, and
arms have as many in common as they can.  Nodes on which nothing depends any more are left out.

*Robust* links lean on fewer missing edges: whatever acts on the reward and comes before a node in the
order of the graph is taken to act on it, and screens hold all of that.  What is left of the graph is the
order, and which nodes hidden causes tie together.

Nothing here is a formula for what cannot be counted: a link that only the arm's own rows teach is
learned from these.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from whichdo.graph.admg import CausalGraph
from whichdo.graph.separation import without_edges_into

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whichdo.graph.targets import Targets
    from whichdo.identification.estimand import Names


Positions = frozenset[int]


@dataclass(frozen=True)
class Link:
    """The law of one node given its screen; ``tied`` is its c-component up to itself, the node last."""

    node: str
    tied: Names
    given: Names

    @property
    def columns(self) -> Names:
        """What has to be counted together, the node last."""
        return (*self.given, self.node)

    def __str__(self) -> str:
        return f"P({self.node} | {', '.join(self.given)})" if self.given else f"P({self.node})"


class Chains:
    """The links of all effects on one reward, and who teaches them.

    Examples
    --------
    >>> from whichdo.graph.admg import CausalGraph
    >>> chains = Chains(CausalGraph.parse("Z -> X -> Y; X <-> Y"), "Y")
    >>> [str(link) for link in chains.of(["Z"])]
    ['P(X | Z)', 'P(Y | Z, X)']
    >>> [str(link) for link in chains.of(["X"])]
    ['P(Y | X)']

    Looks teach what do(Z) needs, and nothing of do(X):

    >>> [chains.teaches((), link) for link in (*chains.of(["Z"]), *chains.of(["X"]))]
    [True, True, False]
    """

    def __init__(self, graph: CausalGraph, reward: str, *, robust: bool = False) -> None:
        acting = graph.subgraph(graph.ancestors([reward]))
        self._graph = _with_every_arrow(acting) if robust else acting
        self._reward = reward
        self._cut: dict[Targets, CausalGraph] = {}

    def of(self, targets: Iterable[str]) -> tuple[Link, ...]:
        """The links of do(targets), in the order of the graph; the reward's own is the last."""
        graph = self._graph
        left = frozenset(range(len(graph.nodes))).difference(map(graph.index, self._present(targets)))
        kept: list[Link] = []
        for position in sorted(left, reverse=True):  # each after all that may depend on it
            name = graph.nodes[position]
            if name == self._reward or any(name in link.given for link in kept):
                kept.append(self._link(position, left))
        return tuple(reversed(kept))

    def _link(self, position: int, acting: Positions) -> Link:
        graph = self._graph
        before = frozenset(each for each in acting if each <= position)
        tied = _tied(graph, {position}, before)
        given = tied.union(*(graph.parent_ids[each] for each in tied)) - {position}
        return Link(graph.nodes[position], self._names(tied), self._names(given))

    def teaches(self, targets: Targets, link: Link) -> bool:
        """Whether rows of the arms on some targets (() are looks) show a link as it is."""
        if not set(targets).isdisjoint(link.tied):
            return False
        if targets not in self._cut:
            self._cut[targets] = without_edges_into(self._graph, self._present(targets))
        graph = self._cut[targets]
        tied = {graph.index(name) for name in link.tied}
        everything = frozenset(range(len(graph.nodes)))
        return _tied(graph, tied, _ancestors(graph, tied, everything)) == tied

    def _present(self, targets: Iterable[str]) -> Names:
        """The targets that can matter: others act on the reward in no way."""
        return tuple(name for name in targets if name in self._graph)

    def _names(self, positions: Iterable[int]) -> Names:
        return tuple(self._graph.nodes[position] for position in sorted(positions))


def _with_every_arrow(graph: CausalGraph) -> CausalGraph:
    """The same nodes and hidden causes, with an arrow from every node to every later one."""
    return CausalGraph(graph.nodes, list(combinations(graph.nodes, 2)), graph.bidirected)


def _ancestors(graph: CausalGraph, start: Iterable[int], within: Positions) -> Positions:
    """What acts on some nodes, themselves included, by paths inside a set."""
    return _reached(start, within, graph.parent_ids)


def _tied(graph: CausalGraph, start: Iterable[int], within: Positions) -> Positions:
    """What hidden causes tie to some nodes, themselves included, inside a set."""
    return _reached(start, within, graph.sibling_ids)


def _reached(start: Iterable[int], within: Positions, neighbours: Sequence[Sequence[int]]) -> Positions:
    found = set(start)
    stack = list(found)
    while stack:
        for other in neighbours[stack.pop()]:
            if other in within and other not in found:
                found.add(other)
                stack.append(other)
    return frozenset(found)
