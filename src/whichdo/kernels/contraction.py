"""Means, variances and rarest cells of all arms from tables of counts, by summing factor networks out.

For each network: the counts of its scope are folded into one table a factor, these become conditional probabilities,
and for each value x the product of the factors is summed over all cells.  The mean is linear in every conditional
probability; its derivatives, which the variance needs, come from the same pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.kernels.compiling import compiled

if TYPE_CHECKING:
    from whichdo.kernels.compiling import F64Array, I64Array

__all__ = ["NetPlan", "contract"]


class NetPlan(NamedTuple):
    """Factor networks as flat arrays; ``*_start[g] : *_start[g + 1]`` are the parts of network g.

    Network g has axes (the nodes of its scope) with ``sizes``; its counts begin at ``table_start[g]``.  Factor f has
    ``own_sizes[f]`` values a row, its table begins at ``work_start[f]``, and ``strides`` holds for each axis what one
    step along it means in that table.  ``cell_strides`` do the same for the cells whose least count is wanted.
    ``enumerated`` are the axes summed over.  Axis ``x_axis[g]`` is the intervened node (-1: none), ``y_axis[g]`` the
    reward.  Arms of the network set the node to ``arm_codes``.
    """

    axis_start: I64Array
    sizes: I64Array
    table_start: I64Array
    factor_start: I64Array
    own_sizes: I64Array
    inside: I64Array
    work_start: I64Array
    stride_start: I64Array
    strides: I64Array
    cell_strides: I64Array
    cell_sizes: I64Array
    enumerated_start: I64Array
    enumerated: I64Array
    x_axis: I64Array
    y_axis: I64Array
    arm_start: I64Array
    arm_codes: I64Array


@compiled
def _fold(plan: NetPlan, g: int, counts: F64Array, tables: F64Array, cells: F64Array) -> None:
    """Add every count of the scope to the cell of each factor's table that it belongs to."""
    first, end = plan.axis_start[g], plan.axis_start[g + 1]
    axes = end - first
    coordinates = np.zeros(axes, np.int64)
    factors = plan.factor_start[g + 1] - plan.factor_start[g]
    at = np.empty(factors, np.int64)
    for j in range(factors):
        f = plan.factor_start[g] + j
        at[j] = plan.work_start[f]
        tables[plan.work_start[f] : plan.work_start[f + 1]] = 0.0
    cells[: plan.cell_sizes[g]] = 0.0
    cell = np.int64(0)
    total = np.int64(1)
    for axis in range(first, end):
        total *= plan.sizes[axis]
    for position in range(plan.table_start[g], plan.table_start[g] + total):
        seen = counts[position]
        if seen != 0.0:
            cells[cell] += seen
            for j in range(factors):
                tables[at[j]] += seen
        axis = axes - 1
        while axis >= 0:
            coordinates[axis] += 1
            step = np.int64(1)
            if coordinates[axis] == plan.sizes[first + axis]:
                coordinates[axis] = 0
                step = 1 - plan.sizes[first + axis]
            cell += step * plan.cell_strides[first + axis]
            for j in range(factors):
                at[j] += step * plan.strides[plan.stride_start[plan.factor_start[g] + j] + axis]
            if step == 1:
                break
            axis -= 1


@compiled
def _condition(plan: NetPlan, g: int, smoothing: float, threshold: float, tables: F64Array, totals: F64Array) -> None:
    """Turn counts into P(v | z), row by row; ``totals`` keeps the number of samples of each row at its first place.

    A row with fewer samples than the threshold is uniform, but not inside the c-component (the paper's Algorithm 5).
    """
    for f in range(plan.factor_start[g], plan.factor_start[g + 1]):
        size = plan.own_sizes[f]
        for row in range(plan.work_start[f], plan.work_start[f + 1], size):
            total = 0.0
            for v in range(size):
                total += tables[row + v]
            totals[row] = total
            weight = total + smoothing * size
            uniform = weight <= 0.0 or (total < threshold and not plan.inside[f])
            for v in range(size):
                tables[row + v] = 1.0 / size if uniform else (tables[row + v] + smoothing) / weight


