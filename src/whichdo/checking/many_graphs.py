"""Many graphs at once: the questions of `whichdo.identification.forms` for every edit of a graph together.

A graph of 60 nodes has thousands of edits, each asked about every target set.  The edited graphs are
nearly the same, so a search is made once for all of them: instead of the set of nodes that are
reached, there is for each node the *set of graphs* in which it is reached, as the bits of one
integer.  An edge leads from a node to the next in the graphs that have it,

    reached[next] |= reached[node] & having[edge]

and a search ends when nothing is added any more.  An edge that is there is had by all graphs but the
one that drops it; one that is not is had by the graph that adds it, and asked about only when the
search arrives in that graph.  The last bit stands for the graph as it is.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whichdo.checking.edits import Edit
    from whichdo.graph.admg import CausalGraph


Graphs = int
"""A set of graphs, a bit for each."""
ByNode = dict[int, Graphs]
"""For each node the graphs in which something is true of it; no entry: in none."""


class Adjustment(NamedTuple):
    """A candidate for adjustment in all graphs: where it is valid, and in which graphs each node is part of it."""

    valid: Graphs
    members: ByNode


class Ways:
    """The edges from one node: those of the graph, and those that single edits add."""

    __slots__ = ("added", "adding", "there")

    def __init__(self) -> None:
        self.there: dict[int, Graphs] = {}
        """The other end of each edge, and the graphs that have it."""
        self.added: dict[int, Graphs] = {}
        self.adding: Graphs = 0
        """The graphs that add any."""

    def add(self, other: int, having: Graphs) -> None:
        """Add the edge that one edit adds."""
        self.added[other] = having
        self.adding |= having

    def onward(self, graphs: Graphs) -> Iterator[tuple[int, Graphs]]:
        """Where the edges lead from some graphs, and in which of them."""
        for other, having in self.there.items():
            if more := graphs & having:
                yield other, more
        if graphs & self.adding:
            for other, having in self.added.items():
                if more := graphs & having:
                    yield other, more

    def without(self, cut: Mapping[int, Graphs]) -> Ways:
        """The same, less the edges to some nodes in some graphs."""
        found = Ways()
        found.there = {other: having & ~cut.get(other, 0) for other, having in self.there.items()}
        for other, having in self.added.items():
            if left := having & ~cut.get(other, 0):
                found.add(other, left)
        return found


class _Search:
    """A search in progress: the graphs in which each place is reached, and what of that has not been followed yet."""

    def __init__(self, start: Mapping[int, Graphs]) -> None:
        self.found: ByNode = {}
        self._fresh: ByNode = {}
        self._queue: deque[int] = deque()
        for place, graphs in start.items():
            self.add(place, graphs)

    def add(self, place: int, graphs: Graphs) -> None:
        """Reach a place in some graphs."""
        before = self.found.get(place, 0)
        fresh = graphs & ~before
        if fresh:
            self.found[place] = before | fresh
            if place in self._fresh:
                self._fresh[place] |= fresh
            else:
                self._fresh[place] = fresh
                self._queue.append(place)

    def __iter__(self) -> Iterator[tuple[int, Graphs]]:
        """Each place with the graphs in which it was reached since it was last given."""
        while self._queue:
            place = self._queue.popleft()
            yield place, self._fresh.pop(place)


class ManyGraphs:
    """A graph and its edits, numbered in their order; the last number is the graph itself."""

    def __init__(self, graph: CausalGraph, edits: Sequence[Edit], reward: str) -> None:
        self.graph = graph
        self.reward = graph.index(reward)
        self.number = len(edits) + 1
        self.all: Graphs = (1 << self.number) - 1
        ends = {name for edit in edits for name in (edit.tail, edit.head)}
        relevant = [graph.index(name) for name in graph.ancestors([reward, *ends])]
        self.parents: dict[int, Ways] = {node: Ways() for node in relevant}
        self.children: dict[int, Ways] = {node: Ways() for node in relevant}
        self.siblings: dict[int, Ways] = {node: Ways() for node in relevant}
        for node in relevant:
            for parent in graph.parent_ids[node]:
                self.parents[node].there[parent] = self.children[parent].there[node] = self.all
            for sibling in graph.sibling_ids[node]:
                if sibling in self.siblings:
                    self.siblings[node].there[sibling] = self.all
        for number, edit in enumerate(edits):
            tail, head, one = graph.index(edit.tail), graph.index(edit.head), 1 << number
            back = (self.siblings, self.siblings) if edit.hidden else (self.children, self.parents)
            for ways, here, there in ((back[0], tail, head), (back[1], head, tail)):
                if edit.adds:
                    ways[here].add(there, one)
                else:
                    ways[here].there[there] ^= one
        self.names = frozenset(graph.nodes[node] for node in relevant)
        """The nodes that matter: what acts on the reward or on an end of an edit."""
        self.ancestors = self.reach({self.reward: self.all}, self.parents)
        """Of the reward."""

    def reach(
        self,
        start: Mapping[int, Graphs],
        edges: Mapping[int, Ways],
        stop: frozenset[int] = frozenset(),
        avoid: frozenset[int] = frozenset(),
    ) -> ByNode:
        """Where each node is reached from some by edges that do not go on from ``stop`` nor lead into ``avoid``."""
        search = _Search(start)
        for node, graphs in search:
            if node not in stop:
                for other, more in edges[node].onward(graphs):
                    if other not in avoid:
                        search.add(other, more)
        return search.found

    def acting(self, targets: Iterable[int]) -> ByNode:
        """Which targets act on the reward once all are set (`whichdo.graph.targets.acting_targets`)."""
        cut = frozenset(targets)
        reached = self.reach({self.reward: self.all}, self.parents, stop=cut)
        return {node: reached.get(node, 0) for node in cut}

    def tied(self, targets: Iterable[int]) -> ByNode:
        """The c-components of some targets among what acts on the reward."""
        alive = self.ancestors
        search = _Search({node: alive.get(node, 0) for node in targets})
        for node, graphs in search:
            for other, more in self.siblings[node].onward(graphs):
                search.add(other, more & alive.get(other, 0))
        return search.found

    def adjustment(self, targets: Iterable[int], asked: Graphs) -> AdjustmentSearch:
        """The search for sets to adjust for; ``targets`` all act on the reward in the graphs that are ``asked``."""
        return AdjustmentSearch(self, frozenset(targets), asked)

    def parents_of(self, nodes: ByNode) -> ByNode:
        """In which graphs each node is a parent of one of some."""
        found: ByNode = {}
        for node, graphs in nodes.items():
            for parent, more in self.parents[node].onward(graphs):
                found[parent] = found.get(parent, 0) | more
        return found


class AdjustmentSearch:
    """The adjustment criterion for one target set in all graphs (`whichdo.identification.forms`).

    It separates targets and reward in the graphs without the first arrow of every causal path: ``children`` and
    ``parents`` are theirs.
    """

    def __init__(self, graphs: ManyGraphs, targets: frozenset[int], asked: Graphs) -> None:
        self.graphs, self.targets = graphs, targets
        self.siblings, self.reward = graphs.siblings, graphs.reward
        below = graphs.reach(dict.fromkeys(targets, asked), graphs.children, avoid=targets)
        above = graphs.reach({self.reward: asked}, graphs.parents, avoid=targets)
        self.causal = {v: both for v in below if v not in targets and (both := below[v] & above.get(v, 0))}
        self.forbidden = graphs.reach(self.causal, graphs.children)
        self.forbidden |= dict.fromkeys((*targets, self.reward), asked)
        self.children = {**graphs.children, **{tail: graphs.children[tail].without(self.causal) for tail in targets}}
        self.parents = {**graphs.parents}
        for head, some in self.causal.items():
            self.parents[head] = graphs.parents[head].without(dict.fromkeys(targets, some))

    def candidates(self) -> Iterator[Callable[[Graphs], Adjustment]]:
        """Those of `whichdo.identification.forms.adjustment_sets`, in order; each is asked for some graphs."""
        for some in (self._optimal, self._parents, self._ancestors):
            yield partial(self._candidate, some)

    def _optimal(self, asked: Graphs) -> ByNode:  # noqa: ARG002 - wherever a node is causal
        return self.graphs.parents_of(self.causal)

    def _parents(self, asked: Graphs) -> ByNode:
        return self.graphs.parents_of(dict.fromkeys(self.targets, asked))

    def _ancestors(self, asked: Graphs) -> ByNode:
        return self.graphs.reach(dict.fromkeys((*self.targets, self.reward), asked), self.graphs.parents)

    def _candidate(self, some_of: Callable[[Graphs], ByNode], asked: Graphs) -> Adjustment:
        some = some_of(asked)
        allowed = {v: left for v, has in some.items() if (left := has & asked & ~self.forbidden.get(v, 0))}
        valid = self.holds(allowed, asked)
        if not valid:
            return Adjustment(0, {})
        return Adjustment(valid, self.pruned({v: left for v, has in allowed.items() if (left := has & valid)}, valid))

    def holds(self, given: ByNode, asked: Graphs) -> Graphs:
        """In which graphs a set separates the targets from the reward (`whichdo.graph.separation.m_separated`).

        Place 2v is the node v entered by a tail, 2v + 1 by an arrowhead.
        """
        search = _Search({2 * target: asked for target in self.targets})
        for place, graphs in search:
            node, by_head = divmod(place, 2)
            if node == self.reward:
                continue
            known = given.get(node, 0)
            if passing := graphs & ~known:
                for child, more in self.children[node].onward(passing):
                    search.add(2 * child + 1, more)
            if back := graphs & (known if by_head else ~known):
                for parent, more in self.parents[node].onward(back):
                    search.add(2 * parent, more)
                for sibling, more in self.siblings[node].onward(back):
                    search.add(2 * sibling + 1, more)
        met = search.found.get(2 * self.reward, 0) | search.found.get(2 * self.reward + 1, 0)
        return asked & ~met

    def pruned(self, given: ByNode, asked: Graphs) -> ByNode:
        """What of a valid set is needed, what is nearest to the reward first."""
        ends = dict.fromkeys((*self.targets, self.reward), asked)
        inside = self.graphs.reach({**given, **ends}, self.parents)
        from_reward = self.nearest({self.reward: asked}, given, inside)
        return self.nearest(dict.fromkeys(self.targets, asked), from_reward, inside)

    def nearest(self, start: ByNode, wall: ByNode, inside: ByNode) -> ByNode:
        """Where each node of a wall is met first on the way from some (`whichdo.graph.separation.nearest`).

        Place 2v is the node v met, 2v + 1 its c-component met, and with it all that acts on that.
        """
        search = _Search({2 * node: graphs for node, graphs in start.items()})
        for place, graphs in search:
            node, tied = divmod(place, 2)
            if not tied:
                if going := graphs & ~wall.get(node, 0):
                    search.add(place + 1, going)
                    for child, more in self.children[node].onward(going):
                        search.add(2 * child + 1, more & inside.get(child, 0))
                continue
            search.add(2 * node, graphs)
            for parent, more in self.parents[node].onward(graphs):
                search.add(2 * parent, more)
            for sibling, more in self.siblings[node].onward(graphs):
                search.add(2 * sibling + 1, more & inside.get(sibling, 0))
        return {node: both for node, graphs in wall.items() if (both := graphs & search.found.get(2 * node, 0))}


def groups(asked: Graphs, members: ByNode) -> Iterator[tuple[tuple[int, ...], Graphs]]:
    """Graphs that have the same set together: each set in ascending order, and its graphs."""
    found: list[tuple[tuple[int, ...], Graphs]] = [((), asked)] if asked else []
    for node in sorted(members):
        having = members[node]
        split = []
        for some, graphs in found:
            if inside := graphs & having:
                split.append(((*some, node), inside))
            if outside := graphs & ~having:
                split.append((some, outside))
        found = split
    yield from found
