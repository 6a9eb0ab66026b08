"""m-separation: what is independent in every model of a graph, and what a graph says about logs alone.

Two nodes that no edge joins are independent given some set, unless a path of colliders ties them
together whatever is given (an *inducing path*).  Every such statement can be asked of logs before
the first experiment; where the logs deny one, an edge is missing.

A set that separates two nodes and of which nothing can be spared is *minimal*.  Minimal sets hold
only ancestors of the two (Tian, Paz and Pearl 1998), and among these separation is that of an
undirected graph: the *moral graph*, in which each c-component and its parents form a clique.  So
the minimal sets are the minimal vertex cuts between two nodes of an undirected graph, and the
smallest comes from a maximal flow (van der Zander, Liśkiewicz and Textor 2014).

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

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from whichdo.graph.admg import CausalGraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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


MOST_SETS = 3
"""How many separating sets of a pair are tested: a wrong edge may show given one and not given another."""
MOST_GIVEN = 4
"""The largest separating set that is tested: with more the rows are spread too thin."""


@dataclass(frozen=True, order=True)
class Statement:
    """That two nodes are independent once some others are known; ``left`` comes first in the graph's order."""

    left: str
    right: str
    given: tuple[str, ...] = ()

    @property
    def scope(self) -> tuple[str, ...]:
        """The columns that must be counted together."""
        return (self.left, self.right, *self.given)

    def __str__(self) -> str:
        given = f" given {', '.join(self.given)}" if self.given else ""
        return f"{self.left} and {self.right}{given}"


@dataclass(frozen=True)
class Implied:
    """The statements of a graph, and the pairs that none is listed for."""

    statements: tuple[Statement, ...]
    """Pair by pair in the graph's order, the smallest sets first."""
    inseparable: tuple[tuple[str, str], ...]
    """Pairs that no set separates, whether an edge joins them or an inducing path does."""
    too_wide: tuple[tuple[str, str], ...]
    """Pairs that only larger sets separate than were asked for."""


def implied_statements(
    graph: CausalGraph,
    *,
    pairs: Iterable[tuple[str, str]] | None = None,
    sets: int = MOST_SETS,
    size: int = MOST_GIVEN,
) -> Implied:
    """The independences that a graph implies, as minimal separating sets of each pair.

    ``pairs``: the pairs of nodes to look at; by default all.
    ``sets``: how many separating sets are listed for a pair at most.
    ``size``: how many nodes a separating set has at most.
    Returns the statements in the order of the graph, and the pairs without one.

    Examples
    --------
    >>> found = implied_statements(CausalGraph.parse("A -> B -> C; C <-> D; B -> D"))
    >>> [str(each) for each in found.statements]
    ['A and C given B', 'A and D given B']
    """
    names = graph.nodes
    moral = _Moral(graph)
    statements: list[Statement] = []
    inseparable, too_wide = [], []
    for first, second in _pairs(graph, pairs):
        pair = names[first], names[second]
        near = moral.neighbours(first, second)
        if near[first] >> second & 1:
            inseparable.append(pair)
            continue
        cuts = _smallest_cuts(near, first, second, sets, size)
        if not cuts:
            too_wide.append(pair)
        statements += [Statement(*pair, tuple(names[each] for each in _members(cut))) for cut in cuts]
    return Implied(tuple(statements), tuple(inseparable), tuple(too_wide))


def _pairs(graph: CausalGraph, asked: Iterable[tuple[str, str]] | None) -> list[tuple[int, int]]:
    """Pairs by position, the first of two first, all in the graph's order."""
    if asked is None:
        return [(first, second) for first in range(len(graph.nodes)) for second in range(first + 1, len(graph.nodes))]
    places = (sorted((graph.index(one), graph.index(other))) for one, other in asked)
    return sorted({(first, second) for first, second in places if first != second})


class _Moral:
    """The moral graphs of the ancestors of pairs; sets of nodes are the bits of an integer."""

    def __init__(self, graph: CausalGraph) -> None:
        self.parents = [_mask(row) for row in graph.parent_ids]
        self.siblings = [_mask(row) for row in graph.sibling_ids]
        self.ancestors: list[int] = []
        for position, row in enumerate(graph.parent_ids):
            found = 1 << position
            for parent in row:
                found |= self.ancestors[parent]
            self.ancestors.append(found)
        self._made: dict[int, list[int]] = {}

    def neighbours(self, first: int, second: int) -> list[int]:
        """For each node its neighbours in the moral graph of the ancestors of two nodes; 0 for all others."""
        among = self.ancestors[first] | self.ancestors[second]
        if among not in self._made:
            near = [0] * len(self.parents)
            left = among
            while left:
                component = frontier = left & -left
                while frontier:
                    frontier = _union(self.siblings, frontier) & among & ~component
                    component |= frontier
                left &= ~component
                clique = component | _union(self.parents, component)
                for member in _members(clique):
                    near[member] |= clique & ~(1 << member)
            self._made[among] = near
        return self._made[among]


