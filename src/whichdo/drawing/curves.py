"""Curves of edges: cubic Bezier splines that end on the borders of boxes and keep clear of the others.

All is computed in *flow coordinates*: the first is along the flow of the drawing, the second across it.
`swap` turns them into x and y when the drawing runs downwards.

Directed edges leave a box at its end and enter the next at its beginning.  Bidirected ones prefer the sides, and
choose among several arcs the one that meets the fewest boxes and runs least along lines drawn before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import atan2, hypot, inf
from typing import TYPE_CHECKING, NamedTuple

from whichdo.drawing.placement import mean, settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


Point = tuple[float, float]
#: A start, then three points (two controls and an end) for each piece.
Curve = list[Point]

CLEARANCE = 3.0
BOX_CELL = 48.0
LINE_CELL = 7.0
ARROW_ROOM = 9.0
PORT_GAP = 8.0
BULGES = (0.3, 0.5, 0.85)


@dataclass(frozen=True, eq=False)
class Block:
    """A box in flow coordinates; ``band`` is half the extent of its layer along the flow."""

    along: float
    across: float
    deep: float
    wide: float
    band: float

    def holds(self, point: Point, margin: float) -> bool:
        """Whether a point lies inside the box or closer to it than ``margin``."""
        return (
            abs(point[0] - self.along) < self.deep / 2 + margin and abs(point[1] - self.across) < self.wide / 2 + margin
        )


@dataclass
class Plane:
    """The boxes and the lines drawn so far, each hashed into cells, to ask quickly what a curve would meet."""

    blocks: Sequence[Block]
    _near: dict[tuple[int, int], list[Block]] = field(default_factory=dict)
    _drawn: set[tuple[int, int]] = field(default_factory=set)
    _ends: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        for block in self.blocks:
            for cell in _covered(block):
                self._near.setdefault(cell, []).append(block)

    def hits(self, points: Sequence[Point], own: Sequence[Block], most: float = inf) -> int:
        """How many of the points lie in or next to a box; the boxes an edge ends at count only inside.

        Counting stops beyond ``most``.
        """
        count = 0
        for point in points:
            if count > most:
                break
            for block in self._near.get((int(point[0] // BOX_CELL), int(point[1] // BOX_CELL)), ()):
                if block.holds(point, -0.5 if block in own else CLEARANCE):
                    count += 1
                    break
        return count

    def shared(self, points: Sequence[Point]) -> int:
        """How many of the points lie on lines drawn before."""
        return sum((int(along // LINE_CELL), int(across // LINE_CELL)) in self._drawn for along, across in points)

    def crowded(self, point: Point) -> bool:
        """Whether an edge drawn before ends hard by."""
        along, across = int(point[0] // ARROW_ROOM), int(point[1] // ARROW_ROOM)
        return any((along + one, across + two) in self._ends for one in (-1, 0, 1) for two in (-1, 0, 1))

    def draw(self, curve: Curve) -> None:
        """Remember a curve as drawn."""
        for along, across in (curve[0], curve[-1]):
            self._ends.add((int(along // ARROW_ROOM), int(across // ARROW_ROOM)))
        for along, across in sample(curve, LINE_CELL):
            self._drawn.add((int(along // LINE_CELL), int(across // LINE_CELL)))


def _covered(block: Block) -> Iterator[tuple[int, int]]:
    reach = CLEARANCE
    first = range(
        int((block.along - block.deep / 2 - reach) // BOX_CELL),
        int((block.along + block.deep / 2 + reach) // BOX_CELL) + 1,
    )
    second = range(
        int((block.across - block.wide / 2 - reach) // BOX_CELL),
        int((block.across + block.wide / 2 + reach) // BOX_CELL) + 1,
    )
    return ((one, other) for one in first for other in second)


def swap(points: Sequence[Point]) -> list[Point]:
    """Exchange the coordinates of points."""
    return [(second, first) for first, second in points]


def sample(curve: Curve, step: float = 6.0) -> list[Point]:
    """Points along a curve, about ``step`` apart, its ends included."""
    points = [curve[0]]
    for start in range(0, len(curve) - 1, 3):
        a, b, c, d = curve[start : start + 4]
        length = hypot(b[0] - a[0], b[1] - a[1]) + hypot(c[0] - b[0], c[1] - b[1]) + hypot(d[0] - c[0], d[1] - c[1])
        count = max(2, int(length / step))
        for number in range(1, count + 1):
            t = number / count
            s = 1 - t
            k, m, n, o = s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t
            points.append((k * a[0] + m * b[0] + n * c[0] + o * d[0], k * a[1] + m * b[1] + n * c[1] + o * d[1]))
    return points


# --------------------------------------------------------------------------------------------------- directed edges


def ports(block: Block, towards: Sequence[float]) -> list[float]:
    """Where edges meet one end of a box, as offsets from its middle, for the positions across that they lead to.

    A port moves towards where its edge leads, so that edges fan out; ports keep apart as far as the box has room.
    """
    room = max(0.0, block.wide / 2 - 8)
    leads = sorted((position - block.across, number) for number, position in enumerate(towards))
    wishes = [[(room * lead / (abs(lead) + 60), 9.0 if abs(lead) < 1 else 1.0)] for lead, _ in leads]
    apart = min(PORT_GAP, 2 * room / max(1, len(leads) - 1))
    offsets = [0.0] * len(towards)
    for (_, number), offset in zip(leads, settle(wishes, [apart] * (len(leads) - 1), mean), strict=True):
        offsets[number] = max(-room, min(room, offset))
    return offsets


def arrow(plane: Plane, tail: Block, head: Block, passes: Sequence[Point], shifts: Point = (0.0, 0.0)) -> Curve:
    """The curve of ``tail -> head`` through the layers between: smooth where there is room, else in lanes.

    ``shifts`` are the offsets of its ports at tail and head.
    """
    start = (tail.along + tail.deep / 2, tail.across + shifts[0])
    end = (head.along - head.deep / 2, head.across + shifts[1])
    middles = [((a[0] + b[0]) / 2, a[1]) for a, b in zip(passes[::2], passes[1::2], strict=True)]
    smooth = _hermite([start, *middles, end])
    if not plane.hits(sample(smooth), (tail, head)):
        return smooth
    knots = [start, *passes, end]
    if tail.deep / 2 < tail.band - 1:
        knots.insert(1, (tail.along + tail.band, start[1]))
    if head.deep / 2 < head.band - 1:
        knots.insert(-1, (head.along - head.band, end[1]))
    return _hermite(knots)


def _hermite(knots: Sequence[Point]) -> Curve:
    """A monotone cubic through points with ascending first coordinates: never beyond its knots (Fritsch, Butland)."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(knots)]
    tangents = [_end_slope(slopes[0]), *(_mean_slope(a, b) for a, b in pairwise(slopes)), _end_slope(slopes[-1])]
    curve = [knots[0]]
    for number, (a, b) in enumerate(pairwise(knots)):
        third = (b[0] - a[0]) / 3
        # Ends run flat for longer than inner knots: it gives arrow heads a clear direction.
        out = third * (1.3 if number == 0 else 1.0)
        into = third * (1.3 if number == len(knots) - 2 else 1.0)
        curve += [(a[0] + out, a[1] + tangents[number] * out), (b[0] - into, b[1] - tangents[number + 1] * into), b]
    return curve


