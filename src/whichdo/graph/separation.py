"""m-separation, and the graphs in which it answers causal questions.

A path between two nodes *transmits* given a set Z if every collider on it (a node that both of its
edges point into) is in Z or has a descendant in Z, and no other inner node is in Z.  Two sets are
*m-separated* given Z if no path between them transmits; what they stand for is then independent
given Z in every model of the graph.  Bidirected edges point into both ends.

The search goes along edges and remembers, for each node, only whether it was entered by an
arrowhead: that is all that decides how a path may go on.  So each edge is walked at most twice.

Causal questions are questions of separation in a graph with some edges cut: without arrows into a
set once it is set (`without_edges_into`), without arrows out of a set to see what ties it to the
rest from behind (`without_arrows`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whichdo.graph.admg import CausalGraph

if TYPE_CHECKING:
    from collections.abc import Iterable


def m_separated(graph: CausalGraph, first: Iterable[str], second: Iterable[str], given: Iterable[str] = ()) -> bool:
    """True if no path between the two sets transmits given the third; nodes that are given count for neither set.

    Examples
    --------
    >>> graph = CausalGraph.parse("A -> C; B -> C; C -> D")
    >>> m_separated(graph, "A", "B"), m_separated(graph, "A", "B", "D")
    (True, False)
    """
    known = {graph.index(name) for name in given}
    goal = {graph.index(name) for name in second} - known
    start = {graph.index(name) for name in first} - known
    # Whether a node has been entered by an arrowhead (True), or by the tail of an edge out of it (False).
    seen = {(position, False) for position in start}
    stack = list(seen)
    while stack:
        position, by_head = stack.pop()
        if position in goal:
            return False
        onward: list[tuple[int, bool]] = []
        if position not in known:
            onward += [(child, True) for child in graph.child_ids[position]]
        # A collider with a descendant in the set needs no rule: the walk goes down to that one and comes back.
        if (position in known) == by_head:
            onward += [(parent, False) for parent in graph.parent_ids[position]]
            onward += [(sibling, True) for sibling in graph.sibling_ids[position]]
        for step in onward:
            if step not in seen:
                seen.add(step)
                stack.append(step)
    return True


def nearest(graph: CausalGraph, start: Iterable[str], barrier: Iterable[str]) -> frozenset[str]:
    """The nodes of a barrier that are met first on the way from some nodes, in the moral graph.

    There two nodes are neighbours if an edge joins them or if they act on one c-component.  In a graph that holds only
    ancestors of two sets and of a third that separates them, the third still does if only its members nearest to one of
    the two are kept; once this is done from both sides nothing more can be spared (van der Zander, Liśkiewicz and
    Textor 2014).

    Examples
    --------
    >>> graph = CausalGraph.parse("A -> B -> Y; C -> Y; A -> X")
    >>> sorted(nearest(graph, ["Y"], ["A", "B"]))
    ['B']
    """
    wall = {graph.index(name) for name in barrier}
    first = {graph.index(name) for name in start}
    seen, entered, stack = set(first), set[int](), list(first)
    while stack:
        position = stack.pop()
        for head in (position, *graph.child_ids[position]):
            if head in entered:
                continue
            # A c-component with its parents is a clique of the moral graph: all of it is met at once.
            tied = [head]
            entered.add(head)
            for member in tied:
                fresh = [other for other in graph.sibling_ids[member] if other not in entered]
                entered.update(fresh)
                tied += fresh
            around = set(tied).union(*(graph.parent_ids[member] for member in tied)) - seen
            seen |= around
            stack.extend(around - wall)
    return frozenset(graph.nodes[position] for position in wall & seen)


def without_edges_into(graph: CausalGraph, names: Iterable[str]) -> CausalGraph:
    """The graph once some nodes are set: nothing acts on them any more, neither arrows nor hidden causes."""
    cut = {graph.index(name) for name in names}
    if not cut:
        return graph
    return CausalGraph.assemble(
        graph.nodes,
        [() if head in cut else row for head, row in enumerate(graph.parent_ids)],
        [
            () if end in cut else tuple(other for other in row if other not in cut)
            for end, row in enumerate(graph.sibling_ids)
        ],
        hidden=graph.hidden,
    )


def without_arrows(graph: CausalGraph, tails: Iterable[str], heads: Iterable[str] | None = None) -> CausalGraph:
    """The graph without the arrows from some nodes, to all nodes or to some."""
    cut = {graph.index(name) for name in tails}
    only = set(range(len(graph.nodes))) if heads is None else {graph.index(name) for name in heads}
    return CausalGraph.assemble(
        graph.nodes,
        [
            tuple(tail for tail in row if tail not in cut) if head in only else row
            for head, row in enumerate(graph.parent_ids)
        ],
        graph.sibling_ids,
        hidden=graph.hidden,
    )