@compiled
def _sum(plan: NetPlan, g: int, x: int, worth: F64Array, tables: F64Array, slopes: F64Array) -> tuple[float, float]:
    """The mean of the reward's worth and of its square under do(node=x); ``slopes`` become the mean's derivatives."""
    first = plan.axis_start[g]
    axes = plan.axis_start[g + 1] - first
    first_factor = plan.factor_start[g]
    factors = plan.factor_start[g + 1] - first_factor
    at = np.empty(factors, np.int64)
    steps = np.zeros((factors, axes), np.int64)
    for j in range(factors):
        f = first_factor + j
        at[j] = plan.work_start[f]
        slopes[plan.work_start[f] : plan.work_start[f + 1]] = 0.0
        for axis in range(axes):
            steps[j, axis] = plan.strides[plan.stride_start[f] + axis]
        if plan.x_axis[g] >= 0 and not plan.inside[f]:
            at[j] += x * steps[j, plan.x_axis[g]]
            steps[j, plan.x_axis[g]] = 0
    mine = plan.enumerated[plan.enumerated_start[g] : plan.enumerated_start[g + 1]]
    coordinates = np.zeros(axes, np.int64)
    before = np.empty(factors + 1)
    mean, square = 0.0, 0.0
    before[0] = 1.0
    while True:
        for j in range(factors):
            before[j + 1] = before[j] * tables[at[j]]
        value = worth[coordinates[plan.y_axis[g]]]
        mean += before[factors] * value
        square += before[factors] * value * value
        after = value
        for j in range(factors - 1, -1, -1):
            slopes[at[j]] += before[j] * after
            after *= tables[at[j]]
        turned = False
        for k in range(mine.size - 1, -1, -1):
            axis = mine[k]
            coordinates[axis] += 1
            step = np.int64(1)
            if coordinates[axis] == plan.sizes[first + axis]:
                coordinates[axis] = 0
                step = 1 - plan.sizes[first + axis]
            for j in range(factors):
                at[j] += step * steps[j, axis]
            if step == 1:
                turned = True
                break
        if not turned:
            return mean, square


@compiled
def _spread(
    plan: NetPlan,
    g: int,
    smoothing: float,
    threshold: float,
    tables: F64Array,
    totals: F64Array,
    slopes: F64Array,
) -> tuple[float, float, float]:
    """The variance of the mean, how far smoothing moved it, and how far rows never seen could move it.

    Rows are independent given their totals, each with the variance of its Dirichlet posterior.  The shift is what the
    rows that were seen contribute, to first order.  The doubt is half the range that all rows together span which were
    never seen, or were taken as uniform for being seen too rarely.
    """
    variance, shift, doubt = 0.0, 0.0, 0.0
    for f in range(plan.factor_start[g], plan.factor_start[g + 1]):
        size = plan.own_sizes[f]
        for row in range(plan.work_start[f], plan.work_start[f + 1], size):
            slope, square = 0.0, 0.0
            for v in range(row, row + size):
                slope += tables[v] * slopes[v]
                square += tables[v] * slopes[v] * slopes[v]
            variance += max(0.0, square - slope * slope) / (totals[row] + smoothing * size + 1)
            if totals[row] > 0.0 and (plan.inside[f] or totals[row] >= threshold):
                for v in range(row, row + size):
                    raw = (tables[v] * (totals[row] + smoothing * size) - smoothing) / totals[row]
                    shift += slopes[v] * (tables[v] - raw)
            else:
                doubt += 0.5 * (slopes[row : row + size].max() - slopes[row : row + size].min())
    return variance, shift, doubt


@compiled
def _least(plan: NetPlan, g: int, totals: F64Array, slopes: F64Array) -> tuple[float, float]:
    """The least number of samples among the rows that the sum reads, and where that row begins."""
    least, where = np.inf, -1.0
    for f in range(plan.factor_start[g], plan.factor_start[g + 1]):
        size = plan.own_sizes[f]
        for row in range(plan.work_start[f], plan.work_start[f + 1], size):
            read = False
            for v in range(row, row + size):
                read = read or slopes[v] != 0.0
            if read and totals[row] < least:
                least, where = totals[row], float(row)
    return least, where


@compiled
def contract(
    plan: NetPlan, counts: F64Array, worth: F64Array, smoothing: float, threshold: float
) -> tuple[F64Array, F64Array]:
    """For each arm, a row each: mean, mean square, variance, shift, doubt, least row total and the place of that row.

    Beside these, for each network, the count of its least cell.
    """
    found = np.empty((7, plan.arm_codes.size))
    rarest = np.empty(plan.x_axis.size)
    work = plan.work_start[-1]
    tables, totals, slopes = np.empty(work), np.empty(work), np.empty(work)
    cells = np.empty(plan.cell_sizes.max())
    for g in range(plan.x_axis.size):
        _fold(plan, g, counts, tables, cells)
        rarest[g] = cells[: plan.cell_sizes[g]].min()
        _condition(plan, g, smoothing, threshold, tables, totals)
        for a in range(plan.arm_start[g], plan.arm_start[g + 1]):
            found[0, a], found[1, a] = _sum(plan, g, plan.arm_codes[a], worth, tables, slopes)
            found[2, a], found[3, a], found[4, a] = _spread(plan, g, smoothing, threshold, tables, totals, slopes)
            found[5, a], found[6, a] = _least(plan, g, totals, slopes)
    return found, rarest
