"""Layers: which column (or row) of a drawing each node stands in, and the stepping stones of long edges.

The first steps of a layered drawing (Sugiyama, Tagawa and Toda 1981).  Every directed edge points to a later layer.
An edge that spans several layers is cut into steps between neighbouring layers by *stones*, invisible items that
hold a lane free between the boxes.  Bidirected edges get stones too, so that their arcs find a way around boxes; they
do not decide about layers.

Then the order within layers: few crossings, and siblings of one layer side by side.  Sweeps over the layers sort each
by the mean position of its neighbours (the barycentre heuristic); after each sweep neighbours are exchanged while that
helps.  The best order seen is kept.  Ties are broken by the order before, so the outcome depends on the graph alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING

from whichdo.errors import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.graph.mixed import MixedGraph


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


# ------------------------------------------------------------------------------------------------------------ crossings

#: A bidirected edge within a layer that has to go around one box is as bad as this many crossings.
DETOUR = 1.0
#: Work is bounded by items times sweeps, so that a large graph gets fewer sweeps instead of minutes.
EFFORT = 12_000
#: Sweeps without a gain after which a start is given up: two in each direction with ties either way.
PATIENCE = 8


def reduce_crossings(ladder: Ladder) -> None:
    """Reorder ``ladder.rows`` in place."""
    items = len(ladder.layer)
    sweeps = max(4, min(24, EFFORT // items))
    best = [row[:] for row in ladder.rows]
    fewest = _cost(ladder, best)
    for start in (_depth_first(ladder), best):
        rows = [row[:] for row in start]
        stale = 0
        for sweep in range(sweeps):
            _sweep(ladder, rows, downwards=sweep % 2 == 0, flip=sweep % 4 > 1)
            _transpose(ladder, rows, passes=max(1, min(6, EFFORT // items)))
            cost = _cost(ladder, rows)
            stale += 1
            if cost < fewest - 1e-9:
                fewest, best, stale = cost, [row[:] for row in rows], 0
            if fewest <= 1e-9 or stale == PATIENCE:
                break
    ladder.rows[:] = best


def crossings(ladder: Ladder, upper: Sequence[int], lower: Sequence[int]) -> float:
    """The crossings between two neighbouring layers, each counted with the product of its two weights."""
    place = {item: position for position, item in enumerate(lower)}
    tree = [0.0] * (len(lower) + 1)
    total = passed = 0.0
    for item in upper:
        ends = [(place[other], weight) for other, weight in ladder.below[item]]
        for position, weight in ends:
            total += weight * (passed - _prefix(tree, position + 1))
        for position, weight in ends:
            passed += weight
            _add(tree, position + 1, weight)
    return total


def _prefix(tree: list[float], position: int) -> float:
    total = 0.0
    while position > 0:
        total += tree[position]
        position -= position & -position
    return total


def _add(tree: list[float], position: int, weight: float) -> None:
    while position < len(tree):
        tree[position] += weight
        position += position & -position


def _cost(ladder: Ladder, rows: list[list[int]]) -> float:
    total = sum(crossings(ladder, upper, lower) for upper, lower in pairwise(rows))
    return total + sum(_detours(ladder, row) for row in rows)


def _detours(ladder: Ladder, row: Sequence[int]) -> float:
    place = {item: position for position, item in enumerate(row)}
    return sum(
        DETOUR * (place[other] - position - 1)
        for item, position in place.items()
        for other in ladder.beside[item]
        if place[other] > position
    )


def _depth_first(ladder: Ladder) -> list[list[int]]:
    """Each layer in the order of a depth-first walk over all links, which keeps what belongs together together."""
    rows: list[list[int]] = [[] for _ in ladder.rows]
    seen = [False] * len(ladder.layer)
    for start in range(len(ladder.layer)):
        stack = [start]
        while stack:
            item = stack.pop()
            if seen[item]:
                continue
            seen[item] = True
            rows[ladder.layer[item]].append(item)
            near = [other for other, _ in ladder.above[item] + ladder.below[item]] + ladder.beside[item]
            stack.extend(other for other in reversed(near) if not seen[other])
    return rows


def _sweep(ladder: Ladder, rows: list[list[int]], *, downwards: bool, flip: bool) -> None:
    """Sort each layer by the barycentre of its links to the layer just sorted; ``flip`` reverses ties."""
    links = ladder.above if downwards else ladder.below
    order = range(len(rows)) if downwards else range(len(rows) - 1, -1, -1)
    place = _places(rows)
    for level in order:
        row = rows[level][::-1] if flip else rows[level]
        rank = {item: _barycentre(links[item], ladder.beside[item], place, place[item]) for item in row}
        rows[level] = sorted(row, key=rank.__getitem__)
        # Positions are fractions of the row, so that layers of different sizes compare.
        place.update(_fractions(rows[level]))


def _places(rows: list[list[int]]) -> dict[int, float]:
    return {item: share for row in rows for item, share in _fractions(row)}


def _fractions(row: Sequence[int]) -> list[tuple[int, float]]:
    return [(item, (position + 0.5) / len(row)) for position, item in enumerate(row)]


def _barycentre(links: Sequence[Link], beside: Sequence[int], place: dict[int, float], own: float) -> float:
    weight = sum(part for _, part in links) + 0.2 * len(beside)
    if weight == 0:
        return own
    pulled = sum(place[other] * part for other, part in links) + sum(0.2 * place[other] for other in beside)
    return pulled / weight


def _transpose(ladder: Ladder, rows: list[list[int]], passes: int) -> None:
    """Exchange neighbours within a layer while this lowers the cost."""
    place = {item: position for row in rows for position, item in enumerate(row)}
    for _ in range(passes):
        improved = False
        for row in rows:
            for left in range(len(row) - 1):
                first, second = row[left], row[left + 1]
                if _gain(ladder, place, first, second) > 1e-9:
                    row[left], row[left + 1] = second, first
                    place[first], place[second] = left + 1, left
                    improved = True
        if not improved:
            return


def _gain(ladder: Ladder, place: dict[int, int], first: int, second: int) -> float:
    """How much the cost falls when two neighbours (first before second) change places."""
    gain = 0.0
    for links in (ladder.above, ladder.below):
        gain += _inversions(links[first], links[second], place) - _inversions(links[second], links[first], place)
    for item, other, step in ((first, second, 1), (second, first, -1)):
        for sibling in ladder.beside[item]:
            if sibling != other:
                distance = abs(place[sibling] - place[item])
                gain += DETOUR * (distance - abs(place[sibling] - place[item] - step))
    return gain


def _inversions(left: Sequence[Link], right: Sequence[Link], place: dict[int, int]) -> float:
    """The weighted crossings of the links of two items when ``left`` stands before ``right``."""
    return sum(part * share for item, part in left for other, share in right if place[other] < place[item])
