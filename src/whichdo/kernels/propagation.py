"""One turn of exact inference for all arms: the law of a node's parents, and the law of the next frontier.

See `whichdo.estimate.frontier`.  ``law`` has a row for each arm and a column for each joint value (cell) of the
frontier; ``forced`` has for each arm the value that it sets the node to, or -1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.kernels.compiling import compiled

if TYPE_CHECKING:
    from whichdo.arrays import FloatArray, IntArray

__all__ = ["onward", "reach"]

ROUNDING = 1e-9


@compiled
def reach(law: FloatArray, row_of: IntArray, rows: int, forced: IntArray) -> tuple[FloatArray, IntArray]:
    """The law of the node's parents under each arm, 0 for arms that set the node; and the arm that shows each row most.

    Arms whose probabilities differ by rounding alone are alike: the first of them is named.
    """
    found = np.zeros((law.shape[0], rows))
    for arm in range(law.shape[0]):
        if forced[arm] >= 0:
            continue
        for cell in range(law.shape[1]):
            found[arm, row_of[cell]] += law[arm, cell]
    best = np.zeros(rows, np.int64)
    for row in range(rows):
        for arm in range(1, law.shape[0]):
            if found[arm, row] > found[best[row], row] + ROUNDING:
                best[row] = arm
    return found, best


@compiled
def onward(
    law: FloatArray, counts: IntArray, row_of: IntArray, next_of: IntArray, cells: int, forced: IntArray
) -> FloatArray:
    """The law of the next frontier, of ``cells`` cells: ``next_of[cell, value]`` is where a cell and a value lead.

    The node's rows are the shares of its ``counts`` (rows by values), uniform where nothing was counted.
    """
    learned = np.empty((counts.shape[0], counts.shape[1]))
    for row in range(counts.shape[0]):
        came = counts[row].sum()
        for value in range(counts.shape[1]):
            learned[row, value] = counts[row, value] / came if came > 0 else 1.0 / counts.shape[1]
    found = np.zeros((law.shape[0], cells))
    for arm in range(law.shape[0]):
        if forced[arm] >= 0:
            for cell in range(law.shape[1]):
                found[arm, next_of[cell, forced[arm]]] += law[arm, cell]
        else:
            for cell in range(law.shape[1]):
                for value in range(learned.shape[1]):
                    found[arm, next_of[cell, value]] += law[arm, cell] * learned[row_of[cell], value]
    return found
