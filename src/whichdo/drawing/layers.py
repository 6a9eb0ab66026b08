"""Layers: which column (or row) of a drawing each node stands in, and the stepping stones of long edges.

The first steps of a layered drawing (Sugiyama, Tagawa and Toda 1981).  Every directed edge points to a later layer.
An edge that spans several layers is cut into steps between neighbouring layers by *stones*, invisible items that
hold a lane free between the boxes.  Bidirected edges get stones too, so that their arcs find a way around boxes; they
do not decide about layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING

from whichdo.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.graph.mixed import MixedGraph

__all__ = ["MAX_STONES", "Ladder", "assign_layers", "build_ladder"]

MAX_STONES = 8_000
#: A part without directed edges stands in one row up to this many nodes.
ONE_ROW = 6

Link = tuple[int, float]
Edge = tuple[int, int]


@dataclass(frozen=True)
class Ladder:
    """A graph whose every link joins neighbouring layers.  Items 0..n-1 are the nodes, the rest stones.

    ``above`` and ``below`` hold for each item its links to the layer before and after, with a weight: directed
    edges count more than bidirected ones.  ``beside`` joins the ends of a bidirected edge within one layer.  The keys
    of ``directed`` are (tail, head), those of ``hidden`` ascending; the values are the stones from first to second.
    """

    size: int
    layer: list[int]
    rows: list[list[int]]
    above: list[list[Link]]
    below: list[list[Link]]
    beside: list[list[int]]
    directed: dict[Edge, list[int]]
    hidden: dict[Edge, list[int]]

    def is_stone(self, item: int) -> bool:
        """Whether an item is a stepping stone rather than a node."""
        return item >= self.size


def assign_layers(graph: MixedGraph, members: Sequence[int]) -> dict[int, int]:
    """The layer of each member of one connected part: longest paths first, then shorter edges.

    A node without directed edges stands in the layer of its middle sibling; many of them alone fill a square.
    """
    if len(members) > ONE_ROW and not any(graph.parent_ids[node] for node in members):
        side = isqrt(len(members) - 1) + 1
        return {node: position // side for position, node in enumerate(members)}
    layer: dict[int, int] = {}
    for node in members:
        layer[node] = max((layer[parent] + 1 for parent in graph.parent_ids[node]), default=0)
    _shorten(graph, members, layer)
    for node in members:
        if not graph.parent_ids[node] and not graph.child_ids[node]:
            placed = sorted(layer[other] for other in graph.sibling_ids[node])
            layer[node] = placed[(len(placed) - 1) // 2] if placed else 0
    first = min(layer.values())
    return {node: number - first for node, number in layer.items()}


def _shorten(graph: MixedGraph, members: Sequence[int], layer: dict[int, int]) -> None:
    """Move nodes towards their children while this makes the edges shorter in total.

    A chain that could follow its last node costs nothing to move until its source moves: hence whole passes that
    also take even moves, kept only when they gain.
    """
    best = _total_length(graph, members, layer)
    for _ in range(8):
        trial = dict(layer)
        for node in reversed(members):
            children = graph.child_ids[node]
            if children and len(children) >= len(graph.parent_ids[node]):
                trial[node] = min(trial[child] for child in children) - 1
        for node in members:
            parents = graph.parent_ids[node]
            if parents and len(parents) > len(graph.child_ids[node]):
                trial[node] = max(trial[parent] for parent in parents) + 1
        total = _total_length(graph, members, trial)
        if total >= best:
            return
        best = total
        layer.update(trial)


def _total_length(graph: MixedGraph, members: Sequence[int], layer: dict[int, int]) -> int:
    return sum(layer[node] - layer[parent] for node in members for parent in graph.parent_ids[node])


def build_ladder(graph: MixedGraph, members: Sequence[int], layer: dict[int, int]) -> Ladder:
    """Cut the long edges of one connected part into steps; items are positions in ``members``."""
    place = {node: item for item, node in enumerate(members)}
    levels = [layer[node] for node in members]
    directed = [(place[parent], place[node]) for node in members for parent in graph.parent_ids[node]]
    hidden = [(place[node], place[other]) for node in members for other in graph.sibling_ids[node] if node < other]
    stones = sum(max(0, abs(levels[end] - levels[start]) - 1) for start, end in directed + hidden)
    if stones > MAX_STONES:
        raise TooLargeError(
            f"A drawing of this graph would need {stones:,} bends of long edges; the limit is {MAX_STONES:,}. "
            f"Draw a part of it with graph.subgraph([...])."
        )
    ladder = Ladder(
        size=len(members),
        layer=levels,
        rows=[[] for _ in range(max(levels) + 1)],
        above=[[] for _ in levels],
        below=[[] for _ in levels],
        beside=[[] for _ in levels],
        directed={},
        hidden={},
    )
    for edge in directed:
        ladder.directed[edge] = _cut(ladder, edge, weight=1.0)
    for edge in hidden:
        ladder.hidden[edge] = _cut(ladder, edge, weight=0.2)
    for item, level in enumerate(ladder.layer):
        ladder.rows[level].append(item)
    return ladder


def _cut(ladder: Ladder, edge: Edge, weight: float) -> list[int]:
    """Link the ends of an edge through new stones; answer the stones from its first end to its second."""
    start, end = sorted(edge, key=lambda item: ladder.layer[item])
    if ladder.layer[start] == ladder.layer[end]:
        ladder.beside[start].append(end)
        ladder.beside[end].append(start)
        return []
    stones = []
    previous = start
    for level in range(ladder.layer[start] + 1, ladder.layer[end]):
        stone = len(ladder.layer)
        ladder.layer.append(level)
        for table in (ladder.above, ladder.below):
            table.append([])
        ladder.beside.append([])
        _link(ladder, previous, stone, weight)
        stones.append(stone)
        previous = stone
    _link(ladder, previous, end, weight)
    return stones if start == edge[0] else stones[::-1]


def _link(ladder: Ladder, upper: int, lower: int, weight: float) -> None:
    ladder.below[upper].append((lower, weight))
    ladder.above[lower].append((upper, weight))
