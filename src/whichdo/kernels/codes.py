"""Networks of any finite domains: samples as codes 0, 1, 2, ... and their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whichdo.kernels.compiling import compiled
from whichdo.kernels.random import BLOCK, STREAMS, fill

if TYPE_CHECKING:
    from whichdo.arrays import CodeArray, IntArray, WordArray
    from whichdo.tables import Places


SCANNED = 12  # bounds up to which all are compared, which is quicker than bisecting with its unforeseeable branches


class CodePlan(NamedTuple):
    """How to draw a network of any domains, as codes 0, 1, 2, ...

    ``bounds`` are the cumulative probabilities of each row as 63-bit integers, ``widths`` of them a row (one fewer than
    values), 2^63 being one; ``strides`` turn the codes of the inputs into the number of a row.
    """

    nodes: int
    targets: IntArray
    forced: IntArray
    input_start: IntArray
    inputs: IntArray
    strides: IntArray
    widths: IntArray
    bound_start: IntArray
    bounds: WordArray


@compiled
def _values(random: WordArray, rows: IntArray, bounds: WordArray, width: int, now: int, out: CodeArray) -> None:
    """The value of each sample: how many bounds of its row lie at or below its random number of 63 bits."""
    if width <= SCANNED:
        for i in range(now):
            number = random[i] >> np.uint64(1)
            base = rows[i] * width
            value = np.uint8(0)
            for c in range(width):
                value += np.uint8(number >= bounds[base + c])
            out[i] = value
        return
    for i in range(now):
        number = random[i] >> np.uint64(1)
        base = rows[i] * width
        low, high = np.int64(0), np.int64(width)
        while low < high:
            middle = (low + high) >> 1
            if number >= bounds[base + middle]:
                low = middle + 1
            else:
                high = middle
        out[i] = np.uint8(low)


@compiled
def _draw_codes(
    state: WordArray, now: int, plan: CodePlan, codes: CodeArray, random: WordArray, rows: IntArray
) -> None:
    """Draw every target for one block."""
    for step in range(plan.targets.size):
        out = codes[plan.targets[step]]
        if plan.forced[step] >= 0:
            out[:now] = np.uint8(plan.forced[step])
            continue
        for start in range(0, now, STREAMS):
            fill(state, random[start : start + STREAMS], STREAMS)
        rows[:now] = 0
        for j in range(plan.input_start[step], plan.input_start[step + 1]):
            column, stride = codes[plan.inputs[j]], plan.strides[j]
            for i in range(now):
                rows[i] += stride * np.int64(column[i])
        _values(random, rows, plan.bounds[plan.bound_start[step] :], plan.widths[step], now, out)


@compiled
def tables_codes(state: WordArray, samples: int, plan: CodePlan, scopes: Places) -> IntArray:
    """Draw samples of any domains and count the tables of all scopes."""
    codes = np.empty((plan.nodes, BLOCK), np.uint8)
    random = np.empty(BLOCK, np.uint64)
    rows = np.empty(BLOCK, np.int64)
    cells = np.zeros(scopes.cell_start[-1], np.int64)
    done = 0
    while done < samples:
        now = min(BLOCK, samples - done)
        _draw_codes(state, now, plan, codes, random, rows)
        for scope in range(scopes.start.size - 1):
            target = cells[scopes.cell_start[scope] : scopes.cell_start[scope + 1]]
            for i in range(now):
                cell = np.int64(0)
                for j in range(scopes.start[scope], scopes.start[scope + 1]):
                    cell += scopes.strides[j] * np.int64(codes[scopes.columns[j], i])
                target[cell] += 1
        done += now
    return cells


@compiled
def rows_codes(state: WordArray, samples: int, plan: CodePlan, wanted: IntArray) -> CodeArray:
    """Draw samples of any domains and return the columns ``wanted`` as codes: shape (columns, samples)."""
    codes = np.empty((plan.nodes, BLOCK), np.uint8)
    random = np.empty(BLOCK, np.uint64)
    rows = np.empty(BLOCK, np.int64)
    out = np.empty((wanted.size, samples), np.uint8)
    done = 0
    while done < samples:
        now = min(BLOCK, samples - done)
        _draw_codes(state, now, plan, codes, random, rows)
        for j in range(wanted.size):
            out[j, done : done + now] = codes[wanted[j], :now]
        done += now
    return out
