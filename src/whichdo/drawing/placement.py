"""Where everything stands: a layered drawing of a causal graph.

Connected parts are drawn apart and then set side by side.  Each goes through layers (`layers`), order
and coordinates.  *Along* is the direction in which arrows run, *across* the other one;
the drawing runs to the right or downwards, whichever gives the better shape.

Coordinates within layers make chains straight, centre parents, and let nothing be closer than it may.
Each layer in turn is placed at best for the positions of its neighbours, with the order and the least distances as
constraints.  That is an isotonic regression, which pooling adjacent violators solves exactly: items that push
each other merge into a block, and a block stands where its members' wishes balance.  First wishes balance by weighted
means, which spreads a layer well; then by weighted medians, which makes lines straight, the midpoint where a
median is an interval (so a parent of two stands between them).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log, sqrt
from typing import TYPE_CHECKING, Literal

from whichdo.drawing.labels import box_size
from whichdo.drawing.layers import Ladder, assign_layers, build_ladder, reduce_crossings
from whichdo.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whichdo.graph.mixed import MixedGraph


MEAN_ROUNDS = 16
MEDIAN_ROUNDS = 10
#: Medians of many items take their time: large drawings get fewer rounds of them.
EFFORT = 15_000

#: Weights this close (relatively) count as even, so that the faint pull of arcs does not decide between two sides.
EVEN = 0.1
#: Two wishes closer than this are met one exactly, not both by halves: a line is straight or clearly slanted.
SNAP = 12.0
#: (wished position, weight)
Wish = tuple[float, float]


def align(ladder: Ladder, gap: Callable[[int, int], float]) -> list[float]:
    """A position for every item; ``gap`` is the least distance of two neighbours, centre to centre."""
    at = [0.0] * len(ladder.layer)
    gaps = [[gap(first, second) for first, second in pairwise(row)] for row in ladder.rows]
    for row, steps in zip(ladder.rows, gaps, strict=True):
        _spread(row, steps, at)
    depth = len(ladder.rows)
    medians = max(3, min(MEDIAN_ROUNDS, EFFORT // len(at)))
    for round_number in range(MEAN_ROUNDS + medians):
        balance = mean if round_number < MEAN_ROUNDS else _median
        levels = range(depth) if round_number % 2 == 0 else range(depth - 1, -1, -1)
        for level in levels:
            row = ladder.rows[level]
            for item, position in zip(row, settle(_wishes(ladder, row, at), gaps[level], balance), strict=True):
                at[item] = position
    return at


def settle(wishes: Sequence[list[Wish]], gaps: Sequence[float], balance: Callable[[list[Wish]], float]) -> list[float]:
    """Positions in the given order, at least ``gaps`` apart, nearest to the wishes by the measure of ``balance``.

    The inner lists of ``wishes`` are used up.
    """
    offsets = [0.0]
    for step in gaps:
        offsets.append(offsets[-1] + step)
    blocks: list[tuple[float, int, list[Wish]]] = []
    for offset, own in zip(offsets, wishes, strict=True):
        # Less its offset every item may stand where the one before stands, but not before it.
        pool = [(position - offset, weight) for position, weight in own]
        size, here = 1, balance(pool)
        while blocks and blocks[-1][0] > here:
            _, more, others = blocks.pop()
            pool = others + pool
            size += more
            here = balance(pool)
        blocks.append((here, size, pool))
    starts = [here for here, size, _ in blocks for _ in range(size)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


def _wishes(ladder: Ladder, row: Sequence[int], at: Sequence[float]) -> list[list[Wish]]:
    wishes = []
    for item in row:
        own = [
            (at[other], _pull(ladder, item, other, weight))
            for links in (ladder.above[item], ladder.below[item])
            for other, weight in links
        ]
        wishes.append(own or [(at[item], 0.01)])
    return wishes


def _pull(ladder: Ladder, item: int, other: int, weight: float) -> float:
    """A bend in the middle of a long edge shows more than one at a box; arcs hardly pull, as they bend anyhow."""
    strength = (1.0, 2.0, 8.0)[ladder.is_stone(item) + ladder.is_stone(other)]
    return strength if weight >= 1 else 0.02 * strength


def _spread(row: Sequence[int], gaps: Sequence[float], at: list[float]) -> None:
    """Place a row as closely as it may stand, centred at zero."""
    position = -sum(gaps) / 2
    for item, step in zip(row, (*gaps, 0.0), strict=True):
        at[item] = position
        position += step


def mean(wishes: list[Wish]) -> float:
    """Where wishes balance by their weights; they are replaced by one that pulls like all of them."""
    total = position = 0.0
    for wish, weight in wishes:
        total += weight
        position += wish * weight
    position /= total
    wishes[:] = [(position, total)]
    return position


def _median(wishes: list[Wish]) -> float:
    """The weighted median, or the middle of the interval of all weighted medians."""
    wishes.sort()
    half = sum(weight for _, weight in wishes) / 2
    passed = 0.0
    for number, (position, weight) in enumerate(wishes):
        passed += weight
        if passed > half * (1 + EVEN):
            return position
        if passed > half * (1 - EVEN):
            following = wishes[number + 1][0]
            return (position + following) / 2 if following - position > SNAP else position
    return wishes[-1][0]


Point = tuple[float, float]
Pair = tuple[str, str]
Flow = Literal["right", "down"]

#: Least free space between two boxes of a layer, a box and a lane, two lanes, and two boxes that a dashed edge joins.
BOX_BOX, BOX_LANE, LANE_LANE, BOX_DASH_BOX = 26.0, 18.0, 14.0, 52.0
#: Space between layers: at least, and at most when steep edges ask for more.
LAYER_GAP, LAYER_GAP_MOST = 58.0, 130.0
PART_GAP = 40.0


@dataclass(frozen=True)
class Box:
    """A node's place: its centre and size, its layer, and half the extent of that layer along the flow."""

    x: float
    y: float
    width: float
    height: float
    layer: int
    band: float

    @property
    def left(self) -> float:
        """The left border; so for the other three."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """The right border."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """The upper border (y grows downwards)."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """The lower border."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class Layout:
    """A drawing in plain numbers, its upper left corner at (0, 0).

    ``directed`` and ``hidden`` hold for each edge the points it passes between its boxes, two for each layer
    in between: where it enters and where it leaves the layer.  The ends of ``hidden`` are in the order of the graph.
    """

    flow: Flow
    width: float
    height: float
    boxes: Mapping[str, Box]
    directed: Mapping[Pair, tuple[Point, ...]]
    hidden: Mapping[Pair, tuple[Point, ...]]