def _smallest_cuts(near: list[int], first: int, second: int, most: int, size: int) -> list[int]:
    """The minimal sets of at most ``size`` nodes that cut two nodes apart, the smallest first, ``most`` at most."""
    found: list[int] = []
    least = _disjoint_paths(near, first, second, 0, size + 1)
    for wanted in range(least, size + 1):
        for cut in _cuts(near, first, second, wanted, 0, 0):
            if _is_minimal(near, first, second, cut):
                found.append(cut)
                if len(found) == most:
                    return found
    return found


def _cuts(near: list[int], first: int, second: int, wanted: int, cut: int, spared: int) -> Iterator[int]:
    """Every set of ``wanted`` more nodes that, with ``cut``, leaves no path; none of the ``spared``, each set once."""
    path = _shortest_path(near, first, second, cut)
    if path is None:
        if not wanted:
            yield cut
        return
    if not wanted or _disjoint_paths(near, first, second, cut, wanted + 1) > wanted:
        return
    for member in path:
        bit = 1 << member
        if not spared & bit:
            yield from _cuts(near, first, second, wanted - 1, cut | bit, spared)
            spared |= bit


def _is_minimal(near: list[int], first: int, second: int, cut: int) -> bool:
    """Whether every node of a cut has neighbours on both sides of it."""
    sides = _reach(near, 1 << first, cut), _reach(near, 1 << second, cut)
    return all(near[member] & side for member in _members(cut) for side in sides)


def _reach(near: list[int], start: int, cut: int) -> int:
    """All that paths lead to without entering the cut."""
    seen = frontier = start
    while frontier:
        frontier = _union(near, frontier) & ~seen & ~cut
        seen |= frontier
    return seen


def _shortest_path(near: list[int], first: int, second: int, cut: int) -> list[int] | None:
    """The inner nodes of a shortest path that avoids a cut; None where there is not a path."""
    layers = [1 << first]
    seen = layers[0] | cut
    while not near[second] & layers[-1]:
        fresh = _union(near, layers[-1]) & ~seen
        if not fresh:
            return None
        seen |= fresh
        layers.append(fresh)
    path: list[int] = []
    at = second
    for layer in reversed(layers[1:]):
        met = near[at] & layer
        at = (met & -met).bit_length() - 1
        path.append(at)
    return path[::-1]


def _disjoint_paths(near: list[int], first: int, second: int, cut: int, most: int) -> int:
    """How many paths between two nodes have no other node in common, counted up to ``most``; they avoid the cut."""
    flow: set[tuple[int, int]] = set()
    for number in range(most):
        if not _augment(near, first, second, cut, flow):
            return number
    return most


def _augment(near: list[int], first: int, second: int, cut: int, flow: set[tuple[int, int]]) -> bool:
    """Add one path to a flow in which each node carries one, undoing steps of others where that makes room."""
    before = {head: tail for tail, head in flow if head != second}  # of each node that is on a path
    # A place is a node with True where a path may leave it, False where one may only be turned back from it.
    came: dict[tuple[int, bool], tuple[int, bool] | None] = {(first, True): None}
    queue = [(first, True)]
    for place in queue:
        node, leaves = place
        onward: list[tuple[int, bool]] = []
        if not leaves:
            onward = [(before[node], True)] if before[node] != first else []
        else:
            if near[node] >> second & 1 and (node, second) not in flow:
                _apply(flow, before, came, place, second)
                return True
            onward = [(other, other not in before) for other in _positions(near[node] & ~cut) if other != first]
            if node in before:
                onward = [(other, free) for other, free in onward if (node, other) not in flow]
                onward.append((node, False))
        for step in onward:
            if step not in came and step[0] != second:
                came[step] = place
                queue.append(step)
    return False


def _apply(
    flow: set[tuple[int, int]],
    before: dict[int, int],
    came: dict[tuple[int, bool], tuple[int, bool] | None],
    place: tuple[int, bool],
    goal: int,
) -> None:
    """Walk an augmenting path back from the goal: steps between nodes are new, steps back undo what was there."""
    flow.add((place[0], goal))
    while (source := came[place]) is not None:
        if source[1] and source[0] != place[0]:
            flow.add((source[0], place[0]))
        elif not source[1]:
            flow.remove((before[source[0]], source[0]))
        place = source


def _members(mask: int) -> Iterator[int]:
    """The positions of the bits that are set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@lru_cache(maxsize=1 << 16)
def _positions(mask: int) -> tuple[int, ...]:
    """As `_members`, of sets that are met again and again."""
    return tuple(_members(mask))


def _mask(positions: Iterable[int]) -> int:
    return sum(1 << position for position in positions)


def _union(rows: list[int], mask: int) -> int:
    """The union of the rows of some nodes."""
    found = 0
    for member in _positions(mask):
        found |= rows[member]
    return found
