"""From the columns that are adjusted for to the columns that a model reads.

A number enters as itself, standardised, with a bend at each of its quartiles, and with a mark for a
value that very many rows share (no earnings at all): a curve of straight pieces, which goes on
straight beyond the data.  What is left of a number are its bins where a log names bins instead of
numbers.  Everything else enters by a mark for each value, the most frequent one aside.  A missing
value has a mark of its own.

A ridge penalty of one row's weight goes with these columns (`whichdo.estimate.doubly_robust`); bends
are drawn at half their size, so that a curve costs more than a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whichdo.domains import MISSING_LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whichdo.arrays import CodeArray, FloatArray
    from whichdo.counting.kept_rows import KeptRows
    from whichdo.problem import Problem


FEW_VALUES = 6
"""A node that declares more numbers than this is a number; up to so many it has a mark for each."""
BENDS = (0.25, 0.5, 0.75)
BEND_SIZE = 0.5
BEYOND = 0.02
"""The share of rows that a bend must have on either side."""
SHARED = 0.1
"""A number that so many rows have exactly gets a mark."""


def features(problem: Problem, rows: KeptRows, given: Sequence[str]) -> FloatArray:
    """The columns of a model that adjusts for some nodes: a row for each row, none for a column without variety."""
    columns: list[FloatArray] = []
    for name in given:
        codes = rows.codes[name]
        numbers = rows.numbers.get(name)
        if numbers is None:
            numbers = _declared_numbers(problem, name, codes)
        columns += _marks(codes, rows.weights) if numbers is None else _curve(numbers, rows.weights)
    return np.column_stack(columns) if columns else np.zeros((len(rows.rewards), 0))


def _declared_numbers(problem: Problem, name: str, codes: CodeArray) -> FloatArray | None:
    """The values of a node that declares many numbers; None for any other."""
    domain = problem.domains[name]
    if name in problem.bins:
        return None
    values = [value for value in domain if value != MISSING_LEVEL]
    if len(values) <= FEW_VALUES or any(isinstance(value, str) for value in values):
        return None
    worth = np.array([np.nan if isinstance(value, str) else float(value) for value in domain])
    return worth[codes]


def _marks(codes: CodeArray, weights: FloatArray) -> list[FloatArray]:
    """A column of 0 and 1 for each value that occurs but the most frequent, centred."""
    share = np.bincount(codes, weights=weights)
    usual = int(share.argmax()) if len(share) else 0
    return [_centre((codes == code).astype(np.float64), weights) for code in np.flatnonzero(share) if code != usual]


def _curve(numbers: FloatArray, weights: FloatArray) -> list[FloatArray]:
    """A number, its bends, and what many rows share."""
    absent = np.isnan(numbers)
    found = [_centre(absent.astype(np.float64), weights)] if absent.any() else []
    there = numbers[~absent]
    heavy = weights[~absent]
    if not len(there) or there.min() == there.max():
        return found
    # Sums of numbers near the end of the scale would overflow: they are brought to the size of one first.
    size = float(np.abs(there).max())
    plain = np.where(absent, 0.0, numbers) / size
    there = there / size
    mean = float(np.average(there, weights=heavy))
    spread = float(np.sqrt(np.average((there - mean) ** 2, weights=heavy)))
    if not spread > 0:
        return found
    straight = np.where(absent, 0.0, (plain - mean) / spread)
    found.append(straight)
    found += [
        BEND_SIZE * np.where(absent, 0.0, _centre(np.maximum(straight - bend, 0.0), weights))
        for bend in _bends(straight[~absent], heavy)
    ]
    values, places = np.unique(there, return_inverse=True)
    shares = np.bincount(places.ravel(), weights=heavy) / heavy.sum()
    if len(values) > FEW_VALUES and shares.max() >= SHARED:
        found.append(_centre((plain == values[shares.argmax()]) & ~absent, weights))
    return found


def _bends(straight: FloatArray, weights: FloatArray) -> list[float]:
    """The quartiles of a number that have rows on either side."""
    order = np.argsort(straight, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.minimum(np.searchsorted(reached, BENDS), len(order) - 1)
    found = []
    for bend in np.unique(straight[order][places]).tolist():
        below, above = (float(weights[side].sum() / weights.sum()) for side in (straight < bend, straight > bend))
        if below >= BEYOND and above >= BEYOND:
            found.append(bend)
    return found


def _centre(column: FloatArray, weights: FloatArray) -> FloatArray:
    return column - np.average(column, weights=weights)