def layout(
    graph: MixedGraph, *, flow: Flow | None = None, sizes: Mapping[str, tuple[float, float]] | None = None
) -> Layout:
    """Place the nodes and edges of a graph; ``flow`` is chosen by shape unless given.

    ``sizes`` are the widths and heights of the boxes; by default what `whichdo.drawing.labels` needs for the names.
    """
    if flow not in (None, "right", "down"):
        raise UsageError(f'A drawing flows "right" or "down", not {flow!r}.')
    if sizes is None:
        sizes = {name: box_size(name) for name in graph.nodes}
    ladders = []
    for members in _connected(graph):
        ladder = build_ladder(graph, members, assign_layers(graph, members))
        reduce_crossings(ladder)
        ladders.append(([graph.nodes[node] for node in members], ladder))
    flows: tuple[Flow, ...] = (flow,) if flow else ("right", "down")
    drawings = [_pack([_place(names, ladder, way, sizes) for names, ladder in ladders], way) for way in flows]
    return min(drawings, key=_unshapeliness)


def _unshapeliness(drawing: Layout) -> float:
    """How far the shape is from a page's; causal stories are read to the right, so downwards must gain something."""
    shape = (drawing.width + 80) / (drawing.height + 80)
    return abs(log(shape / 1.6)) + (0.5 if drawing.flow == "down" else 0.0)


def _connected(graph: MixedGraph) -> list[list[int]]:
    """The parts that edges of either kind join, the largest first, then by first node; members ascending."""
    parts: list[list[int]] = []
    seen: set[int] = set()
    for start in range(len(graph.nodes)):
        if start in seen:
            continue
        seen.add(start)
        part = [start]
        for node in part:  # grows while it is walked
            for other in (*graph.parent_ids[node], *graph.child_ids[node], *graph.sibling_ids[node]):
                if other not in seen:
                    seen.add(other)
                    part.append(other)
        parts.append(sorted(part))
    return sorted(parts, key=len, reverse=True)