def _end_slope(slope: float) -> float:
    return max(-0.8, min(0.8, 0.25 * slope))


def _mean_slope(before: float, after: float) -> float:
    return 2 * before * after / (before + after) if before * after > 0 else 0.0


# ------------------------------------------------------------------------------------------------- bidirected edges


class Door(NamedTuple):
    """A point on the border of a box, the direction in which an arc leaves there, and what that costs."""

    at: Point
    out: Point
    fee: float


def arc(
    plane: Plane, first: Block, second: Block, passes: Sequence[Point], tries: int = 400, sharing: float = 9.0
) -> Curve:
    """The curve of ``first <-> second``: the cheapest of at most ``tries`` arcs that look simple on an empty plane.

    ``sharing`` is what a point costs that lies on a line drawn before.
    """
    best: Curve = []
    cheapest = inf
    choices = sorted(_arcs(first, second, passes, tries), key=lambda choice: choice[0])
    for base, curve in choices[:tries]:
        if base >= cheapest:
            break
        points = sample(curve, max(10.0, base / 40))[1:-1]
        cost = base + 55 * (plane.crowded(curve[0]) + plane.crowded(curve[-1])) + sharing * plane.shared(points)
        if cost < cheapest:
            cost += 400 * plane.hits(points, (first, second), most=(cheapest - cost) / 400)
        if cost < cheapest:
            cheapest, best = cost, curve
    return best


