"""Every graph that differs from a given one by a single edge.

Somebody drew the graph, and the likeliest mistake is one edge: an arrow that is not there, one that
is missing, a hidden common cause nobody thought of.  An *edit* drops or adds one arrow, or drops or
adds one ``<->``.  Arrows are added where the graph stays acyclic; an arrow between two nodes that an
arrow joins already would turn it around, which is two edits.

Edits are listed among the nodes that act on the reward: an edge elsewhere changes no arm unless a
second one is wrong too.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whichdo.errors import TooLargeError, UsageError
from whichdo.graph.admg import CausalGraph
from whichdo.text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Rows = Sequence[tuple[int, ...]]

__all__ = ["MOST_EDITS", "Edit", "single_edits"]

MOST_EDITS = 20_000
"""The most edits that are examined: all those among about 115 nodes."""


@dataclass(frozen=True)
class Edit:
    """One edge that is dropped or added; ``str()`` is ``add X <-> Y`` or ``drop X -> Y``."""

    adds: bool
    hidden: bool
    """Whether the edge is a ``<->``."""
    tail: str
    head: str
    """Of a ``<->`` the end that comes later in the order of the graph."""

    @property
    def edge(self) -> str:
        """``X <-> Y`` or ``X -> Y``."""
        return f"{self.tail} {'<->' if self.hidden else '->'} {self.head}"

    @property
    def ends(self) -> tuple[str, str]:
        """Tail and head."""
        return self.tail, self.head

    def __str__(self) -> str:
        return f"{'add' if self.adds else 'drop'} {self.edge}"

    def apply(self, graph: CausalGraph) -> CausalGraph:
        """The edited graph: the same nodes and roles, in the same order unless an added arrow forbids it.

        Examples
        --------
        >>> graph = CausalGraph.parse("X -> M -> Y")
        >>> Edit(True, True, "X", "Y").apply(graph) == CausalGraph.parse("X -> M -> Y; X <-> Y")
        True
        """
        tail, head = graph.index(self.tail), graph.index(self.head)
        if self.hidden:
            rows = _change(graph.sibling_ids, head, tail, adds=self.adds)
            siblings = _change(rows, tail, head, adds=self.adds)
            return _assemble(graph, graph.parent_ids, siblings)
        parents = _change(graph.parent_ids, head, tail, adds=self.adds)
        if self.adds and tail > head:
            return _reorder(graph, parents)
        return _assemble(graph, parents, graph.sibling_ids)


def single_edits(graph: CausalGraph, among: Iterable[str]) -> tuple[Edit, ...]:
    """Every edit whose two ends are both among some nodes; arrows first, then ``<->``, each in the order of the graph.

    Parameters
    ----------
    graph
        The graph that is edited.
    among
        Some of its nodes, such as the ancestors of the reward.

    Raises
    ------
    TooLargeError
        If there are more than `MOST_EDITS`; this is known before any is made.

    Examples
    --------
    >>> [str(edit) for edit in single_edits(CausalGraph.parse("X -> Y"), ["X", "Y"])]
    ['drop X -> Y', 'add X <-> Y']
    """
    if isinstance(among, str):
        raise UsageError(f"`among` is the string {quoted(among)}; give a list of names, such as [{quoted(among)}].")
    places = sorted({graph.index(name) for name in among})
    pairs = len(places) * (len(places) - 1) // 2
    least = 2 * pairs  # of each pair its <->, and an arrow that is there or could be
    if least > MOST_EDITS:
        raise TooLargeError(
            f"{len(places):,} nodes can be joined in {least:,} ways or more; at most {MOST_EDITS:,} edits are looked "
            f"at. Name the nodes whose edges are in doubt (among)."
        )
    found = (*_arrows(graph, places), *_hidden(graph, places))
    if len(found) > MOST_EDITS:
        raise TooLargeError(
            f"There are {len(found):,} edits among {len(places):,} nodes; at most {MOST_EDITS:,} are examined. "
            f"Name the nodes whose edges are in doubt (among)."
        )
    return found


def _arrows(graph: CausalGraph, places: list[int]) -> Iterator[Edit]:
    below = _descendants(graph)
    for first in places:
        for second in places:
            if first == second:
                continue
            tail, head = graph.nodes[first], graph.nodes[second]
            if first in graph.parent_ids[second]:
                yield Edit(False, False, tail, head)
            elif not below[second] >> first & 1:
                yield Edit(True, False, tail, head)


def _hidden(graph: CausalGraph, places: list[int]) -> Iterator[Edit]:
    for number, first in enumerate(places):
        for second in places[number + 1 :]:
            there = second in graph.sibling_ids[first]
            yield Edit(not there, True, graph.nodes[first], graph.nodes[second])


def _descendants(graph: CausalGraph) -> list[int]:
    """For each node the nodes below it, itself included, as bits."""
    below = [1 << position for position in range(len(graph.nodes))]
    for position in reversed(range(len(graph.nodes))):
        for child in graph.child_ids[position]:
            below[position] |= below[child]
    return below


def _change(rows: Rows, row: int, entry: int, *, adds: bool) -> Rows:
    """Rows of positions with one entry of one row added or dropped."""
    kept = [other for other in rows[row] if other != entry]
    fresh = tuple(sorted([*kept, entry])) if adds else tuple(kept)
    return (*rows[:row], fresh, *rows[row + 1 :])


def _reorder(graph: CausalGraph, parents: Rows) -> CausalGraph:
    """The graph with these parents in a topological order, the node that came first going first where several can."""
    missing = [len(row) for row in parents]
    children: list[list[int]] = [[] for _ in parents]
    for head, row in enumerate(parents):
        for tail in row:
            children[tail].append(head)
    ready = [node for node, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for child in children[order[-1]]:
            missing[child] -= 1
            if not missing[child]:
                heapq.heappush(ready, child)
    place = {old: new for new, old in enumerate(order)}
    rows = [
        [tuple(sorted(place[other] for other in part[old])) for old in order] for part in (parents, graph.sibling_ids)
    ]
    return _assemble(graph, rows[0], rows[1], [graph.nodes[old] for old in order])


def _assemble(graph: CausalGraph, parents: Rows, siblings: Rows, nodes: Sequence[str] | None = None) -> CausalGraph:
    return CausalGraph.assemble(
        nodes or graph.nodes, parents, siblings, hidden=graph.hidden, exposures=graph.exposures, outcomes=graph.outcomes
    )