def _place(names: Sequence[str], ladder: Ladder, flow: Flow, sizes: Mapping[str, tuple[float, float]]) -> Layout:
    """Draw one connected part."""
    deep, wide = (0, 1) if flow == "right" else (1, 0)
    breadth = [sizes[name][wide] for name in names] + [0.0] * (len(ladder.layer) - ladder.size)
    across = align(ladder, lambda first, second: _least_distance(ladder, breadth, first, second))
    lowest = min(position - extent / 2 for position, extent in zip(across, breadth, strict=True))
    across = [position - lowest for position in across]
    bands = [max((sizes[names[item]][deep] for item in row if item < ladder.size), default=0.0) for row in ladder.rows]
    starts = _layer_starts(ladder, across, bands)

    def point(along: float, position: float) -> Point:
        return (along, position) if flow == "right" else (position, along)

    boxes = {}
    for item, name in enumerate(names):
        level = ladder.layer[item]
        x, y = point(starts[level] + bands[level] / 2, across[item])
        boxes[name] = Box(x, y, *sizes[name], layer=level, band=bands[level] / 2)

    def passed(edge: tuple[int, int], stones: Sequence[int]) -> tuple[Point, ...]:
        points: list[Point] = []
        backwards = ladder.layer[edge[0]] > ladder.layer[edge[1]]
        for stone in stones:
            start, band = starts[ladder.layer[stone]], bands[ladder.layer[stone]]
            ends = [point(start, across[stone]), point(start + band, across[stone])]
            points += reversed(ends) if backwards else ends
        return tuple(points)

    width, height = point(starts[-1] + bands[-1], max(p + e / 2 for p, e in zip(across, breadth, strict=True)))
    return Layout(
        flow,
        width,
        height,
        boxes,
        {(names[edge[0]], names[edge[1]]): passed(edge, stones) for edge, stones in ladder.directed.items()},
        {(names[edge[0]], names[edge[1]]): passed(edge, stones) for edge, stones in ladder.hidden.items()},
    )


def _least_distance(ladder: Ladder, breadth: Sequence[float], first: int, second: int) -> float:
    lanes = ladder.is_stone(first) + ladder.is_stone(second)
    free = BOX_DASH_BOX if second in ladder.beside[first] else (BOX_BOX, BOX_LANE, LANE_LANE)[lanes]
    return (breadth[first] + breadth[second]) / 2 + free


def _layer_starts(ladder: Ladder, across: Sequence[float], bands: Sequence[float]) -> list[float]:
    """Where each layer begins along the flow: the steeper the edges between two layers, the wider the gap."""
    starts = [0.0]
    for level, row in enumerate(ladder.rows[:-1]):
        steepest = max(
            (abs(across[item] - across[other]) for item in row for other, _ in ladder.below[item]), default=0
        )
        gap = min(LAYER_GAP_MOST, max(LAYER_GAP, 0.45 * steepest))
        starts.append(starts[-1] + bands[level] + gap)
    return starts


def _pack(parts: Sequence[Layout], flow: Flow) -> Layout:
    """Set the parts in rows about as wide as the widest of them or a page's shape asks, each row centred."""
    if not parts:
        return Layout(flow, 0.0, 0.0, {}, {}, {})
    area = sum((part.width + PART_GAP) * (part.height + PART_GAP) for part in parts)
    limit = max(sqrt(1.6 * area), *(part.width for part in parts))
    rows: list[list[Layout]] = []
    used = 0.0
    for part in parts:
        if not rows or used + part.width > limit:
            rows.append([])
            used = 0.0
        rows[-1].append(part)
        used += part.width + PART_GAP
    moved = []
    top = 0.0
    for row in rows:
        tallest, left = max(part.height for part in row), 0.0
        for part in row:
            moved.append(_shift(part, left, top + (tallest - part.height) / 2))
            left += part.width + PART_GAP
        top += tallest + PART_GAP
    return Layout(
        flow,
        max(box.right for part in moved for box in part.boxes.values()),
        top - PART_GAP,
        {name: box for part in moved for name, box in part.boxes.items()},
        {pair: points for part in moved for pair, points in part.directed.items()},
        {pair: points for part in moved for pair, points in part.hidden.items()},
    )


def _shift(part: Layout, right: float, down: float) -> Layout:
    def moved(points: Sequence[Point]) -> tuple[Point, ...]:
        return tuple((x + right, y + down) for x, y in points)

    return Layout(
        part.flow,
        part.width,
        part.height,
        {
            name: Box(box.x + right, box.y + down, box.width, box.height, box.layer, box.band)
            for name, box in part.boxes.items()
        },
        {pair: moved(points) for pair, points in part.directed.items()},
        {pair: moved(points) for pair, points in part.hidden.items()},
    )
