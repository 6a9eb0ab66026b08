"""Order within layers: few crossings, and siblings of one layer side by side.

Sweeps over the layers sort each by the mean position of its neighbours (the barycentre heuristic); after each sweep
neighbours are exchanged while that helps.  The best order seen is kept.  Ties are broken by the order before, so
the outcome depends on the graph alone.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.drawing.layers import Ladder, Link

__all__ = ["crossings", "reduce_crossings"]

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
