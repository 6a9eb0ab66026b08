"""Coordinates within layers: straight chains, parents centred, nothing closer than it may be.

Each layer in turn is placed at best for the positions of its neighbours, with the order and the least distances as
constraints.  That is an isotonic regression, which pooling adjacent violators solves exactly: items that push
each other merge into a block, and a block stands where its members' wishes balance.  First wishes balance by weighted
means, which spreads a layer well; then by weighted medians, which makes lines straight, the midpoint where a
median is an interval (so a parent of two stands between them).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whichdo.drawing.layers import Ladder


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