def _arcs(first: Block, second: Block, passes: Sequence[Point], tries: int) -> Iterator[tuple[float, Curve]]:
    """Arcs through the lanes kept for them and straight across, for many choices of sides, with their cost."""
    bulges = BULGES if tries > 60 else BULGES[1:2]
    for lanes in (passes, ()) if passes else ((),):
        near = lanes[0] if lanes else (second.along, second.across)
        far = lanes[-1] if lanes else (first.along, first.across)
        ends = list(_doors(second, far))
        for start in _doors(first, near):
            for end in ends:
                for bulge in bulges:
                    curve = _bow(start, end, lanes, bulge)
                    yield _strain(curve) + start.fee + end.fee, curve


def _doors(block: Block, towards: Point) -> Iterator[Door]:
    """The doors of a box: its sides are free or cheap, its ends belong to the directed edges."""
    ahead = max(-1.0, min(1.0, (towards[0] - block.along) / 80))
    lean = ahead * max(0.0, block.deep / 2 - 10)
    for sign in (-1.0, 1.0):
        side = block.across + sign * block.wide / 2
        yield Door((block.along + 0.5 * lean, side), (0.0, sign), 0.0)
        yield Door((block.along + 0.8 * lean, side), (0.7 * ahead, 0.7 * sign), 2.0)
        yield Door((block.along - 0.4 * lean, side), (0.0, sign), 8.0)
    tilt = max(-1.0, min(1.0, (towards[1] - block.across) / 40)) * max(0.0, block.wide / 2 - 8)
    for sign in (-1.0, 1.0):
        yield Door((block.along + sign * block.deep / 2, block.across + tilt), (sign, 0.0), 40.0)


def _bow(first: Door, second: Door, passes: Sequence[Point], bulge: float) -> Curve:
    """A curve that leaves and enters in the given directions and runs through the lanes in between."""
    knots = [first.at, *passes, second.at]
    curve = [first.at]
    for number, (a, b) in enumerate(pairwise(knots)):
        distance = hypot(b[0] - a[0], b[1] - a[1])
        reach = max(ARROW_ROOM * 2, min(140.0, bulge * distance))
        ahead = (1.0 if b[0] >= a[0] else -1.0, 0.0)
        out = first.out if number == 0 else ahead
        back = second.out if number == len(knots) - 2 else (-ahead[0], 0.0)
        curve += [_move(a, out, reach), _move(b, back, reach), b]
    return curve


def _move(point: Point, direction: Point, distance: float) -> Point:
    return point[0] + direction[0] * distance, point[1] + direction[1] * distance


def _strain(curve: Curve) -> float:
    """What is long or winding costs: the length of the control polygon and the angles it turns by."""
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(curve)]
    turning = sum(abs(atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1])) for a, b in pairwise(steps))
    return 0.5 * sum(hypot(*step) for step in steps) + 14 * turning
