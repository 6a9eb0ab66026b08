"""Means, variances and rarest cells of all arms from tables of counts, by summing factor networks out.

For each network: the counts of its scope are folded into one table a factor, these become conditional probabilities,
and for each value x the product of the factors is summed over all cells.  The mean is linear in every conditional
probability; its derivatives, which the variance needs, come from the same pass.

Each function goes through all networks, or all arms of a batch, by itself and takes the arrays out of the plan once:
numba counts references whenever an array is taken out of a tuple, which cost more than the sums of small networks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.kernels.compiling import compiled

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray

__all__ = ["FOUND", "INNER", "MEAN", "SIZE", "NetPlan", "Walk", "contract"]

INNER = 64  # cells that a walk takes in one block
FOUND = 9  # columns of what `contract` finds
MEAN, SIZE = 0, 8  # two of them: an arm's mean, and the direct pulls that would know it as well


class Walk(NamedTuple):
    """How to walk through the cells of each network, knowing for each cell where it lies in each of several tables.

    The last axes, up to `INNER` cells together, are a block: ``pattern`` holds a row of places for each of its cells,
    relative to the block's own.  From block to block the places move by ``outer_strides``, a row for each of the other
    axes, whose ``outer_sizes`` are given.  ``*_start[g]`` is where the parts of network g begin.
    """

    inner_sizes: IntArray
    inner_start: IntArray
    pattern: IntArray
    outer_start: IntArray
    outer_sizes: IntArray
    stride_start: IntArray
    outer_strides: IntArray


class NetPlan(NamedTuple):
    """Factor networks as flat arrays; ``*_start[g] : *_start[g + 1]`` are the parts of network g.

    The counts of network g begin at ``table_start[g]``.  Factor f has ``own_sizes[f]`` values a row and its table
    begins at ``work_start[f]``; ``inside`` says whether it belongs to the intervened node's c-component.  ``fold``
    walks through the counts: its places are those in the factors' tables and, last, in the cells whose least count is
    wanted.  ``sum`` walks through the terms of the sum: places in the factors' tables and, last, the reward's level.

    Arm a belongs to network ``arm_networks[a]`` and sets its node to ``arm_codes[a]``, which the factors outside the
    c-component see, ``x_strides[f]`` a step.  Arms come in batches that begin at ``batch_start``; within its batch the
    slopes of arm a begin at ``slope_start[a]``.
    """

    table_start: IntArray
    factor_start: IntArray
    own_sizes: IntArray
    inside: IntArray
    work_start: IntArray
    cell_start: IntArray
    fold: Walk
    sum: Walk
    x_strides: IntArray
    arm_networks: IntArray
    arm_codes: IntArray
    batch_start: IntArray
    slope_start: IntArray


@compiled
def _widest(plan: NetPlan) -> int:
    """The most places that a cell of any network has."""
    widest = 0
    for g in range(plan.table_start.size):
        widest = max(widest, plan.factor_start[g + 1] - plan.factor_start[g] + 1)
    return widest


@compiled
def _advance(sizes: IntArray, strides: IntArray, width: int, coordinates: IntArray, base: IntArray) -> bool:
    """Move a walk to its next block; False after the last."""
    for k in range(sizes.size - 1, -1, -1):
        coordinates[k] += 1
        step = np.int64(1)
        if coordinates[k] == sizes[k]:
            coordinates[k] = 0
            step = 1 - sizes[k]
        for j in range(width):
            base[j] += step * strides[k * width + j]
        if step == 1:
            return True
    return False


@compiled
def _fold(plan: NetPlan, counts: FloatArray, tables: FloatArray) -> FloatArray:
    """Add every count to the cell of each factor's table that it belongs to; the count of each network's least cell."""
    walk, pattern = plan.fold, plan.fold.pattern
    factor_start, work_start, table_start, cell_start = (
        plan.factor_start, plan.work_start, plan.table_start, plan.cell_start,
    )  # fmt: skip
    inner_sizes, inner_start, outer_start = walk.inner_sizes, walk.inner_start, walk.outer_start
    base = np.empty(_widest(plan), np.int64)
    coordinates = np.zeros(outer_start[-1], np.int64)
    cells = np.zeros(cell_start[-1])
    tables[:] = 0.0
    for g in range(table_start.size):
        first, position = factor_start[g], table_start[g]
        last = factor_start[g + 1] - first
        for j in range(last):
            base[j] = work_start[first + j]
        base[last] = cell_start[g]
        more = True
        while more:
            row = inner_start[g]
            for _ in range(inner_sizes[g]):
                seen = counts[position]
                if seen != 0.0:
                    for j in range(last):
                        tables[base[j] + pattern[row + j]] += seen
                    cells[base[last] + pattern[row + last]] += seen
                position += 1
                row += last + 1
            more = outer_start[g + 1] > outer_start[g] and _advance(
                walk.outer_sizes[outer_start[g] : outer_start[g + 1]],
                walk.outer_strides[walk.stride_start[g] :],
                last + 1,
                coordinates[outer_start[g] :],
                base,
            )
    least = np.full(table_start.size, np.inf)
    for g in range(table_start.size):
        for place in range(cell_start[g], cell_start[g + 1]):
            least[g] = min(least[g], cells[place])
    return least


@compiled
def _condition(plan: NetPlan, smoothing: float, threshold: float, tables: FloatArray, totals: FloatArray) -> None:
    """Turn counts into P(v | z), row by row; ``totals`` keeps the number of samples of each row at its first place.

    A row with fewer samples than the threshold is uniform, but not inside the c-component (the paper's Algorithm 5).
    """
    own_sizes, work_start, inside = plan.own_sizes, plan.work_start, plan.inside
    for f in range(own_sizes.size):
        size = own_sizes[f]
        for row in range(work_start[f], work_start[f + 1], size):
            total = 0.0
            for v in range(row, row + size):
                total += tables[v]
            totals[row] = total
            weight = total + smoothing * size
            if weight <= 0.0 or (total < threshold and not inside[f]):
                for v in range(row, row + size):
                    tables[v] = 1.0 / size
            else:
                part = 1.0 / weight
                for v in range(row, row + size):
                    tables[v] = (tables[v] + smoothing) * part


@compiled
def _sum(
    plan: NetPlan, batch: int, worth: FloatArray, tables: FloatArray, found: FloatArray, slopes: FloatArray
) -> None:
    """For each arm of a batch the mean of the reward's worth and of its square, and the mean's derivatives."""
    walk, pattern = plan.sum, plan.sum.pattern
    factor_start, work_start, x_strides = plan.factor_start, plan.work_start, plan.x_strides
    inner_sizes, inner_start, outer_start = walk.inner_sizes, walk.inner_start, walk.outer_start
    arm_networks, arm_codes, slope_start = plan.arm_networks, plan.arm_codes, plan.slope_start
    width = _widest(plan)
    base, at, before = np.empty(width, np.int64), np.empty(width, np.int64), np.ones(width)
    coordinates = np.zeros(outer_start[-1], np.int64)
    slopes[:] = 0.0
    for a in range(plan.batch_start[batch], plan.batch_start[batch + 1]):
        g = arm_networks[a]
        first = factor_start[g]
        last = factor_start[g + 1] - first
        for j in range(last):
            base[j] = work_start[first + j] + arm_codes[a] * x_strides[first + j]
        base[last] = 0
        away = slope_start[a] - work_start[first]
        mean, square = 0.0, 0.0
        more = True
        while more:
            row = inner_start[g]
            for _ in range(inner_sizes[g]):
                value = worth[base[last] + pattern[row + last]]
                if value != 0.0:
                    for j in range(last):
                        at[j] = base[j] + pattern[row + j]
                        before[j + 1] = before[j] * tables[at[j]]
                    mean += before[last] * value
                    square += before[last] * value * value
                    after = value
                    for j in range(last - 1, -1, -1):
                        slopes[away + at[j]] += before[j] * after
                        after *= tables[at[j]]
                row += last + 1
            more = outer_start[g + 1] > outer_start[g] and _advance(
                walk.outer_sizes[outer_start[g] : outer_start[g + 1]],
                walk.outer_strides[walk.stride_start[g] :],
                last + 1,
                coordinates[outer_start[g] :],
                base,
            )
        found[a, 0], found[a, 1] = mean, square


@compiled
def _spread(
    plan: NetPlan,
    batch: int,
    smoothing: float,
    threshold: float,
    tables: FloatArray,
    totals: FloatArray,
    slopes: FloatArray,
    found: FloatArray,
) -> None:
    """Fill ``found`` from its third column on: variance, shift, doubt, lean, least total of a row, and where that is.

    Rows are independent given their totals, each with the variance of its Dirichlet posterior.  The shift is how far
    smoothing moved the mean by the rows that were seen, to first order.  The doubt is half the range that all rows
    together span which were never seen, or were taken as uniform for being seen too rarely.  The lean is the third
    central moment over the variance, both of rows without smoothing.
    """
    own_sizes, work_start, inside, factor_start = plan.own_sizes, plan.work_start, plan.inside, plan.factor_start
    for a in range(plan.batch_start[batch], plan.batch_start[batch + 1]):
        variance, shift, doubt, cube, raw = 0.0, 0.0, 0.0, 0.0, 0.0
        least, where = np.inf, -1.0
        g = plan.arm_networks[a]
        away = plan.slope_start[a] - work_start[factor_start[g]]
        for f in range(factor_start[g], factor_start[g + 1]):
            size = own_sizes[f]
            for row in range(work_start[f], work_start[f + 1], size):
                low, high, middle, total = np.inf, -np.inf, 0.0, 0.0
                for v in range(row, row + size):
                    slope = slopes[away + v]
                    low, high = min(low, slope), max(high, slope)
                    middle += tables[v] * slope
                    total += slope
                if low == 0.0 and high == 0.0:  # the sum does not read this row
                    continue
                square, third = 0.0, 0.0
                for v in range(row, row + size):
                    apart = slopes[away + v] - middle
                    square += tables[v] * apart * apart
                    third += tables[v] * apart * apart * apart
                seen = totals[row]
                if seen < least:
                    least, where = seen, float(row)
                variance += square / (seen + smoothing * size + 1.0)
                if seen > 0.0:
                    part = 1.0 / seen
                    raw += square * part
                    cube += third * part * part
                    if inside[f] or seen >= threshold:
                        shift += smoothing * (total - size * middle) * part
                if seen <= 0.0 or (seen < threshold and not inside[f]):
                    doubt += 0.5 * (high - low)
        found[a, 2], found[a, 3], found[a, 4], found[a, 5] = variance, shift, doubt, cube / raw if raw > 0.0 else 0.0
        found[a, 6], found[a, 7] = least, where


@compiled
def contract(
    plan: NetPlan, counts: FloatArray, worth: FloatArray, smoothing: float, threshold: float
) -> tuple[FloatArray, FloatArray]:
    """For each arm a row: mean, mean square, variance, shift, doubt, lean, least row total, its place, effective size.

    Beside these, for each network, the count of its least cell.  The effective size is the number of direct pulls that
    would know the mean as well: by the mean square error, what smoothing moved and what was never seen included, and
    never more than the looks, whose number is that of the first network's counts.
    """
    found = np.empty((plan.arm_codes.size, FOUND))
    tables, totals = np.empty(plan.work_start[-1]), np.empty(plan.work_start[-1])
    slopes = np.empty(plan.slope_start[-1])
    rarest = _fold(plan, counts, tables)
    _condition(plan, smoothing, threshold, tables, totals)
    for batch in range(plan.batch_start.size - 1):
        _sum(plan, batch, worth, tables, found, slopes)
        _spread(plan, batch, smoothing, threshold, tables, totals, slopes, found)
    looks = counts[: worth.size].sum()
    for a in range(found.shape[0]):
        error = found[a, 2] + found[a, 3] ** 2 + found[a, 4] ** 2
        spread = max(0.0, found[a, 1] - found[a, 0] ** 2)
        found[a, SIZE] = min(looks, spread / error) if error > 0.0 else 0.0
    return found, rarest
